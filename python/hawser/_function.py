"""Server functions of a store, compiled by numba."""
import ctypes
import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from . import _native
from ._errors import BadArgument
from ._native import hawser_function

Step = Callable[..., float]


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
    if not 0 <= parameters <= 8 or memory < 0:
        raise BadArgument(f"a server function has from 0 to 8 parameters, and a memory of 0 or more; these are {parameters} and {memory}")
    code = step.__code__
    digest = hashlib.sha256(repr((code.co_code, code.co_consts, code.co_names, parameters, memory)).encode()).hexdigest()
    return ServerFunction(name or step.__name__, parameters, memory, digest, _compile(step, parameters, memory))


def _compile(step: Step, parameters: int, memory: int) -> Any:
    """Returns the C function `apply` of hawser_function."""
    try:
        import numba
        from numba.extending import intrinsic
    except ImportError as error:
        raise ImportError("server functions in Python are compiled by numba, which is not installed: pip install numba") from error
    double, single = numba.types.CPointer(numba.types.float64), numba.types.CPointer(numba.types.float32)

    def pointer_to(kind: Any) -> Any:
        def pointer(_context: Any, address: Any) -> Any:
            def convert(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
                return builder.inttoptr(arguments[0], context.get_value_type(kind))
            return kind(address), convert
        return intrinsic(pointer)

    doubles, singles = pointer_to(double), pointer_to(single)
    compiled = numba.njit(step, boundscheck=True)
    remembers, f32 = memory > 0, _native.HAWSER_F32

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


__all__ = ["ServerFunction", "server_function"]
