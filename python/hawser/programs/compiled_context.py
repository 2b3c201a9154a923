"""The parameter `context` of compiled units: its attributes and methods, as compiled code calls them."""
import ctypes
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

from .. import _native
from .._library import library as lib
from .._native import hawser_batch, hawser_batches, hawser_chunk, hawser_matrix, hawser_merging, hawser_moving_part
from .unit import MATRIX as DATA
from .unit import FIRST_UNIT, NO_BATCH, TYPES, Known, Leave, address_of_name, no_batches, no_parts, wrong_name

WORD = 8  # bytes of an int64
POINTER, COUNT, STATUS, TYPE, NUMBER, FLAG = ctypes.c_int64, ctypes.c_int64, ctypes.c_int32, ctypes.c_int32, ctypes.c_double, ctypes.c_uint8
COMBINE = {"sum": _native.HAWSER_SUM, "max": _native.HAWSER_MAX, "min": _native.HAWSER_MIN}


def _offsets(struct: type[ctypes.Structure]) -> dict[str, int]:
    return {field[0]: getattr(struct, field[0]).offset for field in struct._fields_}


MATRIX, CHUNK, MERGING, PART = (_offsets(kind) for kind in (hawser_matrix, hawser_chunk, hawser_merging, hawser_moving_part))
BATCHES, BATCH = _offsets(hawser_batches), _offsets(hawser_batch)


def call_of(name: str, result: Any, *arguments: Any) -> Any:
    """Returns a function of the library in a form that compiled code can call: pointers are whole numbers."""
    return ctypes.CFUNCTYPE(result, *arguments)(ctypes.cast(getattr(lib, name), ctypes.c_void_p).value or 0)


_read = call_of("hawser_read_as", STATUS, POINTER, POINTER, TYPE, POINTER)
part = call_of("hawser_part", COUNT, POINTER, POINTER, POINTER)
part_lines = call_of("hawser_part_lines", COUNT, POINTER, POINTER, POINTER)
report = call_of("hawser_report", STATUS, POINTER, POINTER, NUMBER)

# ------------------------------------------------------------------------------------------------- memory ----


def _data_view(context: Any, name: Any) -> Any:
    """Returns the address of a block's part of data."""
    place = np.zeros(1, np.int64)
    _read(context, name, DATA, place.ctypes.data)
    return place[0]


data_view = numba.njit(_data_view)


def _load(typing: Any, address: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(builder.inttoptr(arguments[0], ir.IntType(64).as_pointer()))
    return types.int64(types.int64), code


def _store(typing: Any, address: Any, value: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store(arguments[1], builder.inttoptr(arguments[0], ir.IntType(64).as_pointer()))
        return context.get_dummy_value()
    return types.void(types.int64, types.int64), code


def _load_number(typing: Any, address: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(builder.inttoptr(arguments[0], ir.DoubleType().as_pointer()))
    return types.float64(types.int64), code


load, store, load_number = intrinsic(_load), intrinsic(_store), intrinsic(_load_number)


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

    parameter = "context"  # as errors show it

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
address_in = cell_of  # of a value that is an address, as a whole number


def _passed(context: Any, status: int) -> None:
    """In compiled code: leaves the unit with a status that is not HAWSER_OK."""
    if status != 0:
        store(cell_of(context) + 8, np.int64(status))
        raise Leave


passed = numba.njit(_passed)


def literal_of(context: Any, name: Any, what: str) -> tuple[int, Any]:
    """Returns the address of a name that the code spells out, and what is known of the state or metric."""
    if not isinstance(name, types.StringLiteral):
        raise errors.TypingError(f"the name of a {what} must be written in the call, as in {context.parameter}.metric(\"loss\")")
    text = name.literal_value
    found = context.known.find(what, text)
    if found is None:
        raise errors.TypingError(wrong_name(context.known, what, text))
    return address_of_name(text), found


def number_of(name: str, result: Any) -> Callable[..., Any]:
    function = call_of(f"hawser_{name}", result, POINTER)

    def attribute(context: Any) -> Any:
        def get(context: Any) -> Any:
            return np.int64(function(pointer(context)))
        return get
    return attribute


def by_name(name: str, what: str) -> Callable[..., Any]:
    function = call_of(f"hawser_{name}", NUMBER, POINTER, POINTER)

    def method(context: Any, name: Any) -> Any:
        address, _ = literal_of(context, name, what)

        def get(context: Any, name: Any) -> Any:
            return function(pointer(context), address)
        return get
    return method


def _first(context: Any, name: Any) -> Any:
    address, kind = literal_of(context, name, "state")
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
    address, _ = literal_of(context, name, "metric")

    def give(context: Any, name: Any, value: Any) -> Any:
        passed(context, report(pointer(context), address, float(value)))
    return give


def _iterator_of(context: Any, name: Any) -> Any:
    """Returns compiled code that makes a hawser_batches of data, as whole numbers."""
    address, known = literal_of(context, name, "state")
    if known.by not in ("row", "all"):
        raise errors.TypingError(no_batches(known.name))
    words, rows_at = ctypes.sizeof(hawser_batches) // WORD, MATRIX["rows"]
    rows, size_at, seed, stream, in_order = (BATCHES[field] // WORD for field in ("rows", "size", "seed", "stream", "in_order"))

    def make(context: Any, size: Any, shuffle: Any) -> Any:
        if size < 1:
            raise ValueError(NO_BATCH)
        iterator = np.zeros(words, np.int64)
        iterator[rows] = load(data_view(pointer(context), address) + rows_at)
        iterator[size_at] = size
        iterator[seed] = load(_user(pointer(context)))
        iterator[stream] = _block(pointer(context))
        iterator[in_order] = 0 if shuffle else 1  # the first byte of its word
        return iterator
    return numba.njit(make)


def _batch_count(context: Any, name: Any, size: Any) -> Any:
    make = _iterator_of(context, name)

    def batches(context: Any, name: Any, size: Any) -> Any:
        return np.int64(_batches_count(make(context, size, True).ctypes.data))
    return batches


def _batch(context: Any, name: Any, size: Any, number: Any, shuffle: Any = True) -> Any:
    make, words, count = _iterator_of(context, name), ctypes.sizeof(hawser_batch) // WORD, BATCH["count"] // WORD
    rows_at, size_at = BATCHES["rows"] // WORD, BATCHES["size"] // WORD

    def batch(context: Any, name: Any, size: Any, number: Any, shuffle: Any = True) -> Any:
        iterator, found = make(context, size, shuffle), np.zeros(words, np.int64)
        rows = np.empty(min(iterator[rows_at], iterator[size_at]), np.int64)
        if number < 0 or _batches_seek(iterator.ctypes.data, number, 0) != 0:
            raise ValueError(NO_BATCH)
        if _batches_next(iterator.ctypes.data, rows.ctypes.data, found.ctypes.data, 0) != 0:
            raise ValueError(NO_BATCH)
        return rows[:found[count]]
    return batch


_user = call_of("hawser_user", POINTER, POINTER)
_block = call_of("hawser_block", ctypes.c_uint32, POINTER)
_batches_count = call_of("hawser_batches_count", COUNT, POINTER)
_batches_seek = call_of("hawser_batches_seek", STATUS, POINTER, COUNT, POINTER)
_batches_next = call_of("hawser_batches_next", STATUS, POINTER, POINTER, POINTER, POINTER)
_random = call_of("hawser_random", ctypes.c_uint64, POINTER)
_random_below = call_of("hawser_random_below", ctypes.c_uint64, POINTER, ctypes.c_uint64)
_uniform = call_of("hawser_random_uniform", NUMBER, POINTER)
_stopping = call_of("hawser_stopping", FLAG, POINTER)
_allreduce = call_of("hawser_allreduce", STATUS, POINTER, POINTER, COUNT, ctypes.c_int32)
_touch = call_of("hawser_touch", STATUS, POINTER, POINTER, COUNT, COUNT)
_publish = call_of("hawser_publish", STATUS, POINTER, POINTER)
_exchange = call_of("hawser_yield", STATUS, POINTER)
_next_chunk = call_of("hawser_next_chunk", STATUS, POINTER, POINTER, POINTER)
_next_part = call_of("hawser_next_part", STATUS, POINTER, POINTER, POINTER)
_prefetch = call_of("hawser_prefetch", STATUS, POINTER, POINTER, POINTER, COUNT, COUNT)
_inc = call_of("hawser_inc_as", STATUS, POINTER, POINTER, POINTER, TYPE, POINTER, COUNT)
_prefetch_wait = call_of("hawser_prefetch_wait_as", STATUS, POINTER, POINTER, TYPE, POINTER)


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
    address, _ = literal_of(context, name, "state")

    def touch(context: Any, name: Any, first: Any, count: Any) -> Any:
        passed(context, _touch(pointer(context), address, first, count))
    return touch


def _published(context: Any, name: Any) -> Any:
    address, _ = literal_of(context, name, "state")

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
    address, known = literal_of(context, name, "state")
    _need(keys, "uint64", f"inc: the keys of '{known.name}'")
    _need(values, known.dtype, f"inc: the values for '{known.name}'")
    number = TYPES[known.dtype]

    def inc(context: Any, name: Any, keys: Any, values: Any) -> Any:
        if keys.size != values.size:
            raise ValueError("inc: there must be one value for each key")
        passed(context, _inc(pointer(context), address, keys.ctypes.data, number, values.ctypes.data, keys.size))
    return inc


def _fetch(context: Any, name: Any, keys: Any) -> Any:
    address, known = literal_of(context, name, "state")
    _need(keys, "uint64", f"prefetch: the keys of '{known.name}'")

    def prefetch(context: Any, name: Any, keys: Any) -> Any:
        passed(context, _prefetch(pointer(context), address, keys.ctypes.data, 0, keys.size))
    return prefetch


def _fetched(context: Any, name: Any, count: Any) -> Any:
    address, known = literal_of(context, name, "state")
    number = TYPES[known.dtype]
    view = view_of(types.Array(getattr(types, known.dtype), 1, "C", readonly=True))
    size = np.dtype(known.dtype).itemsize

    def wait(context: Any, name: Any, count: Any) -> Any:
        place = np.zeros(1, np.int64)
        passed(context, _prefetch_wait(pointer(context), address, number, place.ctypes.data))
        return view(place[0], (np.int64(count),), (size,))
    return wait


def _chunk(context: Any, name: Any) -> Any:
    address, known = literal_of(context, name, "state")
    width, size = known.width, np.dtype(known.dtype).itemsize
    view = view_of(types.Array(getattr(types, known.dtype), 2, "C", readonly=True))
    words = ctypes.sizeof(hawser_chunk) // WORD
    first_at, count_at, values = CHUNK["first"], CHUNK["count"], CHUNK["values"]

    def next_chunk(context: Any, name: Any) -> Any:
        chunk = np.zeros(words, np.int64)
        passed(context, _next_chunk(pointer(context), address, chunk.ctypes.data))
        block = chunk[0] & 0xFFFFFFFF
        if block == 0xFFFFFFFF:
            return np.int64(-1), np.int64(0), view(np.int64(0), (0, width), (width * size, size))
        lines = chunk[count_at // 8] // width
        return block, chunk[first_at // 8] // width, view(chunk[values // 8], (lines, width), (width * size, size))
    return next_chunk


def _part_of(context: Any, name: Any) -> Any:
    """Returns a function that takes the next part of a moving state, and gives its number and the words of its struct."""
    address, known = literal_of(context, name, "state")
    if known.kind != "moving":
        raise errors.TypingError(no_parts(known))
    words = ctypes.sizeof(hawser_moving_part) // WORD

    def take(context: Any) -> Any:
        part = np.zeros(words, np.int64)
        passed(context, _next_part(pointer(context), address, part.ctypes.data))
        number = part[0] & 0xFFFFFFFF
        return np.int64(-1) if number == 0xFFFFFFFF else np.int64(number), part
    return numba.njit(take)


def _moving(context: Any, name: Any) -> Any:
    take, known = _part_of(context, name), literal_of(context, name, "state")[1]
    width, slot, size = known.width, known.slot * WORD, np.dtype(known.dtype).itemsize
    view = view_of(types.Array(getattr(types, known.dtype), 2 if width else 1, "C", readonly=not known.writable))
    first_at, lines_at, count_at, values_at = (PART[field] // WORD for field in ("first_line", "lines", "count", "values"))
    begins = view_of(types.Array(types.int64, 1, "C", readonly=True))

    def next_part(context: Any, name: Any) -> Any:
        number, part = take(context)
        return number, part[first_at], view(part[values_at], (part[lines_at], width), (width * size, size))

    def next_ragged(context: Any, name: Any) -> Any:
        number, part = take(context)
        table = load(_user(pointer(context)) + 8 * (FIRST_UNIT + load(cell_of(context) + 16)))
        starts = begins(load(table + slot) + 8 * part[first_at], (part[lines_at] + 1,), (8,))
        return number, part[first_at], view(part[values_at], (part[count_at],), (size,)), starts - starts[0]
    return next_part if width else next_ragged


for name_, result_ in (("block", ctypes.c_uint32), ("blocks", ctypes.c_uint32), ("clock", ctypes.c_uint64)):
    overload_attribute(ContextType, name_)(number_of(name_, result_))
for name_, function_ in (
        ("first", _first), ("metric", by_name("metric", "metric")), ("gain", by_name("gain", "state")),
        ("damping", by_name("damping", "state")), ("batches", _batch_count), ("batch", _batch), ("report", _report), ("random", _draw), ("random_below", _draw_below),
        ("uniform", _draw_uniform), ("stopping", _is_stopping), ("allreduce", _reduce), ("touch", _touched),
        ("publish", _published), ("exchange", _exchanged), ("inc", _increase), ("prefetch", _fetch),
        ("prefetch_wait", _fetched), ("next_chunk", _chunk), ("next_part", _moving)):
    overload_method(ContextType, name_, prefer_literal=True)(function_)


__all__ = ["COUNT", "FLAG", "MATRIX", "MERGING", "NUMBER", "POINTER", "WORD", "ContextType", "address_in", "by_name", "call_of", "literal_of",
           "load", "load_number", "make_array", "number_of", "pointer", "view_of"]
