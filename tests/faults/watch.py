"""The processes of one trial, found by a mark in their environment, and waits with a deadline."""
import contextlib
import os
import signal
import time

MARK = "HAWSER_TEST_MARK"
TIMEOUT = 60 * (5 if os.environ.get("HAWSER_SANITIZE") else 1)
LONG = 4 * TIMEOUT  # of trainings that are started several times


def until(condition, seconds=TIMEOUT):
    """Waits until the condition is true, or until the deadline, and returns its value."""
    end = time.monotonic() + seconds
    while True:
        found = condition()
        if found or time.monotonic() > end:
            return found
        time.sleep(0.01)


def read(path, mode="rb"):
    try:
        with open(path, mode) as file:
            return file.read()
    except (OSError, ValueError):
        return b"" if "b" in mode else ""


def state_of(pid):
    """Returns the state: T stopped, S asleep ...; '' for a process that has ended, or a zombie."""
    fields = read(f"/proc/{pid}/stat").decode(errors="replace").rsplit(")", 1)
    found = fields[1].split()[0] if len(fields) == 2 else ""
    return "" if found in "ZX" else found


def parent_of(pid):
    fields = read(f"/proc/{pid}/stat").decode(errors="replace").rsplit(")", 1)
    return int(fields[1].split()[1]) if len(fields) == 2 else 0


class Process:
    def __init__(self, pid, words, variables):
        self.pid, self.words = pid, words
        self.role = role_of(words)
        number = variables.get("HAWSER_NODE")
        self.node = int(number) if number is not None and self.role == "node" else None

    def __str__(self):
        return f"{self.pid} ({self.role}{'' if self.node is None else f' {self.node}'}, {state_of(self.pid)}): {' '.join(self.words)[:120]}"


def role_of(words):
    """Returns the role of a process in its job, by its command line."""
    names = [os.path.basename(word) for word in words[:3]]
    if "store_probe" in names[:1]:
        return "client"
    if names[:1] != ["hawser"]:
        return "other"
    return {"run": "launcher", "agent": "agent", "serve": "node", "train": "node", "node": "node"}.get(names[1] if len(names) > 1 else "", "other")


def members(mark):
    """Returns the running processes that a trial started."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        environment = read(f"/proc/{pid}/environ")
        if f"{MARK}={mark}\0".encode() not in environment + b"\0" or not state_of(pid):
            continue
        variables = dict(v.split("=", 1) for v in environment.decode(errors="replace").split("\0") if "=" in v)
        words = read(f"/proc/{pid}/cmdline").decode(errors="replace").split("\0")[:-1]
        found.append(Process(int(pid), words, variables))
    return found


def sees_to(pid, number):
    """Returns whether the process handles or blocks the signal: it is past the first lines of main."""
    masks = dict(line.split(":\t", 1) for line in read(f"/proc/{pid}/status", "r").splitlines() if line.startswith(("SigBlk", "SigCgt")))
    return any(int(mask, 16) >> (number - 1) & 1 for mask in masks.values())


def send(pid, number):
    """Sends a signal. Returns False if the process has ended."""
    try:
        os.kill(pid, number)
        return True
    except ProcessLookupError:
        return False


def end_all(mark):
    """Kills the processes that a trial has left."""
    for process in members(mark):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)
