"""Objective and duality gap of a lasso, from a model file and the text of the data; shares nothing with Hawser but the formula."""
import json
import math
import struct


def read_model(path):
    with open(path, "rb") as file:
        length = struct.unpack("<Q", file.read(8))[0]
        header = json.loads(file.read(length))
        body = file.read()
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            tensors[name] = struct.unpack("<%d%s" % ((end - begin) // 8, {"F64": "d", "I64": "q"}[entry["dtype"]]), body[begin:end])
    if "coefficients" in tensors:
        return {j: w for j, w in enumerate(tensors["coefficients"]) if w}, tensors["intercept"][0]
    return dict(zip(tensors["coefficients.index"], tensors["coefficients.value"])), tensors["intercept"][0]


def read_svmlight(text):
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
    dots = {j: (math.fsum(r[i] * x for i, x in column) -
                (math.fsum(x for _, x in column) * total / n if intercept else 0.0)) / n for j, column in columns.items()}
    centred = [y - mean for y in target]
    square, cross = math.fsum(v * v for v in r) / n, math.fsum(u * v for u, v in zip(r, centred)) / n
    if ratio < 1:
        dual = cross - square / 2 - math.fsum(max(0.0, abs(g) - lam * ratio) ** 2 for g in dots.values()) / (2 * lam * (1 - ratio))
    else:
        scale = min(1.0, lam / max(abs(g) for g in dots.values()))
        dual = scale * cross - scale * scale * square / 2
    return primal, primal - dual, math.fsum(v * v for v in centred) / (2 * n)
