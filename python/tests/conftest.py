"""Data that the tests share."""
import importlib.util
import os
import signal
import subprocess
import types
import warnings

import numpy as np
import pytest

import hawser

try:
    import scipy
    import scipy.sparse
except ImportError:
    scipy = None


LONG = bool(os.environ.get("HAWSER_TEST_LONG"))


def some(cases, of=3):
    """All cases in the longer form of the tests, else every third."""
    return cases[::1 if LONG else of]


def by_command(*words):
    """Returns the exit code of the command, what it prints, and its notes or its refusal."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("HAWSER_")}
    done = subprocess.run([os.environ["HAWSER_BINARY"], *map(str, words)], capture_output=True, text=True, env=environment, check=False)
    return done.returncode, done.stdout, done.stderr


def by_python(call):
    """Returns what a call returns, or its error, and its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            return call(), " ".join(str(each.message) for each in caught)
        except hawser.Error as error:
            return error, ""


def pytest_configure():
    """Lets Ctrl-C arrive, here and in children: a shell without job control starts what it puts into the background with SIGINT ignored."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _uses_scipy(code, names, seen):
    """Whether a function names scipy, itself or in a function of its module that it names."""
    if code in seen:
        return False
    seen.add(code)
    called = [names[name].__code__ for name in code.co_names if isinstance(names.get(name), types.FunctionType)]
    inner = [each for each in code.co_consts if isinstance(each, types.CodeType)]
    return any(name.partition(".")[0] == "scipy" for name in code.co_names) or any(_uses_scipy(each, names, seen) for each in called + inner)


def pytest_collection_modifyitems(items):
    """Skips what needs scipy or numba where it is missing, as in the bare environment of a wheel."""
    for item in items:
        if isinstance(item, pytest.DoctestItem):
            if ("server_function" in item.name or "store_filter" in item.name) and importlib.util.find_spec("numba") is None:
                item.add_marker(pytest.mark.skip(reason="needs numba"))
        elif scipy is None and _uses_scipy(item.obj.__code__, item.obj.__globals__, set()):
            item.add_marker(pytest.mark.skip(reason="needs scipy"))


# Algorithms that are trained on any numbers: topics need counts.
OF_NUMBERS = [name for name in hawser.algorithms() if name != "lda"]
ESTIMATORS_OF_NUMBERS = [name for name in hawser.ESTIMATORS if name != "LatentDirichletAllocation"]  # which takes counts alone: test_topics.py


@pytest.fixture(scope="session")
def numbers():
    """A matrix of 200 x 6 and a target that depends on three columns."""
    draw = np.random.default_rng(0)
    X = draw.normal(size=(200, 6))
    return X, X @ [1.0, 0.0, -2.0, 0.0, 0.0, 0.5] + 0.1 * draw.normal(size=200)


@pytest.fixture(scope="session")
def command():
    """Runs the command; returns what it prints."""
    binary = os.environ.get("HAWSER_BINARY")
    if not binary:
        pytest.skip("HAWSER_BINARY is not set")

    def run(*words):
        environment = {key: value for key, value in os.environ.items() if not key.startswith("HAWSER_")}
        return subprocess.run([binary, *map(str, words)], capture_output=True, text=True, check=True, env=environment).stdout

    return run


def targets_of(name, y):
    """The target of an algorithm, made of numbers."""
    if name == "kmeans":
        return None
    if name in ("logistic", "svm", "poisson"):
        return (y > 0).astype(float)
    return np.digitize(y, [-1, 1]).astype(float) if name == "softmax" else y
