#!/usr/bin/env python3
"""The control groups that a box uses and what it writes there, on trees of plain files, because no machine has all kinds."""
import os
import pathlib
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from boxparts import groups  # noqa: E402
from boxparts.system import NOT_HERE, Failure  # noqa: E402

V2 = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
V1 = ("40 32 0:36 / /sys/fs/cgroup/cpu,cpuacct rw shared:15 - cgroup cgroup rw,cpu,cpuacct\n"
      "41 32 0:37 / /sys/fs/cgroup/freezer rw shared:16 - cgroup cgroup rw,freezer\n"
      "42 32 0:38 / /sys/fs/cgroup/cpuset rw shared:16 - cgroup cgroup rw,cpuset\n")
ROOT = "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
assert groups.mounts(ROOT + V2) == {"v2": "/sys/fs/cgroup"}
assert groups.mounts(ROOT + V1) == {"cpu": "/sys/fs/cgroup/cpu,cpuacct", "freezer": "/sys/fs/cgroup/freezer"}
assert groups.mounts(ROOT) == {}


def tree(top, name, **files):
    (top / name).mkdir()
    for file, text in files.items():
        (top / name / file.replace("__", ".")).write_text(text)
    return str(top / name)


def text(*parts):
    return pathlib.Path(*parts).read_text()


with tempfile.TemporaryDirectory() as work:
    top = pathlib.Path(work)
    # Version 2 with the cpu controller not delegated yet.
    one = tree(top, "one", cgroup__controllers="cpuset cpu io", cgroup__subtree_control="io")
    box = groups.Groups("x", {"v2": one})
    box.create(["h0", "h1"], "auto")
    assert text(one, "cgroup.subtree_control") == text(one, "hawser-box-x", "cgroup.subtree_control") == "+cpu"
    assert box.exist() and box.boxes() == {"x"} and os.path.isdir(os.path.join(one, "hawser-box-x", "h1"))
    try:
        box.limit("h1", 25)
        raise AssertionError("a quota without a file for it")
    except Failure as failure:
        assert failure.code == NOT_HERE
    quota = pathlib.Path(one, "hawser-box-x", "h1", "cpu.max")
    quota.write_text("max 100000\n")
    assert box.limited("h1") is None
    box.limit("h1", 25)
    assert quota.read_text() == "25000 100000" and box.limited("h1") == 25 and box.limited("h0") is None
    box.limit("h1", None)
    assert quota.read_text() == "max 100000" and box.limited("h1") is None

    # Version 2 that delegates it already is left as it is; one without it still tracks, and version 1's cpu is used.
    two = tree(top, "two", cgroup__controllers="cpu", cgroup__subtree_control="cpu memory")
    groups.Groups("x", {"v2": two}).create(["h0"], "v2")
    assert text(two, "cgroup.subtree_control") == "cpu memory" and text(two, "hawser-box-x", "cgroup.subtree_control") == "+cpu"
    three, old = tree(top, "three", cgroup__controllers="hugetlb", cgroup__subtree_control=""), tree(top, "old")
    box = groups.Groups("x", {"v2": three, "cpu": old})
    box.create(["h0", "h1", "h2"], "auto")
    assert text(three, "cgroup.subtree_control") == "" and text(old, "hawser-box-x", "cpu.shares") == "3072"
    pathlib.Path(old, "hawser-box-x", "h2", "cpu.cfs_quota_us").write_text("-1\n")
    box.limit("h2", 150)
    assert text(old, "hawser-box-x", "h2", "cpu.cfs_quota_us") == "150000" and box.limited("h2") == 150
    box.limit("h2", None)
    assert text(old, "hawser-box-x", "h2", "cpu.cfs_quota_us") == "-1" and box.limited("h2") is None

    # A requested hierarchy that does not exist is an error; no hierarchy at all is none.
    for which in ("v1", "v2"):
        try:
            groups.Groups("x", {}).create(["h0"], which)
            raise AssertionError(which)
        except Failure as failure:
            assert which in str(failure)
    box = groups.Groups("x", {})
    box.create(["h0"], "auto")
    assert not box.exist() and box.pids() == set() and not box.frozen("h0")
