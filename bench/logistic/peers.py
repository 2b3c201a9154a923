#!/usr/bin/env python3
"""The other solvers of bench/logistic, and the evaluator of all results. Needs numpy and scipy.

usage: peers.py pack DATA FOLDER               make plain arrays of an svmlight file with labels -1 and 1
       peers.py fit SOLVER PENALTY FOLDER C OUT TOLERANCE...
       peers.py evaluate PENALTY FOLDER C COEFFICIENTS...

PENALTY is l1 or l2. Each command prints one JSON line. Coefficients are plain little-endian doubles; there is no intercept.
"""
import importlib.util
import json
import pathlib
import resource
import sys
import time
import warnings

import numpy as np
import scipy.sparse as sp

found = importlib.util.spec_from_file_location("lasso_peer", pathlib.Path(__file__).resolve().parent.parent / "lasso" / "peer.py")
lasso_peer = importlib.util.module_from_spec(found)
found.loader.exec_module(lasso_peer)


def objective(X, y, w, penalty, cost):
    margin = y * (X @ w)
    lam = 1 / (cost * len(y))
    return float(np.logaddexp(0, -margin).mean() + lam * (np.abs(w).sum() if penalty == "l1" else w @ w / 2))


def liblinear(kind, X, y, cost):
    from liblinear.liblinearutil import parameter, problem, train
    made = problem(y, X)

    def fit(tolerance):
        model = train(made, parameter(f"-s {kind} -c {cost!r} -e {tolerance!r} -B -1 -q"))
        w = np.ctypeslib.as_array(model.w, (X.shape[1],)).copy()
        return w * (1 if model.get_labels()[0] == 1 else -1)
    return fit


def scikit_learn(solver, penalty, X, y, cost):
    from sklearn.linear_model import LogisticRegression
    X = X.tocsr()
    return lambda tolerance: LogisticRegression(penalty=penalty, C=cost, solver=solver, fit_intercept=False, tol=tolerance,
                                                max_iter=100000).fit(X, y).coef_.ravel()


def celer(X, y, cost):
    from celer import LogisticRegression
    return lambda tolerance: LogisticRegression(C=cost, fit_intercept=False, tol=tolerance, max_iter=1000,
                                                max_epochs=1000000).fit(X, y).coef_.ravel()


def solver_of(name, penalty, X, y, cost):
    if name.startswith("liblinear-s"):
        return liblinear(int(name[len("liblinear-s"):]), X.tocsr(), y, cost)
    if name == "celer":
        return celer(X, y, cost)
    return scikit_learn(name.split("-", 1)[1], penalty, X, y, cost)


def fit(name, penalty, folder, cost, out, tolerances):
    warnings.simplefilter("ignore")
    X, y, _ = lasso_peer.load(folder)
    small = sp.csc_matrix(np.random.default_rng(1).normal(size=(50, 20)))
    solver_of(name, penalty, small, np.sign(small[:, [0]].toarray().ravel()), 1.0)(1e-3)  # imports, and compilation on first use
    solve, points = solver_of(name, penalty, X, y, cost), []
    loaded = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    for tolerance in tolerances:
        wall, cpu = time.perf_counter(), time.process_time()
        w = solve(tolerance)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        path = f"{out}-{tolerance:g}.bin"
        np.asarray(w, dtype="<f8").tofile(path)
        points.append({"tolerance": tolerance, "wall": wall, "cpu": cpu, "coefficients": path})
    return {"points": points, "loaded_rss": loaded}


def evaluate(penalty, folder, cost, paths):
    X, y, _ = lasso_peer.load(folder)
    results = []
    for path in paths:
        w = np.zeros(X.shape[1])
        found = np.fromfile(path)[:len(w)]
        w[:len(found)] = found
        results.append({"objective": objective(X, y, w, penalty, cost), "nonzeros": int(np.count_nonzero(w))})
    return {"results": results}


def main():
    what, *rest = sys.argv[1:]
    if what == "pack":
        answer = lasso_peer.pack(rest[0], rest[1], False)
    elif what == "fit":
        answer = fit(rest[0], rest[1], rest[2], float(rest[3]), rest[4], [float(t) for t in rest[5:]])
    else:
        answer = evaluate(rest[0], rest[1], float(rest[2]), rest[3:])
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
