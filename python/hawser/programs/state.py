"""States of a program, as they are declared."""
import ctypes
import dataclasses
import hashlib
from typing import Any

import numpy as np

from .. import _native
from .._dataset import BY_ROW, Dataset, Files
from .._errors import BadArgument
from .._memory import array_at
from .._numbers import Array
from .code import Merge
from .moving import Moving
from .unit import TYPES, Unit

SPLITS = {"row": _native.HAWSER_BY_ROW, "column": _native.HAWSER_BY_COLUMN, "all": _native.HAWSER_WHOLE}
FORMS = {"exact": _native.HAWSER_EXACT, "bf16": _native.HAWSER_AS_BF16, "f16": _native.HAWSER_AS_F16, "int8": _native.HAWSER_AS_INT8}


@dataclasses.dataclass
class State:
    """A state as it was declared."""

    name: str
    kind: str  # "data", "replicated", "partitioned", "local", "stored", "moving", "entries" or "scratch"
    dtype: str = "float64"
    shape: tuple[int | str, ...] = ()  # of the whole; of one block if `each`; of a line's numbers if along data. A text: columns of data
    along: str | None = None
    each: bool = False  # every block has a part of `shape`
    initial: Array | None = None
    gain: float = 0.0
    damping: float | str = 0.0  # "average" is known when the job is open
    merge: Merge | None = None
    derived: Unit | None = None
    filter: tuple[str, int, int] | None = None
    encoding: str | None = None
    function: str | None = None
    parameters: tuple[float, ...] = ()
    tied: str | None = None
    data: Any = None  # a Dataset or Files; None: data `of` others, which a unit makes
    of: str | None = None
    width: int | str = 0  # numbers for each line of the others
    by: str = "row"
    costs: Array | None = None  # of each row or column, besides its numbers
    keeps: bool = False  # it belongs to the model that tests keep
    moving: Moving | None = None
    by_value: bool = False  # entries: as many numbers for an entry as its value says

    @property
    def has_result(self) -> bool:
        return self.kind not in ("data", "scratch")

    def terms(self) -> str:
        """Returns what must be the same on every node."""
        start = hashlib.sha256(self.initial.tobytes()).hexdigest() if self.initial is not None else "zeros"
        merge = self.merge.digest() if self.merge is not None else None
        kind = type(self.data).__name__ + (", rows of its own" if getattr(self.data, "partitioned", False) else "")
        digest = _digest_of(self.data) if self.by == "all" else ""
        return repr((self.kind, self.dtype, self.shape, self.along, self.each, start, self.gain, self.damping, merge,
                     self.derived and self.derived.digest(), self.filter, self.encoding, self.function, self.parameters, self.tied,
                     self.keeps, self.moving and self.moving.terms(), self.by_value, kind, self.by, digest, self.of, self.width, self.costs is not None and hashlib.sha256(self.costs.tobytes()).hexdigest()))


def _digest_of(data: Any) -> str:
    """Returns a digest of all numbers of a dataset, which each node has whole."""
    if not isinstance(data, Dataset):
        return ""
    matrix, made = data._matrix, hashlib.sha256()
    lines = matrix.rows if matrix.layout in BY_ROW else matrix.cols
    if matrix.offsets:
        offsets = array_at(ctypes.cast(matrix.offsets, ctypes.c_void_p).value or 0, "int64", (lines + 1,))
        made.update(offsets.tobytes())
        made.update(array_at(ctypes.cast(matrix.indices, ctypes.c_void_p).value or 0, "uint32", (matrix.stored,)).tobytes())
        shape, strides = (matrix.stored,), (data.dtype.itemsize,)
        made.update(array_at(matrix.values or 0, data.dtype.name, shape, strides).tobytes())
    else:
        size = data.dtype.itemsize
        across = (matrix.rows + matrix.cols - lines, size)
        values = array_at(matrix.values or 0, data.dtype.name, (lines, across[0]), (matrix.stride * size, size))
        made.update(values.tobytes())
    for numbers in (data.target, data.weights, data.offset):
        made.update(b"" if numbers is None else numbers.tobytes())
    return made.hexdigest()


def merge_of(merge: Any) -> Merge | None:
    """Returns a merge function, which may be given as a unit, for its `compile`."""
    if merge is None:
        return None
    return Merge(merge.function, merge.compile) if isinstance(merge, Unit) else Merge(merge)


def shape_of(name: str, shape: Any) -> tuple[int | str, ...]:
    """Returns a shape: whole numbers, and names of data for the number of columns of these."""
    given = (shape,) if isinstance(shape, (int, np.integer, str)) else tuple(shape)
    if not given or not all(isinstance(extent, str) or (isinstance(extent, (int, np.integer)) and 0 < extent < 2**48) for extent in given):
        raise BadArgument(f"state '{name}': its shape is {shape}; give a whole number above 0, or several")
    return tuple(extent if isinstance(extent, str) else int(extent) for extent in given)


def type_of(name: str, dtype: Any) -> str:
    try:
        found = str(np.dtype(dtype).name)
    except TypeError as error:
        raise BadArgument(f"state '{name}': {dtype!r} is no type of numbers") from error
    if found not in TYPES:
        raise BadArgument(f"state '{name}' is of {found}; states are of float64, float32, int64 or int32")
    return found


def initial_of(state: State, initial: Any, shape: tuple[int | str, ...] | None) -> Array | None:
    """Returns first numbers in the state's type. `shape` None, or with a text: it depends on data, and is checked later."""
    if initial is None:
        return None
    array = np.asarray(initial)
    if array.dtype.kind not in "fiub" or (array.dtype.kind == "f" and state.dtype.startswith("int")):
        raise BadArgument(f"state '{state.name}' is of {state.dtype}, and its initial is of {array.dtype}")
    if shape is not None and any(isinstance(extent, str) for extent in shape):
        shape = None
    if shape is not None and not (array.shape == shape or array.ndim == 0 or (state.each and array.shape[1:] == shape)):
        raise BadArgument(f"state '{state.name}' has shape {shape}, and its initial has {array.shape}")
    if shape is not None and array.ndim == 0:
        array = np.full(shape, array)  # type: ignore[arg-type]
    made = np.array(array, dtype=state.dtype, order="C")
    if made.dtype.kind in "i" and not np.array_equal(made, array):
        raise BadArgument(f"state '{state.name}': its initial has numbers that are no {state.dtype}")
    return made


def costs_of(name: str, costs: Any) -> Array | None:
    """Returns costs of rows or columns as the library reads them."""
    if costs is None:
        return None
    made = np.ascontiguousarray(costs, np.float64)
    if made.ndim != 1 or not np.isfinite(made).all() or (made < 0).any():
        raise BadArgument(f"data '{name}': costs are a finite number from 0 for each row (column)")
    return made


def has_beside(data: Any, beside: str) -> bool:
    """Returns whether data have a target, weights, an offset or groups."""
    if isinstance(data, Files):
        return str(data.options.get(beside, "none")) != "none"
    return bool(data._has(beside))


__all__ = ["FORMS", "SPLITS", "State", "costs_of", "has_beside", "initial_of", "merge_of", "shape_of", "type_of"]
