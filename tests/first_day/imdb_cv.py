#!/usr/bin/env python3
"""Film reviews, liked or not, from counts of words: the penalty is chosen by cross-validation of the accuracy, with the folds of cv.glmnet,
which finds the same errors, the same choice and the same probabilities of new reviews."""
import json
import math
import os
import sys

sys.path.insert(0, os.path.join(os.environ["HAWSER_SOURCE"], "tests", "helpers"))
import scratch  # noqa: E402
from command import real, run  # noqa: E402
from peers import glmnet, near, products, skip  # noqa: E402

ROWS, NEW, FOLDS = 1200, 400, 4
LAMBDAS = [0.05 * 0.7 ** k for k in range(9)]


def reviews(text, count):
    """Every few rows of the file, as (label, entries)."""
    lines = text.splitlines()
    for line in lines[::len(lines) // count][:count]:
        words = line.split()
        yield float(float(words[0]) > 5), [(int(j), float(x)) for j, x in (word.split(":") for word in words[1:])]


def put(path, lines):
    with open(path, "w", encoding="ascii") as file:
        file.write("\n".join(lines) + "\n")


text = real("imdb/imdb.train.svm.zst")
if text is None:
    sys.exit(77)
drawn = list(reviews(text, ROWS + NEW))
count = {}
for _, row in drawn:
    for j, _ in row:
        count[j] = count.get(j, 0) + 1
place = {j: k for k, j in enumerate(sorted(j for j in count if count[j] >= 8))}
drawn = [(label, [(place[j], x) for j, x in row if j in place]) for label, row in drawn]
new, old = drawn[::4], [one for i, one in enumerate(drawn) if i % 4]
rows, labels = [row for _, row in old], [label for label, _ in old]
folds = [i % FOLDS for i in range(len(rows))]
theirs = glmnet(rows, len(place), labels, "binomial", LAMBDAS, measure="class", foldid=[fold + 1 for fold in folds])
if theirs is None:
    skip("needs R with glmnet")
with scratch.folder():
    for name, part in (("train.svm", old), ("new.svm", new)):
        put(name, ["%d %s" % (label, " ".join("%d:%g" % (j + 1, x) for j, x in row)) for label, row in part])
    put("folds", map(str, folds))
    done = json.loads(run("train", "logistic", "train.svm", "--index-base", "1", "--cv", str(FOLDS), "--folds", "folds", "--cv-metric", "accuracy",
                          "--cv-rule", "min", "--path", ",".join("%.17g" % v for v in LAMBDAS), "--tol", "1e-9", "--json", "-q", "-o",
                          "model").splitlines()[-1])
    cv = done["cv"]
    near("wrong on held-out reviews", cv["error"], [error for _, error, _ in theirs.errors], 1e-9)
    near("standard errors", cv["standard_error"], [deviation for _, _, deviation in theirs.errors], 1e-6)
    near("both choices", [cv["lambda_min"], cv["lambda_1se"]], theirs.choices, 1e-12)
    chosen = min(range(len(LAMBDAS)), key=lambda k: abs(LAMBDAS[k] - theirs.choices[0]))
    chances = [1 / (1 + math.exp(-z)) for z in products([row for _, row in new], theirs.models[chosen])]
    near("new reviews", [float(line) for line in run("predict", "model", "new.svm").split()], chances, 1e-4)
    right = sum((p > 0.5) == (label > 0.5) for p, (label, _) in zip(chances, new)) / len(new)
    measured = json.loads(run("evaluate", "model", "new.svm", "--json"))
    assert abs(measured["accuracy"] - right) < 1e-12 and right > 0.7, (measured, right)
