#!/usr/bin/env python3
"""Evaluates the members of paths in double precision, by the same code for every solver. Needs numpy and scipy.

usage: evaluate.py FOLDER LAMBDAS COEFFICIENTS...

Each file has plain doubles: by lambda the coefficients, and the intercept behind them. Prints one JSON line: by file and lambda the objective
1/(2n) ||y - Xw - b||^2 + lambda ||w||_1.
"""
import json
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "lasso"))
import peer  # noqa: E402


def main():
    folder, lambdas, *paths = sys.argv[1:]
    X, y, _ = peer.load(folder)
    lambdas = np.loadtxt(lambdas)
    objectives = []
    for path in paths:
        members = np.fromfile(path).reshape(len(lambdas), X.shape[1] + 1)
        residuals = y[:, None] - X @ members[:, :-1].T - members[:, -1]
        objectives.append(list((residuals**2).sum(axis=0) / (2 * len(y)) + lambdas * np.abs(members[:, :-1]).sum(axis=1)))
    print(json.dumps({"objectives": objectives}))


if __name__ == "__main__":
    main()
