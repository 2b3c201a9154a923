"""Calls of the library in the main thread, where signals must reach Python: long ones in a thread beside it, short ones in the thread itself."""
import contextlib
import ctypes
import importlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

from ._errors import Error, Interrupted

# Seconds that a wait of the main thread takes at most, after which it goes on waiting: a signal that comes just before a wait begins, or to another
# thread, is not seen before its end.
MOST_WAIT = 0.5


class Calls:
    """Calls of the user's Python functions, by the library on its own threads. As a context it is one call."""

    def __init__(self) -> None:
        self.lock, self.ended = threading.Lock(), False
        self.threads: dict[int, int] = {}  # calls by thread

    def __enter__(self) -> None:
        thread = threading.get_ident()
        with self.lock:
            self.threads[thread] = self.threads.get(thread, 0) + 1

    def __exit__(self, *_: object) -> None:
        thread = threading.get_ident()
        with self.lock:
            self.threads[thread] -= 1
            if self.threads[thread] == 0:
                del self.threads[thread]
                if self.ended:
                    _raise_in(thread, None)  # that was not raised in time is not raised later

    def end(self) -> None:
        """Raises Interrupted in functions that have not returned. Any thread."""
        with self.lock:
            self.ended = True
            for thread in self.threads:
                _raise_in(thread, Interrupted)


def _raise_in(thread: int, kind: type[BaseException] | None) -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), None if kind is None else ctypes.py_object(kind))


def run_beside(work: Callable[[], None], cancel: Callable[[], None], insist: Callable[[], None] | None = None) -> bool:
    """Runs `work`, raises what it raises, and returns whether Ctrl-C was pressed, upon which `cancel` asks it to end. If it is pressed again, so
    does `insist`. What another signal's handler raises ends the work in the same way, and is raised after it.

    Python gives signals to the main thread alone, between its own instructions; so the call runs in another thread. In any other
    thread than the main one, the call runs in that.
    """
    if sys.is_finalizing():
        raise Error("the interpreter is ending, and can begin nothing that takes a thread")
    if threading.current_thread() is not threading.main_thread():
        work()
        return False
    done, raised, by_handler = threading.Event(), list[BaseException](), list[BaseException]()

    def run() -> None:
        try:
            work()
        except BaseException as error:
            raised.append(error)
        finally:
            done.set()

    thread = threading.Thread(target=run, name="hawser", daemon=True)
    pressed = asked = 0
    try:
        thread.start()
    except KeyboardInterrupt:  # while it waits for the thread to begin, which may not have come about
        pressed = 1
    except RuntimeError as error:
        raise Error(f"no thread can begin: {error}") from error
    while True:
        try:
            while asked < pressed + len(by_handler):  # a press while it asks is one more
                asked += 1
                cancel()
                if asked > 1 and insist is not None:
                    insist()
            if done.wait(MOST_WAIT):
                break
            if asked and not thread.is_alive():
                return True
        except KeyboardInterrupt:
            pressed += 1
        except BaseException as error:
            by_handler.append(error)
    thread.join()
    if by_handler:
        raise by_handler[0]
    if raised and not pressed:
        raise raised[0]
    return pressed > 0


class _Wakeup:
    """A pipe to which Python writes when a signal has come, while a short call runs."""

    def __init__(self) -> None:
        self.ends: tuple[int, int] | None = None
        self.handler: Any = None  # of Ctrl-C, while a call runs

    def open(self) -> tuple[int, int]:
        """Returns both ends. The pipe is made once per process."""
        if self.ends is None:
            self.ends = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        return self.ends

    def empty(self) -> None:
        assert self.ends is not None
        with contextlib.suppress(BlockingIOError):
            while os.read(self.ends[0], 4096):
                pass

    def forget(self) -> None:
        """In a forked child: the pipe is the parent's, and a call that another thread has in progress does not go on here."""
        if self.ends is None:
            return
        ends, self.ends = self.ends, None
        if self.handler is not None:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGINT, self.handler)
            self.handler = None
        for end in ends:
            os.close(end)


_wakeup = _Wakeup()
os.register_at_fork(after_in_child=_wakeup.forget)
# Signals besides Ctrl-C that may have a handler. The module signal makes enumerations of what this one has, which takes 0.1 ms for all of them.
_OTHERS = tuple(int(number) for number in signal.valid_signals() - {signal.SIGINT, signal.SIGKILL, signal.SIGSTOP})
_signal: Any = importlib.import_module("_signal")
_is_none = (int(signal.SIG_DFL), int(signal.SIG_IGN), None).__contains__  # of what signals without a handler of Python have


def _is_plain() -> bool:
    """Returns whether this is the main thread, and Ctrl-C the only signal with a handler of Python."""
    return (threading.current_thread() is threading.main_thread() and not sys.is_finalizing() and not _is_none(_signal.getsignal(signal.SIGINT))
            and all(map(_is_none, map(_signal.getsignal, _OTHERS))))


def run_here(work: Callable[[int], None], was_ended: Callable[[], bool]) -> bool | None:
    """Runs `work`, which takes some milliseconds, in the main thread: to begin a thread and to wait for it may take longer than that. Returns whether Ctrl-C
    was pressed. None: run_beside must do the work, from its beginning.

    `work` gets a descriptor, and ends early once that can be read: Ctrl-C was pressed. Its handler is called after the work, and what that raises is
    raised, except KeyboardInterrupt. If it raises nothing, or if something else has ended the work, as `was_ended` says, that is to be repeated.
    """
    if not _is_plain():
        return None
    presses, pressed, handler, before = list[int](), False, _signal.getsignal(signal.SIGINT), -1
    try:
        readable, writable = _wakeup.open()
    except OSError:
        return None
    try:
        before = signal.set_wakeup_fd(writable, warn_on_full_buffer=False)
        if before != -1:  # an event loop waits for signals
            return None
        try:
            _wakeup.handler = handler
            _signal.signal(signal.SIGINT, lambda number, _: presses.append(number))
            work(readable)
        finally:
            _signal.signal(signal.SIGINT, handler)
            _wakeup.handler = None
        if presses:
            handler(signal.SIGINT, sys._getframe())
    except KeyboardInterrupt:
        pressed = True
    finally:
        signal.set_wakeup_fd(before)
        if presses or was_ended():
            _wakeup.empty()
    return None if not pressed and (presses or was_ended()) else pressed


@contextlib.contextmanager
def terminating(end: Callable[[], None]) -> Iterator[None]:
    """Calls `end` upon SIGTERM, if that would end the process at once, and if this is the thread that gets signals."""
    ours = threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    if ours:
        signal.signal(signal.SIGTERM, lambda *_: end())
    try:
        yield
    finally:
        if ours:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


__all__ = ["Calls", "run_beside", "run_here", "terminating"]
