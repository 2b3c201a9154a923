"""MiniBatchKMeans.partial_fit, init_size and init as a function, beside the formula of mini-batch k-means in long double."""
import pickle
import warnings

import numpy as np
import pytest

pytest.importorskip("sklearn")
import scipy.sparse  # noqa: E402
from sklearn.base import clone  # noqa: E402

import hawser  # noqa: E402


class Formula:
    """Mini-batch k-means, one sample after the other: centre += weight (x - centre) / count. Distances are to the centres before the batch."""

    def __init__(self, centres, counts=None):
        self.centres = np.array(centres, np.longdouble)
        self.counts = np.zeros(len(centres), np.longdouble) if counts is None else np.array(counts, np.longdouble)

    def take(self, X, weights):
        X = np.asarray(X, np.longdouble)
        nearest = [int(np.argmin([((x - c) ** 2).sum() for c in self.centres])) for x in X]
        for x, place, weight in zip(X, nearest, weights, strict=True):
            if weight > 0:
                self.counts[place] += weight
                self.centres[place] += np.longdouble(weight) * (x - self.centres[place]) / self.counts[place]
        squares = np.array([min(((x - c) ** 2).sum() for c in self.centres) for x in X])
        return [int(np.argmin([((x - c) ** 2).sum() for c in self.centres])) for x in X], float(squares @ np.asarray(weights, np.longdouble))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("sparse", [False, True])
def test_steps_follow_the_formula(seed, sparse):
    draw = np.random.default_rng(seed)
    clusters, columns, far = draw.integers(1, 6), draw.integers(1, 5), 0.0 if sparse else 10.0 ** draw.integers(0, 7)
    starts = draw.normal(size=(clusters, columns)) * 3 + far
    fitted, formula = hawser.MiniBatchKMeans(clusters, init=starts), Formula(starts)
    for step in range(5):
        rows = int(draw.integers(clusters if step == 0 else 1, 30))
        X = draw.normal(size=(rows, columns)) * 3 + far
        weights = draw.choice([0, 0.5, 1, 3], rows) if step % 2 else np.ones(rows)
        weights[0] = 1
        given = scipy.sparse.csr_array(X) if sparse else X
        result = fitted.partial_fit(given, sample_weight=weights if step % 2 else None)
        labels, inertia = formula.take(X, weights)
        assert result is fitted and fitted.n_steps_ == step + 1 and not hasattr(fitted, "model_")
        np.testing.assert_allclose(fitted.cluster_centers_ - far, (formula.centres - far).astype(float), atol=1e-9 + 1e-13 * far)
        np.testing.assert_allclose(fitted.counts_, formula.counts.astype(float), rtol=1e-14)
        np.testing.assert_array_equal(fitted.labels_, labels)
        np.testing.assert_array_equal(fitted.predict(given), labels)
        assert fitted.inertia_ == pytest.approx(inertia, rel=1e-6, abs=1e-9) and fitted.score(given, sample_weight=weights) == pytest.approx(-inertia, rel=1e-6, abs=1e-9)
        fitted = pickle.loads(pickle.dumps(fitted))
    assert fitted.transform(given).shape == (rows, clusters) and list(fitted.get_feature_names_out()) == [f"minibatchkmeans{k}" for k in range(clusters)]


def test_a_fit_is_gone_on_with():
    draw = np.random.default_rng(0)
    X, weights = draw.normal(size=(90, 3)) + 5 * draw.integers(0, 3, 90)[:, None], draw.uniform(0.5, 2, 90)
    for how in ({}, {"compute_labels": False}):
        fitted = hawser.MiniBatchKMeans(3, batch_size=30, random_state=0, **how).fit(X, sample_weight=weights)
        labels = fitted.predict(X)
        passes = fitted.n_steps_ * 30 / 90
        np.testing.assert_allclose(fitted.counts_, [passes * weights[labels == k].sum() for k in range(3)])
        steps, formula = fitted.n_steps_, Formula(fitted.cluster_centers_, fitted.counts_)
        formula.take(X[:20], weights[:20])
        fitted.partial_fit(X[:20], sample_weight=weights[:20])
        np.testing.assert_allclose(fitted.cluster_centers_, formula.centres.astype(float), atol=1e-12)
        assert fitted.n_steps_ == steps + 1 and not hasattr(fitted, "model_") and hasattr(fitted, "labels_") == (not how)
    fitted.cluster_centers_ = fitted.cluster_centers_ + 1  # written, and gone on from
    formula = Formula(fitted.cluster_centers_, fitted.counts_)
    formula.take(X[:20], np.ones(20))
    np.testing.assert_allclose(fitted.partial_fit(X[:20]).cluster_centers_, formula.centres.astype(float), atol=1e-12)
    assert hasattr(fitted.fit(X), "model_") and fitted.n_steps_ == fitted.model_.training.metrics["iterations"]


@pytest.mark.parametrize("init", ["k-means++", "random", "k-means||"])
def test_first_centres_are_samples_with_a_weight(init):
    draw = np.random.default_rng(1)
    X = draw.normal(size=(40, 2)) + 1e6
    weights = np.where(np.arange(40) < 12, 1.0, 0.0)
    for given in (X, scipy.sparse.csr_array(X)):
        first, same = (hawser.MiniBatchKMeans(4, init=init, random_state=3) for _ in range(2))
        first.partial_fit(given, sample_weight=weights)
        assert np.array_equal(first.cluster_centers_, same.partial_fit(given, sample_weight=weights).cluster_centers_)
        assert first.counts_.sum() == 12 and (first.counts_ >= 1).all()  # each centre is a sample, so that it receives itself
        other = hawser.MiniBatchKMeans(4, init=init, random_state=4).partial_fit(given, sample_weight=weights)
        assert not np.array_equal(other.cluster_centers_, first.cluster_centers_)


def test_init_size():
    """Centres that are drawn from few samples, and hardly moved, are near these."""
    draw = np.random.default_rng(2)
    X = draw.normal(size=(300, 2))
    outcomes = {str(hawser.MiniBatchKMeans(3, init_size=size, n_init=1, max_iter=1, batch_size=50, random_state=0).fit(X).cluster_centers_)
                for size in (None, 3, 10, 300, 1000)}
    assert len(outcomes) >= 3
    only = np.where(np.arange(300) < 5, 1.0, 0.0)
    small = hawser.MiniBatchKMeans(5, init_size=5, n_init=1, random_state=0).fit(X, sample_weight=only)
    np.testing.assert_allclose(sorted(map(tuple, small.cluster_centers_)), sorted(map(tuple, X[:5])))
    several = [hawser.MiniBatchKMeans(3, init_size=20, n_init=count, max_iter=2, batch_size=50, random_state=0).fit(X).inertia_ for count in (1, 8)]
    assert several[1] <= several[0]
    with pytest.warns(RuntimeWarning, match="init_size=2 should be larger"):
        hawser.MiniBatchKMeans(3, init_size=2).fit(X)


@pytest.mark.parametrize("kind", [hawser.KMeans, hawser.MiniBatchKMeans])
def test_init_as_a_function(kind):
    draw = np.random.default_rng(3)
    X = draw.normal(size=(60, 2)) * 4
    seen = []

    def init(data, count, random_state):
        seen.append((np.array_equal(data, X), count))
        return data[random_state.choice(len(data), count, replace=False)]

    fitted = kind(4, init=init, n_init=3, random_state=0).fit(X)
    assert seen == [(True, 4)] * 3
    singles = []
    state = np.random.RandomState(0)
    for _ in range(3):
        singles.append(kind(4, init=X[state.choice(60, 4, replace=False)], random_state=0).fit(X))
    best = min(singles, key=lambda each: each.inertia_)
    assert fitted.inertia_ == best.inertia_ and np.array_equal(fitted.cluster_centers_, best.cluster_centers_)
    assert np.array_equal(fitted.labels_, best.labels_) and fitted.model_.to_bytes() and np.array_equal(fitted.model_.centres, fitted.cluster_centers_)
    assert np.array_equal(kind(4, init=init, n_init=3, random_state=0).fit(X).cluster_centers_, fitted.cluster_centers_)
    seen.clear()
    clone(fitted).set_params(n_init="auto").fit(X)
    assert len(seen) == (10 if kind is hawser.KMeans else 3)


@pytest.mark.parametrize("how, text", [
    ({"init": lambda X, count, random_state: X[:2]}, r"initial centers \(2, 6\) does not match the number of clusters 3"),
    ({"init": lambda X, count, random_state: X[:3, :1]}, "does not match the number of features of the data 6"),
    ({"init": lambda X, count, random_state: X[:3] * np.nan}, "init: the centres have the value nan"), ({"init": [1.0, 2.0]}, "init"), ({"init": "best"}, "init"),
    ({"init": np.ones, "n_init": 0}, "n_init"), ({"init_size": 0}, "init_size"), ({"init_size": 1.5}, "init_size"), ({"reassignment_ratio": 0.1}, "reassignment_ratio"),
])
@pytest.mark.parametrize("call", ["fit", "partial_fit"])
def test_refusals(numbers, how, text, call):
    if call == "partial_fit" and "n_init" in how:
        pytest.skip("partial_fit has one start")
    with pytest.raises(ValueError, match=text):
        getattr(hawser.MiniBatchKMeans(3, **how), call)(numbers[0])


def test_data_of_a_step_are_checked(numbers):
    X = numbers[0]
    fitted = hawser.MiniBatchKMeans(3).partial_fit(X)
    before = fitted.cluster_centers_.copy()
    for call, text in ((lambda: fitted.partial_fit(X[:, :2]), "features"), (lambda: fitted.partial_fit(X * np.nan), "NaN"),
                       (lambda: fitted.partial_fit(X, sample_weight=np.zeros(len(X))), "(?i)weights"),
                       (lambda: hawser.MiniBatchKMeans(3).partial_fit(X[:2]), "n_clusters"),
                       (lambda: hawser.MiniBatchKMeans(3).partial_fit(X, sample_weight=np.eye(len(X))[0]), "samples have a weight")):
        with pytest.raises(ValueError, match=text):
            call()
    assert np.array_equal(fitted.cluster_centers_, before) and fitted.n_steps_ == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        single = hawser.MiniBatchKMeans(3).partial_fit(X.astype(np.float32))
        assert single.cluster_centers_.dtype == np.float32 == single.partial_fit(X[:1].astype(np.float32)).cluster_centers_.dtype


def test_centres_of_whole_numbers_move_and_a_refused_fit_changes_nothing(numbers):
    X = numbers[0]
    fitted = hawser.MiniBatchKMeans(3)
    fitted.cluster_centers_ = np.round(X[:3]).astype(int)
    formula = Formula(fitted.cluster_centers_)
    formula.take(X, np.ones(len(X)))
    assert np.allclose(fitted.partial_fit(X).cluster_centers_, formula.centres.astype(float), rtol=1e-12) and fitted.n_steps_ == 1
    before = {name: np.copy(value) for name, value in vars(fitted).items() if name.endswith("_")}
    with pytest.raises(ValueError, match="n_clusters"):
        fitted.fit(X[:2])
    assert all(np.array_equal(value, getattr(fitted, name)) for name, value in before.items())
    fitted.cluster_centers_ = X[:2]
    with pytest.raises(ValueError, match="counts_ has 3 numbers"):
        fitted.partial_fit(X)
