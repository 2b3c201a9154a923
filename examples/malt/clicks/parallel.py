"""A network of three layers that predicts clicks, by stochastic gradient descent, on several processes.

    hawser run -n 4 -- python3 parallel.py TRAIN TEST [epochs] [rate]

A line of TRAIN and TEST is "label feature feature ...": 1 for a click, else 0, and the numbers of the features that the example has, from 0. It prints
the mean log loss, and the area under the ROC curve: the share of pairs of a click and another example in which the click has the higher score.
serial.py is the same program in one process; README.md counts the lines that differ.
"""
import pathlib
import sys

import numpy

import hawser

WIDTHS = (16, 8, 1)
mixing = hawser.LocalSGD(dataflow="halton", every=100)


def lines_of(path):
    try:
        return pathlib.Path(path).read_text().splitlines()
    except (OSError, ValueError) as error:
        sys.exit(f"{path}: cannot be read: {error}")


def read_examples(path):
    """Returns the labels and the features of each example."""
    labels, features = [], []
    for number, line in enumerate(lines_of(path), 1):
        try:
            label, *words = line.split()
            labels.append({"0": 0.0, "1": 1.0}[label])
            features.append(numpy.array([int(word) for word in words], int))
        except (KeyError, ValueError) as error:
            sys.exit(f"{path}:{number}: expected 0 or 1, and numbers of features: {error}")
        if (features[-1] < 0).any():
            sys.exit(f"{path}:{number}: a feature is negative")
    if not labels:
        sys.exit(f"{path}: has no examples")
    return numpy.array(labels), features


class Network:
    """Layer l has a row of weights for each input, and a last one of biases."""

    def __init__(self, features, draw):
        inputs = (features, *WIDTHS[:-1])
        self.layers = [draw.uniform(-1, 1, (count + 1, width)) * (0.5 if place == 0 else count**-0.5)
                       for place, (count, width) in enumerate(zip(inputs, WIDTHS))]

    def forward(self, features):
        """Returns the outputs of each layer; the last one is the score, the logarithm of the odds of a click."""
        first, second, third = self.layers
        one = numpy.tanh(first[features[features < len(first) - 1]].sum(axis=0) + first[-1])
        two = numpy.tanh(one @ second[:-1] + second[-1])
        return one, two, two @ third[:-1] + third[-1]

    def step(self, label, features, rate):
        first, second, third = self.layers
        one, two, score = self.forward(features)
        by_score = 1 / (1 + numpy.exp(-score)) - label
        by_two = third[:-1] @ by_score * (1 - two**2)
        by_one = second[:-1] @ by_two * (1 - one**2)
        third[:-1] -= rate * numpy.outer(two, by_score)
        second[:-1] -= rate * numpy.outer(one, by_two)
        numpy.subtract.at(first, features, rate * by_one)
        for layer, by_output in zip(self.layers, (by_one, by_two, by_score)):
            layer[-1] -= rate * by_output

    def report(self, labels, examples):
        scores = numpy.array([self.forward(features)[2][0] for features in examples])
        loss = numpy.logaddexp(0, numpy.where(labels == 1, -scores, scores)).mean()
        gaps = scores[labels == 1][:, None] - scores[labels == 0]
        return f"log loss {loss:.4f}, area {(gaps > 0).mean() + (gaps == 0).mean() / 2:.4f}"


def train(labels, examples, epochs, rate):
    draw = numpy.random.default_rng(1)
    network = Network(max(features.max(initial=-1) for features in examples) + 1, draw)
    for _ in range(epochs):
        for i in draw.permutation(len(examples))[mixing.node::mixing.nodes]:
            network.step(labels[i], examples[i], rate)
            mixing.step(network.layers)
    mixing.finish(network.layers)
    return network


def main():
    if len(sys.argv) < 3:
        sys.exit("give TRAIN and TEST, and maybe the number of epochs and the rate")
    data, test = read_examples(sys.argv[1]), read_examples(sys.argv[2])
    epochs = int(sys.argv[3]) if len(sys.argv) > 3 else 10
    rate = float(sys.argv[4]) if len(sys.argv) > 4 else 0.05
    if epochs < 1 or rate <= 0:
        sys.exit("the number of epochs and the rate must be above 0")
    network = train(*data, epochs, rate)
    if mixing.node == 0:
        print(network.report(*test))


main()
