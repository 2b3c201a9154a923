"""The calls of the box to the kernel, and its errors.

Modules that take long to load are imported where they are used: a test runs the box some hundred times.
"""
import ctypes
import errno
import os
import re
import signal
import time

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWNET = 0x00020000, 0x04000000, 0x40000000
MS_BIND, MS_MOVE, MS_REC, MS_SLAVE = 0x1000, 0x2000, 0x4000, 0x80000
MNT_DETACH, PR_SET_PDEATHSIG = 2, 1
NOT_HERE = 77  # CTest's exit status for "skipped"
ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
NAMESPACES = "/run/netns"
NAME = r"[a-z0-9][a-z0-9-]{0,39}"

libc = ctypes.CDLL(None, use_errno=True)


class Failure(Exception):
    """An error: one clear line and an exit status."""

    def __init__(self, text, code=1):
        super().__init__(text)
        self.code = code


def call(function, *arguments):
    if getattr(libc, function)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{function}: {os.strerror(number)}")


def mount(source, target, kind=None, flags=0):
    encode = lambda text: text.encode() if text else None
    call("mount", encode(source), encode(target), encode(kind), ctypes.c_ulong(flags), None)


def setns(path, kind):
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        call("setns", descriptor, kind)
    finally:
        os.close(descriptor)


def inside(namespace, work):
    """Calls work() in a network namespace. The caller must have one thread, and returns to its own namespace."""
    home = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        setns(f"{NAMESPACES}/{namespace}", CLONE_NEWNET)
        try:
            return work()
        finally:
            call("setns", home, CLONE_NEWNET)
    finally:
        os.close(home)


def tool(name):
    """Users' paths often lack the directories of ip, bridge and tc."""
    for directory in os.environ.get("PATH", "").split(":") + ["/usr/sbin", "/sbin", "/usr/bin", "/bin"]:
        found = os.path.join(directory, name)
        if os.path.isfile(found) and os.access(found, os.X_OK):
            return found
    raise Failure(f"skipped: no program '{name}' (package iproute2)", NOT_HERE)


def said(name, *arguments, stdin=None):
    """Returns the output of a program; raises Failure with the program's message if it fails."""
    import subprocess
    parent, pipe, path = os.getpid(), subprocess.PIPE, tool(name)
    # If this process were killed and the program went on, it could make again what was just removed. So the program dies with its caller.
    held = signal.pthread_sigmask(signal.SIG_BLOCK, ENDINGS)

    def begin():
        signal.pthread_sigmask(signal.SIG_SETMASK, held)
        die_with_parent(parent)

    try:
        child = subprocess.Popen([path, *arguments], preexec_fn=begin, stdin=subprocess.DEVNULL if stdin is None else pipe,
                                 stdout=pipe, stderr=pipe, text=True)
    except BaseException:
        signal.pthread_sigmask(signal.SIG_SETMASK, held)
        raise
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, held)
        out, err = child.communicate(stdin)
    except BaseException:
        child.kill()
        child.wait()
        raise
    if child.returncode != 0:
        words = " ".join((err or out).split()) or f"exit status {child.returncode}"
        raise Failure(f"{name} {' '.join(arguments)}: {words}")
    return out


def batch(name, namespace, lines):
    if lines:
        said(name, "-n", namespace, "-batch", "-", stdin="".join(line + "\n" for line in lines))


def require_root():
    """Ends with status 77 and one line without root, or if a tool is missing."""
    if os.geteuid() != 0:
        raise Failure("skipped: a box needs root (network namespaces); try sudo", NOT_HERE)
    for name in ("ip", "bridge", "tc"):
        tool(name)


def require_namespaces():
    """Ends with status 77 and one line if namespaces cannot be made."""
    child = os.fork()
    if child == 0:
        try:
            call("unshare", CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWUTS)
            mount("none", "/", None, MS_REC | MS_SLAVE)
            mount("sysfs", "/sys", "sysfs")
        except OSError as error:
            os._exit(error.errno or errno.EPERM)
        os._exit(0)
    number = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if number != 0:
        raise Failure(f"skipped: namespaces cannot be made here ({os.strerror(number)}); a container needs --privileged", NOT_HERE)


def wait_until(true, seconds, what):
    """Polls until true() holds. After the deadline it raises Failure, so it never waits forever."""
    deadline, pause = time.monotonic() + seconds, 0.002
    while not true():
        if time.monotonic() > deadline:
            raise Failure(f"{what} (waited {seconds} s)")
        time.sleep(pause)
        pause = min(0.1, pause * 1.5)


def about(pid):
    """Returns the fields of /proc/PID/stat from the third one, or None if the process has ended or is a zombie."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else fields


def started(pid):
    """Returns the start time of a process in clock ticks, which identifies it together with its pid. None if it has ended."""
    fields = about(pid)
    return fields and int(fields[19])


def stopped(pid):
    fields = about(pid)
    return fields is None or fields[0] in "tT"


def send(pid, number):
    """Returns whether the process existed and was signalled."""
    try:
        os.kill(pid, number)
        return True
    except ProcessLookupError:
        return False


def pids_in(namespaces):
    """Returns {namespace: pids} of all processes whose network is one of these."""
    wanted, found = {}, {}
    for name in namespaces:
        try:
            there = os.stat(f"{NAMESPACES}/{name}")
        except OSError:
            continue
        wanted[there.st_dev, there.st_ino] = name
        found[name] = set()
    if wanted:
        for entry in os.listdir("/proc"):
            if entry.isdigit():
                try:
                    there = os.stat(f"/proc/{entry}/ns/net")
                except OSError:
                    continue
                name = wanted.get((there.st_dev, there.st_ino))
                if name:
                    found[name].add(int(entry))
    return found


def die_with_parent(parent):
    call("prctl", PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(125)


def default_signals():
    """Restores two signals that Python ignores, because a started program must not inherit that."""
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)


def execute(command):
    """Replaces this process by the command; exits with 127 and 126 like a shell."""
    try:
        os.execvp(command[0], command)
    except OSError as error:
        os.write(2, f"box: {command[0]}: {error.strerror}\n".encode())
        os._exit(127 if error.errno in (errno.ENOENT, errno.ENOTDIR) else 126)


def signal_number(text):
    name = text.upper()
    if name.isdigit():
        try:
            return signal.Signals(int(name))
        except ValueError:
            pass
    name = name if name.startswith("SIG") else "SIG" + name
    if re.fullmatch(r"SIG[A-Z0-9]+", name) and name in signal.Signals.__members__:
        return signal.Signals[name]
    raise Failure(f"'{text}' is no signal; say TERM, KILL, STOP or a number", 2)
