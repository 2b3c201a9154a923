#!/usr/bin/env python3
"""A working set so large that the blocks share its descent: they do, the model's bits depend neither on threads nor on processes, and
it is the optimum, as a certificate that shares nothing with Hawser says. Stopped in the middle, what is printed is true."""
import os
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["HAWSER_SOURCE"], "tests", "helpers"))
from certificate import certify  # noqa: E402
from command import run  # noqa: E402
from shared_sets import check, check_many  # noqa: E402

# On the Gram matrix, and on the residual: there are more columns in the set than a matrix would pay for.
PROBLEMS = [("dense", "1100", "1150", "0.0005", 3e-3), ("url", "3000", "12000", "0.0003", 1e-3)]

with tempfile.TemporaryDirectory() as folder:
    for kind, rows, columns, ratio, tolerance in PROBLEMS:
        data, model = os.path.join(folder, kind + ".svm"), os.path.join(folder, "model")
        run("data", "generate", kind, "--rows", rows, "--cols", columns, "--seed", "5", "-o", data)
        check(certify, "lasso", kind, data, model, ("--lambda-ratio", ratio), tolerance, 1.0, False)
    check_many(certify, kind, data, model, ("--lambda-ratio", ratio), tolerance)  # of the last problem
