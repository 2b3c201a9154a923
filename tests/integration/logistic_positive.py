#!/usr/bin/env python3
"""train logistic --positive makes the classes that this file makes of the target: the same model, predictions and measures as of data with labels
0 and 1, for numbers and words, by every solver, over nodes, with validation and folds. The model keeps the condition."""
import json
import operator
import os
import random
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["HAWSER_SOURCE"], "tests", "helpers"))
import scratch  # noqa: E402
from certificate import read_tensors  # noqa: E402
from command import CLEAN, HAWSER, run, some  # noqa: E402

ROWS = 240
WORDS = ["high", "low", "mid, x"]
NUMBERS = {"> 1": (operator.gt, 1), ">=1": (operator.ge, 1), "< 2": (operator.lt, 2), " <=  0 ": (operator.le, 0),
           "== 2": (operator.eq, 2), "2": (operator.eq, 2), "!= 0": (operator.ne, 0), "> +1.5e0": (operator.gt, 1.5)}


def write(path, target, rows):
    with open(path, "w") as out:
        out.write("y,a,b,c\n")
        for y, row in zip(target, rows):
            out.write(",".join([str(y)] + ["%.17g" % v for v in row]) + "\n")


def refused(code, *words):
    done = subprocess.run((HAWSER,) + words, capture_output=True, text=True, env=CLEAN, timeout=300)
    assert done.returncode == code and done.stderr.count("\n") == 1, (words, done.returncode, done.stderr)
    return done.stderr


def measures(model, path):
    found = json.loads(run("evaluate", model, path, "--json"))
    del found["model"]
    return found


def same(expression, path, labels, how, start=("train",)):
    """The trained model has the coefficients of one that was trained on the labels, and measures its own kind of target."""
    run(*start, "logistic", path, "--target", "y", "--positive", expression, "-o", "m", "-q", *how)
    run("train", "logistic", labels, "--target", "y", "-o", "l", "-q", *[labels if v == path else v for v in how])
    assert read_tensors("m") == read_tensors("l"), (expression, how)
    assert run("predict", "m", path) == run("predict", "l", labels)
    assert run("predict", "m", path, "--labels") == run("predict", "l", labels, "--labels")
    assert measures("m", path) == measures("l", labels), (expression, how)


def main():
    chance = random.Random(11)
    rows = [[chance.gauss(0, 1) for _ in range(3)] for _ in range(ROWS)]
    target = [max(0, min(3, round(row[0] - row[1] + chance.gauss(0, 0.7) + 1))) for row in rows]
    words = [WORDS[0] if y > 1 else WORDS[1] if y < 1 else WORDS[2] for y in target]
    usual = ["--lambda-ratio", "0.02"]
    with scratch.folder():
        write("y.csv", target, rows)
        write("w.csv", ['"%s"' % w for w in words], rows)
        for expression, (compare, value) in NUMBERS.items():
            write("l.csv", [int(compare(y, value)) for y in target], rows)
            same(expression, "y.csv", "l.csv", usual)
        for expression, chosen in (("high", [0]), ("== high", [0]), ("!= low", [0, 2]), ("mid, x", [2])):
            write("l.csv", [int(WORDS.index(w) in chosen) for w in words], rows)
            same(expression, "w.csv", "l.csv", usual)
        write("l.csv", [int(y > 1) for y in target], rows)
        for how in some((["--solver", "gd"], ["--solver", "dbpg", "--workers", "1"], ["--cv", "3"], ["--workers", "2"],
                         ["--class-weight", "balanced"], ["--path", "10", "--validation", "y.csv"]), 2):
            same("> 1", "y.csv", "l.csv", usual + how if "--path" not in how and "--cv" not in how else how)
        same("> 1", "y.csv", "l.csv", usual + ["--workers", "2"], ("run", "-n", "2", "--", "train"))
        said = run("train", "logistic", "y.csv", "--target", "y", "--positive", "> 1", "-o", "m")
        assert "y; label 1 where > 1, else label 0\n" in said, said
        run("data", "convert", "y.csv", "--target", "y", "-o", "y.hwc", "-q")
        assert measures("m", "y.hwc") == measures("m", "y.csv")
        train = ("train", "logistic", "y.csv", "--target", "y", "-o", "never", "-q")
        for expression in ("", ">", "x", "> x", "=> 1", "> 1 2", "== nan", "> inf"):
            assert "--positive" in refused(2, *train, "--positive", expression), expression
        assert "none of" in refused(3, *train, "--positive", "> 9") and "all of" in refused(3, *train, "--positive", ">= 0")
        assert "--positive" in refused(3, *train)
        train = ("train", "logistic", "w.csv", "--target", "y", "-o", "never", "-q")
        for expression in ("gone", "> high", "> 1"):
            assert "'high', 'low', ..." in refused(2, *train, "--positive", expression), expression
        assert "--positive" in refused(3, *train)
        assert not os.path.exists("never")


main()
