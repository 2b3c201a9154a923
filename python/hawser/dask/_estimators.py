"""The estimators of hawser.dask: those of hawser, fitted on Dask collections by the workers that hold them."""
import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, ClassVar

import dask
import dask.array
import numpy as np
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from .. import estimators
from .._errors import BadArgument
from .._model import Model
from .._node import codes_of
from .._numbers import Array
from ..estimators._base import Estimator, check_eval_set, refuse
from ..estimators._folds import refuse_groups
from ._data import Rows, array_of, is_dask, names_of, place
from ._driver import checked_client, run, validation_of


def _apply(part: Array, estimator: Any, method: str, shape: tuple[int, ...], kind: Any) -> Array:
    """Calls a method of a fitted estimator on a partition, which may be empty."""
    if part.shape[0] == 0:
        return np.empty((0, *shape), kind)
    return np.asarray(getattr(estimator, method)(part)).astype(kind, copy=False)


def _small(fold: Array) -> Array:
    """Returns folds as numbers of one byte, if there are not too many."""
    return fold.astype(np.uint8 if fold.max() < 256 else np.int64)


def counts_of(y: Array, classes: Array) -> tuple[Array, Array]:
    """Returns how often each class is in a partition, and at which row first; the number of rows if it is not."""
    codes = codes_of(y, classes)
    first = np.full(len(classes), len(codes))
    np.minimum.at(first, codes, np.arange(len(codes)))
    return np.bincount(codes, minlength=len(classes)), first


def deal(y: Array, classes: Array, sequences: list[Array]) -> Array:
    """Returns the folds of a partition's rows. `sequences` has those of the rows of each class, in their order."""
    codes = codes_of(y, classes)
    fold = np.empty(len(codes), sequences[0].dtype)
    for code, sequence in enumerate(sequences):
        fold[codes == code] = sequence
    return fold


def labels_of(y: Array, weights: Array | None) -> tuple[Array, Array, Array]:
    """Returns the labels of a partition, and of each the number of rows and the sum of weights. Rows without a weight above 0 do not count."""
    check_classification_targets(y)
    kept = y if weights is None else y[weights > 0]
    labels, places, counts = np.unique(kept, return_inverse=True, return_counts=True)
    sums = counts.astype(np.float64) if weights is None else np.bincount(places, weights=weights[weights > 0], minlength=len(labels))
    return labels, counts, sums


class _OnDask(Estimator):
    """Fits by hawser.dask.train. Predictions of Dask collections are Dask arrays, and those of arrays are arrays.

    `client` is a distributed.Client; None: the default one. It is no parameter of get_params, and is not pickled. `workers` is the number of threads over
    all nodes; None: those of the workers that hold X. X, y and sample_weight are Dask arrays, dataframes or series.
    """

    client: Any
    _plain: ClassVar[Any]  # the estimator for arrays
    _has_columns: ClassVar[bool] = False  # y has a column per target
    _rows: Rows | None = None  # while it is fitted
    _given: Any = None
    _labels: tuple[Array, Array | None] | None = None  # classes, and their weights
    _sums: Array | None = None  # of the weights of each class

    def __init_subclass__(cls, **how: Any) -> None:
        super().__init_subclass__(**how)
        cls._plain = next(base for base in cls.__mro__ if base.__module__.startswith(estimators.__name__))
        if cls._plain is Estimator:
            return
        cls.__doc__ = f"{cls.__name__} on Dask collections. {_OnDask.__doc__}\n    All else is as in hawser.{cls.__name__}.\n"
        for name in ("predict", "predict_proba", "predict_log_proba", "decision_function", "transform"):
            if hasattr(cls._plain, name):
                setattr(cls, name, _lazily(name, getattr(cls._plain, name)))
        original = cls._plain.__init__
        client = inspect.Parameter("client", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Any)
        found = inspect.signature(original)

        @wraps(original)
        def __init__(self: Any, *arguments: Any, client: Any = None, **parameters: Any) -> None:
            original(self, *arguments, **parameters)
            self.client = client

        __init__.__signature__ = found.replace(parameters=[*found.parameters.values(), client])  # type: ignore[attr-defined]
        cls.__init__ = __init__  # type: ignore[method-assign]

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return [name for name in super()._get_param_names() if name != "client"]

    def __sklearn_clone__(self) -> Any:
        return type(self)(**self.get_params(deep=False), client=self.client)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "client": None}

    # ------------------------------------------------------------------------------------------------- trainings ----

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, check_input: bool = True, *, eval_set: Any = None,
            early_stopping_rounds: int | None = None, groups: Any = None, checkpoint: Any = None) -> Any:
        """Trains on the workers that hold X, of shape (n_samples, n_features); y has a number or label per sample. `check_input` and `checkpoint` are as
        in Lasso; all workers see the folder of checkpoints."""
        refuse_groups(groups)
        self._check_kinds()
        if not check_input and "check_input" not in inspect.signature(self._plain.fit).parameters:
            raise TypeError(f"{type(self).__name__}.fit() has no argument 'check_input'")
        others = {what: value for what, value in (("eval_set", eval_set), ("early_stopping_rounds", early_stopping_rounds)) if value is not None}
        check_eval_set(self._plain, eval_set, early_stopping_rounds)
        if self.n_jobs is not None:
            raise refuse("n_jobs", self.n_jobs, "None: the workers of Dask train; workers= is the number of their threads")
        own, needs_y = checked_client(self.client), not hasattr(self, "n_clusters")
        if needs_y and y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        given = {"data": X, "target": y if needs_y else None, "weights": sample_weight}
        try:
            self._given = X
            self._rows = place(own, {what: value for what, value in given.items() if value is not None},
                               {"data": "X", "target": "y", "weights": "sample_weight"}, several=self._has_columns)
            return super().fit(self._rows, y, sample_weight, **others, **({} if checkpoint is None else {"checkpoint": checkpoint}))
        finally:
            self._forget("_given", "_rows", "_labels", "_sums")

    def _checked(self, X: Any, y: Any = "no_validation", **how: Any) -> Any:
        self.n_features_in_ = X.columns
        self._forget("feature_names_in_")
        if X.names is not None:
            self.feature_names_in_ = np.array(X.names, dtype=object)
        return X if isinstance(y, str) else (X, y)

    def _numbers(self, y: Any) -> Any:
        return None  # the rows have it

    def _validation(self, eval_set: Any, rounds: int | None, to_target: Any) -> dict[str, Any]:
        """As for arrays. Of the pair, collections stay on the workers until node 0 reads them, and arrays are sent to it; its labels are checked there."""
        self._forget("evals_result_", "best_iteration_", "best_score_")
        given = eval_set[0] if to_target is not None and isinstance(eval_set, list) and len(eval_set) == 1 else eval_set
        if given is None or (to_target is not None and (not isinstance(given, tuple) or len(given) != 2)):
            return super()._validation(given, rounds, to_target)  # which refuses it, or needs nothing
        assert self._rows is not None
        others = validation_of(checked_client(self.client), (given, None) if to_target is None else given, "eval_set", self._rows)
        return {"validation": others, "early_stopping": rounds}

    def _weights(self, sample_weight: Any, X: Any) -> None:
        return None

    def _fit_classes(self, X: Any, y: Any, sample_weight: Any) -> Any:
        """Finds the labels of all partitions, and the weights of classes."""
        X, y = self._checked(X, y)
        client = checked_client(self.client)
        weights = X.parts.get("weights", [None] * len(X.sizes))
        found = client.gather(client.map(labels_of, X.parts["target"], weights, pure=False))
        self.classes_ = np.unique(np.concatenate([labels for labels, _, _ in found]))
        if len(self.classes_) < 2:
            raise ValueError("This solver needs samples of at least 2 classes in the data, but the data contains only one "
                             f"class: {self.classes_[0] if len(self.classes_) else None!r}")
        sums = np.zeros(len(self.classes_))
        for labels, _, each in found:
            sums[np.searchsorted(self.classes_, labels)] += each
        self._labels, self._sums = (self.classes_, self._class_factors(sums)), sums
        return X, None, None

    def _folds(self, X: Any, y: Any, classifier: bool) -> tuple[Any, int]:
        """Returns the folds of all rows as futures, and their number. Labels stay on the workers: the client
        learns how many rows of each class they have, and which class comes first."""
        client, cv = checked_client(self.client), check_cv(self.cv, [0, 1] if classifier else None, classifier=classifier)
        if not classifier or not isinstance(cv, StratifiedKFold):
            fold, _ = super()._folds(np.empty((X.shape[0], 0)), None, classifier)
            return client.scatter(np.split(_small(fold), np.cumsum(X.sizes)[:-1]), hash=False), int(fold.max())
        found = client.gather(client.map(counts_of, X.parts["target"], classes=self.classes_, pure=False))
        counts = np.array([count for count, _ in found])
        starts = np.concatenate([[0], np.cumsum(X.sizes)[:-1]])
        first = np.min([np.where(first < size, first + start, X.shape[0]) for (_, first), size, start in zip(found, X.sizes, starts, strict=True)], axis=0)
        ordered = np.repeat(np.argsort(first), counts.sum(axis=0)[np.argsort(first)])  # folds depend on which class comes first, and on nothing else
        fold, folds = super()._folds(np.empty((X.shape[0], 0)), ordered, classifier)
        ends = np.cumsum(counts, axis=0)
        fold = _small(fold)
        sequences = [np.split(fold[ordered == code], ends[:-1, code]) for code in range(len(self.classes_))]
        parts = client.scatter(list(map(list, zip(*sequences, strict=True))), hash=False)
        return client.map(deal, X.parts["target"], [self.classes_] * len(X.sizes), parts, pure=False), folds

    def _total(self, X: Any, weights: Any) -> float:
        assert self._labels is not None and self._sums is not None
        factors = self._labels[1]
        return float((self._sums if factors is None else self._sums * factors).sum())

    def _class_factors(self, sums: Array) -> Array | None:
        """Returns a weight for each class. `sums` has the sum of the sample weights of each class."""
        how = getattr(self, "class_weight", None)
        if how is None:
            return None
        if isinstance(how, str) and how == "balanced":
            balanced: Array = sums.sum() / (len(sums) * sums)
            return balanced
        return np.asarray(compute_class_weight(how, classes=self.classes_, y=self.classes_), np.float64)

    def _run(self, algorithm: str, X: Any, y: Any, *, weights: Any = None, progress: Callable[[dict[str, Any]], Any] | None = None,
             init: Any = None, names: Any = None, folds: Any = None, validation: Any = None, **options: Any) -> Model:
        task: dict[str, Any] = {"init": init, "trace": progress is not None}
        if self._labels is not None:
            task["classes"], task["factors"] = self._labels
        path = str(options.get("init_", ""))
        if path.startswith("centres="):
            task["centres"] = np.load(options.pop("init_").split("=", 1)[1])
        extra = {} if folds is None else {"folds": folds}
        outcome = run(checked_client(self.client), algorithm, X, extra, validation or {}, None, options, **task)
        if progress is not None:
            for now in outcome.trace:
                progress(now)
        assert outcome.model is not None
        return outcome.model

    # ----------------------------------------------------------------------------------------------- predictions ----

    def _local(self) -> Any:
        """Returns the estimator for arrays, fitted, as it is sent to the workers."""
        local = self._plain.__new__(self._plain)
        left_out = {"client", "feature_names_in_", "labels_", "trace_"}
        local.__dict__.update({key: value for key, value in self.__dict__.items() if key not in left_out})
        return local

    def _kind(self, method: str) -> tuple[tuple[int, ...], Any]:
        """Returns the shape of a row's result, and its type."""
        classes = getattr(self, "classes_", None)
        if method == "predict":
            return self.coef_.shape[:-1] if self._has_columns else (), np.dtype(np.float64) if not hasattr(self, "n_clusters") and classes is None else (
                np.dtype(np.int32) if classes is None else classes.dtype)
        if method == "transform":
            return (len(self.cluster_centers_),), np.dtype(np.float64)
        assert classes is not None
        return () if method == "decision_function" and len(classes) == 2 else (len(classes),), np.dtype(np.float64)

    def _lazy(self, method: str, X: Any) -> Any:
        check_is_fitted(self)
        names, known = names_of(X), getattr(self, "feature_names_in_", None)
        if names is not None and known is not None and names != list(known):
            raise ValueError("The feature names should match those that were passed during fit: "
                             f"{', '.join(map(str, known))}; those of X are {', '.join(names)}")
        array = array_of(X, "X")
        if array.shape[1] != self.n_features_in_:
            raise BadArgument(f"X has {array.shape[1]} features, but {type(self).__name__} is expecting {self.n_features_in_} features as input")
        shape, kind = self._kind(method)
        columns = {"chunks": (array.chunks[0], *((size,) for size in shape))} if shape else {"drop_axis": 1}
        return dask.array.map_blocks(_apply, array, self._local(), method, shape, kind, dtype=kind, meta=np.empty((0,) * (1 + len(shape)), kind),
                                     **columns)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Returns what scikit-learn's score is: accuracy, R^2, or the negative inertia. Collections are not gathered."""
        if not is_dask(X):
            return float(super().score(X, y, sample_weight))
        if getattr(self, "scoring", None) not in (None, "accuracy"):
            raise refuse("scoring", self.scoring, "'accuracy' to score a collection; compute it first for another one")
        weights: Any = 1.0 if sample_weight is None else array_of(sample_weight, "sample_weight")
        if hasattr(self, "n_clusters"):
            return -float((self.transform(X).min(axis=1) ** 2 * weights).sum().compute())
        truth, found = array_of(y, "y", self._has_columns), self.predict(X)
        if self._has_columns and sample_weight is not None:
            weights = weights[:, None]
        total = (weights * dask.array.ones_like(found, dtype=np.float64)).sum(axis=0)
        if hasattr(self, "classes_"):
            return float((((found == truth) * weights).sum() / total).compute())
        mean = (truth * weights).sum(axis=0) / total
        explained = 1 - ((truth - found) ** 2 * weights).sum(axis=0) / ((truth - mean) ** 2 * weights).sum(axis=0)
        return float(explained.mean().compute())


def _lazily(name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(plain)
    def method(self: Any, X: Any) -> Any:
        return self._lazy(name, X) if is_dask(X) else plain(self, X)
    return method


class _Clusters(_OnDask):
    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Finds clusters, and returns that of each sample."""
        return self.fit(X, sample_weight=sample_weight).predict(X)

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Finds clusters, and returns the distances to their centres."""
        return self.fit(X, sample_weight=sample_weight).transform(X)

    def _label_samples(self, X: Any) -> None:
        """Labels are computed when they are needed."""
        if getattr(self, "compute_labels", True):
            self.labels_ = self.predict(self._given)
        else:
            self._forget("labels_")


class ElasticNet(_OnDask, estimators.ElasticNet):
    pass


class ElasticNetCV(_OnDask, estimators.ElasticNetCV):
    pass


class KMeans(_Clusters, estimators.KMeans):
    pass


class Lasso(_OnDask, estimators.Lasso):
    pass


class LassoCV(_OnDask, estimators.LassoCV):
    pass


class _Squared(_OnDask):
    """Estimators with a squared penalty, or with none. The penalty is divided by the total weight of the samples."""

    def _options_of(self, column: int, X: Any, weights: Any) -> dict[str, Any]:
        client = checked_client(self.client)
        sums = client.gather(client.map(np.sum, X.parts["weights"], pure=False)) if "weights" in X.parts else X.sizes
        total = float(np.sum(sums))
        options: dict[str, Any] = self._options_over(total if total > 0 else 1.0)  # the training refuses weights that add up to nothing
        return options

    def _finish(self, X: Any, targets: Any, weights: Any) -> None:
        """Leaves the training's solution: a singular value decomposition needs X in one process."""


class LinearRegression(_Squared, estimators.LinearRegression):
    pass


class LinearSVC(_OnDask, estimators.LinearSVC):
    pass


class LinearSVR(_OnDask, estimators.LinearSVR):
    pass


class LogisticRegression(_OnDask, estimators.LogisticRegression):
    pass


class LogisticRegressionCV(_OnDask, estimators.LogisticRegressionCV):
    pass


class MiniBatchKMeans(_Clusters, estimators.MiniBatchKMeans):
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Raises an error: a step is computed in one process."""
        raise BadArgument("partial_fit: it computes in one process, on its arrays, as hawser.MiniBatchKMeans does; fit takes collections of Dask")


class _Several(_OnDask):
    _has_columns = True

    def _checked(self, X: Any, y: Any = "no_validation", **how: Any) -> Any:
        self._check_targets(X.target)
        return super()._checked(X, y, **how)


class MultiTaskElasticNet(_Several, estimators.MultiTaskElasticNet):
    pass


class MultiTaskElasticNetCV(_Several, estimators.MultiTaskElasticNetCV):
    pass


class MultiTaskLasso(_Several, estimators.MultiTaskLasso):
    pass


class MultiTaskLassoCV(_Several, estimators.MultiTaskLassoCV):
    pass


class PoissonRegressor(_OnDask, estimators.PoissonRegressor):
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:  # type: ignore[override]
        """Returns D^2, the share of the deviance of the mean that the model explains. Collections are not gathered."""
        if not is_dask(X):
            return float(self._local().score(X, y, sample_weight))
        truth, means = array_of(y, "y"), self.predict(X)
        weights: Any = dask.array.ones_like(means) if sample_weight is None else array_of(sample_weight, "sample_weight")
        logs = dask.array.log(dask.array.where(truth > 0, truth, 1))
        mean = (truth * weights).sum() / weights.sum()
        of_mean = (weights * (truth * (logs - dask.array.log(mean)) - truth + mean)).sum()
        left = (weights * (truth * (logs - dask.array.log(means)) - truth + means)).sum()
        of_mean, left = dask.compute(of_mean, left)
        return float(1 - left / of_mean) if of_mean > 0 else 1.0


class Ridge(_Squared, estimators.Ridge):
    pass


__all__ = [
    "ElasticNet", "ElasticNetCV", "KMeans", "Lasso", "LassoCV", "LinearRegression", "LinearSVC", "LinearSVR", "LogisticRegression", "LogisticRegressionCV",
    "MiniBatchKMeans", "MultiTaskElasticNet", "MultiTaskElasticNetCV", "MultiTaskLasso", "MultiTaskLassoCV", "PoissonRegressor", "Ridge",
]
