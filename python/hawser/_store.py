"""A parameter server: tables of numbers that all nodes push to and pull from."""
import contextlib
import ctypes
import json
import logging
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from ctypes import POINTER, byref
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _native
from ._arguments import INT, WORD, give_key, name_bytes, path_bytes, whole_number
from ._beside import MOST_WAIT, run_beside, terminating
from ._cluster import Cluster, cluster_for
from ._errors import CLASSES, BadArgument, BadOption, Error, Timeout, check, in_keywords, text_of, warn
from ._function import ServerFunction, StoreFilter
from ._held import Held, opened
from ._job import broadcast
from ._library import library as lib
from ._native import (
    hawser_cancellation, hawser_error, hawser_function, hawser_job, hawser_message, hawser_messages, hawser_opening, hawser_request,
    hawser_serving, hawser_store, hawser_store_figures, hawser_store_filter, hawser_store_options, hawser_table,
)
from ._numbers import refuse_masks
from ._options import JOB_KEYS, Options, key_of
from ._task import Queue, Task

Array = npt.NDArray[Any]
Keys = range | Sequence[int] | Array | None
TYPES: dict[np.dtype[Any], int] = {np.dtype(np.float64): _native.HAWSER_F64, np.dtype(np.float32): _native.HAWSER_F32, np.dtype(np.int64): _native.HAWSER_I64}
ROUNDINGS = {None: _native.HAWSER_EXACT, "bf16": _native.HAWSER_AS_BF16, "f16": _native.HAWSER_AS_F16, "int8": _native.HAWSER_AS_INT8}
COUNTERS = [field[0] for field in hawser_store_figures._fields_]
log = logging.getLogger("hawser")


def _array_of_keys(keys: Any) -> Array:
    """Returns keys as an array. numpy makes floats of a list that needs all 64 bits."""
    array = np.asarray(keys)
    if array.dtype.kind in "fO" and isinstance(keys, (list, tuple)) and all(isinstance(key, int) for key in keys):
        with contextlib.suppress(OverflowError):
            return np.array(keys, np.uint64)
    return array


def _address(array: Array) -> int:
    return int(array.__array_interface__["data"][0])


class Table:
    """A table of a store: `width` numbers of one type for each key. Made by `Store.table` and `Store.find`.

    Values have shape (keys,), or (keys, width) if the width is above 1. `keys` are an ascending array of distinct integers, a range of
    step 1, or None for all keys of a dense table. Contiguous arrays of the table's type, and keys of uint64 or int64, are read where they lie:
    they must not change until the task has ended. Others are copied.

    >>> import hawser, numpy
    >>> with hawser.Store() as store:
    ...     table = store.table("words", dtype="i8")  # sparse: any keys
    ...     task = table.push(numpy.array([3, 4]), numpy.array([7, 2**40]))
    ...     table.pull([1, 7, 2**40]).wait()
    array([0, 3, 4])
    """

    def __init__(self, store: "Store", number: int, table: hawser_table, name: str) -> None:
        self.store, self.number, self.name = store, number, name
        self.dtype = next(dtype for dtype, kind in TYPES.items() if kind == table.type)  #: of the numbers
        self.width = max(1, int(table.width))  #: numbers per key
        self.sparse = bool(table.sparse)
        self.first, self.last = int(table.first), int(table.last)  #: keys of a dense table, both included

    # ---------------------------------------------------------------------------------------------- requests ----

    def push(self, values: Any, keys: Keys = None, *, worker: int = 0, iteration: int = 0, after: Task | Iterable[Task] = ()) -> Task:
        """Starts to change the stored numbers by `values` with the table's function. Does not wait.

        The task starts when the tasks in `after` have ended. `worker` and `iteration` are for data-centric and summed tables.
        """
        request, kept = self._request(keys, worker, iteration, after)
        kept.append(self._give(request, values))
        return self._start("push to", lib.hawser_push, request, kept, None)

    def pull(self, keys: Keys = None, *, out: Array | None = None, least: int = 0, worker: int = 0, iteration: int = 0,
             reread: bool = False, after: Task | Iterable[Task] = ()) -> Task:
        """Starts to read numbers, into `out` or a new array, which is the result of the task. Does not wait.

        `least` is the number of clocks that all workers must have ended on the keys. `reread` repeats the worker's iteration of a
        data-centric table.
        """
        request, kept = self._request(keys, worker, iteration, after)
        request.least, request.reread = whole_number("least", least), reread
        return self._start("pull of", lib.hawser_pull, request, kept, self._take(request, out))

    def push_pull(self, values: Any, keys: Keys = None, *, out: Array | None = None, least: int = 0, worker: int = 0,
                  iteration: int = 0, after: Task | Iterable[Task] = ()) -> Task:
        """Starts a push and a pull of the new numbers, on each key in one step. Does not wait."""
        request, kept = self._request(keys, worker, iteration, after)
        request.least = whole_number("least", least)
        kept.append(self._give(request, values))
        return self._start("push to and pull of", lib.hawser_push_pull, request, kept, self._take(request, out))

    def flush(self) -> Task:
        """Starts to push what a filter or the rounding of this node holds."""
        with self.store._use() as handle:
            task = Task(self.store._queue, f"flush of '{self.name}'", ())

            def call(number: Any, error: Any) -> int:
                return int(lib.hawser_store_flush(handle, self.number, number, error))

            return self.store._queue.start_unnamed(task, call)

    def end_clock(self, clock: int, keys: range | None = None, *, worker: int = 0) -> None:
        """Ends a clock, counted from 0, of a worker of this node, which covers its earlier pushes to the range of keys. Does not wait."""
        first, last = (self.first, self.last) if keys is None else self._range(keys)
        worker, clock, error = whole_number("worker", worker, most=INT), whole_number("clock", clock), hawser_error()
        with self.store._use() as handle:
            check(lib.hawser_store_clock(handle, self.number, worker, clock, first, last, byref(error)), error)

    # ------------------------------------------------------------------------------------------- SSP tables ----

    def inc(self, values: Any, keys: Keys = None, *, worker: int = 0) -> None:
        """Adds `values` to the increments of the worker's clock, which are sent when `clock` ends it."""
        request, kept = self._listed(keys)
        kept.append(self._give(request, values))
        worker, error = whole_number("worker", worker, most=INT), hawser_error()
        with self.store._use() as handle:
            check(lib.hawser_table_inc(handle, self.number, worker, request.keys, request.count, request.values, byref(error)), error)

    def get(self, keys: Keys = None, *, out: Array | None = None, worker: int = 0) -> Array:
        """Returns numbers that contain all clocks of all workers but the newest `staleness` of the table, from the node's cache if possible.

        Waits for slower workers if necessary. Ctrl-C ends the wait.
        """
        request, kept = self._listed(keys)
        found, worker = self._take(request, out), whole_number("worker", worker, most=INT)

        def call(handle: Any, error: Any) -> int:
            return int(lib.hawser_table_get(handle, self.number, worker, request.keys, request.count, request.out, error))

        self.store._call(call, beside=self.store._waits)
        del kept
        return found

    def clock(self, *, worker: int = 0) -> None:
        """Ends the worker's clock, and starts to send its increments. Does not wait for other workers."""
        worker, error = whole_number("worker", worker, most=INT), hawser_error()
        with self.store._use() as handle:
            check(lib.hawser_table_clock(handle, self.number, worker, byref(error)), error)

    # ------------------------------------------------------------------------------------------------ arrays ----

    def _start(self, what: str, function: Any, request: hawser_request, kept: list[Any], out: Array | None) -> Task:
        store = self.store
        with store._use() as handle:
            task = Task(store._queue, f"{what} '{self.name}'", tuple(kept), out)
            request.oldest = ctypes.pointer(task._oldest) if out is not None else None

            def call(key: int, number: Any, error: Any) -> int:
                request.user = key
                return int(function(handle, byref(request), number, error))

            started = store._queue.start(task, call)
        store._warn_of_filters()
        return started

    def _request(self, keys: Keys, worker: int, iteration: int, after: Task | Iterable[Task]) -> tuple[hawser_request, list[Any]]:
        """Returns a request for keys, and what must be kept until it has ended."""
        request = hawser_request(table=self.number, worker=whole_number("worker", worker, most=INT),
                                 iteration=whole_number("iteration", iteration))
        kept: list[Any] = []
        numbers = self._numbers(after)
        if numbers:
            request.after, request.after_count = (ctypes.c_uint64 * len(numbers))(*numbers), len(numbers)
        if keys is None or isinstance(keys, range):
            if keys is None and self.sparse:
                raise BadArgument(f"table '{self.name}' is sparse: give the keys")
            if keys is None or keys:
                request.first, request.last = (self.first, self.last) if keys is None else self._range(keys)
                if not self.sparse:
                    request.count = request.last - request.first + 1
                    return request, kept
            keys = self._list_of(request.first, request.last) if keys else np.empty(0, np.uint64)
        self._list(request, keys, kept)
        return request, kept

    def _numbers(self, after: Task | Iterable[Task]) -> list[int]:
        """Returns the numbers of tasks, which are those of this store alone."""
        tasks = [after] if isinstance(after, Task) else list(after)
        for task in tasks:
            if not isinstance(task, Task) or task._queue is not self.store._queue:
                raise BadArgument(f"table '{self.name}': after has {task!r:.80}, which is no task of this store")
        return [task.number for task in tasks]

    def _listed(self, keys: Keys) -> tuple[hawser_request, list[Any]]:
        """Returns a request with a list of keys."""
        if keys is None and not self.sparse:
            keys = self._list_of(self.first, self.last)
        elif isinstance(keys, range) and keys:
            keys = self._list_of(*self._range(keys))
        return self._request(keys, 0, 0, ())

    def _range(self, keys: range) -> tuple[int, int]:
        if keys.step != 1 or not 0 <= keys.start < keys.stop <= WORD + 1:
            raise BadArgument(f"table '{self.name}': {keys} is no ascending range of keys of step 1; give an array of keys")
        return keys[0], keys[-1]

    def _list_of(self, first: int, last: int) -> Array:
        if last - first >= INT:
            raise BadArgument(f"table '{self.name}': keys {first} to {last} are too many for a list; it may have 1 to 2^32 - 1 of them")
        return np.arange(last - first + 1, dtype=np.uint64) + np.uint64(first)

    def _list(self, request: hawser_request, keys: Any, kept: list[Any]) -> None:
        refuse_masks(keys, "keys")
        array = _array_of_keys(keys)
        if array.ndim != 1 or (array.dtype.kind not in "iu" and array.size > 0):
            raise BadArgument(f"table '{self.name}': keys are an array of integers of one dimension; this one has {array.ndim} "
                              f"dimensions of {array.dtype}")
        if array.dtype.kind == "i" and array.size > 0 and (array[0] < 0 or array[-1] < 0 or (array.dtype.itemsize < 8 and array.min() < 0)):
            raise BadArgument(f"table '{self.name}': keys are not negative, and ascend")
        if array.dtype != np.int64:
            array = array.astype(np.uint64, copy=False)
        array = np.ascontiguousarray(array)
        kept.append(array)
        request.keys, request.count = ctypes.cast(_address(array), POINTER(ctypes.c_uint64)), array.size

    def _shape(self, count: int) -> tuple[int, ...]:
        return (count,) if self.width == 1 else (count, self.width)

    def _give(self, request: hawser_request, values: Any) -> Array:
        """Points the request to values, which are returned in the form that is read."""
        shape = self._shape(request.count)
        refuse_masks(values, "values")
        array = np.asarray(values)
        if not np.can_cast(array.dtype, self.dtype, "same_kind"):
            raise BadArgument(f"table '{self.name}' has {self.dtype}, and the values are {array.dtype}")
        if array.dtype == np.uint64 and self.dtype == np.int64 and array.size > 0 and array.max() >= 2**63:
            raise BadArgument(f"table '{self.name}' has int64, and the values have {array.max()}, which is larger")
        if array.ndim == 0:
            array = np.full(shape, array, self.dtype)
        if array.shape != shape and (self.width > 1 or array.shape != (*shape, 1)):
            raise BadArgument(f"table '{self.name}': values of shape {array.shape} for {request.count} keys; it must be {shape}")
        with np.errstate(over="ignore"):  # the library refuses the infinities, and names the key
            array = np.ascontiguousarray(array, self.dtype)
        request.values = _address(array)
        return array

    def _take(self, request: hawser_request, out: Array | None) -> Array:
        """Points the request to an array that receives values."""
        shape = self._shape(request.count)
        if out is None:
            out = np.empty(shape, self.dtype)
        elif not isinstance(out, np.ndarray) or out.dtype != self.dtype or out.shape != shape or not out.flags.c_contiguous \
                or not out.flags.writeable:
            raise BadArgument(f"table '{self.name}': out must be a contiguous, writable array of {self.dtype} of shape {shape}")
        request.out = _address(out)
        return out

    def __len__(self) -> int:
        """The number of keys of a dense table."""
        if self.sparse:
            raise BadArgument(f"table '{self.name}' is sparse, and has no fixed number of keys")
        return self.last - self.first + 1

    def __repr__(self) -> str:
        keys = "any keys" if self.sparse else f"keys {self.first} to {self.last}"
        return f"<hawser.Table '{self.name}': {keys}, {self.width} x {self.dtype}>"


def _made_by(maker: str, kind: type[Any], given: Iterable[Any]) -> tuple[Any, ...]:
    """Returns functions or filters as a tuple. Refuses two with the same name."""
    found = tuple(given)
    for place, each in enumerate(found):
        if not isinstance(each, kind):
            raise BadArgument(f"{each!r:.60} is no {kind.__name__}; make it one with @hawser.{maker}")
        if any(other.name == each.name for other in found[:place]):
            raise BadArgument(f"two are called '{each.name}'; give each its name by @hawser.{maker}(name=...)")
    return found


def _type_of(where: str, dtype: npt.DTypeLike) -> int:
    try:
        found = np.dtype(dtype)
    except TypeError as error:
        raise BadArgument(f"{where}: {dtype!r:.60} is no type of numbers") from error
    if found not in TYPES:
        raise BadArgument(f"{where}: tables have float64, float32 or int64, and not {found}")
    return TYPES[found]


def _range_of(where: str, keys: Any) -> tuple[int, int]:
    """Returns the first and the last key of a dense table, given the number of its keys or their range."""
    if not isinstance(keys, range):
        keys = range(whole_number(f"{where}: the number of keys", keys, 1))
    if keys.step != 1 or not 0 <= keys.start < keys.stop <= WORD + 1:
        raise BadArgument(f"{where}: {keys} is no range of keys; give a number of at least 1, a range of step 1, or None for any keys")
    return keys[0], keys[-1]


def _number(what: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise BadArgument(f"{what} is {value!r:.60}, and must be a number") from None


class Store(Held):
    """A parameter server: tables of numbers by key, spread over the nodes, or on stand-alone servers of `hawser serve`.

    Without arguments the nodes of the process keep the tables: those of a launcher or of `hawser.Cluster`, or this process alone. With `at`,
    the address HOST:PORT that `hawser serve` prints, its servers do; `key_file` is the file with their key, or `key` the key as bytes.

    `workers` is the number of workers of each node that have clocks, and `timeout` the seconds that a wait may take (600). `functions` are
    further functions of tables, made by `hawser.server_function`, and `filters` of their pushes, made by `hawser.store_filter`, the same on
    each node. `servers`, `threads`, `list_bytes` and
    `cache_bytes` are those of hawser/store.h, and other keywords are options of a job, such as `memory_limit="1GB"`.

    Opening, `table`, `find`, `save`, `load` and `close` are collective: every node makes these calls, in the same order. A store occupies the
    nodes, so trainings over them come before or after it. Threads may share a store. After an exception within `with`, the node leaves
    without waiting for the others, whose waits then fail.

    >>> import hawser, numpy
    >>> with hawser.Store() as store:
    ...     table = store.table("w", 4, dtype="f4")
    ...     table.push(numpy.array([1, 2], "f4"), [0, 3]).wait()
    ...     table.pull().wait()
    array([1., 0., 0., 2.], dtype=float32)
    """

    _handle: Any = None
    _unclosed = "a hawser.Store was not closed; use it in a with statement"

    def __init__(self, at: str | None = None, *, key_file: str | os.PathLike[str] | None = None, key: bytes | None = None,
                 functions: Iterable[ServerFunction] = (), filters: Iterable[StoreFilter] = (), workers: int = 1, timeout: float | None = None, servers: int | None = None,
                 threads: int | None = None, list_bytes: int | None = None, cache_bytes: int | None = None, **options: Any) -> None:
        self.at, self.workers = at, whole_number("workers", workers, 1, INT)
        self._functions: tuple[ServerFunction, ...] = _made_by("server_function", ServerFunction, functions)
        self._filters: tuple[StoreFilter, ...] = _made_by("store_filter", StoreFilter, filters)
        if at is None and (key is not None or key_file is not None):
            raise BadArgument("key and key_file are those of the servers at `at`; the nodes' own are given to hawser.Cluster")
        if at is not None and self._functions:
            raise BadArgument(f"function '{self._functions[0].name}': the functions of stand-alone servers are their own; a table names them")
        for keyword in options:
            if key_of(keyword) not in JOB_KEYS:
                raise BadOption(f"{keyword}: neither an argument of hawser.Store nor an option of a job")
        chosen = Options(lib.hawser_job_rows())
        chosen.fill({**options, "timeout": timeout})
        chosen.read_environment()
        self.timeout = float(lib.hawser_options_number(chosen.handle, b"timeout"))  #: seconds that a wait may take
        given = hawser_store_options(workers=workers, queue=True)
        for what, value, most in (("servers", servers, INT), ("threads", threads, INT), ("list_bytes", list_bytes, WORD),
                                  ("cache_bytes", cache_bytes, WORD)):
            if value is not None:
                setattr(given, what, whole_number(what, value, 1, most))
        if at is not None:
            given.at = name_bytes("at", at)
            given.key_file = path_bytes(key_file) if key_file is not None else None
        if key is not None:
            give_key(given, key)
        functions_given, filters_given = (hawser_function * len(self._functions))(), (hawser_store_filter * len(self._filters))()
        for function, struct in zip(self._functions, functions_given):
            function._fill(struct)
        for filtering, place in zip(self._filters, filters_given):
            filtering._fill(place)
        given.functions, given.function_count = functions_given, len(functions_given)
        given.filters, given.filter_count = filters_given, len(filters_given)
        self._kept = functions_given, filters_given, given, chosen  # the library reads them until the store is closed
        self._open(chosen, given, cluster_for(chosen, options))

    # ----------------------------------------------------------------------------------- opening and closing ----

    def _open(self, options: Options, given: hawser_store_options, cluster: Cluster | None) -> None:
        self._process = os.getpid()
        self._users = 0  # calls in progress
        self._closing = self._serving = self._served = False
        self._idle = threading.Condition()  # guards both
        self._cluster = cluster
        self._messages, self._cancellation = POINTER(hawser_messages)(), POINTER(hawser_cancellation)()
        self._job, handle = POINTER(hawser_job)(), POINTER(hawser_store)()
        error = hawser_error()
        if cluster is not None:
            cluster._keep(self)
        try:
            check(lib.hawser_messages_new(byref(self._messages), byref(error)), error)
            check(lib.hawser_cancellation_new(byref(self._cancellation), byref(error)), error)
            opening = hawser_opening(messages=self._messages, cancellation=self._cancellation)
            if cluster is not None:
                opening.cluster = cluster._handle

            def work() -> None:
                check(lib.hawser_open_with(options.handle, byref(opening), byref(self._job), byref(error)), error)
                self._compare()
                check(lib.hawser_store_open(self._job, byref(given), byref(handle), byref(error)), error)

            if run_beside(work, lambda: lib.hawser_cancel(self._cancellation)):
                raise KeyboardInterrupt("the opening of the store was interrupted")
            self.nodes = int(lib.hawser_job_nodes(self._job))  #: the number of nodes
            self.node = int(lib.hawser_job_node(self._job))  #: the number of this node, from 0
            self._waits = self.nodes > 1 or self.at is not None or self.workers > 1
            self._queue = Queue(handle, self.timeout)
        except BaseException:
            lib.hawser_store_close(handle)
            self._free()
            raise
        self._handle = handle
        opened.add(self)
        self._report()

    def _compare(self) -> None:
        """Refuses nodes that would use different functions or filters. Collective."""
        if lib.hawser_job_nodes(self._job) == 1:
            return
        own = json.dumps([[(each.name, each.digest) for each in made] for made in (self._functions, self._filters)]).encode()
        error, status = hawser_error(), _native.HAWSER_OK
        if broadcast(self._job, own) != own:
            status = error.status = _native.HAWSER_BAD_ARGUMENT
            error.text = f"the functions and filters of the store are others on node {lib.hawser_job_node(self._job)} than on node 0".encode()
        check(lib.hawser_job_agree(self._job, status, byref(error)), error)

    def _free(self) -> None:
        lib.hawser_close(self._job)
        self._report()
        lib.hawser_messages_free(self._messages)
        lib.hawser_cancellation_free(self._cancellation)
        self._job, self._messages, self._cancellation = POINTER(hawser_job)(), POINTER(hawser_messages)(), POINTER(hawser_cancellation)()
        if self._cluster is not None:
            self._cluster._end()

    def _report(self) -> None:
        """Passes on what the library has reported."""
        message = hawser_message()
        queues = [self._messages] if self._cluster is None else [self._messages, self._cluster._messages]
        for queue in queues:
            while queue and lib.hawser_messages_next(queue, byref(message)):
                text = message.text.decode(errors="replace")
                if message.kind == _native.HAWSER_WARNING:
                    warn(text, RuntimeWarning)
                else:
                    log.info("%s", in_keywords(text))

    def close(self) -> None:
        """Waits for all tasks and until every node closes the store. Collective. A closed store may be closed again.

        Failures of tasks that no one has waited for are reported as RuntimeWarning.
        """
        self._close(waits=True)

    def _is_open(self) -> bool:
        return self._handle is not None

    def _close(self, waits: bool) -> None:
        """Closes the store. With `waits=False` it does not wait for the other nodes, and their waits fail."""
        if self._handle is None:
            return
        self._queue.check_process()
        with self._idle:
            if self._closing or self._handle is None:
                return
            self._closing = True
        self.end_serving()
        pressed = False
        if not waits:
            lib.hawser_cancel(self._cancellation)
        else:
            pressed = self._wait_to_close()
        while True:
            try:
                with self._idle:
                    while self._users > 0:
                        self._idle.wait(MOST_WAIT)
                break
            except KeyboardInterrupt:
                pressed = True
                lib.hawser_cancel(self._cancellation)
        self._queue.close()
        handle, self._handle = self._handle, None
        pressed |= run_beside(lambda: lib.hawser_store_close(handle), lambda: lib.hawser_cancel(self._cancellation))
        self._queue.end_all(_native.HAWSER_PEER_LOST, "the store was closed before the task had ended")
        opened.discard(self)
        self._free()
        if pressed:
            raise KeyboardInterrupt("the closing of the store was interrupted")
        self._warn_of_filters()
        if waits:
            self._warn_of_failures()

    def _wait_to_close(self) -> bool:
        """Waits for the tasks in progress. After a timeout or Ctrl-C the node leaves the others. Returns whether Ctrl-C was pressed."""
        try:
            self._queue.wait(lambda: not self._queue.tasks, None, "last task")
        except (Timeout, KeyboardInterrupt) as stopped:
            lib.hawser_cancel(self._cancellation)
            return isinstance(stopped, KeyboardInterrupt)
        return False

    def _warn_of_filters(self) -> None:
        for each in self._filters:
            each._warn()

    def _warn_of_failures(self) -> None:
        lost = sorted(self._queue.failed, key=lambda task: task.number)
        if lost:
            more = f" ({len(lost)} tasks failed like this)" if len(lost) > 1 else ""
            warn(f"a {lost[0].what} failed, and no one has waited for it{more}: {lost[0]._text}", RuntimeWarning)

    @contextlib.contextmanager
    def _use(self) -> Iterator[Any]:
        """Keeps the store open during a call."""
        self._queue.check_process()
        with self._idle:
            if self._closing or self._handle is None:
                raise BadArgument("the store was closed")
            if self._serving:
                raise BadArgument("the store serves clients; a client of it, also in this process, is hawser.Store(at=...)")
            self._users += 1
        try:
            yield self._handle
        finally:
            with self._idle:
                self._users -= 1
                if self._closing:
                    self._idle.notify_all()

    def _call(self, function: Callable[[Any, Any], int], beside: bool = True) -> None:
        """Makes a call that may wait for long. Ctrl-C ends it."""
        with self._use() as handle:
            error = hawser_error()
            if not beside:
                check(function(handle, byref(error)), error)
                return
            try:
                pressed = run_beside(lambda: check(function(handle, byref(error)), error), lambda: lib.hawser_cancel(self._cancellation))
            finally:
                lib.hawser_cancellation_reset(self._cancellation)
            if pressed:
                raise KeyboardInterrupt(text_of(error) or "the store's call was interrupted")

    # ----------------------------------------------------------------------------------------------- serving ----

    def serve(self, *, key_file: str | os.PathLike[str] | None = None, address_file: str | os.PathLike[str] | None = None,
              directory: str | os.PathLike[str] | None = None, load: str | os.PathLike[str] | None = None,
              save: str | os.PathLike[str] | None = None, ready: Callable[[str], Any] | None = None) -> None:
        """Serves the tables to clients that have the key, `hawser.Store(at=)` and `hawser store`, as `hawser serve` does. Collective.

        It returns after Ctrl-C, SIGTERM or `end_serving` on a node, which ends the servers of all nodes. Clients find the tables that were
        made before, make others, and name the functions of this store. `key_file` is the file with the key (`hawser key FILE` makes one).
        When clients can connect, node 0 writes HOST:PORT to `address_file` and calls `ready(address)`. `load` is a file of first tables;
        `save` is written at the end. If that fails, the tables are still in the store, which has its other calls again. A store serves once.
        Clients save and load files in `directory`. Meanwhile other calls of this store are refused. The options `interface`, `port_range`
        and `memory_limit` of the store count for clients.
        """
        if self.at is not None:
            raise BadArgument("a store on stand-alone servers (at) has no tables of its own to serve")
        raised: list[BaseException] = []

        def call_ready(_: Any, address: bytes | None) -> None:
            try:
                assert ready is not None
                ready((address or b"").decode())
            except BaseException as error:
                raised.append(error)
                self.end_serving()

        def path_of(path: str | os.PathLike[str] | None) -> bytes | None:
            return path_bytes(path) if path is not None else None

        given = hawser_serving(key_file=path_of(key_file), address_file=path_of(address_file), directory=path_of(directory),
                               load=path_of(load), save=path_of(save))
        if ready is not None:
            given.ready = type(given.ready)(call_ready)
        error = hawser_error()

        def work() -> None:
            try:
                check(lib.hawser_store_serve(self._handle, byref(given), byref(error)), error)
            except BaseException as failed:
                raised.append(failed)

        with self._use():
            with self._idle:
                if self._served:
                    raise BadArgument("the store has served, and serves once: open another one")
                if self._users > 1:
                    raise BadArgument("serve: another call of this store is in progress")
                self._serving = True
            try:
                with terminating(self.end_serving):
                    run_beside(work, self.end_serving)
            finally:
                self._serving = False
                self._served |= not raised
                self._report()
        if raised:
            raise raised[0]

    def end_serving(self) -> None:
        """Asks `serve`, which another thread has called, to end. Does not wait."""
        if self._serving:
            self._served = True  # the job remembers it
            lib.hawser_interrupt(self._job)

    # ------------------------------------------------------------------------------------------------ tables ----

    def table(self, name: str, keys: int | range | None = None, *, dtype: npt.DTypeLike = np.float64, width: int = 1,
              function: str | ServerFunction = "add", parameters: float | Sequence[float] = (), data_centric: bool = False, delay: int = 0,
              summed: bool = False, rounding: str | None = None, filter: str | StoreFilter | None = None, level: float = 0,
              staleness: int = 0) -> Table:
        """Makes a table, or finds the table of that name. Collective.

        `keys` is the number of keys, or their range, and None for a sparse table, which takes any 64-bit keys. `dtype` is float64, float32 or
        int64. A push changes numbers by `function`: "add", "assign", "max", "average", "adagrad" (rate, epsilon), "adam" (rate, beta1, beta2,
        epsilon), "proximal" (rate, l1, l2, low, high), or one of the store's own; `parameters` are its numbers. The other arguments are fields of
        hawser_table in hawser/store.h: data-centric synchronisation, sums of a clock, rounding ("bf16", "f16", "int8"), filters ("significant",
        "random", "kkt", or one of the store's own) and staleness of `get`.

        >>> import hawser
        >>> with hawser.Store() as store:
        ...     store.table("w", range(10, 20), width=3, function="adagrad", parameters=[0.1, 1e-8])
        <hawser.Table 'w': keys 10 to 19, 3 x float64>
        """
        title, where = name_bytes("the name of a table", name), f"table '{name}'"
        if rounding not in ROUNDINGS:
            raise BadArgument(f"{where}: there is no rounding '{rounding}'; it is one of bf16, f16 and int8")
        used = function.name if isinstance(function, ServerFunction) else function
        chosen = filter.name if isinstance(filter, StoreFilter) else filter
        for own in self._filters:
            if own.name == chosen and np.dtype(own.dtype) != np.dtype(dtype):
                raise BadArgument(f"{where}: filter '{own.name}' is for {own.dtype}, and the table has {np.dtype(dtype)}")
        made = hawser_table(name=title, type=_type_of(where, dtype), width=whole_number(f"{where}: its width", width, 1, INT), sparse=keys is None,
                            function=name_bytes(f"{where}: its function", used), data_centric=data_centric,
                            delay=whole_number(f"{where}: its delay", delay), summed=summed, rounding=ROUNDINGS[rounding],
                            filter=name_bytes(f"{where}: its filter", chosen) if chosen is not None else None, level=_number(f"{where}: its level", level),
                            staleness=whole_number(f"{where}: its staleness", staleness))
        if keys is not None:
            made.first, made.last = _range_of(where, keys)
        numbers = [_number(f"{where}: a parameter", each) for each in ([parameters] if isinstance(parameters, (int, float)) else parameters)]
        if len(numbers) > len(made.parameters):
            raise BadArgument(f"{where}: {len(numbers)} parameters; a function has {len(made.parameters)} at most")
        made.parameters[:len(numbers)] = numbers
        number = ctypes.c_uint32()
        self._call(lambda handle, error: int(lib.hawser_store_table(handle, byref(made), byref(number), error)))
        return Table(self, number.value, made, name)

    def find(self, name: str) -> Table:
        """Finds a table by its name, which another program may have made. Collective."""
        found, number, key = hawser_table(), ctypes.c_uint32(), name_bytes("the name of a table", name)
        self._call(lambda handle, error: int(lib.hawser_store_find(handle, key, byref(found), byref(number), error)))
        return Table(self, number.value, found, name)

    def wait_all(self, timeout: float | None = None) -> None:
        """Waits until all tasks of this node have ended, and the pushes of its clocks. Raises what made a task fail, unless a wait has."""
        with self._use():
            self._queue.wait(lambda: not self._queue.tasks, timeout, "last task")
        for task in list(self._queue.failed):
            task._result()
        self._call(lambda handle, error: int(lib.hawser_store_wait_all(handle, error)), beside=self._waits)

    def barrier(self) -> None:
        """Waits until all tasks of this node have ended, and every node has made the call. Then all pushes before it are in the tables. Collective.

        Raises on every node what made a task of any node fail, unless a wait has.
        """
        try:
            self.wait_all()
        except Error as failed:  # the others learn it in their barrier
            status = next((status for status, kind in CLASSES.items() if kind is type(failed)), _native.HAWSER_INTERNAL)
            told = hawser_error(status=status, text=str(failed).encode()[:900])
            self._call(lambda handle, error: int(lib.hawser_job_agree(self._job, status, byref(told))) * 0, beside=self._waits)
            raise
        self._call(lambda handle, error: int(lib.hawser_store_barrier(handle, error)), beside=self._waits)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes all tables to a safetensors file on node 0; of stand-alone servers, in the directory of the first. Collective."""
        name = path_bytes(path)
        self._call(lambda handle, error: int(lib.hawser_store_save(handle, name, error)))

    def load(self, path: str | os.PathLike[str]) -> None:
        """Replaces the numbers of the tables, which must exist, by those of a file that `save` wrote. Collective."""
        name = path_bytes(path)
        self._call(lambda handle, error: int(lib.hawser_store_load(handle, name, error)))

    @property
    def figures(self) -> dict[str, int]:
        """Counters of this node since the store was opened, as in hawser_store_figures: tasks, messages, bytes_sent and more."""
        found = hawser_store_figures()
        with self._use() as handle:
            lib.hawser_store_figures_of(handle, byref(found))
        return {name: int(getattr(found, name)) for name in COUNTERS}

    def __repr__(self) -> str:
        if self._handle is None:
            return "<hawser.Store, closed>"
        return f"<hawser.Store at {self.at}>" if self.at is not None else f"<hawser.Store on {self.nodes} nodes, this is node {self.node}>"


__all__ = ["Store", "Table"]
