"""Estimators on Spark frames, with the parameters of those of hawser."""
import copy
from typing import Any, ClassVar

import pyspark.ml

from .. import estimators
from .._errors import BadArgument, BadOption
from ..estimators._base import Array, _renamed
from ..estimators._classifier import LinearClassifier
from ._driver import make_plan, run
from ._node import Classes
from ._predict import predict


class Fitted(pyspark.ml.Model):  # type: ignore[misc]
    """A fitted estimator: `transform` predicts on Spark frames, `predict` on arrays.

    What it has learned are its attributes (`coef_`, `intercept_`, `classes_`, ...) and those of `estimator`, a fitted estimator of hawser.
    `model_` is the hawser.Model.
    """

    def __init__(self, estimator: Any, features: str | tuple[str, ...], column: str, probability: str | None) -> None:
        super().__init__()
        self.estimator = estimator  #: of hawser, such as hawser.Lasso
        self._features, self._column, self._probability = features, column, probability

    def _transform(self, dataset: Any) -> Any:
        labels = getattr(self.estimator, "classes_", None)
        found = predict(self.estimator.model_, dataset, self._features, column=self._column, _labels=labels)
        if self._probability is not None:
            found = predict(self.estimator.model_, found, self._features, column=self._probability, method="predict_proba")
        return found

    def predict(self, X: Any) -> Array:
        """Returns predictions of an array or sparse matrix of shape (rows, features)."""
        found: Array = self.estimator.predict(X)
        return found

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "estimator":
            raise AttributeError(name)
        return getattr(self.estimator, name)


class _SparkEstimator(pyspark.ml.Estimator):  # type: ignore[misc]
    """Fits in a barrier stage, as hawser.spark.train."""

    _kind: ClassVar[Any]

    def __init__(self, *, features_col: str | list[str] = "features", label_col: str = "label", weight_col: str | None = None,
                 prediction_col: str = "prediction", probability_col: str | None = None, nodes: int | None = None, **parameters: Any) -> None:
        super().__init__()
        self.estimator = self._kind(**parameters)
        self.features_col, self.label_col, self.weight_col = features_col, label_col, weight_col
        self.prediction_col, self.probability_col, self.nodes = prediction_col, probability_col, nodes
        if probability_col is not None and not hasattr(self._kind, "predict_proba"):
            raise BadOption(f"probability_col: {self._kind.__name__} has no probabilities")
        for name in ("warm_start", "n_jobs"):
            if getattr(self.estimator, name, None):
                raise BadOption(f"{name} = {getattr(self.estimator, name)!r}: not over Spark; workers= is the number of all nodes together")

    def _algorithms(self) -> tuple[str, dict[str, Any], Classes | None]:
        """Returns the algorithm, its options, and for a classifier what depends on the classes."""
        raise NotImplementedError

    def fit(self, dataset: Any, params: Any = None) -> Fitted:
        """Trains on a frame. `params` must be None, since parameters are those of the constructor."""
        if params:
            raise BadOption("params: this estimator has no Params of pyspark; its parameters are those of its constructor")
        return self._fit(dataset)

    def _fit(self, dataset: Any) -> Fitted:
        algorithm, options, classes = self._algorithms()
        common = {"workers": self.estimator.workers, "sync": self.estimator.sync, "seed": self.estimator._seed()}
        beside = {"target": self.label_col if algorithm != "kmeans" else None, "weights": self.weight_col, "offset": None}
        if classes is not None and not isinstance(classes.many, str):
            classes = Classes(classes.column, (classes.many[0], {**common, **classes.many[1]}), classes.weight)
        try:
            plan = make_plan(dataset, algorithm, self.features_col, beside, {**common, **options}, classes=classes)
            outcome = run(dataset, plan, self.nodes)
        except BadOption as error:
            raise BadOption(_renamed(str(error))) from error
        assert outcome.model is not None
        fitted = copy.copy(self.estimator)
        fitted.interrupted_, fitted.n_features_in_ = False, outcome.model.columns
        if outcome.classes is not None:
            fitted.classes_ = outcome.classes
        fitted._take(outcome.model, None)
        features = self.features_col if isinstance(self.features_col, str) else tuple(self.features_col)
        return Fitted(fitted, features, self.prediction_col, self.probability_col)


class _Classifier(_SparkEstimator):
    def _weight(self) -> Any:
        given = self.estimator.class_weight
        if given is not None and given != "balanced" and not isinstance(given, dict):
            raise BadArgument(f"class_weight = {given!r}: give 'balanced', a dictionary of weights by label, or None")
        return given


class Lasso(_SparkEstimator):
    """hawser.Lasso on Spark frames: the same parameters, and names of columns. See hawser.spark.train for how it trains.

    `features_col` is a column of vectors (of pyspark.ml) or arrays, or a list of columns of numbers. `fit(frame)` returns a Fitted.
    """

    _kind = estimators.Lasso

    def _algorithms(self) -> tuple[str, dict[str, Any], Classes | None]:
        return "lasso", self.estimator._options(), None


class ElasticNet(Lasso):
    """hawser.ElasticNet on Spark frames; see Lasso."""

    _kind = estimators.ElasticNet


class LinearSVR(_SparkEstimator):
    """hawser.LinearSVR on Spark frames; see Lasso."""

    _kind = estimators.LinearSVR

    def _algorithms(self) -> tuple[str, dict[str, Any], Classes | None]:
        return "svm", self.estimator._options(), None


class LinearSVC(_Classifier):
    """hawser.LinearSVC on Spark frames; see Lasso. Labels are whole numbers, booleans or words."""

    _kind = estimators.LinearSVC

    def _algorithms(self) -> tuple[str, dict[str, Any], Classes | None]:
        options = self.estimator._options()
        return "svm", options, Classes(self.label_col, ("svm", options), self._weight())


class LogisticRegression(_Classifier):
    """hawser.LogisticRegression on Spark frames; see Lasso. `probability_col` is one more column, with an array of probabilities."""

    _kind = estimators.LogisticRegression

    def _algorithms(self) -> tuple[str, dict[str, Any], Classes | None]:
        many: tuple[str, dict[str, Any]] | str
        try:
            many = "softmax", self.estimator._options(3)
        except ValueError as error:
            many = str(error)
        return "logistic", self.estimator._options(2), Classes(self.label_col, many, self._weight())


class KMeans(_SparkEstimator):
    """hawser.KMeans on Spark frames; see Lasso. The fitted one has no `labels_`: `transform(frame)` finds them."""

    _kind = estimators.KMeans

    def _algorithms(self) -> tuple[str, dict[str, Any], Classes | None]:
        if not isinstance(self.estimator.init, str):
            raise BadOption("init: an array of centres is not possible over Spark; use 'k-means++', 'k-means||' or 'random'")
        return "kmeans", self.estimator._options(0), None


__all__ = ["ElasticNet", "Fitted", "KMeans", "Lasso", "LinearSVC", "LinearSVR", "LogisticRegression"]
