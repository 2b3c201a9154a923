#!/usr/bin/env python3
"""Working sets so large that the blocks share what Newton's models on them cost: they do, the model's bits depend neither on threads nor
on processes, and it is the optimum, as a certificate that shares nothing with Hawser says. Stopped in the middle, what is printed is true."""
import os
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["HAWSER_SOURCE"], "tests", "helpers"))
from certificate import certify_logistic  # noqa: E402
from command import run, some  # noqa: E402
from shared_sets import check  # noqa: E402

# On sparse rows, with an elastic net and an intercept, and on dense ones.
PROBLEMS = [("url", "8000", "12000", ("--C", "10"), 1.0, False),
            ("url", "8000", "12000", ("--C", "10", "--l1-ratio", "0.9"), 0.9, True),
            ("dense", "850", "700", ("--C", "100"), 1.0, False)]
TOLERANCE = 1e-5


def two_classes(text):
    lines = [line.split(" ", 1) for line in text.splitlines()]
    middle = sorted(float(label) for label, _ in lines)[len(lines) // 2]
    return "".join("%d %s\n" % (1 if float(label) > middle else -1, rest) for label, rest in lines)


with tempfile.TemporaryDirectory() as folder:
    for kind, rows, columns, words, ratio, intercept in some(PROBLEMS, 2):
        raw, data, model = (os.path.join(folder, name) for name in (kind + ".raw.svm", kind + ".svm", "model"))
        if not os.path.exists(data):
            run("data", "generate", kind, "--rows", rows, "--cols", columns, "--seed", "5", "-o", raw)
            with open(raw) as file, open(data, "w") as out:
                out.write(two_classes(file.read()))
        check(certify_logistic, "logistic", kind, data, model, words, TOLERANCE, ratio, intercept)
