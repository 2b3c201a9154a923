"""What a dataset takes, copies and refuses."""
import gc
import pathlib
import re
import warnings
import weakref

import numpy as np
import pytest

import hawser
from conftest import scipy


def test_arrays_in_both_orders_are_not_copied(numbers):
    X, y = numbers
    for kind in (np.float64, np.float32):
        for array, layout in ((np.ascontiguousarray(X, kind), "dense rows"), (np.asfortranarray(X, kind), "dense columns")):
            for view in (array, array[:, 1:4], array[10:90]):
                data = hawser.Dataset(view, y[:len(view)])
                assert (data.layout, data.dtype, data.shape, data.copied) == (layout, kind, view.shape, 0)


def test_other_arrays_are_copied_and_counted(numbers):
    X, y = numbers
    for given in (X[:, ::2], X.astype(np.int32), X > 0, X.astype(">f8"), X.tolist(), X[::-1]):
        data = hawser.Dataset(given, y)
        assert data.copied == 8 * data.stored
    read_only = X.copy()
    read_only.flags.writeable = False
    assert hawser.Dataset(read_only, y).copied == 0


def test_sparse_matrices_are_not_copied(numbers):
    X = np.where(np.abs(numbers[0]) > 1, numbers[0], 0)
    for kind in ("csr_array", "csr_matrix", "csc_array", "csc_matrix"):
        given = getattr(scipy.sparse, kind)(X)
        data = hawser.Dataset(given)
        assert (data.layout, data.copied, data.stored) == (kind[:3], 0, given.nnz)
    assert hawser.Dataset(scipy.sparse.coo_array(X)).layout == "csr"


def test_wrong_sparse_matrices_are_refused():
    with pytest.raises(ValueError, match="nan"):
        hawser.Dataset(scipy.sparse.csr_array(np.array([[np.nan, 1]])))
    with pytest.raises(ValueError, match="1D"):
        hawser.Dataset(scipy.sparse.coo_array(np.array([1.0, 0.0])))


def test_unsorted_and_double_entries_are_summed():
    given = scipy.sparse.csr_array((np.array([1.0, 2.0, 4.0, 8.0]), np.array([1, 0, 1, 0]), np.array([0, 3, 4])), shape=(2, 2))
    expected = given.toarray()
    model = hawser.train("kmeans", given, clusters=2)
    assert sorted(map(tuple, model.centres)) == sorted(map(tuple, expected))
    assert given.nnz == 4  # the caller's is left as it was


def test_arrays_live_as_long_as_the_dataset(numbers):
    class Mine(np.ndarray):
        pass

    array = np.array(numbers[0]).view(Mine)
    gone = weakref.ref(array)
    data = hawser.Dataset(array, numbers[1])
    expected = hawser.train("lasso", *numbers).coefficients
    del array
    gc.collect()
    assert np.array_equal(hawser.train("lasso", data).coefficients, expected)
    del data
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("X, text", [
    (np.zeros(3), "Expected 2D array, got 1D"), (np.float64(1), "got scalar"), (np.zeros((0, 3)), "0 sample"),
    (np.zeros((3, 0)), "0 feature"), (np.array([[np.nan, 1]]), "nan"), (np.array([[np.inf, 1]]), "inf"),
    (np.array([["a", "b"]]), "could not convert"), (np.array([[1j, 2]]), "Complex"),
])
def test_wrong_matrices_are_refused(X, text):
    with pytest.raises(ValueError, match=text):
        hawser.Dataset(X)


def test_what_stands_beside_rows_is_checked(numbers):
    X, y = numbers
    for given, text in (({"target": y[1:]}, r"\[200, 199\]"), ({"weights": -np.ones(200)}, "weight"), ({"target": ["a"] * 200}, "convert"),
                        ({"weights": X}, "shape"), ({"names": ["a"]}, "1 names for 6"), ({"target": np.full(200, np.nan)}, "nan"),
                        ({"target": y, "header": "yes"}, "header")):
        with pytest.raises(ValueError, match=text):
            hawser.Dataset(X, **given)
    with pytest.raises(hawser.BadInput, match="target"):
        hawser.train("lasso", X)
    with pytest.raises(hawser.BadArgument, match="own"):
        hawser.train("lasso", hawser.Dataset(X, y), y)


def test_masked_values_are_refused(numbers):
    X, y = numbers
    masked = np.ma.masked_greater(y, 0)
    for given in ({"data": np.ma.masked_greater(X, 2)}, {"data": X, "target": masked}, {"data": X, "weights": masked}, {"data": X, "offset": masked}):
        with pytest.raises(hawser.BadArgument, match="has masked values"):
            hawser.Dataset(**given)
    assert hawser.Dataset(np.ma.masked_array(X)).copied == 0


def test_files_are_read_with_the_options_of_the_command(numbers, tmp_path):
    X, y = numbers
    path = tmp_path / "data.csv"
    np.savetxt(path, np.column_stack([X, y]), delimiter=";", header="a;b;c;d;e;f;y", comments="", fmt="%.17g")
    data = hawser.Dataset(path, "y", ignore="b")
    assert data.names == ["a", "c", "d", "e", "f"] and np.array_equal(data.target, y)
    data.save(tmp_path / "data.hwc")
    mapped = hawser.Dataset(tmp_path / "data.hwc")
    model = hawser.train("lasso", mapped, lambda_=0.01)
    assert np.array_equal(model.coefficients, hawser.train("lasso", np.delete(X, 1, 1), y, lambda_=0.01).coefficients)
    assert model.names == data.names
    assert np.array_equal(hawser.train("lasso", path, "y", lambda_=0.01, ignore="b").predict(path), model.predict(np.delete(X, 1, 1)))
    with pytest.raises(OSError, match="nothing.csv"):
        hawser.Dataset(tmp_path / "nothing.csv")


def test_names_of_tables_become_those_of_features(numbers):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(numbers[0], columns=list("abcdef"))
    model = hawser.train("lasso", frame, numbers[1], lambda_=0.01)
    assert model.names == list("abcdef")
    assert np.array_equal(model.coefficients, hawser.train("lasso", *numbers, lambda_=0.01).coefficients)


def test_tables_of_arrow_and_polars(numbers):
    pyarrow = pytest.importorskip("pyarrow")
    expected = hawser.train("lasso", *numbers, lambda_=0.01)
    columns = dict(zip("abcdef", numbers[0].T))
    table = pyarrow.table(columns)
    parted = pyarrow.concat_tables([table.slice(0, 70), table.slice(70)])
    polars = pytest.importorskip("polars")
    for given in (table, parted, pyarrow.RecordBatchReader.from_batches(table.schema, table.to_batches(30)), polars.DataFrame(columns)):
        model = hawser.train("lasso", given, numbers[1], lambda_=0.01)
        assert model.names == list("abcdef") and np.array_equal(model.coefficients, expected.coefficients)
    mixed = pyarrow.table({"bits": numbers[1] > 0, "small": np.arange(200, dtype=np.int16), "wide": numbers[1]}).slice(3)
    whole = np.column_stack([numbers[1] > 0, np.arange(200), numbers[1]])[3:]
    centres = hawser.train("kmeans", mixed, clusters=2).centres
    assert np.array_equal(centres, hawser.train("kmeans", whole, clusters=2).centres)
    with pytest.raises(ValueError, match="X: column 'a' has no numbers, words or dates: its type in Arrow's notation is '\\+l'"):
        hawser.Dataset(pyarrow.table({"a": [[1], [2]]}))
    with pytest.raises(ValueError, match="X: row 1: a value is missing in column 0 'a'"):
        hawser.Dataset(pyarrow.table({"a": [1.0, None]}))


def test_columns_of_polars_without_numbers_are_refused():
    polars = pytest.importorskip("polars")
    wide, spans = polars.Series("a", [1, 2, 3], dtype=polars.Int128), polars.Series("b", [1, 2, 3]).cast(polars.Duration)
    fields = polars.Series("c", [{"x": 1.0}] * 3)
    assert hawser.Dataset(polars.DataFrame([wide])).shape == (3, 1)
    for given, text in ((polars.DataFrame([spans, fields]), "column 'b' has no numbers, words or dates: its type is Duration"),
                        (polars.DataFrame([fields]), "column 'c' has no numbers, words or dates: its type is Struct"),
                        (polars.DataFrame([wide]).lazy(), "collect")):
        with pytest.raises(hawser.BadArgument, match=text):
            hawser.Dataset(given)
    for given, text in ((wide, "could not convert to numbers"), (spans, "target: column 'b' has no numbers"), (fields, "Struct")):
        with pytest.raises(hawser.BadArgument, match=text):
            hawser.Dataset(np.eye(3), given)
        with pytest.raises(hawser.BadArgument, match=text.replace("target", "weights")):
            hawser.Dataset(np.eye(3), weights=given)


def test_text_is_counts_of_its_words(tmp_path):
    lines, labels = ["The cat, the CAT", "a dog", "", "Éa dogs cat"] * 5, [1, 0, 0, 1] * 5
    (tmp_path / "t.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "y").write_text("".join(f"{y}\n" for y in labels))
    (tmp_path / "new.txt").write_text("dog\nzebra cat\n\n")
    data = hawser.Dataset(tmp_path / "t.txt", format="text", stop_words="english")
    assert data.names == ["cat", "dog", "dogs", "éa"] and data.shape == (20, 4)
    trained = hawser.train("logistic", tmp_path / "t.txt", tmp_path / "y", format="text", max_words=3,
                           validation=hawser.Dataset(tmp_path / "t.txt", tmp_path / "y"))
    model = trained.model if hasattr(trained, "model") else trained
    found = model.predict(tmp_path / "new.txt")
    assert len(found) == 3 and found[1] > 0.5 > found[0]
    with pytest.raises(hawser.BadOption, match="max_words"):
        model.predict(tmp_path / "new.txt", max_words=3)


def test_documents_are_texts_in_memory(tmp_path):
    texts, labels = ["The cat,\nthe CAT", "a dog", "", "Éa dogs cat"] * 5, [1, 0, 0, 1] * 5
    (tmp_path / "t.txt").write_text("".join(text.replace("\n", " ") + "\n" for text in texts), encoding="utf-8")
    (tmp_path / "y").write_text("".join(f"{y}\n" for y in labels))
    (tmp_path / "w").write_text("".join(f"{w / 8}\n" for w in range(20)))
    from_file = hawser.train("logistic", tmp_path / "t.txt", tmp_path / "y", weights=tmp_path / "w", format="text", lambda_=0.01)
    model = hawser.train("logistic", hawser.Documents(texts), np.array(labels), weights=np.arange(20) / 8, lambda_=0.01)
    assert model.names == from_file.names == ["cat", "dog", "dogs", "the", "éa"]
    assert np.array_equal(model.coefficients, from_file.coefficients)
    new = hawser.Documents(iter(["dog", "zebra", "cat\r\ncat"]))
    assert np.array_equal(model.predict(new), from_file.predict(new))
    (tmp_path / "z").write_text("0\n1\n1\n")
    assert model.evaluate(new, [0, 1, 1], weights=[1, 2, 3])["auc"] == from_file.evaluate(new, tmp_path / "z", weights=[1, 2, 3])["auc"]
    for texts, message in (("text", "one text"), ([], "empty"), (["a", 1], "item 1"), (["\ud800"], "UTF-8")):
        with pytest.raises(hawser.BadArgument, match=message):
            hawser.Documents(texts)
    with pytest.raises(hawser.BadInput, match="no word is left"):
        len(hawser.Dataset(hawser.Documents(["a", "b"])))
    with pytest.raises(hawser.BadInput, match="3 numbers"):
        hawser.train("logistic", hawser.Documents(["a cat", "the dog"]), [1, 0, 1])


def test_options_of_other_formats_are_said_to_do_nothing(tmp_path):
    """As the command says it. The formats of an option are those of the command's rows."""
    files = {"svmlight": "1 1:2 2:1\n2 1:1\n3 2:5\n1 1:1 2:1\n", "csv": "y,a,b\n1,2,1\n2,1,0\n3,0,5\n1,1,1\n",
             "matrix-market": "%%MatrixMarket matrix array real general\n4 2\n2\n1\n0\n1\n1\n0\n5\n1\n"}
    values = {"index_base": 1, "header": "yes", "delimiter": ",", "categories": "a", "missing": "mean", "min_length": 3}
    for kind, text in files.items():
        path = tmp_path / f"data.{kind}"
        path.write_text(text)
        for key, value in values.items():
            formats = hawser._dataset.OF_FORMATS[key.replace("_", "-")][0]
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                hawser.Dataset(str(path), **{key: value}).shape  # noqa: B018
                hawser.Dataset(str(path)).shape  # noqa: B018
            said = [str(warning.message) for warning in caught]
            assert (said == []) == (kind in formats), (kind, key, said)
            assert kind in formats or said == [f"{key} does nothing here: it is about {formats[0]} input, and this is {kind}"]
    source = (pathlib.Path(__file__).resolve().parents[2] / "src" / "data" / "formats.h").read_text()
    for key, (formats, _) in hawser._dataset.OF_FORMATS.items():
        rows = re.findall(r'ROW\([A-Z_]+, +"([a-z-]+)".*?hw_is_', source.replace("\\\n", " "), re.S)
        assert set(formats) <= set(rows)
        for row in re.findall(r'ROW\([A-Z_]+, .*?hw_is_', source, re.S):
            name = re.search(r'"([a-z-]+)"', row).group(1)
            assert (re.search(rf'["\s]{key}["\s]', row) is not None) == (name in formats), (key, name)


def test_a_model_predicts_though_missing_was_said_of_data_that_have_none(tmp_path):
    path = tmp_path / "data.svm"
    path.write_text("1 1:2 2:1\n2 1:1\n3 2:5\n1 1:1 2:1\n")
    right = hawser.train("lasso", str(path), lambda_=0.1).predict(str(path))
    for how in ("zero", "mean", "drop", "level", "mean,level", "mean,zero"):
        with pytest.warns(RuntimeWarning, match="missing does nothing here"):
            model = hawser.train("lasso", str(path), lambda_=0.1, missing=how, validation=str(path))
        assert np.array_equal(model.predict(str(path)), right)
