"""Logistic regression whose penalty is chosen by cross-validation: LogisticRegressionCV."""
from typing import Any

import numpy as np

from .._model import Model
from ._base import Array, refuse
from .logistic import SOLVERS, LogisticRegression

# The metric of the library for each scoring, and whether scores are 1 - error; else they are -error.
SCORINGS = {None: ("accuracy", True), "accuracy": ("accuracy", True), "neg_log_loss": ("loss", False), "roc_auc": ("auc", True)}


class LogisticRegressionCV(LogisticRegression):
    """LogisticRegression whose C has the best score of cross-validation, as sklearn.linear_model.LogisticRegressionCV.

    `Cs` is a number of values between 1e-4 and 1e4, or a list of them; `l1_ratios` lists ratios. `cv` is as in LassoCV, and a number (None: 5)
    makes stratified folds, which are scikit-learn's. `scoring` is "accuracy" (None), "neg_log_loss" or "roc_auc" (two classes). The
    score of a C is the mean over all held-out samples with the weights of samples and classes, while scikit-learn's is the mean over folds
    without the weights of classes. C counts the samples that are trained on, with the mean over the folds for all of them. Then all
    samples are trained with the best C. `max_iter` limits the clocks of the cross-validation; an error tells if it ends it. `refit` must be True,
    and `use_legacy_attributes` False.

    After fit: `C_`, `l1_ratio_` (numbers), `Cs_`, `l1_ratios_`, `scores_` (n_folds, n_l1_ratios, n_Cs), `mean_scores_` and `standard_error_`
    (n_l1_ratios, n_Cs), and what LogisticRegression has.

    >>> import hawser, numpy
    >>> draw = numpy.random.default_rng(0)
    >>> x = draw.normal(size=(100, 3))
    >>> fitted = hawser.LogisticRegressionCV(Cs=5, scoring="neg_log_loss").fit(x, x[:, 0] + draw.normal(size=100) > 0)
    >>> fitted.Cs_, fitted.C_
    (array([1.e-04, 1.e-02, 1.e+00, 1.e+02, 1.e+04]), 1.0)
    """

    _words = {"--path": "Cs, of which a larger one is a smaller lambda", "--cv": "cv"}
    cv: Any
    Cs: Any
    l1_ratios: Any
    scoring: str | None
    refit: bool
    use_legacy_attributes: bool

    def __init__(self, *, Cs: Any = 10, l1_ratios: Any = (0.0,), fit_intercept: bool = True, cv: Any = None, dual: bool = False,
                 scoring: str | None = None, solver: str = "lbfgs", tol: float = 1e-6, max_iter: int | None = None,
                 class_weight: Any = None, verbose: int = 0, refit: bool = True, intercept_scaling: float = 1.0,
                 random_state: Any = None, use_legacy_attributes: bool = False, workers: int | None = None, sync: str = "bsp",
                 n_jobs: int | None = None) -> None:
        self.Cs = Cs
        self.l1_ratios = l1_ratios
        self.fit_intercept = fit_intercept
        self.cv = cv
        self.dual = dual
        self.scoring = scoring
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.verbose = verbose
        self.refit = refit
        self.intercept_scaling = intercept_scaling
        self.random_state = random_state
        self.use_legacy_attributes = use_legacy_attributes
        self.workers = workers
        self.sync = sync
        self.n_jobs = n_jobs

    def _grid(self) -> tuple[Array, Array]:
        """Returns the values of C, and the ratios."""
        if isinstance(self.Cs, (int, np.integer)):
            Cs = np.logspace(-4, 4, max(int(self.Cs), 0))
        else:
            Cs = np.ravel(np.asarray(self.Cs, dtype=np.float64))
        if len(Cs) == 0 or not (Cs > 0).all() or not np.isfinite(Cs).all():
            raise refuse("Cs", self.Cs, "a number of values from 1, or a list of them, finite and above 0")
        ratios = np.ravel(np.asarray([] if self.l1_ratios is None else self.l1_ratios, dtype=np.float64))
        if len(ratios) == 0:
            raise refuse("l1_ratios", self.l1_ratios, "a list of numbers from 0 to 1")
        return Cs, ratios

    def _check(self, classes: int) -> None:
        for name, value, allowed in (("refit", self.refit, (True,)), ("scoring", self.scoring, tuple(SCORINGS)),
                                     ("use_legacy_attributes", self.use_legacy_attributes, (False,)),
                                     ("intercept_scaling", self.intercept_scaling, (1,)), ("solver", self.solver, SOLVERS)):
            if value not in allowed:
                raise refuse(name, value, " or ".join(map(repr, allowed)))
        if classes > 2 and self.scoring == "roc_auc":
            raise refuse("scoring", self.scoring, "'roc_auc' for two classes only")

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "LogisticRegressionCV":  # type: ignore[override]  # other data cannot choose, too
        """Trains. X has shape (n_samples, n_features), dense or sparse; y has a label per sample, a number or a word."""
        Cs, ratios = self._grid()
        self._forget("C_", "Cs_", "l1_ratio_", "l1_ratios_", "scores_", "mean_scores_", "standard_error_", "trace_")
        X, places, weights = self._fit_classes(X, y, sample_weight)
        classes = len(self.classes_)
        self._check(classes)
        fold, folds = self._folds(X, places, classifier=True)
        algorithm = "logistic" if classes == 2 else "softmax"
        shared: dict[str, Any] = {"intercept": bool(self.fit_intercept), "tol": self.tol, "max_clocks": self.max_iter}
        total = self._total(X, weights)
        lambdas = folds / ((folds - 1) * total * Cs)  # of a C for the mean weight of the samples that a fold trains on
        metric, positive = SCORINGS[self.scoring]
        scores, errors = np.empty((len(ratios), len(Cs))), np.empty((len(ratios), len(Cs)))
        by_fold = np.empty((folds, len(ratios), len(Cs)))
        for k, ratio in enumerate(ratios):
            model = self._train(algorithm, X, places, weights, trace=False, folds=fold, cv=folds, cv_metric=metric, cv_rule="min",
                                path=list(lambdas) * (2 if len(Cs) == 1 else 1), l1_ratio=float(ratio), init=None, **shared)
            scores[k], errors[k], by_fold[:, k] = self._scores(model, Cs, positive)
        # As in scikit-learn, the first C is taken of those with equal scores, and then the first ratio.
        best = np.unravel_index(scores.T.argmax(), scores.T.shape)
        self.Cs_, self.l1_ratios_, self.scores_, self.mean_scores_, self.standard_error_ = Cs, ratios, by_fold, scores, errors
        self.C_, self.l1_ratio_ = float(Cs[best[0]]), float(ratios[best[1]])
        self._train(algorithm, X, places, weights, C=self.C_, l1_ratio=self.l1_ratio_, **shared)
        return self

    def _total(self, X: Any, weights: Array | None) -> float:
        """Returns the sum of the weights, those of classes included."""
        return float(X.shape[0] if weights is None else weights.sum())

    def _scores(self, model: Model, Cs: Array, positive: bool) -> tuple[Array, Array, Array]:
        """Returns the score of each C, its standard error, and scores by fold, in the order of Cs. The path's are in that of rising C."""
        self._check_errors(model)
        path = model.path
        assert path.error is not None and path.standard_error is not None and path.fold_errors is not None
        place = np.argsort(np.argsort(Cs, kind="stable"), kind="stable")
        error, by_fold = path.error[place], path.fold_errors[place].T
        return (1 - error if positive else -error), path.standard_error[place], (1 - by_fold if positive else -by_fold)


__all__ = ["LogisticRegressionCV"]
