"""The benchmark of the package in its smallest form: it runs, and prints what its readers rely on. No times are checked."""
import json
import os
import pathlib
import subprocess
import sys

import pytest

from conftest import LONG

pytest.importorskip("sklearn")
RUN = pathlib.Path(__file__).resolve().parents[2] / "bench" / "python" / "run"


@pytest.mark.skipif(not LONG or not RUN.exists(), reason="the longer form runs the benchmark, if it is beside the tests")
def test_bench():
    done = subprocess.run([sys.executable, RUN, "--quick", "--tiny", "--json"], capture_output=True, text=True, env={**os.environ, "NUMBA_OPT": "1"})
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout.splitlines()[-1])
    calls = {row["call"]: row for row in said["overhead"]["calls"]}
    assert {"C call", "train, a Dataset", "train, arrays", "Lasso.fit", "scikit-learn"} == set(calls)
    assert all(row["ms"] >= row["least_ms"] > 0 for row in calls.values())
    assert len({(row["data"], row["estimator"]) for row in said["small"]}) == len(said["small"]) == 21
    assert all(row["hawser_ms"] > 0 and row["sklearn_ms"] > 0 for row in said["small"])
    assert said["units"] is None or (said["units"]["C"] > 0 and said["units"]["Python"] > 0)
    assert said["beside"] or "skipped" in done.stderr
    for row in said["beside"]:
        assert row["ratio"] > 0 and row["objective"] <= row["sklearn_objective"] * 1.001, row
