"""Models: files, parameters, predictions."""
import ctypes
import json
import os
import re
import threading
import weakref
from collections.abc import Iterator, Mapping
from ctypes import POINTER, byref
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _native
from ._arguments import name_bytes, path_bytes
from ._changes import PolicyChange
from ._columns import columns_of, is_table
from ._dataset import INHERITED, Dataset, dataset_of, is_path, load_files, warn_idle
from ._documents import numbers_beside
from ._errors import BadArgument, BadInput, BadOption, NotFinite, check, warn
from ._evaluate import check_threshold, checked_weights, evaluate, take_targets
from ._exact import is_label, known_labels
from ._heads import head_of
from ._library import library as lib
from ._native import hawser_dataset, hawser_error, hawser_load, hawser_model, hawser_schema
from ._options import Options
from ._path import Path, path_of
from ._sides import check_exposure, check_offset
from ._table import ModelColumns, Table, is_plain
from ._topics import sums_of, words_in_topics

Array = npt.NDArray[Any]
NUMPY_TYPES = {_native.HAWSER_F64: np.float64, _native.HAWSER_F32: np.float32, _native.HAWSER_I64: np.int64,
               _native.HAWSER_I32: np.int32}
TEXT_RULES = 1  # by which this version cuts text into words
MEANS = "missing.means"


_c_free = ctypes.CDLL(None).free
_c_free.argtypes, _c_free.restype = [ctypes.c_void_p], None


@dataclass(frozen=True)
class Training:
    """What a training reports besides its model."""

    stop_reason: str  #: "gap", "epochs", "seconds", "signal", ...
    interrupted: bool  #: an interrupt ended the training; the model is the one that was reached
    seconds: float
    clocks: int
    workers: int
    bytes_exchanged: int
    repeatable: bool  #: whether the same training gives the same bits again
    metrics: dict[str, float] = field(default_factory=dict)  #: numbers about the model
    notes: tuple[str, ...] = ()  #: what a user must see: a safeguard acted, the policy changed
    policy: str = ""  #: the guarantees of bsp that the policy lacks
    assumed: str = ""  #: what was assumed because no option said it
    changes: tuple[PolicyChange, ...] = ()  #: of syncs and gains, by safeguards of the training; on node 0


class Facts(Mapping[str, str]):
    """The text facts of a model, by key."""

    def __init__(self, handle: Any) -> None:
        self._facts: dict[str, str] = {}
        key, value = ctypes.c_char_p(), ctypes.c_char_p()
        while lib.hawser_model_fact_at(handle, len(self._facts), byref(key), byref(value)):
            self._facts[(key.value or b"").decode()] = (value.value or b"").decode()

    def __getitem__(self, key: str) -> str:
        return self._facts[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._facts)

    def __len__(self) -> int:
        return len(self._facts)

    def __repr__(self) -> str:
        return repr(self._facts)


class Model:
    """A trained model. Any number of threads may use it.

    The facts of a model are attributes: `model.objective`, `model.gap`, `model.rows`; `model.facts` has all of them as text.

    >>> import hawser, numpy
    >>> x = numpy.arange(8.0).reshape(-1, 1)
    >>> model = hawser.train("lasso", x, 2 * x[:, 0] + 1, lambda_=1e-6)
    >>> model.algorithm, model.coefficients.round(3), round(model.intercept, 3)
    ('lasso', array([2.]), 1.0)
    >>> model.predict([[10.0]]).round(3)
    array([21.])
    """

    def __init__(self, handle: Any, training: Training | None = None) -> None:
        self._handle = handle
        weakref.finalize(self, lib.hawser_model_free, handle).atexit = False
        self._facts: Facts | None = None
        self._schema_lock = threading.Lock()
        self._schema_handle: Any = None
        self.training = training  #: of a model that was trained in this process; else None
        name = lib.hawser_model_text(handle, b"algorithm")
        found = lib.hawser_algorithm_find(name) if name is not None else None
        if not found:
            raise BadInput(f"a model of algorithm '{name.decode() if name else 'unknown'}', which this Hawser does not have")
        self._algorithm = found.contents
        self.algorithm = name.decode()  #: its name

    # ------------------------------------------------------------------------------------------------- files ----

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Model":
        """Reads a model that `save` or the command has written."""
        handle, error = POINTER(hawser_model)(), hawser_error()
        check(lib.hawser_model_load(path_bytes(path), byref(handle), byref(error)), error)
        return cls(handle)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model as the command does: a safetensors file with a checksum, whole or not at all."""
        error = hawser_error()
        check(lib.hawser_model_save(self._handle, path_bytes(path), byref(error)), error)

    def to_bytes(self) -> bytes:
        """Returns the bytes that `save` writes."""
        found, size, error = ctypes.c_void_p(), ctypes.c_size_t(), hawser_error()
        check(lib.hawser_model_to_bytes(self._handle, byref(found), byref(size), byref(error)), error)
        try:
            return ctypes.string_at(found, size.value)
        finally:
            _c_free(found)

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview) -> "Model":
        """Makes a model of the bytes from `to_bytes`."""
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise BadArgument(f"a model is made of bytes, and this is a {type(data).__name__}")
        data, handle, error = bytes(data), POINTER(hawser_model)(), hawser_error()
        check(lib.hawser_model_from_bytes(data, len(data), byref(handle), byref(error)), error)
        return cls(handle)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.to_bytes(), self.training)

    # -------------------------------------------------------------------------------------------- parameters ----

    @property
    def facts(self) -> Facts:
        """All facts of the model as text, by key."""
        if self._facts is None:
            self._facts = Facts(self._handle)
        return self._facts

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        training = self.training
        if training is not None and name in training.metrics:
            return training.metrics[name]
        text = self.facts.get(name, self.facts.get(name.rstrip("_")))
        if text is None:  # properties that have no value end here, too, and lose what they have raised
            hint = "train it with path= or cv=" if name == "path" else "model.facts lists what it has"
            raise AttributeError(f"a model of {self.algorithm} has no '{name}'; {hint}")
        for kind in (int, float):
            try:
                return kind(text)
            except ValueError:
                pass
        return text

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *(key for key in self.facts if key.isidentifier())})

    def tensor(self, name: str) -> Array | None:
        """Returns a copy of a tensor of the file, such as 'centres'; None if the model has none of that name."""
        kind, dims = ctypes.c_int(), (ctypes.c_size_t * 2)()
        values = lib.hawser_model_get(self._handle, name_bytes("the name of a tensor", name), byref(kind), dims)
        if values is None:
            return None
        whole = np.empty((dims[0], dims[1]) if dims[1] else dims[0], NUMPY_TYPES[kind.value])
        ctypes.memmove(whole.ctypes.data, values, whole.nbytes)
        return whole

    @property
    def columns(self) -> int:
        """The number of features."""
        return int(lib.hawser_model_text(self._handle, b"columns"))  # without a look at all facts

    @property
    def outputs(self) -> int:
        """How many numbers the model predicts for a row."""
        return self._width(self._head("prediction"))

    @property
    def coefficients(self) -> Array:
        """The coefficients: shape (columns,), or (classes or outputs, columns) if there are several."""
        whole = self.tensor("coefficients")
        if whole is None:
            index, value = self.tensor("coefficients.index"), self.tensor("coefficients.value")
            if index is None or value is None:
                raise AttributeError("coefficients")
            whole = np.zeros((self.outputs, self.columns))
            if len(index):  # without nonzeros, the values have no shape
                whole[:, index] = value
        return whole[0] if len(whole) == 1 else whole

    @property
    def intercept(self) -> Any:
        """The intercept: a number, or an array of one for each class or output."""
        found = self.tensor("intercepts")
        found = self.tensor("intercept") if found is None else found
        if found is None:
            raise AttributeError("intercept")
        return float(found[0]) if len(found) == 1 else found

    @property
    def centres(self) -> Array:
        """The centres of a k-means model, shape (clusters, columns)."""
        found = self.tensor("centres")
        if found is None:
            raise AttributeError("centres")
        return found

    @property
    def path(self) -> Path:
        """The solutions for several values of a parameter, if the training fitted them (the options path and cv)."""
        found = path_of(self._algorithm, self._handle)
        if found is None:
            raise AttributeError("path")
        return found

    @property
    def classes(self) -> Array | None:
        """The labels of a classifier, ascending; None if the model predicts no classes."""
        if self._head("label") is None:
            return None
        stored = self.tensor("labels")
        text, classes = self.facts.get("labels"), self._head("probabilities")
        if stored is None and text is not None:
            stored = np.array([float(word) for word in text.split()])
        if stored is None and classes is not None:
            stored = np.array([classes.label(self._handle, place) for place in range(self._width(classes))])
        return None if stored is None else self._labels_of(stored)

    def _words(self) -> list[str] | None:
        """Returns the words that name the classes, if the target had words."""
        count = ctypes.c_size_t()
        found = None if "positive" in self.facts else lib.hawser_schema_target(self._schema(), byref(count))
        return [found[place].decode() for place in range(count.value)] if found else None

    def _labels_of(self, labels: Array) -> Array:
        """Returns labels as they stand in the training's target. If that has words, each number is replaced by its word."""
        words = self._words()
        return labels if words is None else _numbers_or_words(words)[labels.astype(np.intp)]

    def _name_classes(self, labels: Array) -> None:
        """Stores numbers as the labels of the classes, ascending, in place of those of the training's target."""
        error, values = hawser_error(), np.ascontiguousarray(labels, np.float64)
        if self.tensor("labels") is None:
            check(lib.hawser_model_fact(self._handle, b"labels", " ".join(f"{value:.17g}" for value in values).encode(), byref(error)), error)
        else:
            lib.hawser_model_remove(self._handle, b"labels")
            check(lib.hawser_model_tensor(self._handle, b"labels", _native.HAWSER_F64, (ctypes.c_size_t * 2)(len(values), 0), values.ctypes.data,
                                          byref(error)), error)
        self._facts = None

    @property
    def names(self) -> list[str] | None:
        """The names of the features, or None."""
        schema = self._schema()
        if not schema:
            return None
        found, text = [], ctypes.create_string_buffer(1000)
        for column in range(self.columns):
            length = lib.hawser_schema_print(schema, column, text, len(text))
            if length >= len(text):
                text = ctypes.create_string_buffer(length + 1)
                lib.hawser_schema_print(schema, column, text, len(text))
            found.append(text.value.decode())
        return found

    def _schema(self) -> Any:
        with self._schema_lock:
            if self._schema_handle is None:
                schema, error = POINTER(hawser_schema)(), hawser_error()
                check(lib.hawser_model_schema(self._handle, byref(schema), byref(error)), error)
                weakref.finalize(self, lib.hawser_schema_free, schema).atexit = False
                self._schema_handle = schema
            return self._schema_handle

    # ------------------------------------------------------------------------------------------- predictions ----

    def predict(self, data: Any, *, offset: Any = None, **options: Any) -> Array:
        """Returns what `hawser predict` prints for each row: shape (rows,), or (rows, outputs) if there are several.

        Regressions predict numbers, k-means the number of a cluster, lda that of the likeliest topic, svm and softmax a label, logistic the probability of the
        higher label. `data` is an array of shape (rows, columns), a sparse matrix, a table, a Dataset or a file.
        """
        return self._compute(self._head("prediction"), data, offset, options)

    def predict_labels(self, data: Any, *, offset: Any = None, **options: Any) -> Array:
        """Returns the label of the most probable class of each row, shape (rows,)."""
        head = self._head("label")
        if head is None:
            raise BadOption(f"a model of {self.algorithm} predicts numbers, not labels")
        return self._compute(head, data, offset, options)

    def predict_proba(self, data: Any, *, offset: Any = None, **options: Any) -> Array:
        """Returns the probability of each class, shape (rows, classes), in the order of `classes`; of a model of topics, that of each topic."""
        head = self._head("probabilities")
        if head is not None:
            return self._compute(head, data, offset, options).reshape(-1, self._width(head))
        if self._head("label") is None or self._head("prediction").labels:
            raise BadOption(f"a model of {self.algorithm} has no probabilities")
        higher = self.predict(data, offset=offset, **options)
        return np.column_stack([1 - higher, higher])

    def decision_function(self, data: Any, *, offset: Any = None, **options: Any) -> Array:
        """Returns the linear predictor, offset included: shape (rows,), or (rows, classes) if there are several."""
        if self._head("distances") is not None or (self._head("probabilities") is not None and self._head("label") is None):
            raise BadOption(f"a model of {self.algorithm} has no linear predictor")
        return self._compute(self._head("link") or self._head("prediction"), data, offset, options)

    def distances(self, data: Any, **options: Any) -> Array:
        """Returns the distance of each row to each centre, shape (rows, clusters)."""
        head = self._head("distances")
        if head is None:
            raise BadOption(f"a model of {self.algorithm} has no distances")
        return self._compute(head, data, None, options).reshape(-1, self._width(head))

    def evaluate(self, data: Any, target: Any = None, *, weights: Any = None, offset: Any = None, threshold: float | None = None,
                 **options: Any) -> dict[str, Any]:
        """Returns the measures of the predictions that `hawser evaluate --json` prints, with the same bits: a number for each, None if it is unknown
        (`notes` say why), and lists for tables.

        `data` are as in `predict`. Files and tables have the target of the training data in a column of its name, unless `target` says another; to arrays it is
        given. Without `weights` all rows count alike. With two classes the higher label is predicted if its probability is above `threshold`.
        'hawser help measures' defines each measure.

        >>> import hawser, numpy
        >>> x = numpy.arange(8.0).reshape(-1, 1)
        >>> model = hawser.train("lasso", x, 2 * x[:, 0] + 1, lambda_=1e-6)
        >>> round(model.evaluate(x, 2 * x[:, 0] + 2)["mae"], 3)
        1.0
        """
        algorithm = self._algorithm
        if not algorithm.evaluate:
            raise BadOption(f"predictions of {self.algorithm} have no measures")
        chance = check_threshold(algorithm, threshold)
        rows = self._rows_of(data, offset, options, {"target": target, "weights": weights})
        outputs, weights_of = self.outputs, checked_weights(rows.weights)
        named = self.facts.get("outputs", "").split("\n") if outputs > 1 and "outputs" in self.facts else None
        targets = take_targets(algorithm, rows, outputs, named)
        if self.facts.get("options.weights", "none") != "none" and weights_of is None and weights is None:
            warn("the model was trained with weights, and these data have none: all rows count alike", RuntimeWarning)
        scores = self._values_of(self._head("scores") or self._head("link") or self._head("prediction"), rows)
        count = ctypes.c_size_t()
        words = None if "positive" in self.facts else lib.hawser_schema_target(self._schema(), byref(count)) or None
        return evaluate(algorithm, self._handle, scores, targets, weights_of, words, chance, named)

    def ldavis(self, data: Any, **options: Any) -> dict[str, Any]:
        """Returns the arguments of pyLDAvis.prepare for a model of topics and documents, as in `predict`: `pyLDAvis.prepare(**model.ldavis(X))`.

        They are topic_term_dists (topics, words), doc_topic_dists (documents, topics), doc_lengths, vocab and term_frequency. Words without a name are
        their numbers, and words that the documents do not have count 0.
        """
        if self.tensor("word_counts") is None:
            raise BadOption(f"a model of {self.algorithm} has no topics")
        rows = self._rows_of(data, None, options)
        counts, _, beta = words_in_topics(self)
        lengths, frequency = sums_of(rows._in_layout(by_row=True))
        words = counts + beta
        return {"topic_term_dists": words / words.sum(axis=1, keepdims=True), "doc_topic_dists": self._values_of(self._head("probabilities"), rows),
                "doc_lengths": lengths, "vocab": self.names or [str(column) for column in range(self.columns)],
                "term_frequency": np.concatenate([frequency, np.zeros(self.columns - len(frequency))])}

    def _head(self, name: str) -> Any:
        return head_of(self._algorithm, name)

    def _width(self, head: Any) -> int:
        """Returns how many numbers a head has for a row."""
        return int(head.width(self._handle)) if head.width else 1

    def _values_of(self, head: Any, rows: Dataset) -> Array:
        handle = rows._in_layout(by_row=True)
        values, error = np.empty((len(rows), self._width(head))), hawser_error()
        check(head.compute(self._handle, handle, _doubles(values), byref(error)), error)
        return values

    def _compute(self, head: Any, data: Any, offset: Any, options: dict[str, Any]) -> Array:
        """Returns the numbers of a head, or labels as they stand in the target."""
        if head is None:
            raise BadOption(f"a model of {self.algorithm} makes no predictions")
        values = self._values_of(head, self._rows_of(data, offset, options))
        finite = np.isfinite(values).all(axis=1)
        if not finite.all():
            row = int(np.argmin(finite))
            value = values[row][~np.isfinite(values[row])][0]
            name = head.name.decode()
            what = {"prediction": "predictions", "label": "predictions", "link": "linear predictors"}.get(name, name)
            raise NotFinite(f"row {row + 1}: one of its {what} is {value}, beyond the range of numbers; the values of its columns are too large "
                            "for this model")
        values = values[:, 0] if values.shape[1] == 1 else values
        return self._labels_of(values) if head.labels else values

    # ------------------------------------------------------------------------------------------ data to predict ----

    def _rows_of(self, data: Any, offset: Any, options: dict[str, Any], measured: dict[str, Any] | None = None) -> Dataset:
        """Returns new data as a dataset with the model's columns. `measured`: its target and weights, if predictions are compared with it."""
        beside = {} if measured is None else {key: value for key, value in measured.items() if value is not None}
        if isinstance(data, Dataset) and data._files is not None:  # as the model says, and not as it would be guessed
            own = {key: value for key, value in data.options.items() if key not in ("categories", "dates")}  # which the model says
            rows = self._load(data._files.path, offset, {**own, **options, **beside}, measured is not None)
            data = data._files.path
        elif is_path(data):
            rows = self._load(data, offset, {**options, **beside}, measured is not None)
        elif is_table(data):
            rows = self._take_table(data, offset, options, None if measured is None else {"target": None, "weights": None, **beside})
        else:
            if options:
                raise BadOption(f"{next(iter(options))}: arrays have no such option; it is one of files and tables")
            rows = dataset_of(data, offset=offset, **{key: self._labels_from(value) if key == "target" else value for key, value in beside.items()})
        if rows.shape[1] > self.columns or (rows.shape[1] < self.columns and not rows.from_files):
            raise BadArgument(f"X has {rows.shape[1]} features, but the model is expecting {self.columns} features as input")
        if not is_path(data):  # a load finds columns by their names
            rows._check_names(lambda: self.names, "X")
            rows._check_read(int(self.facts.get("index_base", "-1")), self.tensor(MEANS), "X")
        self._check_offset(rows._has("offset"), offset is not None or options.get("exposure") is not None)
        return rows

    def _labels_from(self, target: Any) -> Any:
        """Returns a target of words as the numbers that the model has for them."""
        words = self._words()
        kind = None if target is None else np.asarray(target).dtype.kind
        if words is not None and kind == "b":
            target, kind = np.asarray(target).astype(str), "U"
        if words is None or kind is None or kind not in "OSU":
            if words is not None and kind is not None and not all(map(is_label, words)):
                raise BadInput(f"target: it has numbers, and the labels of the training data are words, such as {words[0]!r:.60}")
            return known_labels(target, words)
        places = {word: place for place, word in enumerate(words)}
        given = [str(value) for value in np.ravel(np.asarray(target))]
        unknown = next((word for word in given if word not in places), None)
        if unknown is not None:
            raise BadInput(f"target: {unknown!r:.60} is none of the labels of the training data")
        return np.array([float(places[word]) for word in given])

    def _target_of(self, columns: Any) -> str | None:
        """Returns the columns of a table that have the names of the training's targets."""
        names = [name.strip() for name in (self.facts.get("outputs") or self.facts.get("target") or "").split("\n") if name]
        mine = {column.name.strip(): column.name for column in columns}
        return ",".join(mine[name] for name in names) if names and set(names) <= set(mine) else None

    def _take_table(self, data: Any, offset: Any, options: dict[str, Any], measured: dict[str, Any] | None = None) -> Dataset:
        """Reads a table by the model's names, words and means, as files are read. Columns without names fit by their places."""
        unseen = _is_unseen_zero(options)
        schema, names = self._schema(), self.names
        found, given = columns_of(data, "X"), {"missing": self._missing(), **self._text_of(options), **options}
        plain = is_plain(schema) and Table(found, {key: value for key, value in options.items() if key != "missing"}).is_plain
        if measured is not None and measured["target"] is None and not self._algorithm.no_target:
            measured["target"] = self._target_of(found)
        if measured is None and plain and not unseen and "text" not in given and (given["missing"] in (None, "refuse") or not any(column.has_gaps for column in found)):
            mine = [column.name for column in found]
            if names is None or mine == names or len(set(mine)) < len(mine) or not set(names) <= set(mine):
                return dataset_of(data if hasattr(data, "to_numpy") else Table(found, {}).numbers(), offset=offset,
                                  names=None if hasattr(data, "to_numpy") else mine)
            places = {name: place for place, name in enumerate(mine)}
            return Dataset(Table([found[places[name]] for name in names], {}).numbers(), offset=offset, names=names)

        def fill(how: hawser_load) -> None:
            self._fit_load(how)
            how.unseen_zero, how.target_optional = unseen, measured is None

        return Dataset._for_columns(found, {"offset": offset, **(measured or {})}, given, ModelColumns(schema, fill))

    def _text_of(self, options: dict[str, Any]) -> dict[str, Any]:
        """Returns how texts of new data are read: as those of the training. Refuses options that say something else."""
        if "text_rules" not in self.facts:
            return {}
        if int(self.facts["text_rules"]) != TEXT_RULES:
            raise BadInput(f"the text of the training was cut into words by rules number {self.facts['text_rules']}, and this version has number "
                           f"{TEXT_RULES}")
        for key in ("min_documents", "max_documents", "max_words", "stop_words"):
            if key in options:
                raise BadOption(f"{key}: the columns of new data are those of the model; leave it out")
        known = {"text": self.facts.get("options.text"), "min_length": self.facts.get("text_length")}
        found = {key: value for key, value in known.items() if value is not None}
        if str(options.get("min_length", found.get("min_length"))) != str(found.get("min_length")):
            raise BadOption(f"min_length: the words of the model have {found['min_length']} characters or more, and new text is cut likewise; leave it out")
        return found

    def _fit_load(self, how: hawser_load) -> None:
        """Sets what new data have from the training: by rows, its columns, and the means of missing values."""
        how.rows_layout, how.columns, how.target_optional = 1, self.columns, True
        self._means = self.tensor(MEANS) if how.missing is not None and how.missing.startswith(b"mean") else None
        if self._means is not None:  # kept, since `how` has a pointer to them
            how.means = _doubles(self._means)

    def _check_offset(self, has_offset: bool, given: bool) -> None:
        """Refuses data whose offset the predictions would lack or not use, as the command does. `given`: the call says something of it."""
        check_offset(self._algorithm, has_offset)
        trained = [key for key in ("offset", "exposure") if self.facts.get(f"options.{key}", "none") != "none"]
        if trained and not has_offset and not given and not self._algorithm.no_offset:
            raise BadOption(f"the model was trained with {trained[0]} '{self.facts[f'options.{trained[0]}']}'; give one for these data, "
                            "such as offset=numpy.zeros(rows) to predict without it")
        if has_offset and not trained:
            warn("the model was trained without an offset; that of these data is added to its predictions", RuntimeWarning)

    def _load(self, data: Any, offset: Any, options: dict[str, Any], measured: bool = False) -> Dataset:
        """Loads files as `hawser predict` and `hawser evaluate` do: columns, words and means are those of the training data."""
        unseen = _is_unseen_zero(options)
        given = {key: value for key, value in {"offset": offset, **options}.items() if value is not None}
        check_exposure(self._algorithm, given.get("exposure"))
        for key in ("categories", "dates"):
            if key in given:
                raise BadOption(f"{key}: the model says which of its columns are words or dates; leave it out")
        for key in ("min_documents", "max_documents", "max_words", "stop_words"):
            if key in given:
                raise BadOption(f"{key}: the columns of new data are those of the model; leave it out")
        chosen, how, error = Options(lib.hawser_data_rows()), hawser_load(), hawser_error()
        given = numbers_beside(data, given)  # which has files that last until the load has ended
        chosen.fill(given)
        text = self._text_of(given)
        chosen.fill(self._inherited(), _native.HAWSER_FROM_PROGRAM)
        chosen.read_environment()
        check(lib.hawser_load_from_options(chosen.handle, byref(how), byref(error)), error)
        how.min_length = int(text.get("min_length", how.min_length))
        if "text" not in given and how.format not in (_native.HAWSER_GUESS, _native.HAWSER_CSV):
            how.text = None  # the table of the training had the column
        how.rows_layout, how.columns, how.target_optional = 1, self.columns, not measured
        how.schema = self._schema() or None
        how.categories = how.dates = None
        how.min_documents = how.max_documents = how.stop_words = None  # that the environment may have
        how.max_words, how.counts = 0, self._algorithm.counts
        how.guess_text = "text_rules" in self.facts and "text" not in given
        how.unseen_zero = unseen
        how.outputs = self.outputs > 1
        self._place_target(how, "target" in given)
        if how.index_base == 0 and int(self.facts["index_base"]) >= 0:
            how.index_base = int(self.facts["index_base"]) + 1
        means = self.tensor(MEANS)
        if how.missing is not None and how.missing.startswith(b"mean"):
            if means is None:
                raise BadOption("missing: the model does not keep the means of its training data; train with missing=\"mean\", or use zero")
            how.means = _doubles(means)
        handle = POINTER(hawser_dataset)()
        load_files(data, how, handle)
        warn_idle(given, handle)
        return Dataset._from_handle(handle)

    def _inherited(self) -> dict[str, str]:
        """Returns options of the training that also describe new data. A dropped row would have no prediction."""
        found = {key: self.facts.get(f"options.{key}") for key in INHERITED}
        found["missing"] = self._missing()
        if self.facts.get("target_from") == "file":
            found["target"] = None
        return {key: value for key, value in found.items() if value is not None}

    def _missing(self) -> str | None:
        """Returns how missing values of new data are read: as the training says, or a dataset that was loaded before it by its means and levels."""
        trained, means = self.facts.get("options.missing", "refuse"), self.tensor(MEANS) is not None
        if trained.startswith("mean") and not means:  # of an input without missing values, as svmlight
            trained = {"mean,level": "level", "mean,zero": "refuse,zero"}.get(trained, "refuse")
        if trained != "refuse":
            return None if trained == "drop" else trained
        level = any("" in column.get("levels", ()) for column in json.loads(self.facts.get("schema", "{}")).get("columns", ()))
        return ("mean,level" if level else "mean") if means else "level" if level else None

    def _place_target(self, how: hawser_load, given: bool) -> None:
        """Says which column of the files is the target of the training data, which is no feature."""
        if given:
            return
        name, place = self.facts.get("target"), int(self.facts.get("target_column", "-1"))
        if self._algorithm.no_target and name is None and place < 0:
            how.target = b"none"
            return
        how.target_place = place + 1
        if how.schema and name is not None:
            how.target = name.encode()

    def __repr__(self) -> str:
        return f"<hawser.Model of {self.algorithm}, {self.columns} columns>"


def _is_unseen_zero(options: dict[str, Any]) -> bool:
    """Takes the option `unseen` out: whether a word that the training did not have is read as none of its levels."""
    unseen = options.pop("unseen", None)
    if unseen not in (None, "error", "zero"):
        raise BadOption(f"unseen: it is {unseen!r:.60}; give \"error\" or \"zero\"")
    return bool(unseen == "zero")


def _numbers_or_words(words: list[str]) -> Array:
    """Returns the words of a target as an array: as whole numbers if they are labels of 64 bits, which a double does not hold."""
    if not all(re.fullmatch("-?[0-9]+", word) for word in words) or all(abs(int(word)) < 2**53 for word in words):
        return np.array(words)
    numbers = [int(word) for word in words]
    kind = np.int64 if max(numbers) < 2**63 else np.uint64 if min(numbers) >= 0 else object
    return np.array(numbers, kind)


def _doubles(array: Array) -> Any:
    return ctypes.cast(array.ctypes.data, POINTER(ctypes.c_double))


def _restore(data: bytes, training: Training | None) -> Model:
    model = Model.from_bytes(data)
    model.training = training
    return model


__all__ = ["Facts", "MEANS", "Model", "Training"]
