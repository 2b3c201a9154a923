"""Runs a program, and takes its results."""
import builtins
import ctypes
import dataclasses
import hashlib
import math
import re
import sys
from collections.abc import Callable
from ctypes import POINTER, byref
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _native
from .._changes import PolicyChange, changes_of
from .._cluster import Cluster
from .._dataset import BY_ROW, Array, Dataset, Files
from .._errors import BadArgument, BadOption, BadProgram, Error, Interrupted, check, failure, text_of
from .._job import Job
from .._library import library as lib
from .._memory import free
from .._native import hawser_dataset, hawser_error, hawser_observer, hawser_run
from .._options import Options
from .._plan import Plan, read_plan
from .build import Build
from .driver import Progress
from .raised import Running, raised_text
from .state import SPLITS, State
from .unit import C_TYPES, SUFFIX

if TYPE_CHECKING:
    from .program import Program

# Calls of C in the library's texts, and what they are here.
WORDS = {
    "hawser_job_load has given": "the load has given", "(hawser_load.split = HAWSER_BY_ROW)": "", "load the input with hawser_load.split = HAWSER_BY_ROW":
    "give by=\"row\"", "load the input with HAWSER_BY_COLUMN": "give by=\"column\"", "use HAWSER_BY_ROW or HAWSER_BY_COLUMN": "use \"row\" or \"column\"",
    "use hawser_block_state for one that data do not shape": "leave along= out for one that data do not shape",
    "remove hawser_unit_sync": "leave sync= of the unit out", "hawser_unit_sync: ": "sync=: ", "hawser_state_filter": "filter=",
    "hawser_encoding": "encoding=", "a loop gets its sync from hawser_loop": "a loop has a sync of its own",
    "call hawser_reduces first": "give reduces=", "hawser_reduces_expect": "reduces=", "hawser_reduces": "reduces=",
    "hawser_data_replace: ": "", "hawser_progress_gain: ": "set_gain: ", "hawser_progress_sync: ": "set_sync: ", "hawser_unit_one": "one=True",
    "make it a hawser_unit": "leave one=True out",
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

    def __getitem__(self, name: str) -> Array:
        if name not in self.states:
            raise BadArgument(f"the run has no result '{name}'; it has {', '.join(self.states) or 'none'}")
        return self.states[name]

    def __repr__(self) -> str:
        return f"<hawser.Run of {self.clocks} clocks, ended by {self.stop_reason}, with {', '.join(self.states)}>"


class Execution(Job):
    """One run, or plan, of a program."""

    doing = "runs"

    def __init__(self, program: "Program", options: Options, cluster: Cluster | None, progress: Callable[[dict[str, Any]], Any] | None,
                 trace: bool, wanted: list[str] | None) -> None:
        super().__init__(options, cluster)
        self.program, self.progress, self.wanted = program, progress, wanted
        self.trace: list[dict[str, Any]] | None = [] if trace else None
        self.planned: tuple[bool, bool] | None = None
        self.plan: Plan | None = None
        self.running = Running(self.interrupt)
        self.build: Build | None = None
        self.run_handle: Any = POINTER(hawser_run)()
        self.shared: dict[str, Any] = {}  # datasets of this job, which are freed
        self.data: dict[str, Any] = {}  # datasets by state
        self.result: Run | None = None
        for name in wanted or ():
            if program._known(name, "results").kind in ("data", "scratch"):
                raise BadProgram(f"results: '{name}' is no state that has a result")

    # ------------------------------------------------------------------------------------------- in the job's thread ----

    def share(self, job: Any) -> Any:
        nodes = lib.hawser_job_nodes(job)
        if nodes > 1:
            states = {f"state '{name}'": _short(state.terms()) for name, state in self.program._states.items()}
            units = {f"{operator.kind} '{operator.name}'": _short(operator.terms()) for operator in self.program._operator.walk()
                     if operator.kind != "root"}
            self.compare(job, {
                "the program": self.program.name, **units, **states, "the order of units": self.program._operator.order(),
                "metrics": repr(self.program._metrics), "results": repr(self.wanted), "what is asked for": "a plan" if self.planned else "a run"})
        error, status = hawser_error(), _native.HAWSER_OK
        for name, state in self.program._states.items():
            if state.kind == "data":
                self.data[name] = self.data[state.of] if state.of is not None else self._dataset(job, state, nodes)
        try:
            self.build = Build(job, self.program, self.data, self.running)
            self.build.make()
        except BaseException as refused:  # on one node perhaps, such as one that cannot compile: then none runs
            self.raised, status = refused, _native.HAWSER_BAD_PROGRAM
            error.status, error.text = status, str(refused).encode(errors="replace")[:999]
        if nodes > 1:
            check(lib.hawser_job_agree(job, status, byref(error)), error)
        if self.raised is not None:
            raise self.raised
        assert self.build is not None
        return self.build.handle

    def _dataset(self, job: Any, state: State, nodes: int) -> Any:
        """Returns a handle of the data of the job's blocks. Collective."""
        split, data = SPLITS[state.by], state.data
        if nodes == 1:
            if isinstance(data, Files):
                data = state.data = Dataset(data.path, **data.options)
            layout = data._matrix.layout
            if state.by == "all" or layout == _native.HAWSER_DENSE or (state.by == "row" and layout in BY_ROW):
                return data._handle
            return data._in_layout(state.by == "row")
        if state.by == "all":
            if isinstance(data, Files) or data.partitioned:
                raise BadOption(f"data '{state.name}': by=\"all\" over several nodes needs an array, the same on each node")
            return data._handle
        self.shared[state.name] = POINTER(hawser_dataset)()
        if isinstance(data, Files):
            data.load_share(job, split, self.shared[state.name])
        else:
            data._deal(job, split, self.shared[state.name])
        return self.shared[state.name]

    # ---- the run

    def work(self, job: Any, handle: Any) -> None:
        error = hawser_error()
        if self.planned is not None:
            self.plan = read_plan(*self.planned, lambda *rest: lib.hawser_plan_text(job, handle, *rest))
            return
        observer = hawser_observer(self._observe)
        if self.trace is not None or self.progress is not None:
            lib.hawser_observe(job, observer, None)
        status = lib.hawser_run_program(job, handle, byref(self.run_handle), byref(error))
        if status not in (_native.HAWSER_OK, _native.HAWSER_STOP):
            raise self._failure(status, error)
        self._agree(job)
        self.result = self._results(job)

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
                self.progress(dict(now))
        except BaseException as error:
            self.running.end(error, "in progress")

    def _results(self, job: Any) -> Run:
        run, error = self.run_handle, hawser_error()
        figures, text = lib.hawser_run_figures(run).contents, ctypes.c_char_p()
        check(lib.hawser_run_log_view_text(run, byref(text), byref(error)), error)
        view = (text.value or b"").decode()
        free(text)
        states = {name: self._result(state) for name, state in self.program._states.items()
                  if state.kind not in ("data", "scratch") and (self.wanted is None or name in self.wanted)}
        if figures.interrupted_by is not None:
            self.interrupted_by = figures.interrupted_by.decode()
        reason = (figures.stop_reason or b"").decode()
        self.signalled = reason == "signal"
        return Run(
            states, {name: float(lib.hawser_result_metric(run, name.encode())) for name in self.program._metrics}, reason, figures.clocks,
            figures.seconds, figures.workers, lib.hawser_job_nodes(job), lib.hawser_job_node(job), figures.bytes_exchanged,
            figures.repeatable.decode() if figures.repeatable is not None else None, view, changes_of(figures), tuple(self.trace or ()))

    def _result(self, state: State) -> Array:
        """Returns the final numbers of a state. Those of a stored state are fetched."""
        assert self.build is not None
        error, shape, name = hawser_error(), self.build.shape(state), state.name.encode()
        values = np.empty(shape, state.dtype)
        size = lib.hawser_result_size(self.run_handle, name)
        if size != values.size:
            raise Error(f"state '{state.name}' has {size} numbers, and its shape is {shape}")
        read = getattr(lib, f"hawser_result_range{SUFFIX[state.dtype]}")
        place = ctypes.cast(values.ctypes.data, POINTER(C_TYPES[state.dtype]))
        check(read(self.run_handle, name, 0, values.size, place, byref(error)), error)
        return values

    def release(self) -> None:
        lib.hawser_run_free(self.run_handle)
        if self.build is not None:
            self.build.free()
        for handle in self.shared.values():
            lib.hawser_dataset_free(handle)

    # ---------------------------------------------------------------------------------------- in the caller's thread ----

    def conclude(self, pressed: bool) -> Run:
        """Returns the results, or raises what ended the run."""
        self.show_messages()
        if self.running.raised is not None and not pressed:
            raise self.running.raised
        if pressed or (self.interrupted_by is not None and self.result is not None and self.signalled):
            by = "" if pressed else f" by {self.interrupted_by}"
            stopped = Interrupted(f"the run was interrupted{by}")
            stopped.run = self.result
            raise stopped
        if self.raised is not None:
            raise self.raised
        if self.planned is not None:
            return None  # type: ignore[return-value]
        if self.result is None:
            raise Error("the run ended without results")
        return self.result


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _exception(name: str) -> type[Exception] | None:
    """Returns an exception class that this process has already, by its name."""
    module, _, last = name.rpartition(".")
    found = getattr(sys.modules.get(module), last, None) if module else getattr(builtins, last, None)
    return found if isinstance(found, type) and issubclass(found, Exception) else None


__all__ = ["Execution", "Run"]
