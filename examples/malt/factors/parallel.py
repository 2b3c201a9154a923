"""Matrix factorisation by stochastic gradient descent, one rating after another, on several processes.

    hawser run -n 4 -- python3 parallel.py TRAIN TEST [epochs] [rank]

A line of TRAIN and TEST is "user item rating", numbers from 0. A rating is predicted as mean + p_user q_item. It minimises the sum of
(rating - prediction)^2 + PENALTY (||p_user||^2 + ||q_item||^2). serial.py is the same program in one process; README.md counts the lines
that differ.
"""
import pathlib
import sys

import numpy

import hawser

RATE, PENALTY = 0.02, 0.02
BATCH = 100  # ratings between two exchanges
replicas = hawser.Replicas()


def read_ratings(path):
    try:
        lines = pathlib.Path(path).read_text().splitlines()
        table = numpy.array([line.split() for line in lines], float)
    except (OSError, ValueError) as error:
        sys.exit(f"{path}: {str(error).splitlines()[0]}")
    if table.ndim != 2 or table.shape[1] != 3 or not numpy.isfinite(table).all() or (table[:, :2] < 0).any():
        sys.exit(f"{path}: expected lines of: user item rating")
    return table[:, 0].astype(int), table[:, 1].astype(int), table[:, 2]


class Model:
    """Row r has the factors of user r, or of item r - users."""

    def __init__(self, users, items, ratings, rank, draw):
        self.users, self.items = users.max() + 1, items.max() + 1
        self.mean = ratings.mean()
        self.rows = draw.uniform(-0.5, 0.5, (self.users + self.items, rank)) / numpy.sqrt(rank)

    def step(self, user, item, rating):
        p, q = self.rows[user], self.rows[self.users + item]
        error = rating - self.mean - p @ q
        change = RATE * (error * q - PENALTY * p)
        q += RATE * (error * p - PENALTY * q)
        p += change

    def root_mean_square(self, users, items, ratings):
        """Returns the error over the users and items that the model has."""
        known = (users < self.users) & (items < self.items)
        products = self.rows[users[known]] * self.rows[self.users + items[known]]
        errors = ratings[known] - self.mean - products.sum(axis=1)
        return numpy.sqrt((errors**2).mean())


def train(users, items, ratings, epochs, rank):
    draw = numpy.random.default_rng(1)
    model = Model(users, items, ratings, rank, draw)
    w = replicas.vector("w", model.rows.size, sparse=True, width=rank, sync="bsp")
    touched, t = [], 0
    for _ in range(epochs):
        order = draw.permutation(len(ratings))
        for i in order[users[order] % replicas.nodes == replicas.node]:
            model.step(users[i], items[i], ratings[i])
            touched += [users[i], model.users + items[i]]
            if len(touched) == 2 * BATCH:
                keys = numpy.unique(touched)
                w.scatter(model.rows[keys], keys=keys, iteration=t)
                w.gather(model.rows, iteration=t, by="replace")
                touched, t = [], t + 1
    w.finish(model.rows)
    return model


def main():
    if len(sys.argv) < 3:
        sys.exit("give TRAIN and TEST, and maybe the numbers of epochs and of factors")
    data, test = read_ratings(sys.argv[1]), read_ratings(sys.argv[2])
    epochs = int(sys.argv[3]) if len(sys.argv) > 3 else 20
    rank = int(sys.argv[4]) if len(sys.argv) > 4 else 8
    if epochs < 1 or rank < 1:
        sys.exit("the numbers of epochs and of factors must be above 0")
    model = train(*data, epochs, rank)
    if replicas.node == 0:
        print(f"root mean square error {model.root_mean_square(*data):.4f}, of the test {model.root_mean_square(*test):.4f}")


main()
