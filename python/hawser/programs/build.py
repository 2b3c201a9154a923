"""Makes the library's program of a `hawser.Program`, for the blocks of a job."""
import ctypes
import math
from ctypes import POINTER
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _native
from .._dataset import Array
from .._errors import BadArgument, BadOption, BadProgram
from .._library import library as lib
from .._native import hawser_rule, hawser_state, hawser_until
from .._sync import sync_of
from .called import function_of, merge_function_of
from .driver import called_test
from .made import Made
from .operator import Cocoa, Operator
from .raised import Running, runs
from .state import FORMS, SPLITS, State, has_beside, initial_of
from .unit import BESIDE, COMBINE, FIRST_UNIT, TYPES, Argument, Known, KnownState, Unit, number_of

if TYPE_CHECKING:
    from .program import Program

DTYPES = {_native.HAWSER_F64: "float64", _native.HAWSER_F32: "float32"}
ALIGNED = 64  # bytes to which scratch arrays are aligned
SCRATCH_RELEASE: Any = lib.hawser_scratch_size.argtypes[2]  # scratch has no memory of its own that must be freed
NUMBER = 8  # bytes of a number that a test remembers


class Build:
    """The library's program, and what it points to while it runs."""

    def __init__(self, job: Any, program: "Program", data: dict[str, Any], running: Running,
                 start: dict[str, Any] | None = None) -> None:
        self.job, self.program, self.data, self.running, self.start = job, program, data, running, start or {}
        self.blocks = int(lib.hawser_job_workers(job))
        self.kept: list[Any] = []  # what the library points to
        self.units = program._units()
        self.numbers = {id(operator): number for number, operator in enumerate(self.units)}
        self.expected = 0  # bytes that a block takes besides states
        self.functions: list[Any] = []  # by the number of their unit
        self.handles: dict[str, Any] = {}  # states by name
        self.table = np.zeros(FIRST_UNIT + len(self.units), np.int64)  # the seed, and the addresses of the units' tables: the user pointer
        self.table[:1].view(np.uint64)[0] = lib.hawser_job_seed(job)
        self.handle = lib.hawser_program_new(program.name.encode(), self.table.ctypes.data)
        runs[self.table.ctypes.data] = running

    def free(self) -> None:
        runs.pop(self.table.ctypes.data, None)
        lib.hawser_program_free(self.handle)

    def make(self) -> None:
        """Adds states, metrics, units and operators."""
        for state in self.program._states.values():
            if state.kind != "scratch":
                self.handles[state.name] = self._state(state)
        self._place_scratch()
        for state in self.program._states.values():
            if state.tied is not None:
                lib.hawser_tie(self.handles[state.name], self.handles[state.tied])
        for name, by in self.program._metrics.items():
            lib.hawser_metric_declare(self.handle, name.encode(), COMBINE[by])
        for operator in self.units:
            self.running.units.append(operator.name)
            self.running.states.append(self._text_of(operator))
        self._make_data()
        self.functions = [self._function(operator, number) for number, operator in enumerate(self.units)]
        rebuilt = [state for state in self.program._states.values() if state.derived is not None]
        for state, function in zip(rebuilt, self.functions[len(self.functions) - len(rebuilt):]):
            lib.hawser_derive(self.handles[state.name], function)
        self._operators(lib.hawser_root(self.handle), self.program._operator.children)

    # ---- states

    def _state(self, state: State) -> Any:
        name, kind, initial = state.name.encode(), TYPES.get(state.dtype, 0), self._initial(state)
        if state.kind == "data":
            made = lib.hawser_data_state(self.handle, name, lib.hawser_dataset_matrix(self.data[state.name]), SPLITS[state.by])
            self._add_costs(made, state)
            return made
        along = self.handles[state.along] if state.along is not None else POINTER(hawser_state)()
        lines, width = self._extent(state)
        if initial is not None:
            initial = self._whole_initial(state, initial)
            self.kept.append(initial)
        start = None if initial is None else initial.ctypes.data
        if state.kind == "replicated":
            return self._replicated(state, start)
        if state.kind == "local" and state.along is None:
            blocks = self.blocks if initial is not None else 0
            return lib.hawser_block_state(self.handle, name, kind, width, start, blocks)
        if state.kind == "local":
            return lib.hawser_local_state_of(self.handle, name, kind, along, width, start)
        if state.kind == "partitioned":
            return lib.hawser_partitioned_matrix(self.handle, name, kind, lines, width, _native.HAWSER_BY_ROW, along, start)
        parameters = (ctypes.c_double * 8)(*state.parameters)  # as many as any function reads
        return lib.hawser_stored_matrix(self.handle, name, kind, lines, width, _native.HAWSER_BY_ROW, along, start,
                                        state.function.encode() if state.function else None, parameters if state.parameters else None)

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

    def _add_costs(self, made: Any, state: State) -> None:
        if state.costs is None:
            return
        matrix = lib.hawser_dataset_matrix(self.data[state.name]).contents
        lines = matrix.cols if state.by == "column" else matrix.rows
        if lib.hawser_job_nodes(self.job) > 1:
            raise BadOption(f"data '{state.name}': costs are for one node; over several nodes blocks are cut by numbers when these are dealt out")
        if len(state.costs) != lines:
            raise BadArgument(f"data '{state.name}' has {lines} {state.by}s, and costs of {len(state.costs)}")
        lib.hawser_data_costs(made, ctypes.cast(state.costs.ctypes.data, POINTER(ctypes.c_double)))

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

    def _replicated(self, state: State, start: Any) -> Any:
        lines, width = self._extent(state)
        damping = 1 / self.blocks if state.damping == "average" else state.damping
        rule = hawser_rule(damping=damping, gain=state.gain)
        found = self._cocoa_of(self.program._operator, state.name)
        if found is not None and not damping and not state.gain:
            cocoa, sync = found
            gamma = 1 / self.blocks if cocoa.gamma == "average" else cocoa.gamma
            rule = lib.hawser_cocoa_rule(self.job, gamma, lib.hawser_job_sync(self.job) if sync is None else sync_of(sync))
        if state.merge is not None:
            merge = merge_function_of(state.merge, self.running)
            self.kept.append(merge)
            rule.merge, rule.user = merge, self.table.ctypes.data
        made = lib.hawser_replicated_state_of(self.handle, state.name.encode(), TYPES[state.dtype], width, lines, start, rule)
        if state.filter is not None:
            word, quota, held = state.filter
            lib.hawser_state_filter(made, word.encode(), quota, held)
        if state.encoding is not None:
            lib.hawser_encoding(made, FORMS[state.encoding])
        return made

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
        """Returns the shape of a whole state."""
        shape = self._sizes(state)
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
            if state.kind != "data" or state.name not in updated:
                continue
            matrix = lib.hawser_dataset_matrix(self.data[state.name]).contents
            width = self._columns(state.name) if state.of is not None else None
            dtype = state.dtype if state.of is not None else DTYPES[matrix.type]
            self.made[state.name] = len(self.running.made)
            self.running.made.append(Made(state.name, dtype, state.by == "row", width))
            lines = matrix.rows if state.by == "row" else matrix.cols
            count = matrix.stored if width is None and matrix.offsets else lines * (width or self._columns(state.name))
            self.expected += -(-count // self.blocks) * np.dtype(dtype).itemsize
        if self.expected:
            lib.hawser_scratch_expect(self.handle, self.expected, 0)

    def _text_of(self, operator: Operator) -> str:
        unit = operator.unit
        assert unit is not None
        reads = [name for name in (*unit.parameters, *unit.reads) if operator.states.get(name, name) in self.handles and name not in unit.updates]
        return " and ".join(f"which {verb} {', '.join(operator.states.get(name, name) for name in names)}"
                            for verb, names in (("reads", reads), ("updates", unit.updates)) if names) or "without states"

    def _function(self, operator: Operator, number: int) -> Any:
        unit = operator.unit
        assert unit is not None
        table: list[int] = []
        arguments = tuple(self._argument(operator, parameter, table) for parameter in unit.parameters)
        values = np.array(table or [0], np.int64)
        self.kept.append(values)
        self.table[FIRST_UNIT + number] = values.ctypes.data
        declared = dict.fromkeys(operator.states.get(name, name) for name in (*unit.parameters, *unit.reads, *unit.updates))
        known = Known(tuple(self._known_state(self.program._states[name]) for name in declared if name in self.handles),
                      tuple(self.program._metrics), f"unit '{operator.name}'")
        return function_of(unit, operator.name, arguments, number, known, values, self.running)

    def _known_state(self, state: State) -> KnownState:
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
        if writable:
            table.append(self.made[state.name])
        if state.of is None and matrix.layout in (_native.HAWSER_CSR, _native.HAWSER_CSC):
            turned = matrix.layout == _native.HAWSER_CSC
            return Argument(parameter, "sparse", state.name, dtype, writable=writable, turned=turned, slot=slot)
        if state.name in self.made:
            dtype, turned = self.running.made[self.made[state.name]].dtype, state.by != "row"
            return Argument(parameter, "dense", state.name, dtype, 2, writable, "F" if turned else "C", turned, slot=slot)
        turned = matrix.layout == _native.HAWSER_DENSE
        if turned:
            layout = "F" if state.by != "row" and matrix.stride == matrix.rows else "A"
        else:
            layout = "C" if matrix.stride == matrix.cols else "A"
        return Argument(parameter, "dense", state.name, dtype, 2, layout=layout, turned=turned)

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
        add = lib.hawser_unit_one if operator.one else lib.hawser_unit
        made = add(parent, operator.name.encode(), function, self._list(reads), self._list(updates))
        if unit.reduces:
            lib.hawser_reduces(made, unit.reduces)
        if operator.sync is not None:
            lib.hawser_unit_sync(made, sync_of(operator.sync))

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
        states = tuple(self._known_state(state) for state in self.program._states.values() if state.name in self.handles)
        where = f"the test of {operator.kind} '{operator.name}'"
        known = Known(states, (*self.program._metrics, "bytes", "staleness"), where)
        test = called_test(operator, known, self.program, self.running)
        self.kept.append(test)
        return test


__all__ = ["Build"]
