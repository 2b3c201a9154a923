"""Moving states: lines in parts that go from block to block, and the function that says which block has a part."""
import ctypes
import dataclasses
import hashlib
import operator
import traceback
from ctypes import POINTER, c_size_t
from typing import Any

import numpy as np

from .._errors import BadArgument, BadProgram
from .._native import hawser_owner, hawser_state_spec
from .._numbers import Array
from .code import Code
from .raised import Running

NOBODY = 0xFFFFFFFF  # a block that no job has: the library then fails the run
PARTS = 2  # of each block, if none are given: one is on its way while a block works on the other


class Owner(Code):
    """A function that says which block has a part."""

    noun = "owner function"

    def __init__(self, function: Any) -> None:
        super().__init__(function, False)
        if len(self.parameters) != 3:
            raise BadProgram(f"{self.where()}: an owner function has the parameters part, clock and blocks")


@dataclasses.dataclass
class Moving:
    """The lines and parts of a moving state."""

    offsets: Array | None = None  # int64: where each line begins; None: all are equally long
    parts: int | None = None
    cut: Array | None = None  # int64: the first line of each part, and the number of lines
    owner: Owner | None = None

    def terms(self) -> str:
        """Returns what must be the same on every node."""
        arrays = [hashlib.sha256(array.tobytes()).hexdigest() if array is not None else "" for array in (self.offsets, self.cut)]
        return repr((arrays, self.parts, self.owner and self.owner.digest()))

    def starts(self, shape: tuple[int, ...]) -> Array:
        """Returns where each line begins in a state of this shape, and at the end the number of numbers."""
        return self.offsets if self.offsets is not None else np.arange(shape[0] + 1, dtype=np.int64) * int(np.prod(shape[1:], dtype=np.int64))

    def cuts(self, starts: Array, blocks: int) -> Array:
        """Returns the first line of each part: those that are given, or such that parts have equally many numbers."""
        if self.cut is not None:
            return self.cut
        parts = self.parts or PARTS * blocks
        found: Array = np.searchsorted(starts, starts[-1] * np.arange(parts + 1) // parts).astype(np.int64)
        found[-1] = len(starts) - 1  # lines without numbers may come last
        return found

    def fill(self, spec: hawser_state_spec, name: str, starts: Array, blocks: int, running: Running, kept: list[Any]) -> None:
        """Sets the fields of a spec."""
        cut = self.cuts(starts, blocks)
        kept += [starts, cut]
        spec.lines, spec.parts = len(starts) - 1, len(cut) - 1
        spec.offsets, spec.cut = (ctypes.cast(array.ctypes.data, POINTER(c_size_t)) for array in (starts, cut))
        if self.owner is not None:
            spec.owner = owner_function_of(self.owner, name, running)
            kept.append(spec.owner)


def places_of(name: str, what: str, given: Any) -> Array:
    """Returns whole numbers from 0 that do not fall, the first of which is 0."""
    array = np.asarray(given)
    if array.ndim != 1 or not array.size or array.dtype.kind not in "iu" or array[0] != 0 or (array[1:] < array[:-1]).any() or array[-1] >= 2**59:
        raise BadArgument(f"state '{name}': {what} are whole numbers that begin with 0 and do not fall")
    return np.ascontiguousarray(array, np.int64).copy()


def moving_of(name: str, lines: int | None, offsets: Array | None, parts: Any, cut: Any, owner: Any) -> Moving:
    """Returns what was declared of a state. `lines`: how many there are; None: that depends on data."""
    if parts is not None and cut is not None:
        raise BadProgram(f"state '{name}': parts and cut contradict each other; give one")
    if parts is not None and not (isinstance(parts, (int, np.integer)) and 0 < parts < 2**32 - 1):
        raise BadArgument(f"state '{name}': parts is {parts!r}; give a multiple of the number of workers")
    cuts = None if cut is None else places_of(name, "cuts", cut)
    if cuts is not None and (len(cuts) < 2 or (lines is not None and cuts[-1] != lines)):
        raise BadArgument(f"state '{name}': its cuts end with {cuts[-1]}, and it has {lines} lines; the last cut is their number")
    return Moving(offsets, None if parts is None else int(parts), cuts, None if owner is None else Owner(owner))


def owner_function_of(owner: Owner, name: str, running: Running) -> Any:
    """Returns the function that the library calls. An exception ends the run."""
    def call(part: int, clock: int, blocks: int, _user: Any) -> int:
        try:
            with running.calls:
                found = owner.function(part, clock, blocks)
            try:
                block = operator.index(found)
            except TypeError:
                block = -1
            if not 0 <= block < blocks:
                raise BadProgram(f"{owner.where()}: it returns {found!r:.60}; the owner of a part is the number of a block, 0 to {blocks - 1}")
            return block
        except BaseException as error:
            if error.__traceback__ is not None:
                traceback.clear_frames(error.__traceback__)
            if running.raised is None:
                running.raised = error
                error.add_note(f"in the owner function of moving state '{name}', part {part}, clock {clock} of {blocks} blocks")
            return NOBODY
    return hawser_owner(call)


__all__ = ["Moving", "moving_of", "places_of"]
