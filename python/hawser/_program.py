"""Programs of the user's own: states, units and loops."""
import builtins
import ctypes
import dataclasses
import hashlib
import math
import re
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from ctypes import POINTER, byref
from typing import Any

import numpy as np

from . import _native
from ._cluster import Cluster, cluster_for
from ._dataset import BY_ROW, Array, Dataset, Files, dataset_of, is_path
from ._errors import BadArgument, BadOption, BadProgram, Error, Interrupted, check, failure, text_of, warn
from ._job import Job
from ._library import library as lib
from ._native import (
    hawser_dataset, hawser_error, hawser_merging, hawser_observer, hawser_program, hawser_rule, hawser_run, hawser_state, hawser_sync,
    hawser_unit_function, hawser_until,
)
from ._options import JOB_KEYS, Options, key_of
from ._unit import (
    BESIDE, C_TYPES, COMBINE, SUFFIX, TYPES, Argument, Known, KnownState, Running, Unit, array_at, function_of, has_numba, merge_of,
    number_of, runs,
)

SPLITS = {"row": _native.HAWSER_BY_ROW, "column": _native.HAWSER_BY_COLUMN, "all": _native.HAWSER_WHOLE}
FORMS = {"exact": _native.HAWSER_EXACT, "bf16": _native.HAWSER_AS_BF16, "f16": _native.HAWSER_AS_F16, "int8": _native.HAWSER_AS_INT8}
SYNCS = {"bsp": _native.HAWSER_BSP, "ssp": _native.HAWSER_SSP, "tap": _native.HAWSER_TAP, "delay": _native.HAWSER_DELAY,
         "dc": _native.HAWSER_CENTRIC}
# Calls of C in the library's texts, and what they are here.
WORDS = {
    "hawser_job_load has given": "the load has given", "(hawser_load.split = HAWSER_BY_ROW)": "", "load the input with hawser_load.split = HAWSER_BY_ROW":
    "give by=\"row\"", "load the input with HAWSER_BY_COLUMN": "give by=\"column\"", "use HAWSER_BY_ROW or HAWSER_BY_COLUMN": "use \"row\" or \"column\"",
    "use hawser_block_state for one that data do not shape": "leave along= out for one that data do not shape",
    "remove hawser_unit_sync": "leave sync= of the unit out", "hawser_unit_sync: ": "sync=: ", "hawser_state_filter": "filter=",
    "hawser_encoding": "encoding=", "a loop gets its sync from hawser_loop": "a loop has a sync of its own",
    "call hawser_reduces first": "give reduces=", "hawser_reduces_expect": "reduces=", "hawser_reduces": "reduces=",
    "hawser_unit_one": "one=True", "make it a hawser_unit": "leave one=True out",
}
NAME = re.compile(r"raised ([\w.]+): (.*)", re.DOTALL)


def _sync(text: str) -> hawser_sync:
    """Returns a sync as the command spells it: "bsp", "ssp:2", "tap", "delay:1", "dc:0"."""
    word, colon, number = text.partition(":")
    if word not in SYNCS or bool(colon) != (word in ("ssp", "delay", "dc")) or (colon and not number.isdecimal()):
        raise BadOption(f"sync: '{text}' is none; it is \"bsp\", \"ssp:N\", \"tap\", \"delay:N\" or \"dc:N\"")
    staleness = int(number or 0)
    if staleness >= 2**32:
        raise BadOption(f"sync: {staleness} clocks are too many")
    kind = SYNCS["bsp"] if word in ("ssp", "delay") and staleness == 0 else SYNCS[word]
    return hawser_sync(kind, staleness)


def _merge_unit(merge: Any) -> Unit | None:
    if merge is None or isinstance(merge, Unit):
        return merge
    return Unit(merge, (), (), (), False, None, 0, None, True)


def _shape_of(name: str, shape: Any) -> tuple[int | str, ...]:
    """Returns a shape: whole numbers, and names of data for the number of columns of these."""
    given = (shape,) if isinstance(shape, (int, np.integer, str)) else tuple(shape)
    if not given or not all(isinstance(extent, str) or (isinstance(extent, (int, np.integer)) and 0 < extent < 2**48) for extent in given):
        raise BadArgument(f"state '{name}': its shape is {shape}; give a whole number above 0, or several")
    return tuple(extent if isinstance(extent, str) else int(extent) for extent in given)


def _type_of(name: str, dtype: Any) -> str:
    try:
        found = str(np.dtype(dtype).name)
    except TypeError as error:
        raise BadArgument(f"state '{name}': {dtype!r} is no type of numbers") from error
    if found not in TYPES:
        raise BadArgument(f"state '{name}' is of {found}; states are of float64, float32, int64 or int32")
    return found


@dataclasses.dataclass
class _State:
    """A state as it was declared."""

    name: str
    kind: str  # "data", "replicated", "partitioned", "local" or "stored"
    dtype: str = "float64"
    shape: tuple[int | str, ...] = ()  # of the whole; of one block if `each`; of a line's numbers if along data. A text: columns of data
    along: str | None = None
    each: bool = False  # every block has a part of `shape`
    initial: Array | None = None
    gain: float = 0.0
    damping: float | str = 0.0  # "average" is known when the job is open
    merge: Unit | None = None
    derived: Unit | None = None
    filter: tuple[str, int, int] | None = None
    encoding: str | None = None
    function: str | None = None
    parameters: tuple[float, ...] = ()
    tied: str | None = None
    data: Any = None  # a Dataset or Files
    by: str = "row"

    def terms(self) -> str:
        """Returns what must be the same on every node."""
        start = hashlib.sha256(self.initial.tobytes()).hexdigest() if self.initial is not None else "zeros"
        merge = self.merge.digest() if self.merge is not None else None
        kind = type(self.data).__name__ + (", rows of its own" if getattr(self.data, "partitioned", False) else "")
        digest = _digest_of(self.data) if self.by == "all" else ""
        return repr((self.kind, self.dtype, self.shape, self.along, self.each, start, self.gain, self.damping, merge,
                     self.derived and self.derived.digest(), self.filter, self.encoding, self.function, self.parameters, self.tied,
                     kind, self.by, digest))


def _digest_of(data: Any) -> str:
    """Returns a digest of all numbers of a dataset, which each node has whole."""
    if not isinstance(data, Dataset):
        return ""
    matrix, made = data._matrix, hashlib.sha256()
    lines = matrix.rows if matrix.layout in BY_ROW else matrix.cols
    if matrix.offsets:
        offsets = array_at(ctypes.cast(matrix.offsets, ctypes.c_void_p).value or 0, "int64", (lines + 1,))
        made.update(offsets.tobytes())
        made.update(array_at(ctypes.cast(matrix.indices, ctypes.c_void_p).value or 0, "uint32", (matrix.stored,)).tobytes())
        shape, strides = (matrix.stored,), (data.dtype.itemsize,)
        made.update(array_at(matrix.values or 0, data.dtype.name, shape, strides).tobytes())
    else:
        size = data.dtype.itemsize
        across = (matrix.rows + matrix.cols - lines, size)
        values = array_at(matrix.values or 0, data.dtype.name, (lines, across[0]), (matrix.stride * size, size))
        made.update(values.tobytes())
    for numbers in (data.target, data.weights, data.offset):
        made.update(b"" if numbers is None else numbers.tobytes())
    return made.hexdigest()


@dataclasses.dataclass
class _Operator:
    """An operator as it was added: a unit, a loop, a sequence, a parallel or a branch."""

    kind: str
    name: str = ""
    children: list["_Operator"] = dataclasses.field(default_factory=list)
    unit: Unit | None = None
    one: bool = False
    sync: str | None = None
    states: dict[str, str] = dataclasses.field(default_factory=dict)
    numbers: dict[str, Any] = dataclasses.field(default_factory=dict)
    until: dict[str, Any] = dataclasses.field(default_factory=dict)
    test: Callable[..., Any] | None = None

    def order(self) -> str:
        return f"{self.kind} {self.name}({', '.join(child.order() for child in self.children)})"

    def walk(self) -> Iterator["_Operator"]:
        yield self
        for child in self.children:
            yield from child.walk()

    def terms(self) -> str:
        """Returns what must be the same on every node, except what it contains."""
        test = Unit(self.test, (), (), (), False, None, 0, False, True).digest() if isinstance(self.test, types.FunctionType) else None
        unit = self.unit
        own = (unit.digest(), unit.updates, unit.reads, unit.reports, unit.reduces, unit.compile) if unit is not None else None
        return repr((self.kind, self.name, own, self.one, self.sync, self.states, self.numbers, self.until, test))


class Progress:
    """What a test of a loop or a branch sees of the run. It is of use during the test alone."""

    def __init__(self, pointer: Any, program: "Program", remembers: int = 0) -> None:
        self._pointer, self._program, self._remembers = pointer, program, remembers

    def _use(self) -> Any:
        if self._pointer is None:
            raise BadArgument("a hawser.Progress is used after its test has returned")
        return self._pointer

    def metric(self, name: str) -> float:
        """Returns a metric, as combined over the blocks. "bytes" and "staleness" always exist."""
        if name not in self._program._metrics and name not in ("bytes", "staleness"):
            raise BadProgram(f"the test names metric '{name}', and the program has {list(self._program._metrics)}")
        return float(lib.hawser_progress_metric(self._use(), name.encode()))

    __getitem__ = metric

    def set(self, name: str, value: float) -> None:
        """Sets a metric, for all blocks and for the other conditions of the loop."""
        self.metric(name)
        lib.hawser_progress_set(self._use(), name.encode(), float(value))

    @property
    def clock(self) -> int:
        """The iteration of the loop."""
        return int(lib.hawser_progress_clock(self._use()))

    @property
    def clocks(self) -> int:
        """The clocks of all loops so far."""
        return int(lib.hawser_progress_clocks(self._use()))

    @property
    def seconds(self) -> float:
        """The time since the run began."""
        return float(lib.hawser_progress_seconds(self._use()))

    @property
    def loop(self) -> str:
        """The name of the loop or unit."""
        return (lib.hawser_progress_loop(self._use()) or b"").decode()

    @property
    def stopping(self) -> bool:
        """Whether a signal or a limit has asked for the end."""
        return bool(lib.hawser_progress_stopping(self._use()))

    @property
    def memory(self) -> Array:
        """The numbers that the test keeps from clock to clock: as many as `remembers` says, zeros at first."""
        address = lib.hawser_progress_memory(self._use())
        if not self._remembers or not address:
            raise BadProgram("the test has no memory; give remembers= to the loop")
        return array_at(address, "float64", (self._remembers,), writable=True)

    def set_gain(self, state: str, gain: float) -> None:
        """Changes the gain of a replicated state, from the next clock that is announced."""
        self._program._known(state, "the test")
        lib.hawser_progress_gain(self._use(), state.encode(), float(gain))

    def set_sync(self, loop: str, sync: str) -> None:
        """Changes the sync of a loop, from the first clock that no block has begun."""
        lib.hawser_progress_sync(self._use(), loop.encode(), _sync(sync))


class Body:
    """A sequence of operators: a program, the body of a loop, a sequence, a parallel, or the two ways of a branch."""

    _program: "Program"
    _operator: _Operator

    def _add(self, operator: _Operator) -> "Body":
        self._operator.children.append(operator)
        made = Body()
        made._program, made._operator = self._program, operator
        return made

    def unit(self, unit: Unit, name: str | None = None, *, one: bool | None = None, sync: str | None = None,
             states: Mapping[str, str] | None = None, **numbers: Any) -> None:
        """Adds a unit, called `name`, or as its function. `numbers` are values of parameters that are no states.

        `states` names the states of parameters that are called otherwise. `one` and `sync` are as in `hawser.unit`.
        """
        if not isinstance(unit, Unit):
            raise BadArgument(f"{unit!r:.60} is no unit; make it one with @hawser.unit")
        sync = sync if sync is not None else unit.sync
        if sync is not None:
            _sync(sync)
        given = {**{key: value for key, value in unit.defaults.items() if key not in numbers}, **numbers}
        operator = _Operator("unit", name or unit.name, unit=unit, one=unit.one if one is None else one, sync=sync,
                             states=dict(states or {}), numbers=given)
        self._program._check_unit(operator)
        self._add(operator)

    def loop(self, name: str, *, clocks: int | None = None, seconds: float | None = None, metric: str | None = None,
             below: float | None = None, change: float | None = None, patience: int | None = None,
             test: Callable[[Progress], Any] | None = None, remembers: int = 0, sync: str | None = None) -> "Body":
        """Adds a loop, and returns its body. It ends at the first clock for which a condition holds.

        `clocks`: it has had so many iterations. `seconds`: it has run so long. `metric` with `below`: the metric is at most that; with
        `change`: it has changed by at most that part; with `patience`: it has not fallen for so many iterations. `test`: a function
        of a `hawser.Progress` returns true; `remembers` is how many numbers `progress.memory` has. `sync` is "bsp", "ssp:N",
        "tap", "delay:N" or "dc:N"; without it, that of the run.
        """
        if sync is not None:
            _sync(sync)
        if metric is not None:
            self._program.metric(metric)
        until = {"clocks": clocks, "seconds": seconds, "metric": metric, "below": below, "change": change, "patience": patience,
                 "remembers": remembers}
        for key, count in (("clocks", clocks), ("patience", patience), ("remembers", remembers)):
            if count is not None and not (isinstance(count, (int, np.integer)) and 0 <= count < 2**48):
                raise BadArgument(f"loop '{name}': {key} is {count!r}; it is a whole number from 0")
        return self._add(_Operator("loop", name, sync=sync, until=until, test=_test_of(f"loop '{name}'", test)))

    def sequence(self) -> "Body":
        """Adds a sequence, and returns it: one child of a parallel or a branch."""
        return self._add(_Operator("sequence"))

    def parallel(self) -> "Body":
        """Adds a parallel, and returns it: its children start together."""
        return self._add(_Operator("parallel"))

    def branch(self, name: str, test: Callable[[Progress], Any]) -> "Body":
        """Adds a branch, and returns it. Its first child runs if the test returns true, else its second, if it has one."""
        return self._add(_Operator("branch", name, test=_test_of(f"branch '{name}'", test)))


def _test_of(where: str, test: Any) -> Any:
    if test is not None and not callable(test):
        raise BadArgument(f"{where}: test is a {type(test).__name__}, and not a function of a hawser.Progress")
    return test


class Program(Body):
    """A program of the user's own: states, which are arrays of numbers, units, which change them, and loops.

    The library cuts the data for B workers and runs each unit on all of them. Workers share no memory: each changes its own copy of a state,
    and the library exchanges the changes. So the same program runs on threads, processes and machines. See `hawser.unit`.

    >>> import hawser, numpy
    >>> @hawser.unit(updates="mean", reports="error", compile=False)
    ... def step(rows, mean, rate):
    ...     error = rows - mean
    ...     mean += rate * error.mean(axis=0)
    ...     return (error**2).sum()
    >>> program = hawser.Program("means")
    >>> program.data("rows", numpy.arange(12.0).reshape(6, 2))
    >>> program.replicated("mean", 2, damping="average")
    >>> loop = program.loop("steps", clocks=60)
    >>> loop.unit(step, rate=0.5)
    >>> found = program.run(workers=1)
    >>> found["mean"].round(6), round(found.metrics["error"], 6), found.clocks
    (array([5., 6.]), 140.0, 60)
    """

    def __init__(self, name: str = "program") -> None:
        if not name:
            raise BadArgument("a program has a name")
        self.name = name
        self._states: dict[str, _State] = {}
        self._metrics: dict[str, str] = {}
        self._operator, self._program = _Operator("root"), self

    # ----------------------------------------------------------------------------------------------------- states ----

    def _declare(self, state: _State) -> None:
        if not isinstance(state.name, str) or not state.name.isidentifier() or state.name == "context":
            raise BadArgument(f"{state.name!r} is no name of a state: units have it as a parameter, so it is one of Python's names, "
                              "and not context")
        if state.name in self._states:
            raise BadProgram(f"program '{self.name}': two states are called '{state.name}'; give each its own name")
        if state.along is not None:
            along = self._known(state.along, f"state '{state.name}'")
            if along.kind != "data":
                raise BadProgram(f"state '{state.name}' is along '{state.along}', which is no data")
        for extent in state.shape:
            if isinstance(extent, str) and self._known(extent, f"the shape of state '{state.name}'").kind != "data":
                raise BadProgram(f"the shape of state '{state.name}' names '{extent}', which is no data")
        self._states[state.name] = state

    def _known(self, name: str, where: str) -> _State:
        if name not in self._states:
            raise BadProgram(f"{where}: program '{self.name}' has no state '{name}'; its states are {', '.join(self._states) or 'none'}")
        return self._states[name]

    def data(self, name: str, data: Any, target: Any = None, *, by: str = "row", weights: Any = None, offset: Any = None,
             groups: Any = None, names: Any = None, partitioned: bool | None = None, **options: Any) -> None:
        """Adds data, which units read: anything that `hawser.Dataset` takes, or a Dataset.

        `by` is how blocks share them: by "row", by "column", or "all", where each block sees everything. Files are loaded when the
        program runs; over several nodes each loads its share. `options` are those of a load.
        """
        if by not in SPLITS:
            raise BadOption(f"data '{name}': by is {by!r}; it is \"row\", \"column\" or \"all\"")
        given = {"weights": weights, "offset": offset, "groups": groups, "names": names, **options}
        made: Dataset | Files
        if is_path(data) and not partitioned:
            if groups is not None:
                raise BadOption("files have no groups of their own; leave these out")
            made = Files(data, {key: value for key, value in {"target": "none" if target is None else target, **given}.items()
                                if value is not None})
        else:
            made = dataset_of(data, target, partitioned=partitioned, **given)
        self._declare(_State(name, "data", data=made, by=by))

    def replicated(self, name: str, shape: Any, dtype: Any = np.float64, *, initial: Any = None, gain: float | None = None,
                   damping: float | str | None = None, merge: Callable[..., Any] | None = None, filter: str | None = None,
                   quota: int = 0, max_held: int = 0, encoding: str | None = None) -> None:
        """Adds a replicated state: each block has a full copy, and the sum of all blocks' changes is added to it.

        `damping` multiplies the sum; "average" is 1 / workers. `gain` is CoCoA's sigma'. `merge(state, sum, first, blocks, clock)`
        takes the place of the addition: it changes numbers of the state, from number `first` on, in place. `filter` with `quota`
        (bytes) and `max_held` (clocks) is one of --filter; `encoding` is "bf16", "f16" or "int8".
        """
        if encoding is not None and encoding not in FORMS:
            raise BadOption(f"state '{name}': encoding is {encoding!r}; it is one of {', '.join(FORMS)}")
        if isinstance(damping, str) and damping != "average":
            raise BadOption(f"state '{name}': damping is {damping!r}; it is a number above 0, or \"average\"")
        for key, value in (("gain", gain), ("damping", damping)):
            if isinstance(value, (int, float)) and not value > 0:
                raise BadProgram(f"state '{name}' has {key} {value}; it must be above zero")
        shape = _shape_of(name, shape)
        chosen = None if filter is None else (filter, quota, max_held)
        if filter is None and (quota or max_held):
            raise BadOption(f"state '{name}': quota and max_held need a filter")
        state = _State(name, "replicated", _type_of(name, dtype), shape, gain=gain or 0.0, damping=damping or 0.0, merge=_merge_unit(merge),
                       filter=chosen, encoding=encoding)
        state.initial = _initial(state, initial, shape)
        self._declare(state)

    def partitioned(self, name: str, shape: Any = (), dtype: Any = np.float64, *, along: str | None = None, each: bool = False,
                    initial: Any = None) -> None:
        """Adds a partitioned state: each block writes its own part, and all read all parts.

        Along data NAME, a block has the lines of its own rows (columns), and `shape` is that of a line: () is a number. With `each`, every
        block has an array of this shape, and readers see (blocks, *shape). Else blocks have equally many of the lines, `shape[0]`.
        """
        self._part("partitioned", name, shape, dtype, along, each, initial)

    def stored(self, name: str, shape: Any = (), dtype: Any = np.float64, *, along: str | None = None, each: bool = False,
               initial: Any = None, function: str | None = None, parameters: Iterable[float] = ()) -> None:
        """Adds a stored state, which servers keep, spread over the nodes: for states that do not fit on every node.

        Without `function`, each block is the writer of its part, which is its argument, and reads the others with
        `context.next_chunk`. With a function of the store ("add", "adagrad" and so on, and its `parameters`) all blocks change it
        with `context.inc`. Other arguments are those of `partitioned`.
        """
        self._part("stored", name, shape, dtype, along, each, initial)
        self._states[name].function, self._states[name].parameters = function, tuple(float(each) for each in parameters)

    def _part(self, kind: str, name: str, shape: Any, dtype: Any, along: str | None, each: bool, initial: Any) -> None:
        if along is not None and each:
            raise BadProgram(f"state '{name}': along and each contradict each other; give one")
        line = along is not None and shape == ()
        state = _State(name, kind, _type_of(name, dtype), () if line else _shape_of(name, shape), along, each)
        state.initial = _initial(state, initial, None if along is not None else state.shape)
        self._declare(state)

    def local(self, name: str, shape: Any = (), dtype: Any = np.float64, *, along: str | None = None, initial: Any = None,
              tied: str | None = None) -> None:
        """Adds a local state, which is never sent: `shape` for each row (column) of data `along`, or for each block.

        `tied` names a replicated state: both are committed together, with the same damping.
        """
        self._part("local", name, shape, dtype, along, along is None, initial)
        if tied is not None:
            self._known(tied, f"state '{name}'")
            self._states[name].tied = tied

    def derive(self, name: str, rebuild: Unit) -> None:
        """Says that a replicated state is a function of others: `rebuild` adds the block's share to zeros."""
        state = self._known(name, "derive")
        operator = _Operator("unit", rebuild.name, unit=rebuild)
        self._check_unit(operator)
        if state.kind != "replicated" or tuple(rebuild.updates) != (name,):
            raise BadProgram(f"derive: {rebuild.where()} updates {', '.join(rebuild.updates) or 'nothing'}; it updates the replicated "
                             f"state '{name}' alone")
        state.derived = rebuild

    def metric(self, name: str, by: str = "sum") -> None:
        """Says how the blocks' reports of a metric are combined: "sum", "max", "min", or "last" (block 0's).

        Metrics that units report are sums without this call.
        """
        if by not in COMBINE:
            raise BadOption(f"metric '{name}': by is {by!r}; it is one of {', '.join(COMBINE)}")
        if by != "sum" or name not in self._metrics:
            self._metrics[name] = by

    # ------------------------------------------------------------------------------------------------------ units ----

    def _check_unit(self, operator: _Operator) -> None:
        """Checks that the program has the states that a unit names, and declares the unit's metrics."""
        unit, numbers = operator.unit, operator.numbers
        assert unit is not None
        where = unit.where()
        for parameter in (*unit.updates, *unit.reads):
            self._known(operator.states.get(parameter, parameter), where)
        for given in (*operator.states, *numbers):
            if given not in unit.parameters and given not in (*unit.updates, *unit.reads):
                raise BadProgram(f"{where}: it has no parameter '{given}'; its parameters are {', '.join(unit.parameters) or 'none'}")
        for parameter in unit.parameters:
            name = operator.states.get(parameter, parameter)
            data, _, beside = name.rpartition("_")
            if name in self._states and parameter in numbers and parameter not in unit.defaults:
                raise BadProgram(f"{where}: parameter '{parameter}' is a state, and a number; give one of them another name")
            if name in self._states:
                continue
            if parameter in numbers:
                number_of(where, parameter, numbers[parameter])
            elif parameter != "context" and not (beside in BESIDE and data in self._states and self._states[data].kind == "data"):
                raise BadProgram(f"{where}: parameter '{parameter}' is no state of program '{self.name}', and no number is given for "
                                 f"it; the states are {', '.join(self._states) or 'none'}")
        for parameter in unit.updates:
            if self._states[operator.states.get(parameter, parameter)].kind == "data":
                raise BadProgram(f"{where}: it updates '{parameter}', which is data, and units of Python only read data")
        for metric in unit.reports:
            self.metric(metric)

    def _units(self) -> list[_Operator]:
        found = [operator for operator in self._operator.walk() if operator.kind == "unit"]
        rebuilt = [_Operator("unit", state.derived.name, unit=state.derived) for state in self._states.values() if state.derived]
        return found + rebuilt

    # ---------------------------------------------------------------------------------------------------- running ----

    def run(self, *, progress: Callable[[dict[str, Any]], Any] | None = None, trace: bool = False,
            results: Iterable[str] | None = None, **options: Any) -> "Run":
        """Runs the program. `options` are the job's, as in `hawser.train`: `workers=4`, `sync="ssp:2"`, `seed=1`, `time_limit="90s"`.

        Over several nodes each makes the same calls with the same program, and has the same results. `trace` keeps the metrics of each
        clock, and `progress` is a function that gets them; both on node 0. `results` names the states that are wanted, in place of all.
        An exception in a unit or test ends the run on all nodes, and is raised here. Ctrl-C ends it at an agreed clock, and raises
        `hawser.Interrupted`, whose `run` has what was reached.
        """
        execution = _Execution(self, *self._open(options), progress, trace, None if results is None else list(results))
        self._warn_plain(execution.options)
        return execution.conclude(execution.execute())

    def plan(self, *, physical: bool = False, dot: bool = False, **options: Any) -> str:
        """Returns the plan as text, or as Graphviz DOT: the tree with syncs, or, if `physical`, what runs where, with its memory."""
        execution = _Execution(self, *self._open(options), None, False, None)
        execution.planned = (physical, dot)
        pressed = execution.execute()
        execution.conclude(pressed)
        return execution.plan

    def _warn_plain(self, options: Options) -> None:
        plain = [operator.name for operator in self._units() if operator.unit and (operator.unit.compile is False or not has_numba())]
        if plain and options.text("workers") != "1":
            why = "compile=False" if has_numba() else "numba is not installed: pip install 'hawser[units]'"
            warn(f"unit '{plain[0]}' is plain Python ({why}): it holds the interpreter's lock, so the workers of a process run one at a time",
                 RuntimeWarning)

    def _open(self, options: dict[str, Any]) -> tuple[Options, Cluster | None]:
        for keyword in options:
            if key_of(keyword) not in JOB_KEYS:
                raise BadOption(f"{keyword}: a run has no such option")
        chosen = Options(lib.hawser_job_rows())
        chosen.fill(options)
        chosen.read_environment()
        if chosen.text("init"):
            raise BadOption("init: the first numbers of a state are initial= of its declaration")
        return chosen, cluster_for(chosen, options)

    def __repr__(self) -> str:
        return f"<hawser.Program '{self.name}' with states {', '.join(self._states) or 'none'}>"


def _initial(state: _State, initial: Any, shape: tuple[int | str, ...] | None) -> Array | None:
    """Returns first numbers in the state's type. `shape` None, or with a text: it depends on data, and is checked later."""
    if initial is None:
        return None
    array = np.asarray(initial)
    if array.dtype.kind not in "fiub" or (array.dtype.kind == "f" and state.dtype.startswith("int")):
        raise BadArgument(f"state '{state.name}' is of {state.dtype}, and its initial is of {array.dtype}")
    if shape is not None and any(isinstance(extent, str) for extent in shape):
        shape = None
    if shape is not None and not (array.shape == shape or array.ndim == 0 or (state.each and array.shape[1:] == shape)):
        raise BadArgument(f"state '{state.name}' has shape {shape}, and its initial has {array.shape}")
    if shape is not None and array.ndim == 0:
        array = np.full(shape, array)  # type: ignore[arg-type]
    made = np.array(array, dtype=state.dtype, order="C")
    if made.dtype.kind in "i" and not np.array_equal(made, array):
        raise BadArgument(f"state '{state.name}': its initial has numbers that are no {state.dtype}")
    return made


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
    trace: tuple[dict[str, Any], ...] = ()  #: with trace=True, on node 0: clock, seconds, loop and metrics of each clock

    def __getitem__(self, name: str) -> Array:
        if name not in self.states:
            raise BadArgument(f"the run has no result '{name}'; it has {', '.join(self.states) or 'none'}")
        return self.states[name]

    def __repr__(self) -> str:
        return f"<hawser.Run of {self.clocks} clocks, ended by {self.stop_reason}, with {', '.join(self.states)}>"


class _Execution(Job):
    """One run, or plan, of a program."""

    doing = "runs"

    def __init__(self, program: Program, options: Options, cluster: Cluster | None, progress: Callable[[dict[str, Any]], Any] | None,
                 trace: bool, wanted: list[str] | None) -> None:
        super().__init__(options, cluster)
        self.program, self.progress, self.wanted = program, progress, wanted
        self.trace: list[dict[str, Any]] | None = [] if trace else None
        self.planned: tuple[bool, bool] | None = None
        self.plan = ""
        self.running = Running()
        self.handle: Any = POINTER(hawser_program)()
        self.run_handle: Any = POINTER(hawser_run)()
        self.shared: dict[str, Any] = {}  # datasets of this job, which are freed
        self.data: dict[str, Any] = {}  # datasets by state
        self.kept: list[Any] = []  # what the library points to
        self.result: Run | None = None
        for name in wanted or ():
            program._known(name, "results")

    # ------------------------------------------------------------------------------------------- in the job's thread ----

    def share(self, job: Any) -> Any:
        nodes = lib.hawser_job_nodes(job)
        if nodes > 1:
            states = {f"state '{name}'": _short(state.terms()) for name, state in self.program._states.items()}
            units = {f"{operator.kind} '{operator.name}'": _short(operator.terms()) for operator in self.program._operator.walk()
                     if operator.kind != "root"}
            self.compare(job, {"the program": self.program.name, **units, **states, "the order of units": self.program._operator.order(), "metrics": repr(self.program._metrics), "results": repr(self.wanted),
                "what is asked for": "a plan" if self.planned else "a run"})
        error, status = hawser_error(), _native.HAWSER_OK
        for name, state in self.program._states.items():
            if state.kind == "data":
                self.data[name] = self._dataset(job, state, nodes)
        try:
            self._build(job)
        except BaseException as refused:  # on one node perhaps, such as one that cannot compile: then none runs
            self.raised, status = refused, _native.HAWSER_BAD_PROGRAM
            error.status, error.text = status, str(refused).encode(errors="replace")[:999]
        if nodes > 1:
            check(lib.hawser_job_agree(job, status, byref(error)), error)
        if self.raised is not None:
            raise self.raised
        return self.handle

    def _dataset(self, job: Any, state: _State, nodes: int) -> Any:
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

    def _build(self, job: Any) -> None:
        units = self.program._units()
        self.table = np.zeros(max(1, len(units)), np.int64)  # the addresses of the units' tables, which is the user pointer
        self.handle = lib.hawser_program_new(self.program.name.encode(), self.table.ctypes.data)
        runs[self.table.ctypes.data] = self.running
        self.blocks = int(lib.hawser_job_workers(job))
        self.handles: dict[str, Any] = {}
        for state in self.program._states.values():
            self.handles[state.name] = self._state(job, state)
        for state in self.program._states.values():
            if state.tied is not None:
                lib.hawser_tie(self.handles[state.name], self.handles[state.tied])
        for name, by in self.program._metrics.items():
            lib.hawser_metric_declare(self.handle, name.encode(), COMBINE[by])
        self.numbers = {id(operator): number for number, operator in enumerate(units)}
        for operator in units:
            self.running.units.append(operator.name)
            self.running.states.append(self._text_of(operator))
        functions = [self._function(operator, number) for number, operator in enumerate(units)]
        self.kept += functions
        rebuilt = [state for state in self.program._states.values() if state.derived is not None]
        for state, function in zip(rebuilt, functions[len(functions) - len(rebuilt):]):
            lib.hawser_derive(self.handles[state.name], function)
        self.functions = functions
        self._operators(job, lib.hawser_root(self.handle), self.program._operator.children)

    # ---- states

    def _state(self, job: Any, state: _State) -> Any:
        name, kind, initial = state.name.encode(), TYPES.get(state.dtype, 0), state.initial
        if state.kind == "data":
            return lib.hawser_data_state(self.handle, name, lib.hawser_dataset_matrix(self.data[state.name]), SPLITS[state.by])
        along = self.handles[state.along] if state.along is not None else POINTER(hawser_state)()
        lines, width = self._extent(state)
        if initial is not None:
            initial = self._whole_initial(state, initial)
            self.kept.append(initial)
        start = None if initial is None else initial.ctypes.data
        if state.kind == "replicated":
            return self._replicated(job, state, start)
        if state.kind == "local" and state.along is None:
            blocks = self.blocks if initial is not None else 0
            return lib.hawser_block_state(self.handle, name, kind, width, start, blocks)
        if state.kind == "local":
            return lib.hawser_local_state_of(self.handle, name, kind, along, width, start)
        if state.kind == "partitioned":
            return lib.hawser_partitioned_matrix(self.handle, name, kind, lines, width, _native.HAWSER_BY_ROW, along, start)
        parameters = (ctypes.c_double * max(1, len(state.parameters)))(*state.parameters)
        return lib.hawser_stored_matrix(self.handle, name, kind, lines, width, _native.HAWSER_BY_ROW, along, start,
                                        state.function.encode() if state.function else None, parameters if state.parameters else None)

    def _sizes(self, state: _State) -> tuple[int, ...]:
        """Returns a state's shape in numbers."""
        return tuple(self._columns(extent) if isinstance(extent, str) else extent for extent in state.shape)

    def _columns(self, data: str) -> int:
        matrix = lib.hawser_dataset_matrix(self.data[data]).contents
        return int(matrix.rows if self.program._states[data].by == "column" else matrix.cols)

    def _extent(self, state: _State) -> tuple[int, int]:
        """Returns the number of lines of a state, and of numbers in a line."""
        shape = self._sizes(state)
        if state.along is not None:
            matrix = lib.hawser_dataset_matrix(self.data[state.along]).contents
            by_column = self.program._states[state.along].by == "column"
            return (matrix.cols if by_column else matrix.rows), math.prod(shape)
        return (self.blocks, math.prod(shape)) if state.each else (shape[0], math.prod(shape[1:]))

    def _whole_initial(self, state: _State, initial: Array) -> Array:
        whole = self._shape(state)
        if state.each and initial.shape == whole[1:]:
            initial = np.ascontiguousarray(np.broadcast_to(initial, whole))
        elif initial.ndim == 0:
            initial = np.full(whole, initial)
        if initial.shape != whole:
            raise BadArgument(f"state '{state.name}' has shape {whole}, and its initial has {initial.shape}")
        return initial

    def _replicated(self, job: Any, state: _State, start: Any) -> Any:
        lines, width = self._extent(state)
        damping = 1 / self.blocks if state.damping == "average" else state.damping
        rule = hawser_rule(damping=damping, gain=state.gain)
        if state.merge is not None:
            merge = merge_of(state.merge)
            self.kept.append(merge)
            rule.merge, rule.user = merge, self.table.ctypes.data
        made = lib.hawser_replicated_state_of(self.handle, state.name.encode(), TYPES[state.dtype], width, lines, start, rule)
        if state.filter is not None:
            word, quota, held = state.filter
            lib.hawser_state_filter(made, word.encode(), quota, held)
        if state.encoding is not None:
            lib.hawser_encoding(made, FORMS[state.encoding])
        return made

    def _shape(self, state: _State) -> tuple[int, ...]:
        """Returns the shape of a whole state."""
        shape = self._sizes(state)
        return (self._extent(state)[0], *shape) if state.along is not None or state.each else shape

    # ---- units

    def _text_of(self, operator: _Operator) -> str:
        unit = operator.unit
        assert unit is not None
        reads = [name for name in (*unit.parameters, *unit.reads) if operator.states.get(name, name) in self.program._states
                 and name not in unit.updates]
        return " and ".join(f"which {verb} {', '.join(operator.states.get(name, name) for name in names)}"
                            for verb, names in (("reads", reads), ("updates", unit.updates)) if names) or "without states"

    def _function(self, operator: _Operator, number: int) -> Any:
        unit = operator.unit
        assert unit is not None
        table: list[int] = []
        arguments = tuple(self._argument(operator, parameter, table) for parameter in unit.parameters)
        values = np.array(table or [0], np.int64)
        self.kept.append(values)
        self.table[number] = values.ctypes.data
        declared = dict.fromkeys(operator.states.get(name, name) for name in (*unit.parameters, *unit.reads, *unit.updates))
        known = Known(tuple(self._known_state(self.program._states[name]) for name in declared if name in self.program._states),
                      tuple(self.program._metrics), operator.name)
        return function_of(unit, operator.name, arguments, number, known, values, self.running)

    def _known_state(self, state: _State) -> KnownState:
        by_line = state.kind in ("partitioned", "stored", "local") and not (state.kind == "local" and state.each)
        width = self._extent(state)[1] if state.kind == "stored" else 1
        return KnownState(state.name, state.kind, state.dtype, by_line, width)

    def _argument(self, operator: _Operator, parameter: str, table: list[int]) -> Argument:
        """Returns how a parameter is made, and puts its number or its shape into the unit's table."""
        unit, slot = operator.unit, len(table)
        assert unit is not None
        name = operator.states.get(parameter, parameter)
        state = self.program._states.get(name)
        if state is None and parameter in operator.numbers:
            dtype, bits = number_of(unit.where(), parameter, operator.numbers[parameter])
            table.append(bits)
            return Argument(parameter, "number", dtype=dtype, slot=slot)
        if state is None and parameter == "context":
            return Argument(parameter, "context")
        if state is None:
            return self._beside(unit, parameter, name, table)
        if state.kind == "data":
            return self._data_argument(parameter, state)
        writable, whole = parameter in unit.updates, self._shape(state)
        if state.kind == "replicated" or (state.kind == "partitioned" and not writable):
            table += whole
            getter = "cache" if writable else "view"
            return Argument(parameter, "whole", name, state.dtype, len(whole), writable, getter=getter, slot=slot)
        if state.kind == "stored" and (state.function is not None or not writable):
            raise BadProgram(f"{unit.where()}: parameter '{parameter}' is a stored state that the unit "
                             f"{'changes with context.inc' if writable else 'reads with context.next_chunk or prefetch'}, so it is no "
                             f"array; leave the parameter out, and give {'updates' if writable else 'reads'}=\"{parameter}\"")
        shape = whole[1:] if state.each else (0, *whole[1:])
        table += shape
        return Argument(parameter, "part" if state.each else "lines", name, state.dtype, len(shape), writable, getter="local", slot=slot)

    def _beside(self, unit: Unit, parameter: str, name: str, table: list[int]) -> Argument:
        data, _, beside = name.rpartition("_")
        state, handle = self.program._states[data], self.data[data]
        if state.by == "column":
            raise BadProgram(f"{unit.where()}: parameter '{parameter}' is what belongs to rows, and data '{data}' are by column")
        if not _has(state.data, beside):
            raise BadProgram(f"{unit.where()}: parameter '{parameter}': data '{data}' have no {beside}; give {beside}= to program.data")
        table.append(ctypes.cast(handle, ctypes.c_void_p).value or 0)
        return Argument(parameter, "beside", data, beside=beside, slot=len(table) - 1)

    def _data_argument(self, parameter: str, state: _State) -> Argument:
        matrix = lib.hawser_dataset_matrix(self.data[state.name]).contents
        dtype = "float64" if matrix.type == _native.HAWSER_F64 else "float32"
        if matrix.layout in (_native.HAWSER_CSR, _native.HAWSER_CSC):
            return Argument(parameter, "sparse", state.name, dtype, turned=matrix.layout == _native.HAWSER_CSC)
        turned = matrix.layout == _native.HAWSER_DENSE
        if turned:
            layout = "F" if state.by != "row" and matrix.stride == matrix.rows else "A"
        else:
            layout = "C" if matrix.stride == matrix.cols else "A"
        return Argument(parameter, "dense", state.name, dtype, 2, layout=layout, turned=turned)

    # ---- operators

    def _operators(self, job: Any, parent: Any, children: list[_Operator]) -> None:
        for operator in children:
            made = getattr(self, f"_add_{operator.kind}")(job, parent, operator)
            if operator.kind != "unit":
                self._operators(job, made, operator.children)

    def _add_unit(self, job: Any, parent: Any, operator: _Operator) -> None:
        unit = operator.unit
        assert unit is not None
        named = [operator.states.get(name, name) for name in (*unit.parameters, *unit.reads)]
        named += [name.rpartition("_")[0] for name in named if name not in self.program._states and name.rpartition("_")[2] in BESIDE]
        updates = [operator.states.get(name, name) for name in unit.updates]
        reads = [name for name in dict.fromkeys(named) if name in self.program._states and name not in updates]
        add = lib.hawser_unit_one if operator.one else lib.hawser_unit
        made = add(parent, operator.name.encode(), self.functions[self.numbers[id(operator)]], self._list(reads), self._list(updates))
        if unit.reduces:
            lib.hawser_reduces(made, unit.reduces)
        if operator.sync is not None:
            lib.hawser_unit_sync(made, _sync(operator.sync))

    def _list(self, names: list[str]) -> Any:
        return (POINTER(hawser_state) * (len(names) + 1))(*(self.handles[name] for name in names))

    def _add_loop(self, job: Any, parent: Any, operator: _Operator) -> Any:
        until = hawser_until(**{key: value for key, value in operator.until.items() if value and key not in ("metric", "remembers")})
        self.kept.append(until)  # the program has its text of the metric
        if operator.until["metric"] is not None:
            until.metric = operator.until["metric"].encode()
        if operator.test is not None:
            remembers = operator.until["remembers"]
            until.test, until.remembers = self._test(operator, remembers, True), remembers * 8
        elif operator.until["remembers"]:
            until.remembers = operator.until["remembers"] * 8
        sync = lib.hawser_job_sync(job) if operator.sync is None else _sync(operator.sync)
        return lib.hawser_loop(parent, operator.name.encode(), until, sync)

    def _add_sequence(self, job: Any, parent: Any, operator: _Operator) -> Any:
        return lib.hawser_sequence(parent)

    def _add_parallel(self, job: Any, parent: Any, operator: _Operator) -> Any:
        return lib.hawser_parallel(parent)

    def _add_branch(self, job: Any, parent: Any, operator: _Operator) -> Any:
        return lib.hawser_branch(parent, operator.name.encode(), self._test(operator, 0, False), None)

    def _test(self, operator: _Operator, remembers: int, ends: bool) -> Any:
        """Returns the function that the driver calls for a test. An exception in it ends the run."""
        test = operator.test
        kind: Any = dict((field[0], field[1]) for field in hawser_until._fields_)["test"]

        def call(pointer: Any, _user: Any) -> bool:
            if self.running.raised is not None:
                return ends
            progress = Progress(pointer, self.program, remembers)
            try:
                assert test is not None
                return bool(test(progress))
            except BaseException as error:
                self._fail(error, f"in the test of {operator.kind} '{operator.name}'")
                return ends
            finally:
                progress._pointer = None

        made = kind(call)
        self.kept.append(made)
        return made

    def _fail(self, error: BaseException, note: str) -> None:
        """Ends the run by an exception on the driver."""
        if self.running.raised is None:
            self.running.raised = error
            error.add_note(note)
        self.interrupt()

    # ---- the run

    def work(self, job: Any, handle: Any) -> None:
        error = hawser_error()
        if self.planned is not None:
            text = ctypes.c_char_p()
            check(lib.hawser_plan_text(job, handle, *self.planned, byref(text), byref(error)), error)
            self.plan = (text.value or b"").decode()
            _free(text)
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
                from ._unit import raised_text
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
            self._fail(error, "in progress")

    def _results(self, job: Any) -> Run:
        run, error = self.run_handle, hawser_error()
        figures, text = lib.hawser_run_figures(run).contents, ctypes.c_char_p()
        check(lib.hawser_run_log_view_text(run, byref(text), byref(error)), error)
        view = (text.value or b"").decode()
        _free(text)
        states = {name: self._result(state) for name, state in self.program._states.items()
                  if state.kind != "data" and (self.wanted is None or name in self.wanted)}
        if figures.interrupted_by is not None:
            self.interrupted_by = figures.interrupted_by.decode()
        reason = (figures.stop_reason or b"").decode()
        self.signalled = reason == "signal"
        return Run(
            states, {name: float(lib.hawser_result_metric(run, name.encode())) for name in self.program._metrics}, reason, figures.clocks,
            figures.seconds, figures.workers, lib.hawser_job_nodes(job), lib.hawser_job_node(job), figures.bytes_exchanged,
            figures.repeatable.decode() if figures.repeatable is not None else None, view, tuple(self.trace or ()))

    def _result(self, state: _State) -> Array:
        """Returns the final numbers of a state. Those of a stored state are fetched."""
        error, shape, name = hawser_error(), self._shape(state), state.name.encode()
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
        if self.handle:
            runs.pop(self.table.ctypes.data, None)
            lib.hawser_program_free(self.handle)
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


def _has(data: Any, beside: str) -> bool:
    """Returns whether data have a target, weights, an offset or groups."""
    if isinstance(data, Files):
        return str(data.options.get(beside, "none")) != "none"
    return bool(data._has(beside))


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _exception(name: str) -> type[Exception] | None:
    """Returns an exception class that this process has already, by its name."""
    module, _, last = name.rpartition(".")
    found = getattr(sys.modules.get(module), last, None) if module else getattr(builtins, last, None)
    return found if isinstance(found, type) and issubclass(found, Exception) else None


_libc_free = ctypes.CDLL(None).free
_libc_free.restype, _libc_free.argtypes = None, [ctypes.c_void_p]


def _free(text: ctypes.c_char_p) -> None:
    _libc_free(ctypes.cast(text, ctypes.c_void_p))


__all__ = ["Body", "Program", "Progress", "Run"]
