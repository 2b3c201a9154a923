"""Estimators on Spark frames, with the parameters of those of hawser."""
import copy
import os
from typing import Any, ClassVar

import numpy as np
import pyspark.ml
from pyspark.ml.util import MLReadable, MLWritable

from .. import _errors, estimators
from .._errors import BadArgument, BadInput, BadOption
from ..estimators._base import Array, _renamed, check_eval_set
from ..estimators.multitask import _Several
from ._driver import check_frame, column_of, columns_beside, is_frame, is_number, make_plan, run, type_of, with_other
from ._node import CLASSES_MOST, Classes
from ._predict import predict
from ._saved import Reader, Writer


class _Saved(MLWritable, MLReadable):  # type: ignore[misc]
    """What `save` writes and `load` reads, alone or as a stage of a pipeline."""

    def write(self) -> Writer:
        """Returns what writes this to a path of Spark: `fitted.write().overwrite().save(path)`."""
        return Writer(self)

    @classmethod
    def read(cls) -> Reader:
        """Returns what reads it: `hawser.spark.Fitted.load(path)`."""
        return Reader(cls)


class Fitted(_Saved, pyspark.ml.Model):  # type: ignore[misc]
    """A fitted estimator: `transform` predicts on Spark frames, `predict` on arrays.

    What it has learned are its attributes (`coef_`, `intercept_`, `classes_`, ...) and those of `estimator`, a fitted estimator of hawser.
    `model_` is the hawser.Model.
    """

    def __init__(self, estimator: Any, features: str | tuple[str, ...], column: str, probability: str | None) -> None:
        super().__init__()
        self.estimator = estimator  #: of hawser, such as hawser.Lasso
        self._features, self._column, self._probability = features, column, probability

    def _saved(self) -> dict[str, Any]:
        return {"features": self._features, "column": self._column, "probability": self._probability}

    @classmethod
    def _loaded(cls, estimator: Any, own: dict[str, Any]) -> "Fitted":
        return cls(estimator, **own)

    def _transform(self, dataset: Any) -> Any:
        if self.estimator._is_written():
            raise BadArgument(f"transform: what {type(self.estimator).__name__} has learned was written after the fit, and transform predicts with model_; "
                              "fit again, or use predict(X) on arrays, which follows it")
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


class _SparkEstimator(_Saved, pyspark.ml.Estimator):  # type: ignore[misc]
    """Fits in a barrier stage, as hawser.spark.train."""

    _kind: ClassVar[Any]

    def __init__(self, *, features_col: str | list[str] = "features", label_col: str | list[str] = "label", weight_col: str | None = None,
                 prediction_col: str = "prediction", probability_col: str | None = None, nodes: int | None = None, **parameters: Any) -> None:
        super().__init__()
        self.estimator = self._kind(**parameters)
        self.features_col, self.weight_col = features_col, weight_col
        self.label_col: Any = label_col
        self.prediction_col, self.probability_col, self.nodes = prediction_col, probability_col, nodes
        if probability_col is not None and not hasattr(self._kind, "predict_proba"):
            raise BadOption(f"probability_col: {self._kind.__name__} has no probabilities")
        for name in ("warm_start", "n_jobs"):
            if getattr(self.estimator, name, None):
                raise BadOption(f"{name} = {getattr(self.estimator, name)!r}: not over Spark; workers= is the number of all nodes together")

    def _saved(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("features_col", "label_col", "weight_col", "prediction_col", "probability_col", "nodes")}

    @classmethod
    def _loaded(cls, estimator: Any, own: dict[str, Any]) -> "_SparkEstimator":
        return cls(**own, **estimator.get_params())

    def _algorithms(self, frame: Any) -> tuple[str, dict[str, Any], Classes | None]:
        """Returns the algorithm, its options, and for a classifier what depends on the classes."""
        raise NotImplementedError

    def _centres(self, given: Any) -> Array:
        """Returns the first centres that are given as an array."""
        if callable(given):
            raise BadArgument("init: on frames it is a name or an array of centres, and no function")
        centres = np.ascontiguousarray(given, dtype=np.float64)
        if centres.ndim != 2 or len(centres) != self.estimator.n_clusters:
            raise BadArgument(f"init: the first centres have the shape {centres.shape}, and should be those of {self.estimator.n_clusters} clusters")
        return centres

    def fit(self, dataset: Any, params: Any = None, *, eval_set: Any = None, early_stopping_rounds: int | None = None,
            checkpoint: str | os.PathLike[str] | None = None) -> Fitted:
        """Trains on a frame. `params` must be None, since parameters are those of the constructor.

        `eval_set` is a frame with the same columns, or a pair (X, y) of arrays, on which errors are measured as by the estimators for arrays.
        `checkpoint` is a folder of checkpoints that all executors see. The same call goes on from there, and so does a stage that Spark repeats.
        """
        if params:
            raise BadOption("params: this estimator has no Params of pyspark; its parameters are those of its constructor")
        check_frame(dataset)
        self.estimator._check_kinds()
        check_eval_set(self._kind, eval_set, early_stopping_rounds)
        if eval_set is None and early_stopping_rounds is not None:
            raise BadArgument("early_stopping_rounds: there is no eval_set to measure the error on")
        if isinstance(self.estimator, _Several) and isinstance(self.label_col, str) and is_number(type_of(dataset, self.label_col, "target")):
            self.estimator._check_targets(())
        return self._fit(dataset, eval_set, early_stopping_rounds, checkpoint)

    def _fit(self, dataset: Any, eval_set: Any = None, rounds: int | None = None, checkpoint: Any = None) -> Fitted:
        algorithm, options, classes = self._algorithms(dataset)
        common = {"workers": self.estimator.workers, "sync": self.estimator.sync, "seed": self.estimator._seed()}
        common |= {key: value for key, value in (("early_stopping", rounds), ("checkpoint", checkpoint)) if value is not None}
        beside = {"target": self.label_col if algorithm != "kmeans" else None, "weights": self.weight_col, "offset": None}
        if classes is not None and not isinstance(classes.many, str):
            classes = Classes(classes.column, (classes.many[0], {**common, **classes.many[1]}), classes.weight)
        centres = getattr(self.estimator, "init", None)
        if getattr(self.estimator, "init_size", None) is not None:
            raise BadArgument("init_size: on frames first centres are drawn from all rows; leave it out")
        try:
            plan = make_plan(dataset, algorithm, self.features_col, beside, {**common, **options}, classes=classes,
                             centres=None if centres is None or isinstance(centres, str) else self._centres(centres), trace=True)
            if eval_set is not None:
                plan = with_other(plan, self._pair(eval_set, algorithm), "eval_set")
            token = _errors.words.set(self.estimator._words)
            try:
                outcome = run(dataset, plan, self.nodes)
            finally:
                _errors.words.reset(token)
        except BadOption as error:
            raise BadOption(_renamed(str(error))) from error
        assert outcome.model is not None
        fitted = copy.copy(self.estimator)
        fitted.interrupted_, fitted.n_features_in_ = False, outcome.model.columns
        if outcome.classes is not None:
            fitted.classes_ = outcome.classes
        fitted._take(outcome.model, outcome.trace)
        if eval_set is not None:
            fitted._take_evaluations(outcome.model, outcome.trace, rounds is not None)
        return self._fitted(fitted)

    def _pair(self, eval_set: Any, algorithm: str) -> Any:
        """Returns a frame as it is, and arrays as a pair. There may be a list of one."""
        one = eval_set[0] if isinstance(eval_set, list) and len(eval_set) == 1 else eval_set
        return (one, None) if algorithm == "kmeans" and not is_frame(one) else one

    def _fitted(self, estimator: Any) -> Fitted:
        features = self.features_col if isinstance(self.features_col, str) else tuple(self.features_col)
        return Fitted(estimator, features, self.prediction_col, self.probability_col)


class _Classifier(_SparkEstimator):
    def _weight(self) -> Any:
        given = self.estimator.class_weight
        if given is not None and given != "balanced" and not isinstance(given, dict):
            raise BadArgument(f"class_weight = {given!r}: give 'balanced', a dictionary of weights by label, or None")
        return given


class _OnFrame:
    """Makes an estimator with cross-validation train on a frame, in a stage for each of its trainings."""

    estimator: Any  # the one of Spark whose parameters these are
    frame: Any
    classes: Classes | None = None
    sums: Any = None  # of the weights of each class

    def _checked(self, X: Any, y: Any = None, **how: Any) -> Any:
        return self, y

    @property
    def shape(self) -> tuple[int, int]:
        return 0, 0  # known to the tasks alone

    def _numbers(self, y: Any) -> None:
        return None

    def _weights(self, sample_weight: Any, X: Any) -> None:
        return None

    def _fit_classes(self, X: Any, y: Any, sample_weight: Any) -> Any:
        """Finds the labels, and the sum of weights of each. Rows without a weight above 0 do not count."""
        from pyspark.sql.functions import count, lit
        from pyspark.sql.functions import sum as total
        own, frame = self.estimator, self.frame
        columns_beside(frame, {"target": own.label_col, **({} if own.weight_col is None else {"weights": own.weight_col})}, True)  # refuses others
        if own.weight_col is not None:
            weight = column_of(frame, own.weight_col)
            frame = frame.where(weight > 0)
        sums = count(lit(1)) if own.weight_col is None else total(weight)
        rows = frame.groupBy(column_of(frame, own.label_col)).agg(sums).limit(CLASSES_MOST + 1).collect()
        if len(rows) > CLASSES_MOST:
            raise BadInput(f"column '{own.label_col}' has over {CLASSES_MOST} different labels")
        found = dict(sorted((row[0], float(row[1])) for row in rows if row[0] is not None))
        if len(found) < 2:
            raise BadInput(f"column '{own.label_col}': a classifier needs rows of at least 2 classes, and these have {list(found)}")
        self.classes_, self.sums = np.array(list(found)), np.array(list(found.values()))
        self.classes = Classes(own.label_col, "", own._weight())
        return self, None, None

    def _total(self, X: Any, weights: Any) -> float:
        assert self.classes is not None
        given = self.classes.weight
        if given is None or isinstance(given, str):  # balanced weights have the sum of those that they balance
            return float(self.sums.sum())
        return float(sum(given.get(label, 1.0) * value for label, value in zip(self.classes_.tolist(), self.sums.tolist(), strict=True)))

    def _folds(self, X: Any, y: Any, classifier: bool) -> tuple[Any, int]:
        cv = 5 if self.cv is None else self.cv  # type: ignore[attr-defined]
        if isinstance(cv, (int, np.integer)):
            return int(cv), int(cv)
        if not hasattr(cv, "split"):
            raise BadOption(f"cv = {cv!r}: give a number of folds, or a splitter of scikit-learn")
        return cv, int(cv.get_n_splits(np.empty((self.frame.count(), 0))))

    def _run(self, algorithm: str, X: Any, y: Any, *, weights: Any = None, progress: Any = None, names: Any = None, folds: Any = None,
             init: Any = None, **options: Any) -> Any:
        own = self.estimator
        beside = {"target": own.label_col, "weights": own.weight_col, "offset": None}
        classes = None if self.classes is None else Classes(own.label_col, (algorithm, options), own._weight())
        plan = make_plan(self.frame, algorithm, own.features_col, beside, options, classes=classes, cv=folds)
        return run(self.frame, plan, own.nodes).model


class _Crossed(_SparkEstimator):
    """Fits an estimator with cross-validation. Its folds are scikit-learn's, which the executors need, too."""

    def _fit(self, dataset: Any, eval_set: Any = None, rounds: int | None = None, checkpoint: Any = None) -> Fitted:
        maker: Any = type(self._kind.__name__, (_OnFrame, self._kind), {})
        made = maker.__new__(maker)
        made.__dict__.update(self.estimator.__dict__)
        made.estimator, made.frame = self, dataset
        made.fit(None, None, checkpoint=checkpoint)
        fitted = copy.copy(self.estimator)
        left_out = {"estimator", "frame", "classes", "sums", "trace_"}
        fitted.__dict__.update({name: value for name, value in made.__dict__.items() if name not in left_out})
        fitted.n_features_in_ = made.model_.columns
        return self._fitted(fitted)


class Lasso(_SparkEstimator):
    """hawser.Lasso on Spark frames: the same parameters, and names of columns. See hawser.spark.train for how it trains.

    `features_col` is a column of vectors (of pyspark.ml) or arrays, or a list of columns of numbers. `fit(frame)` returns a Fitted.
    """

    _kind: ClassVar[Any] = estimators.Lasso

    def _algorithms(self, frame: Any) -> tuple[str, dict[str, Any], Classes | None]:
        return self._kind._algorithm, self.estimator._options(), None


class ElasticNet(Lasso):
    """hawser.ElasticNet on Spark frames; see Lasso."""

    _kind = estimators.ElasticNet


class LassoCV(_Crossed):
    """hawser.LassoCV on Spark frames; see Lasso. `cv` is a number of folds or a splitter; scikit-learn is needed on the executors, too."""

    _kind = estimators.LassoCV


class ElasticNetCV(_Crossed):
    """hawser.ElasticNetCV on Spark frames; see LassoCV. Each l1_ratio is trained in a stage of its own."""

    _kind = estimators.ElasticNetCV


class MultiTaskLasso(Lasso):
    """hawser.MultiTaskLasso on Spark frames; see Lasso. `label_col` is a list of columns of numbers, or a column of arrays or vectors."""

    _kind = estimators.MultiTaskLasso


class MultiTaskElasticNet(Lasso):
    """hawser.MultiTaskElasticNet on Spark frames; see MultiTaskLasso."""

    _kind = estimators.MultiTaskElasticNet


class MultiTaskLassoCV(_Crossed):
    """hawser.MultiTaskLassoCV on Spark frames; see MultiTaskLasso and LassoCV."""

    _kind = estimators.MultiTaskLassoCV


class MultiTaskElasticNetCV(_Crossed):
    """hawser.MultiTaskElasticNetCV on Spark frames; see MultiTaskLasso and ElasticNetCV."""

    _kind = estimators.MultiTaskElasticNetCV


class PoissonRegressor(Lasso):
    """hawser.PoissonRegressor on Spark frames; see Lasso."""

    _kind = estimators.PoissonRegressor


class Ridge(_SparkEstimator):
    """hawser.Ridge on Spark frames; see Lasso. The rows are counted first, or their weights added up. Of several solutions it may have any."""

    _kind: ClassVar[Any] = estimators.Ridge

    def _algorithms(self, frame: Any) -> tuple[str, dict[str, Any], Classes | None]:
        from pyspark.sql.functions import sum as added
        columns_beside(frame, {} if self.weight_col is None else {"weights": self.weight_col}, False)  # refuses others
        total = frame.count() if self.weight_col is None else frame.agg(added(column_of(frame, self.weight_col))).collect()[0][0]
        return "lasso", self.estimator._options_over(float(total) if total and total > 0 else 1.0), None  # the training refuses weights without a sum


class LinearRegression(Ridge):
    """hawser.LinearRegression on Spark frames; see Ridge."""

    _kind = estimators.LinearRegression


class LinearSVR(_SparkEstimator):
    """hawser.LinearSVR on Spark frames; see Lasso."""

    _kind = estimators.LinearSVR

    def _algorithms(self, frame: Any) -> tuple[str, dict[str, Any], Classes | None]:
        return "svm", self.estimator._options(), None


class LinearSVC(_Classifier):
    """hawser.LinearSVC on Spark frames; see Lasso. Labels are whole numbers, booleans or words."""

    _kind = estimators.LinearSVC

    def _algorithms(self, frame: Any) -> tuple[str, dict[str, Any], Classes | None]:
        options = self.estimator._options()
        return "svm", options, Classes(self.label_col, ("svm", options), self._weight())


class LogisticRegression(_Classifier):
    """hawser.LogisticRegression on Spark frames; see Lasso. `probability_col` is one more column, with an array of probabilities."""

    _kind = estimators.LogisticRegression

    def _algorithms(self, frame: Any) -> tuple[str, dict[str, Any], Classes | None]:
        many: tuple[str, dict[str, Any]] | str
        try:
            many = "softmax", self.estimator._options(3)
        except ValueError as error:
            many = str(error)
        return "logistic", self.estimator._options(2), Classes(self.label_col, many, self._weight())


class LogisticRegressionCV(_Crossed, _Classifier):
    """hawser.LogisticRegressionCV on Spark frames; see LassoCV. The tasks exchange their labels through the driver, compressed, to make stratified folds."""

    _kind = estimators.LogisticRegressionCV


class KMeans(_SparkEstimator):
    """hawser.KMeans on Spark frames; see Lasso. The fitted one has no `labels_`: `transform(frame)` finds them."""

    _kind = estimators.KMeans

    def _algorithms(self, frame: Any) -> tuple[str, dict[str, Any], Classes | None]:
        return "kmeans", self.estimator._options(0), None


class MiniBatchKMeans(_SparkEstimator):
    """hawser.MiniBatchKMeans on Spark frames; see KMeans. The rows are counted first."""

    _kind = estimators.MiniBatchKMeans

    def _algorithms(self, frame: Any) -> tuple[str, dict[str, Any], Classes | None]:
        return "kmeans", self.estimator._options(max(1, frame.count())), None


__all__ = [
    "ElasticNet", "ElasticNetCV", "Fitted", "KMeans", "Lasso", "LassoCV", "LinearRegression", "LinearSVC", "LinearSVR", "LogisticRegression",
    "LogisticRegressionCV", "MiniBatchKMeans", "MultiTaskElasticNet", "MultiTaskElasticNetCV", "MultiTaskLasso", "MultiTaskLassoCV", "PoissonRegressor", "Ridge",
]
