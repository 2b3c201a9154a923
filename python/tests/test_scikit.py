"""scikit-learn's own tests, from the installed package, with Hawser's classes in place of its own.

A test that fails must stand in scikit/known.txt with its reason, and one that stands there must fail. One of 8 tests is drawn here by HAWSER_TEST_SEED;
HAWSER_TEST_LONG=1 runs all.
"""
import importlib.util
import json
import os
import pathlib
import subprocess
import sys

import pytest

sklearn = pytest.importorskip("sklearn")

HERE = pathlib.Path(__file__).parent / "scikit"
FILES = ["linear_model.tests.test_logistic", "linear_model.tests.test_coordinate_descent", "linear_model.tests.test_sparse_coordinate_descent",
         "linear_model.tests.test_ridge", "linear_model.tests.test_base", "linear_model.tests.test_common", "linear_model._glm.tests.test_glm",
         "cluster.tests.test_k_means", "svm.tests.test_svm"]


def read_known():
    """Returns the release that the list is of, and for each listed test its reason. A name without parameters stands for all of the test's."""
    lines = (HERE / "known.txt").read_text().splitlines()
    reasons, reason = {}, ""
    for line in lines[1:]:
        if line.startswith("# "):
            reason = line[2:]
        elif line:
            assert reason and line not in reasons, line
            reasons[line] = reason
    return lines[0].split()[-1], reasons


def judge(results, reasons):
    """Returns what is wrong: tests that fail and are not listed, and listed ones that pass."""
    wrong = []
    for test, result in results.items():
        listed = test in reasons or test.partition("[")[0] in reasons
        if listed and result == "passed":
            wrong.append(f"{test}: passes, and stands in known.txt")
        elif not listed and result != "passed":
            wrong.append(f"{test}: {result}")
    return wrong


def test_the_judge_notices_both_kinds():
    reasons = {"a::b": "why", "a::c[1]": "why"}
    assert judge({"a::b[1]": "failed", "a::b[2]": "failed", "a::c[1]": "failed", "a::c[2]": "passed"}, reasons) == []
    assert len(judge({"a::b[1]": "passed", "a::c[1]": "passed", "a::c[2]": "failed", "a::d": "failed"}, reasons)) == 4


def test_scikit_learns_own_tests(tmp_path):
    release, reasons = read_known()
    if sklearn.__version__ != release:
        pytest.skip(f"the list is of scikit-learn {release}, and this is {sklearn.__version__}")
    files = [f"sklearn.{name}" for name in FILES]
    if any(importlib.util.find_spec(name) is None for name in files):
        pytest.skip("scikit-learn is installed without its tests")
    slow = [test for test, reason in reasons.items() if reason.startswith("Takes too long")]
    found = tmp_path / "results.json"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")]), "SCIKIT_RESULTS": str(found),
                   "SCIKIT_SLOW": " ".join(slow), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
                   "SCIKIT_SHARE": "1" if os.environ.get("HAWSER_TEST_LONG") else "16"}
    done = subprocess.run([sys.executable, "-m", "pytest", "-p", "scikit_plugin", "-p", "no:cacheprovider", "-q", "--tb=no", "-W", "ignore", "--pyargs",
                           *files], capture_output=True, text=True, env=environment, cwd=tmp_path, timeout=3000)
    assert done.returncode in (0, 1) and found.exists(), done.stdout[-2000:] + done.stderr[-2000:]
    results = json.loads(found.read_text())
    assert len(results) > 50, done.stdout[-2000:]
    wrong = judge(results, reasons)
    assert not wrong, "\n".join(wrong)
