#!/usr/bin/env python3
"""Every lambda of a path can be used: predict, evaluate and info with --lambda min|1se|X. Predictions are computed again in plain Python from
the path's numbers in the model file, and compared with a training of that lambda alone. A lambda that the path does not have, a choice that
needs errors where there are none, and a model without a path are refused."""
import csv
import json
import math
import os
import random
import re
import struct
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["HAWSER_SOURCE"], "tests", "helpers"))
import certificate  # noqa: E402
from command import CLEAN, HAWSER, run  # noqa: E402
import subprocess  # noqa: E402

COLUMNS = ["red", "green", "blue", "cyan", "pink", "grey"]


def refused(*words, code=2, environment=None):
    """The message of a call that has to fail."""
    done = subprocess.run((HAWSER, *words), capture_output=True, text=True, env={**CLEAN, **(environment or {})}, timeout=60)
    assert done.returncode == code, (words, done.returncode, done.stderr)
    return done.stderr


def says(text, *parts):
    for part in parts:
        assert part in text, (part, text)


def write_data(chance, classes):
    x = [[chance.gauss(0, 1) for _ in COLUMNS] for _ in range(80)]
    y = [2 * row[0] - row[3] + 0.5 * row[5] + chance.gauss(0, 1.5) for row in x]
    if classes:
        y = [float(v > 0) for v in y]
    with open("data.csv", "w") as file:
        file.write(",".join(["y"] + COLUMNS) + "\n")
        for target, row in zip(y, x):
            file.write(",".join(map(repr, [target] + row)) + "\n")
    return x, y


def read_tensors(path):
    return {name: values for name, (_, values) in certificate.read_tensors(path).items()}


def members(tensors):
    """The path's members: lambda, coefficients by column, intercept."""
    offsets = tensors["path.offsets"]
    for k, lam in enumerate(tensors["path.lambda"]):
        span = slice(offsets[k], offsets[k + 1])
        yield lam, dict(zip(tensors["path.index"][span], tensors["path.value"][span])), tensors["path.intercept"][k]


def predictions(x, w, b, classes):
    margins = [math.fsum([b] + [row[j] * v for j, v in w.items()]) for row in x]
    return [1 / (1 + math.exp(-m)) for m in margins] if classes else margins


def near(found, expected, slack=1e-9):
    assert len(found) == len(expected)
    for a, b in zip(found, expected):
        assert abs(a - b) <= slack * (1 + abs(b)), (a, b)


def predicted(*words):
    return [float(line) for line in run("predict", *words).split()]


def objective_of(text):
    return json.loads(text)["objective"]


def compute_objective(y, p, w, lam, classes):
    n = len(y)
    if not classes:
        return math.fsum((a - b) ** 2 for a, b in zip(y, p)) / (2 * n) + lam * math.fsum(map(abs, w.values()))
    return -math.fsum(math.log(b if a else 1 - b) for a, b in zip(y, p)) / n + lam * math.fsum(map(abs, w.values()))


def check_members(algorithm, classes):
    x, y = write_data(random.Random(3), classes)
    run("train", algorithm, "data.csv", "--target", "y", "--cv", "5", "--tol", "1e-9", "-q", "-o", "cv.model")
    tensors = read_tensors("cv.model")
    path = list(members(tensors))
    for k in range(0, len(path), 17):
        lam, w, b = path[k]
        expected = predictions(x, w, b, classes)
        for text in ("%.17g" % lam, "%.6g" % lam, "%.10e" % lam):
            near(predicted("cv.model", "data.csv", "--lambda", text), expected)
        near([objective_of(run("evaluate", "cv.model", "data.csv", "--json", "--lambda", "%.8g" % lam))],
             [compute_objective(y, expected, w, lam, classes)], 1e-8)
        run("train", algorithm, "data.csv", "--target", "y", "--lambda", repr(lam), "--tol", "1e-9", "-q", "-o", "one.model")
        near(predicted("one.model", "data.csv"), expected, 1e-3)
    check_errors(tensors, path, x, classes)


def check_errors(tensors, path, x, classes):
    """min and 1se are what the errors in the file say."""
    error, spread = tensors["path.error"], tensors["path.standard_error"]
    least = error.index(min(error))
    one_se = next(k for k in range(least + 1) if error[k] <= error[least] + spread[least])
    assert one_se < least, "the draw does not tell the two apart"
    for word, k in (("min", least), ("1se", one_se)):
        lam, w, b = path[k]
        near(predicted("cv.model", "data.csv", "--lambda", word), predictions(x, w, b, classes))
        lines = dict(line.split(None, 1) for line in run("info", "cv.model", "--lambda", word).splitlines() if " " in line)
        assert float(lines["lambda"]) == lam and int(lines["nonzeros"]) == len(w), (word, lines)
        listed = [line.split("\t") for line in run("info", "cv.model", "--coefficients", "--lambda", word).splitlines()]
        near([float(value) for value, _ in listed], [b] + sorted(w.values(), key=lambda v: (-abs(v), v)))
        assert {name for _, name in listed[1:]} == {COLUMNS[j] for j in w}, listed
    table = run("info", "cv.model", "--path").splitlines()[2:]
    assert len(table) == len(path)
    assert table[least].split()[5:] == ["min"] and table[one_se].split()[5:] == ["1se", "model"], table
    near([float(line.split()[0]) for line in table], [lam for lam, _, _ in path], 1e-5)


def check_refusals():
    write_data(random.Random(4), False)
    run("train", "lasso", "data.csv", "--target", "y", "--path", "0.5,0.12341,0.12342,0.03", "-q", "-o", "path.model")
    run("train", "lasso", "data.csv", "--target", "y", "--lambda", "0.1", "-q", "-o", "one.model")
    says(refused("predict", "path.model", "data.csv", "--lambda", "0.4"), "path.model", "--lambda 0.4", "nearest are 0.5 and 0.12342")
    says(refused("predict", "path.model", "data.csv", "--lambda", "0.1234"), "2 of the path's lambdas", "0.12341", "0.12342")
    says(refused("evaluate", "path.model", "data.csv", "--lambda", "min"), "no errors of a cross-validation", "--cv 10")
    says(refused("evaluate", "path.model", "data.csv", "--lambda", "least"), "expected min, 1se, or a lambda of the path")
    says(refused("predict", "path.model", "data.csv", "--lambda", "0.5x"), "expected min, 1se, or a lambda of the path")
    says(refused("info", "one.model", "--lambda", "0.1"), "the model has one lambda, 0.1; train with --path or --cv")
    says(refused("info", "one.model", "--path"), "the model has one lambda, 0.1; train with --path or --cv")
    assert predicted("path.model", "data.csv", "--lambda", "0.5000") == predicted("path.model", "data.csv", "--lambda", ".5")
    done = subprocess.run((HAWSER, "predict", "one.model", "data.csv"), capture_output=True, text=True, env={**CLEAN, "HAWSER_LAMBDA": "3"}, timeout=60)
    assert done.returncode == 0 and done.stdout == run("predict", "one.model", "data.csv"), done.stderr
    run("train", "linear", "data.csv", "--target", "y", "--max-clocks", "5", "-q", "-o", "linear.model")
    says(refused("predict", "linear.model", "data.csv", "--lambda", "0.1"), "have no path")


def check_trace():
    """The trace has every fold and lambda; the last line of a lambda with all rows has the objective that the model keeps."""
    write_data(random.Random(8), False)
    run("train", "lasso", "data.csv", "--target", "y", "--cv", "3", "--path", "12", "-q", "-o", "cv.model", "--trace", "trace.csv")
    tensors, last = read_tensors("cv.model"), {}
    with open("trace.csv") as file:
        for line in csv.DictReader(file):
            if line["lambda"] and line["objective"]:
                last[int(line["fold"] or 0), float(line["lambda"])] = float(line["objective"])
    lambdas = tensors["path.lambda"]
    assert set(last) == {(fold, lam) for fold in range(4) for lam in lambdas}, sorted(last)
    near([last[0, lam] for lam in lambdas], tensors["path.objective"], 1e-15)


def check_plots():
    """A plot of the saved model is that of the training: a point for each lambda, and lines at both choices."""
    write_data(random.Random(7), False)
    run("train", "lasso", "data.csv", "--target", "y", "--cv", "4", "-q", "-o", "cv.model", "--plot", "train.svg")
    run("plot", "cv.model", "-o", "model.svg")
    with open("train.svg") as train, open("model.svg") as model:
        svg = train.read()
        assert svg == model.read()
    count = len(read_tensors("cv.model")["path.lambda"])
    points = re.findall(r'<path[^>]*[ ;]fill[:=]"?rgb\(72%, ?11%, ?20%\)', svg)
    assert len(points) == count, (len(points), count)
    dashed = len(re.findall(r'stroke-dasharray[:=]"?\d', svg))
    assert dashed == 4, dashed
    run("train", "lasso", "data.csv", "--target", "y", "--path", "30", "-q", "-o", "path.model", "--plot", "path.svg")
    with open("path.svg") as file:
        assert "stroke-dasharray" not in file.read()
    says(refused("plot", "one.model", "-o", "one.svg"), "the model has one lambda, 0.1; train with --path or --cv")
    says(refused("plot", "cv.model"), "missing option -o FILE")
    says(refused("plot", "cv.model", "-o", "cv.gif"), "--output: 'cv.gif' should end with .svg or .png")
    assert not os.path.exists("one.svg") and not os.path.exists("cv.gif")


def check_validation():
    """The errors of --validation choose, too, but they have no standard error."""
    x, _ = write_data(random.Random(5), False)
    run("train", "lasso", "data.csv", "--target", "y", "--path", "20", "--validation-fraction", "0.3", "-q", "-o", "held.model")
    tensors = read_tensors("held.model")
    error = tensors["path.error"]
    _, w, b = list(members(tensors))[error.index(min(error))]
    near(predicted("held.model", "data.csv", "--lambda", "min"), predictions(x, w, b, False))
    says(refused("predict", "held.model", "data.csv", "--lambda", "1se"), "no standard errors of a cross-validation")


def rewrite(source, target, change):
    """Writes a model again without the checksum, as other software does."""
    with open(source, "rb") as file:
        length = struct.unpack("<Q", file.read(8))[0]
        header, body = json.loads(file.read(length)), file.read()
    for key in ("hawser.format", "hawser.checksum"):
        header["__metadata__"].pop(key)
    names = [name for name in header if name != "__metadata__"]
    parts = {name: body[slice(*header[name]["data_offsets"])] for name in names}
    change(header, parts)
    out, at = b"", 0
    for name in [n for n in header if n != "__metadata__"]:
        header[name]["data_offsets"] = [at, at + len(parts[name])]
        out, at = out + parts[name], at + len(parts[name])
    text = json.dumps(header).encode()
    with open(target, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + out)


def check_other_files():
    """A path of an older release has no penalties; damage is refused."""
    write_data(random.Random(6), True)
    run("train", "logistic", "data.csv", "--target", "y", "--path", "10", "-q", "-o", "path.model")

    def older(header, _):
        del header["path.penalty"]

    def damaged(header, parts):
        at = header["path.index"]["shape"][0] - 1
        parts["path.index"] = parts["path.index"][:8 * at] + struct.pack("<q", 99)

    rewrite("path.model", "older.model", older)
    rewrite("path.model", "damaged.model", damaged)
    lam = read_tensors("path.model")["path.lambda"][5]
    new, old = (json.loads(run("evaluate", name, "data.csv", "--json", "--lambda", "%.6g" % lam)) for name in ("path.model", "older.model"))
    assert old["objective"] is None and old["log_loss"] == new["log_loss"] and new["objective"] > new["log_loss"], (old, new)
    says(refused("predict", "damaged.model", "data.csv", "--lambda", "%.6g" % lam, code=3), "path is not complete")


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        check_members("lasso", False)
        check_members("logistic", True)
        check_refusals()
        check_trace()
        check_plots()
        check_validation()
        check_other_files()
    print("all as expected")


main()
