#!/usr/bin/env python3
"""Many rows are scored through a pipe, by a model of a table with words: the new table has its columns in another order, further columns, no
target, and words that the training did not have. The answers are those of the model's own numbers, row by row."""
import os
import random
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.environ["HAWSER_SOURCE"], "tests", "helpers"))
import scratch  # noqa: E402
from certificate import read_model  # noqa: E402
from command import CLEAN, HAWSER, run  # noqa: E402
from peers import answers, near, products, scikit, unscaled  # noqa: E402

ROWS = 1000000 if os.environ.get("HAWSER_TEST_LONG") else 100000
CITIES = ["Bonn", "Graz", "Lyon", "Oslo", "Rome"]


def draw(chance):
    return chance.choice(CITIES), round(chance.gauss(0, 1), 4), round(chance.uniform(-2, 2), 4)


def entries(city, a, b):
    return ([(CITIES.index(city), 1.0)] if city in CITIES else []) + [(5, a), (6, b)]


def write_all(pipe, rows):
    """Rows in the new order; what is wrong with the pipe is seen by its reader."""
    try:
        pipe.write("b,comment,city,id,a\n")
        for i, (city, a, b) in enumerate(rows):
            pipe.write('%s,"row, of %d",%s,%d,%s\n' % (b, i, city, i, a))
        pipe.close()
    except BrokenPipeError:
        pass


with scratch.folder():
    chance = random.Random(2)
    known = [draw(chance) for _ in range(500)]
    y = [3 * a - b + CITIES.index(city) + chance.gauss(0, 0.3) for city, a, b in known]
    with open("train.csv", "w", encoding="ascii") as file:
        file.write("city,a,b,y\n" + "".join("%s,%s,%s,%.17g\n" % (row + (v,)) for row, v in zip(known, y)))
    run("train", "lasso", "train.csv", "--target", "y", "--lambda", "0.02", "--l1-ratio", "0.5", "--tol", "1e-12", "-q", "-o", "model")
    w, b = read_model("model")
    mine = (b, [w.get(j, 0.0) for j in range(7)])
    for name, fit in answers(glmnet=lambda: unscaled([entries(*row) for row in known], 7, y, 0.02, 0.5),
                             scikit=lambda: scikit("ElasticNet", [entries(*row) for row in known], 7, y, alpha=0.02, l1_ratio=0.5, tol=1e-12,
                                                   max_iter=1000000)).items():
        near(name + ": the model", [b] + mine[1], [fit.models[0][0]] + fit.models[0][1], 1e-5)

    rows = [draw(chance) for _ in range(ROWS)]
    for i in range(0, ROWS, 97):
        rows[i] = ("Kyiv",) + rows[i][1:]
    with subprocess.Popen((HAWSER, "predict", "model", "-", "--unseen", "zero"), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, env=CLEAN) as scorer:
        writer = threading.Thread(target=write_all, args=(scorer.stdin, rows))
        writer.start()
        errors = []
        listener = threading.Thread(target=lambda: errors.extend(scorer.stderr))
        listener.start()
        scored = [float(line) for line in scorer.stdout]
        writer.join()
        listener.join()
        assert scorer.wait() == 0, errors
    near("%d scores" % ROWS, scored, products([entries(*row) for row in rows], mine), 1e-12)
    assert sum("column" in line for line in errors) == 1, ("further columns are counted in one note", errors)
    refused = subprocess.run((HAWSER, "predict", "model", "-"), input="b,city,a\n1,Kyiv,2\n", capture_output=True, text=True, env=CLEAN, check=False)
    assert refused.returncode == 3 and "Kyiv" in refused.stderr and "--unseen" in refused.stderr, refused
