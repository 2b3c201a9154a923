"""Data that a unit makes: each block's part has memory of its own, which takes the place of what the block had."""
import ctypes
from ctypes import POINTER, byref
from typing import Any

import numpy as np

from .. import _native
from .._dataset import Array
from .._library import library as lib
from .._memory import address_of, array_at
from .._native import hawser_context, hawser_matrix
from .raised import runs
from .unit import Leave

LAYOUTS = {True: _native.HAWSER_DENSE_ROWS, False: _native.HAWSER_DENSE}
TYPES = {"float64": _native.HAWSER_F64, "float32": _native.HAWSER_F32}


class Made:
    """Makes the parts of one data state: copies of what the blocks had, or zeros of another width."""

    def __init__(self, name: str, dtype: str, by_row: bool, width: int | None) -> None:
        self.name, self.dtype, self.by_row, self.width = name, dtype, by_row, width
        self.parts: dict[int, tuple[hawser_matrix, list[Array]]] = {}  # by block, until the run has ended

    def part(self, context: Any) -> hawser_matrix:
        """Returns a block's part for its unit to write."""
        view = lib.hawser_data_view(context, self.name.encode())
        if not view:
            raise Leave(_native.HAWSER_BAD_PROGRAM)
        old = view.contents
        if self.width is not None:
            shape = (old.rows, self.width) if self.by_row else (self.width, old.cols)
            made = self._dense(np.zeros(shape, self.dtype, "C" if self.by_row else "F"))
        elif old.layout in (_native.HAWSER_CSR, _native.HAWSER_CSC):
            made = self._sparse(old)
        else:
            made = self._dense(np.array(dense_of(old, self.dtype), order="C" if self.by_row else "F"))
        self.parts[lib.hawser_block(context)] = made
        return made[0]

    def _dense(self, values: Array) -> tuple[hawser_matrix, list[Array]]:
        rows, cols = values.shape
        matrix = hawser_matrix(rows=rows, cols=cols, stored=rows * cols, layout=LAYOUTS[self.by_row], type=TYPES[self.dtype],
                               values=values.ctypes.data, stride=cols if self.by_row else rows)
        return matrix, [values]

    def _sparse(self, old: hawser_matrix) -> tuple[hawser_matrix, list[Array]]:
        """Returns the same entries with values of their own. Offsets begin at 0."""
        lines, size = old.cols if old.layout == _native.HAWSER_CSC else old.rows, np.dtype(self.dtype).itemsize
        offsets = array_at(address_of(old.offsets), "int64", (lines + 1,))
        first, stored = int(offsets[0]), int(offsets[-1] - offsets[0])
        own = [offsets - first, np.array(array_at((old.values or 0) + first * size, self.dtype, (stored,)))]
        indices = ctypes.cast(address_of(old.indices) + 4 * first, POINTER(ctypes.c_uint32))
        matrix = hawser_matrix(rows=old.rows, cols=old.cols, stored=stored, layout=old.layout, type=old.type, indices=indices,
                               offsets=ctypes.cast(own[0].ctypes.data, POINTER(ctypes.c_uint64)), values=own[1].ctypes.data)
        return matrix, own


def strides_of(matrix: hawser_matrix, size: int) -> tuple[int, int]:
    """Returns the strides of dense data with numbers of `size` bytes."""
    return (size, matrix.stride * size) if matrix.layout == _native.HAWSER_DENSE else (matrix.stride * size, size)


def dense_of(matrix: hawser_matrix, dtype: str) -> Array:
    """Returns dense data in place."""
    return array_at(matrix.values or 0, dtype, (matrix.rows, matrix.cols), strides_of(matrix, np.dtype(dtype).itemsize))


def replace(context: Any, name: str, part: hawser_matrix) -> None:
    """Gives a part that is written to the block."""
    status = lib.hawser_data_replace(context, name.encode(), byref(part))
    if status != _native.HAWSER_OK:
        raise Leave(status)


def _make(address: int, key: int, number: int) -> int:
    """Makes a part for compiled code. Returns the address of its matrix, or 0."""
    context = ctypes.cast(address, POINTER(hawser_context))
    running = runs[lib.hawser_user(context)]
    try:
        return ctypes.addressof(running.made[key].part(context))
    except Leave:
        return 0
    except BaseException as error:
        running.fail(context, number, error)
        return 0


make = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(_make)

__all__ = ["Made", "make", "replace", "strides_of"]
