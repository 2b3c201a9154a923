"""One node of a training in processes that another system has started, such as Dask. The node joins the others, trains on its rows, and leaves."""
import contextlib
import os
import socket
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ._cluster import Cluster
from ._dataset import Array, is_sparse
from ._errors import BadArgument, BadInput, Interrupted
from ._library import library as lib
from ._model import Model
from ._native import VERSION
from ._options import Options
from ._train import Callback, Fit, prepare


@dataclass
class Task:
    """What all nodes train."""

    name: str  #: unique; processes of one machine may have nodes of several trainings
    algorithm: str
    options: dict[str, Any]
    joining: dict[str, Any]  #: options of the cluster
    variables: dict[bytes, bytes]  #: HAWSER_KEY of the process that asks for the training
    key: bytes
    columns: int
    single: bool  #: the numbers are float32
    names: list[str] | None = None
    init: Model | None = None
    classes: Array | None = None  #: the labels of a classifier; the target then becomes their places
    factors: Array | None = None  #: weights of the classes
    centres: Array | None = None  #: first centres of k-means
    trace: bool = False  #: keep what each clock reports
    version: str = VERSION


@dataclass(frozen=True)
class Place:
    """Which node this is."""

    number: int
    nodes: int
    rows: int  #: of this node
    name: str  #: in messages


@dataclass
class Outcome:
    """How a training ended on one node."""

    number: int
    model: Model | None = None  #: of node 0 alone, since all are equal
    error: Exception | None = None
    interrupted: str | None = None  #: why it ended before its time
    reports: list[tuple[type[Warning], str]] = field(default_factory=list)
    trace: list[dict[str, Any]] = field(default_factory=list)


class Cancelled(Exception):
    """The node was asked to end before it trained."""


def stack(parts: list[Any], rows: int, what: str) -> Any:
    """Returns parts as one array or sparse matrix. A single part is not copied."""
    if is_sparse(parts[0]):
        from scipy import sparse
        whole = parts[0] if len(parts) == 1 else sparse.vstack(parts, format="csr")
    else:
        whole = np.asarray(parts[0]) if len(parts) == 1 else np.concatenate([np.asarray(part) for part in parts])
    if whole.shape[0] != rows:
        raise BadInput(f"{what}: the partitions of a node have {whole.shape[0]} rows, and should have {rows} as announced")
    return whole


@contextlib.contextmanager
def reserved_port(host: str, ports: str | None) -> Iterator[int]:
    """Gives a free port, and keeps others from it until it is listened on: a bound socket that does not listen lets one that reuses the address in."""
    low, _, high = str(ports or 0).partition("-")
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        for port in range(int(low), int(high or low) + 1):
            with contextlib.suppress(OSError):
                held.bind((host, port))
                break
        else:
            raise BadArgument(f"port_range = {ports!r}: no port is free at {host}")
        yield held.getsockname()[1]


class Node:
    """A node: one thread trains, and any other may interrupt it."""

    def __init__(self, task: Task, place: Place) -> None:
        self.task, self.place = task, place
        self.trace: list[dict[str, Any]] = []
        self._lock = threading.Lock()
        self._go = threading.Event()
        self._address = ""
        self._cancelled = False
        self._cluster: Cluster | None = None
        self._fit: Fit | None = None
        self._file: str | None = None

    # ------------------------------------------------------------------------------------------------ any thread ----

    def interrupt(self) -> None:
        """Ends a wait for other nodes, or the training at an agreed clock."""
        with self._lock:
            self._cancelled = True
            if self._fit is not None:
                self._fit.interrupt()
            if self._cluster is not None:
                lib.hawser_cancel(self._cluster._cancellation)
        self._go.set()

    def go(self, address: str) -> None:
        """Tells the node where node 0 listens."""
        self._address = address
        self._go.set()

    # --------------------------------------------------------------------------------------------- its own thread ----

    def wait(self) -> str:
        """Returns where node 0 listens, once all nodes are there."""
        self._go.wait()
        if self._cancelled:
            raise Cancelled
        return self._address

    def prepare(self, data: dict[str, list[Any]]) -> None:
        """Makes the node's dataset. Refuses what is wrong with it before the node joins the others."""
        task = self.task
        if task.version != VERSION:
            raise BadArgument(f"this node has hawser {VERSION}, and the training was begun by {task.version}; install one version everywhere")
        given = {what: stack(parts, self.place.rows, what) for what, parts in data.items() if not what.startswith("validation")}
        given["data"] = self._typed(given["data"])
        if task.classes is not None:
            self._label(given)
        options = dict(task.options)
        if "validation data" in data:
            options["validation"] = tuple(stack(data[f"validation {what}"], sum(map(_rows_of, data[f"validation {what}"])), what)
                                          for what in ("data", "target"))
        if task.centres is not None:
            options["init_"] = f"centres={self._write(task.centres)}"
        fit = prepare(task.algorithm, names=task.names, init=task.init, partitioned=True, variables=task.variables, **given, **options)
        with self._lock:
            self._fit = fit
        if self._cancelled:
            raise Cancelled

    def _typed(self, X: Any) -> Any:
        """Returns numbers of the type that all nodes have."""
        if X.ndim != 2 or X.shape[1] != self.task.columns:
            raise BadInput(f"a partition has the shape {X.shape}, and should have {self.task.columns} columns as announced")
        try:
            return X.astype(np.float32 if self.task.single else np.float64, copy=False)
        except (TypeError, ValueError) as error:
            raise BadInput(f"X: could not convert to numbers: {error}") from error

    def _label(self, given: dict[str, Any]) -> None:
        """Replaces labels by their places in the task's, and multiplies weights by those of the classes."""
        classes, factors = self.task.classes, self.task.factors
        assert classes is not None
        # A label without a weight above 0 is no class; its rows count nothing.
        places = np.minimum(np.searchsorted(classes, given["target"]), len(classes) - 1)
        given["target"] = places.astype(np.float64)
        if factors is not None:
            given["weights"] = factors[places] * given["weights"] if "weights" in given else factors[places]

    def _write(self, centres: Array) -> str:
        """Writes the first centres to a file. Nodes compare their options, so the file has the same name on each node."""
        self._file = os.path.join(tempfile.gettempdir(), f"hawser-{self.task.name}.npy")
        own = f"{self._file}.{self.place.number}.npy"
        np.save(own, centres)
        os.replace(own, self._file)
        return self._file

    def join(self, key: bytes, **where: Any) -> None:
        """Joins the others. Without any it is a cluster of its own."""
        options = Options(lib.hawser_job_rows())
        options.fill({**self.task.joining, **where, "node_name": self.place.name})
        options.read_environment(self.task.variables)
        cluster = Cluster.__new__(Cluster)
        cluster._begin()
        with self._lock:
            self._cluster = cluster
            if self._cancelled:
                lib.hawser_cancel(cluster._cancellation)
        try:
            cluster._enter(options, key, self.place.number)
        except BaseException:
            with self._lock:
                self._cluster = None
            raise
        assert self._fit is not None
        self._fit.cluster = cluster

    def train(self, progress: Callback | None) -> Outcome:
        assert self._fit is not None

        def observe(now: dict[str, Any]) -> None:
            if self.task.trace:
                self.trace.append(now)
            if progress is not None:
                progress(now)

        pressed = self._fit.wait(observe if self.place.number == 0 and (self.task.trace or progress is not None) else None)
        found = Outcome(self.place.number, trace=self.trace)
        try:
            found.model = self._fit.conclude(pressed)
        except Interrupted as stopped:
            found.interrupted = str(stopped)
            found.model = stopped.model if isinstance(stopped.model, Model) else None
        except Exception as error:
            found.error = error
        found.reports = self._fit.reports
        if self.place.number != 0:
            found.model = None
        return found

    def leave(self) -> None:
        """Leaves the others and frees everything. Repeated calls do nothing."""
        with self._lock:
            cluster, self._cluster, self._fit = self._cluster, None, None
        if cluster is not None:
            cluster.close()
        if self._file is not None:
            with contextlib.suppress(FileNotFoundError):  # another node of this machine has removed it
                os.unlink(self._file)


def _rows_of(part: Any) -> int:
    return int(part.shape[0])


__all__ = ["Cancelled", "Node", "Outcome", "Place", "Task", "reserved_port"]
