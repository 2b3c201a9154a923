#!/usr/bin/env python3
"""hawser run --restarts over hosts: a node is killed, and a host loses its power and comes back. The result has the bits of an undisturbed run."""
import json
import os
import re
import signal
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from nodes import HAWSER, Box, Job, Scratch, check, finish, hawser, read, tensors, until  # noqa: E402

WORDS = ["train", "lasso", "t.svm", "--index-base", "1", "--workers", "3", "-q"]
# Without the file `harmed` a training takes so long that it can be harmed.
AGAIN = """#!/bin/sh
if [ -e harmed ]; then exec "$COMMAND" "$@"; fi
exec "$COMMAND" "$@" --exchange-every 1 --tol 1e-15 --slow 1:1000 --trace trace.csv
"""


class Case:
    def __init__(self, scratch, box, name, hosts):
        for path in ("harmed", "trace.csv", "got.model"):
            if os.path.exists(path):
                os.unlink(path)
        self.name, words = name, [*WORDS, "--failure-timeout", "3", "-o", os.path.join(scratch.path, "got.model"), "--json"]
        self.job = Job(scratch, [HAWSER, "run", "-n", "3", "--restarts", "2", "--grace", "1", "--failure-timeout", "3", "--hosts",
                                 box.file(scratch, hosts), "--ssh", box.ssh, "--", "env", f"COMMAND={HAWSER}", "./again", *words])
        until(lambda: read("trace.csv").count("\n") > 3, f"{name}: clocks")

    def harmed(self):
        with open("harmed", "w", encoding="ascii"):
            pass

    def ends(self, said):
        check(self.job.wait() == 0, f"{self.name}: {self.job.say()}")
        check(re.search(said, self.job.err, re.M), f"{self.name}: {self.job.say()}")
        check(self.job.err.count("; restart ") == 1, f"{self.name}: {self.job.say()}")
        figures = [json.loads(line) for line in self.job.out.splitlines()]
        check([one["stop_reason"] for one in figures] == ["node-lost", "gap"] and figures[1]["nodes"] == 3,
              f"{self.name}: not a line for each start, the last with the result: {figures}")
        check(tensors("got.model") == tensors("one.model"), f"{self.name}: another model")


def node_killed(scratch, box):
    case = Case(scratch, box, "node killed", 3)
    case.harmed()
    os.kill(case.job.node(1), signal.SIGKILL)
    case.ends(r"^hawser run: node 1 \(h1, pid \d+\) was killed by signal 9 \(KILL\); .*; restart 1 of 2$")


def power_lost(scratch, box):
    """h1 is silent, and its session too. The spare h3 takes its place. Later h1 goes on, finds its job over, and ends."""
    case = Case(scratch, box, "power lost", 4)
    case.harmed()
    with box.cut("h1"):
        box("stop", "h1")
        until(lambda: case.job.process.poll() is not None, "end")
        box("cont", "h1")
    case.ends(r"^hawser run: node 1 \(h1, pid \d+\).*; restart 1 of 2$")
    check("h1 does not answer; its nodes may still run there" in case.job.err, f"power lost: {case.job.say()}")


def main():
    scratch = Scratch()
    box = Box(4)
    hawser(scratch, "data", "generate", "dense", "-o", "t.svm", "--rows", "500", "--cols", "100", "--seed", "3")
    hawser(scratch, *WORDS, "-o", "one.model")
    with open("again", "w", encoding="ascii") as out:
        out.write(AGAIN)
    os.chmod("again", 0o755)
    node_killed(scratch, box)
    power_lost(scratch, box)
    finish()


main()
