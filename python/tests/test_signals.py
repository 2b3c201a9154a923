"""Ctrl-C, SIGTERM and the interpreter's end, in processes of their own."""
import json
import signal
import subprocess
import sys

import pytest

import hawser

HEAD = """
import os, signal, sys, warnings, hawser, numpy
warnings.simplefilter("ignore")
def begun(number=[0]):
    number[0] += 1
    if number[0] == 3:
        print("begun", flush=True)
def spin():
    begun(), begun(), begun()
    while True:
        pass
"""
PROGRAM = """
@hawser.unit(updates="w", compile=False)
def step(rows, w):
    w += 1
    UNIT
def merge(state, sum, first, blocks, clock):
    state += sum
    MERGE
def test(progress):
    TEST
    return progress.clock >= CLOCKS
program = hawser.Program("counts")
program.data("rows", numpy.ones((10, 2)))
program.replicated("w", 2, merge=hawser.unit(compile=False)(merge))
program.loop("loop", test=test).unit(step)
"""


def program_of(clocks=10**9, **words):
    text = PROGRAM.replace("CLOCKS", str(clocks))
    for place in ("UNIT", "MERGE", "TEST"):
        text = text.replace(place, words.get(place.lower(), "pass"))
    return text


def start(text):
    child = subprocess.Popen([sys.executable, "-c", HEAD + text], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "begun\n", child.communicate()
    return child


@pytest.mark.parametrize("where", ["unit", "merge", "test", "progress"])
def test_a_second_ctrl_c_ends_what_does_not_return(where):
    how = "progress=lambda now: spin()" if where == "progress" else ""
    child = start(program_of(**{where: "spin()"}) + f"program.run(workers=2, {how})")
    child.send_signal(signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        child.wait(0.7)  # the first one waits for the end of the clock
    while child.poll() is None:
        child.send_signal(signal.SIGINT)
        try:
            child.wait(10)  # one more while it ends by the second would end Python itself
        except subprocess.TimeoutExpired:
            pass
    out, err = child.communicate()
    assert child.returncode == 130 and "Interrupted: the run was interrupted" in err and "a second signal ended it" in err, err
    assert "unit 'step'" in err or where != "unit"


@pytest.mark.parametrize("hook, said", [("", "Interrupted: the training was interrupted"), ("sys.excepthook = lambda *what: print('mine', what[0].__name__)", "mine Interrupted")])
def test_an_interrupt_that_nothing_catches_ends_with_130(hook, said):
    child = start(f"""
{hook}
try:
    hawser.train("lasso", numpy.ones((3, 2)), numpy.ones(3), progress=1)
except hawser.BadArgument:
    pass
X = numpy.random.default_rng(0).normal(size=(3000, 40))
hawser.train("linear", X, X[:, 0], epochs=1e7, solver="minibatch", workers=1, progress=lambda now: begun())""")
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert child.returncode == 130 and said in out + err and "Error in sys.excepthook" not in err


def test_an_interrupt_that_is_caught_and_other_errors_end_as_before():
    text = "try:\n    raise hawser.Interrupted('x')\nexcept hawser.Interrupted:\n    pass\n"
    for last, code in (("raise KeyError(1)", 1), ("sys.exit(5)", 5)):
        assert subprocess.run([sys.executable, "-c", HEAD + text + last], capture_output=True).returncode == code


@pytest.mark.parametrize("handler, code", [("", 143), ("signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))", 7)])
def test_sigterm_writes_the_checkpoint(tmp_path, handler, code):
    """Also if the program has a handler of its own, which raises."""
    child = start(handler + program_of(test="begun()") + f"program.run(workers=2, checkpoint={str(tmp_path / 'ck')!r})")
    child.send_signal(signal.SIGTERM)
    out, err = child.communicate(timeout=60)
    assert child.returncode == code and ("interrupted by SIGTERM" in err) == (code == 143), err
    manifest = json.loads(max((tmp_path / "ck").glob("*.json")).read_text().splitlines()[0])
    assert manifest["clock"] > 0 and manifest["program"] == "counts"


def test_without_a_checkpoint_sigterm_ends_the_process():
    child = start(program_of(test="begun()") + "program.run(workers=1)")
    child.send_signal(signal.SIGTERM)
    child.communicate(timeout=60)
    assert child.returncode == -signal.SIGTERM


def test_a_training_at_the_interpreters_end_is_refused():
    done = subprocess.run([sys.executable, "-c", HEAD + """
X = numpy.random.default_rng(0).normal(size=(50, 4))
class Late:
    def __del__(self):
        try:
            hawser.train("lasso", X, X[:, 0])
        except hawser.Error as error:
            print("refused", error)
late = Late()"""], capture_output=True, text=True, timeout=60)
    assert done.stdout == "refused the interpreter is ending, and can begin nothing that takes a thread\n", done.stderr
