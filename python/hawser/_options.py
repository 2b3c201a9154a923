"""Keyword options, through the option rows of the library."""
import ctypes
import functools
import os
from collections.abc import Collection, Mapping
from ctypes import POINTER, byref
from typing import Any

import numpy as np

from . import _native
from ._arguments import name_bytes
from ._errors import BadOption, check
from ._library import library as lib
from ._native import hawser_error, hawser_option, hawser_options

# A keyword is stronger than a variable, which fills only what was not given.
KEYWORD = _native.HAWSER_FROM_CALL


def text_of_value(key: str, value: Any) -> str:
    """Returns a value as the text that the library reads."""
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        value = value.item()
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return value
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)
    if isinstance(value, Mapping):
        return ",".join(f"{name}={text_of_value(key, each)}" for name, each in value.items())
    if isinstance(value, (list, tuple, range, np.ndarray)):
        if key == "path" and len(value) == 1:  # a list of one whole number would be read as a count
            return text_of_value(key, float(value[0]))
        return ",".join(text_of_value(key, each) for each in value)
    raise BadOption(f"{key}: a {type(value).__name__} is no value of an option; give a number, a text, True, False or a list")


def key_of(keyword: str) -> str:
    """Returns the option of a keyword: memory_limit is memory-limit, and lambda_ is lambda."""
    return keyword.rstrip("_").replace("_", "-")


def _key_of_variable(variable: bytes) -> str:
    return variable[len("HAWSER_"):].decode(errors="replace").lower().replace("_", "-")


def rows_of(table: Any) -> list[hawser_option]:
    """Returns the rows of a table, which ends with a row without a key."""
    rows: list[hawser_option] = []
    while table[len(rows)].key is not None:
        rows.append(table[len(rows)])
    return rows


def keys_of(table: Any) -> set[str]:
    return {row.key.decode() for row in rows_of(table) if row.key is not None}


DATA_KEYS = keys_of(lib.hawser_data_rows())
JOB_KEYS = keys_of(lib.hawser_job_rows())
JOB_OF_DATA = {"memory-limit", "threads"}  # of DATA_KEYS, options that a job has, too


@functools.cache
def _known_keys() -> set[str]:
    """Returns the options of jobs, of data and of all algorithms."""
    keys = JOB_KEYS | DATA_KEYS
    index = 0
    while algorithm := lib.hawser_algorithm_at(index):
        keys |= keys_of(algorithm.contents.rows)
        index += 1
    return keys


class Options:
    """A set of values over some tables of rows. Not thread-safe."""

    def __init__(self, *tables: Any) -> None:
        self._tables = (POINTER(hawser_option) * (len(tables) + 1))(*tables)  # a last one that is NULL
        self.handle = POINTER(hawser_options)()
        error = hawser_error()
        check(lib.hawser_options_new(self._tables, byref(self.handle), byref(error)), error)

    def __del__(self) -> None:
        if getattr(self, "handle", None):
            lib.hawser_options_free(self.handle)

    def fill(self, keywords: Mapping[str, Any], source: int = KEYWORD) -> None:
        """Sets each keyword that is not None."""
        error = hawser_error()
        for keyword, value in keywords.items():
            if value is None:
                continue
            key = key_of(keyword)
            if "\0" in keyword:
                raise BadOption(f"{keyword!r:.60}: the name of an option has a zero byte")
            status = lib.hawser_options_set(self.handle, key.encode(), name_bytes(keyword, text_of_value(key, value)), source,
                                            f"{keyword}=".encode(), byref(error))
            check(status, error)

    def read_environment(self, variables: Mapping[bytes, bytes] | None = None, without: Collection[str] = ()) -> None:
        """Reads the variables HAWSER_KEY, by default of this process, except those of the options `without`. One that only another algorithm
        has is skipped, since it is meant for that."""
        variables, error = os.environb if variables is None else variables, hawser_error()
        for name in variables:
            if not name.startswith(b"HAWSER_") or name == b"HAWSER_LIBRARY" or _key_of_variable(name) in without:
                continue
            one = (ctypes.c_char_p * 2)(name + b"=" + variables[name], None)
            status = lib.hawser_options_environment(self.handle, one, byref(error))
            if status == _native.HAWSER_BAD_OPTION and self._is_foreign(name):
                continue
            check(status, error)

    def _is_foreign(self, variable: bytes) -> bool:
        key = _key_of_variable(variable)
        mine = self.rows()
        return key not in mine and key in {each.lower() for each in _known_keys()} | COMMAND_KEYS

    def rows(self) -> set[str]:
        found: set[str] = set()
        while row := lib.hawser_options_row(self.handle, len(found)):
            found.add(row.contents.key.decode())
        return found

    def text(self, key: str) -> str | None:
        value = lib.hawser_options_text(self.handle, key.encode())
        return value.decode() if value is not None else None


# Options of the command alone, which may stand in the environment of a shell.
COMMAND_KEYS = {
    "output", "init", "init-if-exists", "validation", "json", "quiet", "trace", "plot", "log-view", "log-json", "config",
    "help", "version", "id", "proba", "labels", "link", "distances", "unseen", "peek",
}

__all__ = ["DATA_KEYS", "JOB_KEYS", "Options", "key_of", "keys_of", "rows_of", "text_of_value"]
