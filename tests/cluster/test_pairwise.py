#!/usr/bin/env python3
"""tests/cluster/pairwise against brute force: small random factors and bans, each combination checked."""
import itertools
import os
import pathlib
import random
import subprocess
import sys

TOOL = pathlib.Path(__file__).resolve().parent / "pairwise"


def run(words, seed="0"):
    done = subprocess.run([TOOL, *words], capture_output=True, text=True, env={**os.environ, "PYTHONHASHSEED": seed})
    return done.returncode, done.stdout, done.stderr


def rows_of(text):
    return [tuple(word.split("=")[1] for word in line.split()) for line in text.splitlines()]


def pairs_of(row):
    cells = list(enumerate(row))
    return set(itertools.combinations(cells, min(2, len(cells))))


def check(names, values, bans):
    words = [f"{name}={','.join(v)}" for name, v in zip(names, values)]
    words += ["not (" + " and ".join(f"{names[f]}={v}" for f, v in ban.items()) + ")" for ban in bans]
    allowed = [row for row in itertools.product(*values) if not any(all(row[f] == v for f, v in ban.items()) for ban in bans)]
    code, full, _ = run(["--full", *words])
    if not allowed:
        assert code == 2 and run(words)[0] == 2, words
        return
    assert code == 0 and rows_of(full) == allowed, words
    code, said, complained = run(words)
    rows = rows_of(said)
    assert code == 0 and set(rows) <= set(allowed) and len(set(rows)) == len(rows), words
    wanted = set().union(*map(pairs_of, allowed))
    assert set().union(*map(pairs_of, rows)) == wanted, words
    every = set().union(*map(pairs_of, itertools.product(*values)))
    assert len(complained.splitlines()) == len(every - wanted), (words, complained)
    assert run(words, "77")[1] == said, words
    for line in said.splitlines():
        assert [word.split("=")[0] for word in line.split()] == names


draw = random.Random(3)
for _ in range(40):
    count = draw.randint(1, 5)
    values = [[f"{'abcdef'[f]}{v}" for v in range(draw.randint(1, 4))] for f in range(count)]
    bans = [{f: draw.choice(values[f]) for f in draw.sample(range(count), draw.randint(1, min(3, count)))}
            for _ in range(draw.randint(0, 5))]
    check([f"factor{f}" for f in range(count)], values, bans)
# A pair that is forbidden only by way of a third factor must not be tried.
check(["a", "b", "c"], [["0", "1"], ["0", "1"], ["0", "1"]], [{0: "0", 2: "0"}, {1: "0", 2: "1"}])

# It pays: far fewer rows than all, and not far from the minimum (the product of the two largest factors).
words = ["nodes=1,2,4,8", "launcher=run,hosts,mpirun,srun,join", "topology=all,halton,tree,servers", "sync=bsp,ssp:2,tap", "link=a,b,c"]
assert 20 <= len(rows_of(run(words)[1])) <= 26
assert len(rows_of(run(["--full", *words])[1])) == 720

for wrong in ([], ["a"], ["a=1,1"], ["a=1", "a=2"], ["a=1", "not (b=1)"], ["a=1", "not (a=2)"], ["a=1,2", "not (a=1 and a=2)"],
              ["a=1", "not a=1"], ["--file"], ["--file", "/nonexistent"], ["a=1", "--fast"]):
    code, said, complained = run(wrong)
    assert code == 2 and not said and len(complained.splitlines()) == 1 and complained.startswith("pairwise: "), (wrong, complained)

done = subprocess.run([TOOL, "--file", "/dev/stdin"], input="# sizes\nn=1,2  # few\n\nk=x,y\nnot (n=1 and k=x)\n", capture_output=True, text=True)
assert sorted(done.stdout.splitlines()) == ["n=1 k=y", "n=2 k=x", "n=2 k=y"], done
sys.exit(0)
