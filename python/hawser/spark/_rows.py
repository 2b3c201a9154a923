"""Rows of a Spark frame as arrays: from the Arrow batches of one partition to one matrix."""
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._errors import BadArgument, BadInput

Array = npt.NDArray[Any]
Names = str | tuple[str, ...]  # a column of the frame, or several
BESIDE = ("target", "weights", "offset")  # columns of a batch with one value per row; a target may have a list of them


@dataclass(frozen=True)
class Features:
    """Where the features of a row are."""

    kind: str  #: "vector" of pyspark.ml, "array", "columns": one of numbers for each feature, or "table": columns with more than numbers
    names: tuple[str, ...]  #: of the columns of the frame
    single: bool = False  #: all are floats of 32 bits

    @property
    def dtype(self) -> type[np.floating[Any]]:
        return np.float32 if self.single else np.float64

    def column(self, place: int) -> str:
        """Returns the name of a column in batches, where no other name can be in its way."""
        return f"x{place}"


def _nulls(name: Names) -> BadInput:
    return BadInput(f"column '{name if isinstance(name, str) else ', '.join(name)}' has nulls: drop these rows (frame.dropna()) or fill them first")


class Rows:
    """The rows of one partition."""

    def __init__(self, features: Features, beside: dict[str, Names]) -> None:
        """`beside` has the frame's names of the columns of BESIDE that the batches have."""
        self._features, self._beside = features, beside
        self._pieces: list[Any] = []  # dense arrays and CSR matrices
        self._values: dict[str, list[Any]] = {what: [] for what in beside}
        self._stacked = False  # the only piece is a whole CSR matrix
        self.count = 0
        self.columns: int | None = len(features.names) if features.kind in ("columns", "table") else None
        self.targets: int | None = None  #: numbers in a target that has lists
        self.sparse = False  #: a row is sparse

    def add(self, batch: Any) -> None:
        """Takes an Arrow batch. Refuses nulls, and vectors or arrays of another length than before."""
        if batch.num_rows == 0:
            return
        for what, name in self._beside.items():
            self._values[what].append(self._beside_column(batch, what, name))
        if self._features.kind == "table":
            self._pieces.append(self._named(batch))
            self.count += batch.num_rows
            return
        take = {"vector": self._vectors, "array": self._arrays, "columns": self._columns}[self._features.kind]
        piece = take(batch)
        if self.columns is None:
            self.columns = piece.shape[1]
        if piece.shape[1] != self.columns:
            raise self._uneven(self._features.names[0], "features", self.columns, piece.shape[1])
        self._pieces.append(piece)
        self.count += batch.num_rows

    def matrix(self, sparse: bool) -> Any:
        """Returns all rows, which it keeps in this form: CSR if `sparse`, else a dense array."""
        pieces, self._pieces = self._pieces, []
        if not sparse:
            whole = pieces[0] if len(pieces) == 1 else np.concatenate(pieces)
        elif len(pieces) == 1 and self._stacked:
            whole = pieces[0]
        else:
            import scipy.sparse
            whole = scipy.sparse.vstack([scipy.sparse.csr_array(piece) for piece in pieces], format="csr")
            whole.eliminate_zeros()  # those of dense vectors, so that the same numbers have the same bits
            self._stacked = True
        self._pieces = [whole]
        return whole

    def table(self) -> list[Any]:
        """Returns the Arrow tables of a frame with more than numbers."""
        return self._pieces

    def values(self, what: str) -> Array | None:
        """Returns the column of the target, weights or offset, or None if the frame has none."""
        return np.concatenate(self._values[what]) if self._values.get(what) else None

    # ------------------------------------------------------------------------------------------- one batch ----

    def _column(self, batch: Any, column: str, name: Names) -> Any:
        found = batch.column(batch.schema.get_field_index(column))
        if found.null_count:
            raise _nulls(name)
        return found

    def _beside_column(self, batch: Any, what: str, name: Names) -> Array:
        """Returns the values of a column, of shape (rows,), or (rows, targets) if it has lists."""
        found = self._column(batch, what, name)
        if not hasattr(found, "value_lengths"):
            values: Array = found.to_numpy(zero_copy_only=False)
            return values
        several = self._lists(found, name, "targets")
        self.targets = self.targets or several.shape[1]
        if several.shape[1] != self.targets:
            raise self._uneven(name, "targets", self.targets, several.shape[1])
        return several

    def _columns(self, batch: Any) -> Array:
        piece = np.empty((batch.num_rows, len(self._features.names)), self._features.dtype)
        for place, name in enumerate(self._features.names):
            piece[:, place] = self._column(batch, self._features.column(place), name).to_numpy(zero_copy_only=False)
        return piece

    def _named(self, batch: Any) -> Any:
        """Returns the features of a batch under their own names."""
        import pyarrow
        places = [batch.schema.get_field_index(self._features.column(place)) for place in range(len(self._features.names))]
        return pyarrow.Table.from_arrays([batch.column(place) for place in places], list(self._features.names))

    def _numbers(self, column: Any, name: Names) -> Array:
        """Returns the numbers of all lists, one after another. `name` may have a name for each place of a list."""
        flat = column.flatten()
        if flat.null_count:
            if isinstance(name, str):
                raise BadInput(f"column '{name}' has nulls within a row: drop these rows or fill them first")
            raise _nulls(name[int(flat.is_null().to_numpy(zero_copy_only=False).argmax()) % len(name)])
        numbers: Array = flat.to_numpy(zero_copy_only=False)
        return numbers

    def _uneven(self, name: Names, what: str, one: int, other: int) -> BadInput:
        return BadInput(f"column '{name}': one row has {one} {what}, and another has {other}")

    def _even(self, lengths: Array, name: Names, what: str) -> int:
        """Returns the length that all rows have."""
        least, most = int(lengths.min()), int(lengths.max())
        if least != most:
            raise self._uneven(name, what, least, most)
        return least

    def _lists(self, column: Any, name: Names, what: str) -> Array:
        """Returns lists of one length as the rows of an array."""
        width = self._even(column.value_lengths().to_numpy(), name, what)
        return self._numbers(column, name).reshape(len(column), width)

    def _arrays(self, batch: Any) -> Array:
        return self._lists(self._column(batch, self._features.column(0), self._features.names[0]), self._features.names[0], "features")

    def _vectors(self, batch: Any) -> Any:
        """Takes vectors of pyspark.ml: type (0: sparse), size (null if dense), indices (null if dense), values."""
        name = self._features.names[0]
        column = self._column(batch, self._features.column(0), name)
        kinds, sizes, indices, values = column.flatten()
        sparse = kinds.to_numpy(zero_copy_only=False) == 0
        lengths = values.value_lengths().to_numpy()
        width = self._even(np.where(sparse, sizes.fill_null(0).to_numpy(zero_copy_only=False), lengths), name, "features")
        numbers = self._numbers(values, name)
        if not sparse.any():
            return numbers.reshape(batch.num_rows, width)
        import scipy.sparse
        self.sparse = True
        ends = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        places = np.arange(len(numbers)) - np.repeat(ends[:-1], lengths)  # those of dense rows
        places[np.repeat(sparse, lengths)] = self._numbers(indices, name)
        if len(places) and (places.min() < 0 or places.max() >= width):
            raise BadArgument(f"column '{name}': a sparse vector has an index beyond its size")
        matrix = scipy.sparse.csr_array((numbers, places, ends), shape=(batch.num_rows, width))
        matrix.sort_indices()
        return matrix


__all__ = ["BESIDE", "Features", "Names", "Rows"]
