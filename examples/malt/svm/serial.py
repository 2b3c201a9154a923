"""A linear support vector machine by stochastic gradient descent, after Bottou (2010), in one process.

    python3 serial.py TRAIN TEST [lambda] [epochs]

It minimises lambda / 2 ||w||^2 + mean max(0, 1 - y (w x + b)). TRAIN and TEST are svmlight files with labels 1 and -1. parallel.py is the same
program on several processes; README.md counts the lines that differ.
"""
import pathlib
import sys

import numpy


def lines_of(path):
    try:
        return pathlib.Path(path).read_text().splitlines()
    except (OSError, ValueError) as error:
        sys.exit(f"{path}: cannot be read: {error}")


def read_rows(path):
    """Returns the labels, and the columns and values of each row."""
    labels, rows = [], []
    for number, line in enumerate(lines_of(path), 1):
        try:
            label, *entries = line.split()
            pairs = [entry.split(":") for entry in entries]
            columns = numpy.array([int(column) - 1 for column, _ in pairs], int)
            values = numpy.array([float(value) for _, value in pairs])
            labels.append({1.0: 1.0, -1.0: -1.0}[float(label)])
        except (KeyError, ValueError) as error:
            sys.exit(f"{path}:{number}: no row of svmlight with the label 1 or -1: {error}")
        if (columns < 0).any() or not numpy.isfinite(values).all():
            sys.exit(f"{path}:{number}: columns count from 1, and values are finite")
        rows.append((columns, values))
    if not rows:
        sys.exit(f"{path}: has no rows")
    return numpy.array(labels), rows


class Model:
    """The weights are `scale` times the first numbers of `v`, and the last one is the bias."""

    def __init__(self, columns):
        self.v, self.scale = numpy.zeros(columns + 1), 1.0

    def margin(self, y, row):
        columns, values = row
        known = columns < len(self.v) - 1
        return y * (self.scale * (self.v[columns[known]] @ values[known]) + self.v[-1])

    def fold(self):
        self.v[:-1] *= self.scale
        self.scale = 1.0

    def step(self, y, row, lambda_, eta):
        loss = 1 - self.margin(y, row)
        self.scale *= 1 - eta * lambda_
        if self.scale < 1e-9:
            self.fold()
        if loss > 0:
            columns, values = row
            self.v[columns] += eta * y / self.scale * values
            self.v[-1] += 0.01 * eta * y  # the bias has no penalty, and a smaller rate

    def objective(self, labels, rows, lambda_):
        """Returns the objective, and the share of rows that are wrong."""
        margins = numpy.array([self.margin(y, row) for y, row in zip(labels, rows)])
        penalty = lambda_ / 2 * self.scale**2 * (self.v[:-1] @ self.v[:-1])
        return numpy.maximum(0, 1 - margins).mean() + penalty, (margins <= 0).mean()


def best_rate(columns, labels, rows, lambda_):
    """Tries powers of 2 as rates, each for a pass over the first rows, and returns the one with the least objective."""
    found, sample = {}, slice(0, 1000)
    for rate in 2.0 ** numpy.arange(-8, 5):
        model = Model(columns)
        for t, (y, row) in enumerate(zip(labels[sample], rows[sample])):
            model.step(y, row, lambda_, rate / (1 + lambda_ * rate * t))
        found[rate] = model.objective(labels[sample], rows[sample], lambda_)[0]
    return min(found, key=found.get)


def train(labels, rows, lambda_, epochs):
    columns, t = max(columns.max(initial=-1) for columns, _ in rows) + 1, 0
    model, draw = Model(columns), numpy.random.default_rng(1)
    rate = best_rate(columns, labels, rows, lambda_)
    for _ in range(epochs):
        for i in draw.permutation(len(rows)):
            model.step(labels[i], rows[i], lambda_, rate / (1 + lambda_ * rate * t))
            t += 1
    model.fold()
    return model


def main():
    if len(sys.argv) < 3:
        sys.exit("give TRAIN and TEST, and maybe lambda and the number of epochs")
    labels, rows = read_rows(sys.argv[1])
    lambda_ = float(sys.argv[3]) if len(sys.argv) > 3 else 1e-4
    epochs = int(sys.argv[4]) if len(sys.argv) > 4 else 5
    if lambda_ <= 0 or epochs < 1:
        sys.exit("lambda and the number of epochs must be above 0")
    model = train(labels, rows, lambda_, epochs)
    found, _ = model.objective(labels, rows, lambda_)
    _, wrong = model.objective(*read_rows(sys.argv[2]), lambda_)
    print(f"objective {found:.6f}, {100 * wrong:.2f} % of the test rows are wrong")


main()
