#!/usr/bin/env python3
"""Random draws over what `train logistic --solver dbpg` takes: the data and penalties of logistic_options.py and columns far from zero; by row, by
column and auto; every policy, delays up to 8; groups, the KKT filter, 1 to 4 workers on 1 to 3 nodes; one lambda, paths, folds and validation.
Each lambda of the saved model is held against Newton's method in plain Python: the printed objective is that of the coefficients, and the
distance to the best one is within the printed gap. Errors of folds are those of the default solver. What cannot be is refused by one line.

logistic_dbpg_options.py [DRAWS [FIRST]] repeats draws by number; HAWSER_TEST_LONG runs more."""
import json
import math
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from logistic_options import Logistic, log_loss  # noqa: E402
import draws  # noqa: E402
from certificate import read_model, read_path, read_tensors  # noqa: E402
from command import CLEAN, HAWSER  # noqa: E402

SYNCS = ("bsp", "bsp", "ssp:1", "ssp:2", "tap", "dc:0", "dc:1", *(f"delay:{n}" for n in (0, 1, 2, 3, 4, 5, 6, 7, 8)))


class Drawn(Logistic):
    """Some columns of dense data are far from zero."""

    def bounds(self, chance):
        if not self.sparse and chance.random() < 0.25:
            for j in range(self.p):
                far = chance.choice((0.0, 1.0)) * 10 ** chance.uniform(1, 4)
                for row in self.x:
                    row[j] += far * (1 + abs(row[j]) * 1e-3)
        super().bounds(chance)


def call(words):
    """The exit code, the printed object and what the command said."""
    out = subprocess.run([HAWSER, *words], capture_output=True, text=True, env=CLEAN, timeout=150)
    lines = out.stdout.splitlines()
    return out.returncode, json.loads(lines[-1]) if lines and lines[-1].startswith("{") else None, out.stderr


def ways(chance, number):
    """How it is trained: words before `train`, and its options."""
    workers, nodes = chance.randint(1, 4), chance.choice((0, 0, 0, 2, 3))
    nodes = nodes if chance.random() < 0.1 else min(nodes, workers)
    sync = chance.choice(SYNCS)
    words = ["--split", chance.choice(("row", "row", "column", "auto")), "--sync", sync, "--workers", str(workers), "--seed", str(number)]
    words += ["--groups", chance.choice("12345")] if chance.random() < 0.4 else []
    words += ["--no-kkt-filter"] if chance.random() < 0.2 else []
    words += ["--certify-every", chance.choice(("1", "7", "60"))] if chance.random() < 0.25 else []
    return (["run", "-n", str(nodes), "--"] if nodes else []), words


def penalty(problem, chance):
    """Options of the penalties, and whether there are several."""
    size, kind = max(max(abs(v) for v in row) for row in problem.x) or 1.0, chance.choice(("one", "one", "path", "cv", "validation"))
    if kind == "one":
        if problem.rho > 0 and chance.random() < 0.4:
            return kind, ["--lambda-ratio", "%.17g" % 10 ** chance.uniform(-2, 0.1)]
        return kind, ["--lambda", "%.17g" % (size * 10 ** chance.uniform(-3, -0.5))] if chance.random() < 0.6 else ["--C", "%.17g" % (10 ** chance.uniform(-2, 1) / size)]
    count = chance.randint(2, 5)
    if problem.rho > 0 and chance.random() < 0.5:
        words = ["--path", str(count), "--lambda-min-ratio", "%g" % 10 ** chance.uniform(-2, -0.5)]
    else:
        first = size * 10 ** chance.uniform(-2, -0.5)
        words = ["--path", ",".join("%.17g" % (first * 0.5 ** k) for k in range(count))]
    if kind == "cv":
        folds = chance.randint(2, 3)
        with open("folds.txt", "w") as file:
            file.write("".join("%d\n" % (i % folds) for i in range(problem.n)))
        return kind, words + ["--cv", str(folds), "--folds", "folds.txt"]
    return kind, words + (["--validation-fraction", "%g" % chance.uniform(0.2, 0.4)] if kind == "validation" else [])


def tell(*words):
    if os.environ.get("HAWSER_TEST_TELL"):
        print(*words, flush=True)


def members():
    """(lambda, coefficients, intercept, objective, gap) of each lambda that was trained; none if it ended in the first."""
    tensors = read_tensors("model")
    if "path.offsets" not in tensors:
        return []
    return [(*fit, objective, gap) for fit, objective, gap in zip(read_path("model"), tensors["path.objective"][1], tensors["path.gap"][1])]


def check_point(problem, lam, w, b, objective, gap, say):
    """The printed objective is that of the coefficients, and the best one is within the gap."""
    slack = 1e-10 * max(problem.zero, objective)
    w = [w.get(j, 0.0) for j in range(problem.p)]
    own = problem.objective(w, b, lam)
    assert abs(own - objective) <= slack, (say, "printed %.15g, the saved model has %.15g" % (objective, own))
    assert all(low <= v <= high for low, v, high in zip(problem.lower, w, problem.upper)), (say, w)
    assert problem.intercept or b == 0, (say, b)
    best = problem.solve(lam)
    assert 0 <= gap and own - best <= gap + slack, (say, "lambda %g: objective %.15g, reference %.15g, gap %g" % (lam, own, best, gap))


def check_folds(words, printed, problem, say):
    """Held-out errors depend on the models, which are within the square root of the gap of the best ones."""
    code, other, said = call(["train", "logistic", *words, "--tol", "1e-9", "--quiet", "--json", "-o", "other"])
    assert code == 0, (say, said)
    for mine, theirs in zip(sum(printed["cv"]["fold_errors"], []), sum(other["cv"]["fold_errors"], [])):
        assert abs(mine - theirs) <= 0.02 * (1 + abs(theirs)), (say, printed["cv"], other["cv"])


def check(number, chance):
    problem = Drawn(chance)
    while problem.write() != problem.p:
        problem = Drawn(chance)
    run, how = ways(chance, number)
    kind, penalties = penalty(problem, chance)
    free = problem.factors and min(problem.factors) == 0
    tolerance = chance.choice((1e-3, 1e-4, 1e-6))
    words = [*problem.options(), *problem.training(), *penalties]
    all_words = [*run, "train", "logistic", *words, "--solver", "dbpg", *how, "--tol", "%g" % tolerance, "--time-limit", "3"]
    say = [number, "n %d p %d" % (problem.n, problem.p), kind, " ".join(all_words)]
    code, printed, said = call([*all_words, "--quiet", "--json", "-o", "model"])
    if code in (2, 3) and not printed:
        lines = {re.sub(r"^\[\d+\] ", "", line) for line in said.splitlines() if not line.startswith("hawser run: ")}
        assert len(lines) == 1 and re.match("hawser: ", *lines), (say, said)
        return tell(number, "refused", *lines) or "refused"
    assert code == 0 and printed, (say, code, said)
    slow = printed["stop_reason"] == "time-limit"
    tell(number, kind, printed["stop_reason"], printed["clocks"], round(printed["seconds_train"], 2), " ".join(all_words))
    if slow and kind != "one" and printed.get("lambda") is None:
        return "slow"
    assert slow or printed["stop_reason"] in ("gap", "precision"), (say, printed["stop_reason"])
    assert slow or free or printed["stop_reason"] == "precision" or printed["gap"] <= tolerance * problem.zero * 1.01 + 1e-12 or kind == "validation", (say, printed["gap"], problem.zero)
    if kind == "validation":
        return "slow" if slow else "checked"
    if kind == "one":
        w, b = read_model("model")
        check_point(problem, printed["lambda"], w, b, printed["objective"], printed["gap"], say)
    else:
        for fit in members():
            check_point(problem, *fit, say)
    if kind == "cv" and not slow and not free and tolerance <= 1e-6 and problem.n > 2 * problem.p:  # else several models may be the best
        check_folds(words, printed, problem, say)
    return "checked"  # what a time limit ends, too


if __name__ == "__main__":
    sys.exit(draws.run(check, HAWSER, 9, 400))
