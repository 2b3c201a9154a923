"""The memory that copies of given data may take: the `memory_limit` of a training counts before a copy is made."""
import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

import numpy as np

from ._errors import NoMemory


class _Allowance:
    def __init__(self, limit: int, taken: int) -> None:
        self.limit, self.taken = limit, taken


_current: ContextVar[_Allowance | None] = ContextVar("allowance", default=None)


@contextlib.contextmanager
def allow(limit: int | None, taken: int = 0) -> Iterator[None]:
    """Bounds the bytes of copies that are made within, in this thread. Of these `taken` have been made before. None: no bound."""
    token = _current.set(None if limit is None else _Allowance(limit, taken))
    try:
        yield
    finally:
        _current.reset(token)


def claim(count: int, what: str, why: str) -> None:
    """Counts a copy of `count` bytes that is about to be made. Raises NoMemory if it does not fit."""
    now = _current.get()
    if now is None:
        return
    if now.taken + count > now.limit:
        besides = f" besides {now.taken / 2**20:.1f} MiB of other copies" if now.taken else ""
        raise NoMemory(f"{what}: {why} takes {count / 2**20:.1f} MiB{besides}, but memory_limit is {now.limit / 2**20:.1f} MiB; give "
                       "float64 or float32 in the order that is read (docs/python.md), or raise memory_limit")
    now.taken += count


def left() -> int | None:
    """Returns the bytes that further copies may take. None: no bound."""
    now = _current.get()
    return None if now is None else now.limit - now.taken


def claim_frame(values: Any, what: str) -> None:
    """Counts the array that to_numpy() of a table makes, unless all columns lie in one array already, or it is a single column."""
    rows, cols = values.shape if len(getattr(values, "shape", ())) == 2 else (0, 0)
    if _current.get() is None or rows * cols == 0 or not hasattr(values, "columns"):
        return
    if hasattr(values, "iloc"):
        kinds = set(values.dtypes)
        kind = kinds.pop() if len(kinds) == 1 else None
        if isinstance(kind, np.dtype):
            ends = [values.iloc[:, place].to_numpy().base for place in (0, -1)]
            if ends[0] is not None and ends[0] is ends[1]:
                return
            claim(rows * cols * kind.itemsize, what, "the array of a table")
            return
    claim(rows * cols * 8, what, "the array of a table")


def claim_array(array: Any, what: str) -> None:
    """Counts the copy of an array of numpy as float64, unless it has floats that are read."""
    if isinstance(array, np.ndarray) and array.dtype not in (np.float64, np.float32):
        claim(array.size * 8, what, f"a copy of the type {array.dtype} as float64")


__all__ = ["allow", "claim", "claim_array", "claim_frame", "left"]
