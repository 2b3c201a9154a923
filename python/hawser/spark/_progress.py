"""The progress of a training: node 0 sends it to the driver, which may end the training."""
import contextlib
import hashlib
import hmac
import json
import os
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from .._node import reserved_port
from .._progress import Callback

OFTEN = 0.2  # seconds between two reports
LIMIT = 10.0  # seconds for a connection and its proof
STOP = b"x"  # what the driver sends to end the training
NONCE = 32  # bytes that the driver draws, and bytes of the proof


def _proof(key: bytes, nonce: bytes) -> bytes:
    """Returns what only a process that has the key of the training can send."""
    return hmac.digest(hashlib.sha256(b"hawser progress" + key).digest(), nonce, "sha256")


def _receive(connection: socket.socket, count: int) -> bytes:
    """Returns this many bytes, or fewer at the end of the connection."""
    found = b""
    while len(found) < count and (piece := connection.recv(count - len(found))):
        found += piece
    return found


# ------------------------------------------------------------------------------------------------------- the driver ----


class Listener:
    """Takes the reports of a training, and calls the function of the user in a thread of its own."""

    def __init__(self, server: socket.socket, key: bytes, callback: Callback) -> None:
        self.raised: BaseException | None = None  #: by the function
        self._server, self._key, self._callback = server, key, callback
        self._connection: socket.socket | None = None
        self._closing = False
        self._silent = threading.Event()  # no node is connected
        self._silent.set()
        self._thread = threading.Thread(target=self._listen, daemon=True, name="hawser-progress")
        self._thread.start()

    def _listen(self) -> None:
        while not self._closing:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            self._connection = connection
            with connection, contextlib.suppress(OSError):
                if self._is_own(connection):
                    self._silent.clear()
                    self._read(connection)
            self._silent.set()

    def _is_own(self, connection: socket.socket) -> bool:
        """Returns whether a node of the training has connected."""
        nonce = os.urandom(NONCE)
        connection.settimeout(LIMIT)
        connection.sendall(nonce)
        proven = hmac.compare_digest(_receive(connection, NONCE), _proof(self._key, nonce))
        connection.settimeout(None)
        return proven

    def _read(self, connection: socket.socket) -> None:
        with connection.makefile("rb") as lines:
            for line in lines:
                if self.raised is not None or not line.endswith(b"\n"):
                    continue
                try:
                    self._callback(json.loads(line))
                except BaseException as error:  # of any kind: the thread that trains raises it
                    self.raised = error
                    connection.sendall(STOP)

    def close(self) -> None:
        """Waits shortly for the last reports, and ends the thread."""
        self._silent.wait(1.0)
        self._closing = True
        for each in (self._server, self._connection):
            if each is not None:
                with contextlib.suppress(OSError):
                    each.shutdown(socket.SHUT_RD)
        self._thread.join()
        self._server.close()


@contextlib.contextmanager
def listening(callback: Callback, key: bytes, host: str, bind: str, ports: str | None) -> Iterator[tuple[str, int]]:
    """Gives the address to which node 0 connects. Raises what the function has raised, whatever the training's own end was."""
    with reserved_port(bind, ports) as port:
        server = socket.create_server((bind, port), family=socket.AF_INET6 if ":" in bind else socket.AF_INET)
        listener = Listener(server, key, callback)
        try:
            yield host, port
        finally:
            listener.close()
            if listener.raised is not None:
                raise listener.raised


# ----------------------------------------------------------------------------------------------------------- node 0 ----


class Reporter:
    """Sends the newest progress from a thread of its own, since the training waits for no reader."""

    def __init__(self, connection: socket.socket, interrupt: Callable[[], None]) -> None:
        self._connection, self._interrupt = connection, interrupt
        self._newest: deque[dict[str, Any]] = deque(maxlen=1)
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=each, daemon=True, name="hawser-progress") for each in (self._send, self._wait_for_stop)]
        for thread in self._threads:
            thread.start()

    def __call__(self, now: dict[str, Any]) -> None:
        self._newest.append(now)

    def _send(self) -> None:
        with contextlib.suppress(OSError):  # the driver is gone, and Spark ends the task
            ended = False
            while not ended:
                ended = self._ended.wait(OFTEN)
                if self._newest:
                    self._connection.sendall(json.dumps(self._newest.pop()).encode() + b"\n")

    def _wait_for_stop(self) -> None:
        with contextlib.suppress(OSError):
            if self._connection.recv(1) == STOP:
                self._interrupt()

    def close(self) -> None:
        """Sends the last progress, unless the driver does not read."""
        self._ended.set()
        self._threads[0].join(1.0)
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)
        self._connection.close()


@contextlib.contextmanager
def reporting(address: tuple[str, int] | None, key: bytes, interrupt: Callable[[], None]) -> Iterator[Callback | None]:
    """Gives what sends the progress to the driver, or None if it wants none. Raises OSError if it cannot be reached."""
    if address is None:
        yield None
        return
    connection = socket.create_connection(address, LIMIT)
    try:
        connection.sendall(_proof(key, _receive(connection, NONCE)))
        connection.settimeout(None)
        reporter = Reporter(connection, interrupt)
    except BaseException:
        connection.close()
        raise
    try:
        yield reporter
    finally:
        reporter.close()


__all__ = ["listening", "reporting"]
