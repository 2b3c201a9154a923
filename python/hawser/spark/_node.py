"""What each task of a barrier stage does: it reads its partition, agrees with the others, and trains as one node of them."""
import json
import os
import pickle
import secrets
import socket
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import _errors, _native
from .._dataset import Dataset
from .._errors import BadInput, Diverged, Error, PeerLost, Timeout
from .._launch import launched
from .._model import Model
from .._train import train
from ._rows import Array, Features, Rows

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

    version: str
    key: bytes
    algorithm: str
    options: dict[str, Any]
    features: Features
    beside: dict[str, str]
    joining: dict[str, Any] = field(default_factory=dict)
    classes: Classes | None = None
    init: Model | None = None


@dataclass
class Outcome:
    """What a task returns to the driver."""

    model: Model | None = None  #: with an error the one that was reached
    error: str | None = None  #: the name of an exception of hawser
    text: str = ""
    labels: Array | None = None  #: of a classifier
    warnings: list[tuple[bool, str]] = field(default_factory=list)  #: whether it is about convergence, and its text

    @classmethod
    def of(cls, error: Exception) -> "Outcome":
        model = error.model if isinstance(error, Diverged) else None
        name = type(error).__name__ if isinstance(error, Error) else "BadInput"
        return cls(error=name, text=str(error), model=model if isinstance(model, Model) else None)


@dataclass
class Facts:
    """What the tasks tell each other about their partitions."""

    rows: int = 0
    columns: int | None = None
    sparse: bool = False
    error: str | None = None
    text: str = ""
    labels: list[tuple[Any, float]] = field(default_factory=list)  #: each value, and the sum of its weights


class Task:
    """One task, which is a node if its partition has rows."""

    def __init__(self, plan: Plan, context: Any) -> None:
        self.plan, self.context = plan, context
        self.place: int = context.partitionId()
        self.rows = Rows(plan.features, plan.beside)
        self.data: Dataset | None = None  # None: the partition has no rows

    def run(self, batches: Iterator[Any]) -> Outcome | None:
        """Returns what the driver must learn from this task, if anything. All tasks make the same calls that wait for the others."""
        try:
            facts = self._gather(self._read(batches))
            columns = {place: each.columns for place, each in enumerate(facts) if each.rows > 0}
            self._check_columns(columns)
            classes = self._merge_labels(facts)
            algorithm, options = self._choose(classes)
            nodes = list(columns)
            job = self._gather(self._convert(any(each.sparse for each in facts), classes))[nodes[0]].text
        except (Error, ValueError) as error:  # the same one in all tasks
            return Outcome.of(error) if self.place == 0 else None
        if self.data is None:
            if len(nodes) > 1:
                self._broadcast("", nodes[0])
            return None
        try:
            return self._train(nodes, job, classes, algorithm, options)
        except LOSSES:
            raise
        except Error as error:
            return Outcome.of(error)

    # ------------------------------------------------------------------------------------------- agreements ----

    def _gather(self, own: Facts) -> list[Facts]:
        """Returns the facts of all tasks, by partition, or raises the first error. Collective."""
        facts = [Facts(**json.loads(text)) for text in self.context.allGather(json.dumps(own.__dict__))]
        for place, each in enumerate(facts):
            if each.error is not None:
                raise _errors.__dict__[each.error](f"partition {place}: {each.text}")
        return facts

    def _broadcast(self, text: str, source: int) -> str:
        """Returns the text of one task. Collective over all tasks, those without rows included."""
        return str(self.context.allGather(text)[source])

    def _check_columns(self, columns: dict[int, int | None]) -> None:
        if not columns:
            raise BadInput("the frame has no rows")
        first = next(iter(columns))
        for place, count in columns.items():
            if count != columns[first]:
                raise BadInput(f"the rows of partition {first} have {columns[first]} features, and those of partition {place} have {count}")

    # ------------------------------------------------------------------------------------------------- data ----

    def _read(self, batches: Iterator[Any]) -> Facts:
        facts = Facts()
        try:
            if self.plan.version != _native.VERSION:
                raise BadInput(f"the driver has hawser {self.plan.version}, and {socket.gethostname()} has {_native.VERSION}; "
                               "install one version")
            for batch in batches:
                self.rows.add(batch)
            if self.plan.classes is not None and self.rows.count > 0:
                facts.labels = self._count_labels(self.plan.classes.column)
        except Error as error:
            facts.error, facts.text = type(error).__name__, str(error)
            for _ in batches:  # Spark waits until its batches have been read
                pass
        facts.rows, facts.columns, facts.sparse = self.rows.count, self.rows.columns, self.rows.sparse
        return facts

    def _convert(self, sparse: bool, classes: dict[Any, float] | None) -> Facts:
        """Makes the dataset of this task. The text of the facts is a name for the job."""
        facts = Facts(text=f"spark-{secrets.token_hex(8)}")
        if self.rows.count == 0:
            return facts
        try:
            target, weights = self.rows.values("target"), self.rows.values("weights")
            if classes is not None:
                target, weights = self._places(classes)
            names = self.plan.features.names if self.plan.features.kind == "columns" else None
            self.data = Dataset(self.rows.matrix(sparse), target, weights=weights, offset=self.rows.values("offset"), names=names,
                                partitioned=True)
        except Error as error:
            facts.error, facts.text = type(error).__name__, str(error)
        return facts

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
            return self.plan.algorithm, self.plan.options
        if isinstance(self.plan.classes.many, str):
            raise BadInput(self.plan.classes.many)
        return self.plan.classes.many

    def _places(self, classes: dict[Any, float]) -> tuple[Array, Array | None]:
        """Returns the place of each row's label, and the weights, those of classes included."""
        target, weights = self.rows.values("target"), self.rows.values("weights")
        assert target is not None and self.plan.classes is not None
        labels = np.array(list(classes), dtype=object if target.dtype.kind == "O" else None)
        places = np.minimum(np.searchsorted(labels, target), len(labels) - 1)
        given = self.plan.classes.weight
        if given is not None:
            total = sum(classes.values())
            factors = np.array([total / (len(classes) * value) for value in classes.values()] if isinstance(given, str)
                               else [given.get(label, 1.0) for label in classes])
            weights = factors[places] if weights is None else weights * factors[places]
        return places.astype(np.float64), weights

    # --------------------------------------------------------------------------------------------- training ----

    def _train(self, nodes: list[int], job: str, classes: dict[Any, float] | None, algorithm: str,
               options: dict[str, Any]) -> Outcome | None:
        if options.get("workers") is None and "HAWSER_WORKERS" not in os.environ:
            options = {**options, "workers": len(nodes) * self.context.cpus()}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            if len(nodes) == 1:
                model = train(algorithm, self.data, init=self.plan.init, alone=True, **options)
            else:
                model = self._train_over(nodes, job, algorithm, options)
        if self.place != nodes[0]:
            return None
        said = [(issubclass(each.category, _errors.ConvergenceWarning), str(each.message)) for each in caught
                if issubclass(each.category, (_errors.ConvergenceWarning, RuntimeWarning))]
        return Outcome(model, labels=None if classes is None else np.array(list(classes)), warnings=said)

    def _train_over(self, nodes: list[int], job: str, algorithm: str, options: dict[str, Any]) -> Model:
        infos = self.context.getTaskInfos()
        hosts = [str(infos[place].address).rsplit(":", 1)[0] for place in nodes]

        def broadcast(text: str) -> str:
            return self._broadcast(text, nodes[0])

        with launched(nodes.index(self.place), hosts, job, self.plan.key, broadcast, self.plan.joining):
            return train(algorithm, self.data, init=self.plan.init, **options)


def run(plan: Plan, batches: Iterator[Any]) -> Iterator[Any]:
    """The function of mapInArrow: takes the batches of a partition, and returns the outcome, if this task has one."""
    import pyarrow
    from pyspark import BarrierTaskContext
    context = BarrierTaskContext.get()
    outcome = Task(plan, context).run(batches)
    if outcome is not None:
        yield pyarrow.RecordBatch.from_pydict({"place": pyarrow.array([context.partitionId()], pyarrow.int32()),
                                               "outcome": pyarrow.array([pickle.dumps(outcome)], pyarrow.binary())})


__all__ = ["Classes", "Outcome", "Plan", "RESULT", "run"]
