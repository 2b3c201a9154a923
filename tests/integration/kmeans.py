#!/usr/bin/env python3
"""k-means (train kmeans): Lloyd's result from given centres against a plain loop, and against scikit-learn where it is installed; the same bits on
threads and nodes; what is predicted and measured; what is refused."""
import json
import math
import os
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["HAWSER_SOURCE"], "tests", "helpers"))
import certificate
import command


def distance(x, c):
    return math.fsum((a - b) ** 2 for a, b in zip(x, c))


class Problem:
    """Rows around some points, with repeated rows, weights of zero and a label."""

    def __init__(self, seed, rows, columns, clusters, density=1.0, decimals=2):
        draw = random.Random(seed)
        self.columns, self.clusters = columns, clusters
        points = [[draw.gauss(0, 3) for _ in range(columns)] for _ in range(clusters)]
        self.label = [draw.randrange(clusters) for _ in range(rows)]
        self.X = [[round(p + draw.gauss(0, 1), decimals) if draw.random() < density else 0.0 for p in points[k]]
                  for k in self.label]
        for i in range(0, rows // 5, 2):
            self.X[i + 1] = list(self.X[i])
        self.weights = [draw.choice((0.0, 0.5, 1.0, 2.0)) for _ in range(rows)]
        self.start = [self.X[i] for i in draw.sample(range(rows), clusters)]

    def write(self):
        with open("d.csv", "w") as file:
            file.write(",".join([f"x{j}" for j in range(self.columns)] + ["label", "weight"]) + "\n")
            file.writelines(",".join(map(str, x + [f"w{l}", w])) + "\n" for x, l, w in zip(self.X, self.label, self.weights))
        with open("c.csv", "w") as file:
            file.write(",".join(f"x{j}" for j in range(self.columns)) + "\n")
            file.writelines(",".join(map(repr, c)) + "\n" for c in self.start)
        for path, rows in (("d.svm", self.X), ("c.svm", self.start)):
            with open(path, "w") as file:
                file.writelines(" ".join(["0"] + [f"{j + 1}:{v!r}" for j, v in enumerate(x) if v]) + "\n" for x in rows)
        with open("weights", "w") as file:
            file.writelines(f"{w}\n" for w in self.weights)

    def lloyd(self, weights, tolerance=0.0, most=300):
        """Plain Lloyd's iterations, with empty clusters filled by the farthest rows. Returns centres, labels, inertia and iterations."""
        centres, before = [list(c) for c in self.start], None
        for step in range(1, most + 1):
            far = [min((distance(x, c), k) for k, c in enumerate(centres)) for x in self.X]
            labels = [k for _, k in far]
            sums = [[0.0] * self.columns for _ in centres]
            total = [0.0] * len(centres)
            for x, k, w in zip(self.X, labels, weights):
                total[k] += w
                for j, v in enumerate(x):
                    sums[k][j] += w * v
            empty = [k for k, w in enumerate(total) if w == 0.0]
            order = sorted((i for i in range(len(self.X)) if weights[i] > 0 and far[i][0] > 0), key=lambda i: (-far[i][0], i))
            for k, i in zip(empty, order):
                total[labels[i]] -= weights[i]
                sums[labels[i]] = [s - weights[i] * v for s, v in zip(sums[labels[i]], self.X[i])]
                total[k], sums[k] = weights[i], [weights[i] * v for v in self.X[i]]
            old = centres
            centres = [[s / w for s in line] if w > 0 else c for line, w, c in zip(sums, total, old)]
            if labels == before or centres == old:  # only rows of weight 0 have moved
                break
            before = labels
        nearest = [min((distance(x, c), k) for k, c in enumerate(centres)) for x in self.X]
        inertia = math.fsum(w * d for w, (d, _) in zip(weights, nearest))
        return centres, [k for _, k in nearest], inertia, step


def train(*words):
    out = command.run("train", "kmeans", *words, "--json", "-q", "-o", "m")
    shape, values = certificate.read_tensors("m")["centres"]
    return json.loads(out.splitlines()[-1]), [list(values[k * shape[1]:(k + 1) * shape[1]]) for k in range(shape[0])]


def near(a, b, relative=1e-12):
    return abs(a - b) <= relative * max(abs(a), abs(b), 1e-300)


def check_lloyd():
    for seed, density, rows in command.some([(1, 1.0, 90), (2, 0.3, 90), (3, 1.0, 300), (4, 0.3, 40)], of=2):
        problem = Problem(seed, rows, 4, 5, density)
        if seed > 2:
            problem.start[1] = [1e3] * 4  # no row is near, so the cluster is empty at first
            problem.start[2] = list(problem.start[0])
        problem.write()
        for weighted in (False, True):
            weights = problem.weights if weighted else [1.0] * rows
            centres, labels, inertia, steps = problem.lloyd(weights)
            for source in (["d.csv", "--centres", "c.csv", "--target", "label", "--ignore", "" if weighted else "weight",
                            "--weights", "weight" if weighted else "none"],
                           ["d.svm", "--centres", "c.svm", "--index-base", "1"] + (["--weights", "weights"] if weighted else [])):
                source = [w for k, w in enumerate(source) if w and not (w == "--ignore" and not source[k + 1])]
                result, found = train(*source, "--tol", "0", "--workers", "3")
                assert near(result["inertia"], inertia), (seed, source, result["inertia"], inertia)
                assert result["iterations"] == steps, (seed, result["iterations"], steps)
                assert all(abs(a - b) <= 1e-11 * (1 + abs(b)) for c, d in zip(found, centres) for a, b in zip(c, d)), seed
                predicted = command.run("predict", "m", source[0], "-q").split()
                assert predicted == [str(k) for k in labels], (seed, source)


def check_bounds():
    """Dense rows that are wide enough for bounds, without clusters, so that few rows move in many iterations: bounds begin after some of them."""
    problem, draw = Problem(7, 400, 64, 24), random.Random(7)
    problem.X = [[round(draw.random(), 4) for _ in range(64)] for _ in range(400)]
    problem.start = problem.X[:24]
    problem.write()
    centres, labels, inertia, steps = problem.lloyd([1.0] * 400)
    assert steps > 9, steps
    result, found = train("d.csv", "--centres", "c.csv", "--target", "label", "--ignore", "weight", "--tol", "0", "--workers", "2")
    assert near(result["inertia"], inertia) and result["iterations"] == steps, (result, inertia, steps)
    assert all(abs(a - b) <= 1e-12 for c, d in zip(found, centres) for a, b in zip(c, d))
    assert command.run("predict", "m", "d.csv", "-q").split() == [str(k) for k in labels]


def bits(*words, nodes=1):
    start = (command.HAWSER, "run", "-n", str(nodes), "--", command.HAWSER) if nodes > 1 else (command.HAWSER,)
    out = subprocess.run(start + ("train", "kmeans") + words + ("--json", "-q", "-o", "m"), capture_output=True, text=True,
                         env=command.CLEAN, timeout=300)
    assert out.returncode == 0, (words, out.stderr)
    return [certificate.read_tensors("m")[k] for k in ("centres", "sizes")], json.loads(out.stdout.splitlines()[-1])["inertia"]


def check_bits():
    problem = Problem(11, 240, 5, 6, 0.5)
    problem.write()
    dense, sparse = ("d.csv", "--target", "label", "--weights", "weight"), ("d.svm", "--weights", "weights")
    cases = [dense + ("--init-method", "kmeans++", "--starts", "2"), sparse + ("--init-method", "parallel"),
             dense + ("--init-method", "random", "--arithmetic", "f32", "--type", "f32"), sparse + ("--batch", "30", "--epochs", "3"),
             sparse + ("--centres", "c.svm", "--index-base", "1", "--arithmetic", "f32")]
    for k, case in enumerate(command.some(cases, of=2)):
        case += ("--workers", "4") + (() if "--centres" in case else ("--clusters", "6"))
        one = bits(*case, "--threads", "1")
        assert one == bits(*case, "--threads", "4"), case
        assert one == bits(*case, nodes=2 + k % 2), case


def check_edges():
    with open("one.csv", "w") as file:
        file.write("a,b\n1,2\n")
    result, centres = train("one.csv", "--clusters", "1")
    assert result["inertia"] == 0.0 and centres == [[1.0, 2.0]]
    with open("same.csv", "w") as file:
        file.write("a,b\n" + "1,2\n" * 9 + "4,6\n" * 3)
    result, centres = train("same.csv", "--clusters", "2", "--workers", "4")
    assert result["inertia"] == 0.0 and sorted(centres) == [[1.0, 2.0], [4.0, 6.0]], centres
    result, _ = train("same.csv", "--clusters", "2", "--max-clocks", "1", "--tol", "0")  # ends early
    assert result["stop_reason"] == "clocks" and math.isfinite(result["inertia"]), result
    result, centres = train("same.csv", "--clusters", "4")  # more clusters than different rows
    assert result["inertia"] == 0.0 and {tuple(c) for c in centres} == {(1.0, 2.0), (4.0, 6.0)}
    result, centres = train("same.csv", "--clusters", "1", "--batch", "4", "--epochs", "2")
    assert abs(result["inertia"] - 9 * 25 * 3 / 12) < 10


def check_starts():
    """The result of a later start is a fixed point, too: its centres are the means of their rows."""
    for seed in command.some(range(12), of=4):
        draw = random.Random(seed)
        X = [[c * 3 + draw.gauss(0, 2), draw.gauss(0, 2)] for c in range(6) for _ in range(8)]
        with open("s.csv", "w") as file:
            file.write("a,b\n" + "".join(f"{a!r},{b!r}\n" for a, b in X))
        _, centres = train("s.csv", "--clusters", "6", "--tol", "0", "--init-method", "random", "--seed", str(seed), "--workers", "6",
                           "--starts", "2")
        labels = [min((distance(x, c), k) for k, c in enumerate(centres))[1] for x in X]
        for k, centre in enumerate(centres):
            rows = [x for x, label in zip(X, labels) if label == k]
            assert all(near(math.fsum(v) / len(rows), c, 1e-9) for v, c in zip(zip(*rows), centre)), (seed, k)


def check_float_refusals():
    """Numbers that have no float, or whose squares have none, are refused with one line that names them and the remedy."""
    for name, first in (("small.csv", 1), ("wide.csv", 1e30)):
        with open(name, "w") as file:
            file.write(f"{first},2\n3,4\n5,6\n7,8\n")
    for name, first, code, said in (("far.csv", -1e300, 3, "--centres: centre 0, column 0: -1e+300 is beyond float"),
                                    ("off.csv", 1e30, 7, "centre 0 is too far from 0 for squares in float")):
        with open(name, "w") as file:
            file.write(f"{first},2\n3,4\n")
        refused("train", "kmeans", "small.csv", "--arithmetic", "f32", "--centres", name, text=said, code=code)
        refused("train", "kmeans", "small.csv", "--arithmetic", "f32", "--centres", name, text="or use --arithmetic f64", code=code)
    command.run("train", "kmeans", "small.csv", "--centres", "off.csv", "-q", "-o", "m64")
    refused("train", "kmeans", "wide.csv", "--arithmetic", "f32", "--clusters", "2", text="row 1: its numbers are too large for squares in float",
            code=7)


def refused(*words, text, code=2):
    out = subprocess.run((command.HAWSER,) + words, capture_output=True, text=True, env=command.CLEAN, timeout=300)
    assert out.returncode == code and text in out.stderr, (words, out.returncode, out.stderr)


def check_refusals():
    Problem(5, 30, 3, 2).write()
    data = ("train", "kmeans", "d.csv", "--target", "label")
    refused(*data, "--clusters", "31", text="the data have only 30 rows")
    refused(*data, "--sync", "ssp:1", "--workers", "2", text="--sync ssp:1")
    refused(*data, "--sync", "dc:0", text="--sync dc:0")
    refused(*data, "--filter", "random", "--workers", "2", text="--filter")
    refused(*data, "--offset", "weight", text="--offset")
    refused(*data, "--epochs", "3", text="--epochs does nothing here")
    refused(*data, "--centres", "c.csv", text="c.csv has 3 columns, and the data have 4", code=3)
    refused(*data, "--ignore", "weight", "--centres", "c.csv", "--clusters", "3", text="--centres has 2 centres")
    refused(*data, "--lambda", "1", text="unknown option")
    check_float_refusals()
    with open("zero", "w") as file:
        file.write("0\n" * 29 + "1\n")
    refused(*data, "--ignore", "weight", "--weights", "zero", "--clusters", "2", text="only 1 rows have a weight", code=3)
    with open("nan.csv", "w") as file:
        file.write("a,b\n1,2\nnan,3\n")
    refused("train", "kmeans", "nan.csv", "--clusters", "1", text="nan.csv:3", code=3)
    command.run(*data, "--ignore", "weight", "--clusters", "2", "-q", "-o", "m")
    refused("predict", "m", "d.csv", "--link", text="no linear predictor")
    refused("info", "m", "--path", text="no path")
    refused("train", "lasso", "d.csv", "--init", "m", "--ignore", "label", text="", code=3)


def check_results():
    problem = Problem(7, 120, 3, 3)
    problem.write()
    command.run("train", "kmeans", "d.csv", "--target", "label", "--ignore", "weight", "--clusters", "3", "-q", "-o", "m",
                "--validation", "d.csv", "--trace", "t.csv", "--starts", "3")
    measures = json.loads(command.run("evaluate", "m", "d.csv", "--json"))
    predicted = [int(k) for k in command.run("predict", "m", "d.csv", "-q").split()]
    shape, values = certificate.read_tensors("m")["centres"]
    centres = [values[k * 3:k * 3 + 3] for k in range(3)]
    inertia = sum(distance(x, centres[k]) for x, k in zip(problem.X, predicted))
    assert near(measures["inertia"], inertia)
    pairs = [(a == b, c == d) for (a, c) in zip(predicted, problem.label) for (b, d) in zip(predicted, problem.label)]
    n, (both, one, other) = len(predicted), (sum(p and q for p, q in pairs), sum(p for p, _ in pairs), sum(q for _, q in pairs))
    both, one, other, all_pairs = both - n, one - n, other - n, n * (n - 1)
    expected = one * other / all_pairs
    assert near(measures["adjusted_rand_index"], (both - expected) / ((one + other) / 2 - expected), 1e-9)
    lines = command.run("predict", "m", "d.csv", "-q", "--distances").splitlines()
    assert all(near(float(v), math.sqrt(distance(x, c)), 1e-9) for line, x in zip(lines, problem.X)
               for v, c in zip(line.split(","), centres))
    again = json.loads(command.run("train", "kmeans", "d.csv", "--target", "label", "--ignore", "weight", "--init", "m", "--json", "-q",
                                   "-o", "m2", "--validation", "d.csv").splitlines()[-1])
    assert again["inertia"] <= inertia * (1 + 1e-12) and near(again["inertia"], again["validation_inertia"])
    assert "cluster 2: " in command.run("info", "m", "--coefficients")
    assert open("t.csv").readline().startswith("clock,seconds,inertia,moved,shift,start")


def check_scikit():
    """Same centres in, same centres out: dense, sparse and in float, with empty clusters at the start."""
    try:
        import numpy
        import scipy.sparse
        from sklearn.cluster import KMeans
    except ImportError:
        print("skipped: no scikit-learn")
        return
    problem = Problem(21, 500, 6, 7, 0.6, 6)
    problem.start[3] = [50.0] * 6
    problem.write()
    X, start, weights = (numpy.array(v) for v in (problem.X, problem.start, problem.weights))
    numpy.save("x.npy", X)
    numpy.save("c.npy", start)
    for kind, words, close in ((X, ("x.npy", "--centres", "c.npy"), 1e-12),
                               (scipy.sparse.csr_matrix(X), ("d.svm", "--centres", "c.svm", "--index-base", "1"), 1e-12),
                               (X.astype(numpy.float32), ("x.npy", "--centres", "c.npy", "--type", "f32", "--arithmetic", "f32"), 1e-5)):
        for weighted in (False, True):
            peer = KMeans(len(start), init=start.astype(kind.dtype), n_init=1, tol=1e-4)
            peer.fit(kind, sample_weight=weights if weighted else None)
            result, centres = train(*words, "--weights", "weights" if weighted else "none", "--workers", "2")
            assert result["iterations"] == peer.n_iter_, (words, result["iterations"], peer.n_iter_)
            assert near(result["inertia"], peer.inertia_, close), (words, result["inertia"], peer.inertia_)
            assert numpy.allclose(centres, peer.cluster_centers_, close * 100, close * 100), words


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        check_lloyd()
        check_bounds()
        check_bits()
        check_starts()
        check_edges()
        check_refusals()
        check_results()
        check_scikit()
