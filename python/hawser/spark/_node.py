"""What each task of a barrier stage does: it reads its partition, agrees with the others, and trains as one node of them."""
import base64
import contextlib
import hashlib
import json
import os
import pickle
import socket
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .. import _errors
from .._dataset import Dataset
from .._errors import BadInput, BadOption, Error, PeerLost, Timeout
from .._node import Held, Node, Outcome, Place, Task, check_other, check_version, codes_of, held_address, variables_here
from .._progress import Callback
from .._table import BESIDE as TABLE_BESIDE, table_with
from ._other import Other
from ._progress import reporting
from ._rows import BESIDE, Array, Features, Names, Rows

RESULT = "place int, outcome binary"  # the rows that tasks return
CLASSES_MOST = 10000
# A failure of one node. The task fails, so that Spark ends the others, which may never come to their end. Other errors are results.
LOSSES = (PeerLost, Timeout)


@dataclass(frozen=True)
class Classes:
    """A classifier: labels become places in the sorted list of labels, and their number chooses the algorithm."""

    column: str
    many: tuple[str, dict[str, Any]] | str  #: algorithm and options for more than two classes, or why there must be no more
    weight: dict[Any, float] | str | None  #: of scikit-learn's class_weight


@dataclass(frozen=True)
class Plan:
    """A training, as the driver describes it."""

    task: Task  #: what depends on the rows is added by the tasks
    features: Features
    beside: dict[str, Names]
    classes: Classes | None = None
    cv: Any = None  #: of a cross-validation with scikit-learn's folds: a number of folds, or a splitter
    several: bool = False  #: the target may have several numbers per row
    other: Other | None = None  #: on which node 0 measures errors
    listener: tuple[str, int] | None = None  #: where the driver takes the progress


@dataclass
class Facts:
    """What the tasks tell each other about their partitions."""

    rows: int = 0
    columns: int | None = None
    targets: int | None = None  #: if the target has lists
    sparse: bool = False
    error: str | None = None
    text: str = ""
    address: str = ""  #: where it listens, if it becomes node 0
    attempt: int = 0  #: Spark's number of this attempt of the task
    labels: list[tuple[Any, float]] = field(default_factory=list)  #: each value, and the sum of its weights


class Partition:
    """What one task of the stage has: it is a node if its partition has rows."""

    def __init__(self, plan: Plan, context: Any) -> None:
        self.plan, self.context = plan, context
        self.place: int = context.partitionId()
        self.host = self._find_host()
        self.rows = Rows(plan.features, plan.beside)
        self.ending = contextlib.ExitStack()
        self.held: Held | None = None  # None: the partition has no rows, or an error
        self.node: Node | None = None
        self.warnings: list[tuple[type[Warning], str]] = []

    def _find_host(self) -> str:
        """Returns this executor's address. After the loss of an executor Spark may begin a stage with fewer addresses than tasks: then it must repeat it."""
        tasks = self.context.getTaskInfos()
        if self.place >= len(tasks):
            raise PeerLost(f"Spark began partition {self.place} with the addresses of {len(tasks)} tasks only; an executor was lost")
        return str(tasks[self.place].address).rsplit(":", 1)[0]

    def run(self, batches: Iterator[Any]) -> Outcome | None:
        """Returns what the driver must learn from this task, if anything. All tasks make the same calls that wait for the others.

        There is one such call, or two: each takes a second, since Spark looks that often whether all tasks have made it.
        """
        with self.ending:
            return self._run(batches)

    def _run(self, batches: Iterator[Any]) -> Outcome | None:
        try:
            facts = self._gather(self._read(batches))
            nodes = [place for place, each in enumerate(facts) if each.rows > 0]
            self._check_sizes(facts, nodes)
            classes = self._merge_labels(facts)
            self._check_other(facts[nodes[0]], classes)
            task = self._complete(facts[nodes[0]], len(nodes), classes)
            fold = self._folds(sum(each.rows for each in facts), task.classes)
        except (Error, ValueError) as error:  # the same one in all tasks
            return Outcome(0, error=error) if self.place == 0 else None
        if self.held is None:
            return None
        self._prepare(task, nodes, any(each.sparse for each in facts), fold)
        assert self.node is not None
        report = self._reach_driver() if self.node.place.number == 0 else None
        outcome = self.node.run(self.held, lambda own: facts[nodes[0]].address, report)
        outcome.reports += self.warnings
        if outcome.number > 0 and outcome.error is None:
            return None
        if isinstance(outcome.error, LOSSES):
            raise outcome.error
        outcome.classes = task.classes
        return outcome

    # ------------------------------------------------------------------------------------------- agreements ----

    def _gather(self, own: Facts) -> list[Facts]:
        """Returns the facts of all tasks, by partition, or raises the first error. Collective."""
        facts = [Facts(**json.loads(text)) for text in self.context.allGather(json.dumps(own.__dict__))]
        for place, each in enumerate(facts):
            if each.error is not None:
                raise _errors.__dict__[each.error](f"partition {place}: {each.text}")
        return facts

    def _check_sizes(self, facts: list[Facts], nodes: list[int]) -> None:
        """Refuses partitions if their rows have other sizes than those of the first one. Refuses fewer workers than nodes."""
        if not nodes:
            raise BadInput("the frame has no rows")
        first = facts[nodes[0]]
        for place in nodes:
            for what, own, count in (("features", first.columns, facts[place].columns), ("targets", first.targets, facts[place].targets)):
                if count != own:
                    raise BadInput(f"the rows of partition {nodes[0]} have {own} {what}, and those of partition {place} have {count}")
        # The job would refuse it, too, on each node for itself, and Spark might hear first from one that sees another one leave.
        workers = str(self.plan.task.options.get("workers", ""))
        if workers.isdigit() and int(workers) < len(nodes):
            raise BadOption(f"{workers} workers are too few for {len(nodes)} nodes; raise workers")

    def _check_other(self, own: Facts, classes: dict[Any, float] | None) -> None:
        """Refuses other data that do not fit to those of the training."""
        other = self.plan.other
        if other is None:
            return
        assert own.columns is not None
        check_other(other.called, (other.columns, own.columns), (other.targets, own.targets or 1))
        unknown = [label for label in other.labels or () if classes is not None and label not in classes]
        if unknown:
            raise BadInput(f"{other.called}: the label {unknown[0]!r} is not one of the training's")

    def _reach_driver(self) -> Callback | None:
        """Returns what sends the progress to the driver, if it wants any and can be reached."""
        assert self.node is not None
        try:
            return self.ending.enter_context(reporting(self.plan.listener, self.plan.task.key, self.node.interrupt))
        except OSError as error:
            self.warnings.append((RuntimeWarning, f"progress: node 0 cannot reach the driver at {self.plan.listener}: {error}"))
            return None

    # ------------------------------------------------------------------------------------------------- data ----

    def _read(self, batches: Iterator[Any]) -> Facts:
        facts = Facts(attempt=self.context.taskAttemptId())
        try:
            check_version(self.plan.task.version)
            for batch in batches:
                self.rows.add(batch)
            if self.rows.count > 0:
                self._check()
                if self.plan.classes is not None:
                    facts.labels = self._count_labels(self.plan.classes.column)
                self.held = self.ending.enter_context(held_address(replace(self.plan.task, variables=variables_here()), self.host))
                facts.address = self.held.address
        except Error as error:
            facts.error, facts.text = type(error).__name__, str(error)
            for _ in batches:  # Spark waits until its batches have been read
                pass
        facts.rows, facts.columns, facts.targets, facts.sparse = self.rows.count, self.rows.columns, self.rows.targets, self.rows.sparse
        return facts

    def _check(self) -> None:
        """Refuses numbers of the partition that the training would refuse, before any task waits for others to join."""
        target = self.rows.values("target")
        frame = self.plan.task.frame
        if frame is not None:  # each node reads its table with the others
            table_with(frame.table(self.rows.table()), dict.fromkeys(TABLE_BESIDE), None, None, frame.options)
            return
        Dataset(self.rows.matrix(self.rows.sparse), None if self.plan.classes is not None else target, weights=self.rows.values("weights"),
                offset=self.rows.values("offset"))

    def _complete(self, first: Facts, nodes: int, classes: dict[Any, float] | None) -> Task:
        """Returns the task with what all partitions together have. A stage that Spark repeats has another key, so that its nodes meet no earlier ones."""
        task = self.plan.task
        algorithm, options = self._choose(classes)
        if options.get("workers") is None and "HAWSER_WORKERS" not in os.environ:
            options = {**options, "workers": nodes * self.context.cpus()}
        key = hashlib.sha256(task.key + str(first.attempt).encode()).digest()
        assert first.columns is not None
        labels = None if classes is None else np.array(list(classes), dtype=object if isinstance(next(iter(classes)), str) else None)
        return replace(task, algorithm=algorithm, options=options, key=key, columns=first.columns, variables=variables_here(), classes=labels,
                       factors=self._factors(classes))

    def _folds(self, rows: int, classes: Array | None) -> Array | None:
        """Returns the fold of each row of the frame. For a classifier the tasks exchange their labels, compressed: folds depend on all of them."""
        if self.plan.cv is None:
            return None
        from ..estimators._folds import folds_of
        codes = None
        if classes is not None:
            target = self.rows.values("target")
            own = np.zeros(0, np.int64) if target is None else codes_of(target, classes)
            texts = self.context.allGather(base64.b64encode(zlib.compress(own.astype("<u4").tobytes(), 1)).decode())
            codes = np.concatenate([np.frombuffer(zlib.decompress(base64.b64decode(text)), "<u4") for text in texts])
        return folds_of(self.plan.cv, np.empty((rows, 0)), codes, classifier=classes is not None)

    def _prepare(self, task: Task, nodes: list[int], sparse: bool, fold: Array | None) -> None:
        """Makes the node of this task, and its dataset. If it fails, which it should not after `_check`, Spark ends the other tasks."""
        number = nodes.index(self.place)
        self.node = Node(task, Place(number, len(nodes), self.rows.count, f"{socket.gethostname()[:50]}-{number}"))
        self.ending.callback(self.node.leave)
        beside = {what: [values] for what in BESIDE if (values := self.rows.values(what)) is not None}
        folds = {} if fold is None else {"folds": [fold]}
        other = {} if self.plan.other is None or number > 0 else self.plan.other.read()
        features = self.rows.table() if task.frame is not None else [self.rows.matrix(sparse)]
        self.node.prepare({"data": features, **beside, **folds, **other})

    # ----------------------------------------------------------------------------------------------- labels ----

    def _count_labels(self, column: str) -> list[tuple[Any, float]]:
        labels, weights = self.rows.values("target"), self.rows.values("weights")
        assert labels is not None
        if labels.dtype.kind == "f" and not np.all(np.isfinite(labels) & (labels == np.floor(labels))):
            raise BadInput(f"column '{column}' has numbers that are not whole; labels of classes are whole numbers or words")
        if weights is not None:  # as in scikit-learn, a label counts if a row with a weight above 0 has it
            labels, weights = labels[weights > 0], weights[weights > 0]
        found, places = np.unique(labels, return_inverse=True)
        if len(found) > CLASSES_MOST:
            raise BadInput(f"column '{column}' has over {CLASSES_MOST} different labels in one partition")
        sums = np.bincount(places, weights, len(found))
        return list(zip(found.tolist(), sums.tolist()))

    def _merge_labels(self, facts: list[Facts]) -> dict[Any, float] | None:
        """Returns the sum of weights of each label of all partitions, sorted; None if this is no classifier."""
        if self.plan.classes is None:
            return None
        sums: dict[Any, float] = {}
        for each in facts:
            for label, weight in each.labels:
                sums[label] = sums.get(label, 0.0) + weight
        if len(sums) < 2:
            only = f", and all rows have {next(iter(sums))!r}" if sums else ""
            raise BadInput(f"column '{self.plan.classes.column}': a classifier needs rows of at least 2 classes{only}")
        return dict(sorted(sums.items()))

    def _choose(self, classes: dict[Any, float] | None) -> tuple[str, dict[str, Any]]:
        """Returns the algorithm and its options."""
        if classes is None or self.plan.classes is None or len(classes) == 2:
            return self.plan.task.algorithm, self.plan.task.options
        if isinstance(self.plan.classes.many, str):
            raise BadInput(self.plan.classes.many)
        return self.plan.classes.many

    def _factors(self, classes: dict[Any, float] | None) -> Array | None:
        """Returns the weights of the classes."""
        given = None if self.plan.classes is None else self.plan.classes.weight
        if classes is None or given is None:
            return None
        if isinstance(given, str):
            total = sum(classes.values())
            return np.array([total / (len(classes) * value) for value in classes.values()])
        return np.array([given.get(label, 1.0) for label in classes])


def run(plan: Plan, batches: Iterator[Any]) -> Iterator[Any]:
    """The function of mapInArrow: takes the batches of a partition, and returns the outcome, if this task has one."""
    import pyarrow
    from pyspark import BarrierTaskContext
    context = BarrierTaskContext.get()
    outcome = Partition(plan, context).run(batches)
    if outcome is not None:
        yield pyarrow.RecordBatch.from_pydict({"place": pyarrow.array([context.partitionId()], pyarrow.int32()),
                                               "outcome": pyarrow.array([pickle.dumps(outcome)], pyarrow.binary())})


__all__ = ["Classes", "Plan", "RESULT", "run"]
