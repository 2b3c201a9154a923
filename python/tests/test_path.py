"""The path of a model: the members are the models of single trainings, and the errors those of the folds."""
import json
import pickle

import numpy as np
import pytest

import hawser
from conftest import targets_of


@pytest.mark.parametrize("name, key, values", [
    ("lasso", "lambda_", [1.0, 0.1, 0.01]), ("logistic", "lambda_", [0.1, 0.01]), ("softmax", "lambda_", [0.1, 0.01]),
    ("poisson", "lambda_", [0.1, 0.01]), ("svm", "C", [0.01, 0.1, 1.0])])
def test_members_are_the_models_of_single_trainings(name, key, values, numbers):
    X, y = numbers[0], targets_of(name, numbers[1])
    model = hawser.train(name, X, y, path=values, tol=1e-9)
    path = model.path
    assert path.name == key.rstrip("_") and np.array_equal(path.values, values) and len(path) == len(values)
    assert path.error is path.standard_error is path.least is path.one_se is None and path.chosen == len(values) - 1
    for member, value in enumerate(values):
        one = hawser.train(name, X, y, tol=1e-9, **{key: value})
        assert np.allclose(path.coefficients_of(member), one.coefficients, atol=1e-3)
        assert np.allclose(path.intercept[member], one.intercept, atol=1e-3)
        assert path.objective[member] == pytest.approx(one.objective, rel=1e-6)
        assert np.array_equal(path.coefficients[member], path.coefficients_of(member))
    assert np.array_equal(path.coefficients_of(-1), model.coefficients)


def test_errors_are_those_of_the_folds(numbers):
    X, y = numbers
    model = hawser.train("lasso", X, y, path=30, cv=7)
    path, stored = model.path, json.loads(model.facts["cv"])
    assert path.error_name == "mean squared error" and path.chosen == path.one_se
    assert np.allclose(path.error, stored["error"]) and np.allclose(path.standard_error, stored["standard_error"])
    assert path.values[path.least] == stored["lambda_min"] and path.values[path.one_se] == stored["lambda_1se"]
    assert path.error.argmin() == path.least and np.array_equal(path.coefficients_of(path.chosen), model.coefficients)
    again = pickle.loads(pickle.dumps(model)).path
    assert np.array_equal(again.coefficients, path.coefficients) and again.least == path.least
    del model
    assert path.coefficients.shape == (len(path), 6)


def test_a_list_of_one_is_no_count(numbers):
    assert hawser.train("lasso", *numbers, path=[5]).lambda_ == 5 and len(hawser.train("lasso", *numbers, path=5).path) == 5


def test_models_without_a_path(numbers):
    for model in (hawser.train("lasso", *numbers), hawser.train("kmeans", numbers[0], clusters=2)):
        with pytest.raises(AttributeError, match="path"):
            model.path
    path = hawser.train("lasso", *numbers, path=[1, 0.1]).path
    with pytest.raises(IndexError, match="0 to 1"):
        path.coefficients_of(2)
