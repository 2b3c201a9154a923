"""Ridge, LinearRegression, PoissonRegressor, and y with several columns, beside closed forms and scikit-learn."""
import warnings

import numpy as np
import pytest

pytest.importorskip("sklearn")
import scipy.sparse  # noqa: E402
from sklearn import linear_model  # noqa: E402

import hawser  # noqa: E402
from hawser.estimators.ridge import solve  # noqa: E402


@pytest.mark.parametrize("seed", range(6))
def test_ridge_is_the_closed_form(seed):
    draw = np.random.default_rng(seed)
    rows, columns, targets = draw.integers(8, 60), draw.integers(1, 20), draw.integers(1, 4)
    X, Y = draw.normal(size=(rows, columns)) * draw.uniform(0.1, 10, columns) + 5, draw.normal(size=(rows, targets))
    weights = draw.integers(0, 3, rows) + 0.5 if seed % 2 else np.ones(rows)
    alpha = draw.uniform(0.1, 10, targets) if seed % 3 else float(draw.uniform(0.1, 10))
    intercept = bool(seed % 4)
    centre = (weights @ X / weights.sum(), weights @ Y / weights.sum()) if intercept else (np.zeros(columns), np.zeros(targets))
    inner = (X - centre[0]).T * weights @ (X - centre[0])
    expected = np.stack([np.linalg.solve(inner + a * np.eye(columns), (X - centre[0]).T * weights @ (Y[:, k] - centre[1][k]))
                         for k, a in enumerate(np.broadcast_to(alpha, targets))])
    for given in (X, scipy.sparse.csr_array(X)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # none about a tolerance that float64 does not reach
            fitted = hawser.Ridge(alpha=alpha, fit_intercept=intercept).fit(given, Y, weights)
        np.testing.assert_allclose(np.atleast_2d(fitted.coef_), expected, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(fitted.predict(given).reshape(rows, targets), (X - centre[0]) @ expected.T + centre[1], rtol=1e-7, atol=1e-8)
        assert fitted.coef_.shape == ((targets, columns) if targets > 1 else (columns,)) and len(fitted.models_) == targets and len(np.ravel(fitted.dual_gap_)) == targets
    single = hawser.Ridge(alpha=np.ravel(alpha)[0], fit_intercept=intercept).fit(X, Y[:, 0], weights)
    np.testing.assert_allclose(single.coef_, expected[0], rtol=1e-7, atol=1e-9)
    positive = hawser.Ridge(alpha=1.0, positive=True, fit_intercept=intercept).fit(X, Y[:, 0], weights)
    theirs = linear_model.Ridge(alpha=1.0, positive=True, fit_intercept=intercept, tol=1e-12).fit(X, Y[:, 0], weights)
    np.testing.assert_allclose(positive.coef_, theirs.coef_, atol=1e-6)


@pytest.mark.parametrize("shape", [(50, 6), (20, 40), (40, 20), (30, 300)])
@pytest.mark.parametrize("intercept", [True, False])
def test_least_squares_of_least_norm(shape, intercept):
    draw = np.random.default_rng(shape[0])
    rows, columns = shape
    X, Y = draw.normal(size=shape) + 2, draw.normal(size=(rows, 2))
    if shape == (40, 20):
        X[:, 10:] = X[:, :10] @ draw.normal(size=(10, 10))  # of rank 10
    weights = draw.uniform(0.5, 2, rows)
    weights[:3] = 0
    whole = np.sqrt(weights)[:, None]
    mean = (weights @ X / weights.sum(), weights @ Y / weights.sum()) if intercept else (0.0, 0.0)
    expected = np.linalg.lstsq(whole * (X - mean[0]), whole * (Y - mean[1]), rcond=1e-10)[0].T
    for given in (X, scipy.sparse.csr_array(X)):
        fitted = hawser.LinearRegression(fit_intercept=intercept).fit(given, Y, weights)
        np.testing.assert_allclose(fitted.coef_, expected, atol=2e-5 * np.abs(expected).max())
        np.testing.assert_allclose(fitted.predict(given)[3:], ((X - mean[0]) @ expected.T + mean[1])[3:], atol=1e-5)
        one = hawser.LinearRegression(fit_intercept=intercept).fit(given, Y[:, 0], weights)
        np.testing.assert_allclose(one.coef_, expected[0], atol=2e-5 * np.abs(expected).max())


@pytest.mark.parametrize("seed", range(12))
def test_units_of_columns_do_not_change_predictions(seed):
    draw = np.random.default_rng(seed)
    rows, columns = int(draw.integers(8, 40)), int(draw.integers(2, 10))
    rank = int(draw.integers(1, columns))
    X = draw.normal(size=(rows, columns)) if seed % 2 else (draw.integers(-3, 4, (rows, rank)) @ draw.integers(-3, 4, (rank, columns))).astype(float)
    X[:, -1] += 0.1 * (seed % 3)  # a constant, where a factor is 0
    y, weights = draw.normal(size=rows) + X[:, 0], draw.uniform(0.5, 2, rows) if seed % 4 > 1 else None
    for intercept in (True, False):
        expected = linear_model.LinearRegression(fit_intercept=intercept).fit(X, y, weights)
        for units in (np.exp2(draw.integers(-100, 101, columns)), np.ones(columns)):
            for form in (np.asarray, scipy.sparse.csr_array):
                for kind in (hawser.LinearRegression, lambda **k: hawser.Ridge(alpha=0.0, **k)):
                    fitted = kind(fit_intercept=intercept).fit(form(X * units), y, weights)
                    np.testing.assert_allclose(fitted.predict(X * units), expected.predict(X), atol=1e-6)
        np.testing.assert_allclose(fitted.coef_, expected.coef_, atol=1e-5)


def test_a_small_penalty_with_units_far_apart():
    draw = np.random.default_rng(5)
    X, units = draw.normal(size=(50, 4)), np.array([1e-8, 1, 1e8, 1e12])
    y = X @ [1, 2, 3, 4] + draw.normal(size=50)
    alpha = 1e-18  # as 1e-2 for the first column, and nothing for the others
    Z = np.vstack([X - X.mean(axis=0), np.sqrt(alpha) * np.diag(1 / units)])
    expected = np.linalg.lstsq(Z, np.append(y - y.mean(), np.zeros(4)), rcond=None)[0]
    found, rank = solve(X * units, y, ((X * units).mean(axis=0), y.mean()), None, np.array([alpha]))
    np.testing.assert_allclose(found[:, 0] * units, expected, rtol=1e-6)
    assert rank == 4


@pytest.mark.parametrize("shape", [(30, 80), (40, 40), (60, 20)])
@pytest.mark.parametrize("alpha", [1e-15, 1e-9, 1e-5])
def test_a_tiny_penalty_has_its_own_solution(shape, alpha):
    """The duality gap alone would leave many coefficients open."""
    draw = np.random.default_rng(shape[0])
    X, Y = draw.normal(size=shape) * draw.uniform(0.5, 2, shape[1]) + 1, draw.normal(size=(shape[0], 2)) * 30
    for intercept in (True, False):
        mean = (X.mean(axis=0), Y.mean(axis=0)) if intercept else (0.0, 0.0)
        U, s, V = np.linalg.svd(X - mean[0], full_matrices=False)
        kept = s > 1e-10 * s[0]
        expected = (V[kept].T @ ((s[kept] / (s[kept] ** 2 + alpha))[:, None] * (U[:, kept].T @ (Y - mean[1])))).T
        for given in (X, scipy.sparse.csc_array(X)):
            for fitted, wanted in ((hawser.Ridge(alpha, fit_intercept=intercept).fit(given, Y), expected),
                                   (hawser.Ridge(alpha, fit_intercept=intercept).fit(given, Y[:, 0]), expected[0])):
                np.testing.assert_allclose(fitted.coef_, wanted, atol=1e-6 * np.abs(wanted).max())
                np.testing.assert_allclose(fitted.predict(given), X @ fitted.coef_.T + fitted.intercept_, atol=1e-8)


@pytest.mark.parametrize("kind", ["Lasso", "ElasticNet"])
def test_columns_of_y(kind):
    draw = np.random.default_rng(0)
    X = draw.normal(size=(60, 5))
    Y = X @ draw.normal(size=(5, 3)) + draw.normal(size=(60, 3))
    for columns in (1, 3):
        ours = getattr(hawser, kind)(alpha=0.1, tol=1e-13).fit(X, Y[:, :columns])
        theirs = getattr(linear_model, kind)(alpha=0.1, tol=1e-13).fit(X, Y[:, :columns])
        assert ours.coef_.shape == theirs.coef_.shape and np.shape(ours.intercept_) == np.shape(theirs.intercept_)
        np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-6)
        assert ours.predict(X).shape == theirs.predict(X).shape and ours.score(X, Y[:, :columns]) > 0
        assert np.array_equal(np.atleast_2d(ours.coef_)[0], getattr(hawser, kind)(alpha=0.1, tol=1e-13).fit(X, Y[:, 0]).coef_)
        again = ours.set_params(warm_start=True).fit(X, Y[:, :columns])
        assert np.max(again.n_iter_) <= 2
        again.coef_ = again.coef_ + 1
        np.testing.assert_allclose(again.predict(X), X @ again.coef_.T + (again.intercept_ if columns > 1 else again.intercept_[0]), atol=1e-12)
    with pytest.raises(ValueError, match="MultiTask"):
        ours.fit(X, Y, eval_set=(X, Y))
    with pytest.raises(ValueError, match="do not correspond: 3 != 2"):
        hawser.Ridge(alpha=[1.0, 2.0]).fit(X, Y)
    assert ours.fit(X, Y[:, 0]).coef_.shape == (5,) and not hasattr(ours, "models_") and ours.predict(X).shape == (60,)


@pytest.mark.parametrize("alpha", [0.0, 0.1, 10.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_poisson(alpha, weighted):
    draw = np.random.default_rng(1)
    X = draw.normal(size=(200, 4))
    y = draw.poisson(np.exp(X @ [0.5, 0.0, -0.5, 0.2] + 1))
    weights = draw.integers(0, 4, 200).astype(float) if weighted else None
    theirs = linear_model.PoissonRegressor(alpha=alpha, tol=1e-10, solver="newton-cholesky").fit(X, y, weights)
    for given in (X, scipy.sparse.csc_array(X)):
        ours = hawser.PoissonRegressor(alpha=alpha, tol=1e-13).fit(given, y, weights)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
        np.testing.assert_allclose(ours.predict(given), theirs.predict(X), rtol=1e-6)
        assert ours.score(given, y, weights) == pytest.approx(theirs.score(X, y, weights), abs=1e-6)
    before = ours.predict(X)
    ours.intercept_ = ours.intercept_ + np.log(2)
    np.testing.assert_allclose(ours.predict(X), 2 * before, rtol=1e-12)
    with pytest.raises(ValueError, match="-1 is no count"):
        ours.fit(X, np.where(y == y.max(), -1, y))


@pytest.mark.parametrize("estimator, text", [
    (lambda: hawser.Ridge(alpha=-1), "alpha"), (lambda: hawser.Ridge(alpha=np.inf), "alpha"), (lambda: hawser.Ridge(solver="best"), "solver"),
    (lambda: hawser.PoissonRegressor(solver="best"), "solver"), (lambda: hawser.PoissonRegressor(alpha=-1), "alpha"),
    (lambda: hawser.Ridge(tol=-1), "tol"), (lambda: hawser.LinearRegression(max_iter=0), "max_iter"),
])
def test_refusals(numbers, estimator, text):
    with pytest.raises(ValueError, match=text):
        estimator().fit(numbers[0], np.abs(numbers[1]))


@pytest.mark.parametrize("alpha", [1e-16, 1e-12, 1e-9, 1e-6])
def test_tiny_penalties_of_nearly_equal_columns(alpha):
    draw = np.random.default_rng(int(-np.log10(alpha)))
    X = draw.normal(size=(50, 3))
    X[:, 1] = X[:, 0] + 1e-4 * draw.normal(size=50)
    y = X @ [1, 2, 3] + draw.normal(size=50)
    U, sizes, V = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    right = V.T @ (sizes / (sizes**2 + alpha) * (U.T @ (y - y.mean())))
    fitted = hawser.Ridge(alpha=alpha).fit(X, y)
    assert np.linalg.norm(fitted.coef_ - right) < 1e-6 * np.linalg.norm(right)
