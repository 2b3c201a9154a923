"""Folds of a cross-validation: scikit-learn's splitters, and what is computed from the samples of a fold."""
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.model_selection import check_cv

from .._numbers import Array

Pairs = list[tuple[Array, Array]]  # of samples to train on and to test


class NoPartition(ValueError):
    """The splits do not hold each sample out once and train on it otherwise. `pairs` has them."""

    def __init__(self, cv: Any, pairs: Pairs) -> None:
        super().__init__(f"cv = {cv!r}: every sample must be in the test set of one fold and in the training sets of all others, as with "
                         "KFold, StratifiedKFold, GroupKFold and LeaveOneOut; other splits need arrays on one node")
        self.pairs = pairs


def folds_of(cv: Any, X: Any, y: Array | None, classifier: bool) -> Array:
    """Returns the fold of each row, from 1. `cv` is a number, None, a splitter, or pairs of rows to train and to test."""
    splitter, rows = check_cv(cv, y, classifier=classifier), X.shape[0]
    every = np.arange(rows)
    pairs = [(every[train], every[test]) for train, test in splitter.split(X, y)]
    if not pairs or not all(len(train) and len(test) for train, test in pairs):
        raise ValueError(f"cv = {cv!r}: it makes {'a split without samples to train on or to test' if pairs else 'no splits'}")
    fold, whole = np.zeros(rows, np.int64), len(pairs) > 1
    for number, (train, test) in enumerate(pairs, 1):
        times = np.bincount(train, minlength=rows) + np.bincount(test, minlength=rows)
        whole = whole and not fold[test].any() and bool((times == 1).all())
        fold[test] = number
    if not whole or not fold.all():
        raise NoPartition(cv, pairs)
    return fold


def refuse_groups(groups: Any) -> None:
    """Raises an error that says how a cross-validation keeps groups together."""
    if groups is not None:
        raise ValueError("groups: give the folds instead, cv=list(GroupKFold(5).split(X, y, groups)) of sklearn.model_selection")


def pairs_of(fold: Array) -> Pairs:
    """Returns the pairs of folds that hold each row out once."""
    return [(np.flatnonzero(fold != number), np.flatnonzero(fold == number)) for number in range(1, int(fold.max()) + 1)]


def weights_in(train: Array, rows: int, weights: Array | None) -> Array:
    """Returns the weights of all samples in a fold: 0 for those that it does not train on, so that no part of X is copied."""
    times = np.bincount(train, minlength=rows).astype(np.float64)
    return times if weights is None else times * weights


def by_row(X: Any) -> Any:
    """Returns data of which rows can be taken."""
    return X.tocsr() if issparse(X) else X


def means_of(values: Array, shares: Array) -> tuple[Array, Array]:
    """Returns the means over folds, the last axis, and their standard errors, which are unknown (NaN) for one fold."""
    shares = shares / shares.sum()
    means = values @ shares
    spread = (values - means[..., None]) ** 2 @ shares
    with np.errstate(divide="ignore", invalid="ignore"):
        return means, np.sqrt(spread / (len(shares) - 1)) if len(shares) > 1 else np.full(means.shape, np.nan)


def score_by(scorer: Any, scoring: Any, model: Any, X: Any, y: Any, weights: Array | None) -> float:
    """Returns the score of samples, by their weights if they have some. Refuses a scorer that takes none."""
    try:
        return float(scorer(model, X, y, **({} if weights is None else {"sample_weight": weights})))
    except TypeError as error:
        if weights is None or "sample_weight" not in str(error):
            raise
        raise ValueError(f"scoring = {scoring!r}: it takes no sample_weight, and the samples have weights; give a scorer that does, or leave the weights "
                         "out") from error


def member_by(rule: str, error: Array, standard_error: Array, cv: Any) -> int:
    """Returns the member with the least error, or by "1se" the first one within one standard error of it; the first has the largest penalty."""
    least = int(error.argmin())
    if rule == "min":
        return least
    if not np.isfinite(standard_error[least]):
        raise ValueError(f"cv = {cv!r}: it makes one split, and rule='1se' needs the standard error of several")
    return int(np.argmax(error <= error[least] + standard_error[least]))


def checked_rule(rule: Any) -> str:
    if not isinstance(rule, str) or rule not in ("min", "1se"):
        raise ValueError(f"rule = {rule!r}: it is 'min', the least error, or '1se', the largest penalty within one standard error of it")
    return rule


__all__ = ["NoPartition", "Pairs", "by_row", "checked_rule", "folds_of", "means_of", "member_by", "pairs_of", "score_by", "weights_in"]
