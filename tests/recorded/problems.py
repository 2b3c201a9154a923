"""Draws the data sets of the recorded trainings. Each comes from its own seed, so the same files are made on every machine."""
import math
import os
import random

ROWS = {"tall": 240, "wide": 60, "words": 500, "alike": 60, "weighted": 150, "units": 120}


def _dense(chance, n, p, common=0.5, scale=lambda j: 1.0):
    rows = []
    for _ in range(n):
        shared = chance.gauss(0, 1)
        rows.append([scale(j) * (chance.gauss(0, 1) + common * shared) for j in range(p)])
    return rows


def _sparse(chance, n, p, per_row):
    rows = []
    for _ in range(n):
        columns = {int(p * chance.random() ** 2.5) for _ in range(per_row)}
        rows.append({j: round(chance.uniform(0.2, 2), 3) for j in sorted(columns)})
    return rows


def _targets(chance, rows, p, nonzeros, noise):
    truth = {j: chance.gauss(0, 1) for j in chance.sample(range(p), nonzeros)}
    at = (lambda row, j: row.get(j, 0.0)) if isinstance(rows[0], dict) else (lambda row, j: row[j])
    return [sum(w * at(row, j) for j, w in truth.items()) + noise * chance.gauss(0, 1) + 0.4 for row in rows]


def _write(path, lines):
    with open(path, "w", encoding="ascii") as file:
        file.write("\n".join(lines) + "\n")


def _csv(path, names, rows):
    _write(path, [",".join(names)] + [",".join(f"{v:.9g}" for v in row) for row in rows])


def _svmlight(path, targets, rows):
    _write(path, ["%.9g %s" % (y, " ".join(f"{j + 1}:{v:.9g}" for j, v in row.items())) for y, row in zip(targets, rows)])


def _classes(targets):
    middle = sorted(targets)[len(targets) * 2 // 5]
    return [1.0 if y > middle else -1.0 for y in targets]


def _kinds(targets):
    ordered = sorted(targets)
    return [float((y > ordered[len(ordered) // 3]) + (y > ordered[len(ordered) * 2 // 3])) for y in targets]


def _noisy(values):
    """Every third row has the value of another one: data to end a training early by."""
    return [values[i - 1] if i % 3 == 0 else y for i, y in enumerate(values)]


def _counts(targets):
    return [float(int(math.exp(min(y, 6.0)))) for y in targets]


def draw(folder):
    """Writes NAME.csv or NAME.svm with numbers as targets, NAME.classes.* with two classes, NAME.kinds.* with three, NAME.noisy.* with these less well told apart, NAME.counts.* with counts, and the files that options name."""
    made = {}
    chance = random.Random(101)
    made["tall"] = _dense(chance, ROWS["tall"], 24), 8
    made["wide"] = _dense(chance, ROWS["wide"], 150), 10
    made["alike"] = [[row[0] + 0.1 * v for v in row] for row in _dense(chance, ROWS["alike"], 90, 2.0)], 5
    made["units"] = _dense(chance, ROWS["units"], 30, 0.2, lambda j: 10.0 ** (j % 5 - 2)), 6
    made["words"] = _sparse(chance, ROWS["words"], 300, 14), 25
    for name, (rows, nonzeros) in made.items():
        p = 300 if name == "words" else len(rows[0])
        targets = _targets(chance, rows, p, nonzeros, 0.5)
        for suffix, values in (("", targets), (".classes", _classes(targets)), (".kinds", _kinds(targets)),
                               (".noisy", _noisy(_kinds(targets))), (".counts", _counts(targets))):
            if name == "words":
                _svmlight(os.path.join(folder, name + suffix + ".svm"), values, rows)
            else:
                _csv(os.path.join(folder, name + suffix + ".csv"), ["y"] + [f"x{j}" for j in range(p)], [[y] + row for y, row in zip(values, rows)])
    rows = _dense(chance, ROWS["weighted"], 12)
    targets = _targets(chance, rows, 12, 4, 0.5)
    extra = [[chance.choice([0.5, 1.0, 2.0, 3.5]), chance.gauss(0, 0.3)] for _ in rows]
    names = ["y", "count", "base"] + [f"x{j}" for j in range(12)]
    for suffix, values in (("", targets), (".classes", _classes(targets)), (".kinds", _kinds(targets)),
                               (".noisy", _noisy(_kinds(targets))), (".counts", _counts(targets))):
        _csv(os.path.join(folder, f"weighted{suffix}.csv"), names, [[y] + more + row for y, more, row in zip(values, extra, rows)])
    _write(os.path.join(folder, "factors"), [str(j % 3) for j in range(24)])
    _write(os.path.join(folder, "upper"), ["0.25" if j % 2 else "inf" for j in range(24)])
