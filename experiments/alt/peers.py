#!/usr/bin/env python3
"""The other curves of figure 5-1: one lasso by scikit-learn, celer, and Spark. Prints one JSON object on the last line.

    peers.py scikit-learn DATA.npz LAMBDA --points 1,4,16           passes of cyclic coordinate descent, one core
    peers.py celer DATA.npz LAMBDA --points 1e-2,1e-3               its tolerances, one core
    peers.py spark-cocoa DATA.npz LAMBDA --points 32 --every 1      rounds of CoCoA+ written for Spark, measured after each
    peers.py spark-mllib DATA.npz LAMBDA --points 4,16              iterations of MLlib's LinearRegression (OWL-QN)
    peers.py convert DATA.svm DATA.npz                              the file that the others read

The objective is 1/(2n) ||Xw - y||^2 + LAMBDA ||w||_1 without an intercept, of the coefficients that a solver returned. Reading data and
starting Spark are not in the seconds. --master names Spark's master.
"""
import argparse
import json
import os
import sys
import time
import warnings


def load(path):
    """The columns as CSC or Fortran order, and the target."""
    import numpy as np
    from scipy import sparse
    with np.load(path) as file:
        y = file["y"]
        if "dense" in file:
            return np.asfortranarray(file["dense"]), y
        return sparse.csc_matrix((file["data"], file["indices"], file["indptr"]), shape=tuple(file["shape"])), y


def convert(source, path):
    import numpy as np
    from sklearn.datasets import load_svmlight_file
    x, y = load_svmlight_file(source, zero_based=False)
    x = x.tocsc()
    if x.nnz > 0.5 * x.shape[0] * x.shape[1]:
        np.savez(path, y=y, dense=np.asfortranarray(x.toarray()))
    else:
        np.savez(path, y=y, data=x.data, indices=x.indices, indptr=x.indptr, shape=np.array(x.shape))


def objective(x, y, penalty, w):
    import numpy as np
    error = x @ w - y
    return float(error @ error / (2 * len(y)) + penalty * np.abs(w).sum())


def timed_fits(x, y, penalty, models):
    """CPU seconds: those of one core, without waits, whatever other programs use the machine."""
    curve = []
    for model in models:
        begun = time.process_time()
        model.fit(x, y)
        seconds = time.process_time() - begun
        curve.append({"seconds": seconds, "passes": int(model.n_iter_), "objective": objective(x, y, penalty, model.coef_.ravel())})
    return curve


def scikit_learn(options, x, y):
    from sklearn.linear_model import Lasso
    models = [Lasso(alpha=options.penalty, fit_intercept=False, tol=0, max_iter=int(p), copy_X=False) for p in options.points]
    return timed_fits(x, y, options.penalty, models)


def celer(options, x, y):
    from celer import Lasso
    models = [Lasso(alpha=options.penalty, fit_intercept=False, tol=p, max_iter=100) for p in options.points]
    return [{**point, "passes": None} for point in timed_fits(x, y, options.penalty, models)]    # working sets have no passes


def session(options):
    from pyspark.sql import SparkSession
    here = os.path.dirname(os.path.abspath(__file__))
    os.environ.update(PYSPARK_PYTHON=sys.executable, PYTHONPATH=here)
    said = SparkSession.builder.master(options.master).appName("figure 5-1").config("spark.ui.enabled", "false")
    for key, value in {"spark.executorEnv.PYTHONPATH": here, "spark.ui.showConsoleProgress": "false", "spark.executor.memory": "600m", "spark.executor.cores": "1", "spark.driver.host": options.host or "localhost",
                       "spark.driver.bindAddress": options.host or "127.0.0.1", "spark.scheduler.minRegisteredResourcesRatio": "1.0",
                       "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s", "spark.locality.wait": "10s"}.items():
        said = said.config(key, value)
    spark = said.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


KEPT = {}   # a Python worker of Spark lives on: if it imports this file, its columns are neither read nor passed to it again


def part_of(path, part, parts):
    if (path, part) not in KEPT:
        import numpy as np
        x, _ = load(path)
        edges = [x.shape[1] * k // parts for k in range(parts + 1)]
        mine = x[:, edges[part]:edges[part + 1]]
        norms = np.asarray(mine.multiply(mine).sum(axis=0)).ravel() if hasattr(mine, "multiply") else (mine * mine).sum(axis=0)
        KEPT[path, part] = mine, norms
    return KEPT[path, part]


def sweep(mine, norms, residual, alpha, penalty, sigma, every, seed):
    """Randomised coordinate descent on a block's subproblem. `residual` is y - X alpha and moves sigma times as far as the block."""
    import numpy as np
    n, before = len(residual), alpha.copy()
    sparse = hasattr(mine, "indptr")
    for j in np.random.default_rng(seed).permutation(mine.shape[1])[:max(1, round(every * mine.shape[1]))]:
        if norms[j] <= 0:
            continue
        rows = mine.indices[mine.indptr[j]:mine.indptr[j + 1]] if sparse else slice(None)
        values = mine.data[mine.indptr[j]:mine.indptr[j + 1]] if sparse else mine[:, j]
        wanted = alpha[j] + values @ residual[rows] / (sigma * norms[j])
        now = np.sign(wanted) * max(abs(wanted) - n * penalty / (sigma * norms[j]), 0.0)
        residual[rows] -= (sigma * (now - alpha[j])) * values
        alpha[j] = now
    return mine @ (alpha - before), alpha


def spark_cocoa(options, x, y):
    """CoCoA as in the thesis: a broadcast of the residual, one task per partition, and the changes are returned to the driver."""
    import numpy as np
    spark = session(options)
    context, parts = spark.sparkContext, options.parts
    path, penalty, every = os.path.abspath(options.data), options.penalty, options.every
    edges = [x.shape[1] * k // parts for k in range(parts + 1)]
    alpha, image = np.zeros(x.shape[1]), np.zeros(len(y))

    def local(number, item, residual, seed):
        import peers
        mine, norms = peers.part_of(path, number, parts)
        if residual is None:
            return [len(norms)]
        (own,) = item
        return [(number, *peers.sweep(mine, norms, residual.value.copy(), own, penalty, parts, every, seed))]

    context.parallelize(range(parts), parts).mapPartitionsWithIndex(lambda k, _: local(k, (), None, 0)).collect()
    curve, seconds = [], 0.0
    for clock in range(int(max(options.points) / every)):
        begun = time.perf_counter()
        residual = context.broadcast(y - image)
        shares = [alpha[edges[k]:edges[k + 1]] for k in range(parts)]
        for k, change, own in context.parallelize(shares, parts).mapPartitionsWithIndex(
                lambda k, item: local(k, list(item), residual, clock * parts + k)).collect():
            alpha[edges[k]:edges[k + 1]] = own
            image += change
        residual.unpersist()
        seconds += time.perf_counter() - begun
        curve.append({"seconds": seconds, "passes": (clock + 1) * every, "objective": objective(x, y, penalty, alpha)})
    spark.stop()
    return curve


def spark_mllib(options, x, y):
    from pyspark.ml.linalg import Vectors
    from pyspark.ml.regression import LinearRegression
    spark = session(options)
    path, parts = os.path.abspath(options.data), options.parts

    def rows(k):
        import peers
        mine, target = peers.load(path)
        mine = mine.tocsr() if hasattr(mine, "tocsr") else mine
        for i in range(k, mine.shape[0], parts):
            row = mine[i]
            yield float(target[i]), (Vectors.sparse(row.shape[1], row.indices, row.data) if hasattr(row, "indices") else Vectors.dense(row))

    table = spark.sparkContext.parallelize(range(parts), parts).flatMap(rows).toDF(["label", "features"]).cache()
    table.count()
    curve = []
    for most in options.points:
        begun = time.perf_counter()
        model = LinearRegression(maxIter=int(most), regParam=options.penalty, elasticNetParam=1.0, standardization=False, fitIntercept=False,
                                 tol=0.0, solver="l-bfgs").fit(table)
        curve.append({"seconds": time.perf_counter() - begun, "passes": int(most),
                      "objective": objective(x, y, options.penalty, model.coefficients.toArray())})
    spark.stop()
    return curve


SOLVERS = {"scikit-learn": scikit_learn, "celer": celer, "spark-cocoa": spark_cocoa, "spark-mllib": spark_mllib}


def main():
    if sys.argv[1:2] == ["convert"]:
        convert(*sys.argv[2:4])
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("solver", choices=SOLVERS)
    parser.add_argument("data")
    parser.add_argument("penalty", type=float)
    parser.add_argument("--points", type=lambda text: [float(word) for word in text.split(",")], required=True)
    parser.add_argument("--every", type=float, default=1.0, help="share of a partition's columns per round")
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--host", help="address of the driver")
    parser.add_argument("--parts", type=int, default=8)
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    x, y = load(options.data)
    print(json.dumps({"solver": options.solver, "curve": SOLVERS[options.solver](options, x, y)}))


if __name__ == "__main__":
    main()
