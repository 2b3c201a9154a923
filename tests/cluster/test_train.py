#!/usr/bin/env python3
"""One program over nodes x launcher x sync x transport within hosts and between them: under BSP the bits of threads, else the same optimum; the path asked for.

In short form a pairwise covering array, which is printed; with HAWSER_TEST_LONG the full product.
"""
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from nodes import HAWSER, HERE, LONG, Box, Job, Scratch, check, finish, hawser, nothing_left, read, tensors  # noqa: E402
from certificate import certify, read_model, read_svmlight  # noqa: E402

WORKERS, TOL = 8, 1e-8
FACTORS = ["nodes=1,2,4,8", "launcher=local,hosts,slots", "sync=bsp,ssp:2,tap", "within=shm,unix,tcp", "between=tcp+tls,tcp",
           "not (launcher=local and between=tcp)", "not (launcher=hosts and within=unix)", "not (launcher=hosts and within=tcp)",
           "not (launcher=slots and nodes=1)", "not (launcher=slots and nodes=2)"]
if b"--topology" in subprocess.run([HAWSER, "train", "lasso", "--help-all"], capture_output=True, check=True).stdout:
    FACTORS.insert(5, "topology=all,halton,tree,servers:2")
    FACTORS += ["not (nodes=1 and topology=servers:2)"]


def rows():
    said = subprocess.run([f"{HERE}/pairwise", *(["--full"] if LONG else []), *FACTORS], capture_output=True, text=True, check=True)
    return [dict(word.split("=", 1) for word in line.split()) for line in said.stdout.splitlines()]


def words_of(row, box, scratch):
    """Writes the host list. slots: two nodes per host, which use the transport `within` between them."""
    nodes = int(row["nodes"])
    where = {"local": [], "hosts": ["--hosts", box.file(scratch, nodes), "--ssh", box.ssh],
             "slots": ["--hosts", box.file(scratch, nodes // 2, 2), "--ssh", box.ssh]}[row["launcher"]]
    more = ["--topology", row["topology"]] if "topology" in row else []
    if row["between"] == "tcp":
        more.append("--trust-fabric")
    return [HAWSER, "run", "-n", str(nodes), *where, "--", "train", "lasso", "t.svm", "--index-base", "1", "--workers", str(WORKERS),
            "--sync", row["sync"], "--tol", str(TOL), "--check", "--json", "-q", "-o", "got.model", "--transport", row["within"], *more]


def host_of(row, node):
    return {"local": 0, "hosts": node, "slots": node // 2}[row["launcher"]]


def check_figures(row, got, name):
    nodes = int(row["nodes"])
    check(got["stop_reason"] == "gap", f"{name}: stopped by {got['stop_reason']}")
    check(got["nodes"] == nodes and {w["node"] for w in got["worker"]} == set(range(nodes)), f"{name}: nodes of the workers")
    lead = {"bsp": 0, "ssp:2": 2}.get(row["sync"])
    check(lead is None or got["most_lead"] <= lead, f"{name}: leads by {got['most_lead']}")
    links = {(k["from"], k["to"]): k["transport"] for k in got["links"]}
    check(nodes == 1 or links, f"{name}: no links told")
    if row.get("topology", "all") == "all":
        check(len(links) == nodes * (nodes - 1), f"{name}: {len(links)} links")
    for (a, b), transport in links.items():
        wanted = row["within"] if host_of(row, a) == host_of(row, b) else row["between"]
        check(transport == wanted, f"{name}: link {a} -> {b} is {transport}, not {wanted}")


def main():
    scratch = Scratch()
    box = Box(8)
    hawser(scratch, "data", "generate", "url", "-o", "t.svm", "--rows", "240", "--cols", "400", "--per-row", "40")
    alone = Job(scratch, [HAWSER, "train", "lasso", "t.svm", "--index-base", "1", "--workers", str(WORKERS), "--tol", str(TOL), "--json", "-q",
                          "-o", "alone.model"])
    check(alone.wait() == 0, alone.say())
    threads = alone.figures()
    bits = tensors("alone.model")
    data = read_svmlight(read("t.svm"))
    for row in rows():
        name = " ".join(f"{k}={v}" for k, v in row.items())
        print(name, flush=True)
        job = Job(scratch, words_of(row, box, scratch))
        if not check(job.wait() == 0, f"{name}: {job.say()}"):
            continue
        got = job.figures()
        check_figures(row, got, name)
        weights, intercept = read_model("got.model")
        primal, gap, zero = certify(*data, weights, intercept, got["lambda"], 1, True)
        check(abs(primal - got["objective"]) <= 1e-12 and gap <= 1.1 * TOL * zero, f"{name}: objective {primal}, gap {gap} of the model")
        if row["sync"] == "bsp":
            check(tensors("got.model") == bits, f"{name}: other bits than with threads")
            check(got["objective"] == threads["objective"], f"{name}: objective {got['objective']}, {threads['objective']} with threads")
        check(abs(got["objective"] - threads["objective"]) <= 2 * TOL * zero, f"{name}: objective {got['objective']}")
        os.unlink("got.model")
        nothing_left(scratch, name)
    finish()


main()
