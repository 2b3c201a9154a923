"""hawser.plan: the text of the command, and its refusals."""
import json
import os
import re
import subprocess

import numpy as np
import pytest

import hawser

BINARY = os.environ.get("HAWSER_BINARY")


@pytest.mark.skipif(not BINARY, reason="HAWSER_BINARY is not set")
@pytest.mark.parametrize("how, words", [({}, ["--physical"]), ({"physical": False}, ["--logical"]), ({"dot": True}, ["--physical", "--dot"])])
def test_the_plan_is_that_of_the_command(tmp_path, how, words):
    draw = np.random.default_rng(3)
    np.savetxt(tmp_path / "a.csv", draw.normal(size=(60, 4)), delimiter=",")
    options = ["--workers", "2", "--lambda", "0.1", "--memory-limit", "1G"]
    printed = subprocess.run([BINARY, "plan", "lasso", tmp_path / "a.csv", *options, *words], capture_output=True, text=True, check=True)
    got = hawser.plan("lasso", tmp_path / "a.csv", workers=2, lambda_=0.1, memory_limit="1G", **how)
    assert str(got).strip() == printed.stdout.strip() and len(got.text) > 100


def check_text(text, data):
    """Compares the data of a plan with its text, the physical one with the logical one before it."""
    needs = re.search(r"needs about (\d+) bytes.* of the (\d+) that the limit leaves, of these (\d+) for data", text)
    memory = data["memory"]
    assert [int(number) for number in needs.groups()] == [memory["needed_bytes"], memory["limit_bytes"], memory["parts_bytes"]["data"]]
    late = re.search(r"at most (\d+) bytes more", text)
    assert memory["late_bytes"] == (int(late.group(1)) if late else 0)
    assert sum(memory["parts_bytes"].values()) == memory["needed_bytes"] and min(memory["parts_bytes"].values()) >= 0
    physical = text[text.index("physical plan"):]
    assert f"  {data['blocks']} blocks, {data['computing_at_once']} computing at once, on the {data['processors']} processors" in physical
    assert all(line in text for line in data["warnings"])
    states = re.split(r"\n  (?=\S+: )", physical[physical.index("\nstates\n") + 7:physical.index("\noperators\n")])[1:]
    assert len(states) == len(data["states"]) > 2
    for shown, state in zip(states, data["states"], strict=True):
        check_state(shown, state, text)
    lines = re.findall(r"\n +(\d+) (sequence|parallel|loop|branch|unit)(?: '(.*?)')?(.*)", physical[physical.index("\noperators\n"):])
    assert len(lines) == len(data["operators"]) > 3
    for (number, kind, name, rest), operator in zip(lines, data["operators"], strict=True):
        assert (int(number), kind, name or None) == (operator["number"], operator["kind"], operator["name"])
        check_operator(rest, operator)


def check_state(shown, state, text):
    assert shown.startswith(f"{state['name']}: {state['kind']}")
    used = f"created before {state['created_before']}, disposed after {state['disposed_after']}"
    assert re.search(rf"\n  {state['name']}: .*{used if state['created_before'] is not None else 'never used'}", text)
    assert re.findall(r"(\d+) bytes in the largest block", shown) == ([str(state["block_bytes"])] if state["kind"] != "data" else [])
    shares = [tuple(map(int, found)) for found in re.findall(r"block \d+: (\d+) to (\d+), (\d+) stored", shown)]
    assert shares == [(share["begin"], share["end"], share["stored"]) for share in state.get("shares", [])]
    sent = state.get("sent_per_clock_bsp")
    figures = re.findall(r"changes and nothing is packed, (\d+) bytes out of node (\d+), (\d+) out of all", shown)
    assert figures == ([tuple(str(sent[key]) for key in ("bytes_out_of_busiest", "busiest_node", "bytes_out_of_all"))] if sent else [])
    if "form" in state:
        assert f"form: {state['form']}; encoding: {state['encoding']}" in shown and f"filter {state['filter']}" in shown
        assert f"guarantee left: {state['guarantee']}" in shown
        quota = re.findall(r"quota (\d+) bytes per block and exchange, held for at most (\d+) clocks", shown)
        assert quota == ([] if state["quota_bytes"] is None else [(str(state["quota_bytes"]), str(state["max_held_clocks"]))])


def check_operator(rest, operator):
    if operator["kind"] == "loop":
        assert f"; {operator['sync']}; " in rest and ("shipped to the blocks" in rest) == operator["shipped"]
        clocks = re.findall(r"(\d+) clocks(?: or |;)", rest)
        assert clocks == ([str(operator["until"]["clocks"])] if "clocks" in operator["until"] else [])
    if operator["kind"] == "unit":
        for word in ("reads", "updates"):
            found = re.search(rf"; {word} ([^;]*)", rest)
            assert (found.group(1).split(", ") if found else []) == operator[word]
        assert ("on one block" in rest) == (operator["only_block"] is not None)
        reduces = re.search(r"reduces at most (\d+) numbers", rest)
        assert int(reduces.group(1) if reduces else 0) == operator["reduces_numbers"]


@pytest.mark.skipif(not BINARY, reason="HAWSER_BINARY is not set")
@pytest.mark.parametrize("words", [
    ["lasso", "--lambda", "0.1"], ["lasso", "--lambda", "0.1", "--suppose-nodes", "3", "--workers", "7"],
    ["linear", "--solver", "minibatch", "--sync", "tap", "--workers", "3"],
    ["lasso", "--lambda", "0.1", "--sync", "ssp:2", "--filter", "absolute", "--quota", "1k", "--workers", "4", "--suppose-nodes", "2"],
    ["kmeans", "--clusters", "3", "--batch", "5", "--suppose-nodes", "2"]], ids=" ".join)
def test_data_and_text_of_a_plan_agree(tmp_path, words):
    np.savetxt(tmp_path / "a.csv", np.random.default_rng(3).normal(size=(60, 4)), delimiter=",")

    def ask(*more):
        command = [BINARY, "plan", words[0], tmp_path / "a.csv", *words[1:], "--memory-limit", "1G", *more]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    check_text(ask(), json.loads(ask("--json")))


def test_the_plan_of_python_has_the_data():
    X = np.random.default_rng(3).normal(size=(60, 4))
    options = {"solver": "minibatch", "sync": "tap", "workers": 3}
    plan = hawser.plan("linear", X, X[:, 0], **options)
    logical = hawser.plan("linear", X, X[:, 0], **options, physical=False)
    check_text(f"{logical}\n{plan}", plan.data)
    assert plan.blocks == 3 and len(plan.nodes) == 1 and plan.sent == {} and plan.memory.parts["data"] == X.nbytes
    assert plan.memory.needed == sum(plan.memory.parts.values()) < plan.memory.limit
    assert "tap" in plan.syncs.values() and len(plan.warnings) == 2 and "tap" in plan.warnings[0]
    assert set(plan.states) >= {name for unit in plan.units.values() for name in unit["reads"] + unit["updates"]}
    assert hawser.plan("linear", X, X[:, 0], dot=True).text.startswith("digraph physical")


def test_arrays_have_a_plan_too_and_nothing_is_trained():
    X = np.random.default_rng(3).normal(size=(60, 4))
    assert "blocks" in str(hawser.plan("kmeans", X, clusters=3, workers=3))
    with pytest.raises(hawser.BadOption, match="clusters"):
        hawser.plan("kmeans", X, clusters=61)
    with pytest.raises(hawser.BadOption, match="trains nothing"):
        hawser.plan("kmeans", X, clusters=3, progress=True)
    with pytest.raises(hawser.BadOption, match="no such option"):
        hawser.plan("kmeans", X, lambda_=3)
    with pytest.raises(hawser.BadInput, match="no target"):
        hawser.plan("lasso", X)
