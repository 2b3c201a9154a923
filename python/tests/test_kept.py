"""What tests keep is the result of a run that ends early, by patience or by an overflow, compiled or not, on one node and on several."""
import numpy as np
import pytest

import hawser

pytest.importorskip("numba")

WORKERS = 3


def program(end, compiled):
    """A program: after k clocks w is 6 k. Its test keeps w after the fifth clock."""
    @hawser.unit(updates="w own", reports="loss", compile=compiled)
    def step(context, w, own):
        w += context.block + 1.0
        own += 1.0
        if end == "overflow" and context.clock == 8 and context.block == 1:
            w += np.inf
        return abs(context.clock - 4.0)

    @hawser.condition(compile=compiled)
    def test(progress):
        if progress.clock == 4:
            progress.keep()
        if end == "return" and progress.clock == 7:
            progress.return_to()
        return end == "return" and progress.clock == 9 and progress.has(0)

    made = hawser.Program("kept")
    made.replicated("w", 4)
    made.local("own", 1)
    made.keep("w", "own")
    more = {"metric": "loss", "patience": 3} if end == "patience" else {}
    made.loop("steps", clocks=12, test=test, **more).unit(step)
    return made


def reached(made, end):
    if end != "overflow":
        return made.run(workers=WORKERS, max_clocks=10 if end == "limit" else 0)
    with pytest.raises(hawser.NotFinite, match="'w'") as raised:
        made.run(workers=WORKERS)
    return raised.value.run


@pytest.mark.parametrize("end", ["limit", "patience", "overflow", "return"])
@pytest.mark.parametrize("compiled", [False, True])
def test_results_are_the_kept_point(end, compiled):
    run = reached(program(end, compiled), end)
    clocks = 7 if end == "return" else 5
    assert np.array_equal(run["w"], np.full(4, 6.0 * clocks))
    assert np.array_equal(run["own"], np.full((WORKERS, 1), clocks))
    assert run.kept == (end in ("limit", "overflow"))
    assert run.metrics["loss"] >= 0


def test_programs_that_cannot_keep_are_refused():
    made = program("limit", False)
    with pytest.raises(hawser.BadProgram, match="no state that has a result"):
        made.data("X", np.ones((3, 2)))
        made.keep("X")
    with pytest.raises(hawser.BadProgram, match="nothing"):
        made.keep("nothing")
    with pytest.raises(hawser.BadOption, match="points from 1"):
        made.keep("w", points=0)


def test_tests_keep_in_step_only():
    @hawser.unit(updates="w", compile=False)
    def add(w):
        w += 1

    @hawser.condition(compile=False)
    def first(progress):
        progress.keep()
        return False

    @hawser.condition(compile=False)
    def second(progress):
        progress.keep(1)
        return False

    for sync, test, text in (("ssp:2", first, "under ssp:2 blocks are at different clocks"), ("bsp", second, "there is no point 1; program.keep has 1")):
        made = hawser.Program("late")
        made.replicated("w", 1)
        made.keep("w")
        made.loop("loop", clocks=5, test=test, sync=sync).unit(add)
        with pytest.raises(hawser.BadProgram, match=text):
            made.run(workers=2)


def test_rehearsals_catch_numbers_outside_of_states():
    calls = [0]

    @hawser.unit(updates="w", compile=False)
    def add(w):
        w += 1

    @hawser.unit(updates="w", compile=False)
    def count(w):
        calls[0] += 1
        w += calls[0]

    @hawser.condition(compile=False)
    def never(progress):
        return False

    @hawser.condition(compile=False)
    def second(progress):
        calls[0] += 1
        return calls[0] % 2 == 0

    def run(unit, test):
        calls[0] = 0
        made = hawser.Program("rehearsed")
        made.replicated("w", 2)
        made.loop("loop", clocks=4, test=test).unit(unit)
        return made.run(workers=1, rehearse=1)["w"]

    assert np.array_equal(run(add, never), [4.0, 4.0])
    with pytest.raises(hawser.BadProgram, match="state 'w' got 1 as its number 0, then 2; what a unit remembers belongs in a state$"):
        run(count, never)
    with pytest.raises(hawser.BadProgram, match="the decision differs; what a test remembers belongs in progress.memory$"):
        run(add, second)
