"""A terminal that is closed under a command: as leader of its session, or in an interactive shell."""
import fcntl
import os
import pty
import select
import shlex
import subprocess
import sys
import termios
import threading

from jobs import KEEPER
from watch import read, until


class Terminal:
    def __init__(self, shell):
        self.shell, self.master, self.keeper, self.viewer = shell, None, None, None
        self.closed = threading.Event()

    def start(self, job, words):
        """Runs the command or the shell in the terminal. Its output goes to the log."""
        self.master, slave = pty.openpty()
        self.keeper = job.log("code") if self.shell else None
        own = ["bash", "--norc", "--noprofile", "-i"] if self.shell else words

        def lead():
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
            job.limits()

        process = subprocess.Popen(own, cwd=job.path, env={**job.environment, "TERM": "dumb"}, stdin=slave, stdout=slave, stderr=slave,
                                   preexec_fn=lead)
        os.close(slave)
        self.viewer = threading.Thread(target=self.show, args=(job.log("front.err"),), daemon=True)
        self.viewer.start()
        if self.shell:
            line = shlex.join([sys.executable, "-c", KEEPER, self.keeper, *words])
            os.write(self.master, line.encode() + b"\n")
        return process

    def show(self, path):
        with open(path, "wb", buffering=0) as log:
            while not self.closed.is_set():
                try:
                    if select.select([self.master], [], [], 0.05)[0]:
                        log.write(os.read(self.master, 65536))
                except OSError:  # no process has the other end open
                    return

    def hang_up(self):
        """Closes the terminal: the kernel sends SIGHUP to the session's leader, and a shell sends one to each of its jobs."""
        self.closed.set()
        self.viewer.join()  # the terminal exists as long as a process reads it
        os.close(self.master)

    def code(self, job):
        """Returns the exit code of the command, which may outlive the shell; None: not known in time."""
        if not self.shell:
            return job.front.returncode
        until(lambda: read(self.keeper))
        return int(read(self.keeper)) if read(self.keeper) else None
