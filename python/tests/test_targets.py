"""Several targets as an array: every order and kind of table, the estimators beside scikit-learn's, and what is refused."""
import pickle

import numpy as np
import pytest

import hawser
from conftest import OF_NUMBERS

NAMES = ["size", "price", "age"]
ORDERS = {"C": np.ascontiguousarray, "Fortran": np.asfortranarray, "float32": lambda Y: Y.astype(np.float32),
          "strided": lambda Y: np.repeat(np.repeat(Y, 2, 0), 2, 1)[::2, ::2], "list": lambda Y: Y.tolist(),
          "reversed": lambda Y: np.ascontiguousarray(Y[:, ::-1])[:, ::-1]}


@pytest.fixture(scope="module")
def tasks():
    """Three targets of 150 rows, of which four columns of 20 matter; numbers that float32 has, too."""
    draw = np.random.default_rng(5)
    X, W = draw.normal(size=(150, 20)), np.zeros((20, 3))
    W[[0, 3, 7, 12]] = draw.normal(size=(4, 3))
    return X, (X @ W + [1.0, -2.0, 0.0] + draw.normal(size=(150, 3))).astype(np.float32).astype(np.float64)


def frames(Y):
    pandas, pyarrow, polars = (pytest.importorskip(name) for name in ("pandas", "pyarrow", "polars"))
    columns = {name: Y[:, k] for k, name in enumerate(NAMES)}
    return pandas.DataFrame(columns, index=range(7, 157)), pyarrow.table(columns), polars.DataFrame(columns)


def test_orders_of_an_array(tasks):
    X, Y = tasks
    first = hawser.train("multitask", X, Y, lambda_=0.05, workers=2)
    for name, order in ORDERS.items():
        given = order(Y)
        data = hawser.Dataset(X, given, target_name=NAMES)
        assert np.array_equal(data.target, Y) and data.targets == 3 and data.target_names == NAMES
        assert data.copied == (0 if name == "Fortran" else Y.nbytes)
        model = hawser.train("multitask", data, lambda_=0.05, workers=2)
        assert np.array_equal(model.coefficients, first.coefficients) and model.facts["outputs"].split() == NAMES
    assert first.coefficients.shape == (3, 20) and first.intercept.shape == (3,) and first.outputs == 3
    assert np.allclose(first.predict(X), X @ first.coefficients.T + first.intercept, rtol=1e-12, atol=1e-12)


def test_tables_name_their_targets(tasks):
    X, Y = tasks
    for table in frames(Y):
        data = hawser.Dataset(X, table)
        assert np.array_equal(data.target, Y) and data.target_names == NAMES
    assert hawser.Dataset(X, frames(Y)[0], target_name=["a", "b", "c"]).target_names == ["a", "b", "c"]
    assert hawser.Dataset(X, Y).target_names is None and hawser.Dataset(X).targets == 0


def test_one_column_is_one_target(tasks):
    X, Y = tasks
    for name in "multitask", "lasso":
        one, column = (hawser.train(name, X, y, lambda_=0.1, workers=2) for y in (Y[:, 1], Y[:, 1:2]))
        assert np.array_equal(one.coefficients, column.coefficients) and column.predict(X).shape == (150,)
    data = hawser.Dataset(X, Y[:, :1], target_name="size")
    assert data.target.shape == (150,) and data.targets == 1 and data.target_names == ["size"]


def test_the_command_reads_the_model(tasks, command, tmp_path):
    X, Y = tasks
    model = hawser.train("multitask", X, Y, lambda_=0.05, workers=2)
    model.save(tmp_path / "array.model")
    np.savetxt(tmp_path / "d.csv", np.column_stack([Y, X]), delimiter=",", fmt="%.17g", header="a,b,c," + ",".join(f"x{j}" for j in range(20)),
               comments="")
    command("train", "multitask", tmp_path / "d.csv", "--target", "a,b,c", "--lambda", "0.05", "--workers", "2", "-q", "-o", tmp_path / "file.model")
    assert np.array_equal(hawser.Model.load(tmp_path / "file.model").coefficients, model.coefficients)
    np.savetxt(tmp_path / "new.csv", X, delimiter=",", fmt="%.17g")
    printed = command("predict", tmp_path / "array.model", tmp_path / "new.csv", "--target", "none", "-q")
    assert np.allclose(np.array(printed.replace(",", " ").split(), float).reshape(-1, 3), model.predict(X), rtol=1e-9)


def test_weights_folds_and_other_data(tasks):
    """Weight 0 is no row, and folds and validation are measured over rows and targets."""
    X, Y = tasks
    weights = np.where(np.arange(150) < 100, 1.0, 0.0)
    how = {"lambda_": 0.05, "workers": 2, "tol": 1e-10}
    weighted, fewer = hawser.train("multitask", X, Y, weights=weights, **how), hawser.train("multitask", X[:100], Y[:100], **how)
    assert np.allclose(weighted.coefficients, fewer.coefficients, atol=1e-6)
    measured = hawser.train("multitask", X[:100], Y[:100], validation=(X[100:], Y[100:]), **how)
    assert measured.training.metrics["validation_mse"] == pytest.approx(np.mean((Y[100:] - measured.predict(X[100:])) ** 2), rel=1e-9)
    folds = np.arange(150) % 3 + 1
    path = hawser.train("multitask", X, Y, cv=3, folds=folds, path=[0.3, 0.05], tol=1e-10, cv_rule="min", workers=2).path
    for k, alpha in enumerate(path.values):
        for fold in 1, 2, 3:
            out = folds == fold
            other = hawser.train("multitask", X[~out], Y[~out], lambda_=alpha, tol=1e-10, workers=2)
            assert path.fold_errors[k, fold - 1] == pytest.approx(np.mean((Y[out] - other.predict(X[out])) ** 2), rel=1e-6)


def test_refused_by_name(tasks):
    X, Y = tasks
    for name in OF_NUMBERS:
        if name not in ("multitask", "kmeans"):
            with pytest.raises(ValueError, match=rf"{name}: y should be a 1d array, got an array of shape \(150, 3\) instead"):
                hawser.train(name, X, Y)
    for given, text in ((np.where(Y == Y[9, 1], np.nan, Y), "target 1: row 9 is nan"), (Y[:10], "inconsistent numbers of samples"),
                        (np.zeros((150, 65)), "65 targets; data have 1 to 64"), (np.zeros((150, 0)), "has 0 targets"),
                        (np.zeros((150, 2, 2)), "bad input shape"), (Y + 0j, "Complex"), (np.full((150, 2), "a"), "could not convert")):
        with pytest.raises(ValueError, match=text):
            hawser.train("multitask", X, given)
    data = hawser.Dataset(X, Y)
    with pytest.raises(ValueError, match="2 names for 3 targets"):
        hawser.Dataset(X, Y, target_name=["a", "b"])
    with pytest.raises(ValueError, match="the validation data have 2 targets, the training data 3"):
        hawser.train("multitask", data, validation=(X, Y[:, :2]))
    with pytest.raises(ValueError, match="a file of data has one target, and these have 3"):
        data.save("no.hwc")


# ------------------------------------------------------------------------------------------------------- estimators ----

@pytest.mark.parametrize("form", ["dense", "csr_array", "csc_matrix"])
@pytest.mark.parametrize("intercept", [True, False])
def test_estimators(tasks, form, intercept):
    linear_model, scipy = pytest.importorskip("sklearn.linear_model"), pytest.importorskip("scipy.sparse")
    X, Y = tasks
    X = np.where(np.abs(X) > 0.7, X, 0.0)
    given = X if form == "dense" else getattr(scipy, form)(X)
    weights = np.random.default_rng(0).uniform(0, 3, len(X))
    for name, how in (("MultiTaskLasso", {"alpha": 0.1}), ("MultiTaskElasticNet", {"alpha": 0.1, "l1_ratio": 0.3})):
        for sample_weight in None, weights:
            ours = getattr(hawser, name)(tol=1e-13, fit_intercept=intercept, **how).fit(given, Y, sample_weight)
            theirs = getattr(linear_model, name)(tol=1e-13, max_iter=100000, fit_intercept=intercept, **how).fit(X, Y, sample_weight)
            np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
            np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-6)
            np.testing.assert_allclose(ours.predict(given), theirs.predict(X), atol=1e-5)
            assert ours.score(given, Y) == pytest.approx(theirs.score(X, Y), rel=1e-7)
            assert ours.coef_.shape == (3, 20) and 0 <= ours.dual_gap_ <= 1e-13 * np.mean(Y**2) * 3
    loose = hawser.MultiTaskLasso(alpha=0.1, tol=1e-3).fit(X, Y)
    far, best = (np.sum((Y - e.predict(X)) ** 2) / 300 + 0.1 * np.linalg.norm(e.coef_, axis=0).sum()
                 for e in (loose, hawser.MultiTaskLasso(alpha=0.1, tol=1e-13).fit(X, Y)))
    assert far - best <= loose.dual_gap_ + 1e-12


@pytest.mark.parametrize("name, how", [("MultiTaskLassoCV", {"alphas": 20}), ("MultiTaskElasticNetCV", {"alphas": [0.01, 0.3, 0.1], "l1_ratio": 0.5}),
                                       ("MultiTaskElasticNetCV", {"alphas": 8, "l1_ratio": [0.5, 0.9], "cv": 3})])
def test_cross_validation(tasks, name, how):
    linear_model = pytest.importorskip("sklearn.linear_model")
    X, Y = tasks
    ours = getattr(hawser, name)(tol=1e-11, **how).fit(X, Y)
    theirs = getattr(linear_model, name)(tol=1e-11, max_iter=100000, **how).fit(X, Y)
    np.testing.assert_allclose(ours.alphas_, theirs.alphas_, rtol=1e-9)
    np.testing.assert_allclose(ours.mse_path_, theirs.mse_path_, rtol=1e-5)
    np.testing.assert_allclose(ours.mean_mse_, theirs.mse_path_.mean(axis=-1), rtol=1e-5)
    assert ours.alpha_ == pytest.approx(theirs.alpha_) and getattr(ours, "l1_ratio_", 1) == getattr(theirs, "l1_ratio_", 1)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)


def test_habits(tasks):
    linear_model = pytest.importorskip("sklearn.model_selection")
    X, Y = tasks
    fitted = hawser.MultiTaskLasso(alpha=0.05, workers=2).fit(X, Y)
    assert np.array_equal(fitted.coef_, hawser.train("multitask", X, Y, lambda_=0.05, workers=2).coefficients)
    assert np.array_equal(pickle.loads(pickle.dumps(fitted)).predict(X), fitted.predict(X))
    assert fitted.set_params(warm_start=True).fit(X, Y).n_iter_ <= 2
    with pytest.raises(ValueError, match="warm_start: the estimator was fitted with 3 targets, and y has 2"):
        fitted.fit(X, Y[:, :2])
    search = linear_model.GridSearchCV(hawser.MultiTaskElasticNet(workers=1), {"alpha": [0.05, 10]}, cv=3).fit(X, Y)
    assert search.best_params_ == {"alpha": 0.05}
    single = hawser.MultiTaskLasso(alpha=0.05).fit(X, Y[:, :1])
    assert single.coef_.shape == (1, 20) and single.intercept_.shape == (1,) and single.predict(X).shape == (150, 1)
    assert hawser.MultiTaskLasso(alpha=100).fit(X, Y).coef_.tolist() == np.zeros((3, 20)).tolist()
    for estimator in hawser.MultiTaskLasso(), hawser.MultiTaskLassoCV():
        with pytest.raises(ValueError, match="For mono-task outputs, use Lasso"):
            estimator.fit(X, Y[:, 0])
    assert hawser.Lasso(alpha=0.05).fit(X, Y).coef_.shape == (3, 20)  # one model for each
    with pytest.raises(ValueError, match="65 targets; data have 1 to 64"):
        hawser.MultiTaskLasso().fit(X, np.ones((150, 65)))


def test_early_stopping(tasks):
    pytest.importorskip("sklearn")
    X, Y = tasks
    X = np.column_stack([X, np.random.default_rng(1).normal(size=(150, 60))])
    estimator = hawser.MultiTaskElasticNet(alpha=1e-4).fit(X[:60], Y[:60], eval_set=(X[60:], Y[60:]), early_stopping_rounds=1)
    errors = estimator.evals_result_["validation"]["mse"]
    assert errors[0] == pytest.approx(np.mean((Y[60:] - Y[:60].mean(axis=0)) ** 2), rel=1e-9)
    assert estimator.best_score_ == min(errors) == errors[estimator.best_iteration_] < errors[-1]
    assert estimator.best_score_ == pytest.approx(np.mean((Y[60:] - estimator.predict(X[60:])) ** 2), rel=1e-9)
    with pytest.raises(ValueError, match="2 targets"):
        estimator.fit(X, Y, eval_set=(X, Y[:, :2]))
