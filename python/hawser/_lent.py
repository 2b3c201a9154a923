"""Memory of arrays that are not numpy's, through DLPack."""
from typing import Any

import numpy as np
import numpy.typing as npt

from ._errors import BadArgument

Array = npt.NDArray[Any]
CPU = 1  # kDLCPU


class _Writable:
    """Memory of an array as one that may be written."""

    def __init__(self, array: Array) -> None:
        interface = array.__array_interface__
        self.kept, self.__array_interface__ = array, {**interface, "data": (interface["data"][0], False)}


def memory_of(values: Any, what: str) -> Array:
    """Returns values as an array of numpy, which shares the memory of one that has `__dlpack__`. Masked values, and memory of a device, are refused."""
    if type(values) is np.ndarray:
        return values
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise BadArgument(f"{what} has masked values; fill them (array.filled(0)) or leave them out")
    if isinstance(values, np.ndarray) or not hasattr(values, "__dlpack__"):
        try:
            return np.asarray(values)
        except (TypeError, ValueError) as error:  # such as rows of different lengths
            raise BadArgument(f"{what} is no array: {error}") from error
    if hasattr(values, "__dlpack_device__") and values.__dlpack_device__()[0] != CPU:
        raise BadArgument(f"{what} is not in the memory of the processor; give a copy that is, such as tensor.cpu()")
    try:
        return np.from_dlpack(values)
    except (TypeError, RuntimeError, BufferError, ValueError) as error:  # such as a tensor that needs its gradient
        raise BadArgument(f"{what}: its memory cannot be used: {error}") from error


def writable_memory_of(values: Any, what: str) -> Array:
    """The same for memory that is written to."""
    array = memory_of(values, what)
    if array.flags.writeable or isinstance(values, np.ndarray) or not hasattr(values, "__dlpack__"):
        return array
    try:
        values.__dlpack__(max_version=(1, 0))
    except TypeError:  # an older DLPack: numpy takes its arrays for read-only, and it has no others than writable ones
        return np.asarray(_Writable(array))
    return array


__all__ = ["Array", "memory_of", "writable_memory_of"]
