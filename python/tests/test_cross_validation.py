"""Estimators with cross-validation: the choices, errors and solutions are scikit-learn's, in its folds."""
import pickle

import numpy as np
import pytest

sklearn = pytest.importorskip("sklearn")
import scipy.sparse  # noqa: E402
from sklearn import datasets, linear_model  # noqa: E402
from sklearn.model_selection import KFold, PredefinedSplit, RepeatedKFold, ShuffleSplit, StratifiedKFold, TimeSeriesSplit, check_cv  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402

import hawser  # noqa: E402
from conftest import some  # noqa: E402


@pytest.fixture(scope="module")
def diabetes():
    return datasets.load_diabetes(return_X_y=True)


@pytest.fixture(scope="module")
def cancer():
    X, y = datasets.load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def mean_of_samples(theirs, cv, X, weights=None):
    """scikit-learn's errors by fold, as the mean over the samples."""
    counts = [len(test) if weights is None else weights[test].sum() for _, test in check_cv(cv).split(X)]
    return np.average(theirs.mse_path_, axis=-1, weights=counts)


@pytest.mark.parametrize("cv", [None, 4, KFold(3, shuffle=True, random_state=1), list(KFold(6).split(np.zeros(442)))])
@pytest.mark.parametrize("how", [{}, {"alphas": 30, "eps": 0.01, "positive": True}, {"alphas": [0.01, 0.3, 0.1], "fit_intercept": False}])
def test_lasso(diabetes, cv, how):
    X, y = diabetes
    ours = hawser.LassoCV(cv=cv, tol=1e-9, **how).fit(X, y)
    theirs = linear_model.LassoCV(cv=cv, tol=1e-9, max_iter=100000, **how).fit(X, y)
    np.testing.assert_allclose(ours.alphas_, theirs.alphas_, rtol=1e-9)
    np.testing.assert_allclose(ours.mse_path_, theirs.mse_path_, rtol=1e-5)
    errors = mean_of_samples(theirs, cv, X)
    np.testing.assert_allclose(ours.mean_mse_, errors, rtol=1e-6)
    assert ours.alpha_ == pytest.approx(theirs.alphas_[errors.argmin()])
    refitted = linear_model.Lasso(ours.alpha_, tol=1e-9, max_iter=100000, fit_intercept=theirs.fit_intercept,
                                  positive=theirs.positive).fit(X, y)
    np.testing.assert_allclose(ours.coef_, refitted.coef_, atol=0.02)
    if ours.alpha_ == pytest.approx(theirs.alpha_):
        np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-3)
    assert ours.model_.path.chosen == ours.model_.path.least == ours.mean_mse_.argmin()


def test_equal_folds_choose_the_same_alpha(diabetes):
    X, y = (part[:440] for part in diabetes)
    weights = np.tile([1.0, 0.5, 2.0, 0.0], 110)
    for sample_weight in (None, weights):
        ours = hawser.LassoCV(tol=1e-9, cv=5).fit(X, y, sample_weight)
        theirs = linear_model.LassoCV(tol=1e-9, cv=5, max_iter=100000).fit(X, y, sample_weight)
        np.testing.assert_allclose(ours.mse_path_, theirs.mse_path_, rtol=1e-5)
        np.testing.assert_allclose(ours.mean_mse_, theirs.mse_path_.mean(axis=1), rtol=1e-6)
        assert ours.alpha_ == pytest.approx(theirs.alpha_, rel=1e-9)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=0.02)
        spread = np.sqrt(((theirs.mse_path_ - ours.mean_mse_[:, None]) ** 2).mean(axis=1) / 4)
        np.testing.assert_allclose(ours.standard_error_, spread, rtol=1e-5)


def test_elastic_net(diabetes):
    X, y = (part[:440] for part in diabetes)
    for how in ({"alphas": 20}, {"alphas": [0.001, 0.003, 0.01]}):
        ours = hawser.ElasticNetCV(l1_ratio=[0.3, 0.9, 0.99], tol=1e-9, **how).fit(scipy.sparse.csr_array(X), y)
        theirs = linear_model.ElasticNetCV(l1_ratio=[0.3, 0.9, 0.99], tol=1e-9, max_iter=100000, **how).fit(X, y)
        np.testing.assert_allclose(ours.alphas_, theirs.alphas_, rtol=1e-9)
        np.testing.assert_allclose(ours.mse_path_, theirs.mse_path_, rtol=1e-4)
        np.testing.assert_allclose(ours.mean_mse_, theirs.mse_path_.mean(axis=2), rtol=1e-5)
        assert ours.l1_ratio_ == theirs.l1_ratio_ and ours.alpha_ == pytest.approx(theirs.alpha_, rel=1e-9)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=0.02)
    one = hawser.ElasticNetCV(l1_ratio=0, alphas=[2]).fit(X, y)
    assert one.alphas_.tolist() == [2.0] and one.mean_mse_.shape == (1,) and one.alpha_ == 2.0


@pytest.mark.parametrize("scoring", ["neg_log_loss", "accuracy", "roc_auc"])
def test_logistic(cancer, scoring):
    X, y = (part[:560] for part in cancer)
    words = np.array(["ape", "bee"])[y]
    how = {"Cs": [0.001, 1.0, 0.03], "scoring": scoring, "cv": 5}
    ours = hawser.LogisticRegressionCV(tol=1e-10, **how).fit(X, words)
    theirs = linear_model.LogisticRegressionCV(tol=1e-8, max_iter=1000, l1_ratios=(0,), use_legacy_attributes=False, **how).fit(X, words)
    np.testing.assert_allclose(ours.mean_scores_, theirs.scores_.mean(axis=0), rtol=1e-2 if scoring == "accuracy" else 2e-3)
    assert ours.C_ == theirs.C_ and ours.l1_ratio_ == theirs.l1_ratio_ == 0 and ours.Cs_.tolist() == how["Cs"]
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    assert (ours.predict(X) == theirs.predict(X)).mean() > 0.99


def test_logistic_of_exactly_equal_folds(cancer):
    """The mean weight of the training samples is then that of each fold, so scores are scikit-learn's."""
    X, y = (part[:560] for part in cancer)
    fold = np.arange(560) % 5
    cv = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(5)]
    how = {"Cs": [0.001, 0.01, 0.1], "scoring": "neg_log_loss", "cv": cv, "class_weight": {0: 2.0, 1: 2.0}}
    ours = hawser.LogisticRegressionCV(tol=1e-10, **how).fit(X, y)
    theirs = linear_model.LogisticRegressionCV(tol=1e-8, max_iter=1000, l1_ratios=(0,), use_legacy_attributes=False, **how).fit(X, y)
    np.testing.assert_allclose(ours.scores_, theirs.scores_, rtol=1e-5)
    np.testing.assert_allclose(ours.mean_scores_, theirs.scores_.mean(axis=0), rtol=1e-5)
    assert ours.C_ == theirs.C_


def test_three_classes():
    X, y = datasets.load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    how = {"Cs": [0.001, 0.01, 0.1], "scoring": "neg_log_loss", "l1_ratios": [0.0, 0.5], "cv": StratifiedKFold(3)}
    ours = hawser.LogisticRegressionCV(tol=1e-9, **how).fit(X, y)
    theirs = linear_model.LogisticRegressionCV(tol=1e-6, max_iter=20000, solver="saga", use_legacy_attributes=False, **how).fit(X, y)
    np.testing.assert_allclose(ours.scores_, theirs.scores_, rtol=0.05)
    np.testing.assert_allclose(ours.mean_scores_, theirs.scores_.mean(axis=0), rtol=0.02)
    assert (ours.C_, ours.l1_ratio_) == (theirs.C_, theirs.l1_ratio_)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=3e-3)
    assert ours.mean_scores_.shape == (2, 3) and ours.predict_proba(X).shape == (178, 3)


def test_bits_of_the_command(diabetes, command, tmp_path):
    X, y = diabetes
    np.savetxt(tmp_path / "d.csv", np.column_stack([y, X]), delimiter=",", fmt="%.17g")
    np.savetxt(tmp_path / "folds", np.repeat(np.arange(5), [89, 89, 88, 88, 88]), fmt="%d")
    command("train", "lasso", tmp_path / "d.csv", "--path", "20", "--lambda-min-ratio", "0.001", "--cv", "5", "--cv-rule", "min", "--folds",
            tmp_path / "folds", "--workers", "2", "-q", "-o", tmp_path / "m")
    ours = hawser.LassoCV(alphas=20, workers=2).fit(X, y)
    theirs = hawser.Model.load(tmp_path / "m")
    assert ours.coef_.tobytes() == theirs.coefficients.tobytes() and ours.mean_mse_.tobytes() == theirs.path.error.tobytes()
    assert ours.model_.facts["options.folds"] == "array"
    assert ours.model_.to_bytes() == hawser.LassoCV(alphas=20, workers=2).fit(X, y).model_.to_bytes()
    again = pickle.loads(pickle.dumps(ours))
    assert (again.predict(X) == ours.predict(X)).all() and (again.model_.path.error == ours.mean_mse_).all()


def test_a_limit_of_the_fits_warns_and_leaves_results(diabetes, cancer):
    X, y = diabetes
    for kind, target in ((hawser.LassoCV, y), (hawser.MultiTaskLassoCV, np.column_stack([y, -y]))):
        fitted = kind(alphas=20, max_iter=1, tol=1e-12)
        with pytest.warns(sklearn.exceptions.ConvergenceWarning) as caught:
            fitted.fit(X, target)
        assert not hasattr(fitted, "trace_") and caught[0].filename == __file__
        assert any(" of 100 fits" in str(each.message) and "max_iter = 1" in str(each.message) for each in caught)
        assert np.isfinite(fitted.mse_path_).all() and fitted.alpha_ in fitted.alphas_ and fitted.predict(X).shape == target.shape
    enough = hawser.LassoCV(alphas=20, max_iter=1000, tol=1e-12).fit(X, y)
    assert (enough.mse_path_ == hawser.LassoCV(alphas=20, tol=1e-12).fit(X, y).mse_path_).all()
    with pytest.warns(sklearn.exceptions.ConvergenceWarning, match=" of 50 fits"):
        limited = hawser.LogisticRegressionCV(max_iter=1, tol=1e-13, l1_ratios=[0.5], scoring="neg_log_loss").fit(*cancer)
    assert limited.scores_.shape == (5, 1, 10) and np.isfinite(limited.scores_).all()


SPLITS = {
    "in time": lambda rows: TimeSeriesSplit(3), "drawn": lambda rows: ShuffleSplit(3, random_state=0),
    "repeated": lambda rows: RepeatedKFold(n_splits=3, n_repeats=2, random_state=0), "one": lambda rows: PredefinedSplit([-1] * (rows - 90) + [0] * 90),
    "with repeats": lambda rows: (each for each in [(np.arange(rows) // 2, np.arange(9)), (np.arange(60), np.arange(30, rows))]),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("split", some(list(SPLITS), of=2))
def test_any_splits(diabetes, split, weighted):
    X, y = diabetes
    X, y = X[:150], y[:150]
    cv, weights = SPLITS[split], np.random.default_rng(1).integers(0, 4, 150).astype(float) if weighted else None
    how = {"alphas": 6, "tol": 1e-12}
    for ours, theirs, target, given in (
            (hawser.LassoCV, linear_model.LassoCV, y, X), (hawser.ElasticNetCV, linear_model.ElasticNetCV, y, scipy.sparse.csc_array(X)),
            (hawser.MultiTaskLassoCV, linear_model.MultiTaskLassoCV, np.column_stack([y, X[:, 0]]), X)):
        if theirs is linear_model.MultiTaskLassoCV and weighted:
            continue  # scikit-learn's has no weights
        found = ours(cv=cv(150), **how).fit(given, target, weights)
        known = theirs(cv=cv(150), max_iter=100000, **how).fit(X, target, *([] if weights is None else [weights]))
        np.testing.assert_allclose(found.alphas_, known.alphas_, rtol=1e-9)
        np.testing.assert_allclose(found.mse_path_.reshape(known.mse_path_.shape), known.mse_path_, rtol=1e-5)
        pairs = list(check_cv(cv(150)).split(X))
        shares = [len(test) if weights is None else weights[test].sum() for _, test in pairs]
        np.testing.assert_allclose(found.mean_mse_, np.average(found.mse_path_, axis=1, weights=shares))
        assert found.alpha_ == found.alphas_[found.mean_mse_.argmin()]
        again = getattr(hawser, ours.__name__[:-2])(alpha=found.alpha_, tol=1e-12).fit(given, target, weights)
        np.testing.assert_allclose(found.coef_, again.coef_, atol=1e-5)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("split", some(["in time", "folds"]))
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("scoring", ["balanced_accuracy", "neg_log_loss", "function"])
def test_any_scoring_and_refit(scoring, classes, split):
    draw = np.random.default_rng(classes)
    X, weights = draw.normal(size=(200, 4)), draw.integers(0, 4, 200).astype(float)
    y = np.array(["ape", "bee", "cat"])[np.digitize(X[:, 0] + draw.normal(size=200), [0] if classes == 2 else [-0.7, 0.7])]
    cv = TimeSeriesSplit(3) if split == "in time" else StratifiedKFold(3)

    def own(estimator, X, y, sample_weight=None):
        return np.average(estimator.predict_proba(X).max(axis=1) * (estimator.predict(X) == y), weights=sample_weight)

    how = {"Cs": [1.0, 0.01, 30.0], "cv": cv, "scoring": own if scoring == "function" else scoring, "use_legacy_attributes": False, "l1_ratios": (0.0,)}
    for refit in (True, False):
        for given in (None, weights):
            if refit and scoring == "neg_log_loss" and split == "folds":
                continue  # the library has one penalty for a C, of the mean weight of the folds
            ours = hawser.LogisticRegressionCV(tol=1e-12, refit=refit, **how).fit(X, y, given)
            solver = "newton-cholesky" if classes == 2 else "newton-cg"
            theirs = linear_model.LogisticRegressionCV(tol=1e-10, max_iter=10000, solver=solver, refit=refit, **how).fit(X, y, given)
            np.testing.assert_allclose(ours.scores_, theirs.scores_, atol=1e-6)
            np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
            assert ours.C_ == theirs.C_ and (ours.predict(X) == theirs.predict(X)).mean() > 0.99
            assert hasattr(ours, "model_") == refit


def test_a_fold_that_lacks_a_class():
    draw = np.random.default_rng(0)
    X, y = draw.normal(size=(90, 3)), np.arange(90) // 30
    kept = np.flatnonzero(y < 2)
    cv = [(kept, np.arange(20, 90)), (np.arange(90), np.arange(30))]
    fitted = hawser.LogisticRegressionCV(Cs=[1.0], cv=cv, scoring="neg_log_loss", tol=1e-12).fit(X, y)
    alone = hawser.LogisticRegression(tol=1e-12).fit(X[kept], y[kept])
    known = alone.predict_proba(X[20:60])
    expected = np.concatenate([-np.log(known[np.arange(40), y[20:60]]), np.full(30, -np.log(np.finfo(float).eps))])
    assert fitted.scores_[0, 0, 0] == pytest.approx(-expected.mean(), rel=1e-6)
    with pytest.raises(ValueError, match="a fold trains on samples of 1 class only"):
        hawser.LogisticRegressionCV(cv=[(np.arange(30), np.arange(30, 90))]).fit(X, y)


@pytest.mark.parametrize("estimator, text", [
    (lambda: hawser.LassoCV(cv=[]), "no splits"), (lambda: hawser.LassoCV(cv=[([], [1, 2])]), "without samples"), (lambda: hawser.LassoCV(alphas=0), "alphas"),
    (lambda: hawser.LassoCV(alphas=[0.1, 0]), "alphas"), (lambda: hawser.LassoCV(precompute="yes"), "precompute"),
    (lambda: hawser.LassoCV(precompute=np.eye(3)), r"precompute = .*\(3, 3\).*\(30, 30\)"),
    (lambda: hawser.LassoCV(eps=2), "eps"), (lambda: hawser.LassoCV(eps=0), "eps"), (lambda: hawser.ElasticNetCV(l1_ratio=0), "l1_ratio"),
    (lambda: hawser.LogisticRegressionCV(Cs=[]), "Cs"), (lambda: hawser.LogisticRegressionCV(use_legacy_attributes=True), "use_legacy_attributes"),
    (lambda: hawser.LogisticRegressionCV(Cs=[np.inf]), "Cs"), (lambda: hawser.LogisticRegressionCV(scoring="best"), "scoring"),
    (lambda: hawser.LogisticRegressionCV(l1_ratios=None), "l1_ratios"), (lambda: hawser.LogisticRegressionCV(l1_ratios=[2]), "l1_ratio"),
])
@pytest.mark.filterwarnings("ignore")
def test_refusals(cancer, estimator, text):
    with pytest.raises(ValueError, match=text):
        estimator().fit(*cancer)


@pytest.mark.filterwarnings("ignore:the least error on the held-out rows:RuntimeWarning")
@pytest.mark.parametrize("seed", range(4))
def test_the_rule_of_one_standard_error(diabetes, cancer, seed):
    """The largest penalty within one standard error of the least error, of the ratio that has it, by folds of the library and by any splits."""
    draw = np.random.default_rng(seed)
    X, y = diabetes
    keep = draw.permutation(len(X))[:200]
    X, y, folds = X[keep], y[keep] + 30 * draw.normal(size=200), int(draw.integers(3, 7))
    for cv in (folds, ShuffleSplit(folds, random_state=seed)):
        for kind, how in ((hawser.LassoCV, {}), (hawser.ElasticNetCV, {"l1_ratio": [0.3, 0.9]}), (hawser.MultiTaskLassoCV, {})):
            given = np.column_stack([y, X[:, 0] - y]) if kind is hawser.MultiTaskLassoCV else y
            least, ours = (kind(cv=cv, alphas=20, rule=rule, tol=1e-8, **how).fit(X, given) for rule in ("min", "1se"))
            assert np.array_equal(least.mean_mse_, ours.mean_mse_) and least.l1_ratio_ == ours.l1_ratio_
            row = np.atleast_2d(ours.mean_mse_)
            k = int(row.min(axis=1).argmin())
            mean, error, alphas = row[k], np.atleast_2d(ours.standard_error_)[k], np.atleast_2d(ours.alphas_)[k]
            expected = max(alpha for alpha, value in zip(alphas, mean) if value <= mean.min() + error[mean.argmin()])
            assert ours.alpha_ == pytest.approx(expected) and ours.alpha_ >= least.alpha_ == pytest.approx(alphas[mean.argmin()])
            single = (hawser.MultiTaskLasso if given.ndim == 2 else hawser.ElasticNet)(ours.alpha_, tol=1e-10)
            single = single.set_params(l1_ratio=ours.l1_ratio_) if given.ndim == 1 else single
            np.testing.assert_allclose(ours.coef_, single.fit(X, given).coef_, atol=2e-2 * np.abs(single.coef_).max())
        X2, y2 = cancer
        ours = hawser.LogisticRegressionCV(Cs=6, cv=cv, rule="1se", scoring="neg_log_loss", l1_ratios=[0.0, 0.5]).fit(X2[keep[keep < 569]], y2[keep[keep < 569]])
        k = int(ours.mean_scores_.max(axis=1).argmax())
        mean, error = ours.mean_scores_[k], ours.standard_error_[k]
        assert ours.l1_ratio_ == ours.l1_ratios_[k]
        assert ours.C_ == min(C for C, score in zip(ours.Cs_, mean) if score >= mean.max() - error[mean.argmax()])


def test_what_a_rule_may_be(diabetes, cancer):
    with pytest.raises(ValueError, match="rule = '2se': it is 'min', the least error, or '1se'"):
        hawser.LassoCV(rule="2se").fit(*diabetes)
    with pytest.raises(ValueError, match="rule='1se' needs the standard error of several"):
        hawser.LassoCV(rule="1se", cv=ShuffleSplit(1)).fit(*diabetes)
    with pytest.raises(ValueError, match="refit = False: .*True if rule is '1se'"):
        hawser.LogisticRegressionCV(rule="1se", refit=False).fit(*cancer)
