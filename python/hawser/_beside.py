"""Long calls of the library beside the main thread, which waits where signals can reach it."""
import contextlib
import ctypes
import signal
import sys
import threading
from collections.abc import Callable, Iterator

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


__all__ = ["Calls", "run_beside", "terminating"]
