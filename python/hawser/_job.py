"""One job of the library: it is opened, used and closed in a thread beside its caller, so that Ctrl-C reaches the caller. A short one needs no thread."""
import contextlib
import ctypes
import json
import logging
import threading
from collections.abc import Callable, Iterator
from ctypes import byref
from typing import Any

from . import _native
from ._beside import Calls, run_beside, run_here, terminating
from ._cluster import BUSY, Cluster
from ._errors import BadArgument, check, in_keywords, warn
from ._library import library as lib
from ._native import (
    POINTER, hawser_cancellation, hawser_error, hawser_job, hawser_message, hawser_messages, hawser_opening,
)
from ._options import Options

log = logging.getLogger("hawser")


class Job:
    """What a training and the run of a program have in common."""

    doing = "trains"  # as errors say it

    def __init__(self, options: Options, cluster: Cluster | None) -> None:
        self.options, self.cluster = options, cluster
        self.lock = threading.Lock()
        self.job: Any = None  # while it runs
        self.cancellation: Any = POINTER(hawser_cancellation)()  # ends what comes before that
        self.descriptor = -1  # that ends the run; -1: none
        self.interrupted = False
        self.interrupted_by: str | None = None  # the node that was, with several nodes
        self.raised: BaseException | None = None  # by a callback or by the work
        self.messages: list[tuple[int, str]] = []
        self.calls = Calls()  # of the user's functions
        self.terminated = 0  # SIGTERMs that have come

    def interrupt(self) -> None:
        """Asks the run to end at an agreed clock, or what comes before it at once. Any thread."""
        with self.lock:
            self.interrupted = True
            if self.job is not None:
                lib.hawser_interrupt(self.job)
            else:
                lib.hawser_cancel(self.cancellation)

    def execute(self) -> bool:
        """Does the work, waits for it, and returns whether Ctrl-C ended it. With checkpoints SIGTERM ends it as Ctrl-C does, after one more of them."""
        def terminate() -> None:
            self.terminated += 1
            # By a thread, since the signal may have come while this one has the job's lock.
            threading.Thread(target=self.interrupt if self.terminated == 1 else self.calls.end, name="hawser-terminate", daemon=True).start()
        with terminating(terminate) if self.options.text("checkpoint") is not None else contextlib.nullcontext():
            return run_beside(self.run, self.interrupt, self.calls.end)

    def execute_here(self, was_ended: Callable[[], bool]) -> bool | None:
        """Does short work, without calls of the user's functions, in this thread. Returns whether Ctrl-C ended it, or None: `execute` must do it, from the
        beginning. `was_ended` says whether something has ended it early."""
        return run_here(self.run, was_ended)

    # ------------------------------------------------------------------------------------------ in the job's thread ----

    def run(self, descriptor: int = -1) -> None:
        """Does the work. It ends early once `descriptor` can be read."""
        self.descriptor = descriptor
        try:
            with self._use_cluster():
                self._run()
        except BaseException as error:  # the thread that waits raises it
            self.raised = self.raised or error

    def share(self, job: Any) -> Any:
        """Gives the data to the job's blocks, and returns what `work` needs. Collective."""
        raise NotImplementedError

    def work(self, job: Any, data: Any) -> None:
        """Does what the job is for."""
        raise NotImplementedError

    def release(self) -> None:
        """Frees what the job must outlive."""
        raise NotImplementedError

    @contextlib.contextmanager
    def _use_cluster(self) -> Iterator[None]:
        if self.cluster is None:
            yield
            return
        if not self.cluster._lock.acquire(blocking=False):
            raise BadArgument(BUSY)
        try:
            if not self.cluster._handle:
                raise BadArgument("another thread has closed the hawser.Cluster")
            try:
                yield
            finally:
                self._take_messages(self.cluster._messages)
        finally:
            self.cluster._lock.release()

    def _run(self) -> None:
        queue, error = POINTER(hawser_messages)(), hawser_error()
        check(lib.hawser_messages_new(byref(queue), byref(error)), error)
        job = POINTER(hawser_job)()
        try:
            check(lib.hawser_cancellation_new(byref(self.cancellation), byref(error)), error)
            if self.descriptor >= 0:
                check(lib.hawser_cancellation_watch(self.cancellation, self.descriptor, byref(error)), error)
            if self.interrupted:
                lib.hawser_cancel(self.cancellation)
            opening = hawser_opening(messages=queue, cancellation=self.cancellation, own_signals=True, short_calls=self.descriptor >= 0)
            if self.cluster is not None:
                opening.cluster = self.cluster._handle
            check(lib.hawser_open_with(self.options.handle, byref(opening), byref(job), byref(error)), error)
            data = self.share(job)
            with self.lock:
                self.job = job
                if self.interrupted:
                    lib.hawser_interrupt(job)
            lib.hawser_job_last_run(job)  # a job of Python has one run with a loop
            self.work(job, data)
        finally:
            with self.lock:
                self.job, cancellation = None, self.cancellation
                self.cancellation = POINTER(hawser_cancellation)()
            self.release()
            lib.hawser_close(job)
            self._take_messages(queue)
            lib.hawser_messages_free(queue)
            lib.hawser_cancellation_free(cancellation)

    def compare(self, job: Any, own: dict[str, str | None]) -> None:
        """Refuses nodes that would do different things: `own` must be what node 0 has. Collective."""
        error, status = hawser_error(), _native.HAWSER_OK
        theirs = json.loads(broadcast(job, json.dumps(own).encode()))
        differ = [key for key in own | theirs if own.get(key) != theirs.get(key)]
        if differ:
            key, node = differ[0], lib.hawser_job_node(job)
            status = error.status = _native.HAWSER_BAD_ARGUMENT
            error.text = (f"the nodes {self.doing.removesuffix('s')} in different ways: {key} is {own.get(key)} on node {node}, and "
                          f"{theirs.get(key)} on node 0; every node makes the same calls").encode()[:999]
        check(lib.hawser_job_agree(job, status, byref(error)), error)

    def depend(self, job: Any, terms: dict[str, str | None]) -> None:
        """Names what a run that goes on from a checkpoint must have in common with it."""
        error = hawser_error()
        for name, text in terms.items():
            own = (text or "").encode()
            check(lib.hawser_job_depends(job, name.encode(), own, len(own), byref(error)), error)

    def _take_messages(self, queue: Any) -> None:
        message = hawser_message()
        while lib.hawser_messages_next(queue, byref(message)):
            self.messages.append((message.kind, message.text.decode(errors="replace")))

    # --------------------------------------------------------------------------------------- in the caller's thread ----

    def show_messages(self) -> None:
        """Gives what the library has reported to Python's warnings and to the logger."""
        for kind, text in self.messages:
            if kind == _native.HAWSER_WARNING:
                warn(text, RuntimeWarning)
            else:
                log.info("%s", in_keywords(text))


def broadcast(job: Any, own: bytes) -> bytes:
    """Returns the bytes of node 0. Collective."""
    error, size = hawser_error(), ctypes.c_uint64(len(own))
    check(lib.hawser_job_broadcast(job, byref(size), ctypes.sizeof(size), byref(error)), error)
    first = ctypes.create_string_buffer(own, max(size.value, len(own)))
    check(lib.hawser_job_broadcast(job, first, size.value, byref(error)), error)
    return first.raw[:size.value]


__all__ = ["Job", "broadcast", "log"]
