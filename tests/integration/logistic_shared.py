#!/usr/bin/env python3
"""Working sets so large that the blocks share what Newton's models on them cost: they do, the model's bits depend neither on threads nor
on processes, and it is the optimum, as a certificate that shares nothing with Hawser says. Stopped in the middle, what is printed is true."""
import json
import os
import subprocess
import sys
import tempfile

HAWSER = os.environ["HAWSER_BINARY"]
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["HAWSER_SOURCE"], "tests", "helpers"))
from certificate import certify_logistic, read_model, read_svmlight  # noqa: E402

CLEAN = {key: value for key, value in os.environ.items() if not key.startswith("HAWSER_")}
# On sparse rows, with an elastic net and an intercept, and on dense ones.
PROBLEMS = [("url", "8000", "12000", ("--C", "10", "--no-intercept"), 1.0, False),
            ("url", "8000", "12000", ("--C", "10", "--l1-ratio", "0.9"), 0.9, True),
            ("dense", "850", "700", ("--C", "100", "--no-intercept"), 1.0, False)]
TOLERANCE = 1e-5


def run(*words):
    out = subprocess.run((HAWSER,) + words, capture_output=True, text=True, env=CLEAN, timeout=300)
    assert out.returncode == 0, (words, out.stderr)
    return out.stdout


def train(nodes, data, model, *words):
    start = () if nodes == 1 else ("run", "-n", str(nodes), "--")
    return json.loads(run(*start, "train", "logistic", data, "--json", "--quiet", "-o", model, *words).splitlines()[-1])


def two_classes(text):
    lines = [line.split(" ", 1) for line in text.splitlines()]
    middle = sorted(float(label) for label, _ in lines)[len(lines) // 2]
    return "".join("%d %s\n" % (1 if float(label) > middle else -1, rest) for label, rest in lines)


def check(folder, kind, rows, columns, words, ratio, intercept):
    raw, data, model = (os.path.join(folder, name) for name in (kind + ".raw.svm", kind + ".svm", "model"))
    if not os.path.exists(data):
        run("data", "generate", kind, "--rows", rows, "--cols", columns, "--seed", "5", "-o", raw)
        with open(raw) as file, open(data, "w") as out:
            out.write(two_classes(file.read()))
    words = ("--index-base", "1", "--tol", str(TOLERANCE)) + words
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
    objective, gap, zero = certify_logistic(target, matrix, w, b, done["lambda"], ratio, intercept)
    print("%s: %d weights, %d clocks, objective %.12g, gap %.3g of %.3g" % (kind, len(w), done["clocks"], objective, gap, zero))
    assert done["stop_reason"] == "gap" and abs(done["objective"] - objective) <= 1e-10 * zero, done["objective"]
    assert 0 <= gap <= 1.001 * TOLERANCE * zero, gap
    cut = train(1, data, model, *words, "--workers", "3", "--max-clocks", str(done["clocks"] // 2))
    objective, gap, _ = certify_logistic(target, matrix, *read_model(model), cut["lambda"], ratio, intercept)
    assert cut["stop_reason"] == "clocks" and abs(cut["objective"] - objective) <= 1e-10 * zero, (cut["objective"], objective)
    assert objective > done["objective"]


with tempfile.TemporaryDirectory() as folder:
    for problem in PROBLEMS:
        check(folder, *problem)
