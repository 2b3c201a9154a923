"""No argument does nothing: each keyword of a training, a dataset and a prediction changes what comes out, or is refused by its name."""
import os
import warnings

import numpy as np
import pytest

import hawser
from conftest import OF_NUMBERS, by_command, by_python, targets_of
from hawser import _native
from hawser._library import library as lib
from hawser._options import rows_of
from hawser._train import find_algorithm

ALGORITHMS = OF_NUMBERS
pytestmark = pytest.mark.filterwarnings("ignore:the least error on the held-out rows")
ROWS, COLUMNS = 60, 4
# Options that change neither the model nor its numbers: limits that are not reached, where and how the work is done. Of nodes: notes in the log.
ELSEWHERE = {"time-limit", "grace", "unit-warning", "unit-timeout", "timeout", "max-clocks", "slow", "record-history", "checkpoint", "check", "rehearse", "memory-limit", "threads", "alone",
             "seed", "exchange"}
OF_NODES = {"topology", "backlog", "rate", "transport", "trust-fabric", "failure-timeout", "join-timeout", "interface", "port-range", "node-name",
            "key-file", "listen", "join"}
# Values of options for which the kind of the row does not say a good one.
VALUES = {"cv": 3, "batch": 8, "starts": 3, "groups_": 2, "clusters": 4, "path": 3, "lower": -0.1, "upper": 0.1, "class_weight": "balanced", "positive": "!= 1",
          "cv_metric": "mae", "slow": "0:1.5", "topology": "tree", "port_range": "7000-7100", "tol": 0.3, "init": "no/file", "max_clocks": 100000,
          "lambda_ratio": 0.3, "seed": 9, "max_iterations": 2, "delimiter": ";", "listen": 1, "folds": "stratified", "penalty_factors": [1, 2, 3, 1],
          "record_history": "history", "checkpoint_keep": 3, "centres": "no/centres"}


def value_of(key, row):
    """A value of an option that is not its default."""
    if key in VALUES:
        return VALUES[key]
    default, bounds = (row.value or b"").decode(), (row.bounds or b"").decode()
    if row.kind == _native.HAWSER_FLAG:
        return default != "yes"
    if row.kind == _native.HAWSER_WORD:
        return next(word for word in reversed(bounds.split("|")) if word != default and ":" not in word)
    return {_native.HAWSER_INTEGER: 2, _native.HAWSER_NUMBER: 0.3, _native.HAWSER_BYTES: "1G", _native.HAWSER_SECONDS: 50}.get(row.kind, "x")


class Data:
    """Drawn numbers, and what may be beside them."""

    def __init__(self, seed):
        draw = np.random.default_rng(seed)
        self.X = draw.normal(size=(ROWS, COLUMNS))
        self.y = self.X @ [1.0, 0.0, -2.0, 0.5] + 0.3 * draw.normal(size=ROWS)
        self.weights, self.offset = draw.integers(1, 4, ROWS).astype(float), draw.normal(size=ROWS)
        self.groups = draw.permutation(np.arange(ROWS) % 7)

    def target(self, name):
        return np.column_stack([self.y, self.X[:, 1]]) if name == "multitask" else targets_of(name, self.y)


@pytest.fixture(scope="module")
def data():
    return Data(int(os.environ.get("HAWSER_TEST_SEED", "1")))


def outcome(model):
    """What a user can see of a training, except the settings and times."""
    kept = {key: value for key, value in model.facts.items() if not key.startswith("options.")}
    tensors = [model.tensor(name) for name in ("coefficients", "coefficients.value", "coefficients.index", "intercept", "intercepts", "centres")]
    return kept, [None if each is None else each.tobytes() for each in tensors], model.training.metrics, model.training.stop_reason


def train(name, data, **keywords):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return hawser.train(name, data.X, data.target(name), **{"workers": 3, **({"clusters": 3} if name == "kmeans" else {}), **keywords})


@pytest.mark.parametrize("name", ALGORITHMS)
def test_option_changes_the_result_or_is_refused_by_name(name, data, caplog, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # of record_history
    base = outcome(train(name, data))
    for table in (lib.hawser_job_rows(), lib.hawser_data_rows(), find_algorithm(name).contents.rows):
        for row in rows_of(table):
            option = row.key.decode()
            key = option.replace("-", "_")
            key += "_" if key in ("lambda", "groups", "init") else ""
            if key in ("workers", "target", "weights", "offset", "names"):  # these are keywords of train itself
                continue
            caplog.clear()
            try:
                with caplog.at_level("INFO", logger="hawser"):
                    found = outcome(train(name, data, **{key: value_of(key, row)}))
            except hawser.Diverged:
                continue  # it had an effect
            except hawser.Error as error:
                assert key.rstrip("_") in str(error) or option in str(error) or option in ("listen", "join"), (key, error)
                continue
            noted = key in caplog.text
            assert found != base or option in ELSEWHERE or noted, f"{key} of {name} does nothing, and nothing is said of it"
            assert option not in OF_NODES or noted, f"{key} of {name}: one node has no use for it"


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("by_dataset", [False, True])
def test_arrays_beside_the_rows_are_used_or_refused_by_name(name, by_dataset, data):
    def fit(key, value, **options):
        kmeans = {"clusters": 3} if name == "kmeans" else {}
        if by_dataset:
            return hawser.train(name, hawser.Dataset(data.X, data.target(name), **{key: value}), **kmeans, **options)
        return hawser.train(name, data.X, data.target(name), **{key: value}, **kmeans, **options)

    base = outcome(fit("weights", None))
    assert outcome(fit("weights", data.weights)) != base
    assert fit("names", list("abcd")).names == list("abcd")
    if find_algorithm(name).contents.no_offset:
        with pytest.raises(hawser.BadOption, match=f"offset: {name} has no offset"):
            fit("offset", data.offset)
    else:
        assert outcome(fit("offset", data.offset)) != base
    keys = {row.key for row in rows_of(find_algorithm(name).contents.rows)}
    if b"cv" not in keys:
        if not by_dataset:
            with pytest.raises(hawser.BadOption, match=f"groups: {name} has no cross-validation"):
                fit("groups", data.groups)
        return
    path = {"path": [100, 1, 0.1] if name == "svm" else [0.1, 0.01, 1e-4], "cv": 7, "tol": 1e-8}
    together, apart = fit("groups", data.groups, **path), fit("weights", None, **path)
    by_group = fit("weights", None, folds=data.groups, **path)  # seven folds of one group each
    assert np.allclose(together.path.error, by_group.path.error, rtol=1e-4) and not np.allclose(apart.path.error, by_group.path.error, rtol=1e-4)
    with pytest.raises(hawser.BadOption, match="groups and folds"):
        fit("groups", data.groups, cv=3, folds="stratified")
    with pytest.raises(hawser.BadOption, match="groups and folds"):
        fit("groups", data.groups, cv=3, folds=np.arange(ROWS) % 3)
    if not by_dataset:
        with pytest.raises(hawser.BadOption, match="groups: .* there is no cv"):
            fit("groups", data.groups)


def test_words_that_files_and_arrays_lack_are_refused_by_name(data, tmp_path):
    path = tmp_path / "d.csv"
    with open(path, "w") as file:
        file.write("y,a,b,g,e\n")
        file.writelines(f"{y:.17g},{a:.17g},{b:.17g},{g},{1 + g}\n" for y, (a, b, *_), g in zip(data.y, data.X, data.groups))
    by_folds, by_groups = (hawser.train("lasso", path, target="y", cv=3, **how) for how in ({"folds": "by:g"}, {"groups": "g"}))
    assert by_folds.to_bytes() == by_groups.to_bytes() and by_folds.names == ["a", "b", "e"]
    read = hawser.Dataset(path, "y", groups="g")
    assert np.array_equal(read.groups, data.groups) and hawser.train("lasso", read, cv=3).facts["options.folds"] == "by:groups"
    model = hawser.train("lasso", path, target="y", ignore="g,e")
    for call, text in (
            (lambda: hawser.train("lasso", path, target="y", groups="g"), "groups: .* there is no cv"),
            (lambda: hawser.train("lasso", path, target="y", folds="by:g"), "folds= does nothing here"),
            (lambda: hawser.train("lasso", path, target="y", cv=3, groups="g", folds="by:a"), "name two columns"),
            (lambda: hawser.train("lasso", path, target="y", cv=3, groups=3), "groups: of files"),
            (lambda: hawser.train("logistic", data.X, data.y > 0, groups=2), "groups_"),
            (lambda: hawser.train("kmeans", data.X, data.y), "target: kmeans uses none"),
            (lambda: hawser.train("lasso", path, target="y", exposure="e"), "exposure = 'e': lasso has no log link"),
            (lambda: model.predict(path, exposure="e"), "exposure = 'e': lasso has no log link"),
            (lambda: model.predict(path, categories="a"), "categories: the model says"),
            (lambda: model.predict(path, dates="a"), "dates: the model says"),
            (lambda: hawser.Dataset(path, "y", target_name="y"), "target_name: files name"),
            (lambda: hawser.Dataset(data.X, data.y, missing="mean"), "missing: arrays have no such option|missing: an option of"),
    ):
        with pytest.raises(hawser.Error, match=text):
            call()


def test_variables_about_files_do_not_count_for_arrays(data, monkeypatch):
    expected = hawser.train("lasso", data.X, data.y)
    for name in ("OFFSET", "WEIGHTS", "MISSING"):
        monkeypatch.setenv(f"HAWSER_{name}", "mean")
    model = hawser.train("lasso", data.X, data.y)
    assert model.to_bytes() == expected.to_bytes()
    for name in ("OFFSET", "WEIGHTS", "MISSING"):
        monkeypatch.delenv(f"HAWSER_{name}")
    assert np.array_equal(model.predict(data.X), expected.predict(data.X))


# ---------------------------------------------------------------- what the training data have, and other data lack, or the reverse ----


def write(path, data, name, offset, weights):
    """A file of the data, with the columns that are said."""
    columns = {"y": np.atleast_2d(data.target(name))[0] if name != "kmeans" else data.y, **{f"x{j}": data.X[:, j] for j in range(COLUMNS)}}
    if name == "multitask":
        columns["y"] = data.y
    if offset:
        columns["o"] = np.abs(data.offset) + 0.1
    if weights:
        columns["w"] = data.weights
    with open(path, "w") as file:
        file.write(",".join(columns) + "\n")
        file.writelines(",".join(f"{value:.17g}" for value in line) + "\n" for line in zip(*columns.values()))


@pytest.mark.skipif("HAWSER_BINARY" not in os.environ, reason="HAWSER_BINARY is not set")
@pytest.mark.parametrize("name", ALGORITHMS)
def test_command_and_python_do_the_same_where_data_lack_an_offset(name, data, tmp_path):
    keys = ["offset", "exposure"] if name == "poisson" else ["offset"]
    trained = [None] if find_algorithm(name).contents.no_offset else [None, *keys]
    others = {True: tmp_path / "with.csv", False: tmp_path / "without.csv"}
    for has, path in others.items():
        write(path, data, name, has, has)
    for own in trained:
        options = {} if own is None else {own: "o"}
        model = hawser.train(name, others[True], target="y", ignore="w" if own else "w,o", **options, **({"clusters": 3} if name == "kmeans" else {}))
        model.save(tmp_path / "m")
        for key in [None, *keys]:
            for value in [None] if key is None else ["o", "none"]:
                words = [] if key is None else [f"--{key}", value]
                for has, path in others.items():
                    code, out, said = by_command("predict", tmp_path / "m", path, *words)
                    found, notes = by_python(lambda: model.predict(path, **({} if key is None else {key: value})))
                    assert isinstance(found, Exception) == (code != 0), (own, key, value, has, found, said)
                    if code == 0:
                        assert np.array_equal(np.array([float(line) for line in out.split()]), found), (own, key, value, has)
                        assert ("without an offset" in notes) == ("without an offset" in said), (own, key, value, has, notes, said)
                        assert ("without an offset" in said) == (own is None and value == "o")
                    elif has or value != "o":  # a column that is not there is one more reason
                        assert ("trained with" in said) == ("trained with" in str(found)) and ("has no offset" in said) == ("has no offset" in str(found))


@pytest.mark.parametrize("name", [name for name in ALGORITHMS if name != "linear"])
def test_validation_has_an_offset_where_the_training_has_one(name, data):
    y = data.target(name)
    batch = {"batch": 16, "clusters": 3} if name == "kmeans" else {}
    plain, offset = hawser.Dataset(data.X, y), hawser.Dataset(data.X, y, offset=data.offset)
    with pytest.raises(hawser.BadOption, match="validation: the validation data have an offset"):
        hawser.train(name, data.X, y, validation=offset, **batch)
    if not find_algorithm(name).contents.no_offset:
        with pytest.raises(hawser.BadOption, match="validation: the training data have an offset"):
            hawser.train(name, data.X, y, offset=data.offset, validation=plain)
        with_it = hawser.train(name, data.X, y, offset=data.offset, validation=offset).training.metrics
        assert any(key.startswith("validation_") for key in with_it)
    weighed = hawser.train(name, data.X, y, weights=data.weights, validation=plain, **batch).training
    assert "the validation data have no weights" in weighed.assumed
    both = hawser.train(name, data.X, y, weights=data.weights, validation=hawser.Dataset(data.X, y, weights=data.weights), **batch).training
    assert "validation data" not in both.assumed
    key = next(key for key in both.metrics if key.startswith("validation_"))
    assert both.metrics[key] != weighed.metrics[key]


def test_score_of_a_cross_validation_uses_its_scoring_and_groups_say_what_to_do(data):
    pytest.importorskip("sklearn")
    from sklearn.metrics import balanced_accuracy_score, log_loss
    y = (data.y > 0.7).astype(int)
    for scoring, expected in (
            ("neg_log_loss", lambda model: -log_loss(y, model.predict_proba(data.X), sample_weight=data.weights)),
            ("balanced_accuracy", lambda model: balanced_accuracy_score(y, model.predict(data.X), sample_weight=data.weights)),
            (None, lambda model: np.average(model.predict(data.X) == y, weights=data.weights))):
        model = hawser.LogisticRegressionCV(Cs=3, cv=3, scoring=scoring).fit(data.X, y)
        assert np.isclose(model.score(data.X, y, data.weights), expected(model), rtol=1e-12)
    for kind, target in ((hawser.LogisticRegressionCV, y), (hawser.LassoCV, data.y), (hawser.ElasticNetCV, data.y)):
        with pytest.raises(ValueError, match="groups: give the folds instead"):
            kind().fit(data.X, target, groups=data.groups)
