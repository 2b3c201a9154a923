"""Linear regression on several targets that share their features: MultiTaskLasso, MultiTaskElasticNet, and with cross-validation."""
from typing import Any

import numpy as np
from scipy.sparse import issparse

from .._model import Model
from ._base import Array, is_plain, is_plain_targets
from .linear import _Penalised
from .linear_cv import _Crossed, ratios_of


class _Several(_Penalised):
    """Minimises 1/(2 n) ||Y - X W - b||^2 + alpha (l1_ratio sum_j ||W_j|| + (1 - l1_ratio)/2 ||W||^2), where W_j belongs to feature j."""

    _algorithm = "multitask"
    _takes_columns = False
    precompute = False  # no parameters of these estimators
    positive = False
    warm_start = False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        return tags

    def _checked(self, X: Any, y: Any = "no_validation", **how: Any) -> Any:
        """Returns X and y as numbers; y has a column per target."""
        if issparse(y):
            raise TypeError("Sparse data was passed for y, but dense data is required. Use '.toarray()' to convert to a dense numpy array.")
        if is_plain(X) and is_plain_targets(y, len(X)):
            X, _ = super()._checked(X, y[:, 0])
        else:
            X, y = super()._checked(X, y, multi_output=True, **how)
        y = self._columns(y)
        self._check_targets(y.shape[1:])
        return X, y

    def _check_targets(self, target: tuple[int, ...]) -> None:
        """Refuses targets by the shape that a sample's has: no column, or another number of them than warm_start begins with."""
        if not target:
            raise ValueError(f"For mono-task outputs, use {type(self).__name__.removeprefix('MultiTask')}")
        before = getattr(self, "model_", None) if self.warm_start else None
        if before is not None and before.outputs != target[0]:
            raise ValueError(f"warm_start: the estimator was fitted with {before.outputs} targets, and y has {target[0]}")

    def _columns(self, y: Any) -> Array:
        columns: Array = np.asarray(y, np.float64)
        if columns.ndim == 1:
            self._check_targets(())
        return columns

    def _other_target(self, y: Any) -> Array:
        return self._columns(y)

    def _shared_options(self) -> dict[str, Any]:
        return {key: value for key, value in super()._shared_options().items() if key != "lower"}

    def _parameters_of(self, model: Model) -> tuple[Any, Any]:
        return np.atleast_2d(model.coefficients), np.atleast_1d(np.asarray(model.intercept))

    def predict(self, X: Any) -> Array:
        """Returns a prediction per sample and target, shape (n_samples, n_targets)."""
        return super().predict(X).reshape(-1, len(self.coef_))


class MultiTaskLasso(_Several):
    """Linear regression on several targets that share their features, as sklearn.linear_model.MultiTaskLasso, with a certified duality gap.

    Minimises 1/(2 n_samples) ||Y - X W - b||^2 + alpha sum_j ||W_j||, where W_j has the coefficients of feature j for all targets, so that a
    feature is used for all targets or for none. y has shape (n_samples, n_targets), up to 64 targets. `tol`, `max_iter`, `workers`,
    `sync` and the arguments of fit are as in Lasso; the error on other data is the mean over samples and targets.

    After fit: `coef_` (n_targets, n_features), `intercept_` (n_targets,), and all else as in Lasso.

    >>> import hawser
    >>> tasks = hawser.MultiTaskLasso(alpha=0.1, tol=1e-10).fit([[0, 1], [1, 2], [2, 4]], [[0, 0], [1, 1], [2, 3]])
    >>> tasks.coef_.round(3), tasks.predict([[3, 5]]).round(1)
    (array([[0.   , 0.608],
           [0.   , 0.946]]), array([[2.6, 3.9]]))
    """

    def __init__(self, alpha: float = 1.0, *, fit_intercept: bool = True, copy_X: bool = True, max_iter: int | None = None,
                 tol: float = 1e-6, warm_start: bool = False, random_state: Any = None, selection: str = "cyclic",
                 workers: int | None = None, sync: str = "bsp", n_jobs: int | None = None) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.random_state = random_state
        self.selection = selection
        self.workers = workers
        self.sync = sync
        self.n_jobs = n_jobs


class MultiTaskElasticNet(_Several):
    """Linear regression on several targets with an elastic-net penalty, as sklearn.linear_model.MultiTaskElasticNet.

    Minimises 1/(2 n_samples) ||Y - X W - b||^2 + alpha (l1_ratio sum_j ||W_j|| + (1 - l1_ratio)/2 ||W||^2). All else is as in MultiTaskLasso.

    >>> import hawser
    >>> net = hawser.MultiTaskElasticNet(alpha=0.1, tol=1e-10).fit([[0, 1], [1, 2], [2, 4]], [[0, 0], [1, 1], [2, 3]])
    >>> net.coef_.shape
    (2, 2)
    """

    def __init__(self, alpha: float = 1.0, *, l1_ratio: float = 0.5, fit_intercept: bool = True, copy_X: bool = True,
                 max_iter: int | None = None, tol: float = 1e-6, warm_start: bool = False, random_state: Any = None,
                 selection: str = "cyclic", workers: int | None = None, sync: str = "bsp", n_jobs: int | None = None) -> None:
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.random_state = random_state
        self.selection = selection
        self.workers = workers
        self.sync = sync
        self.n_jobs = n_jobs

    def _ratio(self) -> float:
        return self.l1_ratio


class MultiTaskLassoCV(_Several, _Crossed):
    """MultiTaskLasso with the alpha of the least cross-validation error, as sklearn.linear_model.MultiTaskLassoCV.

    Parameters and attributes are those of LassoCV. The error of a sample is the mean over its targets.

    >>> import hawser, numpy
    >>> draw = numpy.random.default_rng(0)
    >>> x = draw.normal(size=(100, 3))
    >>> fitted = hawser.MultiTaskLassoCV(cv=5, alphas=20).fit(x, x[:, :2] + draw.normal(size=(100, 2)))
    >>> fitted.mse_path_.shape, fitted.coef_.shape
    ((20, 5), (2, 3))
    """

    def __init__(self, *, eps: float = 1e-3, alphas: Any = 100, fit_intercept: bool = True, max_iter: int | None = None,
                 tol: float = 1e-6, copy_X: bool = True, cv: Any = None, verbose: bool = False, random_state: Any = None,
                 selection: str = "cyclic", rule: str = "min", workers: int | None = None, sync: str = "bsp",
                 n_jobs: int | None = None) -> None:
        self.eps = eps
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.copy_X = copy_X
        self.cv = cv
        self.verbose = verbose
        self.random_state = random_state
        self.selection = selection
        self.rule = rule
        self.workers = workers
        self.sync = sync
        self.n_jobs = n_jobs


class MultiTaskElasticNetCV(_Several, _Crossed):
    """MultiTaskElasticNet with the alpha of the least cross-validation error, as sklearn.linear_model.MultiTaskElasticNetCV.

    If l1_ratio is a list, the least error chooses from it, too.

    Parameters and attributes are those of ElasticNetCV. The error of a sample is the mean over its targets.

    >>> import hawser, numpy
    >>> draw = numpy.random.default_rng(0)
    >>> x = draw.normal(size=(100, 3))
    >>> fitted = hawser.MultiTaskElasticNetCV(l1_ratio=[0.5, 0.9], alphas=10).fit(x, x[:, :2] + draw.normal(size=(100, 2)))
    >>> fitted.mse_path_.shape, fitted.coef_.shape
    ((2, 10, 5), (2, 3))
    """

    def __init__(self, *, l1_ratio: Any = 0.5, eps: float = 1e-3, alphas: Any = 100, fit_intercept: bool = True,
                 max_iter: int | None = None, tol: float = 1e-6, cv: Any = None, copy_X: bool = True, verbose: int = 0,
                 random_state: Any = None, selection: str = "cyclic", rule: str = "min", workers: int | None = None,
                 sync: str = "bsp", n_jobs: int | None = None) -> None:
        self.l1_ratio = l1_ratio
        self.eps = eps
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.cv = cv
        self.copy_X = copy_X
        self.verbose = verbose
        self.random_state = random_state
        self.selection = selection
        self.rule = rule
        self.workers = workers
        self.sync = sync
        self.n_jobs = n_jobs

    def _ratios(self) -> list[float]:
        return ratios_of(self.l1_ratio)


__all__ = ["MultiTaskElasticNet", "MultiTaskElasticNetCV", "MultiTaskLasso", "MultiTaskLassoCV"]
