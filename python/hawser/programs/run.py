"""Runs a program, and takes its results."""
import builtins
import ctypes
import dataclasses
import hashlib
import importlib
import math
import platform
import re
import signal
import sys
from collections.abc import Callable, Mapping
from ctypes import POINTER, byref
from typing import Any

import numpy as np

from .. import _native
from .._changes import PolicyChange, changes_of
from .._cluster import Cluster
from .._dataset import BY_ROW, Dataset, Files
from .._errors import BadArgument, BadOption, BadProgram, Error, Interrupted, check, failure, text_of
from .._job import Job
from .._library import library as lib
from .._memory import free
from .._native import hawser_dataset, hawser_error, hawser_observer, hawser_run
from .._numbers import Array
from .._options import Options
from .._plan import Plan, read_plan
from .build import Build
from .called import has_numba
from .declared import Declared
from .progress import Progress
from .raised import Running, raised_text
from .state import SPLITS, State
from .unit import TYPES

# Calls of C in the library's texts, and what they are here.
WORDS = {
    "hawser_job_load has given": "the load has given", "(hawser_load.split = HAWSER_BY_ROW)": "", "load the input with hawser_load.split = HAWSER_BY_ROW":
    "give by=\"row\"", "load the input with HAWSER_BY_COLUMN": "give by=\"column\"", "use HAWSER_BY_ROW or HAWSER_BY_COLUMN": "use \"row\" or \"column\"",
    "set .along, or .each for one that data do not shape": "leave along= out for one that data do not shape",
    "(.rows)": "(initial)", "leave .rows out, or give as many": "give as many", "(.by_value)": "(by_value=True)", "remove .sync": "leave sync= of the unit out", "(.sync)": "(sync=)", "the state's .filter": "filter=", "(.filter)": "(filter=)",
    "(.form": "(encoding=", "(.reduces)": "(reduces=)", "set .reduces": "give reduces=",
    "hawser_data_replace: ": "", "hawser_progress_gain: ": "set_gain: ", "hawser_progress_sync: ": "set_sync: ", "hawser_progress_keep": "keep", "hawser_progress_return":
    "return_to", "hawser_kept_points": "program.keep", "call hawser_state_keep for both": "give both to program.keep", "hawser_state_keep": "program.keep", "leave .one out": "leave one=True out",
    "belongs in a state, or in the scratch that hawser_scratch_record visits": "belongs in a state",
    "belongs in hawser_progress_memory or in hawser_tests_record": "belongs in progress.memory",
}
NAME = re.compile(r"raised ([\w.]+): (.*)", re.DOTALL)


@dataclasses.dataclass(frozen=True)
class Run:
    """The results of a run. `run["w"]` is state w."""

    states: dict[str, Array]  #: results by name, in the shapes of their states
    metrics: dict[str, float]  #: the last values of the metrics
    stop_reason: str  #: why the outermost loop ended: "clocks", "metric", "test", "signal" and so on; "end": there was no loop
    clocks: int  #: of all loops
    seconds: float
    workers: int
    nodes: int
    node: int  #: the number of this node, from 0
    bytes_exchanged: int
    not_repeatable: str | None  #: why another run may have other bits; None: it has the same
    log_view: str  #: the table of --log-view: time, waits and bytes of each unit
    changes: tuple[PolicyChange, ...] = ()  #: of syncs and gains, by tests; on node 0
    trace: tuple[dict[str, Any], ...] = ()  #: with trace=True, on node 0: clock, seconds, loop and metrics of each clock
    program: str = ""  #: its name
    ended: bool = True  #: the program has come to its end; False: a signal or a limit has ended it early
    kept: bool = False  #: the results are what a test has kept, because the run has ended early or failed

    def __getitem__(self, name: str) -> Array:
        if name not in self.states:
            raise BadArgument(f"the run has no result '{name}'; it has {', '.join(self.states) or 'none'}")
        return self.states[name]

    def __repr__(self) -> str:
        return f"<hawser.Run of {self.clocks} clocks, ended by {self.stop_reason}, with {', '.join(self.states)}>"


class Execution(Job):
    """One run, or plan, of a program."""

    doing = "runs"

    def __init__(self, program: Declared, options: Options, cluster: Cluster | None, progress: Callable[[dict[str, Any]], Any] | None = None,
                 trace: bool = False, wanted: dict[str, Any] | None = None, start: dict[str, Any] | None = None) -> None:
        super().__init__(options, cluster)
        self.program, self.progress, self.wanted, self.start = program, progress, wanted, start or {}
        self.trace: list[dict[str, Any]] | None = [] if trace else None
        self.planned: tuple[bool, bool] | None = None
        self.plan: Plan | None = None
        self.running = Running(self.interrupt, self.calls)
        self.build: Build | None = None
        self.run_handle: Any = POINTER(hawser_run)()
        self.shared: dict[str, Any] = {}  # datasets of this job, which are freed
        self.data: dict[str, Any] = {}  # datasets by state
        self.result: Run | None = None
        for name, part in (wanted or {}).items():
            if not program._known(name, "results").has_result:
                raise BadProgram(f"results: '{name}' is no state that has a result")

    # ------------------------------------------------------------------------------------------- in the job's thread ----

    def share(self, job: Any) -> Any:
        nodes, terms = lib.hawser_job_nodes(job), self._terms()
        if nodes > 1:
            wanted = self.wanted and {name: isinstance(part, np.ndarray) or part for name, part in self.wanted.items()}
            self.compare(job, {**terms, "results": repr(wanted), "what is asked for": "a plan" if self.planned else "a run"})
        self.depend(job, {**terms, "versions of Python, numpy and numba": versions()})
        for name, state in self.program._states.items():
            if state.kind == "data":
                self.data[name] = self.data[state.of] if state.of is not None else self._dataset(job, state, nodes)
        return self._make(job)

    def _terms(self) -> dict[str, str | None]:
        """Returns what must be the same on every node, and in a run that goes on."""
        program = self.program
        units = {f"{operator.kind} '{operator.name}'": _short(operator.terms()) for operator in program._operator.walk() if operator.kind != "root"}
        start = {name: hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()[:16] for name, values in self.start.items()}
        return {"the program": program.name, **units, **{f"state '{name}'": _short(state.terms()) for name, state in program._states.items()},
                "the order of units": program._operator.order(), "metrics": repr(program._metrics), "the numbers of start": repr(start)}

    def _make(self, job: Any) -> Any:
        """Makes the library's program. Collective."""
        def make() -> None:
            self.running.begin()
            self.build = Build(job, self.program, self.data, self.running, self.start)
            self.build.make()
            for name in filter(self._fetches, self.program._states):
                lib.hawser_result_expect(self.build.handles[name])

        self._agreed(job, _native.HAWSER_BAD_PROGRAM, make)
        assert self.build is not None
        return self.build.handle

    def _takes(self, name: str) -> bool:
        """Returns whether the run has the results of a state, or of some of its lines."""
        return self.program._states[name].has_result and (self.wanted is None or name in self.wanted)

    def _fetches(self, name: str) -> bool:
        """Returns whether every node takes all numbers of a state whose result stays on the nodes."""
        some = self.wanted is not None and isinstance(self.wanted.get(name), slice)
        return self.program._states[name].kind in ("local", "stored", "moving", "entries") and self._takes(name) and not some

    def _agreed(self, job: Any, status: int, step: Callable[[], None]) -> None:
        """Takes a step that may fail on one node alone, such as one that cannot compile. If it does, no node goes on. Collective."""
        error, reached = hawser_error(), _native.HAWSER_OK
        try:
            step()
        except BaseException as refused:
            self.raised, reached = refused, status
            error.status, error.text = status, str(refused).encode(errors="replace")[:999]
        if lib.hawser_job_nodes(job) > 1:
            check(lib.hawser_job_agree(job, reached, byref(error)), error)
        if self.raised is not None:
            raise self.raised

    def _dataset(self, job: Any, state: State, nodes: int) -> Any:
        """Returns a handle of the data of the job's blocks. Collective."""
        split, data = SPLITS[state.by], state.data
        if nodes == 1:
            if isinstance(data, Files):
                data = state.data = Dataset(data.path, **{**data.options, **({"outputs": True} if data.how.outputs else {})})
            lib.hawser_job_loaded(job, data._handle)  # targets and weights count for a run that goes on, too
            layout = data._matrix.layout
            if state.by == "all" or layout == _native.HAWSER_DENSE or (state.by == "row" and layout in BY_ROW):
                return data._handle
            return data._in_layout(state.by == "row")
        if state.by == "all":
            if isinstance(data, Files) or data.partitioned:
                raise BadOption(f"data '{state.name}': by=\"all\" over several nodes needs an array, the same on each node")
            lib.hawser_job_loaded(job, data._handle)
            return data._handle
        self.shared[state.name] = POINTER(hawser_dataset)()
        if isinstance(data, Files):
            data.load_share(job, split, self.shared[state.name])
        else:
            data._deal(job, split, self.shared[state.name])
            # Arrays that all nodes have count as those of one process do, and parts of nodes as what the nodes hold.
            lib.hawser_job_loaded(job, self.shared[state.name] if data.partitioned else data._handle)
        return self.shared[state.name]

    # ---- the run

    def work(self, job: Any, handle: Any) -> None:
        """Makes the plan, or runs the program."""
        error = hawser_error()
        if self.planned is not None:
            self.plan = read_plan(*self.planned, lambda *rest: lib.hawser_plan_text(job, handle, *rest))
            return
        observer = hawser_observer(self._observe)
        if self.trace is not None or self.progress is not None:
            lib.hawser_observe(job, observer, None)
        status = lib.hawser_run_program(job, handle, byref(self.run_handle), byref(error))
        if status not in (_native.HAWSER_OK, _native.HAWSER_STOP):
            failed = self._failure(status, error)
            if self.run_handle and isinstance(failed, Error):
                failed.run = self._results(job, True)
            raise failed
        self._agree(job)
        self.result = self._results(job, status == _native.HAWSER_OK)

    def _agree(self, job: Any) -> None:
        """Fails on all nodes if a test, a merge or the progress has failed on one. Collective."""
        if lib.hawser_job_nodes(job) > 1:
            error, status, raised = hawser_error(), _native.HAWSER_OK, self.running.raised
            if raised is not None:
                status = error.status = _native.HAWSER_BAD_PROGRAM
                error.text = raised_text(raised).encode(errors="replace")[:999]
            status = lib.hawser_job_agree(job, status, byref(error))
            if status != _native.HAWSER_OK:
                raise self._failure(status, error)
        if self.running.raised is not None:
            raise self.running.raised

    def _failure(self, status: int, error: hawser_error) -> BaseException:
        """Returns the exception of a run that failed: that of the unit, here or on another node, else the library's."""
        if self.running.raised is not None:
            return self.running.raised
        text = text_of(error)
        found = NAME.search(text) if status == _native.HAWSER_BAD_PROGRAM else None
        kind = _exception(found.group(1)) if found else None
        if found and kind is not None:
            try:
                made = kind(found.group(2))
                made.add_note(text[:found.start()].rstrip(": ") or "on another node")
                return made
            except Exception:  # it takes other arguments than a text
                pass
        for word, here in WORDS.items():
            text = text.replace(word, here)
        error.text = text.encode(errors="replace")[:999]
        return failure(status, error)

    def _observe(self, pointer: Any, _user: Any) -> None:
        if self.running.raised is not None:
            return
        progress = Progress(pointer, self.program)
        try:
            values = {name: value for name in self.program._metrics if not math.isnan(value := progress.metric(name))}
            now = {"clock": progress.clock, "clocks": progress.clocks, "seconds": progress.seconds, "loop": progress.loop, **values}
            if self.trace is not None:
                self.trace.append(now)
            if self.progress is not None:
                with self.calls:
                    self.progress(dict(now))
        except BaseException as error:
            self.running.end(error, "in progress")

    def _results(self, job: Any, ended: bool) -> Run:
        run, error = self.run_handle, hawser_error()
        figures, text = lib.hawser_run_figures(run).contents, ctypes.c_char_p()
        check(lib.hawser_run_log_view_text(run, byref(text), byref(error)), error)
        view = (text.value or b"").decode()
        free(text)
        states = {name: self._result(state) for name, state in self.program._states.items() if self._takes(name)}
        if figures.interrupted_by is not None:
            self.interrupted_by = figures.interrupted_by.decode()
        reason = (figures.stop_reason or b"").decode()
        self.signalled = reason == "signal"
        return Run(
            states, {name: float(lib.hawser_result_metric(run, name.encode())) for name in self.program._metrics}, reason, figures.clocks,
            figures.seconds, figures.workers, lib.hawser_job_nodes(job), lib.hawser_job_node(job), figures.bytes_exchanged,
            figures.repeatable.decode() if figures.repeatable is not None else None, view, changes_of(figures), tuple(self.trace or ()),
            self.program.name, ended, bool(lib.hawser_run_kept(run)))

    def _result(self, state: State) -> Array:
        """Returns the final numbers of a state, or of some of its lines. Those of a local or stored state are fetched."""
        assert self.build is not None
        error, shape, name = hawser_error(), self.build.shape(state), state.name.encode()
        size, part = lib.hawser_result_size(self.run_handle, name), (self.wanted or {}).get(state.name)
        shape = (size,) if state.kind == "entries" else shape
        if size != math.prod(shape):
            raise Error(f"state '{state.name}' has {size} numbers, and its shape is {shape}")
        lines = range(shape[0])[part] if isinstance(part, slice) else range(shape[0])
        values = part if isinstance(part, np.ndarray) else np.empty((len(lines), *shape[1:]), state.dtype)
        if values.shape != (len(lines), *shape[1:]) or values.dtype != state.dtype:
            raise BadArgument(f"results: state '{state.name}' is of {state.dtype} and has shape {shape}, and the array is of {values.dtype} and "
                              f"has {values.shape}")
        first = lines.start * (size // shape[0]) if values.size else 0
        status = lib.hawser_result_range_as(self.run_handle, name, first, values.size, TYPES[state.dtype], values.ctypes.data, byref(error))
        check(status, error)
        return values

    def release(self) -> None:
        lib.hawser_run_free(self.run_handle)
        self.run_handle = POINTER(hawser_run)()
        if self.build is not None:
            self.build.free()
            self.build = None
        for handle in self.shared.values():
            lib.hawser_dataset_free(handle)

    # ---------------------------------------------------------------------------------------- in the caller's thread ----

    def conclude(self, pressed: bool) -> Run:
        """Returns the results, or raises what ended the run."""
        self.show_messages()
        ended, raised = pressed or self.terminated > 0, self.running.raised
        if raised is not None and not ended:
            raise raised
        if ended or (self.interrupted_by is not None and self.result is not None and self.signalled):
            by = "" if pressed else " by SIGTERM" if ended else f" by {self.interrupted_by}"
            stopped = Interrupted(f"the run was interrupted{by}")
            stopped.run = self.result
            stopped.signal = signal.SIGINT if pressed or not ended else signal.SIGTERM
            for note in getattr(raised, "__notes__", ()) if isinstance(raised, Interrupted) else ():
                stopped.add_note(f"{note}: it did not return, and a second signal ended it")
            raise stopped
        if self.raised is not None:
            raise self.raised
        if self.planned is not None:
            return None  # type: ignore[return-value]
        if self.result is None:
            raise Error("the run ended without results")
        return self.result


def wanted_of(given: Any) -> dict[str, Any] | None:
    """Returns the results that are wanted: for each name all (None), some lines (a slice), or an array that takes all."""
    if given is None:
        return None
    wanted = dict(given) if isinstance(given, Mapping) else dict.fromkeys((given,) if isinstance(given, str) else given)
    for name, part in wanted.items():
        if isinstance(part, np.ndarray) and part.flags.c_contiguous and part.flags.writeable:
            continue
        if part is not None and not (isinstance(part, slice) and part.step in (None, 1)):
            raise BadArgument(f"results: '{name}' is wanted as {part!r:.60}; give None, a slice of lines without steps, or a C-contiguous array that "
                              "may be written")
    return wanted


def start_of(given: Any) -> dict[str, Any]:
    """Returns the first numbers of states by name."""
    if not (given is None or isinstance(given, (Run, Mapping))):
        raise BadArgument(f"start is a {type(given).__name__}; it is a hawser.Run, or arrays by the names of their states")
    return dict(given.states if isinstance(given, Run) else given or {})


def versions() -> str:
    """Returns what decides with which bits units compute."""
    numba = importlib.import_module("numba").__version__ if has_numba() else None
    return f"{platform.python_version()}, {np.__version__}, {numba}"


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _exception(name: str) -> type[BaseException] | None:
    """Returns an exception class that this process has already, by its name."""
    module, _, last = name.rpartition(".")
    found = getattr(sys.modules.get(module), last, None) if module else getattr(builtins, last, None)
    return found if isinstance(found, type) and issubclass(found, (Exception, Interrupted)) else None


__all__ = ["Execution", "Run", "start_of", "wanted_of"]
