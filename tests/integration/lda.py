#!/usr/bin/env python3
"""Trainings of topic models by the command: every option changes the model or is refused, starts match words by name, blocks have equal work in each clock, a slow
node is led, and a training that ends early leaves a model. The counts of each model add up, nodes have the bits of threads, and take a part of the work each."""
import functools
import json
import os
import random
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["HAWSER_SOURCE"], "tests", "helpers"))
import certificate  # noqa: E402
import command  # noqa: E402

WORDS, DOCUMENTS = 60, 120


def draw_documents(seed):
    """Documents of two groups of words each, as lists of (word, count)."""
    chance = random.Random(seed)
    documents = []
    for _ in range(DOCUMENTS):
        groups = [chance.randrange(6), chance.randrange(6)]
        counts = {}
        for _ in range(chance.randint(5, 40)):
            word = chance.choice(groups) * 10 + chance.randrange(10)
            counts[word] = counts.get(word, 0) + 1
        documents.append(sorted(counts.items()))
    return documents


def write(name, documents, order=None):
    """A bag of words and its vocabulary, whose words are in another order."""
    order = order or list(range(WORDS))
    place = {word: k for k, word in enumerate(order)}
    lines = sorted((d + 1, place[word] + 1, count) for d, words in enumerate(documents) for word, count in words)
    with open(name + ".txt", "w") as out:
        out.write(f"{DOCUMENTS}\n{WORDS}\n{len(lines)}\n" + "".join("%d %d %d\n" % line for line in lines))
    with open(name + ".names", "w") as out:
        out.write("".join(f"word{word}\n" for word in order))


def read_entries(path):
    """Document, word and count of each entry."""
    with open(path) as file:
        return [tuple(map(int, line.split())) for line in file.read().splitlines()[3:]]


@functools.lru_cache(None)
def frequencies_of(path):
    found = {}
    for _, word, count in read_entries(path):
        found[word] = found.get(word, 0) + count
    return found


def counts_add_up(data, model, tokens):
    """The counts of each word are as many as the data have it."""
    tensors = certificate.read_tensors(model)
    offsets, counts = tensors["word_offsets"][1], tensors["word_counts"][1]
    found = {word + 1: sum(counts[begin:end]) for word, (begin, end) in enumerate(zip(offsets, offsets[1:])) if begin < end}
    assert found == frequencies_of(data) and sum(counts) == tokens and min(counts) > 0


def train(data, *words, launch=()):
    said = json.loads(command.run(*launch, "train", "lda", data, *words, "-o", "t.model", "--json", "-q").splitlines()[-1])
    counts_add_up(data, "t.model", said["tokens"])
    return said


def train_named(name, *words, launch=()):
    return train(name + ".txt", "--names", name + ".names", "--topics", "6", *words, launch=launch)


def refused(text, *words, codes=(2, 3)):
    out = subprocess.run((command.HAWSER,) + words, capture_output=True, text=True, env=command.CLEAN, timeout=120)
    assert out.returncode in codes and re.search(text, out.stderr), (words, out.returncode, out.stderr)


def options_have_effects():
    with open("alpha.txt", "w") as out:
        out.write("0.5\n0.1\n0.1\n0.1\n0.1\n0.3\n")
    base = train_named("a", "--iterations", "60", "--workers", "1")
    for words in (("--alpha", "0.7"), ("--alpha", "alpha.txt"), ("--beta", "0.2"), ("--burn-in", "20"), ("--optimize-every", "0"), ("--optimize-every", "2"), ("--seed", "9"),
                  ("--workers", "3"), ("--iterations", "50")):
        assert train_named("a", *("--iterations", "60", "--workers", "1", *words))["log_likelihood"] != base["log_likelihood"], words
    assert train_named("a", "--iterations", "60", "--workers", "1", "--measure-every", "7")["log_likelihood"] == base["log_likelihood"]
    for text, words in ((r"--alpha -1: the prior of a topic is above 0", ("--alpha", "-1")), (r"alpha.txt: 6 lines, but --topics is 7", ("--alpha", "alpha.txt", "--topics", "7")),
                        (r"--early-stopping does nothing here", ("--early-stopping", "2")), (r"--burn-in does nothing here", ("--optimize-every", "0", "--burn-in", "3")),
                        (r"--sync", ("--sync", "delay:2"))):
        refused(text, "train", "lda", "a.txt", *words)


def starts_match_words_by_name():
    """The same documents with another order of words: with names the start is as good, without them it is not."""
    train_named("a", "--iterations", "100", "--workers", "1")
    os.rename("t.model", "start.model")
    by_name = train("b.txt", "--names", "b.names", "--init", "start.model", "--iterations", "1")
    by_number = train("b.txt", "--init", "start.model", "--iterations", "1")
    apart = train("b.txt", "--names", "b.names", "--topics", "6", "--iterations", "1")
    assert by_name["topics"] == 6
    assert by_name["log_likelihood"] > max(apart["log_likelihood"], by_number["log_likelihood"]) + 0.2, (by_name, apart, by_number)
    refused("--topics 7: --init has 6 topics", "train", "lda", "b.txt", "--init", "start.model", "--topics", "7")


def blocks_have_equal_work(path, workers):
    """Recomputes the tokens of each block and clock from the documents of the plan and the cut of the words."""
    entries = read_entries(path)
    plan = command.run("plan", "lda", path, "--workers", str(workers), "--physical")
    shares = [tuple(map(int, share)) for share in re.findall(r"block \d+: (\d+) to (\d+)", plan)]
    assert len(shares) == workers, plan
    words = max(w for _, w, _ in entries)
    frequency = [0] * (words + 1)
    for _, word, count in entries:
        frequency[word] += count
    tokens, before, part = sum(frequency), 0, []
    for count in frequency:
        part.append(min(int((before + count / 2) * 2 * workers / tokens), 2 * workers - 1))
        before += count
    work = {}
    for document, word, count in entries:
        block = next(b for b, (first, end) in enumerate(shares) if first < document <= end)
        key = block, part[word] % workers
        work[key] = work.get(key, 0) + count
    assert max(work.values()) * workers * workers < 1.3 * tokens, work


def slow_nodes_are_led():
    said = train("kos.txt", "--topics", "10", "--iterations", "3", "--measure-every", "3", "--workers", "4", "--sync", "ssp:2", "--slow", "1:4", launch=("run", "-n", "4", "--"))
    assert said["most_lead"] == 2 and said["tokens"] == 467714, said["most_lead"]


def nodes_have_the_bits_of_threads():
    """Nor do they depend on how many threads there are."""
    def model_of(*words, launch=()):
        said = train_named("a", "--iterations", "12", "--burn-in", "4", "--optimize-every", "4", "--workers", "4", *words, launch=launch)
        return said["log_likelihood"], certificate.read_tensors("t.model")
    models = [model_of("--threads", "1"), model_of("--threads", "4"), model_of(launch=("run", "-n", "2", "--")), model_of(launch=("run", "-n", "4", "--"))]
    assert all(model == models[0] for model in models[1:])


def bytes_of_a_clock_fall_with_nodes():
    """In a clock a node sends the words that it has: a half of all counts with two nodes, a fourth with four. Nobody sends more."""
    sent = {}
    for nodes in "2", "4":
        said = train("kos.txt", "--topics", "50", "--iterations", "6", "--measure-every", "6", "--optimize-every", "0", "--workers", nodes, launch=("run", "-n", nodes, "--"))
        sent[nodes] = max(node["bytes_sent"] for node in said["worker"]) / said["clocks"]
        moved = next(flow["bytes_sent"] for flow in said["flows"] if flow["state"] == "n_wk")
        assert moved > 0.97 * said["bytes_exchanged"], said["flows"]
    assert 0.45 < sent["4"] / sent["2"] < 0.55, sent


def early_ends_leave_models():
    for words, reason in ((("--max-clocks", "21"), "clocks"), (("--time-limit", "0.5"), "time-limit")):
        said = train_named("a", "--iterations", "1000000000", "--workers", "2", *words)
        assert said["stop_reason"] == reason and said["log_likelihood"] < 0 and "algorithm" in command.run("info", "t.model"), said
    refused("before each word had a topic", "train", "lda", "a.txt", "--workers", "2", "--max-clocks", "1", "-o", "none.model", codes=(130,))


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        documents, order = draw_documents(3), list(range(WORDS))
        random.Random(4).shuffle(order)
        write("a", documents)
        write("b", documents, order)
        options_have_effects()
        starts_match_words_by_name()
        early_ends_leave_models()
        nodes_have_the_bits_of_threads()
        kos = command.real("kos/docword.kos.txt.zst")
        if kos is not None and not command.SANITIZED:
            with open("kos.txt", "w") as out:
                out.write(kos)
            for workers in 2, 4:
                blocks_have_equal_work("kos.txt", workers)
            slow_nodes_are_led()
            bytes_of_a_clock_fall_with_nodes()
    print("ok")


main()
