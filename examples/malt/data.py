#!/usr/bin/env python3
"""Writes data for the programs of this directory, which are drawn from the same truth for each seed. usage: data.py KIND FILE ROWS SEED

    svm      rows of 20 of 200 columns, as svmlight, with labels 1 and -1 by a plane
    factors  "user item rating" of 200 users and 100 items, by products of 3 factors
    clicks   "label feature ...": 6 fields of 20 values each; two of the fields matter together
"""
import math
import random
import sys

COLUMNS, ENTRIES = 200, 20
USERS, ITEMS, FACTORS = 200, 100, 3
FIELDS, VALUES = 6, 20


def svm_rows(draw, truth):
    normal = [truth.gauss(0, 1) for _ in range(COLUMNS)]
    while True:
        columns = sorted(draw.sample(range(COLUMNS), ENTRIES))
        values = [draw.gauss(0, 1) for _ in columns]
        label = sum(normal[column] * value for column, value in zip(columns, values)) + draw.gauss(0, 1)
        yield f"{1 if label > 0 else -1} " + " ".join(f"{column + 1}:{value:.4f}" for column, value in zip(columns, values))


def factors_rows(draw, truth):
    users, items = ([[truth.gauss(0, 1) for _ in range(FACTORS)] for _ in range(count)] for count in (USERS, ITEMS))
    while True:
        user, item = draw.randrange(USERS), draw.randrange(ITEMS)
        yield f"{user} {item} {3 + sum(a * b for a, b in zip(users[user], items[item])) + draw.gauss(0, 0.3):.3f}"


def clicks_rows(draw, truth):
    effect = [truth.gauss(0, 0.6) for _ in range(FIELDS * VALUES)]
    together = [[truth.gauss(0, 1.5) for _ in range(VALUES)] for _ in range(VALUES)]
    while True:
        values = [int(VALUES * draw.random() ** 2) for _ in range(FIELDS)]
        features = [field * VALUES + value for field, value in enumerate(values)]
        odds = sum(effect[feature] for feature in features) + together[values[0]][values[1]] - 1
        yield f"{int(draw.random() < 1 / (1 + math.exp(-odds)))} " + " ".join(map(str, features))


KINDS = {"svm": svm_rows, "factors": factors_rows, "clicks": clicks_rows}

if __name__ == "__main__":
    if len(sys.argv) != 5 or sys.argv[1] not in KINDS:
        sys.exit(__doc__)
    rows = KINDS[sys.argv[1]](random.Random(int(sys.argv[4])), random.Random(7))
    with open(sys.argv[2], "w") as file:
        file.writelines(f"{next(rows)}\n" for _ in range(int(sys.argv[3])))
