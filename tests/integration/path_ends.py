#!/usr/bin/env python3
"""A path that is ended by a signal, a limit or the loss of a node leaves a model of the members that were finished. It says which they are, and they are those of
a training that was not ended."""
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["HAWSER_SOURCE"], "tests", "helpers"))
from command import CLEAN, HAWSER  # noqa: E402
from ports import free_port  # noqa: E402

FINISHED, LAST = (0.4, 0.2, 0.1), 1e-8  # the last lambda takes long enough for the end
COSTS, LAST_COST = (0.001, 0.002, 0.004), 1e6
SLOW = ["--tol", "1e-13", "--slow", "1:60"]
ENDLESS = [*SLOW, "--exchange-every", "1"]
PATIENCE = 300  # seconds, which only a hanging training takes
BY_ROWS = {"softmax", "svm"}
ALGORITHMS = {"lasso": ["--target", "y"], "logistic": ["--target", "z"], "multitask": ["--target", "y,x0"],
              "softmax": ["--target", "z"], "svm": ["--target", "z"]}


def write_data(draw):
    rows, columns = 80, 200
    with open("data.csv", "w", encoding="utf-8") as file:
        print("y", "z", *(f"x{j}" for j in range(columns)), sep=",", file=file)
        for _ in range(rows):
            x = [draw.gauss(0, 1) for _ in range(columns)]
            y = sum(x[:12]) + draw.gauss(0, 1)
            print(y, int(y > 0), *x, sep=",", file=file)


def words(name, path, *others):
    ignored = ["--ignore", "y" if ALGORITHMS[name] == ["--target", "z"] else "z"]
    return ["train", name, "data.csv", *ALGORITHMS[name], *ignored, "--path", path, "--workers", "2", "--json", "--quiet", *others]


def points(name):
    """Returns the finished values of the path, and the last one."""
    return (COSTS, LAST_COST) if name == "svm" else (FINISHED, LAST)


def path_of(name):
    finished, last = points(name)
    return ",".join(map(str, (*finished, last)))


def members(model):
    """Returns the path of a model as (lambda, columns, objective), and the last line if it is no member."""
    lines = subprocess.run([HAWSER, "info", model, "--path"], capture_output=True, text=True, env=CLEAN, check=True).stdout.splitlines()
    rows = [[float(cell) for cell in line.split()[:3]] for line in lines if re.match(r" *[0-9]", line)]
    return rows, lines[-1]


def has_reached_last(name, trace):
    """Has a training begun the last member?"""
    column, last = "C" if name == "svm" else "lambda", points(name)[1]
    lines = open(trace, encoding="utf-8").read().splitlines() if os.path.exists(trace) else []
    if len(lines) < 3:
        return False
    at = lines[0].split(",").index(column)
    cells = [line.split(",")[at] for line in lines[1:-1]]  # the last one may not be whole
    return any(cell and abs(float(cell) / last - 1) < 0.1 for cell in cells)


def wait_for_last(name, trace, process):
    """Waits until a training has begun the last member, however slow the machine is."""
    end = time.monotonic() + PATIENCE
    while not has_reached_last(name, trace):
        assert process.poll() is None, f"{trace}: the training ended before the last member: {process.communicate()}"
        assert time.monotonic() < end, f"{trace}: the last member was not reached"
        time.sleep(0.02)


def start(*arguments, **streams):
    return subprocess.Popen([HAWSER, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=CLEAN, **streams)


def check(name, model, whole, reason):
    rows, last = members(model)
    finished, count = points(name)[0], len(points(name)[0])
    expected, complete = members(whole)
    assert re.search(r"\bmodel$", complete), complete  # a path that was not ended has no such line
    assert [row[0] for row in rows] == list(finished), rows
    for row, other in zip(rows, expected):
        assert row[1] == other[1] and abs(row[2] - other[2]) <= 1e-5 * other[2], (name, row, other)
    assert f"({reason})" in last and f"{count} of its {count + 1} members" in last, last
    for k, value in enumerate(finished):  # the model can be used, and predicts what the other one does
        both = [subprocess.run([HAWSER, "predict", file, "data.csv", "--C" if name == "svm" else "--lambda", str(value)], capture_output=True, text=True, env=CLEAN,
                               check=True).stdout.split() for file in (model, whole)]
        assert len(both[0]) == len(both[1]) > 0
        for a, b in zip(*both):
            for x, y in zip(a.split(","), b.split(",")):
                assert x == y or abs(float(x) - float(y)) < 1e-3, (name, k, x, y)  # equal: names of targets


def lose_node(name, port):
    trace, model = f"{name}.csv", f"{name}.st"
    how = ["--key-file", "key", "--failure-timeout", "60", "--join-timeout", "60", "--interface", "127.0.0.1"]
    first = start(*words(name, path_of(name), *(SLOW if name in BY_ROWS else ENDLESS), "--trace", trace, "-o", model, *how, "--listen", "2", "--port-range", str(port)))
    second = start("node", "--join", f"127.0.0.1:{port}", *how)
    try:
        wait_for_last(name, trace, first)
    finally:
        second.kill()  # its connections close, so the other one need not wait for the timeout
    second.communicate()
    out, err = first.communicate(timeout=PATIENCE)
    assert first.returncode == 8, (name, err)
    assert re.search(rf"^hawser: node 1 .* was lost: .*; 3 of the path's 4 (members|lambdas) were finished, and the model has them; it is in {model}$",
                     err, re.M), err
    printed = json.loads(out.splitlines()[-1])
    assert printed["stop_reason"] == "node-lost" and printed["model"] == model, printed
    return model


def end_by_signal(name):
    trace, model = f"{name}.signal.csv", f"{name}.signal.st"
    one = start(*words(name, path_of(name), *(SLOW if name in BY_ROWS else ENDLESS), "--trace", trace, "-o", model))
    wait_for_last(name, trace, one)
    one.send_signal(signal.SIGTERM)
    return ended(one, 130), model


def end_by_limit(name, seconds=3):
    """A limit that ended the training before the last member began was too short for this machine, and is made longer."""
    while True:
        trace, model = f"{name}.limit.csv", f"{name}.limit.st"
        printed = ended(start(*words(name, path_of(name), *ENDLESS, "--trace", trace, "-o", model, "--time-limit", str(seconds))), 0)
        if has_reached_last(name, trace):
            return printed, model
        assert seconds < PATIENCE, f"{trace}: the last member was not reached within {seconds} s"
        seconds *= 4


def ended(process, code):
    out, err = process.communicate(timeout=4 * PATIENCE)
    assert process.returncode == code, (process.returncode, err)
    return json.loads(out.splitlines()[-1])


def check_end(name, printed, model):
    assert any("3 of the path's 4 " in note for note in printed["notes"]), printed["notes"]
    check(name, model, f"{name}.whole.st", printed["stop_reason"])


def main():
    seed = int(os.environ.get("HAWSER_TEST_SEED", 29))
    print("seed", seed)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        write_data(random.Random(seed))
        subprocess.run([HAWSER, "key", "key"], check=True, env=CLEAN)
        for name in ALGORITHMS:
            whole = f"{name}.whole.st"
            subprocess.run([HAWSER, *words(name, ",".join(map(str, points(name)[0])), "--tol", "1e-8", "-o", whole)], check=True, env=CLEAN, stdout=subprocess.DEVNULL)
            check(name, lose_node(name, free_port()), whole, "node-lost")
        for name in ("lasso", "softmax"):
            check_end(name, *end_by_signal(name))
        check_end("lasso", *end_by_limit("lasso"))


main()
