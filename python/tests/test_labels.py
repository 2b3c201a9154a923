"""Classes of words, names of any type, and files that take the settings of a model: what a Dataset of a path shares with the command."""
import os
import pickle
import subprocess

import hawser
import numpy as np
import pytest


def table(path, rows, classes, chance):
    with open(path, "w") as file:
        file.write("kind,a,b\n" + "".join(f"{chance.choice(classes)},{chance.normal():.3f},{chance.normal():.3f}\n" for _ in range(rows)))
    return path


@pytest.mark.parametrize("algorithm", ["softmax", "svm", "logistic"])
def test_words_of_classes_come_back(algorithm, tmp_path):
    for seed in range(3):
        chance = np.random.default_rng(seed)
        words = ["cat", "dog"] if algorithm == "logistic" else ["cat", "dog", "ee l", "\u00e9tude"][: 2 + seed]
        path = table(tmp_path / "t.csv", 60, words, chance)
        model = hawser.train(algorithm, path)
        assert list(model.classes) == words
        model.save(tmp_path / "m")
        printed = subprocess.run([os.environ["HAWSER_BINARY"], "predict", tmp_path / "m", path, *(["--labels"] if algorithm == "logistic" else [])],
                                 capture_output=True, text=True, check=True).stdout.splitlines()
        assert list(model.predict_labels(path)) == printed
        assert algorithm == "logistic" or list(model.predict(path)) == printed
        assert list(hawser.Model.load(tmp_path / "m").classes) == words


def test_files_that_are_not_read_take_the_settings_of_the_model(tmp_path):
    for seed in range(4):
        chance = np.random.default_rng(seed)
        base = seed % 2
        X = chance.integers(1, 9, (12, 3)).astype(float)
        y = X @ [1.0, 10.0, 100.0]
        line = [" ".join([f"{t:g}"] + [f"{j + base}:{x:g}" for j, x in enumerate(row)]) for t, row in zip(y, X)]
        (tmp_path / "t.svm").write_text("\n".join(line) + "\n")
        rows = X[:4].copy()
        rows[:, 0] = 0  # so that the first index is in none of the rows
        (tmp_path / "p.svm").write_text("".join(
            f"{row @ [1, 10, 100]:g} " + " ".join(f"{j + base}:{x:g}" for j, x in enumerate(row) if j) + "\n" for row in rows))
        model = hawser.train("lasso", tmp_path / "t.svm", lambda_=0, tol=1e-12)
        expected = rows @ [1.0, 10.0, 100.0]
        for data in (tmp_path / "p.svm", hawser.Dataset(tmp_path / "p.svm")):
            assert np.allclose(model.predict(data), expected)
            again = hawser.train("lasso", tmp_path / "t.svm", lambda_=0, tol=1e-12, validation=data)
            assert again.training.metrics["validation_mse"] < 1e-12
        read = hawser.Dataset(tmp_path / "p.svm", index_base=1 - base) if base else hawser.Dataset(tmp_path / "p.svm")
        assert read.shape[0] == 4  # which reads it, counted from 1 by a guess, or from 0
        with pytest.raises(hawser.Error, match="index_base|features"):
            model.predict(read)


def test_a_dataset_of_a_table_has_the_columns_of_the_model(tmp_path):
    (tmp_path / "t.csv").write_text("y,colour,a\n" + "".join(f"{3 * (k % 3) + k},{['red', 'blue', 'sea'][k % 3]},{k}\n" for k in range(30)))
    (tmp_path / "p.csv").write_text('"a" ,colour,y\n1,"blue",4\n,sea,8\n')
    model = hawser.train("lasso", tmp_path / "t.csv", lambda_=1e-9, missing="mean", tol=1e-10)
    expected = model.predict(tmp_path / "p.csv")
    data = hawser.Dataset(tmp_path / "p.csv", "y")
    assert np.array_equal(model.predict(data), expected)
    assert np.array_equal(expected, model.predict(hawser.Dataset(tmp_path / "p.csv", "y", missing="mean")))
    v = hawser.train("lasso", tmp_path / "t.csv", lambda_=1e-9, missing="mean", tol=1e-10, target="y", validation=data).training.metrics
    assert v["validation_mse"] == pytest.approx(np.mean((expected - [4, 8]) ** 2), rel=1e-6)
    read = hawser.Dataset(tmp_path / "t.csv", "y", ignore="colour")
    assert read.names == ["a"]
    with pytest.raises(hawser.BadArgument):
        model.predict(read)


def test_names_of_any_type_are_checked():
    pandas = pytest.importorskip("pandas")
    X = np.arange(30.0).reshape(10, 3) % 7
    for names in ([5, 7, 9], [("a", 1), ("a", 2), ("b", 1)], ["u", 2, "w"], ["a b", " c", "d"]):
        columns = pandas.MultiIndex.from_tuples(names) if isinstance(names[0], tuple) else names
        frame = pandas.DataFrame(X, columns=columns)
        model = hawser.train("lasso", frame, X @ [1.0, 2.0, 3.0], lambda_=1e-3)
        assert model.names == [str(name).strip() for name in names]
        assert np.array_equal(model.predict(frame), model.predict(X))
        assert np.array_equal(model.predict(frame.iloc[:, [1, 0, 2]]), model.predict(X))
        frame.columns = [str(name) + " " for name in names]
        assert np.array_equal(model.predict(frame), model.predict(X))
    assert hawser.train("lasso", pandas.DataFrame(X), X[:, 0], lambda_=1e-3).names is None
    with pytest.raises(hawser.BadArgument, match="two columns are named '5'"):
        hawser.Dataset(pandas.DataFrame(X, columns=[5, 6, 5]))
    with pytest.raises(hawser.BadArgument, match="two columns are named 'a'"):
        hawser.Dataset(X, names=["a", "b", "a"])


def test_a_column_beside_a_level_of_its_name_is_refused(tmp_path):
    (tmp_path / "t.csv").write_text("y,color,color=red\n" + "".join(f"{k},{['red', 'blue'][k % 2]},{k}\n" for k in range(10)))
    with pytest.raises(hawser.BadInput, match="color=red"):
        hawser.train("lasso", tmp_path / "t.csv", lambda_=0.1)


def test_whole_numbers_of_64_bits_are_distinct_labels(tmp_path):
    for seed in range(4):
        chance = np.random.default_rng(seed)
        around = [2**53, 2**60, 2**63 - 2, 2**64 - 5][seed]
        numbers = sorted({around, around + 1, 3, int(chance.integers(0, 99)), *([-(2**53) - 1] if around < 2**63 else [])})
        k = np.arange(8 * len(numbers)) % len(numbers)
        spelled = [["%d", "+%d", "0%d", "%d.0", "%d.00e0"][chance.integers(5 if numbers[i] >= 0 else 1)] % numbers[i] for i in k]
        text = "y," + ",".join(f"x{j}" for j in range(len(numbers))) + "\n" + "".join(
            f"{label}," + ",".join("1" if i == j else "0" for j in range(len(numbers))) + "\n" for label, i in zip(spelled, k))
        (tmp_path / "t.csv").write_text(text)
        for algorithm in ("softmax", "svm"):
            model = hawser.train(algorithm, tmp_path / "t.csv")
            assert list(model.classes) == numbers
            assert list(model.predict(tmp_path / "t.csv")) == [numbers[i] for i in k]
        model.save(tmp_path / "m")
        told = subprocess.run([os.environ["HAWSER_BINARY"], "evaluate", tmp_path / "m", tmp_path / "t.csv"], capture_output=True, text=True, check=True)
        assert "accuracy              1\n" in told.stdout
        subprocess.run([os.environ["HAWSER_BINARY"], "data", "convert", tmp_path / "t.csv", "-o", tmp_path / "c.csv"], check=True)
        assert [int(line.split(",")[0]) for line in (tmp_path / "c.csv").read_text().splitlines()[1:]] == [numbers[i] for i in k]
        X = np.eye(len(numbers))[k]
        with pytest.raises(hawser.BadInput, match="2.53"):  # of doubles, which do not tell them apart
            hawser.train("softmax", X, np.array([float(numbers[i]) for i in k]))
        groups = np.array([numbers[i] for i in k], np.int64 if around < 2**63 else np.uint64)
        y = chance.normal(size=len(k))
        hawser.train("lasso", X, y, groups=groups, cv=len(numbers), folds="by:group")
    (tmp_path / "out.csv").write_text("y,a\n1e300,2\n3,4\n")
    with pytest.raises(hawser.BadInput, match="1e300"):
        hawser.train("softmax", tmp_path / "out.csv")


def test_rounded_labels_are_no_single_label_and_no_condition():
    for seed in range(4):
        chance = np.random.default_rng(seed)
        base = 2 ** int(chance.integers(53, 63))
        small = int(chance.integers(0, 99))
        X = chance.normal(size=(30, 2))
        two = np.array([base, base + 1], np.int64)[np.arange(30) % 2]
        for algorithm in ("logistic", "svm", "softmax"):  # one double stands for both
            with pytest.raises(hawser.BadInput, match="is not below 2.53"):
                hawser.train(algorithm, hawser.Dataset(X, two))
        three = np.array([small, base, base + 1], np.int64)[np.arange(30) % 3]
        with pytest.raises(hawser.BadInput, match="is not below 2.53"):  # it would hold for both
            hawser.train("logistic", hawser.Dataset(X, three), positive=str(base + 1))
        hawser.train("logistic", X, three, positive=f"> {small}")


def drawn_labels(chance):
    """Whole numbers of 64 bits, among them some of one double."""
    some = [int(value) for value in chance.integers(-(2**63), 2**63 - 1, 3)] + [-(2**63), 2**63 - 1, 2**63 - 2]
    return np.unique(np.array([2**53, 2**53 + 1, int(chance.integers(-9, 9)), some[chance.integers(0, 6)]], dtype=np.int64))


@pytest.mark.parametrize("algorithm", ["softmax", "svm", "logistic"])
def test_labels_of_64_bits_stay_distinct_in_arrays(algorithm):
    """The model is that of the labels numbered from 0, its classes and predictions are the labels, and so are those of other forms of the same data."""
    for seed in range(4):
        chance = np.random.default_rng(seed)
        labels = drawn_labels(chance)[: 2 if algorithm == "logistic" else None]
        if seed == 3:
            labels = labels.astype(np.uint64)  # negative ones become large
            labels.sort()
        place = chance.integers(0, len(labels), 80)
        place[: len(labels)] = range(len(labels))
        X, y = chance.normal(size=(80, 3)) + place[:, None] * [1, 0, -1], labels[place]
        options = {} if algorithm == "svm" else {"lambda_": 0.01}
        want = hawser.train(algorithm, X, place.astype(float), validation=(X, place.astype(float)), **options)
        for data, target in ((X, y), (np.asfortranarray(X), y.tolist()), (hawser_table(X), y)):
            got = hawser.train(algorithm, data, target, validation=(data, target), **options)
            assert np.array_equal(got.classes, labels) and np.array_equal(got.coefficients, want.coefficients)
            assert np.array_equal(got.predict_labels(data), labels[want.predict_labels(X).astype(int)])
            assert [value for name, value in got.training.metrics.items() if name.startswith("validation")] == [
                value for name, value in want.training.metrics.items() if name.startswith("validation")]
            assert got.evaluate(data, target)["accuracy"] == want.evaluate(X, place.astype(float))["accuracy"]
        other = 7 if seed == 3 else -77
        with pytest.raises(hawser.BadInput, match="none of the labels"):
            got.evaluate(X, np.where(place == 0, np.array(other, labels.dtype), y))
        with pytest.raises(hawser.BadInput, match="not below 2.53"):  # a Dataset does not know that they are labels
            hawser.train(algorithm, hawser.Dataset(X, y), **options)
        one = int(labels[-1])
        if algorithm == "logistic":
            two = [hawser.train("logistic", X, target, positive=str(word), lambda_=0.1).coefficients for target, word in
                   ((y, one), (place.astype(float), len(labels) - 1))]
            assert np.array_equal(*two)
        assert hawser.train("lasso", X, y, lambda_=0.1).outputs == 1  # numbers


def test_lists_of_whole_numbers_are_labels_and_those_outside_are_refused():
    X = np.arange(12.0).reshape(-1, 1) % 5
    for labels in ([2**64 - 1, -1], [-(2**63), 2**53 + 1], [2**63, 0]):
        assert sorted(hawser.train("softmax", X, labels * 6, lambda_=0.1).classes.tolist()) == sorted(labels)
    for label in (2**64, -(2**63) - 1, 10**40):
        with pytest.raises(hawser.BadInput, match=f"the label {label} is a whole number below -2.63"):
            hawser.train("softmax", X, [1, label] * 6, lambda_=0.1)


def test_labels_that_a_float_rounds_and_numbers_for_words_are_refused():
    pandas = pytest.importorskip("pandas")
    X = np.random.default_rng(1).normal(size=(40, 3))
    large, named = X[:, 0] > 0, np.where(X[:, 0] > 0, "hi", "lo")
    exact = hawser.train("softmax", X, np.where(large, 2**60 + 1, 2**60), lambda_=0.1)
    with pytest.raises(hawser.BadInput, match="is a float, to which several whole numbers are rounded"):
        exact.evaluate(X, np.where(large, 2**60 + 1, 2**60).astype(float))
    words = hawser.train("softmax", pandas.DataFrame(X, columns=["a", "b", "c"]).assign(y=named), target="y", lambda_=0.1)
    with pytest.raises(hawser.BadInput, match="it has numbers, and the labels of the training data are words"):
        words.evaluate(X, large.astype(float))
    with pytest.raises(hawser.BadInput, match="'True' is none of the labels|'False' is none of the labels"):
        words.evaluate(X, large)
    assert words.evaluate(X, named)["accuracy"] > 0.8


def hawser_table(X):
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(X, columns=["a", "b", "c"])


@pytest.mark.parametrize("name", ["LogisticRegression", "LinearSVC", "LogisticRegressionCV"])
def test_the_model_of_an_estimator_has_its_labels(name, tmp_path):
    """If they are numbers; others are 0, 1, ... there. A warm start goes on from it."""
    pytest.importorskip("sklearn")
    draw = np.random.default_rng(4)
    for trial in range(4):
        kinds = 2 + trial % 2
        X, codes = draw.normal(size=(60, 3)), np.arange(60) % kinds
        X[:, 0] += codes
        whole = np.sort(draw.choice(np.arange(-300, 300), kinds, replace=False))
        for labels in (whole, whole.astype(float), np.array(["c", "f", "é"])[:kinds], np.array([2**53, 2**53 + 1, 2**53 + 2])[:kinds]):
            y = labels[codes]
            fitted = getattr(hawser, name)(**({"warm_start": True} if name == "LogisticRegression" else {})).fit(X, y)
            fitted.model_.save(tmp_path / "x.model")
            has = labels.dtype.kind in "if" and labels[0] < 2**53
            there = fitted.predict(X) if has else np.searchsorted(labels, fitted.predict(X))
            for model in (fitted.model_, pickle.loads(pickle.dumps(fitted.model_)), hawser.Model.load(tmp_path / "x.model")):
                assert np.array_equal(model.predict_labels(X), there) and np.array_equal(model.classes, labels if has else np.arange(kinds))
            before = fitted.coef_
            assert np.allclose(fitted.fit(X, y).coef_, before, atol=1e-2)
