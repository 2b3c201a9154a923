#!/usr/bin/env python3
"""Support vector machines (train svm): objectives against the dual optimum of a plain solver, and against scikit-learn where it is installed; the
same bits on threads and nodes; what is predicted and measured; what is refused."""
import json
import math
import os
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["HAWSER_SOURCE"], "tests", "helpers"))
import certificate
import command

LOSSES = ("hinge", "squared-hinge", "epsilon", "squared-epsilon")
EPSILON = 0.2
LONG = bool(os.environ.get("HAWSER_TEST_LONG"))


def dot(x, y):
    return math.fsum(a * b for a, b in zip(x, y))


class Problem:
    """Rows with repeats, an empty one, a constant column, weights of zero, and targets with 2 classes, 3 classes and numbers."""

    def __init__(self, seed, rows, columns=3):
        draw = random.Random(seed)
        self.X = [[round(draw.gauss(1, 1), 2) if draw.random() < 0.7 else 0.0 for _ in range(columns)] + [2.0] for _ in range(rows)]
        self.X[3], self.X[5] = list(self.X[4]), [0.0] * (columns + 1)
        score = [x[0] - 2 * x[1] + draw.gauss(0, 1) for x in self.X]
        self.weights = [draw.choice((0.0, 0.5, 1.0, 2.0)) for _ in self.X]
        self.y = [round(s, 3) for s in score]
        self.two = [1 if s > -1 else 0 for s in score]
        self.three = [(s > -2) + (s > 0) for s in score]

    def write(self):
        for name, target in (("y", self.y), ("two", self.two), ("three", self.three)):
            with open(name + ".csv", "w") as file:
                file.write(",".join([f"x{j}" for j in range(len(self.X[0]))] + ["t", "w"]) + "\n")
                for x, t, w in zip(self.X, target, self.weights):
                    file.write(",".join(map(str, x + [t if name == "y" else f"is{t}", w])) + "\n")
            with open(name + ".svm", "w") as file:
                file.writelines(" ".join([str(t)] + [f"{j + 1}:{v!r}" for j, v in enumerate(x) if v]) + "\n"
                                for x, t in zip(self.X, target))
        with open("w", "w") as file:
            file.writelines(f"{w}\n" for w in self.weights)


def objective(loss, C, X, y, weights, w, b):
    total = 0.0
    for x, t, c in zip(X, y, weights):
        over = abs(t - dot(x, w) - b) - EPSILON if "epsilon" in loss else 1 - t * (dot(x, w) + b)
        total += c * max(0.0, over) ** (2 if "squared" in loss else 1)
    return 0.5 * dot(w, w) + C * total


def dual_optimum(loss, C, X, y, weights, intercept):
    """Pairs of multipliers (or single ones, without an intercept) with the steepest descent, until none descends: minus the minimum of the dual."""
    squared, rows = "squared" in loss, []
    for x, t, c in zip(X, y, weights):
        if c > 0:
            rows += [(x, 1, EPSILON - t, c), (x, -1, EPSILON + t, c)] if "epsilon" in loss else [(x, t, -1.0, c)]
    n = len(rows)
    Q = [[a[1] * b[1] * dot(a[0], b[0]) for b in rows] for a in rows]
    top = [math.inf if squared else C * r[3] for r in rows]
    for i in range(n):
        Q[i][i] += 0.5 / (C * rows[i][3]) if squared else 0.0
    sign, a, g = [r[1] for r in rows], [0.0] * n, [r[2] for r in rows]

    def move(i, step):
        a[i] += step
        for k in range(n):
            g[k] += Q[k][i] * step

    for _ in range(100000):
        up = [i for i in range(n) if (a[i] < top[i] if sign[i] > 0 else a[i] > 0)]
        down = [i for i in range(n) if (a[i] > 0 if sign[i] > 0 else a[i] < top[i])]
        if intercept:
            i, j = max(up, key=lambda k: -sign[k] * g[k]), min(down, key=lambda k: -sign[k] * g[k])
            steep = -sign[i] * g[i] + sign[j] * g[j]
            if steep < 1e-9:
                break
            step = steep / max(Q[i][i] + Q[j][j] - 2 * sign[i] * sign[j] * Q[i][j], 1e-12)
            step = min(step, top[i] - a[i] if sign[i] > 0 else a[i], a[j] if sign[j] > 0 else top[j] - a[j])
            move(i, sign[i] * step)
            move(j, -sign[j] * step)
        else:
            steps = [min(max(a[k] - g[k] / max(Q[k][k], 1e-12), 0.0), top[k]) - a[k] for k in range(n)]
            i = max(range(n), key=lambda k: abs(g[k] * steps[k]))
            if abs(g[i] * steps[i]) < 1e-14:
                break
            move(i, steps[i])
    return -0.5 * math.fsum(v * (s + r[2]) for v, s, r in zip(a, g, rows))


def train(*words):
    result = json.loads(command.run("train", "svm", *words, "--json", "-q", "-o", "m").splitlines()[-1])
    tensors = certificate.read_tensors("m")
    (k, d), values = tensors["coefficients"]
    return result, [list(values[p * d:(p + 1) * d]) for p in range(k)], list(tensors["intercepts"][1])


def signed(target, classes):
    return [[1.0 if t == c else -1.0 for t in target] for c in (range(classes) if classes > 2 else [1])]


def check_optimum():
    problem = Problem(3, 30)
    problem.write()
    cases = [(loss, C, intercept) for loss in LOSSES for C, intercept in ((0.02, True), (0.3, True), (0.3, False))]
    for k, (loss, C, intercept) in enumerate(cases if LONG else cases[::3] + cases[1:2]):
        name = "y" if "epsilon" in loss else ("two", "three")[k % 2]
        targets = [problem.y] if name == "y" else signed(getattr(problem, name), 2 if name == "two" else 3)
        weights = problem.weights if k % 3 < 2 else [1.0] * len(problem.X)
        words = ["--loss", loss, "--C", str(C), "--tol", "1e-7", "--workers", str(1 + k % 3)] + ([] if intercept else ["--no-intercept"])
        words += ["--epsilon", str(EPSILON)] if name == "y" else []
        words += ["--solver", "dual"] if k % 2 == 0 else []
        optimum = sum(dual_optimum(loss, C, problem.X, y, weights, intercept) for y in targets)
        for source in ([name + ".csv", "--target", "t"], [name + ".svm"]):
            of_weights = ["--weights", "w"] if weights is problem.weights else ["--weights", "none"]
            if source[0].endswith(".csv") and weights is not problem.weights:
                of_weights += ["--ignore", "w"]
            result, w, b = train(*source, *of_weights, *words)
            own = sum(objective(loss, C, problem.X, y, weights, *model) for y, model in zip(targets, zip(w, b)))
            assert result["stop_reason"] == "gap", (loss, C, intercept, source, result["gap"])
            assert abs(own - result["objective"]) <= 1e-10 * own, (loss, C, own, result["objective"])
            assert result["gap"] <= 1e-7 * own * 1.001
            assert -1e-8 * own <= own - optimum <= result["gap"] + 1e-8 * own, (loss, C, intercept, source, own, optimum, result["gap"])
            assert intercept or b == [0.0] * len(b)


def check_few_rows():
    """Few rows and many columns with a large C: dual variables are far below their bounds. The primal ends at the optimum too, in few iterations. The losses
    of so large a C at their kinks may be wrong by more than the tolerance."""
    for loss, C, size, rows, columns in (("hinge", 1000, 3, 60, 300), ("hinge", 1000, 30, 30, 300), ("epsilon", 1000, 3, 20, 150)):
        draw = random.Random(5)
        X = [[draw.gauss(0, size) for _ in range(columns)] for _ in range(rows)]
        y = [draw.gauss(0, 2) if loss == "epsilon" else draw.choice((-1, 1)) for _ in X]
        with open("few.svm", "w") as file:
            file.writelines(" ".join([repr(t)] + [f"{j + 1}:{v!r}" for j, v in enumerate(x)]) + "\n" for x, t in zip(X, y))
        optimum = dual_optimum(loss, C, X, y, [1.0] * len(X), True)
        words = ("few.svm", "--loss", loss, "--C", str(C), "--solver", "primal", "--workers", "2", "--tol", "1e-6") + (
            ("--epsilon", str(EPSILON)) if loss == "epsilon" else ())
        result, *_ = train(*words)
        assert result["iterations"] < 300 and result["gap"] <= 1e-6 * result["objective"], (words, result)
        assert result["stop_reason"] == ("gap" if result.get("rounding", 0) + result["gap"] <= 1e-6 * result["objective"] else "precision"), (words, result)
        assert abs(result["objective"] - optimum) <= 2e-6 * optimum, (words, result["objective"], optimum)


def bits(*words, nodes=1):
    start = (command.HAWSER, "run", "-n", str(nodes), "--", command.HAWSER) if nodes > 1 else (command.HAWSER,)
    out = subprocess.run(start + ("train", "svm") + words + ("--json", "-q", "-o", "m"), capture_output=True, text=True,
                         env=command.CLEAN, timeout=300)
    assert out.returncode == 0, (words, out.stderr)
    result = json.loads(out.stdout.splitlines()[-1])
    return certificate.read_tensors("m"), [result[k] for k in ("objective", "gap", "iterations", "classes")]


def check_bits():
    Problem(4, 90).write()
    cases = [("two.csv", "hinge"), ("two.svm", "squared-hinge"), ("three.svm", "hinge"), ("three.csv", "squared-hinge"),
             ("y.svm", "epsilon"), ("y.csv", "squared-epsilon")]
    for k, (file, loss) in enumerate(cases if LONG else cases[:1] + cases[3:]):
        case = (file, "--loss", loss, "--C", "0.1", "--workers", "4", "--weights", "w", "--max-iterations", "40")
        case += ("--target", "t") if file.endswith(".csv") else ()
        one = bits(*case, "--threads", "1")
        assert one == bits(*case, "--threads", str(2 + k % 3)), case
        assert one == bits(*case, nodes=2 + k % 2), case


def check_joint():
    """Blocks that solve the dual jointly get the bits of one block, however the problems are shared; auto does so if the data are wide."""
    Problem(4, 40).write()
    for file, loss, words in (("three.csv", "hinge", ("--weights", "w")), ("three.svm", "squared-hinge", ()), ("y.svm", "epsilon", ("--weights", "w"))):
        case = (file, "--loss", loss, "--C", "0.1", "--max-iterations", "30") + words
        case += ("--target", "t") if file.endswith(".csv") else ()
        one = bits(*case, "--solver", "dual", "--workers", "1")
        assert one == bits(*case, "--solver", "joint", "--workers", "5" if loss == "hinge" else "2", "--check"), case
        assert loss != "hinge" or one == bits(*case, "--solver", "joint", "--workers", "4", nodes=3), case
    Problem(6, 12, 20).write()
    assert bits("three.svm", "--workers", "1") == bits("three.svm", "--workers", "3")


def check_turn():
    """Columns of many sizes and a large C: auto turns from the dual, which is slow, to the primal, and ends at its optimum; with the same bits on
    threads and nodes, and in the folds. The other solvers stay what was asked for."""
    draw = random.Random(1)
    sizes = [10 ** (3 * j / 12) for j in range(13)]
    rows = [[draw.gauss(0, 1) * s for s in sizes] for _ in range(25)]
    for name, target in (("scales.svm", lambda x: int(x[0] + draw.gauss(0, 1) > 0)), ("scales3.svm", lambda x: (x[0] > -0.4) + (x[0] > 0.4))):
        with open(name, "w") as file:
            file.writelines(" ".join([str(target(x))] + [f"{j + 1}:{v!r}" for j, v in enumerate(x)]) + "\n" for x in rows)
    note = "so --solver auto went on with the primal"
    for name, loss in (("scales.svm", "squared-hinge"), ("scales3.svm", "hinge")):
        plain = (name, "--loss", loss, "--tol", "1e-6")
        words = plain + ("--C", "10")
        primal, *_ = train(*words, "--solver", "primal")
        for workers in "1", "4":
            out = subprocess.run((command.HAWSER, "train", "svm") + words + ("--workers", workers, "--json", "-o", "m"), capture_output=True,
                                 text=True, env=command.CLEAN, timeout=300)
            auto = json.loads(out.stdout.splitlines()[-1])
            assert auto["stop_reason"] == "gap" and note in out.stderr and auto["turned"] == 1 and auto["iterations"] < 1000, (words, auto, out.stderr)
            assert abs(auto["objective"] - primal["objective"]) <= auto["gap"] + primal["gap"] <= 2e-6 * primal["objective"], (auto, primal)
            assert json.loads(command.run("evaluate", "m", name, "--json", "-q"))["objective"] <= auto["objective"] * (1 + 1e-9), words
        for more in ("--C", "10"), ("--cv", "2", "--folds", "stratified", "--path", "1,10"):
            four = plain + ("--workers", "4", "--check") + more
            assert bits(*four, "--threads", "1") == bits(*four, "--threads", "3") == bits(*four, nodes=3), four
    out = command.run("train", "svm", "scales.svm", "--C", "10", "--loss", "squared-hinge", "--tol", "1e-6", "--solver", "joint", "--workers", "2",
                      "--max-iterations", "400", "--json", "-o", "m")
    assert json.loads(out.splitlines()[-1])["stop_reason"] == "iterations", out


def check_first_iteration():
    """auto with one worker and no intercept begins with the dual, and turns to the primal if many rows still move: both end at the optimum."""
    draw, turned = random.Random(11), set()
    for noise, C, size in [(noise, C, size) for noise in (0.0, 2.0) for C, size in ((1.0, 1), (1e-6, 1), (1e4, 1), (1.0, 1000))]:
        X = [[size * draw.choice((0, 0, 1, 2)) for _ in range(6)] + [3 if size > 1 else 0] for _ in range(120)]
        y = [1 if x[0] - 2 * x[1] + size * (0.5 + noise * draw.gauss(0, 1)) > 0 else -1 for x in X]
        if noise == 0.0 and (C, size) == (1.0, 1):  # a few rows move, and the others have no loss then
            y *= 10
            X = [[t * (9 if i % 30 else 2)] + 6 * [0] for i, t in enumerate(y)]
        X[1], y[1] = X[0], y[0]
        with open("tried.svm", "w") as file:
            file.writelines(" ".join([str(t)] + [f"{j + 1}:{v}" for j, v in enumerate(x) if v]) + "\n" for x, t in zip(X, y))
        with open("tried.w", "w") as file:
            file.writelines(f"{i % 4 / 2}\n" for i in range(len(X)))
        weights = [i % 4 / 2 for i in range(len(X))]
        for loss in "hinge", "squared-hinge":
            words = ("tried.svm", "--weights", "tried.w", "--C", str(C), "--no-intercept", "--workers", "1", "--tol", "1e-6", "--loss", loss)
            result, (w,), _ = train(*words)
            own = objective(loss, C, X, y, weights, w, 0.0)
            least = min(train(*words, "--solver", solver)[0]["objective"] for solver in ("primal", "dual"))
            turned.add((loss, result["turned"]))
            assert abs(own - result["objective"]) <= 1e-9 * own, (noise, C, size, loss, own, result)
            assert own - least <= result["gap"] + 1e-6 * own and result["gap"] <= 1.001e-6 * own, (noise, C, size, loss, own, least, result)
    assert turned == {(loss, why) for loss in ("hinge", "squared-hinge") for why in (0, 2)}, turned  # each loss stays with the dual on some of these, and turns on others


def check_start():
    """A model is the start of a training with other losses, and its own result at once."""
    Problem(8, 50).write()
    data = ("three.csv", "--target", "t", "--weights", "w", "--C", "0.1", "--workers", "2")
    first, *model = train(*data, "--loss", "squared-hinge")
    again, *same = train(*data, "--loss", "squared-hinge", "--init", "m")
    assert again["iterations"] == 1 and same == model and again["objective"] == first["objective"], (first, again)
    hinge, *_ = train(*data, "--tol", "1e-8", "--init", "m")
    other, *_ = train(*data, "--tol", "1e-8")
    assert hinge["stop_reason"] == "gap" and abs(hinge["objective"] - other["objective"]) <= 1e-8 * other["objective"], (hinge, other)


def check_start_on_rows():
    """With few columns the primal begins on some of the rows, by tiles of 128, and needs few steps on all of them. The gradient is next to zero at what it
    finds, also where the first tiles have one class, no weight, or no loss."""
    draw, rows = random.Random(17), 2500 if not LONG else 6000
    X = [[draw.gauss(0, 1), draw.choice((0, 0, 0, 2)), 10 * draw.gauss(0, 1)] for _ in range(rows)]
    score = [x[0] - x[1] + 0.05 * x[2] for x in X]
    for case in "plain", "sorted", "weights", "apart", "numbers":
        loss = "squared-epsilon" if case == "numbers" else "squared-hinge"
        noise = 0.0 if case == "apart" else 1.0
        y = [s + noise * draw.gauss(0, 1) for s in score]
        y = [round(t, 3) for t in y] if case == "numbers" else [1.0 if t > 0.4 else -1.0 for t in y]
        own, y = zip(*sorted(zip(X, y), key=lambda row: row[1] if case == "sorted" else 0))
        weights = [0.0 if case == "weights" and i // 128 % 2 == 0 else 1.0 + i % 2 for i in range(rows)]
        with open("many.svm", "w") as file:
            file.writelines(f"{t!r} " + " ".join(f"{j + 1}:{v!r}" for j, v in enumerate(x) if v) + "\n" for x, t in zip(own, y))
        with open("many.w", "w") as file:
            file.writelines(f"{c}\n" for c in weights)
        for intercept in True, False:
            words = ("many.svm", "--weights", "many.w", "--loss", loss, "--C", "0.5", "--solver", "primal", "--tol", "1e-9", "--workers", "1") + (
                ("--epsilon", str(EPSILON)) if case == "numbers" else ()) + (() if intercept else ("--no-intercept",))
            result, (w,), (b,) = train(*words)
            slopes = []
            for x, t, c in zip(own, y, weights):
                over = t - dot(x, w) - b
                slopes.append(-c * (math.copysign(max(0.0, abs(over) - EPSILON), over) if case == "numbers" else t * max(0.0, t * over)))
            gradient = [v + math.fsum(g * x[j] for g, x in zip(slopes, own)) for j, v in enumerate(w)]
            best = objective(loss, 0.5, own, y, weights, w, b)
            assert abs(best - result["objective"]) <= 1e-10 * best and result["stop_reason"] == "gap", (case, intercept, best, result)
            assert 0.5 * dot(gradient, gradient) <= 2e-9 * best, (case, intercept, gradient, best)
            assert not intercept or abs(math.fsum(slopes)) <= 1e-5 * math.fsum(map(abs, slopes)), (case, math.fsum(slopes))
            most = {"weights": 6, "apart": 5}.get(case, 3)  # from zero, plain and sorted rows take 4
            assert result["iterations"] <= most, (case, intercept, result["iterations"])


def check_scales():
    """Columns whose scales differ by 1e8, and few entries in each row: the tolerance is met, from the dual's model and from the start."""
    for seed in range(40 if LONG else 8):
        draw = random.Random(seed)
        scales = [10.0 ** draw.randint(-4, 4) for _ in range(90)]
        truth = [draw.gauss(0, 1) for _ in scales]
        with open("scales.svm", "w") as file:
            for i in range(80):
                row = [draw.gauss(0, 1) if draw.random() < 0.1 else 0.0 for _ in scales]
                label = i % 2 if i < 2 else dot(row, truth) + 0.3 * draw.gauss(0, 1) > 0
                values = [round(2 * v) / 2 * s for v, s in zip(row, scales)]
                file.write(f"{int(label)} " + " ".join(f"{j + 1}:{v!r}" for j, v in enumerate(values) if v or j == 89) + "\n")
        for solver in "auto", "primal":
            got, _, _ = train("scales.svm", "--C", "80", "--solver", solver)
            assert got["stop_reason"] == "gap" and got["gap"] <= 1e-4 * got["objective"], (seed, solver, got["stop_reason"], got["objective"], got["gap"])


def held_out(metric, loss, y, margins):
    """The error of a row."""
    if metric == "accuracy":
        return y != (int(margins[0] > 0) if len(margins) == 1 else margins.index(max(margins)))
    if metric == "mse":
        return (margins[0] - y) ** 2
    if "epsilon" in loss:
        return max(0.0, abs(margins[0] - y) - EPSILON) ** (2 if "squared" in loss else 1)
    signs = [2 * y - 1] if len(margins) == 1 else [1 if y == k else -1 for k in range(len(margins))]
    return sum(max(0.0, 1 - s * m) ** (2 if "squared" in loss else 1) for s, m in zip(signs, margins))


def errors_of_folds(problem, name, metric, loss, solver, fold, costs, more=()):
    """The mean error and its standard error for each C, of models that are trained on a file without a fold's rows. The
    intercept of a regression with a small C has many best values, so the solver is the same."""
    y, parts = {"two": problem.two, "three": problem.three, "y": problem.y}[name], []
    for f in sorted(set(fold)):
        inside, out, found = [i for i, g in enumerate(fold) if g != f], [i for i, g in enumerate(fold) if g == f], []
        with open("part.svm", "w") as file, open("part.w", "w") as weights:
            for i in inside:
                file.write(" ".join([str(y[i])] + [f"{j + 1}:{v!r}" for j, v in enumerate(problem.X[i]) if v]) + "\n")
                weights.write(f"{problem.weights[i]}\n")
        weight = math.fsum(problem.weights[i] for i in out)
        for C in costs:
            extra = more + (("--epsilon", str(EPSILON)) if "epsilon" in loss else ())
            _, w, b = train("part.svm", "--weights", "part.w", "--loss", loss, "--C", str(C), "--tol", "1e-9", "--solver",
                            "primal" if solver == "primal" else "dual", "--workers", "1", *extra)
            found.append(math.fsum(problem.weights[i] * held_out(metric, loss, y[i], [dot(problem.X[i], u) + v for u, v in zip(w, b)])
                                   for i in out) / weight)
        parts.append((weight, found))
    total, result = math.fsum(weight for weight, _ in parts), []
    for at, _ in enumerate(costs):
        mean = math.fsum(weight * found[at] for weight, found in parts) / total
        spread = math.fsum(weight / total * (found[at] - mean) ** 2 for weight, found in parts)
        result.append((mean, math.sqrt(spread / (len(parts) - 1))))
    return result


def check_folds():
    """Errors of --cv against models trained without a fold's rows, for each solver; the choice; members; the same bits on threads and nodes."""
    problem, costs, fold = Problem(11, 60), (0.02, 0.5), [i * 7 % 3 for i in range(60)]
    problem.write()
    with open("f", "w") as file:
        file.writelines(f"{f}\n" for f in fold)
    cases = (("three", "accuracy", "hinge", "primal"), ("two", "loss", "squared-hinge", "primal"), ("three", "loss", "hinge", "joint"),
             ("y", "mse", "epsilon", "dual"), ("y", "loss", "squared-epsilon", "joint"))
    for name, metric, loss, solver in cases if not command.SANITIZED else cases[1:3]:
        words = ((name + ".csv", "--target", "t") if metric == "loss" else (name + ".svm",)) + ("--weights", "w", "--loss", loss, "--cv", "3",
                 "--path", ",".join(map(str, costs)), "--folds", "f", "--cv-metric", metric, "--tol", "1e-9", "--solver", solver,
                 "--workers", "1" if solver == "dual" else "3") + (("--epsilon", str(EPSILON)) if name == "y" else ())
        said, *kept = train(*words)
        cv, wanted = said["cv"], errors_of_folds(problem, name, metric, loss, solver, fold, costs)
        for at, (mean, spread) in enumerate(wanted):
            assert math.isclose(cv["error"][at], mean, rel_tol=1e-4, abs_tol=1e-12), (words, cv, wanted)
            assert math.isclose(cv["standard_error"][at], spread, rel_tol=1e-2, abs_tol=1e-12), (words, cv, wanted)
        least = min(range(len(costs)), key=lambda at: cv["error"][at])
        assert cv["C"] == list(costs) and said["C"] == cv["C_min"] == costs[least] and said["cv_error"] == cv["error"][least], said
        if metric != "mse":
            bit = bits(*words, "--threads", "2", nodes=1 + (solver == "joint") * 2)
            assert bit == bits(*words, "--threads", "1"), words
    os.rename("m", "path")
    for C in costs:
        alone, w, b = train(*words[:words.index("--cv")], "--C", str(C), "--tol", "1e-9", *words[words.index("--solver"):])
        measured = json.loads(command.run("evaluate", "path", *words[:words.index("--loss")], "--C", str(C), "--json", "-q"))
        assert math.isclose(measured["objective"], alone["objective"], rel_tol=1e-7), (C, measured, alone)
    assert command.run("info", "path", "--path").count("\n") == 2 + len(costs)
    refused("predict", "path", "y.svm", "--lambda", "min", text="use --C")
    refused("train", "svm", "y.svm", "--loss", "epsilon", "--cv", "3", "--cv-metric", "accuracy", text="is for classes")
    with open("f", "w") as file:
        file.writelines(f"{int(t == 0)}\n" for t in problem.two)
    refused("train", "svm", "two.csv", "--target", "t", "--ignore", "w", "--cv", "2", "--folds", "f", text="all rows of class is1 are in fold 1", code=3)


def check_empty():
    """With errors that are all within epsilon the model is its intercept. A note says so, of C."""
    Problem(11, 60).write()
    for words, rows in ((("--cv", "3"), "the held-out rows of --cv"), (("--path", "0.1,1", "--validation", "y.svm"), "the validation data")):
        said = train("y.svm", "--loss", "epsilon", "--epsilon", "1e6", *words)[0]
        note = f"the chosen C {said['C']:.4g} leaves no column in the model: on {rows} no C of the path has a lower error than the intercept alone"
        assert note in said["notes"], (words, said["notes"])


def grid(words, costs):
    """The result of --cv over its own values of C, after a check that it agrees with the whole path of the same values, as far as it goes."""
    whole, cut = train(*words, "--path", str(costs))[0], train(*words)[0]
    error, count = whole["cv"]["error"], len(cut["cv"]["error"])
    assert len(error) == costs and cut["cv"]["C"] == whole["cv"]["C"][:count], (words, whole["cv"], cut["cv"])
    assert all(math.isclose(a, b, rel_tol=1e-3, abs_tol=1e-12) for a, b in zip(cut["cv"]["error"], error)), (words, whole["cv"], cut["cv"])
    return cut, error


def check_grid():
    """--cv without --path ends two values of C after the least error: it chooses as the whole path, whose errors fall and then rise here."""
    draw, rows = random.Random(2), 90 if not command.SANITIZED else 45
    X = [[draw.gauss(0, 1) for _ in range(6)] for _ in range(rows)]
    score = [x[0] - x[1] + draw.gauss(0, 1.5) for x in X]
    for name, scale in (("small", 0.3), ("tiny", 0.01)):
        plain = score if name == "small" else [x[0] - x[1] for x in X]
        for kind, target in (("two", [int(s > 0.8) for s in plain]), ("three", [(s > -1) + (s > 1) for s in score]), ("y", score)):
            with open(f"{name}.{kind}.svm", "w") as file:
                file.writelines(" ".join([repr(t)] + [f"{j + 1}:{v * scale!r}" for j, v in enumerate(x)]) + "\n" for t, x in zip(target, X))
    cases = (("three", "squared-hinge", "primal", "loss"), ("two", "hinge", "primal", "loss"), ("three", "hinge", "joint", "loss"),
             ("two", "squared-hinge", "dual", "loss"), ("y", "squared-epsilon", "primal", "mse"), ("two", "squared-hinge", "auto", "loss"))
    for kind, loss, solver, metric in cases if LONG else cases[:3]:
        words = (f"small.{kind}.svm", "--loss", loss, "--solver", solver, "--cv", "3", "--cv-metric", metric, "--seed", "2",
                 "--workers", "2")
        words += ("--class-weight", "balanced") if loss == "squared-hinge" else ()
        cut, error = grid(words, 11)
        least = error.index(min(error))
        assert all(a >= b for a, b in zip(error[:least], error[1:least + 1])), (words, error)
        assert cut["cv"]["C_min"] == cut["cv"]["C"][least] == cut["C"] and cut["stop_reason"] != "early-stopping", (words, cut)
        assert len(cut["cv"]["error"]) == min(least + 3, 11), (words, cut["cv"], error)
        one = bits(*words, "--threads", "1")
        assert one == bits(*words, "--threads", "2") == bits(*words, nodes=2), words
    # Until C is large enough, all models predict the larger class. Equal errors do not end the path.
    cut, error = grid(("tiny.two.svm", "--loss", "squared-hinge", "--cv", "3"), 11)
    assert error[0] == error[3] and cut["cv"]["C_min"] == cut["cv"]["C"][error.index(min(error))] > cut["cv"]["C"][5], error
    # A training that was ended chooses among the values whose folds it has finished.
    words = ("small.two.svm", "--loss", "squared-hinge", "--solver", "primal", "--cv", "3", "--cv-metric", "loss", "--seed", "2")
    whole = train(*words)[0]
    cut = json.loads(subprocess.run((command.HAWSER, "train", "svm", *words, "--max-clocks", "30", "--json", "-q", "-o", "m"), capture_output=True,
                                    text=True, env=command.CLEAN, timeout=100).stdout.splitlines()[-1])
    count = len(cut["cv"]["error"])
    assert 0 < count < len(whole["cv"]["error"]) and cut["stop_reason"] == "clocks", (cut, whole)
    assert cut["cv"]["error"] == whole["cv"]["error"][:count] and cut["C"] == cut["cv"]["C_min"], (cut, whole)
    assert f"the model has {count} of the path's 11 members" in cut["notes"][0], cut["notes"]


def balanced(y, weights):
    """scikit-learn's class_weight="balanced" with sample weights."""
    examples = [math.fsum(w for t, w in zip(y, weights) if t == k) for k in sorted(set(y))]
    return [math.fsum(weights) / (len(examples) * own) for own in examples]


def weighted(y, weights, of_class):
    """By problem, LIBLINEAR's weights of the rows: for two classes those of both, else that of the one and 1 for the rest."""
    if len(of_class) == 2:
        return [[w * of_class[t] for t, w in zip(y, weights)]]
    return [[w * (of_class[k] if t == k else 1.0) for t, w in zip(y, weights)] for k in range(len(of_class))]


def check_class_weights():
    """The optimum with the weights of classes; from the dual, for two classes, the bits of example weights that are multiplied by them; the folds of balanced."""
    problem, C, fold = Problem(9, 40), 0.2, [i * 7 % 3 for i in range(40)]
    problem.write()
    for name, loss, solver, text in (("two.csv", "hinge", "primal", "balanced"), ("two.csv", "squared-hinge", "dual", "is1=3"),
                                     ("three.csv", "squared-hinge", "primal", "is2=0.25,is0=4"), ("three.svm", "hinge", "joint", "balanced")):
        y = problem.two if name.startswith("two") else problem.three
        given = {"is1=3": [1.0, 3.0], "is2=0.25,is0=4": [4.0, 1.0, 0.25], "balanced": balanced(y, problem.weights)}[text]
        words = (name, "--weights", "w", "--loss", loss, "--C", str(C), "--tol", "1e-7", "--solver", solver, "--workers", "1" if solver == "dual" else "3")
        words += ("--target", "t") if name.endswith(".csv") else ()
        result, w, b = train(*words, "--class-weight", text)
        each = list(zip(signed(y, len(given)), weighted(y, problem.weights, given), w, b))
        own = sum(objective(loss, C, problem.X, t, c, u, v) for t, c, u, v in each)
        optimum = sum(dual_optimum(loss, C, problem.X, t, c, True) for t, c, _, _ in each)
        assert math.isclose(own, result["objective"], rel_tol=1e-10), (text, own, result)
        assert -1e-8 * own <= own - optimum <= result["gap"] + 1e-8 * own, (text, own, optimum, result)
        measured = json.loads(command.run("evaluate", "m", *words[:3], *words[13:], "--json", "-q"))
        assert math.isclose(own, measured["objective"], rel_tol=1e-10), (text, own, measured)
        assert all(math.isclose(float(u), v, rel_tol=1e-15) for u, v in zip(fact("class_weights").split(), given)), given
        if solver == "dual":  # of two classes; the primal begins with a width from the example weights
            with open("cw", "w") as file:
                file.writelines(f"{c!r}\n" for c in each[0][1])
            assert train(*words[:2], "cw", *words[3:], "--ignore", "w")[1:] == (w, b), text
    for metric, loss, solver in (("accuracy", "hinge", "joint"), ("loss", "squared-hinge", "primal")):
        with open("f", "w") as file:
            file.writelines(f"{f}\n" for f in fold)
        words = ("three.svm", "--weights", "w", "--loss", loss, "--cv", "3", "--path", "0.05,0.5", "--folds", "f", "--cv-metric", metric, "--tol", "1e-9",
                 "--solver", solver, "--workers", "3", "--class-weight", "balanced")
        cv = train(*words)[0]["cv"]
        wanted = errors_of_folds(problem, "three", metric, loss, solver, fold, (0.05, 0.5), ("--class-weight", "balanced"))
        assert all(math.isclose(got, mean, rel_tol=1e-4, abs_tol=1e-12) for got, (mean, _) in zip(cv["error"], wanted)), (cv, wanted)
        assert bits(*words, nodes=3) == bits(*words, "--threads", "2"), words


def fact(name):
    return next(line.split(None, 1)[1] for line in command.run("info", "m").splitlines() if line.startswith(name + " "))


def check_precision():
    """A training that cannot reach a gap of 0 keeps the model of its last certificate, to the last bit."""
    Problem(3, 30).write()
    reasons = set()
    for case in (("two.svm", "--loss", "squared-hinge", "--C", "0.1", "--no-intercept"), ("y.svm", "--loss", "squared-epsilon", "--C", "0.1"),
                 ("two.svm", "--loss", "hinge"), ("y.svm", "--loss", "epsilon", "--C", "0.1")):
        case += ("--tol", "0", "--workers", "3", "--solver", "primal")
        last, w, b = train(*case)
        reasons.add(last["stop_reason"])
        assert last["gap"] <= 1e-9 * last["objective"], (case, last["gap"])
        before, *model = train(*case, "--max-iterations", str(last["iterations"] - 1))
        if last["stop_reason"] == "precision":
            assert before["stop_reason"] == "iterations" and model == [w, b], (case, model, w, b)
            assert (before["objective"], before["gap"]) == (last["objective"], last["gap"]), case
    assert "precision" in reasons, reasons


def check_results():
    problem = Problem(7, 60)
    problem.write()
    result, w, b = train("three.csv", "--target", "t", "--weights", "w", "--validation", "three.csv", "--trace", "trace.csv", "--C", "0.1")
    words = command.run("predict", "m", "three.csv", "-q", "--labels").split()
    assert words == command.run("predict", "m", "three.csv", "-q").split() and words[0].startswith("is"), words[:3]
    refused("predict", "m", "three.csv", "--proba", text="no probabilities")
    best = [max(range(3), key=lambda p: dot(x, w[p]) + b[p]) for x in problem.X]
    assert words == [f"is{k}" for k in best], words
    right = sum(c for c, k, t in zip(problem.weights, best, problem.three) if k == t) / sum(problem.weights)
    measures = json.loads(command.run("evaluate", "m", "three.csv", "--weights", "w", "--json"))
    assert abs(measures["accuracy"] - right) < 1e-12 and abs(result["validation_accuracy"] - right) < 1e-12, (measures, right)
    assert "class is2 against the rest:" in command.run("info", "m", "--coefficients")
    assert open("trace.csv").readline().startswith("clock,seconds,objective,gap")
    check_measures(problem, w, b, best, measures)
    result, w, b = train("y.svm", "--loss", "epsilon", "--C", "0.1", "--epsilon", str(EPSILON), "--validation", "y.svm")
    predicted = [float(v) for v in command.run("predict", "m", "y.svm", "-q").split()]
    assert all(abs(p - dot(x, w[0]) - b[0]) <= 1e-12 * (1 + abs(p)) for p, x in zip(predicted, problem.X))
    square = sum((p - t) ** 2 for p, t in zip(predicted, problem.y)) / len(predicted)
    measures = json.loads(command.run("evaluate", "m", "y.svm", "--json"))
    own = objective("epsilon", 0.1, problem.X, problem.y, [1.0] * len(problem.y), w[0], b[0])
    assert abs(measures["objective"] - own) <= 1e-9 * own, (measures["objective"], own)
    assert abs(measures["mse"] - square) < 1e-9 and abs(result["validation_mean_squared_error"] - square) < 1e-9


def check_measures(problem, w, b, best, measures):
    """Compares margins and measures of three classes with sums over all rows and pairs of rows."""
    links = [[float(v) for v in line.split(",")] for line in command.run("predict", "m", "three.csv", "-q", "--link").split()]
    margins = [[dot(x, w[p]) + b[p] for p in range(3)] for x in problem.X]
    assert all(abs(got - own) <= 1e-12 * (1 + abs(own)) for row, mine in zip(links, margins) for got, own in zip(row, mine))
    targets = [[1.0 if t == k else -1.0 for t in problem.three] for k in range(3)]
    own = sum(objective("hinge", 0.1, problem.X, targets[p], problem.weights, w[p], b[p]) for p in range(3))
    assert abs(measures["objective"] - own) <= 1e-9 * own, (measures["objective"], own)
    assert "log_loss" not in measures and "calibration" not in measures and "threshold" not in measures
    confusion = [[0.0] * 3 for _ in range(3)]
    for t, k, c in zip(problem.three, best, problem.weights):
        confusion[int(t)][k] += c
    assert all(abs(x - y) < 1e-9 for a, b in zip(measures["confusion"], confusion) for x, y in zip(a, b)), (measures["confusion"], confusion)
    for p in range(3):
        rows = list(zip((m[p] for m in margins), targets[p], problem.weights))
        pairs = [(a, b) for a in rows if a[1] > 0 for b in rows if b[1] < 0]
        won = sum(a[2] * b[2] * (1.0 if a[0] > b[0] else 0.5 if a[0] == b[0] else 0.0) for a, b in pairs)
        area = won / sum(a[2] * b[2] for a, b in pairs)
        assert abs(measures["classes"][p]["auc"] - area) < 1e-9, (p, measures["classes"][p], area)


def refused(*words, text, code=2):
    out = subprocess.run((command.HAWSER,) + words, capture_output=True, text=True, env=command.CLEAN, timeout=300)
    assert out.returncode == code and text in out.stderr, (words, out.returncode, out.stderr)


def check_refusals():
    Problem(5, 30).write()
    data = ("train", "svm", "two.csv", "--target", "t", "--weights", "w")
    refused(*data, "--C", "0", text="--C")
    refused(*data, "--C", "-1", text="--C")
    refused(*data, "--C", "1e308", text="--C: '1e308' is not within")
    refused(*data, "--path", "1,1e101", text="--path: the C of 1e+101 is not within")
    refused(*data, "--class-weight", "is1=1e300", text="--class-weight: the weight 1e+300 of the label 'is1' is not within [1e-100,1e100]")
    refused(*data, "--path", "1,1e60", "--class-weight", "is1=1e60", text="--class-weight: the weight 1e+60 of a class, times the C of 1e+60, is not within")
    refused(*data, "--epsilon", "0.3", text="--epsilon does nothing here")
    refused(*data, "--solver", "newton", text="--solver")
    for text, said in (("is1", "want balanced"), ("", "want balanced"), ("is1=2,", "want balanced"), ("is1=2,1", "want balanced"), ("is2=1", "has the label 'is2'"),
                       ("1=2", "has the label '1'"), ("is1=2,is1=2", "'is1' has two weights"), ("is1=0", "weight 0 of the label 'is1'"),
                       ("is0=-1,is1=1", "weight -1 of the label 'is0'"), ("is1=inf", "weight inf"), ("is1=nan", "weight nan")):
        refused(*data, "--class-weight", text, text=said)
    refused("train", "svm", "two.svm", "--class-weight", "is1=2", text="has the label 'is1'")
    refused("train", "svm", "two.svm", "--class-weight", "1=2,1.0=2", text="'1.0' has two weights")
    refused("train", "svm", "y.svm", "--loss", "epsilon", "--class-weight", "balanced", text="--class-weight does nothing here")
    refused(*data, "--sync", "ssp:1", "--workers", "2", text="--sync ssp:1")
    refused(*data, "--filter", "random", "--workers", "2", text="--filter")
    refused("train", "svm", "two.csv", "--target", "t", "--offset", "w", text="--offset")
    command.run(*data, "-q", "-o", "m", "--C", "0.1")
    refused(*data, "--init", "m", "--solver", "dual", text="--init: --solver dual")
    refused(*data, "--init", "m", "--solver", "joint", "--workers", "2", text="--init: --solver dual")
    refused("train", "svm", "two.svm", "--loss", "epsilon", "--init", "m", text="--init: the model has 2 classes")
    refused(*data, "--loss", "epsilon", text="the target has words", code=3)
    refused("evaluate", "m", "two.csv", "--threshold", "0.3", text="--threshold")
    refused("train", "svm", "two.csv", "--target", "none", text="no target", code=3)
    with open("alone.csv", "w") as file:
        file.write("t\n1\n0\n")
    refused("train", "svm", "alone.csv", "--target", "t", text="no columns", code=3)
    with open("one.svm", "w") as file:
        file.write("1 1:2\n1 2:1\n")
    refused("train", "svm", "one.svm", text="all examples with a weight above 0 have the label 1", code=3)
    with open("word.csv", "w") as file:
        file.write("t,a\nfox,1\nfox,2\n")
    for algorithm in ("svm", "softmax"):
        refused("train", algorithm, "word.csv", text="have the label 'fox'", code=3)
    with open("zero", "w") as file:
        file.write("0\n" * 30)
    refused("train", "svm", "two.svm", "--weights", "zero", text="weights", code=3)
    with open("first", "w") as file:
        file.write("0\n" * 29 + "1\n")
    refused("train", "svm", "two.svm", "--weights", "first", text="all examples with a weight above 0 have the label", code=3)
    with open("nan.csv", "w") as file:
        file.write("a,t\n1,2\nnan,3\n")
    refused("train", "svm", "nan.csv", "--target", "t", text="nan.csv:3", code=3)


def check_scikit():
    """libsvm has a free intercept too; LIBLINEAR penalises it."""
    try:
        from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR
    except ImportError:
        print("skipped: no scikit-learn")
        return
    problem = Problem(21, 120)
    problem.write()
    for peer, name, loss, y in ((SVC(C=0.1, kernel="linear", tol=1e-8), "two.svm", "hinge", signed(problem.two, 2)[0]),
                                (SVR(C=0.1, kernel="linear", tol=1e-8, epsilon=EPSILON), "y.svm", "epsilon", problem.y)):
        peer.fit(problem.X, y)
        words = ("--epsilon", str(EPSILON)) if loss == "epsilon" else ()
        result, w, _ = train(name, "--loss", loss, "--C", "0.1", "--tol", "1e-8", *words)
        its = objective(loss, 0.1, problem.X, y, [1.0] * 120, list(peer.coef_[0]), peer.intercept_[0])
        assert abs(result["objective"] - its) <= 1e-6 * its, (loss, result["objective"], its)
        assert max(abs(a - b) for a, b in zip(w[0], peer.coef_[0])) < 1e-3, loss
    for name, y in (("two.svm", problem.two), ("three.svm", problem.three)):
        peer = LinearSVC(loss="squared_hinge", class_weight="balanced", dual=False, fit_intercept=False, tol=1e-10, max_iter=100000)
        its = peer.fit(problem.X, y, problem.weights).coef_.tolist()
        result, w, _ = train(name, "--weights", "w", "--loss", "squared-hinge", "--class-weight", "balanced", "--tol", "1e-9", "--no-intercept")
        assert result["stop_reason"] == "gap" and all(abs(a - b) < 1e-4 for u, v in zip(w, its) for a, b in zip(u, v)), (name, w, its)
    same = {"C": 100, "dual": False, "fit_intercept": False, "tol": 1e-10, "max_iter": 100000}
    for peer, name, loss, y in ((LinearSVC(loss="squared_hinge", **same), "two.svm", "squared-hinge", signed(problem.two, 2)[0]),
                                (LinearSVR(loss="squared_epsilon_insensitive", epsilon=EPSILON, **same), "y.svm", "squared-epsilon", problem.y)):
        its = list(peer.fit(problem.X, y).coef_.ravel())
        words = ("--epsilon", str(EPSILON)) if name == "y.svm" else ()
        result, w, _ = train(name, "--loss", loss, "--C", "100", "--tol", "1e-8", "--no-intercept", "--workers", "3", *words)
        best = objective(loss, 100, problem.X, y, [1.0] * 120, its, 0.0)
        assert result["stop_reason"] == "gap" and abs(result["objective"] - best) <= 1e-6 * best, (loss, result, best)
        assert max(abs(a - b) for a, b in zip(w[0], its)) < 1e-4, loss


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        check_refusals()
        check_results()
        check_precision()
        check_start()
        check_scales()
        check_start_on_rows()
        check_optimum()
        check_few_rows()
        check_bits()
        check_joint()
        check_turn()
        check_first_iteration()
        check_folds()
        check_empty()
        check_grid()
        check_class_weights()
        check_scikit()
