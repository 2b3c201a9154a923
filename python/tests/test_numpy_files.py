"""Files of numpy, read by the command and from Python, against the arrays that were saved."""
import io
import os
import subprocess
import zipfile

import numpy as np
import pytest

import hawser
from conftest import scipy

KINDS = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "?", ">i4", ">f8", ">f2")


def drawn(kind, draw, shape=(30, 3)):
    if kind == "?":
        return draw.random(shape) < 0.5
    whole = draw.integers(0, 100, shape) - (0 if kind[-2] == "u" else 50)
    return (whole if kind[-2] in "iu" else draw.normal(size=shape)).astype(kind)


@pytest.mark.parametrize("kind", KINDS)
def test_arrays_of_all_types(kind, tmp_path):
    draw = np.random.default_rng(KINDS.index(kind))
    X, y = drawn(kind, draw), draw.integers(0, 2, 30)
    for form in (np.ascontiguousarray, np.asfortranarray):
        np.save(tmp_path / "x.npy", form(X))
        np.save(tmp_path / "y.npy", y.astype(kind))
        got = hawser.train("logistic", tmp_path / "x.npy", tmp_path / "y.npy", lambda_=0.1)
        want = hawser.train("logistic", X.astype(np.float64), y, lambda_=0.1)
        assert np.array_equal(got.coefficients, want.coefficients)
        assert np.array_equal(got.predict(tmp_path / "x.npy"), want.predict(X.astype(np.float64)))


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_archives_of_arrays(save, tmp_path, command):
    draw = np.random.default_rng(1)
    X, y, few = draw.normal(size=(500, 4)), draw.integers(0, 2, 500), draw.integers(-9, 9, (500, 2)).astype("i2")
    save(tmp_path / "all.npz", X=X, y=y, few=few)
    save(tmp_path / "one.npz", X)
    want = hawser.train("logistic", X, y, lambda_=0.01)
    for path in ("all.npz:X", "one.npz", "all.npz:X.npy", "one.npz:arr_0"):
        got = hawser.train("logistic", tmp_path / path, f"{tmp_path}/all.npz:y", lambda_=0.01)
        assert np.array_equal(got.coefficients, want.coefficients) and np.array_equal(got.predict(tmp_path / path), want.predict(X))
    command("train", "logistic", tmp_path / "all.npz:X", "--target", tmp_path / "all.npz:y", "--lambda", 0.01, "-o", tmp_path / "m.st", "-q")
    assert np.array_equal(hawser.Model.load(tmp_path / "m.st").coefficients, want.coefficients)
    assert np.array_equal(np.array(command("predict", tmp_path / "m.st", tmp_path / "all.npz:X", "-q").split(), float), want.predict(X))
    assert hawser.Dataset([tmp_path / "all.npz:X", tmp_path / "one.npz"], "none").shape == (1000, 4)
    np.save(tmp_path / "all.npz:few.npy", few)
    (tmp_path / "all.npz:few.npy").rename(tmp_path / "all.npz:few")  # a file of the whole name is itself
    with np.load(tmp_path / "all.npz") as arrays:
        assert np.array_equal(arrays["few"], few)
    np.save(tmp_path / "other.npy", X)
    (tmp_path / "other.npy").rename(tmp_path / "all.npz:few")
    assert hawser.Dataset(tmp_path / "all.npz:few", "none").shape == (500, 4)


def test_archives_that_are_refused(tmp_path):
    save = np.savez_compressed
    save(tmp_path / "two.npz", a=np.eye(3), b=np.eye(2))
    save(tmp_path / "objects.npz", np.array([[1, "a"], [None, 2]], object))
    save(tmp_path / "complex.npz", np.eye(3) * 1j)
    np.save(tmp_path / "words.npy", np.array(["a", "b"]))
    np.save(tmp_path / "no.npz:a", np.eye(2))
    with zipfile.ZipFile(tmp_path / "text.npz", "w") as archive:
        archive.writestr("words.txt", "a b")
    with zipfile.ZipFile(tmp_path / "packed.npz", "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("a.npy", b"x" * 1000)
    (tmp_path / "no.npz").write_text("1,2\n")
    for path, text in (("two.npz", r"has 2 arrays \(a, b\); name one of them: .*two.npz:NAME"), ("two.npz:c", "has no array 'c'; its arrays are a, b"),
                       ("objects.npz", "holds Python's objects"), ("complex.npz", "holds complex numbers"), ("words.npy", "'<U1' are not supported"),
                       ("no.npz:b", "is no .npz archive"), ("text.npz", "a zip archive without .npy files"), ("packed.npz", "is packed by method 14")):
        with pytest.raises(hawser.BadInput, match=text):
            hawser.Dataset(tmp_path / path, "none").shape
    with pytest.raises(hawser.FileError, match="missing.npz:a"):
        hawser.Dataset(tmp_path / "missing.npz:a", "none").shape


def drawn_sparse(draw, rows=60, cols=9):
    """A sparse matrix with empty rows and columns, and repeated entries."""
    count = int(draw.integers(0, 200))
    at = draw.integers(0, rows, count), draw.integers(0, cols - 1, count)
    kind = draw.choice(["f8", "f4", "i1", "i8", "u2", "?"])
    return scipy.sparse.coo_array((draw.integers(0, 2 if kind == "?" else 50, count).astype(kind), at), shape=(rows, cols))


@pytest.mark.skipif(scipy is None, reason="no scipy")
def test_sparse_matrices_of_scipy_are_read(tmp_path):
    """Every format, type, compression and layout has scipy's numbers, and gives the model of the same matrix in memory."""
    for seed in range(12):
        draw = np.random.default_rng(seed)
        X = drawn_sparse(draw).asformat(["csr", "csc", "coo"][seed % 3])
        y = draw.normal(size=60)
        np.save(tmp_path / "y.npy", y)
        scipy.sparse.save_npz(tmp_path / "m.npz", X, compressed=bool(seed % 2))
        options = {"type": "f32"} if seed % 4 == 0 else {}
        data = hawser.Dataset(tmp_path / "m.npz", tmp_path / "y.npy", **options)
        assert data.shape == X.shape and data.layout in ("csc", "csr")
        if X.count_nonzero() < 20:
            continue
        want = hawser.train("lasso", scipy.sparse.csr_array(X, dtype="f8"), y, lambda_=0.01, seed=3)
        for threads in (1, 3):
            got = hawser.train("lasso", tmp_path / "m.npz", tmp_path / "y.npy", lambda_=0.01, threads=threads, seed=3)
            assert np.array_equal(got.coefficients, want.coefficients) and got.intercept == want.intercept
        for nodes in (2, 3) if seed in (1, 5) else ():
            words = ["run", "-n", str(nodes), "--", os.environ["HAWSER_BINARY"], "train", "lasso", "m.npz", "--target", "y.npy", "--lambda", "0.01", "-k", "3", "-o", "m.st"]
            subprocess.run([os.environ["HAWSER_BINARY"]] + words, cwd=tmp_path, check=True, capture_output=True, timeout=60)
            alone = hawser.train("lasso", scipy.sparse.csr_array(X, dtype="f8"), y, lambda_=0.01, seed=1, workers=3)
            assert np.array_equal(hawser.Model.load(tmp_path / "m.st").coefficients, alone.coefficients)
        assert np.array_equal(want.predict(tmp_path / "m.npz"), want.predict(scipy.sparse.csr_array(X, dtype="f8")))
        labels = tmp_path / "c.npy"
        np.save(labels, (y > 0).astype(float))
        rows = [hawser.train("softmax", data, labels, lambda_=0.1).coefficients for data, labels in
                ((tmp_path / "m.npz", labels), (scipy.sparse.csr_array(X, dtype="f8"), (y > 0).astype(float)))]
        assert np.array_equal(*rows)


def test_labels_of_64_bits_in_files_stay_distinct(tmp_path):
    """A column of whole numbers is the target: the model is that of the labels numbered from 0, on one node and on several."""
    for seed in range(4):
        draw = np.random.default_rng(seed)
        labels = np.array([2**53, 2**53 + 1, 7, 2**63 - 1 if seed % 2 else -(2**63)], dtype="<i8" if seed < 2 else "i8")
        labels = np.sort(labels.astype(">u8") if seed == 3 else labels)
        place = draw.integers(0, 4, 70)
        X = draw.integers(-5, 9, (70, 3)) + place[:, None] if seed != 3 else draw.integers(0, 9, (70, 3)) + place[:, None]
        np.save(tmp_path / "t.npy", np.column_stack([labels[place], X.astype(labels.dtype)]))
        want = hawser.train("softmax", X.astype(float), place.astype(float), lambda_=0.05, workers=3, seed=1)
        got = hawser.train("softmax", tmp_path / "t.npy", lambda_=0.05, workers=3, seed=1)
        assert np.array_equal(got.classes, labels) and np.array_equal(got.coefficients, want.coefficients)
        for nodes in (2, 3) if seed > 1 else ():
            words = ["run", "-n", str(nodes), "--", os.environ["HAWSER_BINARY"], "train", "softmax", "t.npy", "--lambda", "0.05", "-k", "3", "-q", "-o", "m.st"]
            subprocess.run([os.environ["HAWSER_BINARY"]] + words, cwd=tmp_path, check=True, capture_output=True, timeout=60)
            loaded = hawser.Model.load(tmp_path / "m.st")
            assert np.array_equal(loaded.classes, labels) and np.array_equal(loaded.coefficients, want.coefficients)
        assert got.evaluate(tmp_path / "t.npy")["accuracy"] == want.evaluate(X.astype(float), place.astype(float))["accuracy"]


@pytest.mark.skipif(scipy is None, reason="no scipy")
def test_broken_sparse_matrices_are_refused(tmp_path):
    path = tmp_path / "b.npz"
    X = scipy.sparse.csr_array(np.array([[1.0, 0, 2], [0, 3, 0]]))
    whole = {"indices": X.indices, "indptr": X.indptr, "format": np.array(b"csr"), "shape": np.array(X.shape), "data": X.data}
    cases = (({"data": X.data[:2]}, "'indices' has 3 numbers, and 'data' 2"), ({"indices": X.indices[:2]}, "'indices' has 2 numbers, and 'data' 3"),
             ({"indices": np.array([0, 3, 1])}, "number 1 .from 0. of 'indices' is not in the 3 columns"),
             ({"indices": np.array([0, -1, 1])}, "number 1 .from 0. of 'indices' is not in the 3 columns"),
             ({"indptr": np.array([0, 3, 2])}, "number 2 .from 0. does not"), ({"indptr": np.array([1, 2, 3])}, "number 0 .from 0. does not"),
             ({"indptr": np.array([0, 2, 4])}, "number 2 .from 0. does not"), ({"indptr": np.array([0, 3])}, "'indptr' has 2 numbers"),
             ({"indptr": np.array([0, -2, 3])}, "number 1 .from 0. does not"), ({"indptr": np.array([0.0, 2, 3])}, "'indptr' has no whole numbers"),
             ({"shape": np.array([2])}, "'shape' must be two numbers"), ({"shape": np.array([2, -3])}, "'shape' must be two numbers"),
             ({"shape": np.array([2, 2**32])}, "'shape' must be two numbers"), ({"shape": np.array([2, 2**31])}, "makes 2147483648 columns"),
             ({"data": np.array([1, np.nan, 2])}, r"row 0, column 2 \(from 0\): the value nan is not a finite number"),
             ({"data": X.data * 1j}, "b.npz:data: holds complex numbers"), ({"indptr": None}, "has no array 'indptr'"),
             ({"data": X.data.reshape(1, 3)}, "'data' has two dimensions"), ({"format": np.array("dia")}, "format 'dia', which is not read; save it as csr"),
             ({"format": np.array(b"bsr")}, "format 'bsr', which is not read"))
    for change, text in cases:
        np.savez(path, **{key: value for key, value in {**whole, **change}.items() if value is not None})
        with pytest.raises(hawser.BadInput, match=text):
            hawser.Dataset(path, "none").shape
    np.savez(path, **{**whole, "format": np.array("csr"), "data": np.array([1, 2, 3, 9.0]), "indices": np.array([0, 2, 1, 7])})
    assert hawser.Dataset(path, "none").shape == (2, 3)  # scipy passes over what follows the last row
    for options, text in (({"format": "csv"}, "is read as npy input"), ({"ignore": "1"}, "whose columns are not read by name")):
        with pytest.raises(hawser.Error, match=text):
            hawser.Dataset(path, "none", **options).shape


@pytest.mark.skipif(scipy is None, reason="no scipy")
def test_sparse_archives_with_changed_bytes_are_refused_or_whole(tmp_path):
    draw = np.random.default_rng(8)
    for compressed in (True, False):
        made = io.BytesIO()
        scipy.sparse.save_npz(made, scipy.sparse.random_array((30, 6), density=0.2, format="csc", rng=draw), compressed=compressed)
        for _ in range(60):
            some = bytearray(made.getvalue())
            some[draw.integers(0, len(some))] = draw.integers(0, 256)
            (tmp_path / "d.npz").write_bytes(some[:draw.integers(8, len(some))] if draw.random() < 0.2 else some)
            try:
                assert hawser.Dataset(tmp_path / "d.npz", "none").shape == (30, 6)
            except hawser.Error:
                pass


def test_damaged_archives_are_refused_or_whole(tmp_path):
    """Changes and cuts bytes of an archive: its numbers are those that were saved, or it is refused."""
    draw = np.random.default_rng(5)
    X = draw.normal(size=(20, 3))
    for save in (np.savez, np.savez_compressed):
        made = io.BytesIO()
        save(made, X)
        whole = bytearray(made.getvalue())
        for trial in range(50):
            some = bytearray(whole)
            if trial % 5 == 0:
                some = some[:draw.integers(8, len(some))]
            else:
                place = draw.integers(4, len(some)) if trial % 2 else draw.integers(max(4, len(some) - 130), len(some))
                some[place] = draw.integers(0, 256)
            (tmp_path / "d.npz").write_bytes(some)
            try:
                data = hawser.Dataset(tmp_path / "d.npz", "none")
                assert data.shape == X.shape
            except hawser.Error:
                continue
            assert np.array_equal(hawser.train("kmeans", data, clusters=1).centres, hawser.train("kmeans", X, clusters=1).centres)


def test_matrix_market_files_are_those_of_scipy(tmp_path):
    draw = np.random.default_rng(2)
    from scipy.io import mmread
    for symmetry in ("general", "symmetric", "skew-symmetric"):
        for seed in range(4):
            count, size = 40, 9
            rows, cols = draw.integers(0, size, count), draw.integers(0, size, count)
            if symmetry != "general":
                rows, cols = np.maximum(rows, cols), np.minimum(rows, cols)
                keep = rows != cols if symmetry == "skew-symmetric" else np.ones(count, bool)
                rows, cols = rows[keep], cols[keep]
            values = draw.integers(-9, 9, len(rows)) / 8
            lines = "".join(f"{r + 1} {c + 1} {v!r}\n" for r, c, v in zip(rows, cols, values.tolist()))
            (tmp_path / "m.mtx").write_text(f"%%MatrixMarket matrix coordinate real {symmetry}\n{size} {size} {len(rows)}\n{lines}")
            y = draw.normal(size=size)
            np.save(tmp_path / "y.npy", y)
            want = hawser.train("lasso", scipy.sparse.csr_array(mmread(tmp_path / "m.mtx")), y, lambda_=0.01)
            assert np.allclose(hawser.train("lasso", tmp_path / "m.mtx", tmp_path / "y.npy", lambda_=0.01).coefficients, want.coefficients, atol=1e-9)
