"""Data that a unit makes: each block's part has memory of its own, which takes the place of what the block had."""
import ctypes
from ctypes import POINTER, byref
from typing import Any

import numpy as np

from .. import _native
from .._library import library as lib
from .._native import hawser_context, hawser_matrix
from .._numbers import Array
from .raised import runs
from .unit import Leave, part_of_data

LAYOUTS = {True: _native.HAWSER_DENSE_ROWS, False: _native.HAWSER_DENSE}
TYPES = {"float64": _native.HAWSER_F64, "float32": _native.HAWSER_F32}


class Made:
    """Makes the parts of one data state: zeros of another width than that of the data they are made of."""

    def __init__(self, name: str, dtype: str, by_row: bool, width: int) -> None:
        self.name, self.dtype, self.by_row, self.width = name, dtype, by_row, width
        self.parts: dict[int, tuple[hawser_matrix, list[Array]]] = {}  # by block, until the run has ended

    def part(self, context: Any) -> hawser_matrix:
        """Returns a block's part for its unit to write."""
        old = part_of_data(context, self.name)
        shape = (old.rows, self.width) if self.by_row else (self.width, old.cols)
        made = self._dense(np.zeros(shape, self.dtype, "C" if self.by_row else "F"))
        self.parts[lib.hawser_block(context)] = made
        return made[0]

    def _dense(self, values: Array) -> tuple[hawser_matrix, list[Array]]:
        rows, cols = values.shape
        matrix = hawser_matrix(rows=rows, cols=cols, stored=rows * cols, layout=LAYOUTS[self.by_row], type=TYPES[self.dtype],
                               values=values.ctypes.data, stride=cols if self.by_row else rows)
        return matrix, [values]


def strides_of(matrix: hawser_matrix, size: int) -> tuple[int, int]:
    """Returns the strides of dense data with numbers of `size` bytes."""
    return (size, matrix.stride * size) if matrix.layout == _native.HAWSER_DENSE else (matrix.stride * size, size)


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
