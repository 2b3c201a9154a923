#!/usr/bin/env python3
"""The simulator repeats itself byte for byte: a seed gives the same worlds and the same output of hawser-sim in a second run, and in every other
build of the same sources: another compiler, no optimisation, sanitizers. Only real seconds are left out. Builds that are older than a source are
passed over; the longer form makes one of Clang without optimisation."""
import json
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
SOURCE, OWN = os.environ["HAWSER_SOURCE"], os.path.realpath(os.environ["HAWSER_BUILD"])
sys.path.insert(0, os.path.join(SOURCE, "tests", "helpers"))
from command import CLEAN, HAWSER  # noqa: E402

WORLDS = ("jobs", "programs", "stores", "serve", "vectors", "checkpoints")
NEEDED = ["src/hawser-sim", *(f"tests/test_sim_{name}" for name in WORLDS)]
# A world ends with messages on their way, which nobody frees.
ENVIRONMENT = {**CLEAN, "ASAN_OPTIONS": "detect_leaks=0"}


def call(words, **more):
    done = subprocess.run(words, capture_output=True, text=True, env={**ENVIRONMENT, **more}, timeout=600)
    assert done.returncode in (0, 8), (words, done.returncode, done.stdout[-2000:], done.stderr[-2000:])
    return done.stdout


def worlds(build, seed):
    """The lines of the worlds of a seed."""
    said = [call([os.path.join(build, "tests", "test_sim_" + name)], HAWSER_SIM_SEED=str(seed), HAWSER_SIM_PRINT="1") for name in WORLDS]
    lines = [line for text in said for line in text.splitlines() if line.startswith("world ")]
    assert len(lines) > 15, said
    return lines


def simulated(build, data, folder):
    """What hawser-sim writes: its JSON without real seconds, and the files of node 0."""
    said = []
    for number, (options, training) in enumerate(CALLS):
        model, trace = (os.path.join(folder, f"{number}.{end}") for end in ("model", "trace"))
        for path in (model, trace):
            if os.path.exists(path):
                os.remove(path)
        files = ("-o", model, "--trace", trace)
        out = json.loads(call([os.path.join(build, "src", "hawser-sim"), *options, "--", "train", training[0], data, *training[1:], "--json",
                               "--quiet", *files]).splitlines()[-1])
        assert out["simulated"].pop("seconds_real") >= 0
        said.append(out)
        for path in (model, trace):
            if os.path.exists(path):
                with open(path, "rb") as file:
                    said.append(file.read())
    assert len(said) >= 2 * len(CALLS), said
    return said


def newest_source():
    files = subprocess.run(["git", "ls-files", "src", "include", "tests/unit", "CMakeLists.txt", "tests/CMakeLists.txt"], cwd=SOURCE,
                           capture_output=True, text=True, check=False).stdout.split()
    paths = [os.path.join(SOURCE, name) for name in files]
    return max((os.path.getmtime(path) for path in paths if os.path.exists(path)), default=float("inf"))


def other_builds():
    """The builds beside this one that were made of these sources."""
    top, since = os.path.join(SOURCE, "build"), newest_source()
    for name in sorted(os.listdir(top)) if os.path.isdir(top) else ():
        build = os.path.realpath(os.path.join(top, name))
        paths = [os.path.join(build, path) for path in NEEDED]
        if build == OWN or not all(os.path.exists(path) for path in paths):
            continue
        if min(os.path.getmtime(path) for path in paths) < since:
            print(f"{name} is older than a source and is passed over")
            continue
        yield name, build


def made_build(folder):
    """A build of Clang without optimisation."""
    words = ["cmake", "-S", SOURCE, "-B", folder, "-GNinja", "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_C_COMPILER=clang", "-DHAWSER_TESTS=ON"]
    targets = [os.path.basename(path) for path in NEEDED]
    for step in (words, ["cmake", "--build", folder, "-j2", "--target", *targets]):
        done = subprocess.run(step, capture_output=True, text=True)
        assert done.returncode == 0, (step, done.stdout[-3000:], done.stderr[-3000:])
    return folder


DRAWN = ("--nodes", "3", "--seed", "5", "--link", "100mbit")
CALLS = (
    (("--nodes", "4"), ("lasso", "--lambda-ratio", "0.1")),
    (DRAWN, ("lasso", "--lambda-ratio", "0.1", "--sync", "ssp:2", "--max-clocks", "40")),
    ((*DRAWN, "--fault", "t=0 slow 1 4"), ("linear", "--solver", "minibatch", "--epochs", "3", "--sync", "tap")),
)

with tempfile.TemporaryDirectory() as folder:
    data = os.path.join(folder, "d.svm")
    call([HAWSER, "data", "generate", "url", "-o", data, "--rows", "500", "--cols", "100", "--per-row", "8", "--seed", "3"])
    builds = list(other_builds())
    if os.environ.get("HAWSER_TEST_LONG"):
        builds.append(("Clang -O0", made_build(os.path.join(folder, "clang"))))
    builds.insert(0, ("a second run", OWN))
    expected = [worlds(OWN, seed) for seed in (1, 2)], simulated(OWN, data, folder)
    for name, build in builds:
        for seed, lines in zip((1, 2), expected[0]):
            for line, other in zip(lines, worlds(build, seed), strict=True):
                assert line == other, f"{name} differs:\n{line}\n{other}"
        for one, other in zip(expected[1], simulated(build, data, folder), strict=True):
            assert one == other, (name, one, other)
        print(f"{name}: the same")
