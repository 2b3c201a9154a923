"""Computes from the constraints alone when each worker ends each clock, if messages took no time.

r[j][a] of chunk i waits for w[i][a - 1 - delta], w[i][a] for all r[.][a - delta] of chunk i (Goel et al. 2015, section 7.1). A worker
requests the chunks of clock a + 1 when its own chunk of clock a is done.
"""
import math

MASK = (1 << 64) - 1


def drawn(block, clock):
    z = (block * 0x9E3779B97F4A7C15 + clock * 0xD1342543DE82EF95 + 0x632BE59BD9B4E019) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    z ^= z >> 31
    return ((z >> 11) + 1.0) * 2.0 ** -53


def cost_of(skew, cost, block, clock, blocks):
    if skew == "random":
        return cost * min(5.0, -math.log(drawn(block, clock)))
    if skew == "straggler":
        return cost * (4.0 if clock % blocks == block else 1.0)
    return cost


def barrier(skew, cost, blocks, clocks):
    """BSP: a clock takes as long as its slowest worker."""
    return sum(max(cost_of(skew, cost, b, a, blocks) for b in range(blocks)) for a in range(clocks))


def chunkwise(skew, cost, blocks, clocks, delta, ready):
    """Data-centric: chunks are consumed as they become ready, or the work starts when all have arrived."""
    began = [0.0] * blocks                       # when a block may begin its clock, and requests its chunks
    wrote = [[0.0] for _ in range(blocks)]       # by chunk: when version v was written; version 0 is the start
    reads = []                                   # by clock: by chunk: when its last reader had it
    for a in range(clocks):
        ended, last = [], [0.0] * blocks
        for b in range(blocks):
            there = []
            for c in range(blocks):
                if c == b:
                    there.append((began[b], c))
                    continue
                at = max(began[b], wrote[c][max(0, a - delta)])
                last[c] = max(last[c], at)
                there.append((at, c))
            price, at = cost_of(skew, cost, b, a, blocks), began[b]
            if ready:
                for come, _ in sorted(there):
                    at = max(at, come) + price / blocks
            else:
                at = max(come for come, _ in there) + price
            ended.append(at)
        reads.append(last)
        for b in range(blocks):
            wrote[b].append(max(ended[b], reads[a - delta][b] if a >= delta else 0.0, wrote[b][-1]))
        began = ended
    return max(began)
