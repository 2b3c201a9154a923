"""Model.evaluate beside `hawser evaluate`, and what either does where data lack something that the training had, or have something that it had not."""
import json
import os

import numpy as np
import pytest

import hawser
from conftest import OF_NUMBERS, by_command, by_python

pd = pytest.importorskip("pandas")
pytestmark = pytest.mark.skipif("HAWSER_BINARY" not in os.environ, reason="HAWSER_BINARY is not set")
SEED = int(os.environ.get("HAWSER_TEST_SEED", "1"))
ALGORITHMS = [name for name in OF_NUMBERS if name != "linear"]
OURS = {"algorithm", "model", "unseen_columns", "unseen_entries", "unseen_words"}  # of the command's object alone


def frame_of(name, seed, rows=60):
    """A frame with a target that fits the algorithm, and columns of everything that may be beside it."""
    draw = np.random.default_rng(seed)
    X = draw.normal(size=(rows, 3))
    y = X @ [1.0, 0.0, -2.0] + draw.normal(size=rows)
    made = pd.DataFrame({f"x{k}": X[:, k] for k in range(3)})
    made["color"] = draw.choice(["red", "green", "blue"], rows)
    made["gap"] = np.where(draw.random(rows) < 0.2, np.nan, X[:, 0])
    if name in ("svm", "softmax"):
        made["y"] = np.array(["low", "mid", "top"])[np.digitize(y, [-1, 1])]
    else:
        made["y"] = draw.poisson(np.exp(X[:, 0])) if name == "poisson" else (y > 0) * 1 if name == "logistic" else y
    if name == "multitask":
        made["z"] = y + draw.normal(size=rows)
    made["w"], made["o"] = draw.integers(0, 3, rows), np.abs(draw.normal(size=rows)) + 0.1
    return made


def target_of(name):
    return {"kmeans": None, "multitask": "y,z"}.get(name, "y")


def options_of(name):
    return {"clusters": 3} if name == "kmeans" else {}


@pytest.mark.parametrize("name", ALGORITHMS)
def test_measures_have_the_bits_of_the_command(name, tmp_path):
    frame, other, path = frame_of(name, SEED), frame_of(name, SEED + 1), tmp_path / "other.csv"
    frame.drop(columns=["gap", "o", "w"]).to_csv(tmp_path / "train.csv", index=False)
    other.to_csv(path, index=False)
    model = hawser.train(name, tmp_path / "train.csv", target=target_of(name), **options_of(name))
    model.save(tmp_path / "m")
    two = model.classes is not None and len(model.classes) == 2
    for weights in (None, "w"):
        for threshold in (None, 0.3) if two else (None,):
            words = [*(["--weights", weights] if weights else []), *(["--threshold", threshold] if threshold else [])]
            code, out, said = by_command("evaluate", tmp_path / "m", path, "--json", *words)
            assert code == 0, said
            expected = {key: value for key, value in json.loads(out).items() if key not in OURS}
            how = {"weights": weights, "threshold": threshold}
            for data, target in ((path, None), (other, None), (hawser.Dataset(path, target_of(name)), None), (path, target_of(name))):
                if isinstance(data, hawser.Dataset):
                    how = {"threshold": threshold, **({"weights": weights} if weights else {})}
                found = model.evaluate(data, target, **how)
                assert found == expected, (weights, threshold, data)
    if name not in ("svm", "softmax"):
        plain = frame.drop(columns=["color", "gap", "w", "o", "y", *(["z"] if name == "multitask" else [])])
        y = None if name == "kmeans" else frame[["y", "z"]].to_numpy() if name == "multitask" else frame["y"].to_numpy(float)
        fitted = hawser.train(name, plain.to_numpy(), y, **options_of(name))
        fitted.save(tmp_path / "arrays")
        plain.assign(**{} if y is None else {"y": frame["y"]}, **({"z": frame["z"]} if name == "multitask" else {})).to_csv(path, index=False)
        code, out, said = by_command("evaluate", tmp_path / "arrays", path, "--json", *(["--target", target_of(name)] if y is not None else []))
        assert code == 0, said
        assert fitted.evaluate(plain.to_numpy(), y) == {key: value for key, value in json.loads(out).items() if key not in OURS}
        assert fitted.evaluate(hawser.Dataset(plain.to_numpy(), y)) == fitted.evaluate(plain.to_numpy(), y)


def test_words_of_arrays_are_the_models_labels(tmp_path):
    frame = frame_of("svm", SEED).drop(columns=["color", "gap", "w", "o"])
    frame.to_csv(tmp_path / "d.csv", index=False)
    model = hawser.train("softmax", tmp_path / "d.csv", target="y")
    X, y = frame.drop(columns="y").to_numpy(), frame["y"].to_numpy()
    assert model.evaluate(X, y) == model.evaluate(tmp_path / "d.csv") and model.evaluate(X, y)["accuracy"] == np.mean(model.predict(X) == y)
    for call, text in ((lambda: model.evaluate(X, np.where(y == "low", "lower", y)), "'lower' is none of the labels"),
                       (lambda: model.evaluate(X), "no target to compare with"), (lambda: model.evaluate(X, y, threshold=2), "threshold = 2"),
                       (lambda: model.evaluate(X, y, weights=-np.ones(len(y))), "row 1 is negative"), (lambda: model.evaluate(X[:, :2], y), "features"),
                       (lambda: model.evaluate(X, y[:5]), "inconsistent|rows|samples"), (lambda: model.evaluate(X, y, missing="mean"), "missing"),
                       (lambda: hawser.train("lasso", X, X[:, 0]).evaluate(X, X[:, 0], threshold=0.5), "threshold")):
        with pytest.raises(hawser.Error, match=text):
            call()


# What a training may have beside the plain columns: keyword, value, and the columns of the files that go with it.
BESIDE = {"weights": ("w", "w"), "offset": ("o", "o"), "exposure": ("o", "o"), "categories": ("color", "color"), "missing": ("mean", "gap")}
NOTES = ("without an offset", "these data have none", "trained with")


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("key", BESIDE)
def test_command_and_python_do_the_same_where_data_lack_or_add_something(name, key, tmp_path):
    value, column = BESIDE[key]
    base = ["x0", "x1", "x2", *(target_of(name) or "").split(",")] if target_of(name) else ["x0", "x1", "x2"]
    whole, other = frame_of(name, SEED), frame_of(name, SEED + 1)
    files = {}
    for has in (True, False):
        files[has] = tmp_path / f"{has}.csv"
        other[[*base, *([column] if has else [])]].to_csv(files[has], index=False)
    whole[[*base, column]].to_csv(tmp_path / "with.csv", index=False)
    whole[base].to_csv(tmp_path / "without.csv", index=False)
    target = {} if target_of(name) is None else {"target": target_of(name)}
    trainings = {}
    for own in (True, False):
        trained = by_python(lambda: hawser.train(name, tmp_path / f"{'with' if own else 'without'}.csv", **target, **({key: value} if own else {}),
                                                 **options_of(name)))[0]
        words = [*(["--target", target_of(name)] if target else []), *([f"--{key}", value] if own else []), *(["--clusters", "3"] if name == "kmeans" else [])]
        code, _, said = by_command("train", name, tmp_path / f"{'with' if own else 'without'}.csv", "-q", "-o", tmp_path / f"m{own}", *words)
        assert isinstance(trained, Exception) == (code != 0), (own, trained, said)
        if code == 0:
            trainings[own] = trained
            for has in (True, False):  # validation
                told = [*(["--batch", "8"] if name == "kmeans" else []), "--validation", files[has]]
                code, out, said = by_command("train", name, tmp_path / f"{'with' if own else 'without'}.csv", "--json", "-o", tmp_path / "v", *words, *told)
                found, _ = by_python(lambda: hawser.train(name, tmp_path / f"{'with' if own else 'without'}.csv", **target, **({key: value} if own else {}),
                                                          validation=files[has], **options_of(name), **({"batch": 8} if name == "kmeans" else {})))
                assert isinstance(found, Exception) == (code != 0), ("validation", own, has, found, said)
                if isinstance(found, Exception):
                    continue
                if name == "multitask":
                    data, target_, rest = tmp_path / f"{'with' if own else 'without'}.csv", target["target"], {key: value} if own else {}
                    same = hawser.train(name, hawser.Dataset(data, target_, **rest), validation=hawser.Dataset(files[has], target_, **(rest if has else {})))
                    assert same.training.metrics == found.training.metrics
                if code == 0:
                    metrics = json.loads(out.strip().splitlines()[-1])
                    for metric, number in found.training.metrics.items():
                        if metric.startswith("validation_"):
                            assert metrics[metric] == number, (metric, own, has)
    for own, model in trainings.items():
        for has, path in files.items():
            for given in ({}, {key: value}) if key not in ("categories",) else ({},):
                words = [word for option, text in given.items() for word in (f"--{option}", text)]
                for verb in ("predict", "evaluate"):
                    code, out, said = by_command(verb, tmp_path / f"m{own}", path, *words, *(["--json"] if verb == "evaluate" else []))
                    found, notes = by_python(lambda: getattr(model, verb)(path, **given))
                    about = (verb, own, has, given, found, said)
                    assert isinstance(found, Exception) == (code != 0), about
                    if code != 0:
                        continue
                    for note in NOTES:
                        assert (note in said) == (note in notes), (note, *about)
                    if verb == "evaluate":
                        assert found == {each: number for each, number in json.loads(out).items() if each not in OURS}, about
                    elif found.dtype.kind == "f":
                        lines = [[float(word) for word in line.split(",")] for line in out.split("\n") if line and not line.startswith("y,")]
                        assert np.array_equal(np.array(lines).reshape(found.shape), found), about
                    else:
                        assert list(map(str, found)) == out.split(), about
