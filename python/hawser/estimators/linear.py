"""Linear regression with penalties: Lasso, ElasticNet."""
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from .._model import Model
from ._base import Array, LinearEstimator, is_same, refuse, saved


class _Penalised(RegressorMixin, LinearEstimator):  # type: ignore[misc]
    """Minimises 1/(2 n) ||y - X w - b||^2 + alpha (l1_ratio ||w||_1 + (1 - l1_ratio)/2 ||w||^2)."""

    _algorithm = "lasso"
    _takes_columns = True  # of y, each of which is trained
    _keeps_column = False  # a single one gives coef_ of shape (1, n_features)
    alpha: float
    fit_intercept: bool
    precompute: Any
    copy_X: bool
    max_iter: int | None
    tol: float
    positive: bool
    selection: str

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self._takes_columns
        return tags

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

    @saved
    def fit(self, X: Any, y: Any, sample_weight: Any = None, check_input: bool = True, *, eval_set: Any = None,
            early_stopping_rounds: int | None = None, checkpoint: Any = None) -> Any:
        """Trains. X has shape (n_samples, n_features), dense or sparse; y has one number per sample, or a column per target.

        Targets are trained one by one: `coef_` (n_targets, n_features), `intercept_`, `dual_gap_` and `n_iter_` have one for each, and `models_` the models.

        With `eval_set`, a pair (X, y) of other data, `evals_result_` has their mean squared error at each certificate of the training. With
        `early_stopping_rounds` the training ends when that many certificates have not lowered it, and the model is that of
        the least one, at `best_iteration_` (from 0), with the error `best_score_`. X and y are checked whatever `check_input` says, which is scikit-learn's.

        `checkpoint` is a folder of checkpoints, as that of hawser.train: a fit that was stopped goes on when it is called again. A fit of several
        trainings repeats those before the one that was stopped. Each training has a folder of its own in it, so the fits of a search may share it.
        """
        X, y = self._checked(X, y, y_numeric=True, **({"multi_output": True} if self._takes_columns else {}))
        target, weights = self._numbers(y), self._weights(sample_weight, X)
        if self._takes_columns and np.ndim(target) == 2:
            if eval_set is not None or early_stopping_rounds is not None:
                raise ValueError(f"eval_set: y has {target.shape[1]} columns, which are trained one by one; give y with one, or use MultiTask estimators")
            return self._fit_columns(X, target, weights)
        return self._fit_numbers(X, target, weights, self._validation(eval_set, early_stopping_rounds, self._numbers))

    def _fit_numbers(self, X: Any, target: Array, weights: Array | None, others: dict[str, Any]) -> Any:
        """Trains on what has been checked; `others` are options about other data."""
        self._forget("models_")
        self._train(self._algorithm, X, target, weights, **self._options_of(0, X, weights), **others)
        self._finish(X, target, weights)
        return self

    def _options_of(self, column: int, X: Any, weights: Array | None) -> dict[str, Any]:
        """Returns the options of the training for one column of y."""
        return self._options()

    def _finish(self, X: Any, targets: Array, weights: Array | None) -> None:
        """Changes what a training has left, where scikit-learn chooses one of several solutions."""

    def _fit_columns(self, X: Any, targets: Array, weights: Array | None) -> Any:
        """Trains a model for each column of y."""
        self._check_kinds()
        before, columns = self.__dict__.get("models_") if getattr(self, "warm_start", False) else None, targets.shape[1]
        if before is not None and (len(before) != columns or before[0].columns != X.shape[1]):
            raise ValueError(f"warm_start: the estimator was fitted with {before[0].columns} features and {len(before)} targets, and X and y have "
                             f"{X.shape[1]} and {columns}")
        data = np.asfortranarray(X) if isinstance(X, np.ndarray) else X  # turned once, and not by each training
        traces: list[list[dict[str, Any]]] = [[] for _ in range(columns)]
        models = [self._call(self._algorithm, data, np.ascontiguousarray(targets[:, k]), weights, progress=traces[k].append,
                             init=None if before is None else before[k], **self._options_of(k, X, weights)) for k in range(columns)]
        self.interrupted_, self.models_, self.trace_ = False, models, traces
        self._forget("model_", "evals_result_", "best_iteration_", "best_score_")
        facts = [model.training for model in models if model.training is not None]
        self.n_iter_ = [int(max(1, each.metrics.get("iterations", each.clocks))) for each in facts]
        self.dual_gap_ = np.array([each.metrics["gap"] for each in facts])
        self.coef_, self.intercept_ = (each.astype(self._type) for each in self._parameters_of_all(models))
        if columns == 1:
            self.n_iter_, self.dual_gap_, self.trace_ = self.n_iter_[0], float(self.dual_gap_[0]), traces[0]
            self.coef_ = self.coef_ if self._keeps_column else self.coef_[0]
        self._finish(X, targets, weights)
        return self

    @staticmethod
    def _parameters_of_all(models: list[Model]) -> tuple[Array, Array]:
        """Returns coefficients and intercepts of a model per column of y."""
        return np.stack([model.coefficients for model in models]), np.array([model.intercept for model in models])

    def _is_written(self) -> bool:
        models: list[Model] | None = self.__dict__.get("models_")
        if models is None:
            return super()._is_written()
        coefficients, intercepts = self._parameters_of_all(models)
        one = np.ndim(self.coef_) == 1
        return not (is_same(self.coef_, coefficients[0] if one else coefficients) and is_same(self.intercept_, intercepts))

    def _margins(self, X: Any) -> Array:
        models: list[Model] | None = self.__dict__.get("models_")
        if models is None or self._is_written():
            return super()._margins(X)
        found = np.column_stack([model.decision_function(X) for model in models])
        return self._like(X, found[:, 0] if np.ndim(self.coef_) == 1 else found)

    def predict(self, X: Any) -> Array:
        """Returns a prediction per sample, shape (n_samples,), or (n_samples, n_targets) if y had several columns."""
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
