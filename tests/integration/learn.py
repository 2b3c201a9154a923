#!/usr/bin/env python3
"""--learn FILE: a run begins with the settings of the nearest earlier one, so that the third run loses at most half of what the first lost to the best
fixed setting; runs at the same time lose no line; what is damaged, of another kind, or from another machine is left out; resumed runs keep their settings."""
import json
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["HAWSER_SOURCE"], "tests", "helpers"))
from command import CLEAN, HAWSER  # noqa: E402
from sealed import is_sealed, sealed  # noqa: E402

SIM = os.path.join(os.environ["HAWSER_BUILD"], "src", "hawser-sim")
ROUNDS = ("--solver", "cd", "--tol", "1e-4", "--lambda-ratio", "0.01", "--exchange-every", "1")
SLOW_LINK = ("--nodes", "4", "--link", "10mbit", "--compute", "1us,100ns,0.5ns")
WORLD = {**CLEAN, "ASAN_OPTIONS": "detect_leaks=0"}


def lines_of(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def words_of(world, *more, data="d.svm"):
    return (SIM, *world, "--", "train", "lasso", data, "--json", *ROUNDS, *more)


def call(*words, code=0, environment=None):
    done = subprocess.run(words, capture_output=True, text=True, env={**WORLD, **(environment or {})}, timeout=100)
    assert done.returncode == code, (words, done.returncode, done.stderr)
    return done


def said(done):
    return json.loads(done.stdout.splitlines()[-1])


def simulate(world, *more, data="d.svm"):
    return said(call(*words_of(world, "--quiet", *more, data=data)))


def the_third_run_loses_half_of_the_first():
    fixed = [simulate(SLOW_LINK, *more) for more in ((), ("--encoding", "int8"), ("--sigma", "2"), ("--encoding", "int8", "--sigma", "2"))]
    best = min(run["seconds_train"] for run in fixed)
    runs = [simulate(SLOW_LINK, "--auto", "--learn", "f") for _ in range(3)]
    loss = [run["seconds_train"] / best - 1 for run in runs]
    assert loss[0] > 0.1 and loss[2] <= loss[0] / 2, (loss, [run["changes"] for run in runs])
    for run in runs:
        assert run["stop_reason"] == "gap" and abs(run["objective"] - fixed[0]["objective"]) < 1e-4 * fixed[0]["objective"]
        assert not run["repeatable"]
    first, third = {}, {}
    for change in runs[0]["changes"]:
        first[change["what"]] = change["new"]
    for change in runs[2]["changes"]:
        if "--learn" in change["reason"]:
            third[change["what"]] = change["new"]
            assert change["clock"] == 0 and change["reason"] == "an earlier run on 4 hosts ended with it (--learn)", change
    assert third == first == {"encoding": "int8", "gain": 2}, (first, third)
    begun = simulate(SLOW_LINK, "--auto", "--learn", "f", "--max-clocks", "1")  # no window, so it changes nothing more, and leaves no line
    assert "began with the settings of an earlier run" in json.dumps(begun), begun
    learned = lines_of("f")
    assert len(learned) == 3 and all(map(is_sealed, open("f", encoding="utf-8"))), learned
    assert learned[2]["clocks"] > learned[1]["clocks"] > learned[0]["clocks"]
    # The same settings from the start, given by hand, are no better: the learned ones held from the first clock on.
    assert runs[2]["seconds_train"] < 1.02 * fixed[3]["seconds_train"], (runs[2]["seconds_train"], fixed[3]["seconds_train"])


def what_is_alike_is_used():
    """Edited lines: only those of an equal program, loop, workers and H, and with hosts and bytes within a factor of two."""
    line = lines_of("f")[2]
    cases = [({}, True), ({"program": "logistic"}, False), ({"loop": "other"}, False), ({"workers": 3, "shares": [1] * 3}, False), ({"exchange": 2}, False), ({"hosts": 8}, True),
             ({"hosts": 9}, False), ({"hosts": 2}, True), ({"hosts": 1}, False), ({"bytes": line["bytes"] * 2}, True), ({"bytes": line["bytes"] * 2.1}, False), ({"version": 3}, False)]
    for edits, used in cases:
        write("edited", sealed({**line, **edits}))
        run = simulate(SLOW_LINK, "--auto", "--learn", "edited", "--max-clocks", "1")
        assert bool(run["changes"]) == used, (edits, run["changes"])
        assert lines_of("edited") == [json.loads(sealed({**line, **edits}))]  # a run without a window leaves nothing
    # Bounds hold, whatever the file says, and shares are those of the same hosts.
    wide = {**line, "settings": {"encoding": 7, "quota": 1, "work": 100, "sync": 99, "gain": 0.001}, "shares": [1, 0.25, 0.001, 1]}
    for edits, shares in (({}, {1: 0.25, 2: 0.125}), ({"places": "0123456789abcdef"}, {})):
        write("edited", sealed({**wide, **edits}))
        run = simulate(SLOW_LINK, "--auto", "--learn", "edited", "--max-clocks", "3")
        assert {change["worker"]: change["new"] for change in run["changes"] if change["what"] == "share"} == shares, run["changes"]
        others = {change["what"]: change["new"] for change in run["changes"] if change["what"] != "share"}
        assert others["encoding"] == "int8" and others["work"] == 4 and "sync" not in others and "quota" not in others, run["changes"]
    # Settings that the options fix stay as they are given.
    write("edited", sealed(line))
    run = simulate(SLOW_LINK, "--sync", "auto", "--learn", "edited", "--max-clocks", "3")
    assert run["changes"] == [] and run["repeatable"], run


def staleness_begins_after_two_measurements():
    line = lines_of("f")[0]
    write("edited", sealed({**line, "settings": {**line["settings"], "encoding": None, "gain": None, "sync": 2}}))
    run = simulate(SLOW_LINK, "--sync", "auto", "--learn", "edited")
    syncs = [change for change in run["changes"] if change["what"] == "sync"]
    assert syncs[0]["new"] == "ssp:2" and "an earlier run ended" in syncs[0]["reason"] and run["stop_reason"] == "gap", run["changes"]


SHORT = ("--nodes", "4", "--link", "100mbit", "--compute", "1us,100ns,0.5ns", "--fault")
IN_TURN, ONE_SLOW = (*SHORT, "turn slow 4 every 1 clocks"), (*SHORT, "t=0 slow 2 4")


def ridge(world, tolerance, *more, data="d.svm", name="short"):
    """A ridge regression, whose rounds end before any trial can begin."""
    return said(call(SIM, *world, "--", "train", "lasso", data, "--json", "--quiet", "--l1-ratio", "0", "--solver", "cd", "--tol", tolerance, "--lambda", "0.01", "--exchange-every", "1",
                     "--auto", "--learn", name, *more))


def reasons(run, words):
    return [(change["what"], change["new"]) for change in run["changes"] if words in change["reason"]]


def short_runs_try_across_runs():
    """The second run begins with what the first one was too short to try, and the third has the faster of the two."""
    best = min(ridge(IN_TURN, "1e-2", "--sync", sync, name="fixed")["seconds_train"] for sync in ("bsp", "ssp:1"))
    runs = [ridge(IN_TURN, "1e-2") for _ in range(4)]
    seconds = [run["seconds_train"] for run in runs]
    loss = [took / best - 1 for took in seconds]
    assert runs[0]["changes"] == [] and reasons(runs[1], "trial across runs (--learn): slowest in turn") == [("sync", "ssp:1")], [run["changes"] for run in runs]
    assert seconds[1] < seconds[0] / 1.1 and loss[2] <= loss[0] / 2 and loss[3] <= loss[0] / 2, (best, seconds)
    for run in runs[2:]:
        assert reasons(run, "learned: a run with it took") == [("sync", "ssp:1")] and not run["repeatable"], run["changes"]
    lines = lines_of("short")
    assert lines[0]["next"]["setting"] == "sync" and lines[0]["tried"] is None and lines[1]["next"] is None, lines[:2]
    assert lines[1]["tried"] == {**lines[1]["tried"], "setting": "sync", "value": 1, "old": 0, "seconds_old": lines[0]["seconds"], "kept": True}, lines[1]
    assert len(lines) == 2 and os.path.getsize("short") < 2 * 1500, lines  # later runs, in which no window was full, leave nothing

    # Worse: the share of the slow worker needs more clocks, so the second run takes longer, and the third is as the first, without another trial.
    runs = [ridge(ONE_SLOW, "1e-8", name="worse") for _ in range(4)]
    seconds = [run["seconds_train"] for run in runs]
    assert len(reasons(runs[1], "trial across runs (--learn): worker 2")) == 1 and runs[1]["clocks"] > runs[0]["clocks"] and seconds[1] > seconds[0], (seconds, runs[1]["changes"])
    line = lines_of("worse")[1]
    assert not line["tried"]["kept"] and line["lost"]["share"] == 1 and line["lost_clocks"] > 0 and line["tried"]["seconds"] > line["tried"]["seconds_old"], line
    for run in runs[2:]:
        assert run["seconds_train"] <= seconds[0] and run["clocks"] == runs[0]["clocks"] and not any(change["what"] == "share" for change in run["changes"]), (seconds, run["changes"])


def only_like_runs_are_compared():
    """No trial after a run that a limit has ended, on other data or with other options, within fixed bounds, from lines of the first version, or if it was barred."""
    first = lines_of("short")[0]
    old = {key: value for key, value in first.items() if key not in ("identity", "seconds", "progress", "next", "tried", "doubted")}
    call(HAWSER, "data", "generate", "url", "-o", "other.svm", "--rows", "1000", "--cols", "1000", "--per-row", "40", "--seed", "4")
    cases = [({}, (), "d.svm", True), ({"version": 1}, (), "d.svm", False), ({"identity": "0123456789abcdef"}, (), "d.svm", False), ({"seconds": 0}, (), "d.svm", False),
             ({"places": "0123456789abcdef"}, (), "d.svm", False), ({}, ("--seed", "2"), "d.svm", False), ({}, (), "other.svm", False),
             ({"next": {**first["next"], "value": 9}}, (), "d.svm", False), ({"next": {**first["next"], "setting": "share", "worker": 1, "value": 0.25}}, (), "d.svm", True)]
    for edits, more, data, tried in cases:
        write("edited", sealed({**(old if edits.get("version") == 1 else first), **edits}))
        run = ridge(IN_TURN, "1e-2", *more, data=data, name="edited")
        assert bool(reasons(run, "trial across runs")) == tried, (edits, more, run["changes"])
        assert len(lines_of("edited")) == 2
    for limit in (("--max-clocks", "29"), ("--time-limit", "300ms")):
        run = ridge(IN_TURN, "1e-2", *limit, name="cut" + limit[0])
        assert run["stop_reason"] in ("clocks", "time-limit") and all(line["next"] is None and line["seconds"] == 0 for line in lines_of("cut" + limit[0])), (limit, run)
    # A limit that ends the second run leaves no result: the third begins as the first, and the fourth tries again.
    for limit in ((), ("--max-clocks", "5"), (), ()):
        run = ridge(IN_TURN, "1e-2", *limit, name="again")
    lines = lines_of("again")
    assert [line["tried"] for line in lines[:3]] == [None] * 3 and lines[3]["tried"]["kept"] and reasons(run, "trial across runs"), lines


def runs_at_the_same_time_lose_no_line():
    words = words_of(SLOW_LINK, "--quiet", "--auto", "--learn", "shared")
    for _ in range(2):
        runs = [subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=WORLD) for _ in range(6)]
        for run in runs:
            stderr = [line for line in run.communicate(timeout=100)[1].splitlines() if line and "makecontext" not in line]  # a sanitizer's remark
            assert run.returncode == 0 and not stderr, stderr
    assert len(lines_of("shared")) == 12 and sorted(name for name in os.listdir(".") if name.startswith("shared")) == ["shared"], os.listdir(".")


def what_is_damaged_is_left_out():
    with open("f", encoding="utf-8") as file:
        lines = file.readlines()
    foreign = sealed({**json.loads(lines[0]), "version": 3})
    write("damaged", lines[0].replace("4", "5", 1) + foreign + lines[1] + lines[2][:50])
    done = call(*words_of(SLOW_LINK, "--auto", "--learn", "damaged"))
    note = "--learn: " + os.path.join(os.getcwd(), "damaged") + ":1: ignored, as it is damaged (2 of 4 lines)"
    assert done.stderr.count("--learn") == 1 and note in done.stderr and said(done)["changes"], done.stderr
    with open("damaged", encoding="utf-8") as file:
        after = file.readlines()
    assert after[:2] == [foreign, lines[1]] and len(after) == 3 and is_sealed(after[2]), after
    # What has no line of settings may be a file of the user.
    for text in ("a,b\n1,2\n", lines[0][:-9], "\n", "\0\0"):
        write("other", text)
        done = call(*words_of(SLOW_LINK, "--auto", "--learn", "other", "--max-clocks", "30"))
        assert "other is ignored, and stays as it is: none of its lines is one of --learn" in done.stderr and said(done)["changes"] != [], done.stderr
        with open("other", encoding="utf-8") as file:
            assert file.read() == text
    write("empty", "")
    assert "ignored" not in call(*words_of(SLOW_LINK, "--auto", "--learn", "empty", "--max-clocks", "30")).stderr and len(lines_of("empty")) == 1
    # A file keeps the newest thousand lines.
    write("long", "".join(sealed({**json.loads(lines[2]), "clocks": 1000 + clocks}) for clocks in range(1005)))
    simulate(SLOW_LINK, "--auto", "--learn", "long", "--max-clocks", "30")
    long = lines_of("long")
    assert len(long) == 1000 and long[0]["clocks"] == 1006 and long[-2]["clocks"] == 2004, (len(long), long[0])


def what_goes_with_nothing_is_refused():
    def refused(expected, *words, code=2):
        stderr = call(HAWSER, "train", "lasso", "d.svm", "-k", "3", *ROUNDS, *words, code=code).stderr
        assert expected in stderr, (expected, stderr)
    for other in ("--save-decisions", "--replay-decisions"):
        refused(f"--learn and {other} do not go together", "--auto", "--learn", "f", other, "x")
    refused("--learn does nothing here: it is about the changes of --auto", "--learn", "f")
    refused("--learn: 'd.svm' would overwrite the input 'd.svm'", "--auto", "--learn", "d.svm")
    refused("no/such", "--auto", "--learn", "no/such/file", code=4)
    refused("/dev/null' is no regular file", "--auto", "--learn", "/dev/null")
    note = call(HAWSER, "train", "lasso", "d.svm", "-k", "3", *ROUNDS, environment={"HAWSER_LEARN": "f"}).stderr
    assert "HAWSER_LEARN does nothing here: it is about the changes of --auto" in note, note


def others_are_places_to_give_it():
    before = len(lines_of("f"))
    write("all.conf", "auto = yes\nlearn = f\n")
    for more, environment in ((("--config", "all.conf"), {}), (("--auto",), {"HAWSER_LEARN": "f"})):
        run = said(call(*words_of(SLOW_LINK, "--quiet", *more), environment=environment))
        assert run["changes"][0]["clock"] == 0 and "--learn" in run["changes"][0]["reason"], run["changes"]
    assert len(lines_of("f")) == before + 2
    # A path, whose fits have metrics of their own, begins with them as well.
    words = [word for word in words_of(SLOW_LINK, "--quiet", "--auto", "--learn", "path", "--path", "0.1,0.05,0.02") if word not in ("--lambda-ratio", "0.01")]
    first, second = said(call(*words)), said(call(*words))
    assert first["changes"] and second["changes"][0]["clock"] == 0 and "--learn" in second["changes"][0]["reason"] and len(lines_of("path")) == 2, second["changes"]


def a_resumed_run_keeps_its_settings():
    words = (HAWSER, "train", "lasso", "d.svm", "-k", "3", "--solver", "cd", "--tol", "1e-12", "--lambda-ratio", "0.01", "--exchange-every", "auto", "--json")
    kept = (*words, "--learn", "g", "--checkpoint", "kept", "--checkpoint-every", "0")
    whole = said(call(*words, "--quiet"))
    cut = {}
    for limit in ("50ms", "200ms", "1s"):
        cut = said(call(*kept, "--time-limit", limit))
        if cut["stop_reason"] == "gap" or cut["checkpoints"]["taken"] > 0:
            break
    done = call(*kept)
    rest = said(done)
    assert rest["resumed"] or cut["stop_reason"] == "gap", (cut["stop_reason"], rest["resumed"])
    assert not rest["resumed"] or "--learn: loop 'rounds' begins with the settings of the checkpoint" in done.stderr, done.stderr
    assert abs(rest["objective"] - whole["objective"]) < 1e-9 * whole["objective"]


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        call(HAWSER, "data", "generate", "url", "-o", "d.svm", "--rows", "1000", "--cols", "1000", "--per-row", "40", "--seed", "3")
        the_third_run_loses_half_of_the_first()
        what_is_alike_is_used()
        staleness_begins_after_two_measurements()
        short_runs_try_across_runs()
        only_like_runs_are_compared()
        runs_at_the_same_time_lose_no_line()
        what_is_damaged_is_left_out()
        what_goes_with_nothing_is_refused()
        others_are_places_to_give_it()
        a_resumed_run_keeps_its_settings()
        os.chdir("/")


main()
