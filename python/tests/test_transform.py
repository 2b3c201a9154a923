"""Data that units make: copies that a unit changes, and data of another width, with the numbers of numpy."""
import os
import pathlib
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import test_nodes

import hawser

numba = pytest.importorskip("numba")
needs_command = pytest.mark.skipif(not test_nodes.BINARY, reason="HAWSER_BINARY is not set")
EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "python" / "standardise.py"
pytestmark = pytest.mark.filterwarnings("ignore:unit")


def units(function, **how):
    return hawser.unit(**how)(function), hawser.unit(compile=False, **how)(function)


def halve(rows):
    rows *= 0.5
    rows[:, 0] = 1.0


def add_rows(rows, products, x):
    for i in range(len(products)):
        for j in range(len(x)):
            products[i] += rows[i, j] * x[j]


def add_columns(rows, products, x):
    for j in range(len(products)):
        for i in range(len(x)):
            products[j] += rows[i, j] * x[i]


def halve_sparse(rows):
    for e in range(rows.indptr[0], rows.indptr[-1]):
        rows.values[e] *= 0.5


def add_sparse(rows, products, x):
    for i in range(len(products)):
        for e in range(rows.indptr[i], rows.indptr[i + 1]):
            products[i] += rows.values[e] * x[rows.indices[e]]


CHANGE, CHANGE_SPARSE = units(halve, updates="rows"), units(halve_sparse, updates="rows")
ADD = {"row": units(add_rows, updates="products"), "column": units(add_columns, updates="products")}
ADD_SPARSE = units(add_sparse, updates="products")


def program_of(data, by, change, add):
    program = hawser.Program("changed")
    program.data("rows", data, by=by)
    program.replicated("x", data.shape[by == "row"], initial=np.arange(1.0, 1 + data.shape[by == "row"]))
    program.partitioned("products", along="rows")
    program.unit(change)
    program.loop("twice", clocks=2).unit(add)  # the change is made once
    return program


@pytest.mark.parametrize("by", ["row", "column"])
@pytest.mark.parametrize("kind", ["C", "F", "strided", "float32"])
def test_a_unit_changes_a_copy_of_dense_data(numbers, by, kind):
    X = {"C": np.ascontiguousarray, "F": np.asfortranarray, "float32": np.float32, "strided": lambda X: np.hstack([X, X])[:, :6]}[kind](numbers[0])
    before, changed = X.copy(), 0.5 * X
    changed[:, 0] = 1.0
    x = np.arange(1.0, 1 + X.shape[by == "row"])
    for change, add in zip(CHANGE, ADD[by]):
        if by == "column" and kind != "C":  # the first column of each block would be 1: change all of them alike
            continue
        for workers in (1, 3) if by == "row" else (1,):
            found = program_of(X, by, change, add).run(workers=workers)
            np.testing.assert_allclose(found["products"], 2 * (changed if by == "row" else changed.T) @ x, rtol=1e-5 if kind == "float32" else 1e-12)
            np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize("by", ["row", "column"])
def test_a_unit_changes_a_copy_of_sparse_data(numbers, by):
    scipy = pytest.importorskip("scipy.sparse")
    X = np.where(np.abs(numbers[0]) > 1, numbers[0], 0.0)
    matrix = scipy.csr_array(X) if by == "row" else scipy.csc_array(X)
    x = np.arange(1.0, 1 + X.shape[by == "row"])
    for change, add in zip(CHANGE_SPARSE, ADD_SPARSE):
        for workers in (1, 3):
            found = program_of(matrix, by, change, add).run(workers=workers)
            np.testing.assert_allclose(found["products"], (X if by == "row" else X.T) @ x, rtol=1e-12, atol=1e-12)
            np.testing.assert_array_equal(matrix.toarray(), X)


def expand(context, rows, powers):
    for i in range(len(rows)):
        powers[i, 0] = context.first("powers") + i
        powers[i, 1:] = rows[i, 0] ** np.arange(1, powers.shape[1])


def gather(powers, powers_target, sums, own, context):
    for i in range(len(powers)):
        for j in range(len(sums)):
            sums[j] += powers[i, j] * powers_target[i]
        own[i] = powers[i, 0] - context.first("own")


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_unit_makes_data_of_another_width(numbers, dtype):
    X, y = numbers
    powers = np.column_stack([np.arange(200.0), *(X[:, 0] ** k for k in range(1, 4))]).astype(dtype)
    for first, second in zip(units(expand, updates="powers"), units(gather, updates="sums own")):
        program = hawser.Program("powers")
        program.data("rows", np.asfortranarray(X), y)
        program.transformed("powers", "rows", 4, dtype)
        program.replicated("sums", "powers")
        program.local("own", along="powers")
        program.unit(first)
        program.unit(second)
        for workers in (1, 3):
            found = program.run(workers=workers)
            np.testing.assert_allclose(found["sums"], y @ powers, rtol=1e-6 if dtype == "float32" else 1e-12)
            own = found["own"]  # counts the rows of each block from 0
            assert (own == 0).sum() == workers and own[0] == 0 and ((np.diff(own) == 1) | (own[1:] == 0)).all()


def add_moments(rows, sums):
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            sums[0, j] += rows[i, j]
            sums[1, j] += rows[i, j] ** 2


def add_moments_across(rows, sums):
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            sums[0, i] += rows[i, j]
            sums[1, i] += rows[i, j] ** 2


def standardise(rows, sums, count):
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            mean = sums[0, j] / count
            rows[i, j] = (rows[i, j] - mean) / np.sqrt(sums[1, j] / count - mean**2)


def standardise_across(rows, sums, count):
    for i in range(rows.shape[0]):
        mean = sums[0, i] / count
        for j in range(rows.shape[1]):
            rows[i, j] = (rows[i, j] - mean) / np.sqrt(sums[1, i] / count - mean**2)


def add_sparse_moments(rows, sums):
    for e in range(rows.indptr[0], rows.indptr[-1]):
        sums[1, rows.indices[e]] += rows.values[e] ** 2


def scale_sparse(rows, sums, count):
    for e in range(rows.indptr[0], rows.indptr[-1]):
        rows.values[e] /= np.sqrt(sums[1, rows.indices[e]] / count)


MOMENTS = {"row": units(add_moments, updates="sums"), "column": units(add_moments_across, updates="sums")}
STANDARDISE = {"row": units(standardise, updates="rows"), "column": units(standardise_across, updates="rows")}
SPARSE = units(add_sparse_moments, updates="sums"), units(scale_sparse, updates="rows")


def standardised_by(data, by, sum_up, change, add):
    """Returns products with x of the given data, and of those that two units have standardised."""
    program, other = hawser.Program("standardised"), data.shape[by == "row"]
    program.data("rows", data, by=by)
    program.replicated("sums", (2, other))
    program.replicated("x", other, initial=np.arange(1.0, 1 + other))
    program.partitioned("products", along="rows")
    program.partitioned("early", along="rows")
    program.loop("before", clocks=2).unit(add, "early", states={"products": "early"})
    program.unit(sum_up)
    program.unit(change, count=float(data.shape[by != "row"]))
    program.loop("after", clocks=2).unit(add)
    return program


@pytest.mark.parametrize("by", ["row", "column"])
@pytest.mark.parametrize("kind", ["C", "F", "strided", "float32"])
def test_a_unit_standardises_what_another_has_summed(numbers, by, kind):
    X = {"C": np.ascontiguousarray, "F": np.asfortranarray, "float32": np.float32, "strided": lambda X: np.hstack([X, X])[:, :6]}[kind](numbers[0])
    before, axis, precise = X.copy(), 0 if by == "row" else 1, np.asarray(X, np.longdouble)
    standard = (precise - precise.mean(axis=axis, keepdims=True)) / precise.std(axis=axis, keepdims=True)
    x = np.arange(1.0, 1 + X.shape[by == "row"])
    for sum_up, change, add in zip(MOMENTS[by], STANDARDISE[by], ADD[by]):
        program = standardised_by(X, by, sum_up, change, add)
        for workers in (1, 3) if sum_up is MOMENTS[by][0] else (2,):
            found = program.run(workers=workers, rehearse=1)
            for name, wanted in (("early", precise), ("products", standard)):
                np.testing.assert_allclose(found[name], (2 * (wanted if by == "row" else wanted.T) @ x).astype(float),
                                           rtol=1e-4 if kind == "float32" else 1e-10, atol=1e-3 if kind == "float32" else 1e-9)
            np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize("by", ["row", "column"])
def test_a_unit_scales_the_sparse_data_that_another_has_summed(numbers, by):
    scipy = pytest.importorskip("scipy.sparse")
    X = np.where(np.abs(numbers[0]) > 1, numbers[0], 0.0)
    X[:, 0] = X[0] = 1.0  # no row or column is empty
    X[np.arange(200), np.arange(200) % 6] += 2.0
    matrix, axis = (scipy.csr_array(X), 0) if by == "row" else (scipy.csc_array(X), 1)
    scaled = X / np.sqrt((X.astype(np.longdouble) ** 2).mean(axis=axis, keepdims=True))
    x = np.arange(1.0, 1 + X.shape[by == "row"])
    for sum_up, change, add in zip(*SPARSE, ADD_SPARSE):
        program = standardised_by(matrix, by, sum_up, change, add)
        for workers in (1, 3):
            found = program.run(workers=workers)
            for name, wanted in (("early", X), ("products", scaled)):
                np.testing.assert_allclose(found[name], (2 * (wanted if by == "row" else wanted.T) @ x).astype(float), rtol=1e-10, atol=1e-10)
            np.testing.assert_array_equal(matrix.toarray(), X)


def test_a_program_that_changes_data_goes_on(tmp_path, numbers):
    """Ctrl-C ends it after the change; the run that goes on changes its own copy of the data again, once."""
    kinds = MOMENTS["row"][1], STANDARDISE["row"][1], ADD["row"][1]  # plain ones
    wanted = standardised_by(numbers[0], "row", *kinds).run(workers=3)

    def press(now):
        if now["loop"] == "after" and now["clock"] == 1:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.2)

    program = standardised_by(numbers[0], "row", *kinds)
    with pytest.raises(hawser.Interrupted):
        program.run(workers=3, checkpoint=tmp_path / "ck", progress=press)
    found = program.run(workers=3, checkpoint=tmp_path / "ck")
    for name in ("early", "products", "sums"):
        np.testing.assert_array_equal(found[name], wanted[name])


@needs_command
@pytest.mark.skipif(not EXAMPLE.exists(), reason="no examples beside the tests")
@pytest.mark.parametrize("nodes", [1, 3])
def test_the_example_standardises_on_any_number_of_nodes(tmp_path, nodes):
    """examples/python/standardise.py, beside the least squares of numpy. Over nodes its units are plain, so that not every node compiles them."""
    script = EXAMPLE.read_text()
    (tmp_path / "example.py").write_text(script if nodes == 1 else script.replace("@hawser.unit(", "@hawser.unit(compile=False, "))
    draw = np.random.default_rng(5)
    X = draw.normal(size=(300, 4)) * [1, 10, 0.1, 3] + [0, 5, 1, -2]
    y = X @ [1, 0.2, -3, 0.5] + 7 + 0.1 * draw.normal(size=300)
    np.savetxt(tmp_path / "rows.csv", np.column_stack([y, X]), delimiter=",", fmt="%.17g")
    standard = np.column_stack([(X - X.mean(axis=0)) / X.std(axis=0), np.ones(300)])
    w, (squares,) = np.linalg.lstsq(standard, y, rcond=None)[:2]
    launcher = [test_nodes.BINARY, "run", "-n", str(nodes), "--"] if nodes > 1 else []
    environment = {**test_nodes.environment(), "HAWSER_WORKERS": "3", "NUMBA_OPT": "1"}
    done = subprocess.run([*launcher, sys.executable, "example.py", "rows.csv"], cwd=tmp_path, capture_output=True, text=True, env=environment, timeout=120)
    first, *rest = done.stdout.splitlines() or [done.stderr]
    assert abs(float(first.split()[-1]) - np.sqrt(squares / 300)) < 1e-5, done.stdout + done.stderr
    np.testing.assert_allclose([float(each) for each in rest], w[:-1], atol=1e-4)


def not_finite(rows):
    rows[0, 0] = np.nan


def test_what_is_refused(numbers):
    def run(unit, *, loop=False, by="row", before=None, made=False, of="rows", one=False):
        program = hawser.Program("refused")
        program.data("rows", numbers[0], by=by)
        program.replicated("w", 6)
        if made:
            program.transformed("more", of, 3)
        body = program.loop("loop", clocks=2) if loop else program
        if before:
            body.unit(before)
        if unit:
            body.unit(unit, one=one)
        return program.run(workers=1)

    @hawser.unit(updates="w", compile=False)
    def reads(rows, w):
        pass

    @hawser.unit(updates="w", compile=False)
    def reads_more(more, w):
        pass

    @hawser.unit(updates="more", compile=False)
    def makes(more):
        pass

    plain = CHANGE[1]
    for call, error, text in (
            (lambda: run(plain, loop=True), hawser.BadProgram, "transforms data state 'rows' inside a loop"),
            (lambda: run(plain, one=True), hawser.BadProgram, "cannot transform every part of data state 'rows'"),
            (lambda: run(makes, before=reads_more, made=True), hawser.BadProgram, "reads data 'more' before a unit has made them"),
            (lambda: run(plain, by="all"), hawser.BadProgram, "which are data that all blocks share"),
            (lambda: run(hawser.unit(updates="rows")(lambda w: None)), hawser.BadProgram, "so it has a parameter 'rows'"),
            (lambda: run(reads, made=True), hawser.BadProgram, "data 'more' are made by no unit"),
            (lambda: run(None, made=True, of="w"), hawser.BadProgram, "of 'w', which is no data"),
            (lambda: run(None, made=True, by="all"), hawser.BadProgram, "which all blocks share"),
            (lambda: hawser.Program("p").transformed("a", "b", 3), hawser.BadProgram, "has no state 'b'")):
        with pytest.raises(error, match=text):
            call()
    for unit in units(not_finite, updates="rows"):
        with pytest.raises(hawser.NotFinite, match="row 0 of the part of 'rows' has a number that is not finite") as caught:
            run(unit)
        assert "hawser_data_replace" not in str(caught.value)
