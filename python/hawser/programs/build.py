"""Makes the library's program of a `hawser.Program`, for the blocks of a job."""
import ctypes
import math
from ctypes import POINTER
from typing import Any

import numpy as np

from .. import _native
from .._errors import BadArgument, BadOption, BadProgram
from .._library import library as lib
from .._memory import array_at
from .._native import hawser_state, hawser_state_spec, hawser_unit_spec, hawser_until
from .._numbers import Array
from .._sync import sync_of
from .called import function_of, merge_function_of
from .declared import Declared
from .driver import called_test
from .made import Made
from .operator import Cocoa, Operator
from .progress import ALWAYS
from .raised import Running, runs
from .state import FORMS, SPLITS, State, has_beside, initial_of
from .unit import BESIDE, COMBINE, FIRST_UNIT, TYPES, Argument, Known, KnownState, Unit, number_of

DTYPES = {_native.HAWSER_F64: "float64", _native.HAWSER_F32: "float32"}
ALIGNED = 64  # bytes to which scratch arrays are aligned
SCRATCH_RELEASE: Any = lib.hawser_scratch_size.argtypes[2]  # scratch has no memory of its own that must be freed
KINDS = {"data": _native.HAWSER_DATA, "replicated": _native.HAWSER_REPLICATED, "partitioned": _native.HAWSER_PARTITIONED,
         "local": _native.HAWSER_LOCAL, "stored": _native.HAWSER_STORED, "moving": _native.HAWSER_MOVING, "entries": _native.HAWSER_ENTRIES}
NUMBER = 8  # bytes of a number that a test remembers


class Build:
    """The library's program, and what it points to while it runs."""

    def __init__(self, job: Any, program: Declared, data: dict[str, Any], running: Running,
                 start: dict[str, Any] | None = None) -> None:
        self.job, self.program, self.data, self.running, self.start = job, program, data, running, start or {}
        self.blocks = int(lib.hawser_job_workers(job))
        self.kept: list[Any] = []  # what the library points to
        self.units = program._units()
        self.numbers = {id(operator): number for number, operator in enumerate(self.units)}
        self.expected = 0  # bytes that a block takes besides states
        self.functions: list[Any] = []  # by the number of their unit
        self.handles: dict[str, Any] = {}  # states by name
        self.named = {state.name for state in program._states.values() if state.kind != "scratch"}  # those that will be there
        self.table = np.zeros(FIRST_UNIT + len(self.units), np.int64)  # the seed, and the addresses of the units' tables: the user pointer
        self.table[:1].view(np.uint64)[0] = lib.hawser_job_seed(job)
        self.handle = lib.hawser_program_new(program.name.encode(), self.table.ctypes.data)
        runs[self.table.ctypes.data] = running

    def free(self) -> None:
        runs.pop(self.table.ctypes.data, None)
        lib.hawser_program_free(self.handle)

    def make(self) -> None:
        """Adds states, metrics, units and operators."""
        self._place_scratch()
        for name, by in self.program._metrics.items():
            lib.hawser_metric_declare(self.handle, name.encode(), COMBINE[by])
        for operator in self.units:
            self.running.units.append(operator.name)
            self.running.states.append(self._text_of(operator))
        self._make_data()
        self.starts = {state.name: state.moving.starts(self.shape(state)) for state in self.program._states.values() if state.moving is not None}
        self.functions = [self._function(operator, number) for number, operator in enumerate(self.units)]
        rebuilt = [state.name for state in self.program._states.values() if state.derived is not None]
        rebuilds = dict(zip(rebuilt, self.functions[len(self.functions) - len(rebuilt):]))
        for state in sorted(self.program._states.values(), key=lambda state: state.tied is not None):  # a state is tied to one that is there
            if state.name in self.named:
                self.handles[state.name] = self._state(state, rebuilds.get(state.name))
        if any(state.keeps for state in self.program._states.values()):
            lib.hawser_kept_points(self.handle, self.program._points)
        self._operators(lib.hawser_root(self.handle), self.program._operator.children)

    # ---- states

    def _state(self, state: State, rebuild: Any) -> Any:
        """Adds a state. `rebuild`: the function of a derived one."""
        initial = self._initial(state)
        spec = hawser_state_spec(name=state.name.encode(), kind=KINDS[state.kind], keep=state.keeps)
        if state.kind == "data":
            spec.data, spec.split = self.data[state.name], SPLITS[state.by]
            self._add_costs(spec, state)
            return lib.hawser_state_add(self.handle, spec)
        if initial is not None:
            initial = self._entries_initial(state, initial) if state.kind == "entries" else self._whole_initial(state, initial)
            self.kept.append(initial)
            spec.initial = initial.ctypes.data
        spec.type = TYPES[state.dtype]
        if state.moving is not None:
            state.moving.fill(spec, state.name, self.starts[state.name], self.blocks, self.running, self.kept)
            return lib.hawser_state_add(self.handle, spec)
        if state.kind == "entries":
            spec.along, spec.by_value, spec.rows = self.handles[state.along or ""], state.by_value, initial.size if initial is not None else 0
            return lib.hawser_state_add(self.handle, spec)
        spec.rows, spec.cols = self._extent(state)
        if state.along is not None:
            spec.along = self.handles[state.along]
        if state.kind == "replicated":
            self._set_rule(spec, state)
            if rebuild is not None:
                spec.derive = rebuild
        if state.kind == "local" and state.along is None:
            spec.rows, spec.each, spec.initial_blocks = 1, True, self.blocks if initial is not None else 0
        if state.tied is not None:
            spec.tie = self.handles[state.tied]
        if state.kind == "stored" and state.function:
            spec.function = state.function.encode()
            if state.parameters:
                spec.parameters = (ctypes.c_double * 8)(*state.parameters)  # as many as any function reads
        return lib.hawser_state_add(self.handle, spec)

    def _sizes(self, state: State) -> tuple[int, ...]:
        """Returns a state's shape in numbers."""
        return tuple(self._columns(extent) if isinstance(extent, str) else extent for extent in state.shape)

    def _columns(self, data: str) -> int:
        width = self.program._states[data].width
        if self.program._states[data].of is not None:
            return self._columns(width) if isinstance(width, str) else width
        matrix = lib.hawser_dataset_matrix(self.data[data]).contents
        return int(matrix.rows if self.program._states[data].by == "column" else matrix.cols)

    def _extent(self, state: State) -> tuple[int, int]:
        """Returns the number of lines of a state, and of numbers in a line."""
        shape = self._sizes(state)
        if state.along is not None:
            matrix = lib.hawser_dataset_matrix(self.data[state.along]).contents
            by_column = self.program._states[state.along].by == "column"
            return (matrix.cols if by_column else matrix.rows), math.prod(shape)
        return (self.blocks, math.prod(shape)) if state.each else (shape[0], math.prod(shape[1:]))

    def _add_costs(self, spec: hawser_state_spec, state: State) -> None:
        if state.costs is None:
            return
        matrix = lib.hawser_dataset_matrix(self.data[state.name]).contents
        lines = matrix.cols if state.by == "column" else matrix.rows
        if lib.hawser_job_nodes(self.job) > 1:
            raise BadOption(f"data '{state.name}': costs are for one node; over several nodes blocks are cut by numbers when these are dealt out")
        if len(state.costs) != lines:
            raise BadArgument(f"data '{state.name}' has {lines} {state.by}s, and costs of {len(state.costs)}")
        spec.costs = ctypes.cast(state.costs.ctypes.data, POINTER(ctypes.c_double))

    def _initial(self, state: State) -> Array | None:
        """Returns the first numbers of a state: those that the run begins with, or those of its declaration. A derived state has none."""
        if state.name not in self.start or state.derived is not None:
            return state.initial
        return initial_of(state, self.start[state.name], None)

    def _whole_initial(self, state: State, initial: Array) -> Array:
        whole = self.shape(state)
        if state.each and initial.shape == whole[1:]:
            initial = np.ascontiguousarray(np.broadcast_to(initial, whole))
        elif initial.ndim == 0:
            initial = np.full(whole, initial)
        if initial.shape != whole:
            raise BadArgument(f"state '{state.name}' has shape {whole}, and its initial has {initial.shape}")
        return initial

    def _entries_initial(self, state: State, initial: Array) -> Array:
        """Checks the first numbers of an entries state. The library compares how many they are with the entries, if they are any."""
        matrix = lib.hawser_dataset_matrix(self.data[state.along or ""]).contents
        empty = not matrix.stored or (state.by_value and not matrix.residence and not self._values(matrix).any())
        if initial.ndim != 1 or not (initial.size or empty):
            raise BadArgument(f"state '{state.name}' has numbers for the entries of '{state.along}', and its initial has shape {initial.shape}; give all "
                              "numbers in one dimension, or none")
        return initial

    @staticmethod
    def _values(matrix: Any) -> Array:
        return array_at(matrix.values or 0, DTYPES[matrix.type], (matrix.stored,))

    def _set_rule(self, spec: hawser_state_spec, state: State) -> None:
        """Says how updates of a replicated state are merged and sent."""
        spec.damping, spec.gain = 1 / self.blocks if isinstance(state.damping, str) else state.damping, state.gain
        found = self._cocoa_of(self.program._operator, state.name)
        if found is not None and not spec.damping and not spec.gain:
            cocoa, sync = found
            gamma = 1 / self.blocks if cocoa.gamma == "average" else cocoa.gamma
            rule = lib.hawser_cocoa_rule(self.job, gamma, lib.hawser_job_sync(self.job) if sync is None else sync_of(sync))
            spec.damping, spec.gain = rule.damping, rule.gain
        if state.merge is not None:
            merge = merge_function_of(state.merge, self.running)
            self.kept.append(merge)
            spec.merge, spec.merge_user = merge, self.table.ctypes.data
        if state.filter is not None:
            word, spec.quota, spec.max_held = state.filter
            spec.filter = word.encode()
        if state.encoding is not None:
            spec.form = FORMS[state.encoding]

    def _cocoa_of(self, body: Operator, product: str, sync: str | None = None) -> tuple[Cocoa, str | None] | None:
        """Returns the local solver that has this state as its product, and the sync of the solver's loop."""
        for child in body.children:
            if child.cocoa is not None and child.cocoa.product == product:
                return child.cocoa, sync
            found = self._cocoa_of(child, product, child.sync if child.kind == "loop" else sync)
            if found is not None:
                return found
        return None

    def shape(self, state: State) -> tuple[int, ...]:
        """Returns the shape of a whole state. That of an entries state is known when it has run."""
        shape = self._sizes(state)
        if state.kind == "entries":
            return ()
        return (self._extent(state)[0], *shape) if state.along is not None or state.each else shape

    def _place_scratch(self) -> None:
        """Gives each scratch array its place in the scratch of a block."""
        self.places: dict[str, int] = {}
        size = 0
        for state in self.program._states.values():
            if state.kind == "scratch":
                self.places[state.name] = size
                size += -(-math.prod(self._sizes(state)) * np.dtype(state.dtype).itemsize // ALIGNED) * ALIGNED
        if size:
            lib.hawser_scratch_size(self.handle, size, SCRATCH_RELEASE())

    # ---- units

    def _make_data(self) -> None:
        """Prepares the memory of data that units make."""
        self.made: dict[str, int] = {}  # places in running.made
        states = self.program._states
        updated = {operator.states.get(name, name) for operator in self.units if operator.unit for name in operator.unit.updates}
        for state in states.values():
            if state.of is not None and state.name not in updated:
                raise BadProgram(f"data '{state.name}' are made by no unit; one has updates=\"{state.name}\"")
            if state.of is None:
                continue
            self._check_made(state.name)
            matrix, width = lib.hawser_dataset_matrix(self.data[state.name]).contents, self._columns(state.name)
            self.made[state.name] = len(self.running.made)
            self.running.made.append(Made(state.name, state.dtype, state.by == "row", width))
            lines = matrix.rows if state.by == "row" else matrix.cols
            counted = matrix.stored * np.dtype(DTYPES[matrix.type]).itemsize  # by the plan, which knows the data of which these are made
            self.expected += max(0, -(-(lines * width * np.dtype(state.dtype).itemsize - counted) // self.blocks))
        if self.expected:
            lib.hawser_scratch_expect(self.handle, self.expected, 0)

    def _check_made(self, name: str) -> None:
        """Refuses a unit that reads data which a later unit makes."""
        for operator in self.units:
            unit = operator.unit
            if unit is None or name not in [operator.states.get(each, each) for each in (*unit.parameters, *unit.reads, *unit.updates)]:
                continue
            if name not in [operator.states.get(each, each) for each in unit.updates]:
                raise BadProgram(f"{unit.where()}: it reads data '{name}' before a unit has made them; put it after that unit")
            return

    def _text_of(self, operator: Operator) -> str:
        unit = operator.unit
        assert unit is not None
        reads = [name for name in (*unit.parameters, *unit.reads) if operator.states.get(name, name) in self.named and name not in unit.updates]
        return " and ".join(f"which {verb} {', '.join(operator.states.get(name, name) for name in names)}"
                            for verb, names in (("reads", reads), ("updates", unit.updates)) if names) or "without states"

    def _function(self, operator: Operator, number: int) -> Any:
        unit = operator.unit
        assert unit is not None
        table: list[int] = []
        arguments = tuple(self._argument(operator, parameter, table) for parameter in unit.parameters)
        declared = dict.fromkeys(operator.states.get(name, name) for name in (*unit.parameters, *unit.reads, *unit.updates))
        updates = [operator.states.get(name, name) for name in unit.updates]
        states = tuple(self._known_state(self.program._states[name], name in updates, table) for name in declared if name in self.named)
        known = Known(states, tuple(self.program._metrics), f"unit '{operator.name}'")
        values = np.array(table or [0], np.int64)
        self.kept.append(values)
        self.table[FIRST_UNIT + number] = values.ctypes.data
        return function_of(unit, operator.name, arguments, number, known, values, self.running)

    def _known_state(self, state: State, writable: bool = False, table: list[int] | None = None) -> KnownState:
        if state.moving is not None:
            ragged, slot = state.moving.offsets is not None, len(table or ())
            if table is not None and ragged:
                table.append(self.starts[state.name].ctypes.data)
            return KnownState(state.name, "moving", state.dtype, width=0 if ragged else math.prod(self._sizes(state)[1:]), writable=writable, slot=slot)
        by_line = state.kind in ("partitioned", "stored", "local") and not (state.kind == "local" and state.each)
        width = self._extent(state)[1] if state.kind == "stored" else 1
        return KnownState(state.name, state.kind, state.dtype, by_line, width, state.by if state.kind == "data" else "")

    def _argument(self, operator: Operator, parameter: str, table: list[int]) -> Argument:
        """Returns how a parameter is made, and puts its number or its shape into the unit's table."""
        unit, slot = operator.unit, len(table)
        assert unit is not None
        name = operator.states.get(parameter, parameter)
        state = self.program._states.get(name)
        if state is None and parameter in operator.numbers:
            dtype, bits = number_of(unit.where(), parameter, operator.numbers[parameter])
            table.append(bits)
            return Argument(parameter, "number", dtype=dtype, slot=slot)
        if state is None and parameter in ("context", "subproblem"):
            return Argument(parameter, parameter)
        if state is None:
            return self._beside(unit, parameter, name, table)
        if state.kind == "data":
            return self._data_argument(parameter, state, operator, table)
        writable, whole = parameter in unit.updates, self.shape(state)
        if state.kind == "scratch":
            table += [self.places[state.name], *whole]
            return Argument(parameter, "scratch", name, state.dtype, len(whole), True, slot=slot)
        if state.kind == "replicated" or (state.kind == "partitioned" and not writable):
            table += whole
            return Argument(parameter, "whole", name, state.dtype, len(whole), writable, slot=slot)
        if state.kind == "stored" and (state.function is not None or not writable):
            raise BadProgram(f"{unit.where()}: parameter '{parameter}' is a stored state that the unit "
                             f"{'changes with context.inc' if writable else 'reads with context.next_chunk or prefetch'}, so it is no "
                             f"array; leave the parameter out, and give {'updates' if writable else 'reads'}=\"{parameter}\"")
        if state.kind == "moving":
            raise BadProgram(f"{unit.where()}: parameter '{parameter}' is a moving state, whose parts the unit takes with context.next_part, so it is no "
                             f"array; leave the parameter out, and give {'updates' if writable else 'reads'}=\"{parameter}\"")
        if state.kind == "entries":
            table.append(0)
            return Argument(parameter, "numbers", name, state.dtype, 1, writable, slot=slot)
        shape = whole[1:] if state.each else (0, *whole[1:])
        table += shape
        return Argument(parameter, "part" if state.each else "lines", name, state.dtype, len(shape), writable, slot=slot)

    def _beside(self, unit: Unit, parameter: str, name: str, table: list[int]) -> Argument:
        data, _, beside = name.rpartition("_")
        state, handle = self.program._states[data], self.data[data]
        if state.by == "column":
            raise BadProgram(f"{unit.where()}: parameter '{parameter}' is what belongs to rows, and data '{data}' are by column")
        origin = state if state.of is None else self.program._states[state.of]
        if not has_beside(origin.data, beside):
            raise BadProgram(f"{unit.where()}: parameter '{parameter}': data '{data}' have no {beside}; give {beside}= to program.data")
        table.append(ctypes.cast(handle, ctypes.c_void_p).value or 0)
        targets = max(1, int(lib.hawser_dataset_outputs(handle))) if beside == "target" else 1
        return Argument(parameter, "beside", data, beside=beside, targets=targets, slot=len(table) - 1)

    def _data_argument(self, parameter: str, state: State, operator: Operator, table: list[int]) -> Argument:
        assert operator.unit is not None
        matrix, writable, slot = lib.hawser_dataset_matrix(self.data[state.name]).contents, parameter in operator.unit.updates, len(table)
        dtype = DTYPES[matrix.type]
        if state.name in self.made:
            dtype, turned = state.dtype, state.by != "row"
            if writable:
                table.append(self.made[state.name])
            return Argument(parameter, "dense", state.name, dtype, 2, writable, "F" if turned else "C", turned, slot=slot, made=writable)
        if matrix.layout in (_native.HAWSER_CSR, _native.HAWSER_CSC):
            turned = matrix.layout == _native.HAWSER_CSC
            return Argument(parameter, "sparse", state.name, dtype, writable=writable, turned=turned, slot=slot)
        turned = matrix.layout == _native.HAWSER_DENSE
        if turned:
            layout = "F" if state.by != "row" and matrix.stride == matrix.rows else "A"
        else:
            layout = "C" if matrix.stride == matrix.cols else "A"
        return Argument(parameter, "dense", state.name, dtype, 2, writable, layout, turned)

    # ---- operators

    def _operators(self, parent: Any, children: list[Operator]) -> None:
        for operator in children:
            made = getattr(self, f"_add_{operator.kind}")(parent, operator)
            if operator.kind != "unit":
                self._operators(made, operator.children)

    def _add_unit(self, parent: Any, operator: Operator) -> None:
        unit = operator.unit
        assert unit is not None
        named = [operator.states.get(name, name) for name in (*unit.parameters, *unit.reads)]
        named += [name.rpartition("_")[0] for name in named if name not in self.program._states and name.rpartition("_")[2] in BESIDE]
        updates = [operator.states.get(name, name) for name in unit.updates]
        reads = [name for name in dict.fromkeys(named) if name in self.handles and name not in updates]
        function = self.functions[self.numbers[id(operator)]]
        if operator.cocoa is not None:
            own, product = (self.handles[name] for name in (operator.cocoa.coordinates, operator.cocoa.product))
            lib.hawser_cocoa(parent, operator.name.encode(), function, own, product, self._list(reads))
            return
        spec = hawser_unit_spec(name=operator.name.encode(), run=function, one=operator.one, reduces=unit.reduces or 0)
        for names, states in ((reads, spec.reads), (updates, spec.updates)):
            if len(names) >= len(states):
                raise BadProgram(f"{unit.where()} uses {len(names)} states; a unit reads or updates at most {len(states) - 1}")
            for place, name in enumerate(names):
                states[place] = self.handles[name]
        if operator.sync is not None:
            spec.sync = ctypes.pointer(sync_of(operator.sync))
        lib.hawser_unit_add(parent, spec)

    def _list(self, names: list[str]) -> Any:
        return (POINTER(hawser_state) * (len(names) + 1))(*(self.handles[name] for name in names))

    def _add_loop(self, parent: Any, operator: Operator) -> Any:
        until = hawser_until(**{key: value for key, value in operator.until.items() if value and key not in ("metric", "remembers")})
        self.kept.append(until)  # the program has its text of the metric
        if operator.until["metric"] is not None:
            until.metric = operator.until["metric"].encode()
        until.remembers = operator.until["remembers"] * NUMBER
        if operator.test is not None:
            until.test, until.user = self._test(operator), self.table.ctypes.data
        sync = lib.hawser_job_sync(self.job) if operator.sync is None else sync_of(operator.sync)
        return lib.hawser_loop(parent, operator.name.encode(), until, sync)

    def _add_sequence(self, parent: Any, operator: Operator) -> Any:
        return lib.hawser_sequence(parent)

    def _add_parallel(self, parent: Any, operator: Operator) -> Any:
        return lib.hawser_parallel(parent)

    def _add_branch(self, parent: Any, operator: Operator) -> Any:
        branch = lib.hawser_branch(parent, operator.name.encode(), self._test(operator), self.table.ctypes.data)
        if operator.until["remembers"]:
            lib.hawser_branch_remembers(branch, operator.until["remembers"] * NUMBER)
        return branch

    def _test(self, operator: Operator) -> Any:
        states = tuple(self._known_state(state) for state in self.program._states.values() if state.name in self.named)
        where = f"the test of {operator.kind} '{operator.name}'"
        known = Known(states, (*self.program._metrics, *ALWAYS), where)
        test = called_test(operator, known, self.program, self.running)
        self.kept.append(test)
        return test


__all__ = ["Build"]
