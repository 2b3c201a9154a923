#!/usr/bin/env python3
"""Whatever options make a training diverge, what it prints and saves is finite and true: objective and gap are computed again here from the
saved model, and a training that went astray exits with 7 and keeps its best certified model. `train_diverges.py DRAWS FIRST` replays
draws by their numbers."""
import json
import math
import os
import random
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["HAWSER_SOURCE"], "tests", "helpers"))
import draws  # noqa: E402
from certificate import certify, certify_logistic, read_model, read_svmlight  # noqa: E402
from command import CLEAN, HAWSER, real  # noqa: E402

NUMERIC = 7
FAR = 10  # times the objective at zero: what is above has diverged


def correlated(chance, algorithm):
    """Columns that share a part, so that blocks which move at the same time overshoot."""
    n, p, mixed = chance.choice([30, 80]), chance.choice([3, 12, 40]), chance.choice([0, 1, 10])
    size = 10 ** chance.choice([0, 0, 0, 3, -3, 50, 153, -153]) if algorithm != "logistic" else 1
    lines = []
    for _ in range(n):
        common = chance.gauss(0, 1)
        row = [chance.gauss(0, 1) + mixed * common for _ in range(p)]
        y = sum(row[:3]) + chance.gauss(0, 0.5)
        label = "%d" % (1 if y > 0 else -1) if algorithm == "logistic" else "%.17g" % (size * y)
        lines.append(label + "".join(" %d:%.17g" % (j + 1, x) for j, x in enumerate(row)))
    return "\n".join(lines) + "\n"


def data_of(chance, algorithm):
    text = real("abalone/abalone.zst") if algorithm != "logistic" and chance.random() < 0.15 else None
    return text if text is not None else correlated(chance, algorithm)


def steps(chance, solvers):
    words = ["--solver", chance.choice(solvers), "--sync", chance.choice(["bsp", "ssp:2", "tap", "dc:1", "delay:2"])]
    words += ["--step", "1e%d" % chance.randint(-3, 30)] if chance.random() < 0.8 else []
    return words if words[1] == "gd" else words + ["--epochs", "3"]


def rounds(chance):
    words = ["--sync", chance.choice(["bsp", "bsp", "ssp:1", "ssp:3", "tap"])]
    words += ["--sigma", "%g" % 10 ** chance.uniform(-4, 1.5)] if chance.random() < 0.7 else []
    words += ["--sigma", "1e-300"] if "--sigma" not in words and chance.random() < 0.1 else []
    words += ["--merge", "average"] if chance.random() < 0.3 else []
    words += ["--exchange-every", chance.choice(["0.3", "1", "5"])] if chance.random() < 0.5 else []
    words += ["--certify-every", chance.choice(["1", "7", "40"])] if chance.random() < 0.3 else []
    words += ["--encoding", chance.choice(["f32", "bf16", "f16", "int8"])] if chance.random() < 0.3 else []
    words += ["--filter", "absolute", "--quota", "50"] if chance.random() < 0.2 else []
    words += ["--solver", "cd"] if chance.random() < 0.2 else []
    words += ["--path", "4"] if chance.random() < 0.1 else []
    return words


def options(chance, algorithm):
    words = ["--workers", str(chance.choice([1, 2, 4, 8]))]
    if algorithm == "linear":
        return words + steps(chance, ["gd", "sgd", "minibatch"])
    ratio = chance.choice(["1", "1", "0.5"])
    words += ["--l1-ratio", ratio]
    stored = algorithm == "logistic" and chance.random() < 0.5
    drawn = steps(chance, ["gd", "sgd", "minibatch", "dbpg"]) if stored else rounds(chance)
    drawn = drawn[:4] if drawn[1] == "dbpg" else drawn
    return words + drawn + ([] if "--path" in drawn else ["--lambda-ratio", "%g" % 10 ** chance.uniform(-4, -0.5)])


def measured(algorithm, text, printed, words, model):
    """Returns objective, gap (or None) and objective at zero of the saved model."""
    target, columns = read_svmlight(text)
    w, b = read_model(model)
    assert all(map(math.isfinite, w.values())) and math.isfinite(b), (w, b)
    if algorithm == "linear":
        objective, zero = least_squares(target, columns, w, b)
        return objective, None, zero, w
    ratio = float(words[words.index("--l1-ratio") + 1])
    found = (certify if algorithm == "lasso" else certify_logistic)(target, columns, w, b, printed["lambda"], ratio, True)
    return found[0], found[1], found[2], w


def least_squares(target, columns, w, b):
    n, mean = len(target), math.fsum(target) / len(target)
    r = [y - b for y in target]
    for j, value in w.items():
        for i, x in columns[j]:
            r[i] -= value * x
    return math.fsum(v * v for v in r) / (2 * n), math.fsum((y - mean) ** 2 for y in target) / (2 * n)


def check(number, chance):
    algorithm = chance.choice(["lasso", "lasso", "lasso", "logistic", "linear"])
    text, words = data_of(chance, algorithm), options(chance, algorithm)
    with open("data.svm", "w") as file:
        file.write(text)
    if os.path.exists("model"):
        os.remove("model")
    words += ["--max-clocks", str(chance.choice([1, 20, 300])), "--time-limit", "5", "--seed", str(number)]
    nodes = chance.choice([1, 1, 1, 1, 2]) if int(words[1]) > 1 else 1
    launcher = [HAWSER, "run", "-n", str(nodes), "--"] if nodes > 1 else []
    out = subprocess.run(launcher + [HAWSER, "train", algorithm, "data.svm", "--index-base", "1", "--quiet", "--json", "-o", "model"] + words,
                         capture_output=True, text=True, env=CLEAN, timeout=60)
    say = (number, algorithm, nodes, " ".join(words), out.stderr[-300:])
    if out.returncode == 2:
        return "refused"
    assert out.returncode in (0, NUMERIC), (say, out.returncode)
    if not os.path.exists("model"):
        assert out.returncode == NUMERIC and "scale the target" in out.stderr and out.stdout.strip() == "", say
        return "checked"
    printed = json.loads(out.stdout.splitlines()[-1])
    assert all(printed[key] is not None and math.isfinite(printed[key]) for key in ("objective", "nonzeros")), (say, printed)
    objective, gap, zero, w = measured(algorithm, text, printed, words, "model")
    say += ("objective %r (%r), gap %r (%r)" % (printed["objective"], objective, printed["gap"], gap), printed["stop_reason"])
    assert abs(printed["objective"] - objective) <= 1e-9 * max(zero, objective), say
    assert printed["nonzeros"] == len(w), say
    assert printed["clocks"] > 0 or printed["stop_reason"] != "diverged", say
    assert objective <= FAR * max(zero, math.log(2) if algorithm == "logistic" else 0), say
    assert ("the best certified model is in model" in out.stderr) == (out.returncode == NUMERIC), say
    if gap is not None:
        assert printed["gap"] is not None and 0 <= printed["gap"] <= printed["objective"] * (1 + 1e-9) + 1e-9 * zero, say
        assert printed["stop_reason"] != "gap" or gap <= 1.1e-6 * zero, say
        assert printed["stop_reason"] != "precision" or gap <= 2e-3 * zero, say
    return "checked"


def a_path_that_overflows_keeps_the_finished_lambdas():
    with open("path.svm", "w") as file:
        for i in range(60):
            file.write("%de98 " % (i % 7 - 3) + " ".join("%d:%g" % (j, i % 5 + 0.3 * (i % 7) + 0.1 * math.sin(i * j)) for j in range(1, 9)) + "\n")
    words = ["train", "lasso", "path.svm", "--index-base", "1", "--workers", "8", "-q"]
    told = subprocess.run([HAWSER, *words, "--lambda-ratio", "2", "--json"], capture_output=True, text=True, env=CLEAN, timeout=60)
    most = json.loads(told.stdout)["lambda_max"]
    path = ",".join(repr(ratio * most) for ratio in (3, 2, 0.1, 0.01))
    for launch in ([], ["run", "-n", "2", "--"]):
        out = subprocess.run([HAWSER, *launch, *words, "--sigma", "1e-30", "--path", path, "--exchange-every", "1", "--max-clocks", "4000", "-o", "path.model"],
                             capture_output=True, text=True, env=CLEAN, timeout=60)
        assert out.returncode == NUMERIC and "the best certified model is in path.model" in out.stderr, out
        assert "the model has the 2 lambdas finished before it, and not the other 2" in out.stderr, out
        with open("path.model", "rb") as model:
            head = json.loads(model.read(int.from_bytes(model.read(8), "little")))
        assert head["path.lambda"]["shape"] == [2], head["path.lambda"]
        os.unlink("path.model")


def a_column_whose_squares_vanish_is_refused_where_it_would_count_as_constant():
    chance = random.Random(2)
    rows = [[chance.gauss(0, 1) for _ in range(3)] for _ in range(40)]
    for name, label in (("numbers", lambda y: "%.17g" % y), ("classes", lambda y: "%d" % (1 if y > 0 else -1))):
        with open(name, "w") as file:
            for row in rows:
                file.write("%s 1:%.17g 2:%.17g 3:%.17g\n" % (label(row[0] - row[1] + 0.1 * row[2]), 1e-200 * row[0], row[1], row[2]))
    with open("factors", "w") as file:
        file.write("0\n1\n1\n")
    for words, code in ((("linear", "numbers"), NUMERIC), (("lasso", "numbers", "--standardize"), NUMERIC), (("lasso", "numbers", "--lambda", "0"), NUMERIC),
                        (("lasso", "numbers", "--penalty-factors", "factors"), NUMERIC), (("logistic", "classes", "--standardize"), NUMERIC),
                        (("logistic", "classes", "--lambda", "0"), NUMERIC), (("lasso", "numbers"), 0), (("logistic", "classes"), 0),
                        (("logistic", "classes", "--solver", "gd"), 0)):
        for launch in ([], ["run", "-n", "2", "--"]):
            out = subprocess.run([HAWSER, *launch, "train", *words, "--index-base", "1", "--workers", "2", "-q", "-o", "small.model"],
                                 capture_output=True, text=True, env=CLEAN, timeout=60)
            assert out.returncode == code, (words, out)
            assert code == 0 or "the values of column 1 leave the range" in out.stderr and "lies above 1e-100" in out.stderr, (words, out)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        home = os.getcwd()
        os.chdir(folder)
        a_path_that_overflows_keeps_the_finished_lambdas()
        a_column_whose_squares_vanish_is_refused_where_it_would_count_as_constant()
        check(507, random.Random(507))  # under tap, blocks are a hundred clocks ahead of the driver when a number overflows
        os.chdir(home)
    sys.exit(draws.run(check, HAWSER, 60, 2000))
