"""Functions and filters of a store, compiled by numba."""
import ctypes
import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _native
from ._arguments import name_bytes, whole_number
from ._errors import BadArgument, warn
from ._native import hawser_function, hawser_store_filter
from .programs.code import Code

Step = Callable[..., float]
Passes = Callable[..., bool]
FILTERED = {np.dtype(np.float64): "float64", np.dtype(np.float32): "float32"}
MOST_PARAMETERS, MOST_MEMORY = 8, 1024


class _Step(Code):
    noun = "server function"


class _Passes(Code):
    noun = "store filter"


@dataclass(frozen=True)
class ServerFunction:
    """A function by which servers change stored numbers, compiled to machine code; see `hawser.server_function`."""

    name: str  #: as tables name it
    parameters: int  #: of the table
    memory: int  #: doubles that the servers keep for each number
    digest: str = field(repr=False)  #: of the code, which nodes compare
    _compiled: Any = field(repr=False)

    def _fill(self, struct: hawser_function) -> None:
        struct.name, struct.memory, struct.parameters = self.name.encode(), self.memory, self.parameters
        struct.types = 1 << _native.HAWSER_F64 | 1 << _native.HAWSER_F32
        struct.apply = ctypes.cast(self._compiled.address, type(struct.apply))


@dataclass(frozen=True)
class StoreFilter:
    """A filter that chooses which rows of a node's pushes are sent now, compiled to machine code; see `hawser.store_filter`."""

    name: str  #: as tables name it
    dtype: str  #: of the tables
    digest: str = field(repr=False)  #: of the code, which nodes compare
    _compiled: Any = field(repr=False)
    _failed: npt.NDArray[np.int64] = field(repr=False)  # not 0: the function has raised

    def _fill(self, struct: hawser_store_filter) -> None:
        struct.name = self.name.encode()
        setattr(struct, "pass", ctypes.cast(self._compiled.address, type(getattr(struct, "pass"))))  # a word of Python

    def _warn(self) -> None:
        if self._failed[0]:
            self._failed[0] = 0
            warn(f"store filter '{self.name}' raised an exception; the row was sent", RuntimeWarning)


def server_function(step: Step | None = None, *, name: str | None = None, parameters: int = 0, memory: int = 0) -> Any:
    """Compiles a function by which servers change stored numbers. A decorator, which needs numba.

    The function gets the stored number, the pushed one and an array of the table's parameters, and returns the new number. With `memory`
    it also gets an array of that many doubles, initially zero, which belongs to the number. It computes in float64, for tables of float64
    and float32. Servers call it from several threads, without the interpreter and its lock. If it raises, or returns NaN or an
    infinity, the numbers keep their last values and the push fails. A table names it by `name`, by default the function's own.

    >>> import hawser, numpy
    >>> @hawser.server_function(parameters=2)
    ... def bounded(value, update, parameters):
    ...     return min(max(value + update, parameters[0]), parameters[1])
    >>> with hawser.Store(functions=[bounded]) as store:
    ...     table = store.table("w", 2, function="bounded", parameters=[-1, 5])
    ...     for _ in range(10):
    ...         task = table.push(numpy.array([1.0, -1.0]))
    ...     table.pull().wait()
    array([ 5., -1.])
    """
    if step is None:
        return lambda given: server_function(given, name=name, parameters=parameters, memory=memory)
    code = _Step(step)
    whole_number(f"{code.where()}: parameters", parameters, 0, MOST_PARAMETERS)
    whole_number(f"{code.where()}: memory", memory, 0, MOST_MEMORY)
    if len(code.parameters) != 3 + (memory > 0):
        raise BadArgument(f"{code.where()}: it has the parameters value, update, parameters{' and memory' if memory > 0 else ''}")
    code.check_in_place(*code.parameters[3:])
    digest = hashlib.sha256(f"{code.digest()} {parameters} {memory}".encode()).hexdigest()
    name_bytes(f"{code.where()}: name", name or code.name)
    return ServerFunction(name or code.name, parameters, memory, digest, _compile(code, parameters, memory))


def store_filter(passes: Passes | None = None, *, name: str | None = None, dtype: npt.DTypeLike = np.float64) -> Any:
    """Compiles a filter, which chooses the rows of a node's pushes that are sent now. A decorator, which needs numba.

    The function gets a key, a read-only array of the table's `width` numbers that would be added to it, and the table's `level`. If it
    returns true, the row is sent, else it is held and added to the row's next update; `table.flush` sends what is held. It is called
    without the interpreter and its lock. If it raises, the row is sent, and a warning says so. Tables of `dtype` (float64 or float32)
    name it by `name`, by default the function's own.

    >>> import hawser, numpy
    >>> @hawser.store_filter
    ... def long(key, update, level):
    ...     return (update**2).sum() > level**2
    >>> with hawser.Store(filters=[long]) as store:
    ...     table = store.table("w", 2, width=2, filter=long, level=1.0)
    ...     table.push(numpy.array([[0.6, 0.6], [3.0, 4.0]])).wait()
    ...     first = table.pull().wait()
    ...     table.push(numpy.array([[0.6, 0.6], [0.0, 0.0]])).wait()  # together they are long
    ...     first, table.pull().wait()
    (array([[0., 0.],
           [3., 4.]]), array([[1.2, 1.2],
           [3. , 4. ]]))
    """
    if passes is None:
        return lambda given: store_filter(given, name=name, dtype=dtype)
    code = _Passes(passes)
    if len(code.parameters) != 3:
        raise BadArgument(f"{code.where()}: it has the parameters key, update and level")
    if np.dtype(dtype) not in FILTERED:
        raise BadArgument(f"{code.where()}: dtype is {np.dtype(dtype)}; filtered tables have float64 or float32")
    kind, failed = FILTERED[np.dtype(dtype)], np.zeros(1, np.int64)
    digest = hashlib.sha256(f"{code.digest()} {kind}".encode()).hexdigest()
    name_bytes(f"{code.where()}: name", name or code.name)
    return StoreFilter(name or code.name, kind, digest, _compile_filter(code, kind, failed), failed)


def _numba(code: Code) -> Any:
    try:
        import numba
    except ImportError as error:
        raise ImportError(f"a {code.noun} in Python is compiled by numba, which is not installed: pip install numba") from error
    return numba


def _compiled_for(code: Code, kinds: tuple[Any, ...], result: Any) -> Any:
    """Returns numba's function for arguments of these types. Its result is a number."""
    numba = _numba(code)
    compiled = numba.njit(code.function, boundscheck=True)
    try:
        compiled.compile(kinds)
    except Exception as error:
        from .programs.compile_checks import numba_reason
        raise BadArgument(f"{code.where()}: numba cannot compile it: {numba_reason(error)}") from error
    compiled.disable_compile()  # arguments of other types are converted: arrays that may be written, to read-only ones
    found = compiled.overloads[kinds].signature.return_type
    if not isinstance(found, (numba.types.Integer, numba.types.Float, numba.types.Boolean)):
        raise BadArgument(f"{code.where()}: it returns {'nothing' if found == numba.types.none else found}, and must return {result}")
    return compiled


def _pointers(kind: Any) -> Any:
    """Returns what makes a pointer to numbers of a kind from an address, in compiled code."""
    from numba.extending import intrinsic

    def pointer(_context: Any, address: Any) -> Any:
        def convert(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            return builder.inttoptr(arguments[0], context.get_value_type(kind))
        return kind(address), convert
    return intrinsic(pointer)


def _compile_filter(code: Code, dtype: str, failed: npt.NDArray[np.int64]) -> Any:
    """Returns the C function `pass` of hawser_store_filter."""
    numba = _numba(code)
    kind, counts = getattr(numba.types, dtype), _pointers(numba.types.CPointer(numba.types.int64))
    row = numba.types.Array(kind, 1, "C", readonly=True)
    compiled = _compiled_for(code, (numba.types.uint64, row, numba.types.float64), "true or false")
    flag = failed.ctypes.data

    def decide(key: Any, update: Any, level: Any) -> bool:
        try:
            return bool(compiled(key, update, level))
        except Exception:
            numba.carray(counts(flag), 1)[0] = 1
        return True

    checked = numba.njit(numba.types.boolean(numba.types.uint64, row, numba.types.float64))(decide)

    def passes(key: Any, update: Any, width: Any, level: Any) -> Any:
        return checked(key, numba.carray(update, width), level)

    pointer = numba.types.CPointer(kind)
    return numba.cfunc(numba.types.boolean(numba.types.uint64, pointer, numba.types.uint32, numba.types.float64))(passes)


def _compile(code: Code, parameters: int, memory: int) -> Any:
    """Returns the C function `apply` of hawser_function."""
    numba = _numba(code)
    number = numba.types.float64
    double, single = numba.types.CPointer(number), numba.types.CPointer(numba.types.float32)
    doubles, singles = _pointers(double), _pointers(single)
    array, f32 = numba.types.Array(number, 1, "C"), _native.HAWSER_F32
    given_array = numba.types.Array(number, 1, "C", readonly=True)
    remembers = memory > 0
    compiled = _compiled_for(code, (number, number, given_array, *([array] if remembers else [])), "the new number")

    def change_all(values: Any, updates: Any, given: Any, kept: Any) -> None:
        for i in range(len(values)):
            if remembers:
                values[i] = compiled(float(values[i]), float(updates[i]), given, kept[i * memory:(i + 1) * memory])
            else:
                values[i] = compiled(float(values[i]), float(updates[i]), given)

    change = numba.njit(change_all)

    def change_or_fail(values: Any, updates: Any, given: Any, kept: Any) -> None:
        try:
            change(values, updates, given, kept)
        except Exception:
            values[:] = math.nan  # so the library restores them, and the push fails

    change_checked = numba.njit(change_or_fail)

    def apply(applying: Any) -> None:
        # The words of hawser_applying: type and width, rows, values, memory, updates, parameters.
        words = numba.carray(applying, 6)
        count = words[1] * (words[0] >> 32)
        given = numba.carray(doubles(words[5]), parameters)
        kept = numba.carray(doubles(words[3]), count * memory)
        if words[0] & 0xFFFFFFFF == f32:
            change_checked(numba.carray(singles(words[2]), count), numba.carray(singles(words[4]), count), given, kept)
        else:
            change_checked(numba.carray(doubles(words[2]), count), numba.carray(doubles(words[4]), count), given, kept)

    return numba.cfunc(numba.types.void(numba.types.CPointer(numba.types.uint64)))(apply)


__all__ = ["ServerFunction", "StoreFilter", "server_function", "store_filter"]
