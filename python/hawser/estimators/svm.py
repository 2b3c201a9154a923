"""Linear support vector machines: LinearSVC, LinearSVR."""
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from .._model import Model
from ._base import Array, LinearEstimator, refuse, saved
from ._classifier import LinearClassifier

DUAL = (True, False, "auto", "warn")
WORDS: dict[str, str | None] = {"--solver": None}


class LinearSVC(LinearClassifier):
    """A linear support vector machine, one class against the rest, as sklearn.svm.LinearSVC.

    Minimises 1/2 ||w||^2 + C sum_i loss_i for each class. The intercept has no penalty, while scikit-learn's has one; so
    `intercept_scaling` must be 1, and solutions differ a little. `tol` is the duality gap of each class, relative to its objective. `max_iter` limits
    the iterations. `dual` is taken for scikit-learn's sake: solutions are the same. `penalty` must be "l2", and `multi_class` "ovr".

    After fit: `coef_` (1 or n_classes, n_features), `intercept_`, `classes_`, `dual_gap_`, `n_iter_`, `trace_`, `model_`.

    >>> import hawser
    >>> hawser.LinearSVC().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]).predict([[0.5], [2.5]])
    array([0, 1])
    """

    _words = WORDS

    def __init__(self, penalty: str = "l2", loss: str = "squared_hinge", *, dual: bool | str = "auto", tol: float = 1e-4,
                 C: float = 1.0, multi_class: str = "ovr", fit_intercept: bool = True, intercept_scaling: float = 1,
                 class_weight: Any = None, verbose: int = 0, random_state: Any = None, max_iter: int | None = None, warm_start: bool = False,
                 workers: int | None = None, sync: str = "bsp", n_jobs: int | None = None) -> None:
        self.penalty = penalty
        self.loss = loss
        self.dual = dual
        self.tol = tol
        self.C = C
        self.multi_class = multi_class
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.workers = workers
        self.sync = sync
        self.n_jobs = n_jobs

    def _options(self) -> dict[str, Any]:
        losses = {"hinge": "hinge", "squared_hinge": "squared-hinge"}
        for name, value, allowed in (("penalty", self.penalty, ("l2",)), ("multi_class", self.multi_class, ("ovr",)),
                                     ("loss", self.loss, tuple(losses)), ("dual", self.dual, DUAL),
                                     ("intercept_scaling", self.intercept_scaling, (1,))):
            if value not in allowed:
                raise refuse(name, value, " or ".join(map(repr, allowed)))
        return {"C": self.C, "loss": losses[self.loss], "intercept": bool(self.fit_intercept), "tol": self._tolerance(),
                "max_iterations": self.max_iter}

    @saved
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, eval_set: Any = None,
            early_stopping_rounds: int | None = None, checkpoint: Any = None) -> "LinearSVC":
        """Trains. X has shape (n_samples, n_features), dense or sparse; y has a label per sample, a number or a word.

        `eval_set`, `early_stopping_rounds` and `checkpoint` are as in Lasso, with the accuracy, which is the better the larger it is.
        """
        options = self._options()
        X, places, weights = self._fit_classes(X, y, sample_weight)
        others = self._validation(eval_set, early_stopping_rounds, self._places_of)
        self._train("svm", X, places, weights, **options, **others)
        return self


class LinearSVR(RegressorMixin, LinearEstimator):  # type: ignore[misc]
    """Linear support vector regression, as sklearn.svm.LinearSVR.

    Minimises 1/2 ||w||^2 + C sum_i max(0, |y_i - w x_i - b| - epsilon), or its square. All else is as in LinearSVC.

    After fit: `coef_` (n_features,), `intercept_` (1,), `dual_gap_`, `n_iter_`, `trace_`, `model_`.

    >>> import hawser
    >>> fitted = hawser.LinearSVR(C=100.0, tol=1e-8).fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    >>> fitted.predict([[3.0]]).round(2)
    array([7.])
    """

    _words = WORDS

    def __init__(self, *, epsilon: float = 0.0, tol: float = 1e-4, C: float = 1.0, loss: str = "epsilon_insensitive",
                 fit_intercept: bool = True, intercept_scaling: float = 1.0, dual: bool | str = "auto", verbose: int = 0, random_state: Any = None,
                 max_iter: int | None = None, warm_start: bool = False, workers: int | None = None, sync: str = "bsp",
                 n_jobs: int | None = None) -> None:
        self.epsilon = epsilon
        self.tol = tol
        self.C = C
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.dual = dual
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.workers = workers
        self.sync = sync
        self.n_jobs = n_jobs

    def _options(self) -> dict[str, Any]:
        losses = {"epsilon_insensitive": "epsilon", "squared_epsilon_insensitive": "squared-epsilon"}
        for name, value, allowed in (("loss", self.loss, tuple(losses)), ("dual", self.dual, DUAL),
                                     ("intercept_scaling", self.intercept_scaling, (1,))):
            if value not in allowed:
                raise refuse(name, value, " or ".join(map(repr, allowed)))
        return {"C": self.C, "loss": losses[self.loss], "epsilon": self.epsilon, "intercept": bool(self.fit_intercept),
                "tol": self._tolerance(), "max_iterations": self.max_iter}

    @saved
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, eval_set: Any = None,
            early_stopping_rounds: int | None = None, checkpoint: Any = None) -> "LinearSVR":
        """Trains. X has shape (n_samples, n_features), dense or sparse; y has one number per sample.

        `eval_set`, `early_stopping_rounds` and `checkpoint` are as in Lasso, with the mean squared error.
        """
        options = self._options()
        X, y = self._checked(X, y, y_numeric=True)
        others = self._validation(eval_set, early_stopping_rounds, self._numbers)
        self._train("svm", X, self._numbers(y), self._weights(sample_weight, X), **options, **others)
        return self

    def _parameters_of(self, model: Model) -> tuple[Any, Any]:
        return model.coefficients, np.atleast_1d(model.intercept)

    def predict(self, X: Any) -> Array:
        """Returns a prediction per sample, shape (n_samples,)."""
        return self._margins(self._checked_new(X))


__all__ = ["LinearSVC", "LinearSVR"]
