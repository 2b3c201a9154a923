#!/usr/bin/env python3
"""deploy/hawser-run@.service and deploy/hawser.sbatch: their commands run as they are, over stand-ins for ssh and Slurm. A node that is killed is
repeated on a spare host, a loss that hawser run cannot repair is left to systemd or Slurm, and an error is not repeated."""
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["HAWSER_SOURCE"], "tests", "helpers"))
from unit_file import unit_lines  # noqa: E402

HAWSER, SOURCE = os.environ["HAWSER_BINARY"], os.environ["HAWSER_SOURCE"]
SECONDS = 60
UNIT, BATCH = (os.path.join(SOURCE, "deploy", name) for name in ("hawser-run@.service", "hawser.sbatch"))
# Hosts in the file `down` cannot be logged in to.
SSH = """#!/bin/sh
[ "$1 $2" = "-o BatchMode=yes" ] || exit 9
if grep -qsx "$3" "$FOLDER/down"; then exit 255; fi
exec sh -c "$4"
"""
SCONTROL = """#!/bin/sh
case "$1 $2 $3" in
"show hostnames box[0-2]") printf 'box0\\nbox1\\nbox2\\n' ;;
requeue*) echo "$2" >>"$FOLDER/requeued" ;;
*) exit 9 ;;
esac
"""
# In its first start the command ends as the test wants it. Then host box1 is down.
JOB = """#!/bin/bash
cd "$FOLDER"
if [[ -e again ]]; then echo "$HAWSER_NODES nodes"; exit 0; fi
if [[ $HARM && $HAWSER_NODE_NAME == box1 ]]; then echo box1 >down; : >again; eval "$HARM"; fi
: >"ready.$HAWSER_NODE"
until [[ -e again ]]; do sleep 0.02; done
exit 8 # the others have lost box1
"""


def write(path, text, mode=0o644):
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)
    os.chmod(path, mode)


class Place:
    """A folder with stand-ins for ssh and scontrol, and hawser, on the PATH."""

    def __init__(self, harm, down=(), **environment):
        self.folder = tempfile.TemporaryDirectory()
        path = self.folder.name
        os.mkdir(os.path.join(path, "bin"))
        for name, text in (("bin/ssh", SSH), ("bin/scontrol", SCONTROL), ("job", JOB)):
            write(os.path.join(path, name), text, 0o755)
        os.symlink(HAWSER, os.path.join(path, "bin", "hawser"))
        if down:
            write(os.path.join(path, "down"), "".join(f"{host}\n" for host in down))
        own = {key: value for key, value in os.environ.items() if not key.startswith(("HAWSER_", "SLURM_"))}
        self.environment = {**own, "PATH": f"{path}/bin:{own['PATH']}", "FOLDER": path, "HARM": harm, **environment}

    def file(self, name):
        return os.path.join(self.folder.name, name)

    def start(self, words):
        return subprocess.Popen(words, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                start_new_session=True)

    def run(self, words, code, *said):
        process = self.start(words)
        out, err = process.communicate(timeout=SECONDS)
        assert process.returncode == code, (words, process.returncode, err)
        for text in said:
            assert re.search(text, out + err, re.M), (text, out, err)
        return out + err


def verify_unit():
    if not shutil.which("systemd-analyze"):
        print("no systemd-analyze here: the unit was not verified")
        return
    with open(UNIT, encoding="utf-8") as file:
        text = file.read().replace("/usr/bin/hawser", HAWSER)
    with tempfile.TemporaryDirectory() as scratch:
        for wrong in (None, "Restart=sometimes", "KillModes=mixed"):
            copy = os.path.join(scratch, "hawser-run@.service")
            write(copy, re.sub(r"^Restart=.*", wrong, text, flags=re.M) if wrong else text)
            done = subprocess.run(["systemd-analyze", "verify", "--man=no", copy], capture_output=True, text=True, check=False)
            objects = done.returncode != 0 or "hawser-run" in done.stderr
            assert objects == (wrong is not None), (wrong, done.returncode, done.stderr)


def unit_command(place):
    """Returns the words of ExecStart, as systemd makes them of the files that the unit's comments show."""
    with open(UNIT, encoding="utf-8") as file:
        assert re.search(r"^#   day.job    NODES=3\n#              COMMAND=\S+ \S+$", file.read(), re.M)
    write(place.file("day.hosts"), "box0\nbox1\nbox2\n")
    values = {"NODES": "2", "COMMAND": place.file("job") + " word"}
    words = []
    for word in shlex.split(unit_lines(UNIT)["ExecStart"][0].replace("/etc/hawser/%i.hosts", place.file("day.hosts")).replace("/usr/bin/hawser", HAWSER)):
        whole = re.sub(r"\$\{(\w+)\}", lambda found: values[found.group(1)], word)
        words += values[word[1:]].split() if word.startswith("$") and word[1:] in values else [whole]
    return words


def under_systemd():
    lines = unit_lines(UNIT)
    assert lines["Restart"] == ["on-abnormal"] and lines["RestartForceExitStatus"] == ["8"], lines
    assert lines["KillMode"] == ["mixed"] and lines["EnvironmentFile"] == ["/etc/hawser/%i.job"], lines
    place = Place("kill -9 $PPID $$")
    place.run(unit_command(place), 0, r"^2 nodes$", r"node 1 \(box1(, pid \d+)?\): the connection to box1 is gone.*; restart 1 of 100$")
    place = Place("exit 3")
    place.run(unit_command(place), 3, "an error is not repeated")
    place = Place("", down=["box0", "box2"])
    place.run(unit_command(place), 8, "the hosts that answer have 1 slot, and the job needs 2")


def under_slurm():
    slurm = {"SLURM_JOB_ID": "77", "SLURM_JOB_NODELIST": "box[0-2]", "SLURM_JOB_NUM_NODES": "3"}
    with open(BATCH, encoding="utf-8") as file:
        options = re.findall(r"^#SBATCH (\S+)", file.read(), re.M)
    assert {"--requeue", "--no-kill", "--signal=B:TERM@60"} <= set(options), options

    place = Place("kill -9 $PPID $$", **slurm)
    place.run(["bash", BATCH, place.file("job")], 0, r"^2 nodes$", r"; restart 1 of 100$")
    assert not os.path.exists(place.file("requeued"))
    for harm, down, count, code, requeued in (("exit 3", (), 0, 3, False), ("", ("box0", "box2"), 0, 8, True), ("", ("box0", "box2"), 10, 8, False)):
        place = Place(harm, down, **slurm, SLURM_RESTART_COUNT=str(count))
        place.run(["bash", BATCH, place.file("job")], code)
        assert os.path.exists(place.file("requeued")) == requeued, (harm, down, count)
        if requeued:
            with open(place.file("requeued"), encoding="utf-8") as file:
                assert file.read() == "77\n"
    Place("").run(["bash", BATCH, "true"], 2, "usage: sbatch")
    Place("", **slurm).run(["bash", BATCH], 2, "usage: sbatch")

    # The time limit: SIGTERM to the script alone.
    place = Place("", **slurm)
    process = place.start(["bash", BATCH, place.file("job")])
    end = time.monotonic() + SECONDS
    while not all(os.path.exists(place.file(f"ready.{node}")) for node in (0, 1)):
        assert time.monotonic() < end
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 130 and "restart 1" not in err and not os.path.exists(place.file("requeued")), (process.returncode, err)


verify_unit()
under_systemd()
under_slurm()
print("all as expected")
