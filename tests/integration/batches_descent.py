#!/usr/bin/env python3
"""examples/minibatch.c reaches the optimum of a real set under every policy, with the same bits under bsp for any number of threads and nodes,
and nearly the same numbers for sparse and dense rows. The objective is computed here, and its distance from the optimum bounded twice: by the gradient g, |g|^2 / (2 penalty),
and by the certified optimum of `hawser train logistic`."""
import json
import math
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "helpers"))
from command import CLEAN, HAWSER, real, run, some

EXAMPLE = os.path.join(os.environ["HAWSER_BUILD"], "examples", "minibatch")
PENALTY = 0.01


def weights(*words, nodes=1):
    """What the example prints; it has to succeed."""
    launch = [HAWSER, "run", "-n", str(nodes), "--"] if nodes > 1 else []
    out = subprocess.run([*launch, EXAMPLE, *words], capture_output=True, text=True, env=CLEAN, timeout=300)
    assert out.returncode == 0, (words, nodes, out.stderr)
    return out.stdout


def parsed(text):
    """Rows of (label, [(column, value)]), columns from 0, of svmlight."""
    rows = []
    for line in text.splitlines():
        label, *entries = line.split()
        rows.append((1 if float(label) > 0 else -1, [(int(c) - 1, float(v)) for c, v in (e.split(":") for e in entries)]))
    return rows


def objective(rows, w):
    """The objective at w, and the bound of its distance from the optimum."""
    loss, g = 0.0, [PENALTY * x for x in w]
    for y, entries in rows:
        margin = y * sum(w[c] * v for c, v in entries)
        loss += math.log1p(math.exp(-margin)) if margin > 0 else math.log1p(math.exp(margin)) - margin
        slope = -y / (1 + math.exp(margin)) / len(rows)
        for c, v in entries:
            g[c] += slope * v
    return loss / len(rows) + PENALTY / 2 * sum(x * x for x in w), sum(x * x for x in g) / (2 * PENALTY)


def check_optimum(text, folder):
    rows, path = parsed(text), os.path.join(folder, "a9a")
    open(path, "w", encoding="utf-8").write(text)
    trained = json.loads(run("train", "logistic", path, "--lambda", str(PENALTY), "--l1-ratio", "0", "--no-intercept", "--json", "-q", "-o",
                             os.path.join(folder, "model")).splitlines()[-1])
    # A block may run far ahead of the others under tap, so the last steps may all be of one block, on its rows only.
    bounds = {"bsp": 1e-3, "ssp:2": 2e-3, "tap": 3e-2}
    for sync, workers in some([("bsp", 4), ("bsp", 1), ("ssp:2", 4), ("tap", 3)]):
        w = [float(x) for x in weights(path, "--workers", str(workers), "--sync", sync).split()]
        value, distance = objective(rows, w)
        above = value / trained["objective"] - 1
        print(f"a9a, {sync}, {workers} workers: {value:.6f}, {above:.1e} above `hawser train`, at most {distance:.1e} above the optimum")
        assert -1e-6 < above < bounds[sync], (sync, workers, value, trained)
        assert sync != "bsp" or distance < 0.01 * value, (sync, workers, value, distance)


def check_bits(text, folder):
    """Mushrooms have equally many entries in each row, so sparse and dense rows have the same blocks."""
    lines = text.splitlines()[:1500]
    rows, sparse, dense = parsed("\n".join(lines)), os.path.join(folder, "sparse"), os.path.join(folder, "dense.csv")
    columns = 1 + max(c for _, entries in rows for c, _ in entries)
    assert len({len(entries) for _, entries in rows}) == 1
    open(sparse, "w", encoding="utf-8").write("\n".join(lines) + "\n")
    with open(dense, "w", encoding="utf-8") as out:
        for y, entries in rows:
            row = ["0"] * columns
            for c, v in entries:
                row[c] = repr(v)
            out.write(f"{y}," + ",".join(row) + "\n")
    wanted = {path: weights(path, "--workers", "6") for path in (sparse, dense)}
    for path, words, nodes in some([(sparse, ["--threads", "1"], 1), (sparse, ["--threads", "2"], 1), (sparse, [], 3), (dense, [], 2)]):
        assert weights(path, "--workers", "6", *words, nodes=nodes) == wanted[path], (path, words, nodes)
    # Kernels add up a dense row in lanes of columns, and a sparse one in lanes of entries.
    for a, b in zip(wanted[sparse].split(), wanted[dense].split(), strict=True):
        assert math.isclose(float(a), float(b), rel_tol=1e-9, abs_tol=1e-12), (a, b)
    assert weights(sparse, "--workers", "1", "--seed", "2") != weights(sparse, "--workers", "1")
    assert len(wanted[sparse].split()) == columns


def check_no_target(folder):
    path = os.path.join(folder, "bare.mtx")
    open(path, "w", encoding="utf-8").write("%%MatrixMarket matrix coordinate real general\n3 2 2\n1 1 1.0\n2 2 1.0\n")
    out = subprocess.run([EXAMPLE, path, "--workers", "2"], capture_output=True, text=True, env=CLEAN, timeout=300)
    assert out.returncode == 3 and "the input has no target" in out.stderr and out.stdout == "", out


def main():
    a9a, mushrooms = real("a9a/a9a.zst"), real("mushrooms/mushrooms.zst")
    if not os.path.exists(EXAMPLE) or a9a is None or mushrooms is None:
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        check_optimum(a9a, folder)
        check_bits(mushrooms, folder)
        check_no_target(folder)


if __name__ == "__main__":
    main()
