#!/usr/bin/env python3
"""Tables in odd clothes give the numbers of the plain table: byte order marks, line ends, quotes, separators, decimal commas, unnamed columns and names that
are numbers or missing values. Predictions for a table with its columns in another order have the same bits. What is not read is refused."""
import os
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["HAWSER_SOURCE"], "tests", "helpers"))
from command import CLEAN, HAWSER, some  # noqa: E402

NAMES = ["a b", "x,y", 'q"q', "ünï", "名前", "1", "2.5", "-3", "1e5", "a=b", "#c", "a;b", "tab\tname", " lead", "trail ", "TRUE", "nan", "NA", "", "null",
         "'q'", "a:b", "a\nb", "0x10", "1:2", "qid:1", "inf", "2026-01-01", "12:30"]
LISTS = [["a", "b", "c"], ["", "a", "b"], ["1", "2", "3"], ["2020", "2021"], ["NA", "null"]]


def call(*words):
    done = subprocess.run((HAWSER,) + words, capture_output=True, text=True, env=CLEAN, timeout=120)
    return done.returncode, done.stdout, done.stderr


def write(path, text):
    with open(path, "w", newline="", encoding="utf-8") as file:
        file.write(text)
    return path


def quoted(text, always, delimiter):
    odd = always or text != text.strip() or text == "" or text[0] == "#" or any(c in text for c in '",\n;\t' + delimiter)
    return '"%s"' % text.replace('"', '""') if odd else text


def table(names, rows, chance, target="resp"):
    """The text of a table, in drawn clothes, and whether it can be read: a decimal comma is refused."""
    delimiter = chance.choice(",,;\t ")
    comma = delimiter != "," and chance.random() < 0.3
    always = chance.random() < 0.3 and delimiter != " "
    if delimiter == " " and names is not None and any(not name.isalnum() for name in names):
        delimiter = ","
        comma = False
    lines = [] if names is None else [delimiter.join(quoted(name, always, delimiter) for name in [target] + names)]
    for row in rows:
        lines.append(delimiter.join(("%.17g" % value).replace(".", "," if comma else ".") for value in row))
    end = chance.choice(["\n", "\r\n"])
    if chance.random() < 0.2:
        lines.insert(chance.randint(1, len(lines)), "")
    return chance.choice(["", "\ufeff"]) + end.join(lines) + chance.choice(["", end]), not comma


def draw(seed):
    chance = random.Random(seed)
    columns, count = chance.randint(2, 5), chance.randint(5, 20)
    names = chance.sample(NAMES, columns)
    if chance.random() < 0.4:
        names = list(chance.choice(LISTS))
        columns = len(names)
    rows = [[chance.gauss(0, 1) + 0.5 for _ in range(columns + 1)] for _ in range(count)]
    plain = write("plain.csv", "\n".join([",".join(["resp"] + ["c%d" % j for j in range(columns)])] + [",".join(map(repr, row)) for row in rows]) + "\n")
    assert call("train", "lasso", plain, "--lambda", "0.01", "-k", "1", "-o", "plain", "-q")[0] == 0
    right = call("predict", "plain", plain)[1]
    named = chance.random() < 0.8
    text, fits = table(names if named else None, rows, chance)
    words = ("train", "lasso", write("odd.csv", text), "--lambda", "0.01", "-k", "1", "-o", "odd", "-q") + (("--target", "resp") if named else ())
    code, _, said = call(*words)
    if not fits:
        assert code == 3 and ("write a decimal point" in said or "shows no delimiter" in said), (seed, code, said, text)
        return
    assert code == 0, (seed, said, text)
    assert call("predict", "odd", "odd.csv")[1] == right, (seed, text)
    if not named:
        return
    order = list(range(columns))
    chance.shuffle(order)
    other = "\n".join([",".join(quoted(names[j], False, ",") for j in order)] + [",".join(repr(row[j + 1]) for j in order) for row in rows]) + "\n"
    code, out, said = call("predict", "odd", write("other.csv", other))
    if code != 0 and "--header yes or no" in said:  # the names are numbers, as a row may be
        assert all(name.strip().lower() in ("1", "2.5", "-3", "1e5", "na", "nan", "null", "2", "3", "2020", "2021", "inf") for name in names), (seed, names, said)
        code, out, said = call("predict", "odd", "other.csv", "--header", "yes")
    assert (code, out) == (0, right), (seed, said, names, order)


def unnamed():
    """A column without a name is matched with the one that has none. Two of them leave positions alone, which names must not contradict."""
    write("one.csv", ",y,a,b\n0,1,2,3\n1,2,4,1\n2,3.5,1,7\n3,1,5,5\n4,2,2,9\n")
    assert call("train", "lasso", "one.csv", "--target", "y", "--lambda", "0.01", "-o", "one", "-q")[0] == 0
    right = call("predict", "one", "one.csv")[1].splitlines()
    assert call("predict", "one", write("turned.csv", "b,a,\n3,2,0\n1,4,1\n"))[1].splitlines() == right[:2]
    for text, words in (("b,a\n3,2\n", "has no column ''"), ("a,b,c\n2,3,0\n", "has no column ''"), ("a,,b,\n2,0,3,0\n", "have no name")):
        code, out, said = call("predict", "one", write("less.csv", text))
        assert code == 3 and words in said and not out, (text, said)
    write("two.csv", ",y,a,\n0,1,2,3\n1,2,4,1\n2,3.5,1,7\n3,1,5,5\n4,2,2,9\n")
    assert call("train", "lasso", "two.csv", "--target", "y", "--lambda", "0.01", "-o", "two", "-q")[0] == 0
    right = call("predict", "two", "two.csv")[1]
    assert call("predict", "two", write("same.csv", ",a,\n0,2,3\n1,4,1\n"))[1].splitlines() == right.splitlines()[:2]
    code, out, said = call("predict", "two", write("turned.csv", "a,,\n2,0,3\n"))
    assert code == 0 or not out, said  # 'a' is where a column has no name
    code, out, said = call("predict", "two", write("named.csv", ",b,\n0,2,3\n"))
    assert code == 3 and "in its place" in said and not out, said


def idle_missing():
    """What the training says about missing values counts for new data where its input could have some."""
    write("x.svm", "1 1:2 2:1\n2 1:1\n3 2:5\n1 1:1 2:1\n")
    assert call("train", "lasso", "x.svm", "--lambda", "0.1", "-o", "plain", "-q")[0] == 0
    right = call("predict", "plain", "x.svm")
    for how in ("zero", "mean", "drop", "level", "mean,level", "mean,zero"):
        assert call("train", "lasso", "x.svm", "--lambda", "0.1", "--missing", how, "-o", "m", "-q")[0] == 0
        assert call("predict", "m", "x.svm") == right and call("evaluate", "m", "x.svm")[0] == 0, how


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for seed in some(range(60), of=6):
            draw(seed)
        unnamed()
        idle_missing()
    print("tables in odd clothes: passed")


main()
