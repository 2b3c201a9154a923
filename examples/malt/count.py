#!/usr/bin/env python3
"""Prints how many lines the parallel programs of this directory add to the serial ones, or change, as the table of README.md.

A line counts if it has more than blanks, comments and braces. Pairs are compared by difflib.
"""
import difflib
import pathlib
import re

HERE = pathlib.Path(__file__).parent
LANGUAGES = {"c": "C", "py": "Python"}


def lines_of(path):
    text = path.read_text()
    comments = r"/\*.*?\*/|//[^\n]*" if path.suffix == ".c" else r'""".*?"""|#[^\n]*'
    return [line.strip() for line in re.sub(comments, "", text, flags=re.S).splitlines() if line.strip(" \t{}")]


def count(serial, parallel):
    """Returns the lines of the serial program, and how many of the parallel one are not in it."""
    one, other = lines_of(serial), lines_of(parallel)
    steps = difflib.SequenceMatcher(None, one, other, autojunk=False).get_opcodes()
    return len(one), sum(max(b - a, d - c) for kind, a, b, c, d in steps if kind != "equal")


def counts():
    """Returns (program, language, lines of the serial one, lines that are added or changed) of each pair."""
    return [(folder, language, *count(HERE / folder / f"serial.{suffix}", HERE / folder / f"parallel.{suffix}"))
            for folder in sorted(path.parent.name for path in HERE.glob("*/serial.c")) for suffix, language in LANGUAGES.items()]


def table():
    return ["| program | language | lines | added or changed | share |", "|---|---|---|---|---|",
            *(f"| [{folder}]({folder}) | {language} | {lines} | {changed} | {100 * changed / lines:.0f} % |" for folder, language, lines, changed in counts())]


if __name__ == "__main__":
    print("\n".join(table()))
