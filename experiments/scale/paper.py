"""What Li et al. (2014) and Xing et al. (2015) claim about scaling, for claims.py."""
from claims import Claim, last


def efficiency(work, topology, *sizes):
    return lambda csv: [last(csv["scaling"], work=work, topology=topology, nodes=nodes)["efficiency"] for nodes in sizes]


CLAIMS = [
    Claim("Li, evaluation", "6 times the machines are 4 times as fast (1,000 to 6,000)",
          lambda csv: [last(csv["scaling"], work="strong", topology="servers:32", nodes=nodes)["clock_seconds"] * 1e3 for nodes in (32, 256)],
          "8 times the nodes (32 to 256): {:.1f} ms a clock, {:.1f} ms", lambda few, many: few / many > 4 * 8 / 6),
    Claim("Xing, introduction", "the speedup by P machines is close to P", efficiency("strong", "servers:32", 8, 64, 256), "{:.0f}, {:.0f}, {:.0f} % of it with 8, 64, 256 nodes",
          lambda *shares: min(shares) >= 90),
]
