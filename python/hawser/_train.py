"""Trainings: hawser.train."""
import ctypes
import functools
import hashlib
import os
import signal
from collections.abc import Callable, Mapping
from ctypes import POINTER, byref
from typing import Any

import numpy as np

from . import _errors, _native
from ._allowance import allow
from ._sides import check_given, check_groups, check_offset, column_of_groups, deal_by_groups
from ._changes import changes_of
from ._cluster import Cluster, cluster_for
from ._columns import is_table
from ._dataset import Dataset, Files, dataset_of, is_path, pointer_to, split_options
from ._errors import BadArgument, BadInput, BadOption, Error, Interrupted, check, failure, in_keywords
from ._exact import exact_labels, known_labels
from ._heads import head_of, takes_several
from ._job import Job, log
from ._library import library as lib
from ._model import Model, Training
from ._native import (
    POINTER, hawser_dataset, hawser_error, hawser_load, hawser_observer, hawser_schema, hawser_training, hawser_training_input,
)
from ._numbers import Array, numbers_of
from ._options import DATA_KEYS, JOB_KEYS, JOB_OF_DATA, Options, key_of, keys_of
from ._progress import bar_of
from ._table import ModelColumns

BY_COLUMN = ("lower", "upper", "penalty_factors")
BY_ROW = "folds"
Callback = Callable[[dict[str, Any]], Any]
SHORT = 1 << 16  # stored entries
# Reasons for an end before the tolerance. Epochs are no such reason: they are what some solvers are told to do.
LIMITS = {"clocks", "iterations", "limit", "progress", "seconds", "time-limit"}


def find_algorithm(name: str) -> Any:
    """Returns a pointer to the ready algorithm of that name."""
    found = lib.hawser_algorithm_find(name.encode()) if isinstance(name, str) and "\0" not in name else None
    if not found:
        known = ", ".join(algorithms())
        raise BadOption(f"there is no algorithm {name!r:.60}; the algorithms are: {known}")
    return found


def algorithms() -> list[str]:
    """Returns the names of the algorithms.

    >>> import hawser
    >>> "lasso" in hawser.algorithms()
    True
    """
    names: list[str] = []
    while found := lib.hawser_algorithm_at(len(names)):
        names.append(found.contents.name.decode())
    return names


@functools.cache
def _keys(algorithm: str) -> frozenset[str]:
    """Returns the options that only the algorithm has."""
    return frozenset(keys_of(find_algorithm(algorithm).contents.rows))


@functools.cache
def _metrics(algorithm: str) -> tuple[list[str], Any]:
    """Returns the names of the metrics of an algorithm, as texts and as an array of the library."""
    rows = find_algorithm(algorithm).contents.metrics
    names: list[bytes] = []
    while rows and (name := rows[len(names)].name) is not None:
        names.append(name)
    return [name.decode() for name in names], (ctypes.c_char_p * len(names))(*names)


def make_options(algorithm: Any, keywords: dict[str, Any]) -> Options:
    """Returns the options of a training. Refuses what the algorithm has no option for, and values out of bounds."""
    name = algorithm.contents.name.decode()
    for keyword in keywords:
        key = key_of(keyword)
        if key not in JOB_KEYS and key not in DATA_KEYS and key not in _keys(name):
            others = [other for other in algorithms() if key in _keys(other)]
            if others:
                raise BadOption(f"{keyword}: {name} has no such option; it is one of {', '.join(others)}")
    options = Options(lib.hawser_job_rows(), lib.hawser_data_rows(), algorithm.contents.rows)
    options.fill(keywords)
    return options


def take_arrays(options: dict[str, Any]) -> dict[str, Array]:
    """Takes options that are arrays, with a number per column or row, out of `options`. As numbers and paths they stay there."""
    found: dict[str, Array] = {}
    for name in (*BY_COLUMN, BY_ROW):
        if isinstance(options.get(name), (np.ndarray, list, tuple)):
            found[name] = np.ascontiguousarray(numbers_of(options.pop(name), name), dtype=np.float64)
    return found


def check_arrays(arrays: dict[str, Array], rows: int, columns: int) -> None:
    for name, array in arrays.items():
        if array.shape != (rows if name == BY_ROW else columns,):
            raise BadArgument(f"{name}: its shape is {array.shape}, and the data have {rows} rows and {columns} columns")


def check_validation(algorithm: str) -> None:
    """Raises an error if the algorithm measures no errors on other data."""
    if not any(name.startswith("validation_") or name == "perplexity" for name in _metrics(algorithm)[0]):
        raise BadOption(f"validation: {algorithm} measures no error on other data; use model.predict for that")


def limit_of(options: Options) -> int | None:
    """Returns the memory limit that was given, in bytes."""
    return lib.hawser_options_bytes(options.handle, b"memory-limit") if options.text("memory-limit") is not None else None


def limit_among(variables: Mapping[bytes, bytes], keywords: dict[str, Any] | None = None) -> int | None:
    """Returns the memory limit, in bytes, that keywords or variables HAWSER_KEY give to a training."""
    options = Options(lib.hawser_data_rows())
    options.fill({keyword: value for keyword, value in (keywords or {}).items() if key_of(keyword) == "memory-limit"})
    options.read_environment({name: value for name, value in variables.items() if name.upper() == b"HAWSER_MEMORY_LIMIT"})
    return limit_of(options)


class Fit(Job):
    """One training."""

    def __init__(self, algorithm: Any, data: Dataset | Files, validation: Dataset | None, init: Model | None, options: Options,
                 arrays: dict[str, Array], cluster: Cluster | None) -> None:
        super().__init__(options, cluster)
        self.algorithm, self.data, self.validation, self.init = algorithm, data, validation, init
        self.arrays, self.shared = arrays, POINTER(hawser_dataset)()
        self.options.fill(data.options)
        self.callback: Callback | None = None
        self.trace: list[dict[str, Any]] | None = None  # to which the callback appends, without a function of the user
        self.metrics: tuple[list[str], Any] = [], None  # names of the metrics as a callback and as the library wants them
        self.numbers: Any = None  # of one call of the observer
        self.training = hawser_training()
        self.result: Training | None = None
        self.reports: list[tuple[type[Warning], str]] = []  # for the caller to warn of

    # ---------------------------------------------------------------------------------- in the training's thread ----

    def share(self, job: Any) -> Any:
        """Returns the data of the job's blocks. With several nodes they are in `self.shared`. Collective."""
        split = self.algorithm.contents.split
        if lib.hawser_job_nodes(job) == 1:
            assert isinstance(self.data, Dataset)
            return self.data._in_layout(split == _native.HAWSER_BY_ROW, limit_of(self.options))
        self.compare(job, self._terms())
        if isinstance(self.data, Files):
            self.data.load_share(job, split, self.shared)
        else:
            self.data._deal(job, split, self.shared)
        whole = lib.hawser_dataset_matrix(self.shared).contents
        check_arrays(self.arrays, whole.rows, whole.cols)  # the same on all nodes, which all fail here or none
        return self.shared

    def release(self) -> None:
        lib.hawser_run_free(self.training.run)
        lib.hawser_dataset_free(self.shared)

    def _terms(self) -> dict[str, str | None]:
        """Returns what must be the same on every node before the data are shared; the library compares the options."""
        kind = "files"
        if isinstance(self.data, Dataset):
            kind = "rows of its own" if self.data.partitioned else "all rows"
        own = self.data._own if isinstance(self.data, Dataset) else None
        kind += "" if own is None else ", in a table with words, dates or missing values"
        return {"the algorithm": self.algorithm.contents.name.decode(), "the kind of data": kind,
                **({} if own is None else own.terms()),
                "the digest of init": hashlib.sha256(self.init.to_bytes()).hexdigest() if self.init is not None else None,
                **{f"the digest of {name}": hashlib.sha256(array.tobytes()).hexdigest() for name, array in self.arrays.items()}}

    def _input(self, job: Any, data: Any) -> hawser_training_input:
        given = hawser_training_input(options=self.options.handle, data=data)
        if self.validation is not None and lib.hawser_job_leads(job):  # node 0 measures the error
            by_row = self.algorithm.contents.split == _native.HAWSER_BY_ROW
            self.validation._follow(data, self.data.options, by_row, "validation")
            given.validation = self.validation._in_layout(by_row, limit_of(self.options))
        if self.init is not None:
            given.init = self.init._handle
        for name, array in self.arrays.items():
            setattr(given, name, pointer_to(array, ctypes.c_double))
        return given

    def work(self, job: Any, data: Any) -> None:
        given = self._input(job, data)
        observer = hawser_observer(self._observe)
        if self.callback is not None:
            given.observer = observer
        error = hawser_error()
        status = lib.hawser_train(self.algorithm, job, byref(given), byref(self.training), byref(error))
        if status != _native.HAWSER_OK and self.training.model:  # the finished members of a path
            lost = failure(status, error)
            self._name_arrays()
            self.result = self._take_result(lib.hawser_job_workers(job))
            lost.model = self._model()
            raise lost
        check(status, error)
        if lib.hawser_job_nodes(job) > 1 and self.training.run and self.training.interrupted:
            by = lib.hawser_run_figures(self.training.run).contents.interrupted_by
            self.interrupted_by = by.decode() if by is not None else "another node"
        self._name_arrays()
        self.result = self._take_result(lib.hawser_job_workers(job))

    def _name_arrays(self) -> None:
        """Writes into the model that the data had weights or an offset, without which later predictions would be wrong."""
        error = hawser_error()
        if self.training.model and BY_ROW in self.arrays:
            check(lib.hawser_model_fact(self.training.model, f"options.{BY_ROW}".encode(), b"array", byref(error)), error)
        if isinstance(self.data, Files) or self.data.from_files:
            return
        for key, given in (("weights", self.data._has("weights")), ("offset", self.data._has("offset"))):
            if self.training.model and given:
                check(lib.hawser_model_fact(self.training.model, f"options.{key}".encode(), b"array", byref(error)), error)

    def _observe(self, progress: Any, _user: Any) -> None:
        """Passes the progress on. An exception ends the training, and is raised by it."""
        if self.raised is not None or self.callback is None:
            return
        try:
            names, keys = self.metrics
            lib.hawser_progress_numbers(progress, keys, len(names), self.numbers)
            clock, clocks, seconds, *values = self.numbers[:]
            now = {"clock": int(clock), "clocks": int(clocks), "seconds": seconds, "loop": (lib.hawser_progress_loop(progress) or b"").decode()}
            for name, value in zip(names, values):
                if value == value:  # no NaN
                    now[name] = value
            if self.trace is not None:
                self.trace.append(now)
                return
            with self.calls:
                self.callback(now)
        except BaseException as error:
            self.raised = error
            self.interrupt()

    def _notes(self) -> list[str]:
        """Returns the notes with the command's options."""
        notes: list[str] = []
        for note in self.training.notes:
            text = bytes(note).split(b"\0")[0].decode(errors="replace")
            if not text:
                break
            notes.append(text)
        return notes

    def _take_result(self, workers: int) -> Training:
        got = self.training
        figures = lib.hawser_run_figures(got.run).contents if got.run else None
        metrics = {}
        for fact in got.facts:
            if fact.name is None:
                break
            metrics[fact.name.decode()] = fact.value
        return Training(
            stop_reason=got.stop_reason.decode(), interrupted=got.interrupted, metrics=metrics,
            seconds=figures.seconds if figures else 0.0, clocks=figures.clocks if figures else 0, workers=workers,
            bytes_exchanged=figures.bytes_exchanged if figures else 0,
            repeatable=figures is not None and figures.repeatable is None,
            notes=tuple(in_keywords(note) for note in self._notes()), policy=in_keywords(got.policy.decode(errors="replace")),
            assumed="; ".join(filter(None, (self._assumed_of_data(), in_keywords(got.assumed.decode(errors="replace"))))),
            changes=changes_of(figures) if figures else ())

    def _assumed_of_data(self) -> str:
        """Returns what the load of files assumed, as the command prints it, with the options as keywords."""
        if isinstance(self.data, Dataset) and not self.data.from_files:
            return ""
        data = self.shared if self.shared or isinstance(self.data, Files) else self.data._handle
        text = ctypes.create_string_buffer(lib.hawser_dataset_assumed(data, self.options.handle, None, 0) + 1)
        lib.hawser_dataset_assumed(data, self.options.handle, text, len(text))
        return in_keywords(text.value.decode(errors="replace"))

    # -------------------------------------------------------------------------------------- in the caller's thread ----

    def wait(self, callback: Callback | None) -> bool:
        """Trains, and returns whether Ctrl-C ended the training."""
        if callback is not None:
            self.callback, self.metrics = callback, _metrics(self.algorithm.contents.name.decode())
            self.numbers = (ctypes.c_double * (3 + len(self.metrics[0])))()
            to = getattr(callback, "__self__", None)
            self.trace = to if type(to) is list and callback == to.append else None
        if (callback is None or self.trace is not None) and self._is_short():
            kept = 0 if self.trace is None else len(self.trace)
            pressed = self.execute_here(lambda: self.training.interrupted)
            if pressed is not None:
                return pressed
            if self.trace is not None:
                del self.trace[kept:]
            self._begin_again()
        return self.execute()

    def _is_short(self) -> bool:
        """Returns whether a clock takes milliseconds at most, so that Ctrl-C may wait for its end, and no file is waited for."""
        parts = [self.data] if self.validation is None else [self.data, self.validation]
        return (self.cluster is None and self.options.text("checkpoint") is None
                and all(isinstance(part, Dataset) and part._is_read and part.stored <= SHORT for part in parts))

    def _begin_again(self) -> None:
        """Forgets a training that was ended."""
        lib.hawser_model_free(self.training.model)
        self.training, self.result, self.raised, self.messages = hawser_training(), None, None, []

    def conclude(self, pressed: bool) -> Model:
        """Returns the model, or raises what ended the training. `reports` has the warnings in either case."""
        model = self._model()
        self.report_messages()
        if pressed or self.terminated:
            stopped = Interrupted(f"the training was interrupted{'' if pressed else ' by SIGTERM'}")
            stopped.model, stopped.signal = model, signal.SIGINT if pressed else signal.SIGTERM
            raise stopped
        if self.raised is not None:
            raise self.raised
        if self.interrupted_by is not None:
            stopped = Interrupted(f"the training was interrupted by {self.interrupted_by}")
            stopped.model = model
            raise stopped
        if self.training.failure.status != _native.HAWSER_OK:
            error = failure(self.training.failure.status, self.training.failure)
            error.model = model
            raise error
        if model is None:
            raise Error("the training ended without a model")
        self._report()
        return model

    def report_messages(self) -> None:
        for kind, text in self.messages:
            if kind == _native.HAWSER_WARNING:
                self.reports.append((RuntimeWarning, text))
            else:
                log.info("%s", text)

    def _model(self) -> Model | None:
        if not self.training.model:
            return None
        if self.result is None:
            lib.hawser_model_free(self.training.model)
            return None
        return Model(self.training.model, self.result)

    def _report(self) -> None:
        assert self.result is not None
        self.reports += [(RuntimeWarning, note) for note in self._notes()]  # _errors.warn names the options
        name = self.algorithm.contents.name.decode()
        whole = self.result.stop_reason == "iterations" and "tol" not in _keys(name)  # all that was asked for
        if self.result.stop_reason in LIMITS and not whole:
            self.reports.append((_errors.convergence_warning, f"the training ended before its tolerance was reached, by "
                                 f"'{self.result.stop_reason}': allow it more, or set a larger tol"))


def _options_of_files(target: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Returns the options of a load, as hawser.Dataset takes them."""
    return {key: value for key, value in {"target": target, **given}.items() if value is not None and key != "partitioned"}


def train(algorithm: str, data: Any, target: Any = None, *, weights: Any = None, offset: Any = None, groups: Any = None,
          names: Any = None, validation: Any = None, init: Model | None = None, progress: bool | Callback | None = None,
          partitioned: bool | None = None, **options: Any) -> Model:
    """Trains a model, as `hawser train ALGORITHM DATA` does.

    `data` is anything that `hawser.Dataset` takes, or a Dataset; `target` has one number per row, shape (rows,), and for "multitask" a
    column per target, shape (rows, targets).
    `options` are the command's options with underscores for dashes: `l1_ratio=0.5`, `time_limit="90s"`, `standardize=False`,
    and `lambda_=0.1`, since lambda is a word of Python. They replace variables HAWSER_KEY of the environment.

    `lower`, `upper` and `penalty_factors` may be arrays with a number per column of `data`, shape (columns,), and `folds` (of
    cv=K) one with the fold of each row, from 0 or 1 on, shape (rows,). `groups` keeps the rows of each group in one fold of cv=K.
    `validation` is a Dataset, or a pair (data, target): the error of the model on these is in `training.metrics`, and chooses the
    member of a path. With `early_stopping=N` the training ends when N evaluations have not lowered it. `init` is a model to start from. `progress` is True for a
    progress bar, or a function that gets a dictionary of the clock and metrics after each clock. If it raises, the training
    ends, and train raises the same exception.

    Over several nodes (hawser.Cluster) every node makes the same calls with the same data and gets the same model. With
    `partitioned=True` each node gives rows of its own. Files are loaded by all nodes together, each its share.

    Ctrl-C ends the training at an agreed clock and raises `hawser.Interrupted`, a KeyboardInterrupt whose `model` was
    reached. The interpreter's lock is released, so several threads may train at once.

    >>> import hawser, numpy
    >>> x = numpy.random.default_rng(0).normal(size=(100, 3))
    >>> model = hawser.train("lasso", x, x @ [1.0, 0.0, -2.0], lambda_=1e-3, workers=1)
    >>> model.coefficients.round(2), model.training.stop_reason
    (array([ 1.,  0., -2.]), 'gap')
    """
    fit = prepare(algorithm, data, target, weights=weights, offset=offset, groups=groups, names=names, validation=validation,
                  init=init, partitioned=partitioned, **options)
    with bar_of(progress, algorithm) as callback:
        pressed = fit.wait(callback)
    try:
        return fit.conclude(pressed)
    finally:
        for kind, text in fit.reports:
            _errors.warn(text, kind)


def prepare(algorithm: str, data: Any, target: Any = None, *, weights: Any = None, offset: Any = None, groups: Any = None,
            names: Any = None, validation: Any = None, init: Model | None = None, partitioned: bool | None = None,
            variables: Mapping[bytes, bytes] | None = None, kind: type[Fit] = Fit, **options: Any) -> Fit:
    """Returns a training that can begin, on the nodes of the process. With `variables`, which replace the environment, it is on none yet."""
    found = find_algorithm(algorithm)
    check_groups(found.contents, groups)
    if init is not None and not isinstance(init, Model):
        raise BadArgument(f"init: give a hawser.Model, not a {type(init).__name__}; hawser.Model.load reads a file")
    from_files = is_path(data) or (isinstance(data, Dataset) and data.from_files)
    arrays = take_arrays(options)
    load, keywords = split_options(options, from_files)
    if load and not is_path(data) and not is_table(data):
        raise BadOption(f"{next(iter(load))}: an option of files, and the data are "
                        f"{'a Dataset that is loaded already' if from_files else 'arrays'}")
    check_given(found.contents, target, load, is_path(data))
    column = column_of_groups(groups, keywords) if is_path(data) else groups
    if is_path(data) and found.contents.no_target and target is None:
        target = "none"
    if is_path(data) and takes_several(found.contents):
        load.setdefault("outputs", True)
    chosen = make_options(found, keywords)  # checked first, since the data may take long to convert
    if validation is not None:
        check_validation(algorithm)
    chosen.read_environment(variables, () if from_files else DATA_KEYS - JOB_OF_DATA)
    cluster = cluster_for(chosen, keywords) if variables is None else None
    with allow(limit_of(chosen)):
        given = {"weights": weights, "offset": offset, "groups": column, "names": names, "partitioned": partitioned, **load}
        files = {key: value for key, value in {"target": target, **given}.items() if value is not None and key not in ("groups", "partitioned")}
        rows: Dataset | Files
        if is_path(data) and cluster is not None and not partitioned:
            rows = Files(data, _options_of_files(target, given))
            _tell_labels(rows, found, keywords)
            deal_by_groups(chosen, column is not None, groups, BY_ROW in arrays)
        else:
            if has_labels(found, keywords) and not is_path(data) and not isinstance(data, Dataset):
                target = exact_labels(target)
            rows = dataset_of(data, target, **given)
            _tell_labels(rows._files, found, keywords)
            check_offset(found.contents, rows._has("offset"))
            deal_by_groups(chosen, rows._has("groups"), groups, BY_ROW in arrays)
            if not rows._has("target") and not found.contents.no_target and not from_files:
                raise BadInput(f"{algorithm}: the data have no target; give it as hawser.train('{algorithm}', X, y)")
            if rows.targets > 1 and not takes_several(found.contents) and not found.contents.no_target:
                raise BadInput(f"{algorithm}: y should be a 1d array, got an array of shape ({len(rows)}, {rows.targets}) instead; 'multitask' "
                               "takes several targets")
        if validation is not None and isinstance(rows, Dataset) and rows._own is not None:
            raise BadOption("validation: a table with words, dates or missing values whose rows are over several nodes takes none; encode them as "
                            "numbers first, or use model.evaluate on other data")
        if validation is not None and not isinstance(validation, Dataset):
            if isinstance(validation, (str, os.PathLike)):
                validation = Dataset(validation, **(files if is_path(data) else {}))
            elif not isinstance(validation, (tuple, list)) or len(validation) != 2 or is_path(validation):
                raise BadOption("validation: give a Dataset, a path, or a pair of data and target")
            else:
                validation = _validation_of(rows, *validation)
        if validation is not None:
            _tell_labels(validation._files, found, keywords)
        if validation is not None and isinstance(rows, Dataset):
            validation._follow(rows._handle, rows.options, found.contents.split == _native.HAWSER_BY_ROW, "validation")
        if validation is not None and isinstance(rows, Dataset) and validation.shape[1] != rows.shape[1]:
            raise BadOption(f"validation: it has {validation.shape[1]} columns, and the data have {rows.shape[1]}")
        if validation is not None and isinstance(rows, Dataset):
            validation._check_names(lambda: rows.names, "validation")
        if isinstance(rows, Dataset) and not rows.partitioned:
            check_arrays(arrays, *rows.shape)
        return kind(found, rows, validation, init, chosen, arrays, cluster)


def _tell_labels(files: Files | None, algorithm: Any, keywords: dict[str, Any]) -> None:
    """Sets how the files will be read, if they have not been: whether values are counts, and what the target is. It may be several columns, or labels. Labels
    that are whole numbers stay distinct over 64 bits. Full files are stored densely, as the command does it, so that both have equal bits."""
    if files is not None:
        files.how.counts, files.how.full_dense = algorithm.contents.counts, not algorithm.contents.counts
    if files is not None and takes_several(algorithm.contents):
        files.how.outputs = True
    if files is not None and has_labels(algorithm, keywords):
        files.how.labels = 1


def has_labels(algorithm: Any, keywords: dict[str, Any]) -> bool:
    """Returns whether a target has labels: a classifier's, unless it is compared by size, or the loss is that of a regression."""
    sized = set("<>") & set(str(keywords.get("positive", "")))
    return head_of(algorithm.contents, "label") is not None and not sized and "epsilon" not in str(keywords.get("loss"))


def _validation_of(rows: Dataset | Files, data: Any, target: Any) -> Dataset:
    """Returns other data as a dataset; a table is read as that of the training was, if that has words or dates."""
    if not is_table(data) or not isinstance(rows, Dataset) or not (rows._schema() or "text" in rows.options):
        return Dataset(data, known_labels(target, rows._target_words()) if isinstance(rows, Dataset) else target)

    named, error = POINTER(hawser_schema)(), hawser_error()

    def fill(how: hawser_load) -> None:
        check(lib.hawser_load_follow(byref(how), rows._handle, byref(named), byref(error)), error)

    lasting = {key: value for key, value in rows.options.items() if key in ("missing", "text", "min-length")}
    try:
        return Dataset._for_columns(data, {"target": target}, lasting, ModelColumns(rows._schema(), fill))
    finally:
        lib.hawser_schema_free(named)


__all__ = ["Fit", "algorithms", "check_validation", "find_algorithm", "has_labels", "prepare", "train"]
