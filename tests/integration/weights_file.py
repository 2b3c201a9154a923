#!/usr/bin/env python3
"""Weights in a file of their own are those of a column: rows of weight 0 equal no rows, in trainings and in evaluate, whatever they lack."""
import json
import os
import random
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["HAWSER_SOURCE"], "tests", "helpers"))
from command import CLEAN, HAWSER, some  # noqa: E402

LACKS = ("number", "target", "exposure", "exposure of 0", "date", "hour", "unknown word", "word")
TRAININGS = (["poisson", "--exposure", "e", "--lambda", "0.1"], ["poisson", "--exposure", "FILE", "--lambda", "0.1"], ["lasso", "--lambda", "0.1"],
             ["svm", "--loss", "squared-epsilon"], ["softmax", "--lambda", "0.1"])
KINDS = ("column", "file", "dropped")


def row_of(chance, lacks):
    y, e, a, b = chance.randint(0, 4), chance.choice([1, 2, 3]), chance.gauss(0, 1), chance.gauss(0, 1)
    date, word = f"2024-0{chance.randint(1, 9)}-1{chance.randint(0, 9)}", chance.choice(["red", "blue"])
    row = {"y": y, "e": e, "a": a, "b": b, "date": date, "word": word}
    row.update({"number": {"a": ""}, "target": {"y": "NA"}, "exposure": {"e": ""}, "exposure of 0": {"e": 0}, "date": {"date": ""},
                "hour": {"date": date + " 05:00:00"}, "unknown word": {"word": "green"}, "word": {"word": ""}}.get(lacks, {}))
    return row


def write(stem, chance, lacks, ignored):
    """The same rows three times: with a column of weights, with a file, and without rows of weight 0."""
    weights = [1] * 10 + [chance.choice([0, 1, 2]) for _ in range(60)]
    rows = [row_of(chance, lacks if w == 0 else None) for w in weights]
    for kind in KINDS:
        kept = [(row, w) for row, w in zip(rows, weights) if w > 0 or kind != "dropped"]
        names = [name for name in rows[0] if name != ignored]
        with open(f"{stem}.{kind}.csv", "w", encoding="ascii") as file:
            print(",".join(names + ["w"] * (kind == "column")), file=file)
            for row, w in kept:
                print(",".join([str(row[name]) for name in names] + [str(w)] * (kind == "column")), file=file)
        for name, numbers in (("w", [w for _, w in kept]), ("e", [row["e"] if row["e"] != "" else 0 for row, _ in kept])):
            with open(f"{stem}.{kind}.{name}", "w", encoding="ascii") as file:
                print(*numbers, sep="\n", file=file)


def run(*words):
    done = subprocess.run([HAWSER, *words], capture_output=True, text=True, env=CLEAN, timeout=60, check=False)
    assert done.returncode == 0, (words, done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def check(chance, training, lacks, threads):
    beside = "FILE" in training
    write("train", chance, lacks, "e" if beside or training[0] != "poisson" else None)
    write("new", chance, lacks, "e" if beside or training[0] != "poisson" else None)
    found = []
    for kind in KINDS:
        options = {stem: ["--weights", "w" if kind == "column" else f"{stem}.{kind}.w"] for stem in ("train", "new")}
        for stem in options:
            options[stem] += ["--exposure", f"{stem}.{kind}.e" if beside else "e"] if training[0] == "poisson" else []
        words = [word for word in training if word not in ("--exposure", "e", "FILE")]
        printed = run("train", *words, f"train.{kind}.csv", "--target", "y", "--dates", "date", "-o", "m", "-q", "--json", "--workers", "1", "--threads", threads,
                      *options["train"])
        measures = run("evaluate", "m", f"new.{kind}.csv", "-q", "--json", "--threads", threads, *options["new"])
        found.append({"objective of the training": printed["objective"], **{k: v for k, v in measures.items() if isinstance(v, float)}})
    for other in found[1:]:
        assert found[0].keys() == other.keys() and all(abs(v - other[k]) <= 1e-6 * max(1, abs(v)) for k, v in found[0].items()), (training, lacks, found)


def main():
    chance = random.Random(int(os.environ.get("HAWSER_TEST_SEED", "1")))
    cases = [(training, lacks) for training in TRAININGS for lacks in LACKS if "exposure" not in lacks or training[0] == "poisson"]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for training, lacks in some(cases):
            check(chance, training, lacks, chance.choice(["1", "3"]))
        os.chdir("/")


if __name__ == "__main__":
    main()
