#!/usr/bin/env python3
"""hawser-sim with several jobs in one world: each has the numbers that it has alone; jobs on other hosts do not change its times, and jobs on the same
hosts do; a job starts at a time or at another one's end; clients use the tables of servers; a node ends by SIGTERM as a real one does."""
import json
import os
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["HAWSER_SOURCE"], "tests", "helpers"))
from command import HAWSER  # noqa: E402
from simulated import NUMBERS, SIM, call  # noqa: E402


def simulate(*words, code=0):
    """The lines of all jobs, from JSON where they are that, without what is of the real machine."""
    lines = [json.loads(line) if line.startswith("{") else line for line in call(SIM, *words, code=code).stdout.splitlines()]
    for line in lines:
        if isinstance(line, dict):
            assert line["simulated"].pop("seconds_real") >= 0
    return lines


def near(a, b, seconds=0.0):
    return abs(a - b) <= max(seconds, 1e-6 * max(abs(a), abs(b)))


with tempfile.TemporaryDirectory() as folder:
    data, key = os.path.join(folder, "d.svm"), os.path.join(folder, "key")
    call(HAWSER, "data", "generate", "url", "-o", data, "--rows", "1000", "--cols", "200", "--per-row", "10", "--seed", "3")
    call(HAWSER, "key", key)
    TRAIN = ("--", "train", "lasso", data, "--lambda-ratio", "0.01", "--json", "--quiet")
    SLOW = ("--link", "10mbit")
    alone, = simulate("--nodes", "3", *SLOW, *TRAIN)
    whole = alone["simulated"]["seconds"]
    assert "job" not in alone["simulated"]

    # Other hosts, later, after another job: the numbers and the times are those of the job alone.
    apart = simulate("--nodes", "3", *SLOW, *TRAIN, ":", "--nodes", "3", *TRAIN, ":", "--nodes", "3", "--host", "0", "--start", "end=0", *TRAIN,
                     ":", "-n3", "--host", "3", "--start", "t=7.5", *TRAIN)
    assert [line["simulated"]["job"] for line in apart] == [0, 1, 2, 3]
    for line in apart:
        facts = line["simulated"]
        assert [line[n] for n in NUMBERS] == [alone[n] for n in NUMBERS] and facts["nodes"] == 3 and facts["exit_code"] == 0, facts
        closing = 2e-4 if facts["job"] == 2 else 0.0 # packets by which the job before it closes its connections are still on the links
        assert near(line["seconds_train"], alone["seconds_train"]) and near(facts["end"] - facts["begin"], whole, closing), (facts, whole)
    begins, ends = ([line["simulated"][name] for line in apart] for name in ("begin", "end"))
    assert begins[0] == begins[1] == 0 and begins[2] == ends[0] and begins[3] == 7.5, (begins, ends)
    assert apart[0]["simulated"]["seconds"] == max(ends)
    later, = simulate("--nodes", "3", "--start", "t=2", *SLOW, *TRAIN)
    assert near(later["simulated"]["seconds"], whole + 2) and near(later["seconds_train"], alone["seconds_train"])

    # The same hosts: both share the links. With nodes beside each other, the bytes of both leave by few links.
    shared = simulate("--nodes", "3", *SLOW, *TRAIN, ":", "--nodes", "3", "--host", "0", *TRAIN)
    for line in shared:
        assert [line[n] for n in NUMBERS] == [alone[n] for n in NUMBERS]
        assert line["seconds_train"] > 1.5 * alone["seconds_train"], (line["seconds_train"], alone["seconds_train"])
    assert shared[0]["simulated"]["bytes_busiest"] > 1.9 * alone["simulated"]["bytes_busiest"]
    packed = simulate("--nodes", "2", "--per-host", "4", *TRAIN, ":", "--nodes", "2", *TRAIN)
    assert packed[0]["simulated"]["bytes_busiest"] == 0
    assert packed == simulate("--nodes", "2", "--per-host", "4", *TRAIN, ":", "--nodes", "2", *TRAIN)

    # Faults count nodes over all jobs. The other jobs go on.
    lost = simulate("--nodes", "2", "--fault", "clock=1 kill 3", *TRAIN, ":", "--nodes", "2", *TRAIN, code=8)
    assert lost[0]["objective"] > 0 and lost[0]["simulated"]["exit_code"] == 0
    assert lost[1]["error"].startswith("node 1 (host3) was lost") and lost[1]["simulated"]["exit_code"] == 8, lost[1]
    # A node that is killed before it begins does not begin: the others wait for it until --join-timeout. A crash of its host ends nothing of it.
    for fault, code in (("t=1 kill 3", 8), ("t=1 crash 3", 0)):
        late = simulate("--nodes", "2", "--fault", fault, *TRAIN, ":", "--nodes", "2", "--start", "t=2", *TRAIN, "--join-timeout", "3", code=code)
        assert [line["simulated"]["exit_code"] for line in late] == [0, code] and late[1]["simulated"]["begin"] == 2, late

    # A signal ends a training at an agreed clock, and the command before it trains.
    stopped = call(SIM, "--nodes", "3", "--fault", "clock=1 term 1", *TRAIN, code=130)
    said = json.loads(stopped.stdout)
    assert said["stop_reason"] == "signal" and 0 < said["clocks"] < alone["clocks"], said
    assert "node 1 (host1) was asked to end by SIGTERM, and ended the training on all nodes" in stopped.stderr, stopped.stderr
    early = call(SIM, "--nodes", "3", "--fault", "t=0.0001 term 0", *SLOW, *TRAIN, code=130)
    assert "ended by SIGTERM before the training began; no model is written" in early.stderr, early.stderr
    after = simulate("--nodes", "1", "--fault", "end=0 term 1", *TRAIN, ":", "--nodes", "2", "--start", "end=0", *TRAIN, code=130)
    assert [line["simulated"]["exit_code"] for line in after] == [0, 130], after

    # Stand-alone servers with clients that come one after the other, and end by a signal when the last one has gone.
    def use(servers, port, *options, code=0):
        reach = ("--at", f"host0:{port}", "--key-file", key)
        jobs = (("--start", "t=1", "--", "store", "make", "t", "--keys", "0..3"), ("--start", "end=1", "--", "store", "put", "t", "1=2.5", "3=4"),
                ("--start", "end=2", "--", "store", "get", "t"))
        words = [word for job in jobs for word in (":", "--nodes", "1", *job, *reach)]
        return simulate("--nodes", str(servers), "--fault", "end=3 term 0", *options, "--", "serve", "--key-file", key, "--quiet", "--port-range",
                        "7100-7109", *words, code=code)

    for servers, port, options in ((1, 7100, ()), (3, 7101, ()), (2, 7101, ("--seed", "5")), (2, 7103, ("--per-host", "2"))):
        lines = use(servers, port, *options)
        facts = [line["simulated"] for line in lines if isinstance(line, dict)]
        assert [line for line in lines if isinstance(line, str)] == [f"host0:{port}", "0 0", "1 2.5", "2 0", "3 4"], lines
        assert [f["exit_code"] for f in facts] == [0, 0, 0, 0] and [f["nodes"] for f in facts] == [servers, 1, 1, 1], facts
        assert facts[0]["end"] >= facts[3]["end"] > facts[3]["begin"] == facts[2]["end"] > facts[1]["begin"] == 1, facts
        assert lines == use(servers, port, *options)
    # No process listens on another port, and a port is taken once per host.
    assert [line["simulated"]["exit_code"] for line in use(1, 7101, code=8) if isinstance(line, dict)] == [0, 8, 8, 8]
    SERVE = ("--", "serve", "--key-file", key, "--quiet", "--port-range", "7001-7001")
    for host, code in (("1", 0), ("0", 4)):
        two = call(SIM, "--nodes", "1", "--fault", "t=2 term 0; t=2 term 1", *SERVE, ":", "--nodes", "1", "--host", host, *SERVE, code=code)
        taken = "cannot listen on host0, on none of the ports 7001 to 7001: Address already in use" in two.stderr
        assert taken == (code != 0), two
    # Nodes that do not choose a port pass over one that is taken.
    beside = simulate("--nodes", "1", "--per-host", "4", "--fault", "end=1 term 0", *SERVE, ":", "--nodes", "3", *TRAIN)
    assert beside[-1]["objective"] > 0 and beside[-1]["simulated"]["exit_code"] == 0

    for words, text in (
            (("--start", "end=0", *TRAIN), "--start = 'end=0': expected t=SECONDS: job 0 has no earlier one"),
            (("--start", "5", *TRAIN), "--start = '5': expected t=SECONDS"),
            (("--start", "t=-1", *TRAIN), "--start = 't=-1': expected t=SECONDS"),
            ((*TRAIN, ":", "--start", "end=1", *TRAIN), "job 1: --start = 'end=1': expected t=SECONDS, or end=J with a job from 0 to 0"),
            ((*TRAIN, ":", "--start", "end=x", *TRAIN), "job 1: --start = 'end=x': expected t=SECONDS, or end=J with a job from 0 to 0"),
            ((*TRAIN, ":", "--host", "-1", *TRAIN), "job 1: --host: '-1' is not within [0,8191]"),
            ((*TRAIN, ":", "--nodes", "2"), "job 1: no command"),
            ((*TRAIN, ":", "--nodes", "2", "--"), "job 1: no command"),
            ((*TRAIN, ":", "--link", "1gbit", *TRAIN), "job 1: unknown option --link; a job has --nodes, --host and --start"),
            ((*TRAIN, ":", "train", "lasso"), "job 1: unexpected argument 'train'"),
            (("--nodes", "8000", *TRAIN, ":", "--nodes", "200", *TRAIN), "the jobs have 8200 nodes: at most 8192"),
            (("--", "./mine", ":", *TRAIN), "./mine must be the only job"),
            (("--host", "2", "--", "./mine"), "./mine must be the only job, without --host and --start"),
            (("--sweep", "nodes=1,2", *TRAIN, ":", *TRAIN), "--sweep is for one job, without --host and --start"),
            (("--calibrate", os.path.join(folder, "c"), "--host", "1", *TRAIN), "--calibrate is for one job"),
            (("--fault", "end=2 kill 0", *TRAIN, ":", *TRAIN), "--fault:1: 'end=2 kill 0': expected t=SECONDS, clock=N or end=JOB"),
            (("--fault", "t=1 kill 4", *TRAIN, ":", *TRAIN), "with nodes from 0 to 3 and jobs from 0 to 1"),
            ((*(word for _ in range(65) for word in (*TRAIN, ":")), *TRAIN), "more than 64 jobs"),
    ):
        said = call(SIM, *words, code=2).stderr
        assert said.startswith("hawser-sim: ") and text in said, said
