"""The columns of tables: pandas, polars, and whatever has Arrow's C stream interface."""
import datetime
import decimal
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ._arrow import read_stream
from ._errors import BadArgument

Array = npt.NDArray[Any]
BLANKS = " \t"  # around names
DAY = np.timedelta64(1, "D")


@dataclass
class Column:
    """A column of a table. `values` has one value per row, also for missing ones. Its type depends on the kind:

    - numbers: an array of numbers or booleans.
    - words: a list of texts. None is a missing word.
    - dates: an array of datetime64 in UTC.
    """

    name: str
    kind: str  #: "numbers", "words" or "dates"
    values: Any
    missing: Array | None = None  #: of numbers and dates: which are missing; None: none is
    category: bool = False  #: words, whatever they look like

    @property
    def is_whole(self) -> bool:
        """Whether it has a number in each row; NaN counts as one."""
        return self.kind == "numbers" and self.missing is None

    @property
    def has_gaps(self) -> bool:
        """Whether some number is missing, or NaN."""
        return self.missing is not None or (self.kind == "numbers" and self.values.dtype.kind == "f" and bool(np.isnan(self.values).any()))

    def described(self) -> str:
        """Returns name and kind, which all parts of a column must have alike."""
        boolean = self.kind == "numbers" and self.values.dtype.kind == "b"
        return f"'{self.name}' ({'categories' if self.category else 'booleans' if boolean else self.kind})"

    def check_texts(self, what: str) -> None:
        """Refuses a word that has a zero byte, by its row."""
        for row, text in enumerate(self.values) if self.kind == "words" else ():
            if text is not None and "\0" in text:
                raise refuse(what, self.name, f"has {text!r:.60}, which has a zero byte", row)

    def part(self, rows: slice) -> "Column":
        return Column(self.name, self.kind, self.values[rows], None if self.missing is None else self.missing[rows], self.category)


def library_of(data: Any) -> str:
    return type(data).__module__.partition(".")[0]


def is_table(data: Any) -> bool:
    """Returns whether data are a table: of pandas, of polars, or an Arrow stream of columns."""
    if library_of(data) in ("pandas", "polars"):
        return type(data).__name__ in ("DataFrame", "LazyFrame") or hasattr(data, "iloc") and getattr(data, "ndim", 0) == 2
    return hasattr(data, "__arrow_c_stream__") and not hasattr(data, "to_numpy")


def refuse(what: str, name: str, why: str, row: int | None = None) -> BadArgument:
    where = f"row {row}, column '{name}'" if row is not None else f"column '{name}'"
    return BadArgument(f"{what}: {where} {why}")


def _name_of(name: Any) -> str:
    """Returns a name that is no text as Python writes it: of a tuple of a MultiIndex whatever types of numpy are in it."""
    return repr(tuple(part.item() if isinstance(part, np.generic) else part for part in name)) if isinstance(name, tuple) else str(name)


def texts_of(names: Any, what: str) -> list[str]:
    """Returns the names of columns as texts, without blanks around them, as CSV reads them."""
    found = [(name if isinstance(name, str) else _name_of(name)).strip(BLANKS) for name in names]
    for place, name in enumerate(found):
        if "\0" in name or "\n" in name or "\r" in name:
            raise BadArgument(f"{what}: the name of column {place} is {name!r:.60}, which has a line end or a zero byte; rename it")
    return found


def _gaps(missing: Array) -> Array | None:
    return missing if missing.any() else None


# -------------------------------------------------------------------------------------------------- Python's objects ----


def _text_of(value: Any, what: str, name: str, row: int) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, (bool, np.bool_, int, np.integer, decimal.Decimal)):
        return str(value)
    if isinstance(value, (float, np.floating)):
        return repr(float(value))
    if isinstance(value, (complex, np.complexfloating)):
        raise refuse(what, name, f"has {value!r:.60}: complex numbers are not supported", row)
    raise refuse(what, name, f"has {value!r:.60}, a {type(value).__name__}, which is no number, word or date", row)


def _is_gap(value: Any) -> bool:
    """Returns whether a value says that none is there: None, NaN, pandas.NA, NaT."""
    if value is None or (isinstance(value, (float, np.floating)) and math.isnan(value)):
        return True
    return type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, np.datetime64) and np.isnat(value))


def _moment(value: Any) -> Any:
    """Returns a date or time as one of UTC without a zone."""
    if isinstance(value, np.datetime64):
        return value
    if not isinstance(value, datetime.datetime):
        return datetime.datetime(value.year, value.month, value.day)
    return value.astimezone(datetime.UTC).replace(tzinfo=None) if value.tzinfo is not None else value


def of_objects(name: str, values: list[Any], what: str, category: bool = False) -> Column:
    """Makes a column of Python's objects: dates if all are dates, booleans if all are, else the words and numbers that CSV would have."""
    gaps = [_is_gap(value) for value in values]
    met = [value for value, gap in zip(values, gaps, strict=True) if not gap]
    if met and not category and all(isinstance(value, (datetime.date, np.datetime64)) for value in met):
        moments = [np.datetime64("NaT", "us") if gap else np.datetime64(_moment(value), "us") for value, gap in zip(values, gaps, strict=True)]
        return Column(name, "dates", np.array(moments, "datetime64[us]"), _gaps(np.array(gaps)))
    if met and not category and all(isinstance(value, (bool, np.bool_)) for value in met):
        return Column(name, "numbers", np.array([bool(value) and not gap for value, gap in zip(values, gaps, strict=True)]), _gaps(np.array(gaps)))
    return Column(name, "words", [None if gap else _text_of(value, what, name, row)
                                  for row, (value, gap) in enumerate(zip(values, gaps, strict=True))], category=category)


def of_array(name: str, values: Array, what: str, missing: Array | None = None) -> Column:
    """Makes a column of an array of numpy."""
    if values.dtype.kind in "fiub":
        return Column(name, "numbers", values, None if missing is None else _gaps(missing))
    if values.dtype.kind == "M":
        gaps = np.isnat(values)
        return Column(name, "dates", values, _gaps(gaps if missing is None else gaps | missing))
    if values.dtype.kind == "c":
        raise refuse(what, name, f"has complex numbers ({values.dtype}), which are not supported")
    if values.dtype.kind in "OU":
        return of_objects(name, values.tolist(), what)
    raise refuse(what, name, f"has no numbers, words or dates: its type is {values.dtype}")


def of_codes(name: str, levels: list[Any], codes: Array, what: str) -> Column:
    """Makes a column of categories from their numbers. A negative number stands for a missing value."""
    texts: list[str | None] = [None if _is_gap(level) else _text_of(level, what, name, 0) if not isinstance(level, datetime.date) else str(level)
                               for level in levels]
    texts.append(None)
    return Column(name, "words", [texts[code] if code >= 0 else None for code in codes.tolist()], category=True)


# ---------------------------------------------------------------------------------------------------------- pandas ----


def of_pandas(name: str, series: Any, what: str) -> Column:
    """Makes a column of a series of pandas."""
    kind = series.dtype
    if isinstance(kind, np.dtype):
        return of_array(name, series.to_numpy(), what)
    family = type(kind).__name__
    if family == "CategoricalDtype":
        levels = series.cat.categories
        found = [None if gap else str(each) for each, gap in zip(levels, levels.isna(), strict=True)] if levels.dtype.kind not in "Oifub" else levels.tolist()
        return of_codes(name, found, series.cat.codes.to_numpy(), what)
    if family == "DatetimeTZDtype":
        return of_array(name, series.to_numpy(dtype="datetime64[ns]"), what)
    if family == "ArrowDtype":
        import pyarrow
        found, = _of_stream(pyarrow.table({name: pyarrow.array(series)}), what)
        return found
    if family == "SparseDtype":
        return of_array(name, np.asarray(series), what)
    if family == "StringDtype":
        return of_objects(name, series.tolist(), what)
    if getattr(kind, "_is_numeric", False) or family == "BooleanDtype":
        gaps = series.isna().to_numpy()
        return of_array(name, series.to_numpy(dtype=kind.numpy_dtype, na_value=kind.numpy_dtype.type(0)), what, gaps)
    raise refuse(what, name, f"has no numbers, words or dates: its type is {kind}")


# ---------------------------------------------------------------------------------------------------------- polars ----


def of_polars(name: str, series: Any, what: str) -> Column:
    """Makes a column of a series of polars."""
    kind, family = series.dtype, type(series.dtype).__name__
    gaps = series.is_null().to_numpy() if series.null_count() else None
    if family in ("Categorical", "Enum"):
        return of_objects(name, series.to_list(), what, category=True)
    if family in ("String", "Utf8", "Decimal", "Null", "Int128", "UInt128"):
        return of_objects(name, series.to_list(), what)
    if family == "Datetime" and kind.time_zone is not None:
        series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    if family in ("Date", "Datetime") or kind.is_numeric() or family == "Boolean":
        if gaps is not None and family not in ("Date", "Datetime"):
            series = series.fill_null(value=False if family == "Boolean" else 0)
        values = series.to_numpy()
        if values.dtype.kind in "fiubM":
            return of_array(name, values, what, gaps)
    raise refuse(what, name, f"has no numbers, words or dates: its type is {kind}")


# ----------------------------------------------------------------------------------------------------------- Arrow ----


def _of_stream(table: Any, what: str) -> list[Column]:
    return [_of_pieces(name, category, pieces, what) for name, category, pieces in read_stream(table, what)]


def _of_pieces(name: str, category: bool, pieces: list[Any], what: str) -> Column:
    pieces = [piece for piece in pieces if len(piece[0])]
    if any(isinstance(values, list) for values, _ in pieces):
        return of_objects(name, [value for values, _ in pieces for value in values], what, category)
    if not pieces:
        return Column(name, "numbers", np.empty(0))
    missing = None
    if any(gaps is not None for _, gaps in pieces):
        missing = np.concatenate([np.zeros(len(values), bool) if gaps is None else gaps for values, gaps in pieces])
    return of_array(name, np.concatenate([values for values, _ in pieces]), what, missing)


# ------------------------------------------------------------------------------------------------------------- any ----


def columns_of(data: Any, what: str) -> list[Column]:
    """Returns the columns of a table. Refuses what is no number, word or date, by column and row."""
    library = library_of(data)
    if library == "polars":
        if type(data).__name__ == "LazyFrame":
            raise BadArgument(f"{what} is a LazyFrame, which is not computed yet; give what its collect() returns")
        return [of_polars(name, series, what) for name, series in zip(texts_of(data.columns, what), data.get_columns(), strict=True)]
    if hasattr(data, "iloc"):
        names = texts_of(data.columns, what)
        return [of_pandas(name, data.iloc[:, place], what) for place, name in enumerate(names)]
    columns = _of_stream(data, what)
    return [replace(column, name=name) for column, name in zip(columns, texts_of([column.name for column in columns], what), strict=True)]


__all__ = ["BLANKS", "Column", "columns_of", "is_table", "library_of", "of_array", "of_objects", "of_pandas", "of_polars", "refuse", "texts_of"]
