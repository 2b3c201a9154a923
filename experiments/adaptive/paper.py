"""What docs/adaptation.md promises of --auto, for claims.py; these times are exact."""
from claims import Claim

# Those of rounds, and those of steps; a row has no time for a setting that its problem does not have.
FIXED = ("default", "bf16", "int8", "sigma' / 2", "int8, sigma' / 2", "H 2", "H 4", "H 2, sigma' / 2", "H 0.25", "ssp:1", "ssp:3", "int8, ssp:1", "int8, H 4", "H 4, ssp:1",
         "int8, H 4, ssp:1")


def best(row):
    return min(row[name] for name in FIXED if row[name] != "")


def worst(against, chosen=lambda row: True):
    def measure(csv):
        found = [row["auto"] / against(row) for row in csv["cells"] if chosen(row)]
        if not found:
            raise LookupError("no such cell")
        return [max(found)]
    return measure


def loss(csv, setting):
    """What a setting loses against the best fixed one, as the mean of all cells."""
    return sum(row[setting] / best(row) - 1 for row in csv["cells"]) / len(csv["cells"])


def missed(csv):
    """Cells in which --auto takes more than 1.3 times the best fixed setting, 1.6 times in runs of less than 200 clocks; and all cells."""
    return [sum(row["auto"] > (1.3 if row["clocks"] >= 200 else 1.6) * best(row) for row in csv["cells"]), len(csv["cells"])]


def beaten(csv):
    """Cells with a slow host or links that change in which --auto is faster than every fixed setting; and all of these cells."""
    found = [row["auto"] < best(row) for row in csv["cells"] if row["hosts"] != "even"]
    if not found:
        raise LookupError("no such cell")
    return [sum(found), len(found)]


CLAIMS = [
    Claim("all cells", "--auto takes at most 1.1 times the default", worst(lambda row: row["default"]), "at worst {:.3f} of its time", lambda ratio: ratio <= 1.1),
    Claim("slow links", "--auto is faster where links hold rounds up", lambda csv: [min(row["default"] / row["auto"] for row in csv["cells"] if row["link"] == "10mbit" and row["hosts"] == "even")],
          "at least {:.2f} times", lambda ratio: ratio > 1.2),
    Claim("200 clocks or more", "--auto takes at most 1.3 times the best fixed setting", worst(best, lambda row: row["clocks"] >= 200), "at worst {:.2f} of its time", lambda ratio: ratio <= 1.3),
    Claim("shorter runs", "--auto takes at most 1.6 times the best fixed setting", worst(best, lambda row: row["clocks"] < 200), "at worst {:.2f} of its time", lambda ratio: ratio <= 1.6),
    Claim("all cells", "these two bounds are missed in no cell", missed, "in {:.0f} of {:.0f}", lambda cells, all_cells: cells == 0),
    Claim("changing links", "--auto is faster than every fixed setting", worst(best, lambda row: "from" in row["hosts"]), "at worst {:.2f} of the best one's time", lambda ratio: ratio < 1),
    Claim("slow hosts, changing links", "--auto is faster than every fixed setting in each cell", beaten, "in {:.0f} of {:.0f}", lambda cells, all_cells: cells == all_cells),
    Claim("all cells", "the third run with --learn loses at most half of what the first loses to the best fixed setting",
          lambda csv: [loss(csv, "auto, third run"), loss(csv, "auto")], "{:.2f} of its time and {:.2f}", lambda third, first: third <= max(first / 2, 0)),
]
