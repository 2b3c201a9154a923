"""Frames of Dask and Spark with more than numbers: partitions become the tables of nodes, which read them together (OwnTable)."""
import datetime
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ._columns import Column, columns_of, of_array, of_objects, of_pandas
from ._errors import BadArgument, BadOption
from ._options import key_of
from ._table import OPTIONS

Array = npt.NDArray[Any]
Kinds = tuple[tuple[str, Any], ...]  # name of a column, and its type of pandas


@dataclass(frozen=True)
class Frame:
    """How partitions become columns. Those of Dask are arrays of objects, and those of Spark are Arrow tables, which have names and types."""

    options: dict[str, Any]  #: of a load, such as missing="mean"
    columns: Kinds = ()  #: of Dask
    target: Kinds = ()  #: of Dask; empty if the target is an array
    names: tuple[str, ...] | None = None  #: new names of the columns

    def table(self, parts: list[Any]) -> list[Column]:
        """Returns the features of some partitions, one after another."""
        if self.columns:
            found = _of_parts(parts, self.columns, "X")
        else:
            import pyarrow
            found = columns_of(pyarrow.concat_tables(parts), "X")
        if self.names is not None:
            if len(self.names) != len(found):
                raise BadArgument(f"names: {len(self.names)} names for {len(found)} columns")
            found = [replace(column, name=name) for column, name in zip(found, self.names, strict=True)]
        return found

    def targets(self, parts: list[Any]) -> Any:
        """Returns the target of some partitions as columns, or as an array."""
        if self.target:
            return _of_parts([part.reshape(len(part), -1) for part in parts], self.target, "target")
        return np.concatenate([np.asarray(part) for part in parts])


def _of_parts(parts: list[Array], kinds: Kinds, what: str) -> list[Column]:
    whole = np.concatenate(parts)
    return [_column(name, whole[:, place], kind, what) for place, (name, kind) in enumerate(kinds)]


def _column(name: str, values: Array, kind: Any, what: str) -> Column:
    """Makes a column of objects that had a type in their frame."""
    if type(kind).__name__ == "CategoricalDtype":
        found = [str(value) if isinstance(value, datetime.date) and value == value else value for value in values.tolist()]
        return of_objects(name, found, what, category=True)
    if isinstance(kind, np.dtype) and kind.kind == "O":
        return of_objects(name, values.tolist(), what)
    if isinstance(kind, np.dtype) and kind.kind in "fiub":
        return of_array(name, values.astype(kind), what)
    import pandas
    return of_pandas(name, pandas.Series(values, dtype=kind), what)


def take_table_options(options: dict[str, Any]) -> dict[str, Any]:
    """Takes the options of tables out of those of a training."""
    return {keyword: options.pop(keyword) for keyword in list(options) if key_of(keyword) in OPTIONS and key_of(keyword) != "type"}


def check_no_validation(validation: Any) -> None:
    """Refuses other data beside such a frame."""
    if validation is not None:
        raise BadOption("validation: a frame with words, dates or missing values takes none; encode them as numbers first, or measure the model with "
                        "model.evaluate on other data")


__all__ = ["Frame", "Kinds", "check_no_validation", "take_table_options"]
