#!/usr/bin/env python3
"""The error on validation data while a model trains: each one of the trace is computed again in plain Python from a model file, the training ends where the
errors say, and the model is that of the least error. The same bits with any number of threads and nodes; where there is nothing to measure, refused."""
import csv
import json
import math
import os
import random
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["HAWSER_SOURCE"], "tests", "helpers"))
import certificate  # noqa: E402
from command import CLEAN, HAWSER, run, some  # noqa: E402

COLUMNS = 12
QUIET = ("--target", "y", "--json", "-q", "-o", "m")


def write(name, chance, rows, kind):
    """Rows of which few columns matter, with so much noise that long paths and long trainings fit it."""
    x = [[chance.gauss(0, 1) for _ in range(COLUMNS)] for _ in range(rows)]
    margin = [2 * row[0] - row[3] + chance.gauss(0, 1.5) for row in x]
    y = {"lasso": margin, "logistic": [float(m > 0) for m in margin], "poisson": [float(int(math.exp(0.4 * m))) for m in margin]}[kind]
    with open(name, "w") as file:
        file.write(",".join(["y"] + [f"x{j}" for j in range(COLUMNS)]) + "\n")
        file.writelines(",".join(map(repr, [target] + row)) + "\n" for target, row in zip(y, x))
    return x, y


def row_error(kind, y, m):
    if kind == "lasso":
        return (y - m) ** 2
    if kind == "logistic":
        return math.log1p(math.exp(-m if y else m))
    return 2 * ((y * (math.log(y) - m) if y else 0.0) - y + math.exp(m))


def mean_error(kind, data, w, b):
    return math.fsum(row_error(kind, y, b + math.fsum(row[j] * v for j, v in w.items())) for row, y in zip(*data)) / len(data[1])


def error_in(numbers):
    """The error on validation data in a JSON line or a row of a trace; an accuracy is 1 minus it."""
    key, value = next((key, float(value)) for key, value in numbers.items() if key.startswith("validation_") and value not in ("", None))
    return 1 - value if key == "validation_accuracy" else value


def train(*words, launch=()):
    """The JSON line of a training, and the errors of its trace: by evaluation, with lambda."""
    line = json.loads(run(*launch, "train", *words, *QUIET, "--trace", "trace").splitlines()[-1])
    errors = {}
    with open("trace") as file:
        for row in csv.DictReader(file):
            if any(value for key, value in row.items() if key.startswith("validation_")):
                errors[int(row["evaluations"])] = float(row.get("lambda") or row["C"]), error_in(row)
    assert sorted(errors) == list(range(1, len(errors) + 1)), errors
    return line, [errors[k] for k in sorted(errors)]


def stop_at(errors, patience, delta=0.0):
    """The number of errors until the training ends, and the place of the last lower one."""
    least, best = math.inf, 0
    for k, error in enumerate(errors):
        if error < least - delta:
            least, best = error, k
        elif k - best >= patience:
            return k + 1, best
    return len(errors), best


def near(found, expected, slack=1e-9):
    assert abs(found - expected) <= slack * (1 + abs(expected)), (found, expected)


def check_path(kind):
    """All errors of a path are those of its members, and the path ends where they say, with the model of the least error."""
    write("d.csv", random.Random(5), 60, kind)
    data = write("v.csv", random.Random(6), 40, kind)
    words = (kind, "d.csv", "--path", "40", "--lambda-min-ratio", "1e-4", "--validation", "v.csv")
    line, trace = train(*words)
    by_lambda = dict(trace)
    path = certificate.read_path("m")
    assert len(path) == 40 and list(by_lambda) == [member[0] for member in path] and line["stop_reason"] == "gap"
    errors = [mean_error(kind, data, w, b) for _, w, b in path]
    for (lam, _, _), error in zip(path, errors):
        near(by_lambda[lam], error)
    for patience, delta in (3, 0.0), (6, 0.0), (3, 0.02 * max(errors)):
        end, _ = stop_at(errors, patience, delta)
        line, trace = train(*words, "--early-stopping", str(patience), "--early-stopping-min-delta", repr(delta))
        tried = certificate.read_path("m")
        assert end < 40 and tried == path[:end] and line["lambdas"] == end, (kind, patience, delta, end, len(tried))
        assert line["stop_reason"] == "early-stopping" and dict(trace) == {lam: by_lambda[lam] for lam, _, _ in tried}
        best = errors.index(min(errors[:end]))
        assert line["lambda"] == path[best][0] and certificate.read_model("m") == path[best][1:], (kind, patience, best)
        near(error_in(line), errors[best])
    line, _ = train(*words, "--early-stopping", "40")
    assert line["lambdas"] == 40 and line["stop_reason"] == "gap"


def check_fraction():
    """The rows of --validation-fraction: the errors of the path are the file's own."""
    write("d.csv", random.Random(5), 80, "lasso")
    words = ("lasso", "d.csv", "--path", "40", "--validation-fraction", "0.4")
    train(*words)
    errors = list(certificate.read_tensors("m")["path.error"][1])
    end, best = stop_at(errors, 4)
    line, trace = train(*words, "--early-stopping", "4")
    assert end < 40 and line["lambdas"] == end and line["validation_mse"] == errors[best], (end, line)
    assert list(dict(trace).values()) == errors[:end]


def check_certificates():
    """With one lambda: the error at each certificate is that of a shorter training, and the model is the one of the least error."""
    write("d.csv", random.Random(7), 30, "logistic")
    data = write("v.csv", random.Random(8), 40, "logistic")
    words = ("logistic", "d.csv", "--lambda", "1e-5", "--solver", "minibatch", "--batch", "10", "--validation", "v.csv")
    _, trace = train(*words, "--epochs", "40")
    errors, models = [error for _, error in trace], {}
    for k in some(range(1, 40), 6):  # the first certificate is before the first epoch
        train(*words, "--epochs", str(k))
        models[k] = certificate.read_model("m")
        near(errors[k], mean_error("logistic", data, *models[k]))
    for patience, delta in (2, 0.0), (5, 0.0), (2, 0.01):
        end, best = stop_at(errors, patience, delta)
        assert 0 < best < end < 40, (patience, delta, end, best)
        line, trace = train(*words, "--epochs", "40", "--early-stopping", str(patience), "--early-stopping-min-delta", repr(delta))
        assert [error for _, error in trace] == errors[:end] and line["stop_reason"] == "early-stopping", (end, trace)
        assert line["validation_log_loss"] == errors[best] and certificate.read_model("m") == models.get(best, certificate.read_model("m"))
        near(json.loads(run("evaluate", "m", "v.csv", "--json"))["log_loss"], errors[best])
        near(json.loads(run("evaluate", "m", "d.csv", "--json"))["objective"], line["objective"])
    # The epochs, or a limit, end the training before the patience does: still the model of the least error.
    best = errors.index(min(errors))
    for more, reason in (("--epochs", "40"), "epochs"), (("--epochs", "40", "--max-clocks", str(5 * (best + 2))), "clocks"):
        line, trace = train(*words, "--early-stopping", "1000", *more)
        assert line["stop_reason"] == reason and len(trace) > best + 1, (line["stop_reason"], len(trace), best)
        near(line["validation_log_loss"], errors[best])
        near(mean_error("logistic", data, *certificate.read_model("m")), errors[best])


def check_nodes():
    """The same model, trace and end with any number of threads and nodes under bsp; other policies measure the same way."""
    launches = some([((), "1"), ((), "3"), (("run", "-n", "2", "--"), "1"), (("run", "-n", "3", "--"), "1")], 2)
    for words in (("lasso", "d.csv", "--path", "30", "--early-stopping", "3"),
                  ("logistic", "d.csv", "--lambda", "1e-5", "--solver", "minibatch", "--batch", "10", "--epochs", "30", "--early-stopping", "3")):
        write("d.csv", random.Random(7), 50, words[0])
        data = write("v.csv", random.Random(8), 40, words[0])
        seen = []
        for launch, threads in launches:
            line, trace = train(*words, "--validation", "v.csv", "--workers", "3", "--threads", threads, launch=launch)
            seen.append((line["objective"], line["stop_reason"], trace, certificate.read_model("m")))
        assert all(one == seen[0] for one in seen), (words, [one[:2] for one in seen])
        assert seen[0][1] == "early-stopping"
        line, trace = train(*words, "--validation", "v.csv", "--workers", "3", "--sync", "ssp:1")
        ends = dict(trace).values() if "--path" in words else [error for _, error in trace]
        near(min(ends), mean_error(words[0], data, *certificate.read_model("m")))
        assert line["stop_reason"] in ("early-stopping", "epochs"), line["stop_reason"]


def check_targets():
    """Several targets: the error is the mean over rows and targets."""
    chance = random.Random(9)
    for name, rows in ("d.csv", 60), ("v.csv", 40):
        with open(name, "w") as file:
            file.write("p,q," + ",".join(f"x{j}" for j in range(COLUMNS)) + "\n")
            for _ in range(rows):
                x = [chance.gauss(0, 1) for _ in range(COLUMNS)]
                file.write(",".join(map(repr, [1 + x[0] + chance.gauss(0, 2), x[1] - x[0] + chance.gauss(0, 2)] + x)) + "\n")
    words = ("multitask", "d.csv", "--target", "p,q", "--path", "30", "-q", "--json", "-o", "m", "--validation", "v.csv")
    run("train", *words)
    errors = list(certificate.read_tensors("m")["path.error"][1])
    end, best = stop_at(errors, 3)
    for workers in "1", "2":
        line = json.loads(run("train", *words, "--early-stopping", "3", "--workers", workers))
        assert end < 30 and line["lambdas"] == end and line["stop_reason"] == "early-stopping", (end, line)
        near(line["validation_mse"], errors[best], 1e-4)
        measured = json.loads(run("evaluate", "m", "v.csv", "--json"))
        near(sum(target["rmse"] ** 2 for target in measured["outputs"]) / 2, line["validation_mse"])


def train_clusters(*words, launch=()):
    """The JSON line of a training of k-means, and the inertias of its trace: by start, then by evaluation."""
    line = json.loads(run(*launch, "train", "kmeans", "d.csv", "--ignore", "y", *words, "--json", "-q", "-o", "m", "--trace", "trace").splitlines()[-1])
    found = {}
    with open("trace") as file:
        for row in csv.DictReader(file):
            if row["validation_inertia"]:
                found.setdefault(int(row["start"]), {})[int(row["evaluations"])] = float(row["validation_inertia"])
    for errors in found.values():
        assert sorted(errors) == list(range(1, len(errors) + 1)), found
    return line, {start: list(errors.values()) for start, errors in found.items()}


def centres_of(model):
    (count, columns), numbers = certificate.read_tensors(model)["centres"]
    return [numbers[c * columns:(c + 1) * columns] for c in range(count)]


def inertia_of(rows, centres):
    return math.fsum(min(math.fsum((a - b) ** 2 for a, b in zip(row, centre)) for centre in centres) for row in rows)


def check_clusters():
    """Mini-batches of k-means: the inertia after each pass is that of a shorter training, and the centres are those of the least one."""
    write("d.csv", random.Random(1), 40, "lasso")
    rows, _ = write("v.csv", random.Random(2), 40, "lasso")
    words = ("--clusters", "9", "--tol", "0", "--seed", "4", "--batch", "8", "--patience", "0")
    measured = (*words, "--validation", "v.csv", "--epochs", "16")
    errors, centres = train_clusters(*measured)[1][1], {}
    assert len(errors) == 16
    for k in some(range(16), 4):
        train_clusters(*words, "--epochs", str(k + 1))
        centres[k] = centres_of("m")
        near(errors[k], inertia_of(rows, centres[k]))
    for patience, delta in (1, 0.0), (3, 0.0), (1, 1.5):
        end, best = stop_at(errors, patience, delta)
        assert best + 1 < end < 16, (patience, delta, best, end, errors)
        line, seen = train_clusters(*measured, "--early-stopping", str(patience), "--early-stopping-min-delta", repr(delta))
        assert seen == {1: errors[:end]} and line["stop_reason"] == "early-stopping", (end, seen, line["stop_reason"])
        assert line["validation_inertia"] == errors[best] and centres_of("m") == centres.get(best, centres_of("m"))
        near(inertia_of(rows, centres_of("m")), errors[best])
        data, _ = write("d.csv", random.Random(1), 40, "lasso")
        near(inertia_of(data, centres_of("m")), line["inertia"])
    # A limit or the epochs end the training before the patience does: still the centres of the least inertia.
    best = errors.index(min(errors[:9]))
    for more, reason in (("--epochs", "9"), "epochs"), (("--max-clocks", "46"), "clocks"):
        line, _ = train_clusters(*measured, "--early-stopping", "1000", *more)
        assert line["stop_reason"] == reason and best < 8, (line["stop_reason"], best)
        near(line["validation_inertia"], errors[best])
        near(inertia_of(rows, centres_of("m")), errors[best])
    # Several starts: each one ends by its own inertias.
    starts = train_clusters(*measured, "--starts", "3")[1]
    line, seen = train_clusters(*measured, "--starts", "3", "--early-stopping", "2")
    assert seen == {start: found[:stop_at(found, 2)[0]] for start, found in starts.items()} and len(seen) == 3, (starts, seen)
    assert line["validation_inertia"] == min(seen[line["start"]]), (line, seen)
    same = []
    for launch, threads in some([((), "1"), ((), "3"), (("run", "-n", "3", "--"), "1")], 2):
        line, seen = train_clusters(*measured, "--early-stopping", "2", "--workers", "3", "--threads", threads, launch=launch)
        same.append((seen, line["stop_reason"], line["inertia"], centres_of("m")))
    assert all(one == same[0] for one in same) and same[0][1] == "early-stopping", same


def write_classes(name, chance, rows):
    x = [[chance.gauss(0, 1) for _ in range(COLUMNS)] for _ in range(rows)]
    y = [float(max(range(3), key=lambda c: row[c] + chance.gauss(0, 1))) for row in x]
    with open(name, "w") as file:
        file.write(",".join(["y"] + [f"x{j}" for j in range(COLUMNS)]) + "\n")
        file.writelines(",".join(map(repr, [target] + row)) + "\n" for target, row in zip(y, x))
    return x, y


def margins_of(row, tensors):
    """The margin of each class."""
    (count, columns), w = tensors["coefficients"]
    return [b + math.fsum(v * x for v, x in zip(w[c * columns:(c + 1) * columns], row)) for c, b in zip(range(count), tensors["intercepts"][1])]


def log_loss(data, tensors):
    found = []
    for row, y in zip(*data):
        z = margins_of(row, tensors)
        found.append(math.log(math.fsum(math.exp(m - max(z)) for m in z)) + max(z) - z[int(y)])
    return math.fsum(found) / len(found)


def share_of_wrong(data, tensors):
    """The part of the rows whose class is not the one of the largest margin; of two classes the one margin is that of the second."""
    found = []
    for row, y in zip(*data):
        z = margins_of(row, tensors)
        found.append((z.index(max(z)) if len(z) > 1 else int(z[0] > 0)) != y)
    return math.fsum(found) / len(found)


def check_steps(*words, error_of, start=None, iterations=range(1, 1000), limit=4, cases=((1, 0.0), (3, 0.0), (1, 0.03))):
    """A training by rows with one penalty: the error of each evaluation is that of a training which ends there, and the model is that of the least error. Its
    numbers are that model's, also where a limit ends the training first. `iterations` have an evaluation each; so has the start, if its error is given."""
    measured = (*words, "--validation", "v.csv")
    errors, models, objectives = [error for _, error in train(*measured)[1]], {}, {}
    first = 0 if start is None else 1
    assert start is None or near(errors[0], start) is None
    for k in some(range(first, min(len(errors), 9)), 3):
        objectives[k] = train(*words, "--max-iterations", str(iterations[k - first]))[0]["objective"]
        models[k] = certificate.read_tensors("m")
        near(errors[k], error_of(models[k]))
    ended = [(("--max-iterations", "iterations"), 1000, 0.0), (("--max-clocks", "clocks"), 1000, 0.0)]
    for option, patience, delta in [((), *case) for case in cases] + ended:
        end, best = stop_at(errors[:limit + first] if option else errors, patience, delta)
        more = (option[0], str(iterations[limit - 1])) if option else ()
        line, trace = train(*measured, "--early-stopping", str(patience), "--early-stopping-min-delta", repr(delta), *more)
        assert best + 1 < end < len(errors), (words, more, patience, delta, best, end, errors)
        assert line["stop_reason"] == (option[1] if option else "early-stopping"), (words, more, patience, delta, line["stop_reason"])
        found = certificate.read_tensors("m")
        assert [error for _, error in trace] == errors[:end] and found == models.get(best, found), (words, more, patience, best)
        near(error_of(found), errors[best])
        near(line["objective"], objectives.get(best, line["objective"]), 1e-12)
        near(json.loads(run("evaluate", "m", "d.csv", "--json"))["objective"], line["objective"])
        near(error_in(line), errors[best], 1e-12)


def check_members(*words, error_of):
    """A path by rows ends by the errors of its members, and has these members with the bits of the whole path."""
    measured = (*words, "--validation", "v.csv")
    train(*measured)
    whole = certificate.read_tensors("m")
    errors = list(whole["path.error"][1])
    for patience in 2, 3:
        end, _ = stop_at(errors, patience)
        line, trace = train(*measured, "--early-stopping", str(patience))
        found = certificate.read_tensors("m")
        best = errors.index(min(errors[:end]))
        assert end < len(errors) and line["stop_reason"] == "early-stopping" and line.get("lambdas", end) == end, (words, end, line)
        assert list(found["path.error"][1]) == errors[:end] and list(dict(trace).values()) == errors[:end], (words, patience, end)
        near(error_of(found), errors[best])


def check_rows_alike(*words):
    """A training by rows has the same bits with any number of threads and nodes."""
    same = []
    for launch, threads in some([((), "1"), ((), "3"), (("run", "-n", "3", "--"), "1")], 2):
        line, trace = train(*words, "--validation", "v.csv", "--early-stopping", "2", "--workers", "3", "--threads", threads, launch=launch)
        same.append((line["objective"], line["stop_reason"], trace, certificate.read_tensors("m")))
    assert all(one == same[0] for one in same) and same[0][1] == "early-stopping", same


def check_softmax():
    data, other = (write_classes(name, random.Random(seed), rows) for name, seed, rows in (("d.csv", 5, 60), ("v.csv", 6, 50)))
    shares = [data[1].count(c) / 60 for c in range(3)]
    start = math.fsum(-math.log(shares[int(y)]) for y in other[1]) / 50
    check_steps("softmax", "d.csv", "--lambda", "1e-5", error_of=lambda found: log_loss(other, found), start=start)
    check_steps("softmax", "d.csv", "--C", "1e3", "--l1-ratio", "0", "--workers", "2", error_of=lambda found: log_loss(other, found), start=start)
    check_members("softmax", "d.csv", "--path", "30", error_of=lambda found: log_loss(other, found))
    check_rows_alike("softmax", "d.csv", "--lambda", "1e-5")
    check_rows_alike("softmax", "d.csv", "--path", "30")


def check_svm():
    """The dual has a certificate, and with it an error, after some of its iterations. The errors of classes are traced as accuracies."""
    certified = (1, 2, *range(4, 1000, 4))
    write_classes("d.csv", random.Random(5), 60)
    other = write_classes("v.csv", random.Random(6), 50)
    check_steps("svm", "d.csv", "--C", "100", "--solver", "dual", "--tol", "0.1", error_of=lambda found: share_of_wrong(other, found), iterations=certified)
    write("d.csv", random.Random(7), 30, "logistic")
    two = write("v.csv", random.Random(8), 40, "logistic")
    check_steps("svm", "d.csv", "--C", "100", "--solver", "joint", "--workers", "2", error_of=lambda found: share_of_wrong(two, found), iterations=certified)
    for solver in "dual", "joint":
        check_rows_alike("svm", "d.csv", "--C", "100", "--solver", solver)
    write("d.csv", random.Random(7), 30, "lasso")
    numbers = write("v.csv", random.Random(8), 40, "lasso")

    def squared(found):
        return math.fsum((y - margins_of(row, found)[0]) ** 2 for row, y in zip(*numbers)) / len(numbers[1])

    check_steps("svm", "d.csv", "--C", "100", "--solver", "primal", "--loss", "epsilon", error_of=squared)
    check_members("svm", "d.csv", "--path", "11", "--loss", "epsilon", error_of=squared)
    check_rows_alike("svm", "d.csv", "--C", "100", "--solver", "primal", "--loss", "epsilon")


def refused(*words):
    done = subprocess.run((HAWSER, "train", *words, *QUIET), capture_output=True, text=True, env=CLEAN, timeout=60)
    assert done.returncode == 2, (words, done.returncode, done.stderr)
    return done.stderr


def check_refusals():
    write("d.csv", random.Random(7), 50, "lasso")
    assert "there is no --validation or --validation-fraction" in refused("lasso", "d.csv", "--early-stopping", "3")
    assert "exclude each other" in refused("lasso", "d.csv", "--cv", "3", "--early-stopping", "3")
    assert "there is no --early-stopping N" in refused("lasso", "d.csv", "--early-stopping-min-delta", "3")
    assert "there is no --validation to measure" in refused("softmax", "d.csv", "--early-stopping", "3")
    assert "there is no --validation to measure" in refused("svm", "d.csv", "--loss", "epsilon", "--early-stopping", "3")
    assert "exclude each other" in refused("softmax", "d.csv", "--cv", "3", "--early-stopping", "3")
    clusters = ("kmeans", "d.csv", "--early-stopping", "3")
    assert "it is about mini-batches" in refused(*clusters, "--validation", "d.csv")
    assert "there is no --validation to measure" in refused(*clusters, "--batch", "8")
    assert "there is no --early-stopping N" in refused("kmeans", "d.csv", "--batch", "8", "--early-stopping-min-delta", "3")
    assert "--early-stopping" in refused("linear", "d.csv", "--early-stopping", "3")


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for kind in "lasso", "logistic", "poisson":
            check_path(kind)
        check_fraction()
        check_certificates()
        check_nodes()
        check_targets()
        check_clusters()
        check_softmax()
        check_svm()
        check_refusals()
        os.chdir("/")


main()
