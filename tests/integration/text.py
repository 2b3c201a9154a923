#!/usr/bin/env python3
"""Text as counts of words, beside an oracle with code of its own: words, columns and counts for threads, nodes, compressed files, pipes and
several files, words that are left out, models of text on new text, and what is refused."""
import collections
import gzip
import json
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


def check_tables(lines):
    """A column of a table, between others, in quotes that may have line ends, and with labels that are words."""
    chance = random.Random(5)
    targets = [chance.choice(("good", "bad")) for _ in lines]
    texts = [line.replace(" ", "\n", 1) if k % 7 == 0 else line for k, line in enumerate(lines)]
    quoted = ['"' + text.replace("\"", "\"\"") + '"' for text in texts]
    with open("table.csv", "w", newline="") as out:
        out.write("id,review,verdict,when\r\n")
        out.write("".join(f"{k},{text},{target},2020\r\n" for k, (text, target) in enumerate(zip(quoted, targets))))
    with gzip.open("table.csv.gz", "wb") as out:
        out.write(open("table.csv", "rb").read())
    with open("bare.csv", "w", newline="") as out:
        out.write("".join(f"{text};{k}\n" for k, text in enumerate(quoted)))
    expected = written(lines)
    for options in (("--threads", 1), ("--threads", 4), ("--min-length", 3, "--max-words", 20)):
        oracle = {"least": 3, "most": 20} if "--max-words" in options else {}
        for path in ("table.csv", "table.csv.gz"):
            run("data", "convert", path, "--text", "review", "--target", "none", "-o", "out.csv", "--quiet", *options)
            same(read_csv("out.csv"), written(lines, **oracle), (path, options))
    run("data", "convert", "bare.csv", "--text", 0, "--target", "none", "-o", "out.csv", "--quiet")
    same(read_csv("out.csv"), expected, "a table without names")
    options = ("--text", "review", "--target", "verdict", "--workers", 6, "--quiet", "--min-documents", 3, "-o", "w.model")
    for algorithm in ("logistic", "svm"):
        predicted = set()
        for nodes in (1, 2, 3):
            run(*(("run", "-n", nodes, "--") if nodes > 1 else ()), "train", algorithm, "table.csv", *options)
            predicted.add(run("predict", "w.model", "table.csv").stdout)
        same(len(predicted), 1, f"{algorithm} of a table over nodes")
        same(run("predict", "w.model", "t.txt", "--format", "text").stdout, predicted.pop(), "the same texts as lines")
    run("evaluate", "w.model", "table.csv")
    told = run("train", "logistic", "table.csv", *options[:6]).stdout
    same("'id', 'when' are not read beside --text" in told, True, told)
    check_pieces(quoted)


def check_gaps(lines):
    """Rows without a target are left out with their texts, and words of rows of weight 0 are none."""
    with open("gaps.csv", "w") as out:
        out.write("z,text,w\n" + "".join(f'{"" if k % 4 == 1 else 1},"{line.replace(chr(34), chr(34) * 2)}",{k % 3}\n' for k, line in enumerate(lines)))
    names, entries, count = written([line for k, line in enumerate(lines) if k % 4 != 1])
    for threads in (1, 3):
        run("data", "convert", "gaps.csv", "--text", "text", "--target", "z", "--ignore", "w", "--missing", "drop", "-o", "out.csv", "--quiet", "--threads",
            threads)
        expected = {(i, j + 1): n for (i, j), n in entries.items()} | {(i, 0): 1 for i in range(count)}
        same(read_csv("out.csv"), (["z", *names], expected, count), "rows without a target")
    heavy = counted([line for k, line in enumerate(lines) if k % 3])[0]
    found = json.loads(run("data", "info", "gaps.csv", "--text", "text", "--target", "none", "--weights", "w", "--json").stdout)
    same(found["columns"], len(heavy), "words of rows of weight 0")


def check_pieces(quoted):
    """A table that is answered piece by piece, with the ids of its rows."""
    rows = [f"r{k},{text}\n" for k, text in enumerate(quoted * 60)]
    with open("long.csv", "w") as out:
        out.write("id,review\n" + "".join(rows))
    short = run("predict", "w.model", "table.csv").stdout.split()
    for given in (None, open("long.csv").read()):
        found = run("predict", "w.model", "-" if given else "long.csv", "--id", "id", given=given)
        same("is loaded as a whole" in found.stderr, False, found.stderr)
        same(found.stdout.split()[1:], [f"r{k},{value}" for k, value in enumerate(short * 60)], "a table in pieces")
    lines = [text for text in open("t.txt").read().split("\n")[:-1]]
    straight = run("predict", "w.model", "t.txt", "--format", "text").stdout * 60
    for threads, given in ((1, None), (3, None), (2, "\n".join(lines * 60) + "\n")):
        with open("long.txt", "w") as out:
            out.write("\n".join(lines * 60) + "\n")
        found_lines = run("predict", "w.model", "-" if given else "long.txt", "--format", "text", "--threads", threads, given=given)
        same("is loaded as a whole" in found_lines.stderr, False, found_lines.stderr)
        same(found_lines.stdout, straight, "documents in pieces")
    unknown = re.search(r"left out: (\d+)", run("predict", "w.model", "table.csv").stderr)
    same(int(re.search(r"left out: (\d+)", found.stderr).group(1)), 60 * int(unknown.group(1)), "unknown words of all pieces")


def check_lengths(lines):
    """The shortest words of a model, also through a cache and another table."""
    run("data", "convert", "table.csv", "--text", "review", "--target", "verdict", "--min-length", 1, "-o", "one.hwc", "--quiet")
    run("train", "svm", "one.hwc", "--quiet", "-o", "one.model")
    run("train", "svm", "table.csv", "--text", "review", "--target", "verdict", "--min-length", 1, "--quiet", "-o", "table.model")
    same(run("predict", "one.model", "table.csv", "--text", "review").stdout, run("predict", "table.model", "table.csv").stdout, "a cache of words")
    same(run("predict", "one.model", "t.txt", "--min-length", 1).stdout, run("predict", "table.model", "table.csv").stdout, "lines")
    found = subprocess.run([HAWSER, "predict", "table.model", "table.csv"], capture_output=True, text=True, env={**ENVIRONMENT, "HAWSER_MIN_LENGTH": "4"})
    same(found.stdout, run("predict", "table.model", "table.csv").stdout, "a setting of the environment")


def check_topics():
    shown = []
    for nodes in (1, 2, 3):
        command = ("train", "lda", "t.txt", "--format", "text", "--topics", 3, "--iterations", 12, "--workers", 3, "--stop-words",
                   "english", "--quiet", "-o", "l.model")
        run(*(("run", "-n", nodes, "--") if nodes > 1 else ()), *command)
        shown.append(run("predict", "l.model", "new.txt").stdout)
    same(set(shown), {shown[0]}, "topics over nodes")


REFUSED = (
    (("predict", "table.model", "table.csv", "--min-length", "2"), "--min-length 2: the words of table.model have 1 characters or more"),
    (("evaluate", "one.model", "t.txt", "--min-length", "3", "--target", "y"), "--min-length 3: the words of one.model"),
    (("predict", "table.model", "new.txt"), "read lines as documents with --format text"),
    (("predict", "one.model", "table.csv"), "name the column of the texts (--text)"),
    (("predict", "table.model", "table.csv", "--text", "nosuch"), "the text 'nosuch' is no column"),
    (("train", "svm", "table.csv", "--text", "verdict", "--target", "verdict"), "has another role"),
    (("train", "svm", "bare.csv", "--text", "0"), "name the target"),
    (("train", "svm", "table.csv", "--text", "reviews", "--target", "verdict"), "its columns are id, review, verdict, when"),
    (("train", "svm", "table.csv", "--text", "review", "--target", "verdict", "--columns", "id"), "--columns id: with --text review"),
    (("train", "svm", "table.csv", "--text", "review", "--target", "verdict", "--dates", "when"), "--dates when: with --text review"),
    (("train", "svm", "table.csv", "--text", "review", "--target", "verdict", "--categories", "id"), "is no feature"),
    (("train", "svm", "table.csv", "--text", "review", "--target", "verdict", "--names", "names"), "--names names"),
    (("train", "svm", "t.svm", "--text", "review", "--format", "svmlight"), "--text review: t.svm is svmlight input"),
    (("data", "info", "bad.csv", "--text", "a"), "bad.csv:5:4: the text is not UTF-8"),
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
    with open("bad.csv", "wb") as out:
        out.write(b'y,a\n1,"so\nfar"\n2,caf\xc3\xa9\n3,"\xe9t\xe9"\n')
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
        check_tables(lines)
        check_lengths(lines)
        check_gaps(lines)
        check_topics()
        check_refusals()


main()
