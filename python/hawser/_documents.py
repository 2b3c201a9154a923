"""Texts in memory, read as a file of text is."""
import os
import re
from collections.abc import Iterable
from typing import Any

from ._errors import BadArgument, Error
from ._numbers import numbers_of


class Documents(os.PathLike):  # type: ignore[type-arg]
    """Texts of this process as a file of text, one document each: `hawser.Dataset(hawser.Documents(texts))`, and likewise for `train`,
    `model.predict` and wherever else the path of a file is taken. Its columns are the words of the texts, as of files with format="text".

    A line break in a text is read as a blank. The texts are copied.

    >>> import hawser
    >>> data = hawser.Dataset(hawser.Documents(["A cat, a dog", "The cat"]), stop_words="english")
    >>> data.names, data.shape
    (['cat', 'dog'], (2, 2))
    """

    def __init__(self, texts: Iterable[str]) -> None:
        if isinstance(texts, (str, bytes)):
            raise BadArgument("texts: give a list of texts, and not one text")
        number = -1
        self._file = os.memfd_create("documents", os.MFD_CLOEXEC)
        with os.fdopen(os.dup(self._file), "wb") as out:
            for number, text in enumerate(texts):
                if not isinstance(text, str):
                    raise BadArgument(f"texts: item {number} is {type(text).__name__}, and not a text")
                try:
                    out.write(text.replace("\r", " ").replace("\n", " ").encode() + b"\n")
                except UnicodeEncodeError as error:
                    raise BadArgument(f"texts: item {number} cannot be written as UTF-8: {error}") from None
        if number < 0:
            raise BadArgument("texts: the list is empty")

    def __fspath__(self) -> str:
        return f"/proc/self/fd/{self._file}"

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            os.close(self._file)


def numbers_beside(data: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Returns the options of a load, with numbers of the rows of documents as files of a line per row."""
    if not isinstance(data, Documents):
        return dict(options)
    found = {"format": "text", **options}
    for key in ("target", "weights", "offset"):
        value = found.get(key)
        if value is not None and not isinstance(value, (str, os.PathLike)):
            found[key] = Documents(repr(float(number)) for number in numbers_of(value, key).ravel())
    return found


def named_by_caller(error: Error, data: Documents) -> Error:
    """Returns an error that names texts and numbers as such, and not the files in memory that have them."""
    text = str(error).replace(f"{os.fspath(data)}:", "texts:")
    return type(error)(re.sub(r"/proc/self/fd/[0-9]+:", "numbers beside them:", text))


__all__ = ["Documents", "named_by_caller", "numbers_beside"]
