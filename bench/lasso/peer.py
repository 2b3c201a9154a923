#!/usr/bin/env python3
"""The other solvers of bench/lasso, and the evaluator of all results. Needs numpy and scipy.

usage: peer.py pack DATA FOLDER INTERCEPT     make plain arrays of a .npy (target first) or svmlight file
       peer.py fit SOLVER FOLDER LAMBDA OUT TOLERANCE...
       peer.py evaluate FOLDER LAMBDA COEFFICIENTS...

Each command prints one JSON line. Coefficients are plain little-endian doubles, the intercept last.
"""
import json
import pathlib
import resource
import subprocess
import sys
import time
import warnings

import numpy as np
import scipy.sparse as sp


def load(folder):
    """X in the form that the solvers use (CSC or Fortran order, f64), y, and the facts that `pack` recorded."""
    folder = pathlib.Path(folder)
    facts = json.loads((folder / "facts.json").read_text())
    y = np.fromfile(folder / "target.bin")
    values = np.fromfile(folder / "values.bin")
    shape = (facts["rows"], facts["columns"])
    if facts["dense"]:
        return values.reshape(shape, order="F"), y, facts
    rows, starts = np.fromfile(folder / "rows.bin", dtype="<i4"), np.fromfile(folder / "starts.bin", dtype="<i4")
    return sp.csc_matrix((values, rows, starts), shape=shape), y, facts


def read_svmlight(path):
    """Reads a file that is known to be sound (label, then 1-based index:value), much more quickly than a general reader."""
    packed = subprocess.Popen(["zstd", "-dc", path], stdout=subprocess.PIPE) if path.endswith(".zst") else None
    columns, values, starts, y = [], [], [0], []
    with packed.stdout if packed else open(path, "rb") as file:
        while True:
            lines = file.readlines(1 << 25)
            if not lines:
                break
            heads = [line.split(b" ", 1) for line in lines]
            y.append(np.array([float(head[0]) for head in heads]))
            counts = np.array([line.count(b":") for line in lines])
            pairs = b" ".join(head[1] if len(head) > 1 else b"" for head in heads).replace(b":", b" ").replace(b"\n", b" ")
            numbers = np.array(pairs.split(), dtype=np.float64)
            columns.append((numbers[0::2] - 1).astype(np.int32))
            values.append(numbers[1::2])
            starts.append(counts)
    starts = np.concatenate([[0], np.cumsum(np.concatenate(starts[1:]))])
    columns = np.concatenate(columns)
    shape = (len(starts) - 1, int(columns.max()) + 1)
    return sp.csr_matrix((np.concatenate(values), columns, starts), shape=shape).tocsc(), np.concatenate(y)


def pack(data, folder, intercept):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if data.endswith(".npy"):
        table = np.load(data, mmap_mode="r")
        X, y = np.asfortranarray(table[:, 1:], dtype=np.float64), np.array(table[:, 0], dtype=np.float64)
        X.ravel(order="K").tofile(folder / "values.bin")
    else:
        X, y = read_svmlight(data)
        X.sort_indices()
        X.data.tofile(folder / "values.bin")
        X.indices.astype("<i4").tofile(folder / "rows.bin")
        X.indptr.astype("<i4").tofile(folder / "starts.bin")
    y.tofile(folder / "target.bin")
    centre = y.mean() if intercept else 0.0
    n = len(y)
    facts = {"rows": n, "columns": X.shape[1], "stored": int(X.size if isinstance(X, np.ndarray) else X.nnz),
             "dense": isinstance(X, np.ndarray), "intercept": intercept, "bytes": int((X if isinstance(X, np.ndarray) else
             X.data).nbytes + (0 if isinstance(X, np.ndarray) else X.indices.nbytes + X.indptr.nbytes)),
             "lambda_max": float(np.abs(X.T @ (y - centre)).max() / n),
             "zero_objective": float(((y - centre) ** 2).sum() / (2 * n))}
    (folder / "facts.json").write_text(json.dumps(facts))
    return facts


def solver_of(name, penalty, tolerance, intercept):
    if name == "scikit-learn":
        from sklearn.linear_model import Lasso
        return Lasso(alpha=penalty, fit_intercept=intercept, tol=tolerance, max_iter=1000000, copy_X=False)
    from celer import Lasso
    return Lasso(alpha=penalty, fit_intercept=intercept, tol=tolerance, max_iter=1000, max_epochs=1000000)


def warm_up(name, dense, intercept):
    """Takes imports and compilation on first use out of the fits that count."""
    X = np.asfortranarray(np.random.default_rng(1).normal(size=(50, 20)))
    X, y = (X if dense else sp.csc_matrix(X)), X[:, 0] + X[:, 1]
    solver_of(name, 0.01, 1e-4, intercept).fit(X, y)


def fit(name, folder, penalty, out, tolerances):
    warnings.simplefilter("ignore")
    X, y, facts = load(folder)
    warm_up(name, facts["dense"], facts["intercept"])
    loaded = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    points = []
    for tolerance in tolerances:
        solver = solver_of(name, penalty, tolerance, facts["intercept"])
        wall, cpu = time.perf_counter(), time.process_time()
        solver.fit(X, y)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        path = f"{out}-{tolerance:g}.bin"
        coefficients = solver.coef_.toarray().ravel() if sp.issparse(solver.coef_) else np.ravel(solver.coef_)
        np.append(coefficients, solver.intercept_ if facts["intercept"] else 0.0).astype("<f8").tofile(path)
        points.append({"tolerance": tolerance, "wall": wall, "cpu": cpu, "coefficients": path})
    return {"points": points, "loaded_rss": loaded}


def evaluate(folder, penalty, paths):
    """Evaluates 1/(2n) ||y - X w - b||^2 + lambda ||w||_1 in double precision, by the same code for every solver."""
    X, y, _ = load(folder)
    results = []
    for path in paths:
        w = np.fromfile(path)
        w, b = w[:-1], w[-1]
        w = np.concatenate([w, np.zeros(max(0, X.shape[1] - len(w)))])[:X.shape[1]]
        residual = y - X @ w - b
        results.append({"objective": float(residual @ residual / (2 * len(y)) + penalty * np.abs(w).sum()),
                        "nonzeros": int(np.count_nonzero(w))})
    return {"results": results}


def main():
    what, *rest = sys.argv[1:]
    if what == "pack":
        answer = pack(rest[0], rest[1], rest[2] == "yes")
    elif what == "fit":
        answer = fit(rest[0], rest[1], float(rest[2]), rest[3], [float(t) for t in rest[4:]])
    else:
        answer = evaluate(rest[0], float(rest[1]), rest[2:])
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
