"""The nodes of this process: it joins them once, and its trainings run on them one after another."""
import atexit
import multiprocessing
import os
import sys
import threading
from ctypes import POINTER, byref
from dataclasses import dataclass
from typing import Any, NoReturn

from ._arguments import INT, give_key, refuse_pickle, whole_number
from ._beside import run_beside
from ._errors import BadArgument, BadOption, check
from ._library import library as lib
from ._native import hawser_cancellation, hawser_cluster, hawser_error, hawser_messages, hawser_opening
from ._options import JOB_KEYS, Options, key_of

# Options that hold for all trainings of a cluster.
JOINING = {"listen", "join", "key-file", "node-name", "alone", "interface", "port-range", "transport", "trust-fabric",
           "failure-timeout", "join-timeout", "rate", "timeout"}
# The process that has joined, and its launcher's variables. Its children inherit all of them, and so they, the command too, know that they are none of the
# nodes (src/cluster/place.c). A launcher that a node starts sets other values.
MARK = "HAWSER_PYTHON_NODE"
PLACE = ("HAWSER_JOB", "HAWSER_NODE", "PMIX_NAMESPACE", "PMIX_RANK", "PMI_JOBID", "PMI_RANK", "PMI_FD", "SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_PROCID")
BUSY = ("the nodes have one training, hawser.Store or hawser.Replicas at a time, in the same order on every node: wait until the training of "
        "another thread has ended, or close the store or the replicas")
# Variables that make a process one of several.
LAUNCHED = ("HAWSER_LAUNCH", "HAWSER_LISTEN", "HAWSER_JOIN", "PMIX_RANK", "PMI_RANK", "PMI_FD", "SLURM_PROCID", MARK)


@dataclass(frozen=True)
class Member:
    """One node of a cluster."""

    number: int
    host: int  #: nodes of one host share it
    incarnation: int  #: random: another process that had this number would have another one
    name: str  #: as messages name it
    address: str  #: "HOST:PORT"; "" for the only node


@dataclass(frozen=True)
class View:
    """The nodes of a cluster at a time."""

    number: int
    members: tuple[Member, ...]  #: by number


class Cluster:
    """The nodes of a program, joined once. Trainings of the process run on them, one after another, until it is closed.

    A launcher (`hawser run`, mpirun, srun) says which node the process is. Nodes that are started by hand give `listen=N` to the
    first, `join="HOST:PORT"` to the others, and the same `key`, of 16 to 64 bytes, to all. Those that join are numbered as they arrive, or have a
    `number` of their own, from 1. Without any of them the cluster is this process alone. Other options are those of `hawser run` for joining: `join_timeout=60`, `transport="tcp"`.

    In a program that a launcher has started, the first training joins the nodes if no Cluster has.

    >>> import hawser
    >>> with hawser.Cluster() as cluster:
    ...     cluster.nodes, cluster.node
    (1, 0)
    """

    def __init__(self, *, key: bytes | None = None, number: int = 0, **options: Any) -> None:
        for keyword in options:
            if key_of(keyword) in JOB_KEYS - JOINING:
                raise BadOption(f"{keyword}: an option of a training; give it to hawser.train")
        chosen = Options(lib.hawser_job_rows())
        chosen.fill(options)
        chosen.read_environment()
        if not _names_nodes(options) and is_child():
            chosen.fill({"alone": True})
        with _lock:
            self._join(chosen, key, number)

    def _join(self, options: Options, key: bytes | None = None, number: int = 0) -> None:
        """Joins the nodes, and becomes the cluster of the process."""
        global _own
        if _own is not None:
            raise BadArgument("this process has joined its nodes already: open one hawser.Cluster, before the first training")
        self._begin()
        self._enter(options, key, number)
        if self.nodes > 1:
            os.environ[MARK] = _mark()
        _own = self

    def _begin(self) -> None:
        """Makes what a thread needs to end the wait of another one that joins."""
        self._process = os.getpid()
        self._lock = threading.Lock()  # held by a training, a store or replicas
        self._store: Any = None  # the hawser.Store or hawser.Replicas open on the nodes
        self._handle: Any = POINTER(hawser_cluster)()
        self._messages, self._cancellation = POINTER(hawser_messages)(), POINTER(hawser_cancellation)()
        error = hawser_error()
        try:
            check(lib.hawser_messages_new(byref(self._messages), byref(error)), error)
            check(lib.hawser_cancellation_new(byref(self._cancellation), byref(error)), error)
        except BaseException:
            self._free()
            raise

    def _enter(self, options: Options, key: bytes | None, number: int) -> None:
        """Joins the nodes. By itself it does not become the cluster of the process."""
        try:
            self._open(options, key, number)
        except BaseException:
            self._free()
            raise
        self._read()

    def _open(self, options: Options, key: bytes | None, number: int) -> None:
        opening = hawser_opening(messages=self._messages, cancellation=self._cancellation, node=whole_number("number", number, most=INT))
        if key is not None:
            give_key(opening, key)
        error = hawser_error()

        def join() -> None:
            check(lib.hawser_cluster_open(options.handle, byref(opening), byref(self._handle), byref(error)), error)

        if run_beside(join, lambda: lib.hawser_cancel(self._cancellation)):
            raise KeyboardInterrupt("the wait for the other nodes was interrupted")

    def _read(self) -> None:
        found = lib.hawser_cluster_view(self._handle).contents
        members = tuple(Member(one.number, one.host, one.incarnation, (one.name or b"").decode(), (one.address or b"").decode())
                        for one in found.members[:found.count])
        self.view = View(found.number, members)  #: the nodes
        self.node = int(found.node)  #: the number of this node, from 0
        self.token = (found.token or b"").decode()  #: a text that is the same on every node of this cluster, and of no other

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        return len(self.view.members)

    def close(self) -> None:
        """Leaves the other nodes, and closes a store or replicas that are open on them. Waits for a training of another thread. A closed cluster may be
        closed again."""
        global _left, _own
        if os.getpid() != self._process:
            raise BadArgument(f"the cluster belongs to process {self._process}, which has forked this one")
        if self._store is not None:
            self._store.close()
        with self._lock:
            if not self._handle:
                return
            if _own is self:
                _own, _left = None, self.nodes > 1
            self._free()

    def _keep(self, store: Any) -> None:
        """Keeps the nodes for a store or replicas, until `_end`."""
        if not self._lock.acquire(blocking=False):
            raise BadArgument(BUSY)
        if not self._handle:
            self._lock.release()
            raise BadArgument("another thread has closed the hawser.Cluster")
        self._store = store

    def _end(self) -> None:
        self._store = None
        self._lock.release()

    def _free(self) -> None:
        lib.hawser_cluster_close(self._handle)
        self._handle = POINTER(hawser_cluster)()
        lib.hawser_messages_free(self._messages)
        lib.hawser_cancellation_free(self._cancellation)

    def __enter__(self) -> "Cluster":
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is not None and self._store is not None:
            self._store._close(waits=False)
        self.close()

    def __reduce__(self) -> NoReturn:
        refuse_pickle(self)

    def __repr__(self) -> str:
        return f"<hawser.Cluster of {self.nodes} nodes, this is node {self.node}>"


_lock = threading.Lock()  # held while nodes are joined
_own: Cluster | None = None  # the cluster of the process
_left = False  # the process has left the nodes that it had joined
_single = False  # no launcher has given nodes


def _forget() -> None:
    """In a forked child: the cluster and the locked lock are the parent's."""
    global _left, _lock, _own
    _lock, _own, _left = threading.Lock(), None, False


os.register_at_fork(after_in_child=_forget)


def _names_nodes(keywords: Any) -> bool:
    return "listen" in keywords or "join" in keywords


def _is_launched() -> bool:
    return any(name in os.environ for name in LAUNCHED)


def _mark() -> str:
    return "/".join([str(os.getpid()), *(os.environ.get(name, "") for name in PLACE)])


def is_child() -> bool:
    """Returns whether a node has started this process, which must not join by the variables that it has inherited."""
    mark, own = os.environ.get(MARK), _mark()
    started = mark is not None and mark != own and mark.partition("/")[2] == own.partition("/")[2]
    return _is_launched() and (started or multiprocessing.parent_process() is not None)


def is_beside() -> bool:
    """Returns whether joblib runs this thread or process beside others of its kind."""
    parallel = sys.modules.get("joblib.parallel")
    return parallel is not None and (getattr(parallel.get_active_backend()[0], "nesting_level", 0) or 0) > 0


def cluster_for(options: Options, keywords: Any) -> Cluster | None:
    """Returns the cluster on which a training runs, which the first training joins; None: it runs in this process alone."""
    global _single
    if lib.hawser_options_flag(options.handle, b"alone"):
        return None
    with _lock:  # threads of joblib train alone, since the nodes have one training at a time
        if _is_launched() and not _names_nodes(keywords) and (is_beside() or (_own is None and is_child())):
            options.fill({"alone": True})
            return None
        if _own is None and _left:
            raise BadArgument("this process has left its nodes: train before hawser.Cluster is closed, or with alone=True")
        if _own is None and (not _single or _names_nodes(keywords)):
            joined = Cluster.__new__(Cluster)
            joined._join(options)
            if joined.nodes == 1:
                joined.close()
                _single = True
        return _own if _own is not None and _own.nodes > 1 else None


@atexit.register
def _leave() -> None:
    """Says goodbye, so that the other nodes do not take the end of this one for a loss."""
    if _own is not None and not _own._lock.locked():
        _own.close()


__all__ = ["Cluster", "Member", "View", "cluster_for", "is_beside"]
