"""The files of a box, and how a box is made and removed."""
import fcntl
import json
import os
import re
import signal
import stat

from boxparts import network
from boxparts.enter import try_out
from boxparts.groups import Groups
from boxparts.network import namespace, path
from boxparts.system import ENDINGS, NAME, NOT_HERE, Failure, pids_in, send, started, wait_until

MEMORY = "/dev/shm"
MOST_HOSTS = 250


def place():
    return os.environ.get("TMPDIR") or "/tmp"


class Box:
    def __init__(self, name):
        if not re.fullmatch(NAME, name):
            raise Failure(f"'{name}' is no name for a box: small letters, digits and '-', 40 at most", 2)
        self.name = name
        self.directory = os.path.join(place(), f"hawser-box-{name}")
        self.groups = Groups(name)
        self.hosts, self.addresses, self.about = [], [], {}

    def memory(self, host=""):
        """The host's own /dev/shm is a directory of the machine."""
        return os.path.join(MEMORY, f"hawser-box-{self.name}", host)

    def load(self):
        try:
            with open(os.path.join(self.directory, "box.json"), encoding="utf-8") as file:
                self.about = json.load(file)
        except (OSError, ValueError):
            self.about = {}
        if not self.about or not all(os.path.exists(path(self.name, host)) for host in [*self.about["hosts"], "switch"]):
            raise Failure(f"there is no box '{self.name}'; 'box up N' makes one" + (
                f" (something is left of one: box down --name {self.name})" if self.left() else ""))
        self.hosts = self.about["hosts"]
        self.addresses = [[tuple(pair) for pair in own] for own in self.about["addresses"]]
        return self

    def chosen(self, text):
        """Returns the hosts that "h0,h2" or "all" means."""
        found = self.hosts if text == "all" else text.split(",")
        for host in found:
            if host not in self.hosts:
                raise Failure(f"box '{self.name}' has no host '{host}'; it has {self.hosts[0]} to {self.hosts[-1]}", 2)
        return list(dict.fromkeys(found))

    def here(self):
        """Returns the host that this process is in, or None."""
        box, host = network.current()
        return host if box == self.name else None

    def pids(self, hosts):
        """Returns {host: pids} of all processes in its groups or on its network."""
        by_network = pids_in([namespace(self.name, host) for host in hosts])
        return {host: by_network.get(namespace(self.name, host), set()) | self.groups.pids(host) for host in hosts}

    def left(self):
        """Returns what exists under the name of this box."""
        places = [self.directory, self.memory()]
        return [p for p in places if os.path.lexists(p)] + self.groups.tops() + [
            namespace(self.name, host) for host in network.existing().get(self.name, [])]


class Locked:
    """Only one process at a time makes or removes a box. The lock is on its directory, and ends with the process."""

    def __init__(self, box):
        self.box = box

    def __enter__(self):
        while True:
            try:
                os.mkdir(self.box.directory, 0o700)
            except FileExistsError:
                pass
            except OSError as error:
                raise Failure(f"{self.box.directory}: {error.strerror}") from None
            try:
                self.descriptor = os.open(self.box.directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            except FileNotFoundError:
                continue
            except OSError:
                raise Failure(f"{self.box.directory} is not a directory of ours; remove it, or choose another --name") from None
            about = os.fstat(self.descriptor)
            if about.st_uid != os.geteuid() or stat.S_IMODE(about.st_mode) & 0o022:
                os.close(self.descriptor)
                raise Failure(f"{self.box.directory} belongs to somebody else, or others may write to it; choose another --name")
            try:
                fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(self.descriptor)
                raise Failure(f"box '{self.box.name}' is being made or removed by another process") from None
            try:
                same = os.path.samestat(about, os.stat(self.box.directory))
            except FileNotFoundError:
                same = False
            if same:
                return self
            os.close(self.descriptor)

    def __exit__(self, *_):
        os.close(self.descriptor)


def subnets_taken():
    found = []
    for entry in os.listdir(place()):
        try:
            if entry.startswith("hawser-box-"):
                with open(os.path.join(place(), entry, "box.json"), encoding="utf-8") as file:
                    found.append(json.load(file)["subnet"])
        except (OSError, ValueError, KeyError):
            pass
    return found


def uninterrupted():
    for number in ENDINGS:
        signal.signal(number, signal.SIG_IGN)


def up(box, count, rate, delay, ipv6, cgroup):
    if not 1 <= count <= MOST_HOSTS:
        raise Failure(f"a box has 1 to {MOST_HOSTS} hosts, not {count}", 2)
    if network.current()[0]:
        raise Failure("a box cannot be made from inside of a box")
    held = signal.pthread_sigmask(signal.SIG_BLOCK, ENDINGS)  # until the cleanup covers what is made here
    with Locked(box):
        try:
            box.load()
        except Failure:
            pass
        else:
            raise Failure(f"box '{box.name}' is up already, with {len(box.hosts)} hosts; box down --name {box.name} removes it")
        try:
            signal.pthread_sigmask(signal.SIG_SETMASK, held)
            sweep(box, keep=True)
            _make(box, count, rate, delay, ipv6, cgroup)
            uninterrupted()  # the box is up, which must be printed
        except BaseException as error:
            uninterrupted()  # the cleanup is not interrupted either: one Ctrl-C is enough
            sweep(box)
            if re.search("not permitted|Permission denied", str(error)):
                raise Failure(f"skipped: not allowed here: {error}", NOT_HERE) from None
            raise
    return box


def _make(box, count, rate, delay, ipv6, cgroup):
    import ipaddress
    box.hosts = [f"h{i}" for i in range(count)]
    ipv4_net, ipv6_net = network.choose_subnets(box.name, subnets_taken())
    nets = [ipaddress.ip_network(net) for net in ([ipv4_net, ipv6_net] if ipv6 else [ipv4_net])]
    box.addresses = [[(str(net[i + 1]), net.prefixlen) for net in nets] for i in range(count)]
    box.groups.create([*box.hosts, "tools"], cgroup)
    _write_files(box)
    network.build(box.name, box.addresses, ipv6)
    for i in range(count if rate or delay else 0):
        network.shape(box.name, i, rate, delay)
    if not try_out(box, "h0"):
        raise Failure("skipped: a host was made and cannot be entered", NOT_HERE)
    box.about = {"hosts": box.hosts, "addresses": box.addresses, "subnet": ipv4_net, "subnet6": ipv6_net if ipv6 else None, "delay": delay}
    _write(json.dumps(box.about), box.directory, "box.new")
    os.replace(os.path.join(box.directory, "box.new"), os.path.join(box.directory, "box.json"))


def _write_files(box):
    import uuid
    names = ["127.0.0.1 localhost", "::1 localhost ip6-localhost ip6-loopback"]
    names += [f"{ip} {host}" for host, own in zip(box.hosts, box.addresses) for ip, _ in own]
    _write("".join(line + "\n" for line in names), box.directory, "hosts")
    os.mkdir(os.path.join(box.directory, "mnt"))
    os.mkdir(box.memory(), 0o755)
    for host in box.hosts:
        os.mkdir(os.path.join(box.directory, host))
        # Programs distinguish machines by these files.
        _write(f"{uuid.uuid4()}\n", box.directory, host, "boot_id")
        _write(f"{uuid.uuid4().hex}\n", box.directory, host, "machine-id")
        os.mkdir(box.memory(host))
        os.chmod(box.memory(host), 0o1777)


def _write(text, *parts):
    with open(os.path.join(*parts), "w", encoding="utf-8") as file:
        file.write(text)


def down(box):
    """Returns whether there was something to remove."""
    if box.here():
        raise Failure(f"box '{box.name}' cannot be removed from inside of it")
    if not box.left():
        return False
    with Locked(box):
        sweep(box)
    return True


def sweep(box, keep=False):
    """Removes everything under the name of the box, whatever state it is in. Processes end first, because they hold the rest."""
    import shutil
    _end_captures(box)
    box.groups.remove()
    names = [namespace(box.name, host) for host in network.existing().get(box.name, [])]

    def empty():
        left = set().union(*pids_in(names).values())
        for pid in left:
            send(pid, signal.SIGKILL)
        return not left

    wait_until(empty, 20, f"processes of box {box.name} do not die")
    network.remove(box.name)
    if os.path.isdir(box.memory()):
        shutil.rmtree(box.memory())
    if keep:
        for entry in os.scandir(box.directory):
            shutil.rmtree(entry.path) if entry.is_dir(follow_symlinks=False) else os.unlink(entry.path)
    else:
        shutil.rmtree(box.directory)


def _end_captures(box):
    """Without control groups, captures are known only by their notes."""
    try:
        notes = [entry.path for entry in os.scandir(box.directory) if re.fullmatch(r"capture-h\d+\.json", entry.name)]
    except FileNotFoundError:
        return
    for note in notes:
        try:
            with open(note, encoding="utf-8") as file:
                said = json.load(file)
        except (OSError, ValueError):
            continue
        if started(said["pid"]) == said["started"]:
            send(said["pid"], signal.SIGKILL)


def names():
    """Returns all boxes of which something exists."""
    found = set(network.existing()) | Groups("").boxes()
    for directory in (place(), MEMORY):
        found |= {entry[len("hawser-box-"):] for entry in os.listdir(directory) if entry.startswith("hawser-box-")}
    return sorted(name for name in found if re.fullmatch(NAME, name))
