"""Data that units make: copies that a unit changes, and data of another width, with the numbers of numpy."""
import numpy as np
import pytest

import hawser

numba = pytest.importorskip("numba")
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

    plain = CHANGE[1]
    for call, error, text in (
            (lambda: run(plain, loop=True), hawser.BadProgram, "transforms data state 'rows' inside a loop"),
            (lambda: run(plain, one=True), hawser.BadProgram, "cannot transform every part of data state 'rows'"),
            (lambda: run(plain, before=reads), hawser.BadProgram, "transforms data state 'rows' after unit 'reads' has read it"),
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
