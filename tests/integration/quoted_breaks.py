#!/usr/bin/env python3
"""Line breaks in quoted fields of CSV. Tables are drawn by seed and written by Python's csv module twice, with line breaks and with another character in
their place: what is trained, predicted, converted and split must be the same, for every number of threads and nodes and every kind of input."""
import csv
import gzip
import io
import json
import os
import random
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["HAWSER_SOURCE"], "tests", "helpers"))
from command import CLEAN, HAWSER, run, some  # noqa: E402

OTHER = "\x0b"  # sorts next to the line break, so that levels keep their order


def call(*words, text=None):
    done = subprocess.run((HAWSER,) + words, capture_output=True, env=CLEAN, timeout=120, input=text)
    return done.returncode, done.stdout, done.stderr.decode()


def drawn_text(chance, longest):
    return "".join(chance.choice(["a", "b;", ",", '"', '""', "\n", "\r\n", '5" x', "#", " ", "1:2 ", "\n\n"]) for _ in range(chance.randint(0, longest)))


def drawn(chance, rows, longest):
    """A table: two numbers, text that is ignored, a word of few levels, an id, a class and the target."""
    levels = ["red", "gr\nn", 'da"rk\r\nblue', "\nx", "y\n"]
    classes = ["no", "yes,\nindeed"]
    table = [["a", "b", "te\nxt" if chance.random() < 0.5 else "text", "word", "id", "class", "y"]]
    for i in range(rows):
        a, b, k = chance.gauss(0, 1), chance.gauss(0, 1), chance.randrange(5)
        table.append([repr(a), repr(b), "t" + drawn_text(chance, longest), levels[k], "%d\n%s." % (i, drawn_text(chance, 2)),
                      classes[a + 0.3 * k + chance.gauss(0, 1) > 0.5], repr(2 * a - b + k + chance.gauss(0, 0.1))])
    return table


def as_text(table, style):
    out = io.StringIO()
    csv.writer(out, **style).writerows(table)
    return out.getvalue()


def replaced(table):
    return [[cell.replace("\n", OTHER) for cell in row] for row in table]


def write(path, text):
    with (gzip.open if path.endswith(".gz") else open)(path, "wb") as file:
        file.write(text.encode())
    return path


def model(path):
    """Its numbers, and what it says about columns and classes with the line breaks replaced."""
    with open(path, "rb") as file:
        data = file.read()
    size = struct.unpack("<Q", data[:8])[0]
    facts = json.loads(data[8:8 + size])["__metadata__"]
    said = {key: json.loads(facts[key]) if key == "schema" else facts[key] for key in ("schema", "target") if key in facts}
    return data[8 + size:], json.dumps(said).replace("\\n", json.dumps(OTHER)[1:-1])


def inputs(text, style, chance):
    """The words that name an input, and what comes by the pipe: a file, shards with a header each, an archive, an archive beside a file, a pipe."""
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=style["delimiter"]))
    at = sorted(chance.sample(range(2, len(rows)), 2))
    for k, part in enumerate((rows[1:at[0]], rows[at[0]:at[1]], rows[at[1]:])):
        write("s%d.csv" % k, as_text(rows[:1] + part, style))
    write("p0.csv.gz", as_text(rows[:at[0]], style))
    write("p1.csv", as_text(rows[:1] + rows[at[0]:], style))
    unended = text[:-len(style["lineterminator"])]
    return [((write("t.csv", text),), None), (("s0.csv", "s1.csv", "s2.csv"), None), ((write("t.csv.gz", text),), None), (("p0.csv.gz", "p1.csv"), None),
            (("-",), text.encode()), ((write("u.csv", unended),), None)]


def trained(words, how, launch, text=None):
    code, _, said = call(*launch, "train", *words, *how, "-k", "6", "-q", "-o", "m.st", text=text)
    assert code == 0, (words, how, launch, said)
    return model("m.st")


def equal_models(seed, rows, longest):
    chance = random.Random(seed)
    style = {"delimiter": chance.choice(",;\t"), "lineterminator": chance.choice(["\n", "\r\n"]), "quoting": chance.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])}
    table = drawn(chance, rows, longest)
    text, plain = as_text(table, style), as_text(replaced(table), style)
    how = chance.choice([("lasso", "--target", "y", "--ignore", "2,4,5", "--lambda", "0.01"),
                         ("softmax", "--target", "class", "--ignore", "2,4,6", "--lambda", "0.01")])
    want = trained((how[0], write("plain.csv", plain)), how[1:] + ("--threads", "1"), ())
    ways = [((), "1"), ((), "2"), ((), "3"), ((), "4"), (("run", "-n", "2", "--", HAWSER), "1"), (("run", "-n", "3", "--", HAWSER), "2")]
    for names, piped in inputs(text, style, chance):
        for launch, threads in some(chance.sample(ways, 3) if names != ("t.csv",) else ways, 2):
            if not (piped and launch):
                got = trained((how[0],) + names, how[1:] + ("--threads", threads), launch, piped)
                assert got == want, (seed, names, launch, threads, how, got[1], want[1])
    follow_ups(chance, table, text, style, how)


def follow_ups(chance, table, text, style, how):
    """Predictions with ids, evaluation, conversion and splitting."""
    run("train", how[0], "t.csv", *how[1:], "-q", "-o", "b.st")
    run("train", how[0], "plain.csv", *how[1:], "-q", "-o", "p.st")
    predicted = [call("predict", "p.st", "plain.csv", "--id", "id")[1].decode()]
    predicted += [call("predict", "b.st", "t.csv", "--id", "id", "--threads", str(t))[1].decode() for t in (1, 3)]
    predicted += [call("predict", "b.st", "-", "--id", "id", text=text.encode())[1].decode(), call("predict", "b.st", "s0.csv", "s1.csv", "s2.csv", "--id", "id")[1].decode()]
    rows = [[[cell.replace(OTHER, "\n") for cell in row] for row in csv.reader(io.StringIO(one, newline=""))] for one in predicted]
    assert all(one == rows[0] for one in rows) and [row[0] for row in rows[0][1:]] == [row[4] for row in table[1:]], [len(one) for one in rows]
    alone = list(csv.reader(io.StringIO(call("predict", "b.st", "t.csv")[1].decode(), newline="")))
    assert [row[-1] for row in alone] == [row[1] for row in rows[0][1:]]
    judged = []
    for fitted, data in ("p.st", "plain.csv"), ("b.st", "t.csv"), ("b.st", "t.csv.gz"):
        judged.append(json.loads(call("evaluate", fitted, data, "--json")[1].decode().replace("\\n", "\\u000b")))
        del judged[-1]["model"]
    assert judged[1] == judged[0] == judged[2], judged
    run("data", "convert", "t.csv", "-o", "t.hwc", *how[1:5])
    assert trained((how[0], "t.hwc"), how[5:], ())[0] == trained((how[0], "plain.csv"), how[1:], ())[0]
    run("data", "split", "t.csv", "--parts", "3", "-o", "part")
    again = []
    for k in (1, 2, 3):
        with open("part.%d.csv" % k, newline="") as file:
            part = list(csv.reader(file, delimiter=style["delimiter"]))
        assert part[0] == table[0]
        again += part[1:]
    assert again == table[1:]


def failed(path, launch=(), threads="1"):
    code, _, said = call(*launch, "train", "lasso", path, "--target", "y", "--ignore", "text", "--lambda", "1", "--threads", threads, "-k", "3")
    assert code != 0, path
    return [line for line in said.splitlines() if path in line]


def errors(seed):
    """An open quote is named where it opens, and other errors by their line, however the input is cut. Of several the first is reported."""
    chance = random.Random(seed)
    rows = [["x", "text", "y"]] + [[str(k), "some\nmore" if chance.random() < 0.5 else "none", str(k % 7)] for k in range(chance.choice([60, 40000]))]
    lines = [as_text([row], {"lineterminator": "\n"}) for row in rows]
    at, later = sorted(chance.sample(range(1, len(lines)), 2))
    number = 1 + "".join(lines[:at]).count("\n")
    cases = {"open": ('8,"never closed,7\n' if '"' not in "".join(lines[at:]) else None, "e.csv:%d:3: no quote closes the field" % number),
             "bad": ("3,more,1e999\n", "e.csv:%d:8: " % number), "below": ('8,"a\nb",1e999\n', "e.csv:%d:4: " % (number + 1)),
             "after": ('8,"a\nb" c,1\n', "e.csv:%d:4: something follows a closing quote" % (number + 1))}
    for kind, (line, want) in cases.items():
        if line is None:  # the quotes of later rows would close it
            lines = [one.replace('"', "").replace("some\nmore", "same") if k > at else one for k, one in enumerate(lines)]
            line = '8,"never closed,7\n'
        text = "".join(lines[:at]) + line + "".join(lines[at + 1:later]) + ("1,x\n" if kind != "open" else "") + "".join(lines[later:])
        write("e.csv", text)
        for launch, threads in some([((), "1"), ((), "4"), (("run", "-n", "3", "--", HAWSER), "1")], 2):
            said = failed("e.csv", launch, threads)
            assert any(want in one for one in said), (kind, want, said)
            if kind == "below":
                assert any("the row begins on line %d" % number in one for one in said), said


def wide_heads(seed):
    """A first row that is longer than what is read of a stream at first, with a line break early or late in it: as header, and as the first of the rows."""
    chance = random.Random(seed)
    width = chance.randint(9000, 12000)
    names = ["column%d" % k for k in range(width)]
    names[chance.choice([0, width // 2, width - 1])] = 'a\nb ""c'
    values = [[str(chance.randint(0, 9)) for _ in range(width)] + [str(k)] for k in range(4)]
    words = [[chance.choice(["x\ny", "x"])] + row for row in values]
    words[0][0] = "x\ny"
    for table, how in ((([[*names, "y"]] + values), ()), (words, ("--header", "no"))):
        text = as_text(table, {})
        found = [run("data", "info", write("h.csv", text), *how), run("data", "info", write("h.csv.gz", text), *how), call("data", "info", "-", *how, text=text.encode())[1].decode()]
        columns = [[line for line in one.splitlines() if line.split()[0] in ("rows", "columns")] for one in found]
        assert columns[0] == columns[1] == columns[2] and columns[0][0].split()[1] == "4", columns


def long_quotes():
    """A quote that nothing closes is found after 64 MiB, in a file and in a pipe that is not at its end."""
    rows = b"".join(b"%d,z,%d\n" % (k, k % 7) for k in range(200000))
    write("w.csv", "x,text,y\n1,z,2\n2,z,3\n3,\"z,4\n")
    with open("w.csv", "ab") as file:
        for _ in range(40):
            file.write(rows)
    code, _, said = call("train", "lasso", "w.csv", "--target", "y", "--ignore", "text", "--lambda", "1", "--threads", "2")
    assert code != 0 and "w.csv:4:3: no quote closes the field" in said, said
    code, _, said = call("predict", "b.st", "-", text=b"a,b,text,word,id,class,y\n1,2,\"" + rows * 40)
    assert code != 0 and "standard input:2:5: no quote closes the field" in said, said


def streamed(seed):
    """A row is answered once it has ended, whatever lines it has."""
    chance = random.Random(seed)
    table = [["a", "text", "y"]] + [[str(k), drawn_text(chance, 9), str(2 * k + 1)] for k in range(30)]
    write("t.csv", as_text(table, {}))
    run("train", "lasso", "t.csv", "--target", "y", "--ignore", "text", "--lambda", "0.01", "-q", "-o", "m.st")
    want = run("predict", "m.st", "t.csv").splitlines()
    it = subprocess.Popen((HAWSER, "predict", "m.st", "-"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=CLEAN)
    it.stdin.write(as_text(table[:1], {}).encode())
    for k, row in enumerate(table[1:]):
        text = as_text([row], {}).encode()
        cut = chance.randint(0, len(text) - 1)
        for part in (text[:cut], text[cut:]):
            it.stdin.write(part)
            it.stdin.flush()
        assert it.stdout.readline().decode().strip() == want[k], k
    it.stdin.close()
    assert it.wait(60) == 0 and it.stdout.read() == b""
    it.stdout.close()


def main():
    os.chdir(tempfile.mkdtemp(dir=os.environ.get("TMPDIR")))
    for seed in some(range(3)):
        equal_models(seed, 120, 12)
    equal_models(100, 9000, 30)
    streamed(1)
    wide_heads(1)
    for seed in some(range(3)):
        errors(seed)
    if not os.environ.get("HAWSER_SANITIZE"):
        long_quotes()


main()
