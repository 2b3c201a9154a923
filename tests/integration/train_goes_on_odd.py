#!/usr/bin/env python3
"""hawser train --checkpoint in odd situations: second commands with the files of a job that runs, histories of jobs that go on, and folders of all kinds. Each
is right, or refused with one line and the documented exit code, and nothing is lost."""
import contextlib
import glob
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.environ["HAWSER_SOURCE"], "tests", "helpers"))
import command

TRAIN = ("lasso", "d.svm", "--path", "40", "--tol", "1e-12", "--workers", "2")
FOLDER = ("--checkpoint", "ck", "--checkpoint-every", "0")
SLOW = ("--slow", "0:20")  # so that there is a while in which it can be stopped; changes no number
FILES = {"trace": "t.csv", "log-json": "log.jsonl", "record-history": "h"}
LOGS = tuple(word for name, path in FILES.items() for word in ("--" + name, path))


def start(*words, **options):
    return subprocess.Popen((command.HAWSER, *words), stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=command.CLEAN, **options)


def call(*words, **options):
    process = start(*words, **options)
    out, text = process.communicate(timeout=300)
    return process.returncode, text, out


def refused(code, *words, has=(), **options):
    """The command ends with the exit code and one line that has all parts."""
    ended, text, _ = call(*words, **options)
    lines = text.splitlines()
    assert ended == code and len(lines) == 1 and all(part in lines[0] for part in ((has,) if isinstance(has, str) else has)), (words, ended, text)


def read(name):
    with open(name, "rb") as file:
        return file.read()


def manifests(folder="ck"):
    return sorted(glob.glob(os.path.join(folder, "checkpoint-*.json")))


def wait_until(process, ready):
    end = time.monotonic() + 120
    while not ready() and process.poll() is None:
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.01)
    assert process.poll() is None, process.communicate()


@contextlib.contextmanager
def stopped(*more, words=TRAIN, folder="ck", checkpoints=1):
    """A training that runs and does nothing, once it has so many checkpoints. It is killed at the end, unless it has ended."""
    process = start("train", *words, *SLOW, *more)
    try:
        wait_until(process, lambda: len(manifests(folder)) >= checkpoints and (checkpoints > 0 or os.path.exists("h")))
        process.send_signal(signal.SIGSTOP)
        yield process
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


def check_refused_commands(checkpoints):
    """A command that is refused changes no file of the job that runs, whether that has a checkpoint or none yet."""
    every = ("--checkpoint", "ck", "--checkpoint-every", "0" if checkpoints else "1000")
    with stopped(*every, *LOGS, "-o", "m", checkpoints=checkpoints) as process:
        if not checkpoints:
            process.send_signal(signal.SIGCONT)
            wait_until(process, lambda: os.path.getsize("t.csv") > 0)
            process.send_signal(signal.SIGSTOP)
        before = {path: read(path) for path in FILES.values()}
        assert all(before.values()), before
        refused(2, "train", *TRAIN, *every, *LOGS, "--quota", "1K", has="--quota")
        refused(4, "train", "lasso", "nothing.svm", *every, *LOGS, has="nothing.svm")
        if checkpoints:
            refused(2, "train", *TRAIN, *every, *LOGS, "--seed", "9", has=("another run", "option seed = 1 there, 9 here"))
        assert {path: read(path) for path in FILES.values()} == before
        process.send_signal(signal.SIGCONT)
        out, text = process.communicate(timeout=300)
        assert process.returncode == 0, (out, text)
    assert not os.listdir("ck")
    assert call("check", "h")[0] == 0
    events = [json.loads(line)["event"] for line in read("log.jsonl").splitlines()]
    assert events[:2] == ["start", "load"] and events.count("start") == events.count("end") == 1, events
    lines = read("t.csv").decode().splitlines()
    clocks = [float(line.split(",")[0]) for line in lines[1:]]
    assert lines[0].startswith("clock,seconds,") and clocks == sorted(clocks), lines


def check_history():
    """The history of a training that goes on begins where it does, and breaks no rule; without a checkpoint it is an ordinary one."""
    assert call("train", *TRAIN, "--record-history", "whole")[0] == 0
    with stopped(*FOLDER, "--record-history", "h", checkpoints=2):
        pass
    code, text, _ = call("check", "h")
    assert code == 3 and "h is not whole" in text, text
    code, text, _ = call("train", *TRAIN, *FOLDER, "--record-history", "h")
    assert code == 0 and "goes on from clock" in text, text
    for path, went_on in (("h", True), ("whole", False)):
        code, text, out = call("check", path)
        first = out.splitlines()[0]
        assert code == 0 and first.startswith("verified: ") and first.endswith(" of a job that went on from a checkpoint") == went_on, (text, out)
        verdict = json.loads(call("check", path, "--json")[2])
        assert verdict["holds"] and verdict["resumed"] is went_on, verdict


def check_old_files():
    """A refused command leaves files of an earlier one; one that is accepted replaces them."""
    for path in FILES.values():
        with open(path, "w") as out:
            print("kept", file=out)
    refused(2, "train", *TRAIN, *LOGS, "--quota", "1K", has="--quota")
    assert {read(path) for path in FILES.values()} == {b"kept\n"}
    assert call("train", *TRAIN, *LOGS)[0] == 0
    assert not any(b"kept" in read(path) for path in FILES.values())
    assert call("check", "h")[0] == 0
    for path in FILES.values():
        os.remove(path)
    refused(2, "train", *TRAIN, "--record-history", "h", "--quota", "1K", has="--quota")
    assert not os.path.exists("h")


def tensors(file):
    """The bytes of a model's tensors, without its facts."""
    length = int.from_bytes(file[:8], "little")
    header = json.loads(file[8 : 8 + length])
    return {name: file[8 + length :][slice(*entry["data_offsets"])] for name, entry in header.items() if name != "__metadata__"}


def kill(folder="ck", words=TRAIN, checkpoints=2):
    with stopped("--checkpoint", folder, "--checkpoint-every", "0", words=words, folder=folder, checkpoints=checkpoints):
        pass


def goes_on(folder="ck", words=TRAIN, **options):
    """The same training goes on to the model of one that nothing disturbed, and leaves no file."""
    code, text, _ = call("train", *words, "--checkpoint", folder, "-o", "m", **options)
    assert code == 0 and "goes on from clock" in text, (folder, text)
    where = options.get("cwd", ".")
    assert not os.listdir(os.path.join(where, folder)), (folder, os.listdir(os.path.join(where, folder)))
    return tensors(read(os.path.join(where, "m")))


def write_sparse():
    """One problem, three parts in four of it zeros, as sparse text, dense text and their caches."""
    draw = random.Random(2)
    rows = [[round(draw.gauss(0, 1), 3) if draw.random() < 0.25 else 0 for _ in range(30)] for _ in range(150)]
    with open("s.svm", "w") as sparse, open("s.csv", "w") as dense:
        print("y", *("x%d" % j for j in range(30)), sep=",", file=dense)
        for row in rows:
            y = "%.6f" % (sum(row[:5]) + draw.gauss(0, 0.1))
            print(y, *("%d:%r" % (j + 1, x) for j, x in enumerate(row) if x), file=sparse)
            print(y, *row, sep=",", file=dense)
    command.run("data", "convert", "s.svm", "-o", "s.hwc")
    command.run("data", "convert", "s.svm", "--by-row", "-o", "rows.hwc")
    command.run("data", "convert", "s.csv", "--target", "y", "-o", "dense.hwc")


def check_layouts():
    """A training goes on from text to a cache of the same numbers, and back, with equal bits. Sparse and dense numbers are other data: their bits differ."""
    clusters = ("kmeans", "s.svm", "--clusters", "6", "--starts", "20", "--tol", "0", "--workers", "2")
    for words, others in ((("lasso", "s.svm", *TRAIN[2:]), ("s.hwc", "rows.hwc")), (("lasso", "s.csv", *TRAIN[2:]), ("dense.hwc",)), (clusters, ("rows.hwc",))):
        assert call("train", *words, "-o", "whole")[0] == 0
        for other in others:
            kill(words=words, checkpoints=1)
            refused(2, "train", words[0], "s.csv" if words[1] == "s.svm" else "s.svm", *words[2:], "--checkpoint", "ck", has=("another run", "data = digest"))
            assert goes_on(words=(words[0], other, *words[2:])) == tensors(read("whole")), (words, other)


def check_folders():
    """Folders that were moved, links, odd names and relative paths."""
    assert call("train", *TRAIN, "-o", "whole")[0] == 0
    wanted = tensors(read("whole"))
    kill("a b \u00fc")
    assert goes_on("a b \u00fc") == wanted
    kill()
    os.rename("ck", "moved")
    os.symlink("moved", "link")
    assert goes_on("link") == wanted and os.path.islink("link")
    kill()
    os.mkdir("below")
    assert goes_on("../ck", words=(TRAIN[0], "../d.svm", *TRAIN[2:]), cwd="below") == wanted


def check_no_folders():
    """What is no folder, or cannot become one, and a folder of a command that is refused; nothing is left behind."""
    with open("file", "w") as out:
        print("kept", file=out)
    os.symlink("nowhere", "dangling")
    os.mkfifo("pipe")
    os.rmdir("ck")  # it stays, empty, when a training has ended
    for path, say in (("file", "is no folder"), ("file/x", "cannot make the folder"), ("no/such", "cannot make the folder"), ("/dev/null", "is no folder"),
                      ("dangling", "cannot open the folder"), ("pipe", "is no folder")):
        refused(4, "train", *TRAIN, "--checkpoint", path, has=(path, say))
    for option, values in (("every", ("-1", "nan", "inf", "1e300", "")), ("keep", ("0", "1", "-1", "2.5", "1001", "99999999999999999999"))):
        for value in values:
            refused(2, "train", *TRAIN, "--checkpoint", "ck", "--checkpoint-" + option, value, has="--checkpoint-" + option)
    refused(2, "train", *TRAIN, "--checkpoint", "ck", "--quota", "1K", has="--quota")
    assert not os.path.exists("ck")
    for every, keep in (("0", "2"), ("1e9", "1000")):
        assert call("train", *TRAIN, "--checkpoint", "ck", "--checkpoint-every", every, "--checkpoint-keep", keep)[0] == 0
        assert not os.listdir("ck")


def check_other_files():
    """Files of the user in the folder stay, and a file that has the name of the token is not replaced."""
    os.mkdir("mine")
    with open("mine/token", "w") as out:
        print("a secret of somebody else", file=out)
    refused(2, "train", *TRAIN, "--checkpoint", "mine", has=("mine has a file 'token'", "choose another folder"))
    assert os.listdir("mine") == ["token"] and read("mine/token") == b"a secret of somebody else\n"
    os.rename("mine/token", "mine/model")
    assert call("train", *TRAIN, "--checkpoint", "mine", "--checkpoint-every", "0", "-o", "mine/m")[0] == 0
    assert sorted(os.listdir("mine")) == ["m", "model"]
    refused(2, "train", *TRAIN, "--checkpoint", "new", "-o", "new", has="--output and --checkpoint would write one file, 'new'")
    assert not os.path.exists("new")


def check_info():
    """hawser info names what is damaged, shows the checkpoint before it, and never one from which no training could go on."""
    os.mkdir("empty")
    os.mkdir("foreign")
    with open("foreign/x", "w") as out:
        print("kept", file=out)
    for path in ("empty", "foreign"):
        refused(3, "info", path, has="without checkpoints")
    kill()
    newest = manifests()[-1]
    number = os.path.basename(newest)[: len("checkpoint-00000001")]
    parts = sorted(glob.glob(os.path.join("ck", number + "*.block-1.*")))
    for damage in (lambda: os.remove(parts[0]), lambda: os.truncate(parts[0], 100), lambda: os.truncate(newest, 100)):
        keep = {path: read(path) for path in (parts[0], newest)}
        damage()
        code, text, out = call("info", "ck", "--json")
        assert code == 0 and "this is the checkpoint before it" in text and len(text.splitlines()) == 1, text
        assert json.loads(out)["manifest"] != os.path.basename(newest), out
        for path, there in keep.items():
            with open(path, "wb") as file:
                file.write(there)
    code, text, out = call("info", "ck", "--json")
    assert code == 0 and not text and json.loads(out)["manifest"] == os.path.basename(newest), (text, out)
    for path in manifests():
        os.truncate(path, 100)
    refused(3, "info", "ck", has="damaged")
    code, text, _ = call("train", *TRAIN, "--checkpoint", "ck")
    assert code == 3 and "give --fresh to begin anew" in text, text
    assert call("train", *TRAIN, "--checkpoint", "ck", "--fresh")[0] == 0 and not os.listdir("ck")


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        command.run("data", "generate", "dense", "--rows", "300", "--cols", "60", "--seed", "1", "-o", "d.svm")
        check_refused_commands(0)
        check_refused_commands(1)
        check_history()
        check_old_files()
        write_sparse()
        check_layouts()
        check_folders()
        check_no_folders()
        check_other_files()
        check_info()
        os.chdir("/")


if __name__ == "__main__":
    main()
