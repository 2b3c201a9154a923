"""What docs/adaptation.md promises of --auto, for claims.py; these times are exact."""
from claims import Claim

FIXED = ("default", "int8", "sigma' / 2", "int8, sigma' / 2", "H 4", "H 0.25", "ssp:1")


def worst(against):
    return lambda csv: [max(row["auto"] / against(row) for row in csv["cells"])]


def loss(csv, setting):
    """What a setting loses against the best fixed one, as the mean of all cells."""
    return sum(row[setting] / min(row[name] for name in FIXED) - 1 for row in csv["cells"]) / len(csv["cells"])


CLAIMS = [
    Claim("all cells", "--auto is never slower than the default", worst(lambda row: row["default"]), "at worst {:.3f} of its time", lambda ratio: ratio <= 1.01),
    Claim("slow links", "--auto is faster where links hold rounds up", lambda csv: [min(row["default"] / row["auto"] for row in csv["cells"] if row["link"] == "10mbit" and "from" not in row["hosts"])],
          "at least {:.2f} times", lambda ratio: ratio > 1.2),
    Claim("all cells", "--auto is as fast as the best fixed setting", worst(lambda row: min(row[name] for name in FIXED)), "at worst {:.2f} of its time",
          lambda ratio: ratio <= 1.1),
    Claim("all cells", "the third run with --learn loses at most half of what the first loses to the best fixed setting",
          lambda csv: [loss(csv, "auto, third run"), loss(csv, "auto")], "{:.2f} of its time and {:.2f}", lambda third, first: third <= first / 2),
]
