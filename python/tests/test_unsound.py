"""Arrays that are not what they claim, and texts that C would end early, are refused before code of C sees them."""
import numpy as np
import pytest

import hawser
from conftest import scipy

FORMATS = ("csr", "csc", "coo", "bsr", "dia", "lil", "dok")


def drawn(draw, kind):
    """A sparse matrix, of which some integers are of 64 bits."""
    X = np.where(draw.random((12, 6)) < 0.4, draw.normal(size=(12, 6)), 0)
    made = getattr(scipy.sparse, f"{kind}_array")(X)
    if kind in ("csr", "csc", "bsr") and draw.random() < 0.5:
        made.indices, made.indptr = made.indices.astype(np.int64), made.indptr.astype(np.int64)
    return made


def shortened(array, draw):
    return array[:draw.integers(0, len(array))].copy()


def changed(array, draw, low, high):
    array = array.copy()
    array[draw.integers(0, len(array))] = draw.choice([low, high])
    return array


def broken(made, draw):
    """Breaks one of the arrays of a sparse matrix."""
    if made.format == "coo":
        place = draw.integers(0, 3)
        if place == 2:
            made.data = shortened(made.data, draw)
        elif draw.random() < 0.5:
            made.coords = tuple(shortened(each, draw) if k == place else each for k, each in enumerate(made.coords))
        else:
            made.coords = tuple(changed(each, draw, -1, 10**6) if k == place else each for k, each in enumerate(made.coords))
    elif made.format == "dia":
        made.data = shortened(made.data, draw)
    elif made.format == "lil":
        row = int(np.argmax([len(each) for each in made.rows]))
        made.rows[row] = [*made.rows[row][:-1], 10**6] if draw.random() < 0.5 else made.rows[row][:-1]
    else:
        how = draw.integers(0, 5)
        if how == 0:
            made.data = shortened(made.data, draw)
        elif how == 1:
            made.indices = shortened(made.indices, draw)
        elif how == 2:
            made.indptr = shortened(made.indptr, draw)
        elif how == 3:
            made.indptr = changed(made.indptr, draw, -10**6, 10**6)
        else:
            made.indices = changed(made.indices, draw, -1, 10**6)
    return made


@pytest.mark.parametrize("kind", [kind for kind in FORMATS if kind != "dok"])
@pytest.mark.parametrize("flagged", [False, True])
def test_broken_sparse_matrices_are_refused(kind, flagged):
    scipy.sparse.csr_array  # skipped without it
    draw = np.random.default_rng(FORMATS.index(kind))
    for _ in range(25):
        made = drawn(draw, kind)
        if flagged and hasattr(made, "has_canonical_format"):
            assert made.has_canonical_format  # which scipy then remembers
        made = broken(made, draw)
        for use in (lambda: hawser.train("lasso", made, np.arange(12.0), lambda_=0.1), lambda: hawser.Dataset(made)):
            with pytest.raises(hawser.BadArgument, match="^X: "):
                use()


@pytest.mark.parametrize("kind", FORMATS)
def test_sound_sparse_matrices_give_the_model_of_the_dense_one(kind):
    draw = np.random.default_rng(7)
    made, y = drawn(draw, kind), np.arange(12.0)
    want = hawser.train("lasso", made.tocsr(), y, lambda_=0.1)
    assert np.array_equal(hawser.train("lasso", made, y, lambda_=0.1).coefficients, want.coefficients)
    if kind in ("csr", "csc"):  # room beyond the last entry is legal
        made.data, made.indices = np.append(made.data, [np.nan, 1]), np.append(made.indices, [10**6, 0])
        assert np.array_equal(hawser.train("lasso", made, y, lambda_=0.1).coefficients, want.coefficients)
    elif kind == "dok":
        made._dict[(5, 10**6)] = 1.0
        with pytest.raises(hawser.BadArgument, match="^X: "):
            hawser.Dataset(made)


def test_estimators_refuse_broken_sparse_matrices(numbers):
    pytest.importorskip("sklearn")
    X, y = numbers
    fitted = hawser.Lasso(alpha=0.1).fit(X, y)
    for kind in ("csr", "csc", "coo"):
        made = broken(getattr(scipy.sparse, f"{kind}_array")(X), np.random.default_rng(2))
        for use in (lambda: hawser.Lasso().fit(made, y), lambda: fitted.predict(made), lambda: hawser.KMeans(2).fit(made)):
            with pytest.raises(ValueError, match="^X: "):
                use()


def test_zero_bytes_in_texts_are_refused(numbers, tmp_path):
    X, y = numbers
    model = hawser.train("lasso", X, y, lambda_=0.1)
    data, path = hawser.Dataset(X, y), str(tmp_path / "some\0file")
    (tmp_path / "some").write_text("y,a\n1,2\n2,3\n3,5\n")
    names = [f"c{k}" for k in range(X.shape[1] - 1)]
    for use in (lambda: model.save(path), lambda: hawser.Model.load(path), lambda: data.save(path), lambda: hawser.Dataset(path),
                lambda: hawser.train("lasso", [path], lambda_=0.1), lambda: hawser.train("lasso\0svm", X, y),
                lambda: hawser.Dataset(X, y, names=["a\0b", *names]), lambda: hawser.Dataset(X, y, target_name="a\0b"),
                lambda: hawser.Dataset(str(tmp_path / "some"), "y\0z"), lambda: hawser.train("lasso", X, y, lambda_="0.1\0.2"),
                lambda: model.predict(path), lambda: hawser.Program("a\0b"), lambda: hawser.Program().metric("a\0b"), lambda: model.tensor("a\0b")):
        with pytest.raises(hawser.Error, match=r"zero byte|lasso\\x00svm"):
            use()
    assert [each.name for each in tmp_path.iterdir()] == ["some"]


def test_a_mapped_file_that_was_cut_is_refused_by_name(numbers, tmp_path):
    X, y = np.tile(numbers[0], (40, 1)), np.tile(numbers[1], 40)
    path = tmp_path / "cut.hwc"
    whole = hawser.Dataset(X, y)
    whole.save(path)
    model, data = hawser.train("lasso", whole, lambda_=0.1), hawser.Dataset(path)
    assert np.array_equal(hawser.train("lasso", data, lambda_=0.1).coefficients, model.coefficients)
    with open(path, "r+b") as file:
        file.truncate(8192)
    for use in (lambda: hawser.train("lasso", data, lambda_=0.1), lambda: model.predict(data), lambda: data.target,
                lambda: hawser.train("lasso", whole, validation=data, lambda_=0.1), lambda: data.save(tmp_path / "other.hwc"),
                lambda: hawser.Dataset(path).shape):
        with pytest.raises(hawser.BadInput, match="cut.hwc"):
            use()
    whole.save(path)  # another file of the same name: the dataset is of the one that was cut
    with pytest.raises(hawser.BadInput, match="has 8192"):
        hawser.train("lasso", data, lambda_=0.1)
    path.rename(tmp_path / "moved.hwc")
    moved = hawser.Dataset(tmp_path / "moved.hwc")
    assert moved.shape == whole.shape
    (tmp_path / "moved.hwc").unlink()  # which keeps the pages
    assert np.array_equal(model.predict(moved), model.predict(whole))


def test_numbers_that_are_not_finite_are_named_by_row_and_column(numbers):
    X = numbers[0].copy()
    X[17, 4] = np.inf
    sparse = [getattr(scipy.sparse, f"{kind}_array")(X) for kind in ("csr", "csc")]
    for given in (X, np.asfortranarray(X), X.astype(np.float32), *sparse):
        with pytest.raises(hawser.BadArgument, match="^row 17, column 4 is inf; numbers must be finite$"):
            hawser.Dataset(given)
        with pytest.raises(hawser.BadArgument, match="^row 17, column 4 'e' is inf"):
            hawser.Dataset(given, names=list("abcdef"))
