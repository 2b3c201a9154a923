"""Objective and duality gap of a lasso or a logistic regression, from a model file and the text of the data; shares nothing with Hawser but
the formula."""
import array
import functools
import json
import math
import struct


def read_tensors(path):
    """The tensors of a model file: (shape, values) by name."""
    with open(path, "rb") as file:
        length = struct.unpack("<Q", file.read(8))[0]
        header = json.loads(file.read(length))
        body = file.read()
    facts, tensors = header.pop("__metadata__"), {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            tensors[name] = entry["shape"], array.array({"F64": "d", "I64": "q", "I32": "i"}[entry["dtype"]], body[begin:end])
    return tensors


def read_model(path):
    """The nonzero coefficients by column, and the intercept."""
    tensors = {name: values for name, (_, values) in read_tensors(path).items()}
    if "coefficients" in tensors:
        return {j: w for j, w in enumerate(tensors["coefficients"]) if w}, tensors["intercept"][0]
    return dict(zip(tensors["coefficients.index"], tensors["coefficients.value"])), tensors["intercept"][0]


def read_path(path):
    """The lambdas of a path: (lambda, coefficients, intercept) each."""
    t = {name: values for name, (_, values) in read_tensors(path).items()}
    bounds = list(zip(t["path.offsets"], t["path.offsets"][1:]))
    return [(lam, dict(zip(t["path.index"][a:b], t["path.value"][a:b])), intercept)
            for lam, intercept, (a, b) in zip(t["path.lambda"], t["path.intercept"], bounds)]


@functools.lru_cache(2)
def read_svmlight(text):
    """The target, and pairs (row, value) by column. A text is read once for many trainings, so no caller may change them."""
    target, columns = [], {}
    for i, line in enumerate(text.splitlines()):
        words = line.split()
        target.append(float(words[0]))
        for word in words[1:]:
            j, x = word.split(":")
            columns.setdefault(int(j) - 1, []).append((i, float(x)))
    return target, columns


def certify(target, columns, w, b, lam, ratio, intercept):
    """Objective, duality gap at the model's own residual, objective at zero. The gap is Hawser's only in being a gap."""
    n = len(target)
    mean = math.fsum(target) / n if intercept else 0.0
    r = [y - b for y in target]
    for j, value in w.items():
        for i, x in columns[j]:
            r[i] -= value * x
    penalty = lam * math.fsum(ratio * abs(v) + (1 - ratio) / 2 * v * v for v in w.values())
    primal = math.fsum(v * v for v in r) / (2 * n) + penalty
    if intercept:
        assert abs(math.fsum(r)) <= 1e-9 * n * (1 + abs(b))
    total = math.fsum(r)
    dots = {j: (math.fsum([r[i] * x for i, x in column]) -
                (math.fsum([x for _, x in column]) * total / n if intercept else 0.0)) / n for j, column in columns.items()}
    centred = [y - mean for y in target]
    square, cross = math.fsum(v * v for v in r) / n, math.fsum(u * v for u, v in zip(r, centred)) / n
    curved = lam * (1 - ratio) * math.fsum(v * v for v in w.values())
    best = cross / (square + curved) if square + curved > 0 else 1.0
    if ratio < 1:  # every multiple of the residual is feasible
        slopes = [abs(g - lam * (1 - ratio) * w.get(j, 0.0)) / (lam * ratio) for j, g in dots.items()] if ratio > 0 else [1.0]
        dual = max(s * cross - s * s * square / 2 - math.fsum(max(0.0, abs(s * g) - lam * ratio) ** 2 for g in dots.values()) /
                   (2 * lam * (1 - ratio)) for s in (1.0, best, min(best, 1 / max(max(slopes), 1e-300))))
    else:
        scale = min(best, lam / max(abs(g) for g in dots.values()))
        dual = scale * cross - scale * scale * square / 2
    return primal, primal - dual, math.fsum(v * v for v in centred) / (2 * n)


def check_printed(name, options, printed, w, found, tolerance):
    """What a training printed of itself against (objective, gap, objective at zero) of its saved model; returns words for messages."""
    objective, gap, zero = found
    say = "%s %s: objective %.12g (%.12g), gap %.3g (%.3g)" % (name, " ".join(options), printed["objective"], objective,
                                                              printed["gap"], gap)
    print(say, flush=True)
    assert printed["stop_reason"] == "gap", say
    assert abs(printed["objective"] - objective) <= 1e-10 * zero, say
    assert len(w) == printed["nonzeros"], say
    assert 0 <= printed["gap"] <= tolerance * zero * 1.000001, say
    return say


def log_loss(margin):
    return math.log1p(math.exp(-margin)) if margin >= 0 else -margin + math.log1p(math.exp(margin))


def surprise(share):
    return -share * math.log(share) if share > 0 else 0.0


def certify_logistic(target, columns, w, b, lam, ratio, intercept):
    """The same for mean log loss + penalty: the higher label of two is +1. Residuals of the heavier class are scaled down to balance the
    intercept, then all of them to respect the L1 part."""
    n, high = len(target), max(target)
    sign = [1.0 if y == high else -1.0 for y in target]
    margin = [b] * n
    for j, value in w.items():
        for i, x in columns[j]:
            margin[i] += value * x
    penalty = lam * math.fsum(ratio * abs(v) + (1 - ratio) / 2 * v * v for v in w.values())
    primal = math.fsum(log_loss(s * m) for s, m in zip(sign, margin)) / n + penalty
    theta = [math.exp(-log_loss(-s * m)) for s, m in zip(sign, margin)]
    if intercept:
        side = {s: math.fsum(t for t, other in zip(theta, sign) if other == s) for s in (1.0, -1.0)}
        assert abs(side[1.0] - side[-1.0]) <= 1e-7 * n, "the intercept is not the best one"
        theta = [t * min(side.values()) / side[s] for t, s in zip(theta, sign)]
    signed = [t * s for t, s in zip(theta, sign)]
    pull = {j: math.fsum([signed[i] * x for i, x in column]) / n for j, column in columns.items()}

    def dual(scale):
        excess = [max(0.0, abs(scale * g) - lam * ratio) for g in pull.values()] if ratio < 1 else []
        conjugate = math.fsum(e * e for e in excess) / (2 * lam * (1 - ratio)) if ratio < 1 else 0.0
        return math.fsum(surprise(scale * t) + surprise(1 - scale * t) for t in theta) / n - conjugate

    slopes = [abs(g - lam * (1 - ratio) * w.get(j, 0.0)) for j, g in pull.items()]
    feasible = min(1.0, lam * ratio / max(max(slopes), 1e-300))
    best = max(dual(feasible), dual(1.0)) if ratio < 1 else dual(feasible)
    share = sum(s > 0 for s in sign) / n
    return primal, primal - best, surprise(share) + surprise(1 - share) if intercept else math.log(2)
