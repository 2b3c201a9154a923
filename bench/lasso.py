#!/usr/bin/env python3
"""Time to a suboptimality of 1e-3 and 1e-6 for the lasso: Hawser, celer, scikit-learn and glmnet in turn, on the same data in memory.

Each program is run at a list of its own tolerances; what it found is evaluated here, in f64, by one function; the time to a
suboptimality is interpolated from that curve. Loading and a first warming fit are apart. Programs that are not installed are
skipped with a message.

    bench/lasso.py [--binary build/release/bench/bench_lasso] [--problem NAME ...] [--file FILE RATIO] [--workers 1,2] [--repeat 3]
                   [--scale 1.0] [--json]
"""
import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile

PROBLEMS = {
    "dense": (["dense", "20000", "2000", "1"], "0.05"),
    "url-0.02": (["url", "200000", "300000", "1"], "0.02"),
    "url-0.005": (["url", "200000", "300000", "1"], "0.005"),
}
HAWSER_TOLERANCES = "1e-1,1e-2,1e-3,1e-4,1e-5,1e-6,1e-7,1e-8"

LOAD = """
import json, os, resource, sys, time
import numpy as np
folder, lam = sys.argv[1], float(sys.argv[2])
n, p, stored, sparse = (int(v) for v in np.fromfile(folder + "/shape", np.uint64))
y = np.fromfile(folder + "/target")
if sparse:
    import scipy.sparse
    X = scipy.sparse.csc_matrix((np.fromfile(folder + "/values"), np.fromfile(folder + "/indices", np.uint32).astype(np.int32),
                                 np.fromfile(folder + "/offsets", np.uint64).astype(np.int32)), shape=(n, p))
else:
    X = np.fromfile(folder + "/values").reshape((n, p), order="F")
def tell(name, tol, fit):
    t, c = time.perf_counter(), time.process_time()
    w = np.asarray(fit(tol), dtype=float).ravel()
    t, c = time.perf_counter() - t, time.process_time() - c
    w.tofile(folder + "/peer")
    print(json.dumps({"tol": tol, "seconds": t, "cpu": c, "peak_rss": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}),
          flush=True)
    sys.stdin.readline()
"""
PEERS = {
    "celer": LOAD + """
import celer, warnings
warnings.filterwarnings("ignore")
celer.Lasso(alpha=1.0, fit_intercept=False, max_iter=1).fit(X[:50], y[:50])
for tol in (1e-1, 1e-2, 1e-3, 1e-4, 1e-6, 1e-8):
    tell("celer", tol, lambda t: celer.Lasso(alpha=lam, fit_intercept=False, tol=t, max_iter=500).fit(X, y).coef_)
""",
    "scikit-learn": LOAD + """
from sklearn.linear_model import Lasso
import warnings
warnings.filterwarnings("ignore")
for tol in (1e-1, 1e-2, 1e-3, 1e-4, 1e-6, 1e-8):
    tell("scikit-learn", tol, lambda t: Lasso(alpha=lam, fit_intercept=False, tol=t, max_iter=20000, copy_X=False).fit(X, y).coef_)
""",
}
GLMNET = """
suppressMessages({library(glmnet); library(Matrix)})
a <- commandArgs(TRUE); folder <- a[1]; lam <- as.numeric(a[2])
u64 <- function(name, k) { v <- readBin(file.path(folder, name), "integer", 2 * k, size = 4); v[seq(1, 2 * k, 2)] }
s <- u64("shape", 4); n <- s[1]; p <- s[2]; stored <- s[3]
y <- readBin(file.path(folder, "target"), "double", n)
x <- readBin(file.path(folder, "values"), "double", stored)
X <- if (s[4] == 1) new("dgCMatrix", i = readBin(file.path(folder, "indices"), "integer", stored, size = 4),
                        p = as.integer(u64("offsets", p + 1)), x = x, Dim = as.integer(c(n, p))) else matrix(x, n, p)
rm(x); invisible(gc())
sd <- sqrt(sum(y^2) / n)
input <- file("stdin", "r")
for (tol in c(1e-4, 1e-7, 1e-9, 1e-12)) {
  t <- proc.time()
  w <- as.numeric(glmnet(X, y, lambda = lam, standardize = FALSE, intercept = FALSE, thresh = tol, maxit = 1e7)$beta)
  t <- proc.time() - t
  writeBin(w, file.path(folder, "peer"))
  rss <- as.numeric(sub("[^0-9]*([0-9]+).*", "\\\\1", grep("VmHWM", readLines("/proc/self/status"), value = TRUE))) * 1024
  cat(sprintf('{"tol": %g, "seconds": %g, "cpu": %g, "peak_rss": %.0f}\\n', tol, t[["elapsed"]], t[["user.self"]] + t[["sys.self"]], rss))
  flush(stdout()); readLines(input, 1)
}
"""


class Evaluator:
    """1/2n ||y - Xw||^2 + lambda ||w||_1, the same for everyone."""

    def __init__(self, folder):
        import numpy
        import scipy.sparse
        self.np = numpy
        n, p, _, sparse = (int(v) for v in numpy.fromfile(folder + "/shape", numpy.uint64))
        self.y = numpy.fromfile(folder + "/target")
        values = numpy.fromfile(folder + "/values")
        if sparse:
            self.X = scipy.sparse.csc_matrix((values, numpy.fromfile(folder + "/indices", numpy.uint32).astype(numpy.int32),
                                              numpy.fromfile(folder + "/offsets", numpy.uint64).astype(numpy.int32)), shape=(n, p))
        else:
            self.X = values.reshape((n, p), order="F")
        self.lambda_max = float(numpy.abs(self.X.T @ self.y).max()) / n
        self.zero = float(self.y @ self.y) / (2 * n)

    def objective(self, path, lam):
        w = self.np.fromfile(path)
        r = self.y - self.X @ w
        return float(r @ r) / (2 * len(self.y)) + lam * float(self.np.abs(w).sum())


def time_to(curve, goal, key):
    """Log-linear between the last point above the goal and the first below; the first point's time when it is below already."""
    curve = sorted(curve, key=lambda point: -point["suboptimality"])
    for before, after in zip([None] + curve, curve):
        if after["suboptimality"] > goal:
            continue
        if before is None or before["suboptimality"] <= after["suboptimality"]:
            return after[key]
        a, b = (math.log10(max(point["suboptimality"], 1e-16)) for point in (before, after))
        share = (a - math.log10(goal)) / (a - b)
        return before[key] + share * (after[key] - before[key])
    return None


def run_hawser(arguments, folder, ratio, evaluator, lam):
    out = subprocess.run([arguments.binary, "train", folder, ratio, HAWSER_TOLERANCES, arguments.workers, str(arguments.repeat)],
                         capture_output=True, text=True, check=True).stdout
    curves = {}
    for line in out.splitlines():
        point = json.loads(line)
        point["objective"] = evaluator.objective(os.path.join(folder, point["file"]), lam)
        curves.setdefault("hawser %d" % point["workers"], []).append(point)
    return curves


def run_peer(command, folder, evaluator, lam):
    child = subprocess.Popen(command + [folder, repr(lam)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             text=True, env=dict(os.environ, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1"))
    points = []
    for line in child.stdout:
        if line.startswith("{"):
            point = json.loads(line)
            point["objective"] = evaluator.objective(os.path.join(folder, "peer"), lam)
            points.append(point)
            try:
                child.stdin.write("\n")
                child.stdin.flush()
            except BrokenPipeError:
                pass
    error = child.stderr.read()
    return points if child.wait() == 0 else print("skipped:", command[0], error.strip().splitlines()[-1:], file=sys.stderr)


def measure(name, folder, ratio, arguments):
    evaluator = Evaluator(folder)
    lam = float(ratio) * evaluator.lambda_max
    curves = run_hawser(arguments, folder, ratio, evaluator, lam)
    for _ in range(arguments.repeat):
        for peer, program in PEERS.items():
            curves.setdefault(peer, []).extend(run_peer([sys.executable, "-c", program], folder, evaluator, lam) or [])
        with tempfile.NamedTemporaryFile("w", suffix=".R") as script:
            script.write(GLMNET)
            script.flush()
            curves.setdefault("glmnet", []).extend(run_peer(["Rscript", script.name], folder, evaluator, lam) or [])
    best = min(point["objective"] for curve in curves.values() for point in curve)
    results = []
    for program, curve in curves.items():
        grouped = {}
        for point in curve:
            grouped.setdefault(point["tol"], []).append(point)
        medians = [{"suboptimality": (group[0]["objective"] - best) / best,
                    "seconds": statistics.median(p["seconds"] for p in group),
                    "cpu": statistics.median(p["cpu"] for p in group)} for group in grouped.values()]
        results.append({"problem": name, "program": program, "n": arguments.repeat,
                        "peak_rss": max((p["peak_rss"] for p in curve), default=None),
                        **{"%s_to_%g" % (key, goal): time_to(medians, goal, key)
                           for goal in (1e-3, 1e-6) for key in ("seconds", "cpu")}})
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    parser.add_argument("--binary", default=os.path.join(here, "build/release/bench/bench_lasso"))
    parser.add_argument("--problem", action="append", choices=sorted(PROBLEMS))
    parser.add_argument("--file", nargs=2, action="append", default=[], metavar=("FILE", "RATIO"))
    parser.add_argument("--workers", default="1,2")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1.0, help="shrink the generated problems")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    problems = [(name,) + PROBLEMS[name] for name in arguments.problem or ([] if arguments.file else PROBLEMS)]
    problems += [(os.path.basename(path), [path], ratio) for path, ratio in arguments.file]
    results = []
    for name, words, ratio in problems:
        if len(words) == 4:
            words = [words[0]] + [str(max(10, int(int(v) * arguments.scale))) for v in words[1:3]] + words[3:]
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([arguments.binary, "prepare"] + words + [folder], check=True)
            for result in measure(name, folder, ratio, arguments):
                results.append(result)
                if not arguments.json:
                    print("%-12s %-14s" % (name, result["program"]), " ".join(
                        "%s %s" % (key, "-" if value is None else "%.3f" % value) for key, value in result.items() if "_to_" in key),
                        "rss %d MiB" % ((result["peak_rss"] or 0) >> 20), flush=True)
    if arguments.json:
        print(json.dumps(results))


if __name__ == "__main__":
    main()
