"""What a model of topics has for pyLDAvis."""
import ctypes
from ctypes import POINTER
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _native
from ._library import library as lib

Array = npt.NDArray[Any]


def words_in_topics(model: Any) -> tuple[Array, Array, float]:
    """Returns the count of each word in each topic, shape (topics, words), alpha of each topic, and beta."""
    offsets, topics, counts, alpha = (model.tensor(name) for name in ("word_offsets", "word_topics", "word_counts", "alpha"))
    whole = np.zeros((len(alpha), len(offsets) - 1))
    whole[topics, np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))] = counts
    return whole, alpha, float(model.facts["beta"])


def _view(address: Any, kind: Any, count: int) -> Array:
    return np.ctypeslib.as_array(ctypes.cast(address, POINTER(kind)), (count,)) if count else np.empty(0, kind)


def sums_of(handle: Any) -> tuple[Array, Array]:
    """Returns the sums of the rows and of the columns of a dataset by rows."""
    matrix = lib.hawser_dataset_matrix(handle).contents
    rows, columns, kind = matrix.rows, matrix.cols, ctypes.c_float if matrix.type == _native.HAWSER_F32 else ctypes.c_double
    if matrix.layout != _native.HAWSER_CSR:
        dense = _view(matrix.values, kind, (rows - 1) * matrix.stride + columns if rows else 0)
        dense = np.lib.stride_tricks.as_strided(dense, (rows, columns), (matrix.stride * dense.itemsize, dense.itemsize))
        return dense.sum(axis=1, dtype=np.float64), dense.sum(axis=0, dtype=np.float64)
    offsets = _view(matrix.offsets, ctypes.c_uint64, rows + 1).astype(np.int64)
    first, stored = offsets[0], offsets[-1] - offsets[0]
    values = _view(matrix.values, kind, offsets[-1])[first:].astype(np.float64)
    indices = _view(matrix.indices, ctypes.c_uint32, offsets[-1])[first:]
    assert len(values) == len(indices) == stored
    owner = np.repeat(np.arange(rows), np.diff(offsets))
    return np.bincount(owner, values, minlength=rows), np.bincount(indices, values, minlength=columns)


__all__ = ["sums_of", "words_in_topics"]
