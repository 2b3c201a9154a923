#!/usr/bin/env python3
"""Random draws over the lasso's options, through the command: example weights (zeros too), offset, standardize, no intercept, penalty
factors (zeros too), lower and upper bounds, l1-ratio, lambda and lambda-ratio, init, workers and sync, on dense and sparse input,
n > p and p > n. What is saved is held against coordinate descent in plain Python, which shares nothing with Hawser but the formula:
the printed objective is that of the saved model, the distance to the reference's optimum is within the printed gap, no coefficient
alone can lower the objective by more than that, bounds hold, the intercept is the best one, predict and evaluate agree.

lasso_options.py [DRAWS [FIRST]] repeats draws by number; HAWSER_TEST_LONG runs more."""
import json
import math
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["HAWSER_SOURCE"], "tests", "helpers"))
import draws  # noqa: E402
from certificate import read_model  # noqa: E402
from command import CLEAN, HAWSER  # noqa: E402

INF = math.inf


def hawser(*words):
    out = subprocess.run([HAWSER, *words], capture_output=True, text=True, env=CLEAN, timeout=60)
    assert out.returncode == 0, (out.returncode, out.stderr)
    return out.stdout


def read_dense(path, columns):
    found, intercept = read_model(path)
    return [found.get(j, 0.0) for j in range(columns)], intercept


class Problem:
    """1/(2W) sum s_i (y_i - o_i - b - x_i w)^2 + lambda sum_j p_j (rho d_j |w_j| + (1 - rho)/2 d_j^2 w_j^2), lower <= w <= upper."""

    def __init__(self, chance):
        self.sparse = chance.random() < 0.5
        n, p = (chance.randint(12, 50), chance.randint(1, 10)) if chance.random() < 0.5 else (chance.randint(5, 14), chance.randint(10, 30))
        self.n, self.p = n, p
        common = [chance.gauss(0, 1) for _ in range(n)]
        scales = [10 ** chance.uniform(-1, 1) for _ in range(p)]
        shift = chance.choice([0, 0, 2])
        density = 0.4 if self.sparse else 1
        self.x = [[scales[j] * (chance.gauss(0, 1) + shift + common[i]) if chance.random() < density else 0.0 for j in range(p)]
                  for i in range(n)]
        if chance.random() < 0.2:  # a column that is the same everywhere
            j, value = chance.randrange(p), chance.choice([0.0, 1.0, 2.5])
            for row in self.x:
                row[j] = value
        if p > 2 and chance.random() < 0.2:  # two alike
            for row in self.x:
                row[1] = row[0]
        truth = [chance.gauss(0, 1) / scales[j] if chance.random() < 0.4 else 0.0 for j in range(p)]
        self.y = [chance.uniform(0, 3) + 0.3 * chance.gauss(0, 1) + sum(v * w for v, w in zip(row, truth)) for row in self.x]
        self.intercept = chance.random() < 0.65
        self.standardize = chance.random() < 0.4
        self.weights = [chance.choice([0.0, 1.0, 0.5, chance.uniform(0.1, 4)]) for _ in range(n)] if chance.random() < 0.5 else None
        if self.weights and sum(v > 0 for v in self.weights) < 3:
            self.weights[:3] = [1.0, 2.0, 0.25]
        self.offset = [chance.gauss(0, 1) for _ in range(n)] if chance.random() < 0.4 else None
        self.rho = chance.choice([1.0, 1.0, 0.5, 0.9, chance.uniform(0.05, 1), 0.0])
        self.bounds(chance)
        self.factors = None
        if chance.random() < 0.4:
            free = chance.choice([0.0, 0.0, 0.7])
            self.factors = [chance.choice([free, 1.0, 0.3, chance.uniform(0.1, 5)]) for _ in range(p)]
        self.prepare()

    def bounds(self, chance):
        """Text of --lower and --upper besides the bounds themselves: one number, or a file."""
        self.lower, self.upper = [-INF] * self.p, [INF] * self.p
        self.lower_text = self.upper_text = None
        kind = chance.choice(["none", "none", "positive", "negative", "both", "files"])
        if kind in ("positive", "both"):
            self.lower_text = "0" if kind == "positive" else "%g" % -chance.uniform(0, 0.5)
            self.lower = [float(self.lower_text)] * self.p
        if kind in ("negative", "both"):
            self.upper_text = "0" if kind == "negative" else "%g" % chance.uniform(0, 0.5)
            self.upper = [float(self.upper_text)] * self.p
        if kind == "files":
            self.lower = [chance.choice([0.0, -INF, -chance.uniform(0, 1)]) for _ in range(self.p)]
            self.upper = [chance.choice([0.0, INF, chance.uniform(0, 1)]) for _ in range(self.p)]
            self.lower_text, self.upper_text = "lower.txt", "upper.txt"

    def prepare(self):
        n, p = self.n, self.p
        s = self.weights or [1.0] * n
        self.total = math.fsum(s)
        self.s = [v / self.total for v in s]
        z = [y - (self.offset[i] if self.offset else 0.0) for i, y in enumerate(self.y)]
        mean = [math.fsum(self.s[i] * self.x[i][j] for i in range(n)) for j in range(p)]
        self.deviation = []
        for j in range(p):
            same = len({self.x[i][j] for i in range(n) if self.s[i] > 0}) == 1
            variance = math.fsum(self.s[i] * (self.x[i][j] - mean[j]) ** 2 for i in range(n))
            self.deviation.append(math.sqrt(variance) if self.standardize and not same else 1.0)
        middle = math.fsum(self.s[i] * z[i] for i in range(n)) if self.intercept else 0.0
        self.mean = mean if self.intercept else [0.0] * p
        self.middle = middle
        self.z = [v - middle for v in z]
        self.xc = [[self.x[i][j] - self.mean[j] for j in range(p)] for i in range(n)]
        gram = lambda j, k: math.fsum(self.s[i] * self.xc[i][j] * self.xc[i][k] for i in range(n))
        self.gram = [[gram(j, k) for k in range(p)] for j in range(p)]
        self.pull = [math.fsum(self.s[i] * self.xc[i][j] * self.z[i] for i in range(n)) for j in range(p)]
        self.zero = math.fsum(self.s[i] * self.z[i] ** 2 for i in range(n)) / 2
        # A constant column has no effect beside an intercept.
        for j in range(p):
            if self.intercept and len({self.x[i][j] for i in range(n) if self.s[i] > 0}) == 1:
                for k in range(p):
                    self.gram[j][k] = self.gram[k][j] = 0.0
                self.pull[j] = 0.0

    def penalty(self, j, lam):
        factor = self.factors[j] if self.factors else 1.0
        return lam * factor * self.rho * self.deviation[j], lam * factor * (1 - self.rho) * self.deviation[j] ** 2

    def objective(self, w, b, lam):
        rows = range(self.n)
        r = [self.y[i] - (self.offset[i] if self.offset else 0.0) - b - math.fsum(v * c for v, c in zip(self.x[i], w)) for i in rows]
        loss = math.fsum(self.s[i] * r[i] ** 2 for i in rows) / 2
        terms = [self.penalty(j, lam) for j in range(self.p)]
        return loss + math.fsum(a * abs(v) + c / 2 * v * v for (a, c), v in zip(terms, w)), math.fsum(self.s[i] * r[i] for i in rows)

    def best(self, j, pull, lam):
        """The best value of one coefficient, given the correlation with the residual that leaves it out."""
        l1, l2 = self.penalty(j, lam)
        scale = self.gram[j][j] + l2
        if scale <= 0:
            return 0.0
        t = math.copysign(max(0.0, abs(pull) - l1), pull) / scale
        return min(max(t, self.lower[j]), self.upper[j])

    def fall(self, j, pull, lam, t):
        """Returns the fall of the objective when coefficient j moves from t to its best value."""
        l1, l2 = self.penalty(j, lam)
        value = lambda u: (self.gram[j][j] + l2) / 2 * u * u - pull * u + l1 * abs(u)
        return value(t) - value(self.best(j, pull, lam))

    def correlation(self, w, j):
        return self.pull[j] - math.fsum(g * v for g, v in zip(self.gram[j], w))

    def solve(self, lam, sweeps=4000, free_only=False):
        w = [0.0] * self.p
        c = list(self.pull)
        for _ in range(sweeps):
            moved = 0.0
            for j in range(self.p):
                if free_only and self.factors[j] > 0:
                    continue
                t = self.best(j, c[j] + self.gram[j][j] * w[j], lam)
                step = t - w[j]
                if step:
                    w[j] = t
                    for k, g in enumerate(self.gram[j]):
                        c[k] -= step * g
                    moved = max(moved, step * step * self.gram[j][j])
            if moved <= 1e-24 * self.zero:
                break
        return w

    def lambda_max(self):
        """Returns the lambda above which no penalised coefficient moves from zero."""
        free = self.factors and min(self.factors) == 0
        w = self.solve(0.0, 20000, True) if free else [0.0] * self.p
        most = 0.0
        for j in range(self.p):
            l1 = self.penalty(j, 1.0)[0]
            c = self.correlation(w, j)
            if l1 > 0 and (self.upper[j] > 0 if c > 0 else self.lower[j] < 0):
                most = max(most, abs(c) / l1)
        return most

    def write(self):
        if self.sparse:
            with open("data.svm", "w") as file:
                for y, row in zip(self.y, self.x):
                    file.write("%.17g %s\n" % (y, " ".join("%d:%.17g" % (j + 1, v) for j, v in enumerate(row) if v)))
            side = {"weights.txt": self.weights, "offset.txt": self.offset}
        else:
            with open("data.csv", "w") as file:
                names = ["y"] + ["x%d" % j for j in range(self.p)] + ["s"] * bool(self.weights) + ["o"] * bool(self.offset)
                file.write(",".join(names) + "\n")
                for i in range(self.n):
                    extra = [self.weights[i]] if self.weights else []
                    extra += [self.offset[i]] if self.offset else []
                    file.write(",".join("%.17g" % v for v in [self.y[i], *self.x[i], *extra]) + "\n")
            side = {}
        side["factors.txt"] = self.factors
        side["lower.txt"], side["upper.txt"] = self.lower, self.upper
        for name, values in side.items():
            if values is not None:
                with open(name, "w") as file:
                    file.write("".join("%.17g\n" % v for v in values))
        counted = [row for i, row in enumerate(self.x) if not self.weights or self.weights[i] > 0]
        used = max([j + 1 for row in counted for j, v in enumerate(row) if v], default=0) if self.sparse else self.p
        return used

    def options(self):
        words = ["data.svm", "--index-base", "1"] if self.sparse else ["data.csv"]
        if self.weights:
            words += ["--weights", "weights.txt" if self.sparse else "s"]
        if self.offset:
            words += ["--offset", "offset.txt" if self.sparse else "o"]
        return words

    def training(self):
        words = ["--l1-ratio", "%.17g" % self.rho]
        words += [] if self.intercept else ["--no-intercept"]
        words += ["--standardize"] if self.standardize else []
        words += ["--lower=" + self.lower_text] if self.lower_text else []
        words += ["--upper=" + self.upper_text] if self.upper_text else []
        words += ["--penalty-factors", "factors.txt"] if self.factors else []
        return words


def check(number, chance):
    problem = Problem(chance)
    if problem.write() != problem.p:
        return "narrow"
    if problem.zero == 0:
        return "left out"
    most = problem.lambda_max() if problem.rho > 0 else 0.0
    words = problem.options() + problem.training()
    if problem.rho == 0 or (most > 0 and chance.random() < 0.5):
        lam = (most or 1.0) * 10 ** chance.uniform(-3, 0.2)
        if chance.random() < 0.1 and all((low == -INF) == (high == INF) for low, high in zip(problem.lower, problem.upper)):
            lam = 0.0
        words += ["--lambda", "%.17g" % lam]
    else:
        ratio = 10 ** chance.uniform(-3, 0.2)
        words += ["--lambda-ratio", "%.17g" % ratio]
        lam = ratio * most
    tolerance = chance.choice([1e-5, 1e-8, 1e-10])
    words += ["--tol", "%g" % tolerance, "--workers", str(chance.randint(1, 4)), "--sync", chance.choice(["bsp", "ssp:1", "ssp:3", "tap"]),
              "--seed", str(number), "--merge", chance.choice(["add", "add", "average"]), "--solver", chance.choice(["working-set"] * 3 + ["cd"]),
              "--time-limit", "5"]
    say = [number, "n %d p %d" % (problem.n, problem.p), " ".join(words)]
    printed = json.loads(hawser("train", "lasso", *words, "--quiet", "--json", "-o", "model").splitlines()[-1])
    # Plain descent, averaging and stale rounds are slow where columns are alike and the penalty is small; what they print is true.
    slow = printed["stop_reason"] == "time-limit" and ("cd" in words or "average" in words or "bsp" not in words)
    assert slow or printed["stop_reason"] in ("gap", "precision"), (say, printed["stop_reason"])
    largest = max(map(abs, problem.pull))
    assert abs(printed["lambda"] - lam) <= 1e-9 * (lam + 1e-2 * largest), (say, printed["lambda"], lam)
    lam = printed["lambda"]
    w, b = read_dense("model", problem.p)
    gap, slack = printed["gap"], 1e-10 * problem.zero
    objective, tilt = problem.objective(w, b, lam)
    assert abs(printed["objective"] - objective) <= slack, (say, printed["objective"], objective)
    assert printed["nonzeros"] == sum(v != 0 for v in w), say
    assert all(low <= v <= high for low, v, high in zip(problem.lower, w, problem.upper)), (say, w)
    if problem.intercept:
        assert abs(tilt) <= 1e-7 * math.sqrt(2 * problem.zero), (say, tilt)
    else:
        assert b == 0, (say, b)
    assert 0 <= gap and (slow or printed["stop_reason"] == "precision" or gap <= tolerance * problem.zero * 1.000001), (say, gap)
    assert slow or gap <= 1e-5 * problem.zero * 1.000001, (say, "the gap stays large", gap)
    for j in range(problem.p):
        fall = problem.fall(j, problem.correlation(w, j) + problem.gram[j][j] * w[j], lam, w[j])
        assert fall <= gap + slack, (say, "column %d alone lowers the objective by %g, gap %g" % (j, fall, gap))
    reference = problem.solve(lam)
    best_b = problem.middle - math.fsum(m * v for m, v in zip(problem.mean, reference))
    best, _ = problem.objective(reference, best_b, lam)
    assert objective - best <= gap + slack, (say, "objective %.12g, reference %.12g, gap %g" % (objective, best, gap))
    follow(problem, chance, words, w, b, printed, say)
    return "slow" if slow else "checked"


def follow(problem, chance, words, w, b, printed, say):
    """Checks predict, evaluate, and a second training from this model."""
    rows = range(problem.n)
    options = problem.options()
    predictions = [float(v) for v in hawser("predict", "model", *options, "--quiet").split()]
    expected = [b + math.fsum(v * c for v, c in zip(problem.x[i], w)) + (problem.offset[i] if problem.offset else 0.0) for i in rows]
    size = 1 + max(abs(v) for v in expected)
    assert len(predictions) == problem.n, say
    assert all(abs(p - q) <= 1e-9 * size for p, q in zip(predictions, expected)), (say, predictions, expected)
    measured = json.loads(hawser("evaluate", "model", *options, "--json", "--quiet"))
    mse = math.fsum(problem.s[i] * (problem.y[i] - expected[i]) ** 2 for i in rows)
    assert abs(measured["mse"] - mse) <= 1e-9 * (mse + problem.zero), (say, measured, mse)
    assert abs(measured["objective"] - printed["objective"]) <= 1e-9 * problem.zero, (say, measured, printed["objective"])
    # From another model, the same optimum; the first line of the trace is the objective of that model, not that of zero.
    lam = printed["lambda"]
    words = list(words)
    for key in ("--lambda", "--lambda-ratio"):
        if key in words:
            at = words.index(key)
            words[at:at + 2] = ["--lambda", "%.17g" % (lam * 0.5)]
    again = json.loads(hawser("train", "lasso", *words, "--quiet", "--json", "--init", "model", "-o", "second", "--trace",
                              "trace").splitlines()[-1])
    second, second_b = read_dense("second", problem.p)
    objective, _ = problem.objective(second, second_b, lam * 0.5)
    reference = problem.solve(lam * 0.5)
    best, _ = problem.objective(reference, problem.middle - math.fsum(m * v for m, v in zip(problem.mean, reference)), lam * 0.5)
    slack = 1e-10 * problem.zero
    assert abs(again["objective"] - objective) <= slack, (say, "init", again["objective"], objective)
    assert objective - best <= again["gap"] + slack, (say, "init", objective, best, again["gap"])
    start, _ = problem.objective(w, b, lam * 0.5)
    with open("trace") as file:
        first = next((line.split(",")[2] for line in file if line[0].isdigit() and line.split(",")[2]), None)
    assert first is not None and abs(float(first) - start) <= 1e-9 * problem.zero, (say, "init begins at", first, start)


if __name__ == "__main__":
    sys.exit(draws.run(check, HAWSER, 180, 3000))
