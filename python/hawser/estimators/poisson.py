"""Regression of counts: PoissonRegressor."""
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import mean_poisson_deviance

from ._base import Array, LinearEstimator, check_finite, refuse, saved

SOLVERS = ("lbfgs", "newton-cholesky")


class PoissonRegressor(RegressorMixin, LinearEstimator):  # type: ignore[misc]
    """Poisson regression with a squared penalty and a log link, as sklearn.linear_model.PoissonRegressor, with a certified duality gap.

    Minimises the mean of the samples' half deviances, with their weights, + alpha/2 ||w||^2; predictions are exp(w x + b). `tol` is the duality gap at which
    the training ends, relative to the objective of coefficients that are all zero. `max_iter`, `workers`, `sync` and the arguments of fit are as in Lasso.
    `solver` and `verbose` are taken for scikit-learn's sake.

    After fit: `coef_` (n_features,), `intercept_`, `dual_gap_`, `n_iter_`, `trace_`, `model_`.

    >>> import hawser
    >>> counts = hawser.PoissonRegressor(alpha=1.0).fit([[1, 2], [2, 3], [3, 4], [4, 3]], [12, 17, 22, 21])
    >>> counts.coef_.round(3), counts.predict([[1, 1], [3, 4]]).round(2)
    (array([0.121, 0.158]), array([10.68, 21.88]))
    """

    _algorithm = "poisson"

    def __init__(self, *, alpha: float = 1.0, fit_intercept: bool = True, solver: str = "lbfgs", max_iter: int | None = None, tol: float = 1e-8,
                 warm_start: bool = False, verbose: int = 0, random_state: Any = None, workers: int | None = None, sync: str = "bsp",
                 n_jobs: int | None = None) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state
        self.workers = workers
        self.sync = sync
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags

    def _options(self) -> dict[str, Any]:
        if self.solver not in SOLVERS:
            raise refuse("solver", self.solver, " or ".join(map(repr, SOLVERS)) + ", which have the same solution")
        return {"lambda_": self.alpha, "l1_ratio": 0.0, "intercept": bool(self.fit_intercept), "tol": self._tolerance(), "max_clocks": self.max_iter}

    def _numbers(self, y: Any) -> Any:
        counts = np.asarray(y, np.float64)
        if not (counts >= 0).all():
            raise ValueError(f"y: {counts[~(counts >= 0)][0]:g} is no count; Some value(s) of y are out of the valid range of the loss, which takes "
                             "numbers from 0 on")
        return counts

    @saved
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, eval_set: Any = None, early_stopping_rounds: int | None = None,
            checkpoint: Any = None) -> "PoissonRegressor":
        """Trains. X has shape (n_samples, n_features), dense or sparse; y has a number from 0 on per sample.

        `eval_set`, `early_stopping_rounds` and `checkpoint` are as in Lasso, with the mean deviance.
        """
        X, y = self._checked(X, y, y_numeric=True)
        others = self._validation(eval_set, early_stopping_rounds, self._numbers)
        self._train(self._algorithm, X, self._numbers(y), self._weights(sample_weight, X), **self._options(), **others)
        return self

    def predict(self, X: Any) -> Array:
        """Returns the expected count of each sample, shape (n_samples,)."""
        X = self._checked_new(X)
        if self._is_written():
            with np.errstate(over="ignore"):
                return check_finite(np.asarray(np.exp(self._margins(X))))
        return self._like(X, self.model_.predict(X))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Returns D^2, the share of the deviance of the mean that the model explains."""
        means = self.predict(X)
        truth = self._numbers(y)
        weights = None if sample_weight is None else np.asarray(sample_weight, np.float64)
        null = np.full(len(truth), np.average(truth, weights=weights))
        of_mean = mean_poisson_deviance(truth, null, sample_weight=weights)
        return float(1 - mean_poisson_deviance(truth, means, sample_weight=weights) / of_mean) if of_mean > 0 else 1.0


__all__ = ["PoissonRegressor"]
