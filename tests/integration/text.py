#!/usr/bin/env python3
"""Text as counts of words, beside an oracle with code of its own: words, columns and counts for threads, nodes, compressed files, pipes and
several files, words that are left out, models of text on new text, and what is refused."""
import collections
import gzip
import math
import os
import random
import re
import subprocess
import sys
import tempfile

HAWSER = os.environ["HAWSER_BINARY"]
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("HAWSER_")}


def run(*words, status=0, given=None):
    done = subprocess.run([HAWSER, *map(str, words)], capture_output=True, text=True, input=given, env=ENVIRONMENT)
    if done.returncode != status:
        sys.exit(f"{words}: status {done.returncode}, not {status}: {done.stderr}")
    return done


# ---- the oracle ----

WORD = re.compile("(?:[0-9A-Za-z]|[^\x00-\xbf\u2000-\u2bff\u3000-\u303f])+")
CASED = ((0xC0, 0xDE), (0x100, 0x17F), (0x386, 0x3AB), (0x400, 0x42F))


def small(character):
    point = ord(character)
    if point < 128 or any(first <= point <= last for first, last in CASED):
        return "i" if point == 0x130 else character.lower()
    return character


def words_of(line, least):
    return [w for w in ("".join(map(small, w)) for w in WORD.findall(line)) if len(w) >= least]


def counted(lines, least=2, low=0, high=math.inf, most=None, stop=()):
    rows = [collections.Counter(words_of(line, least)) for line in lines]
    documents, tokens = collections.Counter(), collections.Counter()
    for row in rows:
        documents.update(row.keys())
        tokens.update(row)
    low, high = (bound * len(rows) if isinstance(bound, float) and bound != math.inf else bound for bound in (low, high))
    left = [w for w in tokens if low <= documents[w] <= high and w not in stop]
    left = sorted(left, key=lambda w: (-tokens[w], w.encode()))[:most]
    names = sorted(left, key=str.encode)
    return names, [{names.index(w): n for w, n in row.items() if w in left} for row in rows]


def written(lines, **options):
    """What `hawser data convert` writes as Matrix Market, entry by entry, and the words."""
    names, rows = counted(lines, **options)
    return names, {(i, j): n for i, row in enumerate(rows) for j, n in row.items()}, len(rows)


# ---- the command ----

def read_csv(path):
    with open(path) as text:
        names = text.readline().rstrip("\n").split(",")
        rows = [list(map(float, line.rstrip("\n").split(","))) for line in text]
    return names, {(i, j): n for i, row in enumerate(rows) for j, n in enumerate(row) if n}, len(rows)


def converted(*paths, options=(), given=None):
    run("data", "convert", *paths, "--format", "text", "-o", "out.csv", "--quiet", *options, given=given)
    return read_csv("out.csv")


def same(found, expected, what):
    if found != expected:
        sys.exit(f"{what}: {str(found)[:600]}\nexpected {str(expected)[:600]}")


ALPHABET = "aàbcdßéÀÉİŸŁłΑαΣάЖжЁ日本𝒳Z0123"
BETWEEN = " ,.-'\t\u00a0\u2014\u201c\u3002\u00ab!"


def sentence(chance, vocabulary):
    text = "".join(chance.choice(vocabulary) + chance.choice(BETWEEN) * chance.choice((1, 1, 2)) for _ in range(chance.randrange(14)))
    return text


def make_lines(seed, count):
    chance = random.Random(seed)
    vocabulary = ["".join(chance.choice(ALPHABET) for _ in range(chance.randrange(1, 6))) for _ in range(60)] + ["The", "and", "of"]
    weights = [1 / (k + 1) for k in range(len(vocabulary))]
    return [sentence(chance, chance.choices(vocabulary, weights, k=20)) for _ in range(count)]


def check_reading(lines):
    expected = written(lines)
    for threads in (1, 2, 4):
        same(converted("t.txt", options=("--threads", threads)), expected, f"{threads} threads")
    with gzip.open("t.txt.gz", "wb") as out:
        out.write("\n".join(lines).encode() + b"\n")
    same(converted("t.txt.gz"), expected, "gz")
    same(converted("-", given="\ufeff" + "".join(line + "\r\n" for line in lines)), expected, "a pipe, with a mark and CRLF")
    with open("a.part", "w") as one, open("b.part", "w") as two:
        one.write("".join(line + "\n" for line in lines[:50]))
        two.write("".join(line + "\n" for line in lines[50:]))
    same(converted("a.part", "b.part"), expected, "two files")
    same(converted("t.txt", options=("--min-length", 1)), written(lines, least=1), "--min-length 1")
    same(converted("t.txt", options=("--min-length", 4)), written(lines, least=4), "--min-length 4")


def check_choices(lines):
    with open("stop", "w") as out:
        out.write("THE\n\nnot-here\nof  \n")
    for options, oracle in ((("--min-documents", 5), {"low": 5}), (("--max-documents", "0.2"), {"high": 0.2}),
                            (("--min-documents", "0.05", "--max-words", 12), {"low": 0.05, "most": 12}),
                            (("--stop-words", "stop", "--max-words", 7), {"stop": ("the", "of"), "most": 7}),
                            (("--stop-words", "english"), {"stop": ("the", "of", "and")})):
        same(converted("t.txt", options=options), written(lines, **oracle), options)
    run("data", "convert", "t.txt", "--format", "text", "-o", "t.svm", "--quiet")
    names = counted(lines)[0]
    with open("names", "w") as out:
        out.write("\n".join(names) + "\n")
    run("data", "convert", "t.svm", "--names", "names", "-o", "s.csv", "--target", "none", "--max-words", 12, "--min-documents", "0.05", "--quiet")
    found = read_csv("s.csv")
    same(found, written(lines, low=0.05, most=12), "svmlight with names")


def check_models(lines):
    targets = [len(words_of(line, 2)) % 2 for line in lines]
    with open("y", "w") as out:
        out.write("".join(f"{y}\n" for y in targets))
    train = ("--format", "text", "--target", "y", "--quiet", "--min-documents", 3, "--max-words", 30)
    with open("new.txt", "w") as out:
        out.write("\n".join(make_lines(9, 20) + ["", "nothingknown"]) + "\n")
    for algorithm in ("logistic", "svm", "lasso"):
        predicted = []
        for nodes in (1, 2, 3):
            for path in ("t.txt", "t.txt.gz"):
                command = ("train", algorithm, path, *train, "-o", "m.model", "--workers", 6)
                run(*(("run", "-n", nodes, "--") if nodes > 1 else ()), *command)
                new = run("predict", "m.model", "new.txt")
                same(re.search(r"words that are not in the model were left out: (\d+)", new.stderr) is not None, True, new.stderr)
                predicted.append(new.stdout)
        same(len(predicted[0].split()), 22, "predictions")
        same(set(predicted), {predicted[0]}, f"{algorithm} over nodes")
        run("evaluate", "m.model", "t.txt", "--target", "y")


def check_names():
    """Columns of svmlight and Matrix Market with names, in another order and others than those of the model."""
    names, rows = counted(make_lines(11, 40))
    with open("mixed.names", "w") as out:
        out.write("".join(f"{name}\n" for name in reversed(names)))
    with open("mixed.svm", "w") as out:
        for row in rows:
            out.write("0 " + " ".join(f"{len(names) - j}:{n}" for j, n in sorted(row.items(), reverse=True)) + "\n")
    entries = [(i, j, n) for i, row in enumerate(rows) for j, n in row.items()]
    with open("mixed.mtx", "w") as out:
        out.write(f"%%MatrixMarket matrix coordinate integer general\n{len(rows)} {len(names)} {len(entries)}\n")
        out.write("".join(f"{i + 1} {len(names) - j} {n}\n" for i, j, n in entries))
    with open("mixed.txt", "w") as out:
        out.write("".join(" ".join(name for j, n in row.items() for name in [names[j]] * n) + "\n" for row in rows))
    expected = run("predict", "m.model", "mixed.txt")
    unknown = re.search(r"left out: (\d+)", expected.stderr).group(0)
    for path, base in (("mixed.svm", ("--index-base", 1)), ("mixed.mtx", ())):
        found = run("predict", "m.model", path, "--names", "mixed.names", *base)
        same(found.stdout, expected.stdout, path)
        same(re.search(r"left out: (\d+)", found.stderr).group(0), unknown, path)


def check_topics():
    shown = []
    for nodes in (1, 2, 3):
        command = ("train", "lda", "t.txt", "--format", "text", "--topics", 3, "--iterations", 12, "--workers", 3, "--stop-words",
                   "english", "--quiet", "-o", "l.model")
        run(*(("run", "-n", nodes, "--") if nodes > 1 else ()), *command)
        shown.append(run("predict", "l.model", "new.txt").stdout)
    same(set(shown), {shown[0]}, "topics over nodes")


REFUSED = (
    (("data", "info", "t.txt", "--format", "text", "--min-length", "0"), "min-length"),
    (("data", "info", "t.txt", "--format", "text", "--min-documents", "2.5"), "expected a number of documents"),
    (("data", "info", "t.txt", "--format", "text", "--max-documents", "-1"), "expected a number of documents"),
    (("data", "info", "t.txt", "--format", "text", "--min-documents", "9", "--max-documents", "3"), "is more than --max-documents"),
    (("data", "info", "t.txt", "--format", "text", "--max-words", "0"), "max-words"),
    (("data", "info", "t.txt", "--format", "text", "--stop-words", "nowhere"), "is no file"),
    (("data", "info", "t.txt", "--format", "text", "--min-documents", "100000"), "no word is left"),
    (("data", "info", "none.txt", "--format", "text"), "no word is left"),
    (("data", "info", "bad.txt", "--format", "text"), "bad.txt:2:4: the text is not UTF-8"),
    (("data", "info", "t.csv", "--max-words", "3"), "is dense"),
    (("data", "info", "t.hwc", "--max-words", "3"), "hawser data convert"),
    (("train", "logistic", "t.txt", "--format", "text"), "target"),
    (("predict", "m.model", "new.txt", "--stop-words", "english"), "leave --stop-words out"),
    (("run", "-n", "2", "--", "train", "logistic", "bad.txt", "--format", "text", "--target", "y", "--quiet"), "the text is not UTF-8"),
    (("run", "-n", "2", "--", "train", "logistic", "t.txt", "--format", "text", "--target", "y", "--quiet", "--min-documents", "99999"),
     "no word is left"),
    (("run", "-n", "2", "--", "train", "logistic", "t.svm", "--quiet", "--max-words", "3"), "convert it first"),
)


def check_refusals():
    with open("none.txt", "w") as out:
        out.write("a b\n\n")
    with open("bad.txt", "wb") as out:
        out.write(b"good one\nab \xe9t\xe9\n" + b"cd\n" * 198)
    with open("t.csv", "w") as out:
        out.write("y,a\n1,2\n0,3\n")
    run("data", "convert", "t.txt", "--format", "text", "-o", "t.hwc", "--quiet")
    for words, message in REFUSED:
        done = subprocess.run([HAWSER, *words], capture_output=True, text=True, env=ENVIRONMENT)
        if done.returncode in (0, 1) or done.returncode < 0 or message not in done.stderr:
            sys.exit(f"{words}: status {done.returncode}: {done.stderr}; expected '{message}'")


def main():
    lines = make_lines(4, 200)
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        with open("t.txt", "w") as out:
            out.write("\n".join(lines) + "\n")
        check_reading(lines)
        check_choices(lines)
        check_models(lines)
        check_names()
        check_topics()
        check_refusals()


main()
