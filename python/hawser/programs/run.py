"""Runs a program, and takes its results."""
import builtins
import contextlib
import ctypes
import dataclasses
import hashlib
import math
import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from ctypes import POINTER, byref
from typing import Any

import numpy as np

from .. import _native
from .._beside import terminating
from .._changes import PolicyChange, changes_of
from .._cluster import Cluster
from .._dataset import BY_ROW, Dataset, Files
from .._errors import BadArgument, BadOption, BadProgram, Error, Interrupted, check, failure, text_of
from .._job import Job, broadcast
from .._library import library as lib
from .._memory import free
from .._native import hawser_dataset, hawser_error, hawser_observer, hawser_run
from .._numbers import Array
from .._options import Options
from .._plan import Plan, read_plan
from .build import Build
from .checkpoint import check_place, from_bytes, read, to_bytes, write
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
    position: bytes | None = None  #: where it goes on (`resume=`), if it has ended early between two clocks
    kept: bool = False  #: the results are what a test has kept, because the run has ended early or failed

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the run to a file, whole or not at all. `hawser.Run.load` reads it, and `resume=` of `hawser.Program.run` goes on from it."""
        write(path, to_bytes(self))

    @staticmethod
    def load(path: str | os.PathLike[str]) -> "Run":
        """Reads a run that `save` or a checkpoint has written.

        >>> import hawser, tempfile
        >>> @hawser.unit(updates="w", one=True, compile=False)
        ... def add(w):
        ...     w += 1
        >>> program = hawser.Program("count")
        >>> program.replicated("w", 2)
        >>> program.loop("loop", clocks=9).unit(add)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     program.run(workers=1, max_clocks=4, checkpoint=folder + "/count.npz").stop_reason
        ...     hawser.Run.load(folder + "/count.npz")["w"]
        ...     program.run(workers=1, resume=folder + "/count.npz")["w"]
        'clocks'
        array([4., 4.])
        array([9., 9.])
        """
        return _run_of(read(path), str(path))

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
                 trace: bool = False, wanted: dict[str, Any] | None = None, saving: "Saving | None" = None) -> None:
        super().__init__(options, cluster)
        self.program, self.progress, self.wanted, self.saving = program, progress, wanted, saving or Saving()
        self.before: Run | None = None  # the run, or the part of this one, from which it goes on
        self.trace: list[dict[str, Any]] | None = [] if trace else None
        self.planned: tuple[bool, bool] | None = None
        self.plan: Plan | None = None
        self.running = Running(self.interrupt, self.calls)
        self.terminated = 0  # SIGTERMs that have come
        self.build: Build | None = None
        self.run_handle: Any = POINTER(hawser_run)()
        self.shared: dict[str, Any] = {}  # datasets of this job, which are freed
        self.data: dict[str, Any] = {}  # datasets by state
        self.result: Run | None = None
        for name, part in (wanted or {}).items():
            if not program._known(name, "results").has_result:
                raise BadProgram(f"results: '{name}' is no state that has a result")
            if part is not None and self.saving.path is not None:
                raise BadOption(f"results: a checkpoint has all of each state; leave the part of '{name}' out")

    # ------------------------------------------------------------------------------------------- in the job's thread ----

    def share(self, job: Any) -> Any:
        nodes = lib.hawser_job_nodes(job)
        if nodes > 1:
            states = {f"state '{name}'": _short(state.terms()) for name, state in self.program._states.items()}
            units = {f"{operator.kind} '{operator.name}'": _short(operator.terms()) for operator in self.program._operator.walk()
                     if operator.kind != "root"}
            self.compare(job, {
                "the program": self.program.name, **units, **states, "the order of units": self.program._operator.order(),
                "metrics": repr(self.program._metrics), "results": repr(self.wanted and {name: isinstance(part, np.ndarray) or part for name, part in self.wanted.items()}), "what is asked for": "a plan" if self.planned else "a run",
                "checkpoints": self.saving.terms()})
        self.before = self._resumed(job, nodes)
        if self.before is not None and self.before.ended:
            return None
        for name, state in self.program._states.items():
            if state.kind == "data":
                self.data[name] = self.data[state.of] if state.of is not None else self._dataset(job, state, nodes)
        return self._make(job)

    def _make(self, job: Any) -> Any:
        """Makes the library's program, to begin or to go on. Collective."""
        def make() -> None:
            self.running.begin()
            start = self.saving.start if self.before is None else self.before.states
            self.build = Build(job, self.program, self.data, self.running, start)
            self.build.make()
            for name in filter(self._fetches, self.program._states):
                lib.hawser_result_expect(self.build.handles[name])
            if self.saving.path is not None:
                lib.hawser_program_pause(self.build.handle, self.saving.every or 2**64 - 1)
            if self.before is not None:
                position = self.before.position or b""
                lib.hawser_program_resume(self.build.handle, position, len(position))

        self._agreed(job, _native.HAWSER_BAD_PROGRAM, make)
        assert self.build is not None
        return self.build.handle

    def _takes(self, name: str) -> bool:
        """Returns whether the run has the results of a state, or of some of its lines."""
        return self.program._states[name].has_result and (self.wanted is None or name in self.wanted or self.saving.path is not None)

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

    def _resumed(self, job: Any, nodes: int) -> "Run | None":
        """Returns the run from which this one goes on: that of node 0, which writes checkpoints. Collective."""
        if not self.saving.resumes and self.saving.path is None:
            return None
        given, found = b"", None

        def take() -> None:
            nonlocal given, found
            if nodes == 1 or lib.hawser_job_leads(job):
                given = self.saving.begin()
            if given:
                found = _run_of(given, self.saving.where)
                self._check_resumed(found)

        self._agreed(job, _native.HAWSER_BAD_ARGUMENT, take)
        if nodes > 1:
            given = broadcast(job, given)
            found = _run_of(given, self.saving.where) if given else None
        return found

    def _check_resumed(self, run: "Run") -> None:
        if run.program != self.program.name:
            raise BadProgram(f"resume: {self.saving.where} is a run of program '{run.program}', and this is '{self.program.name}'")
        if run.position is None and not run.ended:
            raise BadProgram(f"resume: {self.saving.where} ended by {run.stop_reason} within a clock, or operators have run after its loop, so it "
                             "cannot go on; start=run begins a new run with its states")
        for state in self.program._states.values():
            if state.has_result and state.name not in run.states:
                raise BadProgram(f"resume: {self.saving.where} has no state '{state.name}'; it has {', '.join(run.states) or 'none'}")

    def _dataset(self, job: Any, state: State, nodes: int) -> Any:
        """Returns a handle of the data of the job's blocks. Collective."""
        split, data = SPLITS[state.by], state.data
        if nodes == 1:
            if isinstance(data, Files):
                data = state.data = Dataset(data.path, **{**data.options, **({"outputs": True} if data.how.outputs else {})})
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
        if handle is None:  # the run that it would go on with has come to its end
            self.result = self.before
            return
        self._work(job, handle)
        while self.result is not None and not self.result.ended and self.result.stop_reason == "pause":
            self._free_run()
            self.before, self.result = self.result, None
            self._work(job, self._make(job))

    def _work(self, job: Any, handle: Any) -> None:
        """Makes the plan, or runs the program until it ends or pauses."""
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
        self._save(job)

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

    def _save(self, job: Any) -> None:
        """Writes a checkpoint. Collective."""
        result = self.result
        if self.saving.path is None or result is None or not (result.ended or result.position):
            return  # the last checkpoint remains
        path = self.saving.path
        self._agreed(job, _native.HAWSER_IO, lambda: result.save(path) if result.node == 0 else None)

    def _position(self, job: Any, ended: bool) -> bytes | None:
        """Returns where a run has ended early, on each node. Collective."""
        size = ctypes.c_size_t()
        place = lib.hawser_run_position(self.run_handle, byref(size))
        found = b"" if ended or not place else ctypes.string_at(place, size.value)
        if lib.hawser_job_nodes(job) > 1 and not ended:
            found = broadcast(job, found)
        return found or None

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
        clocks, sent = (0, 0) if self.before is None else (self.before.clocks, self.before.bytes_exchanged)
        return Run(
            states, {name: float(lib.hawser_result_metric(run, name.encode())) for name in self.program._metrics}, reason, clocks + figures.clocks,
            figures.seconds, figures.workers, lib.hawser_job_nodes(job), lib.hawser_job_node(job), sent + figures.bytes_exchanged,
            figures.repeatable.decode() if figures.repeatable is not None else None, view, changes_of(figures), tuple(self.trace or ()),
            self.program.name, ended, self._position(job, ended), bool(lib.hawser_run_kept(run)))

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

    def _free_run(self) -> None:
        lib.hawser_run_free(self.run_handle)
        self.run_handle = POINTER(hawser_run)()
        if self.build is not None:
            self.build.free()
            self.build = None

    def release(self) -> None:
        self._free_run()
        for handle in self.shared.values():
            lib.hawser_dataset_free(handle)

    # ---------------------------------------------------------------------------------------- in the caller's thread ----

    def execute(self) -> bool:
        """Runs. If it has a checkpoint, SIGTERM ends it as Ctrl-C does, and not the process before that is written."""
        def terminate() -> None:
            self.terminated += 1
            # By a thread, since the signal may have come while this one has the job's lock.
            threading.Thread(target=self.interrupt if self.terminated == 1 else self.calls.end, name="hawser-terminate", daemon=True).start()
        with terminating(terminate) if self.saving.path is not None else contextlib.nullcontext():
            return super().execute()

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


def _run_of(given: bytes, where: str) -> Run:
    states, facts = from_bytes(given, where)
    return Run(states=states, node=0, **facts)


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


class Saving:
    """Where a run begins, and which checkpoints it writes."""

    def __init__(self, checkpoint: Any = None, every: int | None = None, resume: Any = None, start: Any = None) -> None:
        if every is not None and (checkpoint is None or not isinstance(every, (int, np.integer)) or every < 1):
            raise BadOption(f"every is {every!r}; it is the number of clocks from one checkpoint to the next, and needs checkpoint=")
        if resume is True and checkpoint is None:
            raise BadOption("resume=True goes on from the checkpoint, if there is one; give checkpoint=")
        if not (resume is None or isinstance(resume, (bool, str, os.PathLike, Run))):
            raise BadArgument(f"resume is a {type(resume).__name__}; it is a hawser.Run, the path of one, or True")
        if start is not None and resume:
            raise BadOption("start and resume contradict each other; give one")
        if not (start is None or isinstance(start, (Run, Mapping))):
            raise BadArgument(f"start is a {type(start).__name__}; it is a hawser.Run, or arrays by the names of their states")
        self.path, self.every, self.resumes = checkpoint, int(every or 0), resume or None
        self.start: dict[str, Any] = dict(start.states if isinstance(start, Run) else start or {})
        given = checkpoint if resume is True else resume
        self.where = "the run" if isinstance(given, Run) or given is None else str(given)

    def begin(self) -> bytes:
        """Returns the run to go on with, as the bytes of its file; empty: there is none. Refuses a checkpoint that could not be written."""
        if self.path is not None:
            check_place(self.path)
        if not self.resumes:
            return b""
        if isinstance(self.resumes, Run):
            return to_bytes(self.resumes)
        if self.resumes is True:
            return read(self.path) if os.path.exists(self.path) else b""
        return read(self.resumes)

    def terms(self) -> str:
        """Returns what must be the same on every node."""
        start = {name: hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()[:16] for name, values in self.start.items()}
        return repr((self.path is not None, self.every, bool(self.resumes), start))


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _exception(name: str) -> type[BaseException] | None:
    """Returns an exception class that this process has already, by its name."""
    module, _, last = name.rpartition(".")
    found = getattr(sys.modules.get(module), last, None) if module else getattr(builtins, last, None)
    return found if isinstance(found, type) and issubclass(found, (Exception, Interrupted)) else None


__all__ = ["Execution", "Run", "Saving", "wanted_of"]
