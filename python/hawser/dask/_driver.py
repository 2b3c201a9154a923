"""Trainings over the workers of a Dask cluster: what runs on the client, and what on the workers."""
import contextlib
import os
import queue
import secrets
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import distributed
from distributed.comm import get_address_host

from .._sides import check_collections
from .._errors import BadArgument, BadOption, Error, PeerLost
from .._frames import check_no_validation, take_table_options
from .._heads import takes_several
from .._model import Model
from .._node import (
    PLACING, Cancelled, Node, Outcome, Place, Task, check_other, checked_options, held_address, other_arrays, other_pair, targets_of, variables_here,
)
from .._progress import bar_of
from .._train import Callback, check_validation, find_algorithm
from ._data import Rows, Share, frame_of, is_dask, place

TOPIC = "hawser"  # of the events by which nodes report
REFUSED = dict.fromkeys(PLACING, "the workers of Dask are the nodes; leave it out")
GRACE = 3.0  # seconds in which nodes report an end by themselves, after one has failed
LIMIT = 15.0  # seconds after which the client waits no more for nodes that were told to end
KEEP = 10.0  # seconds between two words to nodes that wait for others
OFTEN = 0.2  # seconds between two looks at a training, and between two reports of its progress

# ------------------------------------------------------------------------------------------------------ on a worker ----

_nodes: dict[tuple[str, int], Node] = {}  # those of this process, by training and number


def _go(name: str, address: str) -> None:
    for (training, _), node in list(_nodes.items()):
        if training == name:
            node.go(address)


def _keep(name: str) -> None:
    for (training, _), node in list(_nodes.items()):
        if training == name:
            node.keep()


def _interrupt(name: str) -> None:
    for (training, _), node in list(_nodes.items()):
        if training == name:
            node.interrupt()


def _watch(worker: Any, key: Any, node: Node, done: threading.Event) -> None:
    """Interrupts a node whose task has no client any more, which has ended or cancelled it, or whose worker ends."""
    while not done.wait(0.5):
        task = worker.state.tasks.get(key)
        if task is None or task.state not in ("executing", "long-running") or worker.status.name in ("closing", "closed", "failed"):
            node.interrupt()


def _train_node(task: Task, place: Place, progress: bool, **data: Any) -> Outcome:
    """The task of a worker: one node of a training."""
    worker = distributed.get_worker()
    node, done = Node(task, place), threading.Event()

    def exchange(address: str) -> str:
        worker.log_event(TOPIC, {"training": task.name, "ready": place.number, "address": address})
        return node.wait()

    _nodes[task.name, place.number] = node
    threading.Thread(target=_watch, args=(worker, worker.get_current_task(), node, done), daemon=True, name="hawser-watch").start()
    distributed.secede()  # tasks that wait for each other must not occupy the workers' threads
    try:
        _prepare(node, data)
        host = _host_of(worker.address)
        with held_address(task, host, interface=host) as held:
            return node.run(held, exchange, _reporter(worker, task.name) if progress else None)
    except Cancelled:
        return Outcome(place.number, interrupted="the training was interrupted before it began")
    except Exception as error:
        return Outcome(place.number, error=error)
    finally:
        done.set()
        del _nodes[task.name, place.number]
        node.leave()


def _prepare(node: Node, data: dict[str, list[Any]]) -> None:
    """Makes the node's dataset. An error names the node, since it counts the rows of that."""
    try:
        node.prepare(data)
    except Error as error:
        if node.place.nodes > 1:
            raise type(error)(f"node {node.place.number} ({node.place.name}): {error}") from error
        raise


def _host_of(address: str) -> str:
    return str(get_address_host(address))


def _reporter(worker: Any, name: str) -> Callback:
    """Returns what sends the progress to the client, not more often than that looks."""
    last = [0.0]

    def report(now: dict[str, Any]) -> None:
        if time.monotonic() - last[0] >= OFTEN:
            last[0] = time.monotonic()
            worker.log_event(TOPIC, {"training": name, "progress": now})
    return report


# ------------------------------------------------------------------------------------------------------- the client ----


class _Reports:
    """What nodes report to a client: its trainings share one subscription."""

    def __init__(self, client: Any) -> None:
        self.queues: dict[str, queue.SimpleQueue[dict[str, Any]]] = {}
        client.subscribe_topic(TOPIC, self._take)

    def _take(self, event: tuple[float, dict[str, Any]]) -> None:
        found = self.queues.get(event[1].get("training", ""))
        if found is not None:
            found.put(event[1])


_reports: "weakref.WeakKeyDictionary[Any, _Reports]" = weakref.WeakKeyDictionary()
_lock = threading.Lock()


@contextlib.contextmanager
def _reports_of(client: Any, name: str) -> Iterator["queue.SimpleQueue[dict[str, Any]]"]:
    """Gives the queue of what the nodes of a training report."""
    with _lock:
        own = _reports.get(client) or _reports.setdefault(client, _Reports(client))
    own.queues[name] = queue.SimpleQueue()
    try:
        yield own.queues[name]
    finally:
        del own.queues[name]


class _Training:
    """A training over workers, as its client sees it."""

    def __init__(self, client: Any, task: Task, rows: Rows, extra: dict[str, list[Any]], validation: dict[str, list[Any]],
                 progress: Callback | None, reports: "queue.SimpleQueue[dict[str, Any]]") -> None:
        self.client, self.task, self.shares, self.progress, self.reports = client, task, rows.shares, progress, reports
        self.outcomes: dict[int, Outcome] = {}
        self.ready: dict[int, str] = {}
        self.pressed = False
        self.raised: BaseException | None = None
        self.lost: list[int] = []  # nodes whose workers are gone
        self.failed: float | None = None  # when the first failure was seen
        self.telling: dict[Any, threading.Thread] = {}
        self.futures = [self._submit(number, share, rows, {**rows.of(share), **extra, **(validation if number == 0 else {})})
                        for number, share in enumerate(rows.shares)]

    def _submit(self, number: int, share: Share, rows: Rows, data: dict[str, list[Any]]) -> Any:
        name = share.worker.split("://", 1)[-1]
        where = Place(number, len(rows.shares), sum(rows.sizes[share.first:share.last]), name)
        return self.client.submit(_train_node, self.task, where, self.progress is not None and number == 0, **data, pure=False,
                                  key=f"hawser-{self.task.algorithm}-{self.task.name}-{number}", workers=[share.worker],
                                  allow_other_workers=False, retries=0, priority=100)

    def wait(self) -> None:
        """Waits until all nodes have ended, or until that is hopeless. Ctrl-C ends them; the second one ends the wait."""
        pause, looked, kept = 0.002, time.monotonic(), time.monotonic()
        try:
            while True:
                try:
                    if not self._running():
                        break
                    self._take_reports(pause)
                    pause = min(OFTEN, 1.3 * pause)
                    if time.monotonic() > looked + 1:
                        looked = time.monotonic()
                        self._look_for_workers()
                    if len(self.ready) < len(self.futures) > 1 and time.monotonic() > kept + KEEP:
                        kept = time.monotonic()
                        self._tell(_keep)
                    if self._is_hopeless():
                        break
                except KeyboardInterrupt:
                    if self.pressed:
                        raise
                    self.pressed = True
                    self._tell(_interrupt)
        finally:
            left = [future for future in self.futures if future.status == "pending"]
            if left:
                self._tell(_interrupt)
                self.client.cancel(left, force=True)

    def _running(self) -> bool:
        """Takes what ended nodes return; returns whether any has not ended."""
        for number, future in enumerate(self.futures):
            if number in self.outcomes or future.status == "pending":
                continue
            try:
                self.outcomes[number] = future.result()
            except Exception as error:
                self.outcomes[number] = Outcome(number, error=self._reason(number, error))
            if self.outcomes[number].error is not None:
                self.failed = self.failed or time.monotonic()
        return len(self.outcomes) < len(self.futures)

    def _reason(self, number: int, error: Exception) -> Exception:
        if isinstance(error, (distributed.KilledWorker, distributed.client.FutureCancelledError)):
            return PeerLost(f"the worker {self.shares[number].worker} of node {number} was lost, or its task was cancelled")
        return error

    def _take_reports(self, seconds: float) -> None:
        """Waits for news for a time. Starts the nodes when all are ready, and passes the progress on."""
        with contextlib.suppress(queue.Empty):
            event = self.reports.get(timeout=seconds)
            while True:
                if "ready" in event:
                    self.ready[event["ready"]] = event.get("address", "")
                    if len(self.ready) == len(self.futures):  # again for a node whose worker has begun anew
                        self._tell(_go, self.ready[0])
                elif self.progress is not None and self.raised is None:
                    self._report(event["progress"])
                event = self.reports.get_nowait()

    def _report(self, now: dict[str, Any]) -> None:
        assert self.progress is not None
        try:
            self.progress(now)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            self.raised = error
            self._tell(_interrupt)

    def _look_for_workers(self) -> None:
        """Finds workers that are gone: their tasks would wait for them forever."""
        try:
            there = self.client.nthreads()
        except OSError as error:
            raise PeerLost(f"the scheduler of Dask does not answer: {error}") from error
        gone = [number for number, share in enumerate(self.shares) if share.worker not in there and number not in self.outcomes]
        if gone and not self.lost:
            self.lost = gone
            self.failed = self.failed or time.monotonic()

    def _is_hopeless(self) -> bool:
        """After a failure, asks the other nodes to end; returns whether they have had the time for that."""
        if self.failed is None:
            return False
        since = time.monotonic() - self.failed
        if since > GRACE or len(self.ready) < len(self.futures):
            self._tell(_interrupt)
        left = {number for number in range(len(self.futures)) if number not in self.outcomes}
        return since > LIMIT or left <= set(self.lost)

    def _tell(self, function: Callable[..., None], *arguments: Any) -> None:
        """Calls a function on the workers, beside their tasks, unless an earlier call still waits for one of them.

        Nodes that wait are told in any case, since one worker that does not answer must not end the wait of the others.
        """
        if function is not _keep and function in self.telling and self.telling[function].is_alive():
            return

        def tell() -> None:
            with contextlib.suppress(Exception):  # a worker or the scheduler is gone, which the client sees elsewhere
                there = self.client.nthreads()
                workers = sorted({share.worker for share in self.shares if share.worker in there})
                if workers:
                    self.client.run(function, self.task.name, *arguments, workers=workers, on_error="ignore")

        self.telling[function] = threading.Thread(target=tell, name="hawser-tell", daemon=True)
        self.telling[function].start()

    def conclude(self) -> Outcome:
        """Returns what node 0 has found, or raises what ended the training."""
        first = self.outcomes.get(0, Outcome(0))
        if self.pressed:
            first.interrupted = "the training was interrupted"
        elif (error := self.raised or self._failure()) is not None:
            first.interrupted, first.error = None, error
        return first.conclude()

    def _failure(self) -> BaseException | None:
        """Returns the first cause of a failure. That other nodes are lost is a consequence."""
        if self.lost:
            names = " and ".join(f"{self.shares[number].worker} (node {number})" for number in self.lost)
            return PeerLost(f"the worker {names} was lost during the training; its partitions are computed again for the next one, if they can be")
        errors = [outcome.error for _, outcome in sorted(self.outcomes.items()) if outcome.error is not None]
        return next((error for error in errors if not isinstance(error, PeerLost)), errors[0] if errors else None)


def checked_client(client: Any) -> Any:
    """Returns the client: the one that is passed, else Dask's default."""
    if client is None:
        try:
            client = distributed.default_client()
        except ValueError:
            raise BadArgument("there is no Dask client: make a distributed.Client first, or give client=") from None
    if not isinstance(client, distributed.Client):
        raise BadArgument(f"client: a {type(client).__name__}, and must be a distributed.Client")
    if client.asynchronous:
        raise BadArgument("client: it is asynchronous; give one that is not")
    return client


def run(client: Any, algorithm: str, rows: Rows, extra: dict[str, list[Any]], validation: dict[str, list[Any]], progress: Callback | None,
        options: dict[str, Any], **task: Any) -> Outcome:
    """Trains on rows that workers hold. `extra` is for all nodes, and `validation` for node 0."""
    options, joining = checked_options(algorithm, options, REFUSED, "Dask collections")
    if options.get("workers") is None:
        threads = client.nthreads()
        options["workers"] = sum(threads.get(share.worker, 1) for share in rows.shares)
    whole = Task(secrets.token_hex(8), algorithm, options, joining, variables_here(), secrets.token_bytes(32), rows.columns, rows.dtype == "float32",
                 **{"names": rows.names, "target_names": rows.target_names, **task})
    with _reports_of(client, whole.name) as reports:
        training = _Training(client, whole, rows, extra, validation, progress, reports)
        training.wait()
    return training.conclude()


def validation_of(client: Any, pair: Any, called: str, own: Rows) -> dict[str, list[Any]]:
    """Returns what node 0 reads of other data than `own`: a pair of data and target, or of data and None. Arrays pass through the client."""
    given = other_pair(pair, called)
    if any(map(is_dask, given.values())):
        rows = place(client, given, {"data": "X", "target": f"{called} target"}, several=bool(own.target))
        columns, targets, parts = rows.columns, rows.targets, rows.parts
    else:
        arrays = other_arrays(given, called)
        columns, targets = arrays["data"].shape[1], targets_of(arrays.get("target"))
        parts = {what: client.scatter([array], hash=False) for what, array in arrays.items()}
    check_other(called, (columns, own.columns), (targets, own.targets))
    return {f"validation {what}": futures for what, futures in parts.items()}


def train(client: Any, algorithm: str, data: Any, target: Any = None, *, weights: Any = None, offset: Any = None, groups: Any = None,
          names: Any = None, validation: Any = None, init: Model | None = None, progress: bool | Callback | None = None,
          **options: Any) -> Model:
    """Trains a model on Dask collections, as `hawser.train` does on arrays.

    `client` is a distributed.Client, or None for the default one. `data` is a Dask array of shape (rows, columns), whose blocks may be sparse
    matrices of scipy, or a dataframe. One with words, categories, dates or missing values is read by the rules of CSV, as a table is by `hawser.train`, and its words and
    means are those of all partitions; `categories`, `dates`, `missing`, `ignore` and `columns` are options then. `target`, `weights`, `offset` and `groups` are arrays or series with one number per row;
    where they are cut otherwise than `data`, they are cut again. For "multitask" the target may have a column per target. `validation` is a pair (data, target) of collections, which must fit into
    one worker, or of arrays.

    Each worker that holds partitions of `data` is a node. Collections that are not persisted are computed on the workers first. No rows pass through the
    client. The rows keep their order, and the model has the bits of one process with the same `workers`, which is by default the number of
    threads of the workers that take part. Other options are hawser.train's, and those of hawser.Cluster: `join_timeout=60`,
    `port_range="7000-7100"`. Variables HAWSER_KEY count where the client runs. `progress` is called a few times a second.

    A worker that is lost ends the training with `hawser.PeerLost`, Ctrl-C with `hawser.Interrupted`, whose `model` was reached.
    """
    own, table = checked_client(client), take_table_options(options)
    frame = frame_of(data, target, names, table)
    if table and frame is None:
        raise BadOption(f"{next(iter(table))}: an option of files and dataframes, and the data are a Dask array")
    if frame is not None:
        check_no_validation(validation)
    checked_options(algorithm, options, REFUSED, "Dask collections")
    if validation is not None:
        check_validation(algorithm)
    given = {"data": data, "target": target, "weights": weights, "offset": offset, "groups": groups}
    check_collections(find_algorithm(algorithm).contents, given, options, variables_here())
    rows = place(own, {what: value for what, value in given.items() if value is not None}, {"data": "X"},
                 several=takes_several(find_algorithm(algorithm).contents), frame=frame)
    others = {} if validation is None else validation_of(own, validation, "validation", rows)
    task: dict[str, Any] = {"init": init, "frame": frame} if names is None else {"init": init, "frame": frame, "names": [str(name) for name in names]}
    with bar_of(progress, algorithm) as callback:
        outcome = run(own, algorithm, rows, {}, others, callback, options, **task)
    assert outcome.model is not None
    return outcome.model
