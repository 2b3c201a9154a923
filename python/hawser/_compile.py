"""Compiles the functions of units with numba, into functions that the library calls on its own threads, without the interpreter."""
import ctypes
import re
import threading
from collections.abc import Callable
from typing import Any

import llvmlite.ir as ir
import numba
import numba.core.cgutils as cgutils
import numpy as np
from numba.core import errors, types
from numba.core.datamodel import models
from numba.extending import intrinsic, overload_attribute, overload_method, register_model
from numba.np.arrayobj import populate_array

from . import _native
from ._errors import BadProgram
from ._library import library as lib
from ._native import hawser_chunk, hawser_matrix, hawser_merging
from ._shapes import Compiler
from ._unit import Argument, Known, Leave, Sparse, Unit, address_of_name, caught, wrong_name

WORD = 8  # bytes of an int64
POINTER, COUNT, STATUS, NUMBER, FLAG = ctypes.c_int64, ctypes.c_int64, ctypes.c_int32, ctypes.c_double, ctypes.c_uint8
SUFFIX = {"float64": "", "float32": "_f32", "int64": "_i64", "int32": "_i32"}
COMBINE = {"sum": _native.HAWSER_SUM, "max": _native.HAWSER_MAX, "min": _native.HAWSER_MIN}


def _offsets(struct: type[ctypes.Structure]) -> dict[str, int]:
    return {field[0]: getattr(struct, field[0]).offset for field in struct._fields_}


MATRIX, CHUNK, MERGING = _offsets(hawser_matrix), _offsets(hawser_chunk), _offsets(hawser_merging)


def _call(name: str, result: Any, *arguments: Any) -> Any:
    """Returns a function of the library in a form that compiled code can call: pointers are whole numbers."""
    return ctypes.CFUNCTYPE(result, *arguments)(ctypes.cast(getattr(lib, name), ctypes.c_void_p).value or 0)


data_view = _call("hawser_data_view", POINTER, POINTER, POINTER)
part = _call("hawser_part", COUNT, POINTER, POINTER, POINTER)
part_lines = _call("hawser_part_lines", COUNT, POINTER, POINTER, POINTER)
report = _call("hawser_report", STATUS, POINTER, POINTER, NUMBER)

# ------------------------------------------------------------------------------------------------- memory ----


def _load(typing: Any, address: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(builder.inttoptr(arguments[0], ir.IntType(64).as_pointer()))
    return types.int64(types.int64), code


def _store(typing: Any, address: Any, value: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store(arguments[1], builder.inttoptr(arguments[0], ir.IntType(64).as_pointer()))
        return context.get_dummy_value()
    return types.void(types.int64, types.int64), code


load, store = intrinsic(_load), intrinsic(_store)


def make_array(context: Any, builder: Any, array_type: Any, address: Any, shape: Any, strides: Any) -> Any:
    """Writes code that makes an array in place."""
    out = context.make_array(array_type)(context, builder)
    size = context.get_abi_sizeof(context.get_data_type(array_type.dtype))
    populate_array(out, data=builder.inttoptr(address, out.data.type), shape=shape, strides=strides,
                   itemsize=context.get_constant(types.intp, size), meminfo=None)
    return out._getvalue()


def view_of(array_type: Any) -> Any:
    """Returns a function of address, shape and strides that gives an array of this type in place."""
    def view(typing: Any, address: Any, shape: Any, strides: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            shape, strides = (cgutils.unpack_tuple(builder, each) for each in arguments[1:])
            return make_array(context, builder, array_type, arguments[0], shape, strides)
        many = types.UniTuple(types.int64, array_type.ndim)
        return array_type(types.int64, many, many), code
    return intrinsic(view)


# ------------------------------------------------------------------------------------------------ context ----


class ContextType(types.Type):  # type: ignore[misc]
    """The type of the parameter `context`: the address of a cell that has context, status and the unit's number."""

    def __init__(self, known: Known) -> None:
        self.known = known
        super().__init__(name=f"hawser.Context({known})")


register_model(ContextType)(type("ContextModel", (models.PrimitiveModel,), {
    "__init__": lambda self, manager, kind: models.PrimitiveModel.__init__(self, manager, kind, ir.IntType(64))}))


def _pointer(typing: Any, context: Any) -> Any:
    def code(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(builder.inttoptr(arguments[0], ir.IntType(64).as_pointer()))
    return types.int64(context), code


def _cell(typing: Any, context: Any) -> Any:
    def code(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return arguments[0]
    return types.int64(context), code


pointer, cell_of = intrinsic(_pointer), intrinsic(_cell)


def _passed(context: Any, status: int) -> None:
    """In compiled code: leaves the unit with a status that is not HAWSER_OK."""
    if status != 0:
        store(cell_of(context) + 8, np.int64(status))
        raise Leave


passed = numba.njit(_passed)


def _literal(context: Any, name: Any, what: str) -> tuple[int, Any]:
    """Returns the address of a name that the code spells out, and what is known of the state or metric."""
    if not isinstance(name, types.StringLiteral):
        raise errors.TypingError(f"the name of a {what} must be written in the call, as in context.metric(\"loss\")")
    text = name.literal_value
    found = context.known.find(what, text)
    if found is None:
        raise errors.TypingError(wrong_name(context.known, what, text))
    return address_of_name(text), found


def _number(name: str, result: Any) -> Callable[..., Any]:
    function = _call(f"hawser_{name}", result, POINTER)

    def attribute(context: Any) -> Any:
        def get(context: Any) -> Any:
            return np.int64(function(pointer(context)))
        return get
    return attribute


def _by_name(name: str, what: str) -> Callable[..., Any]:
    function = _call(f"hawser_{name}", NUMBER, POINTER, POINTER)

    def method(context: Any, name: Any) -> Any:
        address, _ = _literal(context, name, what)

        def get(context: Any, name: Any) -> Any:
            return function(pointer(context), address)
        return get
    return method


def _first(context: Any, name: Any) -> Any:
    address, kind = _literal(context, name, "state")
    offset, is_lines = MATRIX["first"], kind.by_line
    if kind.kind == "data":
        def first_row(context: Any, name: Any) -> Any:
            return load(data_view(pointer(context), address) + offset)
        return first_row
    function = part_lines if is_lines else part

    def first(context: Any, name: Any) -> Any:
        place = np.zeros(1, np.int64)
        function(pointer(context), address, place.ctypes.data)
        return place[0]
    return first


def _report(context: Any, name: Any, value: Any) -> Any:
    address, _ = _literal(context, name, "metric")

    def give(context: Any, name: Any, value: Any) -> Any:
        passed(context, report(pointer(context), address, float(value)))
    return give


_random = _call("hawser_random", ctypes.c_uint64, POINTER)
_random_below = _call("hawser_random_below", ctypes.c_uint64, POINTER, ctypes.c_uint64)
_uniform = _call("hawser_random_uniform", NUMBER, POINTER)
_stopping = _call("hawser_stopping", FLAG, POINTER)
_allreduce = _call("hawser_allreduce", STATUS, POINTER, POINTER, COUNT, ctypes.c_int32)
_touch = _call("hawser_touch", STATUS, POINTER, POINTER, COUNT, COUNT)
_publish = _call("hawser_publish", STATUS, POINTER, POINTER)
_exchange = _call("hawser_yield", STATUS, POINTER)
_next_chunk = _call("hawser_next_chunk", STATUS, POINTER, POINTER, POINTER)
_prefetch = _call("hawser_prefetch", STATUS, POINTER, POINTER, POINTER, COUNT, COUNT)
_INC = {dtype: _call(f"hawser_inc{suffix}", STATUS, POINTER, POINTER, POINTER, POINTER, COUNT) for dtype, suffix in SUFFIX.items()}
_WAIT = {dtype: _call(f"hawser_prefetch_wait{suffix}", STATUS, POINTER, POINTER, POINTER)
         for dtype, suffix in SUFFIX.items() if dtype != "int32"}


def _draw(context: Any) -> Any:
    def draw(context: Any) -> Any:
        return _random(pointer(context))
    return draw


def _draw_below(context: Any, bound: Any) -> Any:
    def draw(context: Any, bound: Any) -> Any:
        if bound <= 0:
            raise ValueError("random_below: the bound must be above 0")
        return np.int64(_random_below(pointer(context), np.uint64(bound)))
    return draw


def _draw_uniform(context: Any) -> Any:
    def draw(context: Any) -> Any:
        return _uniform(pointer(context))
    return draw


def _is_stopping(context: Any) -> Any:
    def stopping(context: Any) -> Any:
        return _stopping(pointer(context)) != 0
    return stopping


def _reduce(context: Any, values: Any, by: Any = "sum") -> Any:
    word = by.literal_value if isinstance(by, types.StringLiteral) else getattr(by, "value", by)
    if word not in COMBINE or not (isinstance(values, types.Array) and values.dtype == types.float64 and values.layout == "C"
                                   and values.mutable):
        raise errors.TypingError("allreduce: give a contiguous array of float64, and \"sum\", \"max\" or \"min\"")
    combine = COMBINE[word]

    def reduce(context: Any, values: Any, by: Any = "sum") -> Any:
        passed(context, _allreduce(pointer(context), values.ctypes.data, values.size, combine))
    return reduce


def _touched(context: Any, name: Any, first: Any, count: Any) -> Any:
    address, _ = _literal(context, name, "state")

    def touch(context: Any, name: Any, first: Any, count: Any) -> Any:
        passed(context, _touch(pointer(context), address, first, count))
    return touch


def _published(context: Any, name: Any) -> Any:
    address, _ = _literal(context, name, "state")

    def publish(context: Any, name: Any) -> Any:
        passed(context, _publish(pointer(context), address))
    return publish


def _exchanged(context: Any) -> Any:
    def exchange(context: Any) -> Any:
        passed(context, _exchange(pointer(context)))
    return exchange


def _need(array: Any, dtype: str, what: str) -> None:
    if not (isinstance(array, types.Array) and str(array.dtype) == dtype and array.ndim == 1 and array.layout == "C"):
        raise errors.TypingError(f"{what} must be a contiguous array of {dtype} of one dimension")


def _increase(context: Any, name: Any, keys: Any, values: Any) -> Any:
    address, known = _literal(context, name, "state")
    _need(keys, "uint64", f"inc: the keys of '{known.name}'")
    _need(values, known.dtype, f"inc: the values for '{known.name}'")
    function = _INC[known.dtype]

    def inc(context: Any, name: Any, keys: Any, values: Any) -> Any:
        if keys.size != values.size:
            raise ValueError("inc: there must be one value for each key")
        passed(context, function(pointer(context), address, keys.ctypes.data, values.ctypes.data, keys.size))
    return inc


def _fetch(context: Any, name: Any, keys: Any) -> Any:
    address, known = _literal(context, name, "state")
    _need(keys, "uint64", f"prefetch: the keys of '{known.name}'")

    def prefetch(context: Any, name: Any, keys: Any) -> Any:
        passed(context, _prefetch(pointer(context), address, keys.ctypes.data, 0, keys.size))
    return prefetch


def _fetched(context: Any, name: Any, count: Any) -> Any:
    address, known = _literal(context, name, "state")
    function = _WAIT[known.dtype]
    view = view_of(types.Array(getattr(types, known.dtype), 1, "C", readonly=True))
    size = np.dtype(known.dtype).itemsize

    def wait(context: Any, name: Any, count: Any) -> Any:
        place = np.zeros(1, np.int64)
        passed(context, function(pointer(context), address, place.ctypes.data))
        return view(place[0], (np.int64(count),), (size,))
    return wait


def _chunk(context: Any, name: Any) -> Any:
    address, known = _literal(context, name, "state")
    width, size = known.width, np.dtype(known.dtype).itemsize
    view = view_of(types.Array(getattr(types, known.dtype), 2, "C", readonly=True))
    values = CHUNK["values" + SUFFIX[known.dtype]]
    words, first_at, count_at = ctypes.sizeof(hawser_chunk) // WORD, CHUNK["first"], CHUNK["count"]

    def next_chunk(context: Any, name: Any) -> Any:
        chunk = np.zeros(words, np.int64)
        passed(context, _next_chunk(pointer(context), address, chunk.ctypes.data))
        block = chunk[0] & 0xFFFFFFFF
        if block == 0xFFFFFFFF:
            return np.int64(-1), np.int64(0), view(np.int64(0), (0, width), (width * size, size))
        lines = chunk[count_at // 8] // width
        return block, chunk[first_at // 8] // width, view(chunk[values // 8], (lines, width), (width * size, size))
    return next_chunk


for name_, result_ in (("block", ctypes.c_uint32), ("blocks", ctypes.c_uint32), ("clock", ctypes.c_uint64)):
    overload_attribute(ContextType, name_)(_number(name_, result_))
for name_, function_ in (
        ("first", _first), ("metric", _by_name("metric", "metric")), ("gain", _by_name("gain", "state")),
        ("damping", _by_name("damping", "state")), ("report", _report), ("random", _draw), ("random_below", _draw_below),
        ("uniform", _draw_uniform), ("stopping", _is_stopping), ("allreduce", _reduce), ("touch", _touched),
        ("publish", _published), ("exchange", _exchanged), ("inc", _increase), ("prefetch", _fetch),
        ("prefetch_wait", _fetched), ("next_chunk", _chunk)):
    overload_method(ContextType, name_, prefer_literal=True)(function_)

# --------------------------------------------------------------------------------------------------- calls ----


def type_of(argument: Argument, known: Known) -> Any:
    """Returns the type that a unit's parameter has in compiled code."""
    dtype = getattr(types, "boolean" if argument.dtype == "bool" else argument.dtype)
    if argument.kind == "context":
        return ContextType(known)
    if argument.kind == "number":
        return dtype
    if argument.kind == "sparse":
        index, column = types.Array(types.int64, 1, "C", readonly=True), types.Array(types.uint32, 1, "C", readonly=True)
        return types.NamedTuple((index, column, types.Array(dtype, 1, "C", readonly=True), types.UniTuple(types.int64, 2)), Sparse)
    return types.Array(dtype, argument.ndim, argument.layout, readonly=not argument.writable)


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

    def __init__(self, context: Any, builder: Any, given: Any) -> None:
        self.context, self.builder, self.given = context, builder, given
        self.status = cgutils.alloca_once_value(builder, WORD_TYPE(_native.HAWSER_BAD_PROGRAM))  # what the function returns
        self.end = builder.append_basic_block("end")
        cell = cgutils.alloca_once(builder, WORD_TYPE, 3)
        self.cell = builder.ptrtoint(cell, WORD_TYPE)

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
        for value, offset in ((self.given, 0), (self.word(0), WORD), (self.word(number), 2 * WORD)):
            self.store(value, self.cell, offset)
        self.table = self.load(self.call("hawser_user", WORD_TYPE, self.given), WORD * number)
        values = [self.argument(argument, kind) for argument, kind in zip(arguments, kinds)]
        found, kind = self.guarded(dispatcher, kinds, values), dispatcher.overloads[kinds].signature.return_type
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
        if argument.kind == "number":
            value = self.load(self.table, slot, DOUBLE if argument.dtype == "float64" else WORD_TYPE)
            return builder.icmp_signed("!=", value, self.word(0)) if argument.dtype == "bool" else value
        if argument.kind in ("dense", "sparse", "beside"):
            matrix = self.call("hawser_data_view", WORD_TYPE, self.given, name)
            self.leave_if_zero(matrix)
            return getattr(self, argument.kind)(argument, kind, matrix)
        address = self.call(f"hawser_{argument.getter}{SUFFIX[argument.dtype]}", WORD_TYPE, self.given, name)
        self.leave_if_zero(address)
        shape = [self.load(self.table, slot + WORD * place) for place in range(argument.ndim)]
        if argument.kind == "lines":
            shape[0] = self.call("hawser_part_lines", WORD_TYPE, self.given, name, self.word(0))
        return self.array(kind, address, shape)

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
        address = self.load(found, getattr(_native.hawser_beside, argument.beside).offset)
        missing = builder.and_(builder.icmp_signed("==", address, self.word(0)), builder.icmp_signed("!=", rows, self.word(0)))
        self.leave_if(missing)
        return self.array(kind, address, [rows])

    def merge(self, dispatcher: Any, kinds: tuple[Any, ...]) -> Any:
        """Writes the body of a merge function."""
        for value, offset in ((self.given, 0), (self.word(0), WORD), (self.word(-1), 2 * WORD)):
            self.store(value, self.cell, offset)
        at = {name: self.load(self.given, MERGING[name]) for name in ("state", "sum", "first", "count", "clock")}
        blocks = self.builder.zext(self.load(self.given, MERGING["blocks"], INT), WORD_TYPE)
        self.guarded(dispatcher, kinds, [self.array(kinds[0], at["state"], [at["count"]]), self.array(kinds[1], at["sum"], [at["count"]]),
                                         at["first"], blocks, at["clock"]])
        return self.finish()


def _compiled(write: Callable[[_Wrapper], Any]) -> Any:
    """Returns a C function int64(int64). `write` makes its body."""
    def body(typing: Any, given: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return write(_Wrapper(context, builder, arguments[0]))
        return types.int64(types.int64), code
    run = intrinsic(body)

    def function(given: Any) -> Any:
        return run(given)
    return numba.cfunc(types.int64(types.int64), nopython=True)(function)


_lock = threading.RLock()  # a second compilation of the same would free the first one, which may run
_functions: dict[Any, Any] = {}  # dispatchers by function and what it has frozen
_wrappers: dict[Any, Any] = {}


def _dispatcher_of(unit: Unit, kinds: tuple[Any, ...]) -> Any:
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
            raise BadProgram(f"{unit.where()}: numba cannot compile it: {_reason(error, unit)}") from error
    _check_writes(unit, dispatcher.overloads[kinds])
    _check_shapes(unit, dispatcher.overloads[kinds])
    _check_result(unit, dispatcher.overloads[kinds].signature.return_type)
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
            _wrappers[place] = _compiled(lambda wrapper: wrapper.unit(number, arguments, dispatcher, kinds, unit.reports))
        return _wrappers[place].address


def compile_merge(merge: Unit) -> Any:
    """Returns the address of a compiled merge function."""
    state, added = types.Array(types.float64, 1, "C"), types.Array(types.float64, 1, "C", readonly=True)
    kinds = (state, added, types.int64, types.int64, types.int64)
    with _lock:
        dispatcher = _dispatcher_of(merge, kinds)
        if dispatcher not in _wrappers:
            _wrappers[dispatcher] = _compiled(lambda wrapper: wrapper.merge(dispatcher, kinds))
        return _wrappers[dispatcher].address


def _reason(error: Exception, unit: Unit) -> str:
    """Returns the part of numba's text that says what is wrong, and where."""
    text = str(error)
    where = re.search(r'File "([^"]*)", line (\d+):', text)
    place = f" (line {where.group(2)})" if where else ""
    if "Cannot modify readonly array" in text or not isinstance(error, errors.NumbaError):
        named = f"; its updates are {', '.join(unit.updates)}" if unit.updates else "; it has no updates="
        what = "" if isinstance(error, errors.NumbaError) else f"{type(error).__name__}: {error}; "
        return f"{what}does it change a state that it only reads?{named}{place}"
    reasons = re.findall(r"raised a specific error:\s+(?:\w+: )?(.*)", text)
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("Failed in")]
    return f"{(reasons or lines)[0]}{place}"


# What gives or takes an array that may be written although the one that it comes from is read-only: numba checks all others.
ESCAPES = {np.fill_diagonal: "numpy.fill_diagonal", np.nditer: "numpy.nditer", np.ascontiguousarray: "numpy.ascontiguousarray",
           np.asfortranarray: "numpy.asfortranarray"}


def _is_readonly(kind: Any) -> bool:
    return isinstance(kind, types.Array) and not kind.mutable


def _check_writes(unit: Unit, compiled: Any) -> None:
    """Refuses what could change a state that is only read, and what numba does not refuse itself."""
    found, notes = "", compiled.type_annotation
    for block in notes.blocks.values():
        for one in block.find_exprs(op="getattr"):
            if one.attr == "flat" and _is_readonly(notes.typemap[one.value.name]):
                found = "flat"
    for expression, signature in notes.calltypes.items():
        if signature is None or getattr(expression, "op", "") != "call" or not any(map(_is_readonly, signature.args)):
            continue
        called = notes.typemap[expression.func.name]
        function = getattr(called, "typing_key", None)
        if isinstance(called, types.Dispatcher):
            _check_writes(unit, called.dispatcher.overloads[tuple(signature.args)])
        elif function is np.dot and len(signature.args) == 3 and _is_readonly(signature.args[2]):
            found = "the output of numpy.dot"
        elif _name_of(function) in ESCAPES.values() and _is_readonly(signature.args[0]):
            found = _name_of(function)
    if found:
        raise BadProgram(f"{unit.where()}: {found} of an array that the unit only reads could change it, which numba does not notice; use a "
                         "loop, or a copy()")


def _check_shapes(unit: Unit, compiled: Any, inside: bool = False) -> None:
    """Refuses where numba compares no shapes: outputs of ufuncs, and changes in place `inside` functions that the unit calls (_shapes.py has its own)."""
    notes, found = compiled.type_annotation, ""
    for expression, signature in notes.calltypes.items():
        operation = getattr(expression, "op", "")
        if signature is None or operation not in ("call", "inplace_binop"):
            continue
        if operation == "inplace_binop":
            if inside and all(isinstance(kind, types.Array) for kind in signature.args):
                found = f"a change in place (line {expression.loc.line} of {expression.loc.filename})"
            continue
        called = notes.typemap[expression.func.name]
        function = getattr(called, "typing_key", None)
        if isinstance(called, types.Dispatcher):
            _check_shapes(unit, called.dispatcher.overloads[tuple(signature.args)], inside=True)
        elif isinstance(function, np.ufunc) and len(signature.args) > function.nin:
            found = f"the output of numpy.{function.__name__} (line {expression.loc.line})"
    if found:
        raise BadProgram(f"{unit.where()}: {found} is an array, and numba does not compare its shape; write output[:] = ... instead")


def _name_of(function: Any) -> str:
    return next((name for each, name in ESCAPES.items() if function is each), "")


def _check_result(unit: Unit, result: Any) -> None:
    """Refuses a function that does not return a number for each metric that it reports."""
    count = 0 if result == types.none else len(result) if isinstance(result, types.BaseTuple) else 1
    numbers = [result] if count == 1 and not isinstance(result, types.BaseTuple) else list(result) if count else []
    if count != len(unit.reports) or not all(isinstance(kind, (types.Number, types.Boolean)) for kind in numbers):
        raise BadProgram(unit.wrong_result(f"{result}" if count else "nothing"))


__all__ = ["compile_unit"]
