"""Makes this process one node of several by the means of `hawser run`: variables, and a channel for the key and the address of node 0.

It is for schedulers that start processes of their own, such as Spark. Nodes have the numbers that they are given, and need no port beforehand.
"""
import contextlib
import os
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from . import _cluster
from ._cluster import JOINING, MARK, Cluster
from ._library import library as lib
from ._options import Options, key_of

# Gives all nodes the text of node 0. Each node calls it once.
Broadcast = Callable[[str], str]


class _Channel:
    """The launcher's end of the channel, which a thread serves."""

    def __init__(self, node: int, key: bytes, broadcast: Broadcast) -> None:
        self._own, other = socket.socketpair()
        self.descriptor = other.detach()  # the library closes it
        self._node, self._broadcast = node, broadcast
        self._own.sendall(f"key {key.hex()}\n".encode())
        self._thread = threading.Thread(target=self._serve, name="hawser launch", daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        """Passes the address of node 0 on. If node 0 has none, because it failed, the other nodes need not wait for it."""
        try:
            address = self._broadcast(self._read_address() if self._node == 0 else "")
            if self._node > 0:
                self._own.sendall((f"manager {address}\n" if address else "ended 0 node 0 failed\n").encode())
        except Exception:  # the scheduler ends the nodes; one that waits learns it from the end of the channel
            self.close()

    def _read_address(self) -> str:
        text = b""
        while not text.endswith(b"\n"):
            got = self._own.recv(4096)
            if not got:
                return ""
            text += got
        return text.decode().removeprefix("address ").strip()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._own.shutdown(socket.SHUT_RDWR)
        self._own.close()


@contextlib.contextmanager
def _variables(values: Mapping[str, str]) -> Iterator[None]:
    """Sets variables of the environment for a time."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextlib.contextmanager
def launched(node: int, hosts: Sequence[str], job: str, key: bytes, broadcast: Broadcast,
             options: Mapping[str, Any]) -> Iterator[Cluster]:
    """Joins the other nodes for a `with` block, as node number `node`. Collective.

    `hosts` has the host of each node, `job` and `key` are the same on all nodes, and `options` has options of joining. Afterwards the
    process is as before: a later training in it is alone, or joins other nodes.
    """
    chosen = Options(lib.hawser_job_rows())
    chosen.fill({name: value for name, value in options.items() if key_of(name) in JOINING})
    chosen.read_environment()
    channel = _Channel(node, key, broadcast)
    place = {"HAWSER_LAUNCH": f"fd:{channel.descriptor}", "HAWSER_NODE": str(node), "HAWSER_NODES": str(len(hosts)),
             "HAWSER_JOB": job, "HAWSER_NODE_NAME": f"{hosts[node][:50]}-{node}"}
    if hosts.count(hosts[node]) > 1:
        place["HAWSER_SOCKETS"] = "@"
    if len(set(hosts)) == 1:
        place["HAWSER_LOCAL"] = "1"
    try:
        with _variables({MARK: str(os.getpid())}):
            with _variables(place), _cluster._lock:
                cluster = Cluster.__new__(Cluster)
                cluster._join(chosen)
            with cluster:
                yield cluster
    finally:
        channel.close()
        _cluster._left = False


__all__ = ["launched"]
