"""Exceptions in units, merge functions and tests: how they end a run."""
import ctypes
import traceback
from collections.abc import Callable
from ctypes import POINTER
from typing import Any

import numpy as np

from .. import _native
from .._beside import Calls
from .._errors import Interrupted
from .._library import library as lib
from .._native import hawser_context, hawser_merging


class Running:
    """What the callbacks of a run share. The first exception of this process is what the run raises."""

    def __init__(self, stop: Callable[[], None], calls: Calls) -> None:
        self.stop = stop  # asks the run to end
        self.calls = calls  # of plain functions
        self.raised: BaseException | None = None
        self.units: list[str] = []  # by number, as in the program
        self.states: list[str] = []  # of each unit, as its note says them
        self.made: list[Any] = []  # hawser.programs.made.Made, of data that units make
        self.tests: list[tuple[str, bool]] = []  # what each compiled test belongs to, and its answer once the run has failed

    def begin(self) -> None:
        """Forgets the library's program that was made before, in the same run."""
        for known in (self.units, self.states, self.made, self.tests):
            known.clear()

    def end(self, error: BaseException, note: str) -> None:
        """Ends the run by an exception on the driver."""
        if error.__traceback__ is not None:
            traceback.clear_frames(error.__traceback__)
        if self.raised is None:
            self.raised = error
            error.add_note(note)
        self.stop()

    def fail(self, context: Any, number: int, error: BaseException) -> int:
        """Ends the run by an exception in a unit. Returns the status that the unit returns."""
        if error.__traceback__ is not None:
            traceback.clear_frames(error.__traceback__)  # their arrays are views of memory that the run frees
        if self.raised is None:
            self.raised = error
            error.add_note(f"in unit '{self.units[number]}' ({self.states[number]}), block {lib.hawser_block(context)} of "
                           f"{lib.hawser_blocks(context)}, clock {lib.hawser_clock(context)}")
        return unit_fail(context, raised_text(error))


def raised_text(error: BaseException) -> str:
    """Returns an exception in the words from which the other nodes make it again."""
    kind = type(error)
    if isinstance(error, Interrupted) and not error.args:
        error.args = ("it did not return, and a second signal ended it",)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    return f"raised {name}: {error}"


_unit_fail = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p)(
    ctypes.cast(lib.hawser_unit_fail, ctypes.c_void_p).value or 0)


def unit_fail(context: Any, text: str) -> int:
    address = ctypes.cast(context, ctypes.c_void_p)
    return int(_unit_fail(address, _native.HAWSER_BAD_PROGRAM, b"%s", text.encode(errors="replace")[:900]))


runs: dict[int, Running] = {}  # by the user pointer of their programs


def _caught(cell: int, kind: int, value: int, trace: int) -> None:
    """Takes the exception of compiled code. `cell` has the address of the function's argument, a status, the unit's number, and the user
    pointer. The number is -1 in a merge function, and -2 - N in test N, whose status is 1 for true and 2 for false."""
    words = (ctypes.c_int64 * 4).from_address(cell)
    error: Any = None
    for address, keep in ((value, True), (kind, False), (trace, False)):
        if address:
            found = ctypes.cast(address, ctypes.py_object)
            error = found.value if keep or (error is None and address == kind) else error
            ctypes.pythonapi.Py_DecRef(found)
    if isinstance(error, type):
        error = error()
    error.args = _own(error.args)
    for key, found in vars(error).items():
        setattr(error, key, _own(found))
    if words[2] <= -2:
        running = runs[words[3]]
        where, ends = running.tests[-2 - words[2]]
        running.end(error, f"in the test of {where}")
        words[1] = 1 if ends else 2
        return
    if words[2] < 0:
        fail_merge(ctypes.cast(words[0], POINTER(hawser_merging)).contents, error)
        return
    context = ctypes.cast(words[0], POINTER(hawser_context))
    words[1] = runs[lib.hawser_user(context)].fail(context, words[2], error)


def _own(value: Any) -> Any:
    """Returns what an exception of compiled code has, with copies of arrays, which are views of memory that the run frees."""
    if isinstance(value, tuple):
        return tuple(_own(each) for each in value) if type(value) is tuple else value
    return value.copy() if isinstance(value, np.ndarray) else value


def fail_merge(merging: hawser_merging, error: BaseException) -> None:
    """Ends the run by an exception in a merge function, which has no status: a state that is not finite fails."""
    running = runs[merging.user]
    if running.raised is None:
        running.raised = error
        error.add_note(f"in a merge function, clock {merging.clock}")
    for place in range(merging.count):
        merging.state[place] = float("nan")


caught = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(_caught)


__all__ = ["Running", "caught", "fail_merge", "raised_text", "runs", "unit_fail"]
