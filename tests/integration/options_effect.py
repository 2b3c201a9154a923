#!/usr/bin/env python3
"""Every option of a training changes its results, is among the few that change no number (EFFECT_ELSEWHERE), or is refused or noted by name because it
can do nothing: with one worker, several workers and several nodes, from the command line, the environment and a configuration file. A plan
accepts, refuses and notes what the training does."""
import json
import os
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["HAWSER_SOURCE"], "tests", "helpers"))
import command

SMALL = "d.csv"
LONG = bool(os.environ.get("HAWSER_TEST_LONG"))
# Options that are used, but change neither the model nor its numbers here: limits that are not reached, other outputs, where the work is done.
EFFECT_ELSEWHERE = {
    "validation", "max-clocks", "time-limit", "grace", "unit-warning", "unit-timeout", "timeout", "slow", "record-history", "check", "rehearse", "trace", "plot", "log-view",
    "log-json", "threads", "memory-limit", "format", "header", "delimiter", "categories", "missing", "alone", "seed", "lambda-ratio", "exchange", "kkt-filter",
}
# Outputs of a training, which a plan does not have.
OF_TRAININGS = {"record-history", "save-decisions", "replay-decisions", "trace", "plot", "log-view", "log-json"}
# Options that only have a use with several nodes. Of these a file or the environment may set any for all jobs, so they are noted only if they are typed.
OF_NODES = {"topology": "tree", "backlog": "2k", "rate": "10M", "transport": "tcp", "trust-fabric": "yes", "failure-timeout": "4", "join-timeout": "50",
            "interface": "127.0.0.1", "port-range": "7000-7900", "node-name": "birch", "key-file": "key", "listen": "1"}
EXCHANGE = {"auto": "yes", "save-decisions": "decisions", "replay-decisions": "decisions", "learn": "settings", "sync": "ssp:2", "exchange-every": "0.5", "filter": "absolute", "quota": "64", "max-held-clocks": "3", "encoding": "bf16", "merge": "average"}
# Settings that a run may change by itself. Of one host's short trainings nothing asks for that: what cannot change is refused by name.
ADAPTING = {"sync": ("auto",), "exchange-every": ("auto:0.5",), "encoding": ("auto",), "quota": ("auto", "--filter", "absolute")}
COMMON = {"seed": "9", "max-clocks": "1000", "time-limit": "100", "grace": "7", "unit-warning": "5", "unit-timeout": "50", "timeout": "60", "slow": "0:1.5",
          "record-history": "history", "check": "yes", "rehearse": "3", "trace": "t.csv", "plot": "p.svg", "log-view": "yes", "log-json": "j.jsonl", "validation": SMALL,
          "threads": "1", "memory-limit": "1G", "format": "csv", "header": "yes", "delimiter": ",", "categories": "none", "missing": "zero", "type": "f32",
          "columns": "a,b", "alone": "yes", "init-if-exists": "yes", "index-base": "1"}
FOLDS = {"path": "3", "cv": "3", "folds": "folds"}
LINEAR = {**FOLDS, "l1-ratio": "0.5", "lambda-min-ratio": "0.1", "cv-rule": "min", "tol": "1e-3", "intercept": "no", "standardize": "yes"}
COLUMNS = {**LINEAR, "cv-metric": "mae", "validation-fraction": "0.2", "sigma": "3", "certify-every": "3", "penalty-factors": "factors", "lower": "0",
           "upper": "0.1", "early-stopping": "3", "early-stopping-min-delta": "0.1"}
TARGETS = {key: value for key, value in COLUMNS.items() if key not in ("lower", "upper")}
DESCENT = {"solver": "sgd", "step": "0.01", "batch": "8", "epochs": "3", "exchange": "weights"}
OWN = {
    "lasso": {**COLUMNS, "solver": "cd"},
    "kmeans": {"clusters": "5", "starts": "3", "init-method": "random", "centres": "centres.csv", "tol": "0.1", "max-iterations": "2", "batch": "8", "epochs": "3",
               "patience": "2", "arithmetic": "f32", "early-stopping": "3", "early-stopping-min-delta": "0.1"},
    "svm": {**FOLDS, "C": "2", "loss": "squared-hinge", "cv-rule": "1se", "cv-metric": "loss", "epsilon": "0.2", "intercept": "no", "solver": "dual",
            "tol": "0.1", "max-iterations": "2", "class-weight": "balanced", "early-stopping": "3", "early-stopping-min-delta": "0.1"},
    "softmax": {**LINEAR, "C": "2", "cv-metric": "accuracy", "max-iterations": "2", "class-weight": "balanced", "early-stopping": "3",
                "early-stopping-min-delta": "0.1"},
    "logistic": {**COLUMNS, **DESCENT, "cv-metric": "auc", "positive": "!= 1", "groups": "2", "split": "row", "kkt-filter": "no", "C": "2", "class-weight": "balanced"},
    "poisson": COLUMNS,
    "multitask": TARGETS,
    "linear": {**DESCENT, "tol": "1e-3", "intercept": "no"},
}
# Options of one solver alone.
OF_SOLVERS = {"logistic:minibatch": DESCENT, "logistic:dbpg": {"groups": "2", "split": "column", "kkt-filter": "no", "tol": "0.9"}, "linear:minibatch": DESCENT}
FLAGS = {"auto", "trust-fabric", "check", "kkt-filter", "log-view", "alone", "init-if-exists", "intercept", "standardize"}
NUMBERS, CLASSES, COUNTS = ("--target", "y", "--ignore", "c,k"), ("--target", "c", "--ignore", "y,k"), ("--target", "k", "--ignore", "c,y")
RATIO = ("--lambda-ratio", "0.1")
WORDS = {"lasso": NUMBERS + RATIO, "kmeans": ("--ignore", "y,c,k", "--clusters", "4"), "svm": CLASSES, "softmax": CLASSES + RATIO,
         "logistic": CLASSES + RATIO, "poisson": COUNTS + RATIO, "multitask": ("--target", "y,k", "--ignore", "c") + RATIO, "linear": NUMBERS}
# Set by the words above, or about files that these data do not need; other tests have them.
ELSEWHERE = {"target", "ignore", "lambda", "lambda-ratio", "weights", "offset", "exposure", "dates", "names", "init", "join", "output", "json", "quiet", "config",
             "help", "help-all", "workers", "clusters", "C", "text", "min-length", "min-documents", "max-documents", "max-words", "stop-words",
             "checkpoint", "checkpoint-every", "checkpoint-keep", "fresh"}


def make_files():
    draw = random.Random(3)
    with open(SMALL, "w") as file:
        file.write("y,c,k,a,b,d\n")
        for _ in range(40):
            x = [draw.gauss(0, 1) for _ in range(3)]
            y = 2 * x[0] - x[2] + 0.3 * draw.gauss(0, 1)
            file.write(",".join(f"{v:.6g}" for v in [y, y > 0, int(abs(y))] + x) + "\n")
    with open("centres.csv", "w") as file:
        file.writelines(f"{draw.gauss(0, 1):.6g},{draw.gauss(0, 1):.6g},{draw.gauss(0, 1):.6g}\n" for _ in range(4))
    for name, lines in (("factors", "3\n1\n2\n"), ("folds", "0\n1\n2\n1\n" * 10)):
        with open(name, "w") as file:
            file.write(lines)
    command.run("key", "key")


def results(text):
    """The numbers of the JSON line, without times and settings, and the tensors of the model."""
    line = json.loads(text[text.index('{"'):])
    kept = {key: value for key, value in line.items()
            if "seconds" not in key and key not in ("options", "worker", "links", "waits_for", "accepts", "flows", "peak_rss", "seed", "bytes_exchanged")}
    with open("m", "rb") as file:
        model = file.read()
    return kept, model[8 + int.from_bytes(model[:8], "little"):], set(line["options"])


def call(verb, algorithm, launch, workers, words, environment=None):
    name, _, solver = algorithm.partition(":")
    own = (*WORDS[name], "--solver", solver) if solver else WORDS[name]
    return subprocess.run((command.HAWSER, *launch, verb, name, SMALL, *own, "--workers", str(workers), *words),
                          capture_output=True, text=True, env={**command.CLEAN, **(environment or {})}, timeout=100)


def train(algorithm, launch, workers, words=(), environment=None):
    for name in ("history", "history.1"):
        if os.path.exists(name):
            os.remove(name)
    out = call("train", algorithm, launch, workers, (*words, "-o", "m", "--json"), environment)
    assert out.returncode in (0, 2), (algorithm, words, out.stderr)
    return out.returncode, out.stderr, results(out.stdout) if out.returncode == 0 else None


def fate(key, base, got):
    """What became of an option."""
    code, said, now = got
    if code == 2:
        return "idle" if "does nothing here" in said else "refused"
    if f"{key} does nothing here" in said or f"HAWSER_{key.upper().replace('-', '_')} does nothing here" in said:
        return "noted"
    return "used" if key in EFFECT_ELSEWHERE or now[:2] != base[:2] else "silent"


def plan_agrees(algorithm, launch, workers, words, got):
    """A plan refuses the words as the training does, by the same line, and has the same notes."""
    out = call("plan", algorithm, launch, workers, words)
    lines = [[line for line in said.splitlines() if code == 2 or "does nothing here" in line] for code, said in ((out.returncode, out.stderr), got[:2])]
    assert out.returncode == got[0] and lines[0] == lines[1], ("plan and train differ", algorithm, words, out.returncode, lines)


def typed(key, value):
    return (f"--{key}", value) if key not in FLAGS else (f"--{key}",) if value == "yes" else (f"--no-{key}",)


def sweep(algorithm, launch, workers, options, elsewhere):
    """Tries each option typed, and in turns in the environment or a file."""
    base = train(algorithm, launch, workers)[2]
    fates = {}
    for number, (key, value) in enumerate(options.items()):
        say = (algorithm, launch, workers, key)
        got = train(algorithm, launch, workers, typed(key, value))
        fates[key] = fate(key, base, got)
        if key not in OF_TRAININGS and not command.SANITIZED:
            plan_agrees(algorithm, launch, workers, typed(key, value), got)
        assert fates[key] != "silent", ("does nothing, and nothing is said of it", say)
        if not elsewhere or key == "alone" or f"--{key}" in WORDS[algorithm]:
            continue
        if number % 2 == 0:
            got = train(algorithm, launch, workers, (), {"HAWSER_" + key.upper().replace("-", "_"): value})
        else:
            with open("all.conf", "w") as file:
                file.write(f"{key} = {value}\n")
            got = train(algorithm, launch, workers, ("--config", "all.conf"))
        there = fate(key, base, got)
        quiet = key in OF_NODES or key == "index-base"
        expected = {"idle": "noted", "noted": "silent" if quiet else "noted"}.get(fates[key], fates[key])
        # An option that is refused because the algorithm does not work with it may be one that changes nothing.
        assert there == expected or (fates[key] == "refused" and there == "noted"), (say, fates[key], there, got[1])
    return fates, base[2]


def all_options_are_tried(algorithm, known):
    tried = set(COMMON) | set(EXCHANGE) | set(OF_NODES) | set(OWN[algorithm]) | ELSEWHERE
    assert known <= tried, f"train {algorithm} has options that this test does not know: {known - tried}"


def one_worker_and_several():
    for algorithm in command.some(OWN, of=2):
        options = {**EXCHANGE, **OWN[algorithm]}
        if LONG or algorithm in ("lasso", "kmeans"):
            options = {**COMMON, **OF_NODES, **options}
        fates, known = sweep(algorithm, (), 3, dict(command.some(options.items())), LONG or algorithm in ("lasso", "svm"))
        all_options_are_tried(algorithm, known)
        if not command.SANITIZED and algorithm == "lasso":
            assert all(fates[key] == "noted" for key in OF_NODES), fates
            assert fates["quota"] == fates["cv-rule"] == fates["init-if-exists"] == "idle" and fates["sync"] == "used", fates
    for algorithm, options in command.some(OF_SOLVERS.items()):
        fates, _ = sweep(algorithm, (), 3, options, False)
        assert all(fates[key] == "used" for key in options if key != "solver"), (algorithm, fates)
    for algorithm in ("lasso", "kmeans"):
        fates, _ = sweep(algorithm, (), 1, EXCHANGE, True)
        assert fates["filter"] == fates["encoding"] == "idle" and fates["sync"] == "noted", fates


def what_changes_by_itself():
    for algorithm in command.some(OWN):
        for key, (value, *others) in ADAPTING.items():
            base = train(algorithm, (), 3)[2]
            got = train(algorithm, (), 3, (f"--{key}", value, *others))
            asks = key == "exchange-every" and algorithm in ("lasso", "logistic", "poisson", "multitask")
            assert fate(key, base, got) in (("used",) if asks else ("idle", "refused")), (algorithm, key, got)
            plan_agrees(algorithm, (), 3, (f"--{key}", value, *others), got)
    rounds = train("lasso", (), 3, ("--exchange-every", "1"))[2]
    code, said, now = train("lasso", (), 3, ("--exchange-every", "1", "--sync", "auto:2"))
    assert code == 0 and "nothing" not in said and now[0]["sync"] == "bsp" and abs(now[0]["objective"] - rounds[0]["objective"]) < 1e-3, (said, now)


def several_nodes():
    for key, kinds in (("key-file", "noted"), ("quota", "idle"), ("encoding", "used"), ("cv-rule", "idle")):
        value = {**OF_NODES, **EXCHANGE, **OWN["lasso"]}[key]
        launch = ("run", "-n", "2", "--")
        got = fate(key, train("lasso", launch, 3)[2], train("lasso", launch, 3, typed(key, value)))
        assert got == kinds, (key, got)
    for words in (("--ssh", "rsh"), ("--remote", "there/hawser")):
        out = subprocess.run((command.HAWSER, "run", "-n", "1", *words, "--", "true"), capture_output=True, text=True, env=command.CLEAN, timeout=100)
        assert out.returncode == 2 and f"{words[0]} does nothing here: there is no --hosts FILE" in out.stderr, out


def bytes_between(algorithm, topology):
    """The bytes that nodes 1 and 2 of three send to each other."""
    out = call("train", algorithm, ("run", "-n", "3", "--"), 3, ("--topology", topology, "--json", "-q"))
    assert out.returncode == 0, (algorithm, topology, out.stderr)
    return sum(link["bytes_sent"] for link in json.loads(out.stdout[out.stdout.index('{"'):])["links"] if 0 not in (link["from"], link["to"]))


def topology_moves_bytes():
    """A tree of three nodes has no link between 1 and 2, over which only control messages go then. Two nodes have one link in every graph."""
    for algorithm in command.some(("kmeans", "svm", "softmax")):
        every, tree = bytes_between(algorithm, "all"), bytes_between(algorithm, "tree")
        assert tree < 0.9 * every, (algorithm, every, tree)


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        make_files()
        one_worker_and_several()
        what_changes_by_itself()
        several_nodes()
        topology_moves_bytes()
        os.chdir("/")


main()
