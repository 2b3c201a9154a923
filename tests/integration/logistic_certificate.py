#!/usr/bin/env python3
"""What `hawser train logistic` prints is true of the file that it saves: objective and duality gap are computed again here, from the
model file and the text of the data, by a program that shares nothing with Hawser but the formula; and the objective is the same for
every sync and any number of workers. With LIBLINEAR and scikit-learn at hand, their optima are compared too. Real data sets are
looked for in HAWSER_TEST_DATA."""
import functools
import itertools
import json
import math
import os
import random
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["HAWSER_SOURCE"], "tests", "helpers"))
from certificate import certify_logistic, check_printed, log_loss, read_model, read_svmlight  # noqa: E402
from command import CLEAN, HAWSER, real, some  # noqa: E402


def objective_of(target, columns, w, b, lam, ratio):
    high, margin = max(target), [b] * len(target)
    for j, value in enumerate(w):
        for i, x in columns.get(j, ()) if value else ():
            margin[i] += value * x
    loss = math.fsum(log_loss(m if y == high else -m) for y, m in zip(target, margin)) / len(target)
    return loss + lam * math.fsum(ratio * abs(v) + (1 - ratio) / 2 * v * v for v in w)


def peers(path, cost, ratio, intercept):
    """Returns the optima of other solvers as (name, coefficients, intercept): no intercept for LIBLINEAR, which would penalise it."""
    found = []
    try:
        from sklearn.datasets import load_svmlight_file
        from sklearn.linear_model import LogisticRegression
        X, y = load_svmlight_file(path)
        X.indices, X.indptr = X.indices.astype("int32"), X.indptr.astype("int32")
        if ratio == 0:
            fit = LogisticRegression(C=cost, fit_intercept=intercept, solver="newton-cg", tol=1e-9, max_iter=10000).fit(X, y)
            found.append(("scikit-learn", fit.coef_.ravel().tolist(), float(fit.intercept_[0]) if intercept else 0.0))
    except ImportError:
        pass
    try:
        from liblinear.liblinearutil import svm_read_problem, train
        if not intercept and ratio in (0, 1):
            y, x = svm_read_problem(path)
            high = max(y)
            fit = train([1 if v == high else -1 for v in y], x, "-s %d -c %.17g -e 1e-9 -B -1 -q" % (6 if ratio else 0, cost))
            w, _ = fit.get_decfun()
            found.append(("LIBLINEAR", list(w), 0.0))
    except ImportError:
        pass
    return found


def train(data, model, options):
    out = subprocess.run([HAWSER, "train", "logistic", data, "--index-base", "1", "--quiet", "--json", "-o", model] + options,
                         capture_output=True, text=True, env=CLEAN, timeout=300)
    assert out.returncode == 0, out.stderr
    return json.loads(out.stdout.splitlines()[-1])


def check(folder, name, text, options, tolerance=1e-7):
    data, model = os.path.join(folder, "data.svm"), os.path.join(folder, "model")
    with open(data, "w") as file:
        file.write(text)
    printed = train(data, model, options + ["--tol", str(tolerance)])
    intercept = "--no-intercept" not in options
    ratio = float(options[options.index("--l1-ratio") + 1]) if "--l1-ratio" in options else 1.0
    target, columns = read_svmlight(text)
    w, b = read_model(model)
    lam = printed["lambda"]
    objective, gap, zero = certify_logistic(target, columns, w, b, lam, ratio, intercept)
    say = check_printed(name, options, printed, w, (objective, gap, zero), tolerance)
    assert gap <= 1.01 * tolerance * zero + 1e-12 * zero, say
    if "--C" in options:
        cost = float(options[options.index("--C") + 1])
        assert abs(lam * cost * len(target) - 1) < 1e-12, say
        for peer, other, bias in peers(data, cost, ratio, intercept) if len(target) < 40000 and "1" in options else ():
            best = objective_of(target, columns, other, bias, lam, ratio)
            print("  %s: %.12g" % (peer, best), flush=True)
            assert objective - best <= printed["gap"] + 1e-10 * zero, (say, peer, best)
            assert best - objective <= 1e-6, (say, peer, best)
    return objective, zero


@functools.cache
def generated():
    chance = random.Random(3)
    lines = []
    for _ in range(150):
        row = sorted(chance.sample(range(1, 301), 40))
        values = [chance.gauss(0.5, 1) for _ in row]
        score = 1 + sum(v * (1 if j % 2 else -1) for j, v in zip(row, values) if j < 12) + chance.gauss(0, 0.5)
        lines.append("%d %s" % (2 if score > 0 else 1, " ".join("%d:%.10g" % pair for pair in zip(row, values))))
    return "\n".join(lines) + "\n"


def everywhere(folder):
    """Workers 1 to 8 under each sync, with filters, averaging and rounding: one optimum."""
    for ratio in ("1", "0.5", "0"):
        seen = []
        for workers, sync in some(itertools.product(range(1, 9), ("bsp", "ssp:2", "tap")), 4):
            seen.append(check(folder, "generated", generated(), ["--C", "0.5", "--l1-ratio", ratio, "--workers", str(workers),
                                                                 "--sync", sync]))
        for options in (["--merge", "average"], ["--filter", "absolute", "--quota", "500"], ["--encoding", "bf16"],
                        ["--exchange-every", "0.3"], ["--certify-every", "3"], ["--sigma", "5"]):
            seen.append(check(folder, "generated", generated(), ["--C", "0.5", "--l1-ratio", ratio, "--workers", "2"] + options))
        values = [objective for objective, _ in seen]
        assert max(values) - min(values) <= 1e-7 * seen[0][1], values


def together(folder):
    """A squared penalty alone on more than half a million entries: all blocks search together, each product by all of them."""
    chance, lines = random.Random(4), []
    for _ in range(1100):
        row = [chance.gauss(0.3, 1) for _ in range(500)]
        score = 1 + sum(row[:20]) - sum(row[20:40]) + chance.gauss(0, 3)
        lines.append("%d %s" % (1 if score > 0 else -1, " ".join("%d:%.5g" % pair for pair in enumerate(row, 1))))
    text = "\n".join(lines) + "\n"
    for options in ([], ["--no-intercept"]):
        seen = [check(folder, "dense", text, options + ["--C", "0.01", "--l1-ratio", "0", "--workers", workers], 1e-9)[0]
                for workers in ("1", "3")]
        assert max(seen) - min(seen) <= 1e-9, seen
    models = []
    for threads in ("1", "2"):
        model = os.path.join(folder, "model" + threads)
        printed = train(os.path.join(folder, "data.svm"), model, ["--C", "0.01", "--l1-ratio", "0", "--tol", "1e-9", "--workers", "2",
                                                                  "--threads", threads])
        shares = next((flow["messages"] for flow in printed["flows"] if flow.get("kind") == "share"), 0)
        assert shares > 40, printed  # the blocks' sums: they search together
        models.append(read_model(model))
    assert models[0] == models[1]


def main():
    if not os.path.exists(HAWSER):
        print("skipped: no", HAWSER)
        return 77
    with tempfile.TemporaryDirectory() as folder:
        everywhere(folder)
        together(folder)
        check(folder, "generated", generated(), ["--lambda-ratio", "0.05", "--no-intercept"])
        for name, cost in (("a9a/a9a.zst", "1"), ("rcv1_small/rcv1_small.train.svm.zst", "10"), ("mushrooms/mushrooms.zst", "1")):
            text = real(name)
            for options in ([] if text is None else [["--workers", "1"], ["--workers", "2"], ["--workers", "1", "--no-intercept"],
                                                     ["--workers", "1", "--no-intercept", "--l1-ratio", "0"],
                                                     ["--workers", "1", "--l1-ratio", "0"], ["--workers", "2", "--l1-ratio", "0.3"]]):
                check(folder, name, text, options + ["--C", cost])
    return 0


if __name__ == "__main__":
    sys.exit(main())
