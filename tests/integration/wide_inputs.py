#!/usr/bin/env python3
"""Inputs with many columns: lists of names, lines of words, and columns of which few have entries. Inputs are drawn by seed; what is right follows from how they were drawn."""
import json
import os
import random
import resource
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["HAWSER_SOURCE"], "tests", "helpers"))
from command import CLEAN, HAWSER, SANITIZED, run, some  # noqa: E402


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
    width = 20000 if SANITIZED else 60000
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


def tensors(path):
    """The numbers of a model by tensor, and its facts."""
    with open(path, "rb") as file:
        data = file.read()
    length, = struct.unpack("<Q", data[:8])
    head, body, found = json.loads(data[8:8 + length]), data[8 + length:], {}
    facts = head.pop("__metadata__")
    for name, about in head.items():
        begin, end = about["data_offsets"]
        kind = {"F64": "d", "I64": "q"}[about["dtype"]]
        found[name] = about["shape"], struct.unpack("<%d%s" % ((end - begin) // 8, kind), body[begin:end])
    return found, facts


def spread(model, columns, width):
    """What a model of neighbouring columns is when column k is columns[k] of many."""
    out = {}
    for name, (shape, numbers) in model.items():
        if name in ("coefficients", "centres"):
            shape, had = [shape[0], width], shape[1]
            sparse = {line * width + columns[k]: numbers[line * had + k] for line in range(shape[0]) for k in range(had) if numbers[line * had + k] != 0}
            out[name] = shape, sparse
        elif name in ("coefficients.index", "path.index"):
            out[name] = shape, tuple(columns[k] for k in numbers)
        else:
            out[name] = shape, numbers
    return out


def svmlight(name, rows, columns):
    with open(name, "w") as out:
        for target, row in rows:
            out.write("%g %s\n" % (target, " ".join("%d:%r" % (columns[k] + 1, row[k]) for k in sorted(row))))


def draw_rows(chance, width, count):
    """Rows with a target of two classes, and every column in one of them at least. They are not so full that the command stores them densely."""
    rows = []
    for i in range(count):
        row = {k: round(chance.gauss(0, 1), 3) for k in chance.sample(range(width), chance.randint(1, width // 2))}
        row[i % width] = 1.5
        rows.append(((sum(row.values()) + chance.gauss(0, 1) > 0) + 0, row))
    return rows


def far_columns(seed):
    """A training on columns far apart has the bits of one on the same columns side by side, on one node and on several, with its path, folds and
    validation data. Its plan needs no memory for columns without entries."""
    chance = random.Random(seed)
    width, top = chance.randint(4, 9), chance.randint(200000, 3000000)
    columns = sorted(chance.sample(range(top), width - 1)) + [top]
    rows = draw_rows(chance, width, chance.randint(24, 60))
    for name, places in (("far", columns), ("near", range(width))):
        svmlight(name + ".svm", rows, places)
        svmlight(name + ".v.svm", rows[:9], places)
    algorithm, options = chance.choice([
        ("softmax", ["--lambda", "0.01"]), ("softmax", ["--cv", "2"]), ("svm", []), ("svm", ["--loss", "squared-hinge"]), ("svm", ["--cv", "2"]),
        ("kmeans", ["--clusters", "3", "--target", "0"]), ("lasso", ["--cv", "3"]), ("logistic", ["--lambda", "0.02"]), ("poisson", ["--lambda", "0.02"]),
        ("linear", []), ("logistic", ["--l1-ratio", "0", "--lambda", "0.1"])])
    by_row = algorithm in ("softmax", "svm", "kmeans")
    if algorithm in ("softmax", "lasso", "logistic") and "--cv" not in options and chance.random() < 0.5:
        options = options + ["--validation", "@.v.svm"]
    workers = chance.choice([1, 2, 3])
    nodes = chance.choice([1, 1, 2, 3]) if workers == 3 else 1
    results = []
    for name in ("far", "near"):
        words = ["train", algorithm, name + ".svm", "--workers", str(workers), "--index-base", "1", "-o", name + ".model"]
        words += [word.replace("@", name) for word in options]
        run(*(["run", "-n", str(nodes), "--"] if nodes > 1 else []), *words)
        results.append(tensors(name + ".model"))
    far, near = results
    expected = spread(near[0], columns, top + 1)
    got = {name: (shape, {k: x for k, x in enumerate(numbers) if x != 0} if name in ("coefficients", "centres") else numbers)
           for name, (shape, numbers) in far[0].items()}
    assert got == expected, (seed, algorithm, options, workers, nodes)
    same = [key for key in near[1] if key not in ("columns", "hawser.checksum") and key not in ("options.output", "options.validation")]
    assert far[1]["columns"] == str(top + 1) and set(far[1]) == set(near[1]), (seed, far[1])
    assert all(far[1][key] == near[1][key] for key in same), (seed, [(key, far[1][key], near[1][key]) for key in same if far[1][key] != near[1][key]])
    predicted = [run("predict", name + ".model", name + ".svm") for name in ("far", "near")]
    assert predicted[0] == predicted[1], (seed, algorithm, options)
    if by_row:
        needed = [json.loads(run("plan", algorithm, name + ".svm", *[word.replace("@", name) for word in options], "--json"))["memory"]["needed_bytes"]
                  for name in ("far", "near")]
        assert needed[0] - needed[1] < 1 << 16, (seed, needed)


def limited():
    """A 40-byte file whose largest column is 16,000,000 trains with little memory."""
    with open("tiny.svm", "w") as out:
        out.write("1 1:1 16000000:2\n0 2:1\n1 1:2\n0 2:3 7:1\n")
    for algorithm in ("softmax", "svm"):
        words = (HAWSER, "train", algorithm, "tiny.svm", "--memory-limit", "60M", "-o", "tiny.model")
        done = subprocess.run(words, capture_output=True, text=True, env=CLEAN, timeout=300)
        assert done.returncode == 0, done.stderr
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        assert SANITIZED or peak < 100 << 10, (algorithm, peak)
        os.remove("tiny.model")
    words = ("run", "-n", "2", "--", "train", "lasso", "tiny.svm", "--lambda", "0.1", "--workers", "2", "-o", "tiny.model")
    run(*words)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    assert SANITIZED or peak < 300 << 10, ("lasso on two nodes", peak)  # 13 bytes per column


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    limited()
    for case in some(range(16)):
        places(case)
        lists(case)
        far_columns(case)
    many()
