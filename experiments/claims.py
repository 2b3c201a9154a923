"""What a paper claims, beside the figures that a script measures: one list of Claim per folder (its paper.py).

    CLAIMS = [Claim("9", "bursts cost time", lambda csv: [last(csv["figure-9"], setting=s)["seconds"] for s in ("BSP burst", "BSP burst, paced")],
                    "{:.1f} s, paced {:.1f} s", lambda burst, paced: paced < burst)]
    ledger = Ledger(CLAIMS, HERE)       # before the run: reads the committed CSVs
    ledger.close(options.out, page)     # after it: prints the table, and writes the one of the page

A figure is computed from the CSVs alone, so that the table needs no run: `--claims` of each script prints it.
"""
import csv
import math
from typing import Callable, NamedTuple

import boxed


class Claim(NamedTuple):
    place: str                              # the figure of the paper
    says: str
    measure: Callable[["Tables"], list]     # numbers from the CSVs
    shows: str                              # their text, for str.format
    holds: Callable[..., bool]              # whether these numbers agree with the claim


class Tables:
    """The CSVs of a folder, by name: lists of rows, with numbers as such."""

    def __init__(self, folder):
        self.folder, self.read = folder, {}

    def __getitem__(self, name):
        if name not in self.read:
            with open(self.folder / f"{name}.csv", encoding="utf-8") as file:
                self.read[name] = [{field: number_or_text(value) for field, value in row.items()} for row in csv.DictReader(file)]
        return self.read[name]


def number_or_text(value):
    try:
        return float(value)
    except ValueError:
        return value


def rows(table, **fields):
    """The rows with these values; a text matches values that begin with it if it ends in *."""
    def fits(value, wanted):
        return value.startswith(wanted[:-1]) if isinstance(wanted, str) and wanted.endswith("*") else value == wanted
    return [row for row in table if all(fits(row[name], wanted) for name, wanted in fields.items())]


def last(table, **fields):
    found = rows(table, **fields)
    if not found:
        raise LookupError(f"no row with {fields}")
    return found[-1]


def reach(table, target, cost, measure="objective", **fields):
    """The cost of the first row at or below the target; infinite where there is none."""
    found = rows(table, **fields)
    if not found:
        raise LookupError(f"no row with {fields}")
    return next((row[cost] for row in found if row[measure] <= target), math.inf)


class Ledger:
    def __init__(self, claims, folder):
        self.claims, self.committed = claims, [evaluate(claim, Tables(folder)) for claim in claims]

    def close(self, out, page):
        today = [evaluate(claim, Tables(out)) for claim in self.claims]
        print("| figure | claim of the paper | committed | today | holds? |\n|---|---|---|---|---|")
        for claim, before, now in zip(self.claims, self.committed, today):
            print(f"| {claim.place} | {claim.says} | {before[0]} | {now[0]} | {now[1]} |")
        boxed.put(page, "claims", ["| figure | claim of the paper | here | holds? |", "|---|---|---|---|",
                                   *(f"| {claim.place} | {claim.says} | {now[0]} | {now[1]} |" for claim, now in zip(self.claims, today))])


def evaluate(claim, tables):
    """(text of the figure, "yes" or "no"), or dashes where a run was too small to have a row of it."""
    try:
        numbers = claim.measure(tables)
    except (FileNotFoundError, LookupError):
        return "-", "-"
    return claim.shows.format(*numbers).replace("inf s", "never").replace("inf", "never"), "yes" if claim.holds(*numbers) else "no"
