"""Compiles the functions of units with numba, into functions that the library calls on its own threads, without the interpreter."""
import ctypes
import re
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


user = _call("hawser_user", POINTER, POINTER)
data_view = _call("hawser_data_view", POINTER, POINTER, POINTER)
data_beside = _call("hawser_dataset_beside", STATUS, POINTER, COUNT, COUNT, POINTER, POINTER)
part = _call("hawser_part", COUNT, POINTER, POINTER, POINTER)
part_lines = _call("hawser_part_lines", COUNT, POINTER, POINTER, POINTER)
report = _call("hawser_report", STATUS, POINTER, POINTER, NUMBER)
BY_TYPE = {(name, dtype): _call(f"hawser_{name}{suffix}", POINTER, POINTER, POINTER)
           for name in ("cache", "view", "local") for dtype, suffix in SUFFIX.items()}

# ------------------------------------------------------------------------------------------------- memory ----


def _load(typing: Any, address: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(builder.inttoptr(arguments[0], ir.IntType(64).as_pointer()))
    return types.int64(types.int64), code


def _load_number(typing: Any, address: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(builder.inttoptr(arguments[0], ir.DoubleType().as_pointer()))
    return types.float64(types.int64), code


def _store(typing: Any, address: Any, value: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store(arguments[1], builder.inttoptr(arguments[0], ir.IntType(64).as_pointer()))
        return context.get_dummy_value()
    return types.void(types.int64, types.int64), code


load, load_number, store = intrinsic(_load), intrinsic(_load_number), intrinsic(_store)


def view_of(array_type: Any) -> Any:
    """Returns a function of address, shape and strides that gives an array of this type in place."""
    def view(typing: Any, address: Any, shape: Any, strides: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            out = context.make_array(array_type)(context, builder)
            size = context.get_abi_sizeof(context.get_data_type(array_type.dtype))
            populate_array(out, data=builder.inttoptr(arguments[0], out.data.type),
                           shape=cgutils.unpack_tuple(builder, arguments[1]), strides=cgutils.unpack_tuple(builder, arguments[2]),
                           itemsize=context.get_constant(types.intp, size), meminfo=None)
            return out._getvalue()
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


def context_of(known: Known) -> Any:
    """Returns a function of the address of a cell that gives a context."""
    def make(typing: Any, cell: Any) -> Any:
        def code(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return arguments[0]
        return ContextType(known)(types.int64), code
    return intrinsic(make)


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


def _guarded(typing: Any, function: Any, cell: Any, arguments: Any) -> Any:
    """Calls a compiled function. Returns whether it has returned, and its result; an exception is given to `caught`."""
    dispatcher = function.dispatcher
    compiled = dispatcher.overloads[tuple(arguments.types)]
    inner = compiled.signature
    result = types.Tuple((types.boolean, inner.return_type)) if inner.return_type != types.none else types.Tuple((types.boolean,))

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        context.active_code_library.add_linking_library(compiled.library)
        given = cgutils.unpack_tuple(builder, values[2])
        status, found = context.call_internal_no_propagate(builder, compiled.fndesc, inner, given)
        word, address = ir.IntType(64), values[1]
        left = builder.load(builder.inttoptr(builder.add(address, word(WORD)), word.as_pointer()))
        with builder.if_then(builder.and_(status.is_error, builder.icmp_signed("==", left, word(0))), likely=False):
            _give_exception(context, builder, status, address)
        answer = [builder.not_(status.is_error)]
        if inner.return_type != types.none:
            answer.append(found)
        return context.make_tuple(builder, signature.return_type, answer)
    return result(function, cell, arguments), code


def _give_exception(context: Any, builder: Any, status: Any, cell: Any) -> None:
    """Writes code that raises the exception of a status in the interpreter, and takes it away again for `caught`."""
    python, word = context.get_python_api(builder), ir.IntType(64)
    lock = python.gil_ensure()
    context.call_conv.raise_error(builder, python, status)
    places = [cgutils.alloca_once_value(builder, word(0)) for _ in range(3)]
    take = ir.FunctionType(ir.VoidType(), [word.as_pointer()] * 3)
    for name in ("PyErr_Fetch", "PyErr_NormalizeException"):
        builder.call(cgutils.get_or_insert_function(builder.module, take, name), places)
    kind = ir.FunctionType(ir.VoidType(), [word] * 4)
    address = ctypes.cast(caught, ctypes.c_void_p).value
    builder.call(builder.inttoptr(word(address), kind.as_pointer()), [cell, *(builder.load(place) for place in places)])
    python.gil_release(lock)


guarded = intrinsic(_guarded)


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


def _line_of(argument: Argument, index: int, names: dict[str, Any], known: Known) -> list[str]:
    """Returns the lines of the wrapper that make one argument, a<index>."""
    a, name = f"a{index}", f"name{index}"
    names[name] = address_of_name(argument.state)
    slots = [f"load(table + {WORD * (argument.slot + place)})" for place in range(argument.ndim)]
    if argument.kind == "context":
        names[f"context{index}"] = context_of(known)
        return [f"{a} = context{index}(here)"]
    if argument.kind == "number":
        read = "load_number" if argument.dtype == "float64" else "load"
        value = f"{read}(table + {WORD * argument.slot})"
        return [f"{a} = {value} != 0" if argument.dtype == "bool" else f"{a} = {value}"]
    if argument.kind in ("dense", "sparse"):
        return [f"m = data_view(context, {name})", "if m == 0:", f"    return {_native.HAWSER_BAD_PROGRAM}",
                *(_dense if argument.kind == "dense" else _sparse)(argument, index, names)]
    if argument.kind == "beside":
        names[f"view{index}"] = view_of(type_of(argument, known))
        place = getattr(_native.hawser_beside, argument.beside).offset // WORD
        words = ctypes.sizeof(_native.hawser_beside) // WORD
        return [f"m = data_view(context, {name})", "if m == 0:", f"    return {_native.HAWSER_BAD_PROGRAM}",
                f"n = load(m + {MATRIX['rows']})", f"beside = np.zeros({words}, np.int64)",
                f"status = data_beside({slots[0]}, load(m + {MATRIX['first']}), n, beside.ctypes.data, 0)",
                "if status != 0:", f"    return {_native.HAWSER_BAD_PROGRAM}",
                f"if beside[{place}] == 0 and n > 0:", f"    return {_native.HAWSER_BAD_PROGRAM}",
                f"{a} = view{index}(beside[{place}], (n,), ({WORD},))"]
    names[f"view{index}"], names[f"get{index}"] = view_of(type_of(argument, known)), BY_TYPE[argument.getter, argument.dtype]
    shape = list(slots)
    if argument.kind == "lines":
        shape[0] = f"part_lines(context, {name}, 0)"
    size = np.dtype(argument.dtype).itemsize
    lines = [f"p = get{index}(context, {name})", "if p == 0:", f"    return {_native.HAWSER_BAD_PROGRAM}"]
    lines += [f"n{place} = {value}" for place, value in enumerate(shape)]
    strides = [" * ".join([str(size), *(f"n{later}" for later in range(place + 1, len(shape)))]) for place in range(len(shape))]
    return [*lines, f"{a} = view{index}(p, ({', '.join(f'n{place}' for place in range(len(shape)))},), ({', '.join(strides)},))"]


def _dense(argument: Argument, index: int, names: dict[str, Any]) -> list[str]:
    dtype = np.dtype(argument.dtype)
    names[f"view{index}"] = view_of(type_of(argument, Known()))
    stride, size = f"{dtype.itemsize} * load(m + {MATRIX['stride']})", str(dtype.itemsize)
    strides = f"({size}, {stride})" if argument.turned else f"({stride}, {size})"
    lines = [f"rows, cols = load(m + {MATRIX['rows']}), load(m + {MATRIX['cols']})"]
    return [*lines, f"a{index} = view{index}(load(m + {MATRIX['values']}), (rows, cols), {strides})"]


def _sparse(argument: Argument, index: int, names: dict[str, Any]) -> list[str]:
    dtype, many = np.dtype(argument.dtype), "cols" if argument.turned else "rows"
    names["Sparse"] = Sparse
    for field, kind in (("indptr", types.int64), ("indices", types.uint32), ("values", getattr(types, argument.dtype))):
        names[f"{field}{index}"] = view_of(types.Array(kind, 1, "C", readonly=True))
    return [f"rows, cols, p = load(m + {MATRIX['rows']}), load(m + {MATRIX['cols']}), load(m + {MATRIX['offsets']})",
            f"stored = load(p + {WORD} * {many})",
            f"a{index} = Sparse(indptr{index}(p, ({many} + 1,), ({WORD},)),"
            f" indices{index}(load(m + {MATRIX['indices']}), (stored,), (4,)),"
            f" values{index}(load(m + {MATRIX['values']}), (stored,), ({dtype.itemsize},)), (rows, cols))"]


def wrapper_of(dispatcher: Any, arguments: tuple[Argument, ...], number: int, reports: tuple[str, ...], known: Known) -> Any:
    """Returns the function that the library calls for a unit: it makes the arguments, calls the unit, and reports its results."""
    names: dict[str, Any] = {"np": np, "load": load, "load_number": load_number, "user": user, "data_view": data_view,
                             "data_beside": data_beside, "part_lines": part_lines, "report": report, "guarded": guarded,
                             "function": dispatcher}
    lines = ["cell = np.zeros(3, np.int64)", "cell[0] = context", f"cell[2] = {number}", "here = cell.ctypes.data",
             f"table = load(user(context) + {WORD * number})"]
    for index, argument in enumerate(arguments):
        lines += _line_of(argument, index, names, known)
    given = "".join(f"a{index}, " for index in range(len(arguments)))
    lines += [f"found = guarded(function, here, ({given}))", "if not found[0]:",
              f"    return cell[1] if cell[1] != 0 else {_native.HAWSER_BAD_PROGRAM}"]
    for index, metric in enumerate(reports):
        value = "found[1]" if len(reports) == 1 else f"found[1][{index}]"
        names[f"metric{index}"] = address_of_name(metric)
        lines += [f"status = report(context, metric{index}, float({value}))", "if status != 0:", "    return np.int64(status)"]
    text = "\n    ".join(["def wrapper(context):", *lines, "return np.int64(0)"])
    exec(compile(text, "<hawser unit>", "exec"), names)
    return numba.cfunc(types.int64(types.int64), nopython=True)(names["wrapper"])


_functions: dict[Any, Any] = {}  # dispatchers by function and what it has frozen
_wrappers: dict[Any, Any] = {}


def _dispatcher_of(unit: Unit, kinds: tuple[Any, ...]) -> Any:
    """Returns numba's dispatcher of a function, compiled for arguments of these types."""
    key = (unit.function, unit.digest(), unit.boundscheck)
    if key not in _functions:
        _functions[key] = numba.njit(nogil=True, boundscheck=unit.boundscheck)(unit.function)
    dispatcher = _functions[key]
    if kinds not in dispatcher.overloads:
        try:
            dispatcher.compile(kinds)
        except Exception as error:
            raise BadProgram(f"{unit.where()}: numba cannot compile it: {_reason(error, unit)}") from error
    _check_writes(unit, dispatcher.overloads[kinds])
    _check_result(unit, dispatcher.overloads[kinds].signature.return_type)
    return dispatcher


def compile_unit(unit: Unit, arguments: tuple[Argument, ...], number: int, known: Known) -> Any:
    """Returns the address of a compiled unit. Compiles once in a process for each function and types of arguments."""
    if not any(argument.kind == "context" for argument in arguments):
        known = Known()
    dispatcher = _dispatcher_of(unit, tuple(type_of(argument, known) for argument in arguments))
    place = (dispatcher, arguments, number, unit.reports, known)
    if place not in _wrappers:
        _wrappers[place] = wrapper_of(dispatcher, arguments, number, unit.reports, known)
    return _wrappers[place].address


def compile_merge(merge: Unit) -> Any:
    """Returns the address of a compiled merge function."""
    state, added = types.Array(types.float64, 1, "C"), types.Array(types.float64, 1, "C", readonly=True)
    dispatcher = _dispatcher_of(merge, (state, added, types.int64, types.int64, types.int64))
    if dispatcher not in _wrappers:
        view_state, view_sum = view_of(state), view_of(added)
        at_state, at_sum, at_count, at_first, at_blocks, at_clock = (
            MERGING[name] for name in ("state", "sum", "count", "first", "blocks", "clock"))

        def wrapper(merging: int) -> None:
            cell = np.zeros(3, np.int64)
            cell[0], cell[2] = merging, -1
            shape, strides = (load(merging + at_count),), (8,)
            guarded(dispatcher, cell.ctypes.data, (
                view_state(load(merging + at_state), shape, strides), view_sum(load(merging + at_sum), shape, strides),
                load(merging + at_first), load(merging + at_blocks) & 0xFFFFFFFF, load(merging + at_clock)))
            cell[1] = 0  # the cell is used until here
        _wrappers[dispatcher] = numba.cfunc(types.void(types.int64), nopython=True)(wrapper)
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


def _name_of(function: Any) -> str:
    return next((name for each, name in ESCAPES.items() if function is each), "")


def _check_result(unit: Unit, result: Any) -> None:
    """Refuses a function whose results are not what it reports."""
    count = 0 if result == types.none else len(result) if isinstance(result, types.BaseTuple) else 1
    numbers = [result] if count == 1 and not isinstance(result, types.BaseTuple) else list(result) if count else []
    if count != len(unit.reports) or not all(isinstance(kind, (types.Number, types.Boolean)) for kind in numbers):
        raise BadProgram(unit.wrong_result(f"{result}" if count else "nothing"))


__all__ = ["compile_unit"]
