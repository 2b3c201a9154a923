"""hawser.plan: the text of the command, and its refusals."""
import os
import subprocess

import numpy as np
import pytest

import hawser

BINARY = os.environ.get("HAWSER_BINARY")


@pytest.mark.skipif(not BINARY, reason="HAWSER_BINARY is not set")
@pytest.mark.parametrize("how, words", [({}, ["--physical"]), ({"physical": False}, ["--logical"]), ({"dot": True}, ["--physical", "--dot"])])
def test_the_plan_is_that_of_the_command(tmp_path, how, words):
    draw = np.random.default_rng(3)
    np.savetxt(tmp_path / "a.csv", draw.normal(size=(60, 4)), delimiter=",")
    options = ["--workers", "2", "--lambda", "0.1", "--memory-limit", "1G"]
    printed = subprocess.run([BINARY, "plan", "lasso", tmp_path / "a.csv", *options, *words], capture_output=True, text=True, check=True)
    got = hawser.plan("lasso", tmp_path / "a.csv", workers=2, lambda_=0.1, memory_limit="1G", **how)
    assert got.strip() == printed.stdout.strip() and len(got) > 100


def test_arrays_have_a_plan_too_and_nothing_is_trained():
    X = np.random.default_rng(3).normal(size=(60, 4))
    assert "blocks" in hawser.plan("kmeans", X, clusters=3, workers=3)
    with pytest.raises(hawser.BadOption, match="clusters"):
        hawser.plan("kmeans", X, clusters=61)
    with pytest.raises(hawser.BadOption, match="trains nothing"):
        hawser.plan("kmeans", X, clusters=3, progress=True)
    with pytest.raises(hawser.BadOption, match="no such option"):
        hawser.plan("kmeans", X, lambda_=3)
    with pytest.raises(hawser.BadInput, match="no target"):
        hawser.plan("lasso", X)
