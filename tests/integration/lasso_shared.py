#!/usr/bin/env python3
"""A working set so large that the blocks share its descent: they do, the model's bits depend neither on threads nor on processes, and
it is the optimum, as a certificate that shares nothing with Hawser says. Stopped in the middle, what is printed is true."""
import json
import os
import subprocess
import sys
import tempfile

HAWSER = os.environ["HAWSER_BINARY"]
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["HAWSER_SOURCE"], "tests", "helpers"))
from certificate import certify, read_model, read_svmlight  # noqa: E402

CLEAN = {key: value for key, value in os.environ.items() if not key.startswith("HAWSER_")}
# On the Gram matrix, and on the residual: there are more columns in the set than a matrix would pay for.
PROBLEMS = [("dense", "1100", "1150", "0.0005", 3e-3), ("url", "3000", "12000", "0.0003", 1e-3)]


def run(*words):
    out = subprocess.run((HAWSER,) + words, capture_output=True, text=True, env=CLEAN, timeout=300)
    assert out.returncode == 0, (words, out.stderr)
    return out.stdout


def train(nodes, data, model, *words):
    start = () if nodes == 1 else ("run", "-n", str(nodes), "--")
    return json.loads(run(*start, "train", "lasso", data, "--no-intercept", "--json", "--quiet", "-o", model, *words).splitlines()[-1])


def check(folder, kind, rows, columns, ratio, tolerance):
    data, model = os.path.join(folder, kind + ".svm"), os.path.join(folder, "model")
    run("data", "generate", kind, "--rows", rows, "--cols", columns, "--seed", "5", "-o", data)
    words = ("--index-base", "1", "--lambda-ratio", ratio, "--tol", str(tolerance))
    with open(data) as file:
        target, matrix = read_svmlight(file.read())
    first = None
    for nodes, threads in ((1, "1"), (1, "3"), (2, "1")):
        done = train(nodes, data, model, *words, "--workers", "3", *(("--threads", threads) if nodes == 1 else ()))
        sums = [flow for flow in done["flows"] if flow.get("state") == "sums"]
        assert done["repeatable"] and sums and sums[0]["messages"] > 40, (kind, nodes, threads, sums)
        found = read_model(model)
        first = first or found
        assert found == first, (kind, "other bits", nodes, threads)
    w, b = first
    objective, gap, zero = certify(target, matrix, w, b, done["lambda"], 1.0, False)
    print("%s: %d weights, %d clocks, objective %.12g, gap %.3g of %.3g" % (kind, len(w), done["clocks"], objective, gap, zero))
    assert done["stop_reason"] == "gap" and abs(done["objective"] - objective) <= 1e-10 * zero, done["objective"]
    assert 0 <= gap <= 1.001 * tolerance * zero, gap
    cut = train(1, data, model, *words, "--workers", "3", "--max-clocks", str(done["clocks"] // 2))
    objective, gap, _ = certify(target, matrix, *read_model(model), cut["lambda"], 1.0, False)
    assert cut["stop_reason"] == "clocks" and abs(cut["objective"] - objective) <= 1e-10 * zero, (cut["objective"], objective)
    assert objective > done["objective"]


with tempfile.TemporaryDirectory() as folder:
    for problem in PROBLEMS:
        check(folder, *problem)
