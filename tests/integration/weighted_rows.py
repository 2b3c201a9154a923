#!/usr/bin/env python3
"""A row of weight k gives what k rows give, and a row of weight 0 what no row gives: in models, in all numbers of trainings and evaluations, and in
predictions. Each draw makes a table with weights, where rows of weight 0 have wild numbers, words of their own and missing values, and the
same table with its rows repeated. Both are trained with the same drawn algorithm and options."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["HAWSER_SOURCE"], "tests", "helpers"))
import command
import draws

REGRESSIONS = ("lasso", "multitask", "linear", "epsilon")
CLASSIFIERS = ("logistic", "svm", "softmax")
ALGORITHMS = ("lasso", "logistic", "poisson", "multitask", "linear", "kmeans", "svm", "epsilon", "softmax")
CLOSE, NEAR = 2e-4, 2e-3  # of objectives and errors, and of coefficients, at the tolerances below
SETTLED = {"linear": ("--tol", "1e-9"), "kmeans": ("--tol", "0"), "svm": ("--tol", "1e-9"), "epsilon": ("--tol", "1e-9")}
# Numbers that depend on how the work was cut, and how exactly a training has ended.
APART = {"gap", "clocks", "worker", "load", "options", "notes", "model", "iterations", "seconds_load", "seconds_train", "bytes_exchanged", "links", "waits_for", "accepts", "flows",
         "stop_reason", "smallest", "largest", "rows", "shift", "coalesced", "most_lead", "evaluations", "stored", "curvature"}


class Table:
    """Rows of texts; `weights` has how often each counts. The columns are y, z, a, b, d, word, day, o."""
    def __init__(self, draw, algorithm, rows, kind, holes):
        self.rows, self.weights, self.folds = [], [], []
        coefficient = [draw.gauss(0, 1) for _ in range(3)]
        for number in range(rows):
            weight = draw.choice((0, 1, 1, 2, 3))
            if number < 6:
                weight = 1 + number % 2
            x = [draw.gauss(0, 1), draw.gauss(0, 1), draw.choice((0, 0, draw.gauss(0, 1)))]
            word = draw.choice("uvx")
            signal = sum(c * v for c, v in zip(coefficient, x)) + (word == "u") + 0.5 * draw.gauss(0, 1)
            target = [f"{signal:.6g}", f"{-signal + draw.gauss(0, 1):.6g}"]
            if kind == "count":
                target[0] = str(min(20, int(abs(2 * signal))))
            elif kind in ("two", "three", "words"):
                place = (signal > 0) + (kind == "three" and signal > 1)
                if number < 6:
                    place = number % (3 if kind == "three" else 2)
                target[0] = ("no", "yes")[place] if kind == "words" else str(1 + place)
            fields = target + [f"{v:.6g}" for v in x] + [word, f"2024-0{draw.randint(1, 9)}-1{draw.randint(0, 9)}", f"{0.3 * draw.gauss(0, 1):.4g}"]
            if holes:
                for place in (2, 3, 5):
                    if draw.random() < 0.15:
                        fields[place] = ""
            if weight == 0:
                self.spoil(draw, fields, kind)
            self.rows.append(fields)
            self.weights.append(weight)
            self.folds.append(number % 3)

    @staticmethod
    def spoil(draw, fields, kind):
        """A row that does not count may have anything that is legal where it stands."""
        for place in (2, 3, 4):
            fields[place] = draw.choice(("", "0", "1e9", "-3e30", "7"))
        fields[5] = draw.choice(("", "u", "never", "ever"))
        fields[6] = draw.choice(("", "1950-12-31T23:00", "2024-02-02"))
        fields[7] = draw.choice(("0", "900", "-1e5"))
        wild = {"number": ("", "1e12", "-5"), "count": ("", "-5", "1e12"), "words": ("", "maybe", "no")}.get(kind, ("", "1", "17", "-0.5"))
        fields[0] = draw.choice(wild)
        fields[1] = draw.choice(("", "1e12", "3"))

    def write(self, name, columns, repeated, split):
        """columns: which of the fields; split: the weights get a file of their own."""
        header = ["y", "z", "a", "b", "d", "word", "day", "o"]
        with open(name, "w") as file, open(name + ".folds", "w") as folds, open(name + ".w", "w") as weights:
            own = [] if repeated or split else ["w"]
            file.write(",".join([header[c] for c in columns] + own) + "\n")
            for fields, weight, fold in zip(self.rows, self.weights, self.folds):
                line = ",".join([fields[c] for c in columns] + ([] if not own else [str(weight)])) + "\n"
                times = weight if repeated else 1
                file.write(line * times)
                folds.write(f"{fold}\n" * times)
                weights.write(f"{weight}\n" * times)


    def write_sparse(self, name, repeated):
        """The target and three columns as svmlight. Rows of weight 0 have further columns."""
        with open(name, "w") as file, open(name + ".folds", "w") as folds, open(name + ".w", "w") as weights:
            for fields, weight, fold in zip(self.rows, self.weights, self.folds):
                entries = [f"{place}:{text}" for place, text in enumerate(fields[2:5], 1) if text and float(text) != 0]
                line = " ".join([fields[0] or "0"] + entries + (["7:1", "9:1e9"] if weight == 0 else [])) + "\n"
                times = weight if repeated else 1
                file.write(line * times)
                folds.write(f"{fold}\n" * times)
                weights.write(f"{weight}\n" * times)


def draw_options(draw, algorithm, kind):
    words = list(SETTLED.get(algorithm, ("--tol", "1e-10")))
    path = False
    if algorithm in CLASSIFIERS and draw.random() < 0.4:
        words += ["--class-weight", "balanced"]
    if algorithm == "kmeans":
        return ["--clusters", "3", "--centres", "centres"] + words, False
    if draw.random() < 0.2:
        words += ["--no-intercept"]
    if algorithm == "linear":
        return words, False
    if algorithm in ("svm", "epsilon"):
        if algorithm == "epsilon":
            words += ["--loss", draw.choice(("epsilon", "squared-epsilon"))]
        else:
            words += ["--loss", draw.choice(("hinge", "squared-hinge"))]
        words += ["--solver", draw.choice(("auto", "primal"))]
        path = draw.random() < 0.4
        words += ["--path", "0.1,1"] if path else ["--C", draw.choice(("0.1", "1"))]
    else:
        path = draw.random() < 0.5
        words += ["--l1-ratio", draw.choice(("1", "0.5"))]
        words += ["--path", "4", "--lambda-min-ratio", "0.05"] if path else draw.choice((["--lambda-ratio", "0.2"], ["--lambda", "0.02"], []))
        words += ["--standardize"] if draw.random() < 0.3 else []
    if path and draw.random() < 0.7:
        words += ["--cv", "3", "--cv-rule", draw.choice(("1se", "min"))]
        metric = {} if "balanced" in words else {"svm": ("loss", "accuracy"), "softmax": ("loss", "accuracy"), "logistic": ("loss", "accuracy", "auc"), "lasso": ("loss", "mae"), "epsilon": ("loss", "mae")}
        words += ["--cv-metric", draw.choice(metric.get(algorithm, ("loss",)))]
    if algorithm == "logistic" and kind != "words" and draw.random() < 0.2:
        words += ["--positive", "> 1"]
    if algorithm == "logistic" and not path and draw.random() < 0.3:
        words += ["--solver", draw.choice(("gd", "dbpg")), *(() if "--lambda" in words or "--lambda-ratio" in words else ("--lambda", "0.05"))]
        words[words.index("--tol") + 1] = "1e-6"
    elif algorithm in ("lasso", "logistic", "poisson") and draw.random() < 0.2:
        words += ["--lower", "-0.4", "--upper", "0.5"]
    return words, path


def train(launch, algorithm, name, model, words):
    out = subprocess.run((command.HAWSER, *launch, "train", "svm" if algorithm == "epsilon" else algorithm, name, "--json", "-q", "-o", model, *words),
                         capture_output=True, text=True, env=command.CLEAN, timeout=120)
    return out


def numbers(out):
    line = json.loads(out.stdout[out.stdout.index('{"'):])
    if line.get("cv", {}).get("metric") == "accuracy":  # without columns, classes of equal shares are told apart by rounding alone
        for key in ("error", "standard_error", "fold_errors"):
            line["cv"][key] = line["cv"][key][1:]
    return {key: value for key, value in line.items() if key not in APART and not key.startswith("seconds")}


def tensors(model):
    with open(model, "rb") as file:
        data = file.read()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + length])
    facts = header.pop("__metadata__")
    import array
    found = {}
    for name in ("sizes", "path.error", "path.standard_error"):  # numbers of rows; what --json has, too
        header.pop(name, None)
    for name, what in header.items():
        begin, end = what["data_offsets"]
        kind = {"F64": "d", "F32": "f", "I64": "q", "U32": "I", "U64": "Q"}[what["dtype"]]
        found[name] = list(array.array(kind, data[8 + length + begin:8 + length + end]))
    return found, {key: facts.get(key) for key in ("schema", "labels", "classes", "names", "columns", "class_weights", "missing") if key in facts}


def same(left, right, where, scale=1.0, close=CLOSE):
    """Compares two trees of numbers and texts."""
    if isinstance(left, bool) or left is None or isinstance(left, str):
        try:
            return same(float(left), float(right), where, 1.0, close) if isinstance(left, str) else check(left == right, where, left, right)
        except (TypeError, ValueError):
            return check(left == right, where, left, right)
    if isinstance(left, (int, float)):
        check(isinstance(right, (int, float)), where, left, right)
        return check(abs(left - right) <= close * max(scale, abs(left), abs(right)) or left == right, where, left, right)
    if isinstance(left, dict):
        for key in set(left) | set(right):
            if key not in ("lambda_1se", "lambda_min", "C_1se", "C_min", "nonzeros"):
                same(left.get(key), right.get(key), f"{where}.{key}", 1.0, close)
        return None
    check(len(left) == len(right), where, left, right)
    size = max([abs(v) for v in left if isinstance(v, (int, float))] + [1.0])
    for place, (a, b) in enumerate(zip(left, right)):
        same(a, b, f"{where}[{place}]", min(size, 10.0), close)
    return None


def check(holds, where, left, right):
    assert holds, (where, left, right)


def check_draw(number, draw):
    algorithm = draw.choice(ALGORITHMS)
    kind = {"poisson": "count", "logistic": draw.choice(("two", "words")), "softmax": draw.choice(("two", "three", "words")),
            "svm": draw.choice(("two", "three", "words"))}.get(algorithm, "number")
    sparse = algorithm not in ("multitask", "kmeans") and kind != "words" and draw.random() < 0.2
    holes = not sparse and draw.random() < 0.7
    table, valid = (Table(draw, algorithm, rows, kind, holes) for rows in (draw.randint(30, 50), 20))
    words, path = draw_options(draw, algorithm, kind)
    workers = draw.choice((1, 2, 3))
    words += ["--workers", str(workers)]
    launch = ("run", "-n", str(draw.randint(2, workers)), "--") if workers > 1 and draw.random() < 0.3 else ()
    validated = path and "--cv" not in words and draw.random() < 0.5
    split, offset = draw.random() < 0.3, algorithm in ("logistic", "poisson", "lasso") and draw.random() < 0.3
    columns = [2, 3, 4] + ([5] if draw.random() < 0.7 else [])
    columns += [6] if draw.random() < 0.3 and algorithm not in ("linear", "kmeans") and not {"gd", "dbpg"} & set(words) else []
    if 5 in columns or 6 in columns:  # columns of 0 and 1 that add up to 1: with an L1 norm alone several models are the best
        words = [("0.5" if word == "1" and before == "--l1-ratio" else word) for before, word in zip([""] + words, words)]
    targets = [] if algorithm == "kmeans" else [0, 1] if algorithm == "multitask" else [0]
    columns = targets + columns + ([7] if offset else [])
    missing = draw.choice(("mean", "zero")) + draw.choice((",level", ",zero")) if draw.random() < 0.8 else "drop"
    if missing == "drop" and (split or "--cv" in words):  # dropped rows make files of other rows useless
        missing = "zero"
    read = ["--missing", missing if holes else draw.choice((missing, "refuse")), "--target", ",".join(("y", "z")[k] for k in targets) or "none"]
    read += (["--offset", "o"] if offset else []) + (["--dates", "day"] if 6 in columns else [])
    if sparse:
        names, read, weights = ("t.svm", "t2.svm"), [], "t.svm.w"
        for turn, name in enumerate(names):
            table.write_sparse(name, turn > 0)
    else:
        names, weights = ("t.csv", "t2.csv"), "t.csv.w" if split else "w"
        for name, rows in (("t", table), ("v", valid)):
            rows.write(name + ".csv", columns, False, split)
            rows.write(name + "2.csv", columns, True, split)
    if algorithm == "kmeans":
        words = ["--clusters", "3", "--init", "m0"] + words[4:]
        make_centres(read, draw)
    cached = not sparse and algorithm != "multitask" and draw.random() < 0.3
    results = []
    for turn, name in enumerate(names):
        own, reading = list(words), read + ([] if turn else ["--weights", weights])
        if "--cv" in words:
            own += ["--folds", name + ".folds"]
        if cached:
            command.run("data", "convert", name, "-o", f"t{turn}.hwc", "-q", *reading, *(["--by-row"] if number % 2 else []))
            name, reading = f"t{turn}.hwc", []
        elif validated and not split and not sparse and algorithm != "kmeans":
            own += ["--validation", ("v.csv", "v2.csv")[turn], "--early-stopping", "2"]
        results.append(train(launch, algorithm, name, f"m{turn + 1}", own + reading))
        where = (number, algorithm, kind, launch, name, own + reading)
    compare(where, results)
    if results[0].returncode != 0 or any('"stop_reason":"iterations"' in out.stdout for out in results):
        return "refused or slow"
    if not sparse and not split and "balanced" not in words:  # measures are made row by row, before a file of weights is known
        evaluate(where, read)
    return "checked"


def compare(where, results):
    """Compares what two trainings say, and their models."""
    left, right = results
    assert left.returncode == right.returncode, (where, left.stderr, right.stderr)
    if left.returncode == 0 and not any('"stop_reason":"iterations"' in out.stdout for out in results):
        same(numbers(left), numbers(right), where)
        (mine, facts), (theirs, others) = tensors("m1"), tensors("m2")
        assert facts == others, (where, facts, others)
        same(mine, theirs, where, 1.0, NEAR)


def make_centres(read, draw):
    """A model of k-means of the counted rows, which all start from."""
    out = train((), "kmeans", "t2.csv", "m0", [*read, "--clusters", "3", "--seed", str(draw.randint(1, 9)), "--max-iterations", "1"])
    assert out.returncode == 0, out.stderr


def evaluate(where, read):
    """Measures of other rows, with both models, and predictions."""
    measures = []
    for turn, name in enumerate(("v.csv", "v2.csv")):
        words = [] if turn else ["--weights", "w"]
        words += [word for k in range(0, len(read), 2) for word in read[k:k + 2] if read[k] in ("--target", "--offset")]
        out = subprocess.run((command.HAWSER, "evaluate", f"m{turn + 1}", name, "--json", "-q", *words), capture_output=True, text=True, env=command.CLEAN, timeout=60)
        measures.append(out)
    assert measures[0].returncode == measures[1].returncode, (where, measures[0].stderr, measures[1].stderr)
    if measures[0].returncode == 0:
        same(numbers(measures[0]), numbers(measures[1]), (where, "evaluate"))


if __name__ == "__main__":
    sys.exit(draws.run(check_draw, command.HAWSER, 60, 2000))
