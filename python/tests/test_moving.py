"""Moving and entries states: drawn programs, compared with loops over one array."""
import contextlib
import io
import os
import pathlib
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import hawser

pytest.importorskip("numba")
sparse = pytest.importorskip("scipy.sparse")
pytestmark = pytest.mark.filterwarnings("ignore:unit")
TYPES = ["float64", "float32", "int64", "int32"]
HOW = pytest.mark.parametrize("compile", [None, False], ids=["compiled", "plain"])


def even(context):
    number, first, lines = context.next_part("n")
    while number >= 0:
        for i in range(len(lines)):
            for j in range(lines.shape[1]):
                lines[i, j] = (lines[i, j] * 3 + context.clock * 7 + number * 13 + (first + i) * 5 + j + context.block * 101) % 1009
        number, first, lines = context.next_part("n")


def ragged(context):
    number, first, values, starts = context.next_part("n")
    while number >= 0:
        for i in range(len(starts) - 1):
            for k in range(starts[i], starts[i + 1]):
                values[k] = (values[k] * 3 + context.clock * 7 + number * 13 + (first + i) * 5 + k - starts[i] + context.block * 101) % 1009
        number, first, values, starts = context.next_part("n")


def jump(part, clock, blocks):
    return (part // 2 + clock * clock) % blocks


def expected(first, starts, cut, clocks, blocks, owner):
    """Returns what becomes of one array."""
    found = first.astype(np.int64)
    for clock in range(clocks):
        for part in range(len(cut) - 1):
            block = owner(part, clock, blocks) if owner else (part - clock) % blocks
            for line in range(cut[part], cut[part + 1]):
                for k in range(starts[line], starts[line + 1]):
                    found[k] = (found[k] * 3 + clock * 7 + part * 13 + line * 5 + k - starts[line] + block * 101) % 1009
    return found


@pytest.mark.parametrize("compile, seed", [(None, seed) for seed in range(4)] + [(False, seed) for seed in range(8)])
def test_parts_are_those_of_one_array(compile, seed):
    draw = np.random.default_rng(seed)
    blocks, lines, clocks = int(draw.integers(1, 4)), int(draw.integers(1, 12)), int(draw.integers(1, 6))
    dtype, sync, owner = TYPES[seed % 4], ["bsp", "ssp:1", "tap"][draw.integers(3)], [None, jump][draw.integers(2)]
    equal = draw.integers(2) == 0
    shape = (lines, int(draw.integers(1, 4)))
    starts = np.arange(lines + 1) * shape[1] if equal else np.concatenate([[0], np.cumsum(draw.integers(0, 4, lines))])
    cut = np.concatenate([[0], np.sort(draw.integers(0, lines + 1, 2 * blocks - 1)), [lines]])
    first = draw.integers(0, 1009, starts[-1])
    program = hawser.Program("parts")
    if equal:
        program.moving("n", shape, dtype, cut=cut, owner=owner, initial=first.reshape(shape))
    else:
        program.moving("n", dtype=dtype, offsets=starts, cut=cut, owner=owner, initial=first)
    program.loop("loop", clocks=clocks, sync=sync).unit(hawser.unit(updates="n", compile=compile)(even if equal else ragged))
    found = program.run(workers=blocks)
    assert found["n"].dtype == dtype and found["n"].shape == (shape if equal else (starts[-1],))
    np.testing.assert_array_equal(found["n"].ravel(), expected(first, starts, cut, clocks, blocks, owner))


def program_of(unit, clocks=3, **how):
    program = hawser.Program("parts")
    program.moving("n", (6, 2), **{"parts": 4, **how})
    program.loop("loop", clocks=clocks, test=lambda progress: False).unit(unit)
    return program


def goes_on(program, folder, state, wanted):
    """Ends a program by Ctrl-C at its second clock, and lets it go on."""
    pressed = []

    def press(now):
        if now["clock"] == 1 and not pressed:
            pressed.append(os.kill(os.getpid(), signal.SIGINT))
            time.sleep(0.2)

    with pytest.raises(hawser.Interrupted):
        program.run(workers=2, checkpoint=folder, progress=press)
    seen = []
    np.testing.assert_array_equal(program.run(workers=2, checkpoint=folder, progress=seen.append)[state], wanted)
    assert seen[0]["clock"] >= 1


@HOW
def test_a_run_goes_on(compile, tmp_path):
    program = program_of(hawser.unit(updates="n", compile=compile)(even), 12, dtype=np.int32)
    whole = program.run(workers=2)
    goes_on(program, tmp_path / "ck", "n", whole["n"])
    again = program.run(workers=2, start={"n": whole["n"]}, results={"n": slice(1, 3)})
    assert again["n"].shape == (2, 2) and (again["n"] != whole["n"][1:3]).any()


def test_default_cuts_have_equally_many_numbers():
    program = hawser.Program("parts")
    program.data("rows", np.ones((3, 2)))
    program.moving("n", ("rows", 3), np.int64)
    program.loop("loop", clocks=2).unit(hawser.unit(updates="n", compile=False)(even))
    assert program.run(workers=3)["n"].shape == (2, 3)
    offsets = [0, 8, 9, 10, 11, 12, 12]
    program = hawser.Program("parts")
    program.moving("n", offsets=offsets)
    assert program._states["n"].moving.cuts(np.array(offsets), 1).tolist() == [0, 1, 6]
    assert program._states["n"].moving.cuts(np.zeros(4, np.int64), 2).tolist() == [0, 0, 0, 0, 3]


def reads(context):
    number, first, lines = context.next_part("n")
    lines[0, 0] = 1


def holds(context):
    kept.append(context.next_part("n")[2])


kept = []


def test_mistakes_of_units_are_refused():
    with pytest.raises(hawser.BadProgram, match="does it change a state that it only reads"):
        program_of(hawser.unit(reads="n")(reads)).run(workers=1)
    with pytest.raises(ValueError, match="read-only"):
        program_of(hawser.unit(reads="n", compile=False)(reads)).run(workers=1)
    with pytest.raises(hawser.BadProgram, match="unit 'holds' keeps 'n' after it has returned; keep a copy of it"):
        program_of(hawser.unit(updates="n", compile=False)(holds)).run(workers=1)
    assert kept[0].shape == (2, 2) and kept[0].sum() == 0  # a copy, whatever the run has freed
    with pytest.raises(hawser.BadProgram, match="'n' is a moving state, whose parts the unit takes with context.next_part"):
        program_of(hawser.unit(updates="n", compile=False)(lambda n: None)).run(workers=1)
    for compile in (None, False):
        program = hawser.Program("none")
        program.replicated("n", 2)
        program.unit(hawser.unit(updates="n", compile=compile)(even))
        with pytest.raises(hawser.BadProgram, match="next_part: state 'n' is replicated, and parts are of moving states"):
            program.run(workers=1)


def raises(part, clock, blocks):
    if clock == 2:
        raise LookupError(f"no block has part {part}")
    return part % blocks


def test_mistakes_of_owners_are_refused():
    unit = hawser.unit(updates="n")(even)
    with pytest.raises(LookupError, match="no block has part") as caught:
        program_of(unit, owner=raises).run(workers=2)
    assert any("in the owner function of moving state 'n', part" in note and "clock 2" in note for note in caught.value.__notes__)
    for owner, text in ((lambda part, clock, blocks: 0.5, "it returns 0.5"), (lambda part, clock, blocks: -1, "it returns -1"),
                        (lambda part, clock, blocks: blocks, "it returns 2; the owner of a part is the number of a block, 0 to 1"),
                        (lambda part, clock, blocks: 0, "in clock 0 block 0 has 4 parts and block 1 has 0; each block must have 2")):
        with pytest.raises(hawser.BadProgram, match=text):
            program_of(unit, owner=owner).run(workers=2)
    with pytest.raises(hawser.BadProgram, match="has the parameters part, clock and blocks"):
        program_of(unit, owner=lambda part: 0)
    with pytest.raises(hawser.BadProgram, match="4 parts, which 3 blocks cannot share equally"):
        program_of(unit).run(workers=3)


@pytest.mark.parametrize("how, text", [
    ({}, "a shape, or offsets"), ({"shape": 3, "offsets": [0, 1]}, "a shape, or offsets"), ({"shape": 3, "parts": 1, "cut": [0, 3]}, "contradict"),
    ({"shape": 3, "parts": 0}, "parts is 0"), ({"shape": 3, "cut": [0, 2]}, "cuts end with 2, and it has 3 lines"), ({"offsets": [0, 2, 1]}, "do not fall"),
    ({"offsets": [1, 2]}, "begin with 0"), ({"offsets": [0.0, 2.0]}, "whole numbers"), ({"shape": 3, "dtype": "int8"}, "is of int8"),
    ({"shape": 3, "initial": [1, 2]}, "has shape"), ({"shape": 3, "dtype": "int32", "initial": [1.5, 1, 1]}, "its initial is of float64")])
def test_wrong_declarations_are_refused(how, text):
    with pytest.raises((hawser.BadProgram, hawser.BadArgument), match=text):
        hawser.Program("parts").moving("n", **how)


def test_nodes_have_the_numbers_of_one_process(tmp_path):
    binary = os.environ.get("HAWSER_BINARY")
    if not binary:
        pytest.skip("HAWSER_BINARY is not set")
    path = tmp_path / "nodes.py"
    path.write_text(NODES.replace("PATH", str(pathlib.Path(__file__).parent)))
    environment = {key: value for key, value in os.environ.items() if not key.startswith("HAWSER_") or key == "HAWSER_LIBRARY"}
    found = subprocess.run([binary, "run", "-n", "2", "--", sys.executable, path], capture_output=True, text=True, timeout=100, env=environment)
    assert found.returncode == 0, found.stderr
    alone = io.StringIO()
    with contextlib.redirect_stdout(alone):
        exec(path.read_text(), {})
    words = set(found.stdout.split())
    assert set(alone.getvalue().split()) < words and len(words - {"[0]", "[1]"}) == 2


NODES = """
import sys, hashlib, numpy as np, scipy.sparse as sparse
sys.path.append("PATH")
from test_moving import by_value, even, hawser, jump
draw = np.random.default_rng(5)
program = hawser.Program("nodes")
program.data("rows", sparse.csr_matrix(draw.integers(0, 4, (20, 5)), dtype=float))
program.moving("n", (9, 2), np.int32, owner=jump, parts=8)
program.entries("z", "rows", np.int32, by_value=True)
loop = program.loop("loop", clocks=4, sync="ssp:1")
loop.unit(hawser.unit(updates="n", compile=False)(even))
loop.unit(hawser.unit(updates="z", compile=False)(by_value), clocks=4)
run = program.run(workers=4)
sys.stdout.write(" ".join(hashlib.sha256(run[name].tobytes()).hexdigest() for name in ("n", "z")) + "\\n")  # whole, among lines of other nodes
"""


@hawser.condition
def keeps(progress):
    if progress.clock == 1:
        progress.keep()
    if progress.clock == 3:
        progress.return_to()
    return False


@HOW
def test_kept_parts_come_back(compile):
    program = hawser.Program("kept")
    program.moving("n", (6, 2), np.int64, parts=4)
    program.keep("n")
    program.loop("loop", clocks=4, test=keeps).unit(hawser.unit(updates="n", compile=compile)(even))
    starts = np.arange(7) * 2
    np.testing.assert_array_equal(program.run(workers=2)["n"].ravel(), expected(np.zeros(12), starts, [0, 2, 3, 5, 6], 2, 2, None))
    run = program.run(workers=2, max_clocks=3)
    assert run.kept
    np.testing.assert_array_equal(run["n"].ravel(), expected(np.zeros(12), starts, [0, 2, 3, 5, 6], 2, 2, None))


# ---- entries ----


def by_value(rows, z, context, clocks):
    at = 0
    for i in range(rows.shape[0]):
        for e in range(rows.indptr[i], rows.indptr[i + 1]):
            for k in range(int(rows.values[e])):
                z[at] = (z[at] * 3 + context.clock * 7 + (context.first("rows") + i) * 13 + rows.indices[e] * 29 + k) % 1009
                at += 1
    if at != len(z):
        raise ValueError("other numbers")


def by_entry(rows, z, context, clocks):
    for i in range(rows.shape[0]):
        for e in range(rows.indptr[i], rows.indptr[i + 1]):
            at = e - rows.indptr[0]
            z[at] = (z[at] * 3 + context.clock * 7 + (context.first("rows") + i) * 13 + rows.indices[e] * 29) % 1009
    if rows.indptr[-1] - rows.indptr[0] != len(z):
        raise ValueError("other numbers")


@pytest.mark.parametrize("compile, seed", [(None, seed) for seed in range(3)] + [(False, seed) for seed in range(6)])
def test_entries_are_those_of_one_array(compile, seed):
    draw = np.random.default_rng(100 + seed)
    rows, blocks, clocks, values = int(draw.integers(3, 12)), int(draw.integers(1, 4)), int(draw.integers(1, 5)), seed % 3 != 0
    counts = sparse.csr_matrix(draw.integers(0, 4, (rows, 5)) * (draw.random((rows, 5)) < 0.5), dtype=float)
    counts.data[::5] = 0  # stored zeros
    each = counts.data.astype(int) if values else np.ones(counts.nnz, int)
    first = draw.integers(0, 1009, each.sum())
    program = hawser.Program("entries")
    program.data("rows", counts)
    program.entries("z", "rows", TYPES[seed % 4], by_value=values, initial=first if seed % 2 else None)
    unit = hawser.unit(updates="z", compile=compile)(by_value if values else by_entry)
    program.loop("loop", clocks=clocks, sync=["bsp", "ssp:1", "tap"][seed % 3]).unit(unit, clocks=clocks)
    z = (first if seed % 2 else first * 0).astype(np.int64)
    line, column = np.repeat(np.arange(rows), np.diff(counts.indptr)).repeat(each), counts.indices.repeat(each)
    k = np.arange(len(z)) - (np.cumsum(each) - each).repeat(each)
    for clock in range(clocks):
        z = (z * 3 + clock * 7 + line * 13 + column * 29 + k) % 1009
    found = program.run(workers=blocks)
    assert found["z"].dtype == TYPES[seed % 4]
    np.testing.assert_array_equal(found["z"], z)
    assert program.run(workers=blocks, results={"z": slice(1, 3)})["z"].tolist() == z[1:3].tolist()


def test_entries_go_on_and_are_refused(tmp_path):
    counts = sparse.csr_matrix(np.array([[2.0, 0, 1], [0, 3, 0], [1, 1, 0]]))
    program = hawser.Program("entries")
    program.data("rows", counts)
    program.data("dense", counts.toarray())
    program.data("columns", counts.tocsc(), by="column")
    program.entries("z", "rows", by_value=True)
    program.loop("loop", clocks=12, test=lambda progress: False).unit(hawser.unit(updates="z")(by_value), clocks=12)
    whole = program.run(workers=2)["z"]
    goes_on(program, tmp_path / "ck", "z", whole)
    with pytest.raises(hawser.BadProgram, match=r"'z' has 3 numbers \(initial\), but the entries of 'rows' have 8 by value"):
        program.run(workers=2, start={"z": np.zeros(3)})
    with pytest.raises(hawser.BadArgument, match="give all numbers in one dimension"):
        program.run(workers=2, start={"z": np.zeros(0)})
    with pytest.raises(hawser.BadProgram, match="'c' is of the entries of 'columns', and these are sparse data by row"):
        program.entries("c", "columns")
    program.entries("d", "dense")
    with pytest.raises(hawser.BadProgram, match="which is dense"):
        program.run(workers=1)
    counts.data[1] = 0.5
    program = hawser.Program("entries")
    program.data("rows", counts)
    program.entries("z", "rows", by_value=True)
    program.unit(hawser.unit(updates="z", compile=False)(lambda z: None))
    with pytest.raises(hawser.BadProgram, match=r"row 0 of 'rows' has the value 0.5 in .*; whole numbers from 0 to 2147483647"):
        program.run(workers=1)
