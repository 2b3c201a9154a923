#!/usr/bin/env python3
"""Cross-validation against folds trained one by one: each fold's rows are left out of a file of their own, a path is trained on the rest,
and errors on the held-out rows, their mean over the folds and its standard error are computed again here. With R's glmnet at hand, its
cv.glmnet (same folds, same lambdas) has to agree. Both choices of lambda follow, and a choice that invites doubt is said."""
import json
import math
import os
import random
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["HAWSER_SOURCE"], "tests", "helpers"))
from certificate import log_loss, read_model, read_path, read_tensors  # noqa: E402
from command import CLEAN, HAWSER, SANITIZED, some  # noqa: E402
from counts import draw_count, half_deviance  # noqa: E402

GLMNET = """
suppressPackageStartupMessages(library(glmnet))
args <- commandArgs(TRUE)
data <- as.matrix(read.csv(args[1], header = FALSE))
kind <- args[2]
fit <- cv.glmnet(data[, -(1:2)], data[, 1], weights = data[, 2], family = c(lasso = "gaussian", logistic = "binomial", poisson = "poisson")[[kind]],
                 foldid = scan(args[3], quiet = TRUE), lambda = scan(args[4], quiet = TRUE), type.measure = args[5],
                 standardize = FALSE, thresh = 1e-14, maxit = 1e7)
cat(sprintf("%.17g\\n", c(fit$cvm, fit$cvsd)), sep = "")
"""
TIGHT = ["--tol", "1e-11"]


def call(*words, code=0):
    out = subprocess.run([HAWSER, "train", *words], capture_output=True, text=True, env=CLEAN, timeout=300)
    assert out.returncode == code, (words, out.returncode, out.stderr)
    return out


def trained(*words):
    return json.loads(call(*words, "--json", "-q").stdout.splitlines()[-1])


def dealt(rows, folds, seed=1, classes=None):
    """The fold of each row: rows are shuffled by a hash of seed and row, and dealt in turn, one class after the other."""
    most = (1 << 64) - 1

    def mix(row):
        z = (seed * 0x9E3779B97F4A7C15 + row + 0x632BE59BD9B4E019) & most
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & most
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & most
        return z ^ (z >> 31)

    fold = [0] * rows
    for k, row in enumerate(sorted(range(rows), key=lambda i: (classes[i] if classes else 0, mix(i), i))):
        fold[row] = 1 + k % folds
    return fold


class Problem:
    """Drawn rows of which a few columns matter; as CSV without a header: target, weight, columns."""

    def __init__(self, folder, kind, rows, columns, weighted, seed, truth=(1.5, -1.0, 0.7), noise=2.0):
        chance = random.Random(seed)
        self.folder, self.kind = folder, kind
        self.x = [[chance.gauss(0, 1) for _ in range(columns)] for _ in range(rows)]
        truth = list(truth) + [0.0] * (columns - len(truth))
        margin = [0.5 + sum(a * b for a, b in zip(row, truth)) for row in self.x]
        if kind == "lasso":
            self.y = [m + chance.gauss(0, noise) for m in margin]
        elif kind == "poisson":
            self.y = [draw_count(chance, math.exp(m / 2)) for m in margin]
        else:
            self.y = [float(chance.random() < 1 / (1 + math.exp(-m))) for m in margin]
        self.w = [chance.choice([0.5, 1.0, 2.0]) if weighted else 1.0 for _ in range(rows)]
        self.file = self.write("all.csv", range(rows))

    def write(self, name, rows):
        path = os.path.join(self.folder, name)
        with open(path, "w") as file:
            for i in rows:
                file.write(",".join("%.17g" % v for v in [self.y[i], self.w[i], *self.x[i]]) + "\n")
        return path

    def train(self, file, *words):
        return trained(self.kind, file, "--header", "no", "--weights", "1", *TIGHT, *words)

    def margins(self, model, rows):
        """By lambda, the margins of rows."""
        return [[b + sum(v * self.x[i][j] for j, v in w.items()) for i in rows] for _, w, b in read_path(model)]

    def errors(self, fold, lambdas, measure):
        """Mean and standard error of the held-out errors, by lambda: folds count by the weights of their rows. Keeps those weights, and the errors by fold."""
        folds = sorted(set(fold))
        total, by_fold = [], []
        model, part = os.path.join(self.folder, "fold.st"), "fold.csv"
        for f in folds:
            out = [i for i in range(len(fold)) if fold[i] == f]
            self.train(self.write(part, [i for i in range(len(fold)) if fold[i] != f]), "--path",
                       ",".join("%.17g" % v for v in lambdas), "-o", model)
            y, w = [self.y[i] for i in out], [self.w[i] for i in out]
            total.append(math.fsum(w))
            by_fold.append([measure(y, m, w) for m in self.margins(model, out)])
        self.weights, self.by_fold = total, [[e[k] for e in by_fold] for k in range(len(lambdas))]
        mean = [math.fsum(t * e[k] for t, e in zip(total, by_fold)) / math.fsum(total) for k in range(len(lambdas))]
        spread = [math.fsum(t * (e[k] - mean[k]) ** 2 for t, e in zip(total, by_fold)) / math.fsum(total)
                  for k in range(len(lambdas))]
        return mean, [math.sqrt(s / (len(folds) - 1)) for s in spread]


def glmnet(problem, fold, lambdas, measure):
    """cv.glmnet's means and standard errors; None without it. Its deviance of classes is twice the log loss."""
    paths = []
    for name, lines in (("fold.txt", fold), ("lambda.txt", lambdas), ("cv.R", [GLMNET])):
        paths.append(os.path.join(problem.folder, name))
        with open(paths[-1], "w") as file:
            file.write("".join(line if name == "cv.R" else "%.17g\n" % line for line in lines))
    try:
        out = subprocess.run(["Rscript", "--vanilla", paths[2], problem.file, problem.kind, *paths[:2], measure],
                             capture_output=True, text=True, timeout=300)
    except OSError:
        out = None
    if out is None or out.returncode != 0:
        print("without glmnet: no Rscript with it")
        return None
    values = [float(line) / (2 if measure == "deviance" and problem.kind == "logistic" else 1) for line in out.stdout.split()]
    return values[:len(lambdas)], values[len(lambdas):]


def weighted(row):
    return lambda y, m, w: math.fsum(c * row(a, b) for a, b, c in zip(y, m, w)) / math.fsum(w)


LOSS = {"lasso": weighted(lambda y, m: (y - m) ** 2), "logistic": weighted(lambda y, m: log_loss(m if y == 1 else -m)),
        "poisson": weighted(lambda y, m: 2 * half_deviance(y, m))}


def area(y, m, w):
    """1 - the share of pairs, one of each class, that the margins order rightly; ties count half."""
    pairs = [(u * v, 1.0 if a > b else 0.5 if a == b else 0.0) for p, a, u in zip(y, m, w) for q, b, v in zip(y, m, w) if p > q]
    return 1 - math.fsum(c * hit for c, hit in pairs) / math.fsum(c for c, _ in pairs)


METRICS = {("lasso", "loss"): (LOSS["lasso"], "mse"), ("lasso", "mae"): (weighted(lambda y, m: abs(y - m)), "mae"),
           ("poisson", "mae"): (weighted(lambda y, m: abs(y - math.exp(m))), "mae"),
           ("logistic", "loss"): (LOSS["logistic"], "deviance"), ("logistic", "auc"): (area, "auc"),
           ("logistic", "accuracy"): (weighted(lambda y, m: float((m > 0) != (y == 1))), "class")}


def same(name, a, b, tolerance=1e-6):
    assert len(a) == len(b), (name, a, b)
    for k, (u, v) in enumerate(zip(a, b)):
        assert abs(u - v) <= tolerance * (1e-3 + abs(v)), (name, k, u, v)


def check_choices(name, printed):
    """Both choices follow from the errors; the result is the one of the rule."""
    cv = printed["cv"]
    lambdas, errors = cv["lambda"], cv["error"]
    least = min(range(len(errors)), key=lambda k: (errors[k], k))
    careful = next(k for k in range(len(errors)) if errors[k] <= errors[least] + cv["standard_error"][least])
    assert cv["lambda_min"] == lambdas[least] and cv["lambda_1se"] == lambdas[careful], (name, cv)
    chosen = least if cv["rule"] == "min" else careful
    assert printed["lambda"] == lambdas[chosen] and printed["nonzeros"] == cv["nonzeros"][chosen], (name, printed)
    error = [v for k, v in printed.items() if k in ("cv_mse", "cv_log_loss", "cv_deviance", "cv_error")]
    assert error == [errors[chosen]] and printed["cv_standard_error"] == cv["standard_error"][chosen], (name, printed)
    return least, careful


def check_dealt_folds(folder):
    for kind, rule in (("lasso", "1se"), ("logistic", "min"), ("poisson", "min")):
        problem = Problem(folder, kind, 90, 12, True, 7)
        printed = problem.train(problem.file, "--cv", "4", "--cv-rule", rule, "--path", "8", "--lambda-min-ratio", "0.05", "-o",
                                os.path.join(folder, "cv.st"))
        cv = printed["cv"]
        assert cv["folds"] == 4 and cv["rule"] == rule and cv["metric"] == "loss", cv
        mean, error = problem.errors(dealt(90, 4), cv["lambda"], LOSS[kind])
        same((kind, "mean"), cv["error"], mean)
        same((kind, "standard error"), cv["standard_error"], error)
        check_choices(kind, printed)
        peer = glmnet(problem, dealt(90, 4), cv["lambda"], "mse" if kind == "lasso" else "deviance")
        if peer is not None:
            same((kind, "glmnet's mean"), cv["error"], peer[0], 1e-5)
            same((kind, "glmnet's standard error"), cv["standard_error"], peer[1], 1e-5)
        path = read_path(os.path.join(folder, "cv.st"))
        assert [entry[0] for entry in path] == cv["lambda"] and [len(entry[1]) for entry in path] == cv["nonzeros"], cv
        # A path of one lambda has errors, too.
        one = problem.train(problem.file, "--cv", "4", "--cv-rule", rule, "--path", "1")
        assert one["cv"]["lambda"] == [one["lambda"]] == cv["lambda"][:1], one["cv"]
        same((kind, "one"), one["cv"]["error"] + one["cv"]["standard_error"], [mean[0], error[0]])
        same((kind, "one by fold"), sum(one["cv"]["fold_errors"], []), cv["fold_errors"][0])
        assert one["cv"]["fold_weights"] == cv["fold_weights"]


def check_one_lambda(folder):
    """A list of one lambda is a list: it needs no lambda_max, and no end."""
    problem, model = Problem(folder, "lasso", 60, 4, False, 3), os.path.join(folder, "one.st")
    problem.train(problem.file, "--lambda", "0.5", "--l1-ratio", "0", "-o", model)
    expected = read_model(model)
    for more in ([], ["--cv", "3"]):
        problem.train(problem.file, "--path", "0.5", "--l1-ratio", "0", "-o", model, *more)
        found = read_model(model)
        assert found[0].keys() == expected[0].keys()
        same(("one lambda", more), [*found[0].values(), found[1]], [*expected[0].values(), expected[1]], 1e-4)
    # Folds that follow leave the model of all rows.
    classes = Problem(folder, "logistic", 60, 4, False, 3)
    for kind, option in ("logistic", "--lambda"), ("softmax", "--lambda"), ("svm", "--C"):
        words, tensors = [kind, classes.file, "--header", "no", "--weights", "1", "--tol", "1e-8", "-o", model], []
        for more in (option, "0.05"), ("--path", "0.05", "--cv", "3"):
            trained(*words, *more)
            found = read_tensors(model)
            tensors.append([found[name][1] for name in ("coefficients", "coefficients.value", "intercept", "intercepts") if name in found])
        assert len(tensors[0]) == len(tensors[1]) == 2
        for one, other in zip(*tensors):
            same((kind, "one member"), list(other), list(one), 1e-3)
    assert "--path lists its lambdas itself" in call("lasso", problem.file, "--path", "0.5", "--lambda-min-ratio", "0.1", code=2).stderr
    assert "there is no lambda_max" in call("lasso", problem.file, "--path", "5", "--l1-ratio", "0", code=2).stderr


def check_names_of_errors(folder):
    """What is printed says what the errors are: of auc and accuracy, the rest to 1."""
    model = os.path.join(folder, "named.st")
    for kind, metric, short, long in (("logistic", "auc", "1 - auc", "1 - AUC"), ("logistic", "accuracy", "1 - accuracy", "1 - accuracy"),
                                      ("lasso", "mae", "mae", "mean absolute error"), ("lasso", "loss", "loss", "mean squared error")):
        problem = Problem(folder, kind, 60, 4, False, 3)
        done = call(kind, problem.file, "--header", "no", "--ignore", "1", "--cv", "3", "--cv-metric", metric, "--path", "4", "-o", model)
        heading = [line for line in (done.stdout + done.stderr).splitlines() if line.startswith("cv, 3 folds")]
        assert len(heading) == 1 and " %s " % short in heading[0], (metric, done.stdout, done.stderr)
        table = subprocess.run([HAWSER, "info", model, "--path"], capture_output=True, text=True, env=CLEAN).stdout
        assert table.startswith("error: %s on rows" % long), (metric, table[:100])


def check_given_folds(folder):
    """Folds of a file, by each metric; folds that keep the shares of classes are those of the file that says so."""
    chance, path = random.Random(5), os.path.join(folder, "folds")
    for (kind, metric), (measure, name) in some(METRICS.items(), 2):
        problem = Problem(folder, kind, 70, 8, True, 11)
        fold = [1 + chance.randrange(3) for _ in range(70)]
        with open(path, "w") as file:
            file.write("".join("%d\n" % f for f in fold))
        words = ["--cv", "3", "--cv-metric", metric, "--path", "6", "--lambda-min-ratio", "0.1"]
        printed = problem.train(problem.file, *words, "--folds", path)
        cv = printed["cv"]
        mean, error = problem.errors(fold, cv["lambda"], measure)
        assert cv["metric"] == metric and ("cv_error" in printed) == (metric != "loss"), printed
        same((kind, metric), cv["error"] + cv["standard_error"], mean + error)
        same((kind, metric, "by fold"), sum(cv["fold_errors"], []) + cv["fold_weights"], sum(problem.by_fold, []) + problem.weights)
        check_choices(kind, printed)
        peer = glmnet(problem, fold, cv["lambda"], name)
        if peer is not None:
            if name in ("auc", "class"):  # glmnet has the area; it and its steps jump where margins meet
                peer = [1 - v if name == "auc" else v for v in peer[0]], peer[1]
            same((kind, metric, "glmnet's mean"), cv["error"], peer[0], 1e-5)
            same((kind, metric, "glmnet's standard error"), cv["standard_error"], peer[1], 1e-5)
        with open(path, "w") as file:  # counted from 0, by threads
            file.write("".join("%d\n" % (f - 1) for f in fold))
        for more in (["--threads", "1"], ["--workers", "2", "--threads", "1"], ["--workers", "2", "--threads", "2"]):
            again = problem.train(problem.file, *words, "--folds", path, *more)["cv"]
            same((kind, metric, more), again["error"], cv["error"])
    problem = Problem(folder, "logistic", 60, 6, False, 4)
    problem.y = [float(i % 6 == 0) for i in range(60)]
    problem.file = problem.write("all.csv", range(60))
    fold = dealt(60, 4, classes=problem.y)
    for k in (0.0, 1.0):
        assert sorted(sum(f == e and y == k for f, y in zip(fold, problem.y)) for e in range(1, 5))[0] >= (2 if k else 12)
    with open(path, "w") as file:
        file.write("".join("%d\n" % f for f in fold))
    words = ["--cv", "4", "--path", "5", "--lambda-min-ratio", "0.1"]
    assert problem.train(problem.file, *words, "--folds", "stratified")["cv"] == problem.train(problem.file, *words, "--folds", path)["cv"]


def check_going_on(folder):
    """Without --path and --lambda-min-ratio a path goes on, by tens, until its least error lies 10 lambdas back or the model explains all."""
    ends = set()
    problems = enumerate([(60, 61, 30, 0.5), (50, 60, 15, 0.3), (40, 45, 12, 0.05), (60, 20, 3, 2.0)])
    for seed, (rows, columns, matter, noise) in some(problems, 2):
        chance, model = random.Random(seed), os.path.join(folder, "on.st")
        problem = Problem(folder, "lasso", rows, columns, False, seed, [chance.gauss(0, 1) for _ in range(matter)], noise)
        words = ["--cv", "4", "--cv-rule", "min", "--tol", "1e-9"]
        printed = problem.train(problem.file, *words, "-o", model)
        cv = printed["cv"]
        lambdas, errors, count = cv["lambda"], cv["error"], len(cv["lambda"])
        assert printed["lambdas"] == count and count in range(100, 201, 10), count
        step = (0.01 if rows < columns else 0.0001) ** (1 / 99)
        same((seed, "ratio"), lambdas, [lambdas[0] * step ** k for k in range(count)], 1e-9)
        path = read_path(model)
        assert [entry[0] for entry in path] == lambdas and [len(entry[1]) for entry in path] == cv["nonzeros"], seed
        mean = math.fsum(problem.y) / rows
        total = math.fsum((y - mean) ** 2 for y in problem.y)
        part = [1 - math.fsum((y - m) ** 2 for y, m in zip(problem.y, ms)) / total for ms in problem.margins(model, range(rows))]

        def over(k):
            least = min(range(k), key=lambda l: errors[l])
            return k == 200 or k - 1 - least >= 10 or part[k - 1] > 0.999 or part[k - 1] - part[k - 2] < 1e-5 * part[k - 1]

        assert [k for k in range(100, count + 1, 10) if over(k)] == [count], (seed, count, part[99:])
        check_choices((seed, "on"), printed)
        ends.add(count)
        listed = problem.train(problem.file, *words, "--path", ",".join("%.17g" % v for v in lambdas))["cv"]
        same((seed, "listed"), errors + cv["standard_error"], listed["error"] + listed["standard_error"], 1e-4)
        for more in (["--path", "100"], ["--lambda-min-ratio", "0.01" if rows < columns else "0.0001"]):
            exact = problem.train(problem.file, *words, *more)["cv"]
            assert exact["lambda"] == lambdas[:100] and exact["error"] == errors[:100], (seed, more)
        if count == 100:
            continue
        results = []
        for before, threads in ([], "1"), ([], "3"), (["run", "-n", "3", "--"], "1"):
            out = subprocess.run([HAWSER, *before, "train", "lasso", problem.file, "--header", "no", "--ignore", "1", *words, "--workers",
                                  "3", "--threads", threads, "--json", "-q", "-o", model], capture_output=True, text=True, env=CLEAN)
            assert out.returncode == 0, out.stderr
            with open(model, "rb") as file:
                results.append((json.loads(out.stdout.splitlines()[-1])["cv"], read_path(model)))
        assert results[0] == results[1] == results[2] and len(results[0][0]["lambda"]) == count, (seed, count)
        # A limit within the lambdas that were added leaves the others, which all folds have finished.
        cut = problem.train(problem.file, *words, "--max-clocks", str(printed["clocks"] - 3), "-o", model)
        assert cut["stop_reason"] == "clocks" and len(cut["cv"]["lambda"]) == count - 10, cut
        assert cut["cv"]["error"] == errors[:count - 10] and len(read_path(model)) == count - 10, cut
        check_choices((seed, "cut"), cut)
    assert len(ends) > (1 if SANITIZED else 2), ends


def check_nodes(folder):
    """The same bits on any number of nodes and threads, for each source of folds and each metric."""
    problem, path = Problem(folder, "logistic", 60, 6, True, 6), os.path.join(folder, "folds")
    with open(path, "w") as file:
        file.write("".join("%d\n" % (i % 3) for i in range(60)))
    for words in (["--folds", path, "--cv-metric", "auc"], ["--folds", "stratified", "--cv-metric", "accuracy"]):
        words = ["train", "logistic", problem.file, "--header", "no", "--weights", "1", "--cv", "3", "--path", "5", "--workers", "3",
                 "--json", "-q"] + words
        results = []
        for before in ([], ["run", "-n", "3", "--"], ["run", "-n", "2", "--"]):
            out = subprocess.run([HAWSER, *before, *words], capture_output=True, text=True, env=CLEAN, timeout=300)
            assert out.returncode == 0, (before, words, out.stderr)
            results.append(json.loads(out.stdout.splitlines()[-1])["cv"])
        assert results[0] == results[1] == results[2], results


def grouped(groups, folds):
    """The fold of each row: whole groups, the largest first, each to the fold that has the fewest rows. Groups of one size lie in an order
    that only the shuffling knows, so sizes differ here."""
    sizes = {g: groups.count(g) for g in groups}
    assert len(set(sizes.values())) == len(sizes)
    total, fold = [0] * folds, {}
    for g in sorted(sizes, key=lambda g: -sizes[g]):
        fold[g] = total.index(min(total))
        total[fold[g]] += sizes[g]
    return [1 + fold[g] for g in groups]


def write_groups(path, problem, names):
    with open(path, "w") as file:
        file.write("y,who,a,b,c,d,e\n")
        for y, name, x in zip(problem.y, names, problem.x):
            file.write("%.17g,%s,%s\n" % (y, name, ",".join("%.17g" % v for v in x)))
    return path


def check_groups(folder):
    """Groups by words, numbers and quoted text stay together, and their column is no feature, from any format that has such a column."""
    chance, path = random.Random(2), os.path.join(folder, "folds")
    groups = [g for k, size in enumerate((5, 7, 8, 11, 13, 16)) for g in [k] * size]
    chance.shuffle(groups)
    problem = Problem(folder, "lasso", 60, 5, False, 21)
    with open(path, "w") as file:
        file.write("".join("%d\n" % f for f in grouped(groups, 3)))
    more = ["--cv", "3", "--path", "5", "--lambda-min-ratio", "0.1", "--json", "-q"]
    want = trained("lasso", problem.file, "--header", "no", "--ignore", "1", "--folds", path, *more)["cv"]
    names = {"words": lambda g: "patient %d" % g, "numbers": lambda g: "%d" % (g - 2), "quoted": lambda g: '"a, ""%d"""' % g,
             "dates": lambda g: "2020-01-0%d" % (g + 1), "mixed": lambda g: "x" if g == 3 else "%d" % g}
    for kind, name in names.items():
        table = write_groups(os.path.join(folder, kind + ".csv"), problem, map(name, groups))
        words = ["train", "lasso", table, "--folds", "by:who", *more]
        for before, after in ([], []), ([], ["--workers", "2", "--threads", "2"]), (["run", "-n", "3", "--"], ["--workers", "3"]):
            out = subprocess.run([HAWSER, *before, *words, *after], capture_output=True, text=True, env=CLEAN, timeout=300)
            assert out.returncode == 0, (kind, before, out.stderr)
            found = json.loads(out.stdout.splitlines()[-1])
            assert found["load"]["columns"] == 5, (kind, found["load"])
            same((kind, before, after), found["cv"]["error"] + found["cv"]["standard_error"], want["error"] + want["standard_error"])
        assert trained("lasso", table, "--folds", "by:1", *more)["cv"] == trained("lasso", table, "--folds", "by:who", *more)["cv"], kind


def check_formats_of_groups(folder):
    """A column of groups in an array, and what has none."""
    problem = Problem(folder, "lasso", 20, 5, False, 22)
    more = ["--cv", "3", "--path", "5", "--lambda-min-ratio", "0.1"]
    table = write_groups(os.path.join(folder, "g.csv"), problem, [i % 6 for i in range(20)])
    array, cache, sparse = (os.path.join(folder, "g" + end) for end in (".npy", ".hwc", ".svm"))
    for to in (array, cache):
        subprocess.run([HAWSER, "data", "convert", table, "-o", to], check=True, env=CLEAN, capture_output=True)
    with open(sparse, "w") as file:
        file.write("".join("%d 1:%d\n" % (i, i % 7) for i in range(20)))
    found = trained("lasso", array, "--target", "0", "--folds", "by:1", *more)
    assert found["load"]["columns"] == 5, found["load"]
    same("npy", found["cv"]["error"], trained("lasso", table, "--folds", "by:who", *more)["cv"]["error"])
    for data, words, text in ((table, ["--folds", "by:nobody"], "the groups 'nobody' is no column (of 7, from 0)"),
                              (table, ["--folds", "by:y"], "names a column that has another role"),
                              (table, ["--folds", "by:who", "--cv", "7"], "--cv 7: the column of --folds has only 6 groups"),
                              (cache, ["--folds", "by:who"], "--folds by:who: the data have no column of groups"),
                              (sparse, ["--folds", "by:1"], "which has no column of groups"),
                              (array, ["--folds", "by:9"], "the groups '9' are no free column")):
        out = subprocess.run([HAWSER, "train", "lasso", data, *more, *words], capture_output=True, text=True, env=CLEAN)
        assert out.returncode in (2, 3) and text in out.stderr and out.stderr.count("\n") == 1, (words, out.stderr)


def check_refusals(folder):
    """What cannot be, in one line."""
    numbers, classes = Problem(folder, "lasso", 20, 4, False, 3), Problem(folder, "logistic", 20, 4, False, 3)
    numbers.file, classes.file = numbers.write("numbers.csv", range(20)), classes.write("classes.csv", range(20))
    path = os.path.join(folder, "folds")

    def refuse(kind, text, code, lines, *words):
        if lines is not None:
            with open(path, "w") as file:
                file.write("".join("%s\n" % line for line in lines))
        data = numbers.file if kind == "lasso" else classes.file
        out = call(kind, data, "--header", "no", "--ignore", "1", *words, code=code)
        assert text in out.stderr and out.stderr.count("\n") == 1 and out.stderr.startswith("hawser: "), (words, out.stderr)

    two = [1 + i % 2 for i in range(20)]
    file = ["--cv", "2", "--folds", path]
    refuse("lasso", "--folds does nothing here: there is no --cv K", 2, two, "--folds", path)
    refuse("lasso", "--cv-metric does nothing here: there is no --cv K", 2, two, "--cv-metric", "mae")
    refuse("lasso", "--cv 3: %s has folds 1 to 2, so use --cv 2" % path, 2, two, "--cv", "3", "--folds", path)
    refuse("lasso", "has 19 fold numbers for 20 rows", 3, two[1:], *file)
    refuse("lasso", ":21: more lines than the data have rows (20)", 3, two + [1], *file)
    refuse("lasso", ":3: 'x' is not the number of a fold", 3, two[:2] + ["x"] + two[3:], *file)
    refuse("lasso", ":1: '-1' is not the number of a fold", 3, [-1] + two[1:], *file)
    refuse("lasso", ":1: '1.5' is not the number of a fold", 3, [1.5] + two[1:], *file)
    refuse("lasso", "no row is in fold 2, and others are in folds 1 to 3", 3, [1 + 2 * (i % 2) for i in range(20)], "--cv", "3",
           "--folds", path)
    refuse("lasso", "No such file", 4, None, "--cv", "2", "--folds", path + ".none")
    refuse("lasso", "--folds stratified keeps the shares of classes", 2, None, "--cv", "2", "--folds", "stratified")
    refuse("lasso", "--cv-metric auc is for classes, and train lasso predicts numbers", 2, None, "--cv", "2", "--cv-metric", "auc")
    refuse("lasso", "--cv-metric accuracy is for classes", 2, None, "--cv", "2", "--cv-metric", "accuracy")
    refuse("logistic", "--cv-metric mae is for numbers, and train logistic predicts classes", 2, None, "--cv", "2", "--cv-metric", "mae")
    alone = [2 if y == 1 else 1 for y in classes.y]
    alone[classes.y.index(1.0)] = 1
    refuse("logistic", "--cv-metric auc: fold 2 (from 1) has no row of label 0", 3, alone, *file, "--cv-metric", "auc")


def check_lines(folder):
    """The table after the training, and what is said of doubtful choices."""
    problem = Problem(folder, "lasso", 90, 12, False, 8)
    words = ["lasso", problem.file, "--header", "no", "--ignore", "1", "--cv", "5"]
    printed = trained(*words)
    lines = [line.split() for line in call(*words).stdout.splitlines()]
    for rule in ("min", "1se"):
        line = next(line for line in lines if line[:1] == [rule])
        k = printed["cv"]["lambda"].index(printed["cv"]["lambda_" + rule])
        want = [printed["cv"][key][k] for key in ("lambda", "error", "standard_error", "nonzeros")]
        assert line[1:5] == ["%.6g" % v for v in want] and (line[5:] == ["(the", "model)"]) == (rule == "1se"), (line, want)
    assert printed["notes"] == [], printed["notes"]
    for ratio, rule in (("0.9", "1se"), ("0.5", "min")):
        cut = trained(*words, "--path", "5", "--lambda-min-ratio", ratio, "--cv-rule", rule)
        assert cut["cv"]["lambda_min"] == cut["cv"]["lambda"][-1], cut
        note = "is that of the last lambda of the path, %.4g: a smaller one may have less; --lambda-min-ratio" % cut["cv"]["lambda_min"]
        assert sum(note in line for line in cut["notes"]) == 1, cut["notes"]
        empty = [line for line in cut["notes"] if "leaves no column" in line]
        assert bool(empty) == (cut["nonzeros"] == 0), cut
        assert not empty or "--cv-rule min takes lambda %.4g with" % cut["cv"]["lambda_min"] in empty[0], empty
        assert (ratio == "0.9") == bool(empty), (ratio, cut)
    listed = trained(*words, "--path", "%r,%r" % (printed["lambda_max"], printed["lambda_max"] * 0.9))
    assert "add smaller lambdas to --path" in listed["notes"][0], listed["notes"]
    held = trained(*words[:-2], "--path", "5", "--lambda-min-ratio", "0.5", "--validation", problem.file)
    assert "least error on the validation data is that of the last lambda" in held["notes"][0] and "cv" not in held, held
    noise = Problem(folder, "lasso", 40, 3, False, 9)
    noise.y = [random.Random(i).gauss(0, 1) for i in range(40)]
    nothing = trained("lasso", noise.write("noise.csv", range(40)), "--header", "no", "--ignore", "1", "--cv", "5", "--cv-rule", "min")
    assert (nothing["nonzeros"] == 0) == any("no lambda of the path has a lower error than the intercept alone" in line
                                             for line in nothing["notes"]), nothing


def check_assumed(folder):
    """One lambda that nobody chose is said, unless the run is quiet."""
    problem = Problem(folder, "lasso", 30, 4, False, 3)
    words = ("lasso", problem.file, "--header", "no", "--ignore", "1")
    said = "was assumed, 0.05 of lambda_max; --cv 10 chooses one by the data, --lambda sets one"
    quiet = [line for line in call(*words, "-q").stderr.splitlines() if line and "makecontext" not in line]  # a sanitizer's remark
    assert said in call(*words).stderr and quiet == [], quiet
    assert said in trained(*words)["notes"][0] and trained(*words, "--lambda", "0.1")["notes"] == []


def main():
    with tempfile.TemporaryDirectory() as folder:
        check_dealt_folds(folder)
        check_one_lambda(folder)
        check_names_of_errors(folder)
        check_given_folds(folder)
        check_going_on(folder)
        check_nodes(folder)
        check_groups(folder)
        check_formats_of_groups(folder)
        check_refusals(folder)
        check_lines(folder)
        check_assumed(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
