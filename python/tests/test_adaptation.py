"""What a training changes by itself (auto=True, sync="auto"): the `changes` of the result are those of its decisions and of what it has learned."""
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import hawser

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "helpers"))
from sealed import sealed  # noqa: E402

BINARY = os.environ.get("HAWSER_BINARY", "")
SIMULATOR = pathlib.Path(BINARY).with_name("hawser-sim")
CLEAN = {key: value for key, value in os.environ.items() if not key.startswith("HAWSER_")}
ROUNDS = {"workers": 4, "solver": "cd", "tol": 1e-5, "lambda_ratio": 0.01, "exchange_every": 1}

pytestmark = [pytest.mark.skipif(not BINARY, reason="HAWSER_BINARY is not set"), pytest.mark.filterwarnings("ignore:.*ended before")]


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, env=CLEAN, timeout=100)
    assert done.returncode == 0, (words, done.stderr)
    return done.stdout


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("adaptation") / "d.svm"
    run(BINARY, "data", "generate", "url", "-o", path, "--rows", 1000, "--cols", 1000, "--per-row", 40, "--seed", 3)
    return path


def trained(data, **options):
    return hawser.train("lasso", data, **{**ROUNDS, **options})


def write_decisions(path, changes):
    """Puts changes into a file of decisions, in place of its own: (knob, block, old, new, clocks)."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        line.pop("checksum")
    made = [{"line": "change", "loop": "rounds", "knob": knob, "block": block, "from": old, "to": new, "after": clocks, "point": 0, "reason": f"because of {knob}"}
            for knob, block, old, new, clocks in changes]
    kept = [line for line in lines[:-1] if line["line"] in ("decisions", "run", "loop")]
    path.write_text("".join(map(sealed, (*kept, *made, {"line": "end", "lines": len(kept) + len(made)}))))


@pytest.mark.parametrize("options, changes, expected", [
    ({"auto": True}, [("gain", 0, 1, 0.5, 5), ("work", 0, 1, 2, 9), ("share", 2, 1, 0.5, 12), ("sync", 0, 0, 2, 15)],
     {"gain": ("v", 4, 2), "work": (None, 1, 2), "share": (None, 1, 0.5), "sync": (None, "bsp", "ssp:2")}),
    ({"sync": "auto"}, [("sync", 0, 0, 3, 8)], {"sync": (None, "bsp", "ssp:3")}),
    ({"sync": "auto:1"}, [("sync", 0, 0, 1, 8)], {"sync": (None, "bsp", "ssp:1")}),
    ({"exchange_every": "auto:2"}, [("work", 0, 1, 4, 8)], {"work": (None, 1, 4)})])
def test_the_changes_of_a_training_are_those_of_its_decisions(options, changes, expected, data, tmp_path):
    decisions = tmp_path / "decisions"
    trained(data, **options, save_decisions=decisions, max_clocks=1)
    write_decisions(decisions, changes)
    training = trained(data, **options, replay_decisions=decisions).training
    by_what = {change.what: change for change in training.changes}
    assert list(by_what) != [] and len(by_what) == len(training.changes) and set(by_what) == set(expected)
    for what, (state, old, new) in expected.items():
        change = by_what[what]
        assert (change.state, change.old, change.new, change.loop, change.run) == (state, old, new, "rounds", 1)
        assert change.worker == (2 if what == "share" else None)
        assert change.reason == f"because of {what}" and change.by == "adaptation of loop 'rounds'" and str(change).endswith(f"({change.reason})")
        assert what == "sync" or change.clock > 0
    assert training.repeatable == ("sync" not in expected) and training.stop_reason == "gap"
    with pytest.raises(hawser.Error, match="expected a value of"):
        write_decisions(decisions, [(knob, block, old, 99, clocks) for knob, block, old, _, clocks in changes])
        trained(data, **options, replay_decisions=decisions)


def test_decisions_of_the_command_are_replayed_and_the_other_way_round(data, tmp_path):
    """Files, arrays and numbers in other words are the same run; other data are not."""
    words = [f"--{key.replace('_', '-')}={value:f}" if isinstance(value, float) else f"--{key.replace('_', '-')}={value}" for key, value in ROUNDS.items()]
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    run(BINARY, "train", "lasso", data, "--quiet", "--auto", *words, "--max-clocks", 1, "--save-decisions", theirs)
    trained(data, auto=True, save_decisions=ours, max_clocks=1)
    for path in (ours, theirs):
        write_decisions(path, [("gain", 0, 1, 0.5, 5), ("work", 0, 1, 2, 9)])
    training = trained(data, auto=True, replay_decisions=theirs).training
    said = json.loads(run(BINARY, "train", "lasso", data, "--quiet", "--json", "--auto", *words, "--replay-decisions", ours).splitlines()[-1])
    assert [change.what for change in training.changes] == [change["what"] for change in said["changes"]] == ["gain", "work"]
    assert training.repeatable and said["repeatable"] and training.metrics["gap"] == said["gap"] and training.clocks == said["clocks"]
    sparse = pytest.importorskip("scipy.sparse")
    rows = [line.split() for line in data.read_text().splitlines()]
    entries = [(i, *entry.split(":")) for i, row in enumerate(rows) for entry in row[1:]]
    X = sparse.csr_matrix(([float(value) for _, _, value in entries], ([i for i, _, _ in entries], [int(j) - 1 for _, j, _ in entries])))
    y = np.array([float(row[0]) for row in rows])
    assert trained(X, target=y, auto=True, replay_decisions=theirs).training.metrics["gap"] == said["gap"]
    with pytest.raises(hawser.Error, match="data = digest"):
        trained(X, target=y + 1, auto=True, replay_decisions=theirs)


@pytest.mark.skipif(not SIMULATOR.exists(), reason="there is no simulator")
def test_what_is_learned_is_the_first_change(data, tmp_path):
    words = [f"--{key.replace('_', '-')}={value}" for key, value in ROUNDS.items()]
    run(SIMULATOR, "--nodes", 2, "--link", "10mbit", "--", "train", "lasso", data, "--quiet", "--auto", *words, "--learn", tmp_path / "settings")
    with pytest.warns(hawser.ConvergenceWarning):
        training = trained(data, auto=True, learn=tmp_path / "settings", max_clocks=3).training
    gain, = [change for change in training.changes if change.what == "gain"]  # one process sends nothing that an encoding would narrow
    assert gain.clock == 0 and gain.new == 2 and gain.reason == "an earlier run on 2 hosts ended with it (--learn)"
    assert not training.repeatable


@pytest.mark.parametrize("options", [{"auto": True}, {"sync": "auto"}, {"exchange_every": "auto:2"}])
def test_a_training_that_may_change_has_the_right_model(options, data):
    fixed, model = trained(data, tol=1e-9), trained(data, tol=1e-9, **options)
    assert abs(model.training.metrics["objective"] - fixed.training.metrics["objective"]) < 1e-6 * fixed.training.metrics["objective"]
    assert fixed.training.changes == () and (model.training.changes == ()) <= model.training.repeatable
    np.testing.assert_allclose(model.predict(data), fixed.predict(data), atol=1e-3)


def test_what_makes_no_sense_is_refused_by_name(data, tmp_path):
    for options, text in (({"sync": "auto:9"}, "auto:9"), ({"auto": True, "learn": tmp_path / "f", "save_decisions": tmp_path / "g"}, "do not go together"),
                          ({"learn": tmp_path / "f"}, "learn"), ({"sync": "auto", "workers": 1}, "sync")):
        with pytest.raises(ValueError, match=text):
            trained(data, **options)
