"""Trainings: the results are the command's, options have their effect, and what is wrong is refused by name."""
import json
import threading
import warnings

import numpy as np
import pytest

import hawser
from conftest import OF_NUMBERS, scipy, targets_of

NAMES = [name for name in OF_NUMBERS if name != "multitask"]
OPTIONS = {"kmeans": {"clusters": 3}, "lasso": {"lambda_": 0.01}, "logistic": {"lambda_": 0.01}, "poisson": {"lambda_": 0.01}}


def parameters(model):
    return model.centres if model.algorithm == "kmeans" else np.column_stack(
        [np.atleast_2d(model.coefficients), np.atleast_1d(model.intercept)])


def write(path, X, y):
    np.savetxt(path, X if y is None else np.column_stack([y, X]), delimiter=",", fmt="%.17g")
    return path


@pytest.mark.parametrize("name", NAMES)
def test_every_algorithm_has_the_commands_bits(name, numbers, command, tmp_path):
    X, y = numbers[0], targets_of(name, numbers[1])
    path = write(tmp_path / "data.csv", X, y)
    options = OPTIONS.get(name, {})
    words = [f"--{key.rstrip('_')}={value}" for key, value in options.items()]
    command("train", name, path, "-o", tmp_path / "theirs", "-q", "--workers", 2, *words)
    theirs = parameters(hawser.Model.load(tmp_path / "theirs"))
    for data in (X, np.asfortranarray(X), hawser.Dataset(X, y)):
        model = hawser.train(name, data, None if isinstance(data, hawser.Dataset) else y, workers=2, **options)
        assert np.array_equal(parameters(model), theirs)
    assert np.array_equal(parameters(hawser.train(name, path, workers=2, **options)), theirs)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("share", [1.0, 0.8, 0.4])
def test_svmlight_has_the_commands_bits_however_full_it_is(name, share, numbers, command, tmp_path):
    X, y = numbers[0], targets_of(name, numbers[1])
    X = np.where(np.random.default_rng(1).random(X.shape) < share, X, 0.0)
    path = tmp_path / "data.svm"
    path.write_text("".join(f"{label:.17g} " + " ".join(f"{j}:{row[j]:.17g}" for j in np.flatnonzero(row)) + "\n"
                            for label, row in zip(np.zeros(len(X)) if y is None else y, X, strict=True)))
    options = OPTIONS.get(name, {})
    words = [f"--{key.rstrip('_')}={value}" for key, value in options.items()]
    command("train", name, path, "-o", tmp_path / "theirs", "-q", "--workers", 2, *words)
    theirs = parameters(hawser.Model.load(tmp_path / "theirs"))
    for data in (path, hawser.Dataset(path)):
        assert np.array_equal(parameters(hawser.train(name, data, workers=2, **options)), theirs)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["csr_array", "csc_matrix", "coo_matrix"])
def test_sparse_data_give_the_same_bits_in_each_layout(name, kind, numbers):
    X = np.where(np.abs(numbers[0]) > 0.8, numbers[0], 0.0)
    y = targets_of(name, numbers[1])
    options = OPTIONS.get(name, {})
    wide = scipy.sparse.csc_array(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    expected = hawser.train(name, wide, y, **options)
    assert np.array_equal(parameters(hawser.train(name, getattr(scipy.sparse, kind)(X), y, **options)), parameters(expected))
    dense = hawser.train(name, X, y, **options)
    assert np.allclose(parameters(dense), parameters(expected), atol=1e-4)


def test_lasso_solves_its_problem(numbers):
    X, y = numbers
    model = hawser.train("lasso", X, y, lambda_=0.1, tol=1e-9, standardize=False)
    w, b = model.coefficients, model.intercept
    gradient = X.T @ (y - X @ w - b) / len(y)  # its bounds are those of the subgradient
    assert abs(np.mean(y - X @ w - b)) < 1e-6
    assert np.all(np.abs(gradient) < 0.1 + 1e-5) and np.allclose(gradient[w != 0], 0.1 * np.sign(w[w != 0]), atol=1e-5)
    assert model.objective == pytest.approx(np.mean((y - X @ w - b) ** 2) / 2 + 0.1 * np.abs(w).sum(), rel=1e-6)


def test_weights_and_offset_count(numbers):
    X, y = numbers
    twice = np.where(np.arange(len(y)) < 50, 2.0, 1.0)
    options = {"lambda_": 0.05, "tol": 1e-9}
    weighted = hawser.train("lasso", X, y, weights=twice, **options)
    repeated = hawser.train("lasso", np.vstack([X, X[:50]]), np.concatenate([y, y[:50]]), **options)
    assert np.allclose(weighted.coefficients, repeated.coefficients, atol=1e-5)
    shifted = hawser.train("lasso", X, y + X[:, 3], offset=X[:, 3], **options)
    assert np.allclose(shifted.coefficients, hawser.train("lasso", X, y, **options).coefficients, atol=1e-5)
    with pytest.raises(hawser.BadOption, match="offset"):
        shifted.predict(X)
    assert np.allclose(shifted.predict(X, offset=X[:, 3]) - X[:, 3], shifted.predict(X, offset=np.zeros(len(y))))


def test_wrong_options_are_refused_by_name(numbers):
    for options, text in (({"lamda": 1}, "did you mean lambda_="), ({"tol": -1}, r"tol.*\(0,1\)"), ({"header": "yes"}, "arrays"),
                          ({"clusters": 3}, "kmeans"), ({"tol": object()}, "object")):
        with pytest.raises(hawser.BadOption, match=text):
            hawser.train("lasso", *numbers, **options)
    for algorithm in ("laso", None, 3):
        with pytest.raises(hawser.BadOption, match=f"no algorithm {algorithm!r}; the algorithms are: lasso"):
            hawser.train(algorithm, *numbers)
    with pytest.raises(hawser.BadOption, match="lasso"):
        hawser.train("laso", *numbers)
    with pytest.raises(ValueError):
        hawser.train("lasso", *numbers, tol=2)
    with pytest.raises(hawser.BadArgument, match="init: give a hawser.Model, not a str"):
        hawser.train("lasso", *numbers, init="lasso.model")
    with pytest.raises(hawser.BadArgument, match="only files have columns by name"):
        hawser.train("lasso", numbers[0], target="y")
    assert hawser.train("lasso", *numbers, lambda_=np.array(0.25)).lambda_ == 0.25


def test_a_keyword_is_stronger_than_the_environment(numbers, monkeypatch):
    monkeypatch.setenv("HAWSER_LAMBDA", "0.5")
    monkeypatch.setenv("HAWSER_CLUSTERS", "4")  # of another algorithm
    monkeypatch.setenv("HAWSER_QUIET", "yes")  # of the command
    assert float(hawser.train("lasso", *numbers).facts["lambda"]) == 0.5
    assert float(hawser.train("lasso", *numbers, lambda_=0.25).facts["lambda"]) == 0.25
    monkeypatch.setenv("HAWSER_LAMDA", "0.5")
    with pytest.raises(hawser.BadOption, match="HAWSER_LAMBDA"):
        hawser.train("lasso", *numbers)


def test_progress_is_reported_and_its_exception_raised(numbers):
    seen = []
    model = hawser.train("lasso", *numbers, lambda_=0.01, progress=seen.append)
    assert seen[-1]["objective"] == pytest.approx(model.objective) and seen[-1]["clocks"] >= 1

    class Mine(Exception):
        pass

    def fail(progress):
        raise Mine("mine")

    for workers in (1, 2):
        with pytest.raises(Mine, match="mine"):
            hawser.train("lasso", *numbers, lambda_=0.01, progress=fail, workers=workers)


def test_a_training_that_ends_early_warns(numbers):
    with pytest.warns(hawser.ConvergenceWarning, match="tolerance") as caught:
        hawser.train("kmeans", numbers[0], clusters=8, max_iterations=1)
    assert caught[0].filename == __file__  # the line that called, not one of the package


def test_validation_measures_other_rows(numbers):
    X, y = numbers
    model = hawser.train("lasso", X[:150], y[:150], lambda_=0.05, validation=(X[150:], y[150:]))
    assert model.training.metrics["validation_mse"] == pytest.approx(np.mean((y[150:] - model.predict(X[150:])) ** 2), rel=1e-9)
    for given, text in ((X, "pair"), ((X,), "pair"), ((X[:, 1:], y), "5 columns.*6")):
        with pytest.raises(ValueError, match=text):
            hawser.train("lasso", X, y, validation=given)
    with pytest.raises(hawser.BadOption, match="validation: linear"):
        hawser.train("linear", X, y, validation=(X, y))


def test_init_starts_from_a_model(numbers):
    first = hawser.train("lasso", *numbers, lambda_=0.01, tol=1e-9)
    again = hawser.train("lasso", *numbers, lambda_=0.01, tol=1e-9, init=first)
    assert again.training.clocks <= first.training.clocks
    assert np.allclose(again.coefficients, first.coefficients, atol=1e-6)


def test_fits_of_several_threads_do_not_disturb_each_other(numbers):
    data = hawser.Dataset(*numbers)
    lambdas = [0.3 * 0.8**k for k in range(12)]
    alone = [hawser.train("lasso", data, lambda_=value).coefficients for value in lambdas]
    found = [None] * len(lambdas)

    def fit(first):
        for k in range(first, len(lambdas), 4):
            found[k] = hawser.train("lasso", data, lambda_=lambdas[k]).coefficients

    threads = [threading.Thread(target=fit, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert np.array_equal(found, alone)


def test_arrays_in_place_of_files(numbers, tmp_path):
    """Bounds and penalty factors as arrays have the bits of files with the same numbers."""
    X, y = numbers
    bounds, factors = np.array([0.2, np.inf, 1.0, 0.0, 0.5, np.inf]), np.linspace(0.5, 2, 6)
    np.savetxt(tmp_path / "upper", bounds, fmt="%.17g")
    np.savetxt(tmp_path / "factors", factors, fmt="%.17g")
    how = {"lambda_": 0.001, "lower": 0}
    files = hawser.train("lasso", X, y, upper=tmp_path / "upper", penalty_factors=tmp_path / "factors", **how)
    arrays = hawser.train("lasso", X, y, upper=bounds, penalty_factors=list(factors), **how)
    assert arrays.coefficients.tobytes() == files.coefficients.tobytes()
    assert (arrays.coefficients >= 0).all() and (arrays.coefficients <= bounds).all()
    for given, text in (({"upper": bounds[1:]}, "its shape is"), ({"upper": -np.ones(6)}, r"upper\[0\] is -1"),
                        ({"penalty_factors": [1, 2, np.nan, 1, 1, 1]}, r"penalty_factors\[2\]")):
        with pytest.raises(ValueError, match=text):
            hawser.train("lasso", X, y, lambda_=0.1, **given)
    with pytest.raises(ValueError, match="no such option"):
        hawser.train("kmeans", X, upper=bounds)


@pytest.mark.parametrize("sync", ["bsp", "ssp:2"])
def test_changes_of_policies_are_those_of_the_command(sync, command, tmp_path):
    """Columns that are much alike, and steps that are too long: a safeguard shortens them."""
    draw = np.random.default_rng(7)
    X = draw.normal(size=(60, 1)) + 0.1 * draw.normal(size=(60, 40))
    y = X[:, :5].sum(axis=1) + 0.1 * draw.normal(size=60)
    options = {"workers": 4, "sync": sync, "sigma": 0.5, "exchange_every": 1, "certify_every": 5, "lambda_ratio": 0.001, "max_clocks": 60}
    words = [f"--{key.replace('_', '-')}={value}" for key, value in options.items()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = hawser.train("lasso", X, y, **options).training.changes
    assert found and all(isinstance(change.by, str) and change.run == 1 for change in found)
    if sync != "bsp":  # the order in which updates arrive decides how often
        return
    path = write(tmp_path / "data.csv", X, y)
    command("train", "lasso", path, "-q", *words, "--log-json", tmp_path / "log")
    events = [event for event in map(json.loads, (tmp_path / "log").read_text().splitlines()) if event["event"] == "policy"]
    assert len(events) == len(found)
    for event, change in zip(events, found):
        assert (event["loop"], event["clock"], event["run"], event["by"]) == (change.loop, change.clock, change.run, change.by)
        assert event.get("state") == change.state and change.fit == {"lambda": event["lambda"]}
        what = "gain" if change.state else "sync"
        assert (event[f"old_{what}"], event[what]) == (change.old, change.new)
        assert str(change).startswith(f"loop {change.loop}, from clock {change.clock}: ")
