"""Interrupts, resources over many trainings, forks, and the import."""
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import hawser
from hawser import _native
from hawser._beside import run_beside

# A training that would take minutes; it prints a line once it is in progress.
LONG = """
import signal, sys, threading, hawser, numpy
X = numpy.random.default_rng(0).normal(size=(3000, 400))
y = X @ numpy.ones(400) + numpy.random.default_rng(1).normal(size=3000)
begun = threading.Event()
def progress(now):
    if now["clocks"] > 0 and not begun.is_set():
        begun.set()
        print("begun", flush=True)
try:
    hawser.train("linear", X, y, epochs=1e7, solver="minibatch", workers=WORKERS, progress=progress)
except hawser.Interrupted as stopped:
    print("interrupted", isinstance(stopped, KeyboardInterrupt), stopped.model.training.stop_reason, stopped.model.predict(X).shape)
"""


@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_keeps_the_model_that_was_reached(workers):
    program = LONG.replace("WORKERS", str(workers))
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "begun\n"
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert out == "interrupted True signal (3000,)\n", err


def test_ctrl_c_ends_a_load_that_waits(tmp_path):
    pipe = tmp_path / "data.csv"
    os.mkfifo(pipe)
    program = "import sys, hawser\ntry:\n    hawser.Dataset(sys.argv[1]).shape\nexcept KeyboardInterrupt as stopped:\n    print(stopped)"
    child = subprocess.Popen([sys.executable, "-c", program, pipe], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with open(pipe, "w", encoding="ascii") as writer:  # waits until the load has opened it
        writer.write("1,2,3\n")
        writer.flush()
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=60)
    assert out == "the load was interrupted\n", err


@pytest.mark.parametrize("begun", [False, True])
def test_ctrl_c_while_the_thread_begins(begun, monkeypatch):
    cancelled, start = threading.Event(), threading.Thread.start

    def interrupted(thread):
        if begun:
            start(thread)
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    assert run_beside(lambda: cancelled.wait(60), cancelled.set) and cancelled.is_set()


def facts():
    """Memory in KiB, descriptors and threads of this process."""
    with open("/proc/self/status", encoding="ascii") as file:
        status = file.read()
    return (int(re.search(r"VmRSS:\s+(\d+)", status).group(1)), len(os.listdir("/proc/self/fd")),
            int(re.search(r"Threads:\s+(\d+)", status).group(1)))


def test_a_thousand_trainings_take_no_more_than_a_hundred(numbers):
    def fit(count):
        for _ in range(count):
            model = hawser.train("lasso", *numbers, lambda_=0.1)
            model.predict(numbers[0])

    fit(100)
    before = facts()
    fit(1000)
    end = time.monotonic() + 60
    while (after := facts())[2] > before[2] and time.monotonic() < end:
        time.sleep(0.01)  # a thread that was joined may still be on its way out of the kernel
    assert after[0] - before[0] < 4096 and after[1] == before[1] and after[2] <= before[2]


def test_trainings_that_end_otherwise_leave_nothing(numbers, tmp_path):
    """An exception, bad data, files, names and a pickle, turned data: each frees what it had."""
    X, y = numbers
    np.save(tmp_path / "data.npy", np.column_stack([y, X]))

    def refuse(_):
        raise KeyError("progress")

    def fit(count):
        for _ in range(count):
            with pytest.raises(KeyError):
                hawser.train("lasso", X, y, progress=refuse)
            with pytest.raises(hawser.BadInput):
                hawser.train("poisson", X, y)
            pickle.loads(pickle.dumps(hawser.train("kmeans", np.asfortranarray(X), clusters=2, names=list("abcdef")))).names
            hawser.train("logistic", X, y > 0, validation=(X, y > 0)).predict(tmp_path / "data.npy", target=1)

    fit(30)
    before = facts()
    fit(250)
    after = facts()
    assert after[0] - before[0] < 2048 and after[1] == before[1]


def test_a_forked_child_trains_too(numbers):
    expected = hawser.train("lasso", *numbers, lambda_=0.1).coefficients
    stop = threading.Event()

    def fit():
        while not stop.is_set():
            hawser.train("lasso", *numbers, lambda_=0.01)

    beside = threading.Thread(target=fit)
    beside.start()
    try:
        for _ in range(5):
            child = os.fork()
            if child == 0:
                same = np.array_equal(hawser.train("lasso", *numbers, lambda_=0.1).coefficients, expected)
                os._exit(0 if same else 1)
            end = time.monotonic() + 60
            while (done := os.waitpid(child, os.WNOHANG))[0] == 0:
                if time.monotonic() > end:
                    os.kill(child, signal.SIGKILL)
                    os.waitpid(child, 0)
                    pytest.fail("the child hangs")
                time.sleep(0.01)
            assert done[1] == 0
    finally:
        stop.set()
        beside.join()


def import_with(**environment):
    kept = {key: value for key, value in os.environ.items() if key != "HAWSER_LIBRARY"}
    return subprocess.run([sys.executable, "-c", "import hawser"], capture_output=True, text=True, env=kept | environment)


def test_an_import_without_a_library_says_what_to_do(tmp_path):
    other = tmp_path / "libother.so"
    other.write_bytes(b"no library")
    for given, text in ((tmp_path / "none", "does not exist"), (other, "cannot load")):
        done = import_with(HAWSER_LIBRARY=str(given))
        assert done.returncode == 1 and "ImportError" in done.stderr and text in done.stderr and str(given) in done.stderr
    inside = os.path.join(os.path.dirname(hawser.__file__), "lib")
    if not os.path.isdir(inside):
        assert "set HAWSER_LIBRARY" in import_with().stderr


@pytest.mark.parametrize("name, value, text", [
    ("sys.platform", "'darwin'", "64-bit Linux"), ("platform.machine", "lambda: 'aarch64'", "x86-64"), ("sys.version_info", "(3, 10)", "3.11")])
def test_an_import_elsewhere_is_refused(name, value, text):
    program = f"import platform, sys; {name} = {value}; import hawser"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "ImportError" in done.stderr and text in done.stderr


def test_an_old_scikit_learn_is_refused(tmp_path):
    (tmp_path / "sklearn.py").write_text('__version__ = "1.5.2"')
    done = subprocess.run([sys.executable, "-c", "import hawser; hawser.train; hawser.Lasso"], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"})
    assert "need scikit-learn 1.6 or later, and this is 1.5.2" in done.stderr.splitlines()[-1]


VERSION = _native.VERSION


@pytest.mark.parametrize("version, digest, text", [("9.9", None, "has version 9.9"), (VERSION, "0" * 64, "built from other headers"),
                                                   (VERSION, None, "built from other headers")])
def test_a_library_of_another_build_is_refused(tmp_path, version, digest, text):
    source, library = tmp_path / "other.c", tmp_path / "other.so"
    functions = [("hawser_version", version), ("hawser_headers_digest", digest)]
    source.write_text("".join(f'const char *{name}(void) {{ return "{value}"; }}\n' for name, value in functions if value))
    subprocess.run(["gcc", "-shared", "-fPIC", source, "-o", library], check=True)
    last = import_with(HAWSER_LIBRARY=str(library)).stderr.splitlines()[-1]
    assert last.startswith("ImportError") and text in last and str(library) in last
