#!/usr/bin/env python3
"""Topics and perplexity of new documents by the command, lists of topics and their coherence: the same bits from every form of the input, for threads and nodes; a closed form, and Gibbs sampling written
apart; documents without words, words that the model lacks, and what is refused."""
import json
import math
import os
import random
import re
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["HAWSER_SOURCE"], "tests", "helpers"))
import command  # noqa: E402

WORDS, GROUPS, DOCUMENTS = 40, 4, 80


def draw_documents(chance, count, length):
    """Documents that each mix two groups of ten words, as {word: count}; some are empty."""
    documents = []
    for number in range(count):
        groups, counts = [chance.randrange(GROUPS), chance.randrange(GROUPS)], {}
        for _ in range(0 if number % 20 == 7 else chance.randint(2, length)):
            word = chance.choice(groups) * 10 + min(9, int(chance.expovariate(0.4)))
            counts[word] = counts.get(word, 0) + 1
        documents.append(dict(sorted(counts.items())))
    return documents


def write_forms(documents):
    """The same documents in every form of counts, and as text."""
    entries = [(d + 1, w + 1, n) for d, counts in enumerate(documents) for w, n in counts.items()]
    lines = "".join("%d %d %d\n" % entry for entry in entries)
    sizes = len(documents), WORDS, len(entries)
    named = "".join(f"word{w:02d}\n" for w in range(WORDS))
    forms = {"new.dw": "%d\n%d\n%d\n" % sizes + lines, "new.mtx": "%%%%MatrixMarket matrix coordinate real general\n%d %d %d\n" % sizes + lines,
             "new.svm": "".join("0" + "".join(f" {w + 1}:{n}" for w, n in counts.items()) + "\n" for counts in documents),
             "new.csv": ",".join(named.split()) + "\n" + "".join(",".join(str(counts.get(w, 0)) for w in range(WORDS)) + "\n" for counts in documents),
             "new.txt": "".join(" ".join(f"word{w:02d}" for w, n in counts.items() for _ in range(n)) + "\n" for counts in documents), "new.names": named}
    for name, text in forms.items():
        with open(name, "w") as out:
            out.write(text)


def call(*words, status=0):
    out = subprocess.run((command.HAWSER,) + words, capture_output=True, text=True, env=command.CLEAN, timeout=120)
    assert out.returncode == status, (words, out.returncode, out.stderr)
    return out


def refused(text, *words, status):
    said = call(*words, status=status).stderr
    assert re.search(text, said), (words, said)


def measures(model, *words):
    return json.loads(call("evaluate", model, *words, "--json").stdout)


def probabilities(*words):
    return [list(map(float, line.split(","))) for line in call("predict", *words, "--proba", "-q").stdout.splitlines()]


def every_form_has_the_same_bits():
    base, found = call("predict", "t.model", "new.dw", "--proba", "-q").stdout, measures("t.model", "new.dw")
    assert found["rows"] == DOCUMENTS and found["documents"] < DOCUMENTS and found["notes"] == []
    likeliest = [max(range(GROUPS), key=row.__getitem__) for row in probabilities("t.model", "new.dw")]
    for words in (("new.svm",), ("new.mtx",), ("new.csv", "--target", "none"), ("new.dw", "--names", "new.names")):
        assert call("predict", "t.model", *words, "--proba", "-q").stdout == base, words
        assert {**measures("t.model", *words), "model": None} == {**found, "model": None}, words
        assert list(map(int, call("predict", "t.model", *words, "-q").stdout.split())) == likeliest, words
    call("train", "lda", "new.txt", "--format", "text", "--topics", "4", "--iterations", "20", "--workers", "1", "-q", "-o", "text.model")
    call("train", "lda", "new.dw", "--names", "new.names", "--topics", "4", "--iterations", "20", "--workers", "1", "-q", "-o", "counts.model")
    for options in ((), ("--proba",)):
        assert call("predict", "text.model", "new.txt", "-q", *options).stdout == call("predict", "counts.model", "new.dw", "-q", *options).stdout
    assert measures("text.model", "new.txt")["perplexity"] == measures("counts.model", "new.svm")["perplexity"]


def nodes_and_pieces_change_nothing():
    """A model of two nodes, and an input of several pieces, whose rows count on; repeated documents are drawn apart."""
    base = call("predict", "t.model", "new.svm", "--proba", "-q").stdout
    with open("new.svm") as text:
        lines = text.read().splitlines(keepends=True)
    with open("many.svm", "w") as out:
        out.writelines(lines * (1500000 // sum(map(len, lines)) + 1))  # pieces have 512 KiB
    one = call("predict", "t.model", "many.svm", "-q", "--threads", "1", "--proba").stdout
    assert one.startswith(base) and one[len(base):2 * len(base)] != base
    assert call("predict", "t.model", "many.svm", "-q", "--threads", "4", "--proba").stdout == one
    half = lines * 3  # by itself and within the whole
    with open("half.svm", "w") as out:
        out.writelines(half)
    assert one.startswith(call("predict", "t.model", "half.svm", "-q", "--proba").stdout)
    assert measures("t.model", "many.svm", "--threads", "1") == measures("t.model", "many.svm", "--threads", "3")
    call("run", "-n", "2", "--", "train", "lda", "train.dw", "--topics", "4", "--alpha", "0.3", "--iterations", "40", "--workers", "2", "-q", "-o", "nodes.model")
    call("train", "lda", "train.dw", "--topics", "4", "--alpha", "0.3", "--iterations", "40", "--workers", "2", "-q", "-o", "alone.model")
    assert measures("nodes.model", "new.svm")["perplexity"] == measures("alone.model", "new.svm")["perplexity"]


def tensors(path):
    """The model's counts by word, alpha and beta, from the bytes of the file."""
    with open(path, "rb") as file:
        data = file.read()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    kinds = {"F64": "d", "I64": "q", "I32": "i"}
    found = {}
    for name, about in header.items():
        if name != "__metadata__":
            begin, end = about["data_offsets"]
            kind = kinds[about["dtype"]]
            found[name] = struct.unpack(f"<{(end - begin) // struct.calcsize(kind)}{kind}", data[8 + size + begin:8 + size + end])
    offsets = found["word_offsets"]
    counts = [[0] * len(found["alpha"]) for _ in offsets[1:]]
    for w in range(len(counts)):
        for e in range(offsets[w], offsets[w + 1]):
            counts[w][found["word_topics"][e]] = found["word_counts"][e]
    return counts, found["alpha"], float(header["__metadata__"]["beta"])


def word_probabilities(counts, beta):
    totals = [sum(column) + len(counts) * beta for column in zip(*counts)]
    return [[(n + beta) / total for n, total in zip(row, totals)] for row in counts]


def topics_by_gibbs(chance, tokens, phi, alpha):
    """The mean of the last 25 of 50 sweeps, drawn in the plainest way."""
    topics, of, kept = range(len(alpha)), [None] * len(tokens), [0.0] * len(alpha)
    n = [0] * len(alpha)
    for sweep in range(50):
        for t, word in enumerate(tokens):
            if of[t] is not None:
                n[of[t]] -= 1
            of[t] = chance.choices(topics, [(n[k] + alpha[k]) * phi[word][k] for k in topics])[0]
            n[of[t]] += 1
        kept = [a + b / 25 for a, b in zip(kept, n)] if sweep >= 25 else kept
    return [(m + a) / (len(tokens) + sum(alpha)) for m, a in zip(kept, alpha)]


def sampling_written_apart_agrees(documents):
    """Probabilities and perplexity scatter with the draws, so means over documents are compared, each with 4 standard errors and more."""
    counts, alpha, beta = tensors("t.model")
    phi, chance = word_probabilities(counts, beta), random.Random(6)
    drawn, log_probability, tokens = probabilities("t.model", "new.dw"), 0.0, 0
    apart, twice = 0.0, 0.0
    for row, words in zip(drawn, documents):
        all_tokens = [w for w, n in words.items() for _ in range(n)]
        assert abs(sum(row) - 1) < 1e-12
        one, other = topics_by_gibbs(chance, all_tokens, phi, alpha), topics_by_gibbs(chance, all_tokens, phi, alpha)
        apart += sum((a - b) ** 2 for a, b in zip(row, one))
        twice += sum((a - b) ** 2 for a, b in zip(other, one))
        for _ in range(3):
            chance.shuffle(all_tokens)
            first = len(all_tokens) - len(all_tokens) // 2
            theta = topics_by_gibbs(chance, all_tokens[:first], phi, alpha) if first < len(all_tokens) else None
            for word in all_tokens[first:]:
                log_probability += math.log(sum(t * p for t, p in zip(theta, phi[word])))
                tokens += 1
    assert apart < 1.6 * twice + 1e-9, (apart, twice)  # as far as two samplers of one distribution are
    found = measures("t.model", "new.dw")
    assert found["tokens"] * 3 == tokens and found["documents"] == sum(sum(words.values()) > 1 for words in documents)
    assert abs(math.log(found["perplexity"]) + log_probability / tokens) < 0.05, (found, math.exp(-log_probability / tokens))


def a_word_of_one_topic_has_a_closed_form():
    """Each word has one topic alone and beta is next to nothing: all tokens of a document of one word have its topic."""
    with open("apart.dw", "w") as out:
        out.write("2\n2\n2\n1 1 1000\n2 2 1000\n")
    call("train", "lda", "apart.dw", "--topics", "2", "--alpha", "0.25", "--beta", "1e-9", "--optimize-every", "0", "--iterations", "300", "--workers", "1", "-q", "-o", "apart.model")
    counts, alpha, beta = tensors("apart.model")
    assert sorted(map(sorted, counts)) == [[0, 1000], [0, 1000]], counts
    with open("one.dw", "w") as out:
        out.write("3\n2\n2\n1 1 7\n3 2 1\n")
    theta, first = (4 + 0.25) / (4 + 0.5), counts[0].index(1000)  # 4 of 7 tokens are in the first half
    found = measures("apart.model", "one.dw")
    assert found["tokens"] == 3 and found["documents"] == 1 and math.isclose(found["perplexity"], 1 / theta, rel_tol=1e-7), found
    rows = probabilities("apart.model", "one.dw")
    assert math.isclose(rows[0][first], 7.25 / 7.5) and rows[1] == [0.5, 0.5] and math.isclose(rows[2][1 - first], 1.25 / 1.5), rows


def topics_are_listed():
    """Share and words of each topic, and the facts, recomputed from the tensors."""
    counts, _, beta = tensors("counts.model")
    phi, totals = word_probabilities(counts, beta), [sum(column) for column in zip(*counts)]
    lines, blocks = call("info", "counts.model", "--top", "7").stdout.splitlines(), []
    for line in lines:
        if line.startswith("topic "):
            blocks.append((line, []))
        else:
            blocks[-1][1].append(line.split())
    found = json.loads(call("info", "counts.model", "--json", "--coefficients").stdout)
    assert len(blocks) == len(found["coefficients"]) == 4
    for k, (head, words) in enumerate(blocks):
        order = sorted((w for w in range(WORDS) if counts[w][k]), key=lambda w: (-counts[w][k], w))
        expected = [(f"word{w:02d}", phi[w][k]) for w in order]
        assert head == f"topic {k}: share {totals[k] / sum(totals):.4g}", head
        assert [word for word, _ in words] == [word for word, _ in expected[:7]], (words, expected)
        assert all(math.isclose(float(a), b, rel_tol=1e-9) for (_, a), (_, b) in zip(words, expected))
        one = found["coefficients"][k]
        assert one["topic"] == k and math.isclose(one["share"], totals[k] / sum(totals)), one
        assert [w["word"] for w in one["words"]] == [word for word, _ in expected]
        assert all(math.isclose(w["probability"], p) for w, (_, p) in zip(one["words"], expected))
    assert found["names"] == [f"word{w:02d}" for w in range(WORDS)] and found["tokens"] == sum(totals) and found["algorithm"] == "lda"
    assert found["options"]["topics"] == "4" and found["topics"] == 4 and "coefficients" not in json.loads(call("info", "counts.model", "--json").stdout)
    with open("line.csv", "w") as out:
        out.write("y,5\n1,1\n2,2\n3,3.5\n")
    call("train", "lasso", "line.csv", "--header", "yes", "--lambda", "0.1", "-q", "-o", "line.model")
    found = json.loads(call("info", "line.model", "--json").stdout)
    assert found["algorithm"] == "lasso" and isinstance(found["lambda"], float) and found["rows"] == 3 and (found["target"], found["options"]["lambda"]) == ("y", "0.1")
    refused("prints lines of this model; leave --json out", "info", "line.model", "--json", "--top", "3", status=2)
    refused("--json", "info", "line.model", "--json", "--path", status=2)


def coherence_by_definition(counts, documents):
    """The mean over topics of the mean over pairs of their ten likeliest words."""
    def of_pair(one, other):
        p, q, both = (sum(have(words) for words in documents) / len(documents) for have in (lambda d: one in d, lambda d: other in d, lambda d: one in d and other in d))
        return -1.0 if both == 0 else 1.0 if both == 1 else math.log(both / (p * q)) / -math.log(both)

    means = []
    for k in range(len(counts[0])):
        top = sorted((w for w in range(len(counts)) if counts[w][k]), key=lambda w: (-counts[w][k], w))[:10]
        pairs = [of_pair(one, other) for place, one in enumerate(top) for other in top[:place]]
        means += [sum(pairs) / len(pairs)] if pairs else []
    return sum(means) / len(means) if means else None


def coherence_is_that_of_the_definition(documents):
    """Words that all documents have, that never meet, and a topic of one word; over nodes too."""
    train = ("train", "lda", "new.dw", "--topics", "4", "--iterations", "12", "-q", "--json", "-o", "coherent.model")
    for launch, options in (((), ("--workers", "1")), (("run", "-n", "2", "--"), ("--workers", "2")), ((), ("--workers", "3", "--type", "f32"))):
        said = json.loads(call(*launch, *train, *options).stdout.splitlines()[-1])
        expected = coherence_by_definition(tensors("coherent.model")[0], documents)
        assert math.isclose(said["coherence"], expected, rel_tol=1e-12), (options, said["coherence"], expected)
        assert json.loads(call("info", "coherent.model", "--json").stdout)["coherence"] == said["coherence"]
    every = [{0: 1, 1: 2, 2: 1}, {0: 3, 1: 1, 3: 1}, {0: 1, 1: 1, 4: 2}]
    with open("every.svm", "w") as out:
        out.writelines("0" + "".join(f" {w + 1}:{n}" for w, n in words.items()) + "\n" for words in every)
    for options in (("--topics", "2"), ("--topics", "9", "--optimize-every", "0", "--alpha", "1e-3", "--beta", "1e-3")):
        said = json.loads(call("train", "lda", "every.svm", *options, "--workers", "1", "-q", "--json", "-o", "every.model").stdout)
        expected = coherence_by_definition(tensors("every.model")[0], every)
        assert said["coherence"] == expected if expected is None else math.isclose(said["coherence"], expected, rel_tol=1e-12), (said["coherence"], expected)
    with open("single.svm", "w") as out:
        out.write("0 1:9\n")
    assert json.loads(call("train", "lda", "single.svm", "--topics", "2", "-q", "--json", "-o", "every.model").stdout)["coherence"] is None


def what_is_left_out_is_said():
    with open("odd.txt", "w") as out:
        out.write("word01 zebra word02 word01\n\nZEBRA gnu\n")
    said = call("predict", "text.model", "odd.txt", "--proba")
    rows = [list(map(float, line.split(","))) for line in said.stdout.splitlines()]
    counts, alpha, beta = tensors("text.model")
    prior = [a / sum(alpha) for a in alpha]
    assert "words that are not in the model were left out: 3" in said.stderr, said.stderr
    assert all(math.isclose(a, b) for row in rows[1:] for a, b in zip(row, prior)) and len(rows) == 3, rows
    found = measures("text.model", "odd.txt")
    assert found["unseen_words"] == 3 and found["documents"] == 1 and found["tokens"] == 1, found
    with open("odd.svm", "w") as out:
        out.write("0 1:2 99:4\n0 77:1\n")
    said = call("evaluate", "t.model", "odd.svm").stderr
    assert "columns that are not in the model were left out: 2, with 2 entries" in said, said
    with open("none.svm", "w") as out:
        out.write("0 1:1\n0\n")
    found = measures("t.model", "none.svm")
    assert found["perplexity"] is None and "no document has two words that the model knows" in found["notes"][0], found
    with open("ids.csv", "w") as out:
        out.write("id," + ",".join(f"word{w:02d}" for w in range(WORDS)) + "\na," + "1," * (WORDS - 1) + "0\n")
    said = call("predict", "counts.model", "ids.csv", "--id", "id", "--ignore", "id", "--proba", "-q").stdout.splitlines()
    assert said[0] == "id,topic_0,topic_1,topic_2,topic_3" and said[1].startswith("a,"), said


def what_is_wrong_is_refused():
    with open("weights", "w") as out:
        out.write("1\n" * DOCUMENTS)
    with open("many.dw", "w") as out:
        out.write("1\n2\n2\n1 1 2147483647\n1 2 2147483647\n")
    for name, text, place in (("half.csv", "1,2\n1,2.5\n", "2:3"), ("half.svm", "# c\n0 1:2\n3.5 1:1 2:-1 # 9:9\n", "3:11"), ("half.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n2 2 1e10\n", "4:5"),
                              ("half.dw", "2\n2\n2\n1 1 1\n2 2 0.5\n", "5:5"), ("long.svm", "0 1:1e0 2:0.12345678901234567890\n", "1:11")):
        with open(name, "w") as out:
            out.write(text)
        target = ("--target", "none") if name.endswith(".csv") else ()
        for words in (("predict", "apart.model"), ("evaluate", "apart.model"), *([] if target else [("train", "lda")])):
            refused(rf"{name}:{place}: \S+ is no count; topics need whole numbers from 0 to 2147483647", *words, name, *target, status=3)
        if not target:
            refused(rf"{name}:{place}: \S+ is no count", "run", "-n", "2", "--", "train", "lda", name, status=3)
    refused("half.svm:3:11: -1 is no count", "train", "lda", "new.svm", "--validation", "half.svm", status=3)
    call("data", "convert", "half.svm", "-o", "half.hwc", "--quiet")
    refused("row 2, column 2: -1 is no count", "train", "lda", "half.hwc", status=3)
    with open("dense.csv", "w") as out:
        out.write("1,2\n3,4\n")
    refused("the data are dense, as CSV", "train", "lda", "dense.csv", status=3)
    for words in (("evaluate", "t.model", "new.dw"), ("train", "lda", "new.dw"), ("train", "lda", "new.txt", "--format", "text"),
                  ("run", "-n", "2", "--", "train", "lda", "new.dw")):
        refused("--weights: lda has no weights of rows; leave it out", *words, "--weights", "weights", status=2)
    refused("no linear predictor", "predict", "t.model", "new.dw", "--link", status=2)
    refused("--labels: a model of lda predicts numbers, not labels", "predict", "t.model", "new.dw", "--labels", status=2)
    refused("--offset: a model of lda has no offset", "predict", "t.model", "new.dw", "--offset", "weights", status=2)
    said = call("train", "lda", "--help-all").stdout
    assert "--topics" in said and "--weights" not in said and "--offset" not in said and "--exposure" not in said, said
    assert "--weights" in call("train", "kmeans", "--help-all").stdout


def bags_that_are_almost_none():
    """A bag of words is one by its sizes: without entries it has no words, and a count that is none is refused where it is."""
    for text, what in (("3\n4\n0\n", "all counts are 0"), ("7\r\n2\r\n0\r\n\r\n", "all counts are 0"), ("3\n4\n2\n", "declares 2 entries, but the file has 0"),
                       ("3\n4\n1\n1 1 1.5\n", "bag.txt:4:5: 1.5 is no count"), ("3\n4\n1\n1 2 -1\n", "bag.txt:4:5: -1 is no count"),
                       ("3\n4\n1\n1 1 nan\n", "bag.txt:4:5"), ("3\n4\n1\n1 1 2 7\n", "bag.txt:4:7")):
        with open("bag.txt", "w", newline="") as out:
            out.write(text)
        refused(what, "train", "lda", "bag.txt", status=3)
        refused(what, "run", "-n", "2", "--", "train", "lda", "bag.txt", status=3)
    with open("bag.txt", "w") as out:
        out.write("3\n40\n0\n")
    found = call("predict", "t.model", "bag.txt", "--proba").stdout.splitlines()
    assert len(found) == 3 and len(set(found)) == 1, found
    refused("is a Matrix Market file by its first bytes", "train", "lda", "new.dw", "--format", "text", status=3)


def validation_reads_as_evaluation():
    """Other data of a training on text are read as `evaluate` reads them: by what they are, and not as text because the training's data are."""
    train = ("train", "lda", "new.txt", "--format", "text", "--topics", "2", "--iterations", "10", "--seed", "3", "-q")
    call(*train, "-o", "text.model")
    with open("lines.csv", "w") as out:
        out.write("word01,word02\n1,2\n")
    for name in "new.txt", "new.csv":
        target = ("--target", "none")
        there = json.loads(call("evaluate", "text.model", name, *target, "--json").stdout.splitlines()[-1])["perplexity"]
        here = json.loads(call(*train, "--validation", name, *target, "--json").stdout.splitlines()[-1])["perplexity"]
        assert there == here is not None, (name, there, here)
    refused("has no column", *train, "--validation", "lines.csv", status=3)


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        chance = random.Random(5)
        write_forms(draw_documents(chance, 200, 60))
        os.rename("new.dw", "train.dw")
        call("train", "lda", "train.dw", "--topics", str(GROUPS), "--alpha", "0.3", "--iterations", "100", "--workers", "1", "-q", "-o", "t.model")
        documents = draw_documents(chance, DOCUMENTS, 30)
        write_forms(documents)
        every_form_has_the_same_bits()
        nodes_and_pieces_change_nothing()
        sampling_written_apart_agrees(documents)
        a_word_of_one_topic_has_a_closed_form()
        topics_are_listed()
        coherence_is_that_of_the_definition(documents)
        what_is_left_out_is_said()
        what_is_wrong_is_refused()
        bags_that_are_almost_none()
        validation_reads_as_evaluation()
    print("ok")


main()
