"""Tests of loops and branches: compiled ones answer as plain ones do, remember what they should, and say what is wrong."""
import numpy as np
import pytest

import hawser

numba = pytest.importorskip("numba")
pytestmark = pytest.mark.filterwarnings("ignore:unit")
KINDS = pytest.mark.parametrize("compile", [None, False], ids=["compiled", "plain"])


def one_more(w):
    w[0] += 1
    return w[0]


def left(v):
    v[0] += 1


def right(v):
    v[1] += 1


def plain(function, **how):
    return hawser.unit(one=True, compile=False, **how)(function)


def program_of(enough, odd, sync=None):
    program = hawser.Program("tests")
    program.replicated("w", 1)
    program.replicated("v", 2)
    program.metric("other", "last")
    loop = program.loop("loop", test=enough, remembers=2, sync=sync)
    loop.unit(plain(one_more, updates="w", reports="seen"))
    branch = loop.branch("odd", odd, remembers=1)
    branch.unit(plain(left, updates="v"))
    branch.unit(plain(right, updates="v"))
    return program


def conditions(compile, late):
    @hawser.condition(compile=compile)
    def enough(progress):
        progress.memory[0] += progress["seen"] + progress.clock
        progress.memory[1] += progress.metric("bytes") < 0 or progress.seconds < 0 or progress.stopping
        progress.set("other", progress.memory[0] + progress.memory[1])
        if late and progress.clock == 2:
            progress.set_sync("loop", "ssp:2")
            progress.set_gain("w", 1.5)
        return progress.memory[0] > 40 and progress.loop == "loop"

    @hawser.condition(compile=compile)
    def odd(progress):
        progress.memory[0] += 1
        return progress.memory[0] % 2

    return enough, odd


@KINDS
def test_a_test_remembers_and_sets_metrics(compile):
    """In clock t the unit reports t + 1, so that 1 + 3 + 5 ... passes 40 in clock 6. The branch goes left in every second clock."""
    for workers in (1, 2):
        found = program_of(*conditions(compile, False)).run(workers=workers)
        assert found["w"].tolist() == [7] and found["v"].tolist() == [4, 3] and found.stop_reason == "test"
        assert found.metrics == {"other": 49, "seen": 7}


@KINDS
def test_a_test_changes_sync_and_gain(compile):
    """From which clock on, and so the numbers, depends on how far the blocks are."""
    found = program_of(*conditions(compile, True), "ssp:1").run(workers=2)
    assert found.stop_reason == "test" and abs(found["v"][0] - found["v"][1]) <= 1
    assert {change.by for change in found.changes} == {"stop test of loop 'loop'"}
    assert {(change.state, change.old, change.new) for change in found.changes} == {(None, "ssp:1", "ssp:2"), ("w", 1, 1.5)}
    sync = next(change for change in found.changes if change.state is None)
    assert str(sync) == f"loop loop, from clock {sync.clock}: sync: ssp:1 -> ssp:2, by the stop test of loop 'loop'"


def looped(test, remembers=1):
    program = hawser.Program("loop")
    program.replicated("w", 1)
    program.loop("loop", test=test, clocks=3, remembers=remembers).unit(plain(one_more, updates="w", reports="seen"))
    return program.run(workers=1)


def raises(progress):
    if progress.clock == 1:
        raise KeyError("in clock 1")
    return False


def beyond(progress):
    return progress.memory[3] > 1


def no_metric(progress):
    return progress["loss"] < 1


def no_state(progress):
    progress.set_gain("v", 2.0)
    return False


def no_loop(progress):
    progress.set_sync("steps", "ssp:1")
    return False


def no_sync(progress):
    progress.set_sync("loop", "late")
    return False


@KINDS
@pytest.mark.parametrize("function, error, text", [
    (raises, KeyError, "in clock 1"), (beyond, IndexError, "out of bounds"), (no_metric, hawser.BadProgram, "names metric 'loss'"),
    (no_state, hawser.BadProgram, "state 'v'"), (no_loop, hawser.BadProgram, "set_sync: no shipped loop is called 'steps'"),
    (no_sync, hawser.Error, "sync: 'late' is none")])
def test_what_is_wrong_in_a_test_is_raised(compile, function, error, text):
    with pytest.raises(error, match=text) as caught:
        looped(hawser.condition(compile=compile)(function))
    notes = getattr(caught.value, "__notes__", [])
    assert function in (no_loop,) or "in the test of loop 'loop'" in notes or f"condition '{function.__name__}'" in str(caught.value)


def test_what_a_condition_is():
    with pytest.raises(hawser.BadProgram, match="a condition has one parameter"):
        hawser.condition(lambda: True)
    with pytest.raises(hawser.BadArgument, match="a condition is a function, and this is a int"):
        hawser.condition(3)
    with pytest.raises(hawser.BadProgram, match="it returns array.*and a condition returns true or false"):
        looped(hawser.condition(lambda progress: np.zeros(3)))
    for compile in (None, False):
        with pytest.raises(hawser.BadProgram, match="the test has no memory; give remembers= to the loop or branch"):
            looped(hawser.condition(compile=compile)(beyond), remembers=0)
    with pytest.raises(hawser.BadArgument, match="branch 'odd': remembers is -1"):
        hawser.Program("p").branch("odd", beyond, remembers=-1)
    kept = []
    with pytest.raises(hawser.BadProgram, match="the test of loop 'loop' keeps progress.memory"):
        looped(lambda progress: kept.append(progress.memory))
