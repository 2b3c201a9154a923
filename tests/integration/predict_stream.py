#!/usr/bin/env python3
"""hawser predict reads its input in pieces. Predictions are those that this file computes from the model, whatever the format, archive, cut and
number of threads; each row is answered before the command waits for the next; memory does not grow with the input; a bad row ends it with the
rows before it, and leaves no file."""
import csv
import gzip
import io
import lzma
import math
import os
import random
import re
import select
import shutil
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["HAWSER_SOURCE"], "tests", "helpers"))
import scratch  # noqa: E402
from certificate import read_model  # noqa: E402
from command import CLEAN, HAWSER, SANITIZED, run  # noqa: E402

ROWS, COLUMNS = 300, 6
NAMES = ["c%d" % j for j in range(COLUMNS)]


# A small process that starts the command: of a large one a child would inherit the peak.
MEASURE = """import resource, subprocess, sys
code = subprocess.call(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(code)"""


class Filter:
    """A predict that reads a pipe and writes one."""

    def __init__(self, *words):
        self.process = subprocess.Popen((HAWSER, "predict") + words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, env=CLEAN)
        self.out = b""

    def send(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def answer(self):
        """The next line that it prints, for which it gets nothing more."""
        while b"\n" not in self.out:
            ready = select.select([self.process.stdout], [], [], 120)[0]
            assert ready, "no answer to a complete row"
            more = os.read(self.process.stdout.fileno(), 65536)
            assert more, self.process.stderr.read()
            self.out += more
        line, self.out = self.out.split(b"\n", 1)
        return line.decode()

    def end(self):
        """The rest of the output, the exit code and the messages."""
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        rest = self.out + self.process.stdout.read()
        return rest.decode(), self.process.wait(), self.process.stderr.read().decode()


def call(*words, data=None):
    done = subprocess.run((HAWSER, "predict") + words, input=data, capture_output=True, env=CLEAN, timeout=300)
    return done.stdout.decode(), done.returncode, done.stderr.decode()


def npy(rows, fortran=False):
    """Rows of numbers as numpy saves them."""
    text = "{'descr': '<f8', 'fortran_order': %s, 'shape': (%d, %d), }" % (fortran, len(rows), len(rows[0]))
    text += " " * (63 - (10 + len(text)) % 64) + "\n"
    cells = [v for row in (zip(*rows) if fortran else rows) for v in row]
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text.encode() + struct.pack("<%dd" % len(cells), *cells)


def read_npy(path):
    with open(path, "rb") as file:
        raw = file.read()
    start = 10 + struct.unpack("<H", raw[8:10])[0]
    assert start % 64 == 0 and b"'shape': (%d,)" % ((len(raw) - start) // 8) in raw[:start], raw[:start]
    return list(struct.unpack("<%dd" % ((len(raw) - start) // 8), raw[start:]))


def text_of(rows, names=None):
    out = io.StringIO()
    lines = csv.writer(out, lineterminator="\n")
    if names:
        lines.writerow(names)
    for row in rows:
        lines.writerow(["%.17g" % v if isinstance(v, float) else v for v in row])
    return out.getvalue().encode()


def svmlight(X, target):
    lines = []
    for row, y in zip(X, target):
        lines.append(" ".join(["%g" % y] + ["%d:%.17g" % (j + 1, v) for j, v in enumerate(row) if v != 0]))
    return ("\n".join(lines) + "\n").encode()


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)
    return path


class Data:
    def __init__(self, seed):
        chance = random.Random(seed)
        self.X = [[chance.choice([0.0, chance.gauss(0, 1), chance.gauss(0, 3)]) for _ in range(COLUMNS)] for _ in range(ROWS)]
        self.offset = [chance.gauss(0, 0.5) for _ in range(ROWS)]
        self.y = [row[0] - 2 * row[1] + 0.5 + chance.gauss(0, 0.3) for row in self.X]
        self.label = [1.0 if y > 0 else -1.0 for y in self.y]


def margins(model, X, offset=None):
    w, b = read_model(model)[:2]
    w = [w.get(j, 0.0) for j in range(COLUMNS)] if isinstance(w, dict) else list(w)
    return [math.fsum(a * c for a, c in zip(w, row)) + b + (offset[i] if offset else 0) for i, row in enumerate(X)]


def close(lines, expected):
    got = [float(v) for v in lines.split()]
    assert len(got) == len(expected), (len(got), len(expected))
    for i, (a, b) in enumerate(zip(got, expected)):
        assert abs(a - b) <= 1e-12 * (1 + abs(b)), (i, a, b)


def train(data):
    solve = ["--lambda-ratio", "0.01", "-q"]
    write("h.csv", text_of([[y] + row for y, row in zip(data.y, data.X)], ["y"] + NAMES))
    write("n.csv", text_of([[y] + row for y, row in zip(data.y, data.X)]))
    write("s.svm", svmlight(data.X, data.label))
    write("d.npy", npy([[y] + row for y, row in zip(data.y, data.X)]))
    write("f.npy", npy([[y] + row for y, row in zip(data.y, data.X)], fortran=True))
    write("o.csv", text_of([[y, o] + row for y, o, row in zip(data.y, data.offset, data.X)], ["y", "o"] + NAMES))
    run("train", "lasso", "h.csv", "--target", "y", "-o", "h", *solve)
    run("train", "lasso", "n.csv", "-o", "n", *solve)
    run("train", "lasso", "d.npy", "-o", "d", *solve)
    run("train", "logistic", "s.svm", "-o", "s", *solve)
    run("train", "lasso", "o.csv", "--target", "y", "--offset", "o", "-o", "o", *solve)
    run("data", "convert", "s.svm", "-o", "s.hwc", "-q")
    run("data", "convert", "h.csv", "--target", "y", "-o", "h.hwc", "-q")


def pack(path):
    """The archives of a file that this machine can make."""
    with open(path, "rb") as file:
        raw = file.read()
    write(path + ".gz", gzip.compress(raw))
    write(path + ".xz", lzma.compress(raw))
    made = [path + ".gz", path + ".xz"]
    if shutil.which("zstd"):
        subprocess.run(["zstd", "-qf", path], check=True)
        made.append(path + ".zst")
    return made


def formats_agree(data):
    linear = {name: margins(name, data.X) for name in "hnd"}
    for model, path in (("h", "h.csv"), ("n", "n.csv"), ("d", "d.npy")):
        straight = call(model, path)
        assert straight[1:] == (0, ""), straight
        close(straight[0], linear[model])
        for other in [path] + pack(path):
            for threads in ("1", "3"):
                assert call(model, other, "--threads", threads) == straight, other
            with open(other, "rb") as file:
                assert call(model, "-", data=file.read()) == straight, other
        twice = call(model, path, path + ".gz", "--threads", "2")
        assert twice == (2 * straight[0], 0, ""), path
    classes = [1 / (1 + math.exp(-m)) for m in margins("s", data.X)]
    straight = call("s", "s.svm")
    close(straight[0], classes)
    for other in pack("s.svm") + ["s.hwc"]:
        assert call("s", other) == straight, other
    assert call("h", "h.hwc") == call("h", "h.csv")
    assert call("s", "s.svm", "s.svm", "-o", "p.npy")[1] == 0
    assert read_npy("p.npy") == [float(v) for v in straight[0].split()] * 2


def loaded_ones_say_so(data):
    straight = call("d", "d.npy")[0]
    out, code, said = call("d", "f.npy")
    assert (out, code) == (straight, 0) and said == "hawser: f.npy is loaded as a whole: its numbers are in column order\n", said
    assert call("d", "f.npy", "-q") == (straight, 0, "")
    with open("f.npy", "rb") as file:
        assert call("d", "-", "-q", data=file.read()) == (straight, 0, "")
    run("data", "convert", "s.svm", "-o", "s.mtx", "-q")
    out, code, said = call("s", "s.mtx")
    assert (out, code) == (call("s", "s.svm")[0], 0) and "s.mtx is loaded as a whole: " in said, said
    with open("s.mtx", "rb") as file:
        assert call("s", "-", "-q", data=file.read())[0] == out
    zeros = write("z.svm", svmlight(data.X, data.label))  # the model comes from CSV: it does not say how indices count
    out, code, said = call("n", zeros)
    assert code == 0 and "loaded as a whole" in said and "--index-base" in said, said
    assert call("n", zeros, "--index-base", "1") == (out, 0, "")
    close(out, margins("n", data.X))


def rows_are_answered(data):
    """The writer waits for each answer. Archives are flushed behind each row."""
    for model, path in (("h", "h.csv"), ("n", "n.csv"), ("s", "s.svm")):
        expected = call(model, path)[0].split()
        with open(path, "rb") as file:
            lines = file.read().splitlines(keepends=True)
        for packed in (False, True):
            packer = gzip.zlib.compressobj(6, gzip.zlib.DEFLATED, 31)
            send = (lambda text: packer.compress(text) + packer.flush(gzip.zlib.Z_SYNC_FLUSH)) if packed else (lambda text: text)
            process = Filter(model, "-", "--threads", "2")
            if model == "h":
                process.send(send(lines[0]))
            for line, value in list(zip(lines[model == "h":], expected))[:40]:
                process.send(send(line[:3]))
                process.send(send(line[3:]))
                assert process.answer() == value, (path, packed)
            if packed:
                process.send(packer.flush())
            rest, code, said = process.end()
            assert (rest, code, said) == ("", 0, ""), (path, rest, code, said)
    with open("d.npy", "rb") as file:
        raw = file.read()
    width, process = 8 * (COLUMNS + 1), Filter("d", "-")
    start = len(raw) - ROWS * width
    process.send(raw[:start])
    for i, value in enumerate(call("d", "d.npy")[0].split()):
        process.send(raw[start + i * width:start + (i + 1) * width])
        assert process.answer() == value, i
    assert process.end() == ("", 0, "")
    process = Filter("s", "-")  # the first rows have no entries: only the model says that this is svmlight
    for _ in range(3):
        process.send(b"1\n")
        close(process.answer(), [1 / (1 + math.exp(-margins("s", [[0.0] * COLUMNS])[0]))])
    process.send(b"1 2:")
    assert process.end()[1] == 3


def bad_rows_end_it(data):
    """At each place: the rows before it, its line, exit code 3; -o leaves no file."""
    files = {"h": "h.csv", "s": "s.svm"}
    for model, path in files.items():
        good = call(model, path)[0].splitlines(keepends=True)
        with open(path, "rb") as file:
            lines = file.read().splitlines(keepends=True)
        head = model == "h"
        for place, threads in ((0, "1"), (1, "4"), (17, "2"), (ROWS - 1, "3")):
            bad = list(lines)
            bad[place + head] = b"1,2,x,4,5,6,7\n" if head else b"1 1:2 2:x\n"
            write("bad", b"".join(bad))
            where = "bad:%d:" % (place + head + 1)
            out, code, said = call(model, "bad", "--threads", threads)
            assert (out, code) == ("".join(good[:place]), 3) and where in said and said.count("\n") == 1, (out, said)
            out, code, said = call(model, "-", "--threads", threads, data=b"".join(bad))
            assert (out, code) == ("".join(good[:place]), 3) and "standard input:%d:" % (place + head + 1) in said, said
            assert call(model, "bad", "-o", "never")[1] == 3 and not os.path.exists("never")
    process = Filter("h", "-", "--threads", "2")  # which ends although its input does not
    process.send(text_of([], NAMES) + b"1,2,x,4,5,6\n")
    assert process.process.wait(timeout=120) == 3
    process.end()
    good = call("d", "d.npy")[0].splitlines(keepends=True)
    rows = [[y] + row for y, row in zip(data.y, data.X)]
    rows[20][3] = math.nan
    for words, given in (((write("bad.npy", npy(rows)),), None), (("-",), npy(rows))):
        out, code, said = call("d", *words, data=given)
        assert (out, code) == ("".join(good[:20]), 3) and "row 20, column 3" in said, (out, said)
    whole = npy([[y] + row for y, row in zip(data.y, data.X)])
    for cut in (1, 8, 8 * (COLUMNS + 1), 8 * (COLUMNS + 1) * 5 + 3):
        out, code, said = call("d", "-", data=whole[:-cut])
        assert (out, code) == ("".join(good[:ROWS - -(-cut // (8 * (COLUMNS + 1)))]), 3), (cut, said)
    assert call("d", "-", data=whole + b"x")[1] == 3
    write("cut.gz", gzip.compress(b"".join(lines))[:-12])
    out, code, said = call("s", "cut.gz")
    assert code == 3 and "cut off" in said and out and call("s", "s.svm")[0].startswith(out), said


def targets_stop_nothing(data):
    expected = call("h", "h.csv")
    write("t.csv", text_of([["broken"] + row for row in data.X], ["y"] + NAMES))
    assert call("h", "t.csv") == expected and call("h", "t.csv", "--target", "y") == expected
    write("t.csv", text_of(data.X, NAMES))
    assert call("h", "t.csv") == expected and call("h", "t.csv", "--target", "gone") == expected
    write("t.csv", text_of([["broken"] + row for row in data.X]))
    assert call("n", "t.csv") == call("n", "n.csv")
    write("t.csv", text_of(data.X))
    assert call("n", "t.csv") == call("n", "n.csv")
    text = svmlight(data.X, data.label)
    write("t.svm", b"".join(b"what " + line.split(b" ", 1)[1] if b" " in line else b"what\n" for line in text.splitlines(True)))
    assert call("s", "t.svm", "--format", "svmlight") == call("s", "s.svm")
    write("t.svm", b"".join(line.split(b" ", 1)[1] if b" " in line else b"0\n" for line in text.splitlines(True)))
    assert call("s", "t.svm") == call("s", "s.svm")
    write("t.npy", npy([[math.nan] + row for row in data.X]))
    assert call("d", "t.npy") == call("d", "d.npy")
    write("t.npy", npy([[math.nan] + row for row in data.X], fortran=True))
    assert call("d", "t.npy", "-q") == call("d", "d.npy")
    write("t.npy", npy(data.X))
    assert call("d", "t.npy") == call("d", "d.npy")


def left_out(said, columns, entries):
    """One note counts what the model does not have."""
    return said.count("\n") == 1 and re.findall(r"\d+", said) == [str(columns), str(entries)]


def columns_match(data):
    """In any order, with further ones, which one note counts."""
    expected = call("h", "h.csv")[0]
    order = random.Random(5).sample(range(COLUMNS), COLUMNS)
    rows = [["w,%d" % i] + [row[j] for j in order] + [""] for i, row in enumerate(data.X)]
    write("x.csv", text_of(rows, ["word"] + [NAMES[j] for j in order] + ["more"]))
    out, code, said = call("h", "x.csv")
    assert (out, code) == (expected, 0) and left_out(said, 2, 2 * ROWS), said
    wide = b"".join(line[:-1] + b" 9:1 12:2\n" for line in svmlight(data.X, data.label).splitlines(True))
    out, code, said = call("s", write("x.svm", wide), "--threads", "3")
    assert (out, code) == (call("s", "s.svm")[0], 0), said
    assert left_out(said, 2, 2 * ROWS), said


def kinds_of_output(data):
    default = call("s", "s.svm")[0]
    assert call("s", "s.svm", "--proba")[0] == default
    close(call("s", "s.svm", "--link")[0], margins("s", data.X))
    labels = ["1" if float(p) > 0.5 else "-1" for p in default.split()]
    assert call("s", "s.svm", "--labels")[0].split() == labels
    assert call("h", "h.csv", "--link") == call("h", "h.csv")
    for words in (("h", "h.csv", "--proba"), ("h", "h.csv", "--labels"), ("s", "s.svm", "--proba", "--link"),
                  ("s", "s.svm", "--id", "x"), ("d", "d.npy", "--id", "0"), ("s", "s.hwc", "--id", "0"),
                  ("h", "h.csv", "--id", "c0", "-o", "p.npy")):
        out, code, said = call(*words)
        assert (out, code) == ("", 2) and said.count("\n") == 1 and "--" in said, (words, code, said)
    assert call("h", "h.csv", "--id", "gone")[1] == 3
    counts = [float(max(0, round(math.exp(m / 4)))) for m in margins("h", data.X)]
    write("k.csv", text_of([[y, 0.5 + i % 3] + row for i, (y, row) in enumerate(zip(counts, data.X))], ["y", "e"] + NAMES))
    run("train", "poisson", "k.csv", "--target", "y", "--exposure", "e", "-o", "k", "-q", "--lambda-ratio", "0.01")
    link = [m + math.log(0.5 + i % 3) for i, m in enumerate(margins("k", data.X))]
    close(call("k", "k.csv", "--exposure", "e", "--link")[0], link)
    close(call("k", "k.csv", "--exposure", "e")[0], [math.exp(m) for m in link])


def offsets(data):
    expected = margins("o", data.X, data.offset)
    out, code, said = call("o", "o.csv", "--offset", "o")
    assert (code, said) == (0, ""), said
    close(out, expected)
    write("o.txt", "".join("%.17g\n" % v for v in data.offset).encode())
    apart, code, said = call("o", "h.csv", "--offset", "o.txt")
    assert (apart, code) == (out, 0) and "its offset is in a file of its own" in said, said
    assert call("o", "h.csv")[1] == 2 and call("o", "o.csv")[1] == 2
    out, code, said = call("o", "h.csv", "--offset", "none")
    assert (code, said) == (0, ""), said
    close(out, margins("o", data.X))


def ids(data):
    values = call("h", "h.csv")[0].split()
    texts = ["7", "007", "a,b", 'say "x"', "two words", "", "\u00e9"] * ROWS
    texts = texts[:ROWS]
    write("i.csv", text_of([[t] + row for t, row in zip(texts, data.X)], ["the id"] + NAMES))
    for words in (("--threads", "1"), ("--threads", "3")):
        out, code, said = call("h", "i.csv", "--id", "the id", *words)
        assert (code, said) == (0, ""), said
        lines = list(csv.reader(io.StringIO(out)))
        assert lines == [["the id", "prediction"]] + [[t, v] for t, v in zip(texts, values)]
    write("i.csv", text_of([[y, t] + row for t, y, row in zip(texts, data.y, data.X)]))
    for words in (("n", "i.csv", "--id", "1"), ("n", "i.csv", "--id", "1", "--target", "0")):
        out, code, said = call(*words)
        assert (code, said) == (0, ""), said
        assert list(csv.reader(io.StringIO(out))) == [[t, v] for t, v in zip(texts, call("n", "n.csv")[0].split())]
    write("i.csv", text_of([[t, y] + row for t, y, row in zip(texts, data.y, data.X)]))  # was the target's place that of the ids?
    assert call("n", "i.csv", "--id", "0")[1] == 3 and call("n", "i.csv", "--id", "0", "--target", "1")[1] == 0
    rows = [[str(i)] + [v if i % 3 else "" for v in row] for i, row in enumerate(data.X)]
    write("i.csv", text_of(rows, ["id"] + NAMES))
    out, code, said = call("h", "i.csv", "--id", "id", "--missing", "drop")
    assert code == 0 and said.count("\n") == 1 and re.findall(r"\d+", said) == [str(len(range(0, ROWS, 3)))], said
    assert out.splitlines()[1:] == ["%d,%s" % (i, values[i]) for i in range(ROWS) if i % 3]
    words = ["no" if y < 0 else "yes, it is" for y in data.y]
    write("w.csv", text_of([[w, str(i)] + row for i, (w, row) in enumerate(zip(words, data.X))], ["y", "id"] + NAMES))
    run("train", "logistic", "w.csv", "--target", "y", "--ignore", "id", "-o", "w", "-q", "--lambda-ratio", "0.01")
    out, code, said = call("w", "w.csv", "--id", "id", "--labels")
    labels = ["yes, it is" if m > 0 else "no" for m in margins("w", data.X)]
    assert list(csv.reader(io.StringIO(out)))[1:] == [[str(i), w] for i, w in enumerate(labels)] and code == 0, said
    assert call("w", "w.csv", "--labels")[0].splitlines() == labels


def memory_is_bounded(data):
    """The peak of a call on files that are much larger than it may be."""
    if SANITIZED:
        return
    block = text_of([[y] + row for y, row in zip(data.y, data.X)])
    many = (96 << 20) // len(block)
    with open("big.csv", "wb") as file:
        file.write(text_of([], ["y"] + NAMES))
        for _ in range(many):
            file.write(block)
    sparse = svmlight(data.X, data.label)
    with open("big.svm", "wb") as file:
        for _ in range((96 << 20) // len(sparse)):
            file.write(sparse)
    rows = npy([[y] + row for y, row in zip(data.y, data.X)])
    body = rows[len(rows) - ROWS * 8 * (COLUMNS + 1):]
    copies = (96 << 20) // len(body)
    head = npy([[0.0] * (COLUMNS + 1)])[:128].replace(b"(1, ", b"(%d, " % (copies * ROWS))
    head = head[:10] + head[10:].rstrip() + b" " * 64
    with open("big.npy", "wb") as file:
        file.write(head[:127] + b"\n" + body * copies)
    run("data", "convert", "big.npy", "-o", "dense.hwc", "-q")
    run("data", "convert", "big.svm", "-o", "sparse.hwc", "-q")
    for model, path, bound in (("h", "big.csv", 48), ("s", "big.svm", 48), ("d", "big.npy", 48), ("d", "dense.hwc", 48),
                               ("s", "sparse.hwc", 54)):
        for source in ("file", "pipe") if path[-3:] != "hwc" else ("file",):
            words = ("predict", model, "-" if source == "pipe" else path, "--threads", "2", "-o", "big.out")
            with subprocess.Popen(["cat", path], stdout=subprocess.PIPE) as feed:
                done = subprocess.run((sys.executable, "-c", MEASURE, HAWSER) + words, capture_output=True, text=True, env=CLEAN,
                                      stdin=feed.stdout if source == "pipe" else subprocess.DEVNULL)
            assert done.returncode == 0, (path, source, done.stderr)
            peak, size = int(done.stdout) >> 10, os.path.getsize(path) >> 20
            assert peak < bound < size, (path, source, peak, size)
    with open("big.out") as file:
        assert sum(1 for _ in file) == (96 << 20) // len(sparse) * ROWS


def nodes_are_refused():
    done = subprocess.run((HAWSER, "run", "-n", "2", "--", "predict", "h", "h.csv"), capture_output=True, text=True, env=CLEAN)
    assert done.returncode == 2 and done.stdout == "" and "one process" in done.stderr, done


def main():
    with scratch.folder():
        data = Data(7)
        train(data)
        formats_agree(data)
        loaded_ones_say_so(data)
        rows_are_answered(data)
        bad_rows_end_it(data)
        targets_stop_nothing(data)
        columns_match(data)
        kinds_of_output(data)
        offsets(data)
        ids(data)
        nodes_are_refused()
        memory_is_bounded(data)


main()
