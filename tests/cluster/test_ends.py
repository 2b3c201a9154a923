#!/usr/bin/env python3
"""A node is lost while others fetch its results, a node runs out of memory, and hosts have different clocks."""
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from held import NODES, long_one, lost, prepare, start  # noqa: E402
from nodes import HAWSER, Box, Job, Scratch, check, finish, nothing_left, read, tensors, until  # noqa: E402

GROUP = f"hawser-test-{os.getpid()}"
# Memory in the node's own group until it is killed: it is whom the kernel is asked to take first. Several take it, for who has most of it
# counts against that.
HOG = """
import os, sys, time
for name, value in ((f"/proc/{sys.argv[2]}/oom_score_adj", 1000), (f"{sys.argv[1]}/cgroup.procs", os.getpid())):
    with open(name, "w") as out:
        out.write(str(value))
taken = []
for half in range(2):
    os.fork()
while True:
    try:
        with open(f"/proc/{sys.argv[2]}/stat") as file:
            if file.read().rsplit(")", 1)[1].split()[0] in "ZX":
                break
    except OSError:
        break
    taken.append(b"x" * (1 << 20))
"""
SKEW = """
#include <time.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>
enum { SECONDS = 3 * 86400 };
int clock_gettime(clockid_t id, struct timespec *now)
{
    int result = (int)syscall(SYS_clock_gettime, id, now);
    now->tv_sec -= id == CLOCK_REALTIME ? SECONDS : 0;
    return result;
}
int gettimeofday(struct timeval *now, void *zone)
{
    int result = (int)syscall(SYS_gettimeofday, now, zone);
    now->tv_sec -= SECONDS;
    return result;
}
time_t time(time_t *out)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out)
        *out = now.tv_sec;
    return now.tv_sec;
}
"""


# A slow link carries a second of other packets before a heartbeat, and more on a busy machine.
PATIENT = "4"


class Program:
    """Runs a job whose results take a slow link a minute to carry."""

    def __init__(self, scratch, box):
        probe = os.path.join(os.path.dirname(HAWSER), "..", "tests", "gather_probe")
        self.scratch = scratch
        self.job = Job(scratch, [HAWSER, "run", "-n", str(NODES), "--grace", "30", "--hosts", box.file(scratch, NODES), "--ssh", box.ssh, "--",
                                 probe, "--workers", str(NODES), "--failure-timeout", PATIENT, os.path.join(scratch.path, "blocks")])


def sent(box, host):
    return json.loads(box("bytes", host))["tx_bytes"]


def gathering(scratch, box, victim):
    """The victim's machine loses power while the nodes fetch each other's results, those of node 1 over a slow link."""
    name = f"node {victim} lost while results are fetched"
    box("rate", "h1", "1mbit")
    try:
        case = Program(scratch, box)
        until(lambda: read("blocks").count("\n") == NODES or case.job.process.poll() is not None, "end of all blocks")
        before = sent(box, "h1")
        until(lambda: sent(box, "h1") - before > 200000 or case.job.process.poll() is not None, "gathering")
        pid = case.job.node(victim)
        os.kill(pid, signal.SIGSTOP)  # so that it cannot end while the link is cut
        with box.cut(f"h{victim}"):
            os.kill(pid, signal.SIGKILL)
            lost(case, victim, "gathering", name, 137)
    finally:
        box("rate", "h1", "off")
        os.unlink("blocks")


def memory_group():
    """Makes a control group with 1 GiB, in either hierarchy; returns None if that is impossible."""
    for root, limit in (("/sys/fs/cgroup", "memory.max"), ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")):
        path = os.path.join(root, GROUP)
        if not os.path.exists(os.path.join(root, "cgroup.procs")):
            continue
        with contextlib.suppress(OSError):
            os.mkdir(path)
            try:
                with open(os.path.join(path, limit), "w", encoding="ascii") as out:
                    out.write(str(1 << 30))
                return path
            except OSError:
                os.rmdir(path)
    return None


def out_of_memory(scratch, box, where):
    """The kernel kills a node for lack of memory: the others name it, and its message names the possible reason."""
    group = memory_group()
    if group is None or os.environ.get("HAWSER_SANITIZE"):
        print("  skipped: needs control groups of memory, and a command without sanitizers")
        return
    try:
        case = start(scratch, box, where, "early", "bsp", 1)
        pid = case.job.node(1)
        with open(f"{group}/cgroup.procs", "w", encoding="ascii") as out:
            out.write(str(pid))
        subprocess.run([sys.executable, "-c", HOG, group, str(pid)], check=False)
        lost(case, 1, "early", f"out of memory, {where}", 137)
        check("memory" in case.job.err, f"out of memory, {where}: no line has the reason: {case.job.say()}")
    finally:
        until(lambda: not read(f"{group}/cgroup.procs"), "end of the group", 60)
        os.rmdir(group)


def skewed(scratch, box):
    """One host was started 100 days earlier, and the calendar of another is 3 days late: the model is the same, and messages of a loss are sane."""
    compiler = shutil.which("cc")
    offset = ["unshare", "--time", "--monotonic", "8640000", "--boottime", "8640000"]
    said = subprocess.run([*offset, "cat", "/proc/uptime"], capture_output=True, text=True, check=False)
    if compiler is None or os.environ.get("HAWSER_SANITIZE") or float((said.stdout or "0").split()[0]) < 8640000:
        print("  skipped: needs cc, time namespaces, and a command without sanitizers")
        return
    with open("skew.c", "w", encoding="ascii") as out:
        out.write(SKEW)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", "skew.so", "skew.c"], check=True)
    with open("skewed", "w", encoding="ascii") as out:
        out.write(f'#!/bin/sh\n[ "$HAWSER_NODE" != 2 ] || export LD_PRELOAD="$PWD/skew.so"\n[ "$HAWSER_NODE" = 1 ] || exec ./straight "$@"\n'
                  f'exec {" ".join(offset)} ./straight "$@"\n')
    os.chmod("skewed", 0o755)
    os.rename("held", "straight")
    os.rename("skewed", "held")
    try:
        case = long_one(scratch, box, "hosts")
        check(case.job.wait() == 0, f"skewed clocks: {case.job.say()}")
        crooked = tensors("got.model")
        nothing_left(scratch, "skewed clocks")
        for victim in (0, 1):
            case = start(scratch, box, "hosts", "early", "bsp", victim)
            os.kill(case.job.node(victim), signal.SIGSTOP)
            lost(case, victim, "early", f"node {victim}, skewed clocks", 8)
            seconds = [float(s) for s in re.findall(r"([0-9.]+) s(?:econds)? ago", case.job.err)]
            check(seconds and max(seconds) < 1000, f"skewed clocks: last heard {seconds} s ago: {case.job.say()}")
    finally:
        os.rename("held", "skewed")
        os.rename("straight", "held")
    case = long_one(scratch, box, "hosts")
    check(case.job.wait() == 0 and tensors("got.model") == crooked, f"another model with other clocks: {case.job.say()}")


def main():
    scratch = Scratch()
    box = Box(NODES)
    prepare(scratch)
    tests = [(gathering, (0,)), (gathering, (1,)), (out_of_memory, ("local",)), (out_of_memory, ("hosts",)), (skewed, ())]
    for test, more in tests:
        if test.__name__ in (sys.argv[1:] or [test.__name__]):
            print(test.__name__.replace("_", " "), *more, flush=True)
            test(scratch, box, *more)
    finish()


main()
