#!/usr/bin/env python3
"""`hawser train logistic --solver dbpg --split column`: certified by a program that shares nothing with it, the default solver's objective under
every sync, with and without KKT filter, over nodes, along a path; and one line for what it does not do."""
import itertools
import json
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from logistic_certificate import CLEAN, HAWSER, check, generated, read_model, real, some, train  # noqa: E402
sys.path.insert(0, os.path.join(os.environ["HAWSER_SOURCE"], "tests", "helpers"))
from command import SANITIZED  # noqa: E402

BY_COLUMN = ("--solver", "dbpg", "--split", "column")


def call(words, code):
    out = subprocess.run([HAWSER] + words, capture_output=True, text=True, env=CLEAN, timeout=300)
    assert out.returncode == code, (words, out.returncode, out.stderr)
    return out


def every_policy(folder):
    for penalty in (["--C", "0.5", "--l1-ratio", "1"], ["--lambda-ratio", "0.1", "--no-intercept"],
                    ["--lambda", "0.02", "--l1-ratio", "0.5"])[:1 if SANITIZED else 3]:
        best, zero = check(folder, "default", generated(), penalty)
        for sync in some(("bsp", "ssp:2", "delay:1", "delay:3", "tap", "dc:0", "dc:2")):
            for options in (["--workers", "3"], ["--workers", "2", "--groups", "3", "--no-kkt-filter"])[:1 + (sync == "delay:3")]:
                own, _ = check(folder, "dbpg", generated(), penalty + [*BY_COLUMN, "--sync", sync] + options, 1e-6)
                assert abs(own - best) <= 1e-6 * zero, (penalty, sync, options, own, best)


def other_penalties(folder):
    data, model = os.path.join(folder, "data.svm"), os.path.join(folder, "model")
    with open(data, "w") as file:
        file.write(generated())
    for options in (["--lambda", "0.02", "--l1-ratio", "0.5", "--standardize"], ["--lambda", "0.05", "--l1-ratio", "0"],
                    ["--lambda", "0.01", "--upper", "0.2", "--class-weight", "balanced"], ["--path", "5", "--validation-fraction", "0.2"]):
        found = [train(data, model, options + more + ["--tol", "1e-6"])["objective"]
                 for more in ([], [*BY_COLUMN, "--workers", "2"], [*BY_COLUMN, "--workers", "3", "--sync", "delay:2"])]
        assert max(found) - min(found) <= 2e-6, (options, found)
    out = call(["run", "-n", "2", "--", "train", "logistic", data, "--index-base", "1", "--quiet", "--json", "-o", model, "--lambda",
                "0.02", *BY_COLUMN, "--workers", "3", "--sync", "delay:2"], 0)
    alone = train(data, model, ["--lambda", "0.02"])
    assert abs(json.loads(out.stdout.splitlines()[-1])["objective"] - alone["objective"]) <= 1e-6


def groups_in_turn(folder):
    """Where certificates are nearer than a pass over all groups, no group is left out."""
    data, model = os.path.join(folder, "data.svm"), os.path.join(folder, "model")
    with open(data, "w") as file:
        file.write(generated())
    best = train(data, model, ["--lambda", "0.05"])["objective"]
    for sync, every in some((("bsp", "1"), ("delay:1", "2"))):
        printed = train(data, model, ["--lambda", "0.05", *BY_COLUMN, "--workers", "2", "--groups", "3", "--sync", sync, "--certify-every", every, "--tol", "1e-4"])
        assert printed["stop_reason"] == "gap" and abs(printed["objective"] - best) <= 1e-4, (sync, every, printed, best)


def real_sets(folder):
    """Under every policy: the objective of LIBLINEAR (if check() finds it) and of the default solver."""
    for name, cost in (("rcv1_small/rcv1_small.train.svm.zst", "10"), ("mushrooms/mushrooms.zst", "1")):
        text = real(name)
        if text is None:
            continue
        penalty = ["--C", cost, "--no-intercept"]
        best, zero = check(folder, name, text, penalty + ["--workers", "1"])
        for sync in some(("bsp", "ssp:1", "delay:2", "tap", "dc:0", "dc:1")):
            own, _ = check(folder, name, text, penalty + [*BY_COLUMN, "--workers", "2", "--sync", sync], 1e-6)
            assert abs(own - best) <= 1e-6, (name, sync, own, best)


def the_same_bits(folder):
    """dc:0: every block reads the results of all other blocks from the clock before, whatever thread or node runs it."""
    data, model, seen = os.path.join(folder, "data.svm"), os.path.join(folder, "model"), set()
    with open(data, "w") as file:
        file.write(generated())
    nodes = [(["run", "-n", n, "--"], []) for n in ("2", "3", "2", "3")[SANITIZED * 2:]]  # more than once: chunks arrive in another order each time
    for before, more in [([], ["--threads", "1"]), ([], ["--threads", "4"])] + nodes:
        out = call(before + ["train", "logistic", data, "--index-base", "1", "--quiet", "--json", "-o", model, "--lambda", "0.01", *BY_COLUMN, "--groups", "2", "--workers", "8", "--sync", "dc:0"] + more, 0)
        printed = json.loads(out.stdout.splitlines()[-1])
        assert printed["repeatable"], printed
        seen.add(repr((read_model(model), printed["objective"])))
    assert len(seen) == 1, seen


def the_filter_saves(folder):
    """Columns that will most likely stay zero are left out: the same objective, by fewer changes of margins. dc:0: the same every time."""
    data, model = os.path.join(folder, "data.svm"), os.path.join(folder, "model")
    with open(data, "w") as file:
        file.write(generated())
    asked, found = [], []
    for more in ([], ["--no-kkt-filter"]):
        printed = train(data, model, ["--lambda-ratio", "0.1", *BY_COLUMN, "--sync", "dc:0", "--workers", "3", "--tol", "1e-6"] + more)
        asked.append(sum(flow["bytes_plain"] for flow in printed["flows"] if flow.get("kind") == "ask"))
        found.append(printed["objective"])
    assert asked[0] < 0.9 * asked[1] and abs(found[0] - found[1]) <= 2e-6, (asked, found)


def train_rows(folder, rows, options):
    """Rows of (label, values); what is left when the clocks are over: the first certificate, as many as are between two, and their end."""
    data, model = os.path.join(folder, "data.svm"), os.path.join(folder, "model")
    with open(data, "w") as file:
        for label, values in rows:
            file.write("%d %s\n" % (label, " ".join("%d:%.17g" % (j + 1, x) for j, x in enumerate(values))))
    train(data, model, ["--no-intercept", "--l1-ratio", "1", *BY_COLUMN, "--groups", "1"] + options)
    return read_model(model)[0]


def the_bound_counts_the_lag(folder):
    """One clock, by hand. Of rows x = 1 a share s is positive: the gradient is s - 1/2, the curvature c / 4 for each block and once more for each
    clock of lag; and no block moves a margin by more than its share of 1, divided by the number of steps in flight. One block under ssp is bsp."""
    lags = [("bsp", 0), ("delay:1", 1), ("delay:3", 3), ("ssp:2", 0), ("dc:2", 2), ("dc:0", 0)]
    for positive, workers in ((6, 1), (9, 1), (6, 2), (9, 2)):
        rows = [(1 if i % 10 < positive else -1, [1.0] * workers) for i in range(100)]
        for sync, lag in lags if workers == 1 else lags[-1:]:  # otherwise they may receive updates of each other within the clock
            w = train_rows(folder, rows, ["--lambda", "1e-9", "--workers", str(workers), "--sync", sync, "--certify-every", "1", "--max-clocks", "2"])
            step = min(4 * (positive / 10 - 0.5), 1.0) / (workers * (1 + lag))
            assert len(w) == workers and all(abs(v - step) < 1e-6 for v in w.values()), (positive, workers, sync, w, step)


def the_filter_keeps_what_is_near(folder):
    """Of three columns the first is beyond its zone by half of lambda (0.2), and others must be so near its end to take part: the second is, by a
    tenth, the third is not, though both would enter at once as the first moves; and the next certificate lets it in."""
    rows = []
    for u, a, b in itertools.product((1, -1), repeat=3):
        positive = round(10 * (0.5 + 0.3 * u - 0.1 * a - 0.1 * b))
        rows += [(1 if i < positive else -1, [u, u + 4.8 * a, 3 * u + 8.8 * b]) for i in range(10)]
    pulls = [sum(y * x[j] for y, x in rows) / 2 / len(rows) for j in range(3)]
    assert all(abs(pull - near) < 1e-12 for pull, near in zip(pulls, (0.3, -0.18, 0.02))), pulls
    for clocks, more, entered in (("5", [], [0, 1]), ("5", ["--no-kkt-filter"], [0, 1, 2]), ("10", [], [0, 1, 2])):
        w = train_rows(folder, rows, ["--lambda", "0.2", "--workers", "1", "--certify-every", "4", "--max-clocks", clocks] + more)
        assert sorted(w) == entered, (clocks, more, w)


def refusals(folder):
    data, model = os.path.join(folder, "data.svm"), os.path.join(folder, "refused")
    for options, says in ((["--sync", "dc:1"], "--sync dc:1 is for weights that a parameter server keeps"),
                          (["--sync", "delay:2"], "--sync delay:2 is for weights that a parameter server keeps"),
                          (["--solver", "dbpg", "--filter", "random"], "--filter does nothing here: it is about workers' copies"),
                          (["--groups", "2"], "--groups does nothing here: it is about --solver dbpg"),
                          (["--no-kkt-filter"], "--kkt-filter does nothing here: it is about --solver dbpg"),
                          (["--solver", "dbpg", "--groups", "0"], "groups")):
        out = call(["train", "logistic", data, "--workers", "2", "-o", model] + options, 2)
        assert says in out.stderr and not os.path.exists(model), (options, out.stderr)


with tempfile.TemporaryDirectory() as folder:
    numbers = () if SANITIZED else (the_filter_saves, real_sets)
    for part in (every_policy, other_penalties, groups_in_turn, the_same_bits, the_bound_counts_the_lag, the_filter_keeps_what_is_near, *numbers, refusals):
        part(folder)
        print(part.__name__, flush=True)
