"""The control groups of a box: the processes of each host, their share of the CPU, and freezing.

One tree tracks and freezes (version 2, else the freezer of version 1); one has the CPU quota (the same, or version 1's cpu).
Machines may have both versions, or none that can be written to: then processes are known by their network alone.
"""
import os
import signal

from boxparts.system import NOT_HERE, Failure, send, wait_until

PERIOD = 100000  # microseconds, the kernel's own; a shorter one gives no finer grain


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def write(text, *path):
    with open(os.path.join(*path), "w", encoding="utf-8") as file:
        file.write(text)


def mounts(table):
    """Where the trees are: {"v2": path, "freezer": path, "cpu": path}, as far as mounted, from the text of mountinfo."""
    found = {}
    for line in table.splitlines():
        head, _, tail = line.partition(" - ")
        where, (kind, _, options) = head.split()[4], tail.split()[:3]
        if kind == "cgroup2":
            found.setdefault("v2", where)
        elif kind == "cgroup":
            for name in {"freezer", "cpu"} & set(options.split(",")):
                found.setdefault(name, where)
    return found


class Groups:
    def __init__(self, name, trees=None):
        self.name = name
        self.trees = mounts(read("/proc/self/mountinfo")) if trees is None else trees

    def _top(self, tree):
        return os.path.join(self.trees[tree], f"hawser-box-{self.name}") if tree in self.trees else None

    def _tops(self):
        return {tree: top for tree, top in ((tree, self._top(tree)) for tree in self.trees) if os.path.isdir(top)}

    def create(self, members, which):
        """Makes a group a member, with the trees that `which` (auto, v2, v1, none) names; files that cannot be written are left out."""
        wanted = {"auto": ["v2", "freezer"], "v2": ["v2"], "v1": ["freezer"], "none": []}[which]
        for tree in wanted:
            if self._make(tree, members):
                break
        else:
            if which in ("v1", "v2"):
                raise Failure(f"no control groups {which} can be written here; leave --cgroup away, or say none")
            return
        if not self._file(members[0], "cpu.max"):
            self._make("cpu", members)

    def _make(self, tree, members):
        top = self._top(tree)
        if top is None:
            return False
        try:
            os.mkdir(top)
            if tree == "v2":
                self._delegate_cpu(top)
            for member in members:
                os.mkdir(os.path.join(top, member))
            # As one group the box would have only the weight of one other process or service.
            if tree == "cpu":
                write(str(min(1024 * len(members), 262144)), top, "cpu.shares")
            elif os.path.exists(os.path.join(top, "cpu.weight")):
                write(str(min(100 * len(members), 10000)), top, "cpu.weight")
            return True
        except OSError:
            self._remove(top)
            return False

    def _delegate_cpu(self, top):
        """Delegates the cpu controller, if this tree has it and permits that."""
        try:
            if "cpu" not in read(self.trees["v2"], "cgroup.subtree_control").split():
                if "cpu" not in read(self.trees["v2"], "cgroup.controllers").split():
                    return
                write("+cpu", self.trees["v2"], "cgroup.subtree_control")
            write("+cpu", top, "cgroup.subtree_control")
        except OSError:
            pass

    def _file(self, member, name):
        """Returns the path of a file of a member's group, in the tree that has it."""
        for top in self._tops().values():
            path = os.path.join(top, member, name)
            if os.path.exists(path):
                return path
        return None

    def tops(self):
        return list(self._tops().values())

    def boxes(self):
        """The names of all boxes that have groups here."""
        return {entry[len("hawser-box-"):] for tree in self.trees.values() for entry in os.listdir(tree) if entry.startswith("hawser-box-")}

    def exist(self):
        return any(tree in ("v2", "freezer") for tree in self._tops())

    def join(self, member):
        """Moves the calling process into the member's groups. A frozen group stops it until it is thawed."""
        for top in self._tops().values():
            write(str(os.getpid()), top, member, "cgroup.procs")

    def pids(self, member=None):
        found = set()
        for top in self._tops().values():
            for group, _, _ in os.walk(os.path.join(top, member) if member else top):
                try:
                    found.update(int(pid) for pid in read(group, "cgroup.procs").split())
                except OSError:
                    continue  # removed meanwhile
        return found

    def freeze(self, member, frozen):
        brake = self._file(member, "cgroup.freeze")
        if brake:
            write("1" if frozen else "0", brake)
            events = brake[: -len("freeze")] + "events"
            there = lambda: f"frozen {int(frozen)}" in read(events).splitlines()
        else:
            brake = self._file(member, "freezer.state")
            write("FROZEN" if frozen else "THAWED", brake)
            there = lambda: read(brake).strip() == ("FROZEN" if frozen else "THAWED")
        try:
            wait_until(there, 10, f"{member} does not {'freeze' if frozen else 'thaw'}")
        except Failure:
            write("0" if brake.endswith("freeze") else "THAWED", brake)
            raise

    def frozen(self, member):
        brake = self._file(member, "cgroup.freeze")
        if brake:
            return read(brake).strip() == "1"
        brake = self._file(member, "freezer.state")
        return bool(brake) and read(brake).strip() != "THAWED"

    def limit(self, member, percent):
        """Sets a limit in percent of one CPU, or none for None."""
        quota = None if percent is None else max(1000, round(PERIOD * percent / 100))
        path = self._file(member, "cpu.max")
        if path:
            write(f"{'max' if quota is None else quota} {PERIOD}", path)
            return
        path = self._file(member, "cpu.cfs_quota_us")
        if not path:
            raise Failure("a host cannot be slowed here: no cgroup with a CPU quota can be written "
                          "(a container needs a writable /sys/fs/cgroup; up --cgroup none has none)", NOT_HERE)
        write(str(PERIOD), os.path.dirname(path), "cpu.cfs_period_us")
        write(str(-1 if quota is None else quota), path)

    def limited(self, member):
        """Returns the percentage of one CPU that limit() set, or None."""
        path = self._file(member, "cpu.max")
        quota = read(path).split()[0] if path else "max"
        if not path:
            path = self._file(member, "cpu.cfs_quota_us")
            quota = read(path).strip() if path else "max"
        return None if quota in ("max", "-1") else int(quota) * 100 / PERIOD

    def remove(self):
        """Kills the processes in the groups and removes the groups, whatever state they are in."""
        for tree, top in self._tops().items():
            for group, _, _ in os.walk(top):
                if tree == "freezer" and group != top:
                    write("THAWED", group, "freezer.state")
                elif tree == "v2" and group != top:
                    write("0", group, "cgroup.freeze")

            def empty():
                left = self.pids()
                for pid in left:
                    send(pid, signal.SIGKILL)
                return not left

            wait_until(empty, 20, f"processes of box {self.name} do not die")
            self._remove(top)

    @staticmethod
    def _remove(top):
        def gone():
            for group, _, _ in os.walk(top, topdown=False):
                try:
                    os.rmdir(group)
                except OSError:
                    pass  # busy as long as a process is not reaped
            return not os.path.isdir(top)

        wait_until(gone, 10, f"{top} cannot be removed")
