"""Compiles the functions of units with numba, into functions that the library calls on its own threads, without the interpreter."""
import ctypes
import threading
from collections.abc import Callable
from typing import Any

import llvmlite.ir as ir
import numba
import numba.core.cgutils as cgutils
import numpy as np
from numba.core import types
from numba.extending import intrinsic

from .. import _native
from .._errors import BadProgram
from .._library import library as lib
from .code import Code, Merge
from .compile_checks import check_object_mode, check_result, check_shapes, check_writes, reason_of
from .compiled_context import MATRIX, MERGING, WORD, ContextType, make_array
from .compiled_progress import ProgressType
from .compiled_subproblem import SubproblemType
from .condition import Condition
from .made import make
from .raised import caught
from .shapes import Compiler
from .unit import MATRIX as DATA
from .unit import FIRST_UNIT, TYPES, Argument, Known, Sparse, Unit, address_of_name


def type_of(argument: Argument, known: Known) -> Any:
    """Returns the type that a unit's parameter has in compiled code."""
    dtype = getattr(types, "boolean" if argument.dtype == "bool" else argument.dtype)
    if argument.kind == "context":
        return ContextType(known)
    if argument.kind == "subproblem":
        return SubproblemType()
    if argument.kind == "number":
        return dtype
    if argument.kind == "sparse":
        index, column = types.Array(types.int64, 1, "C", readonly=True), types.Array(types.uint32, 1, "C", readonly=True)
        return types.NamedTuple((index, column, types.Array(dtype, 1, "C", readonly=not argument.writable), types.UniTuple(types.int64, 2)), Sparse)
    array = types.Array(dtype, argument.ndim, argument.layout, readonly=not argument.writable)
    return types.UniTuple(array, argument.targets) if argument.targets > 1 else array


WORD_TYPE, INT, DOUBLE = ir.IntType(64), ir.IntType(32), ir.DoubleType()


def _give_exception(context: Any, builder: Any, status: Any, cell: Any) -> None:
    """Writes code that raises the exception of a status in the interpreter, and takes it away again for `caught`."""
    python = context.get_python_api(builder)
    lock = python.gil_ensure()
    context.call_conv.raise_error(builder, python, status)
    places = [cgutils.alloca_once_value(builder, WORD_TYPE(0)) for _ in range(3)]
    take = ir.FunctionType(ir.VoidType(), [WORD_TYPE.as_pointer()] * 3)
    for name in ("PyErr_Fetch", "PyErr_NormalizeException"):
        builder.call(cgutils.get_or_insert_function(builder.module, take, name), places)
    kind = ir.FunctionType(ir.VoidType(), [WORD_TYPE] * 4)
    address = ctypes.cast(caught, ctypes.c_void_p).value
    builder.call(builder.inttoptr(WORD_TYPE(address), kind.as_pointer()), [cell, *(builder.load(place) for place in places)])
    python.gil_release(lock)


class _Wrapper:
    """Writes the function that the library calls for a unit, in LLVM's language: for numba it would take longer than the unit."""

    def __init__(self, context: Any, builder: Any, given: Any, user: Any = None) -> None:
        self.context, self.builder, self.given, self.user = context, builder, given, user
        self.status = cgutils.alloca_once_value(builder, WORD_TYPE(_native.HAWSER_BAD_PROGRAM))  # what the function returns
        self.end = builder.append_basic_block("end")
        cell = cgutils.alloca_once(builder, WORD_TYPE, 4)  # as `caught` has it
        self.cell = builder.ptrtoint(cell, WORD_TYPE)
        self.parts: list[tuple[Any, Any]] = []  # names and matrices of data that the unit makes

    def word(self, value: int) -> Any:
        return WORD_TYPE(value)

    def call(self, name: str, result: Any, *arguments: Any) -> Any:
        """Calls a function of the library."""
        kind = ir.FunctionType(result, [argument.type for argument in arguments])
        address = ctypes.cast(getattr(lib, name), ctypes.c_void_p).value
        return self.builder.call(self.builder.inttoptr(self.word(address or 0), kind.as_pointer()), arguments)

    def load(self, address: Any, offset: int = 0, kind: Any = WORD_TYPE) -> Any:
        place = self.builder.add(address, self.word(offset))
        return self.builder.load(self.builder.inttoptr(place, kind.as_pointer()))

    def store(self, value: Any, address: Any, offset: int = 0) -> None:
        self.builder.store(value, self.builder.inttoptr(self.builder.add(address, self.word(offset)), value.type.as_pointer()))

    def begin(self, number: int) -> None:
        """Fills the cell."""
        for value, offset in ((self.given, 0), (self.word(0), WORD), (self.word(number), 2 * WORD)):
            self.store(value, self.cell, offset)

    def leave_if(self, condition: Any) -> None:
        with self.builder.if_then(condition, likely=False):
            self.builder.branch(self.end)

    def leave_if_zero(self, value: Any) -> None:
        self.leave_if(self.builder.icmp_signed("==", value, value.type(0)))

    def leave_with(self, status: Any) -> None:
        """Returns a status of a call, if it is not HAWSER_OK."""
        self.builder.store(self.builder.sext(status, WORD_TYPE), self.status)
        self.leave_if(self.builder.icmp_signed("!=", status, INT(0)))

    def array(self, kind: Any, address: Any, shape: list[Any], strides: list[Any] | None = None) -> Any:
        """Makes an array in place; without strides, in C order."""
        if strides is None:
            size = self.word(self.context.get_abi_sizeof(self.context.get_data_type(kind.dtype)))
            strides = [size]
            for extent in reversed(shape[1:]):
                strides.insert(0, self.builder.mul(strides[0], extent))
        return make_array(self.context, self.builder, kind, address, shape, strides)

    def unit(self, number: int, arguments: tuple[Argument, ...], dispatcher: Any, kinds: tuple[Any, ...], reports: tuple[str, ...]) -> Any:
        """Writes the body of a unit's function, and returns the status."""
        self.begin(number)
        self.table = self.load(self.call("hawser_user", WORD_TYPE, self.given), WORD * (FIRST_UNIT + number))
        values = [self.argument(argument, kind) for argument, kind in zip(arguments, kinds)]
        found, kind = self.guarded(dispatcher, kinds, values), dispatcher.overloads[kinds].signature.return_type
        for name, matrix in self.parts:
            self.leave_with(self.call("hawser_data_replace", INT, self.given, name, matrix))
        many = isinstance(kind, types.BaseTuple)
        for place, metric in enumerate(reports):
            each = self.builder.extract_value(found, place) if many else found
            share = self.context.cast(self.builder, each, kind[place] if many else kind, types.float64)
            self.leave_with(self.call("hawser_report", INT, self.given, self.word(address_of_name(metric)), share))
        self.builder.store(self.word(_native.HAWSER_OK), self.status)
        return self.finish()

    def finish(self) -> Any:
        self.builder.branch(self.end)
        self.builder.position_at_end(self.end)
        return self.builder.load(self.status)

    def guarded(self, dispatcher: Any, kinds: tuple[Any, ...], values: list[Any]) -> Any:
        """Calls a compiled function. An exception is given to `caught`, which stores the status to leave with."""
        compiled, builder = dispatcher.overloads[kinds], self.builder
        kind, name = self.context.call_conv.get_function_type(compiled.fndesc.restype, compiled.fndesc.argtypes), compiled.fndesc
        address = self.word(compiled.library.get_pointer_to_function(name.llvm_func_name))
        place = builder.inttoptr(address, kind.as_pointer())  # by its address: as a part of this module it would be optimised again
        status, found = self.context.call_conv.call_function(builder, place, name.restype, name.argtypes, values)
        with builder.if_then(status.is_error, likely=False):
            with builder.if_then(builder.icmp_signed("==", self.load(self.cell, WORD), self.word(0))):
                _give_exception(self.context, builder, status, self.cell)
            left = self.load(self.cell, WORD)
            failed = builder.icmp_signed("==", left, self.word(0))
            builder.store(builder.select(failed, self.word(_native.HAWSER_BAD_PROGRAM), left), self.status)
            builder.branch(self.end)
        return found

    def argument(self, argument: Argument, kind: Any) -> Any:
        """Makes one argument of a unit."""
        builder, name, slot = self.builder, self.word(address_of_name(argument.state)), WORD * argument.slot
        if argument.kind == "context":
            return self.cell
        if argument.kind == "subproblem":
            return self.user
        if argument.kind == "number":
            value = self.load(self.table, slot, DOUBLE if argument.dtype == "float64" else WORD_TYPE)
            return builder.icmp_signed("!=", value, self.word(0)) if argument.dtype == "bool" else value
        if argument.made:
            return self.dense(argument, kind, self.made(argument, slot, name))
        if argument.writable and argument.kind in ("dense", "sparse"):
            self.read("hawser_write_as", name, TYPES[argument.dtype])  # from here on, the matrix has the memory to write
        if argument.kind in ("dense", "sparse", "beside"):
            return getattr(self, argument.kind)(argument, kind, self.read("hawser_read_as", name, DATA))
        if argument.kind == "scratch":
            place = self.builder.add(self.call("hawser_scratch", WORD_TYPE, self.given), self.load(self.table, slot))
            return self.array(kind, place, [self.load(self.table, slot + WORD * (1 + axis)) for axis in range(argument.ndim)])
        address = self.read("hawser_write_as" if argument.writable else "hawser_read_as", name, TYPES[argument.dtype])
        shape = [self.load(self.table, slot + WORD * place) for place in range(argument.ndim)]
        if argument.kind in ("lines", "numbers"):
            call = "hawser_part_lines" if argument.kind == "lines" else "hawser_part"
            shape[0] = self.call(call, WORD_TYPE, self.given, name, self.word(0))
        return self.array(kind, address, shape)

    def read(self, call: str, name: Any, kind: int) -> Any:
        """Returns the address that hawser_read_as or hawser_write_as stores."""
        place = self.builder.ptrtoint(cgutils.alloca_once(self.builder, WORD_TYPE), WORD_TYPE)
        self.leave_with(self.call(call, INT, self.given, name, INT(kind), place))
        return self.load(place)

    def made(self, argument: Argument, slot: int, name: Any) -> Any:
        """Makes the block's part of data that the unit makes. The interpreter does, once in a run."""
        kind = ir.FunctionType(WORD_TYPE, [WORD_TYPE] * 3)
        function = self.builder.inttoptr(self.word(ctypes.cast(make, ctypes.c_void_p).value or 0), kind.as_pointer())
        matrix = self.builder.call(function, [self.given, self.load(self.table, slot), self.load(self.cell, 2 * WORD)])
        self.leave_if_zero(matrix)
        self.parts.append((name, matrix))
        return matrix

    def dense(self, argument: Argument, kind: Any, matrix: Any) -> Any:
        size = self.word(np.dtype(argument.dtype).itemsize)
        shape = [self.load(matrix, MATRIX["rows"]), self.load(matrix, MATRIX["cols"])]
        strides = [self.builder.mul(self.load(matrix, MATRIX["stride"]), size), size]
        return self.array(kind, self.load(matrix, MATRIX["values"]), shape, strides[::-1] if argument.turned else strides)

    def sparse(self, argument: Argument, kind: Any, matrix: Any) -> Any:
        shape = [self.load(matrix, MATRIX["rows"]), self.load(matrix, MATRIX["cols"])]
        offsets, lines = self.load(matrix, MATRIX["offsets"]), shape[argument.turned]
        end = self.builder.add(offsets, self.builder.mul(lines, self.word(WORD)))
        stored = self.load(end)
        parts = [self.array(kind[0], offsets, [self.builder.add(lines, self.word(1))]),
                 self.array(kind[1], self.load(matrix, MATRIX["indices"]), [stored]),
                 self.array(kind[2], self.load(matrix, MATRIX["values"]), [stored]),
                 cgutils.pack_array(self.builder, shape)]
        return self.context.make_tuple(self.builder, kind, parts)

    def beside(self, argument: Argument, kind: Any, matrix: Any) -> Any:
        builder, rows = self.builder, self.load(matrix, MATRIX["rows"])
        found = cgutils.alloca_once(builder, WORD_TYPE, ctypes.sizeof(_native.hawser_beside) // WORD)
        found = builder.ptrtoint(found, WORD_TYPE)
        dataset = self.load(self.table, WORD * argument.slot)
        self.leave_with(self.call("hawser_dataset_beside", INT, dataset, self.load(matrix, MATRIX["first"]), rows, found, self.word(0)))
        builder.store(self.word(_native.HAWSER_BAD_PROGRAM), self.status)
        def array_in(field: str, number: int, kind: Any) -> Any:
            address = self.load(found, getattr(_native.hawser_beside, field).offset + WORD * number)
            missing = builder.and_(builder.icmp_signed("==", address, self.word(0)), builder.icmp_signed("!=", rows, self.word(0)))
            self.leave_if(missing)
            return self.array(kind, address, [rows])
        if argument.targets > 1:
            return self.context.make_tuple(builder, kind, [array_in("outputs", k, kind.dtype) for k in range(argument.targets)])
        return array_in(argument.beside, 0, kind)

    def merge(self, dispatcher: Any, kinds: tuple[Any, ...]) -> Any:
        """Writes the body of a merge function."""
        self.begin(-1)
        at = {name: self.load(self.given, MERGING[name]) for name in ("state", "sum", "first", "count", "clock")}
        blocks = self.builder.zext(self.load(self.given, MERGING["blocks"], INT), WORD_TYPE)
        self.guarded(dispatcher, kinds, [self.array(kinds[0], at["state"], [at["count"]]), self.array(kinds[1], at["sum"], [at["count"]]),
                                         at["first"], blocks, at["clock"]])
        return self.finish()


    def test(self, number: int, dispatcher: Any, kinds: tuple[Any, ...]) -> Any:
        """Writes the body of a test, which returns a bool."""
        self.begin(-2 - number)
        self.store(self.user, self.cell, 3 * WORD)
        found, kind = self.guarded(dispatcher, kinds, [self.cell]), dispatcher.overloads[kinds].signature.return_type
        truth = self.context.cast(self.builder, found, kind, types.boolean)
        self.builder.store(self.builder.zext(self.context.get_value_as_data(self.builder, types.boolean, truth), WORD_TYPE), self.status)
        return self.builder.zext(self.builder.icmp_signed("==", self.finish(), self.word(1)), ir.IntType(8))


def _compiled(write: Callable[[_Wrapper], Any], signature: Any = types.int64(types.int64)) -> Any:
    """Returns a C function of this signature. `write` makes its body."""
    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return write(_Wrapper(context, builder, *arguments))

    def of_one(typing: Any, given: Any) -> Any:
        return signature, code

    def of_two(typing: Any, given: Any, user: Any) -> Any:
        return signature, code
    run = intrinsic(of_one if len(signature.args) == 1 else of_two)

    def call_one(given: Any) -> Any:
        return run(given)

    def call_two(given: Any, user: Any) -> Any:
        return run(given, user)
    return numba.cfunc(signature, nopython=True)(call_one if len(signature.args) == 1 else call_two)


_lock = threading.RLock()  # a second compilation of the same would free the first one, which may run
_functions: dict[Any, Any] = {}  # dispatchers by function and what it has frozen
_wrappers: dict[Any, Any] = {}


def _dispatcher_of(unit: Code, kinds: tuple[Any, ...]) -> Any:
    """Returns numba's dispatcher of a function, compiled for arguments of these types."""
    key = (unit.function, unit.digest(), unit.boundscheck)
    if key not in _functions:
        _functions[key] = numba.njit(nogil=True, boundscheck=unit.boundscheck, no_cfunc_wrapper=True, no_cpython_wrapper=True,
                                     pipeline_class=Compiler)(unit.function)
    dispatcher = _functions[key]
    if kinds not in dispatcher.overloads:
        try:
            dispatcher.compile(kinds)
        except Exception as error:
            raise BadProgram(f"{unit.where()}: numba cannot compile it: {reason_of(error, unit)}") from error
    check_object_mode(unit, dispatcher.overloads[kinds])
    check_writes(unit, dispatcher.overloads[kinds])
    check_shapes(unit, dispatcher.overloads[kinds])
    check_result(unit, dispatcher.overloads[kinds].signature.return_type)
    return dispatcher


def compile_unit(unit: Unit, arguments: tuple[Argument, ...], number: int, known: Known) -> Any:
    """Returns the address of a compiled unit. Compiles once in a process for each function and types of arguments."""
    if not any(argument.kind == "context" for argument in arguments):
        known = Known()
    kinds = tuple(type_of(argument, known) for argument in arguments)
    with _lock:
        dispatcher = _dispatcher_of(unit, kinds)
        place = (dispatcher, arguments, number, unit.reports, known)
        if place not in _wrappers:
            given = (types.int64,) * (2 if any(argument.kind == "subproblem" for argument in arguments) else 1)
            _wrappers[place] = _compiled(lambda wrapper: wrapper.unit(number, arguments, dispatcher, kinds, unit.reports), types.int64(*given))
        return _wrappers[place].address


def compile_merge(merge: Merge) -> Any:
    """Returns the address of a compiled merge function."""
    state, added = types.Array(types.float64, 1, "C"), types.Array(types.float64, 1, "C", readonly=True)
    kinds = (state, added, types.int64, types.int64, types.int64)
    with _lock:
        dispatcher = _dispatcher_of(merge, kinds)
        if dispatcher not in _wrappers:
            _wrappers[dispatcher] = _compiled(lambda wrapper: wrapper.merge(dispatcher, kinds))
        return _wrappers[dispatcher].address


def compile_test(test: Condition, known: Known, remembers: int, name: str, number: int) -> Any:
    """Returns the address of a compiled test of the loop or branch of this name."""
    kinds = (ProgressType(known, remembers, name),)
    with _lock:
        dispatcher = _dispatcher_of(test, kinds)
        place = (dispatcher, kinds, number)
        if place not in _wrappers:
            _wrappers[place] = _compiled(lambda wrapper: wrapper.test(number, dispatcher, kinds), types.uint8(types.int64, types.int64))
        return _wrappers[place].address


__all__ = ["compile_merge", "compile_test", "compile_unit"]
