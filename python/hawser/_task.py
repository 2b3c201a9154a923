"""Tasks of a store, and the queue in which the library reports that they have ended."""
import asyncio
import contextlib
import ctypes
import itertools
import os
import select
import threading
import time
from collections.abc import Callable, Generator
from ctypes import byref
from typing import Any, NoReturn

import numpy.typing as npt

from . import _errors, _native
from ._arguments import refuse_pickle
from ._beside import MOST_WAIT
from ._errors import BadArgument, Timeout, failure
from ._library import library as lib
from ._native import hawser_ended, hawser_error

Array = npt.NDArray[Any]
Loop = asyncio.AbstractEventLoop


class Task:
    """A push or a pull that a store has started. Several may be in progress; each is waited for, awaited, or left alone.

    >>> import asyncio, hawser, numpy
    >>> async def main(table):
    ...     await table.push(numpy.ones(3))
    ...     return await table.pull()
    >>> with hawser.Store() as store:
    ...     asyncio.run(main(store.table("w", 3)))
    array([1., 1., 1.])
    """

    __slots__ = ("__weakref__", "_futures", "_kept", "_oldest", "_out", "_queue", "_status", "_text", "number", "what")

    def __init__(self, queue: "Queue", what: str, kept: tuple[Any, ...], out: Array | None = None) -> None:
        self.what = what  #: such as "pull of 'w'"
        self.number = 0  #: as the library counts the tasks of this node
        self._queue, self._kept, self._out = queue, kept, out
        self._oldest = ctypes.c_uint64()
        self._status: int | None = None
        self._text = ""
        self._futures: list[tuple[Loop, asyncio.Future[None]]] = []

    @property
    def ended(self) -> bool:
        """Whether the task has ended."""
        if self._status is None:
            self._queue.collect()
        return self._status is not None

    @property
    def oldest(self) -> int:
        """The number of clocks of every worker that the pulled values contain at least. The task must have ended."""
        self._result()
        return int(self._oldest.value)

    def wait(self, timeout: float | None = None) -> Array | None:
        """Waits until the task has ended. Returns what a pull has read, and None after a push. Raises what made the task fail.

        `timeout` is in seconds; None is the store's. After a Timeout or Ctrl-C the task goes on: its arrays stay in use, and it
        can be waited for again.
        """
        if not self.ended:
            self._queue.wait(lambda: self._status is not None, timeout, self.what)
        return self._result()

    def __await__(self) -> Generator[Any, None, Array | None]:
        """Waits in the running event loop, as `wait` does, without a limit. A cancelled await leaves the task as it is."""
        if not self.ended:
            yield from self._queue.wait_in_loop(self).__await__()
        return self._result()

    def _result(self) -> Array | None:
        if self._status is None:
            raise BadArgument(f"the {self.what} has not ended; wait for it")
        if self._status != _native.HAWSER_OK:
            self._queue.failed.discard(self)
            raise _errors.CLASSES.get(self._status, _errors.InternalError)(self._text)
        return self._out

    def _end(self, status: int, text: str) -> None:
        self._status, self._text, self._kept = status, text, ()
        if status != _native.HAWSER_OK:
            self._out = None  # the library writes into it no more, and its numbers are a mixture

    def __reduce__(self) -> NoReturn:
        refuse_pickle(self)

    def __repr__(self) -> str:
        state = "in progress" if self._status is None else "done" if self._status == _native.HAWSER_OK else "failed"
        return f"<hawser.Task {self.number}: {self.what}, {state}>"


class Queue:
    """The ended tasks of one store. Any thread may take them out, and ends the tasks of all.

    Of the threads that wait, one polls the descriptor, and the others wait for that one. Event loops poll it themselves.
    """

    def __init__(self, handle: Any, timeout: float) -> None:
        self.timeout = timeout
        self.tasks: dict[int, Task] = {}  # in progress; they keep their arrays. The key of a flush is below 0
        self.failed: set[Task] = set()  # no one has seen their failure
        self._handle, self._process = handle, os.getpid()
        self._descriptor = int(lib.hawser_store_descriptor(handle))
        self._numbers = itertools.count(1)
        self._reading = threading.Lock()  # guards the next two
        self._record, self._error = hawser_ended(), hawser_error()
        self._changed = threading.Condition()  # guards what follows
        self._loops: dict[Loop, int] = {}  # awaits in each
        self._polled = False  # a thread polls
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._poll = select.poll()
        for descriptor in (self._descriptor, self._wake):
            self._poll.register(descriptor, select.POLLIN)

    def start(self, task: Task, call: Callable[[Any, Any, Any], int]) -> Task:
        """Starts a task by `call`, which gets the number under which the library reports its end, and places for number and error."""
        self.collect()  # so that records are few, even if no one waits
        key, number, error = next(self._numbers), ctypes.c_uint64(), hawser_error()
        self.tasks[key] = task  # first, because the task may end before the call returns
        try:
            status = call(key, byref(number), byref(error))
        finally:
            task.number = number.value
            if not number.value:  # Ctrl-C may come before or after the start
                self.tasks.pop(key, None)
        if status != _native.HAWSER_OK:
            raise failure(status, error)
        return task

    def start_unnamed(self, task: Task, call: Callable[[Any, Any], int]) -> Task:
        """Starts a task whose records have its number alone, which no thread may see before it is known here."""
        number, error = ctypes.c_uint64(), hawser_error()
        with self._reading:
            status = call(byref(number), byref(error))
            if status == _native.HAWSER_OK:
                task.number = number.value
                self.tasks[-task.number] = task
        if status != _native.HAWSER_OK:
            raise failure(status, error)
        return task

    # ----------------------------------------------------------------------------------------------- reading ----

    def check_process(self) -> None:
        """Refuses a forked child: the queue's descriptors are the parent's, and no thread of the store is in the child."""
        if os.getpid() != self._process:
            raise BadArgument(f"the store belongs to process {self._process}, which has forked this one")

    def collect(self) -> None:
        """Ends the tasks of all records that are in the queue."""
        self.check_process()
        with self._reading:
            self._settle()  # a record at which Ctrl-C came
            while self._handle and lib.hawser_store_ended(self._handle, byref(self._record), byref(self._error)):
                self._settle()

    def _settle(self) -> None:
        if not self._record.task:
            return
        if self._record.kind == _native.HAWSER_ENDED_TASK:
            status, text = self._record.status, ""
            if status != _native.HAWSER_OK:
                text = _errors.text_of(self._error) or lib.hawser_status_name(status).decode()
                self._error.text = b""
            self._end(self._record.user or -self._record.task, status, text)
        self._record.task = 0

    def _end(self, key: int, status: int, text: str) -> None:
        task = self.tasks.get(key)
        if task is None:
            return
        with self._changed:
            task._end(status, text)
            if status != _native.HAWSER_OK:
                self.failed.add(task)
            self.tasks.pop(key, None)
            for loop, future in task._futures:
                _call_in(loop, _finish, future)
            self._notify()

    def _notify(self) -> None:
        self._changed.notify_all()
        if self._polled:
            os.eventfd_write(self._wake, 1)

    # ----------------------------------------------------------------------------------------------- threads ----

    def wait(self, is_over: Callable[[], bool], timeout: float | None, what: str) -> None:
        """Waits until `is_over`, which a record makes true. Ctrl-C ends the wait."""
        seconds = self.timeout if timeout is None else timeout
        deadline = time.monotonic() + seconds
        while True:
            self.collect()
            with self._changed:
                if is_over():
                    return
                if not self._handle:
                    raise BadArgument("the store was closed")
                left = min(deadline - time.monotonic(), MOST_WAIT)
                if left <= 0:
                    raise Timeout(f"the {what} has not ended for {seconds:.3g} s")
                if self._polled:
                    self._changed.wait(left)
                    continue
                self._polled = True
            try:
                self._poll.poll(left * 1000)
            finally:
                with self._changed:
                    self._polled = False
                    with contextlib.suppress(BlockingIOError):
                        os.eventfd_read(self._wake)
                    self._changed.notify_all()

    # ------------------------------------------------------------------------------------------- event loops ----

    async def wait_in_loop(self, task: Task) -> None:
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        entry = loop, future
        with self._changed:
            if task._status is not None:
                return
            if not self._handle:
                raise BadArgument("the store was closed")
            task._futures.append(entry)
            self._loops[loop] = self._loops.get(loop, 0) + 1
            if self._loops[loop] == 1:
                loop.add_reader(self._descriptor, self.collect)
        try:
            await future
        finally:
            with self._changed:
                task._futures.remove(entry)
                self._forget(loop)

    def _forget(self, loop: Loop) -> None:
        """Notes that an await of the loop is over."""
        left = self._loops.get(loop, 0) - 1
        if left > 0:
            self._loops[loop] = left
        elif left == 0:
            del self._loops[loop]
            if not loop.is_closed():
                loop.remove_reader(self._descriptor)

    # ----------------------------------------------------------------------------------------------- closing ----

    def close(self) -> None:
        """Takes out what has ended, and ends all waits. The library may close the descriptor then."""
        self.collect()
        with self._reading:
            self._handle = None
        with self._changed:
            loops, self._loops = list(self._loops), {}
            self._notify()
            while self._polled:
                self._changed.wait(MOST_WAIT)
        for loop in loops:
            _remove_reader(loop, self._descriptor)

    def end_all(self, status: int, text: str) -> None:
        """Ends the tasks whose records were not read. The library uses their arrays no more."""
        for key in list(self.tasks):
            self._end(key, status, text)
        with self._changed:
            if self._wake >= 0:
                os.close(self._wake)
            self._wake = -1


def _finish(future: "asyncio.Future[None]") -> None:
    if not future.done():  # it may have been cancelled
        future.set_result(None)


def _running() -> Loop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _call_in(loop: Loop, call: Callable[..., Any], *arguments: Any) -> None:
    """Calls in the thread of a loop, unless the loop was closed."""
    if loop is _running():
        call(*arguments)
        return
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(call, *arguments)


def _remove_reader(loop: Loop, descriptor: int) -> None:
    """Takes a descriptor, which will be closed, out of a loop."""
    removed = threading.Event()

    def remove() -> None:
        loop.remove_reader(descriptor)
        removed.set()

    if loop.is_closed():
        return
    if loop is _running() or not loop.is_running():
        remove()
        return
    _call_in(loop, remove)
    removed.wait(1)


__all__ = ["Queue", "Task"]
