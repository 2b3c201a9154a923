"""Trainings: hawser.train."""
import ctypes
import functools
import logging
import threading
import warnings
from collections.abc import Callable
from ctypes import byref
from typing import Any

import numpy as np

from . import _errors, _native
from ._beside import run_beside
from ._dataset import Array, Dataset, dataset_of, is_path, numbers_of, pointer_to, split_options
from ._errors import BadArgument, BadInput, BadOption, Diverged, Error, Interrupted, check, failure
from ._library import library as lib
from ._model import Model, Training
from ._native import (
    POINTER, hawser_error, hawser_job, hawser_message, hawser_messages, hawser_observer, hawser_opening, hawser_training,
    hawser_training_input,
)
from ._options import DATA_KEYS, JOB_KEYS, Options, key_of, keys_of
from ._progress import bar_of

BY_COLUMN = ("lower", "upper", "penalty_factors")
Callback = Callable[[dict[str, Any]], Any]
# Reasons for an end before the tolerance. Epochs are no such reason: they are what some solvers are told to do.
LIMITS = {"clocks", "iterations", "limit", "progress", "seconds", "time-limit"}
log = logging.getLogger("hawser")


def find_algorithm(name: str) -> Any:
    """Returns a pointer to the ready algorithm of that name."""
    found = lib.hawser_algorithm_find(name.encode())
    if not found:
        known = ", ".join(algorithms())
        raise BadOption(f"there is no algorithm '{name}'; the algorithms are: {known}")
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
def _metrics(algorithm: str) -> list[tuple[str, bytes]]:
    """Returns the names of the metrics of an algorithm, as text and as bytes."""
    rows = find_algorithm(algorithm).contents.metrics
    names: list[tuple[str, bytes]] = []
    while rows and (name := rows[len(names)].name) is not None:
        names.append((name.decode(), name))
    return names


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
    """Takes options that are arrays with a number per column out of `options`. As numbers and paths they stay there."""
    found: dict[str, Array] = {}
    for name in BY_COLUMN:
        if isinstance(options.get(name), (np.ndarray, list, tuple)):
            found[name] = np.ascontiguousarray(numbers_of(options.pop(name), name), dtype=np.float64)
    return found


def check_arrays(arrays: dict[str, Array], columns: int) -> None:
    for name, array in arrays.items():
        if array.shape != (columns,):
            raise BadArgument(f"{name}: its shape is {array.shape}, and the data have {columns} columns")


class _Fit:
    """One training: it opens a job, trains in a thread of its own, and closes the job."""

    def __init__(self, algorithm: Any, data: Dataset, validation: Dataset | None, init: Model | None, callback: Callback | None,
                 options: Options, arrays: dict[str, Array]) -> None:
        self.algorithm, self.data, self.validation, self.init, self.callback = algorithm, data, validation, init, callback
        self.options = options
        self.arrays = arrays
        self.options.fill(data.options)
        self.options.read_environment()
        self.metrics = self._metric_names()
        self.lock = threading.Lock()
        self.job: Any = None
        self.interrupted = False
        self.raised: BaseException | None = None  # by the callback or by the training
        self.training = hawser_training()
        self.result: Training | None = None
        self.messages: list[tuple[int, str]] = []

    def _metric_names(self) -> list[tuple[str, bytes]]:
        """Returns the names of the metrics as a callback and as the library wants them."""
        return _metrics(self.algorithm.contents.name.decode()) if self.callback is not None else []

    def interrupt(self) -> None:
        """Asks the training to end at an agreed clock. Any thread."""
        with self.lock:
            self.interrupted = True
            if self.job is not None:
                lib.hawser_interrupt(self.job)

    # ---------------------------------------------------------------------------------- in the training's thread ----

    def run(self) -> None:
        try:
            self._run()
        except BaseException as error:  # the thread that waits raises it
            self.raised = self.raised or error

    def _run(self) -> None:
        queue, error = POINTER(hawser_messages)(), hawser_error()
        check(lib.hawser_messages_new(byref(queue), byref(error)), error)
        job = POINTER(hawser_job)()
        try:
            opening = hawser_opening(messages=queue)
            check(lib.hawser_open_with(self.options.handle, byref(opening), byref(job), byref(error)), error)
            with self.lock:
                self.job = job
                if self.interrupted:
                    lib.hawser_interrupt(job)
            self._train(job)
        finally:
            with self.lock:
                self.job = None
            lib.hawser_run_free(self.training.run)
            lib.hawser_close(job)
            self._take_messages(queue)
            lib.hawser_messages_free(queue)

    def _train(self, job: Any) -> None:
        by_row = self.algorithm.contents.split == _native.HAWSER_BY_ROW
        given = hawser_training_input(options=self.options.handle, data=self.data._in_layout(by_row))
        if self.validation is not None:
            given.validation = self.validation._in_layout(by_row)
        if self.init is not None:
            given.init = self.init._handle
        for name, array in self.arrays.items():
            setattr(given, name, pointer_to(array, ctypes.c_double))
        observer = hawser_observer(self._observe)
        if self.callback is not None:
            given.observer = observer
        error = hawser_error()
        status = lib.hawser_train(self.algorithm, job, byref(given), byref(self.training), byref(error))
        check(status, error)
        self._name_arrays()
        self.result = self._take_result(lib.hawser_job_workers(job))

    def _name_arrays(self) -> None:
        """Writes into the model that the data had weights or an offset, without which later predictions would be wrong."""
        error = hawser_error()
        for key, given in (("weights", self.data._has("weights")), ("offset", self.data._has("offset"))):
            if self.training.model and given and not self.data.from_files:
                check(lib.hawser_model_fact(self.training.model, f"options.{key}".encode(), b"array", byref(error)), error)

    def _observe(self, progress: Any, _user: Any) -> None:
        """Passes the progress on. An exception ends the training, and is raised by it."""
        if self.raised is not None or self.callback is None:
            return
        try:
            metric = lib.hawser_progress_metric
            values = {name: value for name, key in self.metrics if (value := metric(progress, key)) == value}  # no NaN
            self.callback({
                "clock": lib.hawser_progress_clock(progress), "clocks": lib.hawser_progress_clocks(progress),
                "seconds": lib.hawser_progress_seconds(progress),
                "loop": (lib.hawser_progress_loop(progress) or b"").decode(),
                **values,
            })
        except BaseException as error:
            self.raised = error
            self.interrupt()

    def _take_result(self, workers: int) -> Training:
        got = self.training
        figures = lib.hawser_run_figures(got.run).contents if got.run else None
        metrics = {}
        for fact in got.facts:
            if fact.name is None:
                break
            metrics[fact.name.decode()] = fact.value
        notes = [bytes(note).split(b"\0")[0].decode(errors="replace") for note in got.notes]
        return Training(
            stop_reason=got.stop_reason.decode(), interrupted=got.interrupted, metrics=metrics,
            seconds=figures.seconds if figures else 0.0, clocks=figures.clocks if figures else 0, workers=workers,
            bytes_exchanged=figures.bytes_exchanged if figures else 0,
            repeatable=figures is not None and figures.repeatable is None,
            notes=tuple(note for note in notes if note), policy=got.policy.decode(errors="replace"),
            assumed=got.assumed.decode(errors="replace"))

    def _take_messages(self, queue: Any) -> None:
        message = hawser_message()
        while lib.hawser_messages_next(queue, byref(message)):
            self.messages.append((message.kind, message.text.decode(errors="replace")))

    # -------------------------------------------------------------------------------------- in the caller's thread ----

    def wait(self) -> bool:
        """Trains, and returns whether Ctrl-C ended the training."""
        return run_beside(self.run, self.interrupt)

    def conclude(self, pressed: bool) -> Model:
        """Returns the model, or raises what ended the training."""
        model = self._model()
        for kind, text in self.messages:
            if kind == _native.HAWSER_WARNING:
                warnings.warn(text, RuntimeWarning, stacklevel=4)
            else:
                log.info("%s", text)
        if pressed:
            stopped = Interrupted("the training was interrupted")
            stopped.model = model
            raise stopped
        if self.raised is not None:
            raise self.raised
        if self.training.failure.status != _native.HAWSER_OK:
            error = failure(self.training.failure.status, self.training.failure)
            if isinstance(error, Diverged):
                error.model = model
            raise error
        if model is None:
            raise Error("the training ended without a model")
        self._warn()
        return model

    def _model(self) -> Model | None:
        if not self.training.model:
            return None
        if self.result is None:
            lib.hawser_model_free(self.training.model)
            return None
        return Model(self.training.model, self.result)

    def _warn(self) -> None:
        assert self.result is not None
        for note in self.result.notes:
            warnings.warn(note, RuntimeWarning, stacklevel=5)
        if self.result.stop_reason in LIMITS:
            warnings.warn(f"the training ended before its tolerance was reached, by '{self.result.stop_reason}': allow it more, or "
                          "set a larger tol", _errors.convergence_warning, stacklevel=5)


def train(algorithm: str, data: Any, target: Any = None, *, weights: Any = None, offset: Any = None, groups: Any = None,
          names: Any = None, validation: Any = None, init: Model | None = None, progress: bool | Callback | None = None,
          **options: Any) -> Model:
    """Trains a model, as `hawser train ALGORITHM DATA` does.

    `data` is anything that `hawser.Dataset` takes, or a Dataset; `target` has one number per row, shape (rows,).
    `options` are the command's options with underscores for dashes: `l1_ratio=0.5`, `time_limit="90s"`, `standardize=False`,
    and `lambda_=0.1`, since lambda is a word of Python. They replace variables HAWSER_KEY of the environment.

    `lower`, `upper` and `penalty_factors` may be arrays with a number per column of `data`, shape (columns,).
    `validation` is a Dataset, or a pair (data, target): the error of the model on these is in `training.metrics`, and chooses the
    member of a path. `init` is a model to start from. `progress` is True for a
    progress bar, or a function that gets a dictionary of the clock and metrics after each clock. If it raises, the training
    ends, and train raises the same exception.

    Ctrl-C ends the training at an agreed clock and raises `hawser.Interrupted`, a KeyboardInterrupt whose `model` was
    reached. The interpreter's lock is released, so several threads may train at once.

    >>> import hawser, numpy
    >>> x = numpy.random.default_rng(0).normal(size=(100, 3))
    >>> model = hawser.train("lasso", x, x @ [1.0, 0.0, -2.0], lambda_=1e-3, workers=1)
    >>> model.coefficients.round(2), model.training.stop_reason
    (array([ 1.,  0., -2.]), 'gap')
    """
    found = find_algorithm(algorithm)
    from_files = is_path(data) or (isinstance(data, Dataset) and data.from_files)
    arrays = take_arrays(options)
    load, keywords = split_options(options, from_files)
    if load and not is_path(data):
        raise BadOption(f"{next(iter(load))}: an option of files, and the data are "
                        f"{'a Dataset that is loaded already' if from_files else 'arrays'}")
    if is_path(data) and found.contents.no_target and target is None:
        target = "none"
    if is_path(data) and found.contents.outputs:
        load.setdefault("outputs", True)
    chosen = make_options(found, keywords)  # before the data, whose conversion may take long
    rows = dataset_of(data, target, weights=weights, offset=offset, groups=groups, names=names, **load)
    if validation is not None and not any(name.startswith("validation_") for name, _ in _metrics(algorithm)):
        raise BadOption(f"validation: {algorithm} measures no error on other data; use model.predict for that")
    if validation is not None and not isinstance(validation, Dataset):
        if not isinstance(validation, (tuple, list)) or len(validation) != 2 or is_path(validation):
            raise BadOption("validation: give a Dataset, or a pair of data and target")
        validation = Dataset(*validation)
    if not rows._has("target") and not found.contents.no_target and not from_files:
        raise BadInput(f"{algorithm}: the data have no target; give it as hawser.train('{algorithm}', X, y)")
    if validation is not None and validation.shape[1] != rows.shape[1]:
        raise BadOption(f"validation: it has {validation.shape[1]} columns, and the data have {rows.shape[1]}")
    check_arrays(arrays, rows.shape[1])
    with bar_of(progress, algorithm) as callback:
        fit = _Fit(found, rows, validation, init, callback, chosen, arrays)
        pressed = fit.wait()
    return fit.conclude(pressed)


__all__ = ["algorithms", "find_algorithm", "train"]
