#!/usr/bin/env python3
"""A known part of the prediction, as an offset: the lasso with it is the lasso on the rest (scikit-learn has no other way), the logistic
regression is glmnet's with `offset`. A model that was trained with one predicts with one, and refuses new rows without."""
import math
import os
import random
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["HAWSER_SOURCE"], "tests", "helpers"))
import scratch  # noqa: E402
from certificate import read_model  # noqa: E402
from command import CLEAN, HAWSER, run  # noqa: E402
from peers import answers, glmnet, near, products, scikit  # noqa: E402

ROWS, COLUMNS = 600, 12


def write(path, rows, offset, target=None):
    with open(path, "w", encoding="ascii") as file:
        file.write(",".join(["known"] + ["x%d" % j for j in range(COLUMNS)] + (["y"] if target else [])) + "\n")
        for i, row in enumerate(rows):
            line = [offset[i]] + [x for _, x in row] + ([target[i]] if target else [])
            file.write(",".join("%.17g" % v for v in line) + "\n")


def trained(algorithm, lam):
    run("train", algorithm, "train.csv", "--target", "y", "--offset", "known", "--lambda", str(lam), "--tol", "1e-12", "-q", "-o", "model")
    w, b = read_model("model")
    refused = subprocess.run((HAWSER, "predict", "model", "new.csv", "--ignore", "known"), capture_output=True, text=True, env=CLEAN, check=False)
    assert refused.returncode != 0 and not refused.stdout and "--offset" in refused.stderr, refused
    for place in ("known", "known.txt"):
        words = ("--ignore", "known") if place == "known.txt" else ()
        yield b, [w.get(j, 0.0) for j in range(COLUMNS)], [float(v) for v in run("predict", "model", "new.csv", "--offset", place, *words).split()]


with scratch.folder():
    chance = random.Random(3)
    rows = [[(j, chance.gauss(0, 1)) for j in range(COLUMNS)] for _ in range(ROWS)]
    offset = [chance.gauss(0, 2) for _ in rows]
    z = [known + 1.5 * row[0][1] - row[3][1] + 0.5 * row[7][1] - 0.3 for known, row in zip(offset, rows)]
    numbers = [v + chance.gauss(0, 0.5) for v in z]
    classes = [1.0 if chance.random() < 1 / (1 + math.exp(-v)) else 0.0 for v in z]
    new, later = rows[:50], offset[100:150]
    write("new.csv", new, later)
    with open("known.txt", "w", encoding="ascii") as file:
        file.write("\n".join("%.17g" % v for v in later) + "\n")

    write("train.csv", rows, offset, numbers)
    rest = [y - known for y, known in zip(numbers, offset)]
    fits = answers(glmnet=lambda: glmnet(rows, COLUMNS, numbers, "gaussian", [0.1], offset=offset),
                   scikit=lambda: scikit("Lasso", rows, COLUMNS, rest, alpha=0.1, tol=1e-12, max_iter=100000))
    for b, w, predicted in trained("lasso", 0.1):
        for name, fit in fits.items():
            near(name + ": lasso", [b] + w, [fit.models[0][0]] + fit.models[0][1], 1e-5)
            near(name + ": its predictions", predicted, [v + known for v, known in zip(products(new, fit.models[0]), later)], 1e-5)

    write("train.csv", rows, offset, classes)
    fit = glmnet(rows, COLUMNS, classes, "binomial", [0.02], offset=offset)
    for b, w, predicted in trained("logistic", 0.02) if fit else ():
        theirs = fit.models[0]
        near("logistic", [b] + w, [theirs[0]] + theirs[1], 1e-5)
        near("its probabilities", predicted, [1 / (1 + math.exp(-v - known)) for v, known in zip(products(new, theirs), later)], 1e-5)
