#!/usr/bin/env python3
"""Several targets (train multitask): objective and certificate recomputed in plain Python from the saved model, one target against the lasso, the same
bits on nodes, every form of input and policy, and scikit-learn's optimum where it is installed."""
import fractions
import itertools
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
import peers


class Problem:
    """Rows with a shared factor, of which a few columns matter to all targets."""

    def __init__(self, seed, rows, columns, targets, density=1.0, noise=0.5):
        draw = random.Random(seed)
        self.rows, self.columns, self.targets = rows, columns, targets
        self.X = []
        for _ in range(rows):
            factor = draw.gauss(0, 0.5)
            self.X.append([round(draw.gauss(0, 1) + factor, 3) if draw.random() < density else 0.0 for _ in range(columns)])
        truth = {j: [draw.gauss(0, 1) for _ in range(targets)] for j in draw.sample(range(columns), max(2, columns // 8))}
        self.Y = [[round(1.0 + o + sum(x[j] * w[o] for j, w in truth.items()) + draw.gauss(0, noise), 3) for o in range(targets)]
                  for x in self.X]
        self.weights = [draw.choice((0.0, 0.5, 1.0, 2.0)) for _ in range(rows)]
        self.factors = [draw.choice((0.5, 1.0, 2.0)) for _ in range(columns)]

    def names(self):
        return [f"y{o}" for o in range(self.targets)]

    def write(self):
        with open("d.csv", "w") as file:
            file.write(",".join(self.names() + [f"x{j}" for j in range(self.columns)] + ["weight"]) + "\n")
            for y, x, w in zip(self.Y, self.X, self.weights):
                file.write(",".join(map(str, y + x + [w])) + "\n")
        with open("d.svm", "w") as file:
            for x in self.X:
                file.write(" ".join(["0"] + [f"{j + 1}:{v}" for j, v in enumerate(x) if v]) + "\n")
        with open("targets", "w") as file:
            file.writelines(" ".join(map(str, y)) + "\n" for y in self.Y)
        with open("weights", "w") as file:
            file.writelines(f"{w}\n" for w in self.weights)
        with open("factors", "w") as file:
            file.writelines(f"{f}\n" for f in self.factors)


def read(path, columns):
    """The coefficients by target and column, and the intercepts."""
    tensors = certificate.read_tensors(path)
    outputs = tensors["intercept"][0][0]
    index, (shape, values) = tensors["coefficients.index"][1], tensors["coefficients.value"]
    assert shape == ([outputs, len(index)] if index else [0])
    W = [[0.0] * columns for _ in range(outputs)]
    for o, (k, j) in itertools.product(range(outputs), enumerate(index)):
        W[o][j] = values[o * len(index) + k]
    return W, list(tensors["intercept"][1])


def certify(problem, W, b, lam, ratio, weights=None, factors=None, intercept=True, standardize=False):
    """Objective and a bound of its distance to the optimum, by the best of some dual points; and the objective at zero."""
    n, q = problem.rows, problem.targets
    w = weights or [1.0] * n
    total = math.fsum(w)

    def mean(values):
        return math.fsum(v * u for v, u in zip(w, values)) / total if intercept else 0.0

    R = [[y[o] - b[o] - math.fsum(c * v for c, v in zip(W[o], x) if c) for x, y in zip(problem.X, problem.Y)] for o in range(q)]
    centred = [[y[o] - m for y in problem.Y] for o, m in ((o, mean([y[o] for y in problem.Y])) for o in range(q))]
    l1, l2, norms, own, slopes = [], [], [], [], []
    for j in range(problem.columns):
        column = [x[j] for x in problem.X]
        average = math.fsum(v * u for v, u in zip(w, column)) / total
        deviation = math.sqrt(math.fsum(v * (u - average) ** 2 for v, u in zip(w, column)) / total) if standardize else 1.0
        factor = factors[j] if factors else 1.0
        l1.append(lam * ratio * factor * deviation)
        l2.append(lam * (1 - ratio) * factor * deviation ** 2)
        m = mean(column)
        g = [math.fsum(v * (u - m) * r for v, u, r in zip(w, column, R[o])) / total for o in range(q)]
        norms.append(math.hypot(*g))
        own.append(math.hypot(*(W[o][j] for o in range(q))))
        slopes.append(math.hypot(*(g[o] - l2[j] * W[o][j] for o in range(q))))
    square = math.fsum(v * r * r for o in range(q) for v, r in zip(w, R[o])) / total
    cross = math.fsum(v * r * y for o in range(q) for v, r, y in zip(w, R[o], centred[o])) / total
    primal = square / 2 + math.fsum(a * s + c / 2 * s * s for a, c, s in zip(l1, l2, own))
    zero = math.fsum(v * y * y for o in range(q) for v, y in zip(w, centred[o])) / (2 * total)

    def dual(s):
        excess = [max(0.0, s * g - a) for g, a in zip(norms, l1)]
        if ratio == 1:
            assert max(excess) <= 1e-12 * zero ** 0.5
            return s * cross - s * s * square / 2
        return s * cross - s * s * square / 2 - math.fsum(e * e / (2 * c) for e, c in zip(excess, l2))

    curved = math.fsum(c * s * s for c, s in zip(l2, own))
    best = cross / (square + curved)
    if ratio == 1:
        return primal, primal - dual(min(best, 1 / max(g / a for g, a in zip(norms, l1)))), zero
    points = [1.0, best] + ([min(best, 1 / max(s / a for s, a in zip(slopes, l1)))] if ratio > 0 else [])
    return primal, primal - max(map(dual, points)), zero


def train(*words, expect=0):
    done = subprocess.run([command.HAWSER, *words, "--json", "-q", "-o", "m"], capture_output=True, text=True, env=command.CLEAN,
                          timeout=120)
    assert done.returncode == expect, (words, done.returncode, done.stderr)
    return json.loads(done.stdout.strip().split("\n")[-1]) if expect == 0 else done.stderr


def certificates():
    """The printed objective and gap are those of the saved model, and the gap is below the tolerance."""
    forms = [("d.csv", ["--target", "{names}", "--ignore", "weight"]), ("d.svm", ["--target", "targets", "--index-base", "1"])]
    choices = [({}, []), ({"ratio": 0.6}, ["--l1-ratio", "0.6"]), ({"ratio": 0.0}, ["--l1-ratio", "0"]),
               ({"intercept": False}, ["--no-intercept"]), ({"standardize": True}, ["--standardize"]),
               ({"factors": True, "ratio": 0.5}, ["--penalty-factors", "factors", "--l1-ratio", "0.5"]),
               ({"weights": True}, ["--weights", "weights"])]
    policies = [[], ["--workers", "3"], ["--workers", "2", "--sync", "ssp:1"], ["--workers", "3", "--sync", "tap"],
                ["--workers", "2", "--merge", "average"], ["--workers", "2", "--encoding", "bf16"],
                ["--workers", "2", "--exchange-every", "1"], ["--workers", "2", "--exchange-every", "0.25"]]
    tries = list(itertools.product(enumerate(choices), enumerate(policies)))
    for (c, (how, words)), (p, policy) in command.some(tries, 5):
        if p > 1 and c not in (0, 2) and (c + p) % 3:
            continue
        file, target = forms[(c + p) % 2]
        shape = [(40, 12, 3), (25, 40, 2)][(c + p) % 2] if p < 2 else (40, 10, 3)
        problem = Problem(10 * c + p, *shape, density=1.0 if file == "d.csv" else 0.5)
        problem.write()
        lam, how = 0.15, dict(how)
        how["weights"] = problem.weights if how.get("weights") else None
        how["factors"] = problem.factors if how.get("factors") else None
        ratio = how.pop("ratio", 1.0)
        target = [word.replace("{names}", ",".join(problem.names())) for word in target]
        got = train("train", "multitask", file, *target, "--lambda", str(lam), "--tol", "1e-7", *words, *policy)
        primal, gap, zero = certify(problem, *read("m", problem.columns), lam, ratio, **how)
        say = (file, words, policy, got["objective"], primal, got["gap"], gap)
        assert got["stop_reason"] == "gap" and got["gap"] <= 1e-7 * zero * 1.000001, say
        assert abs(got["objective"] - primal) <= 1e-10 * zero, say
        assert gap <= got["gap"] + 1e-10 * zero and got["gap"] >= 0, say
        assert got["nonzeros"] == sum(any(w[j] for w in read("m", problem.columns)[0]) for j in range(problem.columns)), say


def less_the_span(vectors, of, weights):
    """The vectors less what a weighted least squares fit on the vectors `of` explains, in exact fractions."""
    basis = []
    vectors, of = ([[fractions.Fraction(v) for v in x] for x in list] for list in (vectors, of))
    weights = [fractions.Fraction(w) for w in weights]

    def reduced(x):
        for q, size in basis:
            dot = sum(w * u * v for w, u, v in zip(weights, q, x))
            x = [v - dot / size * u for u, v in zip(q, x)] if dot else x
        return x

    for x in of:
        q = reduced(x)
        size = sum(w * u * u for w, u in zip(weights, q))
        if size > 0: # else it depends on those before it
            basis.append((q, size))
    return [list(map(float, reduced(x))) for x in vectors]


def without_penalty():
    """Columns of penalty factor 0, or all of them (--lambda 0): the objective is that of exact least squares on these, and the certificate that of the rest."""
    tries = list(itertools.product(([], ["--no-intercept"], ["--weights", "weights"]), ((0,), (1, 3, 4), None),
                                   ([], ["--workers", "3"], ["--workers", "2", "--sync", "ssp:1"], ["--workers", "2", "--exchange-every", "1"])))
    for at, (words, free, policy) in command.some(list(enumerate(tries)), 7):
        ratio = 1.0 if free is None else (1.0, 0.4)[at % 2]
        problem = Problem(500 + at, 14, 7, 2, density=0.6 if at % 3 else 1.0)
        problem.X = [[round(256 * v) / 256 for v in x] for x in problem.X]
        for x in problem.X:
            x[4] = x[1] + x[3] # depends on two others, exactly
        problem.write()
        with open("factors", "w") as file:
            file.writelines("0\n" if j in (free or ()) else "1\n" for j in range(7))
        penalty = ["--lambda", "0"] if free is None else ["--lambda", "0.1", "--l1-ratio", str(ratio), "--penalty-factors", "factors"]
        got = train("train", "multitask", "d.svm", "--target", "targets", "--index-base", "1", "--tol", "1e-7", *words, *penalty, *policy)
        W, _ = read("m", 7)
        weights = problem.weights if "--weights" in words else [1.0] * 14
        intercept = [] if "--no-intercept" in words else [[1] * 14]
        columns = [[x[j] for x in problem.X] for j in range(7)]
        left = less_the_span(columns + [[y[o] for y in problem.Y] for o in range(2)],
                             intercept + [columns[j] for j in (range(7) if free is None else free)], weights)
        say = (words, free, policy, got["objective"], got["gap"], got["stop_reason"])
        if free is None:
            best = math.fsum(w * r * r for x in left[7:] for w, r in zip(weights, x)) / math.fsum(weights) / 2
            assert got["stop_reason"] == "gap" and abs(got["objective"] - best) <= got["gap"] + 1e-12, (say, best)
            continue
        rest = [j for j in range(7) if j not in free]
        problem.columns, problem.X, problem.Y = len(rest), list(zip(*(left[j] for j in rest))), list(zip(*left[7:]))
        W = [[w[j] for j in rest] for w in W]
        primal, gap, zero = certify(problem, W, [0.0, 0.0], 0.1, ratio, weights=weights, intercept=False)
        assert got["stop_reason"] == "gap" and primal <= got["objective"] + 1e-10 * zero, (say, primal)
        assert got["objective"] - got["gap"] <= primal + 1e-10 * zero and gap <= got["gap"] + 1e-9 * zero, (say, primal, gap)


def short_rounds():
    """Rounds that are shorter than a pass reach all columns."""
    problem = Problem(77, 60, 12, 2, noise=0.1)
    problem.write()
    words = ["train", "multitask", "d.csv", "--target", "y0,y1", "--ignore", "weight", "--lambda", "0.001", "--tol", "1e-6"]
    alone = train(*words)
    for every, workers in itertools.product(("0.5", "0.1"), ("1", "2")):
        got = train(*words, "--exchange-every", every, "--workers", workers)
        assert got["stop_reason"] == "gap" and got["objective"] - alone["objective"] <= got["gap"] + alone["gap"], (every, workers, got)


def rounds_remember_what_they_record():
    """A round that begins after another block's has ended has the gradients of the scan, also where it was read back from a record."""
    Problem(31, 30, 40, 2).write()
    for sync in ("ssp:1", "tap"):
        train("train", "multitask", "d.csv", "--target", "y0,y1", "--ignore", "weight", "--lambda", "0.01", "--l1-ratio", "0", "--workers", "2",
              "--sync", sync, "--rehearse", "2", "--max-clocks", "30")


def few_entries():
    """Columns with few entries have no Gram matrix: descents change the residuals."""
    problem = Problem(11, 80, 240, 3, density=0.03)
    problem.write()
    for words, how in ((["--lambda", "0.01"], {}), (["--lambda", "0.02", "--weights", "weights"], {"weights": problem.weights}),
                       (["--lambda", "0.002", "--no-intercept", "--workers", "3"], {"intercept": False})):
        got = train("train", "multitask", "d.svm", "--target", "targets", "--index-base", "1", "--tol", "1e-9", *words)
        primal, gap, zero = certify(problem, *read("m", problem.columns), float(words[1]), 1.0, **how)
        say = (words, got["objective"], primal, got["gap"], gap)
        assert got["stop_reason"] == "gap" and got["nonzeros"] > 20 and gap <= got["gap"] + 1e-10 * zero, say
        assert abs(got["objective"] - primal) <= 1e-10 * zero and got["gap"] <= 1e-9 * zero * 1.000001, say


def alike_columns():
    """A few strong factors make all columns alike. A path then needs about one round per lambda, since steps along the face find the optimum."""
    draw = random.Random(12)
    problem = Problem(12, 120, 40, 3)
    loads = [[draw.gauss(0, 1) for _ in range(40)] for _ in range(3)]
    for i, x in enumerate(problem.X):
        factors = [draw.gauss(0, 3) for _ in range(3)]
        problem.X[i] = [round(0.3 * v + sum(f * load[j] for f, load in zip(factors, loads)), 4) for j, v in enumerate(x)]
    problem.write()
    got = train("train", "multitask", "d.csv", "--target", "y0,y1,y2", "--ignore", "weight", "--path", "10", "--lambda-min-ratio", "1e-3")
    assert got["stop_reason"] == "gap" and got["clocks"] <= 30, got["clocks"]


def one_target_is_a_lasso():
    problem = Problem(5, 50, 15, 2)
    problem.write()
    for words in (["--lambda", "0.1"], ["--lambda", "0.05", "--l1-ratio", "0.4", "--standardize"]):
        common = ["d.csv", "--target", "y0", "--ignore", "y1,weight", "--tol", "1e-10", *words]
        first, (w, b) = train("train", "multitask", *common), read("m", 15)
        second, (v, c) = train("train", "lasso", *common), read("m", 15)
        assert abs(first["objective"] - second["objective"]) <= 1e-9 * first["objective"]
        assert max(abs(x - y) for x, y in zip(w[0] + b, v[0] + c)) < 1e-4, (w, v)
        assert abs(first["lambda_max"] - second["lambda_max"]) <= 1e-12 * first["lambda_max"]


def bytes_of(path):
    """The tensors of a model, and the names of its outputs."""
    tensors = {name: (shape, values.tobytes()) for name, (shape, values) in certificate.read_tensors(path).items()}
    return tensors, command.run("info", path, "--top", "1").split("\n")[0]


def nodes_have_the_same_bits():
    problem = Problem(7, 60, 30, 3)
    problem.write()
    csv = ["d.csv", "--target", "y0,y1,y2", "--ignore", "weight"]
    sparse = ["d.svm", "--target", "targets", "--index-base", "1"]
    with open("d.csv", encoding="utf-8") as data, open("words.csv", "w", encoding="utf-8") as out:
        for k, line in enumerate(data):
            out.write(("color" if k == 0 else ("red", "green", "blue")[k % 3]) + "," + line)
    table = ["words.csv", *csv[1:]]
    for words in (table + ["--lambda", "0.05"], csv + ["--lambda", "0.1"], sparse + ["--path", "6"], csv + ["--path", "5", "--cv", "3", "--l1-ratio", "0.7"],
                  csv + ["--lambda", "0.2", "--certify-every", "7"]):
        models = []
        for nodes in (1, 2, 3):
            start = ["run", "-n", str(nodes), "--"] if nodes > 1 else []
            train(*start, "train", "multitask", *words, "--workers", "4")
            models.append(bytes_of("m"))
        assert models[0] == models[1] == models[2], words


def path_and_folds():
    """Each lambda of a path is as good as alone, and the error of the folds is that of predictions for the rows that they hold out."""
    problem = Problem(8, 45, 12, 2)
    problem.write()
    common = ["d.csv", "--target", "y0,y1", "--ignore", "weight", "--tol", "1e-8"]
    train("train", "multitask", *common, "--path", "5")
    tensors = {name: values for name, (_, values) in certificate.read_tensors("m").items()}
    shape = certificate.read_tensors("m")["path.value"][0]
    for l, lam in enumerate(tensors["path.lambda"]):
        W = [[0.0] * 12 for _ in range(2)]
        for o, k in itertools.product(range(2), range(tensors["path.offsets"][l], tensors["path.offsets"][l + 1])):
            W[o][tensors["path.index"][k]] = tensors["path.value"][o * shape[1] + k]
        primal, gap, zero = certify(problem, W, tensors["path.intercept"][2 * l:2 * l + 2], lam, 1.0)
        assert abs(primal - tensors["path.objective"][l]) <= 1e-10 * zero and gap <= 1.1e-8 * zero, (l, primal, gap)
    member = command.run("predict", "m", "d.csv", "-q", "--lambda", repr(tensors["path.lambda"][2])).split()[1:]
    train("train", "multitask", *common, "--lambda", repr(tensors["path.lambda"][2]))
    alone = command.run("predict", "m", "d.csv", "-q").split()[1:]
    assert max(abs(float(u) - float(v)) for a, c in zip(member, alone) for u, v in zip(a.split(","), c.split(","))) < 1e-3
    last = train("train", "multitask", *common, "--path", "5", "--validation", "d.csv")
    done = json.loads(command.run("evaluate", "m", "d.csv", "--json"))
    mse = sum(line["rmse"] ** 2 for line in done["outputs"]) / 2
    assert abs(last["validation_mse"] - mse) <= 1e-10 * mse, (last["validation_mse"], mse)
    with open("folds", "w") as file:
        file.writelines(f"{i % 3 + 1}\n" for i in range(problem.rows))
    lam = tensors["path.lambda"][2]
    chosen = train("train", "multitask", *common, "--path", f"{lam * 1.5!r},{lam!r}", "--cv", "3", "--folds", "folds")
    errors = []
    for fold in range(3): # the rows of a fold are left out of a training by their weights
        with open("weights", "w") as file:
            file.writelines(f"{int(i % 3 != fold)}\n" for i in range(problem.rows))
        train("train", "multitask", "d.svm", "--target", "targets", "--index-base", "1", "--tol", "1e-8", "--weights", "weights",
              "--lambda", repr(lam))
        W, b = read("m", 12)
        errors += [(y[o] - b[o] - math.fsum(c * v for c, v in zip(W[o], x))) ** 2 for i, (x, y) in
                   enumerate(zip(problem.X, problem.Y)) if i % 3 == fold for o in range(2)]
    at = chosen["cv"]["lambda"].index(lam)
    mean = math.fsum(errors) / len(errors)
    assert abs(chosen["cv"]["error"][at] - mean) <= 1e-3 * mean, (chosen["cv"], mean)


def models_are_used():
    """predict, evaluate, info and --init by name, with columns in any order, and the .npy of predictions."""
    problem = Problem(9, 40, 8, 3)
    problem.write()
    train("train", "multitask", "d.csv", "--target", "y2,y0", "--ignore", "y1,weight", "--lambda", "0.1")
    W, b = read("m", 8)
    expected = [[b[o] + math.fsum(c * v for c, v in zip(W[o], x)) for o in range(2)] for x in problem.X]
    with open("new.csv", "w") as file:
        order = [3, 1, 7, 0, 2, 6, 5, 4]
        file.write(",".join([f"x{j}" for j in order]) + ",other\n")
        file.writelines(",".join([str(x[j]) for j in order]) + ",9\n" for x in problem.X)
    lines = command.run("predict", "m", "new.csv", "-q").split()
    assert lines[0] == "y2,y0" and len(lines) == 41
    got = [[float(v) for v in line.split(",")] for line in lines[1:]]
    assert max(abs(p - e) for a, c in zip(got, expected) for p, e in zip(a, c)) < 1e-12
    with open("new.csv") as file:
        named = ["row," + file.readline()] + [f"r{i},{line}" for i, line in enumerate(file)]
    with open("new.csv", "w") as file:
        file.writelines(named)
    lines = command.run("predict", "m", "new.csv", "-q", "--id", "row").split()
    assert lines[0] == "row,y2,y0" and lines[3].startswith("r2,") and len(lines[3].split(",")) == 3, lines[:4]
    command.run("predict", "m", "d.csv", "-q", "-o", "p.npy")
    with open("p.npy", "rb") as file:
        assert b"'shape': (40, 2)" in file.read()
    done = json.loads(command.run("evaluate", "m", "d.csv", "--json", "-q"))
    for k, o in enumerate((2, 0)):
        y = [row[o] for row in problem.Y]
        mean = math.fsum(y) / 40
        errors = [v - p[k] for v, p in zip(y, expected)]
        r2 = 1 - math.fsum(e * e for e in errors) / math.fsum((v - mean) ** 2 for v in y)
        line = done["outputs"][k]
        assert line["output"] == f"y{o}" and abs(line["r2"] - r2) < 1e-9, line
        assert abs(line["mae"] - math.fsum(map(abs, errors)) / 40) < 1e-9
    assert abs(done["r2"] - sum(line["r2"] for line in done["outputs"]) / 2) < 1e-12
    printed = command.run("info", "--coefficients", "m").split("\n")
    assert printed[0] == "y2\ty0\t(column)" and printed[1].endswith("(intercept)")
    again = train("train", "multitask", "d.csv", "--target", "y2,y0", "--ignore", "y1,weight", "--lambda", "0.1", "--init", "m")
    assert again["clocks"] == 0 or again["nonzeros"] == sum(any(w[j] for w in W) for j in range(8))


def refusals():
    Problem(3, 20, 5, 2).write()
    csv = ("d.csv", "--target", "y0,y1")
    cases = [((*csv, "--lower", "0"), 2, "unknown option --lower"),
             ((*csv, "--offset", "weight"), 2, "multitask has no offset"), (("d.csv", "--target", "y0,nowhere"), 3, "'nowhere' is no column"),
             (("d.csv", "--target", "y0,y0"), 3, "names column 0 'y0' twice"), (("d.svm", "--target", "y0,y1"), 2, "name a file of targets"),
             (("d.svm", "--target", "factors"), 3, "has 5 lines for the targets of 20 rows")]
    for words, code, say in cases:
        assert say in train("train", "multitask", *words, expect=code), words
    assert "the target 'y0,y1' is neither" in train("train", "lasso", *csv, expect=3)
    train("train", "multitask", *csv, "--lambda", "0.1")
    other = subprocess.run([command.HAWSER, "evaluate", "m", "d.csv", "--target", "y1,y0"], capture_output=True, text=True,
                           env=command.CLEAN, timeout=60)
    assert other.returncode == 3 and "of these data and number" in other.stderr, other.stderr
    assert "2 outputs instead of 1" in train("train", "lasso", "d.csv", "--target", "y0", "--ignore", "y1", "--init", "m", expect=3)


def scikit_learn():
    try:
        import numpy
        from sklearn.linear_model import MultiTaskElasticNet
    except ImportError:
        print("skipped: scikit-learn's optimum")
        return
    for seed, (rows, columns, targets, lam, ratio) in enumerate([(60, 20, 3, 0.2, 1.0), (30, 60, 2, 0.2, 0.7)]):
        problem = Problem(seed, rows, columns, targets)
        problem.write()
        fit = MultiTaskElasticNet(alpha=lam, l1_ratio=ratio, tol=1e-12, max_iter=100000).fit(numpy.array(problem.X), numpy.array(problem.Y))
        best, _, zero = certify(problem, fit.coef_.tolist(), fit.intercept_.tolist(), lam, ratio)
        got = train("train", "multitask", "d.csv", "--target", ",".join(problem.names()), "--ignore", "weight", "--lambda",
                    str(lam), "--l1-ratio", str(ratio), "--tol", "1e-9")
        assert abs(got["objective"] - best) <= 2e-9 * zero, (got["objective"], best)


def glmnet():
    """glmnet's mgaussian minimises the same objective: each optimum is that of the other, to glmnet's precision."""
    if not peers.have_glmnet():
        print("skipped: glmnet's optimum")
        return
    cases = [((60, 20, 3), 1.0, {}), ((30, 60, 2), 0.7, {}), ((40, 15, 2), 1.0, {"weights": True}), ((50, 15, 3), 0.5, {"factors": True})]
    for seed, (shape, ratio, how) in enumerate(cases):
        problem = Problem(40 + seed, *shape)
        problem.write()
        how = {key: getattr(problem, key) for key in how}
        words = [word for key in how for word in (f"--{key}" if key == "weights" else "--penalty-factors", key)]
        lambdas = [0.4, 0.2, 0.05]
        fits = peers.mgaussian(problem.X, problem.Y, lambdas, ratio, **how)
        for lam, (W, b) in zip(lambdas, fits):
            theirs, _, zero = certify(problem, W, b, lam, ratio, **how)
            got = train("train", "multitask", "d.csv", "--target", ",".join(problem.names()), "--ignore", "weight", "--lambda", str(lam),
                        "--l1-ratio", str(ratio), "--tol", "1e-10", *words)
            own, c = read("m", problem.columns)
            assert abs(got["objective"] - theirs) <= 1e-8 * zero, (seed, lam, got["objective"], theirs)
            worst = max(abs(u - v) for mine, others in zip(own + [c], W + [b]) for u, v in zip(mine, others))
            assert worst < 1e-3, (seed, lam, worst)


def long_paths_have_the_same_bits():
    """A path that goes on beyond 100 lambdas is the same on nodes."""
    problem = Problem(1, 30, 34, 2, noise=0.1)
    problem.write()
    found = []
    for nodes in (1, 3):
        start = ["run", "-n", str(nodes), "--"] if nodes > 1 else []
        got = train(*start, "train", "multitask", "d.csv", "--target", "y0,y1", "--ignore", "weight", "--cv", "2", "--workers", "3")
        found.append((bytes_of("m"), got["cv"]))
    assert len(found[0][1]["lambda"]) > 100, len(found[0][1]["lambda"])
    assert found[0] == found[1]


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for test in (certificates, without_penalty, short_rounds, rounds_remember_what_they_record, few_entries, alike_columns, one_target_is_a_lasso, nodes_have_the_same_bits, path_and_folds, models_are_used,
                 refusals, scikit_learn, glmnet, long_paths_have_the_same_bits):
        test()
        print(test.__name__, flush=True)
