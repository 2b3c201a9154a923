"""Replicas: processes that run the same loop, and send each other their arrays."""
import contextlib
import ctypes
import importlib
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from ctypes import POINTER, byref
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _native
from ._arguments import INT, name_bytes, path_bytes, whole_number
from ._beside import MOST_WAIT, run_beside
from ._cluster import Cluster, cluster_for
from ._dataset import Dataset
from ._errors import BadArgument, BadInput, BadOption, Error, check, in_keywords, text_of, warn
from ._held import Held, opened
from ._library import library as lib
from ._lent import Array, memory_of
from ._native import (
    hawser_cancellation, hawser_error, hawser_job, hawser_message, hawser_messages, hawser_opening, hawser_vector, hawser_vector_options,
)
from ._options import DATA_KEYS, JOB_KEYS, Options, key_of
from ._vector import Vector, edges_of

TYPES: dict[np.dtype[Any], int] = {np.dtype(np.float64): _native.HAWSER_F64, np.dtype(np.float32): _native.HAWSER_F32}
ROUNDINGS = {None: _native.HAWSER_EXACT, "bf16": _native.HAWSER_AS_BF16, "f16": _native.HAWSER_AS_F16, "int8": _native.HAWSER_AS_INT8}
CONTENTS = {"values": _native.HAWSER_VECTOR_VALUES, "deltas": _native.HAWSER_VECTOR_DELTAS}
POLL = 1e-4  # seconds of a wait before another thread takes it over, which takes about as long
NAME = 63  # bytes of a vector's name at most
OTHER_ROLES = {"weights", "offset", "exposure"}  # columns that `rows` does not return
log = logging.getLogger("hawser")


class Replicas(Held):
    """The processes of a program, which run the same loop on their own data and mix their arrays (MALT).

    Without a launcher the process is the only replica. `hawser run`, mpirun or srun start several; see `hawser.Cluster` for nodes that are started by
    hand. Keywords are options of a job, such as `timeout=60` (seconds that a wait may take; 600) and `memory_limit="1GB"`.

    Opening, `vector`, `barrier`, `mean` and `close` are collective: every replica makes these calls, in the same order. Replicas occupy the
    nodes, as a `hawser.Store` does. Threads may share them. After an exception within `with`, the replica leaves without waiting for the others,
    whose waits then fail.

    >>> import hawser, numpy
    >>> with hawser.Replicas() as replicas:
    ...     replicas.node, replicas.nodes, replicas.mean(2.5)
    (0, 1, 2.5)
    """

    _job: Any = None
    _unclosed = "hawser.Replicas were not closed; use them in a with statement"

    def __init__(self, **options: Any) -> None:
        for keyword in options:
            if key_of(keyword) not in JOB_KEYS - {"workers"}:
                raise BadOption(f"{keyword}: no option of hawser.Replicas, which takes those of a job, except workers")
        chosen = Options(lib.hawser_job_rows())
        chosen.fill(options)
        chosen.read_environment(without={"workers"})
        cluster = cluster_for(chosen, options)
        chosen.fill({"workers": 1 if cluster is None else cluster.nodes})
        self._open(chosen, cluster)

    # ----------------------------------------------------------------------------------- opening and closing ----

    def _open(self, options: Options, cluster: Cluster | None) -> None:
        self._options, self._cluster = options, cluster  # the library reads the options until the job is closed
        self._process = os.getpid()
        self._vectors: list[Vector] = []
        self._mixings = 0  # of hawser.LocalSGD
        self._closing = False
        self._users = 0  # calls in progress
        self._idle = threading.Condition()  # guards both
        self._trying = threading.Lock()  # held while the main thread makes a call that must not wait; guards the next one
        self._together = 0  # collective calls in progress, which must not be cancelled meanwhile
        self._messages, self._cancellation = POINTER(hawser_messages)(), POINTER(hawser_cancellation)()
        job, error = POINTER(hawser_job)(), hawser_error()
        if cluster is not None:
            cluster._keep(self)
        try:
            check(lib.hawser_messages_new(byref(self._messages), byref(error)), error)
            check(lib.hawser_cancellation_new(byref(self._cancellation), byref(error)), error)
            opening = hawser_opening(messages=self._messages, cancellation=self._cancellation, own_signals=True)
            if cluster is not None:
                opening.cluster = cluster._handle

            def work() -> None:
                check(lib.hawser_open_with(options.handle, byref(opening), byref(job), byref(error)), error)

            if run_beside(work, lambda: lib.hawser_cancel(self._cancellation)):
                raise KeyboardInterrupt("the opening of the replicas was interrupted")
            self._job = job
            self.nodes = int(lib.hawser_job_nodes(job))  #: the number of replicas
            self.node = int(lib.hawser_job_node(job))  #: the number of this one, from 0
            opened.add(self)
            self._meeting = self.vector("hawser.replicas", 1)
        except BaseException:
            self._job = job
            self._free()
            raise

    def _free(self) -> None:
        opened.discard(self)
        for vector in self._vectors:
            lib.hawser_vector_close(vector._handle)
            vector._handle = None
        self._vectors.clear()
        job, self._job = self._job, None
        lib.hawser_close(job)
        self._report()
        lib.hawser_messages_free(self._messages)
        lib.hawser_cancellation_free(self._cancellation)
        self._messages, self._cancellation = POINTER(hawser_messages)(), POINTER(hawser_cancellation)()
        if self._cluster is not None:
            self._cluster._end()

    def _report(self) -> None:
        """Passes on what the library has reported."""
        message = hawser_message()
        for queue in [self._messages] if self._cluster is None else [self._messages, self._cluster._messages]:
            while queue and lib.hawser_messages_next(queue, byref(message)):
                text = message.text.decode(errors="replace")
                if message.kind == _native.HAWSER_WARNING:
                    warn(text, RuntimeWarning)
                else:
                    log.info("%s", in_keywords(text))

    def close(self) -> None:
        """Waits until every replica has made the call, and closes all vectors. Collective. Closed replicas may be closed again."""
        self._close(waits=True)

    def _is_open(self) -> bool:
        return self._job is not None

    def _close(self, waits: bool) -> None:
        """Closes the replicas. With `waits=False` it does not wait for the others, and their waits fail."""
        if self._job is None:
            return
        self._check_process()
        failed: BaseException | None = None
        if waits:
            try:
                self.barrier()
            except BaseException as error:
                failed = error
        with self._idle, self._trying:
            if self._closing or self._job is None:
                return
            self._closing = True
            lib.hawser_cancel(self._cancellation)  # ends what other threads wait for
        while True:
            try:
                with self._idle:
                    while self._users > 0:
                        self._idle.wait(MOST_WAIT)
                break
            except KeyboardInterrupt as pressed:
                failed = pressed
        self._free()
        if failed is not None:
            raise failed

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            raise BadArgument(f"the replicas belong to process {self._process}, which has forked this one")

    # ------------------------------------------------------------------------------------------------- calls ----

    def barrier(self) -> None:
        """Waits until every replica has made the call. Collective."""
        self._meeting.barrier()

    def mean(self, x: Any) -> Any:
        """Returns the mean of a number or an array over all replicas, with equal bits on all of them. Collective.

        float32 stays float32; whole numbers become float64.
        """
        given = memory_of(x, "x")
        if given.dtype.kind not in "fiub":
            raise BadArgument(f"mean: the type {given.dtype} has no mean; give float32 or float64")
        found = np.array(given, np.float32 if given.dtype == np.float32 else np.float64, order="C")
        if found.size > 0:
            name = f"hawser.mean of shape {found.shape}".encode()[:NAME].decode()  # so that other shapes are refused
            vector = self.vector(name, found.size, dtype=found.dtype, any_number=True)
            try:
                vector.finish(found)
            finally:
                vector.close()
        return found if isinstance(x, np.ndarray) or found.ndim > 0 else found[()].item()

    def vector(self, name: str, count: int, *, dtype: npt.DTypeLike = np.float64, content: str = "values", dataflow: Any = "all", sync: str = "tap",
               sparse: bool = False, width: int = 1, waits: bool = False, any_number: bool = False, rounding: str | None = None) -> Vector:
        """Makes a vector of `count` numbers of float64 or float32. Collective. Several may be open at a time, each with a name of its own.

        `content` is "values", of which the newest counts, or "deltas", which are added up and each count once. `dataflow` says which replica sends to
        which: "all", "halton", "tree", "servers" or "servers:K" (deltas over a table of the store), the path of a file of edges as "file:PATH" or an os.PathLike, or a list of pairs (from, to). `sync` is "tap",
        which never waits, "bsp" or "ssp:S". A scatter of a `sparse` vector has some rows, of `width` numbers each. The other arguments are fields of
        hawser_vector_options in hawser/vector.h: `waits` (a scatter under tap waits until the one before it was gathered), `any_number` (NaN and
        infinities are allowed) and `rounding` ("bf16", "f16" or "int8": deltas are sent in fewer bits; what that leaves out goes with later ones,
        and what is still left with the finish).

        >>> import hawser
        >>> with hawser.Replicas() as replicas:
        ...     replicas.vector("w", 1000, dtype="f4", dataflow="halton", sync="ssp:2")
        <hawser.Vector 'w': 1000 x float32, values from 0 replicas>
        """
        where = f"vector '{name}'"
        given = hawser_vector_options(name=name_bytes("the name of a vector", name), count=whole_number(f"{where}: its count", count, 1),
                                      sparse=bool(sparse), waits=bool(waits), any_number=bool(any_number), sync=name_bytes(f"{where}: its sync", sync))
        try:
            kind = np.dtype(dtype)
        except TypeError as error:
            raise BadArgument(f"{where}: {dtype!r:.60} is no type of numbers") from error
        if kind not in TYPES:
            raise BadArgument(f"{where}: vectors have float64 or float32, and not {kind}")
        if content not in CONTENTS:
            raise BadArgument(f"{where}: content is {content!r:.60}, and must be values or deltas")
        given.type, given.content = TYPES[kind], CONTENTS[content]
        if rounding is not None and not isinstance(rounding, str) or rounding not in ROUNDINGS:
            raise BadArgument(f"{where}: there is no rounding {rounding!r:.60}; it is one of bf16, f16 and int8")
        given.rounding = ROUNDINGS[rounding]
        width = whole_number(f"{where}: its width", width, 1, INT)
        if width > 1 and not sparse:
            raise BadArgument(f"{where}: width={width} is for sparse vectors")
        given.width = width if sparse else 0
        if isinstance(dataflow, str):
            given.dataflow = name_bytes(f"{where}: its dataflow", dataflow)
        elif isinstance(dataflow, os.PathLike):
            given.dataflow = b"file:" + path_bytes(dataflow)
        else:
            given.edges = edges_of(name, dataflow)
        handle, tap = POINTER(hawser_vector)(), sync == "tap"
        servers = isinstance(dataflow, str) and dataflow.startswith("servers")  # which answer each scatter and gather
        self._collective(lambda error: int(lib.hawser_vector_open(self._job, byref(given), byref(handle), byref(error))))
        alone = self.nodes == 1
        made = Vector(self, handle, name, given.count, kind, content == "deltas", given.width, not alone and (servers or not tap or waits),
                      not alone and (servers or not tap), not servers)
        with self._idle:
            self._vectors.append(made)
        return made

    def rows(self, path: str | os.PathLike[str], **options: Any) -> tuple[Any, Array | None]:
        """Returns this replica's share of the rows of a file: an array, or scipy's csr_array of sparse data, and the target of each row or None.

        Shares follow each other in the order of replicas, and differ by one row at most. Each replica reads the file, and keeps its share. `options`
        are those of a load, such as `target="y"`; words, dates and means are those of the whole file.
        """
        for keyword in options:
            if key_of(keyword) not in DATA_KEYS - OTHER_ROLES:
                raise BadOption(f"{keyword}: no option of Replicas.rows, which reads features and one target")
        if not isinstance(path, (str, os.PathLike)):
            raise BadArgument(f"rows: {path!r:.60} is no path of a file")
        with self._use():
            return _share_of(Dataset(path, **options), self.node, self.nodes)

    # ------------------------------------------------------------------------------------------------- waits ----

    @contextlib.contextmanager
    def _use(self) -> Iterator[None]:
        """Keeps the replicas open during a call."""
        self._check_process()
        with self._idle:
            if self._closing or self._job is None:
                raise BadArgument("the replicas were closed")
            self._users += 1
        try:
            yield
        finally:
            with self._idle:
                self._users -= 1
                if self._closing:
                    self._idle.notify_all()

    def _call(self, call: Callable[[hawser_error], int], waits: bool, tries: bool) -> None:
        """Makes a call on a vector. If it waits, Ctrl-C ends it.

        The main thread gets Ctrl-C between its own instructions alone, so it must not wait in the library; and to start another thread takes long. So
        it makes the call with all waits cancelled, and only if the call would wait, another thread makes it again. With `tries=False`, for a call
        that always waits, another thread makes it at once.
        """
        with self._use():
            error = hawser_error()
            if not waits:
                status = call(error)
            elif threading.current_thread() is not threading.main_thread():
                status = self._insist(call, error)
            else:
                status = self._poll(call, error) if tries else _native.HAWSER_STOP
                if status == _native.HAWSER_STOP:
                    status = self._wait(call, error)
            self._check(status, error)

    def _poll(self, call: Callable[[hawser_error], int], error: hawser_error) -> int:
        """Tries a call, again for a short time if it would wait."""
        status, until = self._try(call, error), time.perf_counter() + POLL
        while status == _native.HAWSER_STOP and time.perf_counter() < until:
            os.sched_yield()
            status = self._try(call, error)
        return status

    def _try(self, call: Callable[[hawser_error], int], error: hawser_error) -> int:
        """Makes a call, which returns HAWSER_STOP instead of waiting."""
        with self._trying:
            if self._together > 0:
                return _native.HAWSER_STOP
            try:
                lib.hawser_cancel(self._cancellation)
                return call(error)
            finally:
                lib.hawser_cancellation_reset(self._cancellation)

    def _insist(self, call: Callable[[hawser_error], int], error: hawser_error) -> int:
        """Makes a call, and again if it ended because the main thread has cancelled waits."""
        while True:
            status = call(error)
            if status != _native.HAWSER_STOP:
                return status
            with self._trying:
                if self._closing:
                    return status

    def _wait(self, call: Callable[[hawser_error], int], error: hawser_error) -> int:
        """Makes a call in another thread, while this one waits for Ctrl-C."""
        statuses: list[int] = []
        try:
            if run_beside(lambda: statuses.append(call(error)), lambda: lib.hawser_cancel(self._cancellation)):
                raise KeyboardInterrupt(text_of(error) or "the wait was interrupted")
        finally:
            with self._trying:
                if not self._closing:
                    lib.hawser_cancellation_reset(self._cancellation)
        return statuses[0]

    def _collective(self, call: Callable[[hawser_error], int]) -> None:
        """Makes a call that waits for all replicas. Ctrl-C ends it."""
        with self._use():
            error = hawser_error()
            with self._trying:
                self._together += 1
            try:
                status = self._wait(call, error)
            finally:
                with self._trying:
                    self._together -= 1
            self._check(status, error)

    def _check(self, status: int, error: hawser_error) -> None:
        if status == _native.HAWSER_STOP:
            raise Error(text_of(error))
        check(status, error)

    def _close_vector(self, vector: Vector) -> None:
        with self._idle:
            if vector not in self._vectors:
                return
        with self._use():
            with self._idle:
                self._vectors.remove(vector)
            handle, vector._handle = vector._handle, None
            lib.hawser_vector_close(handle)

    def __repr__(self) -> str:
        return "<hawser.Replicas, closed>" if self._job is None else f"<hawser.Replicas: {self.nodes}, this is replica {self.node}>"


def _share_of(data: Dataset, node: int, nodes: int) -> tuple[Any, Array | None]:
    """Returns copies of this replica's rows and targets."""
    files = data._files
    assert files is not None
    files.how.rows_layout = 1
    target, words = data.target, data._target_words()
    matrix, rows = data._matrix, len(data)
    begin, end = rows * node // nodes, rows * (node + 1) // nodes
    if target is not None:
        target = target[begin:end] if words is None else np.array(words)[target[begin:end].astype(np.intp)]
    kind = ctypes.c_float if data.dtype.itemsize == 4 else ctypes.c_double
    if matrix.layout == _native.HAWSER_DENSE_ROWS:
        dense = _numbers_at(matrix.values, kind, rows * matrix.stride).reshape(rows, matrix.stride)
        return dense[begin:end, :matrix.cols].copy(), target
    try:
        sparse = importlib.import_module("scipy.sparse")
    except ImportError as error:
        raise BadInput("rows: sparse data need scipy; install it, or convert the file to CSV") from error
    offsets = _numbers_at(matrix.offsets, ctypes.c_uint64, rows + 1)[begin:end + 1].astype(np.int64)
    first, last = (int(offsets[0]), int(offsets[-1]))
    values, places = (_numbers_at(at, of, last)[first:] for at, of in ((matrix.values, kind), (matrix.indices, ctypes.c_uint32)))
    return sparse.csr_array((values.copy(), places.astype(np.int64), offsets - first), shape=(end - begin, matrix.cols)), target


def _numbers_at(address: Any, kind: Any, count: int) -> Array:
    return np.empty(0, np.dtype(kind)) if count == 0 else np.ctypeslib.as_array(ctypes.cast(address, POINTER(kind)), (count,))


__all__ = ["Replicas"]
