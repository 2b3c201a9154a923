#!/usr/bin/env python3
"""hawser run and signals: passed on, Ctrl-Z and back, and nothing left behind even when the launcher or an agent is killed."""
import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

HAWSER = os.environ["HAWSER_BINARY"]
TIMEOUT = 60
NODE = """
import os, signal, sys, time
def say(number, frame):
    with open(f"signals.{os.environ['HAWSER_NODE']}", "a") as f: f.write(f"{number}\\n")
    if number == 15 and SLOW:
        time.sleep(3.5)
        open(f"ended.{os.environ['HAWSER_NODE']}", "w").close()
    if number in (2, 15): os._exit(130)
for number in (1, 2, 10, 12, 15): signal.signal(number, signal.SIG_IGN if STUBBORN else say)
with open(f"pid.{os.environ['HAWSER_NODE']}.tmp", "w") as f: f.write(str(os.getpid()))
os.rename(f"pid.{os.environ['HAWSER_NODE']}.tmp", f"pid.{os.environ['HAWSER_NODE']}")
while True: time.sleep(0.05)
"""
failures = 0


def complain(text):
    global failures
    failures += 1
    print("FAILED:", text, file=sys.stderr)


def until(condition, what):
    end = time.monotonic() + TIMEOUT
    while not condition():
        if time.monotonic() > end:
            complain(f"no {what} after {TIMEOUT} s")
            return False
        time.sleep(0.02)
    return True


def state(pid):
    """T stopped, S asleep ..., '' gone; a zombie is gone."""
    try:
        found = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""
    return "" if found in "ZX" else found


class Run:
    def __init__(self, *options, stubborn=False, slow=False, nodes=3):
        self.folder = tempfile.TemporaryDirectory()
        environment = {k: v for k, v in os.environ.items() if not k.startswith("HAWSER_")}
        environment["TMPDIR"] = self.folder.name
        self.process = subprocess.Popen(
            [HAWSER, "run", "-n", str(nodes), *options, "--", sys.executable, "-c", NODE.replace("STUBBORN", str(stubborn)).replace("SLOW", str(slow))],
            cwd=self.folder.name, env=environment, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True)
        paths = [os.path.join(self.folder.name, f"pid.{i}") for i in range(nodes)]
        until(lambda: all(os.path.exists(p) for p in paths), "nodes")
        self.pids = [int(open(p).read()) for p in paths]
        self.agent = int(open(f"/proc/{self.pids[0]}/stat").read().rsplit(")", 1)[1].split()[1])

    def heard(self, number):
        def one(i):
            path = os.path.join(self.folder.name, f"signals.{i}")
            return os.path.exists(path) and str(number) in open(path).read().split()
        return all(one(i) for i in range(len(self.pids)))

    def all_in(self, *states):
        return all(state(p) in states for p in self.pids)

    def end(self, *codes):
        try:
            _, err = self.process.communicate(timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            complain("hawser run did not end")
            self.process.kill()
            _, err = self.process.communicate()
        if codes and self.process.returncode not in codes:
            complain(f"exit {self.process.returncode}, not {codes}: {err}")
        until(lambda: self.all_in("") and state(self.agent) == "", "end of nodes and agent")
        left = [name for name in os.listdir(self.folder.name) if name.startswith("hawser-")]
        if left:
            complain(f"left behind: {left}")
        self.folder.cleanup()
        return err


def passed_on():
    run = Run()
    for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP):
        run.process.send_signal(number)
        until(lambda: run.heard(int(number)), f"signal {number} at all nodes")
    run.process.send_signal(signal.SIGINT)
    err = run.end(130)
    if "ended with" in err:
        complain(f"a failure is told after Ctrl-C: {err}")


def terminated():
    run = Run()
    run.process.send_signal(signal.SIGTERM)
    until(lambda: run.heard(15), "SIGTERM at all nodes")
    run.end(130)


def children(parent):
    """Returns the processes below one, itself included."""
    found = {parent}
    parents = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            parents[int(pid)] = int(open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[1])
    while more := {pid for pid, above in parents.items() if above in found} - found:
        found |= more
    return found


def all_terminated():
    """Slurm's requeue and systemd send SIGTERM to launcher, ssh, agents and nodes. The nodes may take their time, as after one to the launcher alone."""
    with tempfile.TemporaryDirectory() as folder:
        ssh, hosts = os.path.join(folder, "ssh"), os.path.join(folder, "hosts")
        with open(ssh, "w") as out:
            out.write('#!/bin/sh\nsh -c "$2"\n')
        os.chmod(ssh, 0o755)
        with open(hosts, "w") as out:
            out.write("one\ntwo\n")
        for options in ((), ("--hosts", hosts, "--ssh", ssh)):
            run = Run(*options, slow=True, nodes=2)
            for pid in sorted(children(run.process.pid)):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGTERM)
            until(lambda: all(os.path.exists(os.path.join(run.folder.name, f"ended.{i}")) for i in range(2)), "nodes that ended by themselves")
            run.end(130)


def third_time():
    run = Run(stubborn=True)
    for _ in range(3):
        run.process.send_signal(signal.SIGINT)
        time.sleep(0.2)
    run.end(137)


def third_time_to_an_agent_that_is_stopped():
    run = Run(stubborn=True)
    os.kill(run.agent, signal.SIGSTOP)
    for _ in range(3):
        run.process.send_signal(signal.SIGINT)
        time.sleep(0.2)
    err = run.end(8)
    if "the agent of this host does not answer" not in err:
        complain(f"not told who did not answer: {err}")


def agent_that_is_stopped():
    """It is lost with its nodes after --failure-timeout, whether or not the user asks for the end meanwhile."""
    for ends in (False, True):
        run = Run("--failure-timeout", "0.5", "--grace", "0", stubborn=ends)
        os.kill(run.agent, signal.SIGSTOP)
        if ends:
            run.process.send_signal(signal.SIGTERM)
        err = run.end(8)
        if not ends and not ("node 0 (node-0, pid" in err and "the agent of this host has been silent for " in err):
            complain(f"not told who was silent: {err}")


def agent_that_is_stopped_for_a_moment():
    run = Run("--failure-timeout", "20")
    os.kill(run.agent, signal.SIGSTOP)
    time.sleep(0.5)
    os.kill(run.agent, signal.SIGCONT)
    run.process.send_signal(signal.SIGINT)
    run.end(130)


def agent_that_does_not_start():
    """The agent is stopped before it sends anything: --join-timeout."""
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "mute"), "w") as mute:
            mute.write("#!/bin/sh\nexec sleep 1000\n")
        os.chmod(mute.name, 0o755)
        with open(os.path.join(folder, "hosts"), "w") as hosts:
            hosts.write("ash slots=2\n")
        for words in (["--join-timeout", "0.5", "--", "true"], ["--", "train", "lasso", "d.svm", "--join-timeout", "0.5"]):
            got = subprocess.run([HAWSER, "run", "--hosts", hosts.name, "--grace", "0", "--ssh", mute.name, *words],
                                 stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT,
                                 env={k: v for k, v in os.environ.items() if not k.startswith("HAWSER_")})
            if got.returncode != 8 or "has logged in nowhere within 0.5" not in got.stderr:
                complain(f"a silent ssh: exit {got.returncode}, {got.stderr}")


def suspended():
    """For longer than the failure timeout."""
    run = Run("--failure-timeout", "0.5")
    run.process.send_signal(signal.SIGTSTP)
    until(lambda: run.all_in("T") and state(run.process.pid) == "T", "stop of all")
    time.sleep(2)
    run.process.send_signal(signal.SIGCONT)
    until(lambda: run.all_in("S", "R") and state(run.process.pid) in "SR", "going on of all")
    run.process.send_signal(signal.SIGINT)
    run.end(130)


def launcher_killed():
    run = Run(stubborn=True)
    run.process.kill()
    run.end(-9)


def launcher_killed_while_suspended():
    run = Run()
    run.process.send_signal(signal.SIGTSTP)
    until(lambda: run.all_in("T") and state(run.process.pid) == "T", "stop of all")
    run.process.kill()
    run.end(-9)


def agent_killed():
    run = Run(stubborn=True)
    os.kill(run.agent, signal.SIGKILL)
    err = run.end(137)  # with the nodes, which never look at their channel
    if "the agent of this host was killed by signal 9 (KILL); unless a person did that" not in err:
        complain(f"agent killed: {err}")


def node_that_ends_before_it_joins():
    """The others end at once and name it: no link to it could break, and --grace is long."""
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "d.csv"), "w") as data:
            data.write("y,a,b,c\n" + "".join(f"{i % 7},{i % 3},{i % 5},{i % 2}\n" for i in range(40)))
        for node, end, what in ((2, "kill -TERM $$", "was killed by signal 15 \\(TERM\\)"), (0, "kill -KILL $$", "was killed by signal 9 \\(KILL\\)"),
                                (1, "exit 7", "ended with code 7")):
            script = f'if [ $HAWSER_NODE = {node} ]; then {end}; fi; exec "{HAWSER}" train lasso d.csv --workers 3 --quiet'
            got = subprocess.run([HAWSER, "run", "-n", "3", "--grace", "600", "--", "sh", "-c", script], cwd=folder,
                                 stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT,
                                 env={k: v for k, v in os.environ.items() if not k.startswith("HAWSER_")})
            for other in {0, 1, 2} - {node}:
                if not re.search(f"\\[{other}\\] hawser: .*node {node} \\(node-{node}, pid [0-9]+\\) {what} before the job's nodes had joined", got.stderr):
                    complain(f"node {other} does not name node {node}: {got.stderr}")


for test in (passed_on, terminated, all_terminated, third_time, third_time_to_an_agent_that_is_stopped, agent_that_is_stopped, agent_that_is_stopped_for_a_moment,
             agent_that_does_not_start, suspended, launcher_killed, launcher_killed_while_suspended, agent_killed,
             node_that_ends_before_it_joins):
    before = failures
    test()
    print(test.__name__, "ok" if failures == before else "FAILED")
sys.exit(failures > 0)
