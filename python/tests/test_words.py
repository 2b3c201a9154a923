"""Texts name options as keywords, not as the command does."""
import os
import pathlib
import random
import re
import subprocess

import numpy as np
import pytest

import hawser
from hawser._errors import in_keywords
from hawser._options import DATA_KEYS, JOB_KEYS, keys_of
from hawser._library import library as lib

SOURCES = pathlib.Path(__file__).resolve().parents[2] / "src"
KEYS = JOB_KEYS | DATA_KEYS | {"init", "validation"}
for name in hawser.algorithms():
    KEYS |= keys_of(lib.hawser_algorithm_find(name.encode()).contents.rows)

draw = np.random.default_rng(0)
X, y = draw.normal(size=(40, 3)), draw.normal(size=40)


@pytest.mark.parametrize("text, wanted", [
    ("--l1-ratio 0.5 needs --tol above 0", "l1_ratio 0.5 needs tol above 0"), ("(--lambda)", "(lambda_)"), ("--lambda-min-ratio", "lambda_min_ratio"),
    ("--no-intercept", "intercept=no"), ("set --C='1'", "set C='1'"), ("srun --mpi=pmix -- a--tol.csv", "srun --mpi=pmix -- a--tol.csv"),
    ("a---tol --tol-", "a---tol --tol-"), ("./--tol", "./--tol"), ("--tol", "tol"), ("Zoë: --tol\udcff", "Zoë: tol\udcff"), ("--" + 99 * "x", "--" + 99 * "x"), ("", "")])
def test_only_options_are_renamed(text, wanted):
    assert in_keywords(text) == wanted


@pytest.mark.skipif(not SOURCES.is_dir(), reason="the sources are missing")
def test_each_option_in_each_text_of_the_library_is_renamed():
    walked = set()
    for path in SOURCES.rglob("*.c"):
        if path.relative_to(SOURCES).parts[0] == "cli":
            continue
        for text in re.findall(r'"((?:[^"\\\n]|\\.)*)"', path.read_text()):
            named = re.findall(r"(?<![\w/.-])--(?:no-)?([A-Za-z][A-Za-z0-9-]*[A-Za-z0-9]|C)(?![\w-])", text)
            left = re.findall(r"(?<![\w/.-])--(?:no-)?([A-Za-z][A-Za-z0-9-]*)", in_keywords(text))
            assert not KEYS & set(left), text
            walked |= KEYS & set(named)
    assert len(walked) > 50


def test_each_wrong_value_is_refused_by_keyword():
    """Gives each option that is not a text a value that it cannot have."""
    for name in hawser.algorithms():
        rows = lib.hawser_algorithm_find(name.encode()).contents.rows
        for key in sorted(keys_of(rows)):
            with pytest.raises((hawser.Error, TypeError)) as refused:
                hawser.train(name, X, y, **{"lambda_" if key == "lambda" else key.replace("-", "_"): "\x01,-1e999"})
            assert "--" not in str(refused.value)


@pytest.mark.parametrize("name, options", [
    ("kmeans", {"clusters": 99}), ("kmeans", {"clusters": 2, "sync": "tap", "workers": 2}), ("kmeans", {"clusters": 2, "reshuffle": True, "epochs": 3}),
    ("lasso", {"cv": 3, "lambda_": 1}), ("lasso", {"path": "3,1", "lambda_": 1}), ("lasso", {"cv_rule": "min"}), ("lasso", {"cv": 99}),
    ("lasso", {"l1_ratio": 0, "path": 5}), ("lasso", {"early_stopping": 3}), ("lasso", {"lower": 1, "upper": 0}), ("lasso", {"memory_limit": "1k"}),
    ("logistic", {"C": 1, "lambda_": 1}), ("linear", {"solver": "minibatch", "step": 0.1, "sync": "bsp", "filter": "relative"})])
def test_refusals_name_keywords(name, options):
    with pytest.raises(hawser.Error) as refused:
        hawser.train(name, X, y, **options)
    assert "--" not in str(refused.value) and len(str(refused.value)) > 10


def test_warnings_and_plans_name_keywords():
    with pytest.warns(Warning) as warned:
        model = hawser.train("lasso", X, y, lambda_=1e-9, sync="tap", workers=3, max_clocks=1)
    texts = [str(each.message) for each in warned] + [model.training.policy, model.training.assumed, *model.training.notes]
    texts += hawser.plan("lasso", X, y, lambda_=1, sync="tap", workers=3).warnings
    assert sum("sync" in text for text in texts) >= 2 and not any("--" in text for text in texts)


def test_averaging_is_advised_as_python_calls_it():
    (advice,) = re.findall(r'"(, or average [^"]*)"', (SOURCES / "exchange" / "replica.h").read_text())
    assert in_keywords(advice) == ", or average the workers' updates (merge=\"average\"; in a program, damping=\"average\")"


@pytest.mark.parametrize("seed", range(8))
def test_what_a_load_assumed_is_what_the_command_prints(seed, tmp_path):
    chance = random.Random(seed)
    kinds = [chance.choice(["number", "word"]) for _ in range(chance.randint(1, 7))]
    names = [chance.choice(["x%d", "x %d", "x\x1b%d", "--tol %d", "\u202e%d", "%d0"]) % k for k in range(len(kinds))]
    given: dict[str, str] = {}
    if chance.random() < 0.5:
        given["header"] = "yes"
    if chance.random() < 0.5:
        given["target"] = chance.choice(["y", "0"])
    words = [name for name, kind in zip(names, kinds) if kind == "word" and chance.random() < 0.5]
    if words:
        given["categories"] = ",".join(words)
    path = tmp_path / chance.choice(["data.csv", "data.txt"])
    lines = [["y", *names]] + [[str(k * k), *("ab"[k % 2] if kind == "word" else str(chance.randint(0, 9)) for kind in kinds)] for k in range(8)]
    path.write_text("".join(",".join(line) + "\n" for line in lines))
    command = [os.environ["HAWSER_BINARY"], "train", "linear", str(path), *(f"--{key}={value}" for key, value in given.items())]
    said = subprocess.run(command, capture_output=True, text=True, check=True)
    (line,) = re.findall(r"^assumed +(.*)$", said.stdout + said.stderr, re.M)
    model = hawser.train("linear", path, **given)
    assert model.training.assumed == ("" if line == "nothing" else in_keywords(line))
    data = hawser.Dataset(path, **given)
    assert hawser.train("linear", data).training.assumed == model.training.assumed
    assert hawser.train("linear", X, y).training.assumed == ""
