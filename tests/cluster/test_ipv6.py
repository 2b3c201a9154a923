#!/usr/bin/env python3
"""Over IPv6 alone: hosts that have no other addresses, listed by name and by number, plain and in brackets, with their links encrypted;
and a member that is lost there."""
import os
import signal
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from boxparts.network import CARD  # noqa: E402
from nodes import HAWSER, Box, Job, Scratch, check, finish, hawser, json, tensors, until  # noqa: E402

WORDS = ["train", "lasso", "t.svm", "--index-base", "1", "--workers", "3", "-q"]


def numbers(box):
    """Leaves each host only an IPv6 address, and returns these."""
    found = []
    for host in json.loads(box("status", "--json"))["hosts"]:
        found.append(next(address for address in host["addresses"] if ":" in address))
        box("run", f"h{len(found) - 1}", "--", "ip", "-4", "address", "flush", "dev", CARD)
    return found


def main():
    scratch = Scratch()
    box = Box(3, "--ipv6")
    own = numbers(box)
    hawser(scratch, "data", "generate", "dense", "-o", "t.svm", "--rows", "500", "--cols", "100", "--seed", "3")
    hawser(scratch, *WORDS, "-o", "one.model")
    with open("hosts", "w", encoding="ascii") as out:
        out.write(f"{own[0]}\n[{own[1]}]:1  # in brackets\nroot@{own[2]} slots=1\n")
    run = [HAWSER, "run", "--hosts", "hosts", "--ssh", box.ssh, "--grace", "1", "--"]

    job = Job(scratch, [*run, *WORDS, "-o", os.path.join(scratch.path, "got.model"), "--json"])
    check(job.wait() == 0, f"over IPv6: {job.say()}")
    links = job.figures().get("links", [])
    check(len(links) == 6 and all(link["transport"] == "tcp+tls" for link in links), f"over IPv6: {links}")
    check(tensors("got.model") == tensors("one.model"), "over IPv6: another model")

    job = Job(scratch, [*run, *WORDS, "--exchange-every", "1", "--tol", "1e-15", "--slow", "1:1000", "--failure-timeout", "3",
                        "--trace", os.path.join(scratch.path, "trace.csv")])
    until(lambda: os.path.exists("trace.csv") and sum(1 for _ in open("trace.csv", encoding="ascii")) > 3, "clocks")
    os.kill(job.node(2), signal.SIGKILL)
    check(job.wait() == 137 and f"hawser run: node 2 ({own[2]}" in job.err, f"lost over IPv6: {job.say()}")
    finish()


main()
