#!/usr/bin/env python3
"""The ready algorithms see columns of other nodes through HAWSER_FETCHED: over three nodes they fetch the columns of their working sets and no
others, and give the bits of one node."""
import json
import os
import random
import struct
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["HAWSER_SOURCE"], "tests", "helpers"))
from command import run  # noqa: E402

ROWS, COLUMNS, SUPPORT = 90, 30, (2, 13, 27)  # one column of each node
HEAD = 16  # number and length of a column in a message
# Columns that the three nodes fetch in all, as counted before HAWSER_FETCHED existed. Each node lacks 20 of 30.
FETCHED = [(["lasso"], 6), (["logistic"], 3), (["poisson"], 2), (["multitask", "--target", "0,1"], 6)]


def write(path, kind):
    chance = random.Random(3)
    with open(path, "w") as out:
        for _ in range(ROWS):
            x = [round(chance.gauss(0, 1), 3) for _ in range(COLUMNS)]
            y = sum(x[j] for j in SUPPORT) + 0.1 * chance.gauss(0, 1)
            y = {"logistic": int(y > 0), "poisson": max(0, round(y + 3))}.get(kind, round(y, 3))
            out.write(",".join(str(v) for v in ([y] + ([-y] if kind == "multitask" else []) + x)) + "\n")


def coefficients(path):
    with open(path, "rb") as model:
        content = model.read()
    length, = struct.unpack("<Q", content[:8])
    tensors = json.loads(content[8:8 + length])
    spans = {name: tensors[name]["data_offsets"] for name in tensors if name.startswith("coefficients.")}
    assert len(spans) == 2, tensors
    return {name: content[8 + length + begin:8 + length + end] for name, (begin, end) in spans.items()}


def train(words, path, nodes):
    model = "%s.%d.model" % (path, nodes)
    call = ["train", words[0], path] + words[1:] + ["--lambda-ratio", "0.3", "--workers", "3", "--quiet", "--json", "-o", model]
    out = run(*(["run", "-n", str(nodes), "--"] if nodes > 1 else []), *call)
    flows = {flow["kind"]: flow for flow in json.loads(out.strip().split("\n")[-1])["flows"] if "kind" in flow}
    return flows.get("fetch"), flows.get("columns"), coefficients(model)


def main():
    failed = 0
    for words, expected in FETCHED:
        path = words[0] + ".csv"
        write(path, words[0])
        none, nothing, alone = train(words, path, 1)
        asked, columns, over = train(words, path, 3)
        count = asked["bytes_plain"] // 4 if asked else 0
        received = columns["bytes_plain"] if columns else 0
        print("%s: %d columns fetched in %d bytes" % (words[0], count, received))
        if none is not None or nothing is not None:
            print("FAILED: %s on one node fetches columns" % words[0])
            failed = 1
        if count != expected or received != count * (HEAD + 8 * ROWS):
            print("FAILED: %s fetched %d columns in %d bytes instead of %d" % (words[0], count, received, expected))
            failed = 1
        if alone != over:
            print("FAILED: %s has other coefficients on three nodes" % words[0])
            failed = 1
    return failed


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        sys.exit(main())
