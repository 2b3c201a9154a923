"""Makes a process part of a host: its groups, network, name and files. Runs one command on several hosts."""
import ctypes
import errno
import os
import signal

from boxparts.network import path
from boxparts.system import (CLONE_NEWNET, CLONE_NEWNS, CLONE_NEWUTS, MNT_DETACH, MS_BIND, MS_MOVE, MS_REC, MS_SLAVE, call,
                             default_signals, die_with_parent, execute, mount, send, setns)

CGROUPS = "/sys/fs/cgroup"


def enter(box, host):
    """Moves the calling process, which has one thread, into a host for good."""
    box.groups.join(host)
    setns(path(box.name, host), CLONE_NEWNET)
    call("unshare", CLONE_NEWNS | CLONE_NEWUTS)
    mount("none", "/", None, MS_REC | MS_SLAVE)
    # /sys shows the network of the process that mounted it; the control groups below it are the machine's.
    keep = os.path.join(box.directory, "mnt")
    grouped = os.path.isdir(CGROUPS)
    if grouped:
        mount(CGROUPS, keep, None, MS_BIND | MS_REC)
    try:
        mount("sysfs", "/sys", "sysfs")
    except OSError as refusal:
        if refusal.errno != errno.EBUSY:  # a process in this host already has the mount
            raise
    if grouped and os.path.isdir(CGROUPS):
        mount(keep, CGROUPS, None, MS_MOVE)
    elif grouped:
        call("umount2", keep.encode(), MNT_DETACH)
    own = os.path.join(box.directory, host)
    for source, target in ((os.path.join(box.directory, "hosts"), "/etc/hosts"), (os.path.join(own, "machine-id"), "/etc/machine-id"),
                           (os.path.join(own, "boot_id"), "/proc/sys/kernel/random/boot_id"), (box.memory(host), "/dev/shm")):
        if os.path.exists(target) and os.path.exists(source):
            mount(source, target, None, MS_BIND)
    call("sethostname", host.encode(), ctypes.c_size_t(len(host)))
    try:
        os.chdir(os.getcwd())  # it may have been mounted over
    except OSError:
        pass
    os.environ["BOX_NAME"], os.environ["BOX_HOST"] = box.name, host


def run_here(box, host, command):
    """Replaces this process by the command, so its pid, signals, streams and exit status are those of the caller."""
    enter(box, host)
    default_signals()
    execute(command)


def exit_code(status):
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def start(box, host, command):
    """Starts a child in the host with pipes as its output; it dies with this process. Returns (pid, descriptor of its stdout, of its stderr)."""
    parent = os.getpid()
    out, err = os.pipe(), os.pipe()
    pid = os.fork()
    if pid:
        os.close(out[1])
        os.close(err[1])
        return pid, out[0], err[0]
    try:
        os.setpgid(0, 0)  # a signal from the terminal reaches it through us, once
        die_with_parent(parent)
        null = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((null, 0), (out[1], 1), (err[1], 2)):
            os.dup2(source, target)
        run_here(box, host, command)
    except BaseException as error:  # no exception may return into the parent's code
        os.write(2, f"box: {error}\n".encode())
    os._exit(125)


class Lines:
    """Prints whole lines, each with the host's name before it."""

    def __init__(self, host, target):
        self.prefix, self.target, self.rest = f"{host}: ".encode(), target, b""

    def take(self, data):
        *lines, self.rest = (self.rest + data).split(b"\n")
        self._put(b"".join(self.prefix + line + b"\n" for line in lines))

    def finish(self):
        if self.rest:
            self._put(self.prefix + self.rest + b"\n")
            self.rest = b""

    def _put(self, data):
        while data:
            data = data[os.write(self.target, data):]


def run_all(box, hosts, command):
    """Runs the command on all hosts at once. Returns the status of the first host (in order) that failed."""
    import selectors
    children, streams = {}, selectors.DefaultSelector()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: [send(pid, number) for pid in children])
    for host in hosts:
        pid, out, err = start(box, host, command)
        children[pid] = host
        for descriptor, target in ((out, 1), (err, 2)):
            os.set_blocking(descriptor, False)
            streams.register(descriptor, selectors.EVENT_READ, Lines(host, target))
    codes = {}
    while children:
        # A background process of a child may keep its pipes open forever, so the child's end counts.
        _relay(streams, 0.05)
        for pid in list(children):
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                codes[children.pop(pid)] = exit_code(status)
    while _relay(streams, 0):
        pass
    for key in list(streams.get_map().values()):
        key.data.finish()
    return next((codes[host] for host in hosts if codes[host]), 0)


def _relay(streams, seconds):
    """Returns whether it read anything."""
    came = False
    for key, _ in streams.select(seconds):
        try:
            data = os.read(key.fd, 65536)
        except BlockingIOError:
            continue
        came = True
        if data:
            key.data.take(data)
        else:
            key.data.finish()
            streams.unregister(key.fd)
            os.close(key.fd)
    return came


def try_out(box, host):
    """Returns whether a process can enter the host; prints the reason if not."""
    child = os.fork()
    if child == 0:
        try:
            enter(box, host)
        except OSError as error:
            os.write(2, f"box: {host} cannot be entered: {error}\n".encode())
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0
