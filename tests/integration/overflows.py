#!/usr/bin/env python3
"""Sums and predictions that leave the range of numbers. Messages speak of weights, columns and rows, and not of the calls that noticed it, whatever the algorithm,
the workers and the nodes. Cases are drawn by seed."""
import os
import random
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["HAWSER_SOURCE"], "tests", "helpers"))
from command import CLEAN, HAWSER, run, some  # noqa: E402

import subprocess  # noqa: E402

# The algorithm, its words, and its target: classes, signs, numbers or none.
TRAININGS = [("kmeans", ["--clusters", "2"], None), ("kmeans", ["--clusters", "2", "--batch", "20"], None),
             ("kmeans", ["--clusters", "2", "--arithmetic", "f32"], None), ("kmeans", ["--clusters", "2", "--init-method", "random"], None),
             ("softmax", [], "abc"), ("softmax", ["--cv", "2"], "abc"), ("softmax", ["--l1-ratio", "0.5"], "abc"),
             ("svm", [], "01"), ("svm", ["--solver", "primal"], "01"), ("svm", ["--loss", "squared-epsilon"], "9"),
             ("svm", ["--cv", "2"], "01"), ("lasso", [], "9"), ("logistic", [], "01"), ("linear", [], "9")]


def call(*words):
    done = subprocess.run((HAWSER,) + tuple(map(str, words)), capture_output=True, text=True, env=CLEAN, timeout=120)
    return done.returncode, done.stdout, done.stderr


def write(path, lines):
    with open(path, "w") as file:
        file.write("\n".join(lines) + "\n")


def rows(chance, count, target, scales):
    head = ["y"] * (target is not None) + ["c%d" % j for j in range(len(scales))]
    lines = [",".join(head)]
    for i in range(count):
        own = [] if target is None else [target[i % len(target)] if target != "9" else "%.3f" % chance.gauss(0, 1)]
        lines.append(",".join(own + ["%.5g" % (chance.gauss(0, 1) * s) for s in scales]))
    return lines


def shape(chance):
    return chance.choice([[], ["--workers", "3"], ["-n", "2"], ["-n", "3", "--workers", "3"]])


def train(words):
    nodes = words.index("-n") if "-n" in words else None
    if nodes is None:
        return call("train", *words)
    count = words[nodes + 1]
    return call("run", "-n", count, "--", HAWSER, "train", *words[:nodes], *words[nodes + 2:])


def weights_say_weights(seed):
    chance = random.Random(seed)
    name, more, target = TRAININGS[seed % len(TRAININGS)]
    write("d.csv", rows(chance, 40, target, [1.0, 1.0]))
    write("w", [repr(10.0 ** chance.uniform(307.3, 308.2)) for _ in range(40)])
    code, _, said = train([name, "d.csv", "--weights", "w", *more, *shape(chance)])
    assert code == 7 and "allreduce" not in said and "weights" in said and ("inf" in said or "e+30" in said), (name, more, code, said)


def columns_say_their_name(seed):
    chance = random.Random(seed)
    name, more, target = TRAININGS[seed % len(TRAININGS)]
    scales = [1.0, 1.0, 1.0]
    huge = chance.randrange(3)
    scales[huge] = 10.0 ** chance.uniform(155, 307)
    write("d.csv", rows(chance, 40, target, scales))
    code, _, said = train([name, "d.csv", *more, *shape(chance)])
    if name in ("kmeans", "svm"):  # they look at rows first
        assert code == 7 and "allreduce" not in said and "row " in said, (name, more, code, said)
    else:
        assert code == 7 and "allreduce" not in said and "'c%d'" % huge in said, (name, more, code, said)


def predictions_name_the_row(seed):
    """predict and evaluate end with 3 and the number of the row, however many rows precede it."""
    chance = random.Random(seed)
    name, more, target = [t for t in TRAININGS if "--cv" not in t[1] and "--batch" not in t[1]][seed % 11]
    write("d.csv", rows(chance, 60, target, [1.0, 1.0, 1.0]))
    run("train", name, "d.csv", *more, "--output", "m", "--quiet")
    before = chance.choice([0, 3, 70000])
    lines = rows(chance, before + 3, target, [1.0, 1.0, 1.0])
    lines[before + 1] = ",".join([lines[before + 1].split(",")[0]] * (target is not None) + ["1.7e308", "1.7e308", "-1.7e308"])
    write("new.csv", lines)
    code, out, said = call("predict", "m", "new.csv")
    if code == 0:  # the linear predictor of this model is finite
        assert name != "kmeans" and "nan" not in out and "inf" not in out, (name, more, out[-100:])
        return
    assert code == 3 and "row %d:" % (before + 1) in said and len(out.splitlines()) in (before, before + 1), (name, more, code, said)
    code, _, said = call("evaluate", "m", "new.csv")
    assert code == 3 and "row %d:" % (before + 1) in said, (name, more, code, said)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for seed in some(range(len(TRAININGS))):
            weights_say_weights(seed)
            columns_say_their_name(seed)
        for seed in some(range(11)):
            predictions_name_the_row(seed)
