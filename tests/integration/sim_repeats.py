#!/usr/bin/env python3
"""The simulator repeats itself byte for byte: a seed gives the same worlds and the same output of hawser-sim in a second run, and in every build of
the same sources with the same C library: another compiler, no optimisation, sanitizers. Only real seconds are left out. The first build that runs
this test compares two runs and leaves their lines in build/logs; all later ones compare theirs with these."""
import base64
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
SOURCE, OWN = os.environ["HAWSER_SOURCE"], os.path.realpath(os.environ["HAWSER_BUILD"])
sys.path.insert(0, os.path.join(SOURCE, "tests", "helpers"))
from command import CLEAN, HAWSER  # noqa: E402

EXPECTED, NAME = os.path.join(SOURCE, "build", "logs", "sim_repeats.json"), os.path.basename(OWN)
WORLDS = ("jobs", "programs", "stores", "serve", "vectors", "checkpoints")
# A world ends with messages on their way, which nobody frees.
ENVIRONMENT = {**CLEAN, "ASAN_OPTIONS": "detect_leaks=0"}


def call(words, folder=None, **more):
    done = subprocess.run(words, capture_output=True, text=True, cwd=folder, env={**ENVIRONMENT, **more}, timeout=600)
    assert done.returncode in (0, 8), (words, done.returncode, done.stdout[-2000:], done.stderr[-2000:])
    return done.stdout


def worlds(seed):
    """The lines of the worlds of a seed."""
    said = [call([os.path.join(OWN, "tests", "test_sim_" + name)], HAWSER_SIM_SEED=str(seed), HAWSER_SIM_PRINT="1") for name in WORLDS]
    lines = [line for text in said for line in text.splitlines() if line.startswith("world ")]
    assert len(lines) > 15, said
    return lines


def simulated(folder):
    """What hawser-sim writes: its JSON without real seconds, and the files of node 0."""
    said = []
    for number, (options, training) in enumerate(CALLS):
        model, trace = (os.path.join(folder, f"{number}.{end}") for end in ("model", "trace"))
        for path in (model, trace):
            if os.path.exists(path):
                os.remove(path)
        # Names that are the same in every run: the output has some of them.
        words = (*options, "--", "train", training[0], "d.svm", *training[1:], "--json", "--quiet", "-o", f"{number}.model", "--trace", f"{number}.trace")
        out = json.loads(call([os.path.join(OWN, "src", "hawser-sim"), *words], folder).splitlines()[-1])
        assert out["simulated"].pop("seconds_real") >= 0
        said.append(json.dumps(out, sort_keys=True))
        for path in (model, trace):
            if os.path.exists(path):
                with open(path, "rb") as file:
                    said.append(base64.b64encode(file.read()).decode())
    assert len(said) >= 2 * len(CALLS), said
    return said


def together(folder):
    """What hawser-sim writes of a training beside servers, whose client comes when it has ended; a signal ends the servers."""
    reach = ("--at", "host0:7101", "--key-file", "key")
    out = call([os.path.join(OWN, "src", "hawser-sim"), "--nodes", "2", "--seed", "9", "--fault", "end=2 term 1", "--", "serve", "--quiet",
                "--key-file", "key", "--port-range", "7100-7109", ":", "--host", "0", "--", "train", "lasso", "d.svm", "--json", "--quiet",
                ":", "--nodes", "1", "--start", "end=1", "--", "store", "make", "t", *reach], folder)
    lines = [re.sub(r'"seconds_real":[0-9.]+', "", line) for line in out.splitlines()]
    assert lines[0] == "host0:7101" and sum('"exit_code":0' in line for line in lines) == 3, lines
    return lines


def all_lines(folder):
    return [*worlds(1), *worlds(2), *simulated(folder), *together(folder)]


def sources():
    files = [os.path.join(SOURCE, name) for name in ("CMakeLists.txt", "src/CMakeLists.txt", "tests/CMakeLists.txt")]
    for top in ("src", "include", "tests/unit"):
        for folder, _, names in os.walk(os.path.join(SOURCE, top)):
            files += [os.path.join(folder, name) for name in names if name.endswith((".c", ".h", ".txt"))]
    return sorted(set(files))


def key_of(paths):
    """What the lines of all builds depend on: the sources, this test, and the C library with its log, log1p and pow."""
    all_bytes = hashlib.sha256(os.confstr("CS_GNU_LIBC_VERSION").encode())
    for path in (*paths, os.path.abspath(__file__)):
        with open(path, "rb") as file:
            all_bytes.update(hashlib.sha256(file.read()).digest())
    return all_bytes.hexdigest()


def read_expected(key):
    """The lines that a build of these sources has written, and its name."""
    try:
        with open(EXPECTED, encoding="utf-8") as file:
            written = json.load(file)
    except (OSError, ValueError):
        return None
    return written if written.get("key") == key else None


def write_expected(key, lines):
    os.makedirs(os.path.dirname(EXPECTED), exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=os.path.dirname(EXPECTED), delete=False, encoding="utf-8") as file:
        json.dump({"key": key, "build": NAME, "lines": lines}, file)
    os.replace(file.name, EXPECTED)


def compare(name, lines, others):
    for one, other in zip(lines, others, strict=True):
        assert one == other, f"this build ({NAME}) differs from {name}:\n{one}\n{other}"
    print(f"{NAME}: the same as {name}")


DRAWN = ("--nodes", "3", "--seed", "5", "--link", "100mbit")
CALLS = (
    (("--nodes", "4"), ("lasso", "--lambda-ratio", "0.1")),
    (DRAWN, ("lasso", "--lambda-ratio", "0.1", "--sync", "ssp:2", "--max-clocks", "40")),
    ((*DRAWN, "--fault", "t=0 slow 1 4"), ("linear", "--solver", "minibatch", "--epochs", "3", "--sync", "tap")),
)

with tempfile.TemporaryDirectory() as folder:
    call([HAWSER, "data", "generate", "url", "-o", "d.svm", "--rows", "500", "--cols", "100", "--per-row", "8", "--seed", "3"], folder)
    with open(os.path.join(folder, "key"), "w", encoding="ascii", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
        file.write("00112233445566778899aabbccddeeff" * 2)
    key, own = key_of(sources()), all_lines(folder)
    expected = read_expected(key)
    if expected is None:
        compare("a second run", own, all_lines(folder))
        write_expected(key, own)
    else:
        compare(expected["build"], own, expected["lines"])
