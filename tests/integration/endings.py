#!/usr/bin/env python3
"""SIGHUP, SIGTERM and SIGINT: a closed terminal, two signals for one request, a signal at any moment from main's first lines on."""
import json
import os
import pty
import signal
import subprocess
import sys
import tempfile
import time

HAWSER = os.environ["HAWSER_BINARY"]
TIMEOUT = 60
HUP, INT, TERM = signal.SIGHUP, signal.SIGINT, signal.SIGTERM
ENDINGS = (HUP, INT, TERM)
LONG = ["train", "lasso", "long.hwc", "--lambda-ratio", "1e-5", "--tol", "1e-15", "--solver", "cd", "--exchange-every", "0.02"]
failures = 0


def check(good, text):
    global failures
    if not good:
        failures += 1
        print("FAILED:", text, file=sys.stderr, flush=True)
    return good


def until(condition, what):
    end = time.monotonic() + TIMEOUT
    while not condition():
        if not check(time.monotonic() < end, f"no {what} after {TIMEOUT} s"):
            return False
        time.sleep(0.005)
    return True


def text_of(name):
    return open(name, encoding="utf-8").read() if os.path.exists(name) else ""


def clock_is_over():
    """Whether the trace has a row of clock 1 or later; clock 0 has two, where it begins and where it is first measured."""
    return any(row[:1].isdigit() and int(row.split(",")[0]) > 0 for row in text_of("t.csv").split("\n")[:-1])


def prepare():
    """Runs in the new process: a test in the background may ignore signals that a terminal's command would not."""
    for number in ENDINGS:
        signal.signal(number, signal.SIG_DFL)


class Process:
    """Starts hawser with these words; its output is in the files out and err."""

    def __init__(self, *words, err=None, terminal=False):
        for name in ("out", "err", "m.st"):
            if os.path.exists(name):
                os.unlink(name)
        self.words = words
        session = self.take_terminal if terminal else os.setsid
        self.master, self.slave = pty.openpty() if terminal else (-1, -1)
        with open("out", "w") as out, open("err", "w") as own:
            self.process = subprocess.Popen([HAWSER, *words], stdin=subprocess.DEVNULL, stdout=out, stderr=own if err is None else err,
                                            preexec_fn=lambda: (prepare(), session()))

    def take_terminal(self):
        os.setsid()
        os.close(os.open(os.ttyname(self.slave), os.O_RDWR))  # a session leader's first terminal becomes its own

    def send(self, *numbers, pause=0.005):
        for i, number in enumerate(numbers):
            if i > 0:
                time.sleep(pause)
            self.process.send_signal(number)

    def watches(self):
        """Whether main's first lines have been run: from then on the signals are blocked."""
        try:
            blocked = [line.split()[1] for line in open(f"/proc/{self.process.pid}/status") if line.startswith("SigBlk")]
        except (FileNotFoundError, ProcessLookupError):
            return True
        return self.process.poll() is not None or bool(blocked and int(blocked[0], 16) & 1 << (TERM - 1))

    def ends(self, *codes):
        try:
            code = self.process.wait(TIMEOUT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            code = "none"
        for fd in (self.master, self.slave):
            if fd >= 0:
                os.close(fd)
        return check(code in codes, f"exit {code}, not {codes}: {self.words} {text_of('err')}")


def is_model(name):
    return subprocess.run([HAWSER, "info", name], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def one_request_comes_in_several_signals():
    """Two signals for one request: from a shell and the kernel, from systemd and Slurm, from timeout."""
    for first, then in ((HUP, HUP), (HUP, TERM), (TERM, HUP), (TERM, TERM), (INT, HUP), (INT, INT), (INT, TERM)):
        for nodes in ([], ["run", "-n", "2", "--"]):
            it = Process(*nodes, *LONG, "-o", "m.st", "--trace", "t.csv")
            until(lambda: clock_is_over() or it.process.poll() is not None, "clock")
            it.send(first, then)
            it.ends(130)
            check(is_model("m.st"), f"{first!r} and {then!r}: no model: {text_of('err')}")
            os.unlink("t.csv")


def terminal_is_closed():
    """The same by hand: start hawser in a terminal's shell and close the window."""
    for nodes in ("", "run -n 2 --"):
        child, master = pty.fork()
        if child == 0:
            prepare()
            os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
        if os.path.exists("m.st"):
            os.unlink("m.st")
        os.write(master, f"exec 2>err; {HAWSER} {nodes} {' '.join(LONG)} -o m.st --trace t.csv\n".encode())
        until(clock_is_over, "clock")
        os.close(master)
        until(lambda: os.path.exists("m.st"), "model after the terminal was closed")
        check(is_model("m.st"), f"a closed terminal: {text_of('err')}")
        os.waitpid(child, 0)
        os.unlink("t.csv")


def nodes_of(process):
    """Returns process ids by number of the node."""
    found = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            environment = open(f"/proc/{name}/environ", "rb").read().split(b"\0")
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
        node = [item[12:] for item in environment if item.startswith(b"HAWSER_NODE=")]
        job = [item for item in environment if item.startswith(b"HAWSER_JOB=") and item.endswith(b"-%d" % process.pid)]
        if node and job:
            found[int(node[0])] = int(name)
    return found


def node_that_was_asked_to_end_is_named_on_all_others():
    for victim in (0, 2):
        it = Process("run", "-n", "3", "--", *LONG, "-o", "m.st", "--trace", "t.csv", "--json")
        until(clock_is_over, "clock")
        os.kill(nodes_of(it.process)[victim], TERM)
        it.ends(130)
        err, last = text_of("err"), json.loads(text_of("out").strip().split("\n")[-1])
        for node in range(3):
            said = f"[{node}] hawser: node {victim} (node-{victim}) was asked to end by SIGTERM" in err
            check(said == (node != victim), f"node {node} says of node {victim}: {err}")
        check(last["interrupted_by"] == f"node {victim} (node-{victim})" and last["interrupted_signal"] == "SIGTERM",
              f"{last['interrupted_by']} {last['interrupted_signal']}")
        check(is_model("m.st"), "no model")
        os.unlink("t.csv")


def serving(*words, terminal=False):
    for name in ("tables", "address"):
        if os.path.exists(name):
            os.unlink(name)
    it = Process(*words, "serve", "--key-file", "key", "--address-file", "address", "-o", "tables", terminal=terminal)
    until(lambda: "SIGTERM ends" in text_of("err") or it.process.poll() is not None, "servers")
    return it


def make_table():
    store = {**os.environ, "HAWSER_AT": text_of("address").strip(), "HAWSER_KEY_FILE": "key"}
    made = subprocess.run([HAWSER, "store", "make", "w", "--keys", "0..9"], env=store, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    check(made.returncode == 0, "no table was made")


def servers_with_a_terminal_save_when_it_is_lost():
    for words in ((), ("run", "-n", "2", "--")):
        it = serving(*words, terminal=True)
        make_table()
        it.send(HUP, HUP)
        it.ends(0)
        check(os.path.exists("tables"), f"{words}: no tables after SIGHUP: {text_of('err')}")


def servers_without_a_terminal_log_a_hangup_and_go_on():
    for words in ((), ("run", "-n", "2", "--")):
        it = serving(*words)
        for count in (1, 2):
            it.send(HUP)
            until(lambda: text_of("err").count("SIGHUP is ignored") >= count, "line about SIGHUP")
        make_table()
        it.send(TERM)
        it.ends(0)
        check(os.path.exists("tables"), f"{words}: no tables after SIGTERM: {text_of('err')}")


def pipe_whose_reader_is_gone_ends_no_training():
    """Ctrl-C ends both sides of `hawser train ... 2>&1 | tee log`."""
    read, write = os.pipe()
    it = Process(*LONG, "-o", "m.st", "--trace", "t.csv", err=write)
    os.close(write)
    until(clock_is_over, "clock")
    os.close(read)
    it.send(INT)
    it.ends(130)
    check(is_model("m.st"), "no model where nobody reads the lines")
    os.unlink("t.csv")


def signals_come_early():
    """Checks that it ended with 130 and one line, or by itself: never by the signal, and never with half a file."""
    train = [*LONG, "-o", "m.st"]
    commands = (["run", "-n", "3", "--", *train], train, ["predict", "small.st", "long.hwc", "-o", "m.st"],
                ["serve", "--key-file", "key", "-o", "m.st"], ["data", "convert", "long.hwc", "-o", "m.npy"], ["help", "options"])
    for turn, words in enumerate(commands):
        for k in range(9 if turn == 0 else 3):
            it = Process(*words, terminal=True)
            until(it.watches, "blocked signals")
            number = ENDINGS[(k + turn) % 3]
            time.sleep((k // 3 * 0.05 if turn == 0 else k * 0.01) * (turn < 4))
            it.send(number)
            it.ends(*({0: (130,), 1: (130,)}.get(turn, (130, 0))))
            err = text_of("err")
            if it.process.returncode == 130 and not os.path.exists("m.st"):
                # Nodes that had joined already report with the same signal the node that was lost or has left.
                said = [line for line in err.split("\n") if "was lost" not in line and "has left the job" not in line and
                        (f"ended by {number.name}" in line or "nothing was reached" in line)]
                check(len(said) == 1, f"{words} {number!r}: {err}")
            check(err.count("ending at the next agreed clock") < 2, f"{words} {number!r}: {err}")
            check(turn not in (0, 1) or not os.path.exists("m.st") or is_model("m.st"), f"{words}: half a model")
            check(not [name for name in os.listdir(".") if name.startswith("hawser-")], f"{words}: left behind: {os.listdir('.')}")


def limit_before_anything_is_known_keeps_no_model():
    """A model would have a lambda of 0 and a gap that is none, or no centres at all."""
    with open("d.csv", "w", encoding="utf-8") as file:
        file.write("y,x\n" + "".join(f"{k % 3},{k * k % 7}\n" for k in range(20)))
    for algorithm in "lasso", "poisson", "multitask", "kmeans", "svm", "softmax":
        target = () if algorithm == "kmeans" else ("--target", "y")
        it = Process("train", algorithm, "d.csv", *target, "--time-limit", "1e-9", "-q", "-o", "m.st")
        it.ends(130)
        said = [line for line in text_of("err").split("\n") if line.startswith("hawser")]  # a sanitizer has lines of its own
        check(len(said) == 1 and "no model is" in said[0] and not os.path.exists("m.st"), f"{algorithm}: {said}")
    it = Process("train", "lasso", "d.csv", "--target", "y", "--lambda", "0.1", "--time-limit", "1e-9", "-q", "-o", "m.st")
    it.ends(0)
    check(os.path.exists("m.st"), "a limit with a given lambda: no model")


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name in [name for name in os.environ if name.startswith("HAWSER_")]:
            del os.environ[name]
        os.environ["TMPDIR"] = folder
        quiet = {"check": True, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        subprocess.run([HAWSER, *"data generate dense --rows 2000 --cols 400 --seed 2 -o long.hwc".split()], **quiet)
        subprocess.run([HAWSER, *"train lasso long.hwc -q --lambda-ratio 0.5 -o small.st".split()], **quiet)
        subprocess.run([HAWSER, "key", "key"], **quiet)
        tests = (one_request_comes_in_several_signals, node_that_was_asked_to_end_is_named_on_all_others, terminal_is_closed, servers_with_a_terminal_save_when_it_is_lost,
                 servers_without_a_terminal_log_a_hangup_and_go_on, pipe_whose_reader_is_gone_ends_no_training,
                 limit_before_anything_is_known_keeps_no_model, signals_come_early)
        for test in tests:
            if test.__name__ in (sys.argv[1:] or [test.__name__]):
                before, began = failures, time.monotonic()
                test()
                print(test.__name__, "ok" if failures == before else "FAILED", f"{time.monotonic() - began:.1f} s", flush=True)
        os.chdir("/")
    sys.exit(failures > 0)


main()
