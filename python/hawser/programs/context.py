"""What a plain unit sees of its run."""
import ctypes
from ctypes import POINTER, byref
from typing import Any

import numpy as np

from .. import _native
from .._errors import BadArgument, BadProgram
from .._library import library as lib
from .._memory import address_of, array_at
from .._native import hawser_batch, hawser_batches, hawser_chunk, hawser_error, hawser_moving_part
from .._numbers import Array
from .unit import COMBINE, NO_BATCH, TYPES, Known, Leave, no_batches, no_parts, part_of_data, wrong_name
from .views import Views


class Context:
    """What a unit sees of its run, as parameter `context`. Compiled and plain units have the same attributes and methods.

    Names of states and metrics are written out in the call. A method that waits may leave the unit, which then runs again or ends.
    """

    def __init__(self, pointer: Any, known: Known, views: Views, table: Array) -> None:
        self._pointer, self._known, self._views, self._table = pointer, known, views, table

    def _use(self) -> Any:
        if self._pointer is None:
            raise BadArgument(f"the context of {self._known.where} is used after the unit has returned")
        return self._pointer

    def _find(self, what: str, name: str) -> Any:
        found = self._known.find(what, name)
        if found is None:
            raise BadProgram(wrong_name(self._known, what, name))
        return found

    @staticmethod
    def _pass(status: int) -> None:
        if status != _native.HAWSER_OK:
            raise Leave(status)

    @property
    def block(self) -> int:
        """The number of this block, from 0."""
        return int(lib.hawser_block(self._use()))

    @property
    def blocks(self) -> int:
        """The number of blocks, which is that of workers."""
        return int(lib.hawser_blocks(self._use()))

    @property
    def clock(self) -> int:
        """The iteration of the innermost loop, from 0."""
        return int(lib.hawser_clock(self._use()))

    def first(self, name: str) -> int:
        """Returns which row (line, number) of the whole is the first of this block's part."""
        known, pointer, first = self._find("state", name), self._use(), ctypes.c_size_t()
        if known.kind == "data":
            return int(part_of_data(pointer, name).first)
        (lib.hawser_part_lines if known.by_line else lib.hawser_part)(pointer, name.encode(), byref(first))
        return first.value

    def metric(self, name: str) -> float:
        """Returns the combined value of a metric as of an earlier clock; NaN before the first."""
        self._find("metric", name)
        return float(lib.hawser_metric(self._use(), name.encode()))

    def report(self, name: str, value: float) -> None:
        """Reports this block's share of a metric."""
        self._find("metric", name)
        self._pass(lib.hawser_report(self._use(), name.encode(), float(value)))

    def gain(self, name: str) -> float:
        """Returns the gain of a replicated state, sigma'."""
        self._find("state", name)
        return float(lib.hawser_gain(self._use(), name.encode()))

    def damping(self, name: str) -> float:
        """Returns the damping of a replicated state, gamma."""
        self._find("state", name)
        return float(lib.hawser_damping(self._use(), name.encode()))

    def batches(self, name: str, size: int) -> int:
        """Returns how many batches of `size` rows an epoch has, of this block's rows of data: at least 1, which is empty if there are no rows."""
        return int(lib.hawser_batches_count(byref(self._batches(name, size, True))))

    def batch(self, name: str, size: int, number: int, shuffle: bool = True) -> Array:
        """Returns which of this block's rows of data are in a mini-batch, as int64. Batches are counted from the first one of the first epoch on.

        Each epoch has every row once, in an order of its own that depends on seed, block, epoch and the number of rows alone, or, without
        `shuffle`, in theirs. So `context.batch("rows", 64, context.clock)` takes a batch per clock, and nothing must be remembered.
        """
        iterator, error, batch = self._batches(name, size, shuffle), hawser_error(), hawser_batch()
        if number < 0 or lib.hawser_batches_seek(byref(iterator), int(number), byref(error)) != _native.HAWSER_OK:
            raise ValueError(NO_BATCH)
        rows = np.empty(min(iterator.rows, iterator.size), np.int64)
        place = ctypes.cast(rows.ctypes.data, POINTER(ctypes.c_size_t))
        if lib.hawser_batches_next(byref(iterator), place, byref(batch), byref(error)) != _native.HAWSER_OK:
            raise ValueError(NO_BATCH)
        return rows[:batch.count]

    def _batches(self, name: str, size: int, shuffle: bool) -> hawser_batches:
        known, pointer = self._find("state", name), self._use()
        if known.by not in ("row", "all"):
            raise BadProgram(no_batches(name))
        if size < 1:
            raise ValueError(NO_BATCH)
        seed = ctypes.c_uint64.from_address(lib.hawser_user(pointer)).value
        return hawser_batches(rows=part_of_data(pointer, name).rows, size=int(size), seed=seed, stream=self.block,
                              in_order=not shuffle)

    def random(self) -> int:
        """Draws 64 bits, which depend on seed, unit, block, clock and draw alone."""
        return int(lib.hawser_random(self._use()))

    def random_below(self, bound: int) -> int:
        """Draws a whole number below a bound above 0."""
        if bound <= 0:
            raise ValueError("random_below: the bound must be above 0")
        return int(lib.hawser_random_below(self._use(), int(bound)))

    def uniform(self) -> float:
        """Draws a number in [0, 1)."""
        return float(lib.hawser_random_uniform(self._use()))

    def stopping(self) -> bool:
        """Returns whether the run has been asked to end."""
        return bool(lib.hawser_stopping(self._use()))

    def allreduce(self, values: Array, by: str = "sum") -> None:
        """Combines float64 numbers of all blocks in place, by "sum", "max" or "min". Waits for all blocks."""
        if not (isinstance(values, np.ndarray) and values.dtype == np.float64 and values.flags.c_contiguous and by in COMBINE
                and values.flags.writeable and by != "last"):
            raise BadArgument("allreduce: give a contiguous array of float64, and \"sum\", \"max\" or \"min\"")
        self._pass(lib.hawser_allreduce(self._use(), ctypes.cast(values.ctypes.data, POINTER(ctypes.c_double)), values.size, COMBINE[by]))

    def touch(self, name: str, first: int, count: int) -> None:
        """Declares which numbers (of the whole, flat) of an updated state have changed, so that no others are compared.

        Changes since the last `exchange` or `publish` that no call covers are lost, if there is one.
        """
        self._find("state", name)
        self._pass(lib.hawser_touch(self._use(), name.encode(), first, count))

    def publish(self, name: str) -> None:
        """Sends the changes of one state now."""
        self._find("state", name)
        self._pass(lib.hawser_publish(self._use(), name.encode()))

    def exchange(self) -> None:
        """Sends the changes made so far, and merges updates that have arrived (hawser_yield)."""
        self._pass(lib.hawser_yield(self._use()))

    def _keys(self, keys: Array, name: str) -> Any:
        if not (isinstance(keys, np.ndarray) and keys.dtype == np.uint64 and keys.ndim == 1 and keys.flags.c_contiguous):
            raise BadArgument(f"the keys of '{name}' must be a contiguous array of uint64 of one dimension")
        return ctypes.cast(keys.ctypes.data, POINTER(ctypes.c_uint64))

    def inc(self, name: str, keys: Array, values: Array) -> None:
        """Adds values to numbers of a replicated state, or applies a stored state's function. `keys` are uint64 and ascend."""
        known = self._find("state", name)
        if not (isinstance(values, np.ndarray) and values.dtype == known.dtype and values.shape == keys.shape
                and values.flags.c_contiguous):
            raise BadArgument(f"inc: the values for '{name}' must be a contiguous array of {known.dtype}, one for each key")
        self._pass(lib.hawser_inc_as(self._use(), name.encode(), self._keys(keys, name), TYPES[known.dtype], values.ctypes.data, values.size))

    def prefetch(self, name: str, keys: Array) -> None:
        """Starts to read the numbers of a stored state that have these keys, which ascend."""
        self._find("state", name)
        self._pass(lib.hawser_prefetch(self._use(), name.encode(), self._keys(keys, name), 0, keys.size))

    def prefetch_wait(self, name: str, count: int) -> Array:
        """Waits for the oldest prefetch, of `count` keys, and returns its numbers, until the next call."""
        known = self._find("state", name)
        values = ctypes.c_void_p()
        self._pass(lib.hawser_prefetch_wait_as(self._use(), name.encode(), TYPES[known.dtype], byref(values)))
        return self._views.array(name, values.value or 0, known.dtype, (count,))

    def next_chunk(self, name: str) -> tuple[int, int, Array]:
        """Returns block, first line and lines of the next chunk of a stored state, until the next call; block -1: there are no more."""
        known, chunk = self._find("state", name), hawser_chunk()
        self._pass(lib.hawser_next_chunk(self._use(), name.encode(), byref(chunk)))
        if chunk.block == 0xFFFFFFFF:
            return -1, 0, np.empty((0, known.width), known.dtype)
        lines = self._views.array(name, chunk.values or 0, known.dtype, (chunk.count // known.width, known.width))
        return chunk.block, chunk.first // known.width, lines

    def next_part(self, name: str) -> Any:
        """Returns number, first line and lines of the next part of a moving state that this block has in this clock; number -1: there are no more.

        The lines are an array (lines, numbers of a line), which may be written if the state is in the unit's updates. If they have different lengths
        (`offsets`), it is flat, and a fourth value says where each line begins in it, with its size at the end. Waits until the part is here.
        """
        known, part = self._find("state", name), hawser_moving_part()
        if known.kind != "moving":
            raise BadProgram(no_parts(known))
        self._pass(lib.hawser_next_part(self._use(), name.encode(), byref(part)))
        none = part.number == 0xFFFFFFFF
        number, shape = -1 if none else part.number, (part.lines, known.width) if known.width else (part.count,)
        values = self._views.array(name, part.values or 0, known.dtype, shape, writable=known.writable)
        if known.width:
            return number, part.first_line, values
        starts = array_at(int(self._table[known.slot]) + 8 * part.first_line, "int64", (part.lines + 1,))
        return number, part.first_line, values, starts - starts[0]


__all__ = ["Context"]
