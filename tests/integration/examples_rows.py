#!/usr/bin/env python3
"""examples/kmeans.c, factors.c, network.c and standardise.c: programs by rows under bsp, ssp and tap, with the same bits under bsp for any number of threads and
nodes. k-means is compared with Lloyd's method written here, the others with what their data were made of. examples/topics.c finds planted topics."""
import math
import os
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "helpers"))
from command import CLEAN, HAWSER

EXAMPLES = os.path.join(os.environ["HAWSER_BUILD"], "examples")
SPLITS = (["--threads", "1"], ["--threads", "3"])


def output(name, *words, nodes=1, code=0):
    launch = [HAWSER, "run", "-n", str(nodes), "--"] if nodes > 1 else []
    out = subprocess.run([*launch, os.path.join(EXAMPLES, name), *words], capture_output=True, text=True, env=CLEAN, timeout=300)
    assert out.returncode == code, (name, words, nodes, out.stderr)
    return out.stderr if code else out.stdout


def check_bits(name, *words):
    first = output(name, *words, "--workers", "4")
    for more in SPLITS:
        assert output(name, *words, "--workers", "4", *more) == first, (name, more)
    assert output(name, *words, "--workers", "4", nodes=3) == first, name
    return first


def lloyd(points, k):
    centres = points[:k]
    while True:
        near = [min(range(k), key=lambda c: math.dist(p, centres[c])) for p in points]
        moved = []
        for c in range(k):
            own = [p for p, n in zip(points, near) if n == c]
            moved.append([sum(x) / len(own) for x in zip(*own)] if own else centres[c])
        if all(math.dist(a, b) < 1e-12 for a, b in zip(centres, moved)):
            return centres, sum(math.dist(p, centres[n]) ** 2 for p, n in zip(points, near))
        centres = moved


def check_kmeans(chance):
    points = [[round(chance.gauss(3 * (i % 4), 1), 3) for _ in range(3)] for i in range(600)]
    with open("points.csv", "w", encoding="utf-8") as f:
        f.writelines(",".join(map(str, p)) + "\n" for p in points)
    centres, inertia = lloyd(points, 5)
    lines = check_bits("kmeans", "5", "points.csv").splitlines()
    found = [[float(x) for x in line.split(",")] for line in lines[:-1]]
    assert all(math.dist(a, b) < 2e-4 for a, b in zip(centres, found)) and len(found) == 5, (centres, found)
    assert abs(float(lines[-1].split()[1]) - inertia) < 1e-5, (lines, inertia)
    for sync in ("ssp:2", "tap"): # where they end depends on the speed of the workers, but what is printed is true
        lines = output("kmeans", "5", "points.csv", "--workers", "4", "--sync", sync).splitlines()
        found = [[float(x) for x in line.split(",")] for line in lines[:-1]]
        own = sum(min(math.dist(p, c) ** 2 for c in found) for p in points)
        assert len(found) == 5 and abs(float(lines[-1].split()[1]) / own - 1) < 1e-3, (sync, lines, own)
    for word in ("0", "3x", "601"):
        assert f"K is '{word}'; it takes a whole number from 1 to 600" in output("kmeans", word, "points.csv", code=2)


def check_factors(chance):
    """Ratings that are products of vectors of three numbers, which four can hold: an error far below their standard deviation."""
    users = [[chance.random() for _ in range(3)] for _ in range(200)]
    items = [[chance.random() for _ in range(3)] for _ in range(80)]
    ratings = [(i, j, sum(a * b for a, b in zip(u, v))) for i, u in enumerate(users) for j, v in enumerate(items) if chance.random() < 0.25]
    chance.shuffle(ratings)
    with open("ratings.mtx", "w", encoding="utf-8") as f:
        f.write(f"%%MatrixMarket matrix coordinate real general\n200 80 {len(ratings)}\n")
        f.writelines(f"{i + 1} {j + 1} {v:.6f}\n" for i, j, v in ratings)
    mean = sum(v for _, _, v in ratings) / len(ratings)
    spread = math.sqrt(sum((v - mean) ** 2 for _, _, v in ratings) / len(ratings))
    for sync, merge, bound in (("bsp", "add", spread / 3), ("ssp:2", "add", spread / 3), ("tap", "average", math.inf)):
        words = ("ratings.mtx", "--merge", merge)
        error = float(check_bits("factors", *words) if sync == "bsp" else output("factors", *words, "--workers", "4", "--sync", sync))
        print(f"factors, {sync}: {error:.4f}, standard deviation {spread:.4f}")
        assert 0 < error < bound, (sync, error, spread)
    # What the driver may change by itself: the quota and the form of the items' updates, on nodes.
    for words in (("--auto",), ("--filter", "absolute", "--quota", "auto"), ("--encoding", "items=auto")):
        error = float(output("factors", "ratings.mtx", "--workers", "4", *words, nodes=2))
        assert 0 < error < spread / 3, (words, error, spread)
    # Staleness and work are about waits, which workers of one node have, too; where nothing holds them up, the bits are those of a run without the option.
    assert output("factors", "ratings.mtx", "--workers", "4", "--exchange-every", "1") == output("factors", "ratings.mtx", "--workers", "4")
    for words in (("--sync", "auto"), ("--exchange-every", "auto"), ("--exchange-every", "auto:2", "--sync", "ssp:1")):
        error = float(output("factors", "ratings.mtx", "--workers", "4", *words))
        assert 0 < error < spread / 3, (words, error, spread)
    for words, why in ((("--filter", "absolute", "--quota", "auto"), "the job has one node"), (("--sync", "tap", "--exchange-every", "auto"), "its loop has a sync under which workers are never in step")):
        said = output("factors", "ratings.mtx", "--workers", "4", *words, code=2)
        assert f"{words[-2]} does nothing here: {why}" in said, (words, said)
    open("dense.csv", "w", encoding="utf-8").write("1,2\n3,4\n")
    assert "must be sparse" in output("factors", "dense.csv", code=3)


def check_network(chance):
    """Three arms of a spiral, which no line separates."""
    with open("spiral.csv", "w", encoding="utf-8") as f:
        f.write("class,a,b\n")
        for i in range(600):
            c, t = i % 3, 2.2 * chance.random()
            angle, radius = 2 * t + c * 2 * math.pi / 3, 0.2 + t / 2
            f.write(f"{c},{radius * math.cos(angle) + chance.gauss(0, 0.03):.5f},{radius * math.sin(angle) + chance.gauss(0, 0.03):.5f}\n")
    for sync in ("bsp", "ssp:2", "tap"):
        line = check_bits("network", "3", "spiral.csv") if sync == "bsp" else output("network", "3", "spiral.csv", "--workers", "3", "--sync", sync)
        print(f"network, {sync}: {line.strip()}")
        assert float(line.split()[-1]) > (0.6 if sync == "tap" else 0.9), (sync, line) # by chance 1/3
    assert "the target 2 is no class from 0 to 1" in output("network", "2", "spiral.csv", code=3)


def solve(A, b):
    """Solves a small system by elimination."""
    rows = [[*row, right] for row, right in zip(A, b)]
    for k in range(len(rows)):
        pivot = max(range(k, len(rows)), key=lambda i: abs(rows[i][k]))
        rows[k], rows[pivot] = rows[pivot], rows[k]
        for i in range(len(rows)):
            if i != k:
                factor = rows[i][k] / rows[k][k]
                rows[i] = [a - factor * c for a, c in zip(rows[i], rows[k])]
    return [row[-1] / row[k] for k, row in enumerate(rows)]


def least_squares(columns, target, centred):
    """Returns the error and the coefficients of standardised columns, by the normal equations."""
    count, made = len(target), []
    for column in columns:
        mean = math.fsum(column) / count
        deviation = math.sqrt(math.fsum((v - mean) ** 2 for v in column) / count)
        made.append([(v - (mean if centred else 0)) / deviation for v in column])
    made.append([1.0] * count)
    w = solve([[math.fsum(map(float.__mul__, a, b)) for b in made] for a in made], [math.fsum(map(float.__mul__, a, target)) for a in made])
    errors = [y - math.fsum(c * v for c, v in zip(w, row)) for y, row in zip(target, zip(*made))]
    return [math.sqrt(math.fsum(e * e for e in errors) / count), *w[:-1]]


def check_standardise(chance):
    """Columns of other means and scales; sparse ones are only scaled."""
    for name, sparse in (("columns.csv", False), ("columns.svm", True)):
        columns = [[0.0 if sparse and chance.random() < 0.3 else chance.gauss(k if not sparse else 0, 10.0 ** (k - 1)) for _ in range(200)] for k in range(4)]
        target = [3.0 + row[0] - 0.2 * row[2] + chance.gauss(0, 0.1) for row in zip(*columns)]
        with open(name, "w", encoding="utf-8") as f:
            for y, row in zip(target, zip(*columns)):
                f.write(f"{y!r}" + "".join(f" {j + 1}:{v!r}" if sparse else f",{v!r}" for j, v in enumerate(row) if v or not sparse) + "\n")
        for sync in ("bsp", "ssp:2"):
            words = check_bits("standardise", name) if sync == "bsp" else output("standardise", name, "--workers", "4", "--sync", sync)
            found, wanted = [float(line.split()[-1]) for line in words.splitlines()], least_squares(columns, target, not sparse)
            print(f"standardise, {name}, {sync}: {found}, least squares {wanted}")
            assert len(found) == 5 and all(abs(a - b) < (1e-4 if sync == "bsp" else 1e-2) for a, b in zip(found, wanted)), (sync, found, wanted)
    assert "leave out --type" in output("standardise", "columns.csv", "--type", "f32", code=2)


def drawn_shares(chance, a, count):
    """Shares that add up to 1, by a symmetric Dirichlet distribution."""
    shares = [chance.gammavariate(a, 1) for _ in range(count)]
    return [share / sum(shares) for share in shares]


def planted_topics(chance, topics, words, documents, tokens):
    """Writes documents of drawn topics. Returns the topics, and the mean log-probability of a token given the true topics of all others."""
    planted = [drawn_shares(chance, 0.05, words) for _ in range(topics)]
    made, of_word, of_topic = [], [[0] * topics for _ in range(words)], [0] * topics
    for _ in range(documents):
        shares = drawn_shares(chance, 0.1, topics)
        drawn = [(k, chance.choices(range(words), planted[k])[0]) for k in chance.choices(range(topics), shares, k=tokens)]
        made.append(drawn)
        for k, w in drawn:
            of_word[w][k] += 1
            of_topic[k] += 1
    entries = [(i, w, sum(v == w for _, v in drawn)) for i, drawn in enumerate(made) for w in sorted({v for _, v in drawn})]
    with open("planted.mtx", "w", encoding="utf-8") as f:
        f.write(f"%%MatrixMarket matrix coordinate real general\n{documents} {words} {len(entries)}\n")
        f.writelines(f"{i + 1} {w + 1} {n}\n" for i, w, n in entries)
    truth = 0.0
    for drawn in made:
        own = [sum(k == j for k, _ in drawn) for j in range(topics)]
        for k, w in drawn:
            truth += math.log(sum((own[j] - (j == k) + 0.1) / (tokens - 1 + topics * 0.1) * (of_word[w][j] - (j == k) + 0.01) /
                                  (of_topic[j] - (j == k) + words * 0.01) for j in range(topics)))
    return planted, truth / (documents * tokens)


def check_topics(chance):
    """The likelihood is that of the true topics, and the likeliest words are theirs. A chain may stay at topics that are less likely, so it has three tries."""
    planted, truth = planted_topics(chance, 4, 150, 300, 60)
    likeliest = [set(sorted(range(150), key=lambda w, p=p: -p[w])[:10]) for p in planted]
    for nodes, words in ((1, []), (1, ["--workers", "4", "--sync", "ssp:2"]), (1, ["--workers", "3", "--threads", "1", "--sync", "ssp:1", "--rehearse", "7"]),
                         (3, ["--workers", "6", "--sync", "ssp:2"])):
        for seed in "123":
            lines = output("topics", "4", "planted.mtx", "--seed", seed, *words, nodes=nodes).splitlines()
            found = [(float(share), [int(w) for w in ten]) for share, *ten in map(str.split, lines[1:])]
            assert len(found) == 4 and abs(sum(share for share, _ in found) - 1) < 0.003, found
            if float(lines[0]) > truth - 0.01:
                break
        print(f"topics, {nodes} nodes {' '.join(words)}: {lines[0]}, with the true topics {truth:.6f}")
        assert truth - 0.01 < float(lines[0]) < truth + 0.05, (lines[0], truth)
        for own in likeliest:
            assert max(len(own & set(ten)) for _, ten in found) >= 7, (own, found)
    assert "K is '1'; it takes a whole number from 2 to 10000" in output("topics", "1", "planted.mtx", code=2)
    open("tfidf.svm", "w", encoding="utf-8").write("0 1:1.5\n")
    assert "has the value 1.5" in output("topics", "2", "tfidf.svm", code=6)


def main():
    chance = random.Random(11)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        check_kmeans(chance)
        check_factors(chance)
        check_network(chance)
        check_standardise(chance)
        check_topics(chance)


main()
