"""Models: files, pickles, facts and predictions."""
import pickle

import numpy as np
import pytest

import hawser
from conftest import scipy, targets_of


def test_a_saved_file_is_the_commands(numbers, command, tmp_path):
    model = hawser.train("lasso", *numbers, lambda_=0.01)
    model.save(tmp_path / "model")
    assert model.to_bytes() == (tmp_path / "model").read_bytes()
    hawser.Model.load(tmp_path / "model").save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()
    np.save(tmp_path / "new.npy", numbers[0])
    printed = command("predict", tmp_path / "model", tmp_path / "new.npy", "--target", "none")
    assert np.array_equal(np.array(printed.split(), float), model.predict(numbers[0]))


@pytest.mark.parametrize("name", ["lasso", "logistic", "poisson", "softmax", "svm", "kmeans"])
def test_predictions_are_the_same_in_each_layout_and_after_a_pickle(name, numbers):
    X, y = numbers[0], targets_of(name, numbers[1])
    model = hawser.train(name, X, y, **({"clusters": 3} if name == "kmeans" else {}))
    expected = model.predict(X)
    again = pickle.loads(pickle.dumps(model))
    assert again.to_bytes() == model.to_bytes() and again.training == model.training
    assert np.array_equal(again.predict(X), expected)
    assert np.array_equal(model.predict(np.asfortranarray(X)), expected)
    for kind in (scipy.sparse.csr_array, scipy.sparse.csc_array):
        assert np.allclose(model.predict(kind(X)), expected, rtol=1e-12)


def test_predictions_follow_from_the_coefficients(numbers):
    X, y = numbers
    lasso = hawser.train("lasso", X, y, lambda_=0.01)
    assert np.allclose(lasso.predict(X), X @ lasso.coefficients + lasso.intercept)
    assert np.array_equal(lasso.decision_function(X), lasso.predict(X)) and lasso.classes is None
    logistic = hawser.train("logistic", X, 5.0 + 2 * (y > 0), lambda_=0.01)
    link = X @ logistic.coefficients + logistic.intercept
    assert np.allclose(logistic.decision_function(X), link)
    assert np.allclose(logistic.predict_proba(X), np.column_stack([1 / (1 + np.exp(link)), 1 / (1 + np.exp(-link))]))
    assert list(logistic.classes) == [5.0, 7.0]
    assert np.array_equal(logistic.predict_labels(X), np.where(link > 0, 7.0, 5.0))
    softmax = hawser.train("softmax", X, targets_of("softmax", y), lambda_=0.01)
    link = X @ softmax.coefficients.T + softmax.intercept
    odds = np.exp(link - link.max(1, keepdims=True))
    assert np.allclose(softmax.predict_proba(X), odds / odds.sum(1, keepdims=True))
    assert np.array_equal(softmax.predict(X), softmax.classes[link.argmax(1)])
    kmeans = hawser.train("kmeans", X, clusters=4)
    distances = np.linalg.norm(X[:, None] - kmeans.centres, axis=2)
    assert np.allclose(kmeans.distances(X), distances) and np.array_equal(kmeans.predict(X), distances.argmin(1))


def test_coefficients_that_are_all_zero_have_their_shape(numbers, tmp_path):
    X, y = numbers
    lasso = hawser.train("lasso", X, y, lambda_=100)
    assert np.array_equal(lasso.coefficients, np.zeros(6)) and np.allclose(lasso.predict(X), y.mean())
    assert np.array_equal(hawser.train("logistic", X, y > 0, lambda_=100).coefficients, np.zeros(6))
    np.savetxt(tmp_path / "both.csv", np.column_stack([X, y, -y]), delimiter=",", header="a,b,c,d,e,f,y,z", comments="")
    assert np.array_equal(hawser.train("multitask", tmp_path / "both.csv", target="y,z", lambda_=100).coefficients, np.zeros((2, 6)))


def test_columns_of_other_names_are_refused(numbers):
    """Columns that stand in another order would give wrong numbers."""
    X, y = numbers
    data = hawser.Dataset(X, y, names=list("abcdef"))
    model = hawser.train("lasso", data, lambda_=0.01)
    assert np.array_equal(model.predict(data), model.predict(X))
    other = hawser.Dataset(X, y, names=list("abcdfe"))
    with pytest.raises(hawser.BadArgument, match="X: column 4 is 'f', and in the training it was 'e'"):
        model.predict(other)
    with pytest.raises(hawser.BadArgument, match="validation: column 4 is 'f'"):
        hawser.train("lasso", data, validation=other)
    assert np.array_equal(hawser.train("lasso", X, y, lambda_=0.01).predict(other), model.predict(X))


def test_facts_are_attributes(numbers):
    model = hawser.train("lasso", *numbers, lambda_=0.01)
    assert model.rows == 200 and model.columns == 6 and model.lambda_ == 0.01
    assert model.facts["algorithm"] == "lasso" and 0 <= model.gap < 1e-4 and "objective" in dir(model)
    with pytest.raises(AttributeError, match="nothing"):
        model.nothing
    with pytest.raises(AttributeError, match="centres"):
        model.centres


def test_wrong_uses_are_refused(numbers, tmp_path):
    model = hawser.train("lasso", *numbers)
    for call, text in ((lambda: model.predict(numbers[0][:, 1:]), "5 features.*6 features"), (lambda: model.predict_proba(numbers[0]), "no prob"),
                       (lambda: model.distances(numbers[0]), "no distances"), (lambda: model.predict_labels(numbers[0]), "not labels")):
        with pytest.raises(ValueError, match=text):
            call()
    (tmp_path / "bad").write_bytes(b"x" * 100)
    with pytest.raises(hawser.BadInput):
        hawser.Model.load(tmp_path / "bad")
    with pytest.raises(OSError):
        hawser.Model.load(tmp_path / "none")
    with pytest.raises(hawser.BadInput):
        hawser.Model.from_bytes(model.to_bytes()[:-1])
    for given in ("abc", None):
        with pytest.raises(hawser.BadArgument, match="a model is made of bytes"):
            hawser.Model.from_bytes(given)
    assert hawser.Model.from_bytes(bytearray(model.to_bytes())).to_bytes() == model.to_bytes()
    with pytest.raises(AttributeError, match="no 'path'; train it with path= or cv="):
        model.path
    with pytest.raises(hawser.BadArgument, match="name of a tensor"):
        model.tensor(3)


def test_what_belongs_to_its_process_is_not_pickled(numbers):
    with hawser.Store() as store:
        table = store.table("w", 3)
        for given, name in ((hawser.Dataset(*numbers), "Dataset"), (store, "Store"), (table.pull(), "Task"), (table, "Store")):
            with pytest.raises(hawser.BadArgument, match=f"a hawser.{name} belongs to its process"):
                pickle.dumps(given)
