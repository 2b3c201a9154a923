"""What all estimators share: parameters of a training, the training itself, and what it leaves behind."""
import contextlib
import functools
import hashlib
import inspect
import os
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, TypeVar, cast

import numpy as np
import numpy.typing as npt
import sklearn.exceptions
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.sparsefuncs import mean_variance_axis
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, check_is_fitted, column_or_1d, validate_data

from .. import _errors
from .._allowance import allow, claim_array
from .._cluster import is_beside
from .._dataset import Dataset
from .._errors import BadOption, FileError, Interrupted, NotFinite
from .._model import Model
from .._numbers import refuse_masks
from .._sparse import check_sparse
from .._train import LIMITS, limit_among, train
from ._folds import folds_of

Array = npt.NDArray[Any]
TYPES = (np.float64, np.float32)
# Texts of warnings that are true of one path, and of no use where a cross-validation has another rule or goes on.
SEVERAL = ("the last one of the path", "the last lambda of the path", "the last alpha of the path")
UNFINISHED = ("did not finish", "ended before its tolerance was reached")
EXACT = ("cannot be reached", "precision of numbers")  # what tol=0 asks for
SMALLEST, LARGEST = 5e-324, 1 - 2**-53  # tolerances of the library


class ConvergenceWarning(_errors.ConvergenceWarning, sklearn.exceptions.ConvergenceWarning):  # type: ignore[misc]
    """A training ended before its tolerance was reached."""


def workers_of(workers: int | None, n_jobs: int | None) -> int | None:
    """Returns the workers of a training; None leaves them to the library, which looks at processors and data.

    In a worker of joblib it is 1, unless `workers` says otherwise, since the processors are shared out already.
    """
    if workers is not None:
        return int(workers)
    if is_beside():
        return 1
    if n_jobs is None:
        return None
    if n_jobs == 0:
        raise ValueError("n_jobs = 0: give a number of workers, or -1 for all processors")
    processors = len(os.sched_getaffinity(0))
    return int(n_jobs) if n_jobs > 0 else max(1, processors + 1 + int(n_jobs))


def is_plain(X: Any) -> bool:
    """Returns whether X is a matrix of finite numbers, which scikit-learn's checks would pass on unchanged."""
    return type(X) is np.ndarray and X.dtype in TYPES and X.ndim == 2 and X.size > 0 and _is_finite(X)


def is_plain_target(y: Any, rows: int) -> bool:
    return type(y) is np.ndarray and y.dtype == np.float64 and y.shape == (rows,) and _is_finite(y)


def is_plain_targets(y: Any, rows: int) -> bool:
    return type(y) is np.ndarray and y.dtype == np.float64 and y.ndim == 2 and len(y) == rows and y.size > 0 and _is_finite(y)


def _is_finite(numbers: Array) -> bool:
    """Returns whether the sum is finite. It may overflow; then scikit-learn's checks look at each number."""
    with np.errstate(all="ignore"):
        return bool(np.isfinite(numbers.sum()))


def spread_of(X: Any) -> Array:
    """Returns the variance of each column."""
    found: Array = mean_variance_axis(X, axis=0)[1] if issparse(X) else np.var(X, axis=0, dtype=np.float64)
    return found


def is_array(X: Any) -> bool:
    """Returns whether data are those of this process, and not of workers elsewhere."""
    return isinstance(X, np.ndarray) or bool(issparse(X))


def has_errors(model: Model) -> bool:
    """Returns whether a cross-validation has gone on until the errors were known."""
    path = getattr(model, "path", None)
    return path is not None and path.error is not None


def listed(penalties: Any) -> list[float]:
    """Returns penalties as the library's option takes them, for which a list of one number is a count."""
    return [float(each) for each in penalties] * (2 if len(penalties) == 1 else 1)


def refuse(name: str, value: Any, allowed: str) -> ValueError:
    """Returns the error of a parameter that has a value with which nothing could be done."""
    return ValueError(f"{name} = {value!r}: this estimator takes {allowed}")


def check_eval_set(kind: Any, eval_set: Any, rounds: int | None) -> None:
    """Raises an error if an estimator that measures no errors on other data is given some, or a limit of theirs."""
    given = [name for name, value in (("eval_set", eval_set), ("early_stopping_rounds", rounds)) if value is not None]
    if given and given[0] not in inspect.signature(kind.fit).parameters:
        raise refuse(given[0], "...", "none: it measures no errors on other data")


# What options of the command are called here.
NAMES = {"clusters": "n_clusters", "lambda_": "alpha", "max_clocks": "max_iter", "max_iterations": "max_iter", "starts": "n_init", "topics": "n_components",
         "beta": "topic_word_prior", "iterations": "max_iter"}


def _renamed(text: str) -> str:
    """Returns an error's text that begins with the name of the parameter, not of the option."""
    option = next(iter(text.replace("=", ":", 1).split(":", 1)))  # the library writes "tol=", the package "tol:"
    return NAMES.get(option, option) + text[len(option):]


NUMBERS = ("tol", "eps", "C", "Cs", "epsilon", "alpha", "alphas", "l1_ratio", "l1_ratios", "intercept_scaling", "n_clusters", "batch_size", "max_no_improvement",
           "reassignment_ratio", "init_size", "n_components", "doc_topic_prior", "topic_word_prior", "optimize_every")


FLAGS = ("fit_intercept", "positive", "warm_start", "compute_labels")
COUNTS = ("max_iter", "workers", "n_jobs")


@functools.cache
def _kinds_of(kind: type) -> tuple[tuple[str, ...], ...]:
    """Returns the parameters of an estimator, and of the classes that it is made from, that are flags, numbers and counts."""
    own = {*dir(kind), *(name for each in kind.__mro__ if "__init__" in vars(each) and each is not object
                         for name in inspect.signature(vars(each)["__init__"]).parameters)}
    return tuple(tuple(name for name in names if name in own) for names in (FLAGS, NUMBERS, COUNTS))


def _are_numbers(value: Any) -> bool:
    """Returns whether a parameter is None, a number, or a list of numbers."""
    return value is None or isinstance(value, (int, float, np.number)) or (np.ndim(value) > 0 and np.asarray(value).dtype.kind in "iufb")


def _parts_of(term: Any) -> Iterator[Any]:
    """Gives the bytes of a term of a training, for a digest. Objects of other kinds count by their type alone."""
    if issparse(term):
        yield repr(("sparse", term.format, term.shape)).encode()
        for name in ("data", "indices", "indptr"):
            yield from _parts_of(getattr(term, name, None))
    elif isinstance(term, np.ndarray) and term.dtype.kind in "biuf" and term.ndim > 0:
        rows = term.T if term.flags.f_contiguous and not term.flags.c_contiguous else term
        yield repr(("array", term.dtype.str, term.shape, rows is term)).encode()
        step = max(1, (1 << 24) * len(rows) // max(1, rows.nbytes))  # rows that are copied at once, if they are apart
        for first in range(0, len(rows), step):
            yield np.ascontiguousarray(rows[first:first + step])
    elif isinstance(term, Model):
        yield term.to_bytes()
    elif isinstance(term, np.ndarray):  # of words, or a single number
        yield from _parts_of([term.tolist()])
    elif isinstance(term, (dict, list, tuple)):
        yield repr((type(term).__name__, len(term))).encode()
        for item in sorted(term.items()) if isinstance(term, dict) else term:
            yield from _parts_of(item)
    elif term is None or isinstance(term, (bool, int, float, str, np.generic)):
        yield repr(term).encode()
    else:
        yield type(term).__name__.encode()


def _digest_of(*terms: Any) -> str:
    made = hashlib.blake2b(digest_size=8)
    for part in _parts_of(terms):
        made.update(part)
    return made.hexdigest()


class Folders:
    """Where the trainings of a fit write their checkpoints: each to a folder of its own, which is named by what is trained on and how.

    So fits of other data or parameters, such as those of a search, may have one folder, one after another or at once. Data of other processes have no digest
    here: their first training writes to the folder that was given, and the library compares the data.
    """

    def __init__(self, folder: Any) -> None:
        self.folder, self.count = os.path.abspath(os.fsdecode(folder)), 0
        self.data: tuple[Any, str] = (None, "")  # the last ones, and their digest

    def _name(self, X: Any, terms: tuple[Any, ...]) -> str:
        self.count += 1
        if not is_array(X):
            return f"training-{self.count}" if self.count > 1 else ""
        if self.data[0] is not X:
            self.data = (X, _digest_of(X))
        return f"training-{_digest_of(self.data[1], terms)}"

    def _make(self) -> None:
        """Makes the folder of the folders, and refuses one with the words of the library."""
        try:
            os.mkdir(self.folder)
        except FileExistsError:
            if not os.path.isdir(self.folder):
                raise FileError(f"{self.folder} is no folder, so it cannot have checkpoints") from None
        except OSError as error:
            raise FileError(f"cannot make the folder {self.folder} for checkpoints: {error.strerror}") from error

    @contextlib.contextmanager
    def next(self, X: Any, *terms: Any) -> Iterator[str]:
        """Gives the folder of the next training. It is removed when the training has ended and left no checkpoint."""
        name = self._name(X, terms)
        if not name:
            yield self.folder
            return
        own = os.path.join(self.folder, name)
        self._make()
        yield own
        with contextlib.suppress(OSError):
            os.rmdir(own)


Method = TypeVar("Method", bound=Callable[..., Any])


def saved(fit: Method) -> Method:
    """Gives a fit its argument `checkpoint`: a folder of checkpoints, from which a fit that was stopped goes on. See hawser.train."""
    @functools.wraps(fit)
    def fit_saved(self: Any, *given: Any, checkpoint: Any = None, **named: Any) -> Any:
        if checkpoint is None:
            return fit(self, *given, **named)
        if not isinstance(checkpoint, (str, os.PathLike)) or os.fspath(checkpoint) in ("", b"") or "\0" in os.fsdecode(checkpoint):
            raise refuse("checkpoint", checkpoint, "the path of a folder, or None")
        self._folders = Folders(checkpoint)
        try:
            return fit(self, *given, **named)
        finally:
            self._forget("_folders")
    return cast(Method, fit_saved)


class Estimator(BaseEstimator):  # type: ignore[misc]
    """Trains by hawser.train. Subclasses say which algorithm and options their parameters mean."""

    _algorithm: ClassVar[str]
    # Options that the library's warnings name, and the parameters that they are here; None: there is no such parameter.
    _words: ClassVar[dict[str, str | None]] = {}
    # The parameters below are those of each subclass, which names them in its __init__ as scikit-learn wants it.
    workers: int | None
    sync: str
    n_jobs: int | None
    random_state: Any
    warm_start: bool
    dual: Any
    n_iter_: Any
    dual_gap_: Any
    trace_: Any
    tol: float
    max_iter: int | None
    _folders: Folders | None = None  # while it is fitted with checkpoints
    # The type of what the fit leaves: float32 if X was.
    _type: np.dtype[Any] = np.dtype(np.float64)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # ---------------------------------------------------------------------------------------------- trainings ----

    def _seed(self) -> int | None:
        """Returns the seed of the training. If random_state is None, the library takes its default, 1."""
        state = getattr(self, "random_state", None)
        if state is None:
            return None
        if isinstance(state, (int, np.integer)):
            return int(state)
        try:
            return int(check_random_state(state).randint(1, 2**31 - 1))
        except ValueError as error:
            raise refuse("random_state", state, "None, a seed or a RandomState of numpy") from error

    def _checked(self, X: Any, y: Any = "no_validation", **how: Any) -> Any:
        """Returns X, or X and y, as numbers that the library reads without a copy."""
        self._check_kinds()
        if is_plain(X) and is_plain_target(y, len(X)):  # what scikit-learn would find, in a tenth of the time
            self.n_features_in_ = X.shape[1]
            if hasattr(self, "feature_names_in_"):
                del self.feature_names_in_
            self._type = X.dtype
            return X, y
        refuse_masks(X, "X")
        refuse_masks(y, "y")
        check_sparse(X, "X")
        with allow(limit_among(os.environb)):
            claim_array(X, "X")
        found = validate_data(self, X, y, accept_sparse=("csr", "csc"), dtype=TYPES, accept_large_sparse=True, **how)
        self._type = (found[0] if isinstance(found, tuple) else found).dtype
        return found

    def _checked_new(self, X: Any, fitted: bool = True) -> Any:
        """Returns data to predict as numbers; the number of features is the training's."""
        if fitted:
            check_is_fitted(self)
        if is_plain(X) and X.shape[1] == getattr(self, "n_features_in_", None) and not hasattr(self, "feature_names_in_"):
            return X
        refuse_masks(X, "X")
        check_sparse(X, "X")
        return validate_data(self, X, reset=False, accept_sparse=("csr", "csc"), dtype=TYPES, accept_large_sparse=True)

    def _check_kinds(self) -> None:
        """Raises an error if a parameter that the estimators share is of another kind, which would count as something else."""
        flags, numbers, counts = _kinds_of(cast(Any, type(self)))
        for name in flags:
            value = getattr(self, name, False)
            if not isinstance(value, (bool, np.bool_)):
                raise refuse(name, value, "True or False")
        if isinstance(getattr(self, "dual", None), str) and self.dual not in ("auto", "warn"):
            raise refuse("dual", self.dual, "True, False or 'auto', which have the same solution")
        for name in numbers:
            if not _are_numbers(getattr(self, name, None)):
                raise refuse(name, getattr(self, name), "numbers")
        for name in counts:
            value = getattr(self, name, None)
            if value is not None and not isinstance(value, (int, np.integer)):
                raise refuse(name, value, "a whole number or None")
        if getattr(self, "max_iter", None) == 0:
            raise refuse("max_iter", 0, "a number from 1, or None for no limit")

    def _tolerance(self) -> float:
        """Returns `tol` as the library takes it, between 0 and 1. At 0 a training ends by max_iter, or where rounding lets no step lower the objective."""
        tol: float = self.tol
        if isinstance(tol, (int, float, np.number)) and 0 <= tol < np.inf:
            return min(max(float(tol), SMALLEST), LARGEST)
        return tol  # refused by the library

    def _numbers(self, y: Any) -> Any:
        return np.asarray(y, np.float64)

    def _weights(self, sample_weight: Any, X: Any) -> Array | None:
        if sample_weight is None:
            return None
        refuse_masks(sample_weight, "sample_weight")
        weights: Array = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not weights.any():
            raise ValueError("sample_weight: all weights are zero, so no sample counts")
        return weights

    def _folds(self, X: Any, y: Any, classifier: bool) -> tuple[Any, int]:
        """Returns the fold of each row, and the number of folds."""
        fold = folds_of(self.cv, X, y, classifier)
        return fold, int(fold.max())

    def _start(self, columns: int) -> Model | None:
        """Returns the model that warm_start begins with."""
        model: Model | None = getattr(self, "model_", None) if getattr(self, "warm_start", False) else None
        if model is not None and model.columns != columns:
            raise ValueError(f"warm_start: the estimator was fitted with {model.columns} features, and X has {columns}")
        return model

    def _other_target(self, y: Any) -> Array:
        """Returns the targets of other data as an array."""
        column: Array = column_or_1d(y)
        return column

    def _validation(self, eval_set: Any, rounds: int | None, to_target: Callable[[Any], Array] | None) -> dict[str, Any]:
        """Returns the options that measure errors on other data. `to_target` makes numbers of their targets; None: they have none."""
        self._forget("evals_result_", "best_iteration_", "best_score_")
        if eval_set is None:
            if rounds is not None:
                raise ValueError(f"early_stopping_rounds: there is no eval_set={'X' if to_target is None else '(X, y)'} to measure the error on")
            return {}
        if to_target is None:
            return {"validation": Dataset(self._checked_new(eval_set, fitted=False)), "early_stopping": rounds}
        if isinstance(eval_set, list) and len(eval_set) == 1:
            eval_set = eval_set[0]
        if not isinstance(eval_set, tuple) or len(eval_set) != 2:
            raise ValueError("eval_set: give one pair (X, y) of other data")
        X = self._checked_new(eval_set[0], fitted=False)
        refuse_masks(eval_set[1], "y")
        y = self._other_target(eval_set[1])
        check_consistent_length(X, y)
        return {"validation": (X, to_target(y)), "early_stopping": rounds}

    def _take_evaluations(self, model: Model, reports: list[dict[str, Any]], stops: bool) -> None:
        """Stores the errors on other data, one per evaluation. Several reports may have the same evaluation. Of several starts only the kept one counts."""
        errors: dict[int, float] = {}
        name, kept = "", None if model.training is None else model.training.metrics.get("start")
        for report in reports:
            if report.get("start", kept) != kept:
                continue
            name = next((key for key in report if key.startswith("validation_")), name)
            if np.isfinite(report.get(name, np.nan)):
                errors[int(report["evaluations"])] = report[name]
        self.evals_result_ = {"validation": {name.removeprefix("validation_"): list(errors.values())}} if errors else {}
        if stops and errors:
            worse = -1 if name == "validation_accuracy" else 1
            self.best_iteration_ = int(np.argmin([worse * error for error in errors.values()]))
        if stops and model.training is not None:
            self.best_score_ = next(value for key, value in model.training.metrics.items() if key.startswith("validation_"))

    def _train(self, algorithm: str, X: Any, y: Array | None, weights: Array | None, *, trace: bool = True,
               **options: Any) -> Model:
        """Trains, and takes over what was reached, after Ctrl-C too. `trace`: keep what each clock reports."""
        self._check_kinds()
        reports: list[dict[str, Any]] | None = [] if trace else None
        self.interrupted_ = False
        options.setdefault("init", self._start(X.shape[1]))
        try:
            model = self._call(algorithm, X, y, weights, progress=None if reports is None else reports.append, **options)
        except Interrupted as stopped:
            if isinstance(stopped.model, Model):
                self.interrupted_ = True
                self._take(stopped.model, reports)
            raise
        self._take(model, reports)
        if options.get("validation") is not None and reports is not None:
            self._take_evaluations(model, reports, options.get("early_stopping") is not None)
        return model

    def _call(self, algorithm: str, X: Any, y: Array | None, weights: Array | None, silent: tuple[str, ...] = (), **options: Any) -> Model:
        """Trains with the options that the estimators share, and keeps nothing. Warnings with a text of `silent` are not for the caller."""
        common: dict[str, Any] = {
            "workers": workers_of(self.workers, self.n_jobs), "sync": self.sync, "seed": self._seed(),
            "names": getattr(self, "feature_names_in_", None)}
        if getattr(self, "tol", None) == 0:
            silent = (*silent, *EXACT)
        token = _errors.words.set({**dict.fromkeys(silent), **self._words})
        try:
            with contextlib.nullcontext() if self._folders is None else self._folders.next(X, algorithm, y, weights, self._terms(common | options)) as folder:
                return self._run(algorithm, X, y, weights=weights, **common, **({} if folder is None else {"checkpoint": folder}), **options)
        except BadOption as error:
            raise BadOption(_renamed(str(error))) from error
        finally:
            _errors.words.reset(token)

    def _terms(self, options: dict[str, Any]) -> dict[str, Any]:
        """Returns the options that name a training among those of a folder. The library refuses other workers."""
        return {key: value for key, value in options.items() if key not in ("workers", "progress")}

    def _solutions(self, algorithm: str, X: Any, y: Array, weights: Array, penalties: Array, cut: list[float],
                   **options: Any) -> Iterator[tuple[Array, Any]]:
        """Gives coefficients and intercept for each of the penalties, which fall. `max_iter` limits each fit; `cut` gets the penalties where it has."""
        limit = getattr(self, "max_iter", None)
        if limit is None:
            found = self._call(algorithm, X, y, weights, SEVERAL, path=listed(penalties), init=None, **options).path
            if len(found) < len(penalties):
                raise ValueError(f"the fits of a fold ended after {len(found)} of {len(penalties)} penalties; leave the smaller ones out")
            for member in range(len(penalties)):
                yield found.coefficients_of(member), found.intercept[member]
            return
        model = None
        for penalty in penalties:
            model = self._call(algorithm, X, y, weights, UNFINISHED, lambda_=float(penalty), init=model, max_clocks=limit, **options)
            if model.training is not None and model.training.stop_reason in LIMITS:
                cut.append(float(penalty))
            yield model.coefficients, model.intercept

    def _warn_of(self, cut: list[float], fits: int) -> None:
        """Warns once if fits of a cross-validation have ended by max_iter."""
        if cut:
            _errors.warn(f"{len(cut)} of {fits} fits of the cross-validation ended before their tolerance was reached, by max_iter = "
                         f"{self.max_iter}: allow it more, or set a larger tol", ConvergenceWarning)

    def _run(self, algorithm: str, X: Any, y: Any, **options: Any) -> Model:
        return train(algorithm, X, y, **options)

    def _take(self, model: Model, trace: list[dict[str, Any]] | None) -> None:
        """Stores what the training left."""
        assert model.training is not None
        self.model_ = model
        if trace is not None:
            self.trace_ = trace
        self.n_iter_ = int(max(1, model.training.metrics.get("iterations", model.training.clocks)))
        if "gap" in model.training.metrics:
            self.dual_gap_ = float(model.training.metrics["gap"])
        self._take_parameters(model)

    def _take_parameters(self, model: Model) -> None:
        raise NotImplementedError

    def _forget(self, *names: str) -> None:
        """Removes what an earlier fit has left, which would not belong to a fit that ends early."""
        for name in names:
            self.__dict__.pop(name, None)

    def _check_errors(self, model: Model) -> None:
        """Raises an error if a cross-validation has ended before the errors were known."""
        if not has_errors(model):
            assert model.training is not None
            raise ValueError(f"the cross-validation was ended by '{model.training.stop_reason}' before all folds were trained; "
                             "allow it more, such as max_iter=None")


def is_same(given: Any, found: Any) -> bool:
    """Returns whether numbers are those that were found, after rounding to their type."""
    if given is found:
        return True
    if issparse(given):
        return False
    array = np.asarray(given)
    return array.dtype.kind == "f" and np.array_equal(array, np.asarray(found).astype(array.dtype))


def check_written(name: str, given: Any, columns: int | None = None) -> None:
    """Raises an error if what was written as a parameter cannot predict: it has other columns than the data, or a number that is not finite."""
    numbers = given.data if issparse(given) else np.asarray(given, np.float64)
    if columns is not None and (np.ndim(given) == 0 or np.shape(given)[-1] != columns):
        raise ValueError(f"{name}: it has the shape {np.shape(given)}, and X has {columns} features; predictions follow what was written there")
    if not np.isfinite(numbers).all():
        raise NotFinite(f"{name}: it has the value {numbers[~np.isfinite(numbers)][0]}; predictions follow what was written there")


def check_finite(found: Array) -> Array:
    """Returns predictions. Raises an error if one is not finite, as hawser.Model does."""
    finite = np.isfinite(found)
    if not finite.all():
        row = int(np.argmin(finite.reshape(len(found), -1).all(axis=1)))
        raise NotFinite(f"row {row + 1}: one of its predictions is {np.ravel(found[row])[~np.ravel(finite[row])][0]}, beyond the range of numbers; the values "
                        "of its columns are too large for these coefficients")
    return found


class LinearEstimator(Estimator):
    """An estimator with coefficients and an intercept.

    Predictions are those of the model, to the bit. If coef_ or intercept_ was written after the fit, or without one, predictions follow these.
    """

    coef_: Any
    intercept_: Any

    def _parameters_of(self, model: Model) -> tuple[Any, Any]:
        """Returns coef_ and intercept_ of a model, in the shapes of the estimator."""
        return model.coefficients, model.intercept

    def _take_parameters(self, model: Model) -> None:
        coefficients, intercept = self._parameters_of(model)
        self.coef_, self.intercept_ = coefficients.astype(self._type, copy=False), np.asarray(intercept, self._type)[()]

    def _is_written(self) -> bool:
        """Returns whether coef_ or intercept_ are not those of the model."""
        model: Model | None = self.__dict__.get("model_")
        if model is None:
            return True
        coefficients, intercept = self._parameters_of(model)
        return not (is_same(self.coef_, coefficients) and is_same(self.intercept_, intercept))

    def _margins(self, X: Any) -> Array:
        """Returns x w + b of each sample: shape (n_samples,), or (n_samples, n_outputs) if there are several."""
        if not self._is_written():
            return self._like(X, self.model_.decision_function(X))
        check_written("coef_", self.coef_, X.shape[1])
        check_written("intercept_", self.intercept_)
        coefficients = self.coef_ if issparse(self.coef_) else np.asarray(self.coef_)
        with np.errstate(over="ignore", invalid="ignore"):
            margins: Array = np.asarray(safe_sparse_dot(X, coefficients.T, dense_output=True) + self.intercept_)
        return check_finite(margins)

    def _like(self, X: Any, numbers: Array) -> Array:
        """Returns numbers in the type of what is multiplied: float32 if both X and the coefficients are."""
        return numbers.astype(np.result_type(X.dtype, np.asarray(self.coef_).dtype), copy=False)


_errors.convergence_warning = ConvergenceWarning
