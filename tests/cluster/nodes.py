"""For tests of one program over several nodes: a box, a scratch folder, watched jobs, and checks that nothing is left."""
import atexit
import contextlib
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "helpers"))
BOX = os.path.join(HERE, "box")
HAWSER = os.environ["HAWSER_BINARY"]
LONG = bool(os.environ.get("HAWSER_TEST_LONG"))
TIMEOUT = int(os.environ.get("HAWSER_TEST_TIMEOUT", "120")) * (5 if os.environ.get("HAWSER_SANITIZE") else 1)
failures = 0


def complain(text):
    global failures
    failures += 1
    print("FAILED:", text, file=sys.stderr, flush=True)


def check(condition, text):
    if not condition:
        complain(text)
    return condition


def finish():
    print("all as expected" if failures == 0 else f"{failures} failures")
    sys.exit(failures > 0)


def until(condition, what, seconds=TIMEOUT):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            complain(f"no {what} after {seconds} s")
            return False
        time.sleep(0.02)
    return True


class Scratch:
    """Makes a folder and changes into it; TMPDIR is a folder in it."""

    def __init__(self):
        self.path = tempfile.mkdtemp(prefix="hawser-nodes-")
        atexit.register(shutil.rmtree, self.path, ignore_errors=True)
        self.temporary = os.path.join(self.path, "tmp")
        os.mkdir(self.temporary)
        os.chdir(self.path)

    def environment(self, **more):
        own = {k: v for k, v in os.environ.items() if not k.startswith("HAWSER_") or k == "HAWSER_TEST_LONG"}
        return {**own, "TMPDIR": self.temporary, **more}


class Box:
    """Makes hosts h0 ...; ends the test with status 77 if hosts cannot be made."""

    def __init__(self, hosts, *options):
        self.name = f"{os.path.basename(sys.argv[0]).split('.')[0].replace('_', '-')}-{os.getpid()}"
        os.environ["BOX_NAME"] = self.name
        said = subprocess.run([BOX, "up", str(hosts), *options], capture_output=True, text=True, check=False)
        if said.returncode != 0:
            print(said.stdout + said.stderr, end="")
            sys.exit(said.returncode)
        atexit.register(subprocess.run, [BOX, "down"], stdout=subprocess.DEVNULL, check=False)
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda *_: sys.exit(130))
        self.ssh = self("ssh-wrapper").strip()
        self.hosts = hosts

    def __call__(self, *words):
        return subprocess.run([BOX, *words], stdout=subprocess.PIPE, text=True, check=True).stdout

    def address(self, host):
        """Returns the number of the host in the network."""
        return json.loads(self("status", "--json"))["hosts"][host]["addresses"][0]

    def file(self, scratch, count, slots=1):
        path = os.path.join(scratch.path, f"hosts.{count}.{slots}")
        with open(path, "w", encoding="ascii") as out:
            out.writelines(f"h{i} slots={slots}\n" for i in range(count))
        return path

    @contextlib.contextmanager
    def cut(self, *words):
        self("cut", *words)
        try:
            yield
        finally:
            self("heal", *words)


def state_of(pid):
    """Returns the state: T stopped, S asleep ...; '' for a process that has ended, or a zombie."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            found = file.read().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""
    return "" if found in "ZX" else found


def read(path, mode="r"):
    try:
        with open(path, mode) as file:
            return file.read()
    except FileNotFoundError:
        return "" if mode == "r" else b""


class Job:
    """A command with its output in files; its nodes are found by their environment."""
    count = 0

    def __init__(self, scratch, words, **environment):
        Job.count += 1
        self.scratch, self.words, self.mark = scratch, words, f"{os.getpid()}.{Job.count}"
        self.paths = [os.path.join(scratch.path, f"job.{Job.count}.{what}") for what in ("out", "err")]
        with open(self.paths[0], "wb") as out, open(self.paths[1], "wb") as err:
            self.process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True,
                env=scratch.environment(HAWSER_TEST_MARK=self.mark, **environment))

    @property
    def out(self):
        return read(self.paths[0])

    @property
    def err(self):
        return read(self.paths[1])

    def members(self):
        """Returns {pid: number of the node or None} of all processes that this job started."""
        found = {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                with open(f"/proc/{pid}/environ", "rb") as file:
                    variables = dict(v.split(b"=", 1) for v in file.read().split(b"\0") if b"=" in v)
                if variables.get(b"HAWSER_TEST_MARK") == self.mark.encode() and state_of(pid):
                    number = variables.get(b"HAWSER_NODE", variables.get(b"SLURM_PROCID"))
                    found[int(pid)] = int(number) if number is not None else None
        return found

    def node(self, number):
        """Returns the process of a node."""
        pids = []
        until(lambda: pids.extend(p for p, n in self.members().items() if n == number) or pids, f"node {number}")
        return pids[0] if pids else None

    def wait(self, seconds=TIMEOUT):
        """Returns the exit code, or None and a failure if it does not end. Processes that are left are reported and killed."""
        code = None
        try:
            code = self.process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            complain(f"did not end: {' '.join(self.words)}: {self.err}")
            self.process.kill()
        gone = until(lambda: not self.members(), "end of all processes", TIMEOUT / 4)
        if not gone:
            for pid, number in self.members().items():
                print(f"  left: process {pid}, node {number}", file=sys.stderr)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.process.wait()
        return code

    def figures(self):
        lines = [line for line in self.out.split("\n") if line.startswith("{")]
        return json.loads(lines[-1]) if lines else {}

    def say(self):
        return f"{' '.join(os.path.basename(w) for w in self.words)}\n--- said:\n{self.err[-3000:]}---"


def hawser(scratch, *words):
    """Runs a command to its end and returns its standard output; a failure raises RuntimeError."""
    done = subprocess.run([HAWSER, *words], env=scratch.environment(), capture_output=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"hawser {' '.join(words)}: {done.stderr.decode()}")
    return done.stdout


def tensors(path):
    """Returns every bit of a model except the header's facts about how it was made."""
    whole = read(path, "rb")
    length = struct.unpack("<Q", whole[:8])[0]
    header = json.loads(whole[8:8 + length])
    header.pop("__metadata__", None)
    return json.dumps(header, sort_keys=True), whole[8 + length:]


def nothing_left(scratch, what):
    """Checks that no folder of sockets and no temporary file of a model is left."""
    if not until(lambda: not os.listdir(scratch.temporary), f"empty TMPDIR after {what}", 20):
        complain(f"left behind by {what}: {os.listdir(scratch.temporary)}")
        for name in os.listdir(scratch.temporary):
            shutil.rmtree(os.path.join(scratch.temporary, name), ignore_errors=True)
