#!/usr/bin/env python3
"""A process that does not belong to a job is rejected with the reason: another key, job or build, a second copy of a node, a process that takes
itself for the only one; and a thousand half-open connections at the manager's port do not disturb a training."""
import os
import re
import resource
import shutil
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from nodes import BOX, HAWSER, Box, Job, Scratch, check, finish, hawser, read, tensors, until  # noqa: E402

NODES, CONNECTIONS = 3, 1000
PORT = 21000
SLOW = ["--slow", "1:300", "--tol", "1e-13", "--exchange-every", "1"]  # long enough that half-open connections are evicted and come again
WORDS = ["train", "lasso", "t.svm", "--index-base", "1", "--workers", "3", "-q", "-o", "got.model"]


class Nodes:
    """Nodes that Slurm's variables place, each on a host of its own: the port of node 0 is known, so no address is passed."""

    def __init__(self, scratch, box, *words):
        self.scratch, self.box, self.words = scratch, box, words

    def start(self, number, host=None, key="key", command=HAWSER, job="1", more=()):
        return Job(self.scratch, [BOX, "run", host or f"h{number}", "--",
                                  command, *self.words, "--port-range", str(PORT), *(["--key-file", key] if key else []), *more],
                   SLURM_STEP_NUM_TASKS=str(NODES), SLURM_PROCID=str(number), SLURM_STEP_NODELIST="h[0-2]", SLURM_JOB_ID=job,
                   SLURM_STEP_ID="0", TMPDIR=os.environ.get("TMPDIR", "/tmp"), SLURM_STEP_NUM_NODES=str(NODES), SLURMD_NODENAME=f"h{number}")


def refused(job, codes, pattern, name):
    code = job.wait()
    check(code in codes and re.search(pattern, job.err), f"{name}: exit {code}, no '{pattern}': {job.say()}")


def odd_one(nodes, name, pattern, codes=(8,), **odd):
    """Node 2 is wrong; the others continue when a right one takes its place."""
    print(name, flush=True)
    rest = [nodes.start(0), nodes.start(1)]
    refused(nodes.start(2, **odd), codes, pattern, name)
    for job in (*rest, nodes.start(2)):
        check(job.wait() == 0, f"{name}, the others: {job.say()}")
    if check(os.path.exists("got.model"), f"{name}: no model"):
        os.unlink("got.model")


def another_build(path):
    """Makes a copy whose build id differs in one byte."""
    whole = bytearray(read(HAWSER, "rb"))
    note = whole.find(b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0")
    if not check(note >= 0, "no build id of 20 bytes in the command"):
        return HAWSER
    whole[note + 16] ^= 0xFF
    with open(path, "wb") as out:
        out.write(whole)
    os.chmod(path, 0o755)
    return path


def twice(nodes):
    print("a node started twice", flush=True)
    both = [nodes.start(0), nodes.start(1), nodes.start(1, host="h3")]
    until(lambda: any(job.process.poll() is not None for job in both[1:]), "end of one of the two")
    right = nodes.start(2)
    codes = sorted(job.wait() for job in (*both, right))
    said = "".join(job.err for job in both[1:])
    check(codes == [0, 0, 0, 8] and "started twice" in said, f"started twice: {codes}, {said}")
    os.unlink("got.model")


def alone(scratch):
    print("processes that each take themselves for the only one", flush=True)
    for variables in ({"PMI_SIZE": "3"}, {"OMPI_COMM_WORLD_SIZE": "3", "OMPI_COMM_WORLD_RANK": "1"},
                      {"SLURM_STEP_NUM_TASKS": "3", "SLURM_PROCID": "1"}):
        job = Job(scratch, [HAWSER, *WORDS], **variables)
        refused(job, (2,), "cannot find the others", str(variables))
        check(not os.path.exists("got.model"), f"{variables}: a model was written")
    job = Job(scratch, [HAWSER, *WORDS, "--alone"], PMI_SIZE="3")
    check(job.wait() == 0, f"--alone: {job.say()}")
    os.unlink("got.model")


def half_open(scratch, box, nodes):
    """They connect to the manager's port, send nothing or half a message, and connect again when they are evicted."""
    print(f"{CONNECTIONS} half-open connections", flush=True)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    jobs = [nodes.start(0, more=("--json", *SLOW))]
    ready = os.path.join(scratch.path, "ready")
    holder = Job(scratch, [BOX, "run", "h3", "--", sys.executable, "-c", CROWD, box.address(0), str(PORT), str(CONNECTIONS), ready],
                 TMPDIR=os.environ.get("TMPDIR", "/tmp"))
    until(lambda: os.path.exists(ready), "crowd")
    jobs += [nodes.start(i, more=SLOW) for i in range(1, NODES)]
    for job in jobs:
        check(job.wait() == 0, f"half-open connections: {job.say()}")
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = usage.ru_utime + usage.ru_stime - before.ru_utime - before.ru_stime
    check(jobs[0].figures().get("stop_reason") == "gap", f"half-open connections: {jobs[0].say()}")
    lasted = jobs[0].figures().get("seconds_train", 0)
    check(tensors("got.model") == tensors("alone.model"), "half-open connections: another model")
    os.unlink("got.model")
    holder.process.terminate()
    holder.wait()
    print(f"CPU seconds of the nodes: {spent:.2f}, in {lasted:.1f} s of training")


CROWD = """
import resource, selectors, socket, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
host, port, count, ready = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
chosen, held, told = selectors.DefaultSelector(), 0, False
def come(i):
    s = socket.create_connection((host, port)); s.setblocking(False)
    if i % 2: s.send(b"\\x16\\x03\\x01\\x02")
    chosen.register(s, selectors.EVENT_READ, i)
for i in range(count):
    while True:
        try: come(i); break
        except ConnectionRefusedError: pass
open(ready, "w").close()
while True:
    for key, _ in chosen.select():
        try: data = key.fileobj.recv(100)
        except OSError: data = b""
        if not data:
            chosen.unregister(key.fileobj); key.fileobj.close()
            try: come(key.data)
            except OSError: sys.exit(0)
"""


def main():
    scratch = Scratch()
    box = Box(4)
    hawser(scratch, "data", "generate", "dense", "-o", "t.svm", "--rows", "1000", "--cols", "400")
    hawser(scratch, *WORDS[:-1], "alone.model", *SLOW[2:])
    for name in ("key", "other"):
        hawser(scratch, "key", name)
    shutil.copy("key", "open")
    os.chmod("open", 0o644)
    nodes = Nodes(scratch, box, *WORDS)
    odd_one(nodes, "another key", "key", key="other")
    odd_one(nodes, "no key", "key-file", (2,), key=None)
    odd_one(nodes, "a key that others may read", "open.*(0600|chmod)", (2, 3, 4), key="open")
    odd_one(nodes, "another job", "slurm-2", job="2")
    odd_one(nodes, "another build", "build", command=another_build(os.path.join(scratch.path, "hawser")))
    twice(nodes)
    alone(scratch)
    half_open(scratch, box, nodes)
    finish()


main()
