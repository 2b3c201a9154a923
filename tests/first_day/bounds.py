#!/usr/bin/env python3
"""Prostate cancer with knowledge about columns: coefficients that are not negative are scikit-learn's Lasso(positive=True) and glmnet's lower
limits; factors of penalties are glmnet's, and scikit-learn's on columns that are scaled by them."""
import os
import sys

sys.path.insert(0, os.path.join(os.environ["HAWSER_SOURCE"], "tests", "helpers"))
import scratch  # noqa: E402
from certificate import read_model  # noqa: E402
from command import real, run  # noqa: E402
from peers import answers, glmnet, near, scikit  # noqa: E402

text = real("prostate/prostate.csv.zst")
if text is None:
    sys.exit(77)
table = [[float(v) for v in line.split(",")] for line in text.splitlines()]
columns, y = len(table[0]) - 1, [line[0] for line in table]
rows = [[(j, x) for j, x in enumerate(line[1:])] for line in table]
factors = [1.0, 0.5, 2.0, 1.0, 3.0, 0.25, 1.0, 1.0]
HOW = {"alpha": 0.05, "tol": 1e-12, "max_iter": 1000000}


def trained(*words):
    run("train", "lasso", "prostate.csv", "--lambda", "0.05", "--tol", "1e-13", "-q", "-o", "model", *words)
    w, b = read_model("model")
    return [b] + [w.get(j, 0.0) for j in range(columns)]


def rescaled(fit):
    return fit and [(b, [v / f for v, f in zip(w, factors)]) for b, w in fit.models]


with scratch.folder():
    with open("prostate.csv", "w", encoding="ascii") as file:
        file.write(text)
    with open("factors", "w", encoding="ascii") as file:
        file.write("\n".join(map(str, factors)) + "\n")
    mine, free = trained("--lower", "0"), trained()
    assert min(mine[1:]) >= 0 > min(free[1:]), (mine, free)
    for name, fit in answers(glmnet=lambda: glmnet(rows, columns, y, "gaussian", [0.05], lower_limits=[0] * columns),
                             scikit=lambda: scikit("Lasso", rows, columns, y, positive=True, **HOW)).items():
        near(name + ": not negative", mine, [fit.models[0][0]] + fit.models[0][1], 1e-5)
    mine = trained("--penalty-factors", "factors")
    scaled = [[(j, x / factors[j]) for j, x in row] for row in rows]
    for name, models in answers(
            glmnet=lambda: (lambda fit: fit and fit.models)(glmnet(rows, columns, y, "gaussian", [0.05], penalty_factor=factors)),
            scikit=lambda: rescaled(scikit("Lasso", scaled, columns, y, **HOW))).items():
        near(name + ": penalty factors", mine, [models[0][0]] + models[0][1], 1e-5)
