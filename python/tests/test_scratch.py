"""Scratch memory of blocks: a place for work, whose numbers are no state."""
import numpy as np
import pytest

import hawser

numba = pytest.importorskip("numba")
pytestmark = pytest.mark.filterwarnings("ignore:unit")


def sort_into(context, rows, medians, place, marks, order):
    for i in range(len(rows)):
        place[:] = rows[i]
        place.sort()
        medians[i] = place[len(place) // 2]
    if marks[0, 1] not in (0, 7) or order[0] not in (0, context.block + 1):
        raise ValueError("neither zeros nor what this block has written")
    marks[0, 1], order[0] = 7, context.block + 1


def after(context, marks, order, kept):
    kept[0] += marks[0, 1] + order[0] == 7 + context.block + 1


@pytest.mark.parametrize("compile", [None, False], ids=["compiled", "plain"])
def test_scratch_belongs_to_its_block_and_stage(numbers, compile):
    X = numbers[0][:, :5].copy()
    program = hawser.Program("scratch")
    program.data("rows", X)
    program.scratch("place", "rows")
    program.scratch("marks", (2, 3), np.int32)
    program.scratch("order", 1, np.int64)
    program.partitioned("medians", along="rows")
    program.local("kept", 1)
    loop = program.loop("loop", clocks=4)
    loop.unit(hawser.unit(updates="medians", compile=compile)(sort_into))
    loop.unit(hawser.unit(updates="kept", compile=compile)(after))  # of the same stage
    for workers in (1, 3):
        found = program.run(workers=workers)
        np.testing.assert_array_equal(found["medians"], np.median(X, axis=1))
        assert found["kept"].tolist() == [[4]] * workers and set(found.states) == {"medians", "kept"}


def test_scratch_is_no_state():
    program = hawser.Program("scratch")
    program.scratch("place", 3)
    for how in ({"updates": "place"}, {"reads": "place"}):
        with pytest.raises(hawser.BadProgram, match="'place' is scratch memory, which is no state; make it a parameter alone"):
            program.unit(hawser.unit(compile=False, **how)(lambda place: None))
    with pytest.raises(hawser.BadProgram, match="state 'b' is along 'place', which is no data"):
        program.local("b", along="place")
    with pytest.raises(hawser.BadProgram, match="results: 'place' is no state that has a result"):
        program.unit(hawser.unit(compile=False)(lambda place: None))
        program.run(workers=1, results=["place"])
