#!/usr/bin/env python3
"""Leukaemia classes from 7,129 genes of 72 patients: the path, the folds and the rule of one standard error are cv.glmnet's, so errors,
standard errors, choice and genes are its, too. A look at the model has the genes that it chose."""
import json
import math
import os
import sys

sys.path.insert(0, os.path.join(os.environ["HAWSER_SOURCE"], "tests", "helpers"))
import scratch  # noqa: E402
from certificate import read_model  # noqa: E402
from command import real, run  # noqa: E402
from peers import glmnet, near, skip  # noqa: E402

FOLDS = 9
LAMBDAS = [0.3 * 0.8 ** k for k in range(14)]


def scaled(table):
    """Columns with mean 0 and deviation 1, as text, so that both programs read the same numbers."""
    n = len(table)
    columns = []
    for values in zip(*(line[1:] for line in table)):
        mean = math.fsum(values) / n
        deviation = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / n) or 1.0
        columns.append(["%.6f" % ((v - mean) / deviation) for v in values])
    return list(zip(*columns))


text = real("gene/golub.csv.zst")
if text is None:
    sys.exit(77)
table = [[float(v) for v in line.split(",")] for line in text.splitlines()]
cells, classes = scaled(table), [line[0] for line in table]
rarer = min(set(classes), key=classes.count)  # AML: 25 of the 72 patients
labels = [1.0 if label == rarer else 0.0 for label in classes]
columns = len(cells[0])
rows = [[(j, float(x)) for j, x in enumerate(line) if float(x) != 0] for line in cells]
folds = [(7 * i) % FOLDS + 1 for i in range(len(rows))]
theirs = glmnet(rows, columns, labels, "binomial", LAMBDAS, measure="deviance", foldid=folds)
if theirs is None:
    skip("needs R with glmnet")
with scratch.folder():
    with open("golub.csv", "w", encoding="ascii") as file:
        file.write(",".join(["type"] + ["gene%d" % (j + 1) for j in range(columns)]) + "\n")
        for label, line in zip(labels, cells):
            file.write(",".join(("AML" if label else "ALL",) + line) + "\n")
    with open("folds", "w", encoding="ascii") as file:
        file.write("\n".join(map(str, folds)) + "\n")
    done = json.loads(run("train", "logistic", "golub.csv", "--target", "type", "--cv", str(FOLDS), "--folds", "folds", "--path",
                          ",".join("%.17g" % v for v in LAMBDAS), "--tol", "1e-9", "--json", "-q", "-o", "model").splitlines()[-1])
    cv = done["cv"]
    near("the path", cv["lambda"], [lam for lam, _, _ in theirs.errors], 1e-12)
    near("held-out log loss", cv["error"], [error / 2 for _, error, _ in theirs.errors], 1e-4)
    near("standard errors", cv["standard_error"], [deviation / 2 for _, _, deviation in theirs.errors], 1e-4)
    near("both choices", [cv["lambda_min"], cv["lambda_1se"]], theirs.choices, 1e-12)
    assert cv["lambda_1se"] > cv["lambda_min"], cv
    w, b = read_model("model")
    chosen = min(range(len(LAMBDAS)), key=lambda k: abs(LAMBDAS[k] - theirs.choices[1]))
    intercept, coefficients = theirs.models[chosen]
    assert done["nonzeros"] == len(w) and abs(done["lambda"] - LAMBDAS[chosen]) <= 1e-12
    near("its coefficients", [b] + [w.get(j, 0.0) for j in range(columns)], [intercept] + coefficients, 1e-3)
    genes = {line.split()[1] for line in run("info", "model", "--coefficients").splitlines()} - {"(intercept)"}
    assert genes == {"gene%d" % (j + 1) for j in w}, genes
    print(len(genes), "genes")
