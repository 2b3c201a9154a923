"""The jobs of the trials: one process, nodes by hawser run, over two hosts (a stand-in for ssh), by hand, servers with a client."""
import json
import math
import os
import resource
import shutil
import signal
import subprocess
import tempfile

from watch import MARK, members, read, sees_to, until

HERE = os.path.dirname(os.path.realpath(__file__))
SOURCE = os.environ.setdefault("HAWSER_SOURCE", os.path.realpath(os.path.join(HERE, "..", "..")))
BUILD = os.environ.setdefault("HAWSER_BUILD", os.path.join(SOURCE, "build", "release"))
HAWSER = os.environ.setdefault("HAWSER_BINARY", os.path.join(BUILD, "src", "hawser"))
PROBE = os.path.join(BUILD, "tests", "store_probe")
CLEAN = {key: value for key, value in os.environ.items() if not key.startswith("HAWSER_")}
WORKERS = 3
KEYS = 20000  # of the probe's table
OLD = ("linear", ("--max-clocks", "20"), "bsp")  # the training of an earlier run
SSH = """#!/bin/sh
# Runs the command here, as a login shell of that host would.
shift
cd / && exec env -i PATH="$PATH" HOME="$HOME" TMPDIR="$TMPDIR" {mark}="${mark}" /bin/sh -c "$*"
"""
# Keeps the exit code of what a terminal's shell has started, and outlives the shell.
KEEPER = """
import signal, subprocess, sys
for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM): signal.signal(number, lambda *_: None)
child = subprocess.Popen(sys.argv[2:])
while True:
    try: code = child.wait(); break
    except InterruptedError: pass
open(sys.argv[1], "w").write(str(code))
"""


def hawser(*words, **more):
    """Runs a command to its end."""
    return subprocess.run([HAWSER, *words], capture_output=True, text=True, env=CLEAN, timeout=300, check=False, **more)


class World:
    """The data, the key and the models of undisturbed trainings, which all trials share."""

    def __init__(self):
        self.path = tempfile.mkdtemp(prefix="hawser-faults-")
        os.chmod(self.path, 0o755)
        self.data = {"lasso": "numbers.svm", "linear": "numbers.svm", "logistic": "classes.svm", "poisson": "counts.svm"}
        self.data = {name: os.path.join(self.path, file) for name, file in self.data.items()}
        self.key = os.path.join(self.path, "key")
        self.references = {}
        done = hawser("data", "generate", "dense", "-o", self.data["lasso"], "--rows", "300", "--cols", "100", "--seed", "3")
        assert done.returncode == 0, done.stderr
        assert hawser("key", self.key).returncode == 0
        with open(self.data["lasso"], encoding="ascii") as numbers:
            rows = [(float(target), rest) for target, rest in (line.split(" ", 1) for line in numbers)]
        size = max(abs(target) for target, _ in rows)
        with open(self.data["logistic"], "w", encoding="ascii") as classes, open(self.data["poisson"], "w", encoding="ascii") as counts:
            for target, rest in rows:
                classes.write(f"{1 if target > 0 else -1} {rest}")
                counts.write(f"{round(math.exp(3 * target / size))} {rest}")

    def train(self, training):
        algorithm, options, sync = training
        return ["train", algorithm, self.data[algorithm], "--index-base", "1", "--workers", str(WORKERS), "--sync", sync, *options]

    def reference(self, training):
        """Returns (path of the model, figures of --json) of an undisturbed training in one process."""
        if training not in self.references:
            path = os.path.join(self.path, f"reference.{len(self.references)}")
            done = hawser(*self.train(training), "-q", "--json", "-o", path)
            assert done.returncode == 0, done.stderr
            self.references[training] = path, json.loads(done.stdout.splitlines()[-1])
        return self.references[training]

    def close(self):
        shutil.rmtree(self.path, ignore_errors=True)


class Job:
    """One trial's processes and files. `front` is the process whose exit code counts; `helpers` are others that this test started."""

    def __init__(self, world, trial, limits=None, terminal=None):
        self.world, self.trial = world, trial
        self.mark = f"faults-{os.getpid()}-{trial.seed}-{trial.number}"
        self.path = os.path.join(world.path, f"trial.{trial.number}")
        self.temporary, self.out = os.path.join(self.path, "tmp"), os.path.join(self.path, "out")
        self.folder = os.path.join(self.path, "ck") if trial.keeps else None
        self.disk = self.out if trial.fault == "disk" else self.folder if trial.fault == "full" and trial.victim != "away" else None
        for path in (self.path, self.temporary, self.out, *([self.folder] if trial.keeps else [])):
            os.mkdir(path)
        self.environment = {**CLEAN, "TMPDIR": self.temporary, MARK: self.mark}
        self.model = os.path.join(self.out, "tables" if self.serves else "model")
        recorded = not self.serves and not trial.keeps and trial.training[2] in ("ssp:2", "tap")
        self.history = os.path.join(self.path, "history") if recorded else None
        self.limits = limits or (lambda: None)
        self.terminal, self.front, self.helpers, self.killed = terminal, None, [], set()
        self.group = self.confine = None  # set by harm.cgroup
        self.old, self.complaints = b"", []
        self.starts, self.other = 1, None  # other: the model of a second job
        self.reached_main = True
        self.last_stopped = False  # a node was stopped when all others had ended, and its launcher waited for it

    @property
    def serves(self):
        return self.trial.job in ("serve", "servers")

    def log(self, name):
        return os.path.join(self.path, name)

    def text(self, name="front.err"):
        return read(self.log(name)).decode(errors="replace")

    def start(self, name, words, limited=True):
        with open(self.log(f"{name}.out"), "wb") as out, open(self.log(f"{name}.err"), "wb") as err:
            return subprocess.Popen(words, cwd=self.path, env=self.environment, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                    start_new_session=True, preexec_fn=self.limits if limited else None)

    def begin(self):
        """Starts all processes. It waits only for addresses that other processes need."""
        if self.trial.old and self.trial.fault != "disk" and not self.serves:
            shutil.copy(self.world.reference(OLD)[0], self.model)
            self.old = read(self.model)
        if self.serves:
            self.begin_servers()
        elif self.trial.job == "hand":
            self.begin_by_hand()
        else:
            self.begin_front([HAWSER, *self.launcher(), *self.training()])

    def training(self, slow=True, model=None):
        words = self.world.train(self.trial.training)
        pace = "1:60" if self.trial.training[0] != "linear" else "1:200" if self.trial.job == "one" else "1:5"
        words += ["--json", "-o", model or self.model, "--failure-timeout", "2", "--join-timeout", "10", "--grace", "3"]
        words += ["--slow", pace] if slow else []
        words += ["--checkpoint", self.folder, "--checkpoint-every", "0"] if self.folder else ["-q"]  # not quiet: what a job goes on from
        words += ["--memory-limit", str(self.trial.limit)] if self.trial.fault == "limit" else []
        return words + (["--record-history", self.history] if self.history else [])

    def launcher(self):
        """Returns the words in front of the command of a node."""
        if self.trial.job in ("one", "serve"):
            return []
        words = ["run", "-n", "2" if self.serves else "3", "--grace", "3"]
        if self.trial.job == "hosts":
            with open(self.log("hosts"), "w", encoding="ascii") as hosts:
                hosts.write("ash slots=1\nbirch slots=2\n")
            with open(self.log("ssh"), "w", encoding="ascii") as ssh:
                ssh.write(SSH.format(mark=MARK))
            os.chmod(self.log("ssh"), 0o755)
            words += ["--hosts", self.log("hosts"), "--ssh", self.log("ssh")]
        return [*words, "--"]

    def begin_front(self, words):
        if self.terminal is not None:
            self.front = self.terminal.start(self, words)
        else:
            self.front = self.start("front", words, limited=self.trial.victim != "joiner")

    def begin_by_hand(self):
        own = ["--key-file", self.world.key, "--failure-timeout", "2", "--join-timeout", "10", "--interface", "127.0.0.1"]
        self.begin_front([HAWSER, *self.training(), *own[:2], *own[6:], "--listen", "3"])
        port = lambda: self.text().partition("tcp:127.0.0.1:")[2].partition(" ")[0]  # noqa: E731
        until(lambda: port() or self.front.poll() is not None)
        for i in range(2):
            limited = self.trial.victim == "joiner" and i == 0
            self.helpers.append(self.start(f"joiner.{i}", [HAWSER, "node", "--join", f"127.0.0.1:{port() or 1}", *own], limited=limited))

    def begin_servers(self):
        at = self.log("at")
        self.begin_front([HAWSER, *self.launcher(), "serve", "--key-file", self.world.key, "--address-file", at, "-o", self.model,
                          "--failure-timeout", "2"])
        if self.trial.fault == "early":
            return
        until(lambda: os.path.exists(at) or self.front.poll() is not None)
        if os.path.exists(at):
            port = read(at).decode().strip().rpartition(":")[2]
            own = [self.log("counted"), f"127.0.0.1:{port}", self.world.key, "--join-timeout", "10"]
            self.helpers.append(self.start("client", [PROBE, "count", *own], limited=False))

    def settled(self):
        """Returns whether all processes of the job have started and work."""
        if self.serves:
            return bool(read(self.log("counted.0")))
        nodes = [p for p in self.members() if p.role == "node" and sees_to(p.pid, signal.SIGTERM)]
        return len(nodes) >= (1 if self.trial.job == "one" else WORKERS)

    def members(self):
        return members(self.mark)

    def victims(self, name):
        """Returns the processes that a victim's name means."""
        found = self.members()
        if name == "launcher" and self.trial.job != "one":
            return [p for p in found if p.role == "launcher"][:1]
        if name == "agent":
            return sorted((p for p in found if p.role == "agent"), key=lambda p: p.pid)[-1:]
        if name == "joiner":
            return [p for p in found if self.helpers and p.pid == self.helpers[0].pid]
        if name == "client":
            return [p for p in found if p.role == "client"]
        if name.startswith("node "):
            return [p for p in found if p.node == int(name.split()[1])]
        return [p for p in found if p.pid == self.front.pid]

    def clients_counted(self):
        return int(read(self.log("counted.0")).split()[0] if read(self.log("counted.0")).split() else 0)

    def figures(self):
        lines = [line for line in self.text("front.out").splitlines() if line.startswith("{")]
        return json.loads(lines[-1]) if lines else {}


def limit(kind, most):
    """Returns a function that sets a limit in the new process, before the command runs."""
    number = {"memory": resource.RLIMIT_AS, "descriptors": resource.RLIMIT_NOFILE}[kind]
    return lambda: resource.setrlimit(number, (most, most))

