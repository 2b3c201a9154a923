"""Checks what holds after any fault: the exit code is documented and fits, reported success is true, no file is torn or left."""
import json
import math
import os
import re
import shutil
import signal
import struct
import sys

from jobs import KEYS, SOURCE, hawser
from watch import members, read, until

sys.path.insert(0, os.path.join(SOURCE, "tests", "helpers"))
from counts import measure  # noqa: E402
from certificate import certify, certify_logistic, read_model, read_svmlight  # noqa: E402

KILLED = 128 + signal.SIGKILL
LEFT_SECONDS = 20
REFUSED = "not enough memory is left here to check a proof of the key"
# The messages if a signal came before there was anything to save.
NOTHING_SAVED = re.compile(r"hawser( run)?: .*(nothing was reached|no model is written|before (it was done|a node was started)"
                           r"|node [12] .* ended with code 130)")


def expected(job):
    """Returns the exit codes of the front process that fit the fault."""
    fault, victim, front = job.trial.fault, job.trial.victim, job.trial.job
    if fault == "kill":
        if victim in ("front", "launcher"):
            return {-signal.SIGKILL, 0}
        if victim == "client":
            return {0}
        return {8, 0} if victim == "joiner" or victim == "agent" and front == "hosts" else {KILLED, 0}
    if fault == "stop":
        return {0} if victim == "client" or job.last_stopped else {8, 0}
    if fault == "pause":
        # On a busy machine a process may wait for a second besides the pause; the failure timeout is two.
        patient = victim == "suspend" or front in ("one", "serve") or job.trial.pause < 0.5 or victim == "client"
        return {0} if patient else {8, 0}
    if fault == "early" and not job.reached_main:  # servers that received SIGHUP before main get SIGTERM after it
        return {0, 130, -getattr(signal, f"SIG{job.trial.signal}"), -signal.SIGTERM if job.serves else 0}
    if fault == "terminal":
        return {0, 130, 4}  # 4: the job had ended with success, and the terminal was gone when its summary was printed
    if fault in ("hang-up", "interrupt", "early"):
        return {0, 130} if victim != "joiner" else {0, 130, 8}  # 8: it had not joined yet
    if fault == "disk":
        return {0} if job.serves else {4, 0}
    if fault == "two jobs" and victim == "same":
        return {0, 2}
    if job.trial.keeps:
        return {0}
    if fault == "cgroup":  # 8: the exit code of another host's agent is unknown
        return {0, 5, -signal.SIGKILL if victim == "front" else 0, KILLED if front != "one" else 0, 8 if front == "hosts" else 0}
    if fault == "limit":
        return {0, 5}
    if fault == "memory":  # 8: a node had no memory to check the key of a joining node, which then timed out
        alone = victim == "joiner" or REFUSED in job.text()
        return {0, 5, 8} if alone else {0, 5}
    return {0, 4} if victim != "joiner" else {0, 4, 8}


def exact(training):
    """Returns the same training, to be solved in step and exactly."""
    return (training[0], ("--tol", "1e-9", "--exchange-every", "1"), "bsp") if training[0] != "linear" else training


def header_of(whole):
    """Returns the parsed header of a model file."""
    return json.loads(whole[8:8 + struct.unpack("<Q", whole[:8])[0]])


def tensors(path):
    """Returns every bit of a model except the header's facts about how it was made. ValueError: the file is torn."""
    whole = read(path)
    if len(whole) < 8 or len(whole) < 8 + struct.unpack("<Q", whole[:8])[0]:
        raise ValueError("shorter than its header")
    length = struct.unpack("<Q", whole[:8])[0]
    header = header_of(whole)
    header.pop("__metadata__", None)
    if len(whole) != 8 + length + max((entry["data_offsets"][1] for entry in header.values()), default=0):
        raise ValueError("not as long as its header says")
    return json.dumps(header, sort_keys=True), whole[8 + length:]


class Judge:
    def __init__(self, job, code):
        self.job, self.code, self.faults = job, code, list(job.complaints)

    def fault(self, text):
        self.faults.append(text)

    def check(self, condition, text):
        if not condition:
            self.fault(text)
        return condition

    # ------------------------------------------------------------------------------------------------- the certificate ----

    def certificate(self, printed):
        """Checks that the printed figures are true of the file, computed without Hawser."""
        algorithm, _, _ = self.job.trial.training
        if algorithm == "linear":
            return
        objective, gap = printed.get("objective"), printed.get("gap")
        if not self.check(objective is not None and math.isfinite(objective), f"objective {objective}"):
            return
        with open(self.job.world.data[algorithm], encoding="ascii") as file:
            target, columns = read_svmlight(file.read())
        weights, intercept = read_model(self.job.model)
        compute = {"lasso": certify, "logistic": certify_logistic, "poisson": measure}[algorithm]
        try:
            own, _, zero = compute(target, columns, weights, intercept, printed["lambda"], 1.0, True)
        except AssertionError as error:
            self.fault(f"the model's intercept: {error}")
            return
        self.check(abs(own - objective) <= 1e-9 * zero, f"objective {objective!r} was printed, and is {own!r}")
        best = self.job.world.reference(exact(self.job.trial.training))[1]["objective"]  # the optimum is not above it
        if gap is not None:
            self.check(math.isfinite(gap) and own - best <= gap + 1e-9 * zero, f"gap {gap!r} was printed; {own!r} is further from {best!r}")

    def said_of_model(self):
        """Returns the printed figures or, if the terminal is gone, those of the file."""
        if self.job.terminal is None:
            return self.job.figures()
        facts = header_of(read(self.job.model))["__metadata__"]
        return {key: float(facts[key]) for key in ("objective", "gap", "lambda") if facts.get(key, "null") != "null"}

    # ------------------------------------------------------------------------------------------------------- trainings ----

    def succeeded(self):
        training = self.job.trial.training
        try:
            found = tensors(self.job.model)
        except (ValueError, KeyError) as error:
            self.fault(f"exit 0 and no whole model: {error}")
            return
        if training[2] in ("bsp", "dc:0"):
            self.check(found == tensors(self.job.world.reference(training)[0]), "exit 0 and other bits than undisturbed")
        self.certificate(self.said_of_model())

    def interrupted(self):
        """Checks that the model so far was saved, or that a line says that there was none."""
        if not os.path.exists(self.job.model) or read(self.job.model) == self.job.old:
            said = NOTHING_SAVED.search(self.job.text())
            self.check(said or self.job.terminal is not None, "exit 130, no model, and no line says why")
            return
        self.whole(self.job.model)
        if not self.faults and self.said_of_model():
            self.certificate(self.said_of_model())

    def whole(self, path):
        try:
            tensors(path)
        except (ValueError, KeyError) as error:
            self.fault(f"{path} is torn: {error}")
            return
        done = hawser("info", path)
        self.check(done.returncode == 0, f"{path} cannot be read: {done.stderr}")

    def failed(self):
        """Checks that there is no model, or the earlier one, and a line with the reason."""
        now = read(self.job.model)
        if now != self.job.old:
            self.whole(self.job.model)
        if self.job.front.pid not in self.job.killed and self.job.terminal is None and self.code >= 0:
            self.check("hawser" in self.job.text(), "a failure without a word")
        if self.job.trial.fault == "limit":
            self.check("memory-limit" in self.job.text(), "no line names the limit of memory")
        if self.job.trial.fault == "descriptors":
            self.check("ulimit" in self.job.text() or "ulimit" in "".join(self.job.text(f"joiner.{i}.err") for i in range(2)),
                       "no line names the limit of descriptors")

    def rescued(self):
        """A full disk: the last line has the path of the model."""
        named = re.findall(r"the model is in '([^']*)' instead", self.job.text())
        if not self.check(len(named) == 1 and os.path.dirname(os.path.dirname(named[0])) == self.job.temporary,
                          f"exit 4, and no place in TMPDIR is named: {named}"):
            return
        self.whole(named[0])
        if self.job.trial.training[2] in ("bsp", "dc:0") and not self.faults:
            self.check(tensors(named[0]) == tensors(self.job.world.reference(self.job.trial.training)[0]), "other bits than undisturbed")
        shutil.rmtree(os.path.dirname(named[0]), ignore_errors=True)

    def checkpoints(self):
        """Checks that a job that lost its folder says so, and that no job that ended with success has left a file there."""
        if self.code == 2:
            self.check("another job has taken over" in self.job.text(), "exit 2, and no line says that another job has the folder")
        if self.job.other is not None and self.job.trial.training[2] in ("bsp", "dc:0"):
            self.check(tensors(self.job.other) == tensors(self.job.world.reference(self.job.trial.training)[0]),
                       "the second job has other bits than undisturbed")
        left = os.listdir(self.job.folder)
        self.check(not left, f"left in the folder of checkpoints: {left}")

    def history(self):
        if not self.job.history or not os.path.exists(self.job.history):
            return
        done = hawser("check", self.job.history)
        codes = {0} if self.code == 0 else {0, 10, 3}  # 3: the history is incomplete, and no node was left to record why
        self.check(done.returncode in codes, f"hawser check of the history: exit {done.returncode}: {done.stdout}{done.stderr}")

    def training(self):
        if self.code == 0 or self.code == 4 and self.job.terminal is not None:
            self.succeeded()
        elif self.code == 130:
            self.interrupted()
        else:
            self.failed()
        if self.code == 4 and self.job.trial.fault == "disk":
            self.rescued()
        if self.job.trial.keeps:
            self.checkpoints()
        self.history()

    # --------------------------------------------------------------------------------------------------------- servers ----

    def servers(self):
        """Each acknowledged push is in the tables as a whole; any part of a push in flight may be."""
        if not os.path.exists(self.job.model):
            self.check(self.code not in (0, 130) or not self.job.clients_counted(), f"exit {self.code}, and no tables were saved")
            return
        self.whole(self.job.model)
        whole = read(self.job.model)
        length, header = struct.unpack("<Q", whole[:8])[0], header_of(whole)
        entry = next((v for k, v in header.items() if "dense" in k and v.get("shape", [0])[0] == KEYS and v["dtype"] == "F64"), None)
        if entry is None:
            self.check(self.job.clients_counted() == 0, f"no table 'dense' in {sorted(header)}")
            return
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        values = struct.unpack(f"<{(end - begin) // 8}d", whole[begin:end])
        counted = self.job.clients_counted()
        self.check(counted <= min(values) and max(values) <= counted + 1, f"{counted} pushes were answered, and values are {min(values)} to {max(values)}")

    # ------------------------------------------------------------------------------------------------------------ all ----

    def nothing_left(self):
        job = self.job
        if not until(lambda: not members(job.mark), LEFT_SECONDS):
            self.fault("left behind: " + "; ".join(map(str, members(job.mark))))
        left = os.listdir(job.temporary)
        self.check(not left, f"left in TMPDIR: {left}")
        beside = [name for name in os.listdir(job.out) if name not in (os.path.basename(job.model), "filler")]
        if job.killed or job.group is not None:  # a process that is killed while it writes leaves files that the next save removes
            beside = [name for name in beside if not name.endswith(".tmp")]
        self.check(not beside, f"left beside the model: {beside}")

    def verdict(self):
        texts = [self.job.text(name) for name in os.listdir(self.job.path) if name.endswith(".err")]
        self.check(self.code in expected(self.job), f"exit {self.code}, and {sorted(expected(self.job))} would fit")
        crash = re.search(r"Sanitizer|Assertion|Segmentation|core dumped|double free|corrupted|stack smashing", "".join(texts))
        self.check(crash is None, f"a crash: {crash and crash.group()}")
        if self.job.serves:
            self.servers()
        else:
            self.training()
        self.nothing_left()
        return self.faults

