"""What a fit leaves: predictions follow it when it is written, and it has the type of X."""
import pickle

import numpy as np
import pytest

pytest.importorskip("sklearn")
import scipy.sparse  # noqa: E402
from scipy.special import expit, softmax  # noqa: E402
from sklearn.metrics.pairwise import euclidean_distances  # noqa: E402

import hawser  # noqa: E402
from conftest import ESTIMATORS_OF_NUMBERS  # noqa: E402

KINDS = {
    "Lasso": lambda y: y, "ElasticNet": lambda y: y, "LinearSVR": lambda y: y, "LogisticRegression": lambda y: y > 0,
    "LogisticRegression of three": lambda y: np.digitize(y, [-1, 1]), "LinearSVC": lambda y: y > 0, "LinearSVC of three": lambda y: np.digitize(y, [-1, 1]),
    "MultiTaskLasso": lambda y: np.column_stack([y, -y, y**2]), "LassoCV": lambda y: y, "LogisticRegressionCV": lambda y: y > 0,
}


def fitted(kind, numbers, dtype=np.float64):
    X, y = numbers
    parameters = {"Cs": 3} if kind.endswith("nCV") else {"alphas": 5} if kind.endswith("CV") else {"alpha": 0.1} if "Lasso" in kind or "Net" in kind else {}
    return getattr(hawser, kind.partition(" ")[0])(**parameters).fit(X.astype(dtype), KINDS[kind](y))


@pytest.mark.filterwarnings("ignore:the least error")
@pytest.mark.parametrize("how", ["replaced", "in place", "intercept", "without a fit", "copied"])
@pytest.mark.parametrize("kind", KINDS)
def test_written_coefficients_are_used(numbers, kind, how):
    X, draw = numbers[0], np.random.default_rng(len(kind))
    estimator = fitted(kind, numbers)
    before = estimator.predict(X)
    coefficients, intercept = np.array(estimator.coef_), np.array(estimator.intercept_)
    if how == "in place":
        estimator.coef_[..., 1] = 7.0
        coefficients[..., 1] = 7.0
    elif how == "intercept":
        estimator.intercept_ = intercept = intercept + 1e-9  # as little as that must count
    else:
        if how == "without a fit":
            made = type(estimator)()
            if hasattr(estimator, "classes_"):
                made.classes_ = estimator.classes_
            estimator = made
        estimator.coef_ = coefficients = draw.normal(size=coefficients.shape)
        estimator.intercept_ = intercept = draw.normal(size=intercept.shape)
    if how == "copied":
        estimator = pickle.loads(pickle.dumps(estimator))
    margins = X @ coefficients.T + intercept
    for given in (X, X.tolist(), scipy.sparse.csr_array(X), scipy.sparse.csc_matrix(X)):
        if not hasattr(estimator, "classes_"):
            found = estimator.predict(given)
            assert found.shape == before.shape
            np.testing.assert_allclose(found, margins, atol=1e-12)
            continue
        several = len(estimator.classes_) > 2
        margin = margins if several else margins[:, 0]
        np.testing.assert_allclose(estimator.decision_function(given), margin, atol=1e-12)
        assert (estimator.predict(given) == estimator.classes_[margin.argmax(axis=1) if several else (margin > 0).astype(int)]).all()
        if hasattr(estimator, "predict_proba"):
            expected = softmax(margin, axis=1) if several else np.column_stack([expit(-margin), expit(margin)])
            np.testing.assert_allclose(estimator.predict_proba(given), expected, atol=1e-12)


@pytest.mark.parametrize("shift", [0.0, 1e8])
@pytest.mark.parametrize("kind", [hawser.KMeans, hawser.MiniBatchKMeans])
def test_written_centres_are_used(numbers, kind, shift):
    X = numbers[0] + shift
    estimator = kind(3, random_state=0).fit(X)
    centres = shift + np.random.default_rng(0).normal(size=(3, X.shape[1]))
    estimator.cluster_centers_ = centres
    expected = np.sqrt(((X[:, None] - centres) ** 2).sum(axis=2))
    for given in (X, scipy.sparse.csr_array(X)) if shift == 0 else (X,):
        np.testing.assert_allclose(estimator.transform(given), expected, atol=1e-7)
        assert (estimator.predict(given) == expected.argmin(axis=1)).all()
        assert estimator.score(given) == pytest.approx(-(expected.min(axis=1) ** 2).sum())
    estimator.cluster_centers_[:] = X[:3]
    np.testing.assert_allclose(estimator.transform(X[:3]), euclidean_distances(X[:3] - shift), atol=1e-7)


def test_a_mean_of_models_predicts(numbers):
    X, y = numbers
    half = [hawser.Lasso(alpha=0.1).fit(X[part], y[part]) for part in (slice(0, 100), slice(100, 200))]
    mean = hawser.Lasso(alpha=0.1).fit(X, y)
    mean.coef_, mean.intercept_ = np.mean([each.coef_ for each in half], axis=0), np.mean([each.intercept_ for each in half])
    np.testing.assert_allclose(mean.predict(X), (half[0].predict(X) + half[1].predict(X)) / 2, atol=1e-12)


@pytest.mark.filterwarnings("ignore:the least error")
@pytest.mark.parametrize("kind", KINDS)
def test_float32_stays_float32(numbers, kind):
    X, estimator = numbers[0], fitted(kind, numbers, np.float32)
    assert np.asarray(estimator.coef_).dtype == np.asarray(estimator.intercept_).dtype == np.float32
    methods = [name for name in ("decision_function", "predict_proba") if hasattr(estimator, name)] or ["predict"]
    for name in methods:
        method = getattr(estimator, name)
        assert method(X.astype(np.float32)).dtype == np.float32 and method(X).dtype == np.float64
        np.testing.assert_allclose(method(X), method(X.astype(np.float32)), atol=1e-4)
    # The model has more digits than coef_, and predictions have its bits.
    whole = estimator.model_.decision_function(X)
    assert (getattr(estimator, "decision_function", estimator.predict)(X) == whole).all()
    assert np.asarray(estimator.fit(X, KINDS[kind](numbers[1])).coef_).dtype == np.float64


def test_float32_of_clusters(numbers):
    X = numbers[0].astype(np.float32)
    estimator = hawser.KMeans(3, random_state=0).fit(X)
    assert estimator.cluster_centers_.dtype == estimator.transform(X).dtype == np.float32
    assert estimator.transform(X.astype(np.float64)).dtype == np.float64
    assert (estimator.predict(X) == estimator.labels_).all() and isinstance(estimator.inertia_, float)


@pytest.mark.parametrize("kind", ["LogisticRegression", "LogisticRegression of three", "LinearSVC"])
def test_sparse_coefficients(numbers, kind):
    X, estimator = numbers[0], fitted(kind, numbers)
    dense, margins = estimator.coef_.copy(), estimator.decision_function(X)
    assert scipy.sparse.issparse(estimator.sparsify().coef_)
    np.testing.assert_allclose(estimator.decision_function(X), margins, atol=1e-12)
    np.testing.assert_allclose(estimator.decision_function(scipy.sparse.csr_array(X)), margins, atol=1e-12)
    assert np.array_equal(pickle.loads(pickle.dumps(estimator)).densify().coef_, dense)
    assert np.array_equal(estimator.densify().decision_function(X), margins)


@pytest.mark.parametrize("name", ESTIMATORS_OF_NUMBERS)
@pytest.mark.parametrize("bad", [np.nan, np.inf, "shape"])
def test_what_cannot_predict_is_refused_by_name(name, bad):
    draw = np.random.default_rng(9)
    X = draw.normal(size=(40, 3))
    y = np.column_stack([X[:, 0], X[:, 1]]) if "Multi" in name else (X[:, 0] > 0) * 1 if "Logistic" in name or name == "LinearSVC" else np.abs(X[:, 0])
    fitted = getattr(hawser, name)().fit(X, y)
    for key in ("cluster_centers_",) if "KMeans" in name else ("coef_", "intercept_"):
        before = getattr(fitted, key)
        changed = np.array(before, np.float64)
        if bad == "shape" and key != "intercept_":
            changed = changed[..., :2]
        elif bad != "shape":
            changed.flat[-1] = bad
        setattr(fitted, key, changed[()] if changed.ndim == 0 else changed)
        if bad != "shape" or key != "intercept_":
            for call in ("predict", "decision_function", "predict_proba", "transform"):
                if hasattr(fitted, call):
                    with pytest.raises(ValueError, match=f"{key}: it has the (value|shape)"):
                        getattr(fitted, call)(X)
        setattr(fitted, key, before)
    fitted.predict(X)
