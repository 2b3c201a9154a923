#!/usr/bin/env python3
"""hawser train --checkpoint: a training that is killed goes on with the same command, and has the model, byte for byte, of one that was not. One that
gets SIGTERM keeps its checkpoints; one that has ended removes them. Another run, other data and programs of which no checkpoint is taken are
refused by name."""
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

LONG = bool(os.environ.get("HAWSER_TEST_LONG"))
FOLDER = ("--checkpoint", "ck", "--checkpoint-every", "0")
SLOW = ("--slow", "0:20")  # so that there is a while in which it can be killed; changes no number
TRAININGS = (
    ("lasso", "n.csv", "--path", "8"),
    ("lasso", "n.csv", "--path", "6", "--cv", "3"),
    ("lasso", "n.csv", "--lambda-ratio", "0.05", "--merge", "average"),
    ("logistic", "c.csv", "--path", "6"),
    ("logistic", "c.csv", "--path", "4", "--cv", "3"),
    ("poisson", "p.csv", "--path", "5"),
    ("multitask", "n.csv", "--target", "y,x1", "--path", "5"),
    ("kmeans", "n.csv", "--ignore", "y", "--clusters", "4", "--starts", "3", "--tol", "0"),
    ("svm", "c.csv", "--C", "1", "--tol", "1e-8"),
    ("svm", "c.csv", "--path", "0.01,0.1,1", "--cv", "3"),
    ("softmax", "c.csv", "--lambda-ratio", "0.05"),
    ("lda", "w.svm", "--topics", "4", "--iterations", "12"),
    ("linear", "n.csv", "--tol", "1e-3"),
    ("linear", "n.csv", "--solver", "minibatch", "--batch", "8", "--epochs", "9", "--sync", "dc:0"),
    ("logistic", "c.csv", "--solver", "minibatch", "--epochs", "20"),
    ("logistic", "c.csv", "--solver", "dbpg", "--lambda-ratio", "0.05", "--sync", "dc:0"),
)
# Other bits in each run, so only what they promise is compared.
LATE = (
    ("lasso", "n.csv", "--lambda-ratio", "0.01", "--tol", "1e-9", "--sync", "ssp:2"),
    ("lasso", "n.csv", "--lambda-ratio", "0.01", "--tol", "1e-9", "--sync", "tap", "--merge", "average"),
    ("linear", "n.csv", "--tol", "1e-6", "--sync", "dc:1"),
    ("linear", "n.csv", "--tol", "1e-6", "--sync", "ssp:2"),
    ("logistic", "c.csv", "--solver", "dbpg", "--lambda-ratio", "0.05", "--tol", "1e-7"),
)


def write_data():
    """A column y of numbers, of two classes and of counts, and 12 others."""
    draw = random.Random(3)
    rows = [[draw.gauss(0, 1) for _ in range(12)] for _ in range(160)]
    targets = {"n.csv": lambda x: x[0] - 2 * x[3] + 0.5 * x[7], "c.csv": lambda x: int(x[0] + x[1] > 0.2), "p.csv": lambda x: int(abs(3 * x[0] + x[2]))}
    for name, target in targets.items():
        with open(name, "w") as out:
            print("y," + ",".join("x%d" % j for j in range(12)), file=out)
            for row in rows:
                print(target(row), *("%.6f" % (x + (0.1 * draw.random() if name == "n.csv" else 0)) for x in row), sep=",", file=out)


def write_documents():
    draw = random.Random(4)
    with open("w.svm", "w") as out:
        for _ in range(60):
            words = sorted({min(79, int(draw.expovariate(0.05))) for _ in range(30)})
            print(0, *("%d:%d" % (word + 1, draw.randint(1, 4)) for word in words), file=out)


def start(words, *more, workers=("--workers", "3"), out=subprocess.DEVNULL):
    return subprocess.Popen((command.HAWSER, "train", *words, *workers, "-o", "m", *FOLDER, *more), stderr=subprocess.PIPE, text=True, stdout=out,
                            env=command.CLEAN)


def train(words, *more):
    process = start(words, *more)
    text = process.communicate(timeout=300)[1]
    return process.returncode, text


def read(name):
    with open(name) as file:
        return file.read()


def model():
    with open("m", "rb") as file:
        return file.read()


def tensors(file):
    """The bytes of a model's tensors, without its facts."""
    length = int.from_bytes(file[:8], "little")
    header = json.loads(file[8 : 8 + length])
    return {name: file[8 + length :][slice(*entry["data_offsets"])] for name, entry in header.items() if name != "__metadata__"}


def manifests():
    return glob.glob("ck/checkpoint-*.json")


def stop(words, number):
    """Starts a training and stops it by a signal once it has `number` checkpoints or more. Returns whether it was stopped, its status and its text."""
    begun = start(words, *SLOW)
    newest = 0
    while begun.poll() is None and newest < number[1]:
        newest = max((int(os.path.basename(name).split("-")[1]) for name in manifests()), default=0)
        time.sleep(0.002)
    stopped = begun.poll() is None
    begun.send_signal(number[0])
    text = begun.communicate(timeout=300)[1]
    return stopped, begun.returncode, text


def check_killed(words):
    code, text = train(words)
    assert code == 0, (words, text)
    assert not os.listdir("ck"), (words, os.listdir("ck"))
    wanted = model()
    went_on = 0
    for number in (2, 7) if LONG else (3,):
        os.remove("m")
        stopped, _, _ = stop(words, (signal.SIGKILL, number))
        there = bool(manifests())
        code, text = train(words)
        assert code == 0, (words, text)
        assert not (stopped and there) or "goes on from clock" in text, (words, text)
        assert model() == wanted, (words, number, "the model differs")
        assert not os.listdir("ck"), (words, os.listdir("ck"))
        went_on += stopped and there
    return went_on


def check_late(words):
    """A training whose blocks are apart goes on, and ends as near to the optimum as one that was not killed."""
    numbers = []
    stopped, _, _ = stop(words, (signal.SIGKILL, 4))
    there = stopped and bool(manifests())
    for more in ((), ("--fresh",)):
        begun = start(words, "--json", *more, out=subprocess.PIPE)
        out, text = begun.communicate(timeout=300)
        assert begun.returncode == 0, (words, text)
        assert ("goes on from clock" in text) == (there and not more), (words, text)
        numbers.append(json.loads(out.splitlines()[-1])["objective"])
    assert abs(numbers[0] - numbers[1]) <= 1e-5 * abs(numbers[1]), (words, numbers)
    return there


def check_waits():
    """What checkpoints cost is printed: blocks that are apart wait for each of them."""
    begun = start(LATE[3] + SLOW, "--json", "--log-view", out=subprocess.PIPE)
    out, text = begun.communicate(timeout=300)
    assert begun.returncode == 0, text
    counted = json.loads(out.splitlines()[-1])["checkpoints"]
    assert counted["taken"] > 0 and (counted["taken"] < 4 or counted["wait_seconds"] > 0), counted
    assert "%d checkpoints, for which blocks waited" % counted["taken"] in out, out


def check_terminated():
    words = TRAININGS[1]
    assert train(words)[0] == 0
    wanted = tensors(model())  # its facts have the options
    _, _, text = stop(words, (signal.SIGTERM, 2))
    there = bool(manifests())
    assert there == ("goes on with the same command (ck)" in text), text
    if there:
        text = start(words, workers=("--workers", "2")).communicate(timeout=300)[1]
        assert "checkpoint of 3 workers, and there are 2 here: leave out --workers" in text, text
        manifest = json.loads(subprocess.check_output((command.HAWSER, "info", "ck", "--json"), env=command.CLEAN))
    # Without --workers it has those of the checkpoint. The model that was saved names --slow.
    begun = start(words, "--json", workers=() if there else ("--workers", "3"), out=subprocess.PIPE)
    out, text = begun.communicate(timeout=300)
    last = json.loads(out.splitlines()[-1])
    assert begun.returncode == 0 and (not there or "goes on from clock" in text), text
    assert last["workers"] == 3, last["workers"]
    assert last["resumed"] == ({key: manifest[key] for key in ("clock", "loop", "seconds")} if there else None), last["resumed"]
    assert tensors(model()) == wanted, text


def refused(words, *parts):
    code, text = train(words)
    assert code == 2 and all(part in text for part in parts), (code, text)


def check_refused():
    words = TRAININGS[1]
    stopped, _, _ = stop(words, (signal.SIGKILL, 2))
    if stopped and manifests():
        refused(words[:2] + ("--path", "7", "--cv", "3"), "option path = 6 there, 7 here", "--fresh")
        refused(("kmeans", "n.csv", "--clusters", "3"), "another run", "--fresh")  # its program is not the first of its job
        assert manifests()
        there = manifests(), read("ck/token")
        code, text = train(words[:2] + ("--quota", "1K", "--fresh"))  # refused when it is planned, after the folder was opened
        assert code == 2 and "quota" in text and (manifests(), read("ck/token")) == there, (code, text)
        check_variable(words)
        os.rename("n.csv", "kept.csv")
        with open("kept.csv") as before, open("n.csv", "w") as out:
            out.write(before.read().replace("\n", "0\n", 2))  # a digest notices one number
            print(",".join("1" * 13), file=out)
        code, text = train(words)
        assert code == 2 and "another run" in text, (code, text)
        os.rename("kept.csv", "n.csv")
    code, text = train(words[:2] + ("--path", "7"), "--fresh")
    assert code == 0 and "goes on" not in text, text
    out = subprocess.run((command.HAWSER, "train", "lasso", "n.csv", "--fresh"), capture_output=True, text=True, env=command.CLEAN)
    assert out.returncode == 2 and "--checkpoint" in out.stderr, out.stderr


def check_variable(words):
    """A folder that is named in the environment gives its workers to no job."""
    plans = [subprocess.check_output((command.HAWSER, "plan", *words, "--json"), env={**command.CLEAN, **more}, text=True)
             for more in ({}, {"HAWSER_CHECKPOINT": "ck"})]
    workers = [json.loads(text.splitlines()[-1])["blocks"] for text in plans]
    assert workers[0] == workers[1], workers
    begun = subprocess.run((command.HAWSER, "train", *words, "--workers", "3", "-o", "m"), capture_output=True, text=True, timeout=300,
                           env={**command.CLEAN, "HAWSER_CHECKPOINT": "ck", "HAWSER_SEED": "7"})
    assert begun.returncode == 2 and "option seed = 1 there, 7 here" in begun.stderr, begun.stderr


def clocks(name):
    """The lines of a log without what depends on time."""
    lines = read(name).splitlines()
    if name == "trace.csv":
        header = lines[0].split(",")
        fields = [dict(zip(header, line.split(","))) for line in lines[1:]]
    else:
        fields = [line for line in map(json.loads, lines) if line["event"] == "clock"]
    seconds = [float(line["seconds"]) for line in fields]
    assert name != "trace.csv" or seconds == sorted(seconds), (name, seconds)
    timed = ("seconds", "bytes", "staleness", "wait_input", "wait_credit", "wait_reduction")
    return [{key: value for key, value in line.items() if key not in timed} for line in fields]


def check_logs(words):
    """The logs of a training that was killed, together, are those of one that was not."""
    words = words + ("--trace", "trace.csv", "--log-json", "log.jsonl")
    assert train(words)[0] == 0
    wanted = {name: clocks(name) for name in ("trace.csv", "log.jsonl")}
    stopped = stop(words, (signal.SIGKILL, 2))[0] and manifests()
    if stopped:  # as if it had been killed later
        for name in wanted:
            with open(name, "a") as out:
                print("9,9,beyond the checkpoint", file=out)
        code, text = train(words[:2] + ("--seed", "9") + words[-4:])
        assert code == 2 and "another run" in text, (code, text)  # it adds lines, which do not stay either
    code, text = train(words)
    assert code == 0 and ("goes on from clock" in text) == bool(stopped) and "is not the one" not in text, text
    for name, lines in wanted.items():
        there = clocks(name)
        if stopped and len(there) == len(lines) + 1:  # what a process sees first is a line, also if no number that is shown has changed
            there = next((rest for rest in (there[:k] + there[k + 1:] for k in range(len(there))) if rest == lines), there)
        assert there == lines, (words, name, len(there), len(lines), next((both for both in zip(there, lines) if both[0] != both[1]), None))
    for event in ("start", "load", "end"):
        assert read("log.jsonl").count('"event":"%s"' % event) == 1, read("log.jsonl")
    return bool(stopped)


def check_other_log():
    """A file that is not the log of the checkpoint is not cut."""
    words = TRAININGS[0]
    if stop(words + ("--trace", "trace.csv"), (signal.SIGKILL, 2))[0] and manifests():
        with open("other.csv", "w") as out:
            out.write(read("trace.csv") + "kept\n")
        code, text = train(words + ("--trace", "other.csv"))
        assert code == 0 and "goes on from clock" in text and "is not the one that the checkpoint continues" in text, text
        assert "kept\n" in read("other.csv"), read("other.csv")


def check_starts():
    """A file from which a training starts is compared, unless the training replaces it."""
    begin = ("lasso", "n.csv", "--lambda-ratio", "0.05", "--tol", "1e-12")
    for name, ratio in (("first", "0.9"), ("second", "0.2")):
        assert train(("lasso", "n.csv", "--lambda-ratio", ratio))[0] == 0
        os.rename("m", name)
    if stop(begin + ("--init", "first"), (signal.SIGKILL, 1))[0] and manifests():
        refused(begin + ("--init", "second"), "file of --init = digest", "--fresh")
        assert train(begin + ("--init", "first"))[0] == 0
    os.rename("first", "m")
    if stop(begin + ("--init", "m"), (signal.SIGKILL, 1))[0] and manifests():
        os.rename("second", "m")
        code, text = train(begin + ("--init", "m"))
        assert code == 0 and "goes on from clock" in text, text


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        write_data()
        write_documents()
        went_on = sum(check_killed(words) for words in command.some(TRAININGS))
        late = sum(check_late(words) for words in command.some(LATE))
        print(went_on, "trainings went on, and", late, "late ones")
        check_waits()
        check_terminated()
        check_refused()
        check_starts()
        logs = sum(check_logs(words) for words in (TRAININGS[0], TRAININGS[1], TRAININGS[8]))
        print(logs, "logs went on")
        check_other_log()
        os.chdir("/")


if __name__ == "__main__":
    main()
