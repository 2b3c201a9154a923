#!/usr/bin/env python3
"""--auto on simulated clusters takes at most 1.1 times the default, and at most 1.6 times the best fixed setting. Times are exact. experiments/adaptive has all cells."""
import json
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["HAWSER_SOURCE"], "tests", "helpers"))
from command import CLEAN, HAWSER  # noqa: E402

SIM = os.path.join(os.environ["HAWSER_BUILD"], "src", "hawser-sim")
SPARSE, DENSE = ("url", "--rows", "1000", "--cols", "1000", "--per-row", "20"), ("dense", "--rows", "200", "--cols", "40")
SLOW, TURNS, FASTER = ("t=0 slow 2 4",), ("turn slow 4 every 1 clocks",), (";".join(f"t=0.3 rate {node} 1gbit" for node in range(4)),)
CELLS = ((SPARSE, "10mbit", TURNS), (SPARSE, "10mbit", FASTER), (SPARSE, "100mbit", ()), (SPARSE, "1gbit", SLOW), (DENSE, "10mbit", ()))
FIXED = ((), ("--encoding", "int8"), ("--sigma", "2"), ("--encoding", "int8", "--sigma", "2"))


def seconds(kind, link, faults, *more):
    words = (SIM, "--nodes", "4", "--link", link, "--compute", "1us,100ns,0.5ns", *(word for fault in faults for word in ("--fault", fault)), "--", "train", "lasso",
             f"{kind}.svm", "--solver", "cd", "--tol", "1e-4", "--lambda-ratio", "0.02", "--exchange-every", "1", "--json", "--quiet", *more)
    done = subprocess.run(words, capture_output=True, text=True, env={**CLEAN, "ASAN_OPTIONS": "detect_leaks=0"}, timeout=100)
    assert done.returncode == 0, (words, done.stderr)
    said = json.loads(done.stdout.splitlines()[-1])
    assert said["stop_reason"] == "gap", (words, said["stop_reason"])
    return said["seconds_train"], [f"{change['what']} {change['new']}" for change in said["changes"]]


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for kind, *size in (SPARSE, DENSE):
            subprocess.run((HAWSER, "data", "generate", kind, "-o", f"{kind}.svm", *size, "--seed", "3"), check=True, env=CLEAN)
        for (kind, *_), link, faults in CELLS:
            fixed = [seconds(kind, link, faults, *more)[0] for more in FIXED]
            took, changes = seconds(kind, link, faults, "--auto")
            print(f"{kind} {link} {faults}: {took / fixed[0]:.2f} of the default, {took / min(fixed):.2f} of the best; {changes}")
            assert changes and took <= 1.1 * fixed[0] and took <= 1.6 * min(fixed), (kind, link, faults, took, fixed, changes)
        os.chdir("/")


main()
