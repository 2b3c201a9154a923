"""hawser.dask on real processes of distributed: bits of one process, data that stay on the workers, and every way in which a training can fail."""
import contextlib
import inspect
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest

distributed = pytest.importorskip("distributed")
import dask  # noqa: E402
import dask.array  # noqa: E402
import dask.dataframe  # noqa: E402
import pandas as pd  # noqa: E402
import scipy.sparse  # noqa: E402
import tornado.iostream  # noqa: E402
from sklearn.base import clone  # noqa: E402
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold  # noqa: E402

import hawser  # noqa: E402
import hawser.dask  # noqa: E402
from conftest import some  # noqa: E402

dask.config.set({"distributed.scheduler.work-stealing": False,  # a busy machine would leave workers without partitions
                 "distributed.worker.multiprocessing-method": "forkserver"})
# What is not ours is imported once, and not by each worker, which would take a second for it.
distributed.utils.get_mp_context().set_forkserver_preload(["distributed", "dask.array", "dask.dataframe", "scipy.sparse", "sklearn.model_selection"])

DRAW = np.random.default_rng(0)
X = DRAW.normal(size=(600, 5))
Y = X @ [1.0, 0.0, -2.0, 0.0, 0.5] + 0.1 * DRAW.normal(size=600)
SEVERAL = np.column_stack([Y, X @ [0.0, 1.0, -1.0, 0.0, 0.5] + 0.1 * DRAW.normal(size=600)])
WEIGHTS = DRAW.uniform(0.5, 2.0, size=600)
WORDS = np.array(["low", "middle", "high"])[np.digitize(Y, [-1, 1])]
LONG = {"epochs": 1e9, "solver": "minibatch"}  # a training of "linear" that only a signal ends


def chunked(array, rows=110):
    return dask.array.from_array(array, chunks=(rows, *array.shape[1:]))


@pytest.fixture(scope="module")
def client():
    with distributed.Client(n_workers=3, threads_per_worker=2, dashboard_address=":0") as made:
        yield made
        assert trainings(made) == 0


@contextlib.contextmanager
def own_client(**how):
    """A cluster of its own."""
    with distributed.LocalCluster(**{"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0", **how}) as cluster:
        with distributed.Client(cluster) as made:
            yield made


def lay(client, array, workers, rows=110):
    """Persists the partitions of an array on workers, in turn."""
    array = dask.array.from_array(array, chunks=(rows, *array.shape[1:]), name=False)
    with dask.annotate(workers=lambda key: workers[key[1] % len(workers)]):
        made = client.persist(array)
    distributed.wait(made)
    return made


# ----------------------------------------------------------------------------------------------------------- the bits ----


@pytest.mark.parametrize("name, parameters, target", some([
    ("Lasso", {"alpha": 0.01}, Y), ("ElasticNet", {"alpha": 0.1, "positive": True}, Y), ("LinearSVR", {}, Y),
    ("PoissonRegressor", {"alpha": 0.1}, np.floor(np.abs(Y))), ("Ridge", {"alpha": 3.0}, Y), ("LinearRegression", {"positive": True}, Y), ("MultiTaskLasso", {"alpha": 0.1}, SEVERAL), ("MultiTaskElasticNet", {"alpha": 0.1}, SEVERAL[:, :1]),
    ("LogisticRegression", {"class_weight": "balanced"}, WORDS), ("LinearSVC", {"class_weight": {"high": 2.0, "low": 1.0, "middle": 3.0}}, WORDS),
    ("KMeans", {"n_clusters": 3, "init": X[:3]}, None), ("MiniBatchKMeans", {"n_clusters": 3, "batch_size": 64}, None)], of=2))
def test_estimators_have_the_bits_of_one_process(client, name, parameters, target):
    collection = dask.array.from_array(X, chunks=(110, 2))
    y = None if target is None else chunked(target, 200)
    fitted = getattr(hawser.dask, name)(workers=6, **parameters).fit(collection, y, sample_weight=chunked(WEIGHTS, 600))
    alone = getattr(hawser, name)(workers=6, **parameters).fit(X, target, sample_weight=WEIGHTS)
    key = "cluster_centers_" if target is None else "coef_"
    if parameters.get("class_weight") == "balanced":  # sums of weights are rounded in another order
        assert np.allclose(getattr(fitted, key), getattr(alone, key), rtol=1e-12)
    else:
        assert np.array_equal(getattr(fitted, key), getattr(alone, key))
        assert [now["clocks"] for now in fitted.trace_] == [now["clocks"] for now in alone.trace_]
    for method in ("predict", "predict_proba", "decision_function", "transform"):
        if hasattr(fitted, method):
            lazy = getattr(fitted, method)(collection)
            assert isinstance(lazy, dask.array.Array)
            expected = getattr(alone, method)(X)
            assert lazy.dtype == expected.dtype and lazy.shape == expected.shape
            assert np.allclose(lazy.compute(), expected, rtol=1e-12) if lazy.dtype == float else (lazy.compute() == expected).all()
            assert np.array_equal(getattr(fitted, method)(X[:7]), lazy[:7].compute())
    assert np.isclose(fitted.score(collection, y), alone.score(X, target)) and np.isclose(fitted.score(X, target), alone.score(X, target))
    if target is not None and not hasattr(fitted, "classes_"):
        assert np.isclose(fitted.score(collection, y, chunked(WEIGHTS)), alone.score(X, target, WEIGHTS))
    other = pickle.loads(pickle.dumps(clone(fitted).set_params(workers=2)))
    assert other.workers == 2 and other.client is None and "client" not in other.get_params()


def test_persisted_partitions_in_any_order(client):
    workers = sorted(client.nthreads())
    alone = hawser.train("lasso", X, Y, weights=WEIGHTS, lambda_=0.01, workers=6).to_bytes()
    for order in ([workers[2], workers[0], workers[1]], [workers[1]] * 3, [workers[1], workers[0]]):
        found = hawser.dask.train(client, "lasso", lay(client, X, order), chunked(Y), weights=chunked(WEIGHTS), lambda_=0.01, workers=6)
        assert found.to_bytes() == alone
    # By default each thread of the workers that hold partitions is one of Hawser's.
    assert hawser.dask.train(client, "lasso", lay(client, X, workers[:1]), chunked(Y)).training.workers == 2
    assert hawser.dask.train(client, "lasso", chunked(X), chunked(Y)).training.workers == 6
    assert hawser.dask.train(client, "lasso", chunked(X, 300), chunked(Y, 300)).training.workers == 4  # fewer partitions than workers


def test_dataframes_and_sparse_blocks_and_empty_partitions(client):
    frame = pd.DataFrame(X, columns=list("abcde")).assign(y=Y, n=np.arange(600))
    frame["e"] = frame["e"].round().astype("int64")
    frames = dask.dataframe.from_pandas(frame, npartitions=5)
    fitted = hawser.dask.Lasso(alpha=0.01, workers=3).fit(frames[list("abcde")], frames["y"])
    alone = hawser.Lasso(alpha=0.01, workers=3).fit(frame[list("abcde")], frame["y"])
    assert np.array_equal(fitted.coef_, alone.coef_) and list(fitted.feature_names_in_) == list("abcde") and fitted.model_.names == list("abcde")
    assert np.array_equal(fitted.predict(frames[list("abcde")]).compute(), alone.predict(frame[list("abcde")]))
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(frames[list("edcba")])
    # Filtered rows: sizes are unknown, and one partition has none.
    some = frames[frames["n"] >= 130]
    found = hawser.dask.train(client, "lasso", some[list("abcde")], some["y"], lambda_=0.01, workers=3)
    assert np.array_equal(found.coefficients, hawser.train("lasso", frame[list("abcde")][130:], frame["y"][130:], lambda_=0.01, workers=3).coefficients)
    sparse = scipy.sparse.csr_array(np.where(np.abs(X) > 0.8, X, 0.0))
    blocks = chunked(sparse.toarray()).map_blocks(scipy.sparse.csr_array)
    for name in ("lasso", "svm"):
        found = hawser.dask.train(client, name, blocks, chunked(np.sign(Y)), workers=3)
        assert np.array_equal(found.coefficients, hawser.train(name, sparse, np.sign(Y), workers=3).coefficients)
    single = hawser.dask.train(client, "lasso", chunked(X.astype("f4")), chunked(Y), workers=3)
    assert np.array_equal(single.coefficients, hawser.train("lasso", X.astype("f4"), Y, workers=3).coefficients)


def test_several_targets(client):
    """A dataframe's columns name the targets, and chunks of columns are joined."""
    how = {"lambda_": 0.05, "workers": 6}
    frame = pd.DataFrame(SEVERAL, columns=["first", "second"])
    named = hawser.dask.train(client, "multitask", chunked(X), dask.dataframe.from_pandas(frame, npartitions=4), validation=(X[:50], SEVERAL[:50]), **how)
    assert named.to_bytes() == hawser.train("multitask", X, frame, validation=(X[:50], SEVERAL[:50]), **how).to_bytes()
    cut = dask.array.from_array(SEVERAL, chunks=(130, 1))
    assert hawser.dask.train(client, "multitask", chunked(X), cut, **how).to_bytes() == hawser.train("multitask", X, SEVERAL, **how).to_bytes()
    assert hawser.dask.train(client, "multitask", chunked(X), chunked(Y), **how).to_bytes() == hawser.train("multitask", X, Y, **how).to_bytes()


def test_options_of_a_training(client):
    seen = []
    how = {"lambda_": 0.01, "workers": 3, "lower": np.full(5, -1.0)}
    first = hawser.dask.train(client, "lasso", chunked(X), chunked(Y), offset=chunked(Y / 2), names=list("vwxyz"), progress=seen.append, **how)
    alone = hawser.train("lasso", X, Y, offset=Y / 2, names=list("vwxyz"), **how)
    assert first.to_bytes() == alone.to_bytes() and seen and "clock" in seen[0]
    found = hawser.dask.train(client, "lasso", chunked(X), chunked(Y), offset=chunked(Y / 2), names=list("vwxyz"), interface="lo",
                              port_range="21000-41000", **how)
    assert found.to_bytes() == alone.to_bytes()
    again = hawser.dask.train(client, "lasso", chunked(X), chunked(Y), offset=chunked(Y / 2), names=list("vwxyz"), init=first, **how)
    assert again.training.clocks <= first.training.clocks
    checked = hawser.dask.train(client, "lasso", chunked(X), chunked(Y), validation=(chunked(X[:50]), chunked(Y[:50])), workers=3)
    assert checked.validation_mse == hawser.train("lasso", X, Y, validation=(X[:50], Y[:50]), workers=3).validation_mse
    crossed = hawser.dask.train(client, "lasso", chunked(X), chunked(Y), cv=3, path=5, workers=3).path
    assert np.array_equal(crossed.error, hawser.train("lasso", X, Y, cv=3, path=5, workers=3).path.error)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        hawser.dask.Lasso(alpha=1e-4, tol=1e-14, max_iter=1).fit(chunked(X), chunked(Y))
    assert [each.filename for each in caught if issubclass(each.category, hawser.ConvergenceWarning)] == [__file__]


@pytest.mark.parametrize("name, parameters, target", [
    ("LassoCV", {"alphas": 10}, Y), ("MultiTaskElasticNetCV", {"l1_ratio": [0.5, 1], "alphas": 5}, SEVERAL), ("ElasticNetCV", {"l1_ratio": [0.5, 0.9], "alphas": [0.1, 0.01], "cv": KFold(4, shuffle=True, random_state=1)}, Y),
    ("LogisticRegressionCV", {"Cs": 3, "cv": 4}, WORDS),
    ("LogisticRegressionCV", {"Cs": 3, "cv": StratifiedKFold(3, shuffle=True, random_state=2), "scoring": "neg_log_loss"}, Y > 0.3)])
def test_cross_validation_has_the_folds_and_bits_of_one_process(client, name, parameters, target):
    fitted = getattr(hawser.dask, name)(workers=6, **parameters).fit(chunked(X), chunked(target, 200))
    alone = getattr(hawser, name)(workers=6, **parameters).fit(X, target)
    for learned in ("coef_", "intercept_", "alpha_", "C_", "alphas_", "mse_path_", "mean_mse_", "l1_ratio_", "scores_", "mean_scores_", "classes_"):
        assert hasattr(fitted, learned) == hasattr(alone, learned)
        assert np.array_equal(getattr(fitted, learned, 0), getattr(alone, learned, 0)), learned
    assert np.array_equal(fitted.predict(chunked(X)).compute(), alone.predict(X))


def test_folds_beyond_one_byte(client):
    rare = np.where(np.arange(600) % 60 == 0, "rare", "usual")  # the first class is in few folds
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator = hawser.dask.LogisticRegressionCV(cv=300)
        estimator.classes_ = np.unique(rare)
        rows = hawser.dask._data.place(client, {"data": chunked(X), "target": chunked(rare)}, {"data": "X"})
        found, folds = estimator._folds(rows, None, classifier=True)
        expected, _ = hawser.LogisticRegressionCV(cv=300)._folds(X, np.searchsorted(estimator.classes_, rare), classifier=True)
    assert folds == 300 and np.array_equal(np.concatenate(client.gather(found)), expected)


def test_cross_validation_with_weights(client):
    weights, how = np.where(WORDS == "high", 0.0, WEIGHTS), {"workers": 6, "Cs": [0.1, 1.0], "class_weight": "balanced"}
    fitted = hawser.dask.LogisticRegressionCV(**how).fit(chunked(X), chunked(WORDS), sample_weight=chunked(weights))
    alone = hawser.LogisticRegressionCV(**how).fit(X, WORDS, sample_weight=weights)
    assert list(fitted.classes_) == ["low", "middle"] and np.allclose(fitted.coef_, alone.coef_, rtol=1e-9)
    assert np.allclose(fitted.scores_, alone.scores_, rtol=1e-9)
    with pytest.raises(ValueError, match="every sample must be in the test set of one fold"):
        hawser.dask.LassoCV(cv=ShuffleSplit(3)).fit(chunked(X), chunked(Y))


@pytest.mark.parametrize("name, parameters, target", some([("Lasso", {"alpha": 1e-4}, Y), ("MultiTaskLasso", {"alpha": 1e-4}, SEVERAL), ("LogisticRegression", {"C": 1e4}, np.where(Y > 0, "yes", "no")),
                                                      ("LogisticRegression", {"C": 1e4}, WORDS), ("LinearSVR", {"C": 10.0}, Y),
                                                      ("LinearSVC", {"C": 10.0, "loss": "hinge"}, np.where(Y > 0, "yes", "no")),
                                                      ("MiniBatchKMeans", {"n_clusters": 3, "batch_size": 64, "max_iter": 20}, None)], of=2))
def test_eval_set_and_early_stopping(client, name, parameters, target):
    """Other data are collections or arrays; node 0 has them."""
    def fit(module, wrap, other):
        pair = [wrap(X[:450])] + ([] if target is None else [wrap(target[:450])])
        others = other(X[450:]) if target is None else (other(X[450:]), other(target[450:]))
        return getattr(module, name)(workers=3, **parameters).fit(*pair, eval_set=others, early_stopping_rounds=2)

    alone = fit(hawser, lambda each: each, lambda each: each)
    for other in (chunked, lambda each: each):
        found = fit(hawser.dask, chunked, other)
        assert found.evals_result_ == alone.evals_result_ and found.best_score_ == alone.best_score_
        assert found.best_iteration_ == alone.best_iteration_ and found.model_.to_bytes() == alone.model_.to_bytes()


def test_no_rows_pass_through_the_client(client, monkeypatch):
    moved = [0]
    for name in ("read_from_fd", "write_to_fd"):
        def counted(self, *arguments, original=getattr(tornado.iostream.IOStream, name)):
            count = original(self, *arguments)
            moved[0] += count or 0
            return count
        monkeypatch.setattr(tornado.iostream.IOStream, name, counted)
    many = dask.array.random.default_rng(0).normal(size=(400_000, 5), chunks=(36_000, 5))
    target = many[:, 0] - 2 * many[:, 3]
    fitted = hawser.dask.Lasso(alpha=0.01).fit(many, target, sample_weight=target**2)
    assert fitted.score(many, target) > 0.9
    hawser.dask.KMeans(2, max_iter=3).fit(lay(client, X, sorted(client.nthreads())))
    hawser.dask.LinearSVC(max_iter=3).fit(many, target > 0)
    assert 0 < moved[0] < many.nbytes / 8
    many.compute()
    assert moved[0] > many.nbytes  # the count works


def test_frames_of_booleans_and_nullable_numbers(client):
    draw = np.random.default_rng(3)
    plain = pd.DataFrame({"a": draw.normal(size=60), "b": draw.random(60) < 0.5, "c": draw.integers(0, 9, 60)})
    y = pd.Series(draw.normal(size=60))
    nullable = plain.astype({"a": "Float64", "b": "boolean", "c": "Int64"})
    for frame in (plain, nullable, plain.convert_dtypes(dtype_backend="pyarrow"), plain[["a"]].astype(np.float32)):
        want = hawser.train("lasso", frame, y, lambda_=0.01, workers=3)
        got = hawser.dask.train(client, "lasso", dask.dataframe.from_pandas(frame, npartitions=3), dask.dataframe.from_pandas(y, npartitions=3),
                                lambda_=0.01, workers=3)
        assert np.array_equal(got.coefficients, want.coefficients) and got.names == want.names
    nullable.loc[31, "c"] = None
    with pytest.raises(hawser.BadInput, match=r"X: row 11 of a partition \(index 31\), column 'c' has a missing value"):
        hawser.dask.train(client, "lasso", dask.dataframe.from_pandas(nullable, npartitions=3), dask.dataframe.from_pandas(y, npartitions=3), lambda_=0.01)


def drawn(seed, rows=150):
    """A table with words, dates, missing values and categories, whose last partition has a level that others lack; a target; and a label."""
    draw = np.random.default_rng(seed)
    table = pd.DataFrame({"n": draw.normal(size=rows), "word": draw.choice(["red", 'blue, "x"'], rows).astype(object), "flag": draw.random(rows) < 0.5,
                          "count": pd.array(draw.integers(0, 9, rows), "Int64"), "level": pd.Categorical(draw.choice([3, 4], rows)),
                          "day": pd.to_datetime("2024-01-01") + pd.to_timedelta(draw.integers(0, 900, rows), "D"),
                          "other": draw.choice(["1", "2"], rows).astype(object)})
    table.loc[rows - 1, "other"] = "none"  # other partitions have words that look like numbers
    table.loc[table.index >= rows - 30, "word"] = "last"
    table.loc[draw.random(rows) < 0.2, "count"] = None
    table.loc[draw.random(rows) < 0.1, "word"] = None
    number = pd.Series(draw.normal(size=rows) + (table["word"] == "last"), name="t")
    answer = pd.Series(np.where(number > 1, "yes", "no"), name="t").where(number.index > 20, "maybe")
    return table, number, answer, draw.uniform(0.5, 2.0, rows)


@pytest.mark.parametrize("seed", range(2))
def test_frames_with_words_are_read_by_the_rules_of_csv(client, tmp_path, seed):
    table, number, answer, weights = drawn(seed)
    frame, path = dask.dataframe.from_pandas(table, npartitions=5), tmp_path / "table.csv"
    some = dask.dataframe.from_pandas(table.assign(k=np.arange(150)), npartitions=5)
    for name, target in (("lasso", number), ("softmax", answer), ("multitask", pd.DataFrame({"t": number, "u": number**2}))):
        how = {"missing": "mean,level", "workers": 6, **({} if name == "softmax" else {"lambda_": 0.01})}
        model = hawser.dask.train(client, name, frame, dask.dataframe.from_pandas(target, npartitions=4),
                                  weights=dask.array.from_array(weights, chunks=40), categories="other", **how)
        beside = target.to_frame() if target.ndim == 1 else target
        table.assign(w=weights, flag=table["flag"] * 1, **beside).to_csv(path, index=False, na_rep="NA")
        one = hawser.train(name, path, target=",".join(beside), weights="w", categories="level,other", dates="day", **how)
        assert model.names == one.names and np.array_equal(model.coefficients, one.coefficients)
        assert np.array_equal(model.tensor("missing.means"), one.tensor("missing.means"))
        assert model.to_bytes() == hawser.train(name, table, target, weights=weights, categories="other", **how).to_bytes()
        if name != "multitask":
            lazy = frame.map_partitions(one.predict, meta=(None, object if name == "softmax" else float))
            assert np.array_equal(lazy.compute(), model.predict(path)) and np.array_equal(lazy.compute(), one.predict(table))
    # Filtered rows: a partition has none, and the levels are those of the rest.
    rows = some[(some["k"] >= 45) & (some["k"] < 110)]
    labels = rows["n"]
    found = hawser.dask.train(client, "lasso", rows[["word", "flag", "level"]], labels, missing="level", lambda_=0.01, workers=4)
    alone = hawser.train("lasso", table[["word", "flag", "level"]][45:110], table["n"][45:110], missing="level", lambda_=0.01, workers=4)
    assert np.array_equal(found.coefficients, alone.coefficients) and found.names == alone.names and "word=last" not in found.names
    with pytest.raises(hawser.BadInput, match="a value is missing in column . '(word|count)'"):  # as in a table of pandas
        hawser.dask.train(client, "lasso", frame, dask.dataframe.from_pandas(number, npartitions=5), lambda_=0.01)


def test_labels_of_a_series_are_words(client):
    frame = pd.DataFrame(X, columns=list("abcde"))
    for labels in (pd.Series(WORDS), pd.Series(WORDS, dtype="category"), pd.Series(WORDS, dtype="string")):
        fitted = hawser.dask.LogisticRegression(workers=6).fit(dask.dataframe.from_pandas(frame, npartitions=5), dask.dataframe.from_pandas(labels, npartitions=4))
        alone = hawser.LogisticRegression(workers=6).fit(frame, WORDS)
        assert list(fitted.classes_) == list(alone.classes_) and np.array_equal(fitted.coef_, alone.coef_)
    with pytest.raises(ValueError, match="y: row 3 of a partition has no label"):
        hawser.dask.LinearSVC().fit(dask.dataframe.from_pandas(frame, npartitions=5), dask.dataframe.from_pandas(
            pd.Series(WORDS.astype(object)).where(np.arange(600) != 3), npartitions=5))


# ----------------------------------------------------------------------------------------------------- what is refused ----


@pytest.mark.parametrize("name", [name for name in hawser.dask.__all__ if inspect.isclass(getattr(hawser.dask, name))])
def test_nonsense_is_refused_by_name(client, name):
    """No keyword of an estimator takes a text that means nothing."""
    y = chunked(SEVERAL if "Multi" in name else (Y > 0) * 1 if name in ("LinearSVC", "LogisticRegression", "LogisticRegressionCV") else Y)
    for keyword in inspect.signature(getattr(hawser.dask, name)).parameters:
        if keyword in ("verbose", "copy_X", "copy_x", "client"):
            continue
        with pytest.raises((ValueError, TypeError)) as caught:
            getattr(hawser.dask, name)(**{keyword: "nonsense"}).fit(chunked(X), *([] if "KMeans" in name else [y]))
        assert keyword in str(caught.value) or keyword.rstrip("s") in str(caught.value), (keyword, caught.value)


def test_what_is_wrong_is_one_error(client):
    frames = dask.dataframe.from_pandas(pd.DataFrame({"a": [1.0, 2.0], "word": ["x", "y"], "y": [0.0, 1.0]}), npartitions=2)
    lasso = hawser.dask.Lasso()
    for error, text, call in (
            (ValueError, "columns that are no numbers: word", lambda: lasso.fit(frames[["a", "word"]], frames["y"])),
            (ValueError, "missing: an option of files and dataframes", lambda: hawser.dask.train(client, "lasso", chunked(X), chunked(Y), missing="mean")),
            (ValueError, "validation: a frame with words", lambda: hawser.dask.train(client, "lasso", frames[["word"]], frames["y"], validation=(X, Y))),
            (ValueError, "categories: 'z' is no column", lambda: hawser.dask.train(client, "lasso", frames[["a"]], frames["y"], categories="z")),
            (ValueError, "could not convert", lambda: lasso.fit(frames[["a"]], frames["word"])),
            (ValueError, "pass through the client; give a Dask array", lambda: lasso.fit(X, Y)),
            (ValueError, r"inconsistent numbers of samples: \[600, 500\]", lambda: lasso.fit(chunked(X), chunked(Y[:500]))),
            (ValueError, "Expected 2D array, got 1D", lambda: lasso.fit(chunked(Y), chunked(Y))),
            (ValueError, "Expected 1D array, got 2D", lambda: lasso.fit(chunked(X), chunked(X))),
            (ValueError, "target: Expected 1D array, got 2D", lambda: hawser.dask.train(client, "lasso", chunked(X), chunked(SEVERAL))),
            (ValueError, "0 sample", lambda: lasso.fit(chunked(X)[:0], chunked(Y)[:0])),
            (ValueError, "requires y", lambda: lasso.fit(chunked(X))),
            (ValueError, "n_jobs = 2", lambda: hawser.dask.Lasso(n_jobs=2).fit(chunked(X), chunked(Y))),
            (ValueError, "only one class", lambda: hawser.dask.LinearSVC().fit(chunked(X), chunked(Y * 0))),
            (ValueError, "Unknown label type", lambda: hawser.dask.LinearSVC().fit(chunked(X), chunked(Y))),
            (ValueError, "n_samples=600 should be >= n_clusters=700", lambda: hawser.dask.KMeans(700).fit(chunked(X))),
            (ValueError, "partial_fit: it computes in one process", lambda: hawser.dask.MiniBatchKMeans(3).partial_fit(chunked(X))),
            (ValueError, "init_size = 20: this estimator takes None", lambda: hawser.dask.MiniBatchKMeans(3, init_size=20).fit(chunked(X))),
            (ValueError, "init = .*: this estimator takes a name or an array", lambda: hawser.dask.KMeans(3, init=np.ones).fit(chunked(X))),
            (ValueError, "numbers must be finite", lambda: lasso.fit(chunked(np.where(X > 3, np.nan, X)), chunked(Y))),
            (ZeroDivisionError, "own error", lambda: lasso.fit(chunked(X).map_blocks(fail, dtype=float, meta=np.empty((0, 0))), chunked(Y))),
            (ValueError, "no target", lambda: hawser.dask.train(client, "lasso", chunked(X))),
            (ValueError, "offset: svm has no offset", lambda: hawser.dask.train(client, "svm", chunked(X), chunked(Y > 0), offset=chunked(Y))),
            (ValueError, "target: kmeans uses none", lambda: hawser.dask.train(client, "kmeans", chunked(X), chunked(Y))),
            (ValueError, "groups: .* there is no cv", lambda: hawser.dask.train(client, "lasso", chunked(X), chunked(Y), groups=chunked(Y))),
            (ValueError, "groups: linear has no cross-validation", lambda: hawser.dask.train(client, "linear", chunked(X), chunked(Y), groups=chunked(Y))),
            (ValueError, "nonsense", lambda: hawser.dask.train(client, "lasso", chunked(X), chunked(Y), nonsense=1)),
            (ValueError, "workers of Dask are the nodes", lambda: hawser.dask.train(client, "lasso", chunked(X), chunked(Y), listen=3)),
            (ValueError, "workers", lambda: hawser.dask.train(client, "lasso", chunked(X), chunked(Y), workers=1)),
            (ValueError, "distributed.Client", lambda: hawser.dask.train("a client", "lasso", chunked(X), chunked(Y))),
            (ValueError, "5 features", lambda: hawser.dask.Lasso().fit(chunked(X), chunked(Y)).predict(chunked(X[:, :3]))),
            (ValueError, "For mono-task outputs, use LassoCV", lambda: hawser.dask.MultiTaskLassoCV().fit(chunked(X), chunked(Y))),
            (ValueError, "was fitted with 2 targets, and y has 1", lambda: hawser.dask.MultiTaskLasso(warm_start=True).fit(
                chunked(X), chunked(SEVERAL)).fit(chunked(X), chunked(SEVERAL[:, :1]))),
            (ValueError, "65 targets; data have 1 to 64", lambda: hawser.dask.MultiTaskLasso().fit(chunked(X), chunked(np.ones((600, 65))))),
            (ValueError, "it has 1 targets, and the data have 2", lambda: hawser.dask.train(
                client, "multitask", chunked(X), chunked(SEVERAL), validation=(X, Y))),
            (ValueError, "linear measures no error", lambda: hawser.dask.train(client, "linear", chunked(X), chunked(Y), validation=(X, Y))),
            (ValueError, "early_stopping_rounds: there is no eval_set", lambda: lasso.fit(chunked(X), chunked(Y), early_stopping_rounds=2)),
            (ValueError, "eval_set = '...': this estimator takes none", lambda: hawser.dask.LassoCV().fit(chunked(X), chunked(Y), eval_set=(X, Y))),
            (ValueError, "eval_set: it has 3 columns", lambda: lasso.fit(chunked(X), chunked(Y), eval_set=(X[:, :3], Y))),
            (ValueError, r"eval_set: the shapes are \(600, 5\) and \(599,\)", lambda: lasso.fit(chunked(X), chunked(Y), eval_set=(X, Y[1:]))),
            (ValueError, "eval_set: the label 'high' is not one", lambda: hawser.dask.LogisticRegression().fit(
                chunked(X), chunked(np.where(Y > 0, "low", "middle")), eval_set=(X, WORDS))),
            (hawser.FileError, "neither an interface", lambda: hawser.dask.train(client, "lasso", chunked(X), chunked(Y), interface="none9"))):
        with pytest.raises(error, match=text):
            call()
    assert hawser.dask.train(client, "lasso", chunked(X), chunked(Y), workers=6).training.workers == 6


def fail(block):
    raise ZeroDivisionError("its own error")


def test_a_second_fit_while_one_runs(client):
    found, raised = {}, []

    def fit(name):
        try:
            found[name] = hawser.dask.train(client, name, chunked(X), chunked(np.sign(Y)), workers=3).to_bytes()
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=fit, args=[name]) for name in ("lasso", "svm", "logistic")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not raised
    for name, model in found.items():
        assert model == hawser.train(name, X, np.sign(Y), workers=3).to_bytes()


def test_workers_that_are_threads_of_the_client():
    with own_client(processes=False) as made:
        assert np.array_equal(hawser.dask.train(made, "lasso", chunked(X), chunked(Y), workers=2).coefficients,
                              hawser.train("lasso", X, Y, workers=2).coefficients)


# --------------------------------------------------------------------------------------------------------- how it ends ----


def when_it_trains(act):
    """Returns a progress function that acts once, beside the training."""
    begun = []

    def progress(now):
        if not begun:
            begun.append(threading.Thread(target=act))
            begun[0].start()
    return progress


def test_ctrl_c_keeps_the_model(client):
    with pytest.raises(hawser.Interrupted) as stopped:
        hawser.dask.train(client, "linear", chunked(X), chunked(Y), progress=when_it_trains(lambda: os.kill(os.getpid(), signal.SIGINT)), **LONG)
    assert stopped.value.model.training.stop_reason == "signal"
    with pytest.raises(ZeroDivisionError):
        hawser.dask.train(client, "linear", chunked(X), chunked(Y), progress=fail, **LONG)
    assert nodes_left(client) == 0


def trainings(client):
    """The number of nodes that train. The function is sent by value, since other processes may not find this file."""
    return sum(client.run(lambda: len(sys.modules["hawser.dask._driver"]._nodes) if "hawser.dask._driver" in sys.modules else 0).values())


def nodes_left(client):
    """Waits until no worker trains, and returns how many do."""
    until = time.monotonic() + 30
    while (left := trainings(client)) and time.monotonic() < until:
        time.sleep(0.05)
    return left


def test_a_training_that_lost_a_worker_goes_on_from_its_checkpoint(tmp_path):
    how = {"lambda_": 0.002, "tol": 1e-9, "exchange_every": 1, "workers": 4}
    alone, folder, loops = hawser.train("lasso", X, Y, **how), tmp_path / "ck", []
    with own_client(n_workers=3) as made:
        processes = list(made.run(os.getpid).values())

        def kill():
            until = time.monotonic() + 300
            while not list(folder.glob("checkpoint-0000000[5-9]*.json")) and time.monotonic() < until:
                time.sleep(0.01)
            os.kill(processes[1], signal.SIGKILL)

        with pytest.raises(hawser.PeerLost):
            hawser.dask.train(made, "lasso", chunked(X), chunked(Y), checkpoint=folder, checkpoint_every=0, slow="0:200", failure_timeout=2,
                              progress=when_it_trains(kill), **how)
        assert list(folder.glob("checkpoint-*.json"))
        assert nodes_left(made) == 0
        found = hawser.dask.train(made, "lasso", chunked(X), chunked(Y), checkpoint=folder, progress=lambda now: loops.append(now["loop"]), **how)
    assert np.array_equal(found.coefficients, alone.coefficients) and found.intercept == alone.intercept
    assert loops[0] != "prepare" and not os.listdir(folder)  # which is the first of a training that begins


def test_nodes_wait_as_long_as_the_client_says(monkeypatch):
    """A worker that is busy is waited for, until the client has not been heard from for some time. Its threads are the workers here."""
    monkeypatch.setattr(hawser._node, "SILENCE", 0.4)
    with own_client(processes=False) as made:
        workers = sorted(made.nthreads())
        data = [lay(made, array, workers) for array in (X, Y)]
        for pause in (0.1, 60.0):
            monkeypatch.setattr(hawser.dask._driver, "KEEP", pause)
            busy = made.submit(time.sleep, 1 if pause < 1 else 6, workers=workers[1:], pure=False, priority=1000)
            if pause < 1:
                assert hawser.dask.train(made, "lasso", *data, workers=2).training.workers == 2
            else:
                with pytest.raises(hawser.Timeout, match=r"node 0 waited .* not heard from the client for 0.4 s"):
                    hawser.dask.train(made, "lasso", *data, workers=2)
            distributed.wait(busy)
        assert not hawser.dask._driver._nodes


def test_processes_of_dask_worker_and_a_client_that_ends(tmp_path):
    """The cluster of the command line: a client that is killed, while its nodes wait or train, leaves nothing behind, and the next client trains."""
    def start(*words):
        return subprocess.Popen([sys.executable, "-m", "distributed.cli." + words[0], *words[1:]], cwd=tmp_path,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    file = tmp_path / "scheduler.json"
    processes = [start("dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", file)]
    try:
        processes += [start("dask_worker", "--scheduler-file", file, "--nthreads", "1", "--no-dashboard", "--no-nanny") for _ in range(2)]
        program = tmp_path / "program.py"
        program.write_text(f"""
import sys, time
import dask.array, distributed, hawser.dask
client = distributed.Client(scheduler_file={str(file)!r})
client.wait_for_workers(2, timeout=50)
X = dask.array.random.default_rng(0).normal(size=(400, 3), chunks=(200, 3)).persist()
y = X[:, 0].persist()
distributed.wait([X, y])
if sys.argv[1] == "waits":
    busy = client.submit(time.sleep, 3, workers=[sorted(client.nthreads())[1]], priority=1000)
    original = hawser.dask._driver._Training._take_reports
    def look(self, seconds):
        original(self, seconds)
        if len(self.ready) == 1:
            print("begun", flush=True)
    hawser.dask._driver._Training._take_reports = look
hawser.dask.train(client, "linear", X, y, epochs=1e9, solver="minibatch", progress=lambda now: print("begun", flush=True))
""")
        for when in ("waits", "trains"):
            child = subprocess.Popen([sys.executable, program, when], stdout=subprocess.PIPE, text=True)
            processes.append(child)
            assert child.stdout.readline() == "begun\n"
            child.kill()
            with distributed.Client(scheduler_file=file) as made:
                assert nodes_left(made) == 0
        with distributed.Client(scheduler_file=file) as made:
            assert hawser.dask.train(made, "lasso", chunked(X), chunked(Y), workers=2).training.workers == 2
    finally:
        for process in processes:  # a worker without a nanny does not always end when it is asked to (distributed 2026.8)
            process.kill()
            process.wait(30)


def test_nothing_is_left_behind(client):
    def held():
        return len(os.listdir("/proc/self/fd")), threading.active_count()

    for _ in range(3):
        hawser.dask.train(client, "lasso", chunked(X), chunked(Y))
    before = client.run(held)
    for _ in range(10):
        hawser.dask.train(client, "lasso", chunked(X), chunked(Y))
    time.sleep(1)  # threads that watched end
    for worker, (files, threads) in client.run(held).items():
        assert files <= before[worker][0] + 3 and threads <= before[worker][1] + 3, (before[worker], files, threads)


# The tests below harm workers of the common cluster, so they are the last ones.


def test_a_worker_that_stops_to_answer_is_lost(client, monkeypatch):
    monkeypatch.setattr(hawser.dask._driver, "GRACE", 0.5)
    monkeypatch.setattr(hawser.dask._driver, "LIMIT", 2.0)
    pids = client.run(os.getpid)
    victim = sorted(pids)[1]
    try:
        with pytest.raises(hawser.PeerLost, match=victim.replace("tcp://", "")):
            hawser.dask.train(client, "linear", chunked(X), chunked(Y), failure_timeout=1,
                              progress=when_it_trains(lambda: os.kill(pids[victim], signal.SIGSTOP)), **LONG)
    finally:
        os.kill(pids[victim], signal.SIGCONT)
    assert nodes_left(client) == 0  # its task is cancelled
    assert hawser.dask.train(client, "lasso", chunked(X), chunked(Y), workers=3).training.workers == 3


@pytest.mark.parametrize("alone", [False, True])
def test_a_worker_that_is_killed_is_named(client, alone, monkeypatch):
    pids = client.run(os.getpid)
    victim = sorted(pids)[1]
    data = lay(client, X, [victim]) if alone else chunked(X).persist(), chunked(Y)
    with pytest.raises(hawser.PeerLost, match="was lost" if alone else victim.replace("tcp://", "")):
        hawser.dask.train(client, "linear", *data, progress=when_it_trains(lambda: os.kill(pids[victim], signal.SIGKILL)), **LONG)
    client.wait_for_workers(3, timeout=30)  # the nanny starts another one
    assert nodes_left(client) == 0
    if alone:  # what was laid on a worker that is gone cannot be computed again
        for name in ("LOOK", "STUCK"):
            monkeypatch.setattr(hawser.dask._data, name, 0.3)
        for lost in (data, (data[0] + 1, data[1])):
            with pytest.raises(hawser.PeerLost, match="has waited 0.3 s for a worker.*persist the data again"):
                hawser.dask.train(client, "lasso", *lost)
    data = chunked(X) if alone else data[0], data[1]
    assert np.array_equal(hawser.dask.train(client, "lasso", *data, workers=3).coefficients, hawser.train("lasso", X, Y, workers=3).coefficients)


def test_a_column_of_texts_is_read_as_one_process_reads_it(client):
    texts = [" ".join(f"w{k:02d}" for k in 10 * (row % 3) + DRAW.integers(0, 10, 8)) for row in range(60)]
    frame = pd.DataFrame({"id": range(60), "review": ["", None, *texts[2:]]})
    given = dask.dataframe.from_pandas(frame, npartitions=4)
    how = {"text": "review", "max_words": 25, "topics": 3, "iterations": 12}
    there, here = hawser.dask.train(client, "lda", given, **how, workers=3), hawser.train("lda", frame, **how, workers=3)
    assert there.names == here.names and len(here.names) == 25
    assert np.array_equal(there.predict_proba(frame), here.predict_proba(frame))
    with pytest.raises(hawser.BadOption, match="text: 'nothing' is no column of the table"):
        hawser.dask.train(client, "lda", given, text="nothing")
