#!/usr/bin/env python3
"""`hawser train poisson` against a program that shares nothing with it but the formulas: the printed objective is that of the saved model, its gap
bounds the distance to the optimum that the other program finds, on drawn problems with badly scaled columns, large and fractional counts,
offsets, weights, factors and bounds. It has the same bits for any threads and nodes, one optimum for every sync, and the optimum of glmnet and
scikit-learn, if these are installed."""
import json
import math
import os
import random
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["HAWSER_SOURCE"], "tests", "helpers"))
import counts  # noqa: E402
from certificate import read_model  # noqa: E402
from command import CLEAN, HAWSER, some  # noqa: E402

FOLDER = tempfile.TemporaryDirectory()


def path(name):
    return os.path.join(FOLDER.name, name)


def command(*words, launcher=()):
    out = subprocess.run([HAWSER, *launcher, *words], capture_output=True, text=True, env=CLEAN, timeout=300)
    assert out.returncode == 0, (words, out.stderr)
    return out.stdout


def train(*options, data="data.csv", model="model", launcher=()):
    text = command("train", "poisson", path(data), "--header", "no", "--json", "-q", "-o", path(model), *options,
                   launcher=[*launcher, HAWSER] if launcher else ())
    return json.loads(text.splitlines()[-1])


def write(name, lines):
    with open(path(name), "w") as file:
        for line in lines:
            print(line if isinstance(line, str) else repr(line), file=file)


def write_problem(p, exposure=False):
    """Returns the options that describe a problem."""
    write("data.csv", [",".join(map(repr, [y] + row)) for y, row in zip(p.counts, p.rows)])
    options = ["--lambda", repr(p.lam), "--l1-ratio", repr(p.ratio)]
    if any(p.offset):
        write("offset", [repr(math.exp(o)) if exposure else repr(o) for o in p.offset])
        options += ["--exposure" if exposure else "--offset", path("offset")]
    for key, values, usual in (("weights", p.weights, 1.0), ("penalty-factors", p.factor, 1.0), ("lower", p.lower, -math.inf),
                               ("upper", p.upper, math.inf)):
        if any(v != usual for v in values):
            write(key, ["-inf" if v == -math.inf else "inf" if v == math.inf else v for v in values])
            options += ["--" + key, path(key)]
    return options + ([] if p.intercept else ["--no-intercept"]) + (["--standardize"] if p.standardize else [])


def coefficients(p, model="model"):
    w, b = read_model(path(model))
    return [w.get(j, 0.0) for j in range(p.p)], b


def draw(seed):
    chance = random.Random(seed)
    n, p = chance.choice((12, 25, 40)), chance.choice((1, 3, 6))
    kind = chance.choice(("small", "large", "rare", "shares"))
    scales = [10 ** chance.uniform(-2, 2) for _ in range(p)] if chance.random() < 0.5 else [1.0] * p
    rows = [[s * (chance.gauss(0.3, 1) if chance.random() < 0.7 else 0.0) for s in scales] for _ in range(n)]
    truth = [chance.gauss(0, 0.5) / s for s in scales]
    offset = [chance.gauss(0, 1) for _ in range(n)] if chance.random() < 0.5 else None
    level = {"small": 0.5, "large": 9.0, "rare": -2.5, "shares": -0.5}[kind]
    means = [math.exp(min(level + (offset[i] if offset else 0.0) + math.fsum(x * t for x, t in zip(rows[i], truth)), 14)) for i in range(n)]
    y = [chance.choice((0.0, m * chance.uniform(0.5, 1.5))) if kind == "shares" else counts.draw_count(chance, m) for m in means]
    y[0] = y[0] or 1.0
    weights = [0.0 if i > 1 and chance.random() < 0.15 else chance.uniform(0.2, 3) for i in range(n)] if chance.random() < 0.5 else None
    factor = [chance.choice((1.0, 0.5, 3.0)) for _ in range(p)] if chance.random() < 0.4 else None
    bounded = chance.random() < 0.3
    lower = [chance.choice((-math.inf, 0.0, -0.1)) for _ in range(p)] if bounded else None
    upper = [chance.choice((math.inf, 0.2)) for _ in range(p)] if bounded else None
    size = math.fsum(y) / n * max(scales)
    return counts.Problem(rows, y, offset, weights, size * 10 ** chance.uniform(-3, -0.7), chance.choice((1.0, 1.0, 0.5, 0.0)), factor, lower,
                          upper, intercept=chance.random() < 0.7 or offset is not None, standardize=chance.random() < 0.3)


def bound_holds():
    for seed in some(range(1, 41), 3):
        p = draw(seed)
        zero = p.zero()
        options = write_problem(p, exposure=seed % 2 == 0)
        w, b, best = counts.solve(p)
        for tolerance, workers in ((1e-2, 1), (1e-9, 1 + seed % 3)):
            printed = train(*options, "--tol", repr(tolerance), "--workers", str(workers))
            found, intercept = coefficients(p)
            say = (seed, tolerance, workers, options, printed["objective"], printed["gap"], best, zero)
            value = p.objective(found, intercept)
            assert abs(printed["objective"] - value) <= 1e-11 * (zero + value), (say, value)
            assert 0 <= printed["gap"] and printed["objective"] - printed["gap"] <= best * (1 + 1e-12) + 1e-14 * zero, say
            assert printed["stop_reason"] == "gap" and printed["gap"] <= tolerance * zero * (1 + 1e-9), say
            assert all(lo <= v <= up for lo, v, up in zip(p.lower, found, p.upper)), say
            assert abs(printed["deviance_ratio"] - (1 - p.loss(p.margins(found, intercept)) / zero)) < 1e-9, say
        assert value <= best + 1e-8 * zero, say
        if p.lower == [-math.inf] * p.p and p.upper == [math.inf] * p.p:
            own = counts.gap(p, found, intercept)
            assert -1e-10 * (zero + best) <= own <= 1.01 * printed["gap"] + 1e-9 * zero, (say, own)


def large_problem():
    chance = random.Random(8)
    n, p = 150, 200
    rows = [[chance.gauss(0.2, 1) if chance.random() < 0.2 else 0.0 for _ in range(p)] for _ in range(n)]
    y = [counts.draw_count(chance, math.exp(0.5 + 0.4 * math.fsum(row[:5]) - 0.4 * math.fsum(row[5:9]))) for row in rows]
    return counts.Problem(rows, y, lam=0.05)


def one_optimum():
    """Any number of workers under any sync, dense and sparse: one objective, as the saved model has it."""
    p = large_problem()
    write_problem(p)
    command("data", "convert", path("data.csv"), "--header", "no", "-o", path("data.svm"))
    for ratio in ("1", "0.5", "0"):
        seen = []
        for workers, sync in some([(w, s) for w in (1, 2, 5) for s in ("bsp", "ssp:2", "tap")], 3):
            for data in ("data.csv", "data.svm"):
                seen.append(train("--lambda", "0.05", "--l1-ratio", ratio, "--workers", str(workers), "--sync", sync, "--tol", "1e-8",
                                  *(["--index-base", "1"] if data == "data.svm" else []), data=data))
        for options in (["--merge", "average"], ["--filter", "absolute", "--quota", "500"], ["--encoding", "bf16"],
                        ["--exchange-every", "0.3"], ["--certify-every", "3"], ["--sigma", "5"]):
            seen.append(train("--lambda", "0.05", "--l1-ratio", ratio, "--workers", "2", "--tol", "1e-8", *options))
        values = [one["objective"] for one in seen]
        assert all(one["stop_reason"] == "gap" for one in seen), seen
        assert max(values) - min(values) <= 1e-7 * values[0], values
        p.ratio = float(ratio)
        value = p.objective(*coefficients(p))
        assert abs(value - values[-1]) <= 1e-11 * value, (value, values[-1])


def same_bits():
    """Threads and nodes change nothing in a model but the options that it records."""
    for options in (["--lambda-ratio", "0.1"], ["--path", "6", "--cv", "3", "--l1-ratio", "0.7"]):
        models = []
        for threads in ("1", "2", "3", "4"):
            train("--workers", "4", "--threads", threads, *options)
            models.append(read_model(path("model")))
        for nodes in ("2", "3"):
            train("--workers", "4", *options, launcher=("run", "-n", nodes, "--"))
            models.append(read_model(path("model")))
        assert all(model == models[0] for model in models), options


def together():
    """Working sets so large that the blocks share their cost: they do, with the same bits, at the optimum that one block finds."""
    command("data", "generate", "url", "--rows", "8000", "--cols", "12000", "--seed", "5", "-o", path("url.svm"))
    with open(path("url.svm")) as file:
        rows = [line.split(" ", 1) for line in file]
    size = math.sqrt(math.fsum(float(y) ** 2 for y, _ in rows) / len(rows))
    write("counts.svm", ["%d %s" % (math.exp(min(float(y) / size, 4)), rest.strip()) for y, rest in rows])
    words, found, models = ["--index-base", "1", "--lambda-ratio", "0.01", "--tol", "1e-6"], [], []
    for more, launcher in ((["--workers", "3", "--threads", "1"], ()), (["--workers", "3", "--threads", "3"], ()),
                           (["--workers", "3"], ("run", "-n", "2", "--")), (["--workers", "1"], ())):
        text = command("train", "poisson", path("counts.svm"), *words, *more, "--json", "-q", "-o", path("model"),
                       launcher=[*launcher, HAWSER] if launcher else ())
        found.append(json.loads(text.splitlines()[-1]))
        models.append(read_model(path("model")))
    assert all(sum(flow["messages"] for flow in one["flows"] if flow.get("kind") == "share") > 40 for one in found[:2]), found[0]["flows"]
    assert models[0] == models[1] == models[2]
    assert all(one["stop_reason"] == "gap" for one in found)
    assert abs(found[0]["objective"] - found[3]["objective"]) <= max(found[0]["gap"], found[3]["gap"]), found


def tried(seed, words):
    done = subprocess.run([HAWSER, *words], capture_output=True, text=True, env=CLEAN, timeout=300)
    assert done.returncode == 0 or "stopped making progress" in done.stderr, (seed, words, done.stderr)
    return done.returncode, json.loads(done.stdout.splitlines()[-1])


def lambda_max_is_where_columns_enter():
    """Of sparse columns, some without a penalty, which may fit rows without a count as well as they like."""
    left = 0
    for seed in some(range(60), 8):
        chance = random.Random(seed)
        free = chance.randint(1, 15)
        rows = [[chance.choice((0.0, 0.0, 0.0, 0.0, chance.gauss(0, 1))) for _ in range(60)] for _ in range(30)]
        labels = [float(chance.random() < 0.4) for _ in rows]
        factor = [0.0] * free + [chance.choice((0.5, 1.0, 2.0)) for _ in range(60 - free)]
        write("penalty-factors", factor)
        bounds = []
        if seed % 3 == 0:  # of the columns without a penalty: others could not enter below lambda_max
            write("lower", [chance.choice((-0.1, 0.0)) if f == 0 else "-inf" for f in factor])
            write("upper", [chance.choice((0.3, 1.0)) if f == 0 else "inf" for f in factor])
            bounds = ["--lower", path("lower"), "--upper", path("upper")]
        for algorithm in "poisson", "logistic":
            write("data.csv", [",".join(map(repr, [y] + row)) for y, row in zip(labels, rows)])
            for share, enters in ((1.001, False), (0.95, True)):
                words = ["train", algorithm, path("data.csv"), "--header", "no", "-q", "--json", "--penalty-factors", path("penalty-factors"),
                         "--lambda-ratio", repr(share), "--workers", chance.choice("123"), "-o", path("model"), "--time-limit", "20", *bounds,
                         *chance.choice(([], ["--no-intercept"])), *chance.choice(([], ["--standardize"]))]
                code, printed = tried(seed, words)
                some_in = any(factor[j] > 0 for j in read_model(path("model"))[0])
                if printed["lambda_max"] < 1e-9:
                    words = [{"--lambda-ratio": "--lambda", repr(share): "1000"}.get(word, word) for word in words]
                    assert tried(seed, words)[1]["objective"] < 1e-4, (seed, words, "lambda_max is 0, but these columns do not fit all rows")
                if code != 0 or printed["lambda_max"] < 1e-9:  # these columns separate rows, or fit all of them
                    left += 1
                    continue
                assert some_in == enters, (seed, words, printed["lambda_max"], printed["gap"])
    assert left <= len(some(range(60), 8)), left  # of four trainings each


def check_quantiles(found, errors):
    """The quantiles of errors are those of numpy's averaged_inverted_cdf."""
    def at(values, quantile):
        values, place = sorted(values), quantile * len(values)
        near = round(place)
        if abs(place - near) > 1e-9:
            return values[math.ceil(place) - 1]
        return (values[max(near - 1, 0)] + values[min(near, len(values) - 1)]) / 2 if near > 0 else values[0]

    assert [line["quantile"] for line in found["quantiles"]] == [0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1]
    absolute = [abs(e) for e in errors]
    wanted = [(line[key], at(values, line["quantile"])) for line in found["quantiles"] for key, values in
              (("error", errors), ("absolute_error", absolute))]
    wanted += [(found["median_absolute_error"], at(absolute, 0.5)), (found["max_error"], max(absolute))]
    for value, expected in wanted:
        assert abs(value - expected) <= 1e-9 * (1 + abs(expected)), (value, expected, found)


def scored():
    """predict gives means, evaluate the formulas, and --validation the mean deviance of its rows."""
    p = draw(3)
    p.offset = [0.1 * i for i in range(p.n)]
    options = write_problem(p, exposure=True)
    p.intercept = True
    options = [word for word in options if word != "--no-intercept"]
    train(*options)
    w, b = coefficients(p)
    means = [float(line) for line in command("predict", path("model"), path("data.csv"), "--header", "no", "--exposure", path("offset")).split()]
    for m, mean in zip(p.margins(w, b), means):
        assert abs(mean - math.exp(m)) <= 1e-12 * mean, (m, mean)
    text = command("evaluate", path("model"), path("data.csv"), "--header", "no", "--exposure", path("offset"), "--json")
    found = json.loads(text.splitlines()[-1])
    deviance = 2 * math.fsum(counts.half_deviance(y, m) for y, m in zip(p.counts, p.margins(w, b))) / p.n
    average = math.log(math.fsum(p.counts) / p.n)
    none = 2 * math.fsum(counts.half_deviance(y, average) for y in p.counts) / p.n
    errors = [y - mean for y, mean in zip(p.counts, means)]
    for key, value in (("mean_deviance", deviance), ("d2", 1 - deviance / none), ("mae", math.fsum(map(abs, errors)) / p.n),
                       ("rmse", math.sqrt(math.fsum(e * e for e in errors) / p.n)),
                       ("objective", deviance / 2 + p.penalty(w))):
        assert abs(found[key] - value) <= 1e-9 * (1 + abs(value)), (key, found, value)
    check_quantiles(found, errors)
    p = large_problem()
    write_problem(p)
    half = p.n // 2
    write("first.csv", [",".join(map(repr, [y] + row)) for y, row in list(zip(p.counts, p.rows))[:half]])
    write("second.csv", [",".join(map(repr, [y] + row)) for y, row in list(zip(p.counts, p.rows))[half:]])
    printed = train("--lambda", "0.2", "--validation", path("second.csv"), data="first.csv")
    margins = p.margins(*coefficients(p))[half:]
    deviance = 2 * math.fsum(counts.half_deviance(y, m) for y, m in zip(p.counts[half:], margins)) / (p.n - half)
    assert abs(printed["validation_deviance"] - deviance) < 1e-9, (printed, deviance)
    try:
        from sklearn.metrics import mean_poisson_deviance
    except ImportError:
        return
    assert abs(mean_poisson_deviance(p.counts[half:], [math.exp(m) for m in margins]) - deviance) < 1e-9


def compare(peer, p, w, b):
    printed = train(*write_problem(p), "--tol", "1e-10")
    other, value = p.objective(w, b), p.objective(*coefficients(p))
    print("%s: %.14g, here %.14g" % (peer, other, value), flush=True)
    assert value - printed["gap"] <= other and other - value <= 1e-6 * value, (peer, other, value, printed)


def with_scikit_learn():
    try:
        from sklearn.linear_model import PoissonRegressor
    except ImportError:
        print("scikit-learn is not installed: not compared")
        return
    for seed in (5, 9, 11):
        p = draw(seed)
        p.factor, p.lower, p.upper, p.ratio = [1.0] * p.p, [-math.inf] * p.p, [math.inf] * p.p, 0.0
        p.offset, p.lam, p.standardize = [0.0] * p.n, 0.3, False
        p.rows = [[x / max(1e-300, max(abs(r[j]) for r in p.rows)) for j, x in enumerate(row)] for row in p.rows]
        fit = PoissonRegressor(alpha=p.lam, fit_intercept=p.intercept, solver="newton-cholesky", tol=1e-10, max_iter=10000)
        fit.fit(p.rows, p.counts, sample_weight=p.weights)
        compare("scikit-learn", p, fit.coef_.tolist(), float(fit.intercept_))


SCRIPT = """
suppressMessages(library(glmnet))
a <- commandArgs(TRUE)
d <- as.matrix(read.csv(a[1], header = FALSE)); p <- as.numeric(a[3:6])
rows <- read.csv(a[2])
fit <- glmnet(d[, -1], d[, 1], family = "poisson", weights = rows$weight, offset = rows$offset, alpha = p[2], lambda = p[1],
              standardize = p[4] > 0, intercept = p[3] > 0, thresh = 1e-14, maxit = 1e7)
cat(sprintf("%.17g\\n", c(as.numeric(fit$a0), as.vector(fit$beta), fit$dev.ratio)), sep = "")
"""


def with_glmnet():
    write("fit.R", [SCRIPT])
    for p in [p for p in map(draw, range(100, 140)) if p.p > 1 and p.intercept and max(p.counts) < 100][:3]:  # it needs two columns
        p.factor, p.lower, p.upper = [1.0] * p.p, [-math.inf] * p.p, [math.inf] * p.p
        write_problem(p)
        write("rows.csv", ["weight,offset"] + ["%r,%r" % pair for pair in zip(p.weights, p.offset)])
        try:
            out = subprocess.run(["Rscript", path("fit.R"), path("data.csv"), path("rows.csv"), repr(p.lam), repr(p.ratio),
                                  str(int(p.intercept)), str(int(p.standardize))], capture_output=True, text=True, timeout=120)
        except FileNotFoundError:
            print("R is not installed: not compared")
            return
        if out.returncode != 0:
            print("R has no glmnet: not compared (%s)" % out.stderr.strip()[-200:])
            return
        numbers = [float(word) for word in out.stdout.split()]
        compare("glmnet", p, numbers[1:-1], numbers[0])
        printed = train(*write_problem(p), "--tol", "1e-10")
        assert abs(printed["deviance_ratio"] - numbers[-1]) < 1e-6, (printed["deviance_ratio"], numbers[-1])


def main():
    if not os.path.exists(HAWSER):
        print("skipped: no", HAWSER)
        return 77
    bound_holds()
    one_optimum()
    same_bits()
    together()
    lambda_max_is_where_columns_enter()
    scored()
    with_scikit_learn()
    with_glmnet()
    return 0


if __name__ == "__main__":
    sys.exit(main())
