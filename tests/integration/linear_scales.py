#!/usr/bin/env python3
"""Columns whose scales differ by 1e8 and more, in working sets that blocks solve together, adding up numbers as far apart: one, two and
three workers find the optimum, as a certificate that shares nothing with Hawser says, in the same bits whatever carries them.
HAWSER_TEST_LONG: both scales, standardized and not, of every problem, instead of each pair of these by some problem."""
import json
import math
import os
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["HAWSER_SOURCE"], "tests", "helpers"))
from certificate import certify, certify_logistic, read_model, read_svmlight  # noqa: E402
from command import run  # noqa: E402

# Of the lasso's, one column times 1e9 is the whole answer, unless it is standardized: no set would be large.
ONE, SECOND = (lambda j: 1e9 if j == 6 else 1.0), (lambda j: 1e8 if j % 2 else 1.0)
PROBLEMS = [("logistic", "url", "8000", "12000", ("--C", "10"), 1e-6, ((ONE, False),), ((SECOND, True), (ONE, True), (SECOND, False))),
            ("logistic", "dense", "850", "700", ("--C", "100"), 1e-6, ((ONE, True), (SECOND, False)), ((ONE, False), (SECOND, True))),
            ("lasso", "dense", "1100", "1150", ("--lambda-ratio", "0.0005"), 3e-3, ((SECOND, True),), ((ONE, True), (SECOND, False)))]
LONG = bool(os.environ.get("HAWSER_TEST_LONG"))


def train(algorithm, data, model, workers, *words):
    start = () if "--threads" in words or workers == 1 else ("run", "-n", "2", "--")
    return json.loads(run(*start, "train", algorithm, data, "--index-base", "1", "--no-intercept", "--json", "--quiet", "-o", model,
                          "--workers", str(workers), "--max-clocks", "5000", *words).splitlines()[-1])


def deviation(rows, column):
    mean = math.fsum(x for _, x in column) / rows
    square = math.fsum((x - mean) ** 2 for _, x in column) + (rows - len(column)) * mean * mean
    return math.sqrt(square / rows) if any(x != column[0][1] for _, x in column) or len(column) < rows else 1.0


def write(path, target, columns):
    rows = [[] for _ in target]
    for j in sorted(columns):
        for i, x in columns[j]:
            rows[i].append("%d:%r" % (j + 1, x))
    with open(path, "w") as file:
        file.writelines("%r %s\n" % (y, " ".join(row)) for y, row in zip(target, rows))


def check(folder, algorithm, original, factor, standardized, words, tolerance):
    data, model = os.path.join(folder, "scaled.svm"), os.path.join(folder, "model")
    target, columns = original[0], {j: [(i, x * factor(j)) for i, x in column] for j, column in original[1].items()}
    write(data, target, columns)
    words = words + ("--tol", str(tolerance)) + (("--standardize",) if standardized else ())
    scale = {j: deviation(len(target), column) if standardized else 1.0 for j, column in columns.items()}
    seen = {j: [(i, x / scale[j]) for i, x in column] for j, column in columns.items()}
    objectives = []
    for workers in (1, 2, 3):
        done = train(algorithm, data, model, workers, *words, "--threads", str(workers))
        w, b = read_model(model)
        objective, gap, zero = (certify if algorithm == "lasso" else certify_logistic)(
            target, seen, {j: value * scale[j] for j, value in w.items()}, b, done["lambda"], 1.0, False)
        say = "%s, %s, standardized %s, %d workers: %d clocks, objective %.12g (%.12g), gap %.3g of %.3g" % (
            algorithm, "one" if factor is ONE else "every second", standardized, workers, done["clocks"], objective,
            done["objective"], gap, zero)
        print(say, flush=True)
        shared = [flow["messages"] for flow in done["flows"] if flow.get("kind") == "share"]
        assert workers == 1 or shared and shared[0] > 40, (say, shared)
        assert done["stop_reason"] == "gap" and abs(done["objective"] - objective) <= 1e-9 * zero, say
        assert -1e-12 * zero <= gap <= 1.001 * tolerance * zero, say
        objectives.append(objective)
    assert max(objectives) - min(objectives) <= tolerance * zero, objectives
    if factor is SECOND:
        train(algorithm, data, model, 3, *words, "--threads", "1")
        assert read_model(model) == (w, b), ("other bits on one thread", say)
        train(algorithm, data, model, 3, *words)
        assert read_model(model) == (w, b), ("other bits on two nodes", say)


def problem(folder, algorithm, kind, rows, columns):
    path = os.path.join(folder, "raw.svm")
    run("data", "generate", kind, "--rows", rows, "--cols", columns, "--seed", "5", "-o", path)
    with open(path) as file:
        target, matrix = read_svmlight(file.read())
    middle = sorted(target)[len(target) // 2]
    return target if algorithm == "lasso" else [1.0 if y > middle else -1.0 for y in target], matrix


with tempfile.TemporaryDirectory() as folder:
    for algorithm, kind, rows, columns, words, tolerance, forms, others in PROBLEMS:
        original = problem(folder, algorithm, kind, rows, columns)
        for factor, standardized in forms + (others if LONG else ()):
            check(folder, algorithm, original, factor, standardized, words, tolerance)
