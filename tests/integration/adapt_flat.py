#!/usr/bin/env python3
"""A loop that is in no other one, and that clocks alone may end, tries staleness, work and shares: examples/factors.c and minibatch.c on simulated hosts. A
setting that helps is found and kept, what holds nothing up changes nothing, histories hold, and a replay under bsp has the bits of the first run."""
import json
import os
import random
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["HAWSER_SOURCE"], "tests", "helpers"))
from command import CLEAN, HAWSER  # noqa: E402
from simulated import SIM, call  # noqa: E402

EXAMPLES = os.path.join(os.environ["HAWSER_BUILD"], "examples")
IN_TURN = ("--link", "100mbit", "--compute", "1us,1us,0.5ns", "--fault", "turn slow 8 every 1 clocks")
SLOW_LINK = ("--link", "1mbit", "--compute", "1us,20ns,0.5ns")
SLOW_HOST = ("--link", "100mbit", "--compute", "1us,5us,0.5ns", "--fault", "t=0 slow 2 8")
LATENCY = ("--link", "1gbit", "--latency", "5ms", "--compute", "1us,20ns,0.5ns")


def write_ratings(path, users, items):
    chance = random.Random(5)
    of_users, of_items = ([[chance.random() for _ in range(3)] for _ in range(count)] for count in (users, items))
    ratings = [(i, j, sum(a * b for a, b in zip(u, v))) for i, u in enumerate(of_users) for j, v in enumerate(of_items) if chance.random() < 0.5]
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"%%MatrixMarket matrix coordinate real general\n{users} {items} {len(ratings)}\n")
        file.writelines(f"{i + 1} {j + 1} {v + chance.gauss(0, 0.05):.6f}\n" for i, j, v in ratings)


def write_classes(path, rows, columns):
    chance = random.Random(4)
    weights = [chance.gauss(0, 1) for _ in range(columns)]
    with open(path, "w", encoding="utf-8") as file:
        for _ in range(rows):
            row = {j: chance.gauss(0, 1) for j in sorted(chance.sample(range(columns), 10))}
            margin = sum(weights[j] * value for j, value in row.items()) + chance.gauss(0, 0.5)
            file.write(f"{1 if margin > 0 else -1} " + " ".join(f"{j + 1}:{value:.4f}" for j, value in row.items()) + "\n")


def simulate(world, *words, program="factors", data="r.mtx"):
    """The line of --json of the job, with the virtual seconds."""
    lines = call(SIM, "--nodes", "4", *world, "--", os.path.join(EXAMPLES, program + "-simulated"), data, "--json", "--quiet", *words).stdout.splitlines()
    return {**json.loads(lines[-2]), "seconds": json.loads(lines[-1])["simulated"]["seconds"]}


def a_setting_that_helps_is_found():
    for world, words, what, news, most in ((IN_TURN, ("--sync", "auto"), "sync", {"ssp:1", "ssp:2"}, 0.85), (IN_TURN, ("--sync", "auto:1"), "sync", {"ssp:1"}, 0.9),
                                           (SLOW_LINK, ("--exchange-every", "auto"), "work", {2, 4}, 0.75)):
        usual, said = (simulate(world, "--until", "0.08", *more) for more in ((), words))
        changes = said["changes"]
        assert {change["what"] for change in changes} == {what} and news <= {change["new"] for change in changes}, changes
        assert all(change["loop"] == "descent" and change["reason"] for change in changes), changes
        assert said["stop_reason"] == usual["stop_reason"] == "squares" and said["seconds"] < most * usual["seconds"], (words, said["seconds"], usual["seconds"], changes)
        assert usual["repeatable"] and not said["repeatable"]


def a_slow_worker_takes_smaller_batches():
    """One of four hosts is 8 times slower. With a share of 1/8 it is as fast as the others; a slow link gets more steps between exchanges."""
    for world, what, news in ((SLOW_HOST, "share", {0.125}), (SLOW_LINK, "work", {2, 4})):
        usual, said = (simulate(world, "--until", "0.35", *more, program="minibatch", data="m.svm") for more in ((), ("--exchange-every", "auto")))
        kept = {(change["what"], round(change["new"], 6)) for change in said["changes"]}
        assert {(what, new) for new in news} <= kept, said["changes"]
        assert said["stop_reason"] == usual["stop_reason"] == "loss" and said["seconds"] < 0.5 * usual["seconds"], (said["seconds"], usual["seconds"], said["changes"])
        assert what != "share" or {change["worker"] for change in said["changes"] if change["what"] == "share"} == {2}, said["changes"]


def what_holds_nothing_up_changes_nothing():
    """Credit up to the end of each window keeps a loop of clocks at its pace, also where messages take long."""
    usual = simulate(LATENCY, "--topology", "all")
    said = simulate(LATENCY, "--topology", "all", "--sync", "auto")
    assert said["changes"] == [] and said["repeatable"] and said["metrics"] == usual["metrics"], said["changes"]
    assert said["clocks"] == usual["clocks"] == 300 and said["seconds"] < 1.1 * usual["seconds"], (said["seconds"], usual["seconds"])


def histories_hold():
    said = simulate(IN_TURN, "--sync", "auto", "--until", "0.1", "--record-history", "history")
    assert any(change["new"] == "ssp:2" for change in said["changes"]), said["changes"]
    assert json.loads(call(HAWSER, "check", "history", "--json").stdout)["holds"]


def replays_have_the_bits():
    said = simulate(SLOW_LINK, "--exchange-every", "auto", "--save-decisions", "saved")
    words = (os.path.join(EXAMPLES, "factors"), "r.mtx", "--workers", "4", "--exchange-every", "auto", "--replay-decisions", "saved", "--json", "--quiet")
    assert len(said["changes"]) > 1
    for launch, more in (((), ()), ((), ("--threads", "1")), ((HAWSER, "run", "-n", "2", "--"), ())):
        done = subprocess.run((*launch, *words, *more), capture_output=True, text=True, env=CLEAN, timeout=60)
        assert done.returncode == 0, done.stderr
        again = json.loads(done.stdout.splitlines()[-1])
        assert again["repeatable"] and again["changes"] == said["changes"] and again["metrics"] == said["metrics"], (launch, more, again["changes"], said["changes"])


def a_local_solver_adapts():
    """examples/cocoa.c: a loop of hawser_cocoa declares v and its gain. Its certificate means the same, and on no host is it slower than 1.1 times the default."""
    call(HAWSER, "data", "generate", "dense", "-o", "c.svm", "--rows", "400", "--cols", "200", "--seed", "4")
    for world, whats, most in ((("--link", "5mbit", "--compute", "1us,10ns,0.5ns"), {"encoding", "gain"}, 0.6), (SLOW_HOST, {"gain"}, 1.1), (IN_TURN, {"gain"}, 1.1)):
        usual, said = (simulate(world, *more, program="cocoa", data="c.svm") for more in ((), ("--auto",)))
        assert whats <= {change["what"] for change in said["changes"]} and not usual["changes"], said["changes"]
        assert said["seconds"] < most * usual["seconds"], (world, said["seconds"], usual["seconds"], said["changes"])
        objective, gap, start = (said["metrics"][name] for name in ("objective", "gap", "start"))
        assert gap <= 1e-6 and usual["metrics"]["gap"] <= 1e-6 and abs(objective - usual["metrics"]["objective"]) <= 1e-6 * start, (said["metrics"], usual["metrics"])
    one = simulate(SLOW_LINK, "--encoding", "auto", program="cocoa", data="c.svm") # sigma' stays
    assert {change["what"] for change in one["changes"]} == {"encoding"} and one["metrics"]["gap"] <= 1e-6, one["changes"]


def main():
    if not os.path.exists(os.path.join(EXAMPLES, "factors-simulated")): # a build with a sanitizer
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        write_ratings("r.mtx", 200, 60)
        write_classes("m.svm", 2000, 40)
        a_setting_that_helps_is_found()
        a_slow_worker_takes_smaller_batches()
        what_holds_nothing_up_changes_nothing()
        histories_hold()
        replays_have_the_bits()
        a_local_solver_adapts()
        os.chdir("/")


main()
