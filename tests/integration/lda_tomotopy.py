#!/usr/bin/env python3
"""Topics of hawser train lda beside those of tomotopy, another exact sampler: models of five seeds each predict documents that they have not seen equally well on
average. The evaluator here is given the counts of words in topics alone, and has no part of either.

Both sample under the same priors, which stay as they are, for as many passes over the same documents, so their laws are equal after any number of passes. The
short form has a quarter of ap and 60 passes, and ten seeds where late updates change the bits. HAWSER_TEST_LONG has all of ap and kos with 200, and reuters_topics with 500 of the furthest apart alone."""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["HAWSER_SOURCE"], "tests", "helpers"))
import command  # noqa: E402


def skip(why):
    print("skipped:", why)
    sys.exit(77)


if __name__ == "__main__" and "HAWSER_LDA_PYTHON" not in os.environ:
    if command.SANITIZED:
        skip("numbers are checked without sanitizers")
    made = subprocess.run([sys.executable, os.path.join(os.environ["HAWSER_SOURCE"], "python", "tools", "environment.py")], stdout=subprocess.PIPE, text=True, check=False)
    if made.returncode != 0:
        sys.exit(made.returncode)
    python = made.stdout.split()[-1]
    os.execve(python, [python, *sys.argv], {**os.environ, "HAWSER_LDA_PYTHON": python, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"})

try:
    import numpy as np
    import tomotopy
except ImportError as missing:
    skip(f"{missing} (pip install tomotopy)")
import certificate  # noqa: E402

SEEDS, MORE_SEEDS = range(1, 6), range(1, 11)
ALPHA, BETA, TOPICS = 0.1, 0.01, 20
NEAR = 0.015
ONE, FOUR, LATE = ["--workers", "1"], ["--workers", "4"], ["--workers", "4", "--sync", "ssp:2"]  # one block has the same bits under every sync
SHORT = [("ap", 560, 60, (ONE, FOUR, LATE))]  # corpus, documents, passes, trainings
LONG = [("ap", None, 200, (ONE, FOUR, LATE)), ("kos", None, 200, (ONE, FOUR, LATE)), ("reuters_topics", None, 500, (ONE, LATE))]
FILES = {"reuters_topics": "reuters"}


def read(name, most):
    """Documents to train on, and each fifth apart: lists of words, each as often as a document has it. Words that the former lack are left out."""
    text = command.real(f"{name}/docword.{FILES.get(name, name)}.txt.zst")
    if text is None:
        sys.exit(77)
    table = np.array(text.split()[3:], dtype=np.int64).reshape(-1, 3)
    table = table[table[:, 0] <= most] if most else table
    apart = table[:, 0] % 5 == 0
    known, number = np.unique(table[~apart, 1], return_inverse=True)
    place = np.full(table[:, 1].max() + 1, -1)
    place[known] = np.arange(len(known))
    entries = np.column_stack([table[:, 0], place[table[:, 1]], table[:, 2]])
    assert np.array_equal(entries[~apart, 1], number.ravel())
    return [documents_of(entries[rows & (entries[:, 1] >= 0)]) for rows in (~apart, apart)], len(known)


def documents_of(entries):
    entries = entries[np.argsort(entries[:, 0], kind="stable")]
    cuts = np.flatnonzero(np.diff(entries[:, 0])) + 1
    return [np.repeat(part[:, 1], part[:, 2]) for part in np.split(entries, cuts)]


def halves_of(documents):
    """Tokens of every document are dealt to two halves: words and how often each."""
    chance = np.random.default_rng(7)
    halves = [[np.unique(half, return_counts=True) for half in np.array_split(chance.permutation(tokens), 2)] for tokens in documents]
    return [(first, second) for first, second in halves if len(second[0])]


def perplexity(counts, halves):
    """Of the second halves. Shares of topics come from the first ones by a fixed point, so that no chance is in it."""
    of_topics = (counts + BETA) / (counts + BETA).sum(axis=0)
    logs = tokens = 0.0
    for (words, times), (others, other_times) in halves:
        chances, shares = of_topics[words], np.full(TOPICS, 1.0 / TOPICS)
        for _ in range(25):
            each = chances * shares
            shares = ALPHA + (times / each.sum(axis=1)) @ each
            shares /= shares.sum()
        logs += other_times @ np.log(of_topics[others] @ shares)
        tokens += other_times.sum()
    return np.exp(-logs / tokens)


def write(documents, words):
    lines = [f"{i + 1} {word + 1} {count}\n" for i, tokens in enumerate(documents) for word, count in zip(*np.unique(tokens, return_counts=True))]
    with open("docword.txt", "w") as out:
        out.write(f"{len(documents)}\n{words}\n{len(lines)}\n" + "".join(lines))


def fit_hawser(words, passes, seed, way):
    command.run("train", "lda", "docword.txt", "--topics", str(TOPICS), "--alpha", str(ALPHA), "--beta", str(BETA), "--iterations", str(passes), "--measure-every",
                str(passes), "--optimize-every", "0", "--seed", str(seed), *way, "-o", "t.model", "-q")
    offsets, topics, values = (np.array(certificate.read_tensors("t.model")["word_" + name][1]) for name in ("offsets", "topics", "counts"))
    counts = np.zeros((words, TOPICS))
    counts[np.repeat(np.arange(words), np.diff(offsets)), topics] = values
    return counts


def fit_tomotopy(documents, words, passes, seed):
    model = tomotopy.LDAModel(k=TOPICS, alpha=ALPHA, eta=BETA, seed=seed)
    for tokens in documents:
        model.add_doc(list(map(str, tokens)))
    model.optim_interval = 0
    model.train(passes, workers=1)
    counts = np.zeros((words, TOPICS))
    counts[[int(word) for word in model.used_vocabs]] = np.transpose([model.get_topic_word_dist(k, normalize=False) for k in range(TOPICS)])
    return np.rint(counts - BETA)  # it adds the prior


def compare(name, most, passes, ways):
    (documents, apart), words = read(name, most)
    write(documents, words)
    halves, frequency = halves_of(apart), np.bincount(np.concatenate(documents), minlength=words)

    def mean(what, fit, seeds=SEEDS):
        found = []
        for seed in seeds:
            counts = fit(seed)
            assert np.array_equal(counts.sum(axis=1), frequency), what
            found.append(perplexity(counts, halves))
        print(f"{name}, {len(documents)} documents, {passes} passes, {what}: {np.mean(found):.1f}, deviation of a seed {np.std(found, ddof=1) / np.mean(found):.2%}", flush=True)
        return np.mean(found)
    target = mean("tomotopy", lambda seed: fit_tomotopy(documents, words, passes, seed))
    far = []
    for way in ways:
        own = mean("hawser " + " ".join(way), lambda seed, way=way: fit_hawser(words, passes, seed, way), MORE_SEEDS if most and way == LATE else SEEDS)
        far += [way] if abs(own / target - 1) > NEAR else []
    return far


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        far = [(case, way) for case in (LONG if os.environ.get("HAWSER_TEST_LONG") else SHORT) for way in compare(*case)]
    sys.exit(f"further than {NEAR:.1%} from tomotopy: {far}" if far else 0)


main()
