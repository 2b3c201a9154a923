#!/usr/bin/env python3
"""Three hosts share a store without a launcher; two of them serve. The host that serves nothing is cut off: the others go on. Then a server is cut off: the node
that is left ends by its name, and names the first one, too."""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from nodes import BOX, HAWSER, Box, Job, Scratch, check, finish, hawser, nothing_left, read, until  # noqa: E402

PROBE = os.path.join(os.path.dirname(HAWSER), "..", "tests", "store_probe")
HOSTS, PORT = 3, 7340
COMMON = ("--key-file", "key", "--failure-timeout", "2", "--join-timeout", "30")


def answered(node):
    return int(read(f"pids.{node}") or 0)


def start(scratch, host, *words):
    return Job(scratch, [BOX, "run", f"h{host}", "--", PROBE, "count", os.path.join(scratch.path, "pids"), *COMMON, "--node-name", f"host-{host}", *words],
               TMPDIR=os.environ.get("TMPDIR", "/tmp"))


def host_of(node):
    """Returns the host on which a node runs: nodes get their numbers in the order in which they join."""
    pid = next(line.split()[1] for line in read("pids").split("\n") if line.startswith(f"{node} "))
    words = read(f"/proc/{pid}/cmdline").split("\0")
    return int(words[words.index("--node-name") + 1].split("-")[1])


def more(nodes, count):
    before = [answered(node) for node in nodes]
    for node, least in zip(nodes, before):
        until(lambda n=node, b=least: answered(n) > b + count, f"{count} more answers for node {node}")


def main():
    scratch = Scratch()
    box = Box(HOSTS)
    hawser(scratch, "key", "key")
    jobs = [start(scratch, 0, "--listen", str(HOSTS), "--port-range", str(PORT))]
    until(lambda: "waiting for" in jobs[0].err, "line of the first node")
    jobs += [start(scratch, host, "--join", f"{box.address(0)}:{PORT}") for host in range(1, HOSTS)]
    more(range(HOSTS), 5)
    server, client = host_of(1), host_of(2)
    box("cut", f"h{client}")
    check(jobs[client].wait() not in (0, None), f"cut off: {jobs[client].say()}")
    more(range(2), 50)
    for job in (jobs[0], jobs[server]):
        check(job.process.poll() is None, f"ended with the first loss: {job.say()}")
    box("cut", f"h{server}")
    check(jobs[0].wait() not in (0, None), f"the last one: {jobs[0].say()}")
    said = [line for line in jobs[0].err.split("\n") if "probe: " in line]
    check(len(said) == 1 and f"node 1 (host-{server}) was lost" in said[0] and said[0].endswith(f"; lost too: node 2 (host-{client})"), f"the last one: {said}")
    check(jobs[server].wait() not in (0, None), f"the server that was cut off: {jobs[server].say()}")
    nothing_left(scratch, "all")
    finish()


main()
