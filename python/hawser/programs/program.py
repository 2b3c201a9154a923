"""Programs of the user's own: states, units and loops."""
import contextlib
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from .._arguments import name_bytes, whole_number
from .._cluster import Cluster, cluster_for
from .._dataset import Dataset, Files, dataset_of, is_path
from .._errors import BadArgument, BadOption, BadProgram, warn
from .._job import log
from .._library import library as lib
from .._options import JOB_KEYS, Options, key_of
from .._plan import Plan
from .._progress import bar_of
from .blas import one_thread
from .body import Body
from .called import has_numba
from .declared import Declared
from .moving import moving_of, places_of
from .operator import Operator
from .run import Execution, Run, start_of, wanted_of
from .state import FORMS, SPLITS, State, costs_of, initial_of, merge_of, shape_of, type_of
from .unit import Unit


FUNCTION_PARAMETERS = {"adagrad": 2, "adam": 4, "proximal": 5}  # how many numbers functions of the store take
LONG = 60  # seconds of a run after which it is said what would make it shorter


class Program(Declared, Body):
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
        if not name_bytes("the name of a program", name):
            raise BadArgument("a program has a name")
        Declared.__init__(self, name)
        self._program = self

    # ----------------------------------------------------------------------------------------------------- states ----

    def _declare(self, state: State) -> None:
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

    def data(self, name: str, data: Any, target: Any = None, *, by: str = "row", weights: Any = None, offset: Any = None,
             groups: Any = None, names: Any = None, partitioned: bool | None = None, costs: Any = None, **options: Any) -> None:
        """Adds data, which units read: anything that `hawser.Dataset` takes, or a Dataset.

        `by` is how blocks share them: by "row", by "column", or "all", where each block sees everything. Files are loaded when the
        program runs; over several nodes each loads its share. `options` are those of a load. `costs` are what each row (column) costs besides its
        numbers, as many numbers read: blocks are cut so that they cost the same. They are refused over several nodes, which cut by numbers.

        Of several targets, `NAME_target` in a unit is a tuple of arrays.
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
        if costs is not None and by == "all":
            raise BadOption(f"data '{name}': costs say where blocks are cut, and by=\"all\" cuts nothing")
        self._declare(State(name, "data", data=made, by=by, costs=costs_of(name, costs)))

    def transformed(self, name: str, of: str, width: int | str, dtype: Any = np.float64) -> None:
        """Adds data that a unit makes of other data, once, before other units read them.

        Each row (column) of data `of` has `width` numbers, zeros at first. One unit, outside of loops, has `name` in its updates and
        writes its block's part, of shape (rows, width). Further states may be along these data as along the others. A unit that has
        data themselves in its updates changes a copy of its block's part, and the given arrays keep their numbers.

        >>> import hawser, numpy
        >>> @hawser.unit(updates="powers", compile=False)
        ... def raise_to_powers(rows, powers):
        ...     powers[:] = rows[:, :1] ** numpy.arange(3)
        >>> @hawser.unit(updates="total", compile=False)
        ... def add(powers, total):
        ...     total += powers.sum(axis=0)
        >>> program = hawser.Program("powers")
        >>> program.data("rows", numpy.array([[1.0], [2.0]]))
        >>> program.transformed("powers", "rows", 3)
        >>> program.replicated("total", "powers")
        >>> program.unit(raise_to_powers)
        >>> program.unit(add)
        >>> program.run(workers=1)["total"]
        array([2., 3., 5.])
        """
        origin = self._known(of, f"data '{name}'")
        if origin.kind != "data" or origin.data is None:
            raise BadProgram(f"data '{name}' are of '{of}', which {'a unit makes, too' if origin.kind == 'data' else 'is no data'}")
        if origin.by == "all":
            raise BadProgram(f"data '{name}' are of '{of}', which all blocks share (by=\"all\")")
        if isinstance(width, str) and self._known(width, f"data '{name}'").kind != "data":
            raise BadProgram(f"data '{name}': its width names '{width}', which is no data")
        if type_of(name, dtype) not in ("float64", "float32"):
            raise BadArgument(f"data '{name}' are of {np.dtype(dtype).name}; data are of float64 or float32")
        if not isinstance(width, str):
            width, = shape_of(name, width)
        self._declare(State(name, "data", type_of(name, dtype), by=origin.by, of=of, width=width))

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
        shape = shape_of(name, shape)
        for key, number in (("quota", quota), ("max_held", max_held)):
            whole_number(f"state '{name}': {key}", number)
        chosen = None if filter is None else (filter, quota, max_held)
        if filter is None and (quota or max_held):
            raise BadOption(f"state '{name}': quota and max_held need a filter")
        state = State(name, "replicated", type_of(name, dtype), shape, gain=gain or 0.0, damping=damping or 0.0, merge=merge_of(merge),
                       filter=chosen, encoding=encoding)
        state.initial = initial_of(state, initial, shape)
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
        if function is not None:
            name_bytes(f"state '{name}': its function", function)
        numbers, most = tuple(float(number) for number in parameters), FUNCTION_PARAMETERS.get(function or "", 0)
        if len(numbers) > most:
            raise BadProgram(f"state '{name}': {len(numbers)} parameters for function {function!r}, which takes {most}")
        self._part("stored", name, shape, dtype, along, each, initial)
        self._states[name].function, self._states[name].parameters = function, numbers

    def _part(self, kind: str, name: str, shape: Any, dtype: Any, along: str | None, each: bool, initial: Any) -> None:
        if along is not None and each:
            raise BadProgram(f"state '{name}': along and each contradict each other; give one")
        line = along is not None and shape == ()
        state = State(name, kind, type_of(name, dtype), () if line else shape_of(name, shape), along, each)
        state.initial = initial_of(state, initial, None if along is not None else state.shape)
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

    def moving(self, name: str, shape: Any = None, dtype: Any = np.float64, *, offsets: Any = None, parts: int | None = None, cut: Any = None,
               owner: Callable[[int, int, int], int] | None = None, initial: Any = None) -> None:
        """Adds a moving state: its parts go from block to block, so that no node has the whole, and a part is at one block at a time.

        It has lines: those of `shape` along its first axis, or, with `offsets`, line i has the numbers offsets[i] to offsets[i + 1] of a flat array. Part p
        has the lines `cut[p]` to `cut[p + 1]`; in place of these, `parts` says how many there are, with equally many numbers. Their number is a multiple of
        that of workers; without both it is two for each. A unit that names the state in `updates` (or `reads`) takes the parts that its block has in this
        clock one after the other: `context.next_part(NAME)`.

        In clock t of a loop part p belongs to block `owner(p, t, blocks)`, a plain function of these numbers alone that all blocks call; without it parts
        rotate: (p - t) % blocks. Every block has equally many parts in each clock.

        >>> import hawser, numpy
        >>> @hawser.unit(updates="counts", compile=False)
        ... def visit(context):
        ...     number, first, lines = context.next_part("counts")
        ...     while number >= 0:
        ...         lines += 1
        ...         number, first, lines = context.next_part("counts")
        >>> program = hawser.Program("visits")
        >>> program.moving("counts", (4, 2), parts=2, dtype=numpy.int32)
        >>> program.loop("loop", clocks=3).unit(visit)
        >>> program.run(workers=1)["counts"].tolist()
        [[3, 3], [3, 3], [3, 3], [3, 3]]
        """
        if (shape is None) == (offsets is None):
            raise BadProgram(f"state '{name}': it has a shape, or offsets of its lines; give one of them")
        places = None if offsets is None else places_of(name, "offsets", offsets)
        extents = shape_of(name, shape) if places is None else (int(places[-1]),)
        lines = len(places) - 1 if places is not None else extents[0]
        state = State(name, "moving", type_of(name, dtype), extents)
        state.moving = moving_of(name, lines if isinstance(lines, int) else None, places, parts, cut, owner)
        state.initial = initial_of(state, initial, extents)
        self._declare(state)

    def entries(self, name: str, along: str, dtype: Any = np.float64, *, by_value: bool = False, initial: Any = None) -> None:
        """Adds an entries state: a number for each stored entry of sparse data by row, or, with `by_value`, as many as the entry's value says.

        A block has those of its own rows, in their order, as a flat array, and they are never sent. By value the numbers of an entry follow each other, and
        those of entry e end at `numpy.cumsum(values)[e]`. `initial` has the numbers of the whole.

        >>> import hawser, numpy, scipy.sparse
        >>> @hawser.unit(updates="topics", compile=False)
        ... def number(documents, topics):
        ...     topics[:] = numpy.arange(len(topics))
        >>> program = hawser.Program("tokens")
        >>> program.data("documents", scipy.sparse.csr_matrix(numpy.array([[2.0, 0.0], [1.0, 1.0]])))
        >>> program.entries("topics", "documents", numpy.int32, by_value=True)
        >>> program.unit(number)
        >>> program.run(workers=1)["topics"].tolist()
        [0, 1, 2, 3]
        """
        state = State(name, "entries", type_of(name, dtype), along=along, by_value=bool(by_value))
        state.initial = initial_of(state, initial, None)
        self._declare(state)
        if self._states[along].by != "row" or self._states[along].of is not None:
            del self._states[name]
            raise BadProgram(f"state '{name}' is of the entries of '{along}', and these are sparse data by row")

    def scratch(self, name: str, shape: Any, dtype: Any = np.float64) -> None:
        """Adds memory for the work of each block, of this shape: any unit that has it as a parameter may write it.

        It is a cache: the units of a stage find what those before have written, and later ones that or zeros. So a unit that finds zeros
        fills it anew, with what does not depend on where it was kept. It is never sent, checked or a result. What a block must remember is a
        `local` state.

        >>> import hawser, numpy
        >>> @hawser.unit(updates="w", compile=False)
        ... def add_sorted(rows, w, place):
        ...     place[:] = numpy.sort(rows[:, 0])
        ...     w += place
        >>> program = hawser.Program("sorted")
        >>> program.data("rows", numpy.array([[3.0], [1.0], [2.0]]))
        >>> program.replicated("w", 3)
        >>> program.scratch("place", 3)
        >>> program.unit(add_sorted)
        >>> program.run(workers=1)["w"]
        array([1., 2., 3.])
        """
        self._declare(State(name, "scratch", type_of(name, dtype), shape_of(name, shape)))

    def derive(self, name: str, rebuild: Unit) -> None:
        """Says that a replicated state is a function of others: `rebuild` adds the block's share to zeros."""
        state = self._known(name, "derive")
        operator = Operator("unit", rebuild.name, unit=rebuild)
        self._check_unit(operator)
        if state.kind != "replicated" or tuple(rebuild.updates) != (name,):
            raise BadProgram(f"derive: {rebuild.where()} updates {', '.join(rebuild.updates) or 'nothing'}; it updates the replicated "
                             f"state '{name}' alone")
        state.derived = rebuild

    def keep(self, *names: str, points: int = 1) -> None:
        """Says that states are the model, which tests keep at its best: `progress.keep()`, `progress.return_to()`.

        A run that ends early, or whose numbers overflow (`hawser.NotFinite.run`), has the kept numbers as its results: `run.kept`. `points` is how many copies there
        are at a time, numbered from 0.

        >>> import hawser
        >>> @hawser.unit(updates="w", one=True, compile=False)
        ... def add(w):
        ...     w += 1
        >>> @hawser.condition(compile=False)
        ... def test(progress):
        ...     if progress.clock == 2:
        ...         progress.keep()
        ...     return False
        >>> program = hawser.Program("kept")
        >>> program.replicated("w", 1)
        >>> program.keep("w")
        >>> program.loop("loop", clocks=9, test=test).unit(add)
        >>> run = program.run(workers=1, max_clocks=5)
        >>> run["w"], run.kept
        (array([3.]), True)
        """
        if not names or points < 1:
            raise BadOption("keep: it takes the names of states, and points from 1 on")
        for name in names:
            if not self._known(name, "keep").has_result:
                raise BadProgram(f"keep: '{name}' is no state that has a result")
            self._states[name].keeps = True
        self._points = max(self._points, points)

    # ---------------------------------------------------------------------------------------------------- running ----

    def run(self, *, progress: bool | Callable[[dict[str, Any]], Any] | None = None, trace: bool = False,
            results: Iterable[str] | Mapping[str, Any] | None = None, checkpoint: str | os.PathLike[str] | None = None,
            every: float | str | None = None, start: "Run | Mapping[str, Any] | None" = None, **options: Any) -> Run:
        """Runs the program. `options` are the job's, as in `hawser.train`: `workers=4`, `sync="ssp:2"`, `seed=1`, `time_limit="90s"`.

        Over several nodes each makes the same calls with the same program, and has the same results. `trace` keeps the metrics of each
        clock, and `progress` is a function that gets them, or True for a bar; both on node 0. `results` names the states that are wanted, in place of all; a mapping
        has for each name None (all), a slice of its lines (`slice(0, 100)`), or an array that takes all, which may be a numpy.memmap. Only these
        numbers of a stored state are fetched.
        An exception in a unit or test ends the run on all nodes, and is raised here. Ctrl-C ends it at an agreed clock, and raises
        `hawser.Interrupted`, whose `run` has what was reached.

        `checkpoint` is a folder of checkpoints, which are written `every` so many seconds (60; also "10min"). The same program, run again with this
        folder, goes on from the newest one. A run that comes to its end removes them. `fresh=True` deletes those that are there.
        `start` has the first numbers of states, in place of their `initial`: arrays by name, or a `hawser.Run`.

        >>> import hawser, tempfile
        >>> @hawser.unit(updates="w", one=True, compile=False)
        ... def add(w):
        ...     w += 1
        >>> program = hawser.Program("count")
        >>> program.replicated("w", 2)
        >>> program.loop("loop", clocks=9).unit(add)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     program.run(workers=1, max_clocks=4, checkpoint=folder, every=0)["w"]
        ...     program.run(workers=1, checkpoint=folder)["w"]
        array([4., 4.])
        array([9., 9.])
        """
        if every is not None and checkpoint is None:
            raise BadOption(f"every is {every!r}; it is the seconds from one checkpoint to the next, and needs checkpoint=")
        first = start_of(start)
        for name in first:
            if not self._known(name, "start").has_result or self._states[name].derived is not None:
                raise BadProgram(f"start: '{name}' is no state that begins with numbers")
        options = {**options, "checkpoint": checkpoint, "checkpoint_every": every}
        with bar_of(progress, self.name) as callback:
            return self._run(Execution(self, *self._open(options), callback, trace, wanted_of(results), first))

    def _run(self, execution: Execution) -> Run:
        self._warn_plain(execution.options)
        units = [operator.unit for operator in self._units() if operator.unit is not None]
        several = execution.options.text("workers") != "1"
        with one_thread(units) if several else contextlib.nullcontext():
            pressed = execution.execute()
        run = execution.conclude(pressed)
        checked = [unit.name for unit in units if unit.boundscheck and unit.compile is not False and has_numba()]
        if checked and run.seconds > LONG:
            log.info("the run took %.0f s with index checks in its compiled units; once they are right, boundscheck=False of hawser.unit saves up to a "
                     "quarter of their time (%s)", run.seconds, ", ".join(checked))
        return run

    def plan(self, *, physical: bool = False, dot: bool = False, **options: Any) -> Plan:
        """Returns the plan (`hawser.Plan`). Its text is the tree with syncs, or, if `physical`, what runs where, with its memory; Graphviz DOT if
        `dot`."""
        execution = Execution(self, *self._open(options))
        execution.planned = (physical, dot)
        pressed = execution.execute()
        execution.conclude(pressed)
        assert execution.plan is not None
        return execution.plan

    def _warn_plain(self, options: Options) -> None:
        plain = [operator.name for operator in self._units() if operator.unit and (operator.unit.compile is False or not has_numba())]
        if plain and options.text("workers") != "1":
            why = "compile=False" if has_numba() else "numba is not installed: pip install numba"
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


__all__ = ["Program"]
