"""Folds of a cross-validation: scikit-learn's splitters, as the number of the fold that each row is held out in."""
from typing import Any

import numpy as np
from sklearn.model_selection import check_cv

from .._dataset import Array


def folds_of(cv: Any, X: Any, y: Array | None, classifier: bool) -> Array:
    """Returns the fold of each row, from 1. `cv` is a number, None, a splitter, or pairs of rows to train and to test."""
    splitter, rows = check_cv(cv, y, classifier=classifier), X.shape[0]
    fold = np.zeros(rows, np.int64)
    every = np.arange(rows)
    for number, (train, test) in enumerate(splitter.split(X, y), 1):
        train, test = every[train], every[test]
        times = np.bincount(train, minlength=rows) + np.bincount(test, minlength=rows)
        if fold[test].any() or not (times == 1).all():
            raise refused(cv)
        fold[test] = number
    if not fold.all() or fold.max() < 2:
        raise refused(cv)
    return fold


def refused(cv: Any) -> ValueError:
    return ValueError(f"cv = {cv!r}: every sample must be in the test set of one fold and in the training sets of all others, as with "
                      "KFold, StratifiedKFold, GroupKFold and LeaveOneOut; use GridSearchCV for other splits")


__all__ = ["folds_of"]
