#!/usr/bin/env python3
"""Data that is loaded by row: what each node reads, holds and takes in memory falls with the number of nodes, files of weights and Matrix Market
arrays and caches of the other layout too, and the sums over rows have the bits of one node."""
import json
import os
import random
import subprocess
import sys
import tempfile

HAWSER = os.environ["HAWSER_BINARY"]
PROBE = os.path.join(os.environ["HAWSER_BUILD"], "tests", "rows_probe")
SANITIZED = os.environ.get("HAWSER_SANITIZE", "") != ""
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("HAWSER_")}
ENVIRONMENT["MALLOC_MMAP_THRESHOLD_"] = "131072"  # freed memory is returned, as that of data of real size is
ROWS, COLUMNS = (600, 40) if SANITIZED else (32000, 100)  # 26 MB as numbers
PEAK = {2: 0.85, 4: 0.65}  # of the memory of one node; a copy of the rows too many is 1 and more


def lines():
    """Some lines again and again: numbers that decimal text and f64 have exactly, so that their sums are exact."""
    chance = random.Random(5)
    return [[chance.randrange(-64, 64) / 8 for _ in range(COLUMNS)] for _ in range(50)]


def write(lines):
    texts = [",".join("%.3f" % value for value in line) for line in lines]
    sparse = [" ".join("%d:%.3f" % (j + 1, value) for j, value in enumerate(line)) for line in lines]
    with open("rows.csv", "w") as csv, open("rows.svm", "w") as svm, open("weights.txt", "w") as weights:
        for i in range(ROWS):
            csv.write("%d,%s\n" % (i % 3, texts[i % 50]))
            svm.write("%d %s\n" % (i % 3, sparse[i % 50]))
            weights.write("%d\n" % (i % 7))
    with open("rows.mtx", "w") as array:
        array.write("%%%%MatrixMarket matrix array real general\n%d %d\n" % (ROWS, COLUMNS))
        for j in range(COLUMNS):
            column = ["%.3f\n" % line[j] for line in lines]
            array.write(("".join(column) * (ROWS // 50 + 1))[:sum(map(len, column)) * (ROWS // 50)])


def load(words, nodes):
    """What each node prints, in their order."""
    command = [PROBE] + words + ["out=out", "--workers", "4", "--threads", "1"]
    if nodes > 1:
        command = [HAWSER, "run", "-n", str(nodes), "--"] + command + ["--transport", "unix"]
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, timeout=300)
    if done.returncode != 0:
        sys.exit("FAILED: %s over %d nodes: %s" % (words, nodes, done.stderr))
    texts = [open("out.%d" % node).read().splitlines() for node in range(nodes)]
    found = [json.loads(text[0]) for text in texts]
    found[0]["sums"] = [float(line.split()[-1]) for line in texts[0][1:]]
    return found


def check(words, nodes, truth, entries, bytes_all):
    """entries: of all rows as the load counts them, 0 if no rows are read; bytes_all: of all files."""
    alone, failed = load(words, 1)[0], False

    def expect(good, text):
        nonlocal failed
        if not good:
            print("FAILED: %s over %d nodes: %s" % (words, count, text))
            failed = True

    count = 1
    expect(alone["sums"] == truth, "the sums are not those of the rows")
    for count in nodes:
        found = load(words, count)
        expect(len(found) == count, "%d nodes have printed" % len(found))
        expect(found[0]["sums"] == truth, "the sums are not those of the rows")
        expect(sum(one["held"] for one in found) == ROWS, "rows held: %s" % [one["held"] for one in found])
        expect(sum(one["read"] for one in found) == entries, "rows read: %s" % [one["read"] for one in found])
        for one in found:
            expect(one["held"] * count <= ROWS + 4 * count, "a node holds %d rows" % one["held"])
            expect(entries == 0 or one["read"] * count <= 1.2 * entries, "a node has read %d of %d" % (one["read"], entries))
            expect(one["bytes_here"] * count <= 1.2 * bytes_all, "a node has read %d bytes" % one["bytes_here"])
            expect(one["bytes_read"] >= bytes_all, "%d bytes were read" % one["bytes_read"])
            expect(SANITIZED or one["peak"] <= PEAK[count] * alone["peak"],
                   "%d bytes of memory; one node took %d" % (one["peak"], alone["peak"]))
    return failed


def train_peak(words, nodes):
    """The largest resident memory of a node that trains."""
    command = [HAWSER, "run", "-n", str(nodes), "--"] if nodes > 1 else []
    command += [HAWSER, "train"] + words + ["--max-clocks", "2", "--workers", "4", "--threads", "1", "--transport", "unix",
                                            "--json", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, timeout=300)
    if done.returncode not in (0, 7):
        sys.exit("FAILED: %s over %d nodes: %s" % (words, nodes, done.stderr))
    return max(worker["peak_rss"] for worker in json.loads(done.stdout.strip().split("\n")[-1])["worker"])


def check_training(path, few, words):
    alone, shared = (train_peak(words + [path], nodes) - train_peak(words + [few], nodes) for nodes in (1, 4))
    if shared <= PEAK[4] * alone:
        return False
    print("FAILED: %s took %d bytes above an empty run on each of 4 nodes, and %d on one" % (words + [path], shared, alone))
    return True


def convert(words):
    subprocess.run([HAWSER, "data", "convert"] + words, check=True, capture_output=True, env=ENVIRONMENT, timeout=300)


def main():
    rows = lines()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        write(rows)
        size = {name: os.path.getsize(name) for name in os.listdir(".")}
        weighted = [sum(rows[i % 50][j] * (i % 7) for i in range(350)) for j in range(COLUMNS)]
        times, rest = divmod(ROWS, 350)
        weighted = [times * whole + sum(rows[i % 50][j] * (i % 7) for i in range(rest)) for j, whole in enumerate(weighted)]
        both, rest = divmod(ROWS, 1050)
        target = [both * sum(rows[i % 50][j] * (i % 3) * (i % 7) for i in range(1050)) +
                  sum(rows[i % 50][j] * (i % 3) * (i % 7) for i in range(rest)) for j in range(COLUMNS)]
        failed = check(["rows.csv", "target=0", "weights=weights.txt"], (2, 4), target, ROWS,
                       size["rows.csv"] + size["weights.txt"])
        failed |= check(["rows.svm", "weights=weights.txt"], (4,), target, ROWS, size["rows.svm"] + size["weights.txt"])
        failed |= check(["rows.mtx", "weights=weights.txt"], (4,), weighted, ROWS * COLUMNS,
                        size["rows.mtx"] + size["weights.txt"])
        convert(["rows.csv", "--target", "0", "--weights", "weights.txt", "-o", "columns.hwc"])
        convert(["rows.svm", "--weights", "weights.txt", "-o", "sparse.hwc"])
        for cache in ("columns.hwc", "sparse.hwc"):
            failed |= check([cache], (2, 4), target, 0, os.path.getsize(cache))
        convert(["rows.svm", "--by-row", "-o", "rows.hwc"])
        with open("few.csv", "w") as few:
            few.write("".join("%d,%d,%d\n" % (i % 3, i % 5, i % 11) for i in range(200)))
        convert(["few.csv", "--target", "0", "--by-row", "-o", "few.hwc"])
        if not SANITIZED:
            failed |= check_training("rows.csv", "few.csv", ["kmeans", "--clusters", "4", "--init-method", "random"])
            failed |= check_training("rows.hwc", "few.hwc", ["lasso", "--lambda-ratio", "0.5"])
    print("all as expected" if not failed else "failed")
    sys.exit(failed)


if __name__ == "__main__":
    main()
