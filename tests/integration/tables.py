#!/usr/bin/env python3
"""Tables with words, dates and missing values, drawn by seed, train the model of the matrix that this file makes of them: by any number of
threads and nodes, from archives, pipes and caches. New data give the same predictions whatever the order of their columns."""
import csv
import datetime
import gzip
import json
import os
import random
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["HAWSER_SOURCE"], "tests", "helpers"))
from command import CLEAN, HAWSER, SANITIZED, run, some  # noqa: E402

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
MISSING = ["", "NA", "?"]


class Column:
    """A drawn column: its cells as text, and what each becomes: a list of the entries (offset, value)."""

    def __init__(self, chance, name, kind, rows, missing):
        self.name, self.kind = name, kind
        self.absent = [missing and chance.random() < 0.1 for _ in range(rows)]
        make = {"number": self.numbers, "word": self.words, "date": self.dates}[kind]
        self.cells, self.values = make(chance, rows)
        for i in range(rows):
            if self.absent[i]:
                self.cells[i] = chance.choice(MISSING)

    @staticmethod
    def numbers(chance, rows):
        values = [chance.choice([0.0, chance.gauss(0, 1), float(chance.randint(-3, 3))]) for _ in range(rows)]
        return ["%.17g" % v for v in values], values

    @staticmethod
    def words(chance, rows):
        known = ["w%d%s" % (k, chance.choice(["", " x", ",y", '"q"', "\u00e9"])) for k in range(chance.randint(1, 6))]
        values = [chance.choice(known) for _ in range(rows)]
        return list(values), values

    @staticmethod
    def dates(chance, rows):
        values = [EPOCH + datetime.timedelta(hours=chance.randint(-100000, 500000)) for _ in range(rows)]
        return [v.strftime("%Y-%m-%dT%H:%M:%SZ") for v in values], values

    def entries(self):
        """By row, and how many columns of the matrix there are. Missing numbers are the mean, missing words a level."""
        rows = range(len(self.values))
        if self.kind == "number":
            present = [v for v, gone in zip(self.values, self.absent) if not gone]
            total = 0.0
            for v in present:
                total += v
            mean = total / len(present)
            filled = [mean if gone else v for v, gone in zip(self.values, self.absent)]
            return [[(0, v)] if v != 0 else [] for v in filled], 1
        if self.kind == "word":
            texts = ["" if gone else v for v, gone in zip(self.values, self.absent)]
            levels = sorted(set(texts), key=lambda text: text.encode())
            return [[(levels.index(texts[i]), 1.0)] for i in rows], len(levels)
        out = []
        for v in self.values:
            seconds = (v - EPOCH).total_seconds()
            days = [(0, seconds / 86400.0)] if seconds != 0 else []
            out.append(days + [(v.month, 1.0), (13 + v.weekday(), 1.0), (20 + v.hour, 1.0)])
        return out, 1 + 12 + 7 + 24


def draw(seed):
    chance = random.Random(seed)
    rows = chance.randint(30, 400)
    kinds = ["word"] + [chance.choice(["number", "word", "date"]) for _ in range(chance.randint(1, 5))] + ["number"]
    missing = chance.random() < 0.5
    columns = [Column(chance, "c%d" % k, kind, rows, missing and kind != "date") for k, kind in enumerate(kinds)]
    target = [chance.gauss(0, 1) for _ in range(rows)]
    return chance, columns, target, missing


def write_csv(path, columns, target):
    with open(path, "w", newline="") as out:
        rows = csv.writer(out, lineterminator="\n")
        rows.writerow([c.name for c in columns] + (["y"] if target else []))
        for i in range(len(columns[0].cells)):
            rows.writerow([c.cells[i] for c in columns] + (["%.17g" % target[i]] if target else []))


def write_svmlight(path, columns, target):
    made = [c.entries() for c in columns]
    with open(path, "w") as out:
        for i, y in enumerate(target):
            first, entries = 1, []
            for by_row, width in made:
                entries += ["%d:%.17g" % (first + at, value) for at, value in by_row[i]]
                first += width
            out.write("%.17g %s\n" % (y, " ".join(entries)))
    return sum(width for _, width in made)


def tensors(path):
    with open(path, "rb") as model:
        raw = model.read()
    length = struct.unpack("<Q", raw[:8])[0]
    head = json.loads(raw[8:8 + length])
    body = raw[8 + length:]
    return {name: body[slice(*tensor["data_offsets"])] for name, tensor in head.items()
            if name != "__metadata__" and name != "missing.means"}, head["__metadata__"]


def piped(path, *words):
    with open(path, "rb") as data:
        out = subprocess.run((HAWSER,) + words, stdin=data, capture_output=True, text=True, env=CLEAN, timeout=300)
    assert out.returncode == 0, (words, out.stderr)
    return out.stdout


def check(seed):
    chance, columns, target, missing = draw(seed)
    write_csv("t.csv", columns, target)
    width = write_svmlight("t.svm", columns, target)
    dates = ",".join(c.name for c in columns if c.kind == "date")
    how = ["--target", "y"] + (["--dates", dates] if dates else []) + (["--missing", "mean,level"] if missing else [])
    solve = ["--lambda-ratio", "0.1", "--quiet", "--workers", "3"]
    run("train", "lasso", "t.svm", "-o", "m.svm", *solve)
    expected, facts = tensors("m.svm")
    assert int(facts["columns"]) <= width, seed
    with gzip.open("t.csv.gz", "wb") as out, open("t.csv", "rb") as data:
        out.write(data.read())
    run("data", "convert", "t.csv", *how, "-o", "t.hwc")
    ways = {"one": ["train", "lasso", "t.csv", *how], "threads": ["train", "lasso", "t.csv", "--threads", "1", *how],
            "archive": ["train", "lasso", "t.csv.gz", *how], "cache": ["train", "lasso", "t.hwc"]}
    for nodes in (2, 3):
        ways["%d nodes" % nodes] = ["run", "-n", str(nodes), "--", "train", "lasso", "t.csv", *how]
    for name, words in ways.items():
        run(*words, "-o", "m", *solve)
        got, facts = tensors("m")
        assert got == expected, (seed, name, {k: (got.get(k), expected.get(k)) for k in expected if got.get(k) != expected[k]})
        assert "schema" in facts and "names" not in facts, (seed, name)
    straight = run("predict", "m", "t.csv")
    assert straight == run("predict", "m.svm", "t.svm"), seed
    shuffled = columns + [Column(chance, "extra", "word", len(target), False)]
    chance.shuffle(shuffled)
    write_csv("s.csv", shuffled, None)
    for words in (("predict", "m", "s.csv"), ("predict", "m", "t.hwc"), ("predict", "m", "t.csv.gz")):
        assert straight == run(*words), (seed, words)
    assert straight == piped("s.csv", "predict", "m", "-"), seed
    evaluated = run("evaluate", "m", "t.csv")
    assert evaluated == run("evaluate", "m.svm", "t.svm"), seed


def penalties_are_of_the_tables_columns():
    """A line of --penalty-factors or of a bound applies to all levels."""
    chance, rows = random.Random(3), 200
    columns = [Column(chance, name, kind, rows, False) for name, kind in (("a", "word"), ("b", "number"), ("c", "word"))]
    write_csv("p.csv", columns, [chance.gauss(0, 1) for _ in range(rows)])
    with open("p.factors", "w") as out:
        out.write("1000000\n1\n1\n")
    with open("p.upper", "w") as out:
        out.write("inf\ninf\n0\n")
    run("train", "lasso", "p.csv", "--target", "y", "--lambda-ratio", "1e-6", "--quiet", "-o", "m", "--penalty-factors", "p.factors",
        "--upper", "p.upper")
    lines = [line.split("\t") for line in run("info", "m", "--top", "1000").splitlines() if "\t" in line]
    assert any(name == "b" for _, name in lines), lines
    assert not any(name.startswith("a=") for _, name in lines), lines
    assert any(name.startswith("c=") for _, name in lines) and all(float(v) <= 0 for v, name in lines if name.startswith("c=")), lines


def labels_are_words():
    chance = random.Random(4)
    with open("l.csv", "w") as out:
        out.write("x,class\n")
        for _ in range(300):
            x = chance.gauss(0, 1)
            out.write("%.17g,%s\n" % (x, "sick" if x + chance.gauss(0, 0.3) > 0 else "healthy"))
    for launch in ((), ("run", "-n", "2", "--")):
        run(*launch, "train", "logistic", "l.csv", "--target", "class", "--lambda-ratio", "0.01", "--quiet", "-o", "l%d" % len(launch))
    assert tensors("l0")[0] == tensors("l4")[0]
    assert set(run("predict", "l0", "l.csv", "--labels").split()) == {"sick", "healthy"}
    measured = dict(line.split() for line in run("evaluate", "l0", "l.csv").splitlines() if len(line.split()) == 2)
    assert float(measured["accuracy"]) > 0.8, measured
    assert "healthy" in run("evaluate", "l0", "l.csv")
    classes = json.loads(run("evaluate", "l0", "l.csv", "--json"))["classes"]
    assert [one["label"] for one in classes] == ["healthy", "sick"], classes
    out = subprocess.run((HAWSER, "train", "lasso", "l.csv", "--target", "class"), capture_output=True, text=True, env=CLEAN, timeout=60)
    assert out.returncode == 3 and "the target has words" in out.stderr, out.stderr


def an_offset_is_not_forgotten():
    """A model that was trained with an offset predicts without one only with --offset none."""
    with open("o.csv", "w") as out:
        out.write("x,o,w,y\n" + "".join("%d,%d,%d,%d\n" % (i % 7, i % 3, 1 + i % 2, i % 5) for i in range(50)))
    run("train", "lasso", "o.csv", "--target", "y", "--offset", "o", "--weights", "w", "--lambda-ratio", "0.1", "--quiet", "-o", "m")
    out = subprocess.run((HAWSER, "predict", "m", "o.csv"), capture_output=True, text=True, env=CLEAN, timeout=60)
    assert out.returncode == 2 and "the model was trained with --offset o" in out.stderr, out.stderr
    with_offset = [float(v) for v in run("predict", "m", "o.csv", "--offset", "o").split()]
    without = [float(v) for v in run("predict", "m", "o.csv", "--offset", "none").split()]
    assert all(abs(a - b - i % 3) < 1e-12 for i, (a, b) in enumerate(zip(with_offset, without))), (with_offset, without)
    out = subprocess.run((HAWSER, "evaluate", "m", "o.csv", "--offset", "o"), capture_output=True, text=True, env=CLEAN, timeout=60)
    assert out.returncode == 0 and "the model was trained with --weights w" in out.stderr, out.stderr


def validation_data_match_by_name():
    """With words and without, whatever the order of the columns, and where the target is the first column by default."""
    chance, rows = random.Random(6), 120
    for kinds in (("number", "number", "number"), ("number", "word", "number")):
        columns = [Column(chance, "c%d" % k, kind, rows, False) for k, kind in enumerate(kinds)]
        y = Column(chance, "y", "number", rows, False)
        write_csv("v.csv", [y] + columns, None)
        write_csv("v2.csv", [columns[2], y, columns[0], columns[1]], None)
        errors = [json.loads(run("train", "lasso", "v.csv", "--lambda-ratio", "0.1", "--quiet", "--json", "--validation", path))["validation_mse"]
                  for path in ("v.csv", "v2.csv")]
        assert errors[0] == errors[1], (kinds, errors)


def caches_keep_their_order():
    """A cache has the columns and the numbers of words of its conversion: other ones than the model's are refused, and a missing target is allowed."""
    with open("k.csv", "w") as out:
        out.write("a,b,y\n" + "".join("%d,%d,%s\n" % (i % 7, i % 3, "yes" if i % 5 > 2 else "no") for i in range(60)))
    with open("k3.csv", "w") as out:
        out.write("a,b,y\n" + "".join("%d,%d,%s\n" % (i % 7, i % 3, ("maybe", "no", "yes")[i % 3]) for i in range(60)))
    run("train", "logistic", "k.csv", "--target", "y", "--lambda-ratio", "0.1", "--quiet", "-o", "m")
    for columns, name in (("a,b", "ab"), ("b,a", "ba")):
        with open(name + ".csv", "w") as out:
            rows = csv.DictReader(open("k.csv"))
            out.write(columns + ",y\n" + "".join(",".join(row[c] for c in columns.split(",") + ["y"]) + "\n" for row in rows))
        run("data", "convert", name + ".csv", "--target", "y", "-o", name + ".hwc")
    run("data", "convert", "k3.csv", "--target", "y", "-o", "k3.hwc")
    run("data", "convert", "k.csv", "--target", "none", "--ignore", "y", "-o", "bare.hwc")
    straight = run("predict", "m", "k.csv")
    for good in ("ab.hwc", "ab.csv", "ba.csv", "k3.hwc", "bare.hwc"):
        assert run("predict", "m", good) == straight, good
    assert run("evaluate", "m", "ab.hwc") == run("evaluate", "m", "k.csv")
    for words, status, text in ((("predict", "m", "ba.hwc"), 3, "column 'b' is where the model has 'a' (0 columns before it are the same)"),
                                (("evaluate", "m", "k3.hwc"), 3, "its target has other words than the model's"),
                                (("train", "logistic", "ab.hwc", "--ignore", "a"), 2, "cannot select columns or dates"),
                                (("train", "logistic", "k.csv", "--target", "y", "--lambda-ratio", "0.1", "--validation", "ba.hwc"), 3,
                                 "column 'b' is where the model has 'a' (0 columns before it are the same)")):
        out = subprocess.run((HAWSER, *words), capture_output=True, text=True, env=CLEAN, timeout=60)
        assert out.returncode == status and text in out.stderr, (words, out.returncode, out.stderr)


def nodes_refuse_alike():
    """A word that one node alone meets in a column of numbers is refused with its line, on any number of nodes."""
    with open("mixed.csv", "w") as out:
        out.write("y,a\n" + "".join("%d,%d\n" % (i, i % 7) for i in range(5000)) + "1,oops\n")
    for launch in ((), ("run", "-n", "3", "--")):
        out = subprocess.run((HAWSER, *launch, "train", "lasso", "mixed.csv"), capture_output=True, text=True, env=CLEAN, timeout=60)
        assert out.returncode == 3, (launch, out.returncode, out.stderr)
        assert "mixed.csv:5002: column 1 'a' has numbers (5000) and words (1, as here 'oops')" in out.stderr, (launch, out.stderr)


def nodes_agree_before_words_are_columns():
    """One node has only numbers, the others only words: refused as in one process, and never read as columns of their own."""
    with open("halves.csv", "w") as out:
        out.write("y,a\n" + "".join("%d,%d\n" % (i, i % 7) for i in range(4000)) + "".join("%d,w%d\n" % (i, i % 7) for i in range(8000)))
    for launch in ((), ("run", "-n", "3", "--")):
        out = subprocess.run((HAWSER, *launch, "train", "lasso", "halves.csv"), capture_output=True, text=True, env=CLEAN, timeout=60)
        assert out.returncode == 3, (launch, out.returncode, out.stderr)
        assert "halves.csv:4002: column 1 'a' has numbers (4000) and words (8000, as here 'w0')" in out.stderr, (launch, out.stderr)


def main():
    seeds = range(200) if os.environ.get("HAWSER_TEST_LONG") else range(8)
    with tempfile.TemporaryDirectory(prefix="hawser-tables-") as folder:
        os.chdir(folder)
        for seed in some(seeds, 4) if SANITIZED else seeds:
            check(seed)
        penalties_are_of_the_tables_columns()
        labels_are_words()
        an_offset_is_not_forgotten()
        validation_data_match_by_name()
        caches_keep_their_order()
        nodes_refuse_alike()
        nodes_agree_before_words_are_columns()


main()
