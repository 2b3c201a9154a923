#!/usr/bin/env python3
"""Two nodes are lost at once, with or without the manager, by kill and by silence, early and late: the node that is left ends, too."""
import contextlib
import os
import re
import signal
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from held import NODES, prepare, start  # noqa: E402
from nodes import LONG, Box, Scratch, check, finish, nothing_left  # noqa: E402


def double(scratch, box, where, phase, how, pair, sync):
    name = f"{how.name} of nodes {pair} while {phase}, {where}, {sync}"
    print(name, flush=True)
    held = next(node for node in range(NODES) if node not in pair)
    case = start(scratch, box, where, phase, sync, pair[0])
    for pid in [case.job.node(node) for node in pair]:
        with contextlib.suppress(ProcessLookupError):  # it may have ended because of the first one already
            os.kill(pid, how)
    code = case.job.wait()
    check(code == (137 if how == signal.SIGKILL else 8), f"{name}: exit {code}: {case.job.say()}")
    named = set(map(int, re.findall(r"^hawser run: node (\d+) \(", case.job.err, re.M)))
    check(len(named) == 1 and named <= set(pair), f"{name}: hawser run names {named}: {case.job.say()}")
    heard = re.search(f"\\[(h|){held}\\] hawser: node [{pair[0]}{pair[1]}] \\(", case.job.err)
    check(heard, f"{name}: node {held} is silent: {case.job.say()}")
    check(not os.path.exists("got.model"), f"{name}: a model was written")
    nothing_left(scratch, name)


def main():
    scratch = Scratch()
    box = Box(NODES)
    prepare(scratch)
    for number, (phase, how, pair) in enumerate(
            (phase, how, pair) for phase in ("early", "late") for how in (signal.SIGKILL, signal.SIGSTOP) for pair in ((0, 1), (0, 2), (1, 2))):
        for where in ("local", "hosts"):
            if LONG or (number % 2 == 0) == (where == "local"):
                double(scratch, box, where, phase, how, pair, "bsp" if number % 3 else "ssp:2")
    finish()


main()
