"""Trainings with working sets so large that three blocks share them."""
import json

from certificate import read_model, read_svmlight
from command import run, some


def train(nodes, algorithm, data, model, *words, workers=3):
    start = () if nodes == 1 else ("run", "-n", str(nodes), "--")
    return json.loads(run(*start, "train", algorithm, data, "--index-base", "1", "--json", "--quiet", "-o", model, "--workers",
                          str(workers), *words).splitlines()[-1])


def check(certify, algorithm, kind, data, model, words, tolerance, ratio, intercept):
    """Sums travel, the model's bits depend neither on threads nor on processes, it is the optimum as `certify` says; and stopped in the
    middle, what is printed is true."""
    words += ("--tol", str(tolerance)) + (() if intercept else ("--no-intercept",))
    with open(data) as file:
        target, matrix = read_svmlight(file.read())
    first = None
    for nodes, threads in some(((1, "3"), (1, "1"), (2, "1")), 2):
        done = train(nodes, algorithm, data, model, *words, *(("--threads", threads) if nodes == 1 else ()))
        sums = [flow for flow in done["flows"] if flow.get("kind") == "share"]
        assert done["repeatable"] and sums and sums[0]["messages"] > 40, (kind, nodes, threads, sums)
        found = read_model(model)
        first = first or found
        assert found == first, (kind, "other bits", nodes, threads)
    w, b = first
    objective, gap, zero = certify(target, matrix, w, b, done["lambda"], ratio, intercept)
    print("%s: %d weights, %d clocks, objective %.12g, gap %.3g of %.3g" % (kind, len(w), done["clocks"], objective, gap, zero))
    assert done["stop_reason"] == "gap" and abs(done["objective"] - objective) <= 1e-10 * zero, done["objective"]
    assert 0 <= gap <= 1.001 * tolerance * zero, gap
    cut = train(1, algorithm, data, model, *words, "--max-clocks", str(done["clocks"] // 2))
    objective, gap, _ = certify(target, matrix, *read_model(model), cut["lambda"], ratio, intercept)
    assert cut["stop_reason"] == "clocks" and abs(cut["objective"] - objective) <= 1e-10 * zero, (cut["objective"], objective)
    assert objective > done["objective"]


def check_many(certify, kind, data, model, words, tolerance):
    """With many blocks one of them solves a lasso's set on the residual: their sums, which gather the working sets too, are a few times those of three
    blocks that share each product, and not 19 / 2 times. The model is still the optimum with bits that depend neither on threads nor on processes."""
    words += ("--tol", str(tolerance), "--no-intercept")
    few, many, first = train(1, "lasso", data, model, *words), {}, None
    for nodes in (1, 2):
        many = train(nodes, "lasso", data, model, *words, workers=20)
        found = read_model(model)
        first = first or found
        assert many["repeatable"] and found == first, (kind, "other bits", nodes)
    with open(data) as file:
        target, matrix = read_svmlight(file.read())
    objective, gap, zero = certify(target, matrix, *first, many["lambda"], 1.0, False)
    assert abs(many["objective"] - objective) <= 1e-10 * zero and 0 <= gap <= 1.001 * tolerance * zero, (objective, gap)
    sent = [sum(flow["bytes_sent"] for flow in done["flows"] if flow.get("kind") == "share") for done in (few, many)]
    print("%s: sums of 3 and 20 blocks: %d and %d bytes" % (kind, *sent))
    assert 0 < sent[1] < 3 * sent[0], sent
