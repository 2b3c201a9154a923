#!/usr/bin/env python3
"""Writes data for the programs of this directory.

    data.py svm FILE ROWS SEED     rows of 20 of 200 columns, as svmlight, with labels 1 and -1 by a plane that is the same for each seed
"""
import random
import sys

COLUMNS, ENTRIES = 200, 20


def write_svm(path, rows, seed):
    draw, plane = random.Random(seed), random.Random(7)
    normal = [plane.gauss(0, 1) for _ in range(COLUMNS)]
    with open(path, "w") as file:
        for _ in range(rows):
            columns = sorted(draw.sample(range(COLUMNS), ENTRIES))
            values = [draw.gauss(0, 1) for _ in columns]
            label = sum(normal[column] * value for column, value in zip(columns, values)) + draw.gauss(0, 1)
            entries = " ".join(f"{column + 1}:{value:.4f}" for column, value in zip(columns, values))
            file.write(f"{1 if label > 0 else -1} {entries}\n")


KINDS = {"svm": write_svm}

if __name__ == "__main__":
    if len(sys.argv) != 5 or sys.argv[1] not in KINDS:
        sys.exit(__doc__)
    KINDS[sys.argv[1]](sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
