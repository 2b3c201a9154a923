#!/usr/bin/env python3
"""Each node reads its share of the input and holds its share of the data: rows read and memory taken fall with the number of nodes, for
every format that is read in parts."""
import json
import os
import random
import struct
import subprocess
import sys
import tempfile

HAWSER = os.environ["HAWSER_BINARY"]
SANITIZED = os.environ.get("HAWSER_SANITIZE", "") != ""
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("HAWSER_")}
NODES = (1, 2, 4)
FALLS = {2: 1.0, 4: 0.65}  # to less than this share of what half as many take: two hold each entry twice for a moment, one does not
ROWS, COLUMNS = (400, 100) if SANITIZED else (20000, 250)  # 40 MB as numbers


def write_dense(path):
    with open(path, "w") as out:
        chance = random.Random(5)
        for _ in range(ROWS):
            out.write(",".join("%.3f" % chance.uniform(-1, 1) for _ in range(COLUMNS + 1)) + "\n")


def write_svmlight(path):
    """As many entries as the dense ones have, in more columns."""
    chance = random.Random(6)
    with open(path, "w") as out:
        for _ in range(ROWS):
            columns = sorted({1 + int(20 * COLUMNS * chance.random()) for _ in range(COLUMNS)})
            out.write("%.3f %s\n" % (chance.uniform(-1, 1), " ".join("%d:%.3f" % (c, chance.random()) for c in columns)))


def write_npy(csv, path):
    header = "{'descr': '<f8', 'fortran_order': False, 'shape': (%d, %d), }" % (ROWS, COLUMNS + 1)
    header += " " * (117 - len(header)) + "\n"
    with open(csv) as text, open(path, "wb") as out:
        out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        for line in text:
            out.write(struct.pack("<%dd" % (COLUMNS + 1), *map(float, line.split(","))))


def write_array(csv, path):
    """The features of a table as a Matrix Market array, and its target beside it."""
    with open(csv) as text:
        columns = list(zip(*(line.rstrip("\n").split(",") for line in text)))
    with open(path, "w") as out:
        out.write("%%%%MatrixMarket matrix array real general\n%d %d\n" % (ROWS, COLUMNS))
        for column in columns[1:]:
            out.write("\n".join(column) + "\n")
    with open(path + ".targets", "w") as out:
        out.write("\n".join(columns[0]) + "\n")


def convert(source, path):
    subprocess.run([HAWSER, "data", "convert", source, "-o", path, "--quiet"], check=True, env=ENVIRONMENT)


def train(path, nodes):
    """Rows read and peak memory of each node."""
    words = ["train", "lasso", path, "--lambda-ratio", "0.9", "--workers", "4", "--threads", "1", "--quiet", "--json"]
    if path.endswith(".mtx"):
        words += ["--target", path + ".targets" if os.path.exists(path + ".targets") else path + ".target"]
    if nodes > 1:
        words = ["run", "-n", str(nodes), "--"] + words + ["--transport", "unix"]
    # The C library keeps what is freed below 32 MiB; data of real size is above that.
    environment = dict(ENVIRONMENT, MALLOC_MMAP_THRESHOLD_="131072")
    done = subprocess.run([HAWSER] + words, capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        sys.exit("FAILED: %s over %d nodes: %s" % (path, nodes, done.stderr))
    workers = json.loads(done.stdout.strip().split("\n")[-1])["worker"]
    rows, peak = [0] * nodes, [0] * nodes
    for worker in workers:
        rows[worker["node"]] += worker["rows_read"]
        peak[worker["node"]] = worker["peak_rss"]
    return rows, peak


def check(path, empty):
    """empty: memory of a node without data, by number of nodes."""
    failures, most_before = 0, None
    for nodes in NODES:
        rows, peak = train(path, nodes)
        held = max(peak) - empty[nodes]
        tries = 3
        while most_before is not None and held > FALLS[nodes] * most_before and tries > 0:
            # The kernel maps pages around those that are read, and counts them, and on a busy machine more waits in buffers: the least counts.
            held = min(held, max(train(path, nodes)[1]) - empty[nodes])
            tries -= 1
        print("%-12s %d nodes: rows read %s, memory for data %.1f MB at most" % (path, nodes, rows, held / 1e6))
        if max(rows) > 1.3 * sum(rows) / nodes:
            print("FAILED: %s: a node of %d has read %d of %d rows" % (path, nodes, max(rows), sum(rows)))
            failures += 1
        if most_before is not None and not SANITIZED and held > FALLS[nodes] * most_before:
            print("FAILED: %s: a node of %d takes %.1f MB, and of half as many %.1f MB" % (path, nodes, held / 1e6, most_before / 1e6))
            failures += 1
        most_before = held
    return failures


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with open("small.csv", "w") as out:
            out.write("".join("%d,%d,%d,%d,%d\n" % (i % 7, i % 3, i % 5, i % 2, i % 11) for i in range(200)))
        empty = {nodes: max(train("small.csv", nodes)[1]) for nodes in NODES}
        write_dense("dense.csv")
        write_svmlight("sparse.svm")
        write_npy("dense.csv", "dense.npy")
        convert("sparse.svm", "sparse.mtx")
        write_array("dense.csv", "array.mtx")
        failures = sum(check(path, empty) for path in ("sparse.svm", "dense.csv", "dense.npy", "sparse.mtx", "array.mtx"))
    if failures == 0:
        print("all as expected")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
