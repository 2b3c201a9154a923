#!/usr/bin/env python3
"""The bytes of a checkpoint that a plan estimates are never below those of the largest one that the training writes, and at most 1.5 times as many.
Over algorithms, dense and sparse data, nodes, and one model, a path and folds. The solvers may work on all columns here, so that what they remember is known.
DRAWN cases are run by the seed in the first argument, all with HAWSER_TEST_LONG."""
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time

HAWSER = os.environ["HAWSER_BINARY"]
CLEAN = {key: value for key, value in os.environ.items() if not key.startswith("HAWSER_")}
MANY, DRAWN = 1.5, 5
TARGETS = {"lasso": "y", "linear": "y", "logistic": "c", "poisson": "c", "multitask": "y,c", "svm": "c", "softmax": "c", "kmeans": "none"}
PATHS = [["--path", "60"], ["--cv", "3"]]
ONE = {"svm": ["--C", "1", "--tol", "1e-9"], "softmax": ["--lambda", "1e-5", "--tol", "1e-12"], "linear": ["--max-clocks", "40"],
       "kmeans": ["--clusters", "20", "--max-iterations", "60", "--init-method", "random"]}
TABLE = [(algorithm, kind, nodes, options) for algorithm in TARGETS for kind in ("dense.csv", "sparse.svm") for nodes in (1, 3)
         for options in ([ONE[algorithm]] if algorithm in ONE else []) + (PATHS if algorithm not in ("linear", "kmeans") else [])
         if algorithm != "multitask" or kind == "dense.csv"]


def words(command, algorithm, kind, nodes, options):
    target = TARGETS[algorithm]
    data = [kind] + (["--target", target] if kind == "dense.csv" or target == "none" else [])
    if kind == "dense.csv" and target != "y,c":
        data += ["--ignore", ",".join(sorted({"y", "c"} - {target}))]
    return [HAWSER, *(["run", "-n", str(nodes), "--"] if nodes > 1 else []), command, algorithm, *data, *options, "--threads", "1", "--checkpoint", "ck"]


def largest(seen):
    """The bytes of the largest checkpoint in the folder, by its manifest. Those in `seen` are not read again."""
    most = 0
    for name in os.listdir("ck") if os.path.isdir("ck") else ():
        if not re.fullmatch(r"checkpoint-\d+-\w+\.json", name) or name in seen:
            continue
        try:
            with open(os.path.join("ck", name), encoding="utf8") as manifest:
                parts = json.loads(manifest.readline())["parts"]
        except (FileNotFoundError, ValueError):
            continue
        seen.add(name)
        most = max(most, sum(part["bytes"] for part in parts))
    return most


def check(case):
    done = subprocess.run(words("plan", *case) + ["--json"], capture_output=True, text=True, env=CLEAN, timeout=200, check=False)
    assert done.returncode == 0, (case, done.stderr)
    told = json.loads(next(line for line in done.stdout.split("\n") if line.startswith("{")))["memory"]["checkpoint_bytes"]
    most, seen = 0, set()
    with open("said", "w+", encoding="utf8") as said, subprocess.Popen(
            words("train", *case) + ["--checkpoint-every", "0.005", "--checkpoint-keep", "50", "--quiet"], stdout=said, stderr=said, env=CLEAN) as run:
        while run.poll() is None:
            most = max(most, largest(seen))
            time.sleep(0.002)
        said.seek(0)
        assert run.returncode in (0, 7), (case, said.read())
    print(f"{case}: {len(seen)} checkpoints, at most {most} bytes, estimate {told}: {told / max(most, 1):.2f}", flush=True)
    if most > told:
        print("FAILED: a checkpoint is larger than its estimate")
        return 1
    if len(seen) > 3 and told > (2 if case[0] == "svm" else MANY) * most:  # svm may turn to the primal, with matrices
        print("FAILED: the estimate is much larger than the checkpoints")
        return 1
    return 0


def write_data():
    """Data of 60 columns: 3000 dense rows, and 3000 with a third of the numbers."""
    chance = random.Random(3)
    with open("dense.csv", "w", encoding="ascii") as dense, open("sparse.svm", "w", encoding="ascii") as sparse:
        dense.write("c,y," + ",".join(f"x{j}" for j in range(60)) + "\n")
        for _ in range(3000):
            row = [chance.gauss(0, 1) for _ in range(60)]
            y = sum(x / (1 + j) for j, x in enumerate(row)) + chance.gauss(0, 1)
            dense.write(f"{int(y > 0)},{y:.6f}," + ",".join(f"{x:.5f}" for x in row) + "\n")
            sparse.write(f"{int(y > 0)} " + " ".join(f"{j + 1}:{x:.5f}" for j, x in enumerate(row) if chance.random() < 1 / 3) + "\n")


def main():
    chance = random.Random(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        write_data()
        failures = sum(check(case) for case in (TABLE if os.environ.get("HAWSER_TEST_LONG") else chance.sample(TABLE, DRAWN)))
    sys.exit(failures > 0)


main()
