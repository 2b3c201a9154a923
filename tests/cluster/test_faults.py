#!/usr/bin/env python3
"""A node is killed, stopped, cut off or frozen with its host in each phase: the other nodes end, name it, and leave nothing.

Times are not measured: whatever does not end within a generous limit is a failure. As a rule every pair of circumstances is tried
once; HAWSER_TEST_LONG tries all of them together.
"""
import os
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from held import NODES, PHASES, lost, prepare, start  # noqa: E402
from nodes import HERE, LONG, Box, Scratch, finish, state_of, until  # noqa: E402

FACTORS = [f"phase={','.join(PHASES)}", "how=kill,stop,cut,one-way,freeze", "where=hosts,local", "way=auto,unix", "victim=0,1", "sync=bsp,ssp:2",
           "not (where=local and how=cut)", "not (where=local and how=one-way)", "not (where=local and how=freeze)",
           "not (where=hosts and way=unix)"]  # within a host; auto is shared memory there


def cases():
    """Returns the circumstances to try, as {factor: value}."""
    said = subprocess.run([os.path.join(HERE, "pairwise"), *(["--full"] if LONG else []), *FACTORS], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, check=True).stdout
    return [dict(word.split("=", 1) for word in line.split()) for line in said.splitlines()]


def fault(scratch, box, phase, how, where, way, victim, sync):
    name = f"{how} of node {victim} while {phase}, {where}, {way}, {sync}"
    print(name, flush=True)
    case = start(scratch, box, where, phase, sync, int(victim), way)
    pid = case.job.node(int(victim))
    if how == "kill":
        os.kill(pid, signal.SIGKILL)
        lost(case, victim, phase, name, 137)
    elif how == "stop":
        os.kill(pid, signal.SIGSTOP)
        lost(case, victim, phase, name, 8)
    elif how == "freeze":  # a host that hangs: its kernel answers, its programs do not
        survivors = [case.job.node(i) for i in range(NODES) if i != int(victim)]
        box("stop", f"h{victim}")
        until(lambda: not any(state_of(p) for p in survivors), "end of the others")
        box("cont", f"h{victim}")
        lost(case, victim, phase, name, 8)
    else:
        with box.cut(f"h{victim}", *(["--one-way"] if how == "one-way" else [])):
            lost(case, victim, phase, name, 8, doubtful=phase == "joining")  # the third node has not joined yet


def main():
    scratch = Scratch()
    box = Box(NODES)
    prepare(scratch)
    for case in cases():
        if all(word in case.values() for word in sys.argv[1:]):
            fault(scratch, box, **case)
    finish()


main()
