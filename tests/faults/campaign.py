#!/usr/bin/env python3
"""Faults at random moments: kinds of fault, victims and moments are drawn by seed, and what holds after each is in judge.py.

campaign.py [--seed S] [--trials N] [--trial N] [--fault KIND] [--job KIND] [--jobs N] [--keep]: 96 trials, or 960 with HAWSER_TEST_LONG. Failed
trials are printed once more, shortened, at the end: a log is often cut to its last lines. The last line of a failed trial is the command that repeats
it; --keep leaves its files.
"""
import argparse
import concurrent.futures
import os
import shutil
import signal
import sys
import time
import traceback

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import checkpoints  # noqa: E402
import harm  # noqa: E402
from draw import FAULTS, Trial  # noqa: E402
from jobs import HAWSER, OLD, PROBE, Job, World, limit  # noqa: E402
from judge import Judge, exact  # noqa: E402
from terminal import Terminal  # noqa: E402
from watch import LONG, TIMEOUT, end_all, members, send, until  # noqa: E402


def end_servers(job):
    """Servers end when they are asked to."""
    if not job.serves or job.front.poll() is not None:
        return
    passes_over = job.trial.fault == "early" and job.trial.signal == "HUP"  # there is no terminal that could be lost
    if job.trial.fault not in ("terminal", "early", "interrupt") or passes_over and not until(lambda: job.front.poll() is not None, 1):
        time.sleep(0.2)
        send(job.front.pid, signal.SIGTERM)


def wait(job):
    """Returns the exit code of the front process, or None if it has not ended in time."""
    seconds = LONG if job.trial.keeps else TIMEOUT
    until(lambda: job.front.poll() is not None, seconds)
    if job.front.poll() is None:
        return None
    for helper in job.helpers:
        if not until(lambda one=helper: one.poll() is not None):
            job.complaints.append(f"process {helper.pid} did not end within {TIMEOUT} s: {' '.join(map(str, helper.args))[:120]}")
    return job.front.returncode if job.terminal is None else job.terminal.code(job)


def all_said(job):
    names = sorted(os.listdir(job.path), key=lambda name: (name.endswith(".err"), name))  # errors last, because the end of a text is kept
    names = [name for name in names if name.endswith((".err", ".out")) and job.text(name)]
    return "".join(f"--- {name}\n{job.text(name)[-1500:]}\n" for name in names)


def prepare(world, trial):
    limits = limit(trial.fault, trial.limit) if trial.fault in ("memory", "descriptors") else None
    job = Job(world, trial, limits, Terminal(trial.victim == "shell") if trial.fault == "terminal" else None)
    if trial.fault == "cgroup":
        job.group, job.confine = harm.cgroup(job, trial.limit)
        job.limits = job.confine if trial.victim == "front" else job.limits
    if job.disk:
        harm.mount(job.disk)
    return job


def disturb(job):
    """Begins the job, does the harm, waits for the end, and returns the faults that the judge found."""
    job.begin()
    {**harm.HARMS, **checkpoints.HARMS}[job.trial.fault](job)
    end_servers(job)
    code = wait(job)
    if code is None:
        faults = [f"did not end within {TIMEOUT} s: " + "; ".join(map(str, members(job.mark)))]
    else:
        faults = Judge(job, code).verdict()
    return code, faults


def clean(job, keep):
    end_all(job.mark)
    for process in [job.front, *job.helpers]:
        if process is not None:
            process.wait()
    if job.disk:
        harm.unmount(job.disk)
    if job.trial.fault == "cgroup":
        harm.remove(job.group)
    if not keep:
        shutil.rmtree(job.path, ignore_errors=True)


def shortened(text, lines):
    """Returns the text of a failed trial without its middle: its beginning says what failed, its end has the command that repeats it."""
    whole, head = [line[:300] for line in text.splitlines()], lines // 3
    tail = lines - head - 1
    return "\n".join(whole if len(whole) <= lines else [*whole[:head], f"... {len(whole) - head - tail} lines are left out ...", *whole[-tail:]])


def attempt(world, trial, keep):
    """Returns (line, faults) of one trial."""
    begin, job = time.monotonic(), None
    try:
        job = prepare(world, trial)
        code, faults = disturb(job)
        line = f"{trial}: exit {code}, {time.monotonic() - begin:.1f} s"
    except harm.Skipped as why:
        return f"{trial}: skipped: {why}", []
    except Exception:  # a mistake of the test is a failure, and the other trials continue
        line, faults = f"{trial}", [traceback.format_exc()]
    if faults:
        own = f"{os.path.realpath(__file__)} --seed {trial.seed} --trial {trial.number} --keep"
        line = f"FAILED {line}\n  " + "\n  ".join(faults) + f"\n{all_said(job) if job is not None else ''}again: {own}"
    if job is not None:
        clean(job, keep and faults)
    return line, faults


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--trials", type=int, default=960 if os.environ.get("HAWSER_TEST_LONG") else 96)
    parser.add_argument("--trial", type=int, action="append", help="only this one")
    parser.add_argument("--fault", choices=sorted(FAULTS), action="append", help="only such faults")
    parser.add_argument("--job", help="only such jobs")
    parser.add_argument("--jobs", type=int, default=2 * (os.cpu_count() or 1), help="trials at a time")
    parser.add_argument("--keep", action="store_true", help="keep the files of trials that fail")
    return parser.parse_args()


def shared_memory():
    """Returns the files of Hawser in /dev/shm, except those of boxes of other tests that run now."""
    found = os.listdir("/dev/shm") if os.path.isdir("/dev/shm") else []
    return {name for name in found if "hawser" in name and not name.startswith("hawser-box-")}


def main():
    options = arguments()
    if not os.path.exists(HAWSER) or not os.path.exists(PROBE):
        print("skipped: no", HAWSER, "or no", PROBE)
        return 77
    trials = [Trial(options.seed, n, sorted(FAULTS)) for n in options.trial or range(options.trials)]
    if os.environ.get("HAWSER_SANITIZE"):  # sanitizers need more memory than a limit leaves
        trials = [t for t in trials if t.fault not in ("memory", "cgroup")]
    trials = [t for t in trials if (not options.fault or t.fault in options.fault) and options.job in (None, t.job)]
    before, world, failed = shared_memory(), World(), []
    try:
        world.reference(OLD)
        for trial in trials:  # one after the other, because trials share them
            world.reference(trial.training)
            world.reference(exact(trial.training))
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for line, faults in pool.map(lambda trial: attempt(world, trial, options.keep), trials):
                print(line, flush=True)
                failed += [line] if faults else []
    finally:
        if options.keep and failed:
            print("files are in", world.path)
        else:
            world.close()
    if shared_memory() - before:
        failed.append(f"FAILED left in /dev/shm: {' '.join(shared_memory() - before)}")
    for line in failed:
        print(shortened(line, min(30, max(6, 54 // len(failed)))))
    print(f"{len(trials)} trials, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
