"""Linear regression with penalties: Lasso, ElasticNet."""
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from ._base import Array, LinearEstimator, refuse


class _Penalised(RegressorMixin, LinearEstimator):  # type: ignore[misc]
    """Minimises 1/(2 n) ||y - X w - b||^2 + alpha (l1_ratio ||w||_1 + (1 - l1_ratio)/2 ||w||^2)."""

    _algorithm = "lasso"
    alpha: float
    fit_intercept: bool
    precompute: Any
    copy_X: bool
    max_iter: int | None
    tol: float
    positive: bool
    selection: str

    def _ratio(self) -> float:
        return 1.0

    def _options(self) -> dict[str, Any]:
        """Returns the options of the command that the parameters mean."""
        return {"lambda_": self.alpha, "l1_ratio": self._ratio(), **self._shared_options()}

    def _shared_options(self) -> dict[str, Any]:
        """Returns the options that the estimators with cross-validation have, too."""
        self._check_precompute()
        if self.selection not in ("cyclic", "random"):
            raise refuse("selection", self.selection, "'cyclic' or 'random', which have the same solution")
        return {"intercept": bool(self.fit_intercept), "tol": self._tolerance(), "max_clocks": self.max_iter,
                "lower": 0 if self.positive else None}

    def _check_precompute(self) -> None:
        """Refuses what is no value of scikit-learn's. A Gram matrix is not read, since the library makes its own where they pay."""
        given = self.precompute
        if isinstance(given, (bool, np.bool_)) or (isinstance(given, str) and given == "auto"):
            return
        columns = self.n_features_in_ if hasattr(self, "n_features_in_") else None
        shape = np.shape(given)
        if len(shape) != 2 or shape[0] != shape[1] or (columns is not None and shape[0] != columns):
            wanted = "n_features" if columns is None else columns
            raise refuse("precompute", given if len(shape) < 2 else f"a matrix of shape {shape}",
                         f"True, False, 'auto' or a Gram matrix of shape ({wanted}, {wanted}), which it does not need")

    def fit(self, X: Any, y: Any, sample_weight: Any = None, check_input: bool = True, *, eval_set: Any = None,
            early_stopping_rounds: int | None = None) -> Any:
        """Trains. X has shape (n_samples, n_features), dense or sparse; y has one number per sample.

        With `eval_set`, a pair (X, y) of other data, `evals_result_` has their mean squared error at each certificate of the training. With
        `early_stopping_rounds` the training ends when that many certificates have not lowered it, and the model is that of
        the least one, at `best_iteration_` (from 0), with the error `best_score_`. X and y are checked whatever `check_input` says, which is scikit-learn's.
        """
        X, y = self._checked(X, y, y_numeric=True)
        others = self._validation(eval_set, early_stopping_rounds, self._numbers)
        self._train(self._algorithm, X, self._numbers(y), self._weights(sample_weight, X), **self._options(), **others)
        return self

    def predict(self, X: Any) -> Array:
        """Returns a prediction per sample, shape (n_samples,)."""
        return self._margins(self._checked_new(X))

    @property
    def sparse_coef_(self) -> Any:
        """The coefficients as a sparse matrix of shape (1, n_features)."""
        from scipy.sparse import csr_matrix
        return csr_matrix(self.coef_)


class Lasso(_Penalised):
    """Linear regression with an L1 penalty, as sklearn.linear_model.Lasso, by CoCoA+ with a certified duality gap.

    Minimises 1/(2 n_samples) ||y - X w - b||^2 + alpha ||w||_1; sample weights are scaled to the sum n_samples. `tol` is the
    duality gap at which the training ends, relative to the objective of coefficients that are all zero. The optimum is at
    most `dual_gap_` below the objective. `max_iter` limits
    the clocks, which are exchanges between workers, not passes over the columns. `precompute`, `selection` and `copy_X` make no
    difference to the solution, and a Gram matrix is not read; X is never changed.

    `workers` shares the work among so many workers (None: as the processors and the data allow), under the policy `sync`
    ("bsp", "ssp:2", "tap"). The bits of the solution depend on workers under bsp, and on nothing else.

    After fit: `coef_` (n_features,), `intercept_`, `dual_gap_` (of this objective), `n_iter_` (clocks), `trace_` (a dictionary
    per clock), `model_` (a hawser.Model, whose file the command reads), `interrupted_`.

    >>> import hawser
    >>> lasso = hawser.Lasso(alpha=0.1, tol=1e-10).fit([[0, 0], [1, 1], [2, 2.5]], [0, 1, 2])
    >>> lasso.coef_.round(3), lasso.predict([[3, 4]]).round(2)
    (array([0.   , 0.695]), array([2.97]))
    """

    def __init__(self, alpha: float = 1.0, *, fit_intercept: bool = True, precompute: Any = False, copy_X: bool = True,
                 max_iter: int | None = None, tol: float = 1e-6, warm_start: bool = False, positive: bool = False,
                 random_state: Any = None, selection: str = "cyclic", workers: int | None = None, sync: str = "bsp",
                 n_jobs: int | None = None) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.positive = positive
        self.random_state = random_state
        self.selection = selection
        self.workers = workers
        self.sync = sync
        self.n_jobs = n_jobs


class ElasticNet(_Penalised):
    """Linear regression with an elastic-net penalty, as sklearn.linear_model.ElasticNet.

    Minimises 1/(2 n_samples) ||y - X w - b||^2 + alpha (l1_ratio ||w||_1 + (1 - l1_ratio)/2 ||w||^2). All else is as in Lasso.

    >>> import hawser
    >>> net = hawser.ElasticNet(alpha=0.1, l1_ratio=0.5, tol=1e-10).fit([[0, 0], [1, 1], [2, 2.5]], [0, 1, 2])
    >>> net.coef_.round(3)
    array([0.296, 0.485])
    """

    def __init__(self, alpha: float = 1.0, *, l1_ratio: float = 0.5, fit_intercept: bool = True, precompute: Any = False,
                 max_iter: int | None = None, copy_X: bool = True, tol: float = 1e-6, warm_start: bool = False,
                 positive: bool = False, random_state: Any = None, selection: str = "cyclic", workers: int | None = None,
                 sync: str = "bsp", n_jobs: int | None = None) -> None:
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.max_iter = max_iter
        self.copy_X = copy_X
        self.tol = tol
        self.warm_start = warm_start
        self.positive = positive
        self.random_state = random_state
        self.selection = selection
        self.workers = workers
        self.sync = sync
        self.n_jobs = n_jobs

    def _ratio(self) -> float:
        return self.l1_ratio


__all__ = ["ElasticNet", "Lasso"]
