#!/usr/bin/env python3
"""hawser-sim: the numbers are those of `hawser train` with as many workers, for any number of nodes; a call repeats itself; times follow the link
and the processors; faults happen; wrong values are refused by name."""
import json
import os
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["HAWSER_SOURCE"], "tests", "helpers"))
from command import HAWSER  # noqa: E402
from simulated import NUMBERS, SIM, call  # noqa: E402


def simulate(*options, code=0):
    """The JSON of a simulated training, without what is of the real machine."""
    words = options if "--" in options else (*options, "--", *TRAIN)
    said = json.loads(call(SIM, *words, code=code).stdout.splitlines()[-1])
    assert said["simulated"].pop("seconds_real") >= 0
    return said


with tempfile.TemporaryDirectory() as folder:
    data = os.path.join(folder, "d.svm")
    call(HAWSER, "data", "generate", "url", "-o", data, "--rows", "2000", "--cols", "300", "--per-row", "12", "--seed", "3")
    TRAIN = ("train", "lasso", data, "--lambda-ratio", "0.1", "--json", "--quiet")

    for nodes in (1, 2, 5):
        real = json.loads(call(HAWSER, *TRAIN, "--workers", str(nodes)).stdout)
        said = simulate("--nodes", str(nodes))
        assert [said[n] for n in NUMBERS] == [real[n] for n in NUMBERS], (nodes, said, real)
        assert said["nodes"] == said["workers"] == said["simulated"]["nodes"] == nodes
    model, other = os.path.join(folder, "one.model"), os.path.join(folder, "two.model")
    for policy in ((), ("--topology", "tree")):
        call(HAWSER, *TRAIN, "--workers", "4", "-o", model)
        call(SIM, "--nodes", "4", "--", *TRAIN, *policy, "-o", other)
        facts = [call(HAWSER, "info", path, "--coefficients").stdout for path in (model, other)]
        assert facts[0] == facts[1] and len(facts[0]) > 100

    # The history of a run that was abandoned, and of one that lost a node, under data-centric sync: their results are read in no iteration.
    history = os.path.join(folder, "h")
    descent = ("train", "linear", data, "--solver", "minibatch", "--epochs", "100000", "--sync", "dc:0", "-k", "4", "--quiet",
               "--record-history", history)
    stops = ("--fault", "t=0.05 stop 2; t=4.5 continue 2", "--", *descent, "--time-limit", "0.1", "--grace", "2")
    for seed, end, code in ((1, stops, 0), (2, ("--fault", "t=0.08 kill 2", "--", *descent), 8)):
        call(SIM, "--nodes", "3", "--seed", str(seed), *end, code=code)
        said = json.loads(call(HAWSER, "check", history, "--json", code=10).stdout)
        assert said["holds"] and said["checked"]["definition-3"] > 10, said
        for node in ("", ".1", ".2"):
            os.remove(history + node)

    # A call repeats itself, with and without a seed, and seeds differ.
    for options in ((), ("--seed", "7")):
        assert simulate("--nodes", "3", *options) == simulate("--nodes", "3", *options)
    assert simulate("--nodes", "3", "--seed", "7")["simulated"] != simulate("--nodes", "3", "--seed", "8")["simulated"]

    # Times follow what is modelled.
    usual = simulate("--nodes", "3")
    for options in (("--link", "1mbit"), ("--latency", "20ms"), ("--compute", "1us,1us,0")):
        assert simulate("--nodes", "3", *options)["seconds_train"] > 2 * usual["seconds_train"], options
    free = simulate("--nodes", "3", "--latency", "0", "--compute", "0,0,0", "--link", "1000gbit")
    assert free["seconds_train"] < 0.1 * usual["seconds_train"]
    assert simulate("--nodes", "4", "--per-host", "4")["simulated"]["bytes_busiest"] == 0
    assert usual["simulated"]["bytes_busiest"] >= usual["simulated"]["bytes_per_node"] > 1000
    slow = simulate("--nodes", "3", "--fault", "t=0 slow 1 50; t=0 link 2 50")
    assert slow["seconds_train"] > 2 * usual["seconds_train"] and slow["objective"] == usual["objective"]

    # --auto changes what holds rounds up: fewer bits on a slow link, less work for a slow host. It never asks for rounds.
    rounds = ("--solver", "cd", "--exchange-every", "1", "--tol", "1e-5", "--lambda-ratio", "0.01")
    wide = os.path.join(folder, "wide.svm")
    call(HAWSER, "data", "generate", "url", "-o", wide, "--rows", "3000", "--cols", "3000", "--per-row", "40", "--seed", "3")
    TRAIN = ("train", "lasso", wide, "--json", "--quiet", *rounds)
    for setup, what, most in ((("--link", "10mbit"), "encoding", 0.7),
                              (("--compute", "1us,1us,0.5ns", "--fault", "t=0 slow 2 4"), "gain", 1)):
        fixed = simulate("--nodes", "4", *setup)
        fast = simulate("--nodes", "4", *setup, "--", *TRAIN, "--auto")
        assert fixed["changes"] == [] and fixed["repeatable"], fixed["changes"]
        assert fast["changes"][0]["what"] == what and fast["changes"][0]["reason"], fast["changes"]
        assert not fast["repeatable"] and "--auto" in fast["repeatable_reason"]
        assert fast["seconds_train"] < most * fixed["seconds_train"], (setup, fast["seconds_train"], fixed["seconds_train"])
        assert abs(fast["objective"] - fixed["objective"]) < 1e-4 * fixed["objective"]
    TRAIN = ("train", "lasso", data, "--lambda-ratio", "0.1", "--json")
    note = call(SIM, "--nodes", "3", "--", *TRAIN, "--auto")
    assert "no loop says what may change of it" in note.stderr and json.loads(note.stdout.splitlines()[-1])["repeatable"], note
    TRAIN = (*TRAIN, "--quiet")

    # A killed node is named, and a stopped one is waited for.
    middle = f"t={usual['simulated']['seconds'] / 2}"
    lost = simulate("--nodes", "3", "--fault", f"{middle} kill 2", code=8)
    assert lost["error"].startswith("node 2 (host2) was lost"), lost
    assert simulate("--nodes", "3", "--fault", f"{middle} crash 2", code=8)["error"].startswith("node 2 (host2) was lost")
    scenario = os.path.join(folder, "faults")
    with open(scenario, "w", encoding="utf-8") as file:
        file.write(f"# a pause\n{middle} stop 1\n\nt=3 continue 1\n")
    paused = simulate("--nodes", "3", "--scenario", scenario)
    assert paused["objective"] == usual["objective"] and paused["simulated"]["seconds"] > 3
    call(SIM, "--nodes", "3", "--limit", "1ms", "--", *TRAIN, code=10)

    # Links change in the run, and faults happen at clocks.
    rates = simulate("--nodes", "2", "--fault", "t=0 rate h0 1mbit; t=0 rate h1 1mbit")
    whole = simulate("--nodes", "2", "--link", "1mbit")
    assert rates["worker"] == whole["worker"] and rates["simulated"]["seconds"] == whole["simulated"]["seconds"]
    part = simulate("--nodes", "2", "--fault", "clock=1 rate 0 1mbit; clock=1 rate 1 1mbit")
    assert simulate("--nodes", "2")["seconds_train"] < part["seconds_train"] < whole["seconds_train"]
    lost = simulate("--nodes", "3", "--fault", "clock=2 kill h2", code=8)
    assert lost["error"].startswith("node 2 (host2) was lost") and lost["error"].endswith(", clock 2"), lost
    always = simulate("--nodes", "3", "--fault", "t=0 slow 0 40; t=0 slow 1 40; t=0 slow 2 40")
    turns = simulate("--nodes", "3", "--fault", "turn slow 40 every 1 clocks")
    first = simulate("--nodes", "3", "--fault", "turn slow 40 every 1000 clocks")
    assert first == simulate("--nodes", "3", "--fault", "clock=0 slow h0 40")
    assert 2 * usual["seconds_train"] < turns["seconds_train"] < always["seconds_train"]
    assert turns["seconds_train"] != first["seconds_train"] and turns["objective"] == usual["objective"]

    plain = [word for word in TRAIN if word != "--json"] # the table needs no --json
    assert len(plain) < len(TRAIN)
    table = call(SIM, "--sweep", "nodes=1,2,4", "--", *plain).stdout.splitlines()
    assert table[0].split() == ["nodes", "seconds_train", "wait_seconds", "bytes_busiest", "efficiency"]
    rows = [line.split() for line in table[1:]]
    assert [row[0] for row in rows] == ["1", "2", "4"] and float(rows[0][4]) == 1 and rows[0][3] == "0", rows
    assert abs(float(rows[1][1]) - simulate("--nodes", "2")["seconds_train"]) < 1e-5

    # This machine's costs are measured by real threads, and read back.
    costs = os.path.join(folder, "costs")
    call(SIM, "--calibrate", costs, "--", *TRAIN, "--workers", "2")
    with open(costs, encoding="utf-8") as file:
        times = file.read().splitlines()[-1]
    assert times.count("ns") == 3 and all(float(time[:-2]) >= 0 for time in times.split(",")) and float(times.split(",")[1][:-2]) > 0, times
    assert simulate("--nodes", "3", "--compute", costs) == simulate("--nodes", "3", "--compute", times) != usual
    said = call(SIM, "--calibrate", costs, "--", *TRAIN, "--workers", "1", code=2).stderr
    assert "hawser-sim: --calibrate: the command's units went over " in said, said
    with open(costs, "w", encoding="utf-8") as file:
        file.write("# none\n1us,2ns\n")
    said = call(SIM, "--compute", costs, "--", *TRAIN, code=2).stderr
    assert said.startswith(f"hawser-sim: --compute: {costs} = '1us,2ns': expected three times"), said

    for options, text in (
            (("--nodes", "0"), "--nodes: '0' is not within [1,8192]"),
            (("--link", "0"), "--link = '0': expected a rate above 0"),
            (("--link", "10"), "--link = '10': expected a rate above 0"),
            (("--latency", "-1us"), "--latency = '-1us': expected a time of at least 0"),
            (("--compute", "1us,2ns"), "--compute = '1us,2ns': expected three times"),
            (("--compute", "no-such"), "--compute = 'no-such': there is no such file, and three times have commas"),
            (("--compute", "1us,2ns,1,4"), "--compute = '1': expected a time"),
            (("--seed", "-1"), "--seed: '-1' is not within [0,inf)"),
            (("--sweep", "workers=1"), "--sweep = 'workers=1': expected nodes=N,N"),
            (("--sweep", "nodes=1,x"), "--sweep nodes = '1,x': expected"),
            (("--sweep", "nodes=1,2", "--nodes", "3"), "--sweep lists the numbers of nodes: leave --nodes out"),
            (("--sweep", "nodes=1,2", "--fault", "t=1 kill 1"), "--fault:1: 't=1 kill 1': expected"),
            (("--calibrate", "costs", "--link", "1gbit"), "--calibrate runs the command for real: --link would have no effect"),
            (("--calibrate", "costs", "--sweep", "nodes=1,2"), "--calibrate runs the command for real: --sweep would have no effect"),
            (("--fault", "t=1 kill 2"), "--fault:1: 't=1 kill 2': expected t=SECONDS, clock=N or end=JOB and one of kill N"),
            (("--fault", "t=1 kill 1; t=2 cut 0"), "--fault:2: ' t=2 cut 0': expected"),
            (("--fault", "t=1 slow 0 0"), "--fault:1: 't=1 slow 0 0': expected"),
            (("--fault", "clock=1.5 stop h0"), "--fault:1: 'clock=1.5 stop h0': expected"),
            (("--fault", "t=1 rate 0 10"), "--fault:1: 't=1 rate 0 10': expected"),
            (("--fault", "t=1 turn slow 2 every 3 clocks"), "--fault:1: 't=1 turn slow 2 every 3 clocks': expected"),
            (("--fault", "turn slow 2 every 0 clocks"), "--fault:1: 'turn slow 2 every 0 clocks': expected"),
            (("--fault", "turn stop 2 every 3 clocks"), "--fault:1: 'turn stop 2 every 3 clocks': expected"),
            (("--sepd", "1"), "unknown option --sepd; did you mean --seed?"),
            (("lasso",), "unexpected argument 'lasso'")):
        said = call(SIM, *options, "--", *TRAIN, code=2).stderr
        assert said.startswith(f"hawser-sim: {text}"), (options, said)
    for options, text in (
            (("--nodes", "400"), "400 nodes need about 125 MiB (0.31 MiB each), besides states and data, and --memory-limit is 100 MiB"),
            (("--sweep", "nodes=2,400"), "400 nodes need about 125 MiB")):
        said = call(SIM, *options, "--memory-limit", "100M", "--", *TRAIN, code=5).stderr
        assert said.startswith(f"hawser-sim: {text}"), (options, said)
    # The states are not in the estimate: a simulation that takes more than its limit ends.
    said = call(SIM, "--nodes", "20", "--memory-limit", "4M", "--", *TRAIN, code=10).stderr
    assert "the simulated job did not end: --memory-limit after" in said, said
    said = call(SIM, "--memory-limit", "1k", "--", *TRAIN, code=2).stderr
    assert said.startswith("hawser-sim: --memory-limit: '1k' is not within [1M,8E)"), said
    with open(scenario, "w", encoding="utf-8") as file:
        file.write("t=1 stop 0\n\nt=2 heal 0 5\n")
    said = call(SIM, "--scenario", scenario, "--", *TRAIN, code=2).stderr
    assert said.startswith(f"hawser-sim: {scenario}:3: 't=2 heal 0 5': expected"), said
    assert "no command" in call(SIM, "--nodes", "2", code=2).stderr
    # All nodes report the same mistake: that of the first one is a line, and those of the others are one more.
    said = call(SIM, "--nodes", "20", "--", "train", "lasso", "no-such.svm", code=4).stderr.splitlines()
    said = [line for line in said if not line.startswith("==")]  # a remark of a sanitizer
    assert len(said) == 3 and "hawser: no-such.svm: cannot open: No such file or directory" in said[:2], said
    assert said[2] == "(other nodes report this line, 18 times)", said
    assert "hawser-sim: cannot read the scenario" in call(SIM, "--scenario", folder, "--", *TRAIN, code=4).stderr
    assert "has no line of times" in call(SIM, "--compute", folder, "--", *TRAIN, code=2).stderr
    assert "hawser-sim: 'run' starts processes" in call(SIM, "--", "run", "-n", "2", "--", *TRAIN, code=2).stderr
    assert "--sweep is for 'train', and not for 'version'" in call(SIM, "--sweep", "nodes=1,2", "--", "version", code=2).stderr
    assert "--sweep" in call(SIM, "--help").stdout
