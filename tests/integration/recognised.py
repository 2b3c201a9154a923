#!/usr/bin/env python3
"""What is recognised without being said: formats by their first line, headers, comments, names however they are written, and numbers in notations
that are not read. Inputs are drawn by seed; what is right follows from how they were drawn."""
import json
import os
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["HAWSER_SOURCE"], "tests", "helpers"))
from command import CLEAN, HAWSER, run, some  # noqa: E402


def call(*words):
    done = subprocess.run((HAWSER,) + words, capture_output=True, text=True, env=CLEAN, timeout=120)
    return done.returncode, done.stdout, done.stderr


def write(path, text):
    with open(path, "w", newline="") as file:
        file.write(text)
    return path


def info(path, *words):
    return json.loads(run("data", "info", path, "--json", *words))


def number(chance):
    return chance.choice(["%d" % chance.randint(-9, 99), "%.3f" % chance.gauss(0, 9), "%.2e" % chance.gauss(0, 1)])


def drawn_line(chance, kind):
    """A line of the kind, which no other rule takes."""
    entries = ["%d:%s" % (k + 1, number(chance)) for k in range(chance.randint(1, 4))]
    if kind == "svmlight":
        first = [number(chance)] + ["qid:%d" % chance.randint(1, 9)] * chance.randint(0, 1)
        return chance.choice(" \t").join(first + entries) + chance.choice(["", " # 12,13 a:b", "  "])
    return chance.choice([
        "2026-01-%02d %02d:%02d:%02d,%s,%s" % (chance.randint(1, 28), 1, 2, 3, number(chance), number(chance)),  # as pandas writes it
        "%s,%s,%s" % (number(chance), entries[0], number(chance)), "%s %s" % (number(chance), "%d:%d:%d" % (12, 5, chance.randint(0, 59))),
        "name %s" % entries[0], "%s;%s" % (number(chance), number(chance)), "%s\t%s" % (number(chance), number(chance)),
        '"%s",%s' % (entries[0], number(chance)), "%s %s,%s" % (number(chance), entries[0], entries[0])])


def outcome(path, *words):
    """What is found in a file, or why it is not read, without times and the advice that only a guess has."""
    code, out, said = call("data", "info", path, *words)
    return code, [line for line in out.splitlines() if not line.startswith("read")], said.partition("; its first line")[0].strip()


def formats(seed):
    """The first line that is neither empty, nor a comment, nor one number decides, whatever follows it."""
    chance = random.Random(seed)
    kind, other = chance.sample(["svmlight", "csv"], 2)
    front = [chance.choice(["", "# 1:2 3,4", "#x", number(chance)]) for _ in range(chance.randint(0, 4))]
    write("f", "\n".join(front + [drawn_line(chance, kind), drawn_line(chance, other)]) + "\n")
    write("only", "\n".join(front + [drawn_line(chance, kind)]) + "\n")
    differ = False
    for path in ("f", "only"):
        guessed, told, wrong = (outcome(path, *words) for words in ((), ("--format", kind), ("--format", other)))
        assert guessed == told, (open(path).read(), guessed, told)
        differ |= guessed != wrong
    assert differ or front, open("f").read()


def one_entry():
    """12:01 alone is svmlight, unless the option or the name of the file says that it is a table."""
    text = "12:01\n12:02\n13:05\n"
    assert info(write("times", text), "--target", "none")["format"] == "svmlight"
    assert info(write("times.csv", text))["format"] == info("times", "--format", "csv")["format"] == "csv"
    write("times.svm", text)
    for path, assumed in (("times", True), ("times.svm", False)):
        said = run("train", "kmeans", path, "--target", "none", "--clusters", "2")
        assert ("the input is svmlight (--format)" in said) == assumed, said


def headers(seed):
    """Comments above the header are passed over; a header of numbers is taken as a row, which `assumed` says; each shard writes the names as it likes."""
    chance = random.Random(seed)
    names = chance.sample(["y", "a b", 'q"q', "x,y", "2019", "z"], 4)

    def spelled(name):
        quoted = '"%s"' % name.replace('"', '""')
        plain = '"' not in name and "," not in name
        return chance.choice(["", " "]) + (name if plain and chance.random() < 0.5 else quoted) + chance.choice(["", " "])

    rows = [[chance.randint(-9, 9) for _ in names] for _ in range(6)]
    shards = []
    for k in range(2):
        end = chance.choice(["\n", "\r\n"])
        lines = ["# made by hand"] + [",".join(map(spelled, names))] + [",".join(map(str, row)) for row in rows[3 * k:3 * k + 3]]
        shards.append(write("shard%d.csv" % k, end.join(lines) + end))
    run("data", "convert", *shards, "-o", "both.csv", "--target", names[0])
    with open("both.csv") as file:
        lines = file.read().splitlines()
    assert lines[1:] == [",".join(map(str, row)) for row in rows], lines
    dropped = chance.sample(names[1:], 2)
    run("data", "convert", shards[0], "-o", "kept.csv", "--target", names[0], "--ignore", ",".join(dropped))
    with open("kept.csv") as file:
        kept = [k for k, name in enumerate(names) if name not in dropped]
        assert file.read().splitlines()[1:] == [",".join(str(row[k]) for k in kept) for row in rows[:3]], dropped


def guesses():
    write("years.csv", "2019,2020,2021\n1,2,1\n3,4,5\n5,7,1\n2,1,1\n4,4,2\n")
    said = run("train", "lasso", "years.csv", "--lambda", "0.1")
    assert "the first line is a row (--header)" in said and "(--header)" not in run("train", "lasso", "years.csv", "--header", "yes"), said
    write("colour.csv", "y,colour,sky\n1,red,a\n2,blue,b\n3,red,a\n4,blue,b\n5.5,red,a\n")
    said = run("train", "lasso", "colour.csv", "--lambda", "0.1", "--categories", "sky")
    assert "the first line is a header (--header)" in said and "colour has words (--categories)" in said, said
    code, _, said = call("data", "info", write("hash.csv", "#y,a\n1,2\n3,4\n"))
    assert code == 3 and "'#'" in said and "--header" in said, said
    assert info("hash.csv", "--header", "yes")["target_name"] == "#y" and info("hash.csv", "--header", "yes")["rows"] == 2


NOTATIONS = {"exponents of Fortran": lambda k: "%d.5D+0%d" % (k, k % 3), "hexadecimal": lambda k: "0x%x" % (17 * k),
             "octal": lambda k: "0o%o" % (9 * k), "binary": lambda k: bin(5 + k), "groups": lambda k: "%d_00%d" % (k + 1, k),
             "a minus of typesetters": lambda k: "\u2212%d.5" % k, "groups by thin blanks": lambda k: "%d\u202f00%d" % (k + 1, k),
             "accounts": lambda k: "(%d.25)" % k, "a sign behind": lambda k: "%d.5-" % k,
             "single quotes": lambda k: "'%d.5'" % k, "doubled quotes": lambda k: '"""%d"""' % k, "quotes of typesetters": lambda k: "\u201c-%de%d\u201d" % (k + 1, k),
             "quotes around groups": lambda k: "'%d_00%d'" % (k + 1, k)}


def notations(what, make):
    """Such a column is refused with the option, and read where that is given, as is one with a word among the numbers."""
    rows = ["%d.5,%s" % (k * k, make(k)) for k in range(6)]
    for nodes in ((), ("run", "-n", "2", "--")):
        code, _, said = call(*nodes, "train", "lasso", write("n.csv", "\n".join(["y,v"] + rows) + "\n"), "--lambda", "0.1")
        assert code == 3 and "n.csv:" in said and "--categories v" in said and "looks like" in said, (what, said)
    run("train", "lasso", "n.csv", "--lambda", "0.1", "--categories", "v")
    run("data", "info", "n.csv", "--ignore", "v")
    run("train", "lasso", write("w.csv", "\n".join(["y,v"] + rows + ["7,word"]) + "\n"), "--lambda", "0.1")
    run("train", "softmax", write("t.csv", "\n".join(["v,x"] + ["%s,%d" % (make(k % 2), k % 2) for k in range(8)]) + "\n"))


def quotes_of_words():
    """Quotes around other words, or around nothing, are part of a word."""
    for word in ("'a%d'", "'%d", "''%.0s", "'%dm'", "'%d\""):
        rows = ["%d.5,%s" % (k * k, (word % k).replace('"', '""')) for k in range(6)]
        run("data", "info", write("q.csv", "\n".join(["y,v"] + rows) + "\n"))


def tabs_are_printed():
    code, _, said = call("data", "info", write("tab.tsv", "a\tb\n1\t\t3\n1\tx\n"))
    assert code == 3 and "tab.tsv:2" in said and "\\t3" in said and "\t" not in said, said


def words_come_back():
    write("kind.csv", 'kind,a\ncat,1\n"d, og",2\n"e""l",3\n')
    run("data", "convert", "kind.csv", "-o", "again.csv")
    with open("again.csv") as file:
        assert file.read().splitlines() == ["kind,a", "cat,1", '"d, og",2', '"e""l",3']
    code, _, said = call("data", "convert", "kind.csv", "-o", "again.svm")
    assert code == 0 and "0 is cat" in said, said


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for seed in some(range(60)):
            formats(seed)
        for seed in some(range(12)):
            headers(seed)
        one_entry()
        guesses()
        words_come_back()
        quotes_of_words()
        tabs_are_printed()
        for what, make in some(NOTATIONS.items()):
            notations(what, make)


if __name__ == "__main__":
    main()
