"""What Li et al. (2014) claim about delays and traffic, for claims.py."""
from claims import Claim, last


def delays(field, workers="one slow"):
    return lambda csv: [last(csv["delay"], workers=workers, tau=tau)[field] for tau in (0, 1, 2, 4, 8)]


def sent(*pairs):
    return lambda csv: [last(csv["traffic"], what=what, setting=setting)["sent"] / 1e6 for what, setting in pairs]


BATCHES = "mini-batches, L1 0.0003"
FIVE = "{:.0f}, {:.0f}, {:.0f}, {:.0f}, {:.0f}"

CLAIMS = [
    Claim("delays", "workers wait less with more delay", delays("waiting"), f"one slow: {FIVE} % for delays 0, 1, 2, 4, 8", lambda *waits: waits[-1] < waits[0]),
    Claim("delays", "more iterations are needed", delays("clocks"), f"{FIVE} clocks", lambda *clocks: clocks[-1] > clocks[0]),
    Claim("delays", "total time falls first, and rises then", delays("seconds"), "{:.2f}, {:.2f}, {:.2f}, {:.2f}, {:.2f} s",
          lambda *seconds: min(seconds[1:-1]) < min(seconds[0], seconds[-1])),
    Claim("traffic", "key caching halves what is sent", sent((BATCHES, "key caching"), (BATCHES, "keys packed")), "{:.2f} MB instead of {:.2f}",
          lambda cached, packed: cached <= 0.6 * packed),
    Claim("traffic", "zeros compress well", lambda csv: [last(csv["traffic"], what=what, setting="key caching")["received"] / 1e6 for what in (BATCHES, "mini-batches, L1 1e-9")],
          "{:.2f} MB received, {:.2f} without a penalty", lambda zeros, none: zeros < 0.8 * none),
    Claim("traffic", "the KKT filter saves more", sent(("dbpg, delay:1", "KKT filter"), ("dbpg, delay:1", "no KKT filter")), "dbpg sends {:.0f} MB instead of {:.0f}",
          lambda kept, everything: kept < 0.9 * everything),
]
