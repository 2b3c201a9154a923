#!/usr/bin/env python3
"""Inputs with many columns: lists of names, and the lines of words. Inputs are drawn by seed; what is right follows from how they were drawn."""
import json
import os
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["HAWSER_SOURCE"], "tests", "helpers"))
from command import CLEAN, HAWSER, run, some  # noqa: E402


def refusal(*words):
    done = subprocess.run((HAWSER,) + words, capture_output=True, text=True, env=CLEAN, timeout=120)
    assert done.returncode != 0, (words, done.stdout)
    return done.stderr.strip()


def places(seed):
    """The line of a word among numbers is right, in whichever column, row and file, while all other columns have words that begin, and values that
    are missing, in rows of their own."""
    chance = random.Random(seed)
    width, rows, files = chance.randint(2, 40), chance.randint(3, 30), chance.randint(1, 3)
    wrong, row, file = chance.randrange(width), chance.randrange(rows), chance.randrange(files)
    begins = [chance.randrange(rows) for _ in range(width)]
    names = ["part%d.csv" % k for k in range(files)]
    for k, name in enumerate(names):
        lines = [",".join(["y"] + ["c%d" % j for j in range(width)])]
        for r in range(rows):
            cells = ["w%d" % chance.randrange(3) if r >= begins[j] else "" for j in range(width)]
            cells[wrong] = "word" if (k, r) == (file, row) else str(chance.randrange(9))
            lines.append(",".join([str(r)] + cells))
        with open(name, "w") as out:
            out.write("\n".join(lines) + "\n")
    said = refusal("data", "info", *names, "--target", "y", "--missing", "zero,level", "--threads", str(chance.randint(1, 3)))
    assert "%s:%d: " % (names[file], row + 2) in said and "'c%d'" % wrong in said, (seed, said, names[file], row + 2)


def listed(names, text):
    """The columns that a list names: of each item the longest beginning up to a comma that is a name or a number."""
    found = []
    while text is not None:
        items = text.split(",")
        for used in [len(items)] + list(range(len(items) - 1, 0, -1)):
            item = ",".join(items[:used])
            if item in names or (used == 1 and item.lstrip("-").isdigit() and -len(names) <= int(item) < len(names)):
                found.append(names.index(item) if item in names else int(item) % len(names))
                break
        else:
            return None
        text = ",".join(items[used:]) if used < len(items) else None
    return found


def lists(seed):
    """--ignore and --categories read lists whose names have commas and digits in them."""
    chance = random.Random(seed)
    width = chance.randint(3, 60)
    names = []
    while len(names) < width:
        name = ",".join(chance.choice(["a", "b", "ab", "1", "2", "07", "a b"]) for _ in range(chance.choice([1, 1, 2, 3])))
        names += [name] if name not in names else ["n%d" % len(names)]
    with open("names.csv", "w") as out:
        out.write(",".join('"%s"' % name for name in ["y"] + names) + "\n")
        for r in range(3):
            out.write(",".join(str(chance.randrange(9)) for _ in range(width + 1)) + "\n")
    asked = chance.sample(names, chance.randint(1, width - 2))
    text = ",".join(chance.choice([name, str(names.index(name) + 1)]) for name in asked)
    expected = listed(["y"] + names, text)
    if expected is None or 0 in expected or len(set(expected)) >= width:
        return
    info = json.loads(run("data", "info", "names.csv", "--target", "y", "--ignore", text, "--json"))
    assert info["columns"] == width - len(set(expected)), (seed, text, expected, info)
    if len(set(expected)) == len(expected):
        said = run("train", "lasso", "names.csv", "--target", "y", "--lambda", "1", "--categories", text, "-o", "m")
        kinds = "%d of words" % width if len(expected) == width else "%d of numbers, %d of words" % (width - len(expected), len(expected))
        assert kinds in said, (seed, text, said)


def many():
    """60,000 columns of words, all of them in a list: what a command reads, it predicts with."""
    width = 20000 if os.environ.get("HAWSER_SANITIZE") else 60000
    names = ["c%d" % j for j in range(width)]
    with open("wide.csv", "w") as out:
        out.write(",".join(["y"] + names) + "\n")
        for r in range(4):
            out.write(",".join(["%g" % [0, 2.5, 3, 5.5][r]] + ["abcd"[(j + r * (j % 3 + 1)) % 4] for j in range(width)]) + "\n")
    with open("wide.conf", "w") as out:
        out.write("categories = %s\n" % ",".join(names))
    said = run("train", "lasso", "wide.csv", "--target", "y", "-c", "wide.conf", "--lambda", "0.001", "-o", "wide.model")
    levels = sum(4 if j % 3 != 1 else 2 for j in range(width))
    assert "%d: %d of words with %d levels" % (levels, width, levels) in said, said
    got = [float(line) for line in run("predict", "wide.model", "wide.csv").split()]
    assert all(abs(a - b) < 0.1 for a, b in zip(got, [0, 2.5, 3, 5.5])), got


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for case in some(range(24)):
        places(case)
        lists(case)
    many()
