"""A plugin of pytest that puts Hawser's classes in place of scikit-learn's before its tests are imported, and writes what happened to each test.

SCIKIT_RESULTS names the file (JSON: test to "passed", or to the last line of its error). SCIKIT_SHARE=N runs one of N tests, drawn by
their names and HAWSER_TEST_SEED.
"""
import json
import os
import signal
import zlib

import pytest
import sklearn.cluster
import sklearn.linear_model
import sklearn.svm
from sklearn._loss import HalfPoissonLoss

import hawser

SECONDS = 20  # of processor time that a test may take
results = {}


def replace_classes():
    for name in hawser.ESTIMATORS:
        for module in (sklearn.cluster, sklearn.linear_model, sklearn.svm):
            if hasattr(module, name):
                setattr(module, name, getattr(hawser, name))
    # A fixture of test_glm.py computes its own solution with it.
    hawser.PoissonRegressor._get_loss = lambda self, xp=None, device=None: HalfPoissonLoss()
    # test_ridge.py reads which solver was used before it looks at any number.
    hawser.Ridge.solver_ = property(lambda self: self.solver)


if "SCIKIT_RESULTS" in os.environ:  # a collection of doctests imports this file, too, and must change nothing
    replace_classes()


def name_of(item):
    return f"{item.path.stem}::{item.name}"


def pytest_collection_modifyitems(config, items):
    share, seed = int(os.environ.get("SCIKIT_SHARE", 1)), os.environ.get("HAWSER_TEST_SEED", "0")
    drawn = [item for item in items if zlib.crc32(f"{seed} {name_of(item)}".encode()) % share == 0]
    slow = set(os.environ.get("SCIKIT_SLOW", "").split())
    items[:] = [item for item in drawn if name_of(item) not in slow and f"{item.path.stem}::{item.originalname}" not in slow]


def expired(number, frame):
    raise TimeoutError(f"more than {SECONDS} s of processor time")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    signal.signal(signal.SIGPROF, expired)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    key = name_of(item)
    if report.failed:
        lines = str(call.excinfo.value).strip().splitlines() or [""]
        results[key] = f"{call.excinfo.typename}: {' '.join(lines)[:300]}"
    elif report.when == "call" and report.passed and not hasattr(report, "wasxfail"):
        results.setdefault(key, "passed")
    return report


def pytest_sessionfinish(session):
    with open(os.environ["SCIKIT_RESULTS"], "w") as file:
        json.dump(results, file, indent=0, sort_keys=True)
