#!/usr/bin/env python3
"""Checkpoints of a training over several nodes. A node, drawn by seed, is killed at a drawn moment, and the same command goes on with another number of
nodes: the tensors of the model are those of a training on one node that nothing disturbed. The data are text, or caches with their columns or rows side by
side. Folders that nodes do not share, SIGTERM, restarts, other data, a folder that goes away and one that another job takes are tried as well."""
import glob
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.environ["HAWSER_SOURCE"], "tests", "helpers"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import command
import train_goes_on as single

LONG = bool(os.environ.get("HAWSER_TEST_LONG"))
DRAW = random.Random(int(os.environ.get("HAWSER_TEST_SEED", "1")))
# A training that was given text goes on with a cache of the same numbers.
FORMS = {"n.csv": ("n.csv", "n.hwc"), "c.csv": ("c.csv", "c.hwc", "c-rows.hwc"), "p.csv": ("p.csv", "p.hwc"), "w.svm": ("w.svm", "w.hwc", "w-rows.hwc")}
OWN_COLUMNS = ("multitask", "kmeans")  # they choose columns by name, so they read the text
SHORT = 3  # trainings of each form of the test
# The long form takes each of these with each form of its data, killed on 1, 2 and 3 nodes: alone, along a path, and cross-validated.
PLAIN, PATH = ("--lambda-ratio", "0.05"), ("--path", "5")
CV = (*PATH, "--cv", "3")
TABLE = [(name, data, *own, *options) for name, data, own, kinds in (
    ("lasso", "n.csv", (), (PLAIN, PATH, CV)), ("logistic", "c.csv", (), (PLAIN, PATH, CV)), ("poisson", "p.csv", (), (PLAIN, PATH, CV)),
    ("multitask", "t.csv", (), (PLAIN, PATH, CV)),
    ("svm", "c.csv", (), (("--C", "1", "--tol", "1e-8"), ("--path", "0.01,0.1,1"), ("--path", "0.01,0.1,1", "--cv", "3"))),
    ("softmax", "c.csv", (), (PLAIN, PATH, CV)), ("linear", "n.csv", ("--tol", "1e-3"), ((), ("--solver", "gd"))),
    ("kmeans", "k.csv", ("--clusters", "4", "--tol", "0"), ((), ("--starts", "3"))), ("lda", "w.svm", ("--topics", "4", "--iterations", "12"), ((),)))
    for options in kinds]
TARGETS = {"t.csv": ("--target", "y,x1"), "k.csv": ("--target", "none")}  # of the text; a cache has them
SLOW = ("--slow", "0:20")


def write_caches():
    for name, forms in FORMS.items():
        for form in forms[1:]:
            command.run("data", "convert", name, "-o", form, "-q", *(("--by-row",) if "rows" in form else ()))


def write_table():
    """The data of TABLE as text and as caches with their columns and their rows side by side."""
    shutil.copy("n.csv", "t.csv")
    with open("n.csv") as whole, open("k.csv", "w") as out:
        out.writelines(line.split(",", 1)[1] for line in whole)
    for name in {words[1] for words in TABLE} - {"t.csv"}:  # a cache has one target
        for end, more in (("", ()), ("-rows", ("--by-row",))):
            command.run("data", "convert", name, "-o", name.split(".")[0] + end + ".hwc", "-q", *TARGETS.get(name, ()), *more)


def start(words, nodes, *more, launcher=(), shared=True, out=subprocess.DEVNULL):
    """A training on some nodes. Not shared: each node works in a folder of its own, ../ has the data, and the names of files are relative."""
    train = (command.HAWSER, "train", *words, "-o", "m", "--workers", "3", "--checkpoint", "ck", "--checkpoint-every", "0", *more)
    if not shared:
        train = ("sh", "-c", 'mkdir -p "own$HAWSER_NODE" && cd "own$HAWSER_NODE" && exec "$@"', "sh") + tuple("../" + x if x in words and "." in x[1:] and x[0] in "ncpw" else x for x in train)
    if nodes > 1 or launcher or not shared:
        train = (command.HAWSER, "run", "-n", str(nodes), *launcher, "--", *(train if not shared else train[1:]))
    return subprocess.Popen(train, stdout=out, stderr=subprocess.PIPE, text=True, env=command.CLEAN)


def nodes_of(process):
    """The processes of the nodes: `hawser run` has an agent, and the agent has them."""
    children = {}
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path) as file:
                fields = file.read().rsplit(")", 1)[1].split()
        except OSError:
            continue
        children.setdefault(int(fields[1]), []).append(int(path.split("/")[2]))
    agents = children.get(process.pid, [])
    return [node for agent in agents for node in children.get(agent, [])] if agents else [process.pid]


def manifests(folder="ck"):
    return glob.glob(folder + "/checkpoint-*.json")


def newest(folder="ck"):
    return max((int(os.path.basename(name).split("-")[1]) for name in manifests(folder)), default=0)


def wait(process, least, folder="ck"):
    """Waits until there are `least` checkpoints; returns whether the training still runs."""
    while process.poll() is None and newest(folder) < least:
        time.sleep(0.002)
    return process.poll() is None


def end(process):
    text = process.communicate(timeout=300)[1]
    return process.returncode, text


def train(words, nodes, *more, **how):
    return end(start(words, nodes, *more, **how))


def kill(words, nodes, least, *more, folder="ck", slow=SLOW, **how):
    """Kills one node of a training; returns whether there is something to go on from."""
    process = start(words, nodes, *slow, *more, **how)
    if wait(process, least, folder):
        time.sleep(DRAW.random() * 0.05)
        nodes = nodes_of(process)
        for node in [DRAW.choice(nodes)] if nodes else ():  # they may just have ended
            try:
                os.kill(node, signal.SIGKILL)
            except ProcessLookupError:
                pass
    code, text = end(process)
    assert code != 0 or not manifests(folder), (words, nodes, code, text)
    return bool(manifests(folder))


def tensors():
    return single.tensors(single.model())


def check_killed(words):
    """Returns how often the training went on."""
    code, text = train(words, 1)
    assert code == 0, (words, text)
    wanted, went_on = tensors(), 0
    forms = (words[1],) if words[0] in OWN_COLUMNS else FORMS[words[1]]
    for turn in range(6 if LONG else 2):
        before, after = DRAW.sample((1, 2, 3), 2)
        first, second = DRAW.choice(forms), DRAW.choice(forms)
        there = kill((words[0], first, *words[2:]), before, DRAW.randint(1, 8 if LONG else 4))
        code, text = train((words[0], second, *words[2:]), after)
        case = (words, first, second, before, after)
        assert code == 0, (case, text)
        assert not there or "goes on from clock" in text, (case, text)
        assert tensors() == wanted, (case, "the model differs")
        assert not os.listdir("ck"), (case, os.listdir("ck"))
        went_on += there
    return went_on


def form_of(words, form):
    """The training with its text, or with a cache."""
    name = words[1] if form == "text" else words[1].split(".")[0] + form + ".hwc"
    return (words[0], name, *words[2:], *(TARGETS.get(words[1], ()) if form == "text" else ()))


def check_table(words):
    """Kills a training with each form of its data on 1, 2 and 3 nodes, and goes on with another number of them. Returns how often it went on."""
    code, text = train(form_of(words, "text"), 1)
    assert code == 0, (words, text)
    wanted, went_on = tensors(), 0
    for form in ("text", "", "-rows") if words[1] != "t.csv" else ("text",):
        whole = form_of(words, form)
        if form == "-rows":  # sums over rows are made in another order than those over columns, so it has bits of its own
            code, text = train(whole, 1)
            assert code == 0, (whole, text)
            wanted = tensors()
        for before in (1, 2, 3):
            after = DRAW.choice([nodes for nodes in (1, 2, 3) if nodes != before])
            there = kill(whole, before, DRAW.randint(1, 2), slow=("--slow", "0:150"))
            code, text = train(whole, after)
            assert code == 0 and ("goes on from clock" in text) == there, (whole, before, after, text)
            assert tensors() == wanted, (whole, before, after, "the model differs")
            assert not os.listdir("ck"), (whole, before, after, os.listdir("ck"))
            went_on += there
    return went_on


def check_apart(words):
    """Nodes whose folders differ send their parts to node 0, which sends them back."""
    assert train(words, 1)[0] == 0
    wanted = tensors()
    there = kill(words, 3, 2, folder="own0/ck", shared=False)
    assert there, "the training ended before it was killed"
    for node in (1, 2):
        assert not os.path.exists("own%d/ck" % node), "node %d has written parts" % node
    assert len(glob.glob("own0/ck/*block-2*")) > 0
    code, text = train(words, 2, shared=False)
    assert code == 0 and "goes on from clock" in text, text
    os.chdir("own0")
    assert tensors() == wanted
    os.chdir("..")
    for node in (0, 1, 2):
        shutil.rmtree("own%d" % node, ignore_errors=True)


def check_late():
    """Blocks that do not wait for each other go on with other nodes, if each has the same columns there. One node cuts them by cost, as here."""
    for before, after in ((3, 1), (1, 2)):
        there = kill(single.LATE[0], before, 2)
        code, text = train(single.LATE[0], after)
        assert code == 0 and (not there or "goes on from clock" in text), text


def check_terminated(words):
    assert train(words, 1)[0] == 0
    wanted = tensors()
    process = start(words, 3, *SLOW)
    alive = wait(process, 2)
    process.send_signal(signal.SIGTERM)
    code, text = end(process)
    assert not alive or (code == 130 and "goes on with the same command (ck)" in text) or not manifests(), (code, text)
    if manifests():
        manifest = json.loads(subprocess.check_output((command.HAWSER, "info", "ck", "--json"), env=command.CLEAN))
        begun = start(words, 2, "--json", out=subprocess.PIPE)
        out, text = begun.communicate(timeout=300)
        last = json.loads(out.splitlines()[-1])
        assert begun.returncode == 0 and text.count("goes on from clock") == 1, text
        assert last["resumed"] == {key: manifest[key] for key in ("clock", "loop", "seconds")}, last["resumed"]
    assert tensors() == wanted


def check_limit(words):
    """A time limit leaves a checkpoint as well."""
    assert train(words, 1)[0] == 0
    wanted = tensors()
    code, text = train(words, 2, *SLOW, "--time-limit", "0.1")
    assert code == 0, text
    if manifests():
        assert "goes on with the same command (ck)" in text, text
        code, text = train(words, 3)
        assert code == 0 and "goes on from clock" in text, text
        assert tensors() == wanted


def check_restarts(words):
    """`hawser run` starts the nodes again by itself."""
    assert train(words, 1)[0] == 0
    wanted = tensors()
    process = start(words, 3, *SLOW, launcher=("--restarts", "5"))
    alive = wait(process, 2)
    if alive:
        os.kill(DRAW.choice(nodes_of(process)), signal.SIGKILL)
    code, text = end(process)
    assert code == 0, text
    assert not alive or ("restart 1 of 5" in text and "goes on from clock" in text), text
    assert tensors() == wanted and not os.listdir("ck")


def check_refused(words):
    if not kill(words, 3, 2):
        return
    code, text = train(("lasso", words[1], "--path", "7"), 2)
    assert code == 2 and "option path = " in text and "there, 7 here" in text and "--fresh" in text, (code, text)
    shutil.copy("n.csv", "kept.csv")
    with open("kept.csv") as before, open("n.csv", "w") as out:
        out.write(before.readline() + before.read().replace("1\n", "2\n", 1))  # one digit
    code, text = train(words, 2)
    assert code == 2 and "another run: data = digest" in text, (code, text)
    os.replace("kept.csv", "n.csv")
    code, text = end(subprocess.Popen((command.HAWSER, "run", "-n", "4", "--", "train", *words, "-o", "m", "--checkpoint", "ck"), stdout=subprocess.DEVNULL,
                                      stderr=subprocess.PIPE, text=True, env=command.CLEAN))
    assert code == 2 and "3 workers, as the checkpoint has, are too few for 4 nodes" in text, (code, text)
    assert manifests()
    code, text = train(words, 2)
    assert code == 0 and "goes on from clock" in text, text
    with open("file", "w"):
        pass
    out = end(subprocess.Popen((command.HAWSER, "run", "-n", "3", "--", "train", *words, "-o", "m", "--checkpoint", "file"), stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True, env=command.CLEAN))
    assert out[0] != 0 and "file is no folder" in out[1], out


def check_gone(words):
    """A folder that goes away leaves one warning, and checkpoints go on when it is back."""
    process = start(words, 3, *SLOW)
    if not wait(process, 2):
        return end(process)
    os.rename("ck", "away")
    time.sleep(0.3)
    os.rename("away", "ck")
    code, text = end(process)
    assert code == 0 and text.count("no checkpoint was written") <= 2, text
    assert not os.listdir("ck")


def check_taken(words):
    """A folder that another job has taken ends all nodes."""
    process = start(words, 3, *SLOW)
    if not wait(process, 2):
        return end(process)
    with open("token", "w") as out:
        out.write("0123456789abcdef\n")
    os.replace("token", "ck/token")
    code, text = end(process)
    assert code == 2 and "another job" in text, (code, text)
    shutil.rmtree("ck")


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        single.write_data()
        single.write_documents()
        write_caches()
        trainings = list(single.TRAININGS) if LONG else DRAW.sample(single.TRAININGS, SHORT)
        went_on = sum(check_killed(words) for words in command.some(trainings))
        print(went_on, "trainings went on with other nodes")
        if LONG:
            write_table()
            print(sum(check_table(words) for words in TABLE), "cases of the table went on")
        check_late()
        words = single.TRAININGS[1]
        for check in (check_apart, check_terminated, check_limit, check_restarts, check_refused, check_gone, check_taken):
            begun = time.monotonic()
            check(words)
            print("%s: %.1f s" % (check.__name__, time.monotonic() - begun), flush=True)
        os.chdir("/")


if __name__ == "__main__":
    main()
