"""What Li et al. (2014) claim about delays and traffic, for claims.py."""
from claims import Claim, last


def delays(table, field, workers):
    return lambda csv: [last(csv[table], workers=workers, tau=tau)[field] for tau in (0, 1, 2, 4, 8)]


def sent(*pairs):
    return lambda csv: [last(csv["traffic"], what=what, setting=setting)["sent"] / 1e6 for what, setting in pairs]


BATCHES = "mini-batches, L1 0.0003"
PARTS = {"rows": "rows on workers, one block", "blocks": "rows on workers, 40 blocks", "delay": "columns on workers"}
FIVE = "{:.0f}, {:.0f}, {:.0f}, {:.0f}, {:.0f}"

CLAIMS = [
    *(claim for table, workers, clocks, seconds in (("rows", "in turns slow", "clocks_1e-2", "seconds_1e-2"),
                                                    ("blocks", "one slow", "clocks_1e-2", "seconds_1e-2"), ("delay", "one slow", "clocks", "seconds")) for claim in (
        Claim(f"delays, {PARTS[table]}", "workers wait less with more delay", delays(table, "waiting", workers), f"{workers}: {FIVE} % for delays 0, 1, 2, 4, 8",
              lambda *waits: waits[-1] < waits[0]),
        Claim(f"delays, {PARTS[table]}", "more iterations are needed", delays(table, clocks, workers), f"{FIVE} clocks", lambda *counts: counts[-1] > counts[0]),
        Claim(f"delays, {PARTS[table]}", "total time falls first, and rises then", delays(table, seconds, workers), "{:.2f}, {:.2f}, {:.2f}, {:.2f}, {:.2f} s",
              lambda *times: min(times[1:-1]) < min(times[0], times[-1])))),
    Claim("traffic", "key caching halves what is sent", sent((BATCHES, "key caching"), (BATCHES, "keys packed")), "{:.2f} MB instead of {:.2f}",
          lambda cached, packed: cached <= 0.6 * packed),
    Claim("traffic", "zeros compress well", lambda csv: [last(csv["traffic"], what=what, setting="key caching")["received"] / 1e6 for what in (BATCHES, "mini-batches, L1 1e-9")],
          "{:.2f} MB received, {:.2f} without a penalty", lambda zeros, none: zeros < 0.8 * none),
    Claim("traffic", "the KKT filter saves more", sent(("dbpg, delay:1", "KKT filter"), ("dbpg, delay:1", "no KKT filter")), "dbpg sends {:.0f} MB instead of {:.0f}",
          lambda kept, everything: kept < 0.9 * everything),
]
