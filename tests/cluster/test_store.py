#!/usr/bin/env python3
"""Servers of a store on one host, groups of clients on two others, over TLS: a node of one group is killed in the middle. Its group ends by name,
the other goes on, and every key has what was answered; nothing of it can be read on the way."""
import os
import signal
import struct
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from nodes import BOX, HAWSER, Box, Job, Scratch, check, finish, hawser, nothing_left, read, until  # noqa: E402

PROBE = os.path.join(os.path.dirname(HAWSER), "..", "tests", "store_probe")
KEYS, CLIENTS = 20000, 2  # as in the probe; nodes of a group
PATTERN = 1234.5678901234567


def on(scratch, host, *words):
    return Job(scratch, [BOX, "run", f"h{host}", "--", *words], TMPDIR=os.environ.get("TMPDIR", "/tmp"))


def serve(scratch, *more):
    """Starts two servers on h0 and returns their addresses."""
    if os.path.exists("at"):
        os.unlink("at")
    job = on(scratch, 0, HAWSER, "run", "-n", "2", "--", "serve", "--key-file", "key", "--address-file", "at", *more)
    until(lambda: read("at") or job.process.poll() is not None, "address of the servers")
    return job, read("at").strip()


def ends(servers, name):
    servers.process.terminate()
    check(servers.wait() == 0, f"{name}: {servers.say()}")


def group(scratch, host, name, address):
    return on(scratch, host, HAWSER, "run", "-n", str(CLIENTS), "--", PROBE, "count", name, address, "key")


def answered(name, node):
    return int(read(f"{name}.{node}") or 0)


def one_is_killed(scratch, box):
    print("a node of one of two groups is killed", flush=True)
    servers, address = serve(scratch)
    check(address.rsplit(":", 1)[0] == box.address(0), f"the servers say that they are at '{address}'")
    groups = {name: group(scratch, host, name, address) for host, name in ((1, "stays"), (2, "dies"))}
    for name in groups:
        for node in range(CLIENTS):
            until(lambda n=name, i=node: answered(n, i) > 5, f"5 answers for node {node} of '{name}'")
    os.kill(groups["dies"].node(1), signal.SIGKILL)
    check(groups["dies"].wait() not in (0, None), f"killed: {groups['dies'].say()}")
    said = [line for line in groups["dies"].err.split("\n") if "probe: " in line]
    check(len(said) == 1 and "node 1" in said[0], f"killed: not one line that names it: {groups['dies'].say()}")
    before = [answered("stays", node) for node in range(CLIENTS)]
    for node in range(CLIENTS):
        until(lambda i=node: answered("stays", i) > before[i] + 20, f"20 more answers for node {node}")
    check(groups["stays"].process.poll() is None, f"stays: {groups['stays'].say()}")
    os.kill(groups["stays"].node(0), signal.SIGKILL)
    check(groups["stays"].wait() not in (0, None), f"stays, in the end: {groups['stays'].say()}")
    least = sum(answered(name, node) for name in groups for node in range(CLIENTS))
    got = on(scratch, 1, HAWSER, "store", "get", "dense", "--at", address, "--key-file", "key")
    check(got.wait() == 0, f"get: {got.say()}")
    values = [float(line.split()[1]) for line in got.out.split("\n") if line]
    check(len(values) == KEYS, f"{len(values)} keys")
    # A push of each node may have been applied without a reply.
    check(all(v == int(v) and least <= v <= least + 2 * CLIENTS for v in values),
          f"{least} pushes were answered, and keys have {min(values)} to {max(values)}")
    lines = [line for line in servers.err.split("\n") if "was lost" in line]
    check(len(lines) >= 2, f"the servers do not say who was lost: {servers.say()}")
    ends(servers, "servers")


def captured(scratch, box):
    """The data of a client on another host are in clear on the network only if both sides ask for that."""
    pattern = struct.pack("<d", PATTERN)
    for more in ((), ("--trust-fabric",)):
        print("captured", *more, flush=True)
        servers, address = serve(scratch, *more)
        box("capture", "h1", os.path.join(scratch.path, "seen.pcap"))
        for words in (("make", "w", "--keys", "0..99"), ("put", "w", *(f"{key}={PATTERN!r}" for key in range(100)))):
            job = on(scratch, 1, HAWSER, "store", *words, "--at", address, "--key-file", "key", *more)
            check(job.wait() == 0, job.say())
        box("capture", "h1", "stop")
        seen = read("seen.pcap", "rb")
        check(len(seen) > 3000, f"only {len(seen)} bytes seen")
        check((pattern in seen) == bool(more), f"the pattern is {'in' if pattern in seen else 'not in'} what was seen {more}")
        os.unlink("seen.pcap")
        if not more:  # a client that alone asks for clear text gets TLS
            job = on(scratch, 1, HAWSER, "store", "get", "w", "3", "--at", address, "--key-file", "key", "--trust-fabric")
            check(job.wait() == 0 and job.out == f"3 {PATTERN!r}\n", job.say())
        ends(servers, f"captured {more}")


def main():
    scratch = Scratch()
    box = Box(3)
    hawser(scratch, "key", "key")
    one_is_killed(scratch, box)
    captured(scratch, box)
    nothing_left(scratch, "all")
    finish()


main()
