"""Numbers far from zero in the algorithms by rows: data on a grid with whole shifts, so that shifted numbers are exact. Objectives are computed in long
double, on the data without the shifts."""
import os
import subprocess
import sys

import numpy as np
import pytest

import hawser

SEEDS = range(60 if os.environ.get("HAWSER_TEST_LONG") else 6)
F64, F32 = 10**12, 2**24 // 1000
ROUNDING = 2.0**-52


def wide(*arrays):
    return [np.asarray(array, np.longdouble) for array in arrays]


def draw(seed, classes, widest=F64):
    """Draws columns of multiples of 2^-8 (2^-10 for doubles), a target, weights or None, and whole shifts of the columns and of a target of numbers. Mean and
    deviation of one column have the ratio `widest`."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(30, 90)), int(rng.integers(2, 5))
    X = np.round(rng.normal(size=(n, d)) * 256) / 256
    if widest == F64:
        X /= 2.0 ** rng.integers(0, 3, size=d)
    eta = X @ (rng.normal(size=d) / X.std(axis=0)) + 0.4 * rng.normal(size=n)
    y = np.digitize(eta, np.quantile(eta, np.arange(1, classes) / classes)).astype(float) if classes else np.round(eta * 256) / 256
    weights = rng.integers(0, 4, size=n).astype(float) if seed % 2 else None
    shift = np.round(widest ** rng.uniform(0.2, 0.9, size=d + 1) / 4) * rng.choice([-1, 0, 1], size=d + 1)
    shift[0] = np.floor(0.6 * widest * X[:, 0].std())
    shift[d] = np.floor(0.9 * F64 * y.std()) if seed % 3 == 0 else shift[d]
    return X, y, weights, shift


def in_storage(name, X):
    if name == "sparse":
        import scipy.sparse
        return scipy.sparse.csr_array(X)
    return np.asfortranarray(X) if name == "columns" else X


def without_shifts(model, shift, of_target):
    """Returns the model for data without the shifts, and a bound of what rounding its intercepts has changed."""
    W, b = np.atleast_2d(model.coefficients), np.atleast_1d(model.intercept)
    exact, moved = wide(b)[0] - np.longdouble(of_target), wide(W)[0] @ wide(shift)[0]
    return W, exact + moved, np.abs(b) * ROUNDING


def svm_objective(w, b, X, y, weights, loss):
    """Returns the objective with C = 1; y is -1, 1 or a number."""
    w, b, X, y, weights = wide(w, b, X, y, weights)
    over = np.maximum(np.abs(y - X @ w - b) - np.longdouble(0.1) if "epsilon" in loss else 1 - y * (X @ w + b), 0)
    return w @ w / 2 + (weights * (over * over if "squared" in loss else over)).sum()


def check_svm(model, reference, X, y, weights, shift, loss):
    """The models' objectives and coefficients agree; of 1/2 |w|^2 each objective is strongly convex in w."""
    regression, d = "epsilon" in loss, X.shape[1]
    w = np.ones(len(y)) if weights is None else weights
    W, b, rounded = without_shifts(model, shift[:d], shift[d] if regression else 0)
    R, r = np.atleast_2d(reference.coefficients), np.atleast_1d(reference.intercept)
    target = y if regression else 2 * y - 1
    best = svm_objective(R[0], r[0], X, target, w, loss)
    above = svm_objective(W[0], b[0], X, target, w, loss) - best
    slope = 2 * np.sqrt(w.sum() * float(best)) if "squared" in loss else w.sum()
    slack = model.gap + model.rounding + slope * rounded[0] + w.sum() * rounded[0] ** 2
    assert above <= slack + 1e-12 * best, (loss, float(above), slack)
    assert np.linalg.norm(W - R) <= np.sqrt(2 * (slack + reference.gap)) * 2 + 1e-9, loss


@pytest.mark.parametrize("loss", ["hinge", "squared-hinge", "epsilon", "squared-epsilon"])
@pytest.mark.parametrize("widest", [F64, F32])
def test_svm_of_shifted_data_has_the_objective_of_the_data(loss, widest):
    for seed in SEEDS:
        X, y, weights, shift = draw(seed, 0 if "epsilon" in loss else 2, widest)
        d, kind = X.shape[1], np.float64 if widest == F64 else np.float32
        how = dict(weights=weights, loss=loss, workers=1 + seed % 3)
        reference = hawser.train("svm", X, y, tol=1e-9, **how)
        data = in_storage(("dense", "columns", "sparse")[seed % 3], (X + shift[:d]).astype(kind))
        target = y + shift[d] if "epsilon" in loss else y
        for solver in ("auto", "primal", "dual"):
            model = hawser.train("svm", data, target, tol=(1e-4, 1e-7)[seed % 2], solver=solver, **how)
            check_svm(model, reference, X, y, weights, shift, loss)


def softmax_objective(W, b, X, y, weights, lam, ratio, scale):
    W, b, X, weights, scale = wide(W, b, X, weights, scale)
    z = X @ W.T + b
    most = z.max(axis=1, keepdims=True)
    losses = np.log(np.exp(z - most).sum(axis=1)) + most[:, 0] - z[np.arange(len(y)), y.astype(int)]
    S = W * scale
    return (weights * losses).sum() / weights.sum() + np.longdouble(lam) * (ratio * np.abs(S).sum() + (1 - ratio) / 2 * (S * S).sum())


@pytest.mark.parametrize("widest", [F64, F32])
def test_softmax_of_shifted_data_has_the_objective_of_the_data(widest):
    for seed in SEEDS:
        X, y, weights, shift = draw(seed, 2 + seed % 2, widest)
        d, kind, w = X.shape[1], np.float64 if widest == F64 else np.float32, np.ones(len(y)) if weights is None else weights
        how = dict(weights=weights, lambda_=0.02, l1_ratio=(0.0, 1.0, 0.5)[seed % 3], standardize=seed % 4 == 0, workers=1 + seed % 3)
        reference = hawser.train("softmax", X, y, tol=1e-10, **how)
        data = in_storage(("sparse", "dense", "columns")[seed % 3], (X + shift[:d]).astype(kind))
        model = hawser.train("softmax", data, y, tol=(1e-5, 1e-8)[seed % 2], **how)
        W, b, rounded = without_shifts(model, shift[:d], 0)
        mean = (w @ X) / w.sum()
        scale = np.sqrt(w @ (X - mean) ** 2 / w.sum()) if how["standardize"] else np.ones(d)
        best = softmax_objective(reference.coefficients, reference.intercept, X, y, w, 0.02, how["l1_ratio"], scale)
        above = softmax_objective(W, b, X, y, w, 0.02, how["l1_ratio"], scale) - best
        assert above <= model.gap + model.rounding + 2 * rounded.max() + 1e-12, (seed, float(above), model.gap)


@pytest.mark.parametrize("name, how", [("svm", dict(loss="squared-hinge")), ("svm", dict(loss="epsilon")), ("softmax", {})])
def test_paths_and_folds_are_those_of_the_data(name, how):
    for seed in SEEDS[:3]:
        regression = how.get("loss") == "epsilon"
        X, y, weights, shift = draw(seed, 0 if regression else 2)
        d, steps = X.shape[1], [0.1, 1.0] if name == "svm" else [0.1, 0.01]
        folds = dict(weights=weights, path=steps, cv=3, tol=1e-8, cv_metric="loss", workers=2, **how)
        a = hawser.train(name, X, y, **folds)
        b = hawser.train(name, X + shift[:d], y + shift[d] if regression else y, **folds)
        assert np.allclose(a.path.objective, b.path.objective, rtol=1e-3)
        assert np.allclose(a.path.error, b.path.error, rtol=1e-2, atol=1e-6)


def test_several_nodes_have_the_bits_of_one(tmp_path):
    binary = os.environ.get("HAWSER_BINARY")
    if not binary:
        pytest.skip("HAWSER_BINARY is not set")
    X, y, _, shift = draw(0, 3)
    path = tmp_path / "far.csv"
    np.savetxt(path, np.column_stack([y, X + shift[:-1]]), delimiter=",", fmt="%.17g")
    for words in (["softmax", "--lambda", "0.02"], ["svm"], ["svm", "--solver", "joint"]):
        models = []
        for nodes in (1, 2, 3):
            out = tmp_path / f"{nodes}.model"
            subprocess.run([binary, "run", "-n", str(nodes), "--", binary, "train", words[0], path, *words[1:], "--workers", "3", "-q", "-o", out], check=True, timeout=60)
            models.append(hawser.Model.load(out))
        assert np.abs(models[0].coefficients).max() > 0.1
        for model in models[1:]:
            assert np.array_equal(model.coefficients, models[0].coefficients) and np.array_equal(model.intercept, models[0].intercept)


@pytest.mark.parametrize("name, how", [("svm", {}), ("svm", dict(loss="epsilon")), ("svm", dict(loss="squared-epsilon", solver="dual")), ("softmax", dict(lambda_=0.01))])
def test_columns_of_equal_values_count_for_nothing(name, how):
    for seed in SEEDS[:3]:
        X, y, weights, _ = draw(seed, 0 if "epsilon" in how.get("loss", "") else 2)
        for value in (7.0, 0.1, -1e9, 3e200 if name == "softmax" else 3e100):
            rows = np.column_stack([np.full(len(y), value), X])
            if weights is not None:
                rows[weights == 0, 0] = 5.0  # these rows do not count
            for storage in ("dense", "sparse"):
                words = dict(weights=weights, tol=1e-7, workers=1 if how.get("solver") == "dual" else 2, **how)
                found, right = hawser.train(name, in_storage(storage, rows), y, **words), hawser.train(name, X, y, **words)
                W = np.atleast_2d(found.coefficients)
                assert (W[:, 0] == 0).all(), (seed, value)
                assert np.allclose(W[:, 1:], right.coefficients, atol=1e-3) and np.allclose(found.intercept, right.intercept, atol=1e-3)


def test_only_equal_columns_leave_intercepts_and_one_member():
    y = np.array([0, 1, 0, 1, 1, 0, 1, 1, 1, 0, 1, 0.0])
    X = np.tile([7.0, -3e9], (len(y), 1))
    for words in ({}, dict(path=5), dict(cv=3), dict(path=[0.1, 1.0], cv=3)):
        with pytest.warns(RuntimeWarning, match="one lambda suffices") if words else _nothing():
            model = hawser.train("softmax", X, y, **words)
        assert (model.coefficients == 0).all() and np.isclose(np.diff(model.intercept)[0], np.log(7 / 5), atol=1e-6)
        assert not words or len(model.path) == 1
    with pytest.warns(RuntimeWarning, match="one C suffices"):
        model = hawser.train("svm", X, y + 1e9, loss="squared-epsilon", epsilon=0, path=4)
    assert (np.ravel(model.coefficients) == 0).all() and np.isclose(np.ravel(model.intercept)[0] - 1e9, y.mean(), atol=1e-3) and len(model.path) == 1


def _nothing():
    import contextlib
    return contextlib.nullcontext()


@pytest.mark.parametrize("name, how", [("svm", {}), ("svm", dict(loss="epsilon")), ("softmax", {})])
def test_what_is_too_far_is_refused_by_column_and_mean(name, how):
    X, y, _, _ = draw(1, 0 if how else 2)
    far = X.copy()
    far[:, 1] += 2.0**52
    with pytest.raises(hawser.Error, match=r"column '1'.*mean 4\.50.*e\+15.*intercept"):
        hawser.train(name, far, y, **how)
    with pytest.raises(hawser.Error, match=r"column '1'.*mean 1e\+06"):
        hawser.train(name, (X + np.eye(X.shape[1])[1] * 1e6).astype(np.float32), y, **how)
    equal = far.astype(np.float32)
    equal[:, 1] = 1e18  # these values are equal, and count for nothing
    assert np.all(hawser.train(name, equal, y, max_iterations=3, **how).coefficients.reshape(-1, X.shape[1])[:, 1] == 0)
    hawser.train(name, far, y, intercept=False, max_iterations=3, **how)
    if how:
        with pytest.raises(hawser.Error, match="target.*mean"):
            hawser.train(name, X, y + 2.0**51, **how)


@pytest.mark.parametrize("how", [{}, dict(batch=50), dict(init_method="parallel"), dict(batch=50, early_stopping=2), "init"])
def test_kmeans_in_float_has_the_inertia_of_the_data(how):
    for seed in SEEDS[:3]:
        rng = np.random.default_rng(seed)
        X = np.round((rng.normal(size=(150, 3)) + 6 * rng.integers(0, 3, size=(150, 1))) * 256) / 256
        weights = rng.integers(0, 4, size=150).astype(float)
        right = hawser.train("kmeans", X, weights=weights, clusters=3, starts=5)
        for size in (1e4, 1e8, 1e12):
            shift = np.round(np.array([size, 0, -size / 7]))
            words = dict(clusters=3, starts=3, seed=seed, **how) if how != "init" else dict(init=hawser.train("kmeans", X + shift, clusters=3))
            if "early_stopping" in words:
                words["validation"] = hawser.Dataset(X[:50] + shift)
            data = in_storage(("dense", "columns", "sparse")[seed], X + shift)
            model = hawser.train("kmeans", data, weights=weights, arithmetic="f32", workers=1 + seed, **words)
            squares = ((X[:, None] - (model.centres - shift)[None]) ** 2).sum(axis=2)
            assert np.isclose(model.inertia, weights @ squares.min(axis=1), rtol=1e-3)
            assert model.inertia <= right.inertia * (1.05 if "batch" in words else 1.001)
            assert (model.predict(data) == squares.argmin(axis=1)).mean() > 0.98


@pytest.mark.parametrize("name, how", [("svm", {}), ("svm", dict(loss="squared-epsilon")), ("softmax", {}), ("softmax", dict(l1_ratio=0.0))])
def test_training_that_starts_from_its_result_is_at_its_end(name, how):
    for seed in SEEDS[:3]:
        X, y, _, shift = draw(seed, 0 if "loss" in how else 3)
        d, words = X.shape[1], dict(tol=1e-6, **how, **(dict(lambda_=0.02) if name == "softmax" else {}))
        data = X + np.minimum(shift[:d], 1e10)  # where the rounded intercept costs less than the tolerance
        first = hawser.train(name, data, y, **words)
        again = hawser.train(name, data, y, init=first, **words)
        assert again.training.stop_reason == "gap" and again.iterations <= max(2, first.iterations)
        assert np.isclose(again.objective, first.objective, rtol=2e-6)


def test_tolerance_below_rounding_ends_with_precision():
    for seed in SEEDS:
        for loss in ("hinge", "squared-hinge", "epsilon", "squared-epsilon"):
            X, y, weights, shift = draw(seed, 0 if "epsilon" in loss else 2)
            for data in (X, X + shift[:-1]):
                with pytest.warns(RuntimeWarning, match="rounding may have changed"):
                    model = hawser.train("svm", data, y, weights=weights, loss=loss, tol=0)
                assert model.training.stop_reason == "precision" and model.gap <= 1e-9 * model.objective and model.iterations < 1000
                assert 0 < model.rounding < 1e-9 * model.objective
        X, y, weights, shift = draw(seed, 3)
        with pytest.warns(RuntimeWarning, match="rounding may have changed"):
            model = hawser.train("softmax", X + shift[:-1], y, weights=weights, lambda_=0.01, l1_ratio=seed % 3 / 2, tol=1e-15)
        assert model.training.stop_reason == "precision" and model.gap <= 1e-9 and 0 < model.rounding < 1e-9


def test_softmax_ends_where_rounding_of_many_rows_hides_the_last_steps():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200000, 30)) + rng.uniform(-3, 3, size=30)
    eta = (X - X.mean(axis=0)) @ rng.normal(size=30) + 3 * rng.normal(size=len(X))
    model = hawser.train("softmax", X, np.digitize(eta, [-3, 3]).astype(float), lambda_=1e-3, max_iterations=30)
    assert model.training.stop_reason == "gap"


def test_lambda_that_is_nearly_0_ends_as_a_small_one_does():
    for seed in SEEDS[:4]:
        X, y, _, _ = draw(seed, 3)
        y[:: 3] = np.random.default_rng(seed).integers(0, 3, size=len(y[::3]))  # no classes that can be separated
        for ratio in (0.0, 0.5, 1.0):
            right = hawser.train("softmax", X, y, lambda_=1e-9, l1_ratio=0.0, tol=1e-10).predict_proba(X)
            for lam in (1e-15, 1e-100, 1e-300):
                model = hawser.train("softmax", X, y, lambda_=lam, l1_ratio=ratio, max_iterations=100)
                assert model.training.stop_reason in ("gap", "precision")
                assert np.allclose(model.predict_proba(X), right, atol=2e-3)
