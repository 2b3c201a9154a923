"""The problems, hosts and settings of experiments/adaptive, and the cells of its table."""
import random

from boxed import common

RATES = ("10mbit", "100mbit", "1gbit")
ROUNDS = ["--exchange-every", "1"]
URL, DENSE = ("url", 3000, 3000, "--per-row", 40), ("dense", 300, 64)
RATINGS, CLASSES = ("ratings", 1000, 1000, 40), ("classes", 8000, 1000, 20)
# Data, the seconds of a stored entry, and the words of the training or of the example. Most constants of src/adapt/ were
# set on lasso and factors, those for noisy metrics on mini-batches; the other problems check them.
PROBLEMS = {
    "lasso": (URL, "100ns", ["lasso", "--solver", "cd", "--tol", "1e-4", "--lambda-ratio", "0.01"]),
    "correlated": (DENSE, "100ns", ["lasso", "--solver", "cd", "--tol", "1e-4", "--lambda-ratio", "0.05"]),
    "ridge": (URL, "100ns", ["lasso", "--l1-ratio", "0", "--solver", "cd", "--tol", "1e-2", "--lambda", "0.01"]),
    "wide lasso": (URL, "100ns", ["lasso", "--solver", "cd", "--tol", "0.3", "--lambda-ratio", "0.1"]),
    "factors": (RATINGS, "1us", ["--until", "0.1"]),
    "mini-batches": (CLASSES, "1us", ["--until", "0.33"])}
EXAMPLES = {"factors": "factors-simulated", "mini-batches": "minibatch-simulated"}  # programs of examples/; the others are those of `hawser train`


def hosts_of(nodes):
    def links(moment, rate):
        return ["--fault", ";".join(f"t={moment} rate {node} {rate}" for node in range(nodes))]
    return {"even": [], "one slow": ["--fault", "t=0 slow 2 4"], "slow in turn": ["--fault", "turn slow 4 every 1 clocks"],
            "1gbit from 1 s on": links(1, "1gbit"), "10mbit from 0.3 s on": links(0.3, "10mbit")}


def cells_of(problem, nodes, rates=RATES):
    """A link that keeps its rate is no change."""
    return [(problem, nodes, rate, hosts) for rate in rates for hosts in hosts_of(nodes) if not hosts.startswith(rate)]


CELLS = [*cells_of("lasso", 4), *cells_of("lasso", 8), *cells_of("correlated", 4), *cells_of("correlated", 8, RATES[:2]), *cells_of("ridge", 4),
         *(cell for problem in EXAMPLES for nodes in (4, 8) for cell in cells_of(problem, nodes)),
         *((problem, 64, "100mbit", "even") for problem in ("wide lasso", "ridge", *EXAMPLES))]


# The runs in the plot of timelines: the name, the cell, and further options.
TIMELINES = [("lasso, 10 Mbit/s", ("lasso", 4, "10mbit", "even"), ()),
             ("mini-batches, 10 Mbit/s, one slow", ("mini-batches", 4, "10mbit", "one slow"), ()),
             ("factors, 100 Mbit/s, slow in turn", ("factors", 4, "100mbit", "slow in turn"), ()),
             ("mini-batches, from 100 to 10 Mbit/s", ("mini-batches", 4, "100mbit", "10mbit from 0.3 s on"), ()),
             ("mini-batches, 100 Mbit/s, slow in turn", ("mini-batches", 4, "100mbit", "slow in turn"), ()),
             ("factors with a filter, 10 Mbit/s", ("factors", 4, "10mbit", "even"), ("--filter", "absolute", "--quota", "auto"))]


def rounds_of(nodes):
    half = ["--sigma", str(nodes // 2)]
    return {"default": ROUNDS, "bf16": [*ROUNDS, "--encoding", "bf16"], "int8": [*ROUNDS, "--encoding", "int8"], "sigma' / 2": [*ROUNDS, *half],
            "int8, sigma' / 2": [*ROUNDS, "--encoding", "int8", *half], "H 4": ["--exchange-every", "4"], "H 2, sigma' / 2": ["--exchange-every", "2", *half],
            "H 0.25": ["--exchange-every", "0.25"], "ssp:1": [*ROUNDS, "--sync", "ssp:1"], "ssp:3": [*ROUNDS, "--sync", "ssp:3"],
            "int8, ssp:1": [*ROUNDS, "--encoding", "int8", "--sync", "ssp:1"], "auto": [*ROUNDS, "--auto"]}


def steps():
    int8, four, late = ["--encoding", "int8"], ["--exchange-every", "4"], ["--sync", "ssp:1"]
    return {"default": [], "bf16": ["--encoding", "bf16"], "int8": int8, "H 2": ["--exchange-every", "2"], "H 4": four, "H 0.25": ["--exchange-every", "0.25"],
            "ssp:1": late, "ssp:3": ["--sync", "ssp:3"], "int8, ssp:1": [*int8, *late], "int8, H 4": [*int8, *four], "H 4, ssp:1": [*four, *late],
            "int8, H 4, ssp:1": [*int8, *four, *late], "auto": ["--auto"]}


def settings_of(problem, nodes):
    return steps() if problem in EXAMPLES else rounds_of(nodes)


def write_ratings(path, users, items, per_user):
    """Ratings of rank 3, with noise of 0.05."""
    chance = random.Random(5)
    of_users, of_items = ([[chance.random() for _ in range(3)] for _ in range(count)] for count in (users, items))
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"%%MatrixMarket matrix coordinate real general\n{users} {items} {users * per_user}\n")
        for i, user in enumerate(of_users):
            for j in sorted(chance.sample(range(items), per_user)):
                file.write(f"{i + 1} {j + 1} {sum(a * b for a, b in zip(user, of_items[j])) + chance.gauss(0, 0.05):.6f}\n")


def write_classes(path, rows, columns, per_row):
    """Two classes that depend on the first 50 columns. Half of a row's entries are in these."""
    chance, telling = random.Random(4), 50
    weights = [chance.gauss(0, 1) for _ in range(telling)] + [0] * (columns - telling)
    with open(path, "w", encoding="utf-8") as file:
        for _ in range(rows):
            chosen = sorted(chance.sample(range(telling), per_row // 2)) + sorted(chance.sample(range(telling, columns), per_row - per_row // 2))
            row = {j: chance.gauss(0, 1) for j in chosen}
            margin = sum(weights[j] * value for j, value in row.items()) + chance.gauss(0, 0.5)
            file.write(f"{1 if margin > 0 else -1} " + " ".join(f"{j + 1}:{value:.4f}" for j, value in row.items()) + "\n")


WRITERS = {"ratings": (write_ratings, "mtx"), "classes": (write_classes, "svm")}


def make(hawser, folder, kind, rows, columns, *more):
    """The file of a problem's data. It is made once."""
    folder.mkdir(parents=True, exist_ok=True)
    write, extension = WRITERS.get(kind, (None, "svm"))
    path = folder / f"adaptive-{kind}-{rows}.{extension}"
    if not path.exists() and write is not None:
        write(path, rows, columns, *more)
    elif not path.exists():
        words = [hawser, "data", "generate", kind, "-o", path, "--rows", rows, "--cols", columns, *more, "--seed", 3]
        common.run(words)
    return path
