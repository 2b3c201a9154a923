"""RidgeCV beside fits of all other samples, solved one by one."""
import warnings

import numpy as np
import pytest

pytest.importorskip("sklearn")
import scipy.sparse  # noqa: E402
from sklearn.metrics import max_error  # noqa: E402
from sklearn.model_selection import KFold, LeaveOneOut, ShuffleSplit, TimeSeriesSplit  # noqa: E402

import hawser  # noqa: E402


def solve(X, Y, weights, alpha, intercept):
    """Coefficients and intercepts of columns of Y in long double, by elimination."""
    X, Y, weights = (np.asarray(each, np.longdouble) for each in (X, Y, weights))
    centre = (weights @ X / weights.sum(), weights @ Y / weights.sum()) if intercept else (np.zeros(X.shape[1]), np.zeros(Y.shape[1]))
    Z = (X - centre[0]) * np.sqrt(weights)[:, None]
    whole = np.concatenate([Z.T @ Z + np.longdouble(alpha) * np.eye(X.shape[1]), Z.T @ ((Y - centre[1]) * np.sqrt(weights)[:, None])], axis=1)
    for k in range(X.shape[1]):
        whole[k] /= whole[k, k]
        for other in range(X.shape[1]):
            if other != k:
                whole[other] -= whole[other, k] * whole[k]
    found = whole[:, X.shape[1]:]
    return found, centre[1] - centre[0] @ found


def left_out(X, Y, weights, alpha, intercept):
    """The prediction of each sample by the solution for all others."""
    found = np.empty(Y.shape, np.longdouble)
    for row in range(len(X)):
        others = np.arange(len(X)) != row
        coefficients, b = solve(X[others], Y[others], weights[others], alpha, intercept)
        found[row] = X[row] @ coefficients + b
    return found


@pytest.mark.parametrize("seed", range(8))
def test_each_sample_is_left_out_once(seed):
    draw = np.random.default_rng(seed)
    rows, columns, targets = draw.integers(4, 16), draw.integers(1, 14), draw.integers(1, 4)
    X, Y = draw.normal(size=(rows, columns)) * draw.uniform(0.1, 10, columns) + 5, draw.normal(size=(rows, targets)) + 3
    if seed % 2:
        X[:, 0] = np.arange(rows) == 1  # one sample has a column of its own
    weights = draw.integers(0, 4, rows).astype(float) if seed % 3 else np.ones(rows)
    weights[:2] = 1
    alphas, intercept = 10 ** draw.uniform(-10, 2, 3), bool(seed % 4)
    expected = np.stack([left_out(X, Y, weights, alpha, intercept) for alpha in alphas], axis=-1)
    squares = weights[:, None, None] * (Y[:, :, None] - expected) ** 2
    scores = -squares.sum(axis=0) / weights.sum()
    for given in (X, scipy.sparse.csc_array(X)):
        how = {"fit_intercept": intercept, "store_cv_results": True}
        together = hawser.RidgeCV(alphas, **how).fit(given, Y, weights)
        apart = hawser.RidgeCV(alphas, **how, alpha_per_target=True).fit(given, Y, weights)
        np.testing.assert_allclose(together.cv_results_, squares.astype(float), rtol=1e-6, atol=1e-13)
        assert together.alpha_ == alphas[scores.mean(axis=0).argmax()] and np.array_equal(apart.alpha_, alphas[scores.argmax(axis=1)])
        np.testing.assert_allclose(together.best_score_, float(scores.mean(axis=0).max()), rtol=1e-8)
        np.testing.assert_allclose(apart.best_score_, scores.max(axis=1).astype(float), rtol=1e-8)
        assert np.array_equal(apart.coef_, hawser.Ridge(np.array(apart.alpha_), fit_intercept=intercept).fit(given, Y, weights).coef_.reshape(apart.coef_.shape))
        assert np.array_equal(together.predict(given), hawser.Ridge(together.alpha_, fit_intercept=intercept).fit(given, Y, weights).predict(given).reshape(
            together.predict(given).shape))
        scored = hawser.RidgeCV(alphas, **how, scoring="neg_median_absolute_error").fit(given, Y, weights)
        np.testing.assert_allclose(scored.cv_results_, expected.astype(float), rtol=1e-6, atol=1e-9)
    one = hawser.RidgeCV(alphas, fit_intercept=intercept, rule="1se").fit(X, Y[:, 0], weights)
    errors = (Y[:, 0, None] - expected[:, 0]) ** 2
    means = weights @ errors / weights.sum()
    spread = np.sqrt(weights @ (errors - means) ** 2 / weights.sum() / (rows - 1))
    assert one.alpha_ == max(alphas[means <= means.min() + spread[means.argmin()]])
    assert one.coef_.shape == (columns,) and np.ndim(one.intercept_) == 0


def test_a_row_of_weight_0_is_no_row_and_of_weight_2_is_left_out_whole():
    draw = np.random.default_rng(0)
    X, y = draw.normal(size=(20, 3)), draw.normal(size=20)
    weights = draw.integers(1, 3, 20).astype(float)
    plain = hawser.RidgeCV().fit(X, y, weights)
    more = hawser.RidgeCV().fit(np.concatenate([X, X + 9]), np.concatenate([y, y - 7]), np.concatenate([weights, np.zeros(20)]))
    assert plain.alpha_ == more.alpha_ and plain.best_score_ == pytest.approx(more.best_score_, rel=1e-12)
    copies = np.repeat(np.arange(20), weights.astype(int))
    folds = [(np.flatnonzero(copies != k), np.flatnonzero(copies == k)) for k in range(20)]
    repeated = hawser.RidgeCV(cv=folds, scoring="neg_mean_squared_error").fit(X[copies], y[copies])
    assert repeated.alpha_ == plain.alpha_
    np.testing.assert_allclose(repeated.coef_, plain.coef_, rtol=1e-9)


@pytest.mark.parametrize("cv", [3, LeaveOneOut(), TimeSeriesSplit(3), ShuffleSplit(2, random_state=0), "pairs"])
def test_folds(cv):
    draw = np.random.default_rng(1)
    X, y, weights = draw.normal(size=(24, 4)), draw.normal(size=24), draw.uniform(0.5, 2, 24)
    y += X[:, 0]
    pairs = list((KFold(cv) if isinstance(cv, int) else KFold(2) if isinstance(cv, str) else cv).split(X))
    alphas = [0.0, 0.5, 50.0]

    def worst(model, X, y, sample_weight=None):
        return -max_error(y, model.predict(X))

    for scoring in ("neg_mean_squared_error", worst):
        expected = np.empty((3, len(pairs)))
        for a, alpha in enumerate(alphas):
            for k, (train, test) in enumerate(pairs):
                coefficients, b = solve(X[train], y[train, None], weights[train], alpha, True)
                errors = (y[test] - X[test] @ coefficients[:, 0] - b[0]).astype(float)
                expected[a, k] = -np.abs(errors).max() if callable(scoring) else -np.average(errors**2, weights=weights[test])
        found = hawser.RidgeCV(alphas, cv=iter(pairs) if isinstance(cv, str) else cv, scoring=scoring).fit(X, y, weights)
        assert found.alpha_ == alphas[expected.mean(axis=1).argmax()]
        assert found.best_score_ == pytest.approx(expected.mean(axis=1).max(), rel=1e-6)
        assert float(found.model_.facts["lambda"]) == pytest.approx(found.alpha_ / weights.sum()) and not hasattr(found, "cv_results_")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        limited = hawser.RidgeCV(alphas[1:], cv=3, scoring="neg_mean_squared_error", max_iter=1, tol=1e-12).fit(X * [1, 2, 3, 4] + X[:, [1, 2, 3, 0]], y)
    assert limited.coef_.shape == (4,) and sum("of the cross-validation" in str(each.message) for each in caught) <= 1


def test_float32():
    draw = np.random.default_rng(2)
    X, y = draw.normal(size=(30, 4)).astype(np.float32), draw.normal(size=30)
    found = hawser.RidgeCV(store_cv_results=True).fit(X, y)
    assert found.coef_.dtype == found.cv_results_.dtype == found.predict(X).dtype == np.float32


@pytest.mark.parametrize("how, kind, text", [
    ({"alphas": [1, 0]}, ValueError, r"alphas\[1\] == 0"), ({"alphas": [1, -1], "cv": 3}, ValueError, r"alphas\[1\] == -1"),
    ({"alphas": []}, ValueError, "alphas"), ({"alphas": np.nan}, ValueError, "alphas"), ({"alphas": [[1.0]]}, ValueError, "alphas"),
    ({"alphas": ["1"]}, TypeError, r"alphas\[0\]"), ({"scoring": "best"}, ValueError, "scoring"), ({"gcv_mode": "best"}, ValueError, "gcv_mode"),
    ({"rule": "best"}, ValueError, "rule"), ({"rule": "1se", "scoring": "r2"}, ValueError, "rule"), ({"cv": 3, "alpha_per_target": True}, ValueError, "alpha_per_target"),
    ({"cv": 3, "store_cv_results": True}, ValueError, "store_cv_results"), ({"store_cv_results": 1}, ValueError, "store_cv_results"), ({"cv": 1}, ValueError, "n_splits"),
    ({"tol": -1}, ValueError, "tol"), ({"max_iter": 0}, ValueError, "max_iter"), ({"cv": LeaveOneOut()}, ValueError, "scoring = None: no score"),
])
@pytest.mark.filterwarnings("ignore:R.2 score")
def test_refusals(numbers, how, kind, text):
    with pytest.raises(kind, match=text):
        hawser.RidgeCV(**how).fit(numbers[0][:12], numbers[1][:12])


def test_refusals_of_data(numbers):
    X, y = numbers
    with pytest.raises(ValueError, match="groups"):
        hawser.RidgeCV().fit(X, y, groups=y)
    with pytest.raises(ValueError, match="fewer than 2 samples"):
        hawser.RidgeCV().fit(X, y, np.eye(len(y))[0])
    with pytest.raises(ValueError, match="give folds, such as cv=5"):
        hawser.RidgeCV().fit(scipy.sparse.csr_array((200, 10**6)), y)
