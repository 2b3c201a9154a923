#!/usr/bin/env python3
"""`hawser train logistic --solver dbpg --split row`: Newton's objective for random problems under every penalty and policy, the bits of one
thread on any threads and nodes, rows that are repeated for their weights, rows in another order; momentum under a delay; what `auto` takes; one line for what cannot be."""
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from logistic_certificate import CLEAN, HAWSER, check, generated, read_model, some, train  # noqa: E402
sys.path.insert(0, os.path.join(os.environ["HAWSER_SOURCE"], "tests", "helpers"))
from command import SANITIZED  # noqa: E402

BY_ROW = ["--solver", "dbpg", "--split", "row"]


def rows_of(seed, count, columns, dense):
    """Rows of (label, [(column, value)]) of columns of different size, whose means are not zero."""
    chance, rows = random.Random(seed), []
    for _ in range(count):
        named = range(1, columns + 1) if dense else sorted(chance.sample(range(1, columns + 1), columns // 2))
        values = [(j, j * chance.gauss(0.7, 1)) for j in named]
        score = sum(x * (-1) ** j / j for j, x in values) + chance.gauss(0.5, 1)
        rows.append((int(score > 0), values))
    return rows


def write(folder, rows, name="data.svm"):
    path = os.path.join(folder, name)
    with open(path, "w") as file:
        for label, values in rows:
            file.write("%d %s\n" % (label, " ".join("%d:%r" % pair for pair in values)))
    return path


def call(words, code=0):
    out = subprocess.run([HAWSER] + words, capture_output=True, text=True, env=CLEAN, timeout=300)
    assert out.returncode == code, (words, out.returncode, out.stderr)
    return out


def certified(folder):
    """The certificate of a program that shares nothing with it."""
    for penalty in some((["--C", "0.5", "--l1-ratio", "1"], ["--lambda-ratio", "0.1", "--no-intercept"], ["--lambda", "0.02", "--l1-ratio", "0.5"])):
        best, zero = check(folder, "default", generated(), penalty)
        for sync, groups in some((("bsp", "1"), ("bsp", "3"), ("ssp:2", "1"), ("delay:1", "2"), ("delay:3", "1"))):
            own, _ = check(folder, "by row", generated(), penalty + BY_ROW + ["--sync", sync, "--groups", groups, "--workers", "3"], 1e-6)
            assert abs(own - best) <= 1e-6 * zero, (penalty, sync, groups, own, best)


def newtons_objective(folder):
    model = os.path.join(folder, "model")
    penalties = (["--C", "0.5"], ["--lambda", "0.03", "--no-intercept"], ["--lambda", "0.02", "--l1-ratio", "0.5", "--standardize"],
                 ["--lambda", "0.05", "--l1-ratio", "0"], ["--lambda", "0.01", "--upper", "0.1", "--class-weight", "balanced"],
                 ["--lambda", "0.01", "--lower", "-0.05", "--upper", "0.1", "--class-weight", "1:3"], ["--lambda", "0.02", "--no-kkt-filter"])
    ways = (("bsp", "1", "1", 0), ("bsp", "4", "1", 0), ("bsp", "3", "3", 0), ("ssp:2", "3", "1", 0), ("delay:1", "2", "1", 0),
            ("delay:4", "3", "2", 0), ("bsp", "3", "1", 2), ("delay:2", "4", "1", 3))
    for number, (penalty, dense) in enumerate(itertools.product(penalties, (False, True))):
        data = write(folder, rows_of(number, 90, 12, dense))
        own = [word for word in penalty if word != "--no-kkt-filter"]
        best = train(data, model, own + ["--tol", "1e-9"])["objective"]
        for sync, workers, groups, nodes in some(ways, 2) if number % 3 == 0 else ways[number % len(ways):][:2]:
            words = ["train", "logistic", data, "--index-base", "1", "--quiet", "--json", "-o", model, "--tol", "1e-6", "--sync", sync,
                     "--workers", workers, "--groups", groups] + penalty + BY_ROW
            printed = json.loads(call((["run", "-n", str(nodes), "--"] if nodes else []) + words).stdout.splitlines()[-1])
            assert printed["stop_reason"] == "gap" and abs(printed["objective"] - best) <= 1e-6, (penalty, sync, workers, groups, printed, best)


def paths_and_folds(folder):
    data, model = write(folder, rows_of(50, 120, 8, True)), os.path.join(folder, "model")
    for options, field in ((["--path", "0.1,0.03,0.01", "--validation-fraction", "0.2", "--seed", "3"], "validation_log_loss"),
                           (["--path", "0.1,0.03,0.01", "--cv", "3", "--seed", "3"], "cv_log_loss")):
        best = train(data, model, options + ["--tol", "1e-8"])
        for more in some((["--workers", "3"], ["--workers", "2", "--sync", "delay:2"])):
            printed = train(data, model, options + ["--tol", "1e-6"] + BY_ROW + more)
            for key in ("objective", field):
                assert key not in best or abs(printed[key] - best[key]) <= 1e-5, (options, more, key, printed[key], best[key])


def certificates_in_between(folder):
    """Groups go on in turn where certificates are nearer than a pass over all groups, and easy lambdas end before 100 clocks."""
    data, model = write(folder, rows_of(52, 120, 8, True)), os.path.join(folder, "model")
    options = ["--lambda", "0.02", "--workers", "2", "--max-clocks", "4000"]
    best = train(data, model, options[:2] + ["--tol", "1e-9"])["objective"]
    for sync, every in some((("bsp", "1"), ("bsp", "2"), ("delay:2", "2"))):
        printed = train(data, model, options + ["--tol", "1e-5", "--sync", sync, "--groups", "3", "--certify-every", every] + BY_ROW)
        assert printed["stop_reason"] == "gap" and abs(printed["objective"] - best) <= 1e-5, (sync, every, printed, best)
    for sync in ("bsp", "delay:1"):
        printed = train(data, model, ["--path", "0.2,0.1,0.05", "--cv", "3", "--tol", "1e-3", "--workers", "2", "--sync", sync] + BY_ROW)
        assert printed["stop_reason"] == "gap" and printed["clocks"] < 12 * 100, (sync, printed)


def properties(folder):
    """A weight is a row that is repeated, and the order of rows has no effect."""
    rows, model = rows_of(60, 60, 8, False), os.path.join(folder, "model")
    times = [1 + i % 3 for i in range(len(rows))]
    repeated = [row for row, count in zip(rows, times) for _ in range(count)]
    mixed = rows[:]
    random.Random(1).shuffle(mixed)
    weights, data = os.path.join(folder, "weights"), write(folder, rows)
    with open(weights, "w") as file:
        file.write("".join("%d\n" % count for count in times))
    options = ["--lambda", "0.02", "--l1-ratio", "0.7", "--tol", "1e-9"] + BY_ROW
    for sync in some(("bsp", "delay:2")):
        words = options + ["--workers", "3", "--sync", sync]
        found = [train(write(folder, given, "other.svm"), model, words)["objective"] for given in (rows, mixed)]
        assert abs(found[0] - found[1]) <= 1e-8, found
        found = [train(data, model, words + ["--weights", weights])["objective"],
                 train(write(folder, repeated, "other.svm"), model, words)["objective"]]
        assert abs(found[0] - found[1]) <= 1e-8, found


def the_same_bits(folder):
    data, model, seen = write(folder, rows_of(70, 80, 10, False)), os.path.join(folder, "model"), {}
    ways = [([], "1", 0), ([], "3", 0), ([], None, 2), ([], None, 3), (["--rehearse", "3"], "2", 0)]
    for sync, (more, threads, nodes) in itertools.product(("bsp", "delay:2"), ways[:3] if SANITIZED else ways):
        words = ["train", "logistic", data, "--index-base", "1", "--quiet", "--json", "-o", model, "--lambda", "0.01", "--sync", sync,
                 "--workers", "5"] + BY_ROW + more + (["--threads", threads] if threads else [])
        printed = json.loads(call((["run", "-n", str(nodes), "--"] if nodes else []) + words).stdout.splitlines()[-1])
        seen.setdefault(sync, set()).add(repr((read_model(model), printed["objective"], printed["clocks"])))
        assert sync != "bsp" or printed["repeatable"], printed
    assert all(len(found) == 1 for found in seen.values()), seen


def the_filter_saves(folder):
    """Columns that will most likely stay zero are left out: the same objective, and less is sent."""
    data, model = write(folder, rows_of(80, 300, 60, False)), os.path.join(folder, "model")
    sent, found = [], []
    for more in ([], ["--no-kkt-filter"]):
        printed = train(data, model, ["--lambda-ratio", "0.4", "--workers", "2", "--tol", "1e-6", "--certify-every", "50"] + BY_ROW + more)
        sent.append(sum(flow["bytes_plain"] for flow in printed["flows"] if flow.get("kind") == "ask") / printed["clocks"])
        found.append(printed["objective"])
    assert sent[0] < 0.7 * sent[1] and abs(found[0] - found[1]) <= 2e-6, (sent, found)


def one_clock_by_hand(folder):
    """Rows x = 1, of which a share s is positive: the gradient at zero is s - 1/2, and the bound of the curvature 1/4."""
    data, model = write(folder, [(int(i % 10 < 6), [(1, 1.0)]) for i in range(100)]), os.path.join(folder, "model")
    for workers in ("1", "2"):
        train(data, model, ["--no-intercept", "--l1-ratio", "1", "--lambda", "1e-9", "--workers", workers, "--certify-every", "1", "--max-clocks", "1"]
              + BY_ROW)
        w, _ = read_model(model)
        assert abs(w[0] - (0.6 - 0.5) / 0.25) < 1e-6, w


def momentum_under_a_delay(folder):
    """Columns of very different size: after 1,000 clocks the steps without momentum are 6.7e-5 (delay:1) and 1.3e-2 (delay:4) above Newton's objective."""
    data, model = write(folder, rows_of(98, 300, 20, True)), os.path.join(folder, "model")
    best = train(data, model, ["--lambda", "1e-3", "--tol", "1e-12"])["objective"]
    for sync, above in (("delay:1", 1e-6), ("delay:4", 5e-4)):
        found = train(data, model, ["--lambda", "1e-3", "--tol", "1e-12", "--workers", "2", "--sync", sync, "--max-clocks", "1000"] + BY_ROW)["objective"]
        assert found <= best * (1 + above), (sync, found, best)


def what_auto_takes(folder):
    """Rows where there are fewer columns than rows, and the policy allows it: only these have a state that is summed by clock."""
    for rows, columns, sync, by_row in ((60, 12, "bsp", True), (10, 40, "bsp", False), (60, 12, "tap", False), (60, 12, "delay:2", True)):
        data = write(folder, rows_of(90, rows, columns, False))
        plan = call(["plan", "logistic", data, "--index-base", "1", "--solver", "dbpg", "--sync", sync, "--workers", "2"]).stdout
        assert ("summed by clock" in plan) == by_row, (rows, columns, sync, plan)


def refusals(folder):
    data, model = write(folder, rows_of(95, 30, 4, True)), os.path.join(folder, "refused")
    for options, says in ((BY_ROW + ["--sync", "tap"], "--split row sums the gradients of a clock over all workers, so it needs --sync bsp"),
                          (BY_ROW + ["--sync", "dc:1"], "and not --sync dc:1; or use --split column"),
                          (BY_ROW + ["--sync", "delay:61"], "delay:N with N up to 60"),
                          (["--split", "row"], "--split does nothing here: it is about --solver dbpg"),
                          (["--solver", "dbpg", "--split", "rows"], "row|column|auto")):
        out = call(["train", "logistic", data, "--index-base", "1", "--workers", "2", "-o", model] + options, 2)
        assert says in out.stderr and not os.path.exists(model), (options, out.stderr)


with tempfile.TemporaryDirectory() as folder:
    for part in (one_clock_by_hand, certified, newtons_objective, paths_and_folds, certificates_in_between, properties, the_same_bits, the_filter_saves,
                 momentum_under_a_delay, what_auto_takes, refusals):
        part(folder)
        print(part.__name__, flush=True)
