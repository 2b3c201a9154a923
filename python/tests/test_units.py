"""Units that bind their arrays anew, or keep them."""
import contextlib
import os
import random
import sys
import warnings

import numpy as np
import pytest

import hawser

# Statements that bind w to something else, and such that do not.
REBINDS = ["w = w - g", "w = w", "g, w = w, g", "w: object = g", "for w in range(2): pass", "if (w := g) is None: pass", "[(w := i) for i in g]",
           "with box() as w: pass", "import math as w", "w = h = g * 2", "(w, *h) = g", "def again():\n  nonlocal w\n  w = g\nagain()",
           "try: pass\nexcept OSError as w: pass", "w -= g; w = w + 1", "h = [w for w in g]; w = w * 2", "while True:\n  w = g\n  break"]
CHANGES = ["w -= g", "w[:] = w - g", "w[0] += 1; w *= 2", "h = w - g", "h = [w for w in g]; w += 1", "def own(w):\n  w = g\nown(g)", "w -= g if len(g) else h",
           "w[:] = [(h := i) for i in g]", "h = w[1:]; h -= 1", "def again():\n  nonlocal w\n  w += g\nagain()", "g = g * 2; w += g", "w += (\n  g)",
           "h = {w: w for w in g}; w[1:] = 0", "h, g = g, w"]


def made(lines, names={"box": contextlib.nullcontext}):
    body = "\n".join(f"  {line}" for text in lines for line in text.split("\n"))
    space = dict(names)
    exec(f"def step(rows, w, g=None):\n  h = 0\n{body}\n", space)
    return space["step"]


@pytest.mark.parametrize("seed", range(20))
def test_a_unit_that_binds_what_it_updates_is_refused(seed):
    """Whatever stands around it, in a unit, plain or compiled, a merge function and a scratch array."""
    draw = random.Random(seed)
    around = [draw.choice(CHANGES) for _ in range(draw.randrange(4))]
    hawser.unit(updates="w")(made(around or ["w += 1"]))
    place = draw.randrange(len(around) + 1)
    step = made([*around[:place], draw.choice(REBINDS), *around[place:]])
    for plain in (None, False):
        with pytest.raises(hawser.BadProgram, match=r"unit 'step' \(<string>:1\): line \d+ binds 'w' to something else"):
            hawser.unit(updates="h w", compile=plain)(step)
        hawser.unit(updates="g", compile=plain)(made([draw.choice(["w = w - 1", "w = w[1:]"])]))  # of what is only read
    program = hawser.Program("p")
    program.data("rows", np.ones((2, 2)))
    program.scratch("w", 2)
    program.replicated("g", 2)
    with pytest.raises(hawser.BadProgram, match="binds 'w'"):
        program.unit(hawser.unit(updates="g", compile=False)(made(["w = g * 2"])))


def test_where_it_is_bound_is_said():
    def step(w):
        w -= 1
        w = w - 1

    with pytest.raises(hawser.BadProgram, match=f"line {step.__code__.co_firstlineno + 2} binds 'w'.*write w\\[:\\] = ... or w \\+= ..."):
        hawser.unit(updates="w")(step)

    def merge(state, sum, first, blocks, clock):
        state = state + sum

    with pytest.raises(hawser.BadProgram, match="merge function 'merge'.* binds 'state'"):
        hawser.Program("p").replicated("w", 2, merge=merge)

    def adam(value, update, parameters, memory):
        memory = memory + 1
        return value + update

    with pytest.raises(hawser.BadProgram, match="server function 'adam'.* binds 'memory'"):
        hawser.server_function(memory=1)(adam)


# ------------------------------------------------------------------------------------------------- kept views ----


class Box:
    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value


# How a unit may keep an array, and how it is read afterwards.
KEEPS = [(lambda w: w, lambda kept: kept), (lambda w: w[3:], lambda kept: kept), (lambda w: (w[::2],), lambda kept: kept[0]),
         (lambda w: {"w": w.reshape(10, -1)[1:]}, lambda kept: kept["w"]), (lambda w: w.view(np.recarray)[4:], np.asarray),
         (lambda w: np.asarray(memoryview(w)[2:]), lambda kept: kept), (lambda w: Box((w[1:3],)), lambda kept: kept.value[0]),
         (lambda w: w.reshape(-1, 5).T[:, 2:], lambda kept: kept), (lambda w: lambda: w, lambda kept: kept())]


class Refused(Exception):
    pass


def run_with(function, **how):
    program = hawser.Program("keeps")
    program.data("rows", np.arange(3000.0).reshape(300, 10))
    program.replicated("w", 2000, initial=np.arange(2000.0))
    program.loop("loop", clocks=3).unit(hawser.unit(updates="w", **how)(function))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return program.run(workers=1)


@pytest.mark.parametrize("number", range(len(KEEPS)))
def test_what_a_unit_keeps_has_its_numbers_after_the_run(number):
    keep, read = KEEPS[number]
    raises, kept = number % 2 == 1, []

    def step(rows, w):
        kept.extend([keep(w), keep(rows.reshape(-1)) if number < 4 else None])
        if raises:
            raise Refused(w[7:])

    with pytest.raises(Refused if raises else hawser.BadProgram, match=None if raises else "keeps its argument") as caught:
        run_with(step, compile=False)
    others = [np.full(2000, np.nan) for _ in range(100)]  # in memory that the run has freed
    assert np.array_equal(read(kept[0]), read(keep(np.arange(2000.0))))
    if number < 4:
        assert np.array_equal(read(kept[1]), read(keep(np.arange(3000.0))))
    if raises:
        assert np.array_equal(caught.value.args[0], np.arange(7.0, 2000))
    del others


def test_a_memoryview_that_a_unit_keeps_is_released():
    kept = []
    with pytest.raises(hawser.BadProgram, match="keeps its argument 'w'"):
        run_with(lambda w: kept.append(memoryview(w)), compile=False)
    with pytest.raises(ValueError, match="released"):
        kept[0][0]


def test_what_a_merge_function_keeps_has_its_numbers_after_the_run():
    kept = []

    def merge(state, sum, first, blocks, clock):
        state += sum
        kept.append(sum[1:])

    @hawser.unit(updates="w", compile=False)
    def step(w):
        w += 3

    program = hawser.Program("p")
    program.replicated("w", 500, merge=hawser.unit(compile=False)(merge))
    program.loop("loop", clocks=3).unit(step)
    with pytest.raises(hawser.BadProgram, match="merge function 'merge'.* keeps 'sum'"):
        program.run(workers=1)
    others = [np.full(500, np.nan) for _ in range(100)]
    assert kept[0].tolist() == [3] * 499
    del others


@pytest.mark.filterwarnings("ignore:Code running in object mode")
def test_a_compiled_unit_keeps_no_array():
    numba = pytest.importorskip("numba")
    kept = []

    def raises(w):
        raise ValueError(w)

    with pytest.raises(ValueError) as caught:
        run_with(raises)
    others = [np.full(2000, np.nan) for _ in range(100)]
    assert np.array_equal(caught.value.args[0], np.arange(2000.0))
    del others

    def keep(w):
        kept.append(w)

    def in_objects(w):
        with numba.objmode():
            keep(w)

    helper = numba.njit(in_objects)
    for function in (in_objects, lambda w: helper(w)):
        with pytest.raises(hawser.BadProgram, match="numba.objmode has an array"):
            run_with(function)


# ---------------------------------------------------------------------------------------- threads of the BLAS ----


def step_of(text):
    space = {"np": np}
    exec(f"def step(rows, w):\n  {text}\n", space)
    return space["step"]


def run_product(text, workers=2):
    program = hawser.Program("product")
    program.data("rows", np.ones((8, 3)))
    program.replicated("w", 3)
    program.unit(hawser.unit(updates="w", compile=False)(step_of(text)))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "unit 'step' is plain", RuntimeWarning)
        program.run(workers=workers)


def test_the_blas_has_a_thread_per_worker(monkeypatch):
    control = pytest.importorskip("threadpoolctl")
    monkeypatch.setattr("os.environ", {key: value for key, value in os.environ.items() if not key.endswith("_NUM_THREADS")})
    asked = []

    def limits(*given, **how):
        asked.append((given, how))
        return contextlib.nullcontext()

    monkeypatch.setattr(control, "threadpool_limits", limits)
    for text, workers, expected in (("w += rows.T @ np.ones(len(rows))", 2, 1), ("w += np.dot(np.ones(len(rows)), rows)", 2, 1), ("w += 1", 2, 0),
                                    ("w += rows.T @ np.ones(len(rows))", 1, 0)):
        asked.clear()
        run_product(text, workers)
        assert asked == [((1,), {"user_api": "blas"})] * expected, text


def test_without_threadpoolctl_one_warning_says_what_to_set(monkeypatch):
    monkeypatch.setattr("os.environ", {key: value for key, value in os.environ.items() if not key.endswith("_NUM_THREADS")})
    monkeypatch.setattr("hawser.programs.blas._said", [])
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    monkeypatch.setitem(sys.modules, "threadpoolctl", None)
    with pytest.warns(RuntimeWarning, match="multiplies matrices on several workers.*OPENBLAS_NUM_THREADS=1"):
        run_product("w += rows.T @ np.ones(len(rows))")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run_product("w += rows.T @ np.ones(len(rows))")


def test_a_long_run_says_what_index_checks_take(monkeypatch, caplog):
    pytest.importorskip("numba")
    for limit, said in ((60, 0), (-1, 1)):
        monkeypatch.setattr("hawser.programs.program.LONG", limit)
        with caplog.at_level("INFO", "hawser"):
            caplog.clear()
            program = hawser.Program("checks")
            program.replicated("w", 2)
            program.unit(hawser.unit(updates="w")(lambda w: None))
            program.run(workers=1)
        assert sum("boundscheck=False" in record.getMessage() for record in caplog.records) == said
