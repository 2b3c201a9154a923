"""Runs that pause, are saved and go on have the bits of one run; and what cannot go on is refused."""
import os
import signal

import numpy as np
import pytest
import test_nodes
from test_program import quiet

import hawser

needs_command = pytest.mark.skipif(not test_nodes.BINARY, reason="HAWSER_BINARY is not set")

PROGRAM = """
@hawser.unit(updates="rows", compile=False)
def scale(rows):
    rows *= 2

@hawser.unit(updates="w", one=True, compile=False)
def begin(context, w):
    w += context.uniform()

@hawser.unit(updates="w parts own", reports="loss", compile=False)
def step(context, rows, rows_target, w, parts, own):
    error = rows @ w - rows_target
    known = context.metric("loss")
    w -= 0.001 * (error @ rows) * context.uniform()
    parts[:] += context.clock
    own[:] += error if numpy.isnan(known) else error * known
    return (error**2).sum() + (0 if numpy.isnan(known) else 0.1 * known)

@hawser.unit(updates="w", one=True, compile=False)
def end(w):
    w *= 3

@hawser.condition(compile=False)
def counted(progress):
    progress.memory[0] += 1
    if progress.memory[0] == 4:
        progress.set_gain("w", 2)
    return progress.memory[0] == 12

def program(X, y, sync=None):
    made = hawser.Program("descent")
    made.data("rows", X, y)
    made.replicated("w", 6, gain=1.0)
    made.partitioned("parts", 2, each=True)
    made.local("own", along="rows")
    made.unit(scale)
    made.unit(begin)
    made.loop("steps", test=counted, remembers=1, metric="loss", patience=9, below=-1.0, sync=sync).unit(step)
    made.loop("again", clocks=3, sync=sync).unit(step, "again_step")
    made.unit(end)
    return made
"""
NAMES = {"hawser": hawser, "numpy": np}
exec(PROGRAM, NAMES)
program = NAMES["program"]


def same(found, wanted):
    assert {name: values.tobytes() for name, values in found.states.items()} == {name: values.tobytes() for name, values in wanted.states.items()}
    assert found.metrics == wanted.metrics and found.clocks == wanted.clocks and found.ended and found.position is None


def test_a_run_in_parts_has_the_bits_of_one(tmp_path, numbers):
    """Random numbers, metrics, the memory of tests, gains and clocks go on; data that a unit changes are changed again."""
    file = tmp_path / "run.npz"
    with quiet():
        whole = program(*numbers).run(workers=3)
        for every in (1, 5, 12, 13):
            same(program(*numbers).run(workers=3, checkpoint=file, every=every), whole)
        for limit in range(1, 15, 3):  # each of them as by a new process
            file.unlink()
            first = program(*numbers).run(workers=3, checkpoint=file, max_clocks=limit)
            assert (first.clocks, first.stop_reason, first.ended) == (limit, "clocks", False) and first.position
            loaded = hawser.Run.load(file)
            assert loaded.position == first.position and loaded["own"].tobytes() == first["own"].tobytes()
            for resumed in (True, first, file):
                same(program(*numbers).run(workers=3, checkpoint=file if resumed is True else None, resume=resumed), whole)
        same(program(*numbers).run(workers=3, checkpoint=file, resume=True), whole)  # it has ended, and is not run again
        assert len(list(tmp_path.iterdir())) == 1
        traced = program(*numbers).run(workers=3, checkpoint=file, every=4, trace=True)
        assert [now["clocks"] for now in traced.trace if now["loop"] in ("steps", "again")] == list(range(1, whole.clocks + 1))
        assert [change.new for change in traced.changes] == [2.0] and "own" in traced.states
        begun = program(*numbers).run(workers=3, start=whole)
        assert not np.array_equal(begun["w"], whole["w"])


def test_each_sync_keeps_all_updates(tmp_path):
    @hawser.unit(updates="n", compile=False)
    def count(context, n):
        n[0] += 1 + context.clock

    for sync in ("bsp", "ssp:2", "tap"):
        made = hawser.Program("count")
        made.replicated("n", 1, np.int64)
        made.loop("loop", clocks=9, sync=sync).unit(count)
        with quiet():
            assert made.run(workers=3, checkpoint=tmp_path / "n.npz", every=2)["n"].tolist() == [3 * 45]
            assert made.run(workers=3, start={"n": [5]})["n"].tolist() == [3 * 45 + 5]


def test_stored_and_derived_states_go_on(tmp_path):
    @hawser.unit(updates="v", compile=False)
    def rebuild(rows, a, v):
        v += a @ rows

    @hawser.unit(updates="a v u", compile=False)
    def step(rows, a, v, u):
        a += 0.5
        v += 0.5 * rows.sum(axis=0)
        u += len(rows)

    X = np.arange(10.0).reshape(5, 2)
    made = hawser.Program("derived")
    made.data("rows", X)
    made.replicated("v", 2)
    made.local("a", along="rows", tied="v")
    made.derive("v", rebuild)
    made.stored("u", 3, along="rows")
    made.loop("loop", clocks=6).unit(step)
    with quiet():
        found = made.run(workers=2, checkpoint=tmp_path / "run.npz", every=4)
    assert found["a"].tolist() == [3] * 5 and np.allclose(found["v"], 3 * X.sum(axis=0)) and found["u"].tolist() == [[18] * 3] * 3 + [[12] * 3] * 2


def test_ctrl_c_leaves_a_checkpoint_to_go_on_from(tmp_path):
    pressed = []

    def press(progress):
        if progress.clock == 3 and not pressed:
            pressed.append(os.kill(os.getpid(), signal.SIGINT))
        return progress.clock >= 40

    @hawser.unit(updates="w", one=True)
    def add(w):
        w[0] += 1

    made = hawser.Program("pressed")
    made.replicated("w", 1)
    made.loop("loop", test=press).unit(add)
    made.unit(add, "last")
    with pytest.raises(hawser.Interrupted) as caught:
        made.run(workers=2, checkpoint=tmp_path / "run.npz")
    reached = caught.value.run["w"][0]
    assert 4 <= reached < 41 and hawser.Run.load(tmp_path / "run.npz")["w"][0] == reached
    assert made.run(workers=2, checkpoint=tmp_path / "run.npz", resume=True)["w"].tolist() == [42]


def test_a_loop_may_end_by_a_metric_called_pause(tmp_path):
    @hawser.unit(updates="w", one=True, reports="pause")
    def add(w):
        w[0] += 1
        return 3 - w[0]

    made = hawser.Program("ends")
    made.replicated("w", 1)
    made.loop("loop", metric="pause", below=0).unit(add)
    run = made.run(workers=1, checkpoint=tmp_path / "run.npz", every=2)
    assert run.ended and run.stop_reason == "pause" and run["w"].tolist() == [3]


def test_damaged_files_are_refused_or_whole(tmp_path):
    @hawser.unit(updates="w", one=True, compile=False)
    def add(w):
        w += 1

    made, file = hawser.Program("damaged"), tmp_path / "run.npz"
    made.replicated("w", 2)
    made.loop("loop", clocks=3).unit(add)
    made.run(workers=1, checkpoint=file, max_clocks=2)
    good, whole = file.read_bytes(), hawser.Run.load(file)
    for place in range(0, len(good), 5):
        for given in (good[:place], good[:place] + bytes([good[place] ^ 1 << place % 8]) + good[place + 1:]):
            file.write_bytes(given)
            try:
                found = hawser.Run.load(file)
            except hawser.BadInput:
                continue
            assert found.states.keys() == {"w"} and found["w"].tolist() == [2, 2] and found.position == whole.position


def test_what_is_refused(tmp_path, numbers):
    file, made = tmp_path / "run.npz", program(*numbers)
    with quiet():
        made.run(workers=3, checkpoint=file, max_clocks=2)
    good = file.read_bytes()
    other = program(*numbers)
    other.metric("more")
    (tmp_path / "cut.npz").write_bytes(good[:-100])
    (tmp_path / "text.npz").write_text("no run")

    @hawser.unit(updates="rows", compile=False)
    def mixes(rows, w):
        rows += w[0]

    @hawser.unit(updates="w", one=True, compile=False)
    def changes_later(w):
        w += 1

    mixed = hawser.Program("mixed")
    mixed.data("rows", numbers[0])
    mixed.replicated("w", 1)
    mixed.unit(mixes)
    mixed.unit(changes_later)
    interrupted = made.run(workers=1, max_clocks=2)
    for say, error, text in (
            (lambda: made.run(every=3), hawser.BadOption, "needs checkpoint="),
            (lambda: made.run(checkpoint=file, every=0), hawser.BadOption, "every is 0"),
            (lambda: made.run(resume=True), hawser.BadOption, "give checkpoint="),
            (lambda: made.run(resume=3), hawser.BadArgument, "resume is a int"),
            (lambda: made.run(resume=file, start={}), hawser.BadOption, "contradict"),
            (lambda: made.run(start=3), hawser.BadArgument, "start is a int"),
            (lambda: made.run(start={"x": 1}), hawser.BadProgram, "start: program 'descent' has no state 'x'"),
            (lambda: made.run(start={"rows": 1}), hawser.BadProgram, "'rows' is no state that begins with numbers"),
            (lambda: made.run(workers=1, start={"w": [1, 2]}), hawser.BadArgument, r"has shape \(6,\), and its initial has \(2,\)"),
            (lambda: made.run(workers=2, resume=file), hawser.BadArgument, r"'parts' has shape \(2, 2\), and its initial has \(3, 2\)"),
            (lambda: made.run(workers=3, resume=tmp_path / "none.npz"), hawser.FileError, "none.npz: it cannot be read: No such file"),
            (lambda: made.run(workers=3, checkpoint=tmp_path / "none" / "x.npz"), hawser.FileError, "x.npz: it cannot be written: its folder does not"),
            (lambda: made.run(workers=3, checkpoint=tmp_path), hawser.FileError, "it is a folder; name a file"),
            (lambda: made.run(workers=3, resume=tmp_path / "cut.npz"), hawser.BadInput, "cut.npz: it is no whole file of a hawser.Run"),
            (lambda: hawser.Run.load(tmp_path / "text.npz"), hawser.BadInput, "text.npz: it is no whole file of a hawser.Run"),
            (lambda: other.run(workers=3, resume=file), hawser.BadProgram, "a position of another program"),
            (lambda: mixed.run(workers=3, resume=file), hawser.BadProgram, "is a run of program 'descent', and this is 'mixed'"),
            (lambda: mixed.run(workers=1, checkpoint=file), hawser.BadProgram, "transforms data and uses state 'w'"),
            (lambda: made.run(workers=1, resume=interrupted), hawser.BadProgram, "so it cannot go on; start=run begins a new run"),
            (lambda: made.run(workers=3, checkpoint=file, results={"w": slice(2)}), hawser.BadOption, "a checkpoint has all of each state")):
        with quiet(), pytest.raises(error, match=text):
            say()
    assert file.read_bytes() == good
    seen = []
    with quiet(), pytest.raises(hawser.FileError):
        made.run(workers=3, checkpoint=tmp_path / "none" / "x.npz", progress=seen.append)
    assert not seen  # refused before the first clock, not after the last


ON_NODES = PROGRAM + """
import os
file = os.path.join(sys.argv[1], "run.npz")
mine = file if node() == 0 else file + ".not-here"
how = {"workers": 3, "checkpoint": mine}
found = {"whole": program(X, y).run(workers=3)}
found["parts"] = program(X, y).run(every=4, **how)
first = program(X, y).run(max_clocks=5, **how)
found["resumed"] = program(X, y).run(resume=True, **how)
found["object"] = program(X, y).run(workers=3, resume=first)
keep(**{name: run["w"] for name, run in found.items()}, position=len(first.position), files=[name for name in os.listdir(sys.argv[1]) if "not" in name])
"""


@needs_command
def test_nodes_go_on_from_the_file_of_node_0(tmp_path, numbers):
    with quiet():
        wanted = program(*numbers).run(workers=3)["w"]
    test_nodes.run(tmp_path, "import numpy, sys\n" + ON_NODES, test_nodes.BINARY, "run", "-n", "2", "--")
    for found in test_nodes.kept(tmp_path, 2):
        for name in ("whole", "parts", "resumed", "object"):
            assert np.array_equal(found[name], wanted), name
        assert found["position"] > 100 and len(found["files"]) == 0
