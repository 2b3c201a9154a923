#!/usr/bin/env python3
"""A cache by rows, of four times the memory limit, is used where it is mapped: dense and sparse, on one and two nodes, in a process that may not have
private memory for it. The sums are those of a load into memory. What cannot be mapped is refused and says how to write it."""
import array
import json
import os
import random
import re
import resource
import struct
import subprocess
import sys
import tempfile

HAWSER = os.environ["HAWSER_BINARY"]
PROBE = os.path.join(os.environ["HAWSER_BUILD"], "tests", "rows_probe")
SANITIZED = os.environ.get("HAWSER_SANITIZE", "") != ""
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("HAWSER_")}
LIMIT, DATA = 16 << 20, 4 * (16 << 20)
COLUMNS = 64
ROWS = 400 if SANITIZED else DATA // 8 // COLUMNS  # sparse rows have fewer entries, which take 12 bytes


def few_private_pages():
    """Private memory that can be written, three quarters of the data, with small stacks: a copy does not fit."""
    resource.setrlimit(resource.RLIMIT_STACK, (1 << 19, 1 << 19))
    resource.setrlimit(resource.RLIMIT_DATA, (3 * LIMIT, 3 * LIMIT))


def run(words, hard=False):
    return subprocess.run(words, capture_output=True, text=True, env=ENVIRONMENT, timeout=300,
                          preexec_fn=few_private_pages if hard and not SANITIZED else None)


def load(words, nodes, hard=False):
    command = [PROBE] + words + ["out=out", "--workers", "4", "--threads", "1"]
    if nodes > 1:
        command = [HAWSER, "run", "-n", str(nodes), "--"] + command + ["--transport", "unix"]
    done = run(command, hard)
    if done.returncode != 0:
        sys.exit("FAILED: %s over %d nodes: %s" % (words, nodes, done.stderr))
    texts = [open("out.%d" % node).read().splitlines() for node in range(nodes)]
    found = [json.loads(text[0]) for text in texts]
    found[0]["sums"] = [float(line.split()[-1]) for line in texts[0][1:]]
    return found


def write():
    """The same 64 rows again and again, of numbers whose sums are exact. Returns the sums of all rows, dense and sparse."""
    chance = random.Random(6)
    rows = [array.array("d", [chance.randrange(-64, 64) / 8 for _ in range(COLUMNS)]) for _ in range(64)]
    header = "{'descr': '<f8', 'fortran_order': False, 'shape': (%d, %d), }" % (ROWS, COLUMNS)
    header += " " * (117 - len(header)) + "\n"
    with open("rows.npy", "wb") as out:
        out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        block = b"".join(row.tobytes() for row in rows)
        out.write(block * (ROWS // 64) + block[:ROWS % 64 * COLUMNS * 8])
    lines = ["%d %s\n" % (k % 3, " ".join("%d:%d" % (1 + (k * 7 + 5 * j) % 9 + 9 * j, 1 + (k + j) % 9) for j in range(44)))
             for k in range(64)]
    with open("rows.svm", "w") as out:
        out.write("".join(lines) * (ROWS // 64) + "".join(lines[:ROWS % 64]))
    times = [ROWS // 64 + (k < ROWS % 64) for k in range(64)]
    dense = [sum(times[k] * rows[k][j] for k in range(64)) for j in range(COLUMNS)]
    sparse = [0.0] * (9 * 44)
    for k in range(64):
        for j in range(44):
            sparse[(k * 7 + 5 * j) % 9 + 9 * j] += times[k] * (k % 3) * (1 + (k + j) % 9)
    return dense, sparse


def planned(path):
    """Bytes that the plan needs, and bytes of mapped pages, of which it says so."""
    done = run([PROBE, path, "plan", "--workers", "4", "--threads", "1"])
    needed = re.search(r"needs about (\d+) bytes", done.stderr)
    mapped = re.search(r"(\d+) bytes of data are pages of a mapped file", done.stderr)
    return (int(needed.group(1)) if needed else -1), (int(mapped.group(1)) if mapped else 0)


def convert(source, path, *words):
    done = run([HAWSER, "data", "convert", source, "-o", path, "--quiet", *words])
    if done.returncode != 0:
        sys.exit("FAILED: data convert %s: %s" % (source, done.stderr))


def main():
    failed = False

    def expect(good, text):
        nonlocal failed
        if not good:
            print("FAILED: " + text)
            failed = True

    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        limit = ["--memory-limit", str(LIMIT)]
        for name, truth in zip(("rows.npy", "rows.svm"), write()):
            cache, columns, plain = name + ".hwc", name + ".columns.hwc", ["--target", "none"] if name == "rows.npy" else []
            convert(name, cache, "--by-row", *plain)
            for nodes in (1, 2):
                found = load([cache] + limit, nodes, hard=True)
                expect(found[0]["sums"][:len(truth)] == truth, "%s over %d nodes: the sums are wrong" % (cache, nodes))
                expect(sum(one["held"] for one in found) == ROWS, "%s over %d nodes: rows are missing" % (cache, nodes))
                for one in found:
                    expect(SANITIZED or one["peak"] <= LIMIT,
                           "%s over %d nodes: %d bytes of anonymous memory" % (cache, nodes, one["peak"]))
            needed, mapped = planned(cache)
            expect(0 < needed and mapped >= 0.95 * os.path.getsize(cache) - 8192, "%s: the plan maps %d bytes" % (cache, mapped))
            expect(SANITIZED or needed < LIMIT, "%s: the plan needs %d bytes" % (cache, needed))
            if SANITIZED:
                continue
            refused = run([PROBE, name, "--workers", "4", "--threads", "1"] + limit)
            expect(refused.returncode == 3 and "memory" in refused.stderr, "%s was loaded: %s" % (name, refused.stderr))
            if name == "rows.npy":
                convert(name, columns, *plain)
                refused = run([PROBE, columns, "--workers", "4", "--threads", "1"] + limit)
                expect(refused.returncode == 3 and "data convert --by-row" in refused.stderr, "%s: %s" % (columns, refused.stderr))
                expect(load([columns], 1)[0]["sums"] == truth, "%s: the sums are wrong" % columns)
        refused = run([HAWSER, "data", "convert", "rows.svm", "-o", "rows.csv", "--by-row"])
        expect(refused.returncode != 0 and "by-row" in refused.stderr, "--by-row for CSV: %s" % refused.stderr)
    print("all as expected" if not failed else "failed")
    sys.exit(failed)


if __name__ == "__main__":
    main()
