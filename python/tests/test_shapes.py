"""Shapes of what a compiled unit changes in place: numba compares none, and reads past the end of a shorter array."""
import numpy as np
import pytest

import hawser

numba = pytest.importorskip("numba")


@numba.njit
def add_in_place(array, values):
    array += values


@numba.njit
def add_by_slice(array, values):
    array[:] = array + values


def grow(rows, w):
    w += rows[0]


def shrink(rows, w):
    w -= rows.sum(axis=0)


def grow_line(rows, w):
    w[0:3] *= rows[0]


def grow_turned(rows, w):
    w += rows


def scalar(rows, w):
    total = 0.0
    for value in rows[0]:
        total += value
        w[0] += value
    w *= total


def by_call(rows, w):
    add_by_slice(w, rows[0])


def run(function, columns, states, compile=True):
    program = hawser.Program("shapes")
    program.data("rows", np.arange(2.0 * columns).reshape(2, columns) + 1)
    program.replicated("w", states)
    program.unit(hawser.unit(updates="w", compile=compile)(function))
    return program.run(workers=1)["w"]


@pytest.mark.filterwarnings("ignore:unit")
@pytest.mark.parametrize("columns", [1, 2, 3, 5])  # of types and functions that are compiled once
@pytest.mark.parametrize("function, states", [(grow, 1), (grow, 3), (grow, (2, 3)), (shrink, 3), (grow_line, 3), (grow_turned, 2), (grow_turned, 3),
                                              (grow_turned, (2, 3)), (grow_turned, (3, 3)), (by_call, 3), (scalar, 3)])
def test_arrays_of_other_shapes_are_refused_as_numpy_refuses_them(function, columns, states):
    try:
        expected = run(function, columns, states, compile=False)
    except ValueError:
        expected = None
    if expected is not None:
        np.testing.assert_array_equal(run(function, columns, states), expected)
    else:
        with pytest.raises((ValueError, hawser.BadProgram)):
            run(function, columns, states)


def output(rows, w):
    np.add(w, rows[0], w)


def nested(rows, w):
    add_in_place(w, rows[0])


@pytest.mark.parametrize("function, text", [(output, "the output of numpy.add"), (nested, "a change in place")])
def test_what_has_no_comparison_is_refused(function, text):
    with pytest.raises(hawser.BadProgram, match=text):
        run(function, 3, 3)
