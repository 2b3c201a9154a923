"""What chapter 5 of Alt's thesis claims (epsilon: the dense problem here; URL: the sparse one), for claims.py: THREADS of `run`, HOSTS of `hosts`."""
from claims import Claim, last, reach

SIGMA = ", σ′ = γK"


def ends(figure, problem, *settings):
    """The distances at the end of these curves."""
    return lambda csv: [last(csv[figure], problem=problem, setting=setting)["distance"] for setting in settings]


def costs(figure, problem, target, cost, scale, *settings):
    return lambda csv: [reach(csv[figure], target, cost, "distance", problem=problem, setting=setting) / scale for setting in settings]


def alike(*distances):
    return max(distances) <= 1.5 * min(distances)


def less(first, second):
    return first < second


THREADS = [
    Claim("5-2", "epsilon: H = 0.1 is the best", ends("figure-5-2", "dense*", f"H = 0.1{SIGMA}", f"H = 1{SIGMA}"),
          "distance after equal passes {:.1e}; H = 1: {:.1e}", less),
    Claim("5-2", "epsilon: and by time", costs("figure-5-2", "dense*", 0.1, "cpu_seconds", 1, f"H = 0.1{SIGMA}", f"H = 1{SIGMA}"),
          "CPU to 0.1: {:.2f} s; H = 1: {:.2f} s", less),
    Claim("5-2", "URL: H = 1 is the best", costs("figure-5-2", "url*", 0.1, "bytes", 1e6, f"H = 1{SIGMA}", f"H = 0.1{SIGMA}"),
          "to 0.1 {:.0f} MB; H = 0.1: {:.0f} MB", less),
    Claim("5-3", "epsilon: BSP and SSP do equally well", ends("figure-5-3", "dense*", "BSP", f"SSP 3{SIGMA}"), "at the end {:.1e} and {:.1e}", alike),
    Claim("5-3", "epsilon: TAP converges significantly slower", ends("figure-5-3", "dense*", "BSP", f"TAP{SIGMA}"), "at the end BSP {:.1e}, TAP {:.1e}",
          lambda bsp, tap: tap > 1.5 * bsp),
    Claim("5-3", "URL: BSP, SSP and TAP hardly differ", ends("figure-5-3", "url*", "BSP", f"SSP 3{SIGMA}", f"TAP{SIGMA}"),
          "at the end {:.1e}, {:.1e}, {:.1e}", alike),
    Claim("5-4", "URL: a filter saves bytes", costs("figure-5-4", "url*", 0.1, "bytes", 1e6, "absolute", "no filter"),
          "to 0.1 {:.0f} MB by magnitude; without {:.0f} MB", less),
    Claim("5-5", "epsilon: adding is significantly better than averaging", ends("figure-5-5", "dense*", f"add{SIGMA}", f"average{SIGMA}"),
          "at the end {:.1e}; averaging, σ′ following γ: {:.1e}", lambda add, average: average > 1.5 * add),
    Claim("5-5", "the same with γ alone changed", ends("figure-5-5", "dense*", f"add{SIGMA}", "average at σ′ = K"), "at the end {:.1e}; averaging: {:.1e}",
          lambda add, average: average > 1.5 * add),
    Claim("5-5", "URL: both do equally well", ends("figure-5-5", "url*", f"add{SIGMA}", f"average{SIGMA}"), "at the end {:.1e} and {:.1e}", alike),
]

HOSTS = [
    Claim("5-1", "epsilon: the framework beats one core", costs("hosts-5-1", "dense*", 0.1, "seconds", 1, "Hawser, 8 hosts", "scikit-learn, one core"),
          "to 0.1: 8 hosts {:.2f} s, one core {:.2f} s", less),
    Claim("5-1", "epsilon: the framework beats Spark", costs("hosts-5-1", "dense*", 0.2, "seconds", 1, "Hawser, 8 hosts", "CoCoA on Spark, local"),
          "to 0.2: {:.2f} s, Spark {:.1f} s", less),
    Claim("5-2", "epsilon: H = 0.1 is the best", ends("hosts-5-2", "dense*", "H = 0.1", "H = 1"), "distance after equal passes {:.1e}; H = 1: {:.1e}", less),
    Claim("5-2", "epsilon: and by time", costs("hosts-5-2", "dense*", 0.06, "seconds", 1, "H = 0.1", "H = 1"), "to 0.06: {:.1f} s; H = 1: {:.1f} s", less),
    Claim("5-2", "URL: H = 1 is the best", costs("hosts-5-2", "url*", 0.05, "seconds", 1, "H = 1", "H = 0.1"), "to 0.05: {:.1f} s; H = 0.1: {:.1f} s", less),
    Claim("5-3", "epsilon: BSP and SSP do equally well", ends("hosts-5-3", "dense*", "BSP", "SSP 3"), "at the end {:.1e} and {:.1e}", alike),
    Claim("5-3", "epsilon: TAP converges significantly slower", ends("hosts-5-3", "dense*", "BSP", "TAP"), "at the end BSP {:.1e}, TAP {:.1e}",
          lambda bsp, tap: tap > 1.5 * bsp),
    Claim("5-3", "URL: BSP and SSP hardly differ", ends("hosts-5-3", "url*", "BSP", "SSP 3"), "at the end {:.1e} and {:.1e}", alike),
    Claim("5-4", "URL: a filter saves bytes", costs("hosts-5-4", "url*", 0.1, "card_bytes", 1e6, "absolute", "no filter"),
          "to 0.1 {:.0f} MB by magnitude; without {:.0f} MB", less),
    Claim("5-5", "epsilon: adding is significantly better than averaging", ends("hosts-5-5", "dense*", "add", "average"),
          "at the end {:.1e}; averaging, σ′ following γ: {:.1e}", lambda add, average: average > 1.5 * add),
    Claim("5-5", "the same with γ alone changed", ends("hosts-5-5", "dense*", "add", "average at σ′ = K"), "at the end {:.1e}; averaging: {:.1e}",
          lambda add, average: average > 1.5 * add),
    Claim("5-5", "URL: both do equally well", ends("hosts-5-5", "url*", "add", "average"), "at the end {:.1e} and {:.1e}", alike),
]
