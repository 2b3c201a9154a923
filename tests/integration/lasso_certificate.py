#!/usr/bin/env python3
"""What `hawser train lasso` prints is true of the file that it saves: objective and duality gap are computed again here, from the
model file and the text of the data, by a program that shares nothing with Hawser but the formula. With scikit-learn at hand, its
optimum is compared too. Real data sets are looked for in HAWSER_TEST_DATA."""
import functools
import json
import os
import random
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["HAWSER_SOURCE"], "tests", "helpers"))
from certificate import certify, check_printed, read_model, read_svmlight  # noqa: E402
from command import CLEAN, HAWSER, real  # noqa: E402


def sklearn_optimum(path, lam, ratio, intercept):
    try:
        from sklearn.datasets import load_svmlight_file
        from sklearn.linear_model import ElasticNet
    except ImportError:
        return None
    X, y = load_svmlight_file(path)
    X.indices, X.indptr = X.indices.astype("int32"), X.indptr.astype("int32")
    model = ElasticNet(alpha=lam, l1_ratio=ratio, fit_intercept=intercept, tol=1e-9, max_iter=100000).fit(X, y)
    r, w = y - model.predict(X), model.coef_
    return float(r @ r) / (2 * len(y)) + lam * (ratio * abs(w).sum() + (1 - ratio) / 2 * float(w @ w))


def check(folder, name, text, options, tolerance=1e-6):
    data, model = os.path.join(folder, "data.svm"), os.path.join(folder, "model")
    with open(data, "w") as file:
        file.write(text)
    out = subprocess.run([HAWSER, "train", "lasso", data, "--index-base", "1", "--quiet", "--json", "-o", model, "--tol",
                          str(tolerance)] + options, capture_output=True, text=True, env=CLEAN)
    assert out.returncode == 0, out.stderr
    printed = json.loads(out.stdout.splitlines()[-1])
    intercept = "--no-intercept" not in options
    ratio = float(options[options.index("--l1-ratio") + 1]) if "--l1-ratio" in options else 1.0
    target, columns = read_svmlight(text)
    w, b = read_model(model)
    lam = printed["lambda"]
    objective, gap, zero = certify(target, columns, w, b, lam, ratio, intercept)
    say = check_printed(name, options, printed, w, (objective, gap, zero), tolerance)
    # The optimum is at least objective - gap, so that the printed gap may be better than this one, but by no more than there is.
    best = sklearn_optimum(data, lam, ratio, intercept)
    if best is not None:
        assert objective - best <= printed["gap"] + 1e-10 * zero, (say, best)
        assert best - objective <= 1e-6 * zero, (say, best)
    assert gap <= 1.001 * tolerance * zero + 1e-12 * zero, say


@functools.cache
def generated():
    chance = random.Random(3)
    lines = []
    for _ in range(150):
        row = sorted(chance.sample(range(1, 301), 40))
        values = [chance.gauss(0.5, 1) for _ in row]
        y = 3 + sum(v * (1 if j % 2 else -1) for j, v in zip(row, values) if j < 12) + chance.gauss(0, 0.1)
        lines.append("%.10g %s" % (y, " ".join("%d:%.10g" % pair for pair in zip(row, values))))
    return "\n".join(lines) + "\n"


@functools.cache
def tall():
    """Rows without zeros. The columns differ in size and mean."""
    chance = random.Random(4)
    lines = []
    for _ in range(300):
        row = [10.0 ** (j % 5 - 2) * (chance.gauss(0, 1) + (3 if j % 3 == 0 else 0)) for j in range(12)]
        y = 50 + sum(v * 10.0 ** (2 - j % 5) for j, v in enumerate(row) if j < 6) + chance.gauss(0, 2)
        lines.append("%.10g %s" % (y, " ".join("%d:%.10g" % (j + 1, v) for j, v in enumerate(row))))
    return "\n".join(lines) + "\n"


def main():
    if not os.path.exists(HAWSER):
        print("skipped: no", HAWSER)
        return 77
    with tempfile.TemporaryDirectory() as folder:
        for options in ([], ["--no-intercept"], ["--l1-ratio", "0.5"], ["--workers", "3"], ["--workers", "2", "--sync", "ssp:2"],
                        ["--workers", "4", "--sync", "tap", "--solver", "cd"], ["--workers", "2", "--merge", "average"],
                        ["--workers", "2", "--filter", "absolute", "--quota", "500"]):
            check(folder, "generated", generated(), options + ["--lambda-ratio", "0.05"])
        for options in ([], ["--no-intercept"], ["--l1-ratio", "0.5"]):  # certificates from products of columns
            check(folder, "tall", tall(), options + ["--path", "20", "--lambda-min-ratio", "0.01", "--workers", "1"])
        for name, ratio in (("a9a/a9a.zst", "0.02"), ("rcv1_small/rcv1_small.train.svm.zst", "0.1"), ("abalone/abalone.zst", "0.01")):
            text = real(name)
            for options in ([] if text is None else [["--workers", "1"], ["--workers", "2"], ["--workers", "2", "--no-intercept"]]):
                check(folder, name, text, options + ["--lambda-ratio", ratio])
    return 0


if __name__ == "__main__":
    sys.exit(main())
