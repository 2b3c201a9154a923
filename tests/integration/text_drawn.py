#!/usr/bin/env python3
"""Texts drawn by seed beside a reader that goes character by character: every separator and capital letter, documents of any length, line
ends of all kinds, quoted columns of tables, files cut into chunks, archives and pipes, and bytes that are no UTF-8 by file, line and place."""
import collections
import gzip
import os
import random
import subprocess
import sys
import tempfile

HAWSER = os.environ["HAWSER_BINARY"]
LONG = bool(os.environ.get("HAWSER_TEST_LONG"))
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("HAWSER_")}


def run(*words, status=0, given=None):
    done = subprocess.run([HAWSER, *map(str, words)], capture_output=True, input=given, env=ENVIRONMENT)
    if done.returncode != status:
        sys.exit(f"{words}: status {done.returncode}, not {status}: {done.stderr.decode()}")
    return done


def same(found, expected, what):
    if found != expected:
        sys.exit(f"{what}: {str(found)[:500]}\nexpected {str(expected)[:500]}")


# ---- the oracle: a character is a separator, or a letter that may have a small one ----

def is_letter(point):
    if point < 0x80:
        return chr(point).isalnum()
    return not (point <= 0xBF or 0x2000 <= point <= 0x2BFF or 0x3000 <= point <= 0x303F)


def small(point):
    cased = point < 0x180 or 0x370 <= point < 0x400 and point in range(0x386, 0x3AC) or 0x400 <= point < 0x430
    if point == 0x130:
        return "i"
    return chr(point).lower() if cased and len(chr(point).lower()) == 1 else chr(point)


LOWER = {point: small(point) if is_letter(point) else " " for point in range(0x3100)}


def words_of(text, least):
    return [word for word in text.translate(LOWER).split(" ") if len(word) >= least]


def counts(documents, least):
    """The words in the order of their bytes, and the entries of the matrix."""
    rows = [collections.Counter(words_of(text, least)) for text in documents]
    places = {word: k for k, word in enumerate(sorted(set().union(*rows), key=str.encode))}
    return list(places), {(i + 1, places[word] + 1): n for i, row in enumerate(rows) for word, n in row.items()}


# ---- what is drawn ----

EDGES = [1, 9, 0x1F, 0x2F, 0x30, 0x39, 0x3A, 0x40, 0x41, 0x5A, 0x5B, 0x60, 0x61, 0x7A, 0x7B, 0x7F, 0x80, 0x85, 0xBF, 0xC0, 0xD7, 0xDE, 0xDF, 0xF7, 0xFF, 0x130, 0x131,
         0x137, 0x138, 0x149, 0x178, 0x17E, 0x17F, 0x37F, 0x386, 0x387, 0x3A2, 0x3AB, 0x3AC, 0x3C2, 0x3FF, 0x400, 0x42F, 0x430, 0x7FF, 0x800, 0x1FFF, 0x2000,
         0x2028, 0x2BFF, 0x2C00, 0x2FFF, 0x3000, 0x303F, 0x3040, 0xD7FF, 0xE000, 0xFEFF, 0xFFFD, 0xFFFF, 0x10000, 0x1F600, 0x10FFFF]


def draw_word(chance):
    length = chance.choice((1, 1, 2, 3, 5, 9)) if chance.random() < 0.995 else chance.randrange(4000, 9000)
    kind = chance.choice(("ascii", "edges", "any"))
    if kind == "ascii":
        return "".join(chance.choice("abcXYZ0189") for _ in range(length))
    if kind == "edges":
        return "".join(chr(chance.choice(EDGES)) for _ in range(length))
    return "".join(chr(chance.choice((chance.randrange(0xC0, 0x530), chance.randrange(0x2000, 0x3100), chance.randrange(0xE000, 0x11000)))) for _ in range(length))


def draw_document(chance, vocabulary):
    length = chance.choice((0, 0, 1, 3, 10, 40)) if chance.random() < 0.98 else 6000
    return "".join(chance.choice(vocabulary) + chance.choice((" ", "  ", "\t", ", ", "\u2014", "\r", "\u3000")) for _ in range(length)).rstrip("\r")


def draw(seed, count):
    chance = random.Random(seed)
    vocabulary = [draw_word(chance) for _ in range(150)]
    return [draw_document(chance, vocabulary).replace("\n", " ") for _ in range(count)]


def as_lines(documents, chance):
    """The bytes of a file: a mark at its beginning, line ends, and the last one or none."""
    end = chance.choice(("\n", "\r\n"))
    text = ("\ufeff" if chance.random() < 0.3 else "") + end.join(documents) + end
    return text.encode()[: -len(end)] if documents[-1] != "" and chance.random() < 0.5 else text.encode()


def as_table(documents, chance):
    """A table whose fields are quoted, with line ends in some."""
    broken = [text.replace("  ", "\n") if chance.random() < 0.3 else text for text in documents]
    return "".join(f'{k},"{text.replace(chr(34), chr(34) * 2)}"\n' for k, text in enumerate(broken)).encode()


# ---- what the command reads ----

def read_matrix(path):
    with open(path) as file:
        lines = [line.split() for line in file if not line.startswith("%")]
    return tuple(map(int, lines[0][:2])), {(int(i), int(j)): float(value) for i, j, value in lines[1:]}


def read(paths, options, given=None):
    run("data", "convert", *paths, "-o", "out.mtx", "--target", "none", "--quiet", *options, given=given)
    return read_matrix("out.mtx")


def check_documents(seed, count):
    chance = random.Random(-seed)
    documents = draw(seed, count)
    least = chance.choice((1, 2, 2, 3, 7))
    words, entries = counts(documents, least)
    expected = ((count, len(words)), entries)
    lines, table = as_lines(documents, chance), as_table(documents, chance)
    half = chance.randrange(1, count)
    pieces = as_lines(documents[:half], chance), as_lines(documents[half:], chance)
    for name, data in (("t.txt", lines), ("t.txt.gz", gzip.compress(lines, 1)), ("t.csv", table), ("t.csv.gz", gzip.compress(table, 1)),
                       ("a.part", pieces[0]), ("b.part.gz", gzip.compress(pieces[1], 1))):
        with open(name, "wb") as out:
            out.write(data)
    text, column = ("--format", "text", "--min-length", least), ("--text", 1, "--header", "no", "--min-length", least)
    ways = [(("t.txt",), text, None), (("t.txt.gz",), text, None), (("-",), text, lines), (("a.part", "b.part.gz"), text, None),
            (("t.csv",), column, None), (("t.csv.gz",), column, None), (("-",), column, table)]
    for way in ways if LONG else chance.sample(ways, 3):
        threads = chance.randrange(1, 5)
        if not words:
            told = run("data", "convert", *way[0], "-o", "out.mtx", "--target", "none", *way[1], "--threads", threads, given=way[2], status=3).stderr
            same(b"no word is left" in told, True, (seed, way[0], way[1], told))
            continue
        same(read(way[0], (*way[1], "--threads", threads), way[2]), expected, (seed, way[0], way[1], threads))


def check_every_character():
    """All characters below U+3100, and some above, each between two letters."""
    points = [point for point in (*range(0x3100), *EDGES) if point not in (10, 13)]
    with open("all.txt", "wb") as out:
        out.write("".join(f"x{chr(point)}y\n" for point in points).encode())
    found = read(("all.txt",), ("--format", "text", "--min-length", 1))
    words, entries = counts([f"x{chr(point)}y" for point in points], 1)
    same(found, ((len(points), len(words)), entries), "every character")


BAD = [b"\x80", b"\xbf", b"\xc0\xaf", b"\xc1\xbf", b"\xc3", b"\xe2\x82", b"\xe0\x9f\xbf", b"\xed\xa0\x80", b"\xf0\x8f\xbf\xbf", b"\xf4\x90\x80\x80", b"\xf5\x80\x80\x80", b"\xff",
       b"\xf0\x9f\x98"]


def check_bad_bytes(seed):
    """The first bytes that are no UTF-8 are named, whichever thread meets them."""
    chance = random.Random(seed)
    documents = [text for text in draw(seed, 60) if "\r" not in text]
    lines = [text.encode() for text in documents]
    for row in sorted(chance.sample(range(len(lines)), 2)):
        at = chance.randrange(len(documents[row]) + 1)
        lines[row] = documents[row][:at].encode() + chance.choice(BAD) + documents[row][at:].encode()
    first = next(k for k, line in enumerate(lines) if line.decode(errors="ignore") != documents[k] or line != documents[k].encode())
    try:
        lines[first].decode()
        return
    except UnicodeDecodeError as error:
        place = error.start + 1
    data = b"\n".join(lines) + b"\n"
    with gzip.open("bad.txt.gz", "wb") as out:
        out.write(data)
    with open("bad.txt", "wb") as out:
        out.write(data)
    for path in ("bad.txt", "bad.txt.gz"):
        told = run("data", "info", path, "--format", "text", "--threads", chance.randrange(1, 5), status=3).stderr.decode()
        same(f"{path}:{first + 1}:{place}: the text is not UTF-8" in told, True, (seed, told, first + 1, place))


def check_nodes(seed):
    """The models of lines and of a table have the same bits on one to three nodes."""
    documents = draw(seed, 120)
    chance = random.Random(seed)
    targets = [chance.choice((1, 2, 5)) for _ in documents]
    with open("y", "w") as out:
        out.write("".join(f"{y}\n" for y in targets))
    with open("t.txt", "wb") as out:
        out.write("".join(text + "\n" for text in documents).encode())
    with open("t.csv", "wb") as out:
        out.write(b"text,y\n" + "".join(f'"{text.replace(chr(34), chr(34) * 2)}",{y}\n' for text, y in zip(documents, targets)).encode())
    found = set()
    for nodes in (1, 2, 3):
        for words in (("t.txt", "--format", "text", "--target", "y"), ("t.csv", "--text", "text", "--target", "y")):
            launch = ("run", "-n", nodes, "--") if nodes > 1 else ()
            run(*launch, "train", "lasso", *words, "--lambda-ratio", "0.1", "--workers", 6, "--quiet", "-o", "m.model")
            found.add(run("predict", "m.model", "t.txt", "--format", "text").stdout)
    same(len(found), 1, "predictions over nodes")


def main():
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        check_every_character()
        for seed in range(1, 61 if LONG else 7):
            check_documents(seed, random.Random(seed).choice((2, 7, 60, 300)))
        check_documents(1000, 6000 if LONG else 1500)
        for seed in range(1, 121 if LONG else 9):
            check_bad_bytes(seed)
        check_nodes(3)


main()
