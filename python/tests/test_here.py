"""Short trainings, which the main thread makes itself: Ctrl-C, other signals and forks."""
import asyncio
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import hawser
from hawser import _beside, _train
from hawser._beside import run_here


@pytest.fixture
def short(numbers, monkeypatch):
    """Returns a function that trains, and the threads that trainings ran in: a long one, of small data, if it gets no tolerance."""
    X, y, threads, run = *numbers, [], _train.Fit.run

    def note(fit, *given):
        threads.append(threading.current_thread() is threading.main_thread())
        run(fit, *given)

    def fit(**options):
        return hawser.train("linear", X, y, **{"epochs": 200, "solver": "minibatch", "workers": 1, **options})

    monkeypatch.setattr(_train.Fit, "run", note)
    return fit, threads


def press(number, trace=(0,) * 4):
    """Sends a signal to this process once the handler of Ctrl-C is that of a call in progress, and has reported some clocks. It gives up after a minute."""
    def wait():
        while signal.getsignal(signal.SIGINT) in (before, None) or len(trace) < 4:
            if time.monotonic() > end:
                return
            time.sleep(0.001)
        os.kill(os.getpid(), number)

    before, end = signal.getsignal(signal.SIGINT), time.monotonic() + 60
    thread = threading.Thread(target=wait)
    thread.start()
    return thread


@pytest.fixture
def handlers():
    kept = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGUSR1)}
    yield
    for number, handler in kept.items():
        signal.signal(number, handler)
    assert signal.set_wakeup_fd(-1) == -1


def test_the_bits_are_those_of_a_thread_beside(short, handlers):
    fit, here = short
    own = fit().coefficients
    signal.signal(signal.SIGUSR1, lambda *_: None)
    assert np.array_equal(own, fit().coefficients) and here == [True, False]


def test_ctrl_c_keeps_the_model_that_was_reached(short, handlers):
    (fit, here), trace = short, []
    thread = press(signal.SIGINT, trace)
    with pytest.raises(hawser.Interrupted) as stopped:
        fit(epochs=1e9, progress=trace.append)
    thread.join()
    assert stopped.value.model.training.stop_reason == "signal" and stopped.value.model.coefficients.any() and here == [True]
    assert fit().training.stop_reason == "epochs" and here == [True, True]


def test_ctrl_c_keeps_the_trace_of_an_estimator(numbers, handlers):
    means = hawser.MiniBatchKMeans(3, max_iter=10**9, batch_size=10, max_no_improvement=None, workers=1)
    while not getattr(means, "interrupted_", False):  # it may come before there is a model
        thread = press(signal.SIGINT)
        with pytest.raises(hawser.Interrupted):
            means.fit(numbers[0])
        thread.join()
    assert means.trace_ and means.cluster_centers_.shape == (3, numbers[0].shape[1])


def test_a_handler_that_raises_something_else_ends_the_training(short, handlers):
    def refuse(*_):
        raise KeyError("mine")

    fit, here = short
    signal.signal(signal.SIGINT, refuse)
    thread = press(signal.SIGINT)
    with pytest.raises(KeyError, match="mine"):
        fit(epochs=1e9)
    thread.join()
    assert signal.getsignal(signal.SIGINT) is refuse and here == [True]


def test_a_handler_that_raises_nothing_ends_no_training(short, handlers):
    """The training is made again in a thread, where handlers are called while it goes on."""
    fit, here = short
    calls, quiet, trace = [], [], []
    expected = fit(epochs=20000, progress=quiet.append)
    signal.signal(signal.SIGINT, lambda *_: calls.append(len(calls)))
    del here[:]
    thread = press(signal.SIGINT)
    model = fit(epochs=20000, progress=trace.append)
    thread.join()
    assert calls == [0] and here == [True, False] and model.training.stop_reason == "epochs"
    assert [now["clocks"] for now in trace] == [now["clocks"] for now in quiet]
    assert np.array_equal(model.coefficients, expected.coefficients)


@pytest.mark.parametrize("why", ["another handler", "an event loop", "a user's function", "much data", "a checkpoint"])
def test_other_trainings_have_a_thread(why, short, handlers, tmp_path, numbers):
    fit, here = short
    options = {"another handler": {}, "an event loop": {}, "a user's function": {"progress": lambda now: None}, "much data": {},
               "a checkpoint": {"checkpoint": tmp_path / "ck"}}[why]
    if why == "another handler":
        signal.signal(signal.SIGUSR1, lambda *_: None)
    if why == "much data":
        X = np.random.default_rng(0).normal(size=(_train.SHORT // 4 + 1, 4))
        hawser.train("linear", X, X[:, 0], epochs=1, solver="minibatch", workers=1)
    elif why == "an event loop":
        own, other = socket.socketpair()
        own.setblocking(False)
        signal.set_wakeup_fd(own.fileno())
        fit()
        assert signal.set_wakeup_fd(-1) == own.fileno()
        own.close(), other.close()
    else:
        fit(**options)
    assert here == [False]


def test_in_a_coroutine(short):
    async def train():
        return short[0]().training.stop_reason
    assert asyncio.run(train()) == "epochs"


def test_a_failure_is_raised_once(short, numbers):
    fit, here = short
    with pytest.raises(hawser.BadInput):
        hawser.train("poisson", numbers[0], numbers[1])
    assert here == [True] and signal.getsignal(signal.SIGINT) is signal.default_int_handler and signal.set_wakeup_fd(-1) == -1


def test_without_a_descriptor_it_has_a_thread(short, monkeypatch):
    def refuse(_):
        raise OSError("too many open files")

    fit, here = short
    monkeypatch.setattr(_beside._wakeup, "ends", None)
    monkeypatch.setattr(os, "pipe2", refuse)
    assert fit().training.stop_reason == "epochs" and here == [False]


def test_a_child_that_another_thread_forks_meanwhile_gets_ctrl_c(numbers):
    """The handler in it is the program's, and what it writes ends nothing of the parent."""
    done = subprocess.run([sys.executable, "-c", """
import os, signal, threading, time, hawser, numpy
X = numpy.random.default_rng(0).normal(size=(100, 4))
status = []
def fork():
    while signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        time.sleep(0.001)
    child = os.fork()
    if child == 0:
        try:
            assert signal.set_wakeup_fd(-1) == -1
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(10)
        except KeyboardInterrupt:
            hawser.train("lasso", X, X[:, 0])
            os._exit(7)
        os._exit(1)
    status.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
thread = threading.Thread(target=fork)
thread.start()
while thread.is_alive():
    model = hawser.train("linear", X, X[:, 0], epochs=4000, solver="minibatch", workers=1)
    assert model.training.stop_reason == "epochs"
print(status)"""], capture_output=True, text=True, timeout=60)
    assert done.stdout == "[7]\n", done.stderr


def test_ctrl_c_before_the_work_is_none_of_it(handlers):
    assert run_here(lambda descriptor: os.kill(os.getpid(), signal.SIGINT), lambda: False) is True
    assert run_here(lambda descriptor: None, lambda: False) is False
    assert run_here(lambda descriptor: None, lambda: True) is None
