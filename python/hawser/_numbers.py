"""Arrays of numbers, from whatever holds numbers."""
from typing import Any

import numpy as np
import numpy.typing as npt

from ._allowance import claim, claim_frame
from ._errors import BadArgument

Array = npt.NDArray[Any]


def refuse_masks(values: Any, what: str) -> None:
    """Raises an error if numbers are masked, since numpy would give what lies under the mask."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise BadArgument(f"{what} has masked values; fill them (array.filled(0)) or leave the rows out")


def refuse_types(table: Any, what: str) -> None:
    """Raises an error if a table or series of polars has no numbers: numpy would make some of dates."""
    if type(table).__module__.partition(".")[0] != "polars":
        return
    if type(table).__name__ == "LazyFrame":
        raise BadArgument(f"{what} is a LazyFrame, which is not computed yet; give what its collect() returns")
    for name, kind in (table.schema if hasattr(table, "schema") else {table.name: table.dtype}).items():
        if kind.is_temporal() or kind.is_nested():
            raise BadArgument(f"{what}: column '{name}' has no numbers: its type is {kind}")


def numbers_of(values: Any, what: str) -> Array:
    """Returns values as an array of numbers of one type, without a copy if they are one."""
    refuse_masks(values, what)
    refuse_types(values, what)
    if isinstance(values, str):
        raise BadArgument(f"{what}: '{values}' is a name, and only files have columns by name; give the numbers")
    claim_frame(values, what)
    try:
        array = np.asarray(values.to_numpy() if hasattr(values, "to_numpy") else values)
        if array.dtype.kind == "c":
            raise BadArgument(f"{what}: Complex data not supported; {what} has the type {array.dtype}")
        if array.dtype.kind in "OUSV":
            claim(array.size * 8, what, f"a copy of the type {array.dtype} as float64")
            array = array.astype(np.float64)
    except Exception as error:  # also one of the library that the values are from
        if isinstance(error, (BadArgument, MemoryError)):
            raise
        advice = "; words are the target of a table: make one of the data, such as pandas.DataFrame(X)" if what == "target" else ""
        raise BadArgument(f"{what}: could not convert to numbers: {error}{advice}") from error
    if array.dtype.kind not in "fiub":
        raise BadArgument(f"{what}: the type {array.dtype} has no numbers; give float32 or float64")
    return array
