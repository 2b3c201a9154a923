"""Jobs of three nodes that a test can bring to a phase and keep there while it harms one of them."""
import contextlib
import os
import re
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from nodes import HAWSER, Job, check, hawser, nothing_left, read, until  # noqa: E402

NODES = 3
TIMEOUT = "3"  # a busy machine may keep a healthy node from sending for a second
PHASES = ("joining", "loading", "early", "late")
WORDS = {"joining": "joining|before the job's nodes had joined", "loading": "reading the input", "early": "clock", "late": "clock",
         "gathering": "between two runs"}
CLOCKS = {"early": 3, "late": 9}
HELD = """#!/bin/sh
# Holds one node: before it joins until the file 'go' exists, or while it loads, by an input that no process writes.
if [ "$HAWSER_NODE" = "$HAWSER_TEST_LATE" ]; then while [ ! -e go ]; do sleep 0.05; done; fi
if [ "$HAWSER_NODE" = "$HAWSER_TEST_LOADS" ]; then cd stuck || exit 1; fi
if [ "$HAWSER_TEST_HOLD" ] && [ "$HAWSER_NODE" = 0 ]; then export LD_PRELOAD="$HAWSER_TEST_HOLD"; fi
exec "$HAWSER_TEST_COMMAND" "$@"
"""


def prepare(scratch):
    """Writes what the jobs read and run into the scratch folder."""
    hawser(scratch, "data", "generate", "dense", "-o", "t.svm", "--rows", "500", "--cols", "300", "--seed", "3")
    os.mkdir("stuck")
    os.mkfifo("stuck/t.svm")
    with open("held", "w", encoding="ascii") as out:
        out.write(HELD)
    os.chmod("held", 0o755)


class Case:
    """One job. It exchanges once per sweep, because a working set that is solved at once would be done before any harm."""

    def __init__(self, scratch, box, where, *options, late="", loads="", hold="", old=b""):
        hosts = {"local": [], "hosts": ["--hosts", box.file(scratch, NODES), "--ssh", box.ssh]}[where]
        for name in ("go", "log.json", "got.model"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name)
        if old:
            with open("got.model", "wb") as out:
                out.write(old)
        self.box, self.scratch, self.where = box, scratch, where
        self.job = Job(scratch, [
            HAWSER, "run", "-n", str(NODES), "--grace", "1", *hosts, "--", "./held", "train", "lasso", "t.svm", "--index-base", "1",
            "--workers", str(NODES), "-q", "--exchange-every", "1", "--failure-timeout", TIMEOUT,
            "-o", os.path.join(scratch.path, "got.model"), "--log-json", os.path.join(scratch.path, "log.json"), *options],
            HAWSER_TEST_LATE=late, HAWSER_TEST_LOADS=loads, HAWSER_TEST_HOLD=hold, HAWSER_TEST_COMMAND=HAWSER)

    def clocks(self):
        return read("log.json").count('"event":"clock"')

    def links(self):
        """Returns the links of node 0 that are up."""
        pid = self.job.node(0)
        if self.where == "hosts":
            return sum(line.split()[3] == "01" for version in ("tcp", "tcp6")
                       for line in read(f"/proc/{pid}/net/{version}").splitlines()[1:])
        own = set()  # the socket of a node has a name without a file, and the accepted end of a link has the name of its listener
        for fd in os.listdir(f"/proc/{pid}/fd") if pid else []:
            with contextlib.suppress(OSError):
                own.add(os.readlink(f"/proc/{pid}/fd/{fd}"))
        rows = [line.split() for line in read("/proc/net/unix").splitlines()[1:]]
        return sum(len(row) > 7 and row[5] == "03" and "hawser-" in row[7] and f"socket:[{row[6]}]" in own for row in rows)

    def reach(self, phase):
        """Waits until the condition holds; if the job ends before, that is a failure at once."""
        arrived = {"joining": lambda: self.links() >= NODES - 2, "loading": lambda: self.links() >= NODES - 1}.get(
            phase, lambda: self.clocks() >= CLOCKS[phase])
        until(lambda: arrived() or self.job.process.poll() is not None, f"{phase} phase")
        check(self.job.process.poll() is None, f"ended before it was {phase}: {self.job.say()}")
        if phase == "loading":
            time.sleep(0.3)


def start(scratch, box, where, phase, sync, victim, way="auto"):
    """Starts a job and holds another node than the victim in that phase."""
    other = str(NODES - 1 if victim != NODES - 1 else NODES - 2)
    case = Case(scratch, box, where, "--sync", sync, "--transport", way, "--tol", "1e-14", "--slow", "1:1000",
                late=other if phase == "joining" else "", loads=other if phase == "loading" else "")
    case.reach(phase)
    return case


def long_one(scratch, box, where, *options):
    """Runs a job for a few seconds; it then ends with success."""
    case = Case(scratch, box, where, "--tol", "1e-9", "--slow", "1:150", *options)
    case.reach("early")
    return case


def lost(case, victim, phase, name, code, doubtful=False):
    """Checks that all nodes ended as they should and name the lost node; the launcher names it too. doubtful: if two nodes lost each other, either name is right."""
    got = case.job.wait()
    err = case.job.err
    check(got == code, f"{name}: exit {got}, not {code}: {case.job.say()}")
    reports = [line for line in err.splitlines() if f"node {victim} (" in line and "hawser run:" not in line]
    check(any(re.search(WORDS[phase], line) for line in reports), f"{name}: no node reports '{WORDS[phase]}': {case.job.say()}")
    named = re.findall(r"^hawser run: node (\d+) \(", err, re.M)
    check(set(named) == {str(victim)} or doubtful and len(named) == 1, f"{name}: hawser run names {named}: {case.job.say()}")
    check(not os.path.exists("got.model"), f"{name}: a model was written")
    nothing_left(case.scratch, name)
