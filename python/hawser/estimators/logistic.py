"""Logistic regression of two classes, and softmax regression of more."""
from typing import Any

import numpy as np
from scipy.sparse import issparse
from scipy.special import expit, softmax

from .._model import Model
from ._base import Array, refuse, saved, spread_of
from ._classifier import LinearClassifier


def hardly_any(X: Any) -> float:
    """Returns a squared penalty that changes no digit of the losses, but makes one minimum: classes share a direction that no loss sees."""
    spread = spread_of(X)
    return max(float(np.min(spread, where=spread > 0, initial=1.0)) * 1e-15, 1e-300)


SOLVERS = ("lbfgs", "liblinear", "newton-cg", "newton-cholesky", "sag", "saga")


class LogisticRegression(LinearClassifier):
    """Logistic regression, as sklearn.linear_model.LogisticRegression; with three classes or more softmax regression.

    Minimises C sum_i loss_i + l1_ratio ||w||_1 + (1 - l1_ratio)/2 ||w||^2 with a free intercept. `penalty` is the older name
    of the choice: "l1", "l2", "elasticnet" or None. `tol` is the duality gap at which the training ends, relative
    to the objective of coefficients that are all zero. `max_iter` limits the clocks. `solver` and `dual` are taken for scikit-learn's sake: there is one solver, and all have
    the same solution. `intercept_scaling` must be 1, since the intercept has no penalty.

    After fit: `coef_` (1 or n_classes, n_features), `intercept_`, `classes_`, `dual_gap_`, `n_iter_` (1,), `trace_`, `model_`.

    >>> import hawser, numpy
    >>> x = numpy.array([[0.0], [1.0], [2.0], [3.0]])
    >>> fitted = hawser.LogisticRegression().fit(x, ["no", "no", "yes", "yes"])
    >>> fitted.predict([[0.5], [2.5]]), fitted.predict_proba([[1.5]]).round(3)
    (array(['no', 'yes'], dtype='<U3'), array([[0.5, 0.5]]))
    """

    def __init__(self, penalty: str | None = "deprecated", *, C: float = 1.0, l1_ratio: float = 0.0, dual: bool = False,
                 tol: float = 1e-6, fit_intercept: bool = True, intercept_scaling: float = 1, class_weight: Any = None,
                 random_state: Any = None, solver: str = "lbfgs", max_iter: int | None = None, verbose: int = 0, warm_start: bool = False,
                 workers: int | None = None, sync: str = "bsp", n_jobs: int | None = None) -> None:
        self.penalty = penalty
        self.C = C
        self.l1_ratio = l1_ratio
        self.dual = dual
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.random_state = random_state
        self.solver = solver
        self.max_iter = max_iter
        self.verbose = verbose
        self.warm_start = warm_start
        self.workers = workers
        self.sync = sync
        self.n_jobs = n_jobs

    def _penalty(self) -> dict[str, Any]:
        """Returns the options of the penalty."""
        ratios = {"l1": 1.0, "l2": 0.0, "elasticnet": self.l1_ratio, "deprecated": self.l1_ratio, None: 0.0}
        if self.penalty not in ratios:
            raise refuse("penalty", self.penalty, "'l1', 'l2', 'elasticnet' or None")
        ratio = ratios[self.penalty]
        if ratio is None:
            raise refuse("l1_ratio", ratio, "a number from 0 to 1")
        if self.penalty is None or np.isinf(self.C):
            return {"lambda_": 0.0, "l1_ratio": ratio}
        return {"C": self.C, "l1_ratio": ratio}

    def _options(self, classes: int, X: Any = None) -> dict[str, Any]:
        """Returns the options of the command that the parameters mean. X: the data, if they are arrays."""
        if self.intercept_scaling != 1:
            raise refuse("intercept_scaling", self.intercept_scaling, "1: the intercept has no penalty")
        if self.solver not in SOLVERS:
            raise refuse("solver", self.solver, " or ".join(map(repr, SOLVERS)) + ", which have the same solution")
        options = {**self._penalty(), "intercept": bool(self.fit_intercept), "tol": self._tolerance(), "max_clocks": self.max_iter}
        if classes > 2 and self.max_iter is not None:  # softmax regression has a limit of its own, which would come first
            options["max_iterations"] = self.max_iter
        if classes > 2 and options.get("lambda_") == 0.0:
            if not isinstance(X, np.ndarray) and not issparse(X):
                raise refuse("C", self.C, "a finite penalty if there are more than two classes")
            options.update(lambda_=hardly_any(X), l1_ratio=0.0)
        return options

    @saved
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, eval_set: Any = None,
            early_stopping_rounds: int | None = None, checkpoint: Any = None) -> "LogisticRegression":
        """Trains. X has shape (n_samples, n_features), dense or sparse; y has a label per sample, a number or a word.

        `eval_set`, `early_stopping_rounds` and `checkpoint` are as in Lasso, with the mean log loss; with three classes or more it is measured at
        the start and after each step.
        """
        X, places, weights = self._fit_classes(X, y, sample_weight)
        classes = len(self.classes_)
        others = self._validation(eval_set, early_stopping_rounds, self._places_of)
        self._train("logistic" if classes == 2 else "softmax", X, places, weights, **self._options(classes, X), **others)
        return self

    def _take_parameters(self, model: Model) -> None:
        super()._take_parameters(model)
        self.n_iter_ = np.array([self.n_iter_], np.int32)

    def predict_proba(self, X: Any) -> Array:
        """Returns the probability of each class, shape (n_samples, n_classes), in the order of classes_."""
        X = self._checked_new(X)
        if not self._is_written():
            return self._like(X, self.model_.predict_proba(X))
        margins = self._margins(X)
        if margins.ndim == 2 and margins.shape[1] > 1:
            return np.asarray(softmax(margins, axis=1))
        higher = expit(margins.ravel())
        return np.column_stack([1 - higher, higher])

    def predict_log_proba(self, X: Any) -> Array:
        """Returns the logarithms of predict_proba."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))


__all__ = ["LogisticRegression"]
