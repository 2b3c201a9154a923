"""Linear regression whose penalty is chosen by cross-validation: LassoCV, ElasticNetCV."""
from typing import Any

import numpy as np

from .._model import Model
from ._base import UNFINISHED, Array, has_errors, is_array, listed, refuse, saved
from ._folds import NoPartition, Pairs, by_row, checked_rule, means_of, member_by, pairs_of, refuse_groups, weights_in
from .linear import _Penalised


def ratios_of(l1_ratio: Any) -> list[float]:
    """Returns the ratios that a cross-validation tries."""
    ratios = [float(ratio) for ratio in np.atleast_1d(l1_ratio)]
    if not ratios:
        raise refuse("l1_ratio", l1_ratio, "a number, or a list of them")
    return ratios


class _Crossed(_Penalised):
    """Fits a path of alphas on all samples and without each fold, and takes an alpha by the errors."""

    _words = {"--path": "alphas", "--lambda-min-ratio": "eps", "--cv": "cv", "lambda": "alpha", "lambdas": "alphas"}
    _takes_columns = False
    eps: float
    alphas: Any
    cv: Any
    rule: str

    def _ratios(self) -> list[float]:
        return [1.0]

    def _count(self) -> int | None:
        """Returns how many alphas to choose from; None if they are listed."""
        if not isinstance(self.alphas, (int, np.integer)):
            return None
        if self.alphas < 1:
            raise refuse("alphas", self.alphas, "a number of alphas from 1, or a list of them")
        if not 0 < self.eps <= 1:
            raise refuse("eps", self.eps, "a number above 0, and at most 1")
        return int(self.alphas)

    def _alphas(self, X: Any, target: Any, weights: Array | None, ratio: float) -> Array:
        """Returns the alphas, from high to low."""
        count = self._count()
        if count is None:
            alphas = np.sort(np.ravel(np.asarray(self.alphas, dtype=np.float64)))[::-1]
            if len(alphas) == 0 or not (alphas > 0).all():
                raise refuse("alphas", self.alphas, "a number of alphas, or a list of them, each above 0")
            return alphas
        if ratio == 0:
            raise refuse("l1_ratio", ratio, "more than 0 unless alphas= lists the alphas")
        options = {key: value for key, value in self._shared_options().items() if key != "max_clocks"}
        model = self._call(self._algorithm, X, target, weights, l1_ratio=ratio, path=1, init=None, **options)
        largest: float = float(model.facts["lambda"])
        return largest * np.power(self.eps, np.arange(count) / max(1, count - 1))

    def _grid(self, X: Any, target: Any, weights: Array | None, ratio: float) -> dict[str, Any]:
        """Returns the options of the alphas: the library finds them if they are many."""
        count = self._count()
        if count is None or count == 1 or self.eps == 1 or ratio == 0:
            return {"path": listed(self._alphas(X, target, weights, ratio))}
        return {"path": count, "lambda_min_ratio": self.eps}

    @saved
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None,  # type: ignore[override]  # other data cannot choose, too
            checkpoint: Any = None) -> Any:
        """Trains. X has shape (n_samples, n_features), dense or sparse; y has one number per sample. `checkpoint` is as in Lasso."""
        refuse_groups(groups)
        X, y = self._checked(X, y, y_numeric=True)
        weights, target, rule = self._weights(sample_weight, X), self._numbers(y), checked_rule(self.rule)
        self._forget("alphas_", "mean_mse_", "mse_path_", "standard_error_", "l1_ratio_")
        try:
            fold, folds = self._folds(X, y, classifier=False)
        except NoPartition as split:
            if not is_array(X):
                raise
            return self._fit_by_fold(X, target, weights, split.pairs)
        ratios = self._ratios()
        found: list[Model] = []
        for ratio in ratios:
            options = {**self._shared_options(), **self._grid(X, target, weights, ratio), "l1_ratio": ratio, "cv": folds, "cv_rule": rule}
            silent: tuple[str, ...] = ()
            if self.max_iter is not None:  # of all fits together here; if they need more, each has its own limit
                fits = self._count() or len(options["path"])
                options["max_clocks"], silent = int(self.max_iter) * fits * (folds + 1), UNFINISHED if is_array(X) else ()
            found.append(self._train(self._algorithm, X, target, weights, trace=False, folds=fold, silent=silent, **options))
            if silent and not has_errors(found[-1]):
                return self._fit_by_fold(X, target, weights, pairs_of(fold))
            self._check_errors(found[-1])
        self._choose(ratios, found)
        return self

    def _fit_by_fold(self, X: Any, target: Array, weights: Array | None, pairs: Pairs) -> Any:
        """Trains the path of each fold by itself, for any splits. An error is the mean over all held-out samples with their weights, here too."""
        self._check_kinds()
        ratios, rows = self._ratios(), by_row(X)
        options = {key: value for key, value in self._shared_options().items() if key != "max_clocks"}
        counts = np.array([len(test) if weights is None else weights[test].sum() for _, test in pairs], np.float64)
        if not counts.sum() > 0:
            raise ValueError(f"cv = {self.cv!r}: the samples to test have no weight")
        paths = []
        cut: list[float] = []
        for ratio in ratios:
            alphas = self._alphas(X, target, weights, ratio)
            errors = np.empty((len(alphas), len(pairs)))
            for k, (train, test) in enumerate(pairs):
                inside, held = weights_in(train, len(target), weights), rows[test]
                fits = self._solutions(self._algorithm, X, target, inside, alphas, cut, l1_ratio=ratio, **options)
                for member, (coefficients, intercept) in enumerate(fits):
                    squares = (held @ coefficients.T + intercept - target[test]) ** 2
                    squares = squares if squares.ndim == 1 else squares.mean(axis=1)
                    of_test = None if weights is None else weights[test]
                    errors[member, k] = np.average(squares, weights=of_test) if counts[k] > 0 else np.nan
            used = counts > 0
            mean, error = means_of(errors[:, used], counts[used])
            paths.append((alphas, mean, error, errors))
        self._warn_of(cut, sum(errors.size for _, _, _, errors in paths))
        best = int(np.argmin([mean.min() for _, mean, _, _ in paths]))
        alphas, mean, error, _ = paths[best]
        chosen = float(alphas[member_by(self.rule, mean, error, self.cv)])
        self._train(self._algorithm, X, target, weights, trace=False, lambda_=chosen, l1_ratio=ratios[best], **self._shared_options())
        self.l1_ratio_ = ratios[best]
        self._keep_paths(paths, best)
        return self

    def _choose(self, ratios: list[float], found: list[Model]) -> None:
        """Takes the model whose path has the least error, and the first of them if there are several."""
        paths = [self._members(model) for model in found]
        best = int(np.argmin([error.min() for _, error, _, _ in paths]))
        self._take(found[best], None)
        self.l1_ratio_ = ratios[best]
        self._keep_paths(paths, best)

    def _keep_paths(self, paths: list[tuple[Array, Array, Array, Array]], best: int) -> None:
        """Stores alphas, errors, standard errors, and errors by fold: of each ratio, if there are several."""
        if len(paths) == 1:
            self.alphas_, self.mean_mse_, self.standard_error_, self.mse_path_ = paths[best]
            return
        alphas, self.mean_mse_, self.standard_error_, self.mse_path_ = (np.stack(lines) for lines in zip(*paths, strict=True))
        self.alphas_ = alphas[0] if self._count() is None else alphas

    def _members(self, model: Model) -> tuple[Array, Array, Array, Array]:
        """Returns alphas, errors, standard errors, and errors by fold."""
        path = model.path
        assert path.error is not None and path.standard_error is not None and path.fold_errors is not None
        end = 1 if self._count() == 1 or (self._count() is None and np.size(self.alphas) == 1) else len(path)
        return path.values[:end], path.error[:end], path.standard_error[:end], path.fold_errors[:end]

    def _take_parameters(self, model: Model) -> None:
        super()._take_parameters(model)
        self.alpha_ = float(model.facts["lambda"])
        path = getattr(model, "path", None)
        if path is not None and path.error is not None:
            self.alphas_, self.mean_mse_, self.standard_error_, self.mse_path_ = self._members(model)


class LassoCV(_Crossed):
    """Lasso whose alpha has the least error of cross-validation, as sklearn.linear_model.LassoCV.

    `alphas` is a number of alphas, which then fall from the largest useful one to `eps` times that, or a list of them. `cv` is a number
    of folds (None: 5), a splitter or a list of pairs, and each sample must be held out once: other splitters are refused. Folds
    are scikit-learn's. The error of an alpha is the mean over all held-out samples with their weights, while scikit-learn's is the
    mean over folds; these differ where folds have different sizes. `tol` is that of Lasso, for each fit. `max_iter` limits
    the clocks of all fits together; an error tells if it ends them. `rule` is "min", or "1se": the largest alpha whose error is at most one
    standard error above the least one.

    After fit: `alpha_`, `alphas_` (n_alphas,), `mse_path_` (n_alphas, n_folds), `mean_mse_` and `standard_error_` (n_alphas,), `coef_`
    (n_features,), `intercept_`, `dual_gap_`, `n_iter_` (clocks of all fits), `model_` (`model_.path` has all members), `interrupted_`.

    >>> import hawser, numpy
    >>> draw = numpy.random.default_rng(0)
    >>> x = draw.normal(size=(100, 3))
    >>> fitted = hawser.LassoCV(cv=5).fit(x, x @ [1.0, 0.0, -2.0] + draw.normal(size=100))
    >>> fitted.mse_path_.shape, bool(fitted.alpha_ == fitted.alphas_[fitted.mean_mse_.argmin()])
    ((100, 5), True)
    """

    def __init__(self, *, eps: float = 1e-3, alphas: Any = 100, fit_intercept: bool = True, precompute: Any = "auto",
                 max_iter: int | None = None, tol: float = 1e-6, copy_X: bool = True, cv: Any = None, verbose: bool = False,
                 positive: bool = False, random_state: Any = None, selection: str = "cyclic", rule: str = "min",
                 workers: int | None = None, sync: str = "bsp", n_jobs: int | None = None) -> None:
        self.eps = eps
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.max_iter = max_iter
        self.tol = tol
        self.copy_X = copy_X
        self.cv = cv
        self.verbose = verbose
        self.positive = positive
        self.random_state = random_state
        self.selection = selection
        self.rule = rule
        self.workers = workers
        self.sync = sync
        self.n_jobs = n_jobs


class ElasticNetCV(_Crossed):
    """ElasticNet whose alpha, and l1_ratio of a list, have the least error of cross-validation, as sklearn.linear_model.ElasticNetCV.

    `l1_ratio` is a number or a list. All else is as in LassoCV; `rule="1se"` takes an alpha of the ratio that has the least error.

    After fit: as LassoCV, and `l1_ratio_`. With several ratios `alphas_`, `mean_mse_` and `standard_error_` have shape
    (n_l1_ratios, n_alphas), `mse_path_` (n_l1_ratios, n_alphas, n_folds), and alphas_ (n_alphas,) if `alphas` lists them.

    >>> import hawser, numpy
    >>> draw = numpy.random.default_rng(0)
    >>> x = draw.normal(size=(100, 3))
    >>> fitted = hawser.ElasticNetCV(l1_ratio=[0.5, 0.9], alphas=20).fit(x, x @ [1.0, 0.0, -2.0] + draw.normal(size=100))
    >>> fitted.l1_ratio_, fitted.mean_mse_.shape
    (0.5, (2, 20))
    """

    def __init__(self, *, l1_ratio: Any = 0.5, eps: float = 1e-3, alphas: Any = 100, fit_intercept: bool = True,
                 precompute: Any = "auto", max_iter: int | None = None, tol: float = 1e-6, cv: Any = None,
                 copy_X: bool = True, verbose: int = 0, positive: bool = False, random_state: Any = None,
                 selection: str = "cyclic", rule: str = "min", workers: int | None = None, sync: str = "bsp",
                 n_jobs: int | None = None) -> None:
        self.l1_ratio = l1_ratio
        self.eps = eps
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.max_iter = max_iter
        self.tol = tol
        self.cv = cv
        self.copy_X = copy_X
        self.verbose = verbose
        self.positive = positive
        self.random_state = random_state
        self.selection = selection
        self.rule = rule
        self.workers = workers
        self.sync = sync
        self.n_jobs = n_jobs

    def _ratios(self) -> list[float]:
        return ratios_of(self.l1_ratio)


__all__ = ["ElasticNetCV", "LassoCV", "ratios_of"]
