"""One node of a training in processes that another system has started: Dask or Spark. The node joins the others, trains on its rows, and leaves.

The other system says which node this is, and gives all nodes the address of node 0 once all are ready. All else is the same for both systems.
"""
import contextlib
import fcntl
import ipaddress
import itertools
import os
import socket
import struct
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import _errors
from ._allowance import allow, claim
from ._cluster import JOINING, Cluster
from ._dataset import Dataset, split_options
from ._errors import BadArgument, BadInput, BadOption, Error, Interrupted, Timeout
from ._frames import Frame
from ._library import library as lib
from ._model import Model
from ._native import VERSION
from ._numbers import Array
from ._options import Options, key_of
from ._sparse import check_sparse, is_sparse
from ._train import Callback, Fit, find_algorithm, has_labels, limit_among, make_options, prepare, take_arrays

# Options and variables that place a process among nodes, which is what the other system does.
PLACING = {"listen", "join", "key-file", "node-name", "alone"}
PLACES = {b"HAWSER_LAUNCH", b"HAWSER_NODE", b"HAWSER_NODES", b"HAWSER_JOB", b"HAWSER_SOCKETS", b"HAWSER_LOCAL", b"HAWSER_PYTHON_NODE",
          *(f"HAWSER_{key.upper().replace('-', '_')}".encode() for key in PLACING)}
BY_NODE = ("data", "target", "weights", "offset", "groups")  # each node has its own rows of these
SILENCE = 60.0  # seconds without a word from the client after which a node waits no more
# Takes the address of a node, and returns that of node 0, once all nodes are ready.
Exchange = Callable[[str], str]


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
    target_names: list[str] | None = None  #: of several targets
    init: Model | None = None
    classes: Array | None = None  #: the labels of a classifier; the target then becomes their places
    factors: Array | None = None  #: weights of the classes
    centres: Array | None = None  #: first centres of k-means
    trace: bool = False  #: keep what each clock reports
    frame: Frame | None = None  #: the rows are a table with words, dates or missing values
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
    error: BaseException | None = None
    interrupted: str | None = None  #: why it ended before its time
    reports: list[tuple[type[Warning], str]] = field(default_factory=list)
    trace: list[dict[str, Any]] = field(default_factory=list)
    classes: Array | None = None  #: the labels of a classifier, where the nodes have found them

    def conclude(self) -> "Outcome":
        """Warns of what the training has reported, and raises what ended it."""
        for kind, text in self.reports:
            _errors.warn(text, _errors.convergence_warning if issubclass(kind, _errors.ConvergenceWarning) else kind)
        if self.interrupted is not None:
            stopped = Interrupted(self.interrupted)
            stopped.model = self.model
            raise stopped
        if self.error is not None:
            raise self.error
        if self.model is None:
            raise Error("the training ended without a model")
        return self


class Cancelled(Exception):
    """The node was asked to end before it trained."""


def stack(parts: list[Any], rows: int, what: str) -> Any:
    """Returns parts as one array or sparse matrix. A single part is not copied."""
    if is_sparse(parts[0]):
        from scipy import sparse
        for part in parts:
            check_sparse(part, what)
        if len(parts) > 1:
            claim(sum(part.data.nbytes + 4 * part.nnz for part in parts), what, f"one matrix of {len(parts)} partitions")
        whole = parts[0] if len(parts) == 1 else sparse.vstack(parts, format="csr")
    else:
        arrays = [np.asarray(part) for part in parts]
        if len(arrays) > 1:
            claim(sum(array.nbytes for array in arrays), what, f"one array of {len(arrays)} partitions")
        whole = arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
    if whole.shape[0] != rows:
        raise BadInput(f"{what}: the partitions of a node have {whole.shape[0]} rows, and should have {rows} as announced")
    return whole


def checked_options(algorithm: str, options: dict[str, Any], refused: dict[str, str], data: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns options of the training, and those of joining. Refuses wrong ones before anything is computed: `refused` says which, and why."""
    found = find_algorithm(algorithm)
    for keyword in options:
        why = refused.get(keyword) or refused.get(key_of(keyword))
        if why is not None:
            raise BadOption(f"{keyword}: {why}")
    joining = {keyword.rstrip("_").replace("-", "_"): value for keyword, value in options.items() if key_of(keyword) in JOINING}
    own = {keyword: value for keyword, value in options.items() if key_of(keyword) not in JOINING - {"timeout"}}
    if own.get("checkpoint") is not None:  # nodes work in other folders
        own["checkpoint"] = os.path.abspath(own["checkpoint"])
    plain = dict(own)
    take_arrays(plain)
    load, plain = split_options(plain, False)
    if load:
        raise BadOption(f"{next(iter(load))}: an option of files, and the data are {data}")
    make_options(found, plain)
    Options(lib.hawser_job_rows()).fill(joining)
    return own, joining


def other_pair(pair: Any, called: str) -> dict[str, Any]:
    """Returns data and target of other data, on which errors are measured. `called` names them in errors."""
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise BadOption(f"{called}: give a pair of data and target")
    return {what: data for what, data in zip(("data", "target"), pair, strict=True) if data is not None}


def other_arrays(given: dict[str, Any], called: str) -> dict[str, Any]:
    """Returns other data as arrays or sparse matrices."""
    arrays = {what: data if is_sparse(data) else np.asarray(data) for what, data in given.items()}
    shape = arrays["data"].shape
    if len(shape) != 2 or any(array.shape[:1] != shape[:1] or array.ndim > 2 for what, array in arrays.items() if what == "target"):
        raise BadInput(f"{called}: the shapes are {' and '.join(str(array.shape) for array in arrays.values())}, and should be (rows, columns) and (rows,)")
    return arrays


def targets_of(target: Any) -> int:
    """Returns how many targets an array has, or None."""
    return int(target.shape[1]) if target is not None and target.ndim == 2 else 1


def check_other(called: str, columns: tuple[int, int], targets: tuple[int, int]) -> None:
    """Refuses other data that have another number of columns or targets than the training; each pair has the number of both."""
    for what, (other, own) in (("columns", columns), ("targets", targets)):
        if other != own:
            raise BadOption(f"{called}: it has {other} {what}, and the data have {own}")


def variables_here() -> dict[bytes, bytes]:
    """Returns the variables HAWSER_KEY of this process, except those that place it among nodes."""
    return {name: value for name, value in os.environb.items() if name.startswith(b"HAWSER_") and name not in PLACES}


def check_version(version: str) -> None:
    if version != VERSION:
        raise BadArgument(f"{socket.gethostname()} has hawser {VERSION}, and the training was begun by {version}; install one version everywhere")


def codes_of(labels: Array, classes: Array) -> Array:
    """Returns the places of labels. One that is no class has no weight above 0, and counts nothing."""
    codes: Array = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    return codes


def address_of(interface: str | None, host: str) -> str:
    """Returns the address at which other nodes reach this one: that of an interface, or of the default route, or else `host`."""
    if interface in (None, "", "all"):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe, contextlib.suppress(OSError):
            probe.connect(("192.0.2.1", 9))  # an address reserved for documentation; nothing is sent
            return str(probe.getsockname()[0])
        return host
    assert interface is not None
    with contextlib.suppress(ValueError):
        return str(ipaddress.ip_address(interface))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe, contextlib.suppress(OSError):
        found = fcntl.ioctl(probe, 0x8915, struct.pack("256s", interface.encode()[:15]))  # SIOCGIFADDR
        return socket.inet_ntoa(found[20:24])
    return host  # joining says what is wrong with the interface


@contextlib.contextmanager
def reserved_port(host: str, ports: str | None) -> Iterator[int]:
    """Gives a free port, and keeps others from it until it is listened on: a bound socket that does not listen lets one that reuses the address in.

    Another holder does not reuse it: so nodes of one host have different ports of a range. The last resort are ports that had connections just now.
    """
    low, _, high = str(ports or 0).partition("-")
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as held:
        for reuse, port in itertools.product((0, 1), range(int(low), int(high or low) + 1)):
            with contextlib.suppress(OSError):
                held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, reuse)
                held.bind((host, port))
                break
        else:
            raise BadArgument(f"port_range = {ports!r}: no port is free at {host or 'this host'}")
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        yield held.getsockname()[1]


def joining_options(task: Task, **where: Any) -> Options:
    """Returns the options of joining. The environment fills what the training has not given."""
    options = Options(lib.hawser_job_rows())
    options.fill({**task.joining, **{key: value for key, value in where.items() if value is not None}})
    options.read_environment(task.variables)
    return options


@dataclass(frozen=True)
class Held:
    """Where a node will listen."""

    address: str  #: "HOST:PORT"
    port: int
    interface: str | None


@contextlib.contextmanager
def held_address(task: Task, host: str, interface: str | None = None) -> Iterator[Held]:
    """Holds a port for a node until it listens there, so that none waits at the port of another program or node.

    `host` and `interface` are where the other system has its own connections; the option `interface` of the training is stronger.
    """
    chosen = joining_options(task)
    interface = chosen.text("interface") or interface
    host = address_of(interface, host)
    with reserved_port(host if interface not in (None, "all") else "", chosen.text("port-range")) as port:
        yield Held(f"[{host}]:{port}" if ":" in host else f"{host}:{port}", port, interface)


class Node:
    """A node: one thread trains, and any other may interrupt it."""

    def __init__(self, task: Task, place: Place) -> None:
        self.task, self.place = task, place
        self.trace: list[dict[str, Any]] = []
        self._lock = threading.Lock()
        self._go = threading.Event()
        self._heard = 0.0  # when the client last said that it is there
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
        """Gives the node the address of node 0."""
        self._address = address
        self._go.set()

    def keep(self) -> None:
        """Lets the node wait on."""
        self._heard = time.monotonic()

    # --------------------------------------------------------------------------------------------- its own thread ----

    def wait(self) -> str:
        """Returns the address of node 0, once `go` has given it. Waits no longer than SILENCE after the last `keep`."""
        self.keep()
        while not self._go.wait(max(0.0, self._heard + SILENCE - time.monotonic())):
            if time.monotonic() >= self._heard + SILENCE:
                raise Timeout(f"node {self.place.number} waited for the other nodes, and has not heard from the client for {SILENCE:g} s; "
                              "the client must go on while its training waits")
        if self._cancelled:
            raise Cancelled
        return self._address

    def prepare(self, data: dict[str, list[Any]]) -> None:
        """Makes the node's dataset. Refuses what is wrong with it before the node joins the others."""
        check_version(self.task.version)
        with allow(limit_among(self.task.variables, self.task.options)):
            self._prepare(data)

    def _prepare(self, data: dict[str, list[Any]]) -> None:
        task = self.task
        given = {} if task.frame is not None else {what: stack(parts, self.place.rows, what) for what, parts in data.items() if what in BY_NODE}
        if task.frame is None:
            given["data"] = self._typed(given["data"])
        if task.classes is not None:
            self._label(given)
        options = dict(task.options)
        if "folds" in data:
            options["folds"] = np.concatenate(data["folds"])
        if "validation data" in data:
            options["validation"] = self._validation(data)
        if task.centres is not None:
            options["init_"] = f"centres={self._write(task.centres)}"
        if task.frame is not None:
            own = self._table(task.frame, data)
        else:
            own = Dataset(given.pop("data"), names=task.names, target_name=task.target_names, partitioned=True, **given)
        fit = prepare(task.algorithm, own, init=task.init, variables=task.variables, **options)
        with self._lock:
            self._fit = fit
        if self._cancelled:
            raise Cancelled

    def _table(self, frame: Frame, data: dict[str, list[Any]]) -> Dataset:
        """Returns the node's part of a table with words, dates or missing values."""
        beside = {what: stack(data[what], self.place.rows, what) for what in BY_NODE[2:] if what in data}
        if "target" in data:
            beside["target"] = frame.targets(data["target"])
        return Dataset._of_share(frame.table(data["data"]), beside, frame.options, has_labels(find_algorithm(self.task.algorithm), self.task.options))

    def _typed(self, X: Any) -> Any:
        """Returns numbers of the type that all nodes have."""
        if X.ndim != 2 or X.shape[1] != self.task.columns:
            raise BadInput(f"a partition has the shape {X.shape}, and should have {self.task.columns} columns as announced")
        kind = np.dtype(np.float32 if self.task.single else np.float64)
        if X.dtype != kind:
            claim((X.nnz if is_sparse(X) else X.size) * kind.itemsize, "X", f"a copy of the type {X.dtype} as {kind}")
        try:
            return X.astype(kind, copy=False)
        except (TypeError, ValueError) as error:
            raise BadInput(f"X: could not convert to numbers: {error}") from error

    def _label(self, given: dict[str, Any]) -> None:
        """Replaces labels by their places in the task's, and multiplies weights by those of the classes."""
        classes, factors = self.task.classes, self.task.factors
        assert classes is not None
        places = codes_of(given["target"], classes)
        given["target"] = places.astype(np.float64)
        if factors is not None:
            given["weights"] = factors[places] * given["weights"] if "weights" in given else factors[places]

    def _validation(self, data: dict[str, list[Any]]) -> Dataset:
        """Returns the other data that errors are measured on. Labels become their places, as those of the training."""
        found = {what: stack(parts, sum(map(_rows_of, parts)), what) for what in BY_NODE if (parts := data.get(f"validation {what}"))}
        X, y, classes = self._typed(found.pop("data")), found.pop("target", None), self.task.classes
        if y is not None and classes is not None:
            unknown = y[~np.isin(y, classes)]
            if len(unknown):
                raise BadInput(f"eval_set: the label {unknown[:1].tolist()[0]!r} is not one of the training's")
            y = np.searchsorted(classes, y).astype(np.float64)
        return Dataset(X, y, **found)

    def _write(self, centres: Array) -> str:
        """Writes the first centres to a file. Nodes compare their options, so the file has the same name on each node."""
        self._file = os.path.join(tempfile.gettempdir(), f"hawser-{self.task.name}.npy")
        own = f"{self._file}.{self.place.number}.npy"
        np.save(own, centres)
        os.replace(own, self._file)
        return self._file

    def run(self, held: Held, exchange: Exchange, progress: Callback | None = None) -> Outcome:
        """Joins the others, trains and leaves. Call it after `prepare`. What fails is in the outcome."""
        try:
            if self.place.nodes == 1:
                self._join(b"", alone=True)
            else:
                address = exchange(held.address)
                place = {"listen": self.place.nodes} if self.place.number == 0 else {"join": address}
                self._join(self.task.key, **place, interface=held.interface, port_range=held.port)
            return self._train(progress)
        except Cancelled:
            return Outcome(self.place.number, interrupted="the training was interrupted before it began")
        except Exception as error:
            return Outcome(self.place.number, error=error)
        finally:
            self.leave()

    def _join(self, key: bytes, **where: Any) -> None:
        """Joins the others. Without any it is a cluster of its own."""
        cluster = Cluster.__new__(Cluster)
        cluster._begin()
        with self._lock:
            self._cluster = cluster
            if self._cancelled:
                lib.hawser_cancel(cluster._cancellation)
        try:
            cluster._enter(joining_options(self.task, node_name=self.place.name, **where), key, self.place.number)
        except BaseException as error:
            with self._lock:
                self._cluster = None
            if self._cancelled and isinstance(error, Exception):
                raise Cancelled from error
            raise
        assert self._fit is not None
        self._fit.cluster = cluster

    def _train(self, progress: Callback | None) -> Outcome:
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


__all__ = [
    "Cancelled", "Exchange", "Held", "Node", "Outcome", "PLACING", "Place", "Task", "check_other", "check_version", "checked_options", "codes_of",
    "held_address", "other_arrays", "other_pair", "reserved_port", "targets_of", "variables_here",
]
