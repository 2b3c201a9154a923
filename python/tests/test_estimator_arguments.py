"""No argument of an estimator does nothing: each keyword changes what comes out, is refused by its name, or stands in the docs as one without effect."""
import inspect
import pathlib
import warnings

import numpy as np
import pytest

pytest.importorskip("sklearn")
from sklearn.base import clone  # noqa: E402
from sklearn.metrics import make_scorer, max_error  # noqa: E402
from sklearn.model_selection import KFold  # noqa: E402

import hawser  # noqa: E402
from conftest import ESTIMATORS_OF_NUMBERS  # noqa: E402

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "python-estimators.md"
ROWS = 60
# Keywords that change no result, as the page says.
WITHOUT = {"precompute", "copy_X", "copy_x", "verbose", "selection", "solver", "dual", "algorithm", "gcv_mode", "check_input", "n_jobs"}
# Without effect on trainings that draw nothing.
SEEDED = {"KMeans", "MiniBatchKMeans"}
VALUES = {"alpha": 0.3, "alphas": [0.5, 0.05], "l1_ratio": 0.2, "l1_ratios": (0.5,), "eps": 0.3, "cv": KFold(3), "positive": True, "fit_intercept": False,
          "tol": 0.3, "max_iter": 1, "rule": "1se", "workers": 3, "sync": "tap", "C": 0.01, "Cs": [0.02, 0.1], "class_weight": {0: 5.0, 1: 1.0}, "refit": False,
          "penalty": "l1", "loss": {"LinearSVC": "hinge", "LinearSVR": "squared_epsilon_insensitive"}, "epsilon": 0.5, "n_clusters": 4, "init": "random", "n_init": 4,
          "scoring": {"LogisticRegressionCV": "neg_log_loss", "RidgeCV": "neg_mean_absolute_error"}, "store_cv_results": True, "alpha_per_target": True,
          "batch_size": 7, "compute_labels": False, "max_no_improvement": 1, "init_size": 8, "warm_start": True, "random_state": 7, "precompute": True,
          "copy_X": False, "copy_x": False, "verbose": 1, "selection": "random", "solver": "saga", "dual": True, "algorithm": "elkan", "gcv_mode": "svd", "n_jobs": 2,
          "intercept_scaling": 2, "multi_class": "crammer_singer", "use_legacy_attributes": True, "reassignment_ratio": 0.1}
# Values of estimators for which the general one is the default, or has no effect on these data.
OWN = {("Ridge", "solver"): "svd", ("RidgeCV", "alphas"): [300.0, 700.0], ("PoissonRegressor", "solver"): "newton-cholesky", ("ElasticNetCV", "l1_ratio"): [0.1, 0.2],
       ("MultiTaskElasticNetCV", "l1_ratio"): [0.1, 0.2], ("LinearSVR", "C"): 0.001, ("MiniBatchKMeans", "tol"): 5.0}
# Keywords that only others give something to do.
BESIDE = {"max_iter": {"tol": 1e-12, "workers": 3}, "warm_start": {"tol": 1e-10, "workers": 3}, "sync": {"workers": 3}, "max_no_improvement": {"batch_size": 8}}
BESIDE_OF = {("LogisticRegressionCV", "rule"): {"Cs": [0.001, 0.01, 0.05, 0.1, 0.2, 0.5, 1.0, 10.0], "scoring": "neg_log_loss"}, ("KMeans", "max_iter"): {"tol": 0.0},
             ("MultiTaskElasticNet", "max_iter"): {"alpha": 1e-4, "tol": 0}, ("MultiTaskElasticNet", "warm_start"): {"alpha": 0.5, "tol": 1e-14, "workers": 1},
             ("MultiTaskElasticNetCV", "max_iter"): {"alphas": [0.1, 1e-4], "tol": 1e-14, "workers": 3},
             ("MiniBatchKMeans", "max_iter"): {"tol": 0.0}, ("LinearSVC", "tol"): {"C": 0.01},
             **{(name, "max_iter"): {"alphas": [0.1, 1e-4], "tol": 1e-12, "workers": 3} for name in ("LassoCV", "ElasticNetCV")},
             **{(name, "sync"): {"alphas": [0.5, 0.1], "workers": 3} for name in ("LassoCV", "ElasticNetCV", "MultiTaskLassoCV", "MultiTaskElasticNetCV")}}


def data_of(name):
    draw = np.random.default_rng(3)
    X = draw.normal(size=(ROWS, 4)) * [1, 2, 3, 4] + 0.5
    X[:, 3] += X[:, 0]
    y = X @ [1.0, 0.0, -2.0, 0.5] + draw.normal(size=ROWS)
    if "Multi" in name or name == "RidgeCV":
        return X, np.column_stack([y, draw.normal(size=ROWS)])
    if name.startswith("Logistic") or name == "LinearSVC":
        return X, (y > 0).astype(int)
    return X, np.abs(np.round(y)) if name == "PoissonRegressor" else y


def fitted(name, fit=None, **keywords):
    X, y = data_of(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = getattr(hawser, name)(**keywords)
        made.fit(X, y, **(fit or {}))
        return made.fit(X, y, **(fit or {})) if keywords.get("warm_start") else made


def outcome(made):
    """What a user can see of a fit, except times and models of which the rest is a copy."""
    seen = {key: value for key, value in vars(made).items() if key.endswith("_") and key not in ("trace_", "model_", "models_")}
    models = [each for each in (getattr(made, "model_", None), *getattr(made, "models_", ())) if each is not None]
    return {"how": [(each.facts["options.sync"], each.training.workers) for each in models], **{key: np.asarray(value).tolist() if not isinstance(value, dict) else repr(value) for key, value in seen.items()}}


def value_of(name, keyword):
    value = OWN.get((name, keyword), VALUES[keyword])
    return value[name] if isinstance(value, dict) and name in value else value


@pytest.mark.parametrize("name", ESTIMATORS_OF_NUMBERS)
def test_each_keyword_has_an_effect_or_is_refused(name):
    base = outcome(fitted(name))
    for keyword in inspect.signature(getattr(hawser, name)).parameters:
        value, beside = value_of(name, keyword), BESIDE_OF.get((name, keyword), BESIDE.get(keyword, {}))
        before = outcome(fitted(name, **beside)) if beside else base
        try:
            found = outcome(fitted(name, **beside, **{keyword: value}))
        except hawser.Diverged:
            assert keyword == "sync", (keyword, name)
            continue
        except ValueError as error:
            assert keyword in str(error), (keyword, error)
            continue
        if keyword in WITHOUT or (keyword == "random_state" and name not in SEEDED):
            if keyword != "n_jobs":  # the number of workers, which changes the last digits
                assert found == before, f"{keyword} of {name} changes the result"
        else:
            assert found != before, f"{keyword} of {name} does nothing"


@pytest.mark.parametrize("name", ESTIMATORS_OF_NUMBERS)
def test_nonsense_is_refused_by_name(name):
    for keyword in inspect.signature(getattr(hawser, name)).parameters:
        if keyword in ("verbose", "copy_X", "copy_x"):
            continue
        with pytest.raises((ValueError, TypeError)) as caught:
            fitted(name, **{keyword: "nonsense"})
        assert keyword in str(caught.value) or keyword.rstrip("s") in str(caught.value), (keyword, caught.value)


@pytest.mark.parametrize("name", ESTIMATORS_OF_NUMBERS)
def test_arguments_of_fit(name, tmp_path):
    base, (X, y) = outcome(fitted(name)), data_of(name)
    draw = np.random.default_rng(4)
    for keyword in list(inspect.signature(getattr(hawser, name).fit).parameters)[3:]:
        value = {"sample_weight": draw.integers(0, 3, ROWS), "eval_set": X[:20] + 1 if "KMeans" in name else (X[:20] + 1, y[:20]), "groups": np.arange(ROWS) % 5,
                 "check_input": False, "early_stopping_rounds": 2, "checkpoint": tmp_path / "ck"}[keyword]
        try:
            found = outcome(fitted(name, {keyword: value, **({"eval_set": (X, y)} if keyword == "early_stopping_rounds" and "KMeans" not in name else {}),
                                          **({"eval_set": X} if keyword == "early_stopping_rounds" and "KMeans" in name else {})}))
        except ValueError as error:
            assert keyword in str(error) or keyword == "early_stopping_rounds", (keyword, error)
            continue
        assert (found == base) == (keyword in WITHOUT or keyword == "checkpoint"), f"{keyword} of {name}"


@pytest.mark.skipif(not PAGE.exists(), reason="the docs are not here")
def test_the_page_names_what_has_no_effect():
    page = PAGE.read_text()
    for keyword in WITHOUT | {"random_state"}:
        assert f"`{keyword}`" in page, f"the page does not say that {keyword} has no effect"


@pytest.mark.parametrize("estimator", [hawser.RidgeCV(), hawser.RidgeCV(cv=3), hawser.LogisticRegressionCV(cv=3, Cs=2)])
@pytest.mark.parametrize("scoring", [make_scorer(max_error, greater_is_better=False), lambda estimator, X, y: -np.abs(estimator.predict(X) - y).max()])
def test_a_scorer_without_weights_is_refused_for_weighted_samples(estimator, scoring):
    draw = np.random.default_rng(0)
    X = draw.normal(size=(30, 3))
    y = (X[:, 0] > 0).astype(float) if hasattr(estimator, "Cs") else X[:, 0]
    estimator = clone(estimator).set_params(scoring=scoring)
    assert np.isfinite(estimator.fit(X, y).coef_).all()
    with pytest.raises(ValueError, match="takes no sample_weight"):
        estimator.fit(X, y, sample_weight=np.arange(1.0, 31.0))
    if hasattr(estimator, "Cs"):
        with pytest.raises(ValueError, match="takes no sample_weight"):
            estimator.score(X, y, sample_weight=np.ones(30))


@pytest.mark.parametrize("start", [0, 1, 2])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_what_a_start_of_kmeans_raises_leaves_no_half_of_a_fit(start, error):
    """An error leaves what was fitted before, and Ctrl-C the best of the starts so far."""
    draw = np.random.default_rng(start)
    X, calls = draw.normal(size=(60, 2)), []

    def init(X, clusters, random_state):
        calls.append(X[random_state.choice(len(X), clusters, replace=False)])
        if len(calls) > start:
            raise error("no centres")
        return calls[-1]

    estimator = hawser.KMeans(2, n_init=1, random_state=0).fit(X + 100)
    before = dict(estimator.__dict__)
    estimator.set_params(n_clusters=3, init=init, n_init=4)
    with pytest.raises(error):
        estimator.fit(X)
    if error is ValueError or start == 0:
        assert estimator.inertia_ == before["inertia_"] and np.array_equal(estimator.labels_, before["labels_"])
        assert np.array_equal(estimator.predict(X + 100), before["labels_"])
        return
    starts = [hawser.KMeans(3, init=centres, n_init=1).fit(X) for centres in calls[:start]]
    best = min(starts, key=lambda each: each.inertia_)
    assert estimator.inertia_ == best.inertia_ and np.array_equal(estimator.cluster_centers_, best.cluster_centers_)
