"""Units of programs: functions of arrays, and what runs them on the library's threads."""
import ctypes
import dataclasses
import functools
import gc
import hashlib
import inspect
import traceback
import types
import weakref
from collections.abc import Callable, Iterable
from ctypes import POINTER, byref
from typing import Any, NamedTuple, overload

import numpy as np

from . import _native
from ._dataset import Array
from ._errors import BadArgument, BadProgram, InternalError
from ._library import library as lib
from ._native import hawser_beside, hawser_chunk, hawser_context, hawser_matrix, hawser_merging, hawser_rule, hawser_unit_function

TYPES = {"float64": _native.HAWSER_F64, "float32": _native.HAWSER_F32, "int64": _native.HAWSER_I64, "int32": _native.HAWSER_I32}
SUFFIX = {"float64": "", "float32": "_f32", "int64": "_i64", "int32": "_i32"}
C_TYPES: dict[str, Any] = {"float64": ctypes.c_double, "float32": ctypes.c_float, "int64": ctypes.c_int64, "int32": ctypes.c_int32}
COMBINE = {"sum": _native.HAWSER_SUM, "max": _native.HAWSER_MAX, "min": _native.HAWSER_MIN, "last": _native.HAWSER_LAST}
BESIDE = ("target", "weights", "offset", "groups")


class Leave(Exception):
    """Leaves a unit with the status of a call. No error: the unit runs again, or the run ends."""

    def __init__(self, status: int = 0) -> None:
        super().__init__()
        self.status = status


class Sparse(NamedTuple):
    """A block's part of sparse data, in place. `indptr` need not begin at 0: the entries of row i are those from indptr[i] to indptr[i + 1]."""

    indptr: Array  #: int64, one more than there are rows (columns, of data by column)
    indices: Array  #: uint32
    values: Array  #: float64 or float32
    shape: tuple[int, int]


@dataclasses.dataclass(frozen=True)
class KnownState:
    """What code knows of a state that its unit declares."""

    name: str
    kind: str  # "data", "replicated", "partitioned", "local" or "stored"
    dtype: str
    by_line: bool = False  # first() counts lines, else numbers
    width: int = 1  # numbers of a line of a stored state


@dataclasses.dataclass(frozen=True)
class Known:
    """The states and metrics that a unit may name."""

    states: tuple[KnownState, ...] = ()
    metrics: tuple[str, ...] = ()
    unit: str = ""

    def find(self, what: str, name: str) -> Any:
        if what == "metric":
            return name if name in self.metrics else None
        return next((state for state in self.states if state.name == name), None)


def wrong_name(known: Known, what: str, name: str) -> str:
    if what == "metric":
        return f"unit '{known.unit}' names metric '{name}', which the program does not have; its metrics are {list(known.metrics)}"
    return (f"unit '{known.unit}' names state '{name}', which it does not declare; make it a parameter, or give reads= or updates= "
            "to hawser.unit")


@dataclasses.dataclass(frozen=True)
class Argument:
    """How a parameter of a unit is made when the unit is called."""

    parameter: str
    kind: str  # "context", "number", "dense", "sparse", "beside", "whole" (a state), "lines" or "part" (what the block has of it)
    state: str = ""
    dtype: str = "float64"
    ndim: int = 1
    writable: bool = False
    layout: str = "C"
    turned: bool = False  # dense data that are stored by columns, sparse data by column
    beside: str = ""
    getter: str = ""  # "view", "cache" or "local"
    slot: int = 0  # the place of its number or its shape in the unit's table


@functools.cache
def _name_buffer(name: str) -> Any:
    return ctypes.create_string_buffer(name.encode())


def address_of_name(name: str) -> int:
    """Returns the address of a text that lives as long as the process."""
    return ctypes.addressof(_name_buffer(name))


# ---------------------------------------------------------------------------------------------------- the unit ----


def names_of(given: str | Iterable[str] | None) -> tuple[str, ...]:
    """Returns names that are given as a list, or as one text with spaces or commas."""
    if given is None:
        return ()
    return tuple(given.replace(",", " ").split()) if isinstance(given, str) else tuple(given)


class Unit:
    """A function that is a unit of programs. `hawser.unit` makes it. Called as a function, it is the function."""

    def __init__(self, function: Callable[..., Any], updates: tuple[str, ...], reads: tuple[str, ...], reports: tuple[str, ...],
                 one: bool, sync: str | None, reduces: int, compile: bool | None, boundscheck: bool) -> None:
        if not isinstance(function, types.FunctionType):
            raise BadArgument(f"hawser.unit: a unit is a function, and this is a {type(function).__name__}")
        self.function, self.name = function, function.__name__
        self.updates, self.reads, self.reports = updates, reads, reports
        self.one, self.sync, self.reduces, self.compile, self.boundscheck = one, sync, reduces, compile, boundscheck
        self.parameters: list[str] = []
        self.defaults: dict[str, Any] = {}
        for parameter in inspect.signature(function).parameters.values():
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.KEYWORD_ONLY):
                raise BadArgument(f"{self.where()}: a unit has plain parameters, and '{parameter}' is none")
            self.parameters.append(parameter.name)
            if parameter.default is not parameter.empty:
                self.defaults[parameter.name] = parameter.default
        functools.update_wrapper(self, function)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        return self.function(*arguments, **keywords)

    def __repr__(self) -> str:
        return f"<hawser.unit {self.name}({', '.join(self.parameters)})>"

    def where(self) -> str:
        """Returns the unit's name and place, for errors."""
        code = self.function.__code__
        return f"unit '{self.name}' ({code.co_filename}:{code.co_firstlineno})"

    def wrong_result(self, found: str) -> str:
        wanted = f"reports {', '.join(self.reports)}" if self.reports else "reports no metric (reports=)"
        return f"{self.where()}: it {wanted}, but returns {found}; it returns one number for each metric"

    def digest(self) -> str:
        """Returns a digest of the code and of the values that it takes from outside, which other nodes must have, too."""
        made = hashlib.sha256()
        _digest_function(self.function, made, set())
        return made.hexdigest()


def _digest_function(function: Any, made: Any, seen: set[int]) -> None:
    if id(function) in seen:
        return
    seen.add(id(function))
    made.update(f"{function.__qualname__}{function.__defaults__}".encode())
    _digest_code(function.__code__, made)
    inside = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
    values = {name: cell.cell_contents for name, cell in inside.items()}
    values |= {name: function.__globals__[name] for name in _names_in(function.__code__) if name in function.__globals__}
    for name in sorted(values):
        made.update(name.encode())
        _digest_value(values[name], made, seen)


def _names_in(code: types.CodeType) -> set[str]:
    """Returns the names that code and the functions inside of it use."""
    inner = (value for value in code.co_consts if isinstance(value, types.CodeType))
    return set(code.co_names).union(*(_names_in(value) for value in inner))


def _digest_code(code: types.CodeType, made: Any) -> None:
    made.update(code.co_code + repr((code.co_names, code.co_varnames, code.co_freevars)).encode())
    for value in code.co_consts:
        if isinstance(value, types.CodeType):
            _digest_code(value, made)
        else:
            made.update(repr(value).encode())


def _digest_value(value: Any, made: Any, seen: set[int]) -> None:
    function = getattr(value, "py_func", None) or (value.function if isinstance(value, Unit) else value)
    if isinstance(function, types.FunctionType):
        _digest_function(function, made, seen)
    elif isinstance(value, np.ndarray):
        made.update(f"{value.dtype}{value.shape}".encode() + value.tobytes())
    elif isinstance(value, (int, float, complex, str, bytes, bool, tuple, frozenset, list, dict, np.generic, type(None))):
        made.update(repr(value).encode())
    else:  # a module or class: its name, since the text of an object may have its address
        made.update(f"{type(value).__qualname__} {getattr(value, '__name__', '')}".encode())


@overload
def unit(function: Callable[..., Any], /) -> Unit: ...


@overload
def unit(*, updates: str | Iterable[str] | None = None, reads: str | Iterable[str] | None = None,
         reports: str | Iterable[str] | None = None, one: bool = False, sync: str | None = None, reduces: int = 0,
         compile: bool | None = None, boundscheck: bool = True) -> Callable[[Callable[..., Any]], Unit]: ...


def unit(function: Callable[..., Any] | None = None, /, *, updates: str | Iterable[str] | None = None,
         reads: str | Iterable[str] | None = None, reports: str | Iterable[str] | None = None, one: bool = False,
         sync: str | None = None, reduces: int = 0, compile: bool | None = None, boundscheck: bool = True) -> Any:
    """Makes a function a unit of a `hawser.Program`. Its parameters are the states of these names, as arrays in place.

    A parameter that is in `updates` (a name, or several) may be written: the unit changes its own copy of a replicated state, and the
    block's part of a partitioned, local or stored one. Every other state is read-only. The parameters of data are the block's rows:
    an array of shape (rows, columns), or `hawser.Sparse`. `NAME_target`, `NAME_weights`, `NAME_offset` and `NAME_groups` are what
    belongs to these rows of data NAME. Other parameters are numbers, given when the unit is added to the program, or by a
    default. A parameter `context` is a `hawser.Context`. `reads` and `updates` name further states, which the unit uses by that.

    `reports` names the metrics for which the function returns numbers. With `one` the unit runs on one block. `sync` is a sync of its
    own, `reduces` the most numbers that it gives to `context.allreduce`.

    numba compiles the function if it is installed (pip install 'hawser[units]'), and index errors are noticed unless
    `boundscheck` is False. With `compile=False`, and without numba, the function is plain Python: units then hold the
    interpreter's lock and run one at a time.

    >>> import hawser, numpy
    >>> @hawser.unit(updates="total", compile=False)
    ... def add(rows, total):
    ...     total += rows.sum(axis=0)
    >>> program = hawser.Program("sums")
    >>> program.data("rows", numpy.arange(6.0).reshape(3, 2))
    >>> program.replicated("total", 2)
    >>> program.unit(add)
    >>> program.run(workers=1)["total"]
    array([6., 9.])
    """
    def make(function: Callable[..., Any]) -> Unit:
        return Unit(function, names_of(updates), names_of(reads), names_of(reports), one, sync, reduces, compile, boundscheck)
    return make if function is None else make(function)


# ------------------------------------------------------------------------------------------- units that fail ----


class Running:
    """What the callbacks of a run share. The first exception of this process is what the run raises."""

    def __init__(self) -> None:
        self.raised: BaseException | None = None
        self.units: list[str] = []  # by number, as in the program
        self.states: list[str] = []  # of each unit, as its note says them

    def fail(self, context: Any, number: int, error: BaseException) -> int:
        """Ends the run by an exception in a unit. Returns the status that the unit returns."""
        if error.__traceback__ is not None:
            traceback.clear_frames(error.__traceback__)  # their arrays are views of memory that the run frees
        if self.raised is None:
            self.raised = error
            error.add_note(f"in unit '{self.units[number]}' ({self.states[number]}), block {lib.hawser_block(context)} of "
                           f"{lib.hawser_blocks(context)}, clock {lib.hawser_clock(context)}")
        return unit_fail(context, raised_text(error))


def raised_text(error: BaseException) -> str:
    """Returns an exception in the words from which the other nodes make it again."""
    kind = type(error)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    return f"raised {name}: {error}"


_unit_fail = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p)(
    ctypes.cast(lib.hawser_unit_fail, ctypes.c_void_p).value or 0)


def unit_fail(context: Any, text: str) -> int:
    address = ctypes.cast(context, ctypes.c_void_p)
    return int(_unit_fail(address, _native.HAWSER_BAD_PROGRAM, b"%s", text.encode(errors="replace")[:900]))


runs: dict[int, Running] = {}  # by the user pointer of their programs


def _caught(cell: int, kind: int, value: int, trace: int) -> None:
    """Takes the exception of compiled code. `cell` has the address of the context, a status, and the unit's number; in a merge function
    the address of its argument, a status, and -1."""
    words = (ctypes.c_int64 * 3).from_address(cell)
    error: Any = None
    for address, keep in ((value, True), (kind, False), (trace, False)):
        if address:
            found = ctypes.cast(address, ctypes.py_object)
            error = found.value if keep or (error is None and address == kind) else error
            ctypes.pythonapi.Py_DecRef(found)
    if isinstance(error, type):
        error = error()
    if words[2] < 0:
        fail_merge(ctypes.cast(words[0], POINTER(hawser_merging)).contents, error)
        return
    context = ctypes.cast(words[0], POINTER(hawser_context))
    words[1] = runs[lib.hawser_user(context)].fail(context, words[2], error)


def fail_merge(merging: hawser_merging, error: BaseException) -> None:
    """Ends the run by an exception in a merge function, which has no status: a state that is not finite fails."""
    running = runs[merging.user]
    if running.raised is None:
        running.raised = error
        error.add_note(f"in a merge function, clock {merging.clock}")
    for place in range(merging.count):
        merging.state[place] = float("nan")


caught = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(_caught)

# ---------------------------------------------------------------------------------------------- plain Python ----


class _Memory:
    """Memory of the library, as numpy wants it described."""

    def __init__(self, address: int, dtype: str, shape: tuple[int, ...], strides: tuple[int, ...] | None, writable: bool) -> None:
        self.__array_interface__ = {"data": (address, not writable), "typestr": np.dtype(dtype).str, "shape": shape,
                                    "strides": strides, "version": 3}


def array_at(address: int, dtype: str, shape: tuple[int, ...], strides: tuple[int, ...] | None = None, writable: bool = False) -> Array:
    """Returns an array in place."""
    if 0 in shape:
        return np.empty(shape, dtype)
    if not address:
        raise InternalError(f"an array of shape {shape} has no memory")
    return np.asarray(_Memory(address, dtype, shape, strides, writable))


def _address(pointer: Any) -> int:
    return ctypes.cast(pointer, ctypes.c_void_p).value or 0


class Context:
    """What a unit sees of its run, as parameter `context`. Compiled and plain units have the same attributes and methods.

    Names of states and metrics are written out in the call. A method that waits may leave the unit, which then runs again or ends.
    """

    def __init__(self, pointer: Any, known: Known) -> None:
        self._pointer, self._known = pointer, known

    def _use(self) -> Any:
        if self._pointer is None:
            raise BadArgument(f"the context of unit '{self._known.unit}' is used after the unit has returned")
        return self._pointer

    def _find(self, what: str, name: str) -> Any:
        found = self._known.find(what, name)
        if found is None:
            raise BadProgram(wrong_name(self._known, what, name))
        return found

    @staticmethod
    def _pass(status: int) -> None:
        if status != _native.HAWSER_OK:
            raise Leave(status)

    @property
    def block(self) -> int:
        """The number of this block, from 0."""
        return int(lib.hawser_block(self._use()))

    @property
    def blocks(self) -> int:
        """The number of blocks, which is that of workers."""
        return int(lib.hawser_blocks(self._use()))

    @property
    def clock(self) -> int:
        """The iteration of the innermost loop, from 0."""
        return int(lib.hawser_clock(self._use()))

    def first(self, name: str) -> int:
        """Returns which row (line, number) of the whole is the first of this block's part."""
        known, pointer, first = self._find("state", name), self._use(), ctypes.c_size_t()
        if known.kind == "data":
            return int(lib.hawser_data_view(pointer, name.encode()).contents.first)
        (lib.hawser_part_lines if known.by_line else lib.hawser_part)(pointer, name.encode(), byref(first))
        return first.value

    def metric(self, name: str) -> float:
        """Returns the combined value of a metric as of an earlier clock; NaN before the first."""
        self._find("metric", name)
        return float(lib.hawser_metric(self._use(), name.encode()))

    def report(self, name: str, value: float) -> None:
        """Reports this block's share of a metric."""
        self._find("metric", name)
        self._pass(lib.hawser_report(self._use(), name.encode(), float(value)))

    def gain(self, name: str) -> float:
        """Returns the gain of a replicated state, sigma'."""
        self._find("state", name)
        return float(lib.hawser_gain(self._use(), name.encode()))

    def damping(self, name: str) -> float:
        """Returns the damping of a replicated state, gamma."""
        self._find("state", name)
        return float(lib.hawser_damping(self._use(), name.encode()))

    def random(self) -> int:
        """Draws 64 bits, which depend on seed, unit, block, clock and draw alone."""
        return int(lib.hawser_random(self._use()))

    def random_below(self, bound: int) -> int:
        """Draws a whole number below a bound above 0."""
        if bound <= 0:
            raise ValueError("random_below: the bound must be above 0")
        return int(lib.hawser_random_below(self._use(), int(bound)))

    def uniform(self) -> float:
        """Draws a number in [0, 1)."""
        return float(lib.hawser_random_uniform(self._use()))

    def stopping(self) -> bool:
        """Returns whether the run has been asked to end."""
        return bool(lib.hawser_stopping(self._use()))

    def allreduce(self, values: Array, by: str = "sum") -> None:
        """Combines float64 numbers of all blocks in place, by "sum", "max" or "min". Waits for all blocks."""
        if not (isinstance(values, np.ndarray) and values.dtype == np.float64 and values.flags.c_contiguous and by in COMBINE
                and values.flags.writeable and by != "last"):
            raise BadArgument("allreduce: give a contiguous array of float64, and \"sum\", \"max\" or \"min\"")
        self._pass(lib.hawser_allreduce(self._use(), ctypes.cast(values.ctypes.data, POINTER(ctypes.c_double)), values.size, COMBINE[by]))

    def touch(self, name: str, first: int, count: int) -> None:
        """Declares which numbers (of the whole, flat) of an updated state have changed, so that no others are compared.

        Changes since the last `exchange` or `publish` that no call covers are lost, if there is one.
        """
        self._find("state", name)
        self._pass(lib.hawser_touch(self._use(), name.encode(), first, count))

    def publish(self, name: str) -> None:
        """Sends the changes of one state now."""
        self._find("state", name)
        self._pass(lib.hawser_publish(self._use(), name.encode()))

    def exchange(self) -> None:
        """Sends the changes made so far, and merges updates that have arrived (hawser_yield)."""
        self._pass(lib.hawser_yield(self._use()))

    def _keys(self, keys: Array, name: str) -> Any:
        if not (isinstance(keys, np.ndarray) and keys.dtype == np.uint64 and keys.ndim == 1 and keys.flags.c_contiguous):
            raise BadArgument(f"the keys of '{name}' must be a contiguous array of uint64 of one dimension")
        return ctypes.cast(keys.ctypes.data, POINTER(ctypes.c_uint64))

    def inc(self, name: str, keys: Array, values: Array) -> None:
        """Adds values to numbers of a replicated state, or applies a stored state's function. `keys` are uint64 and ascend."""
        known = self._find("state", name)
        if not (isinstance(values, np.ndarray) and values.dtype == known.dtype and values.shape == keys.shape
                and values.flags.c_contiguous):
            raise BadArgument(f"inc: the values for '{name}' must be a contiguous array of {known.dtype}, one for each key")
        pointer = ctypes.cast(values.ctypes.data, POINTER(C_TYPES[known.dtype]))
        function = getattr(lib, f"hawser_inc{SUFFIX[known.dtype]}")
        self._pass(function(self._use(), name.encode(), self._keys(keys, name), pointer, values.size))

    def prefetch(self, name: str, keys: Array) -> None:
        """Starts to read the numbers of a stored state that have these keys, which ascend."""
        self._find("state", name)
        self._pass(lib.hawser_prefetch(self._use(), name.encode(), self._keys(keys, name), 0, keys.size))

    def prefetch_wait(self, name: str, count: int) -> Array:
        """Waits for the oldest prefetch, of `count` keys, and returns its numbers, until the next call."""
        known = self._find("state", name)
        values = POINTER(C_TYPES[known.dtype])()
        self._pass(getattr(lib, f"hawser_prefetch_wait{SUFFIX[known.dtype]}")(self._use(), name.encode(), byref(values)))
        return array_at(_address(values), known.dtype, (count,))

    def next_chunk(self, name: str) -> tuple[int, int, Array]:
        """Returns block, first line and lines of the next chunk of a stored state, until the next call; block -1: there are no more."""
        known, chunk = self._find("state", name), hawser_chunk()
        self._pass(lib.hawser_next_chunk(self._use(), name.encode(), byref(chunk)))
        if chunk.block == 0xFFFFFFFF:
            return -1, 0, np.empty((0, known.width), known.dtype)
        values = _address(getattr(chunk, "values" + SUFFIX[known.dtype]))
        return chunk.block, chunk.first // known.width, array_at(values, known.dtype, (chunk.count // known.width, known.width))


class PlainUnit:
    """Calls a plain Python function as a unit."""

    def __init__(self, unit: Unit, name: str, arguments: tuple[Argument, ...], number: int, known: Known, table: Array,
                 running: Running) -> None:
        self.unit, self.name, self.arguments, self.number, self.known = unit, name, arguments, number, known
        self.table, self.running = table, running

    def __call__(self, context: Any) -> int:
        own = Context(context, self.known)
        try:
            given = [self._argument(argument, context, own) for argument in self.arguments]
            references = [(argument.parameter, weakref.ref(part)) for argument, value in zip(self.arguments, given)
                          for part in (value if isinstance(value, tuple) else (value,)) if isinstance(part, np.ndarray)]
            found = self.unit.function(*given)
            given.clear()
            self._check_kept(references)
            return self._report(context, found)
        except Leave as left:
            return left.status
        except BaseException as error:
            return self.running.fail(context, self.number, error)
        finally:
            own._pointer = None

    def _argument(self, argument: Argument, context: Any, own: Context) -> Any:
        kind, slot, name = argument.kind, argument.slot, argument.state.encode()
        if kind == "context":
            return own
        if kind == "number":
            number = self.table[slot:slot + 1].view(np.float64 if argument.dtype == "float64" else np.int64)[0].item()
            return bool(number) if argument.dtype == "bool" else number
        if kind in ("dense", "sparse", "beside"):
            matrix = lib.hawser_data_view(context, name)
            if not matrix:
                raise Leave(_native.HAWSER_BAD_PROGRAM)
            if kind == "beside":
                return self._beside(argument, matrix.contents)
            return (_dense if kind == "dense" else _sparse)(argument, matrix.contents)
        pointer = getattr(lib, f"hawser_{argument.getter}{SUFFIX[argument.dtype]}")(context, name)
        if not pointer:
            raise Leave(_native.HAWSER_BAD_PROGRAM)
        shape = [int(extent) for extent in self.table[slot:slot + argument.ndim]]
        if kind == "lines":
            shape[0] = lib.hawser_part_lines(context, name, None)
        return array_at(_address(pointer), argument.dtype, tuple(shape), writable=argument.writable)

    def _beside(self, argument: Argument, matrix: hawser_matrix) -> Array:
        found = hawser_beside()
        dataset = ctypes.cast(int(self.table[argument.slot]), POINTER(_native.hawser_dataset))
        if lib.hawser_dataset_beside(dataset, matrix.first, matrix.rows, byref(found), None) != _native.HAWSER_OK:
            raise Leave(_native.HAWSER_BAD_PROGRAM)
        return array_at(_address(getattr(found, argument.beside)), "float64", (matrix.rows,))

    def _report(self, context: Any, found: Any) -> int:
        """Reports what the function has returned."""
        reports = self.unit.reports
        values = () if found is None else tuple(found) if isinstance(found, tuple) else (found,)
        if len(values) != len(reports) or not all(isinstance(value, (int, float, np.number, np.bool_)) for value in values):
            raise BadProgram(self.unit.wrong_result("nothing" if found is None else repr(found)))
        for name, value in zip(reports, values):
            status = int(lib.hawser_report(context, name.encode(), float(value)))
            if status != _native.HAWSER_OK:
                return status
        return _native.HAWSER_OK

    def _check_kept(self, references: list[tuple[str, Any]]) -> None:
        """Refuses a unit that keeps a view: its memory has other numbers in the next clock, and none after the run."""
        if any(reference() is not None for _, reference in references):
            gc.collect()
        for parameter, reference in references:
            if reference() is not None:
                raise BadProgram(f"unit '{self.name}' keeps its argument '{parameter}' after it has returned; keep a copy of it")


def _dense(argument: Argument, matrix: hawser_matrix) -> Array:
    size = np.dtype(argument.dtype).itemsize
    strides = (size, matrix.stride * size) if argument.turned else (matrix.stride * size, size)
    return array_at(matrix.values or 0, argument.dtype, (matrix.rows, matrix.cols), strides)


def _sparse(argument: Argument, matrix: hawser_matrix) -> Sparse:
    many = matrix.cols if argument.turned else matrix.rows
    indptr = array_at(_address(matrix.offsets), "int64", (many + 1,))
    stored = int(indptr[-1])
    return Sparse(indptr, array_at(_address(matrix.indices), "uint32", (stored,)),
                  array_at(matrix.values or 0, argument.dtype, (stored,)), (matrix.rows, matrix.cols))


def has_numba() -> bool:
    """Returns whether numba is installed. It is loaded here, and never by `import hawser`."""
    try:
        import numba  # noqa: F401
    except ImportError:
        return False
    return True


def function_of(unit: Unit, name: str, arguments: tuple[Argument, ...], number: int, known: Known, table: Array,
                running: Running) -> Any:
    """Returns the function that the library calls for a unit."""
    if unit.compile is not False and has_numba():
        from ._compile import compile_unit
        return ctypes.cast(compile_unit(unit, arguments, number, known), hawser_unit_function)
    return hawser_unit_function(PlainUnit(unit, name, arguments, number, known, table, running))


def merge_of(given: Any) -> Any:
    """Returns the function that the library calls to merge, of a function (state, sum, first, blocks, clock) or a unit."""
    merge = given if isinstance(given, Unit) else Unit(given, (), (), (), False, None, 0, None, True)
    if len(merge.parameters) != 5:
        raise BadProgram(f"{merge.where()}: a merge function has the parameters state, sum, first, blocks and clock")
    kind: Any = hawser_rule._fields_[2][1]
    if merge.compile is not False and has_numba():
        from ._compile import compile_merge
        return ctypes.cast(compile_merge(merge), kind)

    def call(pointer: Any) -> None:
        merging = pointer.contents
        shape, added = (merging.count,), _address(merging.sum)
        try:
            merge.function(array_at(_address(merging.state), "float64", shape, writable=True), array_at(added, "float64", shape),
                           merging.first, merging.blocks, merging.clock)
        except BaseException as error:
            if error.__traceback__ is not None:
                traceback.clear_frames(error.__traceback__)
            fail_merge(merging, error)
    return kind(call)


def number_of(where: str, parameter: str, value: Any) -> tuple[str, int]:
    """Returns the type of a number that is given to a unit, and its bits."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return "bool", int(value)
    if isinstance(value, int) and -2**63 <= value < 2**63:
        return "int64", value
    if isinstance(value, float):
        return "float64", int(np.float64(value).view(np.int64))
    raise BadArgument(f"{where}: parameter '{parameter}' is {value!r:.60}; give an int of 64 bits, a float or a bool, or make it a state")


__all__ = ["Argument", "Context", "Known", "KnownState", "Running", "Sparse", "Unit", "function_of", "unit"]
