"""Programs of the user's own: the numbers of numpy, the same for compiled and plain units, for threads and nodes; and what is refused."""
import contextlib
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest
import test_nodes

import hawser

numba = pytest.importorskip("numba")
needs_command = pytest.mark.skipif(not test_nodes.BINARY, reason="HAWSER_BINARY is not set")
EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "python" / "kmeans.py"


@contextlib.contextmanager
def quiet():
    """Plain units warn that they run one at a time."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


def both(function, **how):
    """A function as a compiled and as a plain unit."""
    return hawser.unit(**how)(function), hawser.unit(compile=False, **how)(function)


# ------------------------------------------------------------------------------------------------- numbers ----


def add(context, rows, total, parts, scale=1.0):
    for i in range(len(rows)):
        for j in range(rows.shape[1]):
            total[j] += scale * rows[i, j]
    parts[:] = len(rows)
    return len(rows), float(context.first("rows"))


ADD = both(add, updates=["total", "parts"], reports="rows last")


def sums(data, plain, dtype=np.float64, **numbers):
    program = hawser.Program("sums")
    program.data("rows", data)
    program.replicated("total", "rows", dtype)
    program.partitioned("parts", 2, np.int64, each=True)
    program.metric("last", "max")
    program.unit(ADD[plain], **numbers)
    return program


@pytest.mark.parametrize("data", ["rows", "columns", "strided", "float32"])
def test_sums(data):
    X = np.arange(60.0).reshape(20, 3)
    given = {"rows": X, "columns": np.asfortranarray(X), "float32": X.astype(np.float32),
             "strided": np.arange(100.0).reshape(20, 5)[:, :3]}[data]
    for plain in (False, True):
        for workers in (1, 2, 4):
            with quiet():
                found = sums(given, plain, scale=2.0).run(workers=workers)
            assert np.array_equal(found["total"], 2 * given.sum(axis=0))
            assert found["parts"].shape == (workers, 2) and found["parts"].dtype == np.int64
            assert found["parts"][:, 0].sum() == 20 == found.metrics["rows"] and found.stop_reason == "end"
            assert found.metrics["last"] == 20 - found["parts"][-1, 0]


def logistic_step(rows, rows_target, w, rate):
    gradient = np.zeros(len(w))
    loss = 0.0
    for i in range(len(rows)):
        margin = 0.0
        for j in range(len(w)):
            margin += rows[i, j] * w[j]
        margin *= rows_target[i]
        loss += np.log1p(np.exp(-margin))
        for j in range(len(w)):
            gradient[j] += -rows_target[i] * rows[i, j] / (1.0 + np.exp(margin))
    for j in range(len(w)):
        w[j] -= rate * gradient[j]
    return loss


STEP = both(logistic_step, updates="w", reports="loss")


def logistic(X, y, plain, sync=None, clocks=30):
    program = hawser.Program("logistic")
    program.data("rows", X, y)
    program.replicated("w", 6)
    program.loop("steps", clocks=clocks, sync=sync).unit(STEP[plain], rate=0.5 / len(X))
    return program


def test_logistic_regression_by_gradient(numbers):
    X, y = numbers[0], np.where(numbers[1] > 0, 1.0, -1.0)
    w = np.zeros(6)
    for _ in range(30):
        margin = (X @ w) * y
        loss = np.log1p(np.exp(-margin)).sum()
        w += 0.5 / len(X) * X.T @ (y / (1 + np.exp(margin)))
    for workers in (1, 3):
        with quiet():
            found = [logistic(X, y, plain).run(workers=workers) for plain in (False, True)]
        assert np.allclose(found[0]["w"], w, rtol=1e-12) and np.allclose(found[1]["w"], w, rtol=1e-12)
        assert found[0].metrics["loss"] == pytest.approx(loss) and found[0].clocks == 30
        assert found[0].not_repeatable is None
    again = logistic(X, y, False)
    assert len({again.run(workers=3)["w"].tobytes() for _ in range(3)}) == 1
    stale = logistic(X, y, False, "ssp:2", 200).run(workers=3)
    best = logistic(X, y, False, clocks=200).run(workers=1)
    assert np.abs(stale["w"] - best["w"]).max() < 0.02 and "ssp" in stale.not_repeatable


def test_sparse_rows_and_columns(numbers):
    scipy = pytest.importorskip("scipy.sparse")
    X = np.where(np.abs(numbers[0]) > 1, numbers[0], 0.0)

    def multiply(A, x, products):
        for i in range(len(products)):
            products[i] = 0
            for e in range(A.indptr[i], A.indptr[i + 1]):
                products[i] += A.values[e] * x[A.indices[e]]

    for unit in both(multiply, updates="products"):
        for by, matrix in (("row", scipy.csr_array(X)), ("column", scipy.csc_array(X)), ("row", scipy.csr_matrix(X.astype(np.float32)))):
            program = hawser.Program()
            program.data("A", matrix, by=by)
            lines = X.shape[by == "column"]
            x = np.arange(1.0, 1 + X.shape[by == "row"])
            program.replicated("x", len(x), initial=x)
            program.partitioned("products", along="A")
            program.unit(unit)
            with quiet():
                found = program.run(workers=3)
            exact = matrix @ x if by == "row" else matrix.T @ x
            assert found["products"].shape == (lines,) and np.allclose(found["products"], exact, rtol=1e-6)


def test_states_of_each_type():
    @hawser.unit(updates="counts seen small memory")
    def count(context, rows, counts, seen, small, memory):
        for i in range(len(rows)):
            counts[int(rows[i, 0]) % 3] += 1
            seen[i, 1] = context.first("seen") + i
        small[context.block % 2, 1] += 0.5
        memory[0] += 1 + context.clock

    program = hawser.Program("types")
    program.data("rows", np.arange(20.0).reshape(10, 2))
    program.replicated("counts", 3, np.int32, initial=[1, 0, 0])
    program.local("seen", 2, np.int64, along="rows", initial=np.full((10, 2), 7))
    program.replicated("small", (2, 3), np.float32)
    program.local("memory", 1, np.int32, initial=[5])
    program.loop("loop", clocks=3).unit(count)
    found = program.run(workers=3)
    assert found["counts"].tolist() == (3 * np.bincount(np.arange(0, 20, 2) % 3) + [1, 0, 0]).tolist()
    assert found["counts"].dtype == np.int32 and found["seen"].tolist() == [[7, i] for i in range(10)]
    assert found["small"].tolist() == [[0, 3, 0], [0, 1.5, 0]] and found["memory"].tolist() == [[11]] * 3


def test_factors_in_stored_and_partitioned_states():
    """Alternating least squares of rank 1: a unit for the stored factors of rows, and one that reads them for those of columns."""
    draw = np.random.default_rng(3)
    X = draw.normal(size=(40, 1)) @ draw.normal(size=(1, 5)) + 0.01 * draw.normal(size=(40, 5))

    def rows_of(rows, v, u):  # by loops, which numba compiles much sooner than sums along an axis
        square = 0.0
        for j in range(len(v)):
            square += v[j] ** 2
        for i in range(len(rows)):
            product = 0.0
            for j in range(len(v)):
                product += rows[i, j] * v[j]
            u[i] = product / square

    def columns_of(context, rows, v, sums):
        sums[:] = 0.0
        error = 0.0
        first = context.first("rows")
        block, start, part = context.next_chunk("u")
        while block >= 0:
            for i in range(len(part)):
                if 0 <= start + i - first < len(rows):
                    for j in range(len(v)):
                        sums[j] += rows[start + i - first, j] * part[i, 0]
                        error += (rows[start + i - first, j] - part[i, 0] * v[j]) ** 2
                sums[-1] += part[i, 0] ** 2 / context.blocks
            block, start, part = context.next_chunk("u")
        return error

    def move(sums, v):
        v[:], square = 0.0, 0.0
        for b in range(len(sums)):
            square += sums[b, -1]
        for b in range(len(sums)):
            for j in range(len(v)):
                v[j] += sums[b, j] / square

    def factors(*units):
        program = hawser.Program("factors")
        program.data("rows", X)
        program.stored("u", along="rows")
        program.replicated("v", 5, initial=np.ones(5))
        program.partitioned("sums", 6, each=True)
        loop = program.loop("rounds", clocks=20)
        loop.loop("u", clocks=1).unit(units[0])
        loop.loop("v", clocks=1).unit(units[1])
        loop.unit(units[2])
        return program

    u, s, v = np.linalg.svd(X)
    pairs = (both(rows_of, updates="u"), both(columns_of, updates="sums", reads="u", reports="error"), both(move, updates="v", one=True))
    for units in zip(*pairs):
        with quiet():
            found = factors(*units).run(workers=3)
        assert np.allclose(np.outer(found["u"], found["v"]), s[0] * np.outer(u[:, 0], v[0]), atol=1e-8)
        assert found.metrics["error"] == pytest.approx((s[1:] ** 2).sum())


def test_operators():
    """Sequences, a parallel, a branch, an inner loop, tests with memory, a change of sync, and local states."""
    def one_more(w, step=1.0):
        w[0] += step

    def one_more_v(v, step=1.0):
        v[0] += step

    add_w, add_v = hawser.unit(updates="w", one=True)(one_more), hawser.unit(updates="v", one=True, compile=False)(one_more_v)
    asked = []

    def is_even(progress):
        return progress.clock % 2 == 0

    def end(progress):
        progress.memory[0] += 1
        asked.append((progress.clock, progress.loop, progress.memory[0]))
        progress.set("count", progress.memory[0])
        return progress.metric("count") >= 4

    program = hawser.Program("operators")
    program.replicated("w", 1)
    program.replicated("v", 1)
    program.metric("count", "last")
    together = program.parallel()
    together.unit(add_w, "first")
    together.sequence().unit(add_v, "second", step=10)
    loop = program.loop("outer", test=end, remembers=1)
    loop.loop("inner", clocks=2).unit(add_w, "third", step=100)
    branch = loop.branch("even", is_even)
    branch.unit(add_v, "fourth", step=1000)
    branch.sequence().unit(add_v, "fifth", step=0.5)
    with quiet():
        found = program.run(workers=2, trace=True)
        plan = str(program.plan(workers=2))
    assert found["w"].tolist() == [801] and found["v"].tolist() == [2011] and found.stop_reason == "test"
    assert asked == [(clock, "outer", clock + 1) for clock in range(4)]
    assert [entry["count"] for entry in found.trace if entry["loop"] == "outer"] == [0, 1, 2, 3] or found.trace
    assert "branch 'even'" in plan and "loop 'inner'" in plan


def test_merge_random_and_reductions():
    def half(state, sum, first, blocks, clock):
        for i in range(len(state)):
            state[i] += sum[i] / blocks + 100 * (first + i) * (clock == 1)

    def step(context, w, draws):
        total = np.ones(3)
        total[1] = context.block
        context.allreduce(total)
        w[0] += total[0] + total[1]
        draws[0] = context.random_below(1000)
        draws[1] = context.uniform()
        draws[2] = context.gain("w")

    for merge, unit in zip(both(half), both(step, updates="w draws", reduces=3)):
        program = hawser.Program()
        program.replicated("w", 2, merge=merge)
        program.local("draws", 3)
        program.loop("loop", clocks=2).unit(unit)
        with quiet():
            found, again, other = program.run(workers=3), program.run(workers=3), program.run(workers=3, seed=2)
        assert found["w"].tolist() == [12, 100] and (found["draws"][:, 2] == 1).all()
        assert (found["draws"] == again["draws"]).all() and (found["draws"] != other["draws"])[:, :2].all()
        assert len(set(found["draws"][:, 1])) == 3 and (found["draws"][:, 1] < 1).all()


def test_keys_of_a_stored_state():
    def push(context, rows):
        keys = np.array([0, 2, 3], np.uint64)
        context.inc("w", keys, np.array([1.0, float(len(rows)), context.clock]))
        context.prefetch("w", keys)
        found = context.prefetch_wait("w", 3)
        if context.clock == 0:
            context.report("seen", found[1])

    for unit in both(push, updates="w"):
        program = hawser.Program("store")
        program.data("rows", np.zeros((30, 4)))
        program.metric("seen", "max")
        program.stored("w", 5, function="add", initial=np.arange(5.0))
        program.loop("loop", clocks=3).unit(unit)
        with quiet():
            found = program.run(workers=3)
        assert found["w"].tolist() == [9, 1, 92, 12, 4] and 2 <= found.metrics["seen"] <= 32


def test_cocoa_by_tied_and_derived_states(numbers):
    """v = X^T a holds under averaging, and is what one block computes."""
    X, y = numbers
    weights = np.linspace(0.5, 1, len(X))

    def rebuild(rows, a, v):
        for i in range(len(rows)):
            for j in range(len(v)):
                v[j] += rows[i, j] * a[i]

    def step(rows, rows_target, rows_weights, a, v):
        for i in range(len(rows)):
            fitted = 0.0
            for j in range(len(v)):
                fitted += rows[i, j] * v[j]
            delta = 0.01 * rows_weights[i] * (rows_target[i] - fitted)
            a[i] += delta
            for j in range(len(v)):
                v[j] += delta * rows[i, j]

    a = np.zeros(len(X))
    for _ in range(3):
        for i in range(len(X)):
            a[i] += 0.01 * weights[i] * (y[i] - X[i] @ (X.T @ a))
    for unit, again in zip(both(step, updates="a v"), both(rebuild, updates="v")):
        program = hawser.Program("cocoa")
        program.data("rows", X, y, weights=weights)
        program.replicated("v", 6, damping="average")
        program.local("a", along="rows", tied="v")
        program.derive("v", again)
        program.loop("loop", clocks=3).unit(unit)
        with quiet():
            one, three = program.run(workers=1), program.run(workers=3)
        assert np.allclose(one["a"], a) and np.allclose(one["v"], X.T @ a)
        assert np.allclose(three["v"], X.T @ three["a"]) and not np.allclose(three["a"], a)


def test_updates_within_a_clock():
    def twice(context, w, v):
        w[context.block] += 1
        context.exchange()
        v[0] += 1
        context.publish("v")
        w[context.block] += 1
        context.touch("w", context.block, 1)

    for unit in both(twice, updates="w v"):
        program = hawser.Program("yields")
        program.replicated("w", 3, encoding="bf16", filter="absolute", quota=24)
        program.replicated("v", 1, np.int64)
        program.loop("loop", clocks=4).unit(unit)
        for sync in ("bsp", "ssp:1", "tap"):
            with quiet():
                found = program.run(workers=3, sync=sync)
            assert found["w"].tolist() == [8, 8, 8] and found["v"].tolist() == [12], sync


def test_data_by_column_and_whole(numbers):
    X, y = numbers

    def sums_of(context, A, B, B_offset, w, parts):
        for j in range(A.shape[1]):
            parts[j] = 0.0
            for i in range(A.shape[0]):
                parts[j] += A[i, j] + B[i, 0] * B_offset[i]
            w[context.first("A") + j] += context.first("A") + j

    for unit in both(sums_of, updates="w parts"):
        for layout in (np.ascontiguousarray, np.asfortranarray):
            program = hawser.Program("columns")
            program.data("A", layout(X), by="column")
            program.data("B", layout(X), offset=y, by="all")
            program.replicated("w", "B")
            program.partitioned("parts", along="A")
            program.unit(unit)
            with quiet():
                found = program.run(workers=3)
            assert np.allclose(found["parts"], X.sum(axis=0) + X[:, 0] @ y) and found["w"].tolist() == list(range(6))


# ------------------------------------------------------------------------------------------------ refusals ----


def simple(unit, **numbers):
    program = hawser.Program("simple")
    program.data("rows", np.arange(12.0).reshape(6, 2))
    program.replicated("w", 2)
    program.replicated("v", 2)
    program.loop("loop", clocks=3).unit(unit, **numbers)
    return program


def raises(rows, w, context):
    if context.clock == 1 and context.block == 1:
        raise KeyError("no such row")
    w[0] += 1.0


def beyond(rows, w):
    w[len(rows)] += 1


def divides(rows, w):
    w[0] = 1 / (len(rows) - 3)


@pytest.mark.parametrize("function, error, text", [
    (raises, KeyError, "no such row"), (beyond, IndexError, "out of bounds"), (divides, ZeroDivisionError, "division by zero")])
def test_an_exception_in_a_unit_is_raised(function, error, text):
    for unit in both(function, updates="w"):
        with quiet(), pytest.raises(error, match=text) as caught:
            simple(unit).run(workers=2)
        assert f"in unit '{function.__name__}' (which reads rows and which updates w), block" in caught.value.__notes__[0]
    assert simple(hawser.unit(updates="w")(raises)).run(workers=1)["w"].tolist() == [3, 0]  # the next run is well


def test_what_a_unit_may_not_do():
    def writes(rows, w, v):
        v[0] = 1.0

    def names(context, w):
        w[0] = context.first("v")

    def asks(context, w):
        w[0] = context.metric("loss")

    def returns(w):
        return 1.0

    for function, compiled, plain in ((writes, "does it change a state that it only reads", "read-only"), (names, "names state 'v'", "names state 'v'"),
                                      (asks, "names metric 'loss'", "names metric 'loss'"), (returns, "reports no metric", "reports no metric")):
        for unit, text in zip(both(function, updates="w"), (compiled, plain)):
            with quiet(), pytest.raises((hawser.BadProgram, ValueError), match=text) as caught:
                simple(unit).run(workers=1)
            assert function.__name__ in str(caught.value) + str(getattr(caught.value, "__notes__", ""))

    @hawser.unit(updates="w")
    def opens(w):
        w[0] = open("x")

    with pytest.raises(hawser.BadProgram, match=r"unit 'opens' \(.*test_program.py:\d+\): numba cannot compile it: .*'open'.*line") as caught:
        simple(opens).run(workers=1)
    assert isinstance(caught.value.__cause__, numba.core.errors.NumbaError)

    kept = []

    @hawser.unit(updates="w", compile=False)
    def keeps(w, context):
        kept.append(w[1:])

    with pytest.raises(hawser.BadProgram, match="keeps its argument 'w'"):
        simple(keeps).run(workers=1)

    @hawser.unit(updates="w", compile=False)
    def keeps_context(w, context):
        kept.append(context)

    simple(keeps_context).run(workers=1)
    with pytest.raises(hawser.BadArgument, match="after the unit has returned"):
        kept[-1].block
    with pytest.warns(RuntimeWarning, match=r"unit 'keeps_context' is plain Python \(compile=False\)"):
        simple(keeps_context).run(workers=2)


def test_what_numba_lets_pass_is_refused():
    """Functions through which a compiled unit could change what it only reads; of what it updates, and for reading, they are allowed."""
    for text, refused in (("v.flat[0] = 9.0", True), ("w.flat[0] = 9.0", False), ("np.dot(np.ones((2, 2)), w, v)", True),
                          ("w[0] = np.dot(v, v)", False), ("np.fill_diagonal(rows, 9.0)", True), ("helper(v)", True), ("helper(w)", False)):
        names = {"np": np, "helper": helper}
        exec(f"def unit(rows, w, v):\n    {text}\n", names)
        if refused:
            with pytest.raises(hawser.BadProgram, match="which numba does not notice"):
                simple(hawser.unit(updates="w")(names["unit"])).run(workers=1)
        else:
            assert simple(hawser.unit(updates="w")(names["unit"])).run(workers=1)["v"].tolist() == [0, 0]


@numba.njit
def helper(array):
    np.ascontiguousarray(array)[0] = 1.0


@pytest.mark.parametrize("bound, clocks", [({"change": 0}, 5), ({"below": 0, "change": 1e-300}, 4), ({"below": 0}, 4), ({"change": 0, "below": -1}, 5)])
def test_a_bound_of_zero_is_one(bound, clocks):
    @hawser.unit(updates="w", reports="left", compile=False)
    def step(w):
        w[0] = min(w[0] + 1, 4)
        return 4 - w[0]

    program = hawser.Program("falls to zero")
    program.replicated("w", 1)
    program.loop("loop", clocks=9, metric="left", **bound).unit(step)
    assert program.run(workers=1).clocks == clocks


def test_what_a_program_may_not_say():
    unit = hawser.unit(updates="w")(lambda rows, w, rate: None)
    for said, error, text in (
            (lambda: simple(unit), hawser.BadProgram, "parameter 'rate' is no state of program 'simple', and no number"),
            (lambda: simple(unit, rate="x"), ValueError, "parameter 'rate' is 'x'; give an int"),
            (lambda: simple(unit, rate=1, other=2), hawser.BadProgram, "it has no parameter 'other'"),
            (lambda: simple(hawser.unit(updates="x")(lambda w: None)), hawser.BadProgram, "has no state 'x'; its states are rows, w, v"),
            (lambda: simple(lambda w: None), hawser.BadArgument, "is no unit; make it one with @hawser.unit"),
            (lambda: simple(hawser.unit(lambda *w: None)), hawser.BadArgument, "plain parameters"),
            (lambda: hawser.Program("p").replicated("w", 0), hawser.BadArgument, "its shape is 0"),
            (lambda: hawser.Program(3), hawser.BadArgument, "the name of a program is 3"),
            (lambda: hawser.Program("p").loop("l", metric="m", clocks=2), hawser.BadArgument, "metric='m' ends no loop by itself"),
            (lambda: hawser.Program("p").run(progress=5), hawser.BadArgument, "progress is 5; give True or a function"),
            (lambda: hawser.Program("p").loop(3, clocks=1), hawser.BadArgument, "the name of a loop is 3"),
            (lambda: hawser.Program("p").metric(None), hawser.BadArgument, "the name of a metric is None"),
            (lambda: hawser.Program("p").replicated("w", 2, filter="absolute", quota=-1), hawser.BadArgument, "quota is -1, and must be a whole"),
            (lambda: hawser.unit(reduces=-1)(lambda w: None), hawser.BadArgument, "reduces is -1"),
            (lambda: hawser.Program("p").replicated("w", 2, complex), hawser.BadArgument, "is of complex128; states are of float64"),
            (lambda: hawser.Program("p").replicated("w", 2, initial=[1, 2, 3]), hawser.BadArgument, r"has shape \(2,\), and its initial has \(3,\)"),
            (lambda: hawser.Program("p").replicated("w", 2, int, initial=[0.5, 1]), hawser.BadArgument, "is of int64, and its initial is of float64"),
            (lambda: hawser.Program("p").replicated("w", 2, gain=-1), hawser.BadProgram, "has gain -1; it must be above zero"),
            (lambda: hawser.Program("p").replicated("w", 2, encoding="f8"), hawser.BadOption, "it is one of exact, bf16, f16, int8"),
            (lambda: hawser.Program("p").partitioned("w", along="rows"), hawser.BadProgram, "has no state 'rows'"),
            (lambda: hawser.Program("p").loop("l", clocks=2, sync="ssp"), hawser.BadOption, "sync: 'ssp' is none"),
            (lambda: hawser.Program("p").loop("l", clocks=-2), hawser.BadArgument, "clocks is -2"),
            (lambda: hawser.Program("p").run(workers=1), hawser.BadProgram, "program 'p' has no operators"),
            (lambda: simple(unit, rate=1).run(tol=1), hawser.BadOption, "tol: a run has no such option"),
            (lambda: simple(unit, rate=1).run(init="w=w.npy"), hawser.BadOption, "initial= of its declaration"),
            (lambda: simple(unit, rate=1).run(results=["x"]), hawser.BadProgram, "results: program 'simple' has no state 'x'")):
        with pytest.raises(error, match=text):
            said()


factor = 1.0


def test_a_changed_global_is_seen():
    global factor

    @hawser.unit(updates="w", one=True)
    def scale(w):
        w[0] += factor

    program = simple(scale)
    factor = 1.0
    assert program.run(workers=1)["w"][0] == 3
    factor = 2.0
    assert program.run(workers=1)["w"][0] == 6


def test_an_exception_on_the_driver_is_raised():
    @hawser.unit(updates="w", compile=False)
    def add_one(w):
        w += 1

    def fails(progress):
        raise KeyError("test")

    program = hawser.Program("tests")
    program.replicated("w", 1)
    program.loop("loop", test=fails, clocks=100).unit(add_one)
    with pytest.raises(KeyError, match="test") as caught:
        program.run(workers=1)
    assert caught.value.__notes__ == ["in the test of loop 'loop'"]
    with pytest.raises(ZeroDivisionError):
        simple(add_one).run(workers=1, progress=lambda now: 1 / 0)


def test_interrupt_keeps_what_was_reached():
    """Ctrl-C from a test of the loop, beside compiled and plain units."""
    def press(progress):
        if progress.clock == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return False

    def add_one(w):
        w[0] += 1

    for unit in both(add_one, updates="w", one=True):
        program = hawser.Program("endless")
        program.replicated("w", 1)
        program.loop("loop", test=press).unit(unit)
        with quiet(), pytest.raises(hawser.Interrupted) as caught:
            program.run(workers=2)
        assert caught.value.run.stop_reason == "signal" and caught.value.run["w"][0] >= 4


def test_runs_in_threads_and_a_thousand_take_no_memory():
    program = sums(np.arange(60.0).reshape(20, 3), False)

    def resident():
        return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * 4096

    def many(count):
        for _ in range(count):
            found.append(program.run(workers=2)["total"].sum() == 1770)

    found: list[bool] = []
    many(100)
    before, descriptors = resident(), len(os.listdir("/proc/self/fd"))
    threads = [threading.Thread(target=many, args=(150,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    many(100)
    assert all(found) and len(found) == 800 and resident() - before < 40e6
    assert len(os.listdir("/proc/self/fd")) <= descriptors + 2 and not hawser.programs.raised.runs


# --------------------------------------------------------------------------------------------------- nodes ----

ON_NODES = """
@hawser.unit(updates="w", reports="loss")
def step(rows, rows_target, w, rate):
    loss = 0.0
    for i in range(len(rows)):
        error = -rows_target[i]
        for j in range(len(w)):
            error += rows[i, j] * w[j]
        for j in range(len(w)):
            w[j] -= rate * error * rows[i, j]
        loss += error * error
    return loss

@hawser.unit(updates="counts")
def count(context, rows, counts):
    counts[0], counts[1] = len(rows), context.first("rows")

@hawser.unit(updates="w", one=True)
def last(counts, w):
    for b in range(len(counts)):
        w[b] += counts[b, 0] + 0.5 * counts[b, 1]

@hawser.unit(updates="w", compile=False)
def fails(context, w, where):
    if context.block == where and context.clock == 2:
        raise LookupError("block of node 1")

@hawser.unit(updates="w", compile=False)
def differs(w):
    w += NUMBER

@hawser.unit(updates="rows", compile=False)
def shift(rows):
    rows += 1.0

def program(unit, data=X, target=y, test=None, partitioned=None, change=None, **numbers):
    made = hawser.Program("descent")
    made.data("rows", data, target, partitioned=partitioned)
    made.replicated("w", 6)
    if change is not None:
        made.unit(change)
    made.loop("loop", clocks=5, test=test).unit(unit, **numbers)
    return made

def parts():
    made = hawser.Program("parts")
    made.data("rows", X)
    made.replicated("w", 6)
    made.partitioned("counts", 2, each=True)  # for each block, and one block reads those of all
    made.unit(count)
    made.unit(last)
    return made.run(**how)

def raised(call):
    try:
        call()
        return "nothing"
    except Exception as error:
        return f"{type(error).__name__}: {error}"

def fail(progress):
    raise ArithmeticError("in the test")

NUMBER = node()
path = os.path.join(sys.argv[1], "rows.csv")
mine = slice(70 * node(), 70 * (node() + 1) if node() < NODES - 1 else 200) if NODES > 1 else slice(None)
how = {"workers": 4}
found = {"arrays": program(step, rate=1e-3).run(**how)["w"], "files": program(step, path, "0", rate=1e-3).run(**how)["w"],
         "changed": program(step, path, "0", change=shift, rate=1e-3).run(**how)["w"],
         "partitioned": program(step, X[mine], y[mine], partitioned=NODES > 1, rate=1e-3).run(**how)["w"]}
if NODES > 1:
    found["unit"] = raised(lambda: program(fails, where=3).run(**how))
    found["test"] = raised(lambda: program(step, test=fail, rate=1e-3).run(**how))
    found["code"] = raised(lambda: program(differs).run(**how))
    found["after"] = program(step, rate=1e-3).run(**how)["w"]
both = parts()
keep(counts=both["counts"], last=both["w"], **found)
"""


@needs_command
def test_nodes_have_the_bits_of_one_process(tmp_path, numbers):
    X, y = numbers
    folders = [tmp_path / name for name in ("one", "three")]
    for folder, nodes, launcher in zip(folders, (1, 3), (("env",), (test_nodes.BINARY, "run", "-n", "3", "--"))):
        folder.mkdir()
        np.savetxt(folder / "rows.csv", np.column_stack([y, X]), delimiter=",", fmt="%.17g")
        test_nodes.run(folder, f"NODES = {nodes}\n" + ON_NODES, *launcher)
    one = test_nodes.kept(folders[0], 1)[0]
    assert np.array_equal(one["arrays"], one["files"]) and not np.array_equal(one["arrays"], one["changed"])
    assert np.array_equal(one["arrays"], one["partitioned"])
    assert one["counts"][:, 0].sum() == 200 and np.array_equal(one["last"][:4], one["counts"] @ [1, 0.5])
    for node, found in enumerate(test_nodes.kept(folders[1], 3)):
        test_nodes.compare({key: found[key] for key in one}, one)
        assert np.array_equal(found["after"], one["arrays"])
        assert found["unit"] == "LookupError: block of node 1" and found["test"] == "ArithmeticError: in the test"
        assert "the nodes run in different ways: unit 'differs' is" in str(found["code"]), found["code"]


@needs_command
@pytest.mark.skipif(not EXAMPLE.exists(), reason="no examples beside the tests")
def test_kmeans_prints_what_the_tutorial_does(tmp_path):
    """examples/python/kmeans.py, in at most 40 lines. Its bits depend on the workers, and not on the nodes, as in the test before this one."""
    text = (EXAMPLE.parents[2] / "docs" / "tutorial.md").read_text()
    awk, printed = (re.search(pattern, text, re.DOTALL).group(1) for pattern in ("```sh\n(awk .*?>points.csv)\n", "```text\n(4.9979.*?)```"))
    subprocess.run(["sh", "-c", awk], cwd=tmp_path, check=True)
    environment = {**test_nodes.environment(), "HAWSER_WORKERS": "4", "NUMBA_OPT": "1"}
    done = subprocess.run([sys.executable, EXAMPLE, "3", "points.csv"], cwd=tmp_path, capture_output=True, text=True, env=environment, timeout=120)
    assert done.stdout == printed, done.stdout + done.stderr
    lines = [line for line in EXAMPLE.read_text().splitlines() if line.strip() and not line.startswith('"""')]
    assert len(lines) <= 40


@needs_command
@pytest.mark.skipif(not EXAMPLE.exists(), reason="no examples beside the tests")
def test_the_adaptive_example_tightens_its_sync_and_converges(tmp_path):
    """examples/python/adaptive.py, whose loss is compared with that of Newton's method."""
    draw = np.random.default_rng(11)
    X = draw.normal(size=(400, 4)) * [1, 10, 0.1, 3] + [0, 5, 1, -2]
    y = (draw.uniform(size=400) < 1 / (1 + np.exp(-(X[:, 0] + 0.1 * X[:, 1] - 0.5)))).astype(float)
    np.savetxt(tmp_path / "rows.csv", np.column_stack([y, X]), delimiter=",", fmt="%.17g")
    scaled, w = np.column_stack([(X - X.mean(axis=0)) / X.std(axis=0), np.ones(400)]), np.zeros(5)
    for _ in range(20):
        chance = 1 / (1 + np.exp(-scaled @ w))
        w += np.linalg.solve((scaled.T * (chance * (1 - chance))) @ scaled, scaled.T @ (y - chance))
    least = -(y * np.log(chance) + (1 - y) * np.log(1 - chance)).mean()
    environment = {**test_nodes.environment(), "HAWSER_WORKERS": "3", "NUMBA_OPT": "1"}
    done = subprocess.run([sys.executable, EXAMPLE.parent / "adaptive.py", "rows.csv"], cwd=tmp_path, capture_output=True, text=True,
                          env=environment, timeout=120)
    assert "sync: ssp:3 -> bsp, by the stop test of loop 'descent'" in done.stdout, done.stdout + done.stderr
    loss, found = re.search(r"loss (\S+), intercept \S+, coefficients \[(.*)\]", done.stdout).groups()
    assert least - 1e-6 <= float(loss) < 1.01 * least and np.allclose(np.fromstring(found, sep=" "), w[:-1], atol=0.1), done.stdout
