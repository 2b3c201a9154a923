"""Checks of sparse matrices before they are used: code of C, scipy's and the library's, trusts their arrays."""
from typing import Any

import numpy as np
import numpy.typing as npt

from ._allowance import claim
from ._errors import BadArgument

Array = npt.NDArray[Any]


def is_sparse(data: Any) -> bool:
    """Returns whether data are a sparse matrix. Its type is asked, since the number of entries of a broken one may raise anything."""
    return hasattr(type(data), "tocsr") and hasattr(type(data), "nnz")


def _whole_numbers(values: Any, called: str) -> Array:
    array = np.asarray(values)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise BadArgument(f"{called} is no array of whole numbers: its shape is {array.shape} and its type {array.dtype}")
    return array


def _check_offsets(offsets: Array, lines: int, what: str, line: str) -> None:
    if len(offsets) != lines + 1:
        raise BadArgument(f"{what}: indptr has {len(offsets)} numbers, and a matrix of {lines} {line}s has {lines + 1}")
    if offsets[0] < 0:
        raise BadArgument(f"{what}: indptr[0] is {offsets[0]}, and must not be negative")
    falls = np.flatnonzero(offsets[1:] < offsets[:-1])
    if len(falls):
        at = int(falls[0])
        raise BadArgument(f"{what}: indptr says that {line} {at} has the entries from {offsets[at]} to {offsets[at + 1]}; indptr must not fall")


def _check_indices(indices: Array, bound: int, what: str, called: str) -> None:
    if len(indices) == 0:
        return
    for at in (int(indices.argmin()), int(indices.argmax())):
        if not 0 <= indices[at] < bound:
            raise BadArgument(f"{what}: {called}[{at}] is {indices[at]}, and must be from 0 to {bound - 1}")


def _check_compressed(matrix: Any, what: str) -> None:
    """CSR, CSC and BSR: offsets of lines, and an index and a value (BSR: a block) for each entry."""
    by_row = matrix.format != "csc"
    lines, width = matrix.shape if by_row else matrix.shape[::-1]
    if matrix.format == "bsr":
        if matrix.data.ndim != 3 or 0 in matrix.data.shape[1:] or lines % matrix.data.shape[1] or width % matrix.data.shape[2]:
            raise BadArgument(f"{what}: data of shape {matrix.data.shape} are no blocks of a {lines} x {width} matrix")
        lines, width = lines // matrix.data.shape[1], width // matrix.data.shape[2]
    elif matrix.data.ndim != 1:
        raise BadArgument(f"{what}: data has the shape {matrix.data.shape}, and must have one dimension")
    offsets, indices = _whole_numbers(matrix.indptr, f"{what}: indptr"), _whole_numbers(matrix.indices, f"{what}: indices")
    _check_offsets(offsets, lines, what, "row" if by_row else "column")
    for name, count in (("indices", len(indices)), ("data", len(matrix.data))):
        if count < offsets[-1]:
            raise BadArgument(f"{what}: {name} has {count} entries, and indptr says that there are {offsets[-1]}")
    _check_indices(indices[:int(offsets[-1])], width, what, "indices")


def _check_coordinates(matrix: Any, what: str) -> None:
    for name, bound in zip(("row", "col"), matrix.shape, strict=True):
        places = _whole_numbers(getattr(matrix, name), f"{what}: {name}")
        if len(places) != len(matrix.data):
            raise BadArgument(f"{what}: {name} has {len(places)} entries, and data has {len(matrix.data)}")
        _check_indices(places, bound, what, name)


def _check_diagonals(matrix: Any, what: str) -> None:
    offsets = _whole_numbers(matrix.offsets, f"{what}: offsets")
    if matrix.data.ndim != 2 or len(matrix.data) != len(offsets):
        raise BadArgument(f"{what}: data of shape {matrix.data.shape} are not one row for each of {len(offsets)} diagonals")


def _check_lists(matrix: Any, what: str) -> None:
    if len(matrix.rows) != matrix.shape[0] or len(matrix.data) != matrix.shape[0]:
        raise BadArgument(f"{what}: lists of {len(matrix.rows)} rows of indices and {len(matrix.data)} of data are no matrix of {matrix.shape[0]} rows")
    for row, (places, values) in enumerate(zip(matrix.rows, matrix.data, strict=True)):
        if len(places) != len(values):
            raise BadArgument(f"{what}: row {row} has {len(places)} indices and {len(values)} values")


def check_sparse(matrix: Any, what: str) -> None:
    """Raises an error if arrays of a scipy matrix are shorter than it claims, or its offsets or indices are out of bounds."""
    kind = getattr(matrix, "format", "")
    if kind in ("csr", "csc", "bsr") and hasattr(matrix, "indptr"):
        _check_compressed(matrix, what)
    elif kind == "coo" and hasattr(matrix, "row"):
        _check_coordinates(matrix, what)
    elif kind == "dia" and hasattr(matrix, "offsets"):
        _check_diagonals(matrix, what)
    elif kind == "lil" and hasattr(matrix, "rows"):
        _check_lists(matrix, what)


def compressed(data: Any, what: str) -> Any:
    """Returns a sparse matrix as CSR or CSC, sound and in order, without a copy if it is one."""
    if len(data.shape) != 2:
        raise BadArgument(f"Expected 2D array, got {len(data.shape)}D array instead: a sparse array of shape {data.shape}")
    check_sparse(data, what)
    matrix = data
    if data.format not in ("csr", "csc"):
        claim(int(data.nnz) * (data.dtype.itemsize + 8) + 8 * data.shape[0], what, f"a copy of the format {data.format} as CSR")
        try:
            matrix = data if data.format in ("bsr", "coo", "dia") else data.tocoo()
            check_sparse(matrix, what)
            matrix = matrix.tocsr()
        except (BadArgument, MemoryError):
            raise
        except Exception as error:  # of lists or keys that do not fit the shape
            raise BadArgument(f"{what}: the sparse matrix is not sound: {error}") from error
    if not matrix.has_canonical_format:
        claim(matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes, what, "a copy whose entries are in order")
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return matrix


__all__ = ["check_sparse", "compressed", "is_sparse"]
