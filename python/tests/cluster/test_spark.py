"""hawser.spark on executors of their own: bits of one process, rows that stay on the executors, what is refused, and how a loss ends."""
import contextlib
import json
import os
import pathlib
import re
import runpy
import shutil
import signal
import sys
import threading
import time
import types

import numpy as np
import pytest

pytest.importorskip("pyspark")
pytestmark = pytest.mark.skipif(shutil.which("java") is None and not os.environ.get("JAVA_HOME"), reason="Java is not installed")
os.environ["PYSPARK_PYTHON"] = sys.executable
import pandas  # noqa: E402
import scipy.sparse  # noqa: E402
from pyspark.ml import Pipeline, PipelineModel  # noqa: E402
from pyspark.ml.feature import VectorAssembler  # noqa: E402
from pyspark.ml.linalg import Vectors  # noqa: E402
from pyspark.sql import SparkSession  # noqa: E402
from pyspark.sql import functions as F  # noqa: E402
from sklearn.model_selection import KFold  # noqa: E402

import hawser  # noqa: E402
import hawser.spark  # noqa: E402
from conftest import LONG as LONG_FORM, some  # noqa: E402
from hawser.spark._driver import make_plan, raise_failure, run  # noqa: E402
from hawser.spark._node import Partition  # noqa: E402
from hawser.spark._progress import listening, reporting  # noqa: E402

DRAW = np.random.default_rng(0)
PART = 512  # rows of a partition
X = DRAW.normal(size=(3 * PART, 4))
Y = X @ [1.0, 0.0, -2.0, 0.5] + 0.1 * DRAW.normal(size=len(X))
SEVERAL = np.column_stack([Y, X @ [0.0, 1.0, -1.0, 0.5] + 0.1 * DRAW.normal(size=len(X))])
WEIGHTS = DRAW.uniform(0.5, 2.0, size=len(X))
WORDS = np.array(["low", "middle", "high"])[np.digitize(Y, [-1, 1])]
HALF = scipy.sparse.csr_array(np.where(X > 0, X, 0))
COLUMNS = ["a", "b", "c.d", "e"]
BENCH = pathlib.Path(__file__).resolve().parents[3] / "bench" / "python" / "spark"
LONG = {"epochs": 1e9, "solver": "minibatch"}  # a training of "linear" that only a signal ends


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    """An executor of four slots. The driver takes no more than 40 kB of results from tasks, so the 48 kB of X cannot pass through it."""
    work = tmp_path_factory.mktemp("spark")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_WORKER_DIR", str(work / "executors"))
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        patch.setenv("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto "  # short-lived: compile and verify little
                     "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote")
        builder = SparkSession.builder.master("local-cluster[1,4,1024]").config("spark.executor.memory", "600m")
        for key, value in {"spark.ui.enabled": "false", "spark.log.level": "OFF", "spark.driver.maxResultSize": "40k",
                           "spark.stage.maxConsecutiveAttempts": "2",
                           "spark.sql.warehouse.dir": str(work), "spark.sql.codegen.wholeStage": "false", "spark.ui.showConsoleProgress": "false",
                           "spark.python.daemon.module": "preloading", "spark.executorEnv.HAWSER_LIBRARY": os.environ["HAWSER_LIBRARY"],
                           "spark.executorEnv.PYTHONPATH": f"{os.environ['PYTHONPATH']}:{os.path.dirname(__file__)}"}.items():
            builder = builder.config(key, value)
        session = builder.getOrCreate()
        yield session
        session.stop()


def sparse(row):
    return Vectors.sparse(4, np.flatnonzero(row > 0), row[row > 0])


@pytest.fixture(scope="module")
def frame(spark):
    """The rows of X in their order, in 3 partitions of PART rows. Every second vector of "half" is sparse."""
    rows = [(*map(float, x), *map(float, ys), float(w), str(word), bool(ys[0] > 0), Vectors.dense(x), x.tolist(),
             sparse(x) if place % 2 else Vectors.dense(np.where(x > 0, x, 0)))
            for place, (x, ys, w, word) in enumerate(zip(X, SEVERAL, WEIGHTS, WORDS))]
    names = [*COLUMNS, "y", "z", "w", "word", "positive", "vector", "array", "half"]
    made = spark.createDataFrame(spark.sparkContext.parallelize(rows, 3), names).cache()
    assert made.count() == len(X)
    return made


def predictions(frame, column="prediction"):
    """What the frame has in a column, by small pieces."""
    return np.array([row[0] for row in frame.select(column).limit(100).collect()])


@pytest.mark.parametrize("features, data", [(COLUMNS, X), ("vector", X), ("array", X), ("half", HALF)], ids=["columns", "vectors", "arrays", "sparse"])
def test_bits_of_one_process(frame, features, data):
    model = hawser.spark.train(frame, "lasso", features=features, target="y", weight="w", lambda_=0.01, workers=3)
    one = hawser.train("lasso", data, Y, weights=WEIGHTS, lambda_=0.01, workers=3)
    assert np.array_equal(model.coefficients, one.coefficients) and model.intercept == one.intercept
    assert model.names == (COLUMNS if features is COLUMNS else None) and model.training.workers == 3
    assert np.array_equal(predictions(hawser.spark.predict(model, frame, features)), one.predict(data)[:100])


@pytest.fixture(scope="module")
def mixed(spark):
    """A table with words, dates and nulls, as pandas has it and as a frame of 3 partitions, of which the last one has a level that others lack."""
    draw = np.random.default_rng(7)
    table = pandas.DataFrame({"n": draw.normal(size=90), "word": draw.choice(["red", 'blue, "x"'], 90).astype(object), "flag": draw.random(90) < 0.5,
                              "count": draw.integers(0, 9, 90), "day": pandas.to_datetime("2024-01-01") + pandas.to_timedelta(draw.integers(0, 9000, 90), "h"),
                              "level": draw.integers(3, 5, 90), "y": draw.normal(size=90)})
    table["y"] += table.index >= 60
    table.loc[table.index >= 60, "word"] = "last"
    table["answer"] = np.where(table["y"] > 1, "yes", np.where(table.index < 10, "maybe", "no"))
    table = table.astype({"count": "Int64"})
    table.loc[draw.random(90) < 0.2, "count"] = None
    table.loc[draw.random(90) < 0.1, "word"] = None
    rows = [tuple(None if value is pandas.NA or value is None or value != value else value.to_pydatetime() if hasattr(value, "to_pydatetime") else
                  value.item() if hasattr(value, "item") else value for value in row) for row in table.astype(object).itertuples(index=False)]
    names = "n double, word string, flag boolean, count long, day timestamp_ntz, level long, y double, answer string"
    return table, spark.createDataFrame(spark.sparkContext.parallelize(rows, 3), names).cache()


def test_words_are_read_by_the_rules_of_csv(mixed, tmp_path):
    table, rows = mixed
    features, path = ["n", "word", "flag", "count", "day", "level"], tmp_path / "table.csv"
    table.assign(flag=table["flag"] * 1).to_csv(path, index=False, na_rep="NA")
    for name, target in (("lasso", "y"), ("softmax", "answer")):
        how = {"missing": "mean,level", "categories": "level", "workers": 3, **({"lambda_": 0.01} if name == "lasso" else {})}
        found = hawser.spark.train(rows, name, features=features, target=target, **how)
        one = hawser.train(name, path, target=target, dates="day", ignore="answer" if target == "y" else "y", **how)
        assert found.names == one.names and np.array_equal(found.coefficients, one.coefficients)
        assert np.array_equal(found.tensor("missing.means"), one.tensor("missing.means"))
        for model in (found, one):
            lazy = hawser.spark.predict(model, rows, features)
            assert np.array_equal(np.array([row[0] for row in lazy.select("prediction").collect()]), one.predict(table[features]))
    strange = rows.withColumn("word", F.lit("strange"))
    known = hawser.spark.predict(found, strange, features, unseen="zero", method="predict_proba")
    expected = found.predict_proba(table[features].assign(word="strange"), unseen="zero")
    assert np.array_equal(np.array([row[0] for row in known.select("prediction").collect()]), expected)
    with pytest.raises(Exception, match="strange"):
        hawser.spark.predict(found, strange, features).select("prediction").collect()


def test_a_column_of_texts_and_one_of_booleans(spark, tmp_path):
    """The words of all partitions are those of one process; a model of booleans reads the CSV file that pandas writes."""
    draw = np.random.default_rng(9)
    table = pandas.DataFrame({"y": draw.integers(0, 2, 60) * 1.0, "w": draw.integers(0, 3, 60) * 1.0, "flag": draw.random(60) < 0.5,
                              "review": [" ".join(draw.choice(["good", "Bad,", "film", "the", "naïve", ""], draw.integers(0, 6))) for _ in range(60)]})
    table.loc[[7, 30], "review"] = None
    rows = [tuple(None if value is None or value != value else value for value in row) for row in table.astype(object).itertuples(index=False)]
    given = spark.createDataFrame(spark.sparkContext.parallelize(rows, 3), "y double, w double, flag boolean, review string").cache()
    for how in ({}, {"min_documents": 5, "stop_words": "english", "weight": "w"}):
        own = {key: value for key, value in how.items() if key != "weight"}
        one = hawser.train("logistic", table[["y", "w", "review"]], "y", text="review", lambda_=0.01, workers=3, **own,
                           **({"weights": "w"} if "weight" in how else {"ignore": "w"}))
        found = hawser.spark.train(given, "logistic", features=["review"], target="y", text="review", lambda_=0.01, workers=3, **how)
        assert found.names == one.names and np.array_equal(found.coefficients, one.coefficients)
        lazy = hawser.spark.predict(found, given, ["review"])
        assert np.array_equal(np.array([row[0] for row in lazy.select("prediction").collect()]), one.predict(table))
    with pytest.raises(hawser.BadOption, match="nothing"):
        hawser.spark.train(given, "lda", features=["review"], text="nothing")
    flags = hawser.spark.train(given, "lasso", features=["flag", "w"], target="y", lambda_=0.01, workers=3)
    table.to_csv(tmp_path / "flags.csv", index=False)
    assert np.array_equal(flags.predict(str(tmp_path / "flags.csv")), flags.predict(table))


def test_several_targets(frame):
    """A list of columns names the targets; a column of arrays or vectors does not."""
    how = {"lambda_": 0.05, "workers": 3}
    for target, expected in ((["y", "z"], pandas.DataFrame(SEVERAL, columns=["y", "z"])), ("lists", SEVERAL)):
        found = hawser.spark.train(frame.withColumn("lists", F.array("y", "z")), "multitask", features="vector", target=target, weight="w", **how)
        assert found.to_bytes() == hawser.train("multitask", X, expected, weights=WEIGHTS, **how).to_bytes()
    with_vectors = VectorAssembler(inputCols=["y", "z"], outputCol="vectors").transform(frame)
    fitted = hawser.spark.MultiTaskElasticNet(features_col="vector", label_col="vectors", alpha=0.1, workers=3).fit(with_vectors)
    alone = hawser.MultiTaskElasticNet(alpha=0.1, workers=3).fit(X, SEVERAL)
    assert np.array_equal(fitted.coef_, alone.coef_) and np.array_equal(predictions(fitted.transform(frame)), alone.predict(X[:100]))


def test_other_numbers_of_nodes(frame):
    """A union has partitions of which Spark makes no barrier stage; the order of its rows is kept."""
    both = np.vstack([X, X[:PART + 200]])
    one = hawser.train("kmeans", both, clusters=3, workers=4)
    united = frame.union(frame.where(F.monotonically_increasing_id() < 2**33 + 200)).cache()
    assert united.count() == len(both)
    for nodes in (1, 4):
        found = hawser.spark.train(united, "kmeans", features="vector", nodes=nodes, clusters=3, workers=4)
        assert np.array_equal(found.centres, one.centres), nodes


def test_partitions_without_rows(frame):
    rows = frame.where(F.spark_partition_id() != 1)
    kept = np.r_[:PART, 2 * PART:3 * PART]
    found = hawser.spark.train(rows, "lasso", features="vector", target="y", lambda_=0.01)
    assert found.training.workers == 2
    assert np.array_equal(found.coefficients, hawser.train("lasso", X[kept], Y[kept], lambda_=0.01, workers=2).coefficients)
    alone = hawser.spark.train(frame.where(F.spark_partition_id() == 1), "lasso", features="vector", target="y", lambda_=0.01)
    assert np.array_equal(alone.coefficients, hawser.train("lasso", X[PART:2 * PART], Y[PART:2 * PART], lambda_=0.01, workers=1).coefficients)


@pytest.mark.parametrize("name, label, parameters, labels", some([
    ("ElasticNet", "y", {"alpha": 0.01}, Y), ("Ridge", "y", {"alpha": 3.0}, Y), ("LinearRegression", "y", {"fit_intercept": False}, Y),
    ("PoissonRegressor", "count", {"alpha": 0.1}, np.floor(np.abs(Y))), ("LinearSVR", "y", {"C": 0.1}, Y),
    ("LinearSVC", "word", {"C": 0.1, "class_weight": "balanced"}, WORDS),
    ("LogisticRegression", "word", {"C": 0.1, "class_weight": {"low": 2.0}}, WORDS), ("KMeans", None, {"n_clusters": 3, "init": X[:3]}, None),
    ("MiniBatchKMeans", None, {"n_clusters": 3, "batch_size": 256, "random_state": 4, "max_iter": 3}, None),
    ("MultiTaskLassoCV", ["y", "z"], {"alphas": 5, "cv": KFold(3, shuffle=True, random_state=5)}, SEVERAL),
    ("LogisticRegressionCV", "word", {"Cs": [0.01, 0.1], "cv": 3, "class_weight": {"low": 2.0}}, WORDS),
    ("LogisticRegression", "positive", {}, Y > 0)]))
def test_estimators_have_the_bits_of_one_process(frame, name, label, parameters, labels):
    one = getattr(hawser, name)(**parameters, workers=3)
    frame = frame.withColumn("count", F.floor(F.abs("y")).cast("double")) if label == "count" else frame
    given = {} if label is None else {"label_col": label, "weight_col": "w"}
    one.fit(X) if labels is None else one.fit(X, labels, sample_weight=WEIGHTS)
    fitted = getattr(hawser.spark, name)(features_col="vector", workers=3, **given, **parameters).fit(frame)
    learned = "cluster_centers_" if label is None else "coef_"
    # Sums of the weights of a class may differ in the last bit, since they are added up by partition.
    near = np.array_equal if parameters.get("class_weight") != "balanced" and name != "LogisticRegressionCV" else np.allclose
    for each in ("mse_path_", "alphas_", "scores_"):
        assert np.allclose(getattr(fitted, each, 0), getattr(one, each, 0), rtol=1e-9)
    assert near(getattr(fitted, learned), getattr(one, learned)) and fitted.n_iter_ > 0
    assert np.array_equal(fitted.predict(X), one.predict(X))
    assert np.array_equal(predictions(fitted.transform(frame)), one.predict(X)[:100])


def test_pipeline_and_probabilities(frame):
    stages = [VectorAssembler(inputCols=["a", "e"], outputCol="features"),
              hawser.spark.LogisticRegression(label_col="positive", probability_col="p", workers=3)]
    found = Pipeline(stages=stages).fit(frame).transform(frame)
    one = hawser.LogisticRegression(workers=3).fit(X[:, [0, 3]], Y > 0)
    assert np.array_equal(predictions(found, "p"), one.predict_proba(X[:100, [0, 3]]))


@pytest.mark.parametrize("stage", some([
    lambda how: hawser.spark.LogisticRegression(label_col="word", probability_col="p", tol=1e-6, class_weight={"low": 2.0}, **how),
    lambda how: hawser.spark.LassoCV(label_col="y", cv=KFold(3), alphas=5, rule="1se", **how),
    lambda how: hawser.spark.KMeans(n_clusters=3, init=X[:3], **how)]))
def test_pipelines_are_saved_and_loaded(frame, tmp_path, stage):
    """A pipeline and its fitted form predict the same bits after it, and have the same attributes."""
    pipeline = Pipeline(stages=[VectorAssembler(inputCols=["a", "b"], outputCol="ab"), stage({"features_col": "ab" if stage(
        {}).estimator.__class__ is not hawser.KMeans else COLUMNS})])
    fitted = pipeline.fit(frame)
    fitted.save(str(tmp_path / "fitted"))
    with pytest.raises(Exception, match="already exists"):
        fitted.save(str(tmp_path / "fitted"))
    fitted.write().overwrite().save(str(tmp_path / "fitted"))
    again = PipelineModel.load(str(tmp_path / "fitted"))
    one, other = fitted.stages[-1], again.stages[-1]
    assert other.uid == one.uid and other.model_.to_bytes() == one.model_.to_bytes() and other.model_.training == one.model_.training
    assert list(vars(other.estimator)) == list(vars(one.estimator)) and repr(other.estimator.get_params()) == repr(one.estimator.get_params())
    columns = ["prediction", *(["p"] if "word" == getattr(stage({}), "label_col") else [])]
    assert again.transform(frame).select(columns).limit(100).collect() == fitted.transform(frame).select(columns).limit(100).collect()
    assert np.array_equal(other.predict(X[:9, :one.model_.columns]), one.predict(X[:9, :one.model_.columns]))
    pipeline.save(str(tmp_path / "before"))
    refitted = Pipeline.load(str(tmp_path / "before")).fit(frame)
    assert refitted.transform(frame).select(columns).limit(100).collect() == fitted.transform(frame).select(columns).limit(100).collect()


def test_what_cannot_be_saved_is_refused(frame, tmp_path):
    saved = hawser.spark.Lasso(alpha=0.1, features_col="vector", label_col="y")
    saved.estimator.alpha = hawser.Lasso
    with pytest.raises(hawser.BadArgument, match="alpha is a ABCMeta|alpha is a type"):
        saved.save(str(tmp_path / "bad"))
    hawser.spark.Lasso().save(str(tmp_path / "lasso"))
    with pytest.raises(hawser.BadInput, match="has a hawser.spark.Lasso, and not a hawser.spark.KMeans"):
        hawser.spark.KMeans.load(str(tmp_path / "lasso"))


@pytest.mark.parametrize("name, label, parameters, target", [
    ("MultiTaskLasso", "lists", {"alpha": 1e-4}, SEVERAL), ("LogisticRegression", "word", {"C": 1e4}, WORDS),
    ("MiniBatchKMeans", None, {"n_clusters": 3, "batch_size": 256, "max_iter": 20}, None)])
def test_eval_set_and_early_stopping(frame, name, label, parameters, target):
    """Other data are a frame, here of several partitions in their order, or arrays."""
    frame = frame.withColumn("lists", F.array("y", "z"))
    some, kept = frame.where("w > 1.5"), WEIGHTS > 1.5
    arrays = X[kept] if target is None else (X[kept], target[kept])
    pair = [X] if target is None else [X, target]
    alone = getattr(hawser, name)(workers=3, **parameters).fit(*pair, eval_set=arrays, early_stopping_rounds=2)
    for other in (some, arrays) if name == "LogisticRegression" else (some,):
        found = getattr(hawser.spark, name)(features_col="vector", label_col=label, workers=3, **parameters).fit(
            frame, eval_set=other, early_stopping_rounds=2)
        assert found.evals_result_ == alone.evals_result_ and found.best_score_ == alone.best_score_ and len(found.trace_) == len(alone.trace_)
        assert found.best_iteration_ == alone.best_iteration_ and found.model_.to_bytes() == alone.model_.to_bytes()


def test_validation_and_progress(frame):
    """Every second vector of the other data is sparse, as of the training's."""
    seen = []
    found = hawser.spark.train(frame, "lasso", features="half", target="y", validation=frame.where("w > 1.5"), progress=seen.append, workers=3)
    kept = WEIGHTS > 1.5
    assert found.to_bytes() == hawser.train("lasso", HALF, Y, validation=(HALF[kept], Y[kept]), workers=3).to_bytes()
    assert seen[-1]["clock"] >= 0 and seen[-1]["validation_mse"] > 0


def test_an_exception_in_progress_ends_the_training(frame):
    def fail(now):
        raise ZeroDivisionError(str(now["clock"]))

    with pytest.raises(ZeroDivisionError, match=r"^\d+$"):
        hawser.spark.train(frame, "linear", features="vector", target="y", progress=fail, **LONG)
    wait_for_nodes(0)


def test_a_driver_that_no_task_reaches_warns(frame, monkeypatch):
    @contextlib.contextmanager
    def nowhere(*_):
        yield "127.0.0.1", 1

    monkeypatch.setattr(hawser.spark._driver, "listening", nowhere)
    with pytest.warns(RuntimeWarning, match=r"progress: node 0 cannot reach the driver at \('127.0.0.1', 1\): .*refused"):
        assert hawser.spark.train(frame, "lasso", features="vector", target="y", progress=print).training.workers == 3


def test_reports_are_taken_from_the_training_alone():
    seen, stopped = [], threading.Event()
    with listening(seen.append, b"key", "127.0.0.1", "127.0.0.1", None) as address:
        for key in (b"other key", b"key"):
            with reporting(address, key, stopped.set) as report:
                for clock in range(3):
                    report({"key": key.decode(), "clock": clock})
    assert seen[-1] == {"key": "key", "clock": 2} and {each["key"] for each in seen} == {"key"} and not stopped.is_set()


def test_warnings_reach_the_driver(frame):
    with pytest.warns(hawser.ConvergenceWarning, match="clocks") as caught:
        hawser.spark.Lasso(features_col="vector", label_col="y", alpha=1e-5, tol=1e-14, max_iter=1).fit(frame)
    assert any(each.filename == __file__ for each in caught)


def refusals():
    return [
        (lambda f: f.withColumn("y", F.when(F.col("y") > 0, F.col("y"))), {}, hawser.BadInput, r"partition 0: column 'y' has nulls"),
        (lambda f: f.withColumn("vector", F.when(F.col("y") > 0, F.col("vector"))), {}, hawser.BadInput, r"column 'vector' has nulls"),
        (lambda f: f.withColumn("vector", F.when(F.col("y") > 0, F.array("y", "w")).otherwise(F.array("y"))), {}, hawser.BadInput,
         "one row has 1 features, and another has 2"),
        (lambda f: f.withColumn("vector", F.array("y", F.lit(float("nan")))), {}, ValueError, r"partition 0: row 0, column 1 is nan"),
        (lambda f: f.where("y > 1000"), {}, hawser.BadInput, "the frame has no rows"),
        (lambda f: f, {"workers": 2}, hawser.BadOption, "2 workers are too few for 3 nodes"),
        (lambda f: f, {"weight": "y"}, hawser.BadInput, "partition 0: weights: the weight of row . is negative"),
        (lambda f: f, {"algorithm": "logistic"}, hawser.BadInput, "is a third one"),
        (lambda f: f.repartition(9), {}, hawser.BadArgument, "has 9 partitions.*runs 4 tasks at once; give nodes=4"),
        (lambda f: f.union(f.limit(1)), {}, hawser.BadArgument, "no barrier stage on a frame that union"),
        (lambda f: f, {"features": "word"}, hawser.BadArgument, "column 'word' has the type string; give a vector"),
        (lambda f: f, {"features": ["a", "array"]}, hawser.BadArgument, "column 'array' has the type array<double>, which is no number"),
        (lambda f: f.withColumn("word", F.when(F.col("y") > 0, F.col("word"))), {"features": ["a", "word"]}, hawser.BadInput,
         "a value is missing in column 1 'word'"),
        (lambda f: f, {"features": ["a", "word"], "validation": (X, Y)}, hawser.BadOption, "validation: a frame with words"),
        (lambda f: f, {"missing": "mean"}, hawser.BadOption, "missing: an option of columns, and the features are a column of vectors"),
        (lambda f: f, {"features": ["vector"]}, hawser.BadArgument, "not in a list"),
        (lambda f: f, {"features": []}, hawser.BadArgument, "at least one column"),
        (lambda f: f, {"features": "missing"}, hawser.BadArgument, "no column 'missing'; its columns are a, b"),
        (lambda f: f, {"target": "word"}, hawser.BadArgument, "target: column 'word' has the type string, which is no number"),
        (lambda f: f, {"target": None}, hawser.BadArgument, "target is missing"),
        (lambda f: f, {"target": ["y", "z"]}, hawser.BadArgument, "one column; 'multitask' takes several targets"),
        (lambda f: f, {"algorithm": "multitask", "target": ["y", "word"]}, hawser.BadArgument, "column 'word' has the type string, which is no number"),
        (lambda f: f, {"algorithm": "multitask", "target": ["y", "y"]}, hawser.BadArgument, "at least one column, and each one once"),
        (lambda f: f.withColumn("z", F.when(F.col("z") > 0, F.col("z"))), {"algorithm": "multitask", "target": ["y", "z"]}, hawser.BadInput,
         "partition 0: column 'z' has nulls"),
        (lambda f: f.withColumn("z", F.expr("array_repeat(y, spark_partition_id() + 2)")), {"algorithm": "multitask", "target": "z"}, hawser.BadInput,
         "the rows of partition 0 have 2 targets, and those of partition 1 have 3"),
        (lambda f: f, {"algorithm": "svm", "offset": "w"}, hawser.BadOption, "offset: svm has no offset"),
        (lambda f: f, {"algorithm": "kmeans"}, hawser.BadOption, "target: kmeans uses none"),
        (lambda f: f, {"offset": "w", "validation": (X, Y)}, hawser.BadOption, "the training data have an offset, and the validation data have none"),
        (lambda f: f, {"nodes": 0}, hawser.BadArgument, "nodes = 0"),
        (lambda f: f, {"clusters": 3}, hawser.BadOption, "lasso has no such option; it is one of kmeans"),
        (lambda f: f, {"listen": 3}, hawser.BadOption, "listen: no option over Spark"),
        (lambda f: f, {"checkpoint": "ck", "fresh": True}, hawser.BadOption, "fresh: no option over Spark: .* choose another folder"),
        (lambda f: f, {"validation": X}, hawser.BadOption, "validation: give a pair of data and target"),
        (lambda f: f, {"validation": (X[:, :3], Y)}, hawser.BadOption, "validation: it has 3 columns, and the data have 4"),
        (lambda f: f, {"validation": (X, np.where(Y > 3, np.nan, Y))}, hawser.BadArgument, "validation: target .* is nan"),
        (lambda f: f, {"validation": (X, SEVERAL)}, hawser.BadOption, "validation: it has 2 targets, and the data have 1"),
        (lambda f: f, {"algorithm": "linear", "validation": (X, Y)}, hawser.BadOption, "linear measures no error on other data"),
        (lambda f: X, {}, hawser.BadArgument, "not a ndarray"),
    ]


@pytest.mark.parametrize("change, given, kind, text", refusals())
def test_refusals(frame, monkeypatch, change, given, kind, text):
    monkeypatch.setattr(hawser.spark._driver, "SLOTS_SECONDS", 0.5)
    how = {"algorithm": "lasso", "features": "vector", "target": "y", **given}
    with pytest.raises(kind, match=text):
        hawser.spark.train(change(frame), **how)


def test_a_frame_of_other_data_has_the_offset_and_weights_of_the_training(frame):
    how = {"features": "vector", "target": "y", "weight": "w", "offset": "a", "lambda_": 0.1}
    found, some = hawser.spark.train(frame, "lasso", validation=frame.where("y > 3"), **how), Y > 3  # few: the driver takes no more
    error = (Y - X[:, 0] - found.predict(X, offset=np.zeros(len(X))))[some] ** 2
    assert np.isclose(found.training.metrics["validation_mse"], np.average(error, weights=WEIGHTS[some]), rtol=1e-9)


def test_refusals_of_estimators(frame):
    common = {"features_col": "vector", "label_col": "y"}
    for make, text in ((lambda: hawser.spark.Lasso(n_jobs=2), "n_jobs"), (lambda: hawser.spark.Lasso(probability_col="p"), "no probabilities"),
                       (lambda: hawser.spark.KMeans(init=X[:3]).fit(frame), r"first centres have the shape \(3, 4\)"),
                       (lambda: hawser.spark.MultiTaskLassoCV(**common).fit(frame), "For mono-task outputs, use LassoCV"),
                       (lambda: hawser.spark.LogisticRegressionCV(features_col="vector", label_col=["y"]).fit(frame), "the name of a column, and not a list"),
                       (lambda: hawser.spark.LassoCV(**common).fit(frame, eval_set=frame), "this estimator takes none: it measures no errors"),
                       (lambda: hawser.spark.Lasso(**common).fit(frame, early_stopping_rounds=2), "there is no eval_set to measure the error on"),
                       (lambda: hawser.spark.Lasso(**common).fit(frame, eval_set=frame.drop("y")), "the frame has no column 'y'"),
                       (lambda: hawser.spark.Lasso(**common).fit(frame, eval_set=frame.where("y > 1000")), "eval_set: the frame has no rows"),
                       (lambda: hawser.spark.Lasso(**common).fit(frame, eval_set=frame.withColumn("y", F.lit(None).cast("double"))),
                        "eval_set: partition .: column 'y' has nulls"),
                       (lambda: hawser.spark.LinearSVC(features_col="vector", label_col="positive").fit(frame, eval_set=(X, WORDS)),
                        "eval_set: the label 'high' is not one of the training's"),
                       (lambda: hawser.spark.LassoCV(cv=[([0], [1])], **common).fit(frame), "give a number of folds, or a splitter"),
                       (lambda: hawser.spark.Lasso(alpha=-1, **common).fit(frame), "^alpha"),
                       (lambda: hawser.spark.LogisticRegression(**common).fit(frame), "numbers that are not whole"),
                       (lambda: hawser.spark.LinearSVC(**common).fit(frame.withColumn("y", F.lit(3))), "at least 2 classes, and all rows have 3")):
        with pytest.raises(ValueError, match=text):
            make()


@pytest.mark.skipif(not LONG_FORM or not BENCH.exists(), reason="the longer form runs the benchmark, if it is beside the tests")
def test_bench(spark, capsys, monkeypatch):
    """The benchmark in its smallest form, in the session of these tests. No times are checked."""
    monkeypatch.setattr(sys, "argv", [str(BENCH), "--quick", "--tiny", "--json", "--library", os.environ["HAWSER_LIBRARY"]])
    try:
        runpy.run_path(str(BENCH), run_name="__main__")
    except SystemExit as ended:
        pytest.skip(str(ended))
    ours, theirs = json.loads(capsys.readouterr().out.splitlines()[-1])["fits"]
    assert ours["fit"] == "hawser" and ours["seconds"] > 0 and ours["objective"] <= theirs["objective"] * (1 + 1e-6)


# ------------------------------------------------------------------------------------------------------ losses ----


def nodes():
    """The processes of this test's executors that train: they have loaded the library, and have its threads."""
    parents = {}
    for each in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parents[int(each.name)] = int(each.joinpath("stat").read_text().rsplit(")", 1)[1].split()[1])
    found = []
    for process in parents:
        line, folder = process, pathlib.Path(f"/proc/{process}")
        while line in parents and line != os.getpid():
            line = parents[line]
        with contextlib.suppress(OSError):
            if (line == os.getpid() and b"pyspark" in folder.joinpath("cmdline").read_bytes()
                    and "libhawser" in folder.joinpath("maps").read_text() and len(list(folder.joinpath("task").iterdir())) > 3):
                found.append(process)
    return found


def wait_for_nodes(count):
    until = time.monotonic() + 60
    while len(found := nodes()) != count and time.monotonic() < until:
        time.sleep(0.1)
    assert len(found) == count, found
    return found


@contextlib.contextmanager
def harmed(*harms):
    """Does something to the processes of a training, one after the other, each time that there are new ones."""
    before = set()

    def harm_all():
        for harm in harms:
            until = time.monotonic() + 60
            while not (len(found := nodes()) == 3 and not before & set(found)) and time.monotonic() < until:
                time.sleep(0.05)
            before.update(found)
            harm(found[1])

    thread = threading.Thread(target=harm_all, daemon=True)
    thread.start()
    yield
    thread.join()
    wait_for_nodes(0)


@pytest.mark.parametrize("harm, text", [(signal.SIGKILL, "the task of partition . was lost: Python worker exited.*; Spark has begun it 2 times"),
                                        (signal.SIGSTOP, "(node . .* was lost|cannot join|missing (node|the manager)).*; Spark has begun it 2 times"),
                                        (None, "Spark ended the training: .*cancelled")])
def test_a_loss_that_repeats_ends_the_training(spark, frame, harm, text):
    """Spark begins the stage again, here once, unless the driver has cancelled it."""
    hurt = [lambda _: spark.sparkContext.cancelAllJobs()] if harm is None else 2 * [lambda process: os.kill(process, harm)]
    with harmed(*hurt), pytest.raises(hawser.Error, match=text):
        hawser.spark.train(frame, "linear", features="vector", target="y", failure_timeout=2, join_timeout=10, **LONG)
    assert hawser.spark.train(frame, "lasso", features="vector", target="y").training.workers == 3


@pytest.mark.parametrize("checkpoint", [True, False])
def test_a_stage_that_lost_a_task_is_repeated(frame, tmp_path, checkpoint):
    """What Spark repeats has the bits of one process. It goes on from a checkpoint, or begins anew."""
    how, folder = {"lambda_": 0.002, "tol": 1e-9, "exchange_every": 1, "workers": 3}, tmp_path / "ck"
    more = {"checkpoint": folder, "checkpoint_every": 0} if checkpoint else {}

    def kill(process):
        until = time.monotonic() + 60
        while checkpoint and not list(folder.glob("checkpoint-0000000[5-9]*.json")) and time.monotonic() < until:
            time.sleep(0.01)
        os.kill(process, signal.SIGKILL)

    plan = make_plan(frame, "lasso", "vector", {"target": "y"}, {"slow": "0:200", **how, **more}, trace=True)
    with harmed(kill):
        found = run(frame, plan, None)
    alone = hawser.train("lasso", X, Y, **how)
    assert np.array_equal(found.model.coefficients, alone.coefficients) and found.model.intercept == alone.intercept
    assert (found.trace[0]["loop"] == "prepare") != checkpoint  # a training begins with it
    assert not checkpoint or not os.listdir(folder)


def test_a_task_without_an_address_is_lost():
    """So Spark repeats the stage: after the loss of an executor it may name fewer tasks than it begins."""
    context = types.SimpleNamespace(partitionId=lambda: 2, getTaskInfos=lambda: [types.SimpleNamespace(address="10.0.0.1:7000")] * 2)
    with pytest.raises(hawser.PeerLost, match="partition 2 with the addresses of 2 tasks only; an executor was lost"):
        Partition(None, context)


def test_failures_of_executors_are_explained():
    for text, kind, said in (("x\nModuleNotFoundError: No module named 'hawser'\n", hawser.Error, "has no module hawser: install"),
                             ("x\nImportError: hawser's library libhawser.so.0 is not in the package\n", hawser.Error, "cannot load hawser: hawser's"),
                             ("x\nhawser._errors.Timeout: node 1 is missing\n", hawser.Timeout, "node 1 is missing"),
                             ("x Most recent failure reason: y\n  File\nZeroDivisionError: division by zero\n SQLSTATE\n", hawser.Error,
                              "Spark ended the training: ZeroDivisionError: division by zero"),
                             ("something new", hawser.Error, "Spark ended the training: something new")):
        with pytest.raises(kind, match=re.escape(said)):
            raise_failure(RuntimeError(text))
