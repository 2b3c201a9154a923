"""The estimators: scikit-learn's own checks, and scikit-learn's solutions."""
import os
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest

sklearn = pytest.importorskip("sklearn")
import scipy.sparse  # noqa: E402
from sklearn import cluster, datasets, linear_model, svm  # noqa: E402
from sklearn.base import clone  # noqa: E402
from sklearn.model_selection import GridSearchCV  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.utils.estimator_checks import check_estimator  # noqa: E402

import hawser  # noqa: E402
from conftest import ESTIMATORS_OF_NUMBERS  # noqa: E402

WEIGHTS = ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data")
DRAWS = "centres are drawn by row, so a row that is there twice draws other centres than one of weight 2, as in scikit-learn"
GAP = "solutions are the same within the duality gap, not to 1e-7, as in scikit-learn"
# What cannot hold, and why. Lists are no longer than scikit-learn's own.
EXPECTED_FAILED_CHECKS = {
    "KMeans": dict.fromkeys(WEIGHTS, DRAWS),
    "LinearSVC": dict.fromkeys(WEIGHTS, GAP),
    "LinearSVR": dict.fromkeys(WEIGHTS, GAP),
    "MiniBatchKMeans": dict.fromkeys(WEIGHTS, DRAWS),
}
# For the sake of time, and more exact than the 1e-7 of the checks.
FEWER = {"LogisticRegressionCV": {"Cs": 3, "cv": 3}, **dict.fromkeys(
    ("ElasticNetCV", "LassoCV", "MultiTaskElasticNetCV", "MultiTaskLassoCV"), {"alphas": 8, "tol": 1e-12})}
ESTIMATORS = [getattr(hawser, name) for name in ESTIMATORS_OF_NUMBERS]


def scaled(loader):
    X, y = loader(return_X_y=True)
    return StandardScaler().fit_transform(X), y


@pytest.fixture(scope="module")
def diabetes():
    return datasets.load_diabetes(return_X_y=True)


@pytest.fixture(scope="module")
def cancer():
    return scaled(datasets.load_breast_cancer)


@pytest.fixture(scope="module")
def wine():
    return scaled(datasets.load_wine)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda each: each.__name__)
def test_check_estimator(estimator):
    expected = EXPECTED_FAILED_CHECKS.get(estimator.__name__, {})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(estimator(**FEWER.get(estimator.__name__, {})), on_fail=None, on_skip=None)
    failed = {result["check_name"]: str(result["exception"]) for result in results if result["status"] == "failed"}
    assert len(results) > 50
    assert failed.keys() == expected.keys(), failed


def random_weights(y):
    return np.random.default_rng(0).uniform(0, 3, len(y))


@pytest.mark.parametrize("sparse", [False, scipy.sparse.csr_array, scipy.sparse.csc_matrix])
@pytest.mark.parametrize("how", [{}, {"fit_intercept": False}, {"positive": True}])
def test_regression(diabetes, how, sparse):
    X, y = diabetes
    weights = random_weights(y)
    given = sparse(X) if sparse else X
    for ours, theirs in ((hawser.Lasso(alpha=0.1, tol=1e-12, **how), linear_model.Lasso(alpha=0.1, tol=1e-12, **how)),
                         (hawser.ElasticNet(alpha=0.01, l1_ratio=0.3, tol=1e-12, **how),
                          linear_model.ElasticNet(alpha=0.01, l1_ratio=0.3, tol=1e-12, max_iter=100000, **how))):
        ours.fit(given, y, weights)
        theirs.fit(X, y, weights)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-3)
        np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-5)
        np.testing.assert_allclose(ours.predict(given), theirs.predict(X), atol=1e-3)
        assert ours.dual_gap_ <= 1e-12 * (y @ y) and ours.score(given, y) == pytest.approx(theirs.score(X, y), abs=1e-6)
        assert (ours.sparse_coef_.toarray()[0] == ours.coef_).all()


def test_more_columns_than_rows():
    X, y = datasets.make_regression(60, 300, n_informative=5, noise=0.1, random_state=0)
    ours, theirs = hawser.Lasso(alpha=1, tol=1e-10).fit(X, y), linear_model.Lasso(alpha=1, tol=1e-10, max_iter=10000).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-3)
    assert (ours.coef_ != 0).sum() == (theirs.coef_ != 0).sum()


@pytest.mark.parametrize("class_weight", [None, "balanced"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("data", ["cancer", "wine"])
def test_logistic(request, data, weighted, class_weight):
    X, y = request.getfixturevalue(data)
    weights = random_weights(y) if weighted else None
    words = np.array(["ape", "bee", "cat"])[y]
    for ratio, solver, bound in ((0.0, "lbfgs", 1e-4), (0.5, "saga", 3e-3)):
        how = {"C": 0.5, "l1_ratio": ratio, "class_weight": class_weight, "max_iter": 20000}
        ours = hawser.LogisticRegression(tol=1e-10, **how).fit(X, words, weights)
        theirs = linear_model.LogisticRegression(tol=1e-8 if ratio == 0 else 1e-6, solver=solver, **how).fit(X, words, weights)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=bound)
        np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=bound)
        np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=30 * bound)
        assert (ours.predict(X) == theirs.predict(X)).mean() > 0.99 and (ours.classes_ == theirs.classes_).all()
        assert ours.coef_.shape == theirs.coef_.shape and ours.intercept_.shape == theirs.intercept_.shape


def test_labels_without_weight(wine):
    """A label whose rows all have the weight 0 is no class: the result is that without its rows."""
    X, y = wine
    weights = (y != 1).astype(float)
    some = hawser.LogisticRegression(tol=1e-10, class_weight="balanced").fit(X, y, weights)
    fewer = hawser.LogisticRegression(tol=1e-10, class_weight="balanced").fit(X[y != 1], y[y != 1])
    assert some.classes_.tolist() == [0, 2]
    np.testing.assert_allclose(some.coef_, fewer.coef_, atol=1e-5)


@pytest.mark.parametrize("data", ["cancer", "wine"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_svc(request, data, loss):
    """The intercept of libsvm's SVC(kernel="linear") is free, too; LIBLINEAR's is almost free if it is scaled much."""
    X, y = request.getfixturevalue(data)
    weights = random_weights(y)
    ours = hawser.LinearSVC(C=0.1, loss=loss, tol=1e-10, class_weight="balanced").fit(X, y, weights)
    theirs = svm.LinearSVC(C=0.1, loss=loss, tol=1e-9, max_iter=100000, intercept_scaling=100, class_weight="balanced",
                           dual=loss == "hinge").fit(X, y, weights)
    balanced = np.array([weights.sum() / (len(ours.classes_) * weights[y == label].sum()) for label in y])

    def objective(fitted, k):
        w, b = fitted.coef_[k], fitted.intercept_[k]
        sign = np.where(y == fitted.classes_[k if len(fitted.classes_) > 2 else 1], 1, -1)
        margin = np.maximum(0, 1 - sign * (X @ w + b))
        return 0.5 * w @ w + 0.1 * (weights * balanced) @ (margin if loss == "hinge" else margin**2)

    for k in range(len(ours.coef_)):
        # LIBLINEAR penalises its intercept a little, so it cannot be better, and every step from the optimum makes it worse.
        least = objective(ours, k)
        draw = np.random.default_rng(k)
        for _ in range(20):
            moved = pickle.loads(pickle.dumps(ours))
            moved.coef_ = moved.coef_ + 1e-3 * draw.normal(size=moved.coef_.shape)
            moved.intercept_ = moved.intercept_ + 1e-3 * draw.normal(size=moved.intercept_.shape)
            assert objective(moved, k) > least
        assert least <= objective(theirs, k) * (1 + 1e-8)
    assert (ours.predict(X) == theirs.predict(X)).mean() > 0.97


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_svr(diabetes, loss):
    X, y = diabetes
    ours = hawser.LinearSVR(C=1, loss=loss, epsilon=0.5, tol=1e-9).fit(X, y)
    theirs = svm.LinearSVR(C=1, loss=loss, epsilon=0.5, tol=1e-9, max_iter=20000, intercept_scaling=100).fit(X, y)

    def objective(fitted):
        assert fitted.intercept_.shape == theirs.intercept_.shape == (1,)
        lost = np.maximum(0, abs(X @ fitted.coef_ + fitted.intercept_ - y) - 0.5)
        return 0.5 * fitted.coef_ @ fitted.coef_ + (lost if loss[0] == "e" else lost**2).sum()

    assert objective(ours) <= objective(theirs) * (1 + 1e-8)
    assert objective(theirs) <= objective(ours) * (1 + 1e-2)


@pytest.mark.parametrize("sparse", [False, True])
def test_kmeans(sparse):
    X, _ = datasets.make_blobs(400, 5, centers=4, random_state=1)
    first, weights = X[[0, 100, 200, 300, 5]], random_weights(X)
    given = scipy.sparse.csr_matrix(X) if sparse else X
    ours = hawser.KMeans(5, init=first, tol=0).fit(given, sample_weight=weights)
    theirs = cluster.KMeans(5, init=first, tol=0, n_init=1).fit(given, sample_weight=weights)
    np.testing.assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, atol=1e-9)
    assert (ours.labels_ == theirs.labels_).all() and ours.inertia_ == pytest.approx(theirs.inertia_)
    assert (ours.predict(given) == ours.labels_).all()
    np.testing.assert_allclose(ours.transform(given), theirs.transform(given), atol=1e-6)
    assert ours.score(given, sample_weight=weights) == pytest.approx(theirs.score(given, sample_weight=weights))
    drawn = hawser.KMeans(4, n_init=5, random_state=0).fit(X)
    assert drawn.inertia_ == pytest.approx(cluster.KMeans(4, n_init=5, random_state=0).fit(X).inertia_)


@pytest.mark.parametrize("sparse", [False, True])
def test_mini_batches(sparse):
    X, _ = datasets.make_blobs(3000, 5, centers=4, random_state=1)
    given = scipy.sparse.csr_array(X) if sparse else X
    ours = hawser.MiniBatchKMeans(4, batch_size=100, random_state=0, max_iter=20).fit(given)
    theirs = cluster.MiniBatchKMeans(4, batch_size=100, random_state=0, max_iter=20, n_init=3).fit(X)
    assert ours.inertia_ == pytest.approx(theirs.inertia_, rel=0.02)
    assert (ours.labels_ == ours.predict(given)).all() and ours.labels_.shape == (3000,)
    assert 1 <= ours.n_iter_ <= 20 and ours.n_iter_ == -(-ours.n_steps_ * 100 // 3000)
    squares = ((X[:, None] - ours.cluster_centers_) ** 2).sum(axis=2).min(axis=1)
    assert ours.inertia_ == pytest.approx(squares.sum())
    limited = hawser.MiniBatchKMeans(4, batch_size=1500, max_iter=2, max_no_improvement=None, compute_labels=False).fit(given)
    assert limited.n_steps_ == 4 and limited.n_iter_ == 2 and not hasattr(limited, "labels_")
    assert limited.fit_predict(given).shape == (3000,)


def test_bits_of_mini_batches(command, tmp_path):
    X, _ = datasets.make_blobs(500, 3, centers=3, random_state=0)
    np.savetxt(tmp_path / "d.csv", X, delimiter=",", fmt="%.17g")
    command("train", "kmeans", tmp_path / "d.csv", "--clusters", 3, "--batch", 50, "--epochs", 5, "--tol", 0, "--seed", 3, "--workers", 2, "-q",
            "-o", tmp_path / "m")
    ours = hawser.MiniBatchKMeans(3, batch_size=50, max_iter=5, random_state=3, workers=2).fit(X)
    assert ours.cluster_centers_.tobytes() == hawser.Model.load(tmp_path / "m").centres.tobytes()


def test_bits_of_the_command(diabetes, command, tmp_path):
    X, y = diabetes
    np.savetxt(tmp_path / "d.csv", np.column_stack([y, X]), delimiter=",", fmt="%.17g")
    command("train", "lasso", tmp_path / "d.csv", "--lambda", "0.1", "--workers", "2", "-q", "-o", tmp_path / "m")
    ours = hawser.Lasso(alpha=0.1, workers=2).fit(X, y)
    assert ours.coef_.tobytes() == hawser.Model.load(tmp_path / "m").coefficients.tobytes()


def test_habits(cancer):
    """Grid searches, pipelines, names of features, set_output, clones, copies."""
    X, y = cancer
    pandas = pytest.importorskip("pandas")
    search = GridSearchCV(hawser.LogisticRegression(), {"C": [0.01, 1.0]}, cv=3, n_jobs=2).fit(X, y)
    theirs = GridSearchCV(linear_model.LogisticRegression(), {"C": [0.01, 1.0]}, cv=3).fit(X, y)
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], atol=0.01)
    frame = pandas.DataFrame(X[:, :3], columns=["a", "b", "c"])
    piped = make_pipeline(StandardScaler(), hawser.KMeans(2, random_state=0)).set_output(transform="pandas").fit(frame)
    assert list(piped.transform(frame).columns) == ["kmeans0", "kmeans1"]
    fitted = hawser.Lasso(alpha=0.01).fit(frame, y)
    assert fitted.feature_names_in_.tolist() == ["a", "b", "c"] and fitted.model_.names == ["a", "b", "c"]
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(frame[["b", "a", "c"]])
    copied = pickle.loads(pickle.dumps(fitted))
    assert (copied.predict(frame) == fitted.predict(frame)).all() and copied.trace_ == fitted.trace_
    assert clone(fitted).get_params() == fitted.get_params()


def test_warm_start(cancer):
    X, y = cancer
    cold = hawser.LogisticRegression(C=1.0, l1_ratio=1.0, tol=1e-9).fit(X, y)
    warm = hawser.LogisticRegression(C=1.0, l1_ratio=1.0, tol=1e-9, warm_start=True).fit(X, y)
    warm.fit(X, y)
    assert warm.n_iter_ < cold.n_iter_
    np.testing.assert_allclose(warm.coef_, cold.coef_, atol=1e-4)
    with pytest.raises(ValueError, match="fitted with 30 features"):
        warm.fit(X[:, :5], y)
    for fitted in (warm, hawser.LinearSVC(warm_start=True).fit(X, y)):
        with pytest.raises(ValueError, match="fitted with 2 classes, and y has 3"):
            fitted.fit(X, np.arange(len(y)) % 3)


def test_warnings_name_parameters(cancer, caplog):
    """An option that the estimator has not is no reason to warn."""
    X, y = cancer
    for call, text in ((lambda: hawser.KMeans(3).fit([[0.0], [0.0], [1.0], [1.0]]), "1 of 3 clusters.* lower n_clusters$"),
                       (lambda: hawser.LassoCV(alphas=3, eps=0.5).fit(X, y), "last alpha.* eps .* goes on"),
                       (lambda: hawser.LogisticRegressionCV(Cs=[1e-4, 1e-3], scoring="neg_log_loss").fit(X, y), "add smaller lambdas to Cs,")):
        with pytest.warns(RuntimeWarning, match=text):
            call()
    draw = np.random.default_rng(0)
    factors = draw.normal(size=(30, 3))
    wide = 8 + 0.5 * factors @ draw.normal(size=(3, 120)) + 0.3 * draw.normal(size=(30, 120))
    with caplog.at_level("INFO", logger="hawser"):
        hawser.LinearSVR(C=0.1, workers=1).fit(wide, factors[:, 0] + 0.3 * draw.normal(size=30))
    assert "the dual came closer too slowly" in caplog.text


def test_a_limit_warns(cancer):
    with pytest.warns(sklearn.exceptions.ConvergenceWarning) as caught:
        fitted = hawser.LogisticRegression(max_iter=1, tol=1e-14, l1_ratio=1.0).fit(*cancer)
    assert caught[0].filename == __file__
    assert fitted.n_iter_.tolist() == [1] and isinstance(fitted, hawser.LogisticRegression)
    three = np.arange(len(cancer[0])) % 3  # softmax regression has a limit of its own, which a larger max_iter must move
    assert hawser.LogisticRegression(max_iter=2000).fit(cancer[0], three).model_.facts["options.max-iterations"] == "2000"


@pytest.mark.parametrize("estimator, text", [
    (lambda: hawser.Lasso(precompute="yes"), "precompute"), (lambda: hawser.Lasso(selection="best"), "selection"),
    (lambda: hawser.Lasso(alpha=-1), "alpha"), (lambda: hawser.Lasso(tol=-1), "tol"), (lambda: hawser.Lasso(n_jobs=0), "n_jobs"),
    (lambda: hawser.LogisticRegression(penalty="l3"), "penalty"), (lambda: hawser.LogisticRegression(C=0), "C"),
    (lambda: hawser.LogisticRegression(intercept_scaling=2), "intercept_scaling"), (lambda: hawser.LinearSVC(loss="log"), "loss"),
    (lambda: hawser.LinearSVC(penalty="l1"), "penalty"), (lambda: hawser.LinearSVC(multi_class="crammer_singer"), "multi_class"),
    (lambda: hawser.LinearSVR(loss="hinge"), "loss"), (lambda: hawser.LinearSVR(epsilon=-1), "epsilon"),
    (lambda: hawser.KMeans(0), "clusters"), (lambda: hawser.KMeans(1000), "n_clusters"),
    (lambda: hawser.KMeans(init="best"), "init"), (lambda: hawser.KMeans(init=np.ones((2, 2))), "initial centers"),
    (lambda: hawser.KMeans(algorithm="full"), "algorithm"), (lambda: hawser.Lasso(sync="fast"), "sync"),
    (lambda: hawser.MiniBatchKMeans(reassignment_ratio=0.01), "reassignment_ratio"),
    (lambda: hawser.MiniBatchKMeans(init_size=-100), "init_size"), (lambda: hawser.MiniBatchKMeans(batch_size=0), "batch_size"),
    (lambda: hawser.KMeans(sync="ssp:2", workers=2), "sync"), (lambda: hawser.KMeans(init=lambda *_, **__: 0), "initial centers"),
    (lambda: hawser.Lasso(max_iter=0), "max_iter"), (lambda: hawser.Lasso(workers=1.5), "workers"), (lambda: hawser.Lasso(positive="no"), "positive"),
    (lambda: hawser.LinearSVC(fit_intercept=2), "fit_intercept"), (lambda: hawser.LogisticRegression(solver="best"), "solver"),
    (lambda: hawser.LogisticRegressionCV(solver="best"), "solver"),
])
def test_refusals(cancer, estimator, text):
    with pytest.raises(ValueError, match=text):
        estimator().fit(*cancer)


def test_parameters_that_change_no_result(cancer):
    X, y = cancer
    X = np.ascontiguousarray(X[:, :6])
    plain = hawser.ElasticNet(alpha=0.1).fit(X, y)
    for how in ({"precompute": True}, {"precompute": X.T @ X}, {"precompute": (X.T @ X).tolist()}, {"copy_X": False}, {"selection": "random"}):
        assert (hawser.ElasticNet(alpha=0.1, **how).fit(X, y, check_input=False).coef_ == plain.coef_).all()
    for kind in (hawser.LinearSVC, hawser.LinearSVR, hawser.LogisticRegression, hawser.KMeans):
        assert kind(verbose=1).fit(X, y).predict(X).shape == y.shape
    assert (hawser.LassoCV(precompute=X.T @ X, alphas=5, verbose=True).fit(X, y).coef_ == hawser.LassoCV(alphas=5).fit(X, y).coef_).all()


@pytest.mark.filterwarnings("ignore:tol")
def test_tolerances(cancer):
    """A tolerance of 0 trains until no step lowers the objective, and a large one is that of the zero model."""
    X, y = cancer
    exact, close = hawser.Lasso(alpha=0.01, tol=0).fit(X, y), linear_model.Lasso(alpha=0.01, tol=1e-14, max_iter=10**6).fit(X, y)
    np.testing.assert_allclose(exact.coef_, close.coef_, atol=1e-8)
    assert exact.model_.training.stop_reason == "precision" and not hawser.Lasso(alpha=0.01, tol=5).fit(X, y).coef_.any()
    assert hawser.LinearSVC(tol=0).fit(X, y).score(X, y) > 0.98 and hawser.LogisticRegression(tol=0).fit(X, y).score(X, y) > 0.98


@pytest.mark.parametrize("scale", [1e-6, 1, 1e6])
def test_no_penalty_of_three_classes(scale):
    draw = np.random.default_rng(0)
    X = draw.normal(size=(300, 4))
    y = np.digitize(X @ [1, 2, 0, -1] + 2 * draw.normal(size=300), [-1, 1])
    theirs = linear_model.LogisticRegression(C=np.inf, tol=1e-12, solver="newton-cholesky").fit(X, y)
    for how in ({"C": np.inf}, {"penalty": None}):
        for given in (X * scale, scipy.sparse.csr_array(X * scale)):
            ours = hawser.LogisticRegression(tol=1e-9, **how).fit(given, y)
            np.testing.assert_allclose(ours.predict_proba(given), theirs.predict_proba(X), atol=1e-6)
            gaps = ours.coef_ - ours.coef_.mean(axis=0)  # no loss sees what all classes share
            np.testing.assert_allclose(gaps * scale, theirs.coef_ - theirs.coef_.mean(axis=0), atol=1e-4)


@pytest.mark.filterwarnings("ignore:the chosen alpha")
def test_one_alpha(diabetes):
    X, y = diabetes
    for how in ({"alphas": 1}, {"alphas": 3, "eps": 1}, {"alphas": 1, "eps": 1}):
        ours, theirs = hawser.ElasticNetCV(**how).fit(X, y), linear_model.ElasticNetCV(**how).fit(X, y)
        np.testing.assert_allclose(ours.alphas_, theirs.alphas_, rtol=1e-12)
        assert ours.mse_path_.shape == (how["alphas"], 5) and ours.alpha_ == ours.alphas_[0] and not ours.coef_.any()
        below = hawser.ElasticNet(alpha=ours.alpha_ * 0.999, tol=1e-12).fit(X, y)
        assert below.coef_.any()


def test_masked_values_are_refused(cancer):
    """numpy would give what lies under the mask."""
    X, y = cancer
    fitted, masked = hawser.LogisticRegression().fit(X, y), np.ma.masked_greater(X, X.mean())
    for call in (lambda: fitted.fit(masked, y), lambda: fitted.fit(X, np.ma.masked_equal(y, 1)), lambda: fitted.predict(masked),
                 lambda: fitted.fit(X, y, sample_weight=np.ma.masked_equal(y + 1, 1)), lambda: fitted.fit(X, y, eval_set=(X, np.ma.masked_equal(y, 1)))):
        with pytest.raises(ValueError, match="has masked values"):
            call()
    assert np.array_equal(fitted.fit(np.ma.masked_array(X), y).coef_, fitted.fit(X, y).coef_)


WITHOUT = [each for each in ESTIMATORS if each.__name__ not in (
    "ElasticNet", "Lasso", "LinearSVC", "LinearSVR", "LogisticRegression", "MiniBatchKMeans", "MultiTaskElasticNet", "MultiTaskLasso",
    "LinearRegression", "PoissonRegressor", "Ridge")]


@pytest.mark.parametrize("estimator", WITHOUT, ids=lambda each: each.__name__)
def test_early_stopping_is_refused_by_name(cancer, estimator):
    with pytest.raises(TypeError, match="eval_set"):
        estimator().fit(*cancer, eval_set=cancer, early_stopping_rounds=3)


def test_an_interrupt_leaves_what_was_reached():
    """Ctrl-C ends the training, and the estimator is fitted with what was reached."""
    script = """
import hawser, numpy, os, signal, threading
draw = numpy.random.default_rng(0)
X, y = draw.normal(size=(4000, 3000)), draw.normal(size=4000)
fitted = hawser.Lasso(alpha=1e-9, tol=1e-300, max_iter=10**9)
threading.Timer(1.5, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    fitted.fit(X, y)
except KeyboardInterrupt:
    print(fitted.interrupted_, fitted.coef_.shape, fitted.predict(X).shape)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, env=os.environ)
    assert done.stdout.strip() == "True (3000,) (4000,)", done.stderr


@pytest.mark.parametrize("name", [*ESTIMATORS_OF_NUMBERS, "LatentDirichletAllocation"])
def test_an_estimator_that_is_not_fitted_says_so(name):
    X, made = np.eye(4), getattr(hawser, name)()
    for method in ("predict", "transform", "predict_proba", "predict_log_proba", "decision_function", "score", "perplexity", "sparsify", "densify", "get_feature_names_out"):
        if hasattr(made, method):
            given = {"sparsify": (), "densify": (), "get_feature_names_out": (), "score": (X, np.arange(4) % 2)}.get(method, (X,))
            with pytest.raises(sklearn.exceptions.NotFittedError):
                getattr(made, method)(*given)


def test_the_package_works_without_scikit_learn():
    script = """
import sys
sys.modules["sklearn"] = None
import hawser
assert "Lasso" in dir(hawser)
try:
    hawser.Lasso
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, env=os.environ)
    assert "pip install scikit-learn" in done.stdout, done.stderr
