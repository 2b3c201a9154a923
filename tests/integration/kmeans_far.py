#!/usr/bin/env python3
"""k-means does not depend on constants that are added to columns. Data are drawn on a grid of 1/256 and shifted by whole numbers of up to 10^12 standard
deviations, so that shifted numbers are exact: the same draws then give the inertia of the data without the shift, and the same clusters."""
import json
import os
import random
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["HAWSER_SOURCE"], "tests", "helpers"))
from certificate import read_tensors  # noqa: E402
from command import CLEAN, HAWSER, some  # noqa: E402

ROWS, COLUMNS, CLUSTERS = 3000, 3, 4


def write(path, rows, weights, shift):
    with open(path, "w", encoding="ascii") as file:
        if path.endswith(".svm"):
            for row in rows:
                print(0, *(f"{j + 1}:{x / 256 + s!r}" for j, (x, s) in enumerate(zip(row, shift))), file=file)
            return
        print(",".join([f"x{j}" for j in range(COLUMNS)] + ["w"]), file=file)
        for row, weight in zip(rows, weights):
            print(",".join([repr(x / 256 + s) for x, s in zip(row, shift)] + [str(weight)]), file=file)


def run(words, nodes=1):
    done = subprocess.run([HAWSER, *(["run", "-n", str(nodes), "--"] if nodes > 1 else []), *words], capture_output=True, text=True, env=CLEAN, timeout=100,
                          check=False)
    assert done.returncode == 0, (words, done.stderr)
    return done.stdout


def result_of(path, words, roles, nodes):
    printed = json.loads(run(["train", "kmeans", path, "-q", "--json", "-o", "m", *words, *roles], nodes).splitlines()[-1])
    tensors = {name: values for name, (_, values) in read_tensors("m").items()}
    return printed["inertia"], tensors["centres"], run(["predict", "m", path])


def check(seed):
    chance = random.Random(seed)
    middle = [[chance.gauss(0, 3) for _ in range(COLUMNS)] for _ in range(CLUSTERS)]
    rows = [[round((m + chance.gauss(0, 1)) * 256) or 1 for m in chance.choice(middle)] for _ in range(ROWS)]
    weights = [chance.choice([1, 1, 2]) for _ in rows]
    far = chance.choice([2**24, 10**9, 10**11, 10**12])
    shift = [far, chance.choice([-far, 0, 12345]), chance.choice([0, far // 3])]
    nodes, path = chance.choice([1, 1, 2]), chance.choice(["d.csv", "d.csv", "d.svm"])
    words = ["--clusters", str(CLUSTERS), "--workers", str(nodes + chance.choice([0, 1])), "--seed", str(seed)]
    words += chance.choice([[], ["--batch", "300"], ["--init-method", "parallel"], ["--init-method", "random", "--starts", "2"]])
    roles = ["--weights", "w"] if path.endswith("csv") else []
    write(path, rows, weights, [0] * COLUMNS)
    near = result_of(path, words, roles, 1)
    write(path, rows, weights, shift)
    other = result_of(path, words, roles, nodes)
    name = (seed, path, shift, words, nodes)
    # Centres of the start are rows as they are. The mean of a column, which is subtracted, has a rounding, and so have the centres of the result.
    assert abs(near[0] - other[0]) <= 1e-7 * near[0], (name, near[0], other[0])
    for e, (a, b) in enumerate(zip(near[1], other[1])):
        assert abs(a + shift[e % COLUMNS] - b) <= 1e-6 + 4e-16 * far, (name, a, b)
    labels = [[line.split(",")[0] for line in text.splitlines()] for text in (near[2], other[2])]
    assert len(labels[0]) >= ROWS and sum(a != b for a, b in zip(*labels)) <= ROWS // 500, name


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        first, count = int(os.environ.get("HAWSER_TEST_SEED", "1")), 100 if os.environ.get("HAWSER_TEST_LONG") else 16
        for seed in some(range(first, first + count)):
            check(seed)
        os.chdir("/")


if __name__ == "__main__":
    main()
