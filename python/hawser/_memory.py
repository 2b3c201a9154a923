"""Memory of the library: arrays over it, and what is freed here."""
import ctypes
from typing import Any

import numpy as np

from ._errors import InternalError
from ._numbers import Array


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


def address_of(pointer: Any) -> int:
    return ctypes.cast(pointer, ctypes.c_void_p).value or 0


_free = ctypes.CDLL(None).free
_free.restype, _free.argtypes = None, [ctypes.c_void_p]


def free(text: ctypes.c_char_p) -> None:
    """Frees a text that the library gave away."""
    _free(ctypes.cast(text, ctypes.c_void_p))


__all__ = ["address_of", "array_at", "free"]
