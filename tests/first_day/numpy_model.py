#!/usr/bin/env python3
"""A ridge regression of the diamonds' shape (words and numbers), read by numpy as `hawser help models` says: it is the closed form's
solution, and numpy's products are the command's predictions."""
import json
import os
import random
import struct
import sys

sys.path.insert(0, os.path.join(os.environ["HAWSER_SOURCE"], "tests", "helpers"))
import scratch  # noqa: E402
from command import run  # noqa: E402
from peers import near, skip  # noqa: E402

try:
    import numpy
except ImportError:
    SYSTEM = "/usr/bin/python3"  # which may have packages that a version manager's Python has not
    if "HAWSER_TEST_AGAIN" in os.environ or not os.path.exists(SYSTEM):
        skip("needs numpy")
    os.execve(SYSTEM, [SYSTEM] + sys.argv, dict(os.environ, HAWSER_TEST_AGAIN="1"))

CUTS = ["fair", "good", "ideal", "premium"]
LAMBDA = 0.02


def load(path):
    """All tensors by name, and the facts: the format is a length, JSON of that length, and the numbers."""
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        body = file.read()
    facts = header.pop("__metadata__")
    types = {"F64": "<f8", "I64": "<i8"}
    return {name: numpy.frombuffer(body[slice(*entry["data_offsets"])], types[entry["dtype"]]).reshape(entry["shape"])
            for name, entry in header.items()}, facts


with scratch.folder():
    chance = random.Random(4)
    table = [(chance.choice(CUTS), chance.uniform(0.2, 3), chance.gauss(61, 2)) for _ in range(700)]
    y = numpy.array([4000 * carat + 300 * CUTS.index(cut) - 20 * depth + chance.gauss(0, 400) for cut, carat, depth in table]) / 1000
    with open("diamonds.csv", "w", encoding="ascii") as file:
        file.write("cut,carat,depth,price\n")
        for (cut, carat, depth), price in zip(table, y):
            file.write("%s,%.17g,%.17g,%.17g\n" % (cut, carat, depth, price))
    run("train", "lasso", "diamonds.csv", "--target", "price", "--l1-ratio", "0", "--lambda", str(LAMBDA), "--tol", "1e-14", "-q", "-o", "model")
    tensors, facts = load("model")
    x = numpy.array([[float(cut == one) for one in CUTS] + [carat, depth] for cut, carat, depth in table])
    w = numpy.zeros(x.shape[1])
    w[tensors["coefficients.index"].ravel()] = tensors["coefficients.value"].ravel()
    centred = x - x.mean(0)
    exact = numpy.linalg.solve(centred.T @ centred / len(y) + LAMBDA * numpy.eye(len(w)), centred.T @ (y - y.mean()) / len(y))
    near("the closed form", list(w), list(exact), 1e-6)
    near("its intercept", list(tensors["intercept"].ravel()), [y.mean() - x.mean(0) @ exact], 1e-6)
    predicted = [float(line) for line in run("predict", "model", "diamonds.csv").split()]
    near("predictions", predicted, list(x @ w + tensors["intercept"].ravel()[0]), 1e-13)
    assert [column["name"] for column in json.loads(facts["schema"])["columns"]] == ["cut", "carat", "depth"], facts["schema"]
