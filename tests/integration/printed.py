#!/usr/bin/env python3
"""Names of columns, words and paths are printed without control characters: what moves a cursor or colours a screen, and a line break that would begin a
line of its own, is escaped on standard output and standard error, in refusals too. Characters of other alphabets stay."""
import os
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
    target, color, plain = word(draw), word(draw), word(draw)
    levels, labels = [word(draw) + str(k) for k in range(3)], [word(draw) + str(k) for k in range(2)]
    with open("d.csv", "w", encoding="utf-8", newline="") as file:
        file.write(f"{target},{color},{plain}\n")
        file.writelines(f"{draw.choice(labels)},{levels[k % 3]},{draw.gauss(0, 1):.4f}\n" for k in range(40))
    algorithm = ("logistic", "svm", "softmax")[number % 3]
    said = call("train", algorithm, "d.csv", "-o", "m", *(("--lambda", "0.001") if algorithm != "svm" else ()), expect=0)
    escaped = "\\x" in said or "\\r" in said
    assert escaped and any(good in said for good in GOOD), said
    said = call("info", "m", "--coefficients", expect=0)
    assert "\\x" in said or "\\r" in said, said
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
        bytes_that_are_no_text()
        arguments(random.Random(seed))
        os.chdir("/")


main()
