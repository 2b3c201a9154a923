"""What Li et al. (2014) and Xing et al. (2015) claim about scaling, for claims.py."""
from claims import Claim, last, rows


def sizes(csv, work="strong", topology="servers:32"):
    return {row["nodes"]: row for row in rows(csv["scaling"], work=work, topology=topology)}


def six_times(csv):
    """The most nodes, and the largest size that is a sixth of them or less: both, and the milliseconds of a clock."""
    found = sizes(csv)
    many = max(found)
    few = max((nodes for nodes in found if 6 * nodes <= many), default=None)
    if few is None:
        raise LookupError("no size is a sixth of the largest")
    return [few, many, 1e3 * found[few]["clock_seconds"], 1e3 * found[many]["clock_seconds"]]


def speedups(csv):
    """% of the nodes that the speedup is, at 8, 64 and the most nodes."""
    found = sizes(csv)
    return [value for nodes in (8, 64, max(found)) for value in (nodes, last(csv["scaling"], work="strong", topology="servers:32", nodes=nodes)["efficiency"])]


CLAIMS = [
    Claim("Li, evaluation", "6 times the machines are 4 times as fast (1,000 to 6,000)", six_times, "servers:32, strong, {:.0f} to {:.0f} nodes: {:.1f} ms a clock, {:.1f} ms",
          lambda few, many, before, after: before / after > 4 / 6 * many / few),
    Claim("Xing, introduction", "the speedup by P machines is close to P", speedups, "servers:32, strong: with {:.0f} nodes {:.0f} % of it, with {:.0f} {:.0f} %, with {:.0f} {:.0f} %",
          lambda *found: min(found[1::2]) >= 90),
]
