#!/usr/bin/env python3
"""Launchers are killed, stopped, suspended and interrupted; machines sleep; links are cut shortly; a model is being saved."""
import os
import shutil
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from held import NODES, TIMEOUT, Case, long_one, prepare, start  # noqa: E402
from nodes import Box, Scratch, check, finish, hawser, nothing_left, read, state_of, until  # noqa: E402


def launcher_killed(scratch, box, where):
    case = start(scratch, box, where, "early", "bsp", 0)
    pids = [case.job.node(i) for i in range(NODES)]
    case.job.process.kill()
    check(case.job.wait() == -9, "launcher killed")
    until(lambda: not any(os.path.exists(f"/proc/{p}") for p in pids), "end of all")
    check(not os.path.exists("got.model"), "launcher killed: a model was written")
    nothing_left(scratch, "launcher killed")


def ended_well(case, name):
    check(case.job.wait() == 0, f"{name}: {case.job.say()}")
    check(os.path.exists("got.model"), f"{name}: no model")
    nothing_left(case.scratch, name)


def launcher_stopped(scratch, box, where):
    """Stops only the launcher, by SIGSTOP: the nodes continue without it."""
    case = long_one(scratch, box, where)
    os.kill(case.job.process.pid, signal.SIGSTOP)
    until(lambda: os.path.exists("got.model"), "model")
    os.kill(case.job.process.pid, signal.SIGCONT)
    ended_well(case, "launcher stopped")


def suspended(scratch, box, where):
    """Ctrl-Z, longer than the failure timeout, and fg."""
    case = long_one(scratch, box, where)
    pids = [case.job.node(i) for i in range(NODES)]
    case.job.process.send_signal(signal.SIGTSTP)
    until(lambda: all(state_of(p) == "T" for p in [*pids, case.job.process.pid]), "stop of all")
    time.sleep(2 * float(TIMEOUT) + 1)
    case.job.process.send_signal(signal.SIGCONT)
    ended_well(case, "suspended")


def interrupted(scratch, box, where):
    case = start(scratch, box, where, "early", "bsp", 0)
    case.job.process.send_signal(signal.SIGINT)
    check(case.job.wait() == 130, f"SIGINT: {case.job.say()}")
    check(b"lambda" in hawser(scratch, "info", "got.model"), "SIGINT: no model")
    nothing_left(scratch, "interrupted")


def out_of_time(scratch, box, where):
    case = Case(scratch, box, where, "--tol", "1e-14", "--slow", "1:1000", "--time-limit", "1", "--json")
    check(case.job.wait() == 0 and case.job.figures().get("stop_reason") == "time-limit", f"time limit: {case.job.say()}")
    check(b"lambda" in hawser(scratch, "info", "got.model"), "time limit: no model")
    nothing_left(scratch, "time limit")


def saving(scratch, box, where):
    """Node 0 is killed when the model is written under its temporary name: the old model stays unchanged."""
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
    left = [name for name in os.listdir(".") if name.startswith(("got.model.", ".got.model"))]
    hawser(scratch, "train", "lasso", "t.svm", "--index-base", "1", "-q", "-o", "got.model")  # removes temporary files of earlier runs
    check(not [name for name in left if os.path.exists(name)], f"saving: {left} stay for ever")
    os.unlink("got.model")
    nothing_left(scratch, "saving")


def frozen(scratch, box):
    """Stops all machines at once, as when their host sleeps; and one after the other, since hosts do not wake together."""
    case = long_one(scratch, box, "hosts")
    box("stop", "all")
    time.sleep(float(TIMEOUT) + 1)  # the launcher gives up a host after twice the timeout
    box("cont", "all")
    ended_well(case, "all frozen")


def blink(scratch, box):
    """A cut shorter than the failure timeout costs time only."""
    case = long_one(scratch, box, "hosts", "--failure-timeout", "20")
    with box.cut("h1"):
        time.sleep(1.5)
    ended_well(case, "short cut")


def main():
    scratch = Scratch()
    box = Box(NODES)
    prepare(scratch)
    everywhere = (launcher_killed, launcher_stopped, suspended, interrupted, out_of_time, saving)
    tests = [(test, (where,)) for where in ("local", "hosts") for test in everywhere] + [(frozen, ()), (blink, ())]
    for test, where in tests:
        if test.__name__ in (sys.argv[1:] or [test.__name__]):
            print(test.__name__.replace("_", " "), *where, flush=True)
            test(scratch, box, *where)
    finish()


main()
