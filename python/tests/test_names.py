"""A model's columns are found by their names, however a file or a table writes them, and no two coefficients have one name."""
import os
import random
import subprocess

import numpy as np
import pytest

import hawser

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
pyarrow = pytest.importorskip("pyarrow")
SEEDS = range(60 if os.environ.get("HAWSER_TEST_LONG") else 6)
ROWS = 40
NAMES = ["a", "A", "x 1", "x,1", 'q"q', "Zoë", "日本", "tail  ", " lead", "\tboth ", "1", "01", "1.0", "-3", "+1", "1e3", "color=red", "#x", "y;z", "nan", "NA",
         "none", "target", "x\ty", "1_000", "0x11", "\u2028x", "--tol"]


def command(*words):
    done = subprocess.run([os.environ["HAWSER_BINARY"], *map(str, words)], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, (words, done.stderr)
    return done.stdout


def spelled(draw, name):
    """Returns one of the fields of CSV that mean a name."""
    if name != name.strip() or any(c in name for c in ',";\t#\u2028') or draw.random() < 0.4:
        name = '"' + name.replace('"', '""') + '"'
    return draw.choice(["", " "]) + name + draw.choice(["", "  "])


def write(draw, path, columns, y, order, rows=slice(None)):
    """Writes rows with columns in an order, and names and line ends as drawn."""
    end = draw.choice(["\n", "\r\n"])
    with open(path, "w", newline="", encoding="utf-8") as file:
        file.write(draw.choice(["", "\ufeff"]) + ",".join(spelled(draw, name) for name in ["the y", *order]) + end)
        for number in range(ROWS)[rows]:
            file.write(",".join([repr(y[number]), *(repr(columns[name][number]) for name in order)]) + end)
    return path


def drawn(draw, seed, names):
    numbers = np.random.default_rng(seed)
    X = numbers.normal(size=(ROWS, len(names))).round(4)
    return {name: X[:, k].tolist() for k, name in enumerate(names)}, (X @ numbers.normal(size=len(names))).round(4).tolist()


def weights_of(model):
    return dict(zip(model.names, model.coefficients, strict=True))


@pytest.mark.parametrize("seed", SEEDS)
def test_any_spelling_in_any_order_is_the_same_column(seed, tmp_path):
    draw = random.Random(seed)
    names = draw.sample(NAMES, draw.randint(2, 6))
    columns, y = drawn(draw, seed, names)
    how, model = ["--target", "the y", "--header", "yes", "--lambda", "0.001", "--tol", "1e-10", "-q"], tmp_path / "m"
    command("train", "lasso", write(draw, tmp_path / "t.csv", columns, y, names), *how, "-o", model)
    trained = hawser.Model.load(model)
    wanted = np.array(columns_in_order(columns, names)).T @ trained.coefficients + trained.intercept
    assert list(trained.names) == [name.strip(" \t") for name in names]

    order = draw.sample(names, len(names))
    whole = write(draw, tmp_path / "p.csv", columns, y, draw.sample(names, len(names)))
    parts = [write(draw, tmp_path / f"{k}.csv", columns, y, order, rows) for k, rows in enumerate([slice(0, 15), slice(15, None)])]
    for files in ([whole], parts):
        said = command("predict", model, *files, "--header", "yes")
        np.testing.assert_allclose([float(line) for line in said.split()], wanted, atol=1e-9)
    nodes = draw.choice([(), ("run", "-n", "2", "--"), ("run", "-n", "3", "--")])
    command(*nodes, "train", "lasso", *parts, *how, "--init", model, "--validation", whole, "-o", tmp_path / "again")
    assert weights_of(hawser.Model.load(tmp_path / "again")) == pytest.approx(weights_of(trained), abs=1e-4)

    table = {name: columns[name] for name in order}
    for frame in (pandas.DataFrame(table), polars.DataFrame(table), pyarrow.table(table)):
        np.testing.assert_allclose(trained.predict(frame), wanted, atol=1e-9)
        assert trained.evaluate(frame, y)["r2"] > 0.99
        again = hawser.train("lasso", frame, y, lambda_=0.001, tol=1e-10, init=trained, validation=(frame, y))
        assert weights_of(again) == pytest.approx(weights_of(trained), abs=1e-4)
        again.save(tmp_path / "table")
        said = command("predict", tmp_path / "table", whole, "--header", "yes")
        np.testing.assert_allclose([float(line) for line in said.split()], again.predict(frame), atol=1e-9)
    matrix = np.array(columns_in_order(columns, names)).T
    assert np.array_equal(trained.predict(hawser.Dataset(matrix, names=names)), trained.predict(matrix))
    if names != order:
        with pytest.raises(hawser.Error, match="column"):
            trained.predict(hawser.Dataset(np.array(columns_in_order(columns, order)).T, names=order))


def columns_in_order(columns, names):
    return [columns[name] for name in names]


@pytest.mark.parametrize("seed", SEEDS)
def test_names_of_any_type_are_checked(seed):
    draw = random.Random(seed)
    pool = draw.choice([[7, 3, 11, 2], [("a", 1), ("a", 2), ("b", 1), ("b", 2)], [1.5, 2.5, 0.5, 9.0], [True, "x", 4, ("x", 4)]])
    columns, y = drawn(draw, seed, pool)
    frame = pandas.DataFrame(np.array(columns_in_order(columns, pool)).T)
    frame.columns = pandas.MultiIndex.from_tuples(pool) if all(isinstance(name, tuple) for name in pool) else pandas.Index(pool, dtype=object)
    model = hawser.train("lasso", frame, y, lambda_=0.001)
    places = draw.sample(range(4), 4)
    assert np.array_equal(model.predict(frame.iloc[:, places]), model.predict(frame))
    assert model.evaluate(frame.iloc[:, places], y) == model.evaluate(frame, y)
    other = frame.copy()
    other.columns = [*list(frame.columns)[:3], "another"]
    with pytest.raises(hawser.Error, match="another"):
        model.predict(other)


@pytest.mark.parametrize("seed", SEEDS)
def test_two_columns_of_one_name_are_refused(seed, tmp_path):
    draw = random.Random(seed)
    names = draw.sample(NAMES, 3)
    columns, y = drawn(draw, seed, names)
    place = draw.randrange(3)
    twice = [*names, draw.choice([names[place], " " + names[place], names[place].strip() + "\t"])]
    values = columns_in_order(columns, names) + [columns[names[0]]]
    frame = pandas.DataFrame(np.array(values).T, columns=twice)
    for give in (lambda: hawser.train("lasso", frame, y, lambda_=0.1), lambda: hawser.Dataset(np.array(values).T, names=twice)):
        with pytest.raises(hawser.Error) as refused:
            give()
        assert "two columns" in str(refused.value)
    with open(tmp_path / "t.csv", "w", newline="", encoding="utf-8") as file:
        file.write(",".join(spelled(draw, name) for name in ["the y", *twice]) + "\n")
        file.writelines(",".join(map(repr, row)) + "\n" for row in zip(y, *values))
    with pytest.raises(hawser.BadInput, match="two columns"):
        hawser.train("lasso", tmp_path / "t.csv", "the y", header="yes", lambda_=0.1)
    word = draw.choice(["red", "r d", "Zoë"])
    frame = pandas.DataFrame({"color": [word, "blue"] * (ROWS // 2), f"color={word}": y})
    frame = frame if draw.random() < 0.5 else frame.iloc[:, ::-1]
    frame.assign(y=y).to_csv(tmp_path / "c.csv", index=False)
    for give in (lambda: hawser.train("lasso", frame, y, lambda_=0.1), lambda: hawser.train("lasso", tmp_path / "c.csv", "y", lambda_=0.1)):
        with pytest.raises(hawser.BadInput, match=f"color={word}"):
            give()


@pytest.mark.parametrize("hostile", ["a\x1b[31m", "\x1b]0;x\x07", "\x7f", "\x9b2J", "\u202eab", "\u2066", "\x01"])
def test_errors_print_names_and_words_without_control_characters(hostile, tmp_path):
    y = [float(k % 2) for k in range(ROWS)]
    frame = pandas.DataFrame({hostile: y[::-1], "b": y})
    model = hawser.train("lasso", frame, y, lambda_=0.001)
    for give in (
            lambda: hawser.train("lasso", frame, y, weights=hostile + "?"), lambda: hawser.train("lasso", frame, y, categories=[hostile + "?"]),
            lambda: hawser.train("lasso", frame.assign(**{hostile: [hostile, 1] * (ROWS // 2)}), y), lambda: hawser.train(hostile, frame, y),
            lambda: hawser.train("lasso", frame, y, sync=hostile), lambda: model.predict(frame.rename(columns={"b": hostile + "c"})),
            lambda: hawser.train("lasso", frame.assign(b=[1j] * ROWS), y), lambda: hawser.train("lasso", tmp_path / hostile), lambda: hawser.Model.load(hostile),
            lambda: hawser.Dataset(np.ones((3, 2)), names=[hostile, hostile]), lambda: hawser.train("lasso", frame.assign(b=[float("nan")] * ROWS), y)):
        with pytest.raises((hawser.Error, TypeError)) as refused:
            give()
        text = str(refused.value)
        assert text.replace("\n", "").replace("\t", "").isprintable() or not any(c in text for c in hostile if not c.isprintable()), ascii(text)
