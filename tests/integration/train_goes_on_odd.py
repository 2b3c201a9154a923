#!/usr/bin/env python3
"""hawser train --checkpoint in odd situations: second commands with the files of a job that runs, histories of jobs that go on, and folders of all kinds. Each
is right, or refused with one line and the documented exit code, and nothing is lost."""
import contextlib
import glob
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.environ["HAWSER_SOURCE"], "tests", "helpers"))
import command

TRAIN = ("lasso", "d.svm", "--path", "40", "--tol", "1e-12", "--workers", "2")
FOLDER = ("--checkpoint", "ck", "--checkpoint-every", "0")
SLOW = ("--slow", "0:20")  # so that there is a while in which it can be stopped; changes no number
FILES = {"trace": "t.csv", "log-json": "log.jsonl", "record-history": "h"}
LOGS = tuple(word for name, path in FILES.items() for word in ("--" + name, path))


def start(*words, **options):
    return subprocess.Popen((command.HAWSER, *words), stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=command.CLEAN, **options)


def call(*words, **options):
    process = start(*words, **options)
    out, text = process.communicate(timeout=300)
    return process.returncode, text, out


def refused(code, *words, has=(), **options):
    """The command ends with the exit code and one line that has all parts."""
    ended, text, _ = call(*words, **options)
    lines = text.splitlines()
    assert ended == code and len(lines) == 1 and all(part in lines[0] for part in ((has,) if isinstance(has, str) else has)), (words, ended, text)


def read(name):
    with open(name, "rb") as file:
        return file.read()


def manifests(folder="ck"):
    return sorted(glob.glob(os.path.join(folder, "checkpoint-*.json")))


def wait_until(process, ready):
    end = time.monotonic() + 120
    while not ready() and process.poll() is None:
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.01)
    assert process.poll() is None, process.communicate()


@contextlib.contextmanager
def stopped(*words, folder="ck", checkpoints=1, **options):
    """A training that runs and does nothing, once it has so many checkpoints. It is killed at the end, unless it has ended."""
    process = start("train", *TRAIN, *SLOW, *words, **options)
    try:
        wait_until(process, lambda: len(manifests(folder)) >= checkpoints and (checkpoints > 0 or os.path.exists("h")))
        process.send_signal(signal.SIGSTOP)
        yield process
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


def check_refused_commands(checkpoints):
    """A command that is refused changes no file of the job that runs, whether that has a checkpoint or none yet."""
    every = ("--checkpoint", "ck", "--checkpoint-every", "0" if checkpoints else "1000")
    with stopped(*every, *LOGS, "-o", "m", checkpoints=checkpoints) as process:
        if not checkpoints:
            process.send_signal(signal.SIGCONT)
            wait_until(process, lambda: os.path.getsize("t.csv") > 0)
            process.send_signal(signal.SIGSTOP)
        before = {path: read(path) for path in FILES.values()}
        assert all(before.values()), before
        refused(2, "train", *TRAIN, *every, *LOGS, "--quota", "1K", has="--quota")
        refused(4, "train", "lasso", "nothing.svm", *every, *LOGS, has="nothing.svm")
        if checkpoints:
            refused(2, "train", *TRAIN, *every, *LOGS, "--seed", "9", has=("another run", "option seed = 1 there, 9 here"))
        assert {path: read(path) for path in FILES.values()} == before
        process.send_signal(signal.SIGCONT)
        out, text = process.communicate(timeout=300)
        assert process.returncode == 0, (out, text)
    assert not os.listdir("ck")
    assert call("check", "h")[0] == 0
    events = [json.loads(line)["event"] for line in read("log.jsonl").splitlines()]
    assert events[:2] == ["start", "load"] and events.count("start") == events.count("end") == 1, events
    lines = read("t.csv").decode().splitlines()
    clocks = [float(line.split(",")[0]) for line in lines[1:]]
    assert lines[0].startswith("clock,seconds,") and clocks == sorted(clocks), lines


def check_history():
    """The history of a training that goes on begins where it does, and breaks no rule; without a checkpoint it is an ordinary one."""
    assert call("train", *TRAIN, "--record-history", "whole")[0] == 0
    with stopped(*FOLDER, "--record-history", "h", checkpoints=2):
        pass
    code, text, _ = call("check", "h")
    assert code == 3 and "h is not whole" in text, text
    code, text, _ = call("train", *TRAIN, *FOLDER, "--record-history", "h")
    assert code == 0 and "goes on from clock" in text, text
    for path, went_on in (("h", True), ("whole", False)):
        code, text, out = call("check", path)
        first = out.splitlines()[0]
        assert code == 0 and first.startswith("verified: ") and first.endswith(" of a job that went on from a checkpoint") == went_on, (text, out)
        verdict = json.loads(call("check", path, "--json")[2])
        assert verdict["holds"] and verdict["resumed"] is went_on, verdict


def check_old_files():
    """A refused command leaves files of an earlier one; one that is accepted replaces them."""
    for path in FILES.values():
        with open(path, "w") as out:
            print("kept", file=out)
    refused(2, "train", *TRAIN, *LOGS, "--quota", "1K", has="--quota")
    assert {read(path) for path in FILES.values()} == {b"kept\n"}
    assert call("train", *TRAIN, *LOGS)[0] == 0
    assert not any(b"kept" in read(path) for path in FILES.values())
    assert call("check", "h")[0] == 0
    for path in FILES.values():
        os.remove(path)
    refused(2, "train", *TRAIN, "--record-history", "h", "--quota", "1K", has="--quota")
    assert not os.path.exists("h")


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        command.run("data", "generate", "dense", "--rows", "300", "--cols", "60", "--seed", "1", "-o", "d.svm")
        check_refused_commands(0)
        check_refused_commands(1)
        check_history()
        check_old_files()
        os.chdir("/")


if __name__ == "__main__":
    main()
