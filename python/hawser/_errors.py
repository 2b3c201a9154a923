"""Exceptions, one for each failure of the library. Their text is the library's, which names options as keywords here."""

import contextvars
import ctypes
import logging
import os
import re
import signal
import sys
import warnings
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from . import _native
from ._library import library as lib
from ._native import hawser_error


# What moves a cursor, colours a screen, turns a line around or is no text. C escapes the same.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


class Error(Exception):
    """Any failure of Hawser. The text says what is wrong, where, and what to do.

    `run` is the result that a failed program has kept (`hawser.Program.keep`), or None. `model` is what a failed training has left, or None: the best
    certified model, or of a path, if a node was lost, the members that were finished.
    """

    run: object = None
    model: object = None

    def __str__(self) -> str:
        """Returns the text, in which control characters of a name or a value are escaped."""
        return _CONTROL.sub(lambda found: ascii(found[0])[1:-1], super().__str__())


class BadArgument(Error, ValueError):
    """An invalid argument of a call, such as an array of another length."""


class BadOption(Error, ValueError):
    """An unknown option, or a value that is out of bounds."""


class BadInput(Error, ValueError):
    """The data or a file are not what they should be."""


class FileError(Error, OSError):
    """The operating system failed to open, read, write or map a file."""


class NoMemory(Error, MemoryError):
    """An allocation failed, or would exceed the memory limit."""


class BadProgram(Error, RuntimeError):
    """A program breaks the model of states and units."""


class NotFinite(Error, ArithmeticError, ValueError):
    """NaN, infinity or an overflow, in the data or during the training."""


class Diverged(Error, ArithmeticError):
    """The training diverged. `model` is the best certified model that was reached, or None."""


class PeerLost(Error, ConnectionError):
    """Another node of the job ended or failed."""


class Timeout(Error, TimeoutError):
    """A wait passed its deadline."""


class InternalError(Error, RuntimeError):
    """A bug in Hawser; please report it."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C ended a training or a run. `model` or `run` is what was reached, or None if there was nothing yet.

    If nothing catches it, the process ends with the exit status of its signal: 130.
    """

    model: object = None
    run: object = None
    signal: int = signal.SIGINT

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)
        _set_exit_status()


def _set_exit_status() -> None:
    """Has the process end as after a KeyboardInterrupt, which Python does for that very class alone. Other hooks are kept."""
    before = sys.excepthook
    if isinstance(before, _Hook):
        return
    sys.excepthook = _Hook(before)


class _Hook:
    """What Python calls for an exception that nothing has caught."""

    def __init__(self, before: Callable[..., object]) -> None:
        self.before = before

    def __call__(self, kind: type[BaseException], error: BaseException, trace: Any) -> None:
        self.before(kind, error, trace)
        if isinstance(error, Interrupted) and not hasattr(sys, "ps1") and not sys.flags.interactive:
            raise SystemExit(128 + error.signal)


class ConvergenceWarning(UserWarning):
    """A training ended before its tolerance was reached."""


# The class that is raised: one that is scikit-learn's, too, once the estimators are loaded.
convergence_warning: type[ConvergenceWarning] = ConvergenceWarning


# Calls of C that texts about a store name, and what they are here.
CALLS = {"hawser_table_clock": "table.clock", "hawser_store_clock": "table.end_clock", "hawser_table_get": "table.get",
         "hawser_table_inc": "table.inc"}


def in_keywords(text: str) -> str:
    """Returns a text of the library with its options named as keywords, `--l1-ratio` as `l1_ratio`, and calls of a store as those of Python."""
    if "hawser_" in text:
        for call, here in CALLS.items():
            text = text.replace(call, here)
    text = re.sub(r"(?<![\w-])lambda=", "lambda_=", text)
    if "--" not in text:
        return text
    text = text.replace("--merge average; in a program, a damping of 1 / workers", 'merge="average"; in a program, damping="average"')
    text = re.sub(r"(?<![\w-])--lambda(?![\w-])", "lambda_", text)  # a word of Python
    found = ctypes.create_string_buffer(text.encode(errors="surrogateescape"))
    lib.hawser_name_keywords(found)
    return found.value.decode(errors="surrogateescape")


PACKAGE = os.path.dirname(__file__) + os.sep


# The words of warnings that have another name where the training was called from, or None if that has no such parameter: an estimator's.
words: contextvars.ContextVar[Mapping[str, str | None]] = contextvars.ContextVar("words", default=MappingProxyType({}))


def warn(text: str, category: type[Warning]) -> None:
    """Warns at the line that called the package: the caller cannot do anything about a line inside it."""
    for word, name in words.get().items():
        pattern = rf"(?<![\w-]){re.escape(word)}(?![\w-])"
        if name is None and re.search(pattern, text):  # advice that the caller cannot follow
            logging.getLogger("hawser").info("%s", text)
            return
        text = re.sub(pattern, name or "", text)
    text = in_keywords(text)
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)


CLASSES: dict[int, type[Error]] = {
    _native.HAWSER_BAD_ARGUMENT: BadArgument,
    _native.HAWSER_BAD_OPTION: BadOption,
    _native.HAWSER_BAD_INPUT: BadInput,
    _native.HAWSER_IO: FileError,
    _native.HAWSER_NO_MEMORY: NoMemory,
    _native.HAWSER_BAD_PROGRAM: BadProgram,
    _native.HAWSER_NOT_FINITE: NotFinite,
    _native.HAWSER_DIVERGED: Diverged,
    _native.HAWSER_PEER_LOST: PeerLost,
    _native.HAWSER_TIMEOUT: Timeout,
}


def text_of(error: hawser_error) -> str:
    return in_keywords(error.text.decode(errors="replace"))


def failure(status: int, error: hawser_error) -> Error:
    """Returns the exception of a status that is not HAWSER_OK."""
    return CLASSES.get(status, InternalError)(text_of(error))


def check(status: int, error: hawser_error) -> None:
    """Raises the exception of a status, unless it is HAWSER_OK."""
    if status != _native.HAWSER_OK:
        raise failure(status, error)


