"""Faults of trainings with --checkpoint: the job is killed and started again on other nodes, the disk is full or gone, a checkpoint is damaged, another
job takes the folder. The last start of the command is the front process, whose end judge.py judges: its model has the bits of an undisturbed training."""
import contextlib
import glob
import json
import os
import signal
import time

import harm
from jobs import HAWSER
from watch import LONG, read, send, until


def manifests(job):
    """Returns the paths of the manifests, the newest last."""
    return sorted(glob.glob(os.path.join(job.folder, "checkpoint-*.json")))


def wait_for_checkpoints(job, least):
    """Waits for the training's checkpoint number `least`, then for the drawn moment."""
    number = lambda: int(os.path.basename((manifests(job) or ["-0-"])[-1]).split("-")[1])  # noqa: E731
    until(lambda: number() >= least or job.front.poll() is not None, LONG)
    time.sleep(job.trial.moment / 4)


def ended(job):
    """Waits until all processes of the job have ended, and returns whether its front process reported success."""
    if not until(lambda: not job.members() and job.front.poll() is not None):
        job.complaints.append("did not end after a kill: " + "; ".join(map(str, job.members())))
    return job.front.poll() == 0


def kill_all(job):
    """Kills every process of the job. Returns whether it had ended with success before."""
    for process in job.members():
        job.killed.add(process.pid)
        send(process.pid, signal.SIGKILL)
    return ended(job)


def start(job, slow=False, more=()):
    """Starts the same command on drawn nodes and threads."""
    nodes = job.trial.chance.choice((1, 2, 3))
    words = [*job.training(slow), "--threads", str(job.trial.chance.randint(1, 4)), *more]
    if nodes > 1:
        words = ["run", "-n", str(nodes), "--grace", "3", "--", *words]
    job.starts += 1
    job.front = job.start("front", [HAWSER, *words])


def goes_on(job, there, slow=False):
    """Starts the command again and complains unless it goes on from a checkpoint exactly if there is one."""
    start(job, slow)
    said = lambda: "goes on from clock" in job.text()  # noqa: E731
    until(lambda: job.front.poll() is not None or said(), LONG)
    if said() != there:
        job.complaints.append(f"start {job.starts} {'goes on from no' if there else 'goes on from a'} checkpoint: {job.text()[-300:]}")


def restart(job):
    """Kills a process of the job, several times in a row, and starts the command again."""
    for turn in range(job.trial.kills):
        if turn == 0 and job.trial.chance.random() < 0.3:  # also before there is one
            time.sleep(job.trial.moment / 2)
        else:
            wait_for_checkpoints(job, job.trial.chance.randint(1, 4))
        victims = job.victims(job.trial.victim) if turn == 0 else []
        for process in victims:
            job.killed.add(process.pid)
            send(process.pid, signal.SIGKILL)
        success = ended(job) if victims else kill_all(job)
        if success and manifests(job):
            job.complaints.append(f"a training that has ended left checkpoints: {manifests(job)}")
        goes_on(job, bool(manifests(job)), slow=turn + 1 < job.trial.kills)


# --------------------------------------------------------------------------------------------------------------- full ----

def fill(path):
    with open(path, "wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(b"x" * 1024)


def full(job):
    """The disk is full or gone while checkpoints are written. It is freed, or the training ends without it, or is killed and goes on from the last one."""
    wait_for_checkpoints(job, job.trial.chance.randint(1, 3))
    filler, away = os.path.join(job.folder, "filler"), job.folder + ".away"
    gone = {"unmounted": lambda: harm.unmount(job.folder), "away": lambda: os.rename(job.folder, away)}
    warned = lambda: "no checkpoint was written" in job.text()  # noqa: E731
    gone.get(job.trial.victim, lambda: fill(filler))()
    until(lambda: job.front.poll() is not None or warned(), LONG)
    last = manifests(job)
    if job.front.poll() is None and job.trial.victim == "killed":
        kill_all(job)
        os.unlink(filler)
        goes_on(job, bool(last))
    elif job.trial.victim == "freed":
        os.unlink(filler)
    elif job.trial.victim == "away":
        time.sleep(job.trial.moment / 4)
        os.rename(away, job.folder)
    until(lambda: job.front.poll() is not None, LONG)
    if job.text().count("no checkpoint was written") > 1:
        job.complaints.append("more than one warning of one failure")
    with contextlib.suppress(FileNotFoundError):
        os.unlink(filler)


# ------------------------------------------------------------------------------------------------------------- damage ----

def spoil(job, path):
    """Cuts, changes, empties or removes a file. Returns False if it is as before."""
    whole, chance = read(path), job.trial.chance
    how = chance.choice(("cut", "byte", "zeros", "empty") + (() if path.endswith(".json") else ("gone",)))
    if how == "gone":
        os.unlink(path)
        return
    at = chance.randrange(len(whole))
    changed = {"cut": whole[:at], "byte": whole[:at] + bytes([whole[at] ^ (1 << chance.randrange(8))]) + whole[at + 1:],
               "zeros": whole[:at] + bytes(len(whole) - at), "empty": b""}[how]
    if changed == whole:
        changed = whole[:at]
    with open(path, "wb") as file:
        file.write(changed)


def damage(job):
    """Damages a file of the newest checkpoint, or of all: a line names it, and the one before is used, or the command is refused until --fresh."""
    wait_for_checkpoints(job, 3)
    if kill_all(job) or len(manifests(job)) < 2:
        goes_on(job, bool(manifests(job)))
        return
    damaged = manifests(job) if job.trial.victim == "all" else manifests(job)[-1:]
    named = []
    for manifest in damaged:
        parts = [os.path.join(job.folder, part["file"]) for part in json.loads(read(manifest).splitlines()[0])["parts"]]
        named.append(manifest if job.trial.victim == "manifest" else job.trial.chance.choice(parts))
        spoil(job, named[-1])
    if job.trial.victim == "all":
        start(job)
        until(lambda: job.front.poll() is not None, LONG)
        if job.front.poll() == 0 or "--fresh" not in job.text():
            job.complaints.append(f"exit {job.front.poll()} with damaged checkpoints alone, and no line says --fresh: {job.text()[-300:]}")
        lines = job.text()
        start(job, more=("--fresh",))
    else:
        goes_on(job, True)
        lines = job.text()
    for path in named:
        count = sum(os.path.basename(path) in line for line in lines.splitlines())
        if count != 1:
            job.complaints.append(f"{count} lines name the damaged {os.path.basename(path)}: {lines[-400:]}")


# ----------------------------------------------------------------------------------------------------------- two jobs ----

def two_jobs(job):
    """A second job opens the folder. If it is the same run, the first ends with a message; if it is another, it is refused and the first goes on."""
    wait_for_checkpoints(job, job.trial.chance.randint(1, 3))
    first, others = job.front, {"same": (), "other": ("--seed", "77"), "larger": ("--workers", "4")}[job.trial.victim]
    model = os.path.join(job.path, "other.model")
    second = job.start("second", [HAWSER, *job.training(slow=False, model=model), *others])
    if not until(lambda: second.poll() is not None, LONG):
        job.complaints.append("the second job does not end")
        second.kill()
    said = job.text("second.err")
    refused = "--fresh" in said or "leave out --workers" in said
    if job.trial.victim != "same":
        if second.returncode != 2 and first.poll() is None or second.returncode == 2 and not refused:
            job.complaints.append(f"another run on a folder in use: exit {second.returncode}: {said[-300:]}")
        return
    if second.returncode != 0:
        job.complaints.append(f"the same run on a folder in use: exit {second.returncode}: {said[-300:]}")
    job.other = model


HARMS = {"restart": restart, "full": full, "damage": damage, "two jobs": two_jobs}

