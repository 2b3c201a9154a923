#!/usr/bin/env python3
"""What is on the links: a known pattern is in the captured bytes under --trust-fabric and not without it; and links of 10 Mbit/s and a
straggler at a quarter of a CPU change no bit under BSP, while under SSP and TAP the others lead, under SSP by no more than agreed."""
import os
import struct
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from nodes import HAWSER, Box, Job, Scratch, check, finish, hawser, nothing_left, read, tensors  # noqa: E402

NODES = 4
PATTERN = struct.pack("<d", 1234.5678901234567)


def words(scratch, box, *more):
    return [HAWSER, "run", "-n", str(NODES), "--hosts", box.file(scratch, NODES), "--ssh", box.ssh, "--", "train", "lasso", *more,
            "--workers", str(NODES), "-q", "--json"]


def captured(scratch, box):
    """Captures a training whose target is constant except in some rows, which have the pattern: targets are sent as they are read."""
    with open("p.svm", "w", encoding="ascii") as out:
        for i in range(64):
            y = struct.unpack("<d", PATTERN)[0] if i % 7 == 3 else i * 0.01
            out.write(f"{y:.17g} " + " ".join(f"{j + 1}:{((i * 7 + j * 13) % 11 - 5) / 8 or 1:g}" for j in range(i % 3, 12, 3)) + "\n")
    for trust, wanted in (("--trust-fabric", True), ("--no-trust-fabric", False)):
        print("captured under", trust, flush=True)
        box("capture", "h1", os.path.join(scratch.path, "seen.pcap"))
        job = Job(scratch, words(scratch, box, "p.svm", "--index-base", "1", "-o", "p.model", trust))
        check(job.wait() == 0, f"{trust}: {job.say()}")
        box("capture", "h1", "stop")
        seen = read("seen.pcap", "rb")
        check(len(seen) > 10000, f"{trust}: only {len(seen)} bytes seen")
        check((PATTERN in seen) == wanted, f"{trust}: the pattern is {'not ' if wanted else ''}in what was seen")
        check((b"h2" in seen) or not wanted, f"{trust}: no name in what was seen")
        os.unlink("seen.pcap")


def slow_links(scratch, box):
    print("links of 10 Mbit/s", flush=True)
    box("rate", "all", "10mbit")
    job = Job(scratch, words(scratch, box, "t.svm", "--index-base", "1", "-o", "slow.model"))
    check(job.wait() == 0 and tensors("slow.model") == tensors("alone.model"), f"10 Mbit/s: {job.say()}")
    box("rate", "all", "off")


def straggler(scratch, box):
    box("slow", "h1", "25")
    job = Job(scratch, words(scratch, box, "t.svm", "--index-base", "1", "-o", "slow.model"))
    check(job.wait() == 0 and tensors("slow.model") == tensors("alone.model"), f"straggler: {job.say()}")
    for sync, least, most in (("ssp:3", 3, 3), ("tap", 11, 49)):  # certificates stop all, every 50 clocks
        job = Job(scratch, words(scratch, box, "t.svm", "--index-base", "1", "-o", "slow.model", "--sync", sync, "--slow", "1:20",
                                 "--certify-every", "50"))
        if check(job.wait() == 0, f"straggler, {sync}: {job.say()}"):
            got = job.figures()
            print(f"straggler under {sync}: the others lead by {got['most_lead']}, {got['clocks']} clocks", flush=True)
            check(least <= got["most_lead"] <= most and got["stop_reason"] == "gap", f"straggler, {sync}: leads by {got['most_lead']}")
    box("slow", "h1", "off")


def main():
    scratch = Scratch()
    box = Box(NODES)
    hawser(scratch, "data", "generate", "dense", "-o", "t.svm", "--rows", "500", "--cols", "300", "--seed", "3")
    hawser(scratch, "train", "lasso", "t.svm", "--index-base", "1", "--workers", str(NODES), "-q", "-o", "alone.model")
    captured(scratch, box)
    slow_links(scratch, box)
    straggler(scratch, box)
    nothing_left(scratch, "all")
    finish()


main()
