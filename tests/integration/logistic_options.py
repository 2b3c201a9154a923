#!/usr/bin/env python3
"""Random draws over the options of `hawser train logistic`, through the command: what lasso_options.py draws, and labels, class weights,
--C. What is saved is held against Newton's method with coordinate descent in plain Python, which shares nothing with Hawser but the
formula: the printed objective is that of the saved model, the distance to the reference's point is within the printed gap, no
coefficient alone can lower the objective by more than that, bounds hold, the intercept is the best one; probabilities, labels and
all that evaluate prints are computed again.

logistic_options.py [DRAWS [FIRST]] repeats draws by number; HAWSER_TEST_LONG runs more."""
import json
import math
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from lasso_options import HAWSER, Problem, hawser, read_dense  # noqa: E402
import draws  # noqa: E402


def log_loss(x):
    return math.log1p(math.exp(-x)) if x >= 0 else -x + math.log1p(math.exp(x))


def probability(x):
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


class Logistic(Problem):
    """sum c_i log(1 + exp(-y_i (x_i w + b + o_i))) / sum c_i + the lasso's penalty; c is example weight times class weight."""

    def __init__(self, chance):
        self.chance = chance
        super().__init__(chance)

    def prepare(self):
        chance, n = self.chance, self.n
        middle = sorted(self.y)[n // 2] + 0.5 * chance.gauss(0, 1)
        self.labels = chance.choice([(-1, 1), (0, 1), (1, 2), (-2.5, 7)])
        self.sign = [1 if y + chance.choice([0, 0, 2]) * chance.gauss(0, 1) > middle else -1 for y in self.y]
        used = [i for i in range(n) if not self.weights or self.weights[i] > 0]
        self.sign[used[0]], self.sign[used[1]] = 1, -1
        self.y = [self.labels[s > 0] for s in self.sign]
        self.own = list(self.weights) if self.weights else [1.0] * n
        self.class_weight, cw = chance.choice([(None, (1, 1)), (None, (1, 1)), ("balanced", None), ("1:3", (1, 3)), ("0.5:0.1", (0.5, 0.1))])
        if self.class_weight == "balanced":
            sums = [math.fsum(c for c, s in zip(self.own, self.sign) if s == side) for side in (-1, 1)]
            cw = [math.fsum(sums) / (2 * v) for v in sums]
        self.class_weights = cw
        examples, self.weights = self.weights, [c * cw[s > 0] for c, s in zip(self.own, self.sign)]
        super().prepare()  # means and deviations by the weights that count
        self.weights = examples
        self.o = self.offset or [0.0] * n
        self.zero = self.objective([0.0] * self.p, self.best_intercept([0.0] * n), 0.0)

    def margins(self, w):
        return [o + math.fsum(v * c for v, c in zip(row, w) if c) for o, row in zip(self.o, self.x)]

    def tilt(self, m, b):
        return math.fsum(s * y * probability(-y * (v + b)) for s, y, v in zip(self.s, self.sign, m))

    def best_intercept(self, image):
        if not self.intercept:
            return 0.0
        m = [o + v for o, v in zip(self.o, image)]
        low, high = -1.0, 1.0
        while self.tilt(m, low) < 0:
            low *= 2
        while self.tilt(m, high) > 0:
            high *= 2
        for _ in range(200):
            b = (low + high) / 2
            low, high = (b, high) if self.tilt(m, b) > 0 else (low, b)
        return (low + high) / 2

    def objective(self, w, b, lam):
        loss = math.fsum(s * log_loss(y * (v + b)) for s, y, v in zip(self.s, self.sign, self.margins(w)))
        terms = [self.penalty(j, lam) for j in range(self.p)]
        return loss + math.fsum(a * abs(v) + c / 2 * v * v for (a, c), v in zip(terms, w))

    def solve(self, lam, steps=60):
        """Newton's method: quadratic models, coordinate descent on their Gram matrix, and halving."""
        n, p = self.n, self.p
        w, b = [0.0] * p, self.best_intercept([0.0] * n)
        value = self.objective(w, b, lam)
        for _ in range(steps):
            m = self.margins(w)
            q = [probability(-y * (v + b)) for y, v in zip(self.sign, m)]
            curve = [s * max(v * (1 - v), 1e-5 * v) for s, v in zip(self.s, q)]
            pull = [s * y * v for s, y, v in zip(self.s, self.sign, q)]
            total = math.fsum(curve) or 1.0
            mean = [math.fsum(c * row[j] for c, row in zip(curve, self.x)) / total if self.intercept else 0.0 for j in range(p)]
            xc = [[v - u for v, u in zip(row, mean)] for row in self.x]
            H = [[math.fsum(c * r[j] * r[k] for c, r in zip(curve, xc)) for k in range(p)] for j in range(p)]
            g = [math.fsum(u * r[j] for u, r in zip(pull, xc)) for j in range(p)]
            new = list(w)
            for _ in range(400):
                moved = 0.0
                for j in range(p):
                    l1, l2 = self.penalty(j, lam)
                    if H[j][j] + l2 <= 1e-300:
                        continue
                    inner = g[j] + H[j][j] * new[j]
                    t = math.copysign(max(0.0, abs(inner) - l1), inner) / (H[j][j] + l2)
                    t = min(max(t, self.lower[j]), self.upper[j])
                    step = t - new[j]
                    if step:
                        new[j] = t
                        for k in range(p):
                            g[k] -= H[j][k] * step
                        moved = max(moved, step * step * H[j][j])
                if moved <= 1e-22 * self.zero:
                    break
            share, before = 1.0, value
            while share > 1e-9:
                there = [u + share * (v - u) for u, v in zip(w, new)]
                image = [math.fsum(v * c for v, c in zip(row, there) if c) for row in self.x]
                there_b = self.best_intercept(image)
                value = self.objective(there, there_b, lam)
                if value < before:
                    w, b = there, there_b
                    break
                share /= 2
            if value >= before - 1e-13 * self.zero:
                break
        return self.objective(w, b, lam)

    def training(self):
        return super().training() + (["--class-weight", self.class_weight] if self.class_weight else [])


def alone(problem, w, b, lam, objective):
    """Returns the most that one coefficient alone can gain, with a fixed intercept."""
    most = 0.0
    m = [v + b for v in problem.margins(w)]
    for j in range(problem.p):
        l1, l2 = problem.penalty(j, lam)
        q = [probability(-y * v) for y, v in zip(problem.sign, m)]
        g = math.fsum(s * y * v * row[j] for s, y, v, row in zip(problem.s, problem.sign, q, problem.x))
        h = math.fsum(s * v * (1 - v) * row[j] ** 2 for s, v, row in zip(problem.s, q, problem.x)) + l2
        if h <= 1e-12:
            continue
        inner = g - l2 * w[j] + h * w[j]
        t = min(max(math.copysign(max(0.0, abs(inner) - l1), inner) / h, problem.lower[j]), problem.upper[j])
        for share in (1, 0.5, 0.1, 0.01):
            step = share * (t - w[j])
            loss = math.fsum(s * (log_loss(y * (v + step * row[j])) - log_loss(y * v))
                             for s, y, v, row in zip(problem.s, problem.sign, m, problem.x))
            most = max(most, -(loss + l1 * (abs(w[j] + step) - abs(w[j])) + l2 / 2 * ((w[j] + step) ** 2 - w[j] ** 2)))
    return most


def check(number, chance):
    problem = Logistic(chance)
    if problem.write() != problem.p:
        return "narrow"
    free = problem.factors and min(problem.factors) == 0
    words = problem.options() + problem.training()
    kind = chance.choice(["C", "lambda", "ratio"] if problem.rho > 0 else ["C", "lambda"])
    size = max(max(abs(v) for v in row) for row in problem.x) or 1.0
    if kind == "C":
        cost = 10 ** chance.uniform(-2, 2) / size
        words += ["--C", "%.17g" % cost]
    elif kind == "lambda":
        lam = size * 10 ** chance.uniform(-4, -0.5)
        words += ["--lambda", "%.17g" % lam]
    else:
        words += ["--lambda-ratio", "%.17g" % 10 ** chance.uniform(-3, 0.2)]
    tolerance = chance.choice([1e-5, 1e-7, 1e-9])
    words += ["--tol", "%g" % tolerance, "--workers", str(chance.randint(1, 4)), "--sync", chance.choice(["bsp", "bsp", "ssp:1", "ssp:3", "tap"]),
              "--seed", str(number), "--merge", chance.choice(["add", "add", "add", "average"]), "--time-limit", "5"]
    say = [number, "n %d p %d" % (problem.n, problem.p), " ".join(words)]
    printed = json.loads(hawser("train", "logistic", *words, "--quiet", "--json", "-o", "model").splitlines()[-1])
    # Averaging and stale rounds are slow where columns are alike and the penalty is small; what they print is true.
    slow = printed["stop_reason"] == "time-limit" and ("average" in words or "bsp" not in words)
    assert slow or printed["stop_reason"] in ("gap", "precision"), (say, printed["stop_reason"])
    lam_printed = printed["lambda"]
    if kind == "C":
        assert abs(lam_printed * cost * problem.total - 1) < 1e-12, (say, lam_printed)
    elif kind == "lambda":
        assert lam_printed == lam, (say, lam_printed)
    lam = lam_printed
    w, b = read_dense("model", problem.p)
    gap, slack = printed["gap"], 1e-10 * problem.zero
    objective = problem.objective(w, b, lam)
    assert abs(printed["objective"] - objective) <= slack, (say, printed["objective"], objective)
    assert printed["nonzeros"] == sum(v != 0 for v in w), say
    assert all(low <= v <= high for low, v, high in zip(problem.lower, w, problem.upper)), (say, w)
    tilt = problem.tilt(problem.margins(w), b)
    assert b == 0 if not problem.intercept else abs(tilt) <= 1e-7, (say, b, tilt)
    assert 0 <= gap and (slow or printed["stop_reason"] == "precision" or gap <= tolerance * problem.zero * 1.000001), (say, gap)
    # Without a penalty a column may separate the classes: there is no best point then, and none near it either.
    assert slow or free or gap <= 1e-5 * problem.zero * 1.000001, (say, "the gap stays large", gap)
    most = alone(problem, w, b, lam, objective)
    assert most <= gap + slack, (say, "one coefficient alone lowers the objective by %g, gap %g" % (most, gap))
    best = problem.solve(lam)
    assert objective - best <= gap + slack, (say, "objective %.12g, reference %.12g, gap %g" % (objective, best, gap))
    if kind == "ratio" and lam >= printed["lambda_max"] * 1.000001:
        assert not any(v for j, v in enumerate(w) if problem.penalty(j, 1.0)[0] > 0), say
    follow(problem, w, b, printed, say)
    return "slow" if slow else "checked"


def follow(problem, w, b, printed, say):
    """Checks what follows a training: probabilities, labels, and evaluate's figures."""
    options = problem.options()
    margins = [v + b for v in problem.margins(w)]
    predictions = [float(v) for v in hawser("predict", "model", *options, "--quiet").split()]
    assert all(abs(p - probability(v)) <= 1e-9 for p, v in zip(predictions, margins)), say
    said = [float(v) for v in hawser("predict", "model", *options, "--quiet", "--labels").split()]
    assert len(said) == problem.n, say
    assert all(p == problem.labels[v > 0] or abs(v) < 1e-9 for p, v in zip(said, margins)), say
    measured = json.loads(hawser("evaluate", "model", *options, "--json", "--quiet"))
    c, rows = problem.own, range(problem.n)
    total = math.fsum(c)
    loss = math.fsum(c[i] * log_loss(problem.sign[i] * margins[i]) for i in rows) / total
    assert abs(measured["log_loss"] - loss) <= 1e-9 * (1 + loss), (say, measured, loss)
    assert abs(measured["objective"] - printed["objective"]) <= 1e-9 * problem.zero, (say, measured, printed["objective"])
    if min(abs(v) for v in margins) > 1e-9:
        right = math.fsum(c[i] for i in rows if (margins[i] > 0) == (problem.sign[i] > 0)) / total
        assert abs(measured["accuracy"] - right) <= 1e-12, (say, measured, right)
    pairs = [(c[i] * c[k], margins[i] - margins[k]) for i in rows if problem.sign[i] > 0 for k in rows if problem.sign[k] < 0]
    if all(abs(d) > 1e-9 for _, d in pairs):
        area = math.fsum(v for v, d in pairs if d > 0) / math.fsum(v for v, _ in pairs)
        assert abs(measured["auc"] - area) <= 1e-9, (say, measured, area)


if __name__ == "__main__":
    sys.exit(draws.run(check, HAWSER, 150, 2000))
