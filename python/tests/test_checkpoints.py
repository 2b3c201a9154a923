"""Programs, trainings and fits that were killed, and are called again, go on to the bits of one that nothing disturbed; and what cannot go on is refused."""
import contextlib
import hashlib
import io
import os
import pathlib
import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest
import test_nodes
from conftest import some
from sklearn.model_selection import GridSearchCV, cross_val_score
from test_program import quiet

import hawser
from hawser._train import Fit

PROGRAM = """
import os, signal, sys, time, warnings
import numpy, hawser
warnings.simplefilter("ignore")
FOLDER = sys.argv[1]

def die(clocks):
    wanted = int(sys.argv[2])  # a global would be a constant of the program
    if clocks == wanted:
        os.kill(os.getpid(), signal.SIGKILL)
    newest, until = sorted(os.listdir(FOLDER)) if clocks < wanted else None, time.time() + 8
    while clocks > 1 and clocks < wanted and sorted(os.listdir(FOLDER)) == newest and time.time() < until:
        time.sleep(0.02)  # a thread writes the checkpoint that was begun before this clock

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
    die(progress.memory[0])
    if progress.memory[0] == 4:
        progress.set_gain("w", 2)
    if progress.memory[0] == 6:
        progress.keep()
    return progress.memory[0] == 12

X = numpy.random.default_rng(0).normal(size=(40, 6))
made = hawser.Program("descent")
made.data("rows", X, X @ numpy.arange(6.0))
made.replicated("w", 6, gain=1.0)
made.partitioned("parts", 2, each=True)
made.local("own", along="rows")
made.keep("own")
made.unit(begin)
made.loop("steps", test=counted, remembers=1, metric="loss", patience=12, below=-1.0).unit(step)
made.loop("again", clocks=3).unit(step, "again_step")
made.unit(end)
how = {} if FOLDER == "-" else {"checkpoint": FOLDER, "every": 0}
"""
RUN = PROGRAM + """
run = made.run(workers=3, trace=True, **how)
print(*(values.tobytes().hex() for values in run.states.values()), run.metrics, run.clocks, run.ended)
print(*(now["clocks"] for now in run.trace if now["loop"] in ("steps", "again")))
"""


def python(text, folder, die=0, **variables):
    return subprocess.run([sys.executable, "-c", text, str(folder), str(die)], capture_output=True, text=True, timeout=120,
                          cwd=pathlib.Path(__file__).parent, env={**os.environ, **variables})


def here(text, folder):
    """Runs a text in this process, which has imported what another one would import first; returns what it prints."""
    out = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out), warnings.catch_warnings():
        for name in ("_observe", "wait"):  # which a text may replace
            patch.setattr(Fit, name, getattr(Fit, name))
        patch.setattr(sys, "argv", ["-c", str(folder), "0"])
        exec(compile(text, "<string>", "exec"), {"__name__": "__main__"})
    return out.getvalue()


def files(folder):
    """Returns what is left of checkpoints."""
    return [each for each in pathlib.Path(folder).rglob("*") if each.is_file()]


def checkpoints(folder):
    return sorted(each.name for each in files(folder) if each.name.startswith("checkpoint-"))


def test_a_program_that_was_killed_goes_on(tmp_path):
    """Random numbers, metrics, memory of tests, gains, clocks, patience and kept points go on; it is killed twice, in another part of the loop."""
    whole, clocks = here(RUN, "-").splitlines()
    assert clocks.split() == [str(clock) for clock in range(1, 16)]
    for die in (5, 9):
        assert python(RUN, tmp_path / "ck", die).returncode == -signal.SIGKILL
        assert files(tmp_path / "ck")
    found, clocks = here(RUN, tmp_path / "ck").splitlines()
    assert found == whole
    assert clocks.split()[-1] == "15" and 3 <= len(clocks.split()) <= 12  # those before are not run again
    assert not files(tmp_path / "ck")  # a program that has ended removes them


def test_another_program_is_refused_by_name(tmp_path):
    assert python(RUN, tmp_path / "ck", 5).returncode == -signal.SIGKILL
    before = checkpoints(tmp_path / "ck")
    for old, new, say in (("0.001 *", "0.002 *", "unit 'step' = digest"), ('made.local("own", along="rows")', 'made.local("own", initial=1.0, along="rows")', "state 'own'"),
                          ("numpy.arange(6.0)", "numpy.ones(6)", "data"), ("workers=3", "workers=2", "3 workers"),
                          ("trace=True", 'start={"w": numpy.ones(6)}', "the numbers of start"), ("w *= 3", "w *= 4", "unit 'end'"),
                          ("trace=True", "seed=7", "option seed = 1 there, 7 here")):
        assert old in RUN
        with pytest.raises(hawser.BadOption, match=say):
            here(RUN.replace(old, new), tmp_path / "ck")
        assert checkpoints(tmp_path / "ck") == before
    here(RUN.replace("w *= 3", "w *= 4").replace("**how", "fresh=True, **how"), tmp_path / "ck")
    assert not files(tmp_path / "ck")


def test_ctrl_c_leaves_a_checkpoint_to_go_on_from(tmp_path):
    pressed = []

    def press(now):
        if now["clock"] == 3 and not pressed:
            pressed.append(os.kill(os.getpid(), signal.SIGINT))
            time.sleep(0.2)

    @hawser.unit(updates="w", one=True)
    def add(w):
        w[0] += 1

    made = hawser.Program("pressed")
    made.replicated("w", 1)
    made.loop("loop", test=lambda progress: progress.clock >= 40).unit(add)
    made.unit(add, "last")
    with pytest.raises(hawser.Interrupted) as caught:
        made.run(workers=2, checkpoint=tmp_path / "ck", progress=press)
    assert 4 <= caught.value.run["w"][0] < 41 and not caught.value.run.ended and files(tmp_path / "ck")
    seen = []
    run = made.run(workers=2, checkpoint=tmp_path / "ck", progress=seen.append)
    assert run["w"].tolist() == [42] and seen[0]["clock"] >= 3 and not files(tmp_path / "ck")


def test_max_clocks_ends_a_program(tmp_path):
    @hawser.unit(updates="n", compile=False)
    def count(context, n):
        n[0] += 1 + context.clock

    made = hawser.Program("count")
    made.replicated("n", 1, np.int64)
    made.loop("loop", clocks=9).unit(count)
    with quiet():
        assert made.run(workers=3, checkpoint=tmp_path / "ck", every="0s", max_clocks=4)["n"].tolist() == [3 * 10]
        assert not files(tmp_path / "ck")
        assert made.run(workers=3, checkpoint=tmp_path / "ck", every=0)["n"].tolist() == [3 * 45]
        assert made.run(workers=3, start={"n": [5]})["n"].tolist() == [3 * 45 + 5]


def test_what_is_refused(tmp_path):
    @hawser.unit(updates="w", one=True, compile=False)
    def add(w):
        w += 1

    made = hawser.Program("refused")
    made.data("rows", np.ones((4, 2)))
    made.replicated("w", 6)
    made.loop("loop", clocks=2).unit(add)
    (tmp_path / "file").write_text("no folder")
    seen = []
    for say, error, text in (
            (lambda: made.run(every=3), hawser.BadOption, "every is 3; it is the seconds"),
            (lambda: made.run(checkpoint=tmp_path / "ck", every=-1), hawser.BadOption, "every"),
            (lambda: made.run(start=3), hawser.BadArgument, "start is a int"),
            (lambda: made.run(start={"x": 1}), hawser.BadProgram, "start: program 'refused' has no state 'x'"),
            (lambda: made.run(start={"rows": 1}), hawser.BadProgram, "'rows' is no state that begins with numbers"),
            (lambda: made.run(workers=1, start={"w": [1, 2]}), hawser.BadArgument, r"has shape \(6,\), and its initial has \(2,\)"),
            (lambda: made.run(checkpoint=tmp_path / "none" / "x", progress=seen.append), hawser.FileError, "none/x"),
            (lambda: made.run(checkpoint=tmp_path / "file"), hawser.FileError, "file"),
            (lambda: hawser.Lasso().fit(np.ones((4, 2)), np.arange(4), checkpoint=tmp_path / "none" / "x"), hawser.FileError, "cannot make the folder .*none/x"),
            (lambda: hawser.Lasso().fit(np.ones((4, 2)), np.arange(4), checkpoint=tmp_path / "file"), hawser.FileError, "file is no folder"),
            (lambda: hawser.Lasso().fit(np.ones((4, 2)), np.arange(4), checkpoint=""), ValueError, "checkpoint = '': this estimator takes the path of a folder"),
            (lambda: hawser.Lasso().fit(np.ones((4, 2)), np.arange(4), checkpoint=3), ValueError, "checkpoint = 3: this estimator takes the path of a folder")):
        with quiet(), pytest.raises(error, match=text):
            say()
    assert not seen  # refused before the first clock, not after the last


DIES = """
import os, signal, sys, time, warnings
import numpy as np, hawser
from hawser import _train
warnings.simplefilter("ignore")
FOLDER, DIE, calls = sys.argv[1], int(sys.argv[2]), [0]
observe, wait = _train.Fit._observe, _train.Fit.wait

def observed(self, progress, user):
    calls[0] += 1
    if calls[0] == DIE:
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGKILL)
    observe(self, progress, user)

_train.Fit._observe, _train.Fit.wait = observed, lambda self, callback: wait(self, callback or (lambda now: None))
draw = np.random.default_rng(0)
X = draw.normal(size=(300, 20))
y = X @ draw.normal(size=20) + draw.normal(size=300)
counts = draw.poisson(1.0, size=(60, 20)).astype(float)
how = {} if FOLDER == "-" else {"checkpoint": FOLDER}
"""
FITS = {
    "train": ('hawser.train("lasso", X, y, tol=1e-12, path=5, workers=2, **how).coefficients', 12),
    "stored": ('hawser.train("linear", X, y, solver="minibatch", batch=8, epochs=40, sync="dc:0", workers=2, **how).coefficients', 12),
    "dbpg": ('hawser.train("logistic", X, y > 0, solver="dbpg", sync="dc:0", tol=1e-6, workers=2, **how).coefficients', 12),
    "two targets": ("hawser.Lasso(alpha=1e-3, tol=1e-12, workers=2).fit(X, np.c_[y, X @ np.ones(20)], **how).coef_", 30),
    "LassoCV": ("hawser.LassoCV(cv=3, alphas=10, workers=2).fit(X, y, **how).mse_path_", 20),
    "LogisticRegression": ("hawser.LogisticRegression(workers=2).fit(X, y > 0, **how).coef_", 8),
    "KMeans": ("hawser.KMeans(4, n_init=3, init=lambda X, k, random_state: X[random_state.permutation(300)[:k]], random_state=1, workers=2).fit(X, **how)"
               ".cluster_centers_", 15),
    "LatentDirichletAllocation": ("hawser.LatentDirichletAllocation(3, max_iter=20, random_state=1, workers=2).fit(counts, **how).components_", 9),
}


@pytest.mark.parametrize("name", some(list(FITS), of=2))
def test_a_fit_that_was_killed_goes_on(tmp_path, name, monkeypatch):
    """Several trainings of a fit have folders of their own; those that had ended are repeated."""
    call, die = FITS[name]
    text = DIES + f"print(np.ascontiguousarray({call}).tobytes().hex(), calls[0])"
    whole, calls = here(text, "-").split()
    assert int(calls) > die, calls
    assert python(text, tmp_path / "ck", die, HAWSER_CHECKPOINT_EVERY="0").returncode == -signal.SIGKILL
    assert files(tmp_path / "ck")
    monkeypatch.setenv("HAWSER_CHECKPOINT_EVERY", "0")
    found, _ = here(text, tmp_path / "ck").split()
    assert hashlib.sha256(found.encode()).hexdigest() == hashlib.sha256(whole.encode()).hexdigest()
    assert [each for each in (tmp_path / "ck").rglob("*")] == []


SEARCH = DIES.replace("+= 1", "+= 1\n    time.sleep(0.03 if DIE else 0)  # checkpoints are written meanwhile") + """
from joblib import parallel_config
from sklearn.model_selection import GridSearchCV, cross_val_score
grid = {"alpha": [0.1, 0.01]}
with parallel_config(backend="threading"):
    search = GridSearchCV(hawser.Lasso(tol=1e-12, workers=1), grid, cv=2, n_jobs=JOBS, error_score="raise").fit(X, y, **how)
print(search.cv_results_["mean_test_score"].tobytes().hex() + search.best_estimator_.coef_.tobytes().hex(), calls[0])
"""


@pytest.mark.parametrize("jobs", (1, 2))
def test_a_search_that_was_killed_goes_on(tmp_path, jobs, monkeypatch):
    """Each training of a search has a folder of its own, which no other fit disturbs, one after another or two at once."""
    text = SEARCH.replace("JOBS", str(jobs))
    whole, calls = here(text, "-").split()
    assert python(text, tmp_path / "ck", int(calls) // 2, HAWSER_CHECKPOINT_EVERY="0").returncode == -signal.SIGKILL
    left = checkpoints(tmp_path / "ck")
    assert left
    monkeypatch.setenv("HAWSER_CHECKPOINT_EVERY", "0")
    draw = np.random.default_rng(5)
    with quiet():
        hawser.Lasso(alpha=0.2, workers=2).fit(draw.normal(size=(30, 4)), draw.normal(size=30), checkpoint=tmp_path / "ck")
    assert checkpoints(tmp_path / "ck") == left
    found, again = here(text, tmp_path / "ck").split()
    assert found == whole and int(again) < int(calls)
    assert [each for each in (tmp_path / "ck").rglob("*")] == []


def test_searches_share_a_folder(tmp_path, monkeypatch):
    """In processes of their own, too; the scores are those without checkpoints."""
    monkeypatch.setenv("HAWSER_CHECKPOINT_EVERY", "0")
    draw = np.random.default_rng(1)
    X = draw.normal(size=(80, 5))
    y = X @ draw.normal(size=5) + draw.normal(size=80)
    for how in ({}, {"checkpoint": str(tmp_path / "ck")}):
        with quiet():
            search = GridSearchCV(hawser.Ridge(), {"alpha": [0.1, 1.0]}, cv=2, n_jobs=2, error_score="raise").fit(X, y, **how)
            scores = cross_val_score(hawser.LogisticRegression(), X, y > 0, cv=2, params=how or None, error_score="raise")
        found = np.r_[search.cv_results_["mean_test_score"], scores]
        assert np.isfinite(found).all() and ("checkpoint" not in how or np.array_equal(found, wanted))
        wanted = found
    assert [each for each in (tmp_path / "ck").rglob("*")] == []


LATE = {"ssp:2": ("lasso", "path=3, tol=1e-11"), "tap": ("lasso", 'tol=1e-11, merge="average"'), "dc:1": ("linear", "tol=1e-8")}


@pytest.mark.parametrize("sync", LATE)
def test_a_late_training_that_was_killed_goes_on_to_the_optimum(tmp_path, sync, monkeypatch):
    """Its bits differ from run to run, so only the optimum is compared."""
    name, more = LATE[sync]
    call = f'hawser.train("{name}", X, y, {more}, sync="SYNC", workers=2, **how).coefficients'
    text = DIES + f"print(np.ascontiguousarray({call.replace('SYNC', sync)}).tobytes().hex())"
    optimum = np.frombuffer(bytes.fromhex(here(text.replace(sync, "bsp"), "-")))
    assert python(text, tmp_path / "ck", 6, HAWSER_CHECKPOINT_EVERY="0").returncode == -signal.SIGKILL
    assert checkpoints(tmp_path / "ck")
    monkeypatch.setenv("HAWSER_CHECKPOINT_EVERY", "0")
    found = np.frombuffer(bytes.fromhex(here(text, tmp_path / "ck")))
    assert np.abs(optimum).max() > 0.1 and np.abs(found - optimum).max() < 1e-3
    assert not files(tmp_path / "ck")


def test_a_training_with_other_arrays_is_refused(tmp_path):
    """Options that are arrays, the start model and the target are no options of the command, and count as well."""
    call = DIES + ("start = hawser.train('lasso', X, y, lambda_=1.0, workers=2)\ncalls[0] = 0\n"
                   "model = hawser.train('lasso', X, y, tol=1e-12, path=5, workers=2, init=start, penalty_factors=np.ones(20), lower=-np.ones(20), **how)")
    assert python(call, tmp_path / "ck", 12, HAWSER_CHECKPOINT_EVERY="0").returncode == -signal.SIGKILL
    for old, new, say in (("penalty_factors=np.ones(20)", "penalty_factors=np.arange(20.0)", "penalty-factors = digest"), ("lower=-np", "lower=-2 * np", "lower = digest"),
                          ("lambda_=1.0", "lambda_=0.9", "init = digest"), ("init=start", "init=None", "init"),
                          ("X, y, tol", "X, y + (y > 1), tol", "data"), ("path=5", "path=6", "option path = 5 there, 6 here")):
        assert old in call
        with pytest.raises(hawser.BadOption, match=say):
            here(call.replace(old, new), tmp_path / "ck")
    here(call, tmp_path / "ck")
    assert not files(tmp_path / "ck")


def on_nodes(nodes, text, folder, die=0):
    return subprocess.run([test_nodes.BINARY, "run", "-n", str(nodes), "--", sys.executable, "-c", text, str(folder), str(die)], capture_output=True, text=True,
                          timeout=120, env=test_nodes.environment() | {"PYTHONPATH": os.environ.get("PYTHONPATH", "")})


@pytest.mark.skipif(not test_nodes.BINARY, reason="HAWSER_BINARY is not set")
def test_a_program_whose_nodes_were_killed_goes_on_with_others(tmp_path):
    """Node 0 is killed; fewer nodes go on, to the bits of one process. Other data are refused."""
    whole, _ = here(RUN, "-").splitlines()
    assert on_nodes(3, RUN, tmp_path / "ck", 9).returncode not in (0, 1)
    assert checkpoints(tmp_path / "ck")
    other = on_nodes(2, RUN.replace("numpy.arange(6.0)", "numpy.ones(6)"), tmp_path / "ck")
    assert other.returncode == 1 and "checkpoint of another run: data = digest" in other.stderr, other.stderr
    done = on_nodes(2, RUN, tmp_path / "ck")
    assert done.returncode == 0, done.stderr
    assert whole in done.stdout.splitlines() and not files(tmp_path / "ck")
