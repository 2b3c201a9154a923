"""Arrays over memory of the library that user code gets for the time of one call, and what happens to those that it keeps."""
import contextlib
import ctypes
import gc
import weakref
from typing import Any

import numpy as np

from .._memory import array_at
from .._numbers import Array

DATA = object.__basicsize__  # where numpy's array has the address of its first number: the first field of its own


class Views:
    """The arrays that one call gets."""

    def __init__(self) -> None:
        self.made: list[tuple[str, weakref.ref[Array]]] = []

    def array(self, name: str, address: int, dtype: str, shape: tuple[int, ...], strides: tuple[int, ...] | None = None,
              writable: bool = False) -> Array:
        """Returns an array in place; `name` is for errors."""
        made = array_at(address, dtype, shape, strides, writable)
        self.made.append((name, weakref.ref(made)))
        return made

    def end(self) -> str | None:
        """Returns the name of an array that is still in use after the call, or None. Such arrays get numbers of their own, since the memory is
        freed with the run."""
        made, self.made = self.made, []
        if all(view() is None for _, view in made):
            return None
        gc.collect()
        kept = [(name, array) for name, view in made if (array := view()) is not None]
        for _, array in kept:
            if array.base is not None:
                _detach(array)
        return kept[0][0] if kept else None


def _detach(array: Array) -> None:
    """Moves an array, and the views of it that the program keeps, to a copy of its memory."""
    address = array.ctypes.data
    size = sum((extent - 1) * stride for extent, stride in zip(array.shape, array.strides)) + array.itemsize
    copy = np.frombuffer(ctypes.string_at(address, size), np.uint8).copy()
    setattr(array.base, "own", copy)  # so it lives as long as the array
    users = _users_of(array)
    bases = {id(view.base) for view in users if isinstance(view, np.ndarray)}
    for view in users:
        if isinstance(view, memoryview):
            with contextlib.suppress(BufferError):  # something else has its memory, too
                if id(view) not in bases:  # such an array needs it to keep the copy
                    view.release()
            continue
        place = ctypes.c_void_p.from_address(id(view) + DATA)
        if place.value == view.ctypes.data:
            place.value = copy.ctypes.data + view.ctypes.data - address


def _users_of(array: Array) -> list[Any]:
    """Returns the array, and what uses its memory. The interpreter has no list of its arrays, so what all other objects refer to is searched."""
    found: dict[int, Any] = {id(array): array}
    seen, below = set[int](), list[Any](gc.get_objects())
    while below:
        one = below.pop()
        for user in _chain(one, array):
            found[id(user)] = user
        for inner in gc.get_referents(one):
            if not gc.is_tracked(inner) and id(inner) not in seen and issubclass(type(inner), (np.ndarray, tuple, dict)):
                seen.add(id(inner))
                below.append(inner)
    return list(found.values())


def _chain(one: Any, array: Array) -> list[Any]:
    """Returns an array or a memoryview and those that it is of, down to `array`, or nothing if it is of another."""
    users: list[Any] = []
    while one is not array:
        if not issubclass(type(one), (np.ndarray, memoryview)):  # isinstance would ask proxies
            return []
        users.append(one)
        try:
            one = one.obj if isinstance(one, memoryview) else one.base
        except ValueError:  # a memoryview that was released
            return []
    return users


__all__ = ["Views"]
