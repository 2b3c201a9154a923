"""Logistic regression whose penalty is chosen by cross-validation: LogisticRegressionCV."""
import inspect
from typing import Any

import numpy as np
from sklearn.metrics import get_scorer, get_scorer_names, make_scorer
from sklearn.utils.validation import check_is_fitted

from .._model import Model
from ._base import UNFINISHED, Array, has_errors, is_array, listed, refuse, saved
from ._folds import NoPartition, Pairs, by_row, checked_rule, means_of, member_by, pairs_of, refuse_groups, score_by, weights_in
from .logistic import SOLVERS, LogisticRegression

# The metric of the library for each scoring, and whether scores are 1 - error; else they are -error.
SCORINGS = {None: ("accuracy", True), "accuracy": ("accuracy", True), "neg_log_loss": ("loss", False), "roc_auc": ("auc", True)}


NONE: tuple[str, ...] = ()
ABSENT = -1e3  # the intercept of a class that a fold has not: as good as no probability


def algorithm_of(classes: int) -> str:
    return "logistic" if classes == 2 else "softmax"


class Part:
    """What a fold trains on, which may lack some of the classes."""

    def __init__(self, places: Array, weights: Array, classes: int, cv: Any) -> None:
        self.present, self.classes = np.unique(places[weights > 0]).astype(int), classes
        self.count, self.weights = len(self.present), weights
        if self.count < 2:
            raise ValueError(f"cv = {cv!r}: a fold trains on samples of {self.count} class{'' if self.count == 1 else 'es'} only; use fewer folds, or "
                             "folds with samples of each class (StratifiedKFold)")
        self.places = places if self.count == classes else np.minimum(np.searchsorted(self.present, places), self.count - 1).astype(np.float64)

    def whole(self, coefficients: Array, intercept: Any) -> tuple[Array, Array]:
        """Returns coefficients and intercepts for all classes."""
        found, offsets = np.atleast_2d(coefficients), np.atleast_1d(np.asarray(intercept, np.float64))
        if self.count == self.classes:
            return found, offsets
        if self.count == 2:  # the margin of the higher class is shared by both
            found, offsets = np.concatenate([-found, found]) / 2, np.concatenate([-offsets, offsets]) / 2
        whole, every = np.zeros((self.classes, found.shape[1])), np.full(self.classes, offsets.min() + ABSENT)
        whole[self.present], every[self.present] = found, offsets
        return whole, every


def for_classes(scorer: Any, classes: Array) -> Any:
    """Returns a scorer that knows all classes, of which the samples of a fold may lack some, as scikit-learn makes it."""
    function = getattr(scorer, "_score_func", None)
    takes = {} if function is None else inspect.signature(function).parameters
    if "labels" not in takes:
        return scorer
    known = {"labels": classes, **({"pos_label": classes[-1]} if len(classes) == 2 and "pos_label" in takes else {})}
    return make_scorer(function, greater_is_better=scorer._sign == 1, response_method=scorer._response_method, **{**known, **scorer._kwargs})


class Score:
    """Scores models on the samples that a fold holds out."""

    def __init__(self, estimator: "LogisticRegressionCV", places: Array, weights: Array | None, samples: Array | None) -> None:
        """`weights` are those of samples and classes, which a measure of ours counts, `samples` those of samples, which a scorer gets."""
        self.labels, self.weights = estimator.classes_[places.astype(int)], weights
        self.scoring = estimator.scoring
        self.ours = estimator.scoring is None or (isinstance(estimator.scoring, str) and estimator.scoring in SCORINGS)
        self.given = weights if self.ours else samples
        self.scorer = for_classes(get_scorer("accuracy" if estimator.scoring is None else estimator.scoring), estimator.classes_)
        self.model = LogisticRegression()
        self.model.classes_ = estimator.classes_

    def __call__(self, model: tuple[Array, Array], rows: Any, test: Array) -> float:
        self.model.coef_, self.model.intercept_ = model
        self.model.n_features_in_ = rows.shape[1]
        return score_by(self.scorer, self.scoring, self.model, rows, self.labels[test], None if self.given is None else self.given[test])

    def shares(self, pairs: Pairs) -> Array:
        """Returns how much each fold counts: in a measure of ours by the weights of its samples, else all alike, as in scikit-learn."""
        if not self.ours:
            return np.ones(len(pairs))
        return np.array([len(test) if self.weights is None else self.weights[test].sum() for _, test in pairs], np.float64)


class LogisticRegressionCV(LogisticRegression):
    """LogisticRegression whose C has the best score of cross-validation, as sklearn.linear_model.LogisticRegressionCV.

    `Cs` is a number of values between 1e-4 and 1e4, or a list of them; `l1_ratios` lists ratios. `cv` is as in LassoCV, and a number (None: 5)
    makes stratified folds, which are scikit-learn's. `scoring` is any scorer, by name or as a function of estimator, X and y; None is "accuracy".
    The score of a C by "accuracy", "neg_log_loss" or "roc_auc" (two classes) is the mean over all held-out samples with the weights of samples and
    classes, while scikit-learn's is the mean over folds without the weights of classes. By another scorer it is the mean over folds, as there. C
    counts the samples that are trained on, with the mean over the folds for all of them if each sample is held out once. Then all samples are
    trained with the best C; or, if not `refit`, the models of the folds' best C are averaged, and there is no `model_`. `max_iter` is as in LassoCV.
    `use_legacy_attributes` must be False. `rule` is "min", the best score, or "1se": the least C whose score is at most one standard error below it.

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
    scoring: Any
    refit: bool
    use_legacy_attributes: bool
    rule: str

    def __init__(self, *, Cs: Any = 10, l1_ratios: Any = (0.0,), fit_intercept: bool = True, cv: Any = None, dual: bool = False,
                 scoring: Any = None, solver: str = "lbfgs", tol: float = 1e-6, max_iter: int | None = None,
                 class_weight: Any = None, verbose: int = 0, refit: bool = True, intercept_scaling: float = 1.0,
                 random_state: Any = None, use_legacy_attributes: bool = False, rule: str = "min", workers: int | None = None,
                 sync: str = "bsp", n_jobs: int | None = None) -> None:
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
        self.rule = rule
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
        for name, value, allowed in (("refit", self.refit, (True, False)), ("use_legacy_attributes", self.use_legacy_attributes, (False,)),
                                     ("intercept_scaling", self.intercept_scaling, (1,)), ("solver", self.solver, SOLVERS)):
            if value not in allowed:
                raise refuse(name, value, " or ".join(map(repr, allowed)))
        if checked_rule(self.rule) == "1se" and not self.refit:
            raise refuse("refit", self.refit, "True if rule is '1se', which is one of the mean scores")
        if self.scoring is not None and not callable(self.scoring) and self.scoring not in get_scorer_names():
            raise refuse("scoring", self.scoring, "a name of sklearn.metrics.get_scorer_names(), a function of estimator, X and y, or None")
        if classes > 2 and self.scoring == "roc_auc":
            raise refuse("scoring", self.scoring, "'roc_auc' for two classes only; 'roc_auc_ovr' takes more")

    def _is_ours(self) -> bool:
        """Returns whether the library can measure the scores in its cross-validation."""
        return self.refit and (self.scoring is None or isinstance(self.scoring, str)) and self.scoring in SCORINGS

    @saved
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None,  # type: ignore[override]  # other data cannot choose, too
            checkpoint: Any = None) -> "LogisticRegressionCV":
        """Trains. X has shape (n_samples, n_features), dense or sparse; y has a label per sample, a number or a word. `checkpoint` is as in Lasso."""
        refuse_groups(groups)
        self._check_kinds()
        Cs, ratios = self._grid()
        self._forget("C_", "Cs_", "l1_ratio_", "l1_ratios_", "scores_", "mean_scores_", "standard_error_", "trace_")
        X, places, weights = self._fit_classes(X, y, sample_weight)
        classes = len(self.classes_)
        self._check(classes)
        try:
            fold, folds = self._folds(X, places, classifier=True)
        except NoPartition as split:
            if not is_array(X):
                raise
            return self._fit_by_fold(X, places, weights, sample_weight, split.pairs)
        if not self._is_ours():
            if not is_array(X):
                raise refuse("refit" if not self.refit else "scoring", self.refit and self.scoring,
                             f"{'True' if not self.refit else ' or '.join(map(repr, SCORINGS))} where X is no array of this process")
            return self._fit_by_fold(X, places, weights, sample_weight, pairs_of(fold))
        algorithm = algorithm_of(classes)
        shared, silent = self._shared(), NONE
        total = self._total(X, weights)
        lambdas = folds / ((folds - 1) * total * Cs)  # of a C for the mean weight of the samples that a fold trains on
        metric, positive = SCORINGS[self.scoring]
        scores, errors = np.empty((len(ratios), len(Cs))), np.empty((len(ratios), len(Cs)))
        by_fold = np.empty((folds, len(ratios), len(Cs)))
        limit: dict[str, Any] = {}
        if self.max_iter is not None:  # of all fits together here; if they need more, each has its own limit
            limit, silent = {"max_clocks": int(self.max_iter) * len(Cs) * (folds + 1)}, UNFINISHED if is_array(X) else NONE
        for k, ratio in enumerate(ratios):
            model = self._train(algorithm, X, places, weights, trace=False, silent=silent, folds=fold, cv=folds, cv_metric=metric, cv_rule="min",
                                path=listed(lambdas), l1_ratio=float(ratio), init=None, **shared, **limit)
            if silent and not has_errors(model):
                return self._fit_by_fold(X, places, weights, sample_weight, pairs_of(fold))
            scores[k], errors[k], by_fold[:, k] = self._scores(model, Cs, positive)
        self._choose(Cs, ratios, by_fold, scores, errors)
        self._train(algorithm, X, places, weights, C=self.C_, l1_ratio=self.l1_ratio_, max_clocks=self.max_iter, **shared)
        return self

    def _shared(self) -> dict[str, Any]:
        """Returns the options of all trainings."""
        return {"intercept": bool(self.fit_intercept), "tol": self._tolerance()}

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Returns the score of the samples by `scoring`, as scikit-learn's does."""
        check_is_fitted(self)
        return score_by(get_scorer("accuracy" if self.scoring is None else self.scoring), self.scoring, self, X, y, sample_weight)

    def _choose(self, Cs: Array, ratios: Array, by_fold: Array, scores: Array, errors: Array) -> None:
        """Stores the scores, and takes C and ratio. As in scikit-learn, the first C is best of those with equal scores, and then the first ratio. By
        "1se" it is the least C of that ratio within one standard error."""
        best = np.unravel_index(scores.T.argmax(), scores.T.shape)
        self.Cs_, self.l1_ratios_, self.scores_, self.mean_scores_, self.standard_error_ = Cs, ratios, by_fold, scores, errors
        k, place = best[1], best[0]
        if self.rule == "1se":
            order = np.argsort(Cs, kind="stable")
            place = order[member_by(self.rule, -scores[k, order], errors[k, order], self.cv)]
        self.C_, self.l1_ratio_ = float(Cs[place]), float(ratios[k])

    def _fit_by_fold(self, X: Any, places: Array, weights: Array | None, sample_weight: Any, pairs: Pairs) -> "LogisticRegressionCV":
        """Trains the path of each fold by itself, for any splits and any scorer, or to average the folds' models."""
        self._check_kinds()
        Cs, ratios = self._grid()
        rows, order = by_row(X), np.argsort(Cs, kind="stable")
        score = Score(self, places, weights, self._weights(sample_weight, X))
        scores = np.empty((len(pairs), len(ratios), len(Cs)))
        cut: list[float] = []
        kept = []
        for number, (train, test) in enumerate(pairs):
            part = Part(places, weights_in(train, len(places), weights), len(self.classes_), self.cv)
            held, best = rows[test], None
            for k, ratio in enumerate(ratios):
                fits = self._solutions(algorithm_of(part.count), X, part.places, part.weights, 1 / (part.weights.sum() * Cs[order]), cut,
                                       l1_ratio=float(ratio), **self._shared())
                for place, (coefficients, intercept) in zip(order, fits, strict=True):
                    model = part.whole(coefficients, intercept)
                    scores[number, k, place] = found = score(model, held, test)
                    if not self.refit and (best is None or found > best[0] or (found == best[0] and (place, k) < best[1])):
                        best = found, (place, k), model
            kept.append(best)
        self._warn_of(cut, scores.size)
        self._choose(Cs, ratios, scores, *(means.reshape(len(ratios), len(Cs)) for means in means_of(np.moveaxis(scores, 0, -1), score.shares(pairs))))
        if self.refit:
            self._train(algorithm_of(len(self.classes_)), X, places, weights, C=self.C_, l1_ratio=self.l1_ratio_, max_clocks=self.max_iter,
                        **self._shared())
        else:
            self._average([best for best in kept if best is not None])
        return self

    def _average(self, best: list[tuple[float, tuple[int, int], tuple[Array, Array]]]) -> None:
        """Takes the means over the folds of the best models, of their C and of their ratios."""
        self._forget("model_", "dual_gap_", "n_iter_")
        self.C_ = float(np.mean([self.Cs_[place] for _, (place, _), _ in best]))
        self.l1_ratio_ = float(np.mean([self.l1_ratios_[k] for _, (_, k), _ in best]))
        self.coef_ = np.mean([coefficients for _, _, (coefficients, _) in best], axis=0).astype(self._type)
        self.intercept_ = np.mean([intercept for _, _, (_, intercept) in best], axis=0).astype(self._type)

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
