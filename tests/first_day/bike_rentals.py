#!/usr/bin/env python3
"""Hourly bike rentals, drawn in the shape of the UCI set, as a raw table: words, a date, missing numbers, columns that must not be read. The
model is that of the matrix which this file makes of the table, as glmnet or scikit-learn fit it, and it predicts new rows whose columns
have another order."""
import datetime
import math
import os
import random
import sys

sys.path.insert(0, os.path.join(os.environ["HAWSER_SOURCE"], "tests", "helpers"))
import scratch  # noqa: E402
from certificate import read_model  # noqa: E402
from command import run  # noqa: E402
from peers import answers, near, products, scikit, unscaled  # noqa: E402

HOURS = 24 * 120
LAMBDA, RATIO = 2.0, 0.5
WORDS = {"season": ["fall", "spring", "summer", "winter"], "weather": ["clear", "mist", "rain", "snow"], "holiday": ["no", "yes"]}
NUMBERS = ["temperature", "humidity", "wind"]
START = datetime.datetime(2011, 1, 1, tzinfo=datetime.timezone.utc)


def draw(chance):
    """Rows as dictionaries of text. The hours of days are drawn, so that months, weekdays and hours all occur."""
    rows = []
    for i in range(HOURS):
        when = START + datetime.timedelta(hours=3 * i + chance.randint(0, 2))
        warm = 12 + 10 * math.sin(2 * math.pi * (when.timetuple().tm_yday - 110) / 365) + chance.gauss(0, 3)
        weather = chance.choices(WORDS["weather"], (60, 25, 12, 3))[0]
        busy = 60 * math.exp(-((when.hour - 8) / 2.0) ** 2) + 90 * math.exp(-((when.hour - 17.5) / 3.0) ** 2)
        count = max(0, round(20 + busy + 5 * warm - {"clear": 0, "mist": 10, "rain": 60, "snow": 90}[weather] + chance.gauss(0, 25)))
        humidity = chance.uniform(20, 100)
        rows.append({"instant": str(i + 1), "time": when.strftime("%Y-%m-%dT%H:%M:%S"), "season": WORDS["season"][(when.month % 12) // 3 - 1],
                     "weather": weather, "holiday": chance.choices(("no", "yes"), (97, 3))[0], "temperature": "%.2f" % warm,
                     "humidity": "NA" if chance.random() < 0.03 else "%.0f" % humidity, "wind": "%.1f" % chance.expovariate(0.08),
                     "casual": str(count // 4), "count": str(count)})
    return rows


def matrix_of(rows, mean):
    """What the table is as a matrix: numbers, a column per word, and days, month, weekday and hour of the time. In the table's order."""
    matrix = []
    for row in rows:
        when = datetime.datetime.fromisoformat(row["time"]).replace(tzinfo=datetime.timezone.utc)
        entries, at = [(0, when.timestamp() / 86400), (when.month, 1.0), (13 + when.weekday(), 1.0), (20 + when.hour, 1.0)], 44
        for name, levels in WORDS.items():
            entries.append((at + levels.index(row[name]), 1.0))
            at += len(levels)
        for name in NUMBERS:
            entries.append((at, mean if row[name] == "NA" else float(row[name])))
            at += 1
        matrix.append([(j, x) for j, x in entries if x != 0])
    return matrix, at


def write(path, rows, columns):
    with open(path, "w", encoding="ascii") as file:
        file.write("\n".join(",".join(line) for line in [columns] + [[row[name] for name in columns] for row in rows]) + "\n")


with scratch.folder():
    chance = random.Random(11)
    rows = draw(chance)
    chance.shuffle(rows)
    old, new = rows[:2400], rows[2400:]
    names = list(rows[0])
    write("train.csv", old, names)
    shuffled = [name for name in names if name != "count"] + ["station"]
    chance.shuffle(shuffled)
    write("new.csv", [dict(row, station="north") for row in new], shuffled)
    run("train", "lasso", "train.csv", "--target", "count", "--ignore", "instant,casual", "--dates", "time", "--missing", "mean", "--lambda",
        str(LAMBDA), "--l1-ratio", str(RATIO), "--tol", "1e-12", "-q", "-o", "model")
    present = [float(row["humidity"]) for row in old if row["humidity"] != "NA"]
    mean = math.fsum(present) / len(present)
    matrix, columns = matrix_of(old, mean)
    y = [float(row["count"]) for row in old]
    w, b = read_model("model")
    mine = (b, [w.get(j, 0.0) for j in range(columns)])
    predicted = [float(line) for line in run("predict", "model", "new.csv").splitlines()]
    near("the model's predictions", predicted, products(matrix_of(new, mean)[0], mine), 1e-12)
    for name, fit in answers(glmnet=lambda: unscaled(matrix, columns, y, LAMBDA, RATIO),
                             scikit=lambda: scikit("ElasticNet", matrix, columns, y, alpha=LAMBDA, l1_ratio=RATIO, tol=1e-12,
                                                   max_iter=1000000)).items():
        near(name + ": predictions", predicted, products(matrix_of(new, mean)[0], fit.models[0]), 1e-5)
        near(name + ": coefficients", mine[1], fit.models[0][1], 1e-4)
