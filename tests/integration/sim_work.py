#!/usr/bin/env python3
"""Virtual durations count the entries that units go over: each algorithm's against what it must touch, some by a closed form."""
import json
import os
import random
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["HAWSER_SOURCE"], "tests", "helpers"))
from command import CLEAN, HAWSER  # noqa: E402

SIM = os.path.join(os.environ["HAWSER_BUILD"], "src", "hawser-sim")
COST = ("--compute", "0,1us,0", "--link", "1000gbit", "--latency", "0")  # an entry takes a microsecond, and nothing else takes time


def train(*words, nodes=1):
    """The entries that units went over, the clocks, and the stored entries of the data."""
    done = subprocess.run((SIM, "--nodes", str(nodes), *COST, "--", "train", *words, "--json", "--quiet"), capture_output=True, text=True,
                          env={**CLEAN, "ASAN_OPTIONS": "detect_leaks=0"}, timeout=60, check=False)
    assert done.returncode == 0, (words, done.stderr)
    said = json.loads(done.stdout.splitlines()[-1])
    entries = sum(worker["cpu_seconds"] for worker in said["worker"]) * 1e6
    assert abs(entries - round(entries)) < 1e-3, entries
    return round(entries), said["clocks"], said["load"]["stored"]


with tempfile.TemporaryDirectory() as folder:
    sparse, dense, counts = (os.path.join(folder, name) for name in ("d.svm", "d.csv", "counts.svm"))
    subprocess.run((HAWSER, "data", "generate", "url", "-o", sparse, "--rows", "200", "--cols", "40", "--per-row", "8", "--seed", "3"), check=True, env=CLEAN)
    random.seed(1)
    with open(dense, "w", encoding="utf-8") as file:
        file.write("y,a,b,c\n")
        for _ in range(200):
            a, b, c = (random.gauss(0, 1) for _ in range(3))
            file.write(f"{int(a + b / 3 + random.gauss(0, 1) > 0)},{a:.4f},{b:.4f},{c:.4f}\n")
    tokens = 0
    with open(counts, "w", encoding="utf-8") as file:
        for _ in range(60):
            words = {w: random.randint(1, 3) for w in random.sample(range(1, 31), 6)}
            tokens += sum(words.values())
            file.write("0 " + " ".join(f"{w}:{words[w]}" for w in sorted(words)) + "\n")

    # In a clock, gradient descent multiplies all rows with the weights and the errors with all columns, and then takes the steps.
    for nodes in (1, 2):
        for solver in ("gd", "sgd", "minibatch"):
            for data, columns in ((sparse, 40), (dense, 3)):
                options = ("linear", data, "--target", "y", "--solver", solver) if data == dense else ("linear", data, "--solver", solver)
                few, _, stored = train(*options, "--max-clocks", "5", nodes=nodes)
                many, _, _ = train(*options, "--max-clocks", "9", nodes=nodes)
                assert many - few == 4 * (2 * stored + columns), (options, nodes, few, many, stored)

    # In an iteration, each token gets a topic; besides, each of a word's topics is visited.
    few, many = (train("lda", counts, "--topics", "4", "--iterations", n)[0] for n in ("3", "8"))
    assert 5 * tokens < many - few <= 5 * (tokens + 2 * 30 * 4), (few, many, tokens)

    # No algorithm goes less than once over the data in a clock. The matrix of the svm's Newton steps has half the square of its columns.
    for options in (("lasso", sparse), ("lasso", sparse, "--solver", "cd"), ("kmeans", sparse, "--clusters", "3"), ("svm", sparse),
                    ("lasso", dense, "--target", "y"), ("logistic", dense, "--target", "y"), ("logistic", dense, "--target", "y", "--solver", "gd", "--exchange", "weights"),
                    ("logistic", dense, "--target", "y", "--solver", "dbpg"), ("softmax", dense, "--target", "y"), ("svm", dense, "--target", "y"),
                    ("poisson", dense, "--target", "y"), ("multitask", dense, "--target", "y,a")):
        entries, clocks, stored = train(*options)
        least = clocks * 40 * 41 // 2 if options == ("svm", sparse) else 0
        assert entries >= clocks * stored > 0 and entries > least, (options, entries, clocks, stored)
