"""Linear regression with a squared penalty, or without any: Ridge, LinearRegression."""
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.sparse import issparse

from ._base import SMALLEST, Array, refuse, spread_of
from .linear import _Penalised

SOLVERS = ("auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs")
UNPENALISED = 256  # the most columns without a penalty that the library takes
MOST = 2 * 10**7  # numbers of X for which the solution of least norm is found
BASIS = 1024  # the most columns for which a square matrix of this width is made
NOUGHT = 1e-11  # what rounding leaves of a zero in a vector of norm 1, at most
WEAK = 1e-9  # a penalty this much smaller than the mean variance of columns
LOOSE = 1e-3  # an error of coefficients, relative to their norm, that a duality gap may leave


def _least_norm(z: Array, V: Array, norms: Array, start: Array) -> Array:
    """Returns the w of least norm whose w * norms has the same part as z in the space of V's orthonormal columns; z and w have a column for each target.

    `start` is near w: it is only made exact where a basis of the other space would be too large. The sum is taken of scaled coefficients, each of which
    keeps its own precision.
    """
    scale = norms[:, None]
    if len(norms) > BASIS:
        near = start * scale
        moved: Array = (near + V @ (V.T @ (z - near))) / scale
        return moved
    order = np.argsort(norms)
    scale = scale[order]
    basis: Any = np.linalg.qr(V, mode="complete")[0]
    free, shape = _echelon(basis[order, V.shape[1]:])
    R: Any = np.linalg.qr(np.hstack([shape, z[order]]) / scale, mode="r")  # rows of falling size: every row keeps its own precision
    many = free.shape[1]
    found = np.empty_like(z)
    found[order] = (z[order] - free @ solve_triangular(R[:many, :many], R[:many, many:])) / scale
    return found


def _echelon(free: Array) -> tuple[Array, Array]:
    """Returns another orthonormal basis of the columns' space, of which each has zeros above its first number, and the same with exact zeros.

    A zero that rounding has made 1e-17 would count among coefficients of very different sizes.
    """
    free, ends, at = free.copy(), [], 0
    for row in range(len(free)):
        rest = free[row, at:].copy()
        size = np.linalg.norm(rest)
        if size > NOUGHT:  # a reflection leaves the first number of the rest
            rest[0] += np.copysign(size, rest[0])
            free[:, at:] -= np.outer(free[:, at:] @ rest, rest * (2 / (rest @ rest)))
            at += 1
        ends.append(at)
    shape = np.where(np.arange(free.shape[1]) < np.array(ends)[:, None], free, 0.0)
    return free, shape


def _solve_scaled(whole: Array, columns: Array) -> tuple[Array, int]:
    """Returns the least squares coefficients of least norm, and the rank, which is found on columns of unit norm: it does not depend on their units."""
    tops = np.abs(whole).max(axis=0, initial=0)
    used = tops > 0
    whole, tops = whole[:, used], np.exp2(np.frexp(tops[used])[1])  # a power of two keeps squares from overflow and rounds nothing
    norms = tops * np.linalg.norm(whole / tops, axis=0)
    U, s, Vt = np.linalg.svd(whole / norms, full_matrices=False)
    rank = int((s > s[:1].sum() * max(whole.shape) * np.finfo(float).eps).sum())
    V = Vt[:rank].T
    z = V @ (U[:, :rank].T @ columns / s[:rank, None])
    found = np.zeros((len(used), columns.shape[1]))
    if rank == len(norms):
        found[used] = z / norms[:, None]
    else:
        found[used] = _least_norm(z, V, norms, np.linalg.lstsq(whole, columns, rcond=None)[0] if len(norms) > BASIS else z)
    return found, rank


def solve(X: Any, targets: Array, centre: tuple[Array, Array] | None, weights: Array | None, alphas: Array) -> tuple[Array, int]:
    """Returns the coefficients, shape (n_features, n_targets), with a penalty for each target, and the rank of X less its centre.

    Without a penalty they are those of least norm.
    """
    whole, columns = np.asarray(X.toarray() if issparse(X) else X, np.float64), targets.reshape(len(targets), -1)
    if centre is not None:
        seen = whole if weights is None else whole[weights > 0]
        whole, columns = np.where((seen == seen[:1]).all(axis=0), 0.0, whole - centre[0]), columns - centre[1]  # a constant's mean is rounded
    if weights is not None:
        roots = np.sqrt(weights)[:, None]
        whole, columns = whole * roots, columns * roots
    found, rank = _solve_scaled(whole, columns)
    many = whole.shape[1]
    for alpha in np.unique(alphas[alphas > 0]):
        these = alphas == alpha
        if many <= BASIS:  # a penalty is a row for each column
            more = np.vstack([whole, np.sqrt(alpha) * np.eye(many)])
            found[:, these] = _solve_scaled(more, np.vstack([columns[:, these], np.zeros((many, int(these.sum())))]))[0]
        else:
            U, s, Vt = np.linalg.svd(whole, full_matrices=False)
            kept = s > s[0] * max(whole.shape) * np.finfo(float).eps
            s = s[kept, None]
            found[:, these] = Vt[kept].T @ (s / (s**2 + alpha) * (U[:, kept].T @ columns[:, these]))
    return found, rank


class Ridge(_Penalised):
    """Linear regression with a squared penalty, as sklearn.linear_model.Ridge, with a certified duality gap.

    Minimises sum_i s_i (y_i - w x_i - b)^2 + alpha ||w||^2, s_i the weights of samples. `alpha` is a number, or one for each column of y. The training
    ends at a duality gap of tol^2, relative to the objective of coefficients that are all zero, so that `tol` is about the relative error of predictions, or
    where float64 has no smaller one. `max_iter` and all else are as in Lasso. `solver` is
    taken for scikit-learn's sake: there is one solution. If alpha is 0 and several solutions are equally good, `coef_` is that of least norm, and if alpha is so
    small that the gap leaves coefficients open, it is solved directly; `model_` has another one. X may have at most 2e7 numbers for that.

    After fit: `coef_` (n_features,), or (n_targets, n_features) if y has columns, `intercept_`, and all else as in Lasso.

    >>> import hawser
    >>> ridge = hawser.Ridge(alpha=1.0).fit([[0, 0], [0, 0], [1, 1]], [0, 0.1, 1])
    >>> ridge.coef_.round(4), float(round(ridge.intercept_, 4))
    (array([0.2714, 0.2714]), 0.1857)
    """

    _words = {"cannot be reached": None, "precision of numbers": None}  # tol is that small by default
    precompute = False  # no parameters of these estimators
    selection = "cyclic"
    warm_start = False
    solver: str

    def __init__(self, alpha: Any = 1.0, *, fit_intercept: bool = True, copy_X: bool = True, max_iter: int | None = None, tol: float = 1e-8,
                 solver: str = "auto", positive: bool = False, random_state: Any = None, workers: int | None = None, sync: str = "bsp",
                 n_jobs: int | None = None) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.solver = solver
        self.positive = positive
        self.random_state = random_state
        self.workers = workers
        self.sync = sync
        self.n_jobs = n_jobs

    def _ratio(self) -> float:
        return 0.0

    def _tolerance(self) -> float:
        """Returns the gap that leaves predictions and coefficients a relative error of about tol: the objective grows with the square of the error."""
        tol = super()._tolerance()
        return max(tol * tol, SMALLEST) if isinstance(tol, float) else tol

    def _alphas(self) -> Array:
        """Returns the weight of the penalty, or one for each column of y."""
        alphas = np.atleast_1d(np.asarray(self.alpha, np.float64))
        if alphas.ndim != 1 or not (alphas >= 0).all() or not np.isfinite(alphas).all():
            raise refuse("alpha", self.alpha, "a number from 0 on, or one for each column of y")
        return alphas

    def _check_solver(self) -> None:
        if getattr(self, "solver", "auto") not in SOLVERS:
            raise refuse("solver", self.solver, " or ".join(map(repr, SOLVERS)) + ", which have the same solution")

    def _options_over(self, total: float) -> dict[str, Any]:
        """Returns the options of a training of one target; the data are elsewhere. `total` is the sum of the samples' weights. Where several solutions are
        equally good, the one of least norm is not sought, as that needs the data."""
        self._check_solver()
        self._check_alphas(1)
        return {**self._shared_options(), "lambda_": float(self._alphas()[0]) / total, "l1_ratio": 0.0}

    def _options_of(self, column: int, X: Any, weights: Array | None) -> dict[str, Any]:
        self._check_solver()
        alphas = self._alphas()
        total = float(X.shape[0] if weights is None else weights.sum())
        penalty = float(alphas[column if len(alphas) > 1 else 0]) / total
        options = self._shared_options()
        if penalty == 0 and X.shape[1] > UNPENALISED:
            spread = spread_of(X)
            least = float(np.min(spread, where=spread > 0, initial=float(spread.max()) or 1.0))
            penalty = max(1e-6 * float(spread.mean()) if self._is_direct(X) else 1e-10 * least, 1e-300)
            if self._is_direct(X):  # the training is only for model_
                options["tol"] = max(options["tol"], 1e-6)
        elif self._is_weak(penalty, X):  # the training is only for model_
            penalty, options["tol"] = 1e-6 * float(spread_of(X).mean()), max(options["tol"], 1e-6)
        return {**options, "lambda_": penalty, "l1_ratio": 0.0}

    def _fit_columns(self, X: Any, targets: Array, weights: Array | None) -> Any:
        self._check_alphas(targets.shape[1])
        return super()._fit_columns(X, targets, weights)

    def _check_alphas(self, targets: int) -> None:
        alphas = self._alphas()
        if len(alphas) not in (1, targets):
            raise ValueError(f"alpha: Number of targets and number of penalties do not correspond: {targets} != {len(alphas)}")

    def _is_direct(self, X: Any) -> bool:
        """Returns whether targets without a penalty get the solution of least norm."""
        return not self.positive and X.shape[0] * X.shape[1] <= MOST

    def _is_weak(self, penalty: float, X: Any) -> bool:
        """Returns whether a penalty is so small beside the columns that its solution is computed directly."""
        few = X.shape[0] <= X.shape[1] or X.shape[1] <= UNPENALISED
        return few and self._is_direct(X) and 0 < penalty < WEAK * float(spread_of(X).mean())

    def _finish(self, X: Any, targets: Array, weights: Array | None) -> None:
        """Takes the solution by a singular value decomposition where the training leaves coefficients open: for targets without a penalty if there are
        several solutions or a small penalty stood for none, and where a penalty is so small that many coefficients are within the duality gap."""
        if not self._is_direct(X):
            return
        whole, total = np.atleast_2d(self.coef_).astype(np.float64), float(X.shape[0] if weights is None else weights.sum())
        alphas = np.broadcast_to(self._alphas(), len(whole))
        with np.errstate(divide="ignore"):
            open_by = np.sqrt(2 * np.maximum(self.dual_gap_, 0) / (alphas / total))  # a penalty bounds the error of coefficients by the gap
        few = X.shape[0] <= X.shape[1] or X.shape[1] <= UNPENALISED
        loose = (alphas == 0) | (few & (open_by > LOOSE * np.linalg.norm(whole, axis=1)) & whole.any(axis=1))
        loose |= np.array([self._is_weak(float(alpha) / total, X) for alpha in alphas])
        if not loose.any():
            return
        centre = None
        if self.fit_intercept:
            shares = np.full(X.shape[0], 1 / X.shape[0]) if weights is None else weights / weights.sum()
            centre = (np.asarray(shares @ X, np.float64).ravel(), np.asarray(shares @ targets))
        nothing = 1e-17 * total * float(spread_of(X).mean())  # a penalty that changes no digit
        found, rank = solve(X, targets, centre, weights, np.where(alphas < nothing, 0.0, alphas))
        if rank == X.shape[1] <= UNPENALISED and not (loose & (alphas > 0)).any():
            return
        whole = np.where(loose[:, None], found.T, whole)
        self.coef_ = whole.reshape(np.shape(self.coef_)).astype(self._type)
        if centre is not None:
            self.intercept_ = (np.atleast_1d(centre[1]) - whole @ centre[0]).astype(self._type)
            if np.ndim(targets) == 1:
                self.intercept_ = self.intercept_[0]


class LinearRegression(Ridge):
    """Least squares without a penalty, as sklearn.linear_model.LinearRegression.

    Minimises sum_i s_i (y_i - w x_i - b)^2. Of several solutions, `coef_` is that of least norm, if X has at most 2e7 numbers. `positive` keeps
    coefficients from falling below 0. y may have several columns. `tol` is as in Ridge, `max_iter`, `workers` and `sync` as in Lasso.

    After fit: `coef_` (n_features,), or (n_targets, n_features) if y has columns, `intercept_`, and all else as in Lasso.

    >>> import hawser
    >>> line = hawser.LinearRegression().fit([[1, 1], [1, 2], [2, 2], [2, 3]], [6.0, 8.0, 9.0, 11.0])
    >>> line.coef_.round(6), float(round(line.intercept_, 6))
    (array([1., 2.]), 3.0)
    """

    def __init__(self, *, fit_intercept: bool = True, copy_X: bool = True, tol: float = 1e-8, max_iter: int | None = None, positive: bool = False,
                 workers: int | None = None, sync: str = "bsp", n_jobs: int | None = None) -> None:
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.tol = tol
        self.max_iter = max_iter
        self.positive = positive
        self.workers = workers
        self.sync = sync
        self.n_jobs = n_jobs

    _keeps_column = True
    alpha = 0.0  # no parameter
    random_state = None


__all__ = ["LinearRegression", "Ridge"]
