#!/usr/bin/env python3
"""A linear model of columns far from zero trains on a copy of them. The plan counts it besides the data: its estimate is at least the private memory at the peak,
a smaller --memory-limit is refused before the training, and one that allows the estimate is enough."""
import array
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
import time

HAWSER = os.environ["HAWSER_BINARY"]
CLEAN = {key: value for key, value in os.environ.items() if not key.startswith("HAWSER_")}
COLUMNS = 40


def write(path, rows, far, chance):
    """The target, 0 or 1, is the first column. Rows repeat after a while, which does no harm here."""
    some = array.array("d")
    for _ in range(1000):
        x = [chance.gauss(0, 1) + (far if j < 2 else 0) for j in range(COLUMNS)]
        some.extend([float(x[2] + chance.gauss(0, 1) > 0), *x])
    head = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({rows}, {COLUMNS + 1}), }}"
    head += " " * (117 - len(head)) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
        for _ in range(rows // 1000):
            some.tofile(file)


def peak_of(words):
    """The most private memory of the command, what it prints and how it ends."""
    most = 0
    with subprocess.Popen([HAWSER, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=CLEAN) as process:
        while process.poll() is None:
            try:
                with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
                    most = max([most] + [1024 * int(line.split()[1]) for line in status if line.startswith("RssAnon")])
            except OSError:
                break
            time.sleep(0.001)
        text = process.stderr.read()
    return most, text, process.returncode


def plan(words):
    done = subprocess.run([HAWSER, "plan", *words, "--json"], capture_output=True, text=True, env=CLEAN, timeout=100, check=False)
    assert done.returncode == 0, (words, done.stderr)
    return json.loads(done.stdout)["memory"]["needed_bytes"]


def check(algorithm, validation, rows):
    sizes = 8 * COLUMNS * rows
    for far in (0, 1e6):
        write("d.npy", rows, far, random.Random(1))
        words = [algorithm, "d.npy", "--workers", "2", "--threads", "2", "--lambda", "0.05", "-q"]
        words += ["--validation", "v.npy"] if validation else []
        if validation:
            write("v.npy", rows, far, random.Random(2))
        needed = plan(words)
        peak, text, code = peak_of(["train", *words, "--memory-limit", str(needed + (1 << 20))])
        assert code == 0 and peak <= needed, (words, far, peak, needed, text)
        if far == 0:
            plain = needed
            continue
        assert needed >= plain + sizes, (words, plain, needed)
        peak, text, code = peak_of(["train", *words, "--memory-limit", str(plain + (1 << 20))])
        assert code == 5 and ("columns are far from zero" in text or validation) and peak < needed, (words, peak, needed, text)
        peak, text, code = peak_of(["train", *words, "--memory-limit", str(needed - (2 << 20))])
        assert code == 5, (words, needed, text)
        nodes = ["run", "-n", "2", "--", "train", *words, "--memory-limit", str(sizes // 2 + (8 << 20))]
        done = subprocess.run([HAWSER, *nodes], capture_output=True, text=True, env=CLEAN, timeout=100, check=False)
        assert done.returncode == 5, (nodes, done)


def main():
    if os.environ.get("HAWSER_SANITIZE"):
        print("skipped: under a sanitizer memory is not the command's own")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        check("lasso", False, 80000)
        check("logistic", True, 60000)
        os.chdir("/")


main()
