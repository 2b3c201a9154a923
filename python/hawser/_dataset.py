"""Data of a training or a prediction: arrays, sparse matrices, tables and files."""
import ctypes
import glob
import os
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from ctypes import POINTER, byref
from typing import Any, NoReturn

import numpy as np

from . import _native
from ._allowance import allow, claim, left
from ._arguments import name_bytes, path_bytes, refuse_pickle
from ._beside import run_beside
from ._columns import columns_of, is_table, texts_of
from ._documents import Documents, named_by_caller, numbers_beside
from ._errors import BadArgument, BadOption, Error, FileError, check, warn
from ._exact import Labels
from ._library import library as lib
from ._native import hawser_arrays, hawser_cancellation, hawser_dataset, hawser_error, hawser_load, hawser_matrix, hawser_schema
from ._numbers import Array, numbers_of, refuse_types
from ._options import DATA_KEYS, JOB_OF_DATA, Options, key_of
from ._sparse import compressed, is_sparse
from ._table import LASTING, ModelColumns, Table, TableWith, load_table, table_with

TYPES = {np.dtype(np.float64): _native.HAWSER_F64, np.dtype(np.float32): _native.HAWSER_F32}
TARGETS = len(_native.hawser_beside().outputs)  # the most targets of a dataset
# Options of one format, which new data inherit. The columns of the training data say the others.
INHERITED = ("target", "header", "delimiter", "missing", "index-base", "text", "min-length")
BY_ROW = (_native.HAWSER_CSR, _native.HAWSER_DENSE_ROWS)


def is_path(data: Any) -> bool:
    """Returns whether data are one path or several."""
    if isinstance(data, (str, os.PathLike)):
        return True
    return isinstance(data, (list, tuple)) and len(data) > 0 and all(isinstance(each, (str, os.PathLike)) for each in data)


def pointer_to(array: Array | None, kind: Any) -> Any:
    """Returns a pointer to the first number, which does not keep the array alive."""
    return POINTER(kind)() if array is None else ctypes.cast(array.ctypes.data, POINTER(kind))


def claim_copy(array: Array, in_order: bool, what: str) -> None:
    """Counts the copy that an array needs, unless it is float64 in the order that is read."""
    if array.dtype != np.float64 or not in_order:
        claim(array.size * 8, what, f"a copy of the type {array.dtype} as float64" if in_order else "a copy in the order that is read")


def unequal(rows: int, found: int, what: str) -> BadArgument:
    return BadArgument(f"Found input variables with inconsistent numbers of samples: {[rows, found]} ({what} has one number per row)")


class _Borrowed:
    """Arrays in the form that the library reads, and how many bytes were copied for that."""

    def __init__(self) -> None:
        self.arrays = hawser_arrays()
        self.kept: list[Any] = []
        self.copied = 0

    def keep(self, given: Any, array: Array) -> Array:
        """Keeps an array alive, and counts it if it is a copy of the given one."""
        if not (isinstance(given, np.ndarray) and np.shares_memory(given, array)):
            self.copied += array.nbytes
        self.kept.append(array)
        return array

    def beside(self, values: Any, rows: int, what: str) -> Any:
        """Returns a pointer to one float64 per row, or NULL."""
        if values is None:
            return pointer_to(None, ctypes.c_double)
        array = numbers_of(values, what)
        if array.ndim == 2 and array.shape[1] == 1:
            array = array[:, 0]
        if array.ndim != 1:
            raise BadArgument(f"{what}: bad input shape {array.shape}; it must have one number per row, shape ({rows},)")
        if len(array) != rows:
            raise unequal(rows, len(array), what)
        claim_copy(array, array.flags.c_contiguous, what)
        return pointer_to(self.keep(values, np.ascontiguousarray(array, dtype=np.float64)), ctypes.c_double)

    def targets(self, values: Any, rows: int) -> None:
        """Takes one target, or several as the columns of an array or a table. The names of a table's columns become the names of the targets."""
        refuse_types(values, "target")
        given, names = values, _names_of(values)
        if is_sparse(values):
            raise BadArgument("target: Sparse data was passed for y, but dense data is required. Use '.toarray()' to convert")
        if is_table(values) and not hasattr(values, "to_numpy"):
            table = Table(columns_of(values, "target"), {})
            values, names = table.numbers(), [column.name for column in table.columns]
        array = None if values is None else numbers_of(values, "target")
        if array is None or array.ndim != 2 or array.shape[1] == 1:
            self.arrays.target = self.beside(values, rows, "target")
            return
        if len(array) != rows:
            raise unequal(rows, len(array), "target")
        if not 1 <= array.shape[1] <= TARGETS:
            raise BadArgument(f"target: an array of shape {array.shape} has {array.shape[1]} targets; data have 1 to {TARGETS}")
        claim_copy(array, array.flags.f_contiguous, "target")
        columns = self.keep(given, np.asfortranarray(array, dtype=np.float64))
        self.arrays.outputs = hawser_matrix(rows=rows, cols=columns.shape[1], layout=_native.HAWSER_DENSE, type=_native.HAWSER_F64,
                                            values=columns.ctypes.data, stride=rows)
        if names is not None:
            self.arrays.output_names = _texts(names)

    def name_targets(self, names: str | Sequence[str]) -> None:
        """Names the target, or each of several."""
        count = self.arrays.outputs.cols
        texts = [names] if isinstance(names, str) else [str(name) for name in names]
        if len(texts) != max(1, count):
            raise BadArgument(f"target_name: {len(texts)} names for {max(1, count)} targets")
        if count:
            self.arrays.output_names = _texts(texts)
        else:
            self.arrays.target_name = name_bytes("target_name", texts[0])

    def dense(self, data: Any) -> hawser_matrix:
        array = numbers_of(data, "X")
        if array.ndim != 2:
            raise BadArgument(f"Expected 2D array, got {'scalar' if array.ndim == 0 else f'{array.ndim}D'} array instead: "
                              f"its shape is {array.shape}. Reshape your data: array.reshape(-1, 1) if it has a single "
                              "feature, array.reshape(1, -1) if it is a single sample")
        if array.dtype not in TYPES or not array.flags.aligned or not array.dtype.isnative:
            claim(array.size * (4 if array.dtype == np.float32 else 8), "X", f"a copy of the type {array.dtype} as numbers that are read")
            array = array.astype(np.float32 if array.dtype == np.float32 else np.float64)
        layout, stride = self._dense_layout(array)
        if layout is None:
            claim(array.nbytes, "X", f"a copy without the gaps of its strides {array.strides}")
            array = np.ascontiguousarray(array)
            layout, stride = _native.HAWSER_DENSE_ROWS, array.shape[1]
        self.keep(data, array)
        return hawser_matrix(rows=array.shape[0], cols=array.shape[1], layout=layout, type=TYPES[array.dtype],
                             values=array.ctypes.data, stride=stride)

    @staticmethod
    def _dense_layout(array: Array) -> tuple[int | None, int]:
        """Returns the layout and stride of an array; no layout if it must be copied."""
        rows, cols = array.shape
        if array.flags.c_contiguous:
            return _native.HAWSER_DENSE_ROWS, cols
        if array.flags.f_contiguous:
            return _native.HAWSER_DENSE, rows
        size, (down, across) = array.itemsize, array.strides
        if across == size and down >= cols * size and down % size == 0:
            return _native.HAWSER_DENSE_ROWS, down // size
        if down == size and across >= rows * size and across % size == 0:
            return _native.HAWSER_DENSE, across // size
        return None, 0

    def sparse(self, data: Any) -> hawser_matrix:
        matrix = compressed(data, "X")
        values = numbers_of(matrix.data, "X")
        if values.dtype not in TYPES or not values.dtype.isnative:
            claim(values.size * (4 if values.dtype == np.float32 else 8), "X", f"a copy of the type {values.dtype} as numbers that are read")
            values = values.astype(np.float32 if values.dtype == np.float32 else np.float64)
        values = self.keep(data.data if hasattr(data, "data") else None, np.ascontiguousarray(values))
        indices = self._indices(data, matrix.indices)
        offsets = np.ascontiguousarray(matrix.indptr)
        if offsets.dtype == np.int32:
            self.arrays.offsets32 = pointer_to(offsets, ctypes.c_uint32)
        else:
            offsets = np.ascontiguousarray(offsets, dtype=np.int64)
        self.keep(getattr(data, "indptr", None), offsets)
        wide = None if offsets.dtype == np.int32 else offsets
        return hawser_matrix(rows=matrix.shape[0], cols=matrix.shape[1], stored=int(offsets[-1]),
                             layout=_native.HAWSER_CSR if matrix.format == "csr" else _native.HAWSER_CSC,
                             type=TYPES[values.dtype], offsets=pointer_to(wide, ctypes.c_uint64),
                             indices=pointer_to(indices, ctypes.c_uint32), values=values.ctypes.data)

    def _indices(self, data: Any, indices: Array) -> Array:
        if indices.dtype != np.int32:
            claim(indices.size * 4, "X", f"a copy of the indices of the type {indices.dtype} in 32 bits")
        narrow = indices if indices.dtype == np.int32 else indices.astype(np.uint32)
        return self.keep(getattr(data, "indices", None), np.ascontiguousarray(narrow))


def _texts(names: Sequence[str]) -> Any:
    """Returns texts as an array of the library."""
    return (ctypes.c_char_p * len(names))(*(name_bytes(f"the name of column {place}", name) for place, name in enumerate(names)))


def _names_of(data: Any) -> list[str] | None:
    """Returns the names of a table's columns as texts. Numbers from 0 on, which pandas gives to columns without names, are none."""
    columns = getattr(data, "columns", None)
    if columns is None or callable(columns) or (is_table(data) and not hasattr(data, "to_numpy")):  # those of Arrow are the numbers
        return None
    names = list(columns)
    if not names or all(not isinstance(name, (str, tuple)) for name in names) and names == list(range(len(names))):
        return None
    return texts_of(names, "X")


def _free(handles: list[Any], kept: list[Any]) -> None:
    for handle in reversed(handles):
        lib.hawser_dataset_free(handle)
    kept.clear()


def _groups_of(values: Any) -> Any:
    """Returns numbers of groups that a double holds. Whole numbers beyond 2^53 get a number by their bits: two share one by a chance of 2^-53."""
    array = values.to_numpy() if hasattr(values, "to_numpy") else values
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "iu" or array.dtype.itemsize < 8 or not array.size:
        return values
    large = (array >= 2**53) | (array <= -(2**53)) if array.dtype.kind == "i" else array >= 2**53
    if not large.any():
        return values
    bits = array.astype(np.uint64)  # the mixing of splitmix64, which is one to one
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
        bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
    return np.where(large, 2.0**60 + (bits >> np.uint64(11)).astype(np.float64) * 256.0, array.astype(np.float64))


class Dataset:
    """Data that any number of trainings may use.

    `data` is a matrix of `rows` x `cols` numbers, or files:

    * a numpy array of shape (rows, cols), in C or Fortran order. float32 and float64 are read where they lie; other types
      and strides are copied. So the array must not change while the dataset exists;
    * a sparse matrix or array of scipy. CSR and CSC are read where they lie, other formats are converted;
    * a table of numbers (pandas, polars, Arrow); the names of its columns become those of the features;
    * the path of a file, or a list of paths: svmlight, CSV, Matrix Market, .npy, .idx, or Hawser's own .hwc, also compressed.
      Then `target`, `weights`, `offset` and `names` are what the command's options of these names are, `groups` is the name or number of a
      column, and `options` are the other options of a load, such as `missing="mean"`.

    `target`, `weights`, `offset` and `groups` have one number per row. Rows of one group stay together in the folds of `cv=`; trainings without
    `cv=` make no use of groups. Several targets, for "multitask", are an array of shape (rows, targets) or a
    table, whose columns then have their names. In Fortran order and float64 they are read where they lie; others are copied.

    Over several nodes every node makes a dataset of the same data, or, with `partitioned`, of rows of its own: those of node k follow
    those of node k - 1.

    >>> import hawser, numpy
    >>> data = hawser.Dataset(numpy.array([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]]), [0, 1, 3], names=["a", "b"])
    >>> data.shape, data.layout, data.names
    ((3, 2), 'dense rows', ['a', 'b'])
    """

    def __init__(self, data: Any, target: Any = None, *, weights: Any = None, offset: Any = None, groups: Any = None,
                 names: Any = None, target_name: str | Sequence[str] | None = None, partitioned: bool = False, **options: Any) -> None:
        self._lock = threading.Lock()
        self.partitioned = partitioned  #: other nodes have other rows
        self._turned: Any = None
        self._loaded: Any = POINTER(hawser_dataset)()
        self._files: Files | None = None  # of files that are not read yet
        self._own: OwnTable | None = None  # rows of this node, of a table that the nodes read together
        self.copied = 0  #: bytes that were copied to make the dataset
        self.options: dict[str, Any] = {}
        self.from_files = is_path(data)
        if self.from_files:
            given = {"target": target, "weights": weights, "offset": offset, "groups": groups, "names": names, **options}
            if target_name is not None:
                raise BadOption("target_name: files name their targets themselves; leave it out")
            self._files = Files(data, {key: value for key, value in given.items() if value is not None})
            self._files.check()
            self.options, kept = self._files.options, []
        elif is_table(data):
            kept = self._take_table(data, {"target": target, "weights": weights, "offset": offset, "groups": groups}, names, target_name, options)
        else:
            if options:
                raise BadOption(f"{next(iter(options))}: arrays have no such option; it is one of files and tables")
            kept = self._borrow(data, target, weights, offset, groups, names, target_name)
        self._handles = [] if self._files is not None or self._own is not None else [self._loaded]
        finalizer: Callable[..., Any] = weakref.finalize(self, _free, self._handles, kept)
        finalizer.atexit = False  # type: ignore[attr-defined]

    # ------------------------------------------------------------------------------------------------ making ----

    def _borrow(self, data: Any, target: Any, weights: Any, offset: Any, groups: Any, names: Any,
                target_name: str | Sequence[str] | None) -> list[Any]:
        made, error = _Borrowed(), hawser_error()
        target, words = (target.numbers, target.words) if isinstance(target, Labels) else (target, None)
        names = _names_of(data) if names is None else texts_of(names, "names")
        matrix = made.sparse(data) if is_sparse(data) else made.dense(data)
        rows, cols = matrix.rows, matrix.cols
        for count, what in ((rows, "sample"), (cols, "feature")):
            if count == 0:
                raise BadArgument(f"Found array with 0 {what}(s) (shape=({rows}, {cols})) while a minimum of 1 is required.")
        if names is not None and len(names) != cols:
            raise BadArgument(f"names: {len(names)} names for {cols} columns")
        arrays = made.arrays
        arrays.matrix = matrix
        made.targets(target, rows)
        if words is not None:
            arrays.target_words, arrays.target_word_count = _texts(words), len(words)
        for field, values in (("weights", weights), ("offset", offset), ("groups", _groups_of(groups))):
            setattr(arrays, field, made.beside(values, rows, field))
        if names is not None:
            arrays.names = _texts(names)
        if target_name is not None:
            made.name_targets(target_name)
        check(lib.hawser_dataset_borrow(byref(arrays), byref(self._loaded), byref(error)), error)
        self.copied = made.copied
        return made.kept

    def _take_table(self, data: Any, beside: dict[str, Any], names: Any, target_name: Any, options: dict[str, Any],
                    model: ModelColumns | None = None) -> list[Any]:
        """Reads a table: numbers as arrays, and more than these as the text that the table would be, for the columns of `model` if it is given."""
        labels = beside.get("target") if isinstance(beside.get("target"), Labels) else None
        if labels is not None:
            beside = {**beside, "target": labels.numbers}
        made = table_with(data, beside, names, target_name, options)
        if model is None and made.is_plain:
            target, weights, offset, groups = made.arrays()
            target = target if labels is None else labels
            if made.whole and hasattr(data, "to_numpy"):
                return self._borrow(data, target, weights, offset, groups, names, target_name)
            names = [column.name for column in made.table.columns]
            return self._borrow(made.table.numbers(), target, weights, offset, groups, names, made.target_name)
        self.options = {key: value for key, value in made.table.options.items() if key in LASTING}
        made = made if labels is None else table_with(data, {**beside, "target": labels.given}, names, target_name, options)
        if self.partitioned:
            self._own = OwnTable(made, labels is not None)
            return []

        def read(path: Any, how: Any) -> None:
            how.labels = 1 if labels is not None else how.labels
            bound = left()
            if bound is not None:
                how.memory_limit = max(bound, 1 << 20)
            load_files(path, how, self._handle)

        load_table(made, model, read)
        self.copied = self.stored * self.dtype.itemsize
        return []

    @property
    def _is_read(self) -> bool:
        """Returns whether the data are in memory, so that no call waits for a file or for other nodes."""
        return self._files is None and self._own is None and not self.from_files

    @property
    def _handle(self) -> Any:
        """The library's dataset. Files are read now, if they have not been."""
        if self._files is not None or self._own is not None:
            self._read(None, False)
        return self._loaded

    def _read(self, data: Any, by_row: bool, options: dict[str, Any] | None = None) -> None:
        """Reads the files, unless they have been read. If `data` (a handle) is given, the files get its columns, and options that they lack from `options`."""
        with self._lock:
            if self._own is not None and not self._loaded:
                self._own.load(self._loaded)
                self._handles.append(self._loaded)
            if self._files is None:
                return
            named = POINTER(hawser_schema)()
            try:
                if data is not None:
                    own = {key_of(key) for key in self.options}
                    others = {key: value for key, value in (options or {}).items() if key_of(key) in INHERITED and key_of(key) not in own}
                    how = self._files.how
                    kinds = how.outputs, how.labels, how.counts, how.full_dense
                    self._files = Files(self._files.path, {**others, **self.options})
                    how = self._files.how
                    how.outputs, how.labels, how.counts, how.full_dense = kinds
                    self._files.follow(data, by_row, named)
                load_files(self._files.path, self._files.how, self._loaded)
                warn_idle(self.options, self._loaded)
            finally:
                lib.hawser_schema_free(named)
            self._handles.append(self._loaded)
            self._files = None

    def _follow(self, data: Any, options: dict[str, Any], by_row: bool, what: str) -> None:
        """Reads the files like `data` (a handle), which was read with `options`. Refuses files that have already been read in another way."""
        if self._files is not None:
            self._read(data, by_row, options)
            return
        means = lib.hawser_dataset_means(data)
        other = np.ctypeslib.as_array(means, (lib.hawser_dataset_matrix(data).contents.cols,)) if means else None
        self._check_read(lib.hawser_dataset_figures(data).contents.index_base, other, what)

    def _check_read(self, base: int, means: Array | None, what: str) -> None:
        """Raises an error if the files were read with another index base, or with means of their own in place of missing values."""
        if not self.from_files:
            return
        own = lib.hawser_dataset_figures(self._handle).contents.index_base
        if base >= 0 and own >= 0 and base != own:
            raise BadArgument(f"{what}: the files were read with columns counted from {own}, and those of the training from {base}; give their "
                              f"path, or a Dataset with index_base={base}")
        found = lib.hawser_dataset_means(self._handle)
        if found and (means is None or not np.array_equal(np.ctypeslib.as_array(found, (self._matrix.cols,)), means)):
            raise BadArgument(f"{what}: the files were read with missing values replaced by means of their own; give their path, so that those "
                              "of the training are taken")

    @classmethod
    def _from_handle(cls, handle: Any) -> "Dataset":
        """Makes a dataset of a handle, which it then owns."""
        made = cls.__new__(cls)
        made._lock, made._turned, made._loaded, made._handles, made._files = threading.Lock(), None, handle, [handle], None
        made._own, made.copied, made.options, made.from_files, made.partitioned = None, 0, {}, True, False
        weakref.finalize(made, _free, made._handles, []).atexit = False
        return made

    @classmethod
    def _for_columns(cls, data: Any, beside: dict[str, Any], options: dict[str, Any], model: ModelColumns) -> "Dataset":
        """Reads a table for the columns of a model."""
        made = cls._from_handle(POINTER(hawser_dataset)())
        made.from_files = False
        made._take_table(data, {"target": None, "weights": None, "offset": None, "groups": None, **beside}, None, None, options, model)
        return made

    @classmethod
    def _of_share(cls, columns: list[Any], beside: dict[str, Any], options: dict[str, Any], labels: bool) -> "Dataset":
        """Makes the dataset of this node's rows of a table. Other nodes have its other rows."""
        made = cls._from_handle(POINTER(hawser_dataset)())
        made._handles.clear()
        made.from_files, made.partitioned = False, True
        given = table_with(columns, {"target": None, "weights": None, "offset": None, "groups": None, **beside}, None, None, options)
        made.options = {key: value for key, value in given.table.options.items() if key in LASTING}
        made._own = OwnTable(given, labels)
        return made

    def _schema(self) -> Any:
        """Returns the schema of columns with words or dates, which the dataset owns, or NULL."""
        return lib.hawser_dataset_schema(self._handle)

    def _target_words(self) -> list[str] | None:
        """Returns the words of the target, if it has words."""
        count = ctypes.c_size_t()
        found = lib.hawser_schema_target(self._schema(), byref(count))
        return [found[place].decode() for place in range(count.value)] if found else None

    def _deal(self, job: Any, split: int, handle: Any) -> None:
        """Makes the dataset of a job of several nodes in another handle. Collective."""
        error = hawser_error()
        if self._own is not None:
            self._own.load_share(job, split, handle)
            return
        if self.partitioned:
            check(lib.hawser_job_data(job, self._handle, split, byref(handle), byref(error)), error)
            return
        try:
            check(lib.hawser_job_same(job, self._handle, split, byref(handle), byref(error)), error)
        except BadArgument as refused:  # the text names calls of C
            text = str(refused).replace("hawser_job_same: ", "")
            raise BadArgument(text.replace("to hawser_job_data", "with partitioned=True")) from None

    def _in_layout(self, by_row: bool, limit: int | None = None) -> Any:
        """Returns a handle of the data by rows or by columns. If they must be turned for that, the result is kept. `limit`: of the bytes of copies."""
        self._check_file()
        if (self._matrix.layout in BY_ROW) == by_row:
            return self._loaded
        entry = self.dtype.itemsize + (0 if self.layout.startswith("dense") else 4)
        stored = self.stored
        with self._lock:
            if self._turned is None:
                turned, error = POINTER(hawser_dataset)(), hawser_error()
                with allow(limit, self.copied):
                    claim(stored * entry, "X", f"a copy by {'rows' if by_row else 'columns'}, as the algorithm reads it,")
                check(lib.hawser_dataset_turn(self._loaded, byref(turned), byref(error)), error)
                self._handles.append(turned)
                self._turned = turned
            return self._turned

    # ------------------------------------------------------------------------------------------------- facts ----

    @property
    def _matrix(self) -> hawser_matrix:
        matrix: hawser_matrix = lib.hawser_dataset_matrix(self._handle).contents
        return matrix

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return self._matrix.rows, self._matrix.cols

    @property
    def stored(self) -> int:
        """The number of stored entries: rows x cols if the data are dense."""
        return self._matrix.stored

    @property
    def layout(self) -> str:
        """'dense columns', 'csc', 'csr' or 'dense rows'. svmlight that a training is the first to use is dense if that takes no more memory; else it is sparse."""
        return ("dense columns", "csc", "csr", "dense rows")[self._matrix.layout]

    @property
    def dtype(self) -> np.dtype[Any]:
        """float64 or float32."""
        return np.dtype(np.float64 if self._matrix.type == _native.HAWSER_F64 else np.float32)

    @property
    def names(self) -> list[str] | None:
        """The names of the columns, or None."""
        found = [lib.hawser_dataset_column(self._handle, column) for column in range(self._matrix.cols)]
        return None if None in found else [name.decode() for name in found]

    def _check_names(self, expected: Callable[[], list[str] | None], what: str) -> None:
        """Raises an error if the columns have other names than those of the training. Columns without names fit by their places."""
        if lib.hawser_dataset_column(self._handle, 0) is None:  # looked at first, since there may be many columns
            return
        for place, (mine, other) in enumerate(zip(self.names or (), expected() or ())):
            if mine.strip() != other.strip():
                raise BadArgument(f"{what}: column {place} is '{mine}', and in the training it was '{other}'; give the columns of the "
                                  "training in its order")

    @property
    def target(self) -> Array | None:
        """A copy of the target, float64 of shape (rows,), or (rows, targets) if there are several; None if the data have none."""
        if self.targets < 2:
            return self._numbers(lib.hawser_dataset_target(self._handle))
        found = [self._numbers(lib.hawser_dataset_output(self._handle, k)) for k in range(self.targets)]
        return np.column_stack([each for each in found if each is not None])

    @property
    def targets(self) -> int:
        """The number of targets; 0 if the data have none."""
        if self._own is not None:
            return self._own.targets
        return int(lib.hawser_dataset_outputs(self._handle))

    @property
    def target_names(self) -> list[str] | None:
        """The names of the targets, or None."""
        found = [lib.hawser_dataset_output_name(self._handle, k) for k in range(self.targets)]
        return None if None in found or not found else [name.decode() for name in found]

    @property
    def weights(self) -> Array | None:
        """A copy of the weights of rows, or None."""
        return self._numbers(lib.hawser_dataset_weights(self._handle))

    @property
    def offset(self) -> Array | None:
        """A copy of the offset of rows, or None."""
        return self._numbers(lib.hawser_dataset_offset(self._handle))

    @property
    def groups(self) -> Array | None:
        """A copy of the groups of rows, or None."""
        return self._numbers(lib.hawser_dataset_groups(self._handle))

    def _has(self, what: str) -> bool:
        """Returns whether the data have a "target", "weights", an "offset" or "groups"."""
        if self._own is not None:  # which is read by all nodes together
            return self._own.given[what] is not None
        return bool(getattr(lib, f"hawser_dataset_{what}")(self._handle)) or (
            what == "target" and self.targets > 0)

    def _check_file(self) -> None:
        """Raises an error if the data are a mapped file and another program has cut it. A read of the missing pages would end the process."""
        error = hawser_error()
        check(lib.hawser_dataset_intact(self._handle, byref(error)), error)

    def _numbers(self, found: Any) -> Array | None:
        self._check_file()
        return np.ctypeslib.as_array(found, (self._matrix.rows,)).copy() if found else None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes Hawser's own file (.hwc), which a later load maps instead of reading text."""
        error = hawser_error()
        check(lib.hawser_dataset_save(self._handle, path_bytes(path), byref(error)), error)

    def __len__(self) -> int:
        return self._matrix.rows

    def __reduce__(self) -> NoReturn:
        refuse_pickle(self)

    def __repr__(self) -> str:
        rows, cols = self.shape
        return f"<hawser.Dataset of {rows} x {cols}, {self.layout}, {self.dtype}>"


class Files:
    """Files that are not loaded yet, and how."""

    def __init__(self, data: Any, given: dict[str, Any]) -> None:
        self.path, self.names = data, names_of(data)
        self.options = numbers_beside(data, given)
        outputs, groups, error = bool(self.options.pop("outputs", False)), self.options.pop("groups", None), hawser_error()
        self.how, self._values = hawser_load(), Options(lib.hawser_data_rows())  # how has pointers to the values
        self._values.fill(self.options)
        self._values.read_environment()
        check(lib.hawser_load_from_options(self._values.handle, byref(self.how), byref(error)), error)
        self.how.outputs = outputs
        if groups is not None:
            self.how.groups = name_bytes("groups", groups)

    def check(self) -> None:
        """Raises an error if a file does not exist, which is known before the files are read."""
        for path in [self.path] if isinstance(self.path, (str, os.PathLike)) else self.path:
            name = os.fsdecode(path)
            if name != "-" and not glob.has_magic(name) and not os.path.exists(name) and ".npz:" not in name:
                raise FileError(f"{name}: cannot open: No such file or directory")

    def follow(self, data: Any, by_row: bool, named: Any) -> None:
        """Sets how files are read that have the columns of other data. `named` gets a schema that is freed after the load."""
        error = hawser_error()
        check(lib.hawser_load_follow(byref(self.how), data, byref(named), byref(error)), error)
        self.how.rows_layout = int(by_row)
        self.how.categories = self.how.dates = None

    def load_share(self, job: Any, split: int, handle: Any) -> None:
        """Loads the columns or rows of this node's blocks. Collective."""
        self.how.split, error = split, hawser_error()
        if self.how.threads == 0:  # nodes of one host share its processors
            share = lib.hawser_job_workers(job) // lib.hawser_job_nodes(job)
            self.how.threads = max(1, min(share, len(os.sched_getaffinity(0))))
        try:
            check(lib.hawser_job_load(job, self.names, len(self.names), byref(self.how), byref(handle), byref(error)), error)
        except Error as failed:
            raise (named_by_caller(failed, self.path) if isinstance(self.path, Documents) else failed) from None
        warn_idle(self.options, handle)


# Options that have an effect on files of some formats only, by their keys, with the value that does nothing anywhere. The library refuses others.
NUMBERED, TABLES = ("svmlight", "cache"), ("csv",)
FORMATS = {_native.HAWSER_SVMLIGHT: "svmlight", _native.HAWSER_CSV: "csv", _native.HAWSER_MATRIX_MARKET: "matrix-market", _native.HAWSER_NPY: "npy",
           _native.HAWSER_CACHE: "cache", _native.HAWSER_IDX: "idx", _native.HAWSER_DOCUMENTS: "text"}
OF_FORMATS: dict[str, tuple[tuple[str, ...], str]] = {
    "index-base": (NUMBERED, "guess"), "header": (TABLES, "guess"), "delimiter": (TABLES, ""), "categories": (TABLES, "auto"),
    "missing": (TABLES, "refuse"), "min-length": (("text",), "2")}


def warn_idle(options: Mapping[str, Any], handle: Any) -> None:
    """Warns of options that do nothing, since they are about files of other formats, as the command does."""
    found = FORMATS.get(lib.hawser_dataset_figures(handle).contents.format)
    given = {key_of(key): value for key, value in options.items() if value is not None}
    for key, (formats, default) in OF_FORMATS.items():
        if key not in given or str(given[key]) == default or found is None or found in formats or (key == "min-length" and "text" in given):
            continue
        warn(f"--{key} does nothing here: it is about {formats[0]} input, and this is {found}", RuntimeWarning)


class OwnTable:
    """The rows that this node has of a table with words, dates or missing values. The nodes read the table together, since levels and means are
    those of all rows."""

    def __init__(self, table: TableWith, labels: bool) -> None:
        self.table, self.labels, self.given = table, labels, table.given
        self.beside = table.columns()  # refuses what is wrong before the nodes wait for each other
        self.targets = len(self.beside["target"])
        for column in [*table.table.columns, *(column for columns in self.beside.values() for column in columns)]:
            column.check_texts("X")

    def terms(self) -> dict[str, str]:
        """Returns what all nodes must have alike."""
        made = self.table.table
        beside = [f"{what} {column.described()}" for what, found in self.beside.items() for column in found]
        return {"the list of columns": ", ".join([*beside, *(column.described() for column in made.columns)]),
                "the list of words and dates": f"{made.categories} and {made.dates}", "the set of options of the table": repr(made.options)}

    def _read(self, call: Callable[[Any, hawser_load], None]) -> None:
        def read(path: Any, how: Any) -> None:
            how.labels = 1 if self.labels else how.labels
            call(path, how)

        load_table(self.table, None, read)

    def load(self, handle: Any) -> None:
        """Loads the rows of this node alone."""
        self._read(lambda path, how: load_files(path, how, handle))

    def load_share(self, job: Any, split: int, handle: Any) -> None:
        """Loads the columns or rows of this node's blocks, of the rows of all nodes. Collective."""
        error = hawser_error()

        def load(path: Any, how: hawser_load) -> None:
            how.split, how.parts = split, 1
            how.threads = max(1, min(lib.hawser_job_workers(job) // lib.hawser_job_nodes(job), len(os.sched_getaffinity(0))))
            check(lib.hawser_job_load(job, names_of(path), 1, byref(how), byref(handle), byref(error)), error)

        self._read(load)


def names_of(data: Any) -> Any:
    """Returns one path or several as an array of the library."""
    paths: Sequence[Any] = [data] if isinstance(data, (str, os.PathLike)) else data
    return (ctypes.c_char_p * len(paths))(*(path_bytes(path) for path in paths))


def load_files(data: Any, how: hawser_load, handle: Any) -> None:
    """Loads one path or several into a handle. Ctrl-C ends the load."""
    names = names_of(data)
    error, cancellation = hawser_error(), POINTER(hawser_cancellation)()
    check(lib.hawser_cancellation_new(byref(cancellation), byref(error)), error)
    how.cancellation = cancellation

    def load() -> None:
        check(lib.hawser_dataset_load(names, len(names), byref(how), byref(handle), byref(error)), error)

    try:
        if run_beside(load, lambda: lib.hawser_cancel(cancellation)):
            lib.hawser_dataset_free(handle)
            raise KeyboardInterrupt("the load was interrupted")
    except Error as failed:
        raise (named_by_caller(failed, data) if isinstance(data, Documents) else failed) from None
    finally:
        lib.hawser_cancellation_free(cancellation)


def dataset_of(data: Any, target: Any = None, **given: Any) -> Dataset:
    """Returns data as a dataset: a dataset as it is, else a new one."""
    if not isinstance(data, Dataset):
        return Dataset(data, target, **{key: value for key, value in given.items() if value is not None})
    for key, value in {"target": target, **given}.items():
        if value is not None:
            raise BadArgument(f"{key}: the dataset has its own; give it to hawser.Dataset")
    return data


def split_options(options: dict[str, Any], from_files: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the options of a load, and the others. Memory and threads are a job's, too, and that alone for arrays and tables."""
    load = {key: value for key, value in options.items() if key_of(key) in DATA_KEYS or key == "outputs"}
    if not from_files:
        load = {key: value for key, value in load.items() if key_of(key) not in JOB_OF_DATA}
    return load, {key: value for key, value in options.items() if key not in load}


__all__ = ["Dataset", "Files", "INHERITED", "dataset_of", "is_path", "load_files", "split_options", "warn_idle"]
