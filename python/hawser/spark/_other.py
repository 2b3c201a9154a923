"""Other data, given as a frame or as arrays. They pass through the driver to node 0, which measures errors on them."""
import functools
import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._dataset import Dataset
from .._errors import BadInput, Error
from .._node import other_arrays, targets_of
from .._sparse import is_sparse
from ._rows import Features, Names, Rows

PARTS = "place int, part binary"  # the rows that tasks return


@dataclass(frozen=True)
class Other:
    """Other data, as the driver has them."""

    called: str  #: in errors
    parts: Any  #: as Node.prepare takes them: a dictionary, or a broadcast of one, which node 0 alone reads
    columns: int
    targets: int
    labels: list[Any] | None = None  #: those of a classifier's target

    def read(self) -> dict[str, list[Any]]:
        found: dict[str, list[Any]] = self.parts if isinstance(self.parts, dict) else self.parts.value
        return found


def read_partition(features: Features, beside: dict[str, Names], called: str, batches: Iterator[Any]) -> Iterator[Any]:
    """The function of mapInArrow: returns the rows of a partition as one matrix and what is beside them, or an error, since Spark would repeat a task that raises it."""
    import pyarrow
    from pyspark import TaskContext
    place = TaskContext.get().partitionId()
    part: tuple[Any, dict[str, Any]] | Error
    try:
        rows = Rows(features, beside)
        for batch in batches:
            rows.add(batch)
        if rows.count == 0:
            return
        part = rows.matrix(rows.sparse), {what: rows.values(what) for what in beside}
    except Error as error:
        part = type(error)(f"{called}: partition {place}: {error}")
        for _ in batches:  # Spark waits until its batches have been read
            pass
    yield pyarrow.RecordBatch.from_pydict({"place": pyarrow.array([place], pyarrow.int32()),
                                           "part": pyarrow.array([pickle.dumps(part)], pyarrow.binary())})


def collect(frame: Any, columns: list[Any], features: Features, beside: dict[str, Names], called: str) -> dict[str, list[Any]]:
    """Returns the data of a frame, and what is beside them, by partition, in its order."""
    rows = frame.select(*columns).mapInArrow(functools.partial(read_partition, features, beside, called), PARTS).collect()
    parts = [pickle.loads(row["part"]) for row in sorted(rows, key=lambda row: row["place"])]
    if not parts:
        raise BadInput(f"{called}: the frame has no rows")
    for part in parts:
        if isinstance(part, Error):
            raise part
    matrices, targets = [matrix for matrix, _ in parts], [found["target"] for _, found in parts if found.get("target") is not None]
    for what, sizes in (("features", [matrix.shape[1] for matrix in matrices]), ("targets", [targets_of(target) for target in targets])):
        if len(set(sizes)) > 1:
            raise BadInput(f"{called}: one row has {min(sizes)} {what}, and another has {max(sizes)}")
    if any(map(is_sparse, matrices)):
        matrices = [_as_sparse(matrix) for matrix in matrices]
    sides = {what: [found[what] for _, found in parts] for what in beside if what != "target"}
    return {"data": matrices, **({"target": targets} if targets else {}), **sides}


def _as_sparse(matrix: Any) -> Any:
    from scipy.sparse import csr_array
    made = csr_array(matrix)
    made.eliminate_zeros()
    return made


def describe(parts: dict[str, list[Any]], called: str, classifies: bool) -> Other:
    """Returns other data that have been checked as far as the driver can do that."""
    targets = parts.get("target")
    labels = np.unique(np.concatenate(targets)).tolist() if targets and classifies else None
    for k, matrix in enumerate(parts["data"]):
        try:
            Dataset(matrix, None if targets is None or classifies else targets[k])
        except Error as error:
            raise type(error)(f"{called}: {error}") from error
    whole = {f"validation {what}": found for what, found in parts.items()}
    return Other(called, whole, parts["data"][0].shape[1], 1 if targets is None else targets_of(targets[0]), labels)


def from_arrays(given: dict[str, Any], called: str, classifies: bool) -> Other:
    return describe({what: [array] for what, array in other_arrays(given, called).items()}, called, classifies)


__all__ = ["Other", "collect", "describe", "from_arrays"]
