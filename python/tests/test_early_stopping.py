"""Errors on other data while an estimator trains: numpy's for the kept model, and where the training ends by them."""
import numpy as np
import pytest

sklearn = pytest.importorskip("sklearn")
pytest.importorskip("sklearn.metrics")

import hawser  # noqa: E402


@pytest.fixture(scope="module")
def noisy():
    """Few rows with much noise, which a small penalty fits too well."""
    draw = np.random.default_rng(3)
    X = draw.normal(size=(120, 40))
    y = 2 * X[:, 0] - X[:, 3] + 2 * draw.normal(size=120)
    return X[:50], y[:50], X[50:], y[50:]


def check(estimator, errors, rounds, least):
    """The place and the score of the least error, N certificates before the end."""
    assert estimator.best_iteration_ == int(np.argmin(errors)) and estimator.best_score_ == pytest.approx(min(errors), rel=1e-9)
    assert least == pytest.approx(min(errors), rel=1e-9)
    assert len(errors) == estimator.best_iteration_ + rounds + 1 and estimator.model_.training.stop_reason == "early-stopping"


def test_linear(noisy):
    X, y, others, targets = noisy
    for estimator in hawser.Lasso(alpha=1e-4), hawser.ElasticNet(alpha=1e-4, l1_ratio=0.5):
        plain = estimator.fit(X, y, eval_set=(others, targets))
        errors = plain.evals_result_["validation"]["mse"]
        assert errors[-1] == pytest.approx(np.mean((targets - plain.predict(others)) ** 2), rel=1e-9)
        assert errors[0] == pytest.approx(np.mean((targets - y.mean()) ** 2), rel=1e-9) and not hasattr(plain, "best_score_")
        estimator.fit(X, y, eval_set=[(others, targets)], early_stopping_rounds=1)
        found = estimator.evals_result_["validation"]["mse"]
        assert found == errors[:len(found)]
        check(estimator, found, 1, np.mean((targets - estimator.predict(others)) ** 2))
        assert not hasattr(estimator.fit(X, y), "evals_result_")


def test_logistic(noisy):
    X, y, others, targets = noisy
    words, labels = np.where(y > 0, "high", "low"), np.where(targets > 0, "high", "low")
    estimator = hawser.LogisticRegression(C=1e4).fit(X, words, eval_set=(others, labels), early_stopping_rounds=2)
    chance = estimator.predict_proba(others)[np.arange(len(labels)), (labels == "low").astype(int)]
    check(estimator, estimator.evals_result_["validation"]["log_loss"], 2, -np.log(chance).mean())
    with pytest.raises(ValueError, match="the label 'middle' is not one of the training's"):
        estimator.fit(X, words, eval_set=(others, np.where(targets > 1, "middle", labels)))


def test_softmax(noisy):
    X, y, others, targets = noisy
    names = np.array(["low", "some", "high"])
    words, labels = names[np.digitize(y, [-1, 1])], names[np.digitize(targets, [-1, 1])]
    whole = hawser.LogisticRegression(C=1e4).fit(X, words, eval_set=(others, labels))
    estimator = hawser.LogisticRegression(C=1e4).fit(X, words, eval_set=(others, labels), early_stopping_rounds=2)
    errors = estimator.evals_result_["validation"]["log_loss"]
    check(estimator, errors, 2, sklearn.metrics.log_loss(labels, estimator.predict_proba(others), labels=estimator.classes_))
    assert errors == whole.evals_result_["validation"]["log_loss"][:len(errors)] and not hasattr(whole, "best_score_")
    with pytest.raises(ValueError, match="the label 'middle' is not one of the training's"):
        estimator.fit(X, words, eval_set=(others, np.where(targets > 1, "middle", labels)))


def test_svm(noisy):
    X, y, others, targets = noisy
    estimator = hawser.LinearSVR(C=100.0, epsilon=0.1).fit(X, y, eval_set=(others, targets), early_stopping_rounds=2)
    check(estimator, estimator.evals_result_["validation"]["mean_squared_error"], 2, np.mean((targets - estimator.predict(others)) ** 2))
    for cuts in ([0], [-1, 1]):
        words, labels = (np.array(["low", "some", "high"])[np.digitize(values, cuts)] for values in (y, targets))
        estimator = hawser.LinearSVC(C=100.0, loss="hinge").fit(X, words, eval_set=(others, labels), early_stopping_rounds=2)
        right = estimator.evals_result_["validation"]["accuracy"]
        assert estimator.best_score_ == pytest.approx(max(right)) and estimator.best_iteration_ == int(np.argmax(right)) == len(right) - 3
        assert estimator.score(others, labels) == pytest.approx(max(right)) and estimator.model_.training.stop_reason == "early-stopping"


def test_clusters(noisy):
    X, _, others, _ = noisy
    for starts in 1, 3:
        how = {"batch_size": 10, "max_no_improvement": None, "random_state": 4, "n_init": starts}
        whole = hawser.MiniBatchKMeans(9, max_iter=12, **how).fit(X, eval_set=others).evals_result_["validation"]["inertia"]
        estimator = hawser.MiniBatchKMeans(9, max_iter=12, **how).fit(X, eval_set=others, early_stopping_rounds=1)
        errors = estimator.evals_result_["validation"]["inertia"]
        distances = ((others[:, None] - estimator.cluster_centers_[None]) ** 2).sum(axis=2).min(axis=1)
        check(estimator, errors, 1, distances.sum())
        assert starts > 1 or errors == whole[:len(errors)]
        assert starts > 1 or hawser.MiniBatchKMeans(9, max_iter=5, **how).fit(X).score(others) == pytest.approx(-whole[4], rel=1e-9)
    for wrong, says in ({"early_stopping_rounds": 3}, "there is no eval_set=X"), ({"eval_set": others[:, :5]}, "features"):
        with pytest.raises(ValueError, match=says):
            estimator.fit(X, **wrong)
    with pytest.raises(hawser.BadOption, match="mini-batches"):
        hawser.train("kmeans", X, clusters=3, validation=hawser.Dataset(others), early_stopping=3)


def test_train(noisy):
    X, y, others, targets = noisy
    reports = []
    how = {"validation": (others, targets), "path": 40, "lambda_min_ratio": 1e-4}
    whole, model = hawser.train("lasso", X, y, **how), hawser.train("lasso", X, y, early_stopping=3, progress=reports.append, **how)
    errors = whole.path.error
    end = next(k for k in range(len(errors)) if k - np.argmin(errors[:k + 1]) >= 3) + 1
    assert len(model.path) == end < 40 and model.training.stop_reason == "early-stopping"
    np.testing.assert_array_equal(model.path.error, errors[:end])
    np.testing.assert_allclose(errors, [np.mean((targets - others @ w - b) ** 2) for w, b in zip(whole.path.coefficients, whole.path.intercept)])
    seen = {report["lambda"]: report["validation_mse"] for report in reports if np.isfinite(report.get("validation_mse", np.inf))}
    np.testing.assert_array_equal(list(seen.values()), errors[:end])


@pytest.mark.parametrize(("wrong", "says"), [
    ({"early_stopping_rounds": 3}, "there is no eval_set"), ({"eval_set": np.ones(3)}, "give one pair"),
    ({"eval_set": (np.ones((3, 2)), np.ones(3))}, "features"), ({"eval_set": (np.ones((3, 40)), np.ones(2))}, "inconsistent"),
])
def test_refusals(noisy, wrong, says):
    X, y, _, _ = noisy
    with pytest.raises(ValueError, match=says):
        hawser.Lasso().fit(X, y, **wrong)


def test_folds_that_a_limit_cuts_short_are_named(noisy):
    X, y, _, _ = noisy
    cv = {"cv": 3, "path": [1.0, 0.1]}
    whole = hawser.train("lasso", X, y, **cv)
    with pytest.warns(hawser.ConvergenceWarning):
        cut = hawser.train("lasso", X, y, **cv, max_clocks=whole.training.clocks - 1)
    assert whole.path.folds_ended is None and "cv_folds_finished" not in whole.training.metrics and whole.path.error is not None
    assert cut.path.folds_ended == "clocks" and cut.training.metrics["cv_folds_finished"] == 2 and cut.path.error is None
    assert cut.facts["cv.planned"] == "3" and cut.facts["cv.ended"] == "clocks" and cut.path.ended is None


def test_folds_as_an_array(noisy):
    X, y, _, _ = noisy
    fold = np.arange(50) % 3
    path = hawser.train("lasso", X, y, cv=3, folds=fold, path=[1.0, 0.1]).path
    assert path.fold_errors.shape == (2, 3)
    np.testing.assert_allclose(path.fold_errors @ path.fold_weights / path.fold_weights.sum(), path.error)
    for k in range(3):
        model = hawser.train("lasso", X[fold != k], y[fold != k], lambda_=0.1, tol=1e-9)
        np.testing.assert_allclose(path.fold_errors[1, k], np.mean((y[fold == k] - model.predict(X[fold == k])) ** 2), rtol=1e-2)
    for wrong, says in ((fold[:9], "shape is"), (fold + 0.5, "is not the number of a fold"), (fold * 2, "no row is in fold 1")):
        with pytest.raises(ValueError, match=says):
            hawser.train("lasso", X, y, cv=int(wrong.max()) + 1 if says != "is not" else 3, folds=wrong)
    with pytest.raises(hawser.BadOption, match="no cv that uses it"):
        hawser.train("lasso", X, y, folds=fold)
    with pytest.raises(hawser.BadArgument, match="kmeans has no such option|no such option"):
        hawser.train("kmeans", X, folds=fold)
    with pytest.warns(RuntimeWarning, match="add smaller alphas to alphas"):
        hawser.LassoCV(alphas=[1.0, 0.7], cv=3).fit(X, y)


@pytest.mark.parametrize("algorithm, how", [("lasso", {"cv": 3}), ("lasso", {"validation_fraction": 0.5}), ("softmax", {"cv": 3}), ("svm", {"cv": 3})])
def test_two_kinds_of_held_out_rows_are_refused(numbers, algorithm, how):
    X, y = numbers
    with pytest.raises(hawser.BadOption, match="validation excludes cv and validation_fraction"):
        hawser.train(algorithm, X, y > 0, validation=(X, y > 0), **how)
