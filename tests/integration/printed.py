#!/usr/bin/env python3
"""Names of columns, words and paths are printed without control characters: what moves a cursor or colours a screen, and a line break that would begin a
line of its own, is escaped on standard output and standard error, in refusals and in JSON too. Characters of other alphabets stay. Predicted words and ids
are data: a program that reads them gets each byte, and a terminal gets them escaped."""
import json
import os
import pty
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["HAWSER_SOURCE"], "tests", "helpers"))
import command

BAD = ["\x1b[31m", "\x1b]0;owned\x07", "\r", "\x08", "\x7f", "\u009b2J", "\x01", "\x0b"]
GOOD = ["é", "日本", "ß", "\U0001f6a2"]


def call(*words, expect=None):
    done = subprocess.run((command.HAWSER, *words), capture_output=True, env=command.CLEAN, timeout=60, check=False)
    said = done.stdout + done.stderr
    assert expect is None or done.returncode == expect, (words, said)
    for byte in said:
        assert byte >= 0x20 and byte != 0x7f or byte in b"\n\t", (words, said)
    assert b"\xc2\x9b" not in said, (words, said)
    return said.decode()


def word(draw):
    return "w" + draw.choice(GOOD) + draw.choice(BAD) + "x"


def one_file(draw, number):
    """Trains, measures and lists by names and words with control characters in them."""
    target, color, plain = (word(draw) + str(k) for k in range(3))
    levels, labels = [word(draw) + str(k) for k in range(3)], [word(draw) + str(k) for k in range(2)]
    with open("d.csv", "w", encoding="utf-8", newline="") as file:
        file.write(f"{target},{color},{plain}\n")
        file.writelines(f"{draw.choice(labels)},{levels[k % 3]},{draw.gauss(0, 1):.4f}\n" for k in range(40))
    algorithm = ("logistic", "svm", "softmax")[number % 3]
    said = call("train", algorithm, "d.csv", "-o", "m", *(("--lambda", "0.001") if algorithm != "svm" else ()), expect=0)
    escaped = "\\x" in said or "\\r" in said
    assert escaped and any(good in said for good in GOOD), said
    said = call("info", "m", "--coefficients", expect=0)
    assert "\\x" in said or "\\r" in said or said.startswith("(intercept)") and len(said.splitlines()) < 3, said  # a model may have no column
    call("info", "m", expect=0)
    call("evaluate", "m", "d.csv", expect=0)
    call("data", "info", "d.csv", expect=0)
    call("data", "convert", "d.csv", "-o", "d.svm", expect=0)
    call("plan", algorithm, "d.csv", expect=0)
    with open("wrong.csv", "w", encoding="utf-8", newline="") as file:
        file.write(f"y,{color}\n1,2\n2,{plain}\n")
    assert "\\x" in call("train", "lasso", "wrong.csv", expect=3) or "\\r" in call("train", "lasso", "wrong.csv", expect=3)
    call("train", "lasso", "d.csv", "--target", plain + "?", expect=3)
    call("train", "lasso", f"{plain}.csv", expect=4)
    call("train", "lasso", "d.csv", f"--{plain}", expect=2)


def bytes_that_are_no_text():
    with open("nul.svm", "wb") as file:
        file.write(b"0 1:1\n\0.38 1:2\n")
    call("train", "lasso", "nul.svm", expect=3)
    with open("latin.svm", "wb") as file:
        file.write(b"0 1:1\n\xe9\x1b[1m 1:2\n")
    call("train", "lasso", "latin.svm", expect=3).encode().decode("utf-8")
    with open("d.csv", "wb") as file:
        file.write(b"y,a\n1,2\n2,3\n")
    for name in ("n\x1b[1m", "a\nb"):
        done = subprocess.run((command.HAWSER, "train", "lasso", "d.csv", "--node-name", name), capture_output=True, env=command.CLEAN, timeout=60, check=False)
        assert b"\x1b" not in done.stderr + done.stdout, done


PLACES = ["target", "category", "column", "group", "id", "class", "word", "group word", "id text"]
TRICKY = BAD + ["\u202ex", "\u2066", "\u2028", 'q"\\', "a\nb", "l" * 3000, "\udcff\udcfe", "\udcc0\udc80", "\udced\udca0\udc80"]


def quoted(field):
    return '"' + field.replace('"', '""') + '"' if any(c in field for c in ',"\r\n') else field


def table(draw, path, place, text):
    """Writes a table of a target, a category, a column, a group and an id with the text in one place."""
    head = ["y", "c", "x", "g", "id"]
    if place in PLACES[:5]:
        head[PLACES.index(place)] = text
    words = {"class": "y", "word": "c", "group word": "g", "id text": "id"}
    rows = [{"y": "ab"[k % 2], "c": "uv"[k // 2 % 2], "x": f"{draw.gauss(k % 2, 1):.3f}", "g": "pqr"[k % 3], "id": f"i{k}"} for k in range(30)]
    for row in rows:
        if place in words:
            row[words[place]] = text + row[words[place]]
    with open(path, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
        file.writelines(",".join(map(quoted, line)) + "\n" for line in [head, *(row.values() for row in rows)])
    return head


def judged(*words):
    """Runs a command, whose output must be UTF-8 without characters that move a cursor or turn a line around, and JSON if it says so."""
    done = subprocess.run((command.HAWSER, *words), capture_output=True, env=command.CLEAN, timeout=60, check=False)
    said = (done.stdout + done.stderr).decode()
    assert done.returncode in range(12), (words, done)
    assert not any(ord(c) < 32 and c not in "\n\t" or 0x7f <= ord(c) < 0xa0 or c in "\u202e\u2066\u2028" for c in said), (words, said)
    assert done.returncode != 0 or "--json" not in words or json.loads(done.stdout.splitlines()[-1]) is not None, (words, said)
    assert done.returncode == 0 or len(done.stderr.splitlines()) < 4 and len(done.stderr) < 3000, (words, said)
    return done.returncode


def on_a_terminal(*words):
    """Returns what a terminal gets as standard output."""
    master, slave = pty.openpty()
    process = subprocess.Popen((command.HAWSER, *words), stdout=slave, stderr=subprocess.DEVNULL, env=command.CLEAN)
    os.close(slave)
    said = b""
    try:
        while more := os.read(master, 65536):
            said += more
    except OSError:  # the other side is closed
        pass
    os.close(master)
    assert process.wait(60) == 0, words
    return said.decode().replace("\r\n", "\n")


def places(draw, place, text):
    """Every command meets a text at a place of a table."""
    head = table(draw, "p.csv", place, text)
    wrong = table(draw, "w.csv", place, "other")
    words = ["--target", "0", "--ignore", "3,4"]
    judged("train", "logistic", "p.csv", "--target", head[0], "--ignore", "3,4", "--lambda", "0.01", "--json")
    judged("train", "logistic", "p.csv", "--target", "0", "--ignore", "4", "--cv", "3", "--groups", head[3])
    judged("train", "lasso", "p.csv", "--target", "2", "--weights", head[1], "--offset", head[4])
    judged("train", "lasso", "p.csv", "--target", "2", "--dates", head[1])
    judged("train", "multitask", "p.csv", "--target", "2,0")
    for form in "csv", "svm", "hwc", "mtx":
        if judged("data", "convert", "p.csv", *words, "-o", f"o.{form}") == 0:
            judged("data", "info", f"o.{form}", "--json")
    judged("data", "split", "p.csv", "--fraction", "0.3", "-o", "s")
    judged("data", "info", "p.csv", "--json")
    judged("plan", "softmax", "p.csv", *words, "--json")
    for name, how in ("logistic", ["--path", "3", "--plot", "p.svg", "--trace", "t"]), ("softmax", ["--lambda", "0.1"]):
        if judged("train", name, "p.csv", *words, *how, "-o", "p.m", "--log-view", "--json") != 0:
            continue
        for line in "info p.m|info p.m --coefficients|info p.m --path|evaluate p.m p.csv --json|evaluate p.m p.csv|plot p.m -o q.svg|predict p.m w.csv -o r".split("|"):
            judged(*line.split())
        judged("predict", "p.m", "w.csv", "--target", wrong[0], "-o", "r")
        said = on_a_terminal("predict", "p.m", "p.csv", "--labels", "--id", "4")
        assert said.count("\n") == 31 and not any(ord(c) < 32 and c != "\n" or 0x7f <= ord(c) < 0xa0 or c in "\u202e\u2066\u2028" for c in said), said


COMMANDS = """train linear @|train @ d.csv|train linear d.csv --hosts @|train linear d.csv --hosts @:1,@:2|train linear d.csv --lambda @|train linear d.csv --categories @
train linear d.csv --target @|train linear d.csv --sync @|plan linear @|plan linear d.csv --columns @|predict m @|predict @ d.csv|evaluate m d.csv --target @
data info @|data convert d.csv -o @.xyz|data @|info @|plot @ -o x.svg|check @|store @|store get @|serve @|@|help @|run -n @ -- true|run --hosts @ -- true"""
HOSTILE = ["\x1b[31m", "a\rb", "\udcff\udcfe", "\u202eab", "x" * 10000, "\u009b2J"]


def arguments(draw):
    """Names and values in arguments are printed with escapes by each command, which refuses them."""
    with open("d.csv", "w", encoding="utf-8") as file:
        file.write("y,a,c\n1,2,u\n2,3,v\n3,5,u\n")
    call("train", "linear", "d.csv", "-o", "m", expect=0)
    for line in COMMANDS.replace("\n", "|").split("|"):
        for text in draw.sample(HOSTILE, 6 if os.environ.get("HAWSER_TEST_LONG") else 2):
            words = [each.replace("@", text) for each in line.split()]
            done = subprocess.run((command.HAWSER, *words), capture_output=True, env=command.CLEAN, timeout=60, check=False)
            said = (done.stdout + done.stderr).decode()  # broken UTF-8 raises
            assert done.returncode > 0 and not any(ord(c) < 32 and c not in "\n\t" or c in "\u202e\u009b" for c in said), (words, said)


def main():
    seed = int(os.environ.get("HAWSER_TEST_SEED", "5"))
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for number in range(30 if os.environ.get("HAWSER_TEST_LONG") else 3):
            one_file(random.Random(seed + number), number)
        long = os.environ.get("HAWSER_TEST_LONG")
        for number, place in enumerate(PLACES):
            draw = random.Random(seed + number)
            for text in TRICKY if long else command.some(draw.sample(TRICKY, 3)):
                places(draw, place, text)
        bytes_that_are_no_text()
        arguments(random.Random(seed))
        os.chdir("/")


main()
