#!/usr/bin/env python3
"""hawser run --restarts: what is repeated and how often, ends by request, hosts that fail and spare ones, and nothing left behind.

The nodes are scripts. Each start of a node leaves a file, and the launcher's channel (descriptor 3) reports progress."""
import concurrent.futures
import contextlib
import glob
import json
import os
import random
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time

HAWSER = os.environ["HAWSER_BINARY"]
LONG = bool(os.environ.get("HAWSER_TEST_LONG"))  # script/test sets it to nothing in its short run
SECONDS = 60
CLEAN = {key: value for key, value in os.environ.items() if not key.startswith("HAWSER_")}
# Each start of a node is numbered by the files start.NODE.N, and runs the text of the test with $start, $node and $nodes.
NODE = """node=$HAWSER_NODE nodes=$HAWSER_NODES start=0
echo "$$ $PPID $HAWSER_NODE_NAME $nodes" >"own.$$"
until ln "own.$$" "start.$node.$start" 2>/dev/null; do start=$((start + 1)); done
progress() { echo "progress $1" >&3; }
die() { kill -"$1" $$; }
wait_for() { until [ -e "$1" ]; do sleep 0.02; done; }
"""
# A stand-in for ssh: hosts named in the file `down` cannot be logged in to, those in `hang` do not answer.
SSH = """#!/bin/sh
host=$1; shift
echo "$host" >>asked
if grep -qsx "$host" down; then echo "connect to host $host port 22: No route to host" >&2; exit 255; fi
if grep -qsx "$host" hang; then exec sleep 1000; fi
exec sh -c "$*"
"""


class Run:
    """One `hawser run` in a folder of its own, which is checked for processes that are left over."""

    def __init__(self, script, *options, hosts=None, down=(), hang=(), nodes=2, words=None, environment=None, stdin=subprocess.DEVNULL):
        self.folder = tempfile.TemporaryDirectory()
        if hosts is not None:
            self.write("hosts", "".join(host + "\n" for host in hosts))
            self.write("ssh-here", SSH)
            os.chmod(self.path("ssh-here"), 0o755)
            self.write("down", "".join(host + "\n" for host in down))
            self.write("hang", "".join(host + "\n" for host in hang))
            options = ("--hosts", "hosts", "--ssh", "./ssh-here", *options)
        count = ("-n", str(nodes)) if nodes else ()
        with open(self.path("stderr"), "w", encoding="utf-8") as err:
            self.process = subprocess.Popen(
                [HAWSER, "run", *count, "--grace", "0.2", *options, "--", *(words or ("bash", "-c", NODE + script))], cwd=self.folder.name,
                env={**CLEAN, **(environment or {})}, stdin=stdin, stdout=subprocess.PIPE, stderr=err, text=True, start_new_session=True)
        self.out = self.err = ""
        self.seen = []  # starts of node 0, once the run has ended

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def starts(self, node=0):
        """Returns [pid, pid of the parent, name, nodes] of each start of a node."""
        found = []
        while os.path.exists(self.path(f"start.{node}.{len(found)}")):
            with open(self.path(f"start.{node}.{len(found)}"), encoding="utf-8") as file:
                pid, parent, name, nodes = file.read().split()
            found.append([int(pid), int(parent), name, int(nodes)])
        return found

    def until_started(self, nodes, start=0):
        until(lambda: all(len(self.starts(i)) > start for i in range(nodes)), f"start {start} of {nodes} nodes")

    def end(self, code):
        try:
            self.out, _ = self.process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
            raise AssertionError(f"hawser run did not end: {self.read('stderr')}") from None
        self.err = self.read("stderr")
        assert self.process.returncode == code, (self.process.returncode, code, self.err)
        self.seen = self.starts(0)
        for node in range(8):
            for pid, parent, _, _ in self.starts(node):
                until(lambda: is_gone(pid) and is_gone(parent), f"end of node {node}, {pid} of {parent}: {self.err}")
        self.folder.cleanup()
        return self

    def restarts(self):
        return [(int(a), int(b)) for a, b in re.findall(r"; restart (\d+) of (\d+)$", self.err, re.M)]


def lose_host(run, node):
    """Ends what a host that fails takes with it: first the agent, which would else report the end of its node."""
    pid, agent = run.starts(node)[0][:2]
    for number in (agent, pid):
        os.kill(number, signal.SIGKILL)


def is_gone(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rsplit(")", 1)[1].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


def until(condition, what):
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end, f"no {what}"
        time.sleep(0.01)


# ------------------------------------------------------------------------------------------------------ what is repeated ----

def a_killed_node_is_repeated():
    run = Run('[ $start = 2 ] && { echo "node $node is done"; exit 0; }; [ $node = 1 ] && { wait_for start.0.$start; die KILL; }; sleep 1000',
              "--restarts", "3", "--restart-window", "0").end(0)
    assert run.restarts() == [(1, 3), (2, 3)], run.err
    assert re.search(r"^hawser run: node 1 \(node-1, pid \d+\) was killed by signal 9 \(KILL\); .*; restart 1 of 3$", run.err, re.M), run.err
    assert "node 0 is done\n" in run.out and "[1] node 1 is done\n" in run.out, run.out


def a_lost_peer_is_repeated():
    run = Run('[ $start = 1 ] && exit 0; [ $node = 1 ] && exit 8; sleep 1000', "--restarts", "1").end(0)
    assert run.restarts() == [(1, 1)], run.err


def an_error_is_not_repeated():
    for code in (2, 130):
        run = Run(f"[ $node = 1 ] && exit {code}; sleep 1000", "--restarts", "3").end(code)
        assert not run.restarts() and "; no restart, since an error is not repeated\n" in run.err, run.err
    run = Run("[ $node = 1 ] && exit 8; sleep 1000").end(8)
    assert "restart" not in run.err, run.err
    run = Run("", "--restarts", "3", words=["./missing"]).end(127)
    assert not run.restarts(), run.err


def restarts_are_counted():
    run = Run("progress $start; die KILL", "--restarts", "4", nodes=1).end(137)
    assert run.restarts() == [(i, 4) for i in range(1, 5)], run.err
    assert run.err.rstrip().endswith("; no restart, since all were used; the same command goes on from the newest checkpoint"), run.err


def nodes_killed_at_drawn_moments():
    """As soon as a drawn node runs, whatever the others do, it or the agent of all is killed. Each start has another agent."""
    draw = random.Random(int(os.environ.get("HAWSER_TEST_SEED", "1")))
    run, agents, kills = Run("wait_for stop", "--restarts", "20", "--restart-window", "0", nodes=3), set(), 20 if LONG else 4

    def newest(node):
        found = run.starts(node)[-1:]
        return found if found and found[0][1] not in agents and not is_gone(found[0][0]) else None
    for _ in range(kills):
        victim = draw.randrange(3)
        until(lambda: newest(victim), f"start {len(agents)} of node {victim}")
        time.sleep(draw.random() * 0.05)
        pid, agent = run.starts(victim)[-1][:2]
        agents.add(agent)
        os.kill(draw.choice((pid, agent)), signal.SIGKILL)
    run.write("stop", "")
    run.end(0)
    assert run.restarts() == [(i, 20) for i in range(1, kills + 1)], run.err


# -------------------------------------------------------------------------------------------------------------- progress ----

def two_restarts_in_a_row_without_progress_are_the_last():
    run = Run("die KILL", "--restarts", "9", nodes=1).end(137)
    assert run.restarts() == [(1, 9), (2, 9)], run.err
    assert "; no restart, since 2 in a row have ended within 60 s (--restart-window)\n" in run.err, run.err
    # Progress between two failures; only node 0 reports it. From its first report on the duration is none.
    run = Run('[ $node = 0 ] && { [ $start = 1 -o $start = 2 ] && progress 5; wait_for start.1.$start; die KILL; }; progress 6; sleep 1000',
              "--restarts", "9", "--restart-window", "0").end(137)
    assert run.restarts() == [(1, 9), (2, 9), (3, 9), (4, 9)], run.err
    assert "; no restart, since 2 in a row have made no new checkpoint; the same command goes on from the newest checkpoint\n" in run.err, run.err


# ------------------------------------------------------------------------------------------------------- ends by request ----

def an_end_by_request_is_not_repeated():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        for stubborn in ("", "trap ': >asked.$node' TERM INT HUP; "):
            run = Run(stubborn + ": >ready.$node; while :; do sleep 0.05; done", "--restarts", "3")
            until(lambda: all(os.path.exists(run.path(f"ready.{i}")) for i in (0, 1)), "ready nodes")
            run.process.send_signal(number)
            if stubborn:  # the launcher has the signal: a stubborn node is asked by it, and says so
                until(lambda: os.path.exists(run.path("asked.1")), "request at node 1")
                for node in (1, 0):
                    os.kill(run.starts(node)[0][0], signal.SIGKILL)
            run.end(137 if stubborn else 130)
            assert "restart" not in run.err.replace("a restart begins", ""), run.err


def an_end_by_request_after_a_failure_is_not_repeated():
    """The request comes while node 0, which ignores SIGTERM, holds up the end of the first start."""
    run = Run("[ $node = 1 ] && { wait_for ready; die KILL; }; trap ': >asked' TERM; : >ready; while :; do sleep 0.05; done", "--restarts", "3",
              "--grace", "1000")
    until(lambda: "was killed by signal 9" in run.read("stderr"), "failure of node 1")
    run.process.send_signal(signal.SIGTERM)
    until(lambda: os.path.exists(run.path("asked")), "request at node 0")
    os.kill(run.starts(0)[0][0], signal.SIGKILL)
    run.end(137)
    assert run.err.count("was killed by signal 9") == 1 and len(run.seen) == 1, run.err


# ----------------------------------------------------------------------------------------------------------------- hosts ----

def a_spare_host_takes_the_place_of_a_lost_one():
    """The agent of b is killed, and b cannot be logged in to any more."""
    run = Run("progress $start; [ $start = 1 ] && exit 0; sleep 1000", "--restarts", "3", hosts=["a", "b", "c", "d"])
    run.until_started(2)
    assert [run.starts(i)[0][2] for i in (0, 1)] == ["a", "b"], (run.starts(0), run.starts(1))
    run.write("down", "b\n")
    lose_host(run, 1)
    until(lambda: run.process.poll() is not None, "end")
    assert [run.starts(i)[1][2] for i in (0, 1)] == ["a", "c"], (run.starts(0), run.starts(1))
    found = run.read("asked").split()
    assert sorted(found[:2]) == ["a", "b"] and sorted(found[2:]) == ["a", "c"], found
    run.end(0)
    assert re.search(r"node 1 \(b(, pid \d+)?\): the connection to b is gone.*; restart 1 of 3$", run.err, re.M), run.err


def as_many_nodes_as_hosts_answer():
    script = '[ $start = 1 ] && exit 0; [ $node = 1 ] && { wait_for start.0.0; wait_for go; die KILL; }; sleep 1000'
    run = Run(script, "--restarts", "1", hosts=["a:2", "b", "c"], down=["b"], nodes="2:4")
    run.until_started(3)
    assert run.starts(2)[0][2:] == ["c", 3], run.starts(2)
    run.write("down", "c\n")  # b has come back
    run.write("go", "")
    until(lambda: run.process.poll() is not None, "end")
    assert run.starts(2)[1][2:] == ["b", 3], run.starts(2)
    run.end(0)
    assert run.err.count("hawser run: 3 nodes (-n 2:4)\n") == 2, run.err
    assert re.search(r"^hawser run: b is left out: cannot log in to b by '\./ssh-here': connect to host b", run.err, re.M), run.err


def a_range_has_a_least_and_a_most():
    run = Run("exit 0", hosts=["a:8", "b:8"], nodes="2:3").end(0)
    assert "hawser run: 3 nodes (-n 2:3)\n" in run.err, run.err
    run = Run("exit 0", hosts=["a:8", "b:8"], nodes="2:12", words=["bash", "-c", "exit 0", "--workers", "5"]).end(0)
    assert "at most 5 nodes, since there are 5 workers\n" in run.err and "hawser run: 5 nodes (-n 2:12)\n" in run.err, run.err
    run = Run("exit 0", hosts=["a:8", "b:8"], nodes="6:12", words=["bash", "-c", "exit 0", "--workers=5"]).end(2)
    assert "each node needs a worker" in run.err, run.err
    run = Run("exit 0", hosts=["a", "b", "c"], down=["a", "c"], nodes="2:3").end(8)
    assert "the hosts that answer have 1 slot, and the job needs 2\n" in run.err, run.err
    run = Run("exit 0", hosts=["a", "b", "c"], hang=["b"], nodes="2:3", environment={"HAWSER_JOIN_TIMEOUT": "4"}).end(0)
    assert "has logged in nowhere within 4 s" in run.err and "hawser run: 2 nodes (-n 2:3)\n" in run.err, run.err


def a_host_that_failed_holds_up_no_restart():
    """b hangs at the restart; --join-timeout is longer than the test may take."""
    run = Run("progress $start; [ $start = 1 ] && exit 0; sleep 1000", "--restarts", "1", "--join-timeout", "1000", "--failure-timeout", "3",
              hosts=["a", "b", "c"], nodes="2:3")
    run.until_started(3)
    run.write("hang", "b\n")
    lose_host(run, 1)
    run.end(0)
    assert "hawser run: 2 nodes (-n 2:3)\n" in run.err, run.err


def a_host_that_comes_back_is_waited_for():
    run = Run("progress $start; [ $start = 1 ] && exit 0; sleep 1000", "--restarts", "1", hosts=["a", "b"])
    run.until_started(2)
    run.write("down", "b\n")
    lose_host(run, 1)

    until(lambda: "b is left out" in run.read("stderr") and run.read("asked").split().count("b") >= 4, "a second failure at the restart")
    run.write("down", "")
    run.end(0)
    assert run.err.count("b is left out") == 1, run.err


def an_end_by_request_while_hosts_are_asked():
    run = Run("exit 0", "--restarts", "1", hosts=["a", "b"], hang=["b"])
    until(lambda: os.path.exists(run.path("asked")), "login")
    run.process.send_signal(signal.SIGTERM)
    run.end(130)
    assert "ended by SIGTERM before its nodes had begun" in run.err, run.err


# ---------------------------------------------------------------------------------------------------------------- output ----

def output_of_all_starts_is_kept():
    """The result of node 0 on standard output is that of the last start; files of nodes have all."""
    run = Run('echo "start $start of $node"; [ $start = 1 ] && exit 0; [ $node = 1 ] && { wait_for start.0.0; die KILL; }; sleep 1000', "--restarts", "1",
              "--output-dir", "logs")
    until(lambda: run.process.poll() is not None, "end")
    assert run.read("logs/node-1.log") == "start 0 of 1\nstart 1 of 1\n"
    run.end(0)
    assert run.out.endswith("start 1 of 0\n") and "of 1" not in run.out, run.out


def each_start_reads_the_input_from_its_beginning():
    for hosts in (None, ["a"]):
        with tempfile.TemporaryFile("w+") as given:
            given.write("skipped\nfirst\nsecond\n")
            given.flush()
            os.lseek(given.fileno(), 8, os.SEEK_SET)
            run = Run("read line; echo $line; progress 1; [ $start = 2 ] || die KILL; exec cat", "--restarts", "2", nodes=1, hosts=hosts, stdin=given)
            run.end(0)
        assert run.out == "first\nfirst\nfirst\nsecond\n", (hosts, run.out)


# ----------------------------------------------------------------------------------------------------------------- words ----

def wrong_words_are_refused():
    train = ["train", "lasso", "d.svm"]
    for options, words, text in (
            (["--restarts", "-1"], ["true"], "restarts"), (["--restarts", "x"], ["true"], "restarts"),
            (["--restarts", "1.5"], ["true"], "restarts"), (["-n", "0:3"], ["true"], "nodes: '0:3' is neither a number nor LEAST:MOST"),
            (["-n", "5:2"], ["true"], "nodes: '5:2'"), (["-n", "3:"], ["true"], "nodes: '3:'"), (["-n", ":3"], ["true"], "nodes: ':3'"),
            (["-n", "-1"], ["true"], "nodes"), (["-n", "2:70000"], ["true"], "70000"), (["-n", "2:3:4"], ["true"], "2:3:4"),
            (["-n", "4x"], ["true"], "4x"), (["-n", "2:3"], ["true"], "without --hosts FILE"),
            (["-n", "99999999999999999999"], ["true"], "nodes"),
            (["--restarts", "2"], [*train, "--checkpoint", "ck", "--fresh"], "'train' has --fresh"),
            (["--restart-window", "5"], ["true"], "--restarts"), (["--restarts", "2"], train, "'train' keeps no checkpoints"),
            (["--restarts", "2"], ["plan", "lasso", "d.svm"], "'plan' only prints")):
        run = Run("", *options, words=words, nodes=None if "-n" in options else 2).end(2)
        assert text in run.err and run.err.count("\n") == 1, (options, words, run.err)
    run = Run("", "--restarts", "2", words=["cat"], stdin=subprocess.PIPE).end(2)
    assert "standard input is a pipe" in run.err, run.err
    for words, environment in (([*train, "--checkpoint", "ck"], {}), ([*train, "--checkpoint=ck"], {}), (train, {"HAWSER_CHECKPOINT": "ck"})):
        run = Run("", "--restarts", "2", words=words, environment=environment)
        run.process.wait(SECONDS)
        assert run.process.returncode != 0
        run.end(run.process.returncode)
        assert "keeps no checkpoints" not in run.err and not run.restarts(), run.err
    run = Run("exit 0", "--restarts", "2").end(0)
    assert "note: a restart begins bash from the start, except with what it has saved itself\n" in run.err, run.err


def a_start_has_no_more_nodes_than_the_checkpoint_has_workers():
    """The workers are those of the checkpoint, so more nodes than that would have nothing to do."""
    data = "y,x0,x1\n" + "".join(f"{i * i % 7},{i},{i * 3 % 5}\n" for i in range(40))
    words = ["train", "lasso", "n.csv", "--path", "40", "--checkpoint", "ck", "--checkpoint-every", "0"]
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "n.csv"), "w", encoding="utf-8") as file:
            file.write(data)
        training = subprocess.Popen([HAWSER, *words, "--workers", "2", "--slow", "0:60"], cwd=folder, env=CLEAN, stderr=subprocess.DEVNULL,
                                    stdout=subprocess.DEVNULL)
        until(lambda: glob.glob(os.path.join(folder, "ck", "*.json")), "a checkpoint")
        training.kill()
        training.wait()
        begin = lambda script, nodes, *more: Run(script, hosts=["a:2", "b:2"], nodes=nodes, words=[  # noqa: E731
            "bash", "-c", NODE + script, "program", "--checkpoint", os.path.join(folder, "ck"), *more])
        run = begin("exit 0", "1:4").end(0)
        assert f"note: at most 2 nodes, since the checkpoint in {folder}/ck is of 2 workers\n" in run.err, run.err
        assert "hawser run: 2 nodes (-n 1:4)\n" in run.err, run.err
        run = begin("exit 0", "3:4").end(2)
        assert "is of 2 workers: each node needs a worker; the least may be 2" in run.err, run.err
        os.rename(os.path.join(folder, "ck"), os.path.join(folder, "other"))
        assert "hawser run: 4 nodes (-n 1:4)\n" in begin("exit 0", "1:4").end(0).err
        # A checkpoint that the first start has written holds for the second.
        script = f'if [ $start = 0 ]; then mv {folder}/other {folder}/ck; die 9; fi; [ $nodes = 2 ]'
        run = Run(script, "--restarts", "1", hosts=["a:2", "b:2"], nodes="1:4",
                  words=["bash", "-c", NODE + script, "program", f"--checkpoint={folder}/ck"]).end(0)
        assert "hawser run: 4 nodes (-n 1:4)\n" in run.err and "hawser run: 2 nodes (-n 1:4)\n" in run.err, run.err


def timed(test):
    begun = time.monotonic()
    test()
    print(f"{test.__name__} ok, {time.monotonic() - begun:.1f} s", flush=True)


def tensors(path):
    """Returns every bit of a model except the facts of how it was made."""
    with open(path, "rb") as file:
        whole = file.read()
    length = struct.unpack("<Q", whole[:8])[0]
    header = json.loads(whole[8:8 + length])
    header.pop("__metadata__")
    return header, whole[8 + length:]


def a_training_goes_on_from_its_checkpoints():
    """It is killed three times, each time after a new checkpoint (there is another one), and has the model of one that nothing disturbed."""
    draw = random.Random(1)
    data = "y," + ",".join(f"x{j}" for j in range(12)) + "\n"
    for _ in range(160):
        row = [draw.gauss(0, 1) for _ in range(12)]
        data += ",".join(f"{value:.6f}" for value in [row[0] - 2 * row[3] + draw.random(), *row]) + "\n"
    words = ["train", "lasso", "n.csv", "--path", "40", "--workers", "3", "--checkpoint", "ck", "--checkpoint-every", "0"]
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "n.csv"), "w", encoding="ascii") as file:
            file.write(data)
        subprocess.run([HAWSER, *words, "-q", "-o", "m"], cwd=folder, env=CLEAN, check=True)
        undisturbed = tensors(os.path.join(folder, "m"))
    run = Run("", "--restarts", "9", nodes=1, words=["sh", "-c", 'until [ -e n.csv ]; do sleep 0.02; done; echo $$ >>pids; exec "$@"', "sh", HAWSER,
                                                    *words, "--slow", "0:1000", "-o", "m"])
    run.write("n.csv", data)

    def newest():
        folder = run.path("ck")
        return max([int(name.split("-")[1]) for name in os.listdir(folder) if name.startswith("checkpoint-")] if os.path.isdir(folder) else [0], default=0)
    seen = kills = 0
    while kills < 3:
        until(lambda: newest() > seen + 1 or run.process.poll() is not None, "checkpoint")
        if run.process.poll() is not None:
            break
        pid = int(run.read("pids").split()[-1])
        seen, kills = newest(), kills + 1
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        until(lambda: run.process.poll() is not None or int(run.read("pids").split()[-1]) != pid, "restart")
    assert run.process.wait(SECONDS) == 0, run.read("stderr")
    model = tensors(run.path("m"))
    run.end(0)
    assert 1 <= len(run.restarts()) <= kills and "goes on from clock" in run.err, run.err
    assert model == undisturbed, "another model"


def main():
    tests = (a_training_goes_on_from_its_checkpoints, a_killed_node_is_repeated, a_lost_peer_is_repeated, an_error_is_not_repeated, restarts_are_counted, nodes_killed_at_drawn_moments,
                 two_restarts_in_a_row_without_progress_are_the_last, an_end_by_request_is_not_repeated, an_end_by_request_after_a_failure_is_not_repeated,
                 a_spare_host_takes_the_place_of_a_lost_one, as_many_nodes_as_hosts_answer, a_range_has_a_least_and_a_most,
                 a_host_that_failed_holds_up_no_restart, a_host_that_comes_back_is_waited_for, an_end_by_request_while_hosts_are_asked, a_start_has_no_more_nodes_than_the_checkpoint_has_workers,
                 output_of_all_starts_is_kept, each_start_reads_the_input_from_its_beginning, wrong_words_are_refused)
    wanted = [test for test in tests if not sys.argv[1:] or test.__name__ in sys.argv[1:]]
    with concurrent.futures.ThreadPoolExecutor(3) as threads:  # most of them wait most of the time
        for done in [threads.submit(timed, test) for test in wanted]:
            done.result()


main()
