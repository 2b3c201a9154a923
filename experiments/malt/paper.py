"""What Li et al. (2015) claim about MALT, for claims.py. Examples are those that a replica learns from; the text of the page says why they count."""
import math

from claims import Claim, last, reach, rows


def examples(figure, target, panel, *settings):
    return lambda csv: [reach(csv[figure], target, "examples", "measure", panel=panel, setting=setting) for setting in settings]


def costs(figure, target, panel, *pairs):
    """The cost to the target of each (setting, cost)."""
    return lambda csv: [reach(csv[figure], target, cost, panel=panel, setting=setting) for setting, cost in pairs]


def clicks(csv):
    """The area under the curve rises."""
    return [next((row["examples"] for row in rows(csv["figure-6"], setting=setting) if row["measure"] >= 0.77), math.inf)
            for setting in ("one process", "8, all", "8, halton")]


def sizes(*settings):
    return lambda csv: [last(csv["figure-13"], setting=setting, hosts=8)["total_MB"] for setting in settings]


def link_shares(setting):
    """% of its link's rate (100 Mbit/s) at which the busiest card sends."""
    return lambda csv: [100 * row["busiest_MB"] / 12.5 / row["seconds"] for row in rows(csv["figure-13"], setting=setting)]


def changed(csv):
    found = [100 * row["changed"] / row["lines"] for row in csv["table-3"]]
    return [min(found), max(found)]


def model_seconds(panel):
    return lambda csv: [reach(csv["figure-9"], 0.5, "seconds", "measure", panel=f"{panel}*", setting=setting) for setting in ("SSP 2", "ASP", "BSP")]


BATCH = "batch 833*"

CLAIMS = [
    Claim("4", "all-to-all reaches a loss sooner than one process", examples("figure-4", 0.2, "batches of 500", "one process", "2, all", "8, all"),
          "{:,.0f} examples alone, {:,.0f} with 2, {:,.0f} with 8", lambda one, two, eight: eight < two < one),
    Claim("5", "speedup beyond the number of replicas, by averaging", examples("figure-5", 0.3, "dense*", "one process", "all, often"),
          "{:,.0f} examples alone, {:,.0f} with 8", lambda one, eight: one > 8 * eight),
    Claim("5", "3 times as fast as one mean per pass (MR-SVM)", examples("figure-5", 0.3, "dense*", "MR-SVM: once a pass", "all, often"),
          "{:,.0f} examples with one mean per pass, {:,.0f} with many", lambda rare, often: rare >= 3 * often),
    Claim("6", "a network: 1.5 times with 8 processes", clicks, "{:,.0f} examples alone, {:,.0f} to all, {:,.0f} along Halton", lambda one, most, _: one > 1.5 * most),
    Claim("6", "and Halton 1.1 times more", clicks, "{:,.0f} examples alone, {:,.0f} to all, {:,.0f} along Halton", lambda _, most, halton: halton < most),
    Claim("7", "changes along Halton beat the server", lambda csv: [last(csv["figure-7"], setting=s)["measure"] for s in ("Halton, changes", "server: changes up, models down")],
          "{:.2f} at the end, server {:.2f}", lambda halton, server: halton < server),
    Claim("7", "replicas do not wait, clients of a server do", lambda csv: [last(csv["figure-7"], setting=s)["gathers"] * 100 for s in ("all, changes", "server: changes up, models down")],
          "the median replica gathers for {:.0f} % of its time without a server, for {:.0f} % with one", lambda none, server: none < 10 and server > 50),
    Claim("8", "nodes spend most of their time learning and sending, not waiting", lambda csv: [max(row["gather"] for row in csv["figure-8"]) * 100],
          "gathers, waits included, take up to {:.0f} %", lambda gather: gather < 50),
    Claim("9", "SSP reaches the goal first, then ASP, then BSP", model_seconds("changes"), "changes: {:.1f}, {:.1f}, {:.1f} s", lambda ssp, asp, bsp: ssp < asp < bsp),
    Claim("9", "the same with models", model_seconds("models"), "{:.1f}, {:.1f}, {:.1f} s", lambda ssp, asp, bsp: ssp < asp < bsp),
    Claim("10", "Halton needs less time than all-to-all", costs("figure-10", 0.2, BATCH, ("vectors: Halton", "seconds"), ("vectors: all", "seconds")),
          "to 0.2 in batches of 833: {:.2f} s, to all {:.2f} s", lambda halton, most: halton < most),
    Claim("10", "larger batches need fewer bytes", lambda csv: [reach(csv["figure-10"], 0.2, "card_MB", panel=f"batch {b},*", setting="vectors: all") for b in (250, 833, 2500)],
          "{:.0f}, {:.0f}, {:.0f} MB in batches of 250, 833, 2,500", lambda small, middle, large: small > middle > large),
    Claim("11", "Halton is faster, and a node sends 3/7 of the bytes",
          costs("figure-11", 0.3, "20,000*", ("vectors: Halton", "seconds"), ("vectors: all", "seconds"), ("vectors: Halton", "card_MB"), ("vectors: all", "card_MB")),
          "to 0.3: {:.1f} s, to all {:.1f} s; {:.0f} MB instead of {:.0f}", lambda halton, most, sent, sent_most: halton < most and sent < 0.7 * sent_most),
    Claim("12", "replicas that replace each other's rows are faster than one process", examples("figure-12", 0.5, "rows*", "one process", "8, all, ssp:2"),
          "{:,.0f} ratings alone, {:,.0f} with 8", lambda one, eight: eight < one),
    Claim("12", "Halton gains another 14 %", examples("figure-12", 0.5, "rows*", "8, all, ssp:2", "8, halton, ssp:2"), "{:,.0f} ratings to all, {:,.0f} along Halton",
          lambda most, halton: halton < 0.95 * most),
    Claim("13", "Halton loads the network least, a server most", sizes("vectors: Halton, changes", "vectors: all, changes", "vectors: server, changes up, models down"),
          "8 hosts, MB an exchange: Halton {:.1f}, to all {:.1f}, server {:.1f}", lambda halton, most, server: halton < most < server),
    Claim("13", "in step, all send at the rate of the link", link_shares("vectors: all, models"), "the busiest card is at {:.0f}, {:.0f}, {:.0f} % of its rate with 2, 4, 8 hosts",
          lambda *each: min(each) >= 90),
    Claim("table 3", "15 % of a program is added or changed", changed, "{:.0f} to {:.0f} %", lambda _, most: most <= 15),
]
