"""Tables with words, categories, booleans, missing values and dates give the bits that the CSV of the same table gives."""
import csv
import datetime
import decimal

import numpy as np
import pytest

import hawser

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
pyarrow = pytest.importorskip("pyarrow")
ROWS = 40
WORDS = ["red", "green", 'with "quotes", and comma', "Zoë", " blanks ", "#hash", "x=y", "-"]


def drawn(draw):
    """Columns by name, each a kind and a list in which None is missing, and the options that the CSV of them needs."""
    found = {}
    for place in range(draw.integers(2, 6)):
        kind = str(draw.choice(["float", "int", "bool", "word", "category", "day", "moment"]))
        if kind == "float":
            values = (draw.normal(size=ROWS) * 10.0 ** draw.integers(-3, 4, ROWS)).tolist()
        elif kind == "int":
            values = draw.integers(-2**40, 2**40, ROWS).tolist()
        elif kind == "bool":
            values = (draw.random(ROWS) < 0.5).tolist()
        elif kind in ("word", "category"):
            values = draw.choice(draw.choice(WORDS, draw.integers(2, 5), replace=False), ROWS).tolist()
        else:
            start = datetime.datetime(2026, 1, 5) if kind == "day" else datetime.datetime(1969, 12, 30, 7, 30, 15)
            steps = draw.integers(0, 400, ROWS).tolist()
            values = [start + datetime.timedelta(days=step) * (1 if kind == "day" else 0.37) for step in steps]
        found[f"{kind}{place}" if draw.random() < 0.8 else f"{place}, {kind} \"é\""] = (kind, values)
    return found


def with_gaps(columns, draw):
    """Leaves some values out, of numbers and words."""
    return {name: (kind, [None if kind in ("float", "int", "word", "category") and draw.random() < 0.1 else value for value in values])
            for name, (kind, values) in columns.items()}


def text_of(kind, value):
    if value is None:
        return ""
    if kind == "bool":
        return str(int(value))
    return value.isoformat() if kind == "moment" else str(value.date()) if kind == "day" else value if isinstance(value, str) else repr(value)


def write(path, columns, y):
    with open(path, "w", newline="") as file:
        out = csv.writer(file)
        out.writerow([*columns, "the target"])
        out.writerows([[*(text_of(kind, values[row]) for kind, values in columns.values()), repr(y[row])] for row in range(ROWS)])


def in_pandas(columns):
    kinds = {"float": "Float64", "int": "Int64", "bool": "boolean", "word": object, "category": "category", "day": "datetime64[ns]", "moment": "datetime64[us]"}
    return pandas.DataFrame({name: pandas.Series(values, dtype=kinds[kind]) for name, (kind, values) in columns.items()})


def in_pandas_of_numpy(columns):
    """The types that pandas chooses: integers with missing values become floats, and words objects."""
    return pandas.DataFrame({name: pandas.Series(values) for name, (_, values) in columns.items()})


def in_polars(columns):
    kinds = {"float": polars.Float64, "int": polars.Int64, "bool": polars.Boolean, "word": polars.String, "category": polars.Categorical,
             "day": polars.Date, "moment": polars.Datetime("us")}
    return polars.DataFrame([polars.Series(name, values).cast(kinds[kind]) for name, (kind, values) in columns.items()])


def in_arrow(columns):
    def column(kind, values):
        whole = pyarrow.array([value.date() if kind == "day" and value is not None else value for value in values])
        whole = whole.dictionary_encode() if kind == "category" else whole
        return pyarrow.chunked_array([whole[:7], whole[7:7], whole[7:]])

    return pyarrow.table({name: column(kind, values) for name, (kind, values) in columns.items()})


FORMS = (in_pandas, in_pandas_of_numpy, in_polars, in_arrow)


def named(columns, *kinds):
    """Options name columns by number where their names have commas."""
    return [place for place, (kind, _) in enumerate(columns.values()) if kind in kinds]


@pytest.mark.parametrize("seed", range(20))
def test_a_table_gives_the_bits_of_its_csv(seed, tmp_path):
    draw = np.random.default_rng(seed)
    columns, y = drawn(draw), draw.normal(size=ROWS)
    missing = {} if seed % 2 else {"missing": str(draw.choice(["mean,level", "zero,level", "drop", "zero", "mean,zero"]))}
    if missing:
        columns = with_gaps(columns, draw)
    write(tmp_path / "t.csv", columns, y)
    dates = named(columns, "day", "moment")
    how = {"lambda_": 0.01, "workers": 2, **missing, **({"dates": dates} if dates else {})}
    name = str(draw.choice(["lasso", "svm", "logistic"]))
    how = {**how, "l1_ratio": 0.5} if name != "svm" else {**{key: value for key, value in how.items() if key != "lambda_"}, "C": 1}
    target = y if name == "lasso" else np.where(y > 0, 1.0, -1.0)
    write(tmp_path / "t.csv", columns, target.tolist())
    want = hawser.train(name, tmp_path / "t.csv", "the target", format="csv", **how)
    expected = want.predict(tmp_path / "t.csv", format="csv") if missing.get("missing") != "drop" else None
    for form in FORMS:
        table = form(columns)
        model = hawser.train(name, table, target, **{key: value for key, value in how.items() if key != "dates"})
        assert np.array_equal(model.coefficients, want.coefficients) and model.names == want.names and model.rows == want.rows
        if expected is not None:
            shuffled = table.select(list(columns)[::-1]) if form is not in_pandas and form is not in_pandas_of_numpy else table[list(columns)[::-1]]
            for predicted in (model.predict(table), want.predict(table), model.predict(tmp_path / "t.csv", format="csv"), want.predict(shuffled)):
                assert np.array_equal(predicted, expected)


def test_booleans_are_numbers_unless_a_model_or_option_has_them_as_words(tmp_path):
    draw = np.random.default_rng(0)
    flag, y = draw.random(ROWS) < 0.5, draw.normal(size=ROWS)
    frame = pandas.DataFrame({"flag": flag, "x": draw.normal(size=ROWS)})
    numbers = hawser.train("lasso", frame, y, lambda_=0.01)
    assert numbers.names == ["flag", "x"]
    frame.assign(y=y).to_csv(tmp_path / "t.csv", index=False)
    polars.DataFrame(frame).with_columns(y=polars.Series(y)).write_csv(tmp_path / "small.csv")
    for path, levels in (("t.csv", ["flag=False", "flag=True"]), ("small.csv", ["flag=false", "flag=true"])):
        words = hawser.train("lasso", tmp_path / path, "y", lambda_=0.01)
        assert words.names == [*levels, "x"]
        for table in (frame, polars.DataFrame(frame), pyarrow.Table.from_pandas(frame)):
            assert np.array_equal(words.predict(table), words.predict(tmp_path / path))
    named_words = hawser.train("lasso", frame, y, lambda_=0.01, categories="flag")
    assert named_words.names == ["flag=False", "flag=True", "x"]
    assert np.array_equal(named_words.predict(tmp_path / "t.csv"), named_words.predict(frame))


def test_targets_weights_and_groups_of_a_table_are_dropped_with_its_rows():
    draw = np.random.default_rng(1)
    x, y, weights = draw.normal(size=ROWS), draw.normal(size=ROWS), draw.random(ROWS)
    gaps, word = draw.random(ROWS) < 0.2, draw.choice(["a", "b"], ROWS)
    frame = pandas.DataFrame({"x": np.where(gaps, np.nan, x), "w": word, "y": y, "k": weights})
    kept = frame[~gaps]
    want = hawser.train("lasso", kept[["x", "w"]], kept["y"], weights=kept["k"], lambda_=0.01)
    for model in (hawser.train("lasso", frame[["x", "w"]], y, weights=weights, missing="drop", lambda_=0.01),
                  hawser.train("lasso", frame, "y", weights="k", missing="drop", lambda_=0.01)):
        assert np.array_equal(model.coefficients, want.coefficients) and model.rows == len(kept)
    both = hawser.train("multitask", frame, "y,k", missing="zero", lambda_=0.01)
    assert both.outputs == 2 and both.names == ["x", "w=a", "w=b"]
    assert hawser.Dataset(frame, "y", missing="zero", ignore=["k"]).target_names == ["y"]
    plain = hawser.Dataset(kept[["x", "y", "k"]], "y", weights="k")
    assert plain.names == ["x"] and np.array_equal(plain.target, kept["y"]) and np.array_equal(plain.weights, kept["k"])
    with pytest.raises(hawser.BadArgument, match="'z' is no column of the table; its columns are x, w, y, k"):
        hawser.train("lasso", frame, "z")


def test_validation_is_read_as_the_training_data():
    draw = np.random.default_rng(2)
    frame = pandas.DataFrame({"x": draw.normal(size=ROWS), "w": draw.choice(["a", "b", "c"], ROWS)})
    y = draw.normal(size=ROWS) + (frame["w"] == "a")
    some = frame[frame["w"] != "b"]
    model = hawser.train("lasso", frame, y, lambda_=0.01, validation=(some, y[some.index]))
    error = float(np.mean((model.predict(some) - y[some.index]) ** 2))
    assert any(np.isclose(value, error) or np.isclose(value, error / 2) for value in model.training.metrics.values())
    with pytest.raises(hawser.BadInput, match="X: row 0: column 1 'w' has a word that the training data did not have"):
        hawser.train("lasso", some, y[some.index], lambda_=0.01, validation=(frame[frame["w"] == "b"], y[frame["w"] == "b"]))


@pytest.mark.parametrize("column, text", [
    (["a", "b\0c", "a"], r"row 1, column 'c' has 'b\\x00c', which has a zero byte"), ([1.0, 2j, 3], "row 1, column 'c' has 2j: complex"),
    (np.array([1, 2j, 3]), "column 'c' has complex numbers"), ([[1], "a", None], r"row 0, column 'c' has \[1\], a list"), (["a", None, "b"], "row 1: a value is missing in column 1 'c'"),
    ([1.5, float("inf"), 2], "row 1, column 'c': .*'inf'"), (["a", "b", b"c"], "row 2, column 'c' has b'c'"), (["1,5", "2", "3"], "row 0, column 'c': a comma is in the number.*: '1,5'"),
    ([decimal.Decimal("1.5"), "x", "y"], "row 1.*'x'"), (pandas.to_timedelta([1, 2, 3]), "column 'c' has no numbers, words or dates: its type is timedelta"),
    (["2026-01-05", "2026-01-06", "2026-01-07"], "row 0.*dates"), (pandas.period_range("2026-01", periods=3, freq="M"), "its type is period"),
    ([f"word {row}" for row in range(2000)], "2000 different words")])
def test_values_that_a_table_cannot_have_are_refused_by_column_and_row(column, text):
    frame = pandas.DataFrame({"x": np.arange(float(len(column))), "c": column if len(column) == 3 and not isinstance(column, list) else pandas.Series(column, dtype=object if isinstance(column, list) else None)})
    with pytest.raises(hawser.Error, match=f"^X: .*{text}"):
        hawser.Dataset(frame, categories="auto")


def test_words_that_are_new_to_a_model():
    frame = pandas.DataFrame({"x": [1.0, 2, 3, 4], "w": ["a", "b", "a", "b"]})
    model = hawser.train("lasso", frame, [1.0, 2, 3, 5], lambda_=0.01)
    other = pandas.DataFrame({"w": ["a", "q"], "x": [1.0, 2], "more": ["z", "z"]})
    with pytest.raises(hawser.BadInput, match="X: row 1: column 0 'w' has a word that the training data did not have; unseen zero.*: 'q'"):
        model.predict(other)
    known = model.predict(other.assign(w=["a", "b"]))
    assert np.isclose(model.predict(other, unseen="zero")[1], known[1] - model.coefficients[model.names.index("w=b")])
    with pytest.raises(hawser.BadInput, match="has no column 'w', which the model needs"):
        model.predict(other[["x", "more"]])
    for wrong in ({"unseen": "none"}, {"header": "yes"}, {"dates": "q"}):
        with pytest.raises(hawser.BadOption, match=next(iter(wrong))):
            model.predict(other, **wrong)
