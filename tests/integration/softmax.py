#!/usr/bin/env python3
"""Softmax regression (train softmax): optimality conditions and objective computed apart, scikit-learn's objectives where it is installed; the same
numbers on threads and nodes; what is predicted and measured; what is refused."""
import json
import math
import os
import random
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["HAWSER_SOURCE"], "tests", "helpers"))
import certificate
import command

LONG = bool(os.environ.get("HAWSER_TEST_LONG"))


class Problem:
    """Rows with repeats, an empty one, a constant column, columns of other scales, and weights of zero."""

    def __init__(self, seed, rows, columns, classes):
        draw = random.Random(seed)
        scale = [10.0 ** draw.randint(-1, 1) for _ in range(columns)]
        self.X = [[round(draw.gauss(0.3, 1) * s, 3) if draw.random() < 0.6 else 0.0 for s in scale] + [2.0] for _ in range(rows)]
        self.X[3], self.X[5] = list(self.X[4]), [0.0] * (columns + 1)
        direct = [[draw.gauss(0, 1) / s for s in scale] for _ in range(classes)]
        score = [[sum(a * b for a, b in zip(x, w)) - math.log(-math.log(draw.random())) for w in direct] for x in self.X]
        self.y = [s.index(max(s)) for s in score]
        self.y[0] = classes  # a class with one row
        self.classes = classes + 1
        self.weights = [1.0] + [draw.choice((0.0, 0.5, 1.0, 2.0)) for _ in self.X[1:]]

    def write(self):
        with open("d.csv", "w") as file:
            file.write(",".join([f"x{j}" for j in range(len(self.X[0]))] + ["t", "w"]) + "\n")
            file.writelines(",".join(map(str, x + [f"is{t}", w])) + "\n" for x, t, w in zip(self.X, self.y, self.weights))
        with open("d.svm", "w") as file:
            file.writelines(" ".join([str(2 * t - 3)] + [f"{j + 1}:{v!r}" for j, v in enumerate(x) if v]) + "\n"
                            for x, t in zip(self.X, self.y))
        with open("w", "w") as file:
            file.writelines(f"{w}\n" for w in self.weights)


def probabilities(x, W, b):
    z = [math.fsum(v * w for v, w in zip(x, row)) + i for row, i in zip(W, b)]
    most = max(z)
    total = math.fsum(math.exp(v - most) for v in z)
    return [math.exp(v - most) / total for v in z], most + math.log(total), z


def judge(problem, weights, W, b, lam, share, scale, intercept):
    """The objective, and the largest violation of the optimality conditions."""
    total, loss, slope, over = math.fsum(weights), 0.0, [[0.0] * len(W[0]) for _ in W], [0.0] * len(W)
    for x, t, w in zip(problem.X, problem.y, weights):
        p, all_of, z = probabilities(x, W, b)
        loss += w * (all_of - z[t]) / total
        for c, row in enumerate(slope):
            r = w * (p[c] - (t == c)) / total
            over[c] += r
            for j, v in enumerate(x):
                row[j] += r * v
    worst = max(map(abs, over)) if intercept else 0.0
    for row, own in zip(slope, W):
        for j, (g, w) in enumerate(zip(row, own)):
            l1, l2 = lam * share * scale[j], lam * (1 - share) * scale[j] ** 2
            loss += l1 * abs(w) + l2 / 2 * w * w
            g += l2 * w
            worst = max(worst, abs(g + math.copysign(l1, w)) if w else abs(g) - l1)
    return loss, worst


def train(*words, nodes=1):
    start = ("run", "-n", str(nodes), "--") if nodes > 1 else ()
    return json.loads(command.run(*start, "train", "softmax", *words, "-o", "m", "--json", "--quiet").splitlines()[-1])


def model():
    tensors = read_tensors("m")
    columns = len(tensors["coefficients"]) // len(tensors["intercepts"])
    return [tensors["coefficients"][c * columns:(c + 1) * columns] for c in range(len(tensors["intercepts"]))], tensors["intercepts"]


def read_tensors(path):
    with open(path, "rb") as file:
        content = file.read()
    size = struct.unpack("<Q", content[:8])[0]
    head = json.loads(content[8:8 + size])
    return {name: list(struct.unpack(f"<{(at['data_offsets'][1] - at['data_offsets'][0]) // 8}d",
                                     content[8 + size + at["data_offsets"][0]:8 + size + at["data_offsets"][1]]))
            for name, at in head.items() if name != "__metadata__"}


def scales(problem, weights):
    total, out = math.fsum(weights), []
    for column in zip(*problem.X):
        mean = math.fsum(w * v for w, v in zip(weights, column)) / total
        square = math.fsum(w * (v - mean) ** 2 for w, v in zip(weights, column)) / total
        out.append(math.sqrt(square) if square > 1e-12 else 1.0)
    return out


def optimum(problem):
    """Each share of the penalty, dense with words and sparse, with weights, standardized, without intercepts."""
    ones = [1.0] * len(problem.X)
    cases = [(share, lam, how) for share in ("0", "0.5", "1") for lam in ("0.02", "0.0003") for how in range(4)]
    for share, lam, how in command.some(cases):
        data = ("d.csv", "--target", "t", "--ignore", "w") if how % 2 == 0 else ("d.svm", "--index-base", "1")
        words = (("--weights", "w") if how in (1, 2) else ()) + (("--standardize",) if how == 2 else ()) + (
            ("--no-intercept",) if how == 3 else ())
        if how == 2:
            data, words = ("d.csv", "--target", "t", "--weights", "w"), words[2:]
        weights = problem.weights if how in (1, 2) else ones
        said = train(*data, *words, "--lambda", lam, "--l1-ratio", share, "--tol", "1e-11", "--workers", "2")
        W, b = model()
        scale = scales(problem, weights) if how == 2 else [1.0] * len(W[0])
        objective, worst = judge(problem, weights, W, b, float(lam), float(share), scale, how != 3)
        case = (share, lam, how, said)
        assert said["stop_reason"] in ("gap", "precision") and said["gap"] < 1e-8, case
        assert abs(objective - said["objective"]) < 1e-12 * max(1, objective), (objective, case)
        assert worst < 2e-6, (worst, case)
        assert abs(math.fsum(b)) < 1e-9 and said["nonzero"] == sum(v != 0 for row in W for v in row), case
        for tol in "0.1", "1e-2", "1e-4":  # the objective is that of the saved model on the way there, too
            said = train(*data, *words, "--lambda", lam, "--l1-ratio", share, "--tol", tol)
            objective, _ = judge(problem, weights, *model(), float(lam), float(share), scale, how != 3)
            assert abs(objective - said["objective"]) < 1e-12 * max(1, objective), (objective, tol, case)


def same_numbers():
    """The same model on threads and nodes, dense and sparse, at the same number of workers."""
    for data in (("d.csv", "--target", "t", "--ignore", "w"), ("d.svm", "--index-base", "1")):
        kept = None
        for nodes, threads in ((1, 1), (1, 4), (2, 2), (3, 4)) if LONG or not command.SANITIZED else ((1, 4), (3, 4)):
            said = train(*data, "--l1-ratio", "0.5", "--lambda", "0.003", "--workers", "4", "--threads", str(threads), nodes=nodes)
            now = (read_tensors("m"), said["objective"], said["gap"])
            assert kept is None or now == kept, (data, nodes, threads)
            kept = now


class Folds:
    """Rows whose classes all have members in each training part, and the folds of --cv as its documentation deals them."""

    def __init__(self, problem):
        self.rows = [(x, t, w) for x, t, w in list(zip(problem.X, problem.y, problem.weights))[1:]]
        self.classes = problem.classes - 1
        self.write("c.csv", range(len(self.rows)))
        with open("c.svm", "w") as file:
            file.writelines(" ".join([str(t)] + [f"{j + 1}:{v!r}" for j, v in enumerate(x) if v]) + "\n" for x, t, _ in self.rows)
        with open("cw", "w") as file:
            file.writelines(f"{w}\n" for _, _, w in self.rows)

    def write(self, path, rows):
        with open(path, "w") as file:
            file.write(",".join([f"x{j}" for j in range(len(self.rows[0][0]))] + ["t", "w", "g"]) + "\n")
            file.writelines(",".join(map(str, self.rows[i][0] + [f"is{self.rows[i][1]}", self.rows[i][2], i // 4])) + "\n" for i in rows)

    def keys(self, seed):
        full, out = (1 << 64) - 1, []
        for row in range(len(self.rows)):
            z = (seed * 0x9e3779b97f4a7c15 + row + 0x632be59bd9b4e019) & full
            z = ((z ^ (z >> 30)) * 0xbf58476d1ce4e5b9) & full
            z = ((z ^ (z >> 27)) * 0x94d049bb133111eb) & full
            out.append(z ^ (z >> 31))
        return out

    def deal(self, seed, folds, stratified):
        keys = self.keys(seed)
        order = sorted(range(len(self.rows)), key=lambda i: (self.rows[i][1] if stratified else 0, keys[i]))
        fold = [0] * len(order)
        for place, row in enumerate(order):
            fold[row] = place % folds
        return fold

    def errors(self, fold, lambdas, share, more=()):
        """Mean error of each lambda and its standard error, of models that are trained on files without a fold's rows: log loss, and wrong labels."""
        parts = []
        for f in sorted(set(fold)):
            self.write("part.csv", [i for i in range(len(fold)) if fold[i] != f])
            out = [self.rows[i] for i in range(len(fold)) if fold[i] == f]
            weight, found = math.fsum(w for _, _, w in out), []
            for lam in lambdas:
                train("part.csv", "--target", "t", "--weights", "w", "--ignore", "g", "--lambda", str(lam), "--l1-ratio", share,
                      "--tol", "1e-9", *more)
                W, b = model()
                said = [(probabilities(x, W, b), t, w) for x, t, w in out]
                found.append([math.fsum(w * (a - z[t]) for (_, a, z), t, w in said) / weight,
                              math.fsum(w * (z.index(max(z)) != t) for (_, _, z), t, w in said) / weight])
            parts.append((weight, found))
        total = math.fsum(weight for weight, _ in parts)
        result = [[], []]
        for at, _ in enumerate(lambdas):
            for metric in range(2):
                mean = math.fsum(weight * found[at][metric] for weight, found in parts) / total
                spread = math.fsum(weight / total * (found[at][metric] - mean) ** 2 for weight, found in parts)
                result[metric].append((mean, math.sqrt(spread / (len(parts) - 1))))
        return result


def folds(problem):
    """Errors of --cv against models trained without the rows of a fold; the choices; the path; the same numbers on threads and nodes."""
    cv, lambdas, share = Folds(problem), (0.05, 0.005), "0.5"
    listed, how = ",".join(map(str, lambdas[::-1])), ("--l1-ratio", share, "--tol", "1e-9", "--workers", "4", "--seed", "5")
    words = ("c.csv", "--target", "t", "--weights", "w", "--ignore", "g", "--path", listed, *how)
    dealt = cv.deal(5, 3, True)
    wanted = cv.errors(dealt, lambdas, share)
    kept = None
    for nodes, threads in ((1, 1), (1, 2), (3, 4)) if not command.SANITIZED else ((1, 2), (3, 4)):
        said = train(*words, "--cv", "3", "--folds", "stratified", "--threads", str(threads), nodes=nodes)
        now = (read_tensors("m"), said["cv"], said["objective"], said["cv_log_loss"])
        assert kept is None or now == kept, (nodes, threads)
        kept = now
    check(said["cv"], wanted[0], lambdas)
    with open("f", "w") as file:
        file.writelines(f"{f}\n" for f in dealt)
    assert train(*words, "--cv", "3", "--folds", "f")["cv"] == said["cv"]
    wrong = train(*words, "--cv", "3", "--folds", "f", "--cv-metric", "accuracy", "--cv-rule", "min")
    check(wrong["cv"], wanted[1], lambdas)
    assert wrong["lambda"] == wrong["cv"]["lambda_min"] and "validation_log_loss" not in wrong, wrong
    sparse = ("c.svm", "--index-base", "1", "--weights", "cw", "--path", listed, *how, "--cv", "3", "--folds", "f")
    assert same_errors(train(*sparse, nodes=3)["cv"], said["cv"])
    members(lambdas, how)
    plain = train(*words, "--cv", "4")["cv"]
    with open("f", "w") as file:
        file.writelines(f"{f + 1}\n" for f in cv.deal(5, 4, False))
    assert train(*words, "--cv", "4", "--folds", "f")["cv"] == plain
    if command.SANITIZED:
        return cv, dealt
    groups = ("c.csv", "--target", "t", "--weights", "w", "--path", listed, *how, "--cv", "4", "--folds", "by:g")
    assert train(*groups)["cv"] == train(*groups, nodes=2)["cv"] != plain
    path = train("c.csv", "--target", "t", "--ignore", "w,g", "--path", "5", "--validation", "c.csv")
    assert path["lambdas"] == 5 and path["lambda"] < 1e-3 * path["lambda_max"], path
    return cv, dealt


def grid():
    """--cv without --path ends ten lambdas after the least error: it chooses as the whole path, whose errors fall and then rise here."""
    draw, rows = random.Random(6), 45
    X = [[draw.gauss(0, 1) for _ in range(12)] for _ in range(rows)]
    with open("grid.svm", "w") as file:
        for x in X:
            score = x[0] - x[1] + draw.gauss(0, 1.5)
            file.write(" ".join([str((score > -1) + (score > 1))] + [f"{j + 1}:{v!r}" for j, v in enumerate(x)]) + "\n")
    words = ("grid.svm", "--index-base", "1", "--cv", "3", "--seed", "2", "--workers", "2", "--cv-rule", "min")
    whole, cut = train(*words, "--path", "100"), train(*words)
    error, count = whole["cv"]["error"], len(cut["cv"]["error"])
    least = error.index(min(error))
    assert len(error) == 100 and count == least + 11 < 100, (count, least, error)
    assert cut["cv"]["lambda"] == whole["cv"]["lambda"][:count] and cut["lambda"] == cut["cv"]["lambda_min"] == whole["cv"]["lambda_min"], (cut, whole)
    assert all(math.isclose(a, b, rel_tol=1e-4) for a, b in zip(cut["cv"]["error"], error)), (cut["cv"], error)
    assert cut["stop_reason"] == "gap" and cut["lambdas"] == count, cut
    kept = (read_tensors("m"), cut["cv"])
    for nodes, threads in ((1, 1), (2, 2)):
        said = train(*words, "--threads", str(threads), nodes=nodes)
        assert (read_tensors("m"), said["cv"]) == kept, (nodes, threads)
    assert len(train(*words, "--lambda-min-ratio", "0.01")["cv"]["error"]) == 100
    ended = train(*words, "--max-clocks", "40")
    done = len(ended["cv"]["error"])
    assert 0 < done < count and ended["stop_reason"] == "clocks" and ended["cv"]["error"] == cut["cv"]["error"][:done], ended


def same_errors(a, b):
    return all(math.isclose(u, v, rel_tol=1e-9) for u, v in zip(a["error"] + a["standard_error"], b["error"] + b["standard_error"]))


def check(cv, wanted, lambdas):
    for at, (mean, spread) in enumerate(wanted):
        assert math.isclose(cv["error"][at], mean, rel_tol=1e-5, abs_tol=1e-12), (cv, wanted)
        assert math.isclose(cv["standard_error"][at], spread, rel_tol=1e-3, abs_tol=1e-12), (cv, wanted)
    least = min(range(len(wanted)), key=lambda at: cv["error"][at])
    most = cv["error"][least] + cv["standard_error"][least]
    assert cv["lambda_min"] == lambdas[least] and cv["lambda"] == list(lambdas), cv
    assert cv["lambda_1se"] == lambdas[min(at for at in range(least + 1) if cv["error"][at] <= most)], cv


def members(lambdas, how):
    """A member of the path is the model of its lambda."""
    os.rename("m", "path")
    assert command.run("info", "path", "--path").count("\n") == 2 + len(lambdas)
    for lam in lambdas[1:]:
        alone = train("c.svm", "--index-base", "1", "--weights", "cw", "--lambda", str(lam), *how)
        link = [[list(map(float, line.split(","))) for line in command.run("predict", *words, "c.svm", "--link", "-q").split()]
                for words in (("m",), ("path", "--lambda", str(lam)))]
        assert all(math.isclose(u, v, abs_tol=2e-4) for a, b in zip(*link) for u, v in zip(a, b)), lam
        measured = json.loads(command.run("evaluate", "path", "c.svm", "--weights", "cw", "--lambda", str(lam), "--json", "-q"))
        assert math.isclose(measured["objective"], alone["objective"], rel_tol=1e-7), (measured["objective"], alone)


def class_weights(problem, cv, dealt):
    """The bits of example weights that are multiplied by those of the classes; the objective of `evaluate`; the folds of balanced."""
    examples = [math.fsum(w for t, w in zip(problem.y, problem.weights) if t == k) for k in range(problem.classes)]
    for text, of_class in (("balanced", [math.fsum(problem.weights) / (problem.classes * own) for own in examples]), ("1=0.5,-3=3", [3.0, 1.0, 0.5, 1.0])):
        with open("cw", "w") as file:
            file.writelines(f"{w * of_class[t]!r}\n" for t, w in zip(problem.y, problem.weights))
        words = ("--index-base", "1", "--lambda", "0.01", "--l1-ratio", "0.5", "--workers", "3")
        multiplied = train("d.svm", "--weights", "cw", *words)
        kept = read_tensors("m")
        said = train("d.svm", "--weights", "w", "--class-weight", text, *words, nodes=2)
        assert read_tensors("m") == kept and said["objective"] == multiplied["objective"] and said["gap"] == multiplied["gap"], text
        measured = json.loads(command.run("evaluate", "m", "d.svm", "--weights", "w", "--json", "-q"))
        assert math.isclose(measured["objective"], said["objective"], rel_tol=1e-12) and measured["log_loss"] != said["objective"], (text, measured)
    if command.SANITIZED:
        return
    with open("f", "w") as file:
        file.writelines(f"{f}\n" for f in dealt)
    for at, metric in enumerate(("loss", "accuracy")):
        got = train("c.csv", "--target", "t", "--weights", "w", "--ignore", "g", "--path", "0.05,0.005", "--l1-ratio", "0.5", "--tol", "1e-9", "--workers", "3",
                    "--cv", "3", "--folds", "f", "--cv-metric", metric, "--class-weight", "balanced")["cv"]
        check(got, cv.errors(dealt, (0.05, 0.005), "0.5", ("--class-weight", "balanced"))[at], (0.05, 0.005))


def conditions():
    """Columns far from zero, columns of very different size and small penalties: the gap is reached, in few iterations."""
    draw = random.Random(3)
    for at, (centre, scale) in enumerate(((1000.0, (1.0, 1.0, 1.0, 1.0)), (0.0, (1e-3, 1.0, 10.0, 1e4)))):
        rows = [[draw.gauss(0, 1) for _ in scale] for _ in range(150)]
        direct = [[draw.gauss(0, 1) for _ in scale] for _ in range(3)]
        score = [[sum(a * b for a, b in zip(x, w)) - math.log(-math.log(draw.random())) for w in direct] for x in rows]
        problem = Problem(1, 10, 1, 2)
        problem.X, problem.y = [[centre + v * s for v, s in zip(x, scale)] for x in rows], [s.index(max(s)) for s in score]
        with open("far.csv", "w") as file:
            file.writelines(",".join(map(repr, [t] + x)) + "\n" for x, t in zip(problem.X, problem.y))
        for share, lam in (("1", "1e-5"), ("0.5", "1e-5"), ("0", "1e-4"))[at:]:
            said = train("far.csv", "--header", "no", "--l1-ratio", share, "--lambda", lam, "--tol", "1e-6", "--max-iterations", "300")
            objective, _ = judge(problem, [1.0] * len(rows), *model(), float(lam), float(share), [1.0] * len(scale), True)
            assert said["stop_reason"] == "gap" and math.isclose(objective, said["objective"], rel_tol=1e-9), (centre, share, said, objective)


def gap_of_rare_classes():
    """The gap is a difference of objectives, as that of other models; --tol is relative to the objective without columns, which is small here."""
    draw = random.Random(8)
    classes = [0] * 296 + [1] * 2 + [2] * 2
    with open("rare.csv", "w") as file:
        file.writelines(f"{c},{draw.gauss(c, 1)!r},{draw.gauss(-c, 1)!r}\n" for c in classes)
    zero = -math.fsum(classes.count(c) / 300 * math.log(classes.count(c) / 300) for c in range(3))
    said = train("rare.csv", "--header", "no", "--lambda", "1e-4", "--tol", "0.5")
    assert said["stop_reason"] == "gap" and 0 < said["gap"] <= 0.5 * zero, (said, zero)
    best = train("rare.csv", "--header", "no", "--lambda", "1e-4", "--tol", "1e-9")
    assert 0 <= said["objective"] - best["objective"] <= said["gap"], (said, best)


def far_without_intercept():
    """No intercept and columns far from zero, whose means all steps must balance: few iterations, also where most columns are zero at the optimum."""
    draw = random.Random(5)
    problem = Problem(1, 10, 1, 2)
    common = [[draw.gauss(0, 1) for _ in range(4)] for _ in range(40)]
    problem.X = [[9.0 + v + draw.gauss(0, 0.3) for v in own * 15] for own in common]
    problem.y = [max(range(3), key=lambda c: own[c] + draw.gauss(0, 0.3)) for own in common]
    with open("far.csv", "w") as file:
        file.writelines(",".join(map(repr, [t] + x)) + "\n" for x, t in zip(problem.X, problem.y))
    for share, lam in (("1", "0.003"), ("0.3", "0.03")):
        said = train("far.csv", "--header", "no", "--no-intercept", "--l1-ratio", share, "--lambda", lam, "--tol", "1e-9", "--max-iterations", "40",
                     "--workers", "2")
        objective, worst = judge(problem, [1.0] * 40, *model(), float(lam), float(share), [1.0] * 60, False)
        assert said["stop_reason"] == "gap" and math.isclose(objective, said["objective"], rel_tol=1e-9) and worst < 1e-4 * float(lam), (said, worst)


def predictions(problem):
    said = train("d.csv", "--target", "t", "--ignore", "w", "--l1-ratio", "0", "--C", "0.5", "--validation", "d.csv")
    assert math.isclose(said["lambda"], 2 / len(problem.X)), said
    W, b = model()
    wanted = [probabilities(x, W, b) for x in problem.X]
    labels = command.run("predict", "m", "d.csv", "-q").split()
    assert labels == [f"is{p.index(max(p))}" for p, _, _ in wanted]
    got = [list(map(float, line.split(","))) for line in command.run("predict", "m", "d.csv", "--proba", "-q").split()]
    assert all(math.isclose(u, v, rel_tol=1e-9) for row, (p, _, _) in zip(got, wanted) for u, v in zip(row, p))
    link = [list(map(float, line.split(","))) for line in command.run("predict", "m", "d.csv", "--link", "-q").split()]
    assert all(math.isclose(u, v, abs_tol=1e-9) for row, (_, _, z) in zip(link, wanted) for u, v in zip(row, z))
    head = command.run("predict", "m", "d.csv", "--proba", "--id", "w", "-q").splitlines()[0]
    assert head == "w," + ",".join(f"is{c}" for c in range(problem.classes)), head
    measured = json.loads(command.run("evaluate", "m", "d.csv", "--json", "-q"))
    loss = math.fsum(a - z[t] for (_, a, z), t in zip(wanted, problem.y)) / len(problem.y)
    right = sum(p.index(max(p)) == t for (p, _, _), t in zip(wanted, problem.y)) / len(problem.y)
    assert math.isclose(measured["log_loss"], loss, rel_tol=1e-9) and math.isclose(measured["accuracy"], right), measured
    assert math.isclose(measured["objective"], said["objective"], rel_tol=1e-9), (measured["objective"], said)
    assert math.isclose(said["validation_log_loss"], loss, rel_tol=1e-9) and math.isclose(said["validation_accuracy"], right), said
    assert "class is2:" in command.run("info", "m", "--coefficients")
    again = train("d.csv", "--target", "t", "--ignore", "w", "--l1-ratio", "0", "--C", "0.5", "--init", "m")
    assert again["iterations"] <= 1 and again["objective"] <= said["objective"] * (1 + 1e-12), again


def two_classes(problem):
    """With a ridge penalty of two classes the coefficients are opposite, and those of logistic regression with half of the penalty."""
    with open("two.svm", "w") as file:
        file.writelines(" ".join([str(t % 2)] + [f"{j + 1}:{v!r}" for j, v in enumerate(x) if v]) + "\n"
                        for x, t in zip(problem.X, problem.y))
    words = ("two.svm", "--index-base", "1", "--l1-ratio", "0", "--tol", "1e-10")
    said = train(*words, "--lambda", "0.02")
    (low, high), b = model()
    assert all(math.isclose(u, -v, abs_tol=1e-7) for u, v in zip(low, high)) and math.isclose(b[0], -b[1], abs_tol=1e-7)
    other = json.loads(command.run("train", "logistic", *words, "--lambda", "0.01", "-o", "l", "--json", "-q").splitlines()[-1])
    w, intercept = certificate.read_model("l")
    assert math.isclose(said["objective"], other["objective"], rel_tol=1e-8), (said, other)
    assert all(math.isclose(v - u, w.get(j, 0.0), abs_tol=1e-5) for j, (u, v) in enumerate(zip(low, high))), (low, high, w)
    measured = json.loads(command.run("evaluate", "m", "two.svm", "--json", "-q"))
    assert math.isclose(measured["auc"], json.loads(command.run("evaluate", "l", "two.svm", "--json", "-q"))["auc"], abs_tol=1e-6)


def against_scikit_learn(problem):
    try:
        import numpy
        from sklearn.linear_model import LogisticRegression
    except ImportError:
        print("skipped: no scikit-learn")
        return
    X, y = numpy.array(problem.X), numpy.array(problem.y)
    for share, lam in ((0.0, 0.01), (0.5, 0.01)):
        solver = {"solver": "newton-cg"} if share == 0 else {"penalty": "elasticnet", "l1_ratio": share, "solver": "saga", "max_iter": 20000}
        theirs = LogisticRegression(C=1 / (len(y) * lam), tol=1e-7, **solver).fit(X, y)
        objective, _ = judge(problem, [1.0] * len(y), theirs.coef_.tolist(), theirs.intercept_.tolist(), lam, share,
                             [1.0] * len(X[0]), True)
        ours = train("d.svm", "--index-base", "1", "--lambda", str(lam), "--l1-ratio", str(share), "--tol", "1e-9")["objective"]
        assert objective * (1 - 1e-4) < ours <= objective + 1e-9, (share, ours, objective)
    theirs = LogisticRegression(C=0.5, tol=1e-9, solver="newton-cg", class_weight="balanced").fit(X, y, problem.weights)
    train("d.svm", "--index-base", "1", "--weights", "w", "--C", "0.5", "--l1-ratio", "0", "--class-weight", "balanced", "--tol", "1e-11")
    assert all(abs(u - v) < 1e-4 for own, row in zip(model()[0], theirs.coef_) for u, v in zip(own, row)), (model(), theirs.coef_)


def folds_against_scikit_learn(cv, fold):
    try:
        import numpy
        from sklearn.linear_model import LogisticRegression
    except ImportError:
        print("skipped: no scikit-learn")
        return
    X, y, w = (numpy.array([row[k] for row in cv.rows]) for k in range(3))
    out, sums = numpy.array(fold), 0.0
    for f in range(3):
        inside, held = out != f, out == f
        theirs = LogisticRegression(C=1 / (w[inside].sum() * 0.02), tol=1e-8, solver="newton-cg").fit(X[inside], y[inside], w[inside])
        p = theirs.predict_proba(X[held])[numpy.arange(held.sum()), y[held]]
        sums -= (w[held] * numpy.log(p)).sum()
    with open("f", "w") as file:
        file.writelines(f"{f}\n" for f in fold)
    ours = train("c.csv", "--target", "t", "--weights", "w", "--ignore", "g", "--path", "0.02", "--l1-ratio", "0", "--cv", "3",
                 "--folds", "f", "--tol", "1e-9")["cv_log_loss"]
    assert math.isclose(ours, sums / w.sum(), rel_tol=1e-5), (ours, sums / w.sum())


def refusals():
    data = ("d.svm", "--index-base", "1")
    with open("one.csv", "w") as file:
        file.write("y,x\n" + "3,1\n" * 5)
    with open("alone.csv", "w") as file:
        file.write("y\n1\n0\n")
    with open("huge", "w") as file:
        file.write("1e200\n" * 60)
    for words, said in (((*data, "--lambda", "0"), "softmax needs a penalty"), ((*data, "--lambda", "1", "--C", "1"), "give one"),
                        (("one.csv", "--target", "y"), "weight above 0 have the label"), (("alone.csv", "--target", "y"), "no columns"),
                        ((*data, "--sync", "ssp:2", "--workers", "2"), "bsp"),
                        ((*data, "--filter", "absolute", "--workers", "2"), "--filter"),
                        (("d.csv", "--target", "t", "--ignore", "w", "--cv", "3", "--path", "2"), "class is3 are in fold"),
                        ((*data, "--cv", "3", "--lambda", "1"), "--lambda"), ((*data, "--cv-rule", "min"), "there is no --cv"),
                        ((*data, "--cv", "3", "--validation", "d.svm"), "--validation"),
                        ((*data, "--class-weight", "1=2,x"), "want balanced"), ((*data, "--class-weight", "0=2"), "has the label '0'"),
                        ((*data, "--class-weight", "1=2,1=3"), "two weights"), ((*data, "--class-weight", "1=-1"), "is not within [1e-100,1e100]"),
                        (("d.csv", "--target", "t", "--class-weight", "is1=0"), "is not within [1e-100,1e100]"),
                        ((*data, "--class-weight", "1=1e300"), "--class-weight: the weight 1e+300 of the label '1' is not within [1e-100,1e100]"),
                        ((*data, "--C", "1e-320"), "--C: '1e-320' is not within"), ((*data, "--weights", "huge"), "the example weights sum to 6e+201;"),
                        ((*data, "--cv", "61"), "only 60 rows"), ((*data, "--cv", "3", "--folds", "by:g"), "by:g"),
                        ((*data, "--init", "l"), "l"), ((*data, "--weights", "absent"), "absent")):
        out = subprocess.run((command.HAWSER, "train", "softmax", *words, "-o", "refused"), capture_output=True, text=True,
                             env=command.CLEAN, timeout=60)
        assert out.returncode != 0 and said in out.stderr and not os.path.exists("refused"), (words, out.returncode, out.stderr)
    out = subprocess.run((command.HAWSER, "evaluate", "m", "two.svm", "--threshold", "0.3"), capture_output=True, text=True,
                         env=command.CLEAN, timeout=60)
    assert out.returncode == 0, out.stderr


def workers_by_classes():
    """By default a second worker is taken where rows, columns and classes are many enough."""
    draw, processors = random.Random(8), len(os.sched_getaffinity(0))
    rows = [",".join(str(draw.randint(0, 9)) for _ in range(50)) for _ in range(2200)]
    for classes, expected in ((2, (1,)), (40, (min(2, processors), 1))):  # a quota of processors may leave 1
        with open("many.csv", "w") as file:
            file.writelines(f"{i % classes},{row}\n" for i, row in enumerate(rows))
        said = train("many.csv", "--target", "0", "--max-iterations", "1")
        assert said["classes"] == classes and said["workers"] in expected, said
        log = command.run("plan", "softmax", "many.csv", "--target", "0")
        assert f"pays for itself with {2**21 // classes} entries" in log, log


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        problem = Problem(7, 60, 4, 3)
        problem.write()
        optimum(problem)
        same_numbers()
        conditions()
        gap_of_rare_classes()
        far_without_intercept()
        predictions(problem)
        workers_by_classes()
        two_classes(problem)
        refusals()
        against_scikit_learn(problem)
        dealt = folds(problem)
        folds_against_scikit_learn(*dealt)
        class_weights(problem, *dealt)
        grid()


main()
