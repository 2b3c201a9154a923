#!/usr/bin/env python3
"""Labels that are whole numbers of 64 bits stay distinct, in whatever notation, from svmlight and CSV, for every number of threads and nodes. Labels are
drawn by seed; the models are those of the same rows with the labels numbered from 0."""
import gzip
import json
import os
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["HAWSER_SOURCE"], "tests", "helpers"))
from command import CLEAN, HAWSER, run, some  # noqa: E402


def call(*words, text=None):
    done = subprocess.run((HAWSER,) + words, capture_output=True, text=True, env=CLEAN, timeout=120, input=text)
    return done.returncode, done.stdout, done.stderr


def numbers(path):
    """The bytes of a model's numbers but for its labels, which are numbered alike."""
    with open(path, "rb") as file:
        data = file.read()
    return data[8 + int.from_bytes(data[:8], "little"):]


def notation(chance, label):
    if label != int(label):
        return chance.choice(["%g", "%.3f", "+%g" if label > 0 else "%g"]) % label
    text = str(int(label))
    return chance.choice([text, text + ".0", "+" + text if label >= 0 else text, text.replace("-", "-0") if label < 0 else "0" + text, text + "e0"])


def drawn_labels(chance):
    whole = [-2**63, 2**64 - 1, 2**53, 2**53 + 1, -2**53 - 1, -2**53, 2**63, 2**63 - 1, 2**63 - 2] + [chance.randint(2**53, 2**64 - 1) for _ in range(3)]
    return sorted(set(chance.sample(whole, 3) + [chance.choice(whole[2:4])] + chance.sample([0, 1, 5, -3, 0.5, -7.25], 2)))


def write(chance, labels):
    """Rows as svmlight and CSV, with the labels and with their numbers. Returns the numbers."""
    rows = [(chance.randrange(len(labels)), [round(chance.gauss(0, 1), 3) for _ in range(4)]) for _ in range(150)]
    rows += [(k, [1.0] * 4) for k in range(len(labels))]
    for name, label in (("w", lambda k: notation(chance, labels[k])), ("n", str)):
        with open(name + ".svm", "w") as svm, open(name + ".csv", "w") as table:
            for k, x in rows:
                x = [value + 2 * (j == k) for j, value in enumerate(x)]
                text = label(k)
                svm.write(" ".join([text] + ["%d:%r" % (j + 1, value) for j, value in enumerate(x)]) + "\n")
                table.write(",".join([text] + [repr(value) for value in x]) + "\n")
    with open("w.svm", "rb") as file:
        gzip.open("w.svm.gz", "wb").write(file.read())
    return [k for k, _ in rows]


def stay_distinct(seed):
    chance = random.Random(seed)
    labels = drawn_labels(chance)
    rows = write(chance, labels)
    words = [str(int(label)) if label == int(label) else "%g" % label for label in labels]
    algorithm, how = chance.choice([("softmax", ("--lambda", "0.01")), ("svm", ("--C", "1"))])
    run("train", algorithm, "n.svm", *how, "-k", "3", "-q", "-o", "n.st")
    expected = [words[int(float(k))] for k in run("predict", "n.st", "n.svm").split()]
    node = "--", HAWSER
    for launch, threads in some([((), "1"), ((), "4"), (("run", "-n", "2") + node, "1"), (("run", "-n", "3") + node, "2")], 2):
        code, _, said = call(*launch, "train", algorithm, "w.svm", *how, "--threads", threads, "-k", "3", "-q", "-o", "w.st")
        assert code == 0 and numbers("w.st") == numbers("n.st"), (seed, launch, said)
    for data in ("w.svm.gz", "-"):
        code, _, said = call("train", algorithm, data, *how, "-k", "3", "-q", "-o", "w.st", text=open("w.svm").read() if data == "-" else None)
        assert code == 0 and numbers("w.st") == numbers("n.st"), (seed, data, said)
    for data in ("w.svm", "w.csv", "w.svm.gz"):
        assert run("predict", "w.st", data).split() == expected, (seed, data)
        got, want = (json.loads(run("evaluate", fitted, rows_of, "--json")) for fitted, rows_of in (("w.st", data), ("n.st", "n.svm")))
        assert all(got[key] == want[key] for key in want if isinstance(want[key], float) or key == "rows"), (seed, data, got, want)
    large = [word for word in words if abs(float(word)) >= 2**53]
    one = chance.choice(large)
    for data in ("w.svm", "w.csv"):
        run("train", "logistic", data, "--positive", one, "--lambda", "0.01", "-q", "-o", "p.st")
        run("train", "logistic", data.replace("w", "n"), "--positive", str(words.index(one)), "--lambda", "0.01", "-q", "-o", "q.st")
        assert numbers("p.st") == numbers("q.st"), (seed, data, one)
    assert len(rows) == len(expected)


def others(seed):
    """Labels outside of 64 bits are refused where they are, small ones are numbers, and a regression has numbers whatever their size."""
    chance = random.Random(seed)
    outside = chance.choice([2**64 + chance.randint(0, 9), -2**63 - chance.randint(1, 9), 10**chance.randint(20, 300)])
    at = chance.randint(2, 30)
    lines = ["%d 1:%d" % (k % 3, k) for k in range(30)]
    with open("o.svm", "w") as file:
        file.write("\n".join(lines[:at - 1] + ["%d 1:1" % outside] + lines[at:] + ["%d 1:2" % 2**53]) + "\n")
    for launch in ((), ("run", "-n", "2", "--", HAWSER)):
        code, _, said = call(*launch, "train", "softmax", "o.svm", "--lambda", "1", "-k", "2")
        assert code != 0 and "o.svm:%d:1: the label is a whole number below -2^63 or above 2^64 - 1" % at in said, (outside, said)
    run("train", "lasso", "o.svm", "--lambda", "1", "-q", "-o", "r.st")
    with open("s.svm", "w") as file:
        file.write("\n".join(lines) + "\n")
    for data in ("s.svm", "-"):
        code, out, said = call("train", "softmax", data, "--lambda", "0.1", "-q", "-o", "s.st", text="\n".join(lines) if data == "-" else None)
        assert code == 0 and '"schema"' not in open("s.st", "rb").read().decode(errors="replace"), said
    with open("f.svm", "w") as file:
        file.write("7 1:1\n")
    run("train", "softmax", "w.svm", "--lambda", "0.01", "-q", "-o", "w.st")
    code, _, said = call("evaluate", "w.st", "f.svm")
    assert code != 0 and "the label 7 is none of the model's classes" in said, said


def main():
    os.chdir(tempfile.mkdtemp(dir=os.environ.get("TMPDIR")))
    for seed in some(range(4)):
        stay_distinct(seed)
        others(seed)


main()
