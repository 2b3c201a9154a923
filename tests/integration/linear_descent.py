#!/usr/bin/env python3
"""`hawser train linear`: under every sync and in both forms the objective of least squares' closed form (normal equations, solved here), the
same bits where these are promised, and one line for what cannot be."""
import itertools
import json
import math
import os
import random
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["HAWSER_SOURCE"], "tests", "helpers"))
from certificate import read_model  # noqa: E402
from command import CLEAN, HAWSER, some  # noqa: E402


def call(words, code=0):
    out = subprocess.run([HAWSER] + words, capture_output=True, text=True, env=CLEAN, timeout=120)
    assert out.returncode == code, (words, out.returncode, out.stdout, out.stderr)
    return out


def train(folder, data, options, before=()):
    model = os.path.join(folder, "model")
    out = call(list(before) + ["train", "linear", data, "--quiet", "--json", "-o", model] + options)
    return json.loads(out.stdout.splitlines()[-1]), read_model(model)


def solve(A, b):
    """Gaussian elimination with pivoting."""
    n = len(b)
    rows = [A[i][:] + [b[i]] for i in range(n)]
    for k in range(n):
        pivot = max(range(k, n), key=lambda i: abs(rows[i][k]))
        rows[k], rows[pivot] = rows[pivot], rows[k]
        for i in range(k + 1, n):
            f = rows[i][k] / rows[k][k]
            rows[i] = [u - f * v for u, v in zip(rows[i], rows[k])]
    x = [0.0] * n
    for k in reversed(range(n)):
        x[k] = (rows[k][n] - math.fsum(rows[k][j] * x[j] for j in range(k + 1, n))) / rows[k][k]
    return x


def loss(rows, y, weights, coefficients, intercept):
    total = math.fsum(w * (t - intercept - math.fsum(a * c for a, c in zip(row, coefficients))) ** 2
                      for row, t, w in zip(rows, y, weights))
    return total / (2 * math.fsum(weights))


def closed_form(rows, y, weights, intercept):
    wide = [row + [1.0] for row in rows] if intercept else rows
    p = len(wide[0])
    A = [[math.fsum(w * r[i] * r[j] for r, w in zip(wide, weights)) for j in range(p)] for i in range(p)]
    b = [math.fsum(w * r[i] * t for r, t, w in zip(wide, y, weights)) for i in range(p)]
    x = solve(A, b)
    return loss(rows, y, weights, x[:len(rows[0])], x[-1] if intercept else 0.0)


def dense(vector, columns):
    return [vector.get(j, 0.0) for j in range(columns)]


def make(path, n, p, seed, weighted):
    chance = random.Random(seed)
    rows = [[chance.gauss(3 * (j == 1), 1 + 9 * (j == 2)) for j in range(p)] for _ in range(n)]
    y = [7 + math.fsum((j - 2) * x for j, x in enumerate(row)) + chance.gauss(0, 2) for row in rows]
    weights = [chance.choice([0.0, 1.0, 2.5]) if weighted else 1.0 for _ in range(n)]
    with open(path, "w") as file:
        file.write(",".join(["y"] + ["x%d" % j for j in range(p)] + (["weight"] if weighted else [])) + "\n")
        for row, t, w in zip(rows, y, weights):
            file.write(",".join("%r" % v for v in [t] + row + ([w] if weighted else [])) + "\n")
    return rows, y, weights


def every_policy(folder):
    data = os.path.join(folder, "data.csv")
    rows, y, weights = make(data, 90, 6, 1, False)
    best = {flag: closed_form(rows, y, weights, flag) for flag in (True, False)}
    zero = math.fsum(t * t for t in y) / (2 * len(y))
    for sync, form, flag in some(itertools.product(("bsp", "ssp:2", "tap", "delay:1", "delay:3", "dc:0", "dc:1", "dc:3"),
                                                   ("products", "weights"), ("--intercept", "--no-intercept"))):
        printed, (w, b) = train(folder, data, ["--workers", "3", "--sync", sync, "--exchange", form, flag, "--tol", "1e-7"])
        say = (sync, form, flag, printed["objective"], best[flag == "--intercept"])
        own = loss(rows, y, weights, dense(w, 6), b)
        assert abs(own - printed["objective"]) <= 1e-12 * zero, say
        # TAP promises only that the printed figures are true: slopes of one block may be as old as another is slow.
        assert own < 0.5 * zero if sync == "tap" else abs(own - best[flag == "--intercept"]) <= 1e-10 * zero, say
        assert printed["repeatable"] == (sync in ("bsp", "dc:0")), say
        assert printed["stop_reason"] == "slope" and (b == 0.0) == (flag == "--no-intercept"), say


def weights_and_starts(folder):
    data, start = os.path.join(folder, "weighted.csv"), os.path.join(folder, "start")
    rows, y, weights = make(data, 120, 4, 2, True)
    best = closed_form(rows, y, weights, True)
    options = ["--weights", "weight", "--tol", "1e-8", "--workers", "2", "--target", "y"]
    printed, (w, b) = train(folder, data, options)
    assert abs(loss(rows, y, weights, dense(w, 4), b) - best) <= 1e-10 * best, (printed, best)
    os.rename(os.path.join(folder, "model"), start)
    again, _ = train(folder, data, options + ["--init", start])
    assert again["clocks"] < printed["clocks"] - 5, (again["clocks"], printed["clocks"])


def batches(folder):
    data = os.path.join(folder, "batch.csv")
    rows, y, weights = make(data, 400, 5, 3, False)
    best = closed_form(rows, y, weights, True)
    for solver in (["sgd", "--epochs", "30"], ["minibatch", "--epochs", "400"], ["minibatch", "--batch", "20", "--epochs", "200"]):
        seen = set()
        for sync in some(("bsp", "dc:0", "dc:1", "ssp:1", "delay:1")):
            printed, model = train(folder, data, ["--workers", "3", "--sync", sync, "--solver"] + solver)
            assert best <= printed["objective"] <= 1.1 * best, (solver, sync, printed["objective"], best)
            if sync in ("bsp", "dc:0"):
                seen.add(repr(model))
        assert len(seen) == 1, solver
    for more, says in ((["--epochs", "400"], None), (["--sync", "tap"], "under --sync tap steps are short; --epochs 200 "),
                       (["--step", "0.001"], "--step 0.001 may be too short; --epochs 200 ")):
        notes = train(folder, data, ["--workers", "3", "--solver", "minibatch"] + more)[0]["notes"]
        assert (notes == []) if says is None else len(notes) == 1 and says in notes[0] and "after 20 epochs a column still " in notes[0], notes


def the_same_bits(folder):
    data = os.path.join(folder, "data.svm")
    chance = random.Random(4)
    with open(data, "w") as file:
        for _ in range(80):
            columns = sorted(chance.sample(range(1, 31), 8))
            file.write("%r " % chance.gauss(0, 1) + " ".join("%d:%r" % (j, chance.gauss(0, 1)) for j in columns) + "\n")
    for solver in (["gd", "--tol", "1e-4"], ["minibatch", "--batch", "9"]):
        seen = {}
        for form in ("products", "weights"):
            for threads in ("1", "3"):
                for nodes in (0, 2, 3):
                    before = ["run", "-n", str(nodes), "--"] if nodes else []
                    options = ["--workers", "4", "--sync", "dc:0", "--exchange", form, "--index-base", "1", "--solver"] + solver
                    printed, model = train(folder, data, options + (["--threads", threads] if not nodes else []), before)
                    seen.setdefault(repr((model, printed["objective"])), []).append((form, threads, nodes))
        assert len(seen) == 1, seen


def odd_data(folder):
    for name, text in (("constant", "1,2\n1,2\n1,2\n"), ("column", "1,5,1\n2,5,2\n4,5,3\n"), ("one", "3,4\n")):
        path = os.path.join(folder, name + ".csv")
        with open(path, "w") as file:
            file.write(text)
        for workers in ("1", "3"):
            printed, (w, b) = train(folder, path, ["--workers", workers, "--header", "no"])
            assert math.isfinite(printed["objective"]) and math.isfinite(b), (name, printed)
            if name == "column":
                assert 0 not in w and abs(w[1] - 1.5) < 1e-5, w
    data, kept = os.path.join(folder, "data.csv"), os.path.join(folder, "kept")
    for options, words in ((["--step", "5"], "is no number any more in clock"),
                           (["--step", "10", "--solver", "minibatch", "--epochs", "10"],
                            "the training diverged: it ends at the objective ")):
        for workers in ("1", "3"):
            out = call(["train", "linear", data, "--workers", workers, "--json", "-o", kept] + options, 7)
            assert words in out.stderr and "; lower --step" in out.stderr, out.stderr
            assert "; the best certified model is in " + kept in out.stderr, out.stderr
            printed = json.loads(out.stdout.splitlines()[-1])
            again = json.loads(call(["evaluate", kept, data, "--json"]).stdout.splitlines()[-1])
            assert printed["stop_reason"] == "diverged" and printed["r2"] > -1e-12, printed
            assert abs(again["objective"] - printed["objective"]) <= 1e-9 * printed["objective"], (again, printed)
            os.remove(kept)
    far, near, start = (os.path.join(folder, name) for name in ("far.csv", "near.csv", "start"))
    for path, slope in ((far, 1000), (near, 1)):
        with open(path, "w") as file:
            file.write("".join("%d,%d\n" % (slope * x, x) for x in range(9)))
    call(["train", "linear", far, "-o", start])
    printed, _ = train(folder, near, ["--max-clocks", "1", "--step", "1e-9", "--init", start])  # a start that is far off is the user's
    assert printed["r2"] < -100, printed
    printed, _ = train(folder, os.path.join(folder, "column.csv"), ["--solver", "minibatch", "--batch", "1000", "--header", "no"])
    assert math.isfinite(printed["objective"]), printed  # batches of more rows than there are
    assert printed["stop_reason"] == "epochs", printed
    printed, _ = train(folder, os.path.join(folder, "data.csv"), ["--max-clocks", "35", "--workers", "2"])
    assert printed["stop_reason"] == "clocks" and printed["objective"] > 0, printed


def refusals(folder):
    data, model = os.path.join(folder, "data.csv"), os.path.join(folder, "refused")
    for options, says in ((["--solver", "sgd", "--exchange", "products", "--sync", "dc:1"], "--exchange products with --solver sgd needs"),
                          (["--epochs", "3"], "--epochs does nothing here: --solver gd"),
                          (["--solver", "sgd", "--tol", "1e-3"], "--tol does nothing here: --solver sgd"),
                          (["--solver", "sgd", "--epochs", "1e30"], "--epochs: '1e30' is not within"),
                          (["--solver", "sgd", "--batch", "3"], "--batch does nothing here: it is about --solver minibatch"),
                          (["--filter", "random"], "--filter does nothing here"),
                          (["--sync", "dc"], "one of bsp|ssp:N|tap|delay:N|dc:N")):
        out = call(["train", "linear", data, "--workers", "2", "-o", model] + options, 2)
        assert says in out.stderr and not os.path.exists(model), (options, out.stderr)
    out = call(["train", "lasso", data, "--workers", "2", "--sync", "dc:1", "-o", model], 2)
    assert "--sync dc:1 is for weights that a parameter server keeps" in out.stderr, out.stderr


with tempfile.TemporaryDirectory() as folder:
    for check in (every_policy, weights_and_starts, batches, the_same_bits, odd_data, refusals):
        check(folder)
        print(check.__name__, flush=True)
