"""What units see of data: mini-batches, several targets, costs; parts of results; and local solvers of CoCoA."""
import numpy as np
import pytest
import test_nodes
from test_program import both, quiet

import hawser

pytest.importorskip("numba")
needs_command = pytest.mark.skipif(not test_nodes.BINARY, reason="HAWSER_BINARY is not set")
WORD = 2**64


def mix(x):
    """docs/design/batches.md, with Python's numbers."""
    x = (x + 0x9E3779B97F4A7C15) % WORD
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 % WORD
    x = (x ^ x >> 27) * 0x94D049BB133111EB % WORD
    return x ^ x >> 31


def order(seed, stream, epoch, n):
    a = mix(seed ^ 0x62617463686573 ^ mix(n))
    c = mix(a ^ mix(stream ^ mix(epoch)))
    keys = [mix(mix(c) ^ mix(((a ^ c) + i * 0x9E3779B97F4A7C15) % WORD)) for i in range(12)]
    bits = max(8, (n - 1).bit_length())
    r = (bits + 1) // 2

    def place(x):
        left, right = x >> r, x % 2**r
        for i in range(0, 12, 2):
            left ^= mix(keys[i] ^ right) % 2**(bits - r)
            right ^= mix(keys[i + 1] ^ left) % 2**r
        x = left * 2**r + right
        return x if x < n else place(x)
    return [place(k) for k in range(n)]


def test_batches_have_the_order_of_the_page():
    def take(context, rows, taken, count):
        batch = context.batch("rows", 8, context.clock)
        taken[context.clock, :] = -1
        for k in range(len(batch)):
            taken[context.clock, k] = batch[k]
        count[0] = context.batches("rows", 8)
        count[1] += int(rows[batch].sum())
        count[2] += int((context.batch("rows", 5, 1, False) == np.arange(5, 10)).all())

    X = np.arange(60.0).reshape(60, 1)
    for unit in both(take, updates="taken count"):
        program = hawser.Program("batches")
        program.data("rows", X)
        program.local("taken", (9, 8), np.int64)
        program.local("count", 3, np.int64)
        program.loop("loop", clocks=9).unit(unit)
        with quiet():
            found = program.run(workers=3, seed=5)
        for block in range(3):
            wanted = [order(5, block, epoch, 20) for epoch in range(3)]
            taken = found["taken"][block]
            assert [[row for row in batch if row >= 0] for batch in taken.tolist()] == [
                wanted[epoch][at:at + 8] for epoch in range(3) for at in (0, 8, 16)]
            assert found["count"][block].tolist() == [3, 3 * X[20 * block:20 * (block + 1)].sum(), 9]


def test_what_is_no_batch():
    def wrong(context, rows, w):
        context.batch("rows", 0, 1)

    def negative(context, rows, w):
        context.batch("rows", 2, -1)

    def columns(context, w):
        context.batch("columns", 2, 0)

    def state(context, w):
        context.batches("w", 2)

    for function, error, text in ((wrong, ValueError, "the size is a whole number from 1"), (negative, ValueError, "the size is"),
                                  (columns, hawser.BadProgram, "'columns' is no data by row"), (state, hawser.BadProgram, "'w' is no data by row")):
        for unit in both(function, updates="w", reads="columns"):
            program = hawser.Program("wrong")
            program.data("rows", np.ones((4, 2)))
            program.data("columns", np.ones((4, 2)), by="column")
            program.replicated("w", 1)
            program.unit(unit)
            with quiet(), pytest.raises(error, match=text):
                program.run(workers=1)


def fit(rows, rows_target, products):
    for k in range(len(rows_target)):
        for i in range(len(rows)):
            for j in range(rows.shape[1]):
                products[k, j] += rows_target[k][i] * rows[i, j]


def test_several_targets(tmp_path, numbers):
    X, Y = numbers[0], np.column_stack([numbers[1], numbers[0][:, 1] ** 2, np.ones(200)])
    np.savetxt(tmp_path / "rows.csv", np.column_stack([Y, X]), delimiter=",", fmt="%.17g")
    for unit in both(fit, updates="products"):
        for data, target, how in ((X, Y, {}), (X, np.asfortranarray(Y), {}), (tmp_path / "rows.csv", "0,1,2", {"outputs": True})):
            program = hawser.Program("targets")
            program.data("rows", data, target, **how)
            program.replicated("products", (3, 6))
            program.unit(unit)
            with quiet():
                assert np.allclose(program.run(workers=3)["products"], Y.T @ X)


def test_costs_cut_the_blocks():
    def rows_of(data, size):
        size[0] = data.shape[0]

    def columns_of(data, size):
        size[0] = data.shape[1]

    scipy = pytest.importorskip("scipy.sparse")
    costs, X = np.r_[np.zeros(30), np.full(30, 1000.0)], np.ones((60, 2))

    def blocks(unit, data, by, costs):
        program = hawser.Program("costs")
        program.data("data", data, by=by, costs=costs)
        program.local("size", 1, np.int64)
        program.unit(unit)
        with quiet():
            return program.run(workers=3)["size"][:, 0].tolist()

    by_row, by_column = (hawser.unit(updates="size", compile=False)(function) for function in (rows_of, columns_of))
    for unit, data, by in ((by_row, X, "row"), (by_row, scipy.csr_array(X), "row"), (by_column, np.asfortranarray(X.T), "column")):
        assert blocks(unit, data, by, None) == [20, 20, 20] and blocks(unit, data, by, costs) == [40, 10, 10]
    for given, text in ((-costs, "a finite number from 0"), (costs[:9], "has 60 rows, and costs of 9")):
        with pytest.raises(hawser.BadArgument, match=text):
            blocks(by_row, X, "row", given)
    with pytest.raises(hawser.BadOption, match="cuts nothing"):
        blocks(by_row, X, "all", costs)


def test_parts_of_results():
    @hawser.unit(updates="u p w", compile=False)
    def fill(context, u, p, w):
        u[:] = np.arange(len(u))[:, None] + context.first("u") + [0, 0.5]
        p[:] = np.arange(len(p))[:, None] + context.first("p")
        w += 1

    def run(results):
        program = hawser.Program("results")
        program.stored("u", (10, 2))
        program.partitioned("p", (7, 3), np.int32)
        program.replicated("w", 4)
        program.unit(fill)
        with quiet():
            return program.run(workers=3, results=results)

    whole = run(None)
    assert np.array_equal(whole["u"], np.arange(10)[:, None] + [0, 0.5])
    taken = np.zeros((7, 3), np.int32)
    found = run({"u": slice(2, 5), "p": taken})
    assert np.array_equal(found["u"], whole["u"][2:5]) and found["p"] is taken and np.array_equal(taken, whole["p"]) and "w" not in found.states
    assert run({"u": slice(-3, None), "w": slice(0, 0)})["u"].tolist() == whole["u"][-3:].tolist() and list(run("w").states) == ["w"]
    for wrong, text in (({"u": slice(0, 9, 2)}, "without steps"), ({"u": [1]}, "give None, a slice"), ({"w": np.zeros(4, np.float32)}, "the array is of float32"),
                        ({"w": np.zeros((4, 2))[:, 0]}, "C-contiguous"), ({"w": np.zeros(3)}, r"has \(3,\)")):
        with pytest.raises(hawser.BadArgument, match=text):
            run(wrong)


def solve(rows, rows_target, subproblem, ridge):
    for j in range(len(rows)):
        squares = 0.0
        fitted = 0.0
        for i in range(rows.shape[1]):
            squares += rows[j, i] ** 2
            fitted += rows[j, i] * subproblem.v[i]
        gap = rows_target[j] - subproblem.alpha[j] - fitted / ridge
        subproblem.step(j, gap / (1 + subproblem.sigma * squares / ridge))


def cocoa(solver, X, y, clocks, gamma=1.0, sync=None, **rule):
    program = hawser.Program("ridge")
    program.data("rows", X, y)
    program.local("a", along="rows")
    program.replicated("v", "rows", **rule)
    program.loop("rounds", clocks=clocks, sync=sync).cocoa(solver, coordinates="a", product="v", gamma=gamma, ridge=20.0)
    return program


def test_cocoa_finds_what_numpy_solves(numbers):
    """Ridge regression in its dual: the primal solution is v / ridge. One round of one worker is coordinate ascent."""
    X, y = numbers
    exact = np.linalg.solve(X.T @ X + 20 * np.eye(6), X.T @ y)
    a, v = np.zeros(200), np.zeros(6)
    for j in range(200):
        step = (y[j] - a[j] - X[j] @ v / 20) / (1 + X[j] @ X[j] / 20)
        a[j] += step
        v += step * X[j]
    for solver in both(solve):
        with quiet():
            one, two = cocoa(solver, X, y, 1).run(workers=1), cocoa(solver, X, y, 1, gain=2.0).run(workers=1)
        assert np.allclose(one["a"], a) and np.allclose(one["v"], v) and not np.allclose(two["a"], a)
    compiled = hawser.unit(solve)
    for gamma, sync in ((1.0, "bsp"), ("average", "bsp"), (1.0, "ssp:1")):
        found = cocoa(compiled, X, y, 400, gamma, sync).run(workers=3)
        assert np.allclose(found["v"] / 20, exact, atol=1e-6) and np.allclose(X.T @ found["a"], found["v"]), (gamma, sync)


def test_what_is_no_local_solver(numbers):
    X, y = numbers

    def beyond(rows, subproblem):
        subproblem.step(len(rows), 1.0)

    def writes(rows, subproblem):
        subproblem.v[0] = 1.0

    for function, error, text in ((beyond, IndexError, "step: "), (writes, (ValueError, hawser.BadProgram), "read-only|only reads")):
        for solver in both(function):
            program = hawser.Program("wrong")
            program.data("rows", X)
            program.local("a", along="rows")
            program.replicated("v", 6)
            program.loop("rounds", clocks=1).cocoa(solver, coordinates="a", product="v")
            with quiet(), pytest.raises(error, match=text):
                program.run(workers=2)
    solver = hawser.unit(beyond)
    program.local("wide", 2, along="rows")
    loop = program.loop("more", clocks=1)
    for say, text in ((lambda: loop.unit(solver), "add it with cocoa"), (lambda: loop.cocoa(hawser.unit(lambda rows: None), coordinates="a", product="v"), "has a parameter 'subproblem'"),
                      (lambda: loop.cocoa(solver, coordinates="v", product="v"), "coordinates 'v' are a local state"),
                      (lambda: loop.cocoa(solver, coordinates="wide", product="v"), "coordinates 'wide' are a local state"),
                      (lambda: loop.cocoa(solver, coordinates="a", product="a"), "product 'a' is a replicated state"),
                      (lambda: loop.cocoa(hawser.unit(lambda a, subproblem: None), coordinates="a", product="v"), "is seen as subproblem.alpha"),
                      (lambda: loop.cocoa(solver, coordinates="a", product="v", gamma="sum"), "gamma is 'sum'")):
        with pytest.raises(hawser.Error, match=text):
            say()


ON_NODES = """
@hawser.unit(updates="w", reports="loss", compile=False)
def step(context, rows, rows_target, w):
    batch = context.batch("rows", 16, context.clock)
    error = rows[batch] @ w - (rows_target[0] + rows_target[1])[batch]
    w -= 0.01 * (error @ rows[batch])
    return (error**2).sum()

@hawser.unit(updates="u b", compile=False)
def fill(rows, u, b):
    u[:] = rows[:, 0]
    b[:] = rows[:, 1]

@hawser.unit(compile=False)
def solve(rows, rows_target, subproblem):
    for j in range(len(rows)):
        subproblem.step(j, 0.01 * (rows_target[0][j] - rows[j] @ subproblem.v))

def program(costs=None):
    made = hawser.Program("nodes")
    made.data("rows", X, numpy.column_stack([y, X[:, 1]]), costs=costs)
    made.replicated("w", "rows")
    made.stored("u", along="rows")
    made.local("a", along="rows")
    made.local("b", along="rows")
    made.replicated("v", "rows")
    made.unit(fill)
    made.loop("loop", clocks=7).unit(step)
    made.loop("rounds", clocks=3).cocoa(solve, coordinates="a", product="v")
    return made

run = program().run(workers=4, results={"w": None, "u": slice(60, 130), "b": slice(70, 150), "a": None, "v": None})
try:
    refused = ""
    program(numpy.ones(200)).run(workers=4)
except hawser.BadOption as error:
    refused = str(error)
keep(**run.states, refused=refused)
"""


@needs_command
def test_nodes_have_the_bits_of_one(tmp_path, numbers):
    folders = [tmp_path / name for name in ("one", "two")]
    for folder, launcher in zip(folders, (("env",), (test_nodes.BINARY, "run", "-n", "2", "--"))):
        folder.mkdir()
        test_nodes.run(folder, ON_NODES, *launcher)
    one = test_nodes.kept(folders[0], 1)[0]
    assert np.array_equal(one["u"], numbers[0][60:130, 0]) and np.array_equal(one["b"], numbers[0][70:150, 1]) and not one["refused"]
    for found in test_nodes.kept(folders[1], 2):
        assert "costs are for one node" in str(found["refused"])
        for name in ("w", "u", "b", "a", "v"):
            assert np.array_equal(found[name], one[name]), name
