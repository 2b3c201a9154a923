#!/usr/bin/env python3
"""Spam with balanced classes: `train logistic --C 1 --class-weight balanced` finds scikit-learn's LogisticRegression with the same words, and
glmnet's model with the weights written out. The classes are words."""
import math
import os
import sys

sys.path.insert(0, os.path.join(os.environ["HAWSER_SOURCE"], "tests", "helpers"))
import scratch  # noqa: E402
from certificate import read_model  # noqa: E402
from command import real, run  # noqa: E402
from peers import answers, glmnet, near, products, scikit  # noqa: E402

text = real("spambase/spambase.csv.zst")
if text is None:
    sys.exit(77)
table = [[float(v) for v in line.split(",")] for line in text.splitlines()][::2]
columns = len(table[0]) - 1
rows = [[(j, math.log1p(x)) for j, x in enumerate(line[1:]) if x != 0] for line in table]
labels = [1.0 if line[0] > 0 else 0.0 for line in table]
spam = sum(labels)
weights = [len(labels) / (2 * (spam if label else len(labels) - spam)) for label in labels]
with scratch.folder():
    with open("mail.csv", "w", encoding="ascii") as file:
        file.write(",".join(["mail"] + ["f%d" % j for j in range(columns)]) + "\n")
        for label, line in zip(labels, table):
            file.write(",".join(["spam" if label else "ham"] + ["%.17g" % math.log1p(x) for x in line[1:]]) + "\n")
    run("train", "logistic", "mail.csv", "--target", "mail", "--C", "1", "--l1-ratio", "0", "--class-weight", "balanced", "--tol", "1e-11", "-q",
        "-o", "model")
    w, b = read_model("model")
    chances = [float(line) for line in run("predict", "model", "mail.csv").splitlines()]
    assert set(run("predict", "model", "mail.csv", "--labels").split()) == {"spam", "ham"}
    for name, fit in answers(
            glmnet=lambda: glmnet(rows, columns, labels, "binomial", [1 / sum(weights)], 0.0, weights=weights),
            scikit=lambda: scikit("LogisticRegression", rows, columns, labels, C=1.0, class_weight="balanced", tol=1e-8, solver="newton-cholesky",
                                  max_iter=1000)).items():
        near(name + ": coefficients", [b] + [w.get(j, 0.0) for j in range(columns)], [fit.models[0][0]] + fit.models[0][1], 1e-4)
        near(name + ": probabilities", chances, [1 / (1 + math.exp(-z)) for z in products(rows, fit.models[0])], 1e-4)
