#!/usr/bin/env python3
"""The programs of this directory in C: their results beside those of other methods, on one process and on three. usage: test.py HAWSER FOLDER_OF_PROGRAMS"""
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
HAWSER, PROGRAMS = sys.argv[1:]
CLEAN = {key: value for key, value in os.environ.items() if not key.startswith("HAWSER_")}


def run(*words, code=0):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, env=CLEAN, timeout=300)
    assert done.returncode == code, (words, done.returncode, done.stdout, done.stderr)
    return done.stderr if code else done.stdout


def both(name, *words):
    """Returns what the serial program prints, which is what the parallel one does alone, and what the parallel one prints on three processes."""
    serial = run(f"{PROGRAMS}/malt-{name}-serial", *words)
    parallel = f"{PROGRAMS}/malt-{name}-parallel"
    assert run(parallel, *words) == serial
    return serial, run(HAWSER, "run", "-n", 3, "--", parallel, *words)


def refuses(name, bad, other, texts):
    for text, refusal in texts:
        bad.write_text(text)
        said = run(f"{PROGRAMS}/malt-{name}-serial", bad, other, code=1)
        assert said.count("\n") == 1 and str(bad) in said and refusal in said, said
    assert "cannot be opened" in run(f"{PROGRAMS}/malt-{name}-serial", bad.with_name("none"), other, code=1)
    assert "above 0" in run(f"{PROGRAMS}/malt-{name}-parallel", other, other, 0, code=1)


def test_svm(folder):
    """The objective is compared with that of hawser train svm, which solves the dual problem."""
    train, other, rows, rate = folder / "train.svm", folder / "test.svm", 2000, 1e-3
    for path, count, seed in ((train, rows, 1), (other, 1000, 2)):
        run(sys.executable, HERE / "data.py", "svm", path, count, seed)
    weight = 1 / (rate * rows)
    table = run(HAWSER, "train", "svm", train, "--C", weight, "--loss", "hinge", "--json")
    least = float(table.rsplit('"objective":', 1)[1].split(",")[0]) / (weight * rows)
    for text in both("svm", train, other, rate, 10):
        words = text.split()
        assert least * 0.999 < float(words[1].rstrip(",")) < least * 1.15, (text, least)
        assert float(words[2]) < 13, text
    refuses("svm", folder / "bad.svm", other, (("2 1:1\n", "label"), ("1 0:1\n", "column from 1"), ("1 1:x\n", "no number"), ("", "no rows")))


def test_factors(folder):
    """The noise of the ratings has a deviation of 0.3, and that of a constant is 1.8."""
    train, other = folder / "train.ratings", folder / "test.ratings"
    for path, count, seed in ((train, 6000, 1), (other, 2000, 2)):
        run(sys.executable, HERE / "data.py", "factors", path, count, seed)
    for text in both("factors", train, other, 30):
        words = text.replace(",", "").split()
        assert 0.15 < float(words[4]) < 0.3 < float(words[8]) < 0.45, text
    refuses("factors", folder / "bad", other, (("1 1\n", "user item rating"), ("1 x 2\n", "user item rating"), ("1 1 inf\n", "not finite"), ("", "no ratings")))


def test_clicks(folder):
    """A constant has a log loss of 0.668, and an area of 0.5."""
    train, other = folder / "train.clicks", folder / "test.clicks"
    for path, count, seed in ((train, 6000, 1), (other, 1500, 2)):
        run(sys.executable, HERE / "data.py", "clicks", path, count, seed)
    for text in both("clicks", train, other, 3):
        words = text.replace(",", "").split()
        assert float(words[2]) < 0.645 and float(words[4]) > 0.69, text
    refuses("clicks", folder / "bad", other, (("2 1\n", "label"), ("\n", "label"), ("1 x\n", "feature"), ("1 -1\n", "feature"), ("", "no examples")))


with tempfile.TemporaryDirectory() as made:
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test(pathlib.Path(made))
