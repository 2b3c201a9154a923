"""What nodes hold open together, a store or replicas: closed at the end of `with`, or of the process."""
import atexit
import os
import sys
import warnings
import weakref
from typing import Any, ClassVar, NoReturn, Self

from ._arguments import refuse_pickle


class Held:
    """Base of what a process opens with others. A process that was forked from it has no part in that."""

    _process: int
    _unclosed: ClassVar[str]  # the warning about one that was never closed

    def _is_open(self) -> bool:
        raise NotImplementedError

    def _close(self, waits: bool) -> None:
        """With `waits=False` it does not wait for the others, and their waits fail."""
        raise NotImplementedError

    def _is_own(self) -> bool:
        return self._is_open() and os.getpid() == self._process

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        if self._is_own():  # a process that was forked within `with` leaves it as it likes
            self._close(waits=kind is None)

    def __del__(self) -> None:
        if self._is_own():
            warnings.warn(self._unclosed, ResourceWarning, source=self, stacklevel=2)
            self._close(waits=False)

    def __reduce__(self) -> NoReturn:
        refuse_pickle(self)


opened: "weakref.WeakSet[Held]" = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    """After an exception the node leaves the others, which would wait for it."""
    failed = hasattr(sys, "last_value")
    for held in list(opened):
        if held._is_own():
            held._close(waits=not failed)


__all__ = ["Held", "opened"]
