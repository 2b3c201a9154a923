"""What Xing et al. (2015) claim about Petuum in section 3, for claims.py."""
from claims import Claim, last, reach


def seconds(figure, target, *settings):
    return lambda csv: [reach(csv[figure], target, "seconds", setting=setting) for setting in settings]


def times(first, second, factor=1.0):
    return first > factor * second


def by_staleness(panel, target):
    """Seconds to the target: BSP, the best SSP, and without waits."""
    def measure(csv):
        found = {sync: reach(csv["figure-8"], target, "seconds", panel=panel, setting=sync) for sync in ("BSP", "SSP 1", "SSP 2", "SSP 4", "SSP 8", "async")}
        return [found["BSP"], min(found[sync] for sync in found if "SSP" in sync), found["async"]]
    return measure


CLAIMS = [
    Claim("8", "lasso: SSP is faster than BSP; without waits it does not converge", by_staleness("lasso", 0.1),
          "to 0.1: BSP {:.1f} s, SSP {:.1f} s, without waits {:.1f} s", lambda bsp, ssp, tap: ssp < min(bsp, tap)),
    Claim("8", "matrix factorisation: SSP is faster than BSP; without waits it does not converge", by_staleness("matrix factorisation", 0.25),
          "to 0.25: BSP {:.1f} s, SSP {:.1f} s, without waits {:.1f} s", lambda bsp, ssp, tap: ssp < min(bsp, tap)),
    Claim("8", "topics: SSP is faster than BSP and than no waits", by_staleness("topics (LDA)", 6.9),
          "to 6.9: BSP {:.1f} s, SSP {:.1f} s, without waits {:.1f} s", lambda bsp, ssp, tap: ssp < min(bsp, tap)),
    Claim("9", "matrix factorisation: continuous communication is 1.8 times as fast as SSP alone",
          seconds("figure-9", 0.25, "SSP burst", "budget: absolute"), "to 0.25: {:.1f} s, most urgent first {:.1f} s",
          lambda burst, budget: times(burst, budget, 1.5)),
    Claim("9", "the same without a budget, by pacing alone", seconds("figure-9", 0.25, "SSP burst", "SSP continuous, paced"), "to 0.25: {:.1f} s, continuous {:.1f} s", times),
    Claim("10", "topics: continuous communication is 3 times as fast as SSP alone", seconds("figure-10", 6.9, "SSP burst", "budget: oldest first"),
          "to 6.9: {:.1f} s, with a budget {:.1f} s", lambda burst, budget: times(burst, budget, 2.5)),
    Claim("10", "the most urgent first gain another 25 %", seconds("figure-10", 6.9, "budget: oldest first", "budget: absolute"),
          "to 6.9: {:.2f} s by age, {:.2f} s by magnitude", lambda age, magnitude: times(age, magnitude, 1.1)),
    Claim("9", "bursts cost time", lambda csv: [last(csv["figure-9"], setting=s)["seconds"] for s in ("BSP burst", "BSP burst, paced")],
          "60 clocks in {:.1f} s, paced {:.1f} s", times),
]
