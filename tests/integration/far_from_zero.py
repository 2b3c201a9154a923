#!/usr/bin/env python3
"""A model with an intercept does not depend on constants that are added to columns, or to the target of a squared loss.

Data are drawn on a grid of 1/256, and shifted by whole numbers of up to 10^12 standard deviations, so that shifted numbers are exact. The objective of
the model of shifted data is computed in exact fractions, on the data without the shift, and is at most the reference's plus the gap that was printed,
its rounding, and what rounding the intercept changes."""
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


def read_model(path):
    """Coefficients, by column then by output, and intercepts."""
    tensors = {name: values for name, (_, values) in read_tensors(path).items()}
    intercepts = tensors["intercept"]
    q, index, values = len(intercepts), tensors["coefficients.index"], tensors["coefficients.value"]
    weights = [[0.0] * q for _ in range(COLUMNS)]
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


def check_without_intercept(folder, seed):
    """Without an intercept columns far from zero differ in scale and are nearly parallel. A path of them ends at its tolerance all the same."""
    chance, rows, columns = random.Random(seed), 80, 8
    shifts = [chance.choice((0, 0, 1e3, -1e5, 1e6)) for _ in range(columns)]
    data = os.path.join(folder, "apart.csv")
    with open(data, "w") as file:
        print("y," + ",".join(f"x{j}" for j in range(columns)), file=file)
        drawn = [[chance.gauss(0, 1) + shift for shift in shifts] for _ in range(rows)]
        for row in drawn:
            y = sum((x - shift) * j for j, (x, shift) in enumerate(zip(row, shifts))) * 0.1 + chance.gauss(0, 0.1)
            print(",".join(map(repr, [y] + row)), file=file)
    for workers in ("1", "2", "3"):
        words = [HAWSER, "train", "lasso", data, "--target", "y", "--no-intercept", "--path", "8", "--workers", workers, "-q", "--json", "--time-limit", "20"]
        done = subprocess.run(words, capture_output=True, text=True, env=CLEAN, timeout=60)
        assert done.returncode == 0 and json.loads(done.stdout)["stop_reason"] == "gap", (seed, workers, done)


def main():
    with tempfile.TemporaryDirectory() as folder:
        check_constant(folder)
        check_refused(folder)
        check_small_lambda(folder)
        for seed in range(1 if os.environ.get("HAWSER_TEST_LONG") else 30, 35):
            check_without_intercept(folder, seed)
        count = 400 if os.environ.get("HAWSER_TEST_LONG") else 36
        first = int(os.environ.get("HAWSER_TEST_SEED", "1"))
        for seed in some(range(first, first + count)):
            check(folder, seed)


if __name__ == "__main__":
    main()
