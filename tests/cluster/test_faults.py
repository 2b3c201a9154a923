#!/usr/bin/env python3
"""A node killed, stopped or cut off in each phase; launchers killed and suspended: whoever is left ends by name and leaves nothing.

Times are not measured: whatever does not end within a generous limit is a failure.
"""
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from nodes import HAWSER, LONG, Box, Job, Scratch, check, finish, hawser, nothing_left, read, state_of, until  # noqa: E402

NODES = 3
TIMEOUT = "1"
HELD = """#!/bin/sh
# Holds one node: before it joins until there is a file 'go', or, by an input that nobody writes, while it loads.
if [ "$HAWSER_NODE" = "$HAWSER_TEST_LATE" ]; then while [ ! -e go ]; do sleep 0.05; done; fi
if [ "$HAWSER_NODE" = "$HAWSER_TEST_LOADS" ]; then cd stuck || exit 1; fi
if [ "$HAWSER_TEST_HOLD" ] && [ "$HAWSER_NODE" = 0 ]; then export LD_PRELOAD="$HAWSER_TEST_HOLD"; fi
exec "$HAWSER_TEST_COMMAND" "$@"
"""


class Case:
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
            HAWSER, "run", "-n", str(NODES), "--grace", "3", *hosts, "--", "./held", "train", "lasso", "t.svm", "--index-base", "1",
            "--workers", str(NODES), "-q", "--failure-timeout", TIMEOUT, "-o", os.path.join(scratch.path, "got.model"), *options],
            HAWSER_TEST_LATE=late, HAWSER_TEST_LOADS=loads, HAWSER_TEST_HOLD=hold, HAWSER_TEST_COMMAND=HAWSER)

    def log(self):
        return read("log.json").count('"event":"clock"')

    def links(self):
        """Of node 0, which are up."""
        pid = self.job.node(0)
        if self.where == "hosts":
            return sum(line.split()[3] == "01" for version in ("tcp", "tcp6")
                       for line in read(f"/proc/{pid}/net/{version}").splitlines()[1:])
        return sum(os.path.basename(line.split()[7]).startswith("node") or "hawser-" in line and line.split()[5] == "03"
                   for line in read("/proc/net/unix").splitlines()[1:] if len(line.split()) > 7 and self.scratch.temporary in line)


def reach(case, phase):
    if phase == "joining":
        until(lambda: case.links() >= NODES - 2, f"link in {phase}")
    elif phase == "loading":
        until(lambda: case.links() >= NODES - 1, f"links in {phase}")
        time.sleep(0.5)
    else:
        until(lambda: case.log() >= {"early": 3, "late": 9}[phase], f"clocks for {phase}")


def start(scratch, box, where, phase, sync, victim):
    """Held in that phase; who is held is not who is lost."""
    other = str(NODES - 1 if victim != NODES - 1 else NODES - 2)
    options = ["--sync", sync, "--tol", "1e-14", "--log-json", os.path.join(scratch.path, "log.json"), "--slow", "1:1000"]
    case = Case(scratch, box, where, *options, late=other if phase == "joining" else "", loads=other if phase == "loading" else "")
    reach(case, phase)
    return case


def lost(case, victim, phase, name, codes):
    """All have ended, as they should, and say who was lost."""
    code = case.job.wait()
    err = case.job.err
    check(code in codes, f"{name}: exit {code}: {case.job.say()}")
    check(f"node {victim} (" in err, f"{name}: does not name node {victim}: {case.job.say()}")
    tellers = [line for line in err.splitlines() if f"node {victim} (" in line and "hawser run:" not in line]
    words = {"joining": "joining", "loading": "reading the input", "early": "clock", "late": "clock"}[phase]
    check(any(re.search(words, line) for line in tellers), f"{name}: nobody says '{words}': {case.job.say()}")
    check(not os.path.exists("got.model"), f"{name}: a model was written")
    nothing_left(case.scratch, name)


def fault(scratch, box, where, phase, how, victim, sync):
    name = f"{how} of node {victim} while {phase}, {where}, {sync}"
    print(name, flush=True)
    case = start(scratch, box, where, phase, sync, victim)
    pid = case.job.node(victim)
    if how == "kill":
        os.kill(pid, signal.SIGKILL)
        lost(case, victim, phase, name, (137,) if where == "local" else (137, 8))  # a peer may be heard of first
    elif how == "stop":
        os.kill(pid, signal.SIGSTOP)
        lost(case, victim, phase, name, (8,))
    else:
        with box.cut(f"h{victim}", *(["--one-way"] if how == "one-way" else [])):
            lost(case, victim, phase, name, (8,))


def launcher_killed(scratch, box, where):
    print("launcher killed,", where, flush=True)
    case = start(scratch, box, where, "early", "bsp", 0)
    case.job.process.kill()
    check(case.job.wait() == -9, "launcher killed")
    check(not os.path.exists("got.model"), "launcher killed: a model was written")
    nothing_left(scratch, "launcher killed")


def suspended(scratch, box, where):
    """Ctrl-Z, longer than the failure timeout, and fg."""
    print("suspended,", where, flush=True)
    case = Case(scratch, box, where, "--tol", "1e-9", "--log-json", os.path.join(scratch.path, "log.json"), "--slow", "1:300")
    reach(case, "early")
    pids = [case.job.node(i) for i in range(NODES)]
    case.job.process.send_signal(signal.SIGTSTP)
    until(lambda: all(state_of(p) == "T" for p in [*pids, case.job.process.pid]), "stop of all")
    time.sleep(2 * float(TIMEOUT) + 1)
    case.job.process.send_signal(signal.SIGCONT)
    check(case.job.wait() == 0, f"suspended: {case.job.say()}")
    check(os.path.exists("got.model"), "suspended: no model")
    nothing_left(scratch, "suspended")


def frozen(scratch, box):
    """All machines at once, as when the one that carries them sleeps; and one after the other, since hosts do not wake together."""
    print("all frozen", flush=True)
    case = Case(scratch, box, "hosts", "--tol", "1e-9", "--log-json", os.path.join(scratch.path, "log.json"), "--slow", "1:300")
    reach(case, "early")
    box("stop", "all")
    time.sleep(2 * float(TIMEOUT) + 1)
    box("cont", "all")
    check(case.job.wait() == 0, f"all frozen: {case.job.say()}")
    check(os.path.exists("got.model"), "all frozen: no model")
    nothing_left(scratch, "all frozen")


def one_frozen(scratch, box, victim):
    """A host that hangs: its kernel answers, its programs do not."""
    print(f"host of node {victim} frozen", flush=True)
    case = start(scratch, box, "hosts", "early", "bsp", victim)
    survivors = [case.job.node(i) for i in range(NODES) if i != victim]
    box("stop", f"h{victim}")
    until(lambda: not any(state_of(p) for p in survivors), "end of the others")
    box("cont", f"h{victim}")
    lost(case, victim, "early", f"host of node {victim} frozen", (8,))


def blink(scratch, box):
    """A cut shorter than the failure timeout costs time only."""
    print("a short cut", flush=True)
    case = Case(scratch, box, "hosts", "--tol", "1e-9", "--log-json", os.path.join(scratch.path, "log.json"), "--slow", "1:300",
                "--failure-timeout", "20")
    reach(case, "early")
    with box.cut("h1"):
        time.sleep(1.5)
    check(case.job.wait() == 0, f"short cut: {case.job.say()}")
    check(os.path.exists("got.model"), "short cut: no model")


def saving(scratch, box, where):
    """Node 0 is killed when the model is written under its temporary name: the old one stays as it was."""
    print("node 0 killed while saving,", where, flush=True)
    compiler = shutil.which("cc")
    if compiler is None or os.environ.get("HAWSER_SANITIZE"):
        print("  skipped: needs cc, and a command without sanitizers")
        return
    with open("hold.c", "w", encoding="ascii") as out:
        out.write('#include <fcntl.h>\n#include <unistd.h>\nint fsync(int fd) { (void)fd; close(creat("held.here", 0600)); '
                  'for (;;) pause(); }\n')
    subprocess.run([compiler, "-shared", "-fPIC", "-o", "hold.so", "hold.c"], check=True)
    case = Case(scratch, box, where, "--tol", "1e-6", hold=os.path.join(scratch.path, "hold.so"), old=b"the old one")
    until(lambda: os.path.exists("held.here"), "saving")
    os.kill(case.job.node(0), signal.SIGKILL)
    check(case.job.wait() == 137 and "node 0 (" in case.job.err, f"saving: {case.job.say()}")
    check(read("got.model", "rb") == b"the old one", "saving: the old model is gone")
    os.unlink("held.here")
    for name in os.listdir("."):  # what SIGKILL leaves has a name that nobody takes for a model's
        if name.startswith((".got.model", "got.model.")):
            os.unlink(name)
    os.unlink("got.model")
    nothing_left(scratch, "saving")


def launcher_stopped(scratch, box, where):
    """Alone, by SIGSTOP: the nodes go on without it."""
    print("launcher stopped,", where, flush=True)
    case = Case(scratch, box, where, "--tol", "1e-9", "--log-json", os.path.join(scratch.path, "log.json"), "--slow", "1:300")
    reach(case, "early")
    os.kill(case.job.process.pid, signal.SIGSTOP)
    until(lambda: os.path.exists("got.model"), "model")
    os.kill(case.job.process.pid, signal.SIGCONT)
    check(case.job.wait() == 0, f"launcher stopped: {case.job.say()}")
    nothing_left(scratch, "launcher stopped")


def interrupted(scratch, box, where):
    print("interrupted,", where, flush=True)
    case = start(scratch, box, where, "early", "bsp", 0)
    case.job.process.send_signal(signal.SIGINT)
    check(case.job.wait() == 130, f"SIGINT: {case.job.say()}")
    check(b"lambda" in hawser(scratch, "info", "got.model"), "SIGINT: no model")
    nothing_left(scratch, "interrupted")
    print("out of time,", where, flush=True)
    case = Case(scratch, box, where, "--tol", "1e-14", "--slow", "1:1000", "--time-limit", "1", "--json")
    check(case.job.wait() == 0 and case.job.figures().get("stop_reason") == "time-limit", f"time limit: {case.job.say()}")
    check(b"lambda" in hawser(scratch, "info", "got.model"), "time limit: no model")
    nothing_left(scratch, "time limit")


def main():
    if not LONG:
        print("minutes of kills, stops and cuts: in script/test --long")
        sys.exit(77)
    scratch = Scratch()
    box = Box(NODES)
    hawser(scratch, "data", "generate", "dense", "-o", "t.svm", "--rows", "500", "--cols", "300", "--seed", "3")
    os.mkdir("stuck")
    os.mkfifo("stuck/t.svm")
    with open("held", "w", encoding="ascii") as out:
        out.write(HELD)
    os.chmod("held", 0o755)
    only = sys.argv[1:]
    cases = [(where, phase, how, victim, sync)
             for where in ("local", "hosts") for phase in ("joining", "loading", "early", "late") for how in ("kill", "stop", "cut", "one-way")
             for victim in (0, 1) for sync in ("bsp", "ssp:2") if where == "hosts" or how in ("kill", "stop")]
    if not LONG:
        cases = [c for i, c in enumerate(cases) if i % 11 == 0]
    for case in cases:
        if not only or "fault" in only:
            fault(scratch, box, *case)
    for where in ("local", "hosts"):
        for test in (launcher_killed, launcher_stopped, suspended, interrupted, saving):
            if not only or test.__name__ in only:
                test(scratch, box, where)
    if not only or "frozen" in only:
        frozen(scratch, box)
    if not only or "blink" in only:
        blink(scratch, box)
    for victim in (0, 1):
        if not only or "one_frozen" in only:
            one_frozen(scratch, box, victim)
    finish()


main()
