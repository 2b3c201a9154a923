#!/usr/bin/env python3
"""Single options that a run may change by itself (--sync auto, --encoding auto, --quota auto, --exchange-every auto): each changes its own setting
alone, within its bounds, also beside histories, rehearsals, limits and checkpoints; plans count it; where it can change nothing it is refused."""
import json
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["HAWSER_SOURCE"], "tests", "helpers"))
from command import CLEAN, HAWSER, SANITIZED  # noqa: E402

SIM = os.path.join(os.environ["HAWSER_BUILD"], "src", "hawser-sim")
ROUNDS = ("--solver", "cd", "--tol", "1e-5", "--lambda-ratio", "0.01")
QUOTA = ("--filter", "absolute", "--quota", "auto")
SLOW_LINK = ("--link", "10mbit")
IN_TURN = ("--compute", "1us,1us,0.5ns", "--fault", "turn slow 8 every 1 clocks")
SLOW_HOST = ("--compute", "1us,1us,0.5ns", "--fault", "t=0 slow 2 8")
FEW = {"sync": ("bsp", "ssp:1", "ssp:2", "ssp:3"), "encoding": ("exact", "bf16", "int8")}


def call(*words, code=0, environment=None):
    done = subprocess.run(words, capture_output=True, text=True, env={**CLEAN, "ASAN_OPTIONS": "detect_leaks=0", **(environment or {})}, timeout=60)
    assert done.returncode == code, (words, done.returncode, done.stderr)
    return done


def simulate(world, *words, code=0, data="d.svm"):
    said = json.loads(call(SIM, "--nodes", "4", *world, "--", "train", "lasso", data, "--json", "--quiet", *ROUNDS, *words, code=code).stdout.splitlines()[-1])
    said["simulated"].pop("seconds_real")
    return said


def each_changes_its_own_setting():
    usual = {world: simulate(world) for world in (SLOW_LINK, IN_TURN, SLOW_HOST)}
    for world, words, whats, most in ((SLOW_LINK, ("--encoding", "auto"), {"encoding"}, 0.6), (SLOW_LINK, ("--encoding", "v=auto"), {"encoding"}, 0.6),
                                      (SLOW_LINK, QUOTA, {"quota"}, 1), (IN_TURN, ("--sync", "auto"), {"sync"}, 1.1),
                                      (SLOW_LINK, ("--exchange-every", "auto"), {"work", "share"}, 1.1),
                                      (SLOW_HOST, ("--exchange-every", "auto:1"), {"work", "share"}, 1.1)):
        said, base = simulate(world, *words), usual[world]
        changes = said["changes"]
        assert changes and {change["what"] for change in changes} <= whats, (words, changes)
        assert all(change["reason"] and change["loop"] == "rounds" for change in changes), changes
        assert said["seconds_train"] < most * base["seconds_train"], (words, said["seconds_train"], base["seconds_train"], changes)
        assert abs(said["objective"] - base["objective"]) < 1e-4 * base["objective"] and said["stop_reason"] == "gap"
        assert not said["repeatable"] and base["repeatable"] and base["changes"] == []
        for change in changes:
            assert change["what"] not in FEW or {change["old"], change["new"]} <= set(FEW[change["what"]]), change
            assert change["what"] != "quota" or 0 < change["new"] <= 8 * 2000 + 8, change
            assert change["what"] != "work" or 0.25 <= change["new"] <= 4, change
            assert change["what"] != "share" or 0.125 <= change["new"] <= 1, change
    # What holds nothing up changes nothing, and then the bits are those of a run without the option.
    quick = ("--link", "1000gbit", "--latency", "0")
    base = simulate(quick)
    for words in (("--sync", "auto"), ("--encoding", "auto"), QUOTA):
        said = simulate(quick, *words)
        assert said["changes"] == [] and said["repeatable"] and (said["objective"], said["gap"]) == (base["objective"], base["gap"]), (words, said)
    assert all(change["new"] in ("bsp", "ssp:1") for change in simulate(IN_TURN, "--sync", "auto:1")["changes"])
    assert simulate(SLOW_LINK, "--exchange-every", "auto:2", "--max-clocks", "4")["objective"] == \
        simulate(SLOW_LINK, "--exchange-every", "2", "--max-clocks", "4")["objective"] != simulate(SLOW_LINK, "--max-clocks", "4")["objective"]


def a_quota_rises_when_the_link_gets_faster():
    """From 1.5 s on the links are 200 times faster: the quota rises again, up to the whole update, and the training is faster than with any fixed one."""
    faster = ("--link", "5mbit", "--compute", "1us,400ns,0.5ns", "--fault", ";".join(f"t=1.5 rate {node} 1gbit" for node in range(4)))
    fixed = [simulate(faster, "--filter", "absolute", "--quota", quota, data="e.svm") for quota in ("800", "2600", "8008")]
    said = simulate(faster, *QUOTA, data="e.svm")
    values = [change["new"] for change in said["changes"]]
    assert {change["what"] for change in said["changes"]} == {"quota"} and values[0] < 4000 and values[-1] == 8008 and values == sorted(values), said["changes"]
    assert all(old["new"] == new["old"] for old, new in zip(said["changes"], said["changes"][1:])), said["changes"]
    for other, most in zip(fixed, (0.9, 0.9, 1)):
        assert said["seconds_train"] < most * other["seconds_train"], (said["seconds_train"], other["seconds_train"], said["changes"])
        assert abs(said["objective"] - other["objective"]) < 1e-4 * said["objective"] and said["stop_reason"] == "gap"


def workers_without_waits_exchange_more_often():
    """Where the exchange takes below 10 % of a clock, half of the work is tried; working sets that are solved less well take fewer seconds here."""
    call(HAWSER, "data", "generate", "dense", "-o", "w.svm", "--rows", "400", "--cols", "200", "--seed", "3")
    words = (SIM, "--nodes", "4", "--compute", "1us,400ns,0.5ns", "--", "train", "lasso", "w.svm", "--tol", "1e-6", "--lambda-ratio", "0.02", "--json", "--quiet")
    usual, said = (json.loads(call(*words, "--exchange-every", every).stdout.splitlines()[-1]) for every in ("1", "auto"))
    assert [(change["old"], change["new"]) for change in said["changes"] if change["what"] == "work"][:1] == [(1, 0.5)], said["changes"]
    assert said["seconds_train"] < 1.1 * usual["seconds_train"] and abs(said["objective"] - usual["objective"]) < 1e-5 * usual["objective"]


def the_log_view_advises_fewer_nodes():
    for link, advised in (("1mbit", True), ("10gbit", False)):
        done = call(SIM, "--nodes", "4", "--link", link, "--", "train", "lasso", "d.svm", *ROUNDS, "--exchange-every", "1", "--log-view", "--quiet")
        assert ("would be faster: a clock computes" in done.stdout + done.stderr) == advised, (link, done)


def others_go_with_them():
    for world, words in ((SLOW_LINK, ("--encoding", "auto")), (SLOW_LINK, QUOTA), (IN_TURN, ("--sync", "auto"))):
        base = simulate(world, *words)
        said = simulate(world, *words, "--record-history", "history")
        assert said["changes"] and said["objective"] == base["objective"]
        assert json.loads(call(HAWSER, "check", "history", "--json").stdout)["holds"]
        for node in ("", ".1", ".2", ".3"):
            os.remove("history" + node)
        again = simulate(world, *words, "--rehearse", "3")
        assert abs(again["objective"] - base["objective"]) < 1e-4 * base["objective"], (words, again["changes"])
        limited = simulate(world, *words, "--time-limit", f"{base['seconds_train'] / 2}s")
        assert limited["stop_reason"] != "gap" and limited["objective"] >= base["objective"] * (1 - 1e-9), limited["stop_reason"]


def goes_on_from_a_checkpoint():
    """A training of threads that a time limit cuts goes on with the same words, and ends at the same optimum."""
    words = (HAWSER, "train", "lasso", "d.svm", "-k", "3", *ROUNDS, "--tol", "1e-9", "--json", "--quiet", "--exchange-every", "auto", "--sync", "auto")
    kept = (*words, "--checkpoint", "kept", "--checkpoint-every", "0")
    whole = json.loads(call(*words).stdout.splitlines()[-1])
    for limit in ("50ms", "200ms", "1s"):
        cut = json.loads(call(*kept, "--time-limit", limit).stdout.splitlines()[-1])
        if cut["stop_reason"] == "gap" or cut["checkpoints"]["taken"] > 0:
            break
    rest = json.loads(call(*kept).stdout.splitlines()[-1])
    assert rest["resumed"] or cut["stop_reason"] == "gap", (cut["stop_reason"], rest["resumed"])
    assert rest["stop_reason"] == "gap" and abs(rest["objective"] - whole["objective"]) < 1e-7 * whole["objective"]


def refused(said, *words, base=(HAWSER,), verb="train"):
    done = subprocess.run((*base, verb, "lasso", "d.svm", "--quiet", *words), capture_output=True, text=True, env=CLEAN, timeout=60)
    assert done.returncode == 2 and said in done.stderr, (words, done)


def what_can_change_nothing_is_refused():
    three = ("-k", "3")
    rounds = ("--exchange-every", "1")
    for verb in ("train", "plan"):
        for words in (("--sync", "auto"), ("--encoding", "auto")):
            refused(f"{words[0]} does nothing here: no loop says what may change of it", *three, *words, verb=verb)
        refused("--quota does nothing here: it needs a --filter", *three, *rounds, "--quota", "auto", verb=verb)
        refused("--encoding does nothing here: the job has one node", *three, *rounds, "--encoding", "auto", verb=verb)
        refused("--quota does nothing here: the job has one node", *three, *rounds, *QUOTA, verb=verb)
        for words in (("--sync", "auto"), ("--exchange-every", "auto"), ("--encoding", "auto"), QUOTA):
            refused("does nothing here: one worker", "-k", "1", *rounds, *words, verb=verb)
    refused("--encoding does nothing here: the state has a filter", *rounds, "--filter", "absolute", "--quota", "64", "--encoding", "auto", base=(SIM, "--nodes", "2", "--"))
    refused("--encoding does nothing here: the program has no state 'w'", *rounds, "--encoding", "w=auto", base=(SIM, "--nodes", "2", "--"))
    refused("--filter does nothing here: without a --quota", *three, *rounds, "--filter", "absolute")
    for value in ("auto:0", "auto:9"):
        refused(f"--sync: '{value}' is not within auto:1 to auto:8", *three, *rounds, "--sync", value)
    for words, said in ((("--sync", "auto:x"), "is not one of bsp|"), (("--exchange-every", "auto:-1"), "'-1' is not within (0,inf)"),
                        (("--exchange-every", "auto:"), "is not a finite number, auto or auto:H"), (("--quota", "auto:3"), "or auto"),
                        (("--encoding", "auto:2"), "is not one of exact|")):
        refused(said, *three, *words)
    # The environment and files set options of many trainings, so that those are noted. --auto is, also on the command line.
    with open("all.conf", "w", encoding="utf-8") as file:
        file.write("encoding = auto\n")
    for words, environment, note in ((("--config", "all.conf"), {}, "encoding does nothing here: no loop"), ((), {"HAWSER_SYNC": "auto:2"}, "HAWSER_SYNC does nothing here: no loop"),
                                     (("--auto",), {}, "--auto does nothing here: no loop")):
        assert note in call(HAWSER, "train", "lasso", "d.svm", *three, *words, environment=environment).stderr, words
    call(HAWSER, "train", "lasso", "d.svm", *three, "--quiet", environment={"HAWSER_SYNC": "auto", "HAWSER_EXCHANGE_EVERY": "auto:0.5"})


def plans_count_what_may_change():
    def needs(*words):
        plan = json.loads(call(HAWSER, "plan", "lasso", "d.svm", "-k", "4", "--suppose-nodes", "4", "--json", "--exchange-every", "1", *words).stdout)
        v, = (state for state in plan["states"] if state["name"] == "v")
        return v["block_bytes"], v
    exact, rounded, adapts = needs(), needs("--encoding", "int8"), needs("--encoding", "auto")
    assert exact[0] < rounded[0] == adapts[0] and "bf16 or int8" in adapts[1]["encoding"], (exact, rounded, adapts)
    fixed, falls = needs("--filter", "absolute", "--quota", "64"), needs(*QUOTA)
    assert fixed[0] == falls[0] and falls[1]["quota_falls"] and not fixed[1]["quota_falls"] and falls[1]["quota_bytes"] >= 8 * 2000
    text = call(HAWSER, "plan", "lasso", "d.svm", "-k", "4", "--suppose-nodes", "4", "--exchange-every", "1", *QUOTA).stdout
    assert "and less where the link holds the training up" in text, text


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        call(HAWSER, "data", "generate", "url", "-o", "d.svm", "--rows", "2000", "--cols", "1000", "--per-row", "20", "--seed", "3")
        call(HAWSER, "data", "generate", "url", "-o", "e.svm", "--rows", "1000", "--cols", "1000", "--per-row", "40", "--seed", "3")
        workers_without_waits_exchange_more_often()
        the_log_view_advises_fewer_nodes()
        each_changes_its_own_setting()
        a_quota_rises_when_the_link_gets_faster()
        if not SANITIZED:
            others_go_with_them()
            goes_on_from_a_checkpoint()
        what_can_change_nothing_is_refused()
        plans_count_what_may_change()
        os.chdir("/")


main()
