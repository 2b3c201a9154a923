#!/usr/bin/env python3
"""What `hawser evaluate` measures, on random draws: ties, weights (zeros too), labels other than 0 and 1, one class only, predictions that
are all equal, probabilities of 1 and next to 0, thresholds (also one that is a row's probability). Each number is computed again in plain
Python from the printed predictions, by the definition that `hawser help measures` has, and by scikit-learn if that is installed. Integer
weights count like copies of the rows. Lines and --json have the same numbers.

evaluate_measures.py [DRAWS [FIRST]] repeats draws by number; HAWSER_TEST_LONG runs more."""
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

try:
    import numpy
    import sklearn.calibration
    import sklearn.metrics
except ImportError:
    sklearn = None

QUANTILES = [0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1]


def call(*words, code=0):
    done = subprocess.run([HAWSER, *words], capture_output=True, text=True, env=CLEAN, timeout=60)
    assert done.returncode == code, (words, done.returncode, done.stderr)
    return done


def write(path, x, y, weights=None):
    with open(path, "w") as file:
        file.write(",".join(["y"] + ["x%d" % j for j in range(len(x[0]))] + (["w"] if weights else [])) + "\n")
        for i, row in enumerate(x):
            file.write(",".join(map(repr, [y[i], *row] + ([weights[i]] if weights else []))) + "\n")


def near(a, b, what, slack=1e-9):
    if a is None or b is None:
        assert a is None and b is None, (what, a, b)
    else:
        assert abs(a - b) <= slack * (1 + abs(b)), (what, a, b)


def ratio(a, b):
    return a / b if b > 0 else None


def draw_weights(chance, n):
    kind = chance.choice(["none", "integers", "numbers"])
    if kind == "none":
        return kind, [1] * n
    weights = [chance.choice([0, 1, 2, 3]) if kind == "integers" else chance.choice([0.0, 0.5, chance.uniform(0.01, 4)]) for _ in range(n)]
    weights[0] = 1
    return kind, weights


class Draw:
    """A model, and data to measure it on: path "test", options for it, printed predictions, the line of --json."""

    def __init__(self, algorithm, chance, shape, labels=None):
        self.shape, self.algorithm = shape, algorithm
        p = chance.randint(1, 3)
        truth = [chance.gauss(0, 2) for _ in range(p)]

        def values(n, x):
            own = [sum(a * b for a, b in zip(row, truth)) + chance.gauss(0, 1.5) for row in x]
            if labels is None:
                return own if chance.random() < 0.7 else [float(round(v)) for v in own]
            made = [labels[v > 0] for v in own]
            made[:2] = labels[:n]
            return made

        grid = chance.random() < 0.4
        x = [[chance.gauss(0, 1) for _ in range(p)] for _ in range(40)]
        write("train.csv", x, values(40, x))
        self.n = n = 1 if shape == "row" else chance.randint(2, 60)
        scale = {"zero": 0.0, "extreme": 1e5}.get(shape, 1.0)
        x = [[scale * (chance.randint(-2, 2) if grid else chance.gauss(0, 1)) for _ in range(p)] for _ in range(n)]
        y = values(n, x)
        if shape == "one":
            y = [chance.choice(labels or [1.5])] * n
        self.kind, self.weights = draw_weights(chance, n)
        self.x, self.y = x, y
        write("test.csv", x, y, None if self.kind == "none" else self.weights)
        penalty = [] if algorithm == "linear" else ["--lambda", repr(10 ** chance.uniform(-4, -1))]
        call("train", algorithm, "train.csv", *penalty, "-q", "-o", "model")
        weights, intercept = read_model("model")
        self.scores = [intercept + math.fsum(row[j] * w for j, w in weights.items()) for row in x]
        self.options = ["model", "test.csv"] + ([] if self.kind == "none" else ["--weights", "w"])
        self.predictions = [float(v) for v in call("predict", *self.options).stdout.split()]
        self.threshold, self.last = 0.5, []
        if labels is not None and chance.random() < 0.6:
            self.threshold = chance.choice([0, 1, 0.3, chance.random(), chance.choice(self.predictions)])
            self.last = ["--threshold", repr(self.threshold)]

    def measure(self):
        found = json.loads(call("evaluate", *self.options, *self.last, "--json").stdout)
        assert found["rows"] == self.n and found["algorithm"] == self.algorithm, found
        keys = {key for key, value in found.items() if value is None}
        assert keys == {note.split()[0] for note in found["notes"]}, found
        return found

    def rows(self):
        return [i for i in range(self.n) if self.weights[i] > 0]


def same_as_copies(draw, found):
    """Integer weights count like copies of the rows."""
    pairs = [(row, y) for row, y, w in zip(draw.x, draw.y, draw.weights) for _ in range(w)]
    write("copies.csv", [row for row, _ in pairs], [y for _, y in pairs])
    again = json.loads(call("evaluate", "model", "copies.csv", *draw.last, "--json").stdout)
    assert again.keys() == found.keys() and again["notes"] == found["notes"], (again, found)
    for key, value in found.items():
        if isinstance(value, list) and key != "notes":
            for one, other in zip(value, again[key], strict=True):
                one, other = ((list(v.values()) if isinstance(v, dict) else v) for v in (one, other))
                for a, b in zip(one, other, strict=True):
                    near(a, b, (key, one, other))
        elif key != "rows" and not isinstance(value, (str, list)):
            near(again[key], value, key)


def same_lines(found, text):
    """The lines have the numbers of the object."""
    lines = text.split("\n")
    numbers = dict(line.split(None, 1) for line in lines[:lines.index("")])
    plain = {key: value for key, value in found.items() if not isinstance(value, (list, str)) and not key.startswith("unseen")}
    assert numbers.keys() == plain.keys(), (numbers, plain)
    for key, value in plain.items():
        if value is None:
            assert "%s is unknown: %s" % (key, numbers[key].split(": ", 1)[1]) in found["notes"], (key, numbers, found["notes"])
        else:
            near(float(numbers[key]), value, key)
    tables = [key for key, value in found.items() if isinstance(value, list) and key != "notes"]
    for key in tables:
        at = next(k for k, line in enumerate(lines) if line.split(" ")[0] == key and lines[k - 1] == "")
        head, cells = lines[at + 1].split(), [line.split() for line in lines[at + 2:at + 2 + len(found[key])]]
        assert lines[at + 2 + len(cells)] == "", (key, lines)
        for row, line in zip(found[key], cells):
            if isinstance(row, dict):
                assert list(row) == head, (row, head)
                row = list(row.values())
            else:
                line = line[1:]
            assert len(row) == len(line), (row, line)
            for a, b in zip(line, row):
                assert (a == "-") == (b is None), (line, row)
                assert b is None or abs(float(a) - b) <= 2e-5 * abs(b), (line, row)


def log_loss(x):
    return math.log1p(math.exp(-x)) if x >= 0 else -x + math.log1p(math.exp(x))


def area_of(draw, high):
    rows, w = draw.rows(), draw.weights
    won = math.fsum(w[i] * w[k] * (1 if draw.scores[i] > draw.scores[k] else 0.5 if draw.scores[i] == draw.scores[k] else 0)
                    for i in rows if high[i] for k in rows if not high[k])
    return ratio(won, math.fsum(w[i] for i in rows if high[i]) * math.fsum(w[i] for i in rows if not high[i]))


def check_classes(draw, labels, found):
    w, p, rows = draw.weights, draw.predictions, range(draw.n)
    total = math.fsum(w)
    high = [y == labels[1] for y in draw.y]
    said = [v > draw.threshold for v in p]
    counts = [[math.fsum(w[i] for i in rows if high[i] == a and said[i] == b) for b in (False, True)] for a in (False, True)]
    for line, expected in zip(found["confusion"], counts):
        for a, b in zip(line, expected):
            near(a, b, "confusion")
    area = area_of(draw, high)
    near(found["auc"], area, "auc")
    assert area is not None or found["notes"][0] == "auc is unknown: all rows have the label %g" % labels[high[draw.rows()[0]]], found
    near(found["accuracy"], (counts[0][0] + counts[1][1]) / total, "accuracy")
    near(found["log_loss"], math.fsum(w[i] * log_loss(draw.scores[i] if high[i] else -draw.scores[i]) for i in rows) / total, "log_loss")
    near(found["brier_score"], math.fsum(w[i] * (p[i] - high[i]) ** 2 for i in rows) / total, "brier_score")
    near(found["threshold"], draw.threshold, "threshold")
    assert [line["label"] for line in found["classes"]] == list(labels), found
    for k, line in enumerate(found["classes"]):
        predicted = counts[0][k] + counts[1][k]
        near(line["support"], sum(counts[k]), "support")
        near(line["precision"], ratio(counts[k][k], predicted), "precision")
        near(line["recall"], ratio(counts[k][k], sum(counts[k])), "recall")
        near(line["f1"], ratio(2 * counts[k][k], sum(counts[k]) + predicted), "f1")
        near(line["auc"], area, "auc by class")
    for key in ("precision", "recall", "f1"):
        near(found[key], found["classes"][1][key], key)
    assert len(found["calibration"]) == 10
    for k, line in enumerate(found["calibration"]):
        inside = [i for i in rows if (k / 10 < p[i] or k == 0) and p[i] <= (k + 1) / 10]
        mass = math.fsum(w[i] for i in inside)
        near(line["from"], k / 10, "from")
        near(line["to"], (k + 1) / 10, "to")
        assert line["label"] == labels[1], line
        near(line["support"], mass, "support of a bin")
        near(line["predicted"], ratio(math.fsum(w[i] * p[i] for i in inside), mass), "predicted")
        near(line["observed"], ratio(math.fsum(w[i] for i in inside if high[i]), mass), "observed")


def scikit_classes(draw, labels, found):
    metrics, w, p, rows = sklearn.metrics, draw.weights, draw.predictions, draw.rows()
    y, w, p = [draw.y[i] == labels[1] for i in rows], [w[i] for i in rows], [p[i] for i in rows]
    said = [v > draw.threshold for v in p]
    for a, b in zip(found["confusion"], metrics.confusion_matrix(y, said, labels=[False, True], sample_weight=w)):
        near(a[0], b[0], "confusion")
        near(a[1], b[1], "confusion")
    for line, label in zip(found["classes"], (False, True)):
        for key, function in (("precision", metrics.precision_score), ("recall", metrics.recall_score), ("f1", metrics.f1_score)):
            theirs = function(y, said, pos_label=label, sample_weight=w, zero_division=numpy.nan)
            near(line[key], None if math.isnan(theirs) else theirs, key)
    near(found["accuracy"], metrics.accuracy_score(y, said, sample_weight=w), "accuracy")
    near(found["brier_score"], metrics.brier_score_loss(y, p, sample_weight=w, pos_label=True), "brier_score")
    if found["auc"] is not None:
        near(found["auc"], metrics.roc_auc_score(y, [draw.scores[i] for i in rows], sample_weight=w), "auc")
    if max(map(abs, draw.scores)) < 30:  # they clip
        near(found["log_loss"], metrics.log_loss(y, p, sample_weight=w, labels=[False, True]), "log_loss", 1e-6)
    if draw.kind == "none":
        observed, predicted = sklearn.calibration.calibration_curve(y, p, n_bins=10)
        ours = [line for line in found["calibration"] if line["support"] > 0]
        for line, a, b in zip(ours, observed, predicted, strict=True):
            near(line["observed"], a, "observed")
            near(line["predicted"], b, "predicted")


def quantile(items, q):
    items = sorted(items)
    total, at = math.fsum(w for _, w in items), 0.0
    for k, (value, _) in enumerate(items):
        at = math.fsum(w for _, w in items[:k + 1])
        if q == 0 or k + 1 == len(items):
            return value
        if abs(at - q * total) <= 1e-12 * total:
            return (value + items[k + 1][0]) / 2
        if at > q * total:
            return value


def check_numbers(draw, found):
    w, rows = draw.weights, range(draw.n)
    total = math.fsum(w)
    errors = [y - p for y, p in zip(draw.y, draw.predictions)]
    middle = math.fsum(a * b for a, b in zip(w, draw.y)) / total
    squares = math.fsum(w[i] * errors[i] ** 2 for i in rows)
    constant = len({draw.y[i] for i in draw.rows()}) == 1
    size = 1 + max(map(abs, draw.y + draw.predictions))
    near(found["r2"], None if constant else 1 - squares / math.fsum(w[i] * (draw.y[i] - middle) ** 2 for i in rows), "r2", 1e-8)
    near(found["mse"], squares / total, "mse")
    near(found["rmse"], math.sqrt(squares / total), "rmse")
    near(found["mae"], math.fsum(w[i] * abs(errors[i]) for i in rows) / total, "mae")
    items = [(errors[i], w[i]) for i in draw.rows()]
    absolute = [(abs(e), v) for e, v in items]
    near(found["median_absolute_error"], quantile(absolute, 0.5), "median", 1e-9 * size)
    near(found["max_error"], max(absolute)[0], "max")
    assert [line["quantile"] for line in found["quantiles"]] == QUANTILES, found
    for line in found["quantiles"]:
        near(line["error"], quantile(items, line["quantile"]), line, 1e-9 * size)
        near(line["absolute_error"], quantile(absolute, line["quantile"]), line, 1e-9 * size)


def scikit_numbers(draw, found):
    metrics, rows = sklearn.metrics, draw.rows()
    y, p, w = ([values[i] for i in rows] for values in (draw.y, draw.predictions, draw.weights))
    for key, function in (("mse", metrics.mean_squared_error), ("mae", metrics.mean_absolute_error)):
        near(found[key], function(y, p, sample_weight=w), key)
    if found["r2"] is not None:
        near(found["r2"], metrics.r2_score(y, p, sample_weight=w), "r2", 1e-8)
    near(found["max_error"], metrics.max_error(y, p), "max_error")
    if draw.kind == "none":
        near(found["median_absolute_error"], metrics.median_absolute_error(y, p), "median")
        errors = numpy.subtract(y, p)
        for line in found["quantiles"]:
            near(line["error"], numpy.quantile(errors, line["quantile"], method="averaged_inverted_cdf"), line)


def check(number, chance):
    if chance.random() < 0.6:
        labels = chance.choice([(0, 1), (-1, 1), (3, 7), (-2.5, 0.125)])
        draw = Draw("logistic", chance, chance.choice(["plain", "plain", "one", "zero", "extreme", "row"]), labels)
        found = draw.measure()
        say = (number, draw.shape, draw.kind, draw.threshold)
        try:
            check_classes(draw, labels, found)
            if sklearn is not None:
                scikit_classes(draw, labels, found)
        except AssertionError as error:
            raise AssertionError(say, *error.args) from error
        assert max(draw.scores) < 40 or 1 in draw.predictions, (say, "no probability is 1")
    else:
        draw = Draw(chance.choice(["lasso", "linear"]), chance, chance.choice(["plain", "plain", "one", "zero", "extreme", "row"]))
        found = draw.measure()
        say = (number, draw.algorithm, draw.shape, draw.kind)
        try:
            check_numbers(draw, found)
            if sklearn is not None:
                scikit_numbers(draw, found)
        except AssertionError as error:
            raise AssertionError(say, *error.args) from error
    same_lines(found, call("evaluate", *draw.options, *draw.last).stdout)
    if draw.kind == "integers":
        same_as_copies(draw, found)
    return "checked"


if __name__ == "__main__":
    sys.exit(draws.run(check, HAWSER, 150, 2000))
