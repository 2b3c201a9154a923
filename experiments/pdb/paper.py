"""What Goel et al. (2015) claim in section 6, for claims.py. The paper's data have skew, so a figure is of *straggler* unless it says both."""
from claims import Claim, last, rows

COME = "dc:0 as they come"


def saved(figure, *pairs):
    """% of BSP's time saved at each (x, setting)."""
    return lambda csv: [last(csv[f"figure-{figure}"], skew="straggler", setting=setting, x=x)["saved"] for x, setting in pairs]


def span(figure, setting, skews=("random", "straggler")):
    def measure(csv):
        found = [row["saved"] for skew in skews for row in rows(csv[f"figure-{figure}"], skew=skew, setting=setting)]
        if not found:
            raise LookupError(figure)
        return [min(found), max(found)]
    return measure


CLAIMS = [
    Claim("2a", "20 to 55 % less time with 6 to 40 workers", span("2ab", COME), "with skew {:.0f} to {:.0f} %", lambda least, most: least >= 20),
    Claim("2a", "more is saved with more workers", saved("2ab", (6, COME), (40, COME)), "{:.0f} % with 6, {:.0f} % with 40", lambda few, many: many > few),
    Claim("2b", "BSP's time stays, data-centric order gains with workers", saved("2ab", (6, "dc:3"), (40, "dc:3")), "dc:3 saves {:.0f} % with 6, {:.0f} % with 40",
          lambda few, many: many > few),
    Claim("2c", "25 to 75 % less time with 16 workers", span("2c", COME), "with skew {:.0f} to {:.0f} %", lambda least, most: least >= 25),
    Claim("2c", "less is saved with more features", saved("2c", (2, COME), (16, COME)), "{:.0f} % at 2 ms a clock, {:.0f} % at 16", lambda few, many: many < few),
    Claim("2d", "SGD, 6 workers: 65 to 75 %", saved("2d", (100, "dc:1"), (400, "dc:1")), "dc:1 {:.0f} % after 100 clocks, {:.0f} % after 400",
          lambda *savings: min(savings) >= 60),
    Claim("2e", "SGD: from 70 to 75 % with 6 workers down to 40 to 50 % with 40", saved("2e", (6, "dc:1"), (40, "dc:1")), "dc:1 {:.0f} % with 6, {:.0f} % with 40",
          lambda few, many: few > many >= 40),
    Claim("2f", "mini-batch: falls less than SGD with workers", lambda csv: saved("2f", (40, "dc:1"))(csv) + saved("2e", (40, "dc:1"))(csv),
          "with 40 workers dc:1 {:.0f} %, SGD {:.0f} %", lambda batch, sgd: batch > sgd),
    Claim("7", "a delay allows more", saved("2ab", (24, COME), (24, "dc:1"), (24, "dc:3")), "with 24 workers {:.0f}, {:.0f}, {:.0f} % for delays 0, 1, 3",
          lambda none, one, three: none < one <= three + 3),
    Claim("definition 3", "waiting for single chunks saves time when all are read before a write", saved("2ab", (16, "dc:0 once all is read")),
          "{:.0f} % with 16 workers", lambda saving: saving >= 20),
]
