#!/usr/bin/env python3
"""Files of decisions: 20 recorded runs decide the same again; a replay makes the same changes at the same clocks, with the bits of the first run for any
threads and nodes; other runs, damaged, cut and foreign files are refused by file and line."""
import itertools
import json
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["HAWSER_SOURCE"], "tests", "helpers"))
from command import CLEAN, HAWSER  # noqa: E402

SIM = os.path.join(os.environ["HAWSER_BUILD"], "src", "hawser-sim")
AGAIN = os.path.join(os.environ["HAWSER_BUILD"], "tests", "decides_again")
SETUPS = list(itertools.product(("3", "4"), ("5mbit", "40mbit"), ((), ("--fault", "t=0 slow 2 4"), ("--fault", "t=0.3 rate h0 1mbit")), ("lasso", "logistic")))[:20]


def call(*words, code=0):
    done = subprocess.run(words, capture_output=True, text=True, env={**CLEAN, "ASAN_OPTIONS": "detect_leaks=0"}, timeout=100)
    assert done.returncode == code, (words, done.returncode, done.stderr)
    return done


def training(algorithm, *more):
    return ("train", algorithm, data, *(() if "--path" in more else ("--lambda-ratio", "0.02")), "--tol", "1e-4", "--exchange-every", "1", "--auto", "--json", "--quiet",
            *(("--solver", "cd") if algorithm == "lasso" else ("--positive", "> 0")), *more)


def said(done):
    return json.loads(done.stdout.splitlines()[-1])


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    data = "d.svm"
    call(HAWSER, "data", "generate", "url", "-o", data, "--rows", "200", "--cols", "200", "--per-row", "30", "--seed", "3")
    runs = []
    for i, (nodes, link, fault, algorithm) in enumerate(SETUPS):
        more = ("--path", "0.1,0.03") if i % 7 == 6 and algorithm == "lasso" else ()
        runs.append(said(call(SIM, "--nodes", nodes, "--link", link, "--compute", "1us,100ns,0.5ns", *fault, "--",
                              *training(algorithm, *more), "--save-decisions", f"{i}.decisions", "-o", f"{i}.model")))
    changes = [len(run["changes"]) for run in runs]
    again = int(call(AGAIN, *(f"{i}.decisions" for i in range(len(SETUPS)))).stdout)
    assert again >= sum(changes) and sum(changes) > 30, (again, changes)
    kinds = {change["what"] for run in runs for change in run["changes"]}
    assert {"encoding", "gain", "work"} <= kinds, kinds

    # The bits of the first run, whatever the times.
    first = max((i for i in range(20) if SETUPS[i][0] == "4" and not any(c["what"] == "sync" for c in runs[i]["changes"])), key=changes.__getitem__)
    words = training(SETUPS[first][3], "--workers", "4")
    replay = ("--replay-decisions", f"{first}.decisions")
    facts = call(HAWSER, "info", f"{first}.model", "--coefficients").stdout
    assert len(facts) > 100 and changes[first] > 2
    for how, more in (((), ("--threads", "1")), (("run", "-n", "2", "--"), ()), ((), ("--rehearse", "5")), ((), ("--time-limit", "100"))):
        done = said(call(HAWSER, *how, *words, *more, *replay, "-o", "again.model"))
        assert done["repeatable"] and done["changes"] == runs[first]["changes"], (how, done["changes"], runs[first]["changes"])
        assert call(HAWSER, "info", "again.model", "--coefficients").stdout == facts, how
    early = call(HAWSER, *words, "--max-clocks", "5", *replay)
    assert "--replay-decisions: the run ended before" in early.stderr and said(early)["clocks"] == 5, early.stderr

    # Numbers in other words, and options of how data are read, which their digest covers, make no other run.
    other = [word.replace("1e-4", "0.0001") for word in words]
    assert said(call(HAWSER, *other, "--index-base", "1", "--format", "svmlight", *replay))["changes"] == runs[first]["changes"]

    def refused(text, *more, words=words, code=2, name=f"{first}.decisions"):
        stderr = call(HAWSER, *words, *more, "--replay-decisions", name, code=code).stderr
        assert text in stderr and name in stderr, (text, stderr)

    refused("option lambda-ratio = 0.02 there, 0.03 here", "--lambda-ratio", "0.03")
    refused("has decisions on 4 workers, and there are 3 here", "--workers", "3")
    call(HAWSER, "data", "generate", "url", "-o", "other.svm", "--rows", "200", "--cols", "200", "--per-row", "30", "--seed", "4")
    refused("data = digest ", words=[word if word != data else "other.svm" for word in words])
    for more, text in ((("--save-decisions", "x"), "--save-decisions and --replay-decisions do not go together"),
                       (("--checkpoint", "c"), "--replay-decisions and --checkpoint do not go together")):
        assert text in call(HAWSER, *words, *replay, *more, code=2).stderr
    assert "of which none was given" in call(HAWSER, *(word for word in words if word != "--auto"), *replay, code=2).stderr
    for option in ("--save-decisions", "--learn"):
        assert f"{option}: " in (stderr := call(HAWSER, *words, option, "no/such/x", code=4).stderr) and "no/such" in stderr, stderr

    # A line that is changed, one that is missing, and files that were never one.
    with open(f"{first}.decisions", encoding="utf-8") as file:
        lines = file.readlines()
    for name, text, expected in (("damaged", [*lines[:4], lines[4].replace("1", "2", 1), *lines[5:]], ":5: expected a line of decisions with its checksum"),
                                 ("cut", lines[:-2], f":{len(lines) - 1}: expected another line, but the file ends"),
                                 ("short", [*lines[:-2], lines[-2][:50]], f":{len(lines) - 1}: expected a line of decisions"),
                                 ("lacks", [*lines[:4], *lines[5:]], f":{len(lines) - 1}: expected the last of {len(lines)} lines"),
                                 ("long", [*lines, lines[-1]], f":{len(lines)}: expected the last of"),
                                 ("empty", [], ":1: expected another line"),
                                 ("other", ["{}\n"], ":1: expected the first line of a file of decisions"),
                                 ("later", lines[1:], ":1: expected the first line of a file of decisions")):
        with open(name, "w", encoding="utf-8") as file:
            file.writelines(text)
        refused(expected, code=3, name=name)
    refused("no regular file", code=4, name="/dev/null")
