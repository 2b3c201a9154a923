"""Calls of the simulator and of the command, in the environment that worlds need."""
import os
import subprocess

from command import CLEAN

SIM = os.path.join(os.environ["HAWSER_BUILD"], "src", "hawser-sim")
NUMBERS = ("objective", "gap", "nonzeros", "clocks", "lambda", "intercept", "stop_reason")


def call(*words, code=0):
    # A world ends with messages on their way, which nobody frees.
    done = subprocess.run(words, capture_output=True, text=True, env={**CLEAN, "ASAN_OPTIONS": "detect_leaks=0"}, timeout=60)
    assert done.returncode == code, (words, done.returncode, done.stderr)
    return done
