"""A row of weight k gives what k rows give, and a row of weight 0 what no row gives, from arrays and files."""
import numpy as np
import pytest

import hawser
from conftest import scipy

REGRESSIONS = {"lasso": {"lambda_": 0.05}, "multitask": {"lambda_": 0.05}, "linear": {"tol": 1e-9}, "poisson": {"lambda_": 0.05}}
CLASSES = {"logistic": {"lambda_": 0.02, "class_weight": "balanced"}, "softmax": {"lambda_": 0.02, "class_weight": "balanced"},
           "svm": {"C": 0.5, "class_weight": "balanced", "solver": "primal"}}
LAYOUTS = {"rows": np.ascontiguousarray, "columns": np.asfortranarray}
if scipy is not None:
    LAYOUTS.update(csr=scipy.sparse.csr_matrix, csc=scipy.sparse.csc_matrix)


def problem(seed, name):
    """X, y and weights; rows of weight 0 have wild numbers and labels of their own."""
    draw = np.random.default_rng(seed)
    X = draw.normal(size=(40, 4)) * (draw.random((40, 4)) < 0.8)
    w = draw.integers(0, 4, 40).astype(float)
    w[:3] = 1, 2, 3
    signal = X @ [1.0, -1.0, 0.5, 0.0] + 0.3 * draw.normal(size=40)
    y = {"poisson": np.floor(np.abs(signal) * 2), "multitask": np.column_stack([signal, -signal + draw.normal(size=40)])}.get(name, signal)
    if name in CLASSES:
        y = (signal > 0) * 1.0
        y[:2] = 0, 1
    none = w == 0
    X[none] = draw.choice([0.0, 1e9, -3e30], (none.sum(), 4))
    y[none] = draw.choice([-7.0, 3.0, 1e12], y[none].shape)
    return X, y, w


def repeat(values, w):
    return np.repeat(values, w.astype(int), axis=0)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", [*REGRESSIONS, *CLASSES, "kmeans"])
def test_weights_are_copies(name, layout, tmp_path):
    X, y, w = problem(len(name), name)
    options = {**REGRESSIONS, **CLASSES}.get(name, {"clusters": 3})
    options = {"tol": 1e-10 if name in ("lasso", "multitask", "poisson", "logistic", "softmax") else 1e-9, "workers": 2, **options}
    if name == "kmeans":
        np.savetxt(tmp_path / "centres", repeat(X, w)[[0, 9, 20]], delimiter=",", fmt="%.17g")
        options["centres"] = str(tmp_path / "centres")
    target = (lambda values: {}) if name == "kmeans" else (lambda values: {"target": values})
    a = hawser.train(name, LAYOUTS[layout](X), weights=w, **target(y), **options)
    b = hawser.train(name, LAYOUTS[layout](repeat(X, w)), **target(repeat(y, w)), **options)
    if name == "kmeans":
        assert np.allclose(a.centres, b.centres, rtol=1e-9)
        return
    assert np.allclose(a.coefficients, b.coefficients, rtol=1e-4, atol=1e-5)
    if name != "linear":
        assert np.isclose(a.training.metrics["objective"], b.training.metrics["objective"], rtol=1e-6)
    if name in CLASSES:
        assert np.array_equal(a.classes, b.classes)


@pytest.mark.filterwarnings("ignore:the least error")
@pytest.mark.parametrize("name", ["lasso", "softmax", "svm"])
def test_paths_and_folds_with_weights(name):
    X, y, w = problem(7 + len(name), name)
    folds = np.arange(40) % 3
    options = {"path": [0.1, 1.0] if name == "svm" else 3, "cv": 3, "workers": 1, "tol": 1e-9}
    if name != "svm":
        options["lambda_min_ratio"] = 0.1
    a = hawser.train(name, X, y, weights=w, folds=folds, **options)
    b = hawser.train(name, repeat(X, w), repeat(y, w), folds=repeat(folds, w), **options)
    assert np.allclose(a.path.error, b.path.error, rtol=1e-4, atol=1e-6)
    assert np.allclose(a.path.standard_error, b.path.standard_error, rtol=1e-3, atol=1e-6)


def test_means_and_levels_of_a_file(tmp_path):
    """Means are weighted, also with mean,level, and predict fills with them; words of rows that do not count are no levels."""
    (tmp_path / "a.csv").write_text("y,a,k,w\n1,1,u,1\n4,,v,2\n5,5,u,3\n,1e9,never,0\n8,,,0\n")
    (tmp_path / "b.csv").write_text("y,a,k\n1,1,u\n4,,v\n4,,v\n5,5,u\n5,5,u\n5,5,u\n")
    (tmp_path / "new.csv").write_text("a,k\n,u\n2,v\n")
    a = hawser.train("lasso", hawser.Dataset(str(tmp_path / "a.csv"), target="y", weights="w", missing="mean,level"), lambda_=0.01, workers=1)
    b = hawser.train("lasso", hawser.Dataset(str(tmp_path / "b.csv"), target="y", missing="mean,level"), lambda_=0.01, workers=1)
    assert a.names == b.names == ["a", "k=u", "k=v"]
    assert np.allclose(a.tensor("missing.means"), [4.0, 0, 0]) and np.allclose(b.tensor("missing.means"), [4.0, 0, 0])
    assert np.allclose(a.coefficients, b.coefficients, atol=1e-5)
    assert np.allclose(a.predict(str(tmp_path / "new.csv")), b.predict(str(tmp_path / "new.csv")), atol=1e-5)
    filled = (tmp_path / "filled.csv")
    filled.write_text("a,k\n4,u\n2,v\n")
    assert np.array_equal(a.predict(str(tmp_path / "new.csv")), a.predict(str(filled)))


def test_columns_of_rows_without_weight_do_not_exist(tmp_path):
    (tmp_path / "a.svm").write_text("1 1:1 2:3\n2 1:2\n9 1:5 7:1\n3 2:1\n")
    (tmp_path / "a.w").write_text("1\n2\n0\n1\n")
    for name in ("lasso", "svm"):
        options = {"lambda_": 0.01} if name == "lasso" else {"loss": "squared-epsilon"}
        model = hawser.train(name, str(tmp_path / "a.svm"), weights=str(tmp_path / "a.w"), **options)
        assert model.columns == 2


def test_estimators_take_weights_as_copies():
    pytest.importorskip("sklearn")
    X, y, w = problem(3, "lasso")
    a, b = hawser.Lasso(alpha=0.05, tol=1e-9).fit(X, y, sample_weight=w), hawser.Lasso(alpha=0.05, tol=1e-9).fit(repeat(X, w), repeat(y, w))
    assert np.allclose(a.coef_, b.coef_, rtol=1e-5, atol=1e-6)


def test_rows_without_weight_are_predicted(tmp_path):
    """Such rows keep their words where other rows have these: they are data like others."""
    (tmp_path / "a.csv").write_text("y,a,k,w\n1,1,u,1\n4,3,v,2\n5,5,u,3\n7,2,v,0\n")
    data = hawser.Dataset(str(tmp_path / "a.csv"), target="y", weights="w")
    model = hawser.train("lasso", data, lambda_=0.01)
    (tmp_path / "b.csv").write_text("a,k\n1,u\n3,v\n5,u\n2,v\n")
    assert np.array_equal(model.predict(data), model.predict(str(tmp_path / "b.csv")))
