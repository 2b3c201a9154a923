"""Tables with more than numbers: they are read as the CSV text that they would be, so that words, dates and missing values count the same."""
import csv
import itertools
import os
import re
from collections.abc import Callable, Iterator, Sequence
from ctypes import byref
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from . import _native
from ._arguments import name_bytes
from ._allowance import claim
from ._columns import BLANKS, Column, columns_of, is_table, library_of, of_array, of_polars, refuse, texts_of
from ._errors import BadArgument, BadOption, Error, check
from ._library import library as lib
from ._native import hawser_error, hawser_load, hawser_schema_column
from ._numbers import Array, numbers_of
from ._options import Options, key_of

OF_TEXT = ("min-length", "min-documents", "max-documents", "max-words", "stop-words")  # how the words of a column of texts are chosen
OPTIONS = ("categories", "dates", "missing", "ignore", "columns", "type", "text", *OF_TEXT)  # of a load, which tables have, too
LASTING = ("missing", "type", "text", "min-length")  # new data of a model are read with these
AT_ONCE = 1 << 14  # rows whose texts are in memory as Python's objects
BOOLEANS = (("False", "True"), ("false", "true"), ("FALSE", "TRUE"), ("0", "1"), ("no", "yes"), ("f", "t"))


@dataclass
class ModelColumns:
    """The columns of a model, for which other data are read."""

    schema: Any  #: of the library; NULL if the model's columns have no names
    fill: Callable[[hawser_load], None]  #: sets the rest of a load


class Table:
    """A table, and how its columns are read."""

    def __init__(self, columns: list[Column], options: dict[str, Any]) -> None:
        for keyword in options:
            if key_of(keyword) not in OPTIONS:
                raise BadOption(f"{keyword}: tables have no such option; theirs are {', '.join(OPTIONS)}")
        self.columns, self.options = columns, {key_of(keyword): value for keyword, value in options.items() if value is not None}
        self.text: str | None = None  #: the column whose words are the features
        self._choose()
        self.rows = len(columns[0].values) if columns else 0
        self._lines: Array | None = None  # of each row, if some words have line ends

    def _choose(self) -> None:
        """Leaves columns out, and finds which are read as words and dates."""
        ignored = self._places("ignore")
        chosen = self._places("columns") if "columns" in self.options else range(len(self.columns))
        words, dates = self._places("categories"), self._places("dates")
        kept = [place for place in range(len(self.columns)) if place in chosen and place not in ignored]
        if "text" in self.options:
            self._choose_text(kept)
            return
        for option in OF_TEXT:
            if option in self.options:
                raise BadOption(f"{option.replace('-', '_')}: a table has words of texts only with text=COLUMN")
        for option, places in (("categories", words), ("dates", dates)):
            for place in places:
                if place not in kept:
                    raise BadOption(f"{option}: column '{self.columns[place].name}' is no feature")
        self.categories = [k for k, place in enumerate(kept) if place in words or self.columns[place].category]
        self.dates = [k for k, place in enumerate(kept) if place in dates or (self.columns[place].kind == "dates" and place not in words)]
        self.columns = [self.columns[place] for place in kept]

    def _choose_text(self, kept: list[int]) -> None:
        """Leaves the column alone whose words are the features."""
        for option in ("columns", "categories", "dates"):
            if option in self.options:
                raise BadOption(f"{option}: with text the features are the words of that column alone; leave one of the two out")
        places = self._places("text")
        if len(places) != 1 or places[0] not in kept:
            raise BadOption("text: " + ("give one column" if len(places) != 1 else f"column '{self.columns[places[0]].name}' is ignored"))
        self.columns = [self.columns[places[0]]]
        self.text = self.options["text"] = self.columns[0].name
        self.categories, self.dates = [], []

    def _places(self, option: str) -> list[int]:
        """Returns the columns that an option names: by name, else by number, as a list, or as a text with commas."""
        given = self.options.get(option)
        if given is None or (option == "categories" and isinstance(given, str) and given in ("auto", "none")):
            return []
        names: dict[str, int] = {}
        for place, column in enumerate(self.columns):
            names.setdefault(column.name, place)
        wanted: list[Any] = [given] if isinstance(given, (str, int, np.integer)) else list(given)
        if len(wanted) == 1 and isinstance(wanted[0], str) and wanted[0] not in names:
            wanted = wanted[0].split(",")
        return [self._place(option, str(name), names) for name in wanted]

    @staticmethod
    def _place(option: str, name: str, names: dict[str, int]) -> int:
        if (name := name if name in names else name.strip(BLANKS)) in names:
            return names[name]
        if re.fullmatch(r"-?\d+", name) and -len(names) <= int(name) < len(names):
            return int(name) % len(names)
        raise BadOption(f"{option}: '{name}' is no column of the table; its columns are {', '.join(list(names)[:20])}{', ...' if len(names) > 20 else ''}")

    @property
    def is_plain(self) -> bool:
        """Whether all columns have numbers, and nothing is asked for, so that no text is needed."""
        return all(column.is_whole for column in self.columns) and not {"categories", "dates", "missing", "text"} & set(self.options)

    def numbers(self) -> Array:
        """Returns the columns of a plain table, in Fortran order; float32 if all columns are."""
        single = bool(self.columns) and all(column.values.dtype == np.float32 for column in self.columns)
        claim(self.rows * len(self.columns) * (4 if single else 8), "X", "the array of a table")
        whole = np.empty((self.rows, len(self.columns)), np.float32 if single else np.float64, order="F")
        for place, column in enumerate(self.columns):
            whole[:, place] = column.values
        return whole

    # -------------------------------------------------------------------------------------------------- text ----

    def write(self, file: int, beside: list[Column], known: Callable[[str], list[str] | None]) -> None:
        """Writes the text with a header. `known` returns the levels that a model has for a column, or None."""
        columns = [*self.columns, *beside]
        levels = [known(column.name) for column in self.columns]
        words = [None if level is None and place not in self.categories else level or [] for place, level in enumerate(levels)]
        words += [None] * (len(columns) - len(words))
        writers = [_writer(column, level) for column, level in zip(columns, words, strict=True)]
        if self.text is not None:
            writers[0] = _writer_of_texts(writers[0])
        _write(file, ",".join(_quoted(column.name) for column in columns) + "\n")
        ends, broken = [], False
        for first in range(0, self.rows, AT_ONCE):
            part = slice(first, min(first + AT_ONCE, self.rows))
            lines = [",".join(fields) for fields in zip(*(writer(part) for writer in writers), strict=True)]
            counts = [line.count("\n") for line in lines]
            broken = broken or any(counts)
            ends.append(np.array(counts))
            _write(file, "\n".join(lines) + "\n")
        if broken:
            breaks = np.concatenate(ends)
            self._lines = 2 + np.arange(self.rows) + np.cumsum(breaks) - breaks

    @property
    def breaks(self) -> bool:
        """Whether words have line ends, so that rows of the text are not its lines."""
        return self._lines is not None

    def row_of(self, line: int) -> int:
        """Returns the row that a line of the text, counted from 1, belongs to."""
        return line - 2 if self._lines is None else int(np.searchsorted(self._lines, line, side="right")) - 1


def _write(file: int, text: str) -> None:
    data = memoryview(text.encode())
    claim(len(data), "X", "the text of a table with words or dates")
    while data:
        data = data[os.write(file, data):]


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _writer(column: Column, levels: list[str] | None) -> Callable[[slice], Sequence[str]]:
    """Returns a function that makes the fields of some rows. `levels`: the column is read as words, these if a model has it."""
    if column.kind == "words":
        return lambda rows: _fields_of_words(column, rows)
    if column.kind == "dates":
        whole = column.values.astype("datetime64[D]")
        timed = bool((whole[~np.isnat(whole)] != column.values[~np.isnat(whole)]).any())
        return lambda rows: _fields_of_dates(column.part(rows), timed)
    false, true = ("0", "1") if levels is None else next((pair for pair in BOOLEANS if set(pair) & set(levels)), BOOLEANS[0])
    return lambda rows: _fields_of_numbers(column.part(rows), false, true)


def _writer_of_texts(fields: Callable[[slice], Sequence[str]]) -> Callable[[slice], Sequence[str]]:
    """Returns a function that makes the fields of texts, where a missing one has no words."""
    return lambda rows: ['""' if field == "NA" else field for field in fields(rows)]


def _fields_of_words(column: Column, rows: slice) -> list[str]:
    found = []
    for place, text in enumerate(column.values[rows]):
        if text is not None and "\0" in text:
            raise refuse("X", column.name, f"has {text!r:.60}, which has a zero byte", (rows.start or 0) + place)
        found.append("NA" if text is None else _quoted(text))
    return found


def _fields_of_dates(column: Column, timed: bool) -> list[str]:
    texts = np.datetime_as_string(column.values if timed else column.values.astype("datetime64[D]")).tolist()
    return ["NA" if text == "NaT" else text for text in texts]


def _fields_of_numbers(column: Column, false: str, true: str) -> list[str]:
    values, missing = column.values, column.missing
    if values.dtype.kind == "b":
        texts = [true if value else false for value in values.tolist()]
    else:
        texts = list(map(repr, (values.astype(np.float64) if values.dtype.kind == "f" else values).tolist()))
    if values.dtype.kind == "f":
        texts = ["NA" if text == "nan" else text for text in texts]
    return texts if missing is None else ["NA" if gap else text for text, gap in zip(texts, missing.tolist(), strict=True)]


# ----------------------------------------------------------------------------------------------------------- beside ----


BESIDE = ("target", "weights", "offset", "groups")


def _columns_beside(values: Any, what: str) -> list[Column]:
    """Returns a target, several of them, weights and the like as columns."""
    if is_table(values):
        return columns_of(values, what)
    if library_of(values) == "pandas" and hasattr(values, "to_frame"):
        return columns_of(values.to_frame(what if values.name is None else values.name), what)
    if library_of(values) == "polars":
        return [of_polars(values.name or what, values, what)]
    array = values if isinstance(values, np.ndarray) or hasattr(values, "tocsr") else np.asarray(values)
    if isinstance(array, np.ndarray) and array.ndim == 1 and array.dtype.kind in "OUM":
        return [of_array(what, np.array(values, object) if array.dtype.kind == "U" else array, what)]
    array = numbers_of(values, what)
    if array.ndim == 2 and (what == "target" or array.shape[1] == 1):
        return [of_array(what if array.shape[1] == 1 else f"{what}{k}", array[:, k], what) for k in range(array.shape[1])]
    if array.ndim != 1:
        raise BadArgument(f"{what}: bad input shape {array.shape}; it must have one number per row")
    return [of_array(what, array, what)]


def _are_columns(values: Any) -> bool:
    return isinstance(values, list) and len(values) > 0 and isinstance(values[0], Column)


@dataclass
class TableWith:
    """A table and what belongs to its rows."""

    table: Table
    whole: bool  #: the table has all columns that were given
    given: dict[str, Any]  #: by BESIDE; None: it has none
    target_name: Any

    @property
    def is_plain(self) -> bool:
        """Whether all are numbers."""
        return self.table.is_plain and all(column.is_whole for what in BESIDE for column in self._columns(what))

    def _target_names(self, count: int) -> list[str]:
        names = texts_of([self.target_name] if isinstance(self.target_name, str) else self.target_name, "target_name")
        if len(names) != count:
            raise BadArgument(f"target_name: {len(names)} names for {count} targets")
        return names

    def _columns(self, what: str) -> list[Column]:
        """Returns what belongs to rows as columns; arrays of numbers are none, since they need no look."""
        values = self.given[what]
        if values is None or (isinstance(values, np.ndarray) and values.dtype.kind in "fiub"):
            return []
        return values if _are_columns(values) else _columns_beside(values, what)

    def arrays(self) -> list[Any]:
        """Returns target, weights, offset and groups, all of numbers, as a dataset takes them."""
        return [np.column_stack([column.values for column in values]) if _are_columns(values) else values for values in self.given.values()]

    def columns(self) -> dict[str, list[Column]]:
        """Returns what belongs to the rows as columns of the text. Their names are no names of features."""
        found = {}
        taken = [column.name for column in self.table.columns]
        for what in BESIDE:
            values = self.given[what]
            made = [] if values is None else values if _are_columns(values) else _columns_beside(values, what)
            if what == "target" and self.target_name is not None:
                made = [replace(column, name=name) for column, name in zip(made, self._target_names(len(made)), strict=True)]
            found[what] = [replace(column, name=_apart(column.name, taken)) for column in made]
            for column in found[what]:
                if len(column.values) != self.table.rows:
                    raise BadArgument(f"Found input variables with inconsistent numbers of samples: {[self.table.rows, len(column.values)]} "
                                      f"({what} has one number per row)")
            if what != "target" and len(made) > 1:
                raise BadArgument(f"{what}: {len(made)} columns; it must have one number per row")
        return found


def _apart(name: str, taken: list[str]) -> str:
    """Returns a name without commas that is not taken, and takes it."""
    base = name.replace(",", " ") or "target"
    found = next(each for each in (base + "_" * k for k in itertools.count()) if each not in taken)
    taken.append(found)
    return found


def table_with(data: Any, beside: dict[str, Any], names: Any, target_name: Any, options: dict[str, Any]) -> TableWith:
    """Takes a table, or its columns, apart: features, and what is named as target, weights, offset and groups."""
    columns = data if isinstance(data, list) else columns_of(data, "X")
    if names is not None:
        if len(names := texts_of(names, "names")) != len(columns):
            raise BadArgument(f"names: {len(names)} names for {len(columns)} columns")
        columns = [replace(column, name=name) for column, name in zip(columns, names, strict=True)]
    given, left = dict(beside), list(columns)
    for what, value in beside.items():
        if isinstance(value, str):
            given[what] = _take(left, what, value)
    if isinstance(beside["target"], str) and target_name is None:
        target_name = [column.name for column in given["target"]]
    table = Table(left, options)
    return TableWith(table, len(table.columns) == len(columns), given, target_name)


def _take(columns: list[Column], what: str, value: str) -> list[Column]:
    """Takes the columns that a text names, one or several with commas between them, out of a list."""
    names = [column.name for column in columns]
    wanted = [value.strip(BLANKS)] if value.strip(BLANKS) in names else [name.strip(BLANKS) for name in value.split(",")]
    for name in wanted:
        if name not in names:
            raise BadArgument(f"{what}: '{name}' is no column of the table; its columns are {', '.join(names[:20])}{', ...' if len(names) > 20 else ''}")
    found = [columns[names.index(name)] for name in wanted]
    columns[:] = [column for column in columns if column.name not in wanted]
    return found


# ------------------------------------------------------------------------------------------------------------ loads ----


def load_table(given: TableWith, model: ModelColumns | None, load: Callable[[str, hawser_load], None]) -> None:
    """Loads a table with what belongs to its rows, for the columns of a model if there is one."""
    table = given.table
    if table.rows == 0 or not table.columns:
        raise BadArgument(f"Found array with 0 {'feature' if table.rows else 'sample'}(s) (shape=({table.rows}, {len(table.columns)})) "
                          "while a minimum of 1 is required.")
    names, beside = [column.name for column in table.columns], given.columns()
    chosen, how, error = Options(lib.hawser_data_rows()), hawser_load(), hawser_error()
    chosen.fill({key: value for key, value in table.options.items() if key in LASTING + OF_TEXT and key != "text"})
    check(lib.hawser_load_from_options(chosen.handle, byref(how), byref(error)), error)
    how.format, how.header, how.delimiter = _native.HAWSER_CSV, 1, b","
    how.target = name_bytes("target", ",".join(column.name for column in beside["target"]) or "none")
    how.outputs = len(beside["target"]) > 1
    how.text = None if table.text is None else name_bytes("text", table.text)
    for what in BESIDE[1:]:
        setattr(how, what, name_bytes(what, beside[what][0].name) if beside[what] else None)
    if model is None:
        how.categories = _listed(table.categories, names) or (b"none" if table.options.get("categories") == "none" else None)
        how.dates = _listed(table.dates, names)
    else:
        how.schema = model.schema or None
        model.fill(how)
    file = os.memfd_create("table", os.MFD_CLOEXEC)
    path = f"/proc/self/fd/{file}"
    try:
        table.write(file, [column for columns in beside.values() for column in columns], levels_of(model.schema if model else None))
        load(path, how)
    except Error as error_:
        raise _renamed(error_, file, given) from None
    finally:
        os.close(file)


def _listed(places: list[int], names: list[str]) -> bytes | None:
    """Returns a list of columns for an option: their numbers, where no name looks like one of them, else their names."""
    numbers = [str(place) for place in places]
    if not places:
        return None
    if set(numbers) & set(names):
        numbers = [names[place] for place in places]
        if any("," in name for name in numbers):
            raise BadArgument("X: some columns have numbers as names, and others have names with a comma; rename them")
    return ",".join(numbers).encode()


def _renamed(error: Error, file: int, given: TableWith) -> Error:
    """Returns an error that names row, column and value of the table in place of a place in its text."""
    found = re.match(f"/proc/self/fd/{file}:([0-9]+)(?::([0-9]+))?: (.*)", str(error), re.DOTALL)
    if found is None:
        return type(error)(re.sub("/proc/self/fd/[0-9]+", "X", str(error)))  # also in what another node reports
    line, at, text = int(found[1]), found[2], found[3].replace("--unseen", "unseen")
    where = f"X: row {given.table.row_of(line)}"
    if at is not None and given.table.row_of(line) >= 0 and not given.table.breaks:
        with os.fdopen(os.dup(file), "rb") as lines:
            lines.seek(0)
            fields = next(itertools.islice(lines, line - 1, None)).rstrip(b"\n")
        place = len(next(csv.reader([fields[:int(at)].decode(errors="replace")]))) - 1
        value = next(csv.reader([fields.decode()]))[place]
        names = [column.name for column in given.table.columns]
        where += f", column '{names[place]}'" if place < len(names) and "column" not in text else ""
        text = re.sub(r': ".*"$', f": {value!r:.60}", text, flags=re.DOTALL)
    return type(error)(f"{where}: {text}")


def schema_columns(schema: Any) -> Iterator[hawser_schema_column]:
    """Returns the columns of a schema, which may be NULL."""
    for place in range(lib.hawser_schema_count(schema) if schema else 0):
        column = hawser_schema_column()
        if lib.hawser_schema_at(schema, place, byref(column)):
            yield column


def levels_of(schema: Any) -> Callable[[str], list[str] | None]:
    """Returns a function that finds the levels which a schema has for a column, or None if it has no words."""
    found = {(column.name or b"").decode(): [column.levels[k].decode() for k in range(column.count)]
             for column in schema_columns(schema) if column.kind == _native.HAWSER_CATEGORY}
    return found.get


def is_plain(schema: Any) -> bool:
    """Returns whether all columns of a schema have numbers."""
    return all(column.kind == _native.HAWSER_NUMERIC for column in schema_columns(schema))


__all__ = ["BESIDE", "LASTING", "OPTIONS", "ModelColumns", "Table", "TableWith", "columns_of", "is_plain", "is_table", "levels_of", "load_table", "table_with"]
