#!/usr/bin/env python3
"""The other samplers of bench/topics, and the evaluator of all results. Needs numpy; tomotopy for its own fit.

usage: peers.py make FOLDER                        draw a small corpus of planted topics
       peers.py pack DOCWORD FOLDER                read a corpus (docword, also .zst), and write it for all samplers
       peers.py tomotopy FOLDER TOPICS SEED THREADS PASSES...
       peers.py warplda PROGRAM FOLDER TOPICS PASSES...   the program `warplda`; `format` lies beside it
       peers.py evaluate FOLDER TOPICS MODEL...    models of `hawser train lda`

Each command prints one JSON line. A fit has a point for each number of passes: seconds of sampling on one thread, and the likelihood.
"""
import json
import os
import pathlib
import re
import resource
import struct
import subprocess
import sys
import time

import numpy as np

ALPHA, BETA = 0.1, 0.01  # per topic, per word


def log_gamma(x):
    """The logarithm of the gamma function, by Stirling's series from 8 on."""
    x = np.asarray(x, dtype=np.float64)
    shift = np.zeros_like(x)
    while np.any(x < 8):
        small = x < 8
        shift -= np.where(small, np.log(np.where(small, x, 1.0)), 0.0)
        x = np.where(small, x + 1, x)
    inverse = 1 / (x * x)
    series = (1 / 12 - inverse * (1 / 360 - inverse * (1 / 1260 - inverse * (1 / 1680 - inverse / 1188)))) / x
    return shift + (x - 0.5) * np.log(x) - x + 0.5 * np.log(2 * np.pi) + series


def likelihood(corpus, topics, of_word, of_topic, counts):
    """log p(w | z) per token: word of_word[i] has topic of_topic[i] counts[i] times, and all other pairs do not occur.

    The same function for all samplers. It fails if the counts are not those of the corpus' words."""
    words = len(corpus["frequencies"])
    found = np.bincount(of_word, weights=counts, minlength=words)
    if len(found) != words or not np.array_equal(found, corpus["frequencies"]) or np.min(counts, initial=0) < 0:
        raise SystemExit("peers.py: a sampler's counts do not add up to the frequencies of the words")
    if len(of_topic) and of_topic.max() >= topics:
        raise SystemExit("peers.py: a sampler has more topics than were asked for")
    totals = np.bincount(of_topic, weights=counts, minlength=topics)
    whole = topics * log_gamma(words * BETA) - log_gamma(totals + words * BETA).sum()
    return float((whole + (log_gamma(counts + BETA) - log_gamma(BETA)).sum()) / found.sum())


def read_docword(path):
    """Documents, words and counts of each entry, and the numbers of documents and words."""
    with subprocess.Popen(["zstd", "-dc", path], stdout=subprocess.PIPE) if path.endswith(".zst") else open(path, "rb") as source:
        file = source.stdout if path.endswith(".zst") else source
        documents, words, entries = (int(file.readline()) for _ in range(3))
        table = np.array(file.read().split(), dtype=np.int64).reshape(-1, 3)
    if len(table) != entries:
        raise SystemExit(f"peers.py: {path} has {len(table)} entries, and says {entries}")
    return documents, words, table


def pack(path, folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    documents, words, table = read_docword(path)
    table = table[np.lexsort((table[:, 1], table[:, 0]))]
    tokens = np.repeat(table[:, 1] - 1, table[:, 2]).astype(np.int32)
    lengths = np.bincount(table[:, 0] - 1, weights=table[:, 2], minlength=documents).astype(np.int64)
    np.savez(folder / "corpus.npz", tokens=tokens, offsets=np.concatenate([[0], np.cumsum(lengths)]),
             frequencies=np.bincount(tokens, minlength=words))
    with open(folder / "docword.txt", "w", encoding="ascii") as file:
        file.write(f"{documents}\n{words}\n{len(table)}\n")
        np.savetxt(file, table, fmt="%d")
    return {"documents": documents, "words": words, "tokens": len(tokens)}


def load(folder):
    with np.load(pathlib.Path(folder) / "corpus.npz") as file:
        return {name: file[name] for name in file.files}


def documents_of(corpus):
    for begin, end in zip(corpus["offsets"][:-1], corpus["offsets"][1:]):
        yield corpus["tokens"][begin:end]


def fit_tomotopy(folder, topics, seed, threads, *passes):
    import tomotopy
    corpus, topics = load(folder), int(topics)
    model = tomotopy.LDAModel(k=topics, alpha=ALPHA, eta=BETA, seed=int(seed))
    for tokens in documents_of(corpus):
        if len(tokens):
            model.add_doc([str(w) for w in tokens])
    model.optim_interval = 0
    model.train(0, workers=int(threads))
    names = np.array([int(w) for w in model.used_vocabs])
    points, done, wall, cpu = [], 0, 0.0, 0.0
    for wanted in map(int, passes):
        begun, used = time.perf_counter(), time.process_time()
        model.train(wanted - done, workers=int(threads))
        wall, cpu, done = wall + time.perf_counter() - begun, cpu + time.process_time() - used, wanted
        table = np.array([model.get_topic_word_dist(k, normalize=False) for k in range(topics)], dtype=np.float64)
        counts = np.rint(table - BETA)  # it adds the prior, in single precision
        of_topic, place = np.nonzero(counts)
        points.append({"passes": wanted, "wall": wall, "cpu": cpu,
                       "likelihood": likelihood(corpus, topics, names[place], of_topic, counts[of_topic, place])})
    return {"version": tomotopy.__version__, "points": points}


def cpu_of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def fit_warplda(program, folder, topics, *passes):
    corpus, topics, program = load(folder), int(topics), pathlib.Path(program)
    prefix = pathlib.Path(folder) / "warplda"
    alone = {**os.environ, "OMP_NUM_THREADS": "1"}
    if not prefix.with_suffix(".bin").exists():
        with open(prefix.with_suffix(".txt"), "w", encoding="ascii") as file:
            for i, tokens in enumerate(documents_of(corpus)):
                if len(tokens):
                    file.write(f"{i} {i} " + " ".join(map(str, tokens)) + "\n")
        subprocess.run([program.parent / "format", "-prefix", prefix], check=True, env=alone, stdout=subprocess.DEVNULL)
    names = {line: int(line) for line in map(str, range(len(corpus["frequencies"])))}
    points = []
    for wanted in passes:
        used = cpu_of_children()
        done = subprocess.run([program, "--prefix", prefix, "--k", str(topics), "--niter", wanted, "--alpha", str(ALPHA * topics), "--beta", str(BETA),
                               "--writeinfo=false", "--dumpmodel=false"], check=True, env=alone, capture_output=True, text=True)
        used = cpu_of_children() - used  # of the whole process
        seconds = sum(float(t) for t in re.findall(r"^Iteration \d+, ([0-9.]+) s", done.stdout, re.M))
        vocabulary = [line.split()[-1] for line in open(prefix.with_suffix(".vocab"), encoding="ascii") if line.split() and line.split()[-1] in names]
        pairs = np.array(re.findall(r"(\d+):(\d+)", prefix.with_suffix(".z.estimate").read_text()), dtype=np.int64)
        keys, counts = np.unique(pairs[:, 0] * topics + pairs[:, 1], return_counts=True)
        of_word = np.array([names[w] for w in vocabulary])[keys // topics]
        points.append({"passes": int(wanted), "wall": seconds, "cpu": used,
                       "likelihood": likelihood(corpus, topics, of_word, keys % topics, counts)})
    return {"points": points}


def read_model(path):
    """The counts of a model of hawser train lda: words, topics, counts."""
    body = pathlib.Path(path).read_bytes()
    (length,) = struct.unpack("<Q", body[:8])
    header = json.loads(body[8:8 + length])

    def tensor(name, kind):
        begin, end = header[name]["data_offsets"]
        return np.frombuffer(body[8 + length + begin:8 + length + end], dtype=kind)
    offsets = tensor("word_offsets", "<i8")
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)), tensor("word_topics", "<i4"), tensor("word_counts", "<i4")


def evaluate(folder, topics, *models):
    corpus = load(folder)
    return {"likelihoods": [likelihood(corpus, int(topics), *read_model(model)) for model in models]}


def make(folder):
    """500 documents of 40 words each, of 4 topics."""
    draw = np.random.default_rng(3)
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    planted, lines = draw.dirichlet(np.full(300, 0.05), 4), []
    for i in range(500):
        shares = draw.dirichlet(np.full(4, 0.1))
        words = [draw.choice(300, p=planted[k]) for k in draw.choice(4, 40, p=shares)]
        lines += [f"{i + 1} {w + 1} {n}\n" for w, n in zip(*np.unique(words, return_counts=True))]
    (folder / "made.txt").write_text(f"500\n300\n{len(lines)}\n" + "".join(lines))
    return {"path": str(folder / "made.txt")}


if __name__ == "__main__":
    commands = {"make": make, "pack": pack, "tomotopy": fit_tomotopy, "warplda": fit_warplda, "evaluate": evaluate}
    if len(sys.argv) < 3 or sys.argv[1] not in commands:
        sys.exit(__doc__)
    print(json.dumps(commands[sys.argv[1]](*sys.argv[2:])))
