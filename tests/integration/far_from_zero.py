#!/usr/bin/env python3
"""A model with an intercept does not depend on constants that are added to columns, or to the target of a squared loss.

Data are drawn on a grid of 1/256, and shifted by whole numbers of up to 10^12 standard deviations, so that shifted numbers are exact. The objective of
the model of shifted data is computed in exact fractions, on the data without the shift, and is at most the reference's plus the gap that was printed,
its rounding, and what rounding the intercept changes."""
import decimal
import fractions
import json
import math
import os
import random
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["HAWSER_SOURCE"], "tests", "helpers"))
from certificate import read_tensors  # noqa: E402
from command import CLEAN, HAWSER, some  # noqa: E402

GRID = 256
ROWS, COLUMNS = 60, 4
Exact = fractions.Fraction
D = decimal.Decimal


class Problem:
    """Rows of whole numbers, in units of 1/GRID, with a target and weights."""

    def __init__(self, chance, algorithm):
        self.algorithm = algorithm
        self.rows = [[round(chance.gauss(0, 1) * GRID) or 1 for _ in range(COLUMNS)] for _ in range(ROWS)]
        signal = [(row[0] - row[1]) / GRID for row in self.rows]
        noise = [chance.gauss(0, 0.5) for _ in range(ROWS)]
        if algorithm == "logistic":
            targets = [[GRID if s + e > 0 else 0] for s, e in zip(signal, noise)]
        elif algorithm == "poisson":
            targets = [[GRID * round(math.exp((s + e) / 2))] for s, e in zip(signal, noise)]
        else:
            targets = [[round((s + e) * GRID), round((e - s) * GRID)] for s, e in zip(signal, noise)]
        self.targets = targets if algorithm == "multitask" else [target[:1] for target in targets]
        self.weights = [chance.choice((1, 1, 2, 3)) for _ in range(ROWS)] if chance.random() < 0.3 else None

    def write(self, path, columns, target, sparse):
        """The data plus whole numbers; a column without a shift keeps its zeros."""
        with open(path, "w") as file:
            if not sparse:
                heads = [f"y{k}" for k in range(len(self.targets[0]))] + [f"x{j}" for j in range(COLUMNS)]
                print(",".join(heads + ["w"] * (self.weights is not None)), file=file)
            for i, row in enumerate(self.rows):
                values = [Exact(x, GRID) + s for x, s in zip(row, columns)]
                targets = [float(Exact(y, GRID) + target) for y in self.targets[i]]
                if sparse:
                    print(targets[0], *(f"{j + 1}:{float(x)!r}" for j, x in enumerate(values)), file=file)
                else:
                    numbers = targets + [float(x) for x in values]
                    print(",".join([repr(x) for x in numbers] + ([str(self.weights[i])] if self.weights else [])), file=file)

    def loss(self, i, margins):
        value = 0.0
        for y, margin in zip(self.targets[i], margins):
            if self.algorithm == "logistic":
                m = float(margin) if y else -float(margin)
                value += math.log1p(math.exp(-m)) if m > -30 else -m
            elif self.algorithm == "poisson":
                value += math.exp(float(margin)) - float(Exact(y, GRID) * margin)
            else:
                value += float((Exact(y, GRID) - margin) ** 2) / 2
        return value

    def objective(self, model, lam, ratio, columns, target, standardize):
        """Of a model of shifted data: with its intercept, less what the shift adds to it."""
        weights, intercepts = model
        q, total = len(intercepts), sum(self.weights or [1] * ROWS)
        loss = 0.0
        for i, row in enumerate(self.rows):
            margins = [sum((Exact(x, GRID) + s) * Exact(weights[j][o]) for j, (x, s) in enumerate(zip(row, columns)))
                       + Exact(intercepts[o]) - target for o in range(q)]
            loss += (self.weights[i] if self.weights else 1) * self.loss(i, margins)
        penalty = 0.0
        for j in range(COLUMNS):
            norm = math.sqrt(sum(w * w for w in weights[j])) * (self.deviation(j) if standardize else 1.0)
            penalty += ratio * norm + (1 - ratio) / 2 * norm * norm
        return loss / total + lam * penalty

    def deviation(self, j):
        each = self.weights or [1] * ROWS
        mean = sum(w * row[j] for w, row in zip(each, self.rows)) / sum(each)
        return math.sqrt(sum(w * (row[j] - mean) ** 2 for w, row in zip(each, self.rows)) / sum(each)) / GRID


def read_model(path, columns=COLUMNS):
    """Coefficients, by column then by output, and intercepts."""
    tensors = {name: values for name, (_, values) in read_tensors(path).items()}
    intercepts = tensors["intercept"]
    q, index, values = len(intercepts), tensors["coefficients.index"], tensors["coefficients.value"]
    weights = [[0.0] * q for _ in range(columns)]
    for k, j in enumerate(index):
        for o in range(q):
            weights[int(j)][o] = values[o * len(index) + k]
    return weights, intercepts


def train(folder, problem, columns, target, options, storage, nodes=1):
    """Trains from text, or, with a storage like "csv.hwc", from a mapped cache of it."""
    text, _, cached = storage.partition(".")
    data, model = os.path.join(folder, f"d.{text}"), os.path.join(folder, "m")
    problem.write(data, columns, target, text == "svm")
    roles = []
    if text == "csv":
        roles += ["--target", ",".join(f"y{k}" for k in range(len(problem.targets[0])))]
        roles += ["--weights", "w"] if problem.weights else []
    if cached:
        single = ["--type", "f32"] if "f32" in options else []
        subprocess.run([HAWSER, "data", "convert", data, "-q", "-o", data + ".hwc"] + roles + single, check=True, env=CLEAN, timeout=60)
        data, roles = data + ".hwc", []
    words = [HAWSER, "train", problem.algorithm, data, "-q", "--json", "-o", model] + options + roles
    if nodes > 1:
        words = [HAWSER, "run", "-n", str(nodes), "--"] + words
    done = subprocess.run(words, capture_output=True, text=True, env=CLEAN, timeout=120)
    assert done.returncode == 0, (words, done.returncode, done.stderr)
    return json.loads(done.stdout.splitlines()[-1]), read_model(model)


def check(folder, seed):
    chance = random.Random(seed)
    algorithm = chance.choice(["lasso", "lasso", "multitask", "logistic", "poisson"])
    problem = Problem(chance, algorithm)
    sparse = algorithm != "multitask" and problem.weights is None and chance.random() < 0.4
    standardize, ratio = chance.random() < 0.3, chance.choice([1.0, 1.0, 0.5, 0.0])
    options = ["--l1-ratio", str(ratio)] + ["--standardize"] * standardize
    options += chance.choice([["--lambda", "0.05"], ["--path", "0.1,0.05,0.02"], ["--path", "5", "--cv", "3"] if ratio else ["--lambda", "0.02"],
                              ["--path", "0.1,0.05", "--cv", "3"]])
    nodes = chance.choice([1, 1, 2, 3])
    options += ["--workers", str(chance.choice([1, 2, 3]) if nodes == 1 else nodes)]
    single = chance.random() < 0.25
    far = 2**24 // 2000 if single else chance.choice([10**4, 10**8, 10**10, 10**12])
    options += ["--type", "f32"] if single else []
    columns = [chance.choice([0, far, -far, far // 3]) for _ in range(COLUMNS)]
    squared = algorithm in ("lasso", "multitask")
    target = chance.choice([0, 10**12, -10**9, 12345678]) if squared else 0
    storage = ("svm" if sparse else "csv") + (".hwc" if algorithm != "multitask" and chance.random() < 0.5 else "")
    name = (seed, algorithm, options, columns, target, storage, f"{nodes} nodes")
    if single: # shifted floats have fewer digits, so the unshifted data are those that are left
        step = max(1, 2 ** max(0, math.frexp(far)[1] + 8 - 22))
        problem.rows = [[(x // step * step) or step for x in row] for row in problem.rows]
    reference, best = train(folder, problem, [0] * COLUMNS, 0, options + ["--tol", "1e-9"], storage)
    printed, model = train(folder, problem, columns, target, options, storage, nodes)
    lam = printed["lambda"]
    least = problem.objective(best, lam, ratio, [0] * COLUMNS, 0, standardize)
    reached = problem.objective(model, lam, ratio, columns, target, standardize)
    if abs(lam - reference["lambda"]) < 1e-9 * lam: # folds may choose another one where two are as good
        ulp = max(math.ulp(b) for b in model[1])
        slope = 4.0 if algorithm == "poisson" else 1.0 # of the loss near the optimum, in the intercept
        allowed = printed["gap"] + printed.get("rounding", 0) + 1e-12 + len(model[1]) * slope * (ulp * ulp + 1e-6 * ulp)
        assert reached <= least + allowed, (name, reached - least, allowed, printed)
    assert printed["gap"] <= 1e-5 * max(1.0, least), (name, printed)


def check_constant(folder):
    """Columns of equal values count for nothing; if all are so, the model is the intercept, and there is one lambda."""
    for algorithm, values, best in (("lasso", (1, 2, 4, 6, 2), 3.0), ("logistic", (1, 0, 1, 1, 0), math.log(1.5)),
                                    ("poisson", (1, 2, 4, 1, 2), math.log(2.0))):
        data, model = os.path.join(folder, "c.csv"), os.path.join(folder, "c")
        with open(data, "w") as file:
            print("y,a,b", *(f"{y},7.1,1764300000.3" for y in values * 4), sep="\n", file=file)
        for options in ([], ["--lambda", "0.1"], ["--path", "5"], ["--cv", "3"], ["--lambda", "0"], ["--standardize"]):
            words = [HAWSER, "train", algorithm, data, "-q", "--json", "-o", model] + options
            done = subprocess.run(words, capture_output=True, text=True, env=CLEAN, timeout=60)
            assert done.returncode == 0, (words, done.stderr)
            printed = json.loads(done.stdout.splitlines()[-1])
            assert printed["nonzeros"] == 0 and abs(printed["intercept"] - best) < 1e-9, (words, printed)
            assert ("one lambda" in done.stderr) == (options[:1] in (["--path"], ["--cv"])), (words, done.stderr)


def check_refused(folder):
    """Columns and targets whose values differ in the last digits alone are refused, if there is an intercept."""
    data = os.path.join(folder, "r.csv")
    for column in ("a", "y"):
        with open(data, "w") as file:
            print("y,a", file=file)
            for i in range(20):
                far = 1e15 + i % 2
                print(f"{far!r},{i}" if column == "y" else f"{i % 3},{far!r}", file=file)
        words = [HAWSER, "train", "lasso", data, "-q", "-o", os.path.join(folder, "r"), "--lambda", "0.1"]
        done = subprocess.run(words, capture_output=True, text=True, env=CLEAN, timeout=60)
        assert done.returncode == 3 and f"'{column}': the mean 1e+15" in done.stderr, done
        if column == "a":
            done = subprocess.run(words + ["--type", "f32"], capture_output=True, text=True, env=CLEAN, timeout=60)
            assert done.returncode == 3 and "equal in type f32" in done.stderr, done
            done = subprocess.run(words + ["--no-intercept"], capture_output=True, text=True, env=CLEAN, timeout=60)
            assert done.returncode == 0, done.stderr


def check_small_lambda(folder):
    """A lambda below 1e-12 of lambda_max ends as 0 does, and one of a squared penalty below 1e-20 of the columns' mean squares."""
    for algorithm, options, lambdas in (("logistic", [], ("1e-14", "1e-20", "1e-300")), ("logistic", ["--l1-ratio", "0"], ("1e-30", "1e-310")),
                                        ("lasso", ["--l1-ratio", "0"], ("1e-21", "1e-100")), ("poisson", ["--l1-ratio", "0"], ("1e-100",)),
                                        ("lasso", ["--l1-ratio", "0", "--standardize"], ("1e-100",))):
        problem = Problem(random.Random(5), algorithm)
        problem.weights = None
        reference, best = train(folder, problem, [0] * COLUMNS, 0, ["--lambda", "0"] + options, "csv")
        for lam in lambdas:
            printed, model = train(folder, problem, [0] * COLUMNS, 0, ["--lambda", lam] + options, "csv")
            assert model == best and printed["lambda"] == 0, (algorithm, options, lam, printed)
        if "0" in options:
            printed, _ = train(folder, problem, [0] * COLUMNS, 0, ["--lambda", "1e-15"] + options, "csv")
            assert printed["lambda"] == 1e-15, (algorithm, options, printed)


class Apart:
    """A problem without an intercept in decimal numbers of 60 digits, over columns that are nearly multiples of one another."""

    def __init__(self, algorithm, X, y, lam, ratio):
        self.algorithm, self.y = algorithm, [D(v) for v in y]
        self.X = [[D(v) for v in row] for row in X]
        self.l1, self.l2 = D(lam) * D(ratio), D(lam) * (1 - D(ratio))

    def parts(self, m, y):
        """The loss of a margin, and its first and second derivative."""
        if self.algorithm in ("lasso", "multitask"):
            return (m - y) ** 2 / 2, m - y, D(1)
        if self.algorithm == "poisson":
            mean = m.exp()
            return mean - y * m - (y - y * y.ln() if y else 0), mean - y, mean
        sign = 1 if y else -1
        e = (-abs(m)).exp()
        p = (1 if m > 0 else e) / (1 + e)
        return (1 + e).ln() + max(-sign * m, D(0)), p - (1 if y else 0), e / (1 + e) ** 2

    def look(self, w):
        """The objective, and the gradient and the rows' curvatures of the loss."""
        each = [self.parts(sum(a * b for a, b in zip(row, w)), y) for row, y in zip(self.X, self.y)]
        n = len(each)
        value = sum(e[0] for e in each) / n + sum(self.l1 * abs(v) + self.l2 / 2 * v * v for v in w)
        return value, [sum(e[1] * row[j] for e, row in zip(each, self.X)) / n for j in range(len(w))], [e[2] / n for e in each]

    def newton(self, w, on, slopes, bends):
        """Newton's step over the columns that are on, by elimination."""
        rows = [[sum(b * x[i] * x[j] for b, x in zip(bends, self.X)) + (self.l2 if i == j else 0) for j in on]
                + [-(slopes[i] + self.l2 * w[i] + self.l1 * (1 if w[i] > 0 else -1))] for i in on]
        for k in range(len(on)):
            rows[k] = [v / rows[k][k] for v in rows[k]]
            for other in range(len(on)):
                if other != k:
                    rows[other] = [a - rows[other][k] * b for a, b in zip(rows[other], rows[k])]
        return [row[-1] for row in rows]

    def optimum(self, w):
        """The least objective: Newton's method on active sets, from coefficients near it."""
        w, tiny = [D(v) for v in w], D("1e-30")
        for _ in range(400):
            value, slopes, bends = self.look(w)
            on = [j for j, v in enumerate(w) if v]
            step = self.newton(w, on, slopes, bends)
            share, stop = D(1), None
            for j, s in zip(on, step):
                if self.l1 and (w[j] + s) * w[j] <= 0 and -w[j] / s < share:
                    share, stop = -w[j] / s, j
            while True:
                to = list(w)
                for j, s in zip(on, step):
                    to[j] = D(0) if j == stop else w[j] + share * s
                if self.look(to)[0] <= value + tiny or share < D("1e-12"):
                    break
                share, stop = share / 2, None
            w = to
            if stop is not None or max((abs(s) for s in step), default=D(0)) > D("1e-25"):
                continue
            value, slopes, _ = self.look(w)
            beyond, j = max(((abs(g) - self.l1, j) for j, g in enumerate(slopes) if not w[j]), default=(D(-1), 0))
            if beyond <= tiny:
                return value
            w[j] = D("1e-20") * (1 if slopes[j] < 0 else -1)
        raise AssertionError("no optimum was found")


def check_without_intercept(folder, seed):
    """Without an intercept columns far from zero are nearly multiples of one another. The objective is the optimum in 60 digits, to within the gap; where
    rounding hides what a gap needs, a note names the remedy."""
    chance, rows, columns = random.Random(seed), 40, 2 + seed % 5
    algorithm = ("lasso", "logistic", "poisson", "multitask")[seed % 4]
    far, ratio, sparse = 10 ** chance.uniform(4, 8), chance.choice((0, 0.5, 1)), chance.random() < 0.4 and algorithm != "multitask"
    shifts = [chance.choice((0, far, -far, far / 7, far / 100)) for _ in range(columns - 1)] + [far]
    X = [[chance.gauss(0, 1) + shift if shift or not sparse or chance.random() < 0.3 else 0.0 for shift in shifts] for _ in range(rows)]
    signal = [sum((x - shift) * (j % 3 - 1) for j, (x, shift) in enumerate(zip(row, shifts))) for row in X]
    y = [int(s + chance.gauss(0, 1) > 0) if algorithm == "logistic" else int(math.exp(min(s / 2, 3))) if algorithm == "poisson" else
         round(s + chance.gauss(0, 0.3), 3) for s in signal]
    y[0], y[1] = 0, 1
    data = os.path.join(folder, "apart.svm" if sparse else "apart.csv")
    with open(data, "w") as file:
        if not sparse:
            print("y," + ",".join(f"x{j}" for j in range(columns)), file=file)
        for t, row in zip(y, X):
            print(t, *(f"{j + 1}:{v!r}" for j, v in enumerate(row) if v), sep=" ", file=file) if sparse else print(t, *map(repr, row), sep=",", file=file)
    words = [HAWSER, "train", algorithm, data] + (["--index-base", "1"] if sparse else ["--target", "y"])
    words += ["--no-intercept", "-q", "--json", "-o", os.path.join(folder, "apart"), "--workers", str(chance.choice((1, 3))), "--time-limit", "60"]
    most = json.loads(subprocess.run(words + ["--lambda-ratio", "1"], capture_output=True, text=True, env=CLEAN, timeout=100).stdout)["lambda_max"]
    lam = most * 10 ** chance.uniform(-8, -2)
    done = subprocess.run(words + ["--lambda", repr(lam), "--l1-ratio", str(ratio)], capture_output=True, text=True, env=CLEAN, timeout=100)
    printed = json.loads(done.stdout)
    weights, _ = read_model(os.path.join(folder, "apart"), columns)
    name = (seed, algorithm, far, ratio, lam, sparse, columns, printed["stop_reason"], printed["gap"], done.stderr)
    with decimal.localcontext(decimal.Context(prec=60)):
        apart = Apart(algorithm, X, y, lam, ratio)
        own = [D(w[0]) for w in weights]
        reached, best = apart.look(own)[0], apart.optimum(own)
        over = float(reached - best)
        noise = 2.0 ** -50 * far * sum(abs(float(w)) for w in own) # of margins
        assert abs(float(reached) - printed["objective"]) <= 1e-9 + 4 * noise, (name, float(reached), printed["objective"])
        assert over <= printed["gap"] + 4 * noise, (name, over)
        assert over <= 2e-6 * max(1.0, float(apart.look([D(0)] * columns)[0])) + 4 * noise, (name, over)
    if printed["stop_reason"] != "gap":
        assert printed["stop_reason"] in ("precision", "progress") and "subtract a number near its mean from each column" in done.stderr, name
    return printed["stop_reason"]


def check_scales(folder, seed):
    """Paths of columns that differ in scale, and are far from zero without an intercept, end at the tolerance, in at most twice the rounds of the
    standardised columns."""
    chance, rows, columns = random.Random(seed), 120, 10
    Z = [[chance.gauss(0, 1) for _ in range(columns)] for _ in range(rows)]
    scales, shifts = [10 ** chance.uniform(-6, 6) for _ in range(columns)], [chance.choice((0, 0, 1e3, 1e5, -1e6)) for _ in range(columns)]
    both = [[(z + shift) * scale for z, shift, scale in zip(row, shifts, scales)] for row in Z]
    scaled = [[z * scale for z, scale in zip(row, scales)] for row in Z]
    for algorithm, workers in (("lasso", "1"), ("lasso", "3"), ("logistic", "1"), ("poisson", "3"), ("multitask", "3")):
        means, clocks = [0.6 * (row[0] - row[1] + row[2] / 2) for row in Z], []
        y = [int(m + chance.gauss(0, 0.7) > 0) if algorithm == "logistic" else int(math.exp(min(m, 3)) + chance.random()) if algorithm == "poisson" else
             round(m + chance.gauss(0, 0.3), 4) for m in means]
        data = os.path.join(folder, "scales.csv")
        for X in (Z, scaled, both):
            with open(data, "w") as file:
                print("y," + ",".join(f"x{j}" for j in range(columns)), file=file)
                for t, row in zip(y, X):
                    print(t, *map(repr, row), sep=",", file=file)
            words = [HAWSER, "train", algorithm, data, "--target", "y", "--path", "12", "--no-intercept", "--workers", workers, "-q", "--json", "--time-limit", "60"]
            done = subprocess.run(words, capture_output=True, text=True, env=CLEAN, timeout=100)
            assert done.returncode == 0 and json.loads(done.stdout)["stop_reason"] == "gap", (seed, algorithm, workers, done)
            clocks.append(json.loads(done.stdout)["clocks"])
        assert max(clocks) <= 2 * clocks[0], (seed, algorithm, workers, clocks)


def main():
    with tempfile.TemporaryDirectory() as folder:
        check_constant(folder)
        check_refused(folder)
        check_small_lambda(folder)
        ends = [check_without_intercept(folder, seed) for seed in range(1, 121 if os.environ.get("HAWSER_TEST_LONG") else 25)]
        assert ends.count("gap") > 0.85 * len(ends), ends
        for seed in range(40 if os.environ.get("HAWSER_TEST_LONG") else 1):
            check_scales(folder, seed + 3)
        count = 400 if os.environ.get("HAWSER_TEST_LONG") else 36
        first = int(os.environ.get("HAWSER_TEST_SEED", "1"))
        for seed in some(range(first, first + count)):
            check(folder, seed)


if __name__ == "__main__":
    main()
