#!/usr/bin/env python3
"""A column or target whose values differ in the input, and are equal in the type that stores them, is refused by an intercept, with its name. One of equal
values is no obstacle and has coefficient 0. Drawn over formats, types, storages, algorithms, workers, threads, nodes and weights."""
import fractions
import json
import os
import random
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["HAWSER_SOURCE"], "tests", "helpers"))
from command import CLEAN, HAWSER, some  # noqa: E402

ROWS, COLUMNS = 90, 4
SPELLINGS = {  # texts of one number, and such that differ only beyond f32, and beyond f64
    "f32": (["7.1", "7.10", "71e-1"], ["7.1", "7.100000001"]),
    "f64": (["0.30000000000000004"], ["0.30000000000000004", "0.30000000000000005"]),
    "far": (["12345678901234567891", "12345678901234567891.0"], ["12345678901234567891", "12345678901234567892"]),
    "whole": (["33554433"], ["33554433", "33554434"]),
    "none": (["0", "0.0", "-0"], ["1e-50", "2e-50"]),
}


def draw(chance, seed):
    case = {"seed": seed, "format": chance.choice(["csv", "csv", "table", "svm", "svm", "npy", "npy", "array.mtx", "coordinate.mtx"]), "type": chance.choice(["f32", "f64"]),
            "algorithm": chance.choice(["lasso", "svm", "softmax", "logistic"]), "kind": chance.choice(sorted(SPELLINGS)),
            "differ": chance.random() < 0.6, "nodes": chance.choice([1, 1, 2, 3]), "threads": chance.choice(["1", "3"]),
            "intercept": chance.random() < 0.75, "cache": chance.choice([None, None, [], ["--by-row"]]),
            "weights": chance.random() < 0.4, "at": chance.randrange(COLUMNS), "late": chance.random() < 0.4, "pad": chance.random() < 0.3}
    case["target"] = case["algorithm"] in ("lasso", "svm") and chance.random() < 0.2 and case["kind"] != "none"
    if case["format"] not in ("csv", "table"):
        case["weights"] = False
    if case["format"].endswith("mtx"):
        case["nodes"], case["target"] = 1, False  # over nodes such a column is unknown
    if case["target"] and case["kind"] == "far":
        case["kind"] = "f64"  # whole targets beyond 2^53 are kept apart as words
    return case


def spelled(chance, case, i):
    same, other = SPELLINGS[case["kind"]]
    if not case["differ"]:
        return chance.choice(same)
    return other[int(i == ROWS - 1)] if case["late"] else other[i] if i < 2 else chance.choice(other)


def rows_of(chance, case):
    """Texts: target, columns, weight. Rows of weight 0 have other numbers in a column of equal ones."""
    rows = []
    for i in range(ROWS):
        x = [repr(chance.gauss(0, 1)) for _ in range(COLUMNS)]
        y = str(int(float(x[0]) + chance.gauss(0, 1) > 0)) if case["algorithm"] in ("softmax", "logistic") else repr(float(x[0]) + chance.gauss(0, 1))
        weight = 0 if case["weights"] and 10 < i < 20 else 1
        text = repr(chance.gauss(0, 1)) if weight == 0 else spelled(chance, case, i)
        if case["target"]:
            y = text
        else:
            x[case["at"]] = text
        rows.append((y, x, weight))
    return rows


def write(path, case, rows):
    with open(path, "wb") as file:
        if case["format"] == "npy":
            data = b"".join(struct.pack(f"<{COLUMNS + 1}d", *(float(t) for t in [y, *x])) for y, x, _ in rows)
            head = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({ROWS}, {COLUMNS + 1}), }}"
            head += " " * (117 - len(head)) + "\n"
            file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data)
            return
        lines = []
        if case["format"].endswith("mtx"):
            places = [(i, j) for j in range(COLUMNS) for i in range(ROWS)]
            if case["format"] == "array.mtx":
                lines = ["%%MatrixMarket matrix array real general", f"{ROWS} {COLUMNS}"] + [rows[i][1][j] for i, j in places]
            else:
                random.Random(case["seed"]).shuffle(places)
                lines = ["%%MatrixMarket matrix coordinate real general", "% a comment", f"{ROWS} {COLUMNS} {ROWS * COLUMNS}"]
                lines += [f"{i + 1} {j + 1}  {rows[i][1][j]}" for i, j in places]
            file.write(("\n".join(lines) + "\n").encode())
            with open(path + ".y", "w", encoding="ascii") as target:
                print(*(y for y, _, _ in rows), sep="\n", file=target)
            return
        if case["format"] != "svm":
            lines.append(",".join(["w", "y"] + [f"x{j}" for j in range(COLUMNS)] + ["word"] * (case["format"] == "table")))
        for i, (y, x, weight) in enumerate(rows):
            if case["format"] == "svm":
                lines.append(" ".join([y] + [f"{j + 1}:{t}" for j, t in enumerate(x)]))
            else:
                lines.append(",".join([str(weight), y] + x + [("red", "blue")[i % 2]] * (case["format"] == "table")))
            if case["pad"]:
                lines[-1] += "\r" if case["format"] != "svm" else " # comment: 1:2"
        file.write(("\n".join(lines) + "\n").encode())


def exact(case, text):
    """What the input has: text is a decimal fraction, and a binary file has doubles."""
    return fractions.Fraction(float(text)) if case["format"] == "npy" else fractions.Fraction(text)


def stored(case, text):
    single = case["type"] == "f32" and not case["target"]
    return struct.unpack("<f", struct.pack("<f", float(text)))[0] if single else float(text)


def check(folder, seed):
    chance = random.Random(seed)
    case = draw(chance, seed)
    rows = rows_of(chance, case)
    counted = [y if case["target"] else x[case["at"]] for y, x, weight in rows if weight > 0]
    constant = len({stored(case, text) for text in counted}) == 1
    refused = constant and case["intercept"] and len({exact(case, text) for text in counted}) > 1
    if not constant and case["kind"] != "none":  # the values differ by a few roundings: far_from_zero.py has the limit
        return
    data, model = os.path.join(folder, "d." + case["format"].replace("table", "csv")), os.path.join(folder, "m")
    write(data, case, rows)
    roles = ["--target", "y", "--weights" if case["weights"] else "--ignore", "w"] if case["format"] in ("csv", "table") else []
    roles += ["--target", data + ".y"] if data.endswith("mtx") else []
    if case["cache"] is not None:
        words = [HAWSER, "data", "convert", data, "-q", "-o", data + ".hwc", "--type", case["type"], *roles, *case["cache"]]
        subprocess.run(words, check=True, env=CLEAN, timeout=60)
        data, roles = data + ".hwc", []
    options = ["--loss", "squared-epsilon"] if case["algorithm"] == "svm" else ["--lambda", "0.05"]
    options += [] if case["intercept"] else ["--no-intercept"]
    words = ["train", case["algorithm"], data, "-q", "--json", "-o", model, "--threads", case["threads"], "--workers", str(case["nodes"])] + options + roles
    words += ["--type", case["type"]] if case["cache"] is None else []
    launched = [HAWSER, "run", "-n", str(case["nodes"]), "--"] if case["nodes"] > 1 else [HAWSER]
    done = subprocess.run(launched + words, capture_output=True, text=True, env=CLEAN, timeout=60, check=False)
    name = ("the target" + ("" if case["format"] in ("svm", "npy") else " 'y'") if case["target"] else
            f"column 'x{case['at']}'" if case["format"] in ("csv", "table") else
            f"column '{case['at'] + (case['format'] != 'npy' or case['cache'] is None)}'")  # npy: of the file, or of the cache
    if not refused:
        lost = case["kind"] == "far" and not case["intercept"]  # nothing is said of the training of such columns
        assert done.returncode == 0 or (lost and done.returncode == 7), (case, words, done.stderr)
        return
    kind = "f64" if case["target"] else case["type"]
    assert done.returncode == 3 and f"{name}: the mean is" in done.stderr and f"equal in type {kind}" in done.stderr, (case, words, done)


def main():
    with tempfile.TemporaryDirectory() as folder:
        first, count = int(os.environ.get("HAWSER_TEST_SEED", "1")), 2000 if os.environ.get("HAWSER_TEST_LONG") else 60
        for seed in some(range(first, first + count)):
            check(folder, seed)


if __name__ == "__main__":
    main()
