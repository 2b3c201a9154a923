#!/usr/bin/env python3
"""The rows of mini-batches are those of docs/design/batches.md, which this file implements on its own: orders, batches, epochs and any start."""
import os
import random
import subprocess
import sys

MASK = 2 ** 64 - 1
PROBE = os.path.join(os.environ["HAWSER_BUILD"], "tests", "batches_probe")


def mix(x):
    x = (x + 0x9e3779b97f4a7c15) & MASK
    x = ((x ^ x >> 30) * 0xbf58476d1ce4e5b9) & MASK
    x = ((x ^ x >> 27) * 0x94d049bb133111eb) & MASK
    return x ^ x >> 31


def order(n, seed, stream, epoch):
    """The rows of an epoch, a list."""
    a = mix(seed ^ 0x62617463686573 ^ mix(n))
    c = mix(a ^ mix(stream ^ mix(epoch)))
    keys = [mix(mix(c) ^ mix(((a ^ c) + i * 0x9e3779b97f4a7c15) & MASK)) for i in range(12)]
    bits = 8
    while n > 2 ** bits:
        bits += 1
    r = -(-bits // 2)

    def network(x):
        left, right = divmod(x, 2 ** r)
        for i in range(0, 12, 2):
            left ^= mix(keys[i] ^ right) % 2 ** (bits - r)
            right ^= mix(keys[i + 1] ^ left) % 2 ** r
        return left * 2 ** r + right

    rows = []
    for k in range(n):
        x = network(k)
        while x >= n:
            x = network(x)
        rows.append(x)
    return rows


def batches(n, size, seed, stream, in_order, whole, epochs):
    """Every batch of the first epochs: (epoch, number, last, rows)."""
    made = []
    for epoch in range(epochs):
        rows = list(range(n)) if in_order else order(n, seed, stream, epoch)
        cut = [rows[k:k + size] for k in range(0, n, size)] or [[]]
        if whole and len(cut[-1]) < size and n > 0:
            cut.pop()
        made += [(epoch, j, int(j + 1 == len(cut)), batch) for j, batch in enumerate(cut)]
    return made


def main():
    chance = random.Random(5)
    cases = [(0, 3), (1, 1), (2, 5), (255, 16), (256, 16), (257, 300), (1024, 100), (1025, 1)]
    cases += [(chance.randrange(3000), 1 + chance.randrange(200)) for _ in range(20)]
    for number, (n, size) in enumerate(cases):
        whole = number % 3 == 1 and n >= size
        words = (n, size, chance.randrange(2 ** 64), chance.randrange(2 ** (64 if number % 2 else 3)), int(number % 7 == 6), int(whole))
        wanted = batches(*words, epochs=3)
        start = chance.randrange(len(wanted))
        out = subprocess.run([PROBE, *map(str, words), str(start), str(len(wanted) - start)], capture_output=True, text=True, timeout=60)
        assert out.returncode == 0, (words, out.stderr)
        lines = [list(map(int, line.split())) for line in out.stdout.splitlines()]
        got = [(line[0], line[1], line[2], line[3:]) for line in lines]
        assert got == wanted[start:], (words, start)
    refused = subprocess.run([PROBE, "3", "4", "0", "0", "0", "1", "0", "1"], capture_output=True, text=True, timeout=60)
    assert refused.returncode == 3 and "3 rows have no whole batch of 4" in refused.stderr, refused
    print(len(cases), "orders are those of docs/design/batches.md")


if __name__ == "__main__":
    if not os.path.exists(PROBE):
        print("skipped: no", PROBE)
        sys.exit(77)
    main()
