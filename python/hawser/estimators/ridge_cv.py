"""Ridge whose alpha is chosen by cross-validation: RidgeCV."""
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics import get_scorer, get_scorer_names

from .._train import LIMITS
from ._base import UNFINISHED, Array, refuse, saved
from ._folds import NoPartition, Pairs, by_row, checked_rule, folds_of, means_of, member_by, pairs_of, refuse_groups, score_by, weights_in
from .ridge import Ridge

MOST = 10**8  # numbers of X for which each sample is left out once
NOTHING = 1e-12  # what rounding leaves of a share of a sample that is 0


def left_out(X: Any, targets: Array, weights: Array, intercept: bool, alphas: Array) -> Iterator[Array]:
    """Gives, for each alpha, the error of each sample (truth less prediction) by the solution for all other samples; shapes are those of targets.

    Z = U diag(s) V' are the centred samples times the roots of their weights. The solution for all samples leaves residuals R, and a sample has the share
    1 - d of its own prediction; without it the residual is R / d. Both R and d are sums of a part that no alpha changes, orthogonal to U, and of a part
    with the factors alpha / (s^2 + alpha). All terms of d are positive, so nothing cancels where alpha is small.
    """
    kept = weights > 0
    count, total = weights[kept], weights.sum()
    whole = np.asarray(X.toarray() if issparse(X) else X, np.float64)
    columns = targets.reshape(len(targets), -1).astype(np.float64)
    centre = (count @ whole[kept] / total, count @ columns[kept] / total) if intercept else (0.0, 0.0)
    whole, columns = whole - centre[0], columns - centre[1]
    roots = np.sqrt(count)[:, None]
    U, s, V = np.linalg.svd(whole[kept] * roots, full_matrices=False)
    rank = int((s > s[:1].sum() * max(whole.shape) * np.finfo(float).eps).sum())
    U, s, V = U[:, :rank], s[:rank], V[:rank]
    scaled = columns[kept] * roots
    inner, squares = U.T @ scaled, U**2
    outside, share = scaled - U @ inner, 1 - squares.sum(axis=1) - (count / total if intercept else 0)
    outside[share < NOTHING], share[share < NOTHING] = 0, 0
    for alpha in alphas:
        factors = alpha / (s**2 + alpha)
        errors = columns - whole @ (V.T @ ((s / (s**2 + alpha))[:, None] * inner))  # of samples without weight, which no solution has used
        with np.errstate(all="ignore"):
            errors[kept] = (outside + U @ (factors[:, None] * inner)) / (share + squares @ factors)[:, None] / roots
        if not np.isfinite(errors).all():
            sample = int(np.flatnonzero(~np.isfinite(errors).all(axis=1))[0])
            raise ValueError(f"cv = None: rounding leaves no error of sample {sample} when it is left out, at alpha = {alpha:g}; give folds, such as cv=5")
        yield errors.reshape(targets.shape)


class _Foretold(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Predicts what it is given, for scorers."""

    def fit(self, X: Any, y: Any) -> "_Foretold":
        return self

    def predict(self, X: Any) -> Any:
        return X


class _OfFold(Ridge):
    """A fit of a cross-validation, whose warnings about max_iter are said once, for all of them."""

    _words = {**Ridge._words, **dict.fromkeys(UNFINISHED)}


class RidgeCV(Ridge):
    """Ridge whose alpha has the best score of cross-validation, as sklearn.linear_model.RidgeCV.

    `alphas` is a number or a list, each above 0. `cv=None` leaves each sample out once, by a closed form that needs one singular value decomposition of
    X, which may have at most 1e8 numbers and is made dense for it. A sample is left out with its whole weight. The score is the negative mean of the
    squared errors with the weights of samples, or `scoring`: any scorer, by name or as a function of estimator, X and y, which gets the predictions of all
    left-out samples. Otherwise `cv` is as in LassoCV, alphas may be 0, and the score of an alpha is the mean over folds of `scoring` (None: "r2") of the
    held-out samples with their weights. Then all samples are trained with the best alpha, and the first of equally good ones.

    `rule` is "min", or "1se": the largest alpha whose score is at most one standard error below the best one. `alpha_per_target` chooses an alpha for each column of y,
    and `store_cv_results` keeps `cv_results_`; both need `cv=None`. `gcv_mode` is taken for scikit-learn's sake: the result does not depend on it. All else is as in
    Ridge.

    After fit: `alpha_`, `best_score_`, what Ridge has, and `cv_results_` (n_samples, n_alphas) or (n_samples, n_targets, n_alphas): squared errors of left-out samples
    times their weights, or, with `scoring`, their predictions.

    >>> import hawser, numpy
    >>> draw = numpy.random.default_rng(0)
    >>> x = draw.normal(size=(50, 3))
    >>> fitted = hawser.RidgeCV(alphas=[0.01, 1.0, 100.0]).fit(x, x @ [1.0, 0.0, -2.0] + draw.normal(size=50))
    >>> fitted.alpha_, fitted.coef_.shape
    (0.01, (3,))
    """

    positive = False  # no parameters of this estimator
    random_state = None
    alpha_: Any
    cv: Any

    def __init__(self, alphas: Any = (0.1, 1.0, 10.0), *, fit_intercept: bool = True, scoring: Any = None, cv: Any = None, gcv_mode: str | None = None,
                 store_cv_results: bool = False, alpha_per_target: bool = False, max_iter: int | None = None, tol: float = 1e-8, rule: str = "min",
                 workers: int | None = None, sync: str = "bsp", n_jobs: int | None = None) -> None:
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.scoring = scoring
        self.cv = cv
        self.gcv_mode = gcv_mode
        self.store_cv_results = store_cv_results
        self.alpha_per_target = alpha_per_target
        self.max_iter = max_iter
        self.tol = tol
        self.rule = rule
        self.workers = workers
        self.sync = sync
        self.n_jobs = n_jobs

    def _alphas(self) -> Array:
        return np.atleast_1d(np.asarray(self.alpha_, np.float64))

    def _grid(self) -> Array:
        """Returns the alphas to choose from."""
        listed = np.ndim(self.alphas) > 0
        given = list(self.alphas) if listed else [self.alphas]
        if not given or np.ndim(self.alphas) > 1:
            raise refuse("alphas", self.alphas, "a number, or a list of them")
        for place, alpha in enumerate(given):
            name = f"alphas[{place}]" if listed else "alphas"
            if isinstance(alpha, (bool, str)) or not isinstance(alpha, (int, float, np.number)):
                raise TypeError(f"{name} must be an instance of float, not {type(alpha).__name__}")
            if not 0 <= alpha < np.inf or (alpha == 0 and self.cv is None):
                raise ValueError(f"{name} == {alpha}, must be {'> 0.0' if self.cv is None else '>= 0.0'} and finite")
        return np.array(given, np.float64)

    def _check(self) -> None:
        for name in ("store_cv_results", "alpha_per_target"):
            if not isinstance(getattr(self, name), (bool, np.bool_)):
                raise refuse(name, getattr(self, name), "True or False")
            if getattr(self, name) and self.cv is not None:
                raise ValueError(f"cv!=None and {name}=True are incompatible: it is one of the errors of each left-out sample, which cv=None has")
        if self.gcv_mode not in (None, "auto", "svd", "eigen"):
            raise refuse("gcv_mode", self.gcv_mode, "None, 'auto', 'svd' or 'eigen', which have the same result")
        if self.scoring is not None and not callable(self.scoring) and self.scoring not in get_scorer_names():
            raise refuse("scoring", self.scoring, "a name of sklearn.metrics.get_scorer_names(), a function of estimator, X and y, or None")
        if checked_rule(self.rule) == "1se" and self.cv is None and self.scoring is not None:
            raise refuse("rule", self.rule, "'min' with scoring= and cv=None: one score of all samples has no standard error")

    @saved
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None,  # type: ignore[override]  # other data cannot choose, too
            checkpoint: Any = None) -> "RidgeCV":
        """Trains. X has shape (n_samples, n_features), dense or sparse; y has one number per sample, or a column per target. `checkpoint` is as in Lasso;
        it has the training with the chosen alpha, and fits of folds are repeated.
        """
        refuse_groups(groups)
        alphas = self._grid()
        self._check()
        self._check_kinds()
        X, y = self._checked(X, y, y_numeric=True, multi_output=True)
        target, weights = self._numbers(y), self._weights(sample_weight, X)
        before: dict[str, Any] = {name: self.__dict__[name] for name in ("alpha_", "best_score_", "cv_results_") if name in self.__dict__}
        self._forget(*before)
        try:
            self._find(X, target, weights, alphas)
        except BaseException:
            self._forget("alpha_", "best_score_", "cv_results_")
            self.__dict__.update(before)  # those of the fit that is still there
            raise
        return self

    def _find(self, X: Any, target: Array, weights: Array | None, alphas: Array) -> None:
        """Chooses alpha, and trains with it."""
        if self.cv is None:
            self._leave_one_out(X, target, weights, alphas)
        else:
            self._cross(X, target, weights, alphas)
        best = self.best_score_  # which a fit of Ridge forgets
        if target.ndim == 2:
            self._fit_columns(X, target, weights)
        else:
            self._fit_numbers(X, target, weights, {})
        self.best_score_ = best

    def _leave_one_out(self, X: Any, target: Array, weights: Array | None, alphas: Array) -> None:
        """Chooses by the errors of each sample when it is left out."""
        rows = X.shape[0]
        counts = np.ones(rows) if weights is None else weights
        if (counts > 0).sum() < 2:
            raise ValueError("cv = None: one sample is left out at a time, and there are fewer than 2 samples with a weight")
        if rows * X.shape[1] > MOST:
            raise ValueError(f"cv = None: X has {rows} x {X.shape[1]} numbers, and leaving each sample out once takes at most {MOST:.0e}; give folds, such as "
                             "cv=5")
        scorer = None if self.scoring is None else get_scorer(self.scoring)
        apart = self.alpha_per_target and target.ndim == 2
        scores: list[Any] = []
        deviations, kept = [], []
        for errors in left_out(X, target, counts, bool(self.fit_intercept), alphas):
            if scorer is None:
                squares = errors**2
                per_sample = squares if apart or target.ndim == 1 else squares.mean(axis=1)
                mean, deviation = means_of(per_sample.T, counts)
                scores.append(-mean)
                deviations.append(deviation)
                kept.append((squares.T * counts).T)
                continue
            found = target - errors
            kept.append(found)
            scores.append([score_by(scorer, self.scoring, _Foretold(), found[:, k], target[:, k], weights) for k in range(target.shape[1])] if apart
                          else score_by(scorer, self.scoring, _Foretold(), found, target, weights))
        self._choose(alphas, np.array(scores), np.array(deviations) if deviations else None)
        if self.store_cv_results:
            self.cv_results_ = np.stack(kept, axis=-1).astype(self._type)

    def _cross(self, X: Any, target: Array, weights: Array | None, alphas: Array) -> None:
        """Chooses by the scores of folds. X is not copied: samples that a fold does not train on have weight 0."""
        try:
            pairs: Pairs = pairs_of(folds_of(self.cv, X, target, classifier=False))
        except NoPartition as split:
            pairs = split.pairs
        if weights is not None:
            pairs = [(train, test) for train, test in pairs if weights[test].any()]
        if not pairs:
            raise ValueError(f"cv = {self.cv!r}: the samples to test have no weight")
        scorer, rows = get_scorer("r2" if self.scoring is None else self.scoring), by_row(X)
        scores = np.empty((len(alphas), len(pairs)))
        cut: list[float] = []
        for k, (train, test) in enumerate(pairs):
            inside = weights_in(train, len(target), weights)
            for place, alpha in enumerate(alphas):
                model = _OfFold(float(alpha), fit_intercept=self.fit_intercept, max_iter=self.max_iter, tol=self.tol, workers=self.workers, sync=self.sync,
                                n_jobs=self.n_jobs).fit(X, target, inside)
                cut += [alpha for each in model.__dict__.get("models_", [model.__dict__.get("model_")]) if each.training.stop_reason in LIMITS]
                scores[place, k] = score_by(scorer, self.scoring, model, rows[test], target[test], None if weights is None else weights[test])
        self._warn_of(cut, scores.size * (1 if target.ndim == 1 else target.shape[1]))
        self._choose(alphas, *means_of(scores, np.ones(len(pairs))))

    def _choose(self, alphas: Array, scores: Array, deviations: Array | None) -> None:
        """Stores the best alpha and its score, or one of each for each column of y; the first axis is that of alphas."""
        if not np.isfinite(scores).any(axis=0).all():
            raise ValueError(f"scoring = {self.scoring!r}: no score of these samples is a number; scores of single samples, such as r2, are none")
        errors = np.where(np.isfinite(scores), -scores, np.inf).reshape(len(alphas), -1)
        spreads = None if deviations is None else deviations.reshape(errors.shape)
        places = errors.argmin(axis=0)
        if self.rule == "1se":
            assert spreads is not None
            falling = np.argsort(-alphas, kind="stable")
            places = np.array([falling[member_by(self.rule, errors[falling, k], spreads[falling, k], self.cv)] for k in range(errors.shape[1])])
        best = -errors[places, np.arange(errors.shape[1])]
        self.alpha_, self.best_score_ = (alphas[places], best) if scores.ndim > 1 else (float(alphas[places[0]]), float(best[0]))


__all__ = ["RidgeCV"]
