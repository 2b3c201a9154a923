#!/usr/bin/env python3
"""`hawser train logistic --solver gd|sgd|minibatch`: steps on batches are those of Algorithm 1 run on one thread by a program that shares nothing
with it; the same bits in both forms, on any number of threads and nodes, under bsp and dc:0; on all rows the certified optimum under every sync,
with batches near it; and one line for what cannot be."""
import itertools
import json
import math
import os
import random
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from logistic_certificate import CLEAN, HAWSER, check, generated, read_model, read_svmlight, some, train  # noqa: E402

SYNCS = ("bsp", "ssp:2", "tap", "delay:1", "delay:3", "dc:0", "dc:1", "dc:3")
MASK = (1 << 64) - 1


def small():
    chance, lines = random.Random(7), []
    for _ in range(60):
        row = sorted(chance.sample(range(1, 12), 5))
        values = [chance.gauss(0.5, 1) for _ in row]
        score = sum(v * (-1) ** j for j, v in zip(row, values)) + chance.gauss(0.7, 0.5)
        lines.append("%d %s" % (score > 0, " ".join("%d:%r" % pair for pair in zip(row, values))))
    return "\n".join(lines) + "\n"


def write(folder, text):
    path = os.path.join(folder, "data.svm")
    with open(path, "w") as file:
        file.write(text)
    return path


# ---------------------------------------------------------------------------------------------------------- algorithm 1

def draw(seed, number, k):
    z = (seed * 0x9e3779b97f4a7c15 + number * 0xd1342543de82ef95 + k + 0x632be59bd9b4e019) & MASK
    for _ in range(2):
        z = ((z ^ (z >> 30)) * 0xbf58476d1ce4e5b9) & MASK
        z = ((z ^ (z >> 27)) * 0x94d049bb133111eb) & MASK
        z ^= z >> 31
    return z


def prox(pull, curvature, l1, l2):
    return math.copysign(max(abs(pull) - l1, 0.0), pull) / (curvature + l2)


def algorithm_1(text, seed, batch, epochs, step, l1, l2, balanced, intercept):
    """One thread: every iteration reads all weights, then writes all."""
    target, columns = read_svmlight(text)
    n, p = len(target), max(columns) + 1
    X = [[0.0] * p for _ in range(n)]
    for j, column in columns.items():
        for i, x in column:
            X[i][j] = x
    y = [1.0 if t == max(target) else -1.0 for t in target]
    high = sum(s > 0 for s in y)
    c = [n / (2.0 * (high if s > 0 else n - high)) if balanced else 1.0 for s in y]
    total = math.fsum(c)
    mean = [math.fsum(c[i] * X[i][j] for i in range(n)) / total if intercept else 0.0 for j in range(p)]
    most = [max(abs(X[i][j] - mean[j]) for i in range(n)) for j in range(p)]
    w, b = [0.0] * p, math.log(math.fsum(a for a, s in zip(c, y) if s > 0) / math.fsum(a for a, s in zip(c, y) if s < 0))
    b = b if intercept else 0.0
    for t in range(math.ceil(epochs * n / batch)):
        rows = [draw(seed, t, k) % n for k in range(batch)]
        rate, share = step / (1 + t / (2 * math.ceil(n / batch))), 1 / (batch * total / n)
        pull = [c[i] * y[i] / (1 + math.exp(y[i] * (b + math.fsum((X[i][j] - mean[j]) * w[j] for j in range(p))))) for i in rows]
        own = 1 / (0.25 * (1 + 1 / batch) * (1 + t / (2 * math.ceil(n / batch))))
        b += min(rate, own) * math.fsum(pull) * share if intercept else 0.0
        for j in range(p):
            if most[j] > 0:
                eta, g = rate / most[j] ** 2, math.fsum((X[i][j] - mean[j]) * r for i, r in zip(rows, pull)) * share
                w[j] = prox(w[j] / eta + g, 1 / eta, l1, l2)
    return w


def steps_of_algorithm_1(folder):
    text = small()
    data, model = write(folder, text), os.path.join(folder, "model")
    for solver, batch, epochs, step in (("sgd", 1, 3, 0.4), ("minibatch", 7, 11, 0.4), ("minibatch", 20, 2, 4.5)):
        for ratio, balanced, intercept in ((1.0, False, True), (0.0, False, False), (0.4, True, True)):
            lam, seed = 0.03, 5
            expected = algorithm_1(text, seed, batch, epochs, step, lam * ratio, lam * (1 - ratio), balanced, intercept)
            for sync, form in some(itertools.product(("bsp", "dc:0"), ("products", "weights"))):
                options = ["--solver", solver, "--epochs", str(epochs), "--certify-every", "100000", "--seed", str(seed), "--step", str(step),
                           "--lambda", str(lam), "--l1-ratio", str(ratio), "--sync", sync, "--exchange", form, "--workers", "3"]
                options += (["--batch", str(batch)] if solver == "minibatch" else []) + (["--class-weight", "balanced"] if balanced else [])
                printed = train(data, model, options + ([] if intercept else ["--no-intercept"]))
                w, _ = read_model(model)
                worst = max(abs(w.get(j, 0.0) - v) for j, v in enumerate(expected))
                assert worst <= 1e-11 and max(map(abs, expected)) > 0.1, (options, worst)
                assert printed["stop_reason"] == "epochs" and printed["repeatable"], printed


def ended_between_certificates(folder):
    """A limit keeps the result since the last certificate, and prints its certificate."""
    text = small()
    data, model = write(folder, text), os.path.join(folder, "model")
    for clocks in (37, 75):
        expected = algorithm_1(text, 5, 1, (clocks - 0.5) / 60, 0.4, 0.03, 0.0, False, True)
        for sync, form in (("bsp", "products"), ("dc:0", "weights")):
            printed = train(data, model, ["--solver", "sgd", "--seed", "5", "--step", "0.4", "--lambda", "0.03", "--sync", sync, "--exchange", form,
                                          "--workers", "3", "--certify-every", "100000", "--max-clocks", str(clocks)])
            w, _ = read_model(model)
            worst = max(abs(w.get(j, 0.0) - v) for j, v in enumerate(expected))
            assert printed["stop_reason"] == "clocks" and worst <= 1e-11 and max(map(abs, expected)) > 0.1, (clocks, sync, printed, worst)
            assert printed["deviance_ratio"] > 0.05, printed
    for solver in ("gd", "dbpg"):
        options = ["--solver", solver, "--lambda", "0.001", "--workers", "3", "--certify-every", "1000000", "--max-clocks"]
        ratio = [train(data, model, options + [clocks])["deviance_ratio"] for clocks in ("60", "600")]
        assert 0.05 < ratio[0] < ratio[1], (solver, ratio)


# ------------------------------------------------------------------------------------------------------------- policies

def every_policy(folder):
    """On all rows the gap is certified; batches come near."""
    for penalty in (["--C", "0.5", "--l1-ratio", "1"], ["--lambda", "0.02", "--l1-ratio", "0.5", "--no-intercept"]):
        best, zero = check(folder, "default", generated(), penalty)
        for sync, form in some(itertools.product(SYNCS, ("products", "weights"))):
            own, _ = check(folder, "gd", generated(), penalty + ["--solver", "gd", "--sync", sync, "--workers", "3", "--exchange", form], 1e-6)
            assert abs(own - best) <= 1e-6 * zero, (penalty, sync, form, own, best)
    data, model = write(folder, small()), os.path.join(folder, "model")
    options = ["--lambda", "0.02", "--workers", "3"]
    best = train(data, model, options)["objective"]
    for sync in some(SYNCS):
        for solver in (["sgd", "--epochs", "60"], ["minibatch", "--batch", "10", "--epochs", "200"]):
            printed = train(data, model, options + ["--sync", sync, "--solver"] + solver)
            assert best <= printed["objective"] + 1e-12 and printed["objective"] <= best + printed["gap"], (sync, solver, printed)
            assert printed["objective"] <= (1.15 if sync == "tap" else 1.05) * best, (sync, solver, printed["objective"], best)
            assert printed["repeatable"] == (sync in ("bsp", "dc:0")), (sync, printed)


def other_penalties(folder):
    data, model = write(folder, generated()), os.path.join(folder, "model")
    for options in (["--lambda", "0.02", "--l1-ratio", "0.5", "--standardize"], ["--lambda", "0.01", "--upper", "0.2", "--class-weight", "1:3"],
                    ["--path", "4", "--lambda-min-ratio", "0.1", "--cv", "3"]):
        found = [train(data, model, options + more + ["--tol", "1e-6"])["objective"]
                 for more in some(([], ["--solver", "gd", "--workers", "2"], ["--solver", "gd", "--workers", "3", "--sync", "dc:1"]), 2)]
        assert max(found) - min(found) <= 2e-6, (options, found)
    start = os.path.join(folder, "start")
    first = train(data, start, ["--solver", "gd", "--lambda", "0.02", "--workers", "2"])
    again = train(data, model, ["--solver", "gd", "--lambda", "0.02", "--workers", "2", "--init", start])
    assert again["clocks"] < first["clocks"] / 2, (first["clocks"], again["clocks"])


def few_rows(folder):
    """Batches of more rows than there are."""
    data, model = write(folder, "".join(small().splitlines(True)[:20])), os.path.join(folder, "model")
    for form in ("products", "weights"):
        for batch in ("100", "3000"):
            printed = train(data, model, ["--solver", "minibatch", "--lambda", "0.01", "--batch", batch, "--exchange", form, "--workers", "2"])
            assert math.isfinite(printed["objective"]) and printed["stop_reason"] == "epochs", printed


def rare_columns(folder):
    """Each row has one of a hundred columns: their steps are long, the intercept's is not."""
    chance, lines = random.Random(11), []
    worth = [chance.gauss(0, 1.5) for _ in range(100)]
    for _ in range(1000):
        j = chance.randrange(100)
        lines.append("%d %d:1" % (worth[j] + chance.gauss(-1, 1) > 0, j + 1))
    data, model = write(folder, "\n".join(lines) + "\n"), os.path.join(folder, "model")
    options = ["--lambda", "0.001", "--l1-ratio", "0.5", "--workers", "2"]
    best = train(data, model, options)["objective"]
    for epochs, close in (("3", 1.06), ("60", 1.01)):
        found = train(data, model, options + ["--solver", "minibatch", "--epochs", epochs])["objective"]
        assert best <= found <= close * best, (epochs, found, best)


def without_curvature(folder):
    """A column that is constant, or whose rows are all held out, keeps no weight of a start or of the fold before."""
    chance = random.Random(2)
    noise = [[chance.gauss(0, 1), chance.gauss(0, 1)] for _ in range(80)]
    rows = ["%d 1:%r 2:%r" % (a + chance.gauss(0, 1) > 0, a, b) for a, b in noise]
    start, model, data = os.path.join(folder, "start"), os.path.join(folder, "model"), os.path.join(folder, "data.svm")
    write(folder, "\n".join(row + " 3:%r" % (2.0 * int(row[0]) + chance.gauss(0, 1)) for row in rows) + "\n")
    train(data, start, ["--lambda", "0.01"])
    assert abs(read_model(start)[0][2]) > 0.1
    write(folder, "\n".join(row + " 3:1.5" for row in rows) + "\n")
    best = train(data, model, ["--lambda", "0.01"])["objective"]
    for solver in ("gd", "minibatch", "dbpg"):
        for sync in ("bsp", "dc:0"):
            printed = train(data, model, ["--lambda", "0.01", "--init", start, "--solver", solver, "--sync", sync, "--workers", "2"])
            assert 2 not in read_model(model)[0], (solver, sync, read_model(model))
            assert solver == "minibatch" or abs(printed["objective"] - best) <= 1e-6, (solver, sync, printed["objective"], best)
    write(folder, "\n".join(row + (" 3:5" if i == 7 else "") for i, row in enumerate(rows)) + "\n")
    errors = [train(data, model, ["--path", "0.004,0.001", "--cv", "4", "--seed", "3", "--tol", "1e-8", "--l1-ratio", "0.5"] + more)["cv_log_loss"]
              for more in ([], ["--solver", "gd"], ["--solver", "dbpg"])]
    assert max(errors) - min(errors) <= 1e-5, errors


def until_the_epochs_end(folder):
    """Certificates without an improvement do not end batches early."""
    data, model = write(folder, small()), os.path.join(folder, "model")
    for workers in some(("2", "1"), 2):
        printed = train(data, model, ["--lambda", "0.02", "--solver", "sgd", "--epochs", "400", "--step", "4", "--workers", workers])
        assert printed["stop_reason"] == "epochs", printed


def too_long_steps(folder):
    """A training that ends far above the objective of zero weights fails, and the best certified model is kept."""
    data, model = write(folder, small()), os.path.join(folder, "diverged")
    for solver in (["sgd"], ["minibatch", "--batch", "10"]):
        out = subprocess.run([HAWSER, "train", "logistic", data, "--index-base", "1", "--workers", "2", "-o", model, "--step", "1e30", "--json",
                              "--solver"] + solver, capture_output=True, text=True, env=CLEAN, timeout=60)
        assert out.returncode == 7 and "the training diverged: it ends at the objective " in out.stderr, out.stderr
        assert "; the best certified model is in " + model in out.stderr, out.stderr
        printed = json.loads(out.stdout.splitlines()[-1])
        assert printed["stop_reason"] == "diverged" and 0 < printed["objective"] < 0.7 and printed["gap"] < 0.7, printed
        assert os.path.exists(model), solver


def far_from_the_optimum(folder):
    """A few entries a thousand times the rest leave no step for these: one line says how far batches came, and what helps."""
    chance, lines = random.Random(5), []
    for _ in range(400):
        row = [chance.gauss(0, 1) for _ in range(4)]
        label = row[0] - row[1] + row[2] > 0
        row = [x * (1000 if chance.random() < 0.01 else 1) for x in row]
        lines.append("%d %s" % (label, " ".join("%d:%r" % (j + 1, x) for j, x in enumerate(row))))
    data, model = write(folder, "\n".join(lines) + "\n"), os.path.join(folder, "model")
    options = ["--lambda", "0.0001", "--workers", "2"]
    best = train(data, model, options)
    assert best["notes"] == [], best
    for solver in ("sgd", "minibatch"):
        printed = train(data, model, options + ["--solver", solver, "--epochs", "2"])
        note, = printed["notes"]
        assert "after 2 epochs the objective is %.4g " % printed["objective"] in note and "--solver newton" in note, note
        assert "where columns have a few entries far larger than the rest, steps are short" in note, note
        least = float(note.split("at least ")[1].split(":")[0])
        assert least <= best["objective"] and printed["stop_reason"] == "epochs", (note, best["objective"])
        note, = train(data, model, options + ["--solver", solver, "--epochs", "2", "--sync", "ssp:3"])["notes"]
        assert "under --sync ssp:3 steps are short" in note, note
        note, = train(data, model, options + ["--solver", solver, "--epochs", "2", "--step", "0.01"])["notes"]
        assert "--step 0.01 may be too short" in note, note


def the_same_bits(folder):
    data, model = write(folder, small()), os.path.join(folder, "model")
    for solver in (["gd"], ["sgd", "--epochs", "2"], ["minibatch", "--batch", "9"]):
        seen = {}
        for form, sync, (threads, nodes) in some(itertools.product(("products", "weights"), ("bsp", "dc:0"),
                                                                   (("1", 0), ("3", 0), (None, 2), (None, 3)))):
            words = [HAWSER] + (["run", "-n", str(nodes), "--"] if nodes else []) + [
                "train", "logistic", data, "--index-base", "1", "--quiet", "--json", "-o", model, "--workers", "4", "--sync", sync,
                "--exchange", form, "--lambda", "0.01", "--solver"] + solver + (["--threads", threads] if threads else [])
            out = subprocess.run(words, capture_output=True, text=True, env=CLEAN, timeout=120)
            assert out.returncode == 0, (words, out.stderr)
            printed = json.loads(out.stdout.splitlines()[-1])
            seen.setdefault(repr((read_model(model), printed["objective"])), []).append((form, sync, threads, nodes))
        assert len(seen) == 1, seen


def refusals(folder):
    data, model = write(folder, small()), os.path.join(folder, "refused")
    for options, says in ((["--solver", "sgd", "--exchange", "products", "--sync", "dc:1"], "--exchange products with batches of rows needs"),
                          (["--solver", "gd", "--epochs", "3"], "--epochs does nothing here: it is about --solver sgd and minibatch"),
                          (["--solver", "sgd", "--batch", "3"], "--batch does nothing here: it is about --solver minibatch"),
                          (["--solver", "sgd", "--epochs", "1e30"], "--epochs: '1e30' is not within"),
                          (["--step", "3"], "--step does nothing here: it is about --solver gd, sgd and minibatch"),
                          (["--solver", "dbpg", "--exchange", "weights"], "--exchange does nothing here: it is about --solver gd, sgd and minibatch"),
                          (["--solver", "gd", "--groups", "2"], "--groups does nothing here: it is about --solver dbpg"),
                          (["--solver", "sgd", "--filter", "random"], "--filter does nothing here: it is about workers' copies")):
        out = subprocess.run([HAWSER, "train", "logistic", data, "--index-base", "1", "--workers", "2", "-o", model] + options,
                             capture_output=True, text=True, env=CLEAN, timeout=60)
        assert out.returncode == 2 and says in out.stderr and not os.path.exists(model), (options, out.stderr)


with tempfile.TemporaryDirectory() as folder:
    for part in (steps_of_algorithm_1, ended_between_certificates, every_policy, other_penalties, few_rows, rare_columns, without_curvature,
                 until_the_epochs_end, too_long_steps, far_from_the_optimum, the_same_bits, refusals):
        part(folder)
        print(part.__name__, flush=True)
