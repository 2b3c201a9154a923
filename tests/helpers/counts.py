"""Poisson regression with penalties, bounds, weights and offsets in plain Python: draws problems, minimises them by proximal Newton steps, and
computes a certificate from coefficients. It shares nothing with Hawser but the formulas."""
import math


class Problem:
    """Rows (lists of numbers), counts, offsets and weights; a penalty by column; intercept or not."""

    def __init__(self, rows, counts, offset=None, weights=None, lam=0.1, ratio=1.0, factor=None, lower=None, upper=None, intercept=True,
                 standardize=False):
        n, p = len(rows), len(rows[0])
        self.rows, self.counts, self.n, self.p = rows, counts, n, p
        self.offset = offset or [0.0] * n
        self.weights = weights or [1.0] * n
        self.total = math.fsum(self.weights)
        self.factor = factor or [1.0] * p
        self.lower, self.upper = lower or [-math.inf] * p, upper or [math.inf] * p
        self.lam, self.ratio, self.intercept, self.standardize = lam, ratio, intercept, standardize
        self.scale = None

    def terms(self):
        """The L1 and the squared part of each column's penalty, by its standard deviation if columns count alike."""
        if self.standardize and self.scale is None:
            self.scale = [self.deviation([row[j] for row in self.rows]) for j in range(self.p)]
        scale = self.scale if self.standardize else [1.0] * self.p
        return ([self.lam * self.ratio * f * s for f, s in zip(self.factor, scale)],
                [self.lam * (1 - self.ratio) * f * s * s for f, s in zip(self.factor, scale)])

    def deviation(self, column):
        mean = math.fsum(c * x for c, x in zip(self.weights, column)) / self.total
        deviation = math.sqrt(math.fsum(c * (x - mean) ** 2 for c, x in zip(self.weights, column)) / self.total)
        return deviation if deviation > 1e-15 * abs(mean) else 1.0

    def margins(self, w, b):
        return [b + o + math.fsum(x * v for x, v in zip(row, w)) for row, o in zip(self.rows, self.offset)]

    def loss(self, margins):
        return math.fsum(c * half_deviance(y, m) for c, y, m in zip(self.weights, self.counts, margins)) / self.total

    def penalty(self, w):
        return math.fsum(a * abs(v) + h / 2 * v * v for a, h, v in zip(*self.terms(), w))

    def objective(self, w, b):
        return self.loss(self.margins(w, b)) + self.penalty(w)

    def best_intercept(self, margins):
        """The intercept to add to these margins."""
        if not self.intercept:
            return 0.0
        most = max(margins)
        means = math.fsum(c * math.exp(m - most) for c, m in zip(self.weights, margins))
        return math.log(math.fsum(c * y for c, y in zip(self.weights, self.counts))) - math.log(means) - most

    def zero(self):
        return self.loss([o + self.best_intercept(self.offset) for o in self.offset])


def measure(target, columns, w, b, lam, ratio, intercept):
    """Objective, None and objective at zero of a model; columns have lists of (row, value)."""
    rows = [[0.0] * (max(columns) + 1) for _ in target]
    for j, column in columns.items():
        for i, x in column:
            rows[i][j] = x
    problem = Problem(rows, target, lam=lam, ratio=ratio, intercept=intercept)
    return problem.objective([w.get(j, 0.0) for j in range(problem.p)], b), None, problem.zero()


def half_deviance(y, m):
    if m > 700:
        return math.inf
    if y == 0:
        return math.exp(m)
    d = m - math.log(y)
    return y * (math.expm1(d) - d) if abs(d) > 1e-5 else y * d * d / 2 * (1 + d / 3)


def solve(problem, steps=200, passes=400):
    """Minimises by models of the objective, solved by coordinate descent, with a line search. The intercept is a coordinate without a penalty."""
    p = problem
    w, b = [0.0] * p.p, p.best_intercept(p.offset)
    value = p.objective(w, b)
    for _ in range(steps):
        margins = p.margins(w, b)
        means = [math.exp(min(m, 700.0)) for m in margins]
        bend = [c * max(m, 1e-3 * abs(y - m)) / p.total for c, m, y in zip(p.weights, means, p.counts)]
        slope = [c * (y - m) / p.total for c, m, y in zip(p.weights, means, p.counts)]
        to, at = model_minimum(p, w, b, bend, slope, passes)
        step, moved = 1.0, False
        while step > 1e-10:
            new = [v + step * (t - v) for v, t in zip(w, to)]
            other = b + step * (at - b)
            there = p.objective(new, other)
            if there < value:
                moved = value - there > 1e-15 * value
                w, b, value = new, other, there
                break
            step /= 2
        if not moved:
            break
    return w, b, value


def model_minimum(p, w, b, bend, slope, passes):
    to, at = list(w), b
    left = list(slope)  # the model's slope by row at (to, at)
    curve = [math.fsum(h * row[j] * row[j] for h, row in zip(bend, p.rows)) for j in range(p.p)]
    total = math.fsum(bend)
    l1, l2 = p.terms()
    for _ in range(passes):
        most = 0.0
        if p.intercept and total > 0:
            change = math.fsum(left) / total
            at += change
            left = [r - h * change for r, h in zip(left, bend)]
            most = abs(change)
        for j in range(p.p):
            pull = curve[j] * to[j] + math.fsum(r * row[j] for r, row in zip(left, p.rows))
            shrunk = math.copysign(max(abs(pull) - l1[j], 0.0), pull)
            new = shrunk / (curve[j] + l2[j]) if curve[j] + l2[j] > 0 else 0.0
            new = min(max(new, p.lower[j]), p.upper[j])
            if new != to[j]:
                left = [r - h * row[j] * (new - to[j]) for r, h, row in zip(left, bend, p.rows)]
                most = max(most, abs(new - to[j]) * math.sqrt(curve[j]))
                to[j] = new
        if most < 1e-13:
            break
    return to, at


def gap(problem, w, b):
    """Duality gap at the residuals of coefficients, for problems without bounds and with a penalty on every column."""
    p = problem
    margins = p.margins(w, b)
    means = [math.exp(m) for m in margins]
    if p.intercept:
        all_counts = math.fsum(c * y for c, y in zip(p.weights, p.counts))
        share = all_counts / math.fsum(c * m for c, m in zip(p.weights, means))
        assert abs(share - 1) < 1e-9, "the intercept is not the best one"
        means = [m * share for m in means]
    residual = [y - m for y, m in zip(p.counts, means)]
    pulls = [math.fsum(c * r * row[j] for c, r, row in zip(p.weights, residual, p.rows)) / p.total for j in range(p.p)]
    l1, l2 = p.terms()

    def dual(scale):
        conjugate = math.fsum(max(abs(scale * g) - a, 0.0) ** 2 / (2 * h) for g, a, h in zip(pulls, l1, l2) if h > 0)
        rows = []
        for c, y, r, o in zip(p.weights, p.counts, residual, p.offset):
            t = y - scale * r
            if t <= 0 < y:
                rows.append(c * (y + scale * r * (o + (b if p.intercept else 0.0))))
            elif c > 0:
                rows.append(c * ((t * math.log(t) - y * math.log(y) if y > 0 else t * math.log(t) if t > 0 else 0.0) - t + y +
                                 scale * r * (o + (b if p.intercept else 0.0))))
        return -math.fsum(rows) / p.total - conjugate

    worst = max([abs(g) / a for g, a, h in zip(pulls, l1, l2) if h == 0] or [0.0])
    scales = [1 / max(worst, 1.0)] if p.ratio == 1 else [1.0]
    return p.objective(w, b) - max(dual(scale) for scale in scales)


def draw_count(chance, mean):
    """A Poisson count; for a large mean, the rounded normal one."""
    if mean > 50:
        return float(max(0, round(mean + math.sqrt(mean) * chance.gauss(0, 1))))
    limit, count, product = math.exp(-mean), 0, chance.random()
    while product > limit:
        product *= chance.random()
        count += 1
    return float(count)
