"""The faults: each waits for its moment and does its harm. judge.py says what may follow."""
import contextlib
import os
import signal
import subprocess
import time

from watch import sees_to, send, state_of, until

LAST_SECONDS = 20  # time in which a launcher ends a stopped node after others have failed; its grace is 3 s


class Skipped(Exception):
    pass


def wait_until_settled(job):
    until(lambda: job.settled() or job.front.poll() is not None)
    time.sleep(job.trial.moment)


def signal_victims(job, number):
    for process in job.victims(job.trial.victim):
        if number == signal.SIGKILL:
            job.killed.add(process.pid)
        send(process.pid, number)


def kill(job):
    wait_until_settled(job)
    signal_victims(job, signal.SIGKILL)


def alone(job, victims):
    """Returns whether the stopped processes are all nodes that are left. If the others ended with success, the launcher waits for them like a shell."""
    stopped = [p.pid for p in victims]
    return all(p.pid in stopped for p in job.members() if p.role == "node") and all(p.role == "node" for p in victims)


def stop(job):
    """Stops for good: the processes are continued once all others have ended."""
    wait_until_settled(job)
    victims = job.victims(job.trial.victim)
    signal_victims(job, signal.SIGSTOP)
    ended = lambda: job.front.poll() is not None  # noqa: E731
    if job.trial.victim == "client":
        time.sleep(3)  # the server ends the group and keeps serving
    elif job.front.pid not in [p.pid for p in victims] and not until(lambda: ended() or alone(job, victims)):
        job.complaints.append(f"what is stopped ({job.trial.victim}) is waited for without an end: " + "; ".join(map(str, job.members())))
    elif job.front.pid not in [p.pid for p in victims]:
        job.last_stopped = not until(ended, LAST_SECONDS)
    for process in victims:
        send(process.pid, signal.SIGCONT)


def pause(job):
    wait_until_settled(job)
    if job.trial.victim == "suspend":  # as by Ctrl-Z and fg
        send(job.front.pid, signal.SIGTSTP)
        until(lambda: job.front.poll() is not None or state_of(job.front.pid) == "T", 20)
        time.sleep(job.trial.pause)
        send(job.front.pid, signal.SIGCONT)
        return
    victims = job.victims(job.trial.victim)
    signal_victims(job, signal.SIGSTOP)
    time.sleep(job.trial.pause)
    for process in victims:
        send(process.pid, signal.SIGCONT)


def send_to_front(job, number):
    if job.trial.victim == "group":
        os.killpg(job.front.pid, number)
    elif job.trial.victim == "front":
        send(job.front.pid, number)
    else:
        signal_victims(job, number)


def hang_up(job):
    """Sends the signal twice, as an interactive shell and the kernel do."""
    wait_until_settled(job)
    for _ in range(2):
        if job.front.poll() is None:
            send_to_front(job, signal.SIGHUP)
        time.sleep(job.trial.gap)


def interrupt(job):
    wait_until_settled(job)
    if job.front.poll() is None:
        send_to_front(job, getattr(signal, f"SIG{job.trial.signal}"))


def terminal(job):
    wait_until_settled(job)
    job.terminal.hang_up()


def early(job):
    """Sends the signal at a moment when the process may not have read its command line. Before main the system ends it."""
    number, end = getattr(signal, f"SIG{job.trial.signal}"), time.monotonic() + job.trial.early
    job.reached_main = sees_to(job.front.pid, number)
    while time.monotonic() < end:
        job.reached_main = job.reached_main or sees_to(job.front.pid, number)
        time.sleep(0.002)
    send(job.front.pid, number)


def mount(folder):
    """Mounts a disk of 1 MiB at a folder."""
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", folder], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Skipped(f"no disk can be mounted here: {done.stderr.strip()}")


def unmount(folder):
    subprocess.run(["umount", "-l", folder], capture_output=True, check=False)


def disk(job):
    """Fills the disk from the middle of the job on, until it ends or has reported it."""
    wait_until_settled(job)
    filler = os.path.join(job.out, "filler")
    with open(filler, "wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError:
            pass
    if job.serves:
        send(job.front.pid, signal.SIGTERM)
    if job.trial.victim == "freed":
        until(lambda: job.front.poll() is not None or "No space left" in job.text() or "full" in job.text())
        time.sleep(job.trial.moment)
        os.unlink(filler)


def nothing(job):
    """The limits with which the job began are the harm."""
    until(lambda: job.front.poll() is not None or job.settled())


# ------------------------------------------------------------------------------------------------------------ cgroup ----

def cgroup(job, most):
    """Makes a group of `most` bytes. Returns its path, and a function that puts a process into it; without a number, this one."""
    base, name = "/sys/fs/cgroup", f"hawser-{job.mark}"
    one = os.path.exists(f"{base}/memory/memory.limit_in_bytes")
    group = f"{base}/memory/{name}" if one else f"{base}/{name}"
    try:
        os.mkdir(group)
        with open(f"{group}/{'memory.limit_in_bytes' if one else 'memory.max'}", "w", encoding="ascii") as file:
            file.write(str(most))
    except OSError as error:
        remove(group)
        raise Skipped(f"no cgroup can be made here: {error}") from error

    def enter(pid=0):
        with open(f"{group}/cgroup.procs", "w", encoding="ascii") as file:
            file.write(str(pid or os.getpid()))
    return group, enter


def confine(job):
    """Puts the victim into the group as soon as it runs, and with it all processes that an agent starts later. The front process begins there."""
    if job.trial.victim != "front":
        until(lambda: job.victims(job.trial.victim) or job.front.poll() is not None)
        for process in job.victims(job.trial.victim):
            with contextlib.suppress(OSError):  # it has ended
                job.confine(process.pid)
    nothing(job)


def remove(group):
    """Removes the group once no process is in it."""
    def gone():
        try:
            os.rmdir(group)
        except FileNotFoundError:
            return True
        except OSError:
            return False
        return True
    return until(gone, 10)


HARMS = {"kill": kill, "stop": stop, "pause": pause, "hang-up": hang_up, "interrupt": interrupt, "terminal": terminal, "early": early,
         "disk": disk, "memory": nothing, "cgroup": confine, "limit": nothing,
         "descriptors": nothing}
