"""Several nodes: one script in each, with the bits of one process; what is refused, what is alone, and how it ends."""
import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import hawser
from hawser._node import reserved_port

BINARY = os.environ.get("HAWSER_BINARY")
pytestmark = pytest.mark.skipif(not BINARY, reason="HAWSER_BINARY is not set")

HEAD = """
import os, sys, hawser, numpy
draw = numpy.random.default_rng(0)
X = draw.normal(size=(200, 6))
y = X @ [1.0, 0.0, -2.0, 0.0, 0.0, 0.5] + 0.1 * draw.normal(size=200)

def node():
    return int(os.environ.get("HAWSER_NODE") or os.environ.get("PMIX_RANK") or os.environ.get("BY_HAND", 0))

def keep(**found):
    numpy.savez(os.path.join(sys.argv[1], f"{node()}.npz"), **found)
"""
SKLEARN = """
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
lasso = hawser.Lasso(alpha=0.01, workers=3).fit(X, y)
words = numpy.where(y > 0, "high", "low")
logistic = hawser.LogisticRegression(workers=3).fit(X, words)
kmeans = hawser.KMeans(3, random_state=0, workers=3).fit(X)
again = clone(lasso).fit(X, y)
search = GridSearchCV(hawser.Lasso(workers=3), {"alpha": [0.01, 0.1]}, cv=2).fit(X, y)
crossed = hawser.ElasticNetCV(cv=3, alphas=5, l1_ratio=[0.5, 1], workers=3).fit(X, y)
scored = hawser.LogisticRegressionCV(cv=3, Cs=3, workers=3).fit(X, words)
softmax = hawser.LogisticRegressionCV(cv=3, Cs=3, workers=3).fit(X, numpy.digitize(y, [-1, 1]))
early = hawser.Lasso(alpha=1e-4, workers=3).fit(X, y, eval_set=(X[:50], y[:50] + 1), early_stopping_rounds=2)
tasks = hawser.MultiTaskLasso(alpha=1e-4, workers=3).fit(X, X[:, :2] + y[:, None], eval_set=(X[:50], X[:50, 1:3]), early_stopping_rounds=2)
shared = hawser.MultiTaskLassoCV(cv=3, alphas=4, workers=3).fit(X, X[:, :2] + y[:, None])
keep(tasks=tasks.coef_, stopped=tasks.best_score_, shared=shared.mse_path_, crossed=crossed.coef_, errors=crossed.mse_path_, scored=scored.coef_, scores=scored.scores_, softmax=softmax.scores_,
     early=early.coef_, best=early.best_score_, lasso=lasso.coef_, gap=lasso.dual_gap_, logistic=logistic.coef_, words=logistic.predict(X), centres=kmeans.cluster_centers_,
     labels=kmeans.labels_, again=again.coef_, search=search.best_estimator_.coef_, tests=search.cv_results_["mean_test_score"])
"""
TRAININGS = """
import scipy.sparse
some = scipy.sparse.csr_array(numpy.where(numpy.abs(X) > 0.8, X, 0.0))
cut = [0, 70, 90, 200] if PARTS == 3 else [0, 70, 200]
mine = slice(cut[node()], cut[node() + 1]) if PARTS else slice(None)
how = {"workers": 4, "partitioned": bool(PARTS)}
path = os.path.join(sys.argv[1], f"{node()}.csv")
numpy.savetxt(path, numpy.column_stack([y > 0, X])[mine], delimiter=",", fmt="%.17g")
found = {}
for name, data in (("dense", X), ("columns", numpy.asfortranarray(X)), ("sparse", some)):
    found["lasso " + name] = hawser.train("lasso", data[mine], y[mine], weights=numpy.arange(1.0, 201.0)[mine], lambda_=0.01, **how).coefficients
    found["multitask " + name] = hawser.train("multitask", data[mine], numpy.column_stack([y, X[:, 2] - y, y**2])[mine], lambda_=0.01, **how).coefficients
    found["kmeans " + name] = hawser.train("kmeans", hawser.Dataset(data[mine], partitioned=bool(PARTS)), clusters=3, workers=4).centres
    found["softmax " + name] = hawser.train("softmax", data[mine], numpy.digitize(y, [-1, 1])[mine], validation=(X[:50], (y > 0)[:50]), **how).coefficients
for name in ("lasso", "svm"):
    found["file " + name] = hawser.train(name, path, workers=4, partitioned=bool(PARTS)).coefficients
keep(**found)
"""


def environment():
    """The environment of a program: without options, and without the place of this process."""
    return {key: value for key, value in os.environ.items() if not key.startswith("HAWSER_") or key == "HAWSER_LIBRARY"}


def start(tmp_path, program, *launcher):
    path = tmp_path / "program.py"
    if not path.exists() or path.read_text() != HEAD + program:  # one that starts may be reading it
        path.write_text(HEAD + program)
    launcher = launcher or (BINARY, "run", "-n", "2", "--")
    return subprocess.Popen([*launcher, sys.executable, path, tmp_path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env=environment())


def ended(child):
    """Waits for a program that must succeed; returns what it printed on standard output and error."""
    try:
        out, err = child.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        child.send_signal(signal.SIGTERM)
        pytest.fail(f"the program hangs: {child.communicate()}")
    assert child.returncode == 0, out + err
    return out, err


def run(tmp_path, program, *launcher):
    """Runs a program on nodes; returns what it prints on all of them."""
    return "".join(ended(start(tmp_path, program, *launcher)))


def run_here(folder, program):
    """Runs a program in this process, which has imported what another one would import first."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["program.py", str(folder)])
        exec(compile(HEAD + program, "program.py", "exec"), {"__name__": "__main__"})


def kept(folder, nodes):
    """What each node has kept."""
    return [dict(np.load(folder / f"{node}.npz")) for node in range(nodes)]


def compare(one, other):
    assert one.keys() == other.keys()
    for key, value in one.items():
        assert np.array_equal(value, other[key]), (key, value, other[key])


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """What one process finds."""
    pytest.importorskip("scipy")
    folder = tmp_path_factory.mktemp("alone")
    run_here(folder, TRAININGS.replace("PARTS", "0"))
    return kept(folder, 1)[0]


def test_estimators_have_the_bits_of_one_process(tmp_path):
    pytest.importorskip("sklearn")
    run_here(tmp_path, SKLEARN)
    one = kept(tmp_path, 1)[0]
    run(tmp_path, SKLEARN)
    for found in kept(tmp_path, 2):
        compare(found, one)
    assert np.array_equal(one["lasso"], one["again"])


def test_the_same_data_on_every_node(tmp_path, alone):
    run(tmp_path, TRAININGS.replace("PARTS", "0"), BINARY, "run", "-n", "3", "--")
    for found in kept(tmp_path, 3):
        compare(found, alone)


@pytest.mark.parametrize("nodes", [2, 3])
def test_rows_of_each_node(nodes, tmp_path, alone):
    run(tmp_path, TRAININGS.replace("PARTS", str(nodes)), BINARY, "run", "-n", str(nodes), "--")
    for found in kept(tmp_path, nodes):
        compare(found, alone)


TABLES = """
import pandas
cut = {1: [0, 90], 2: [0, 31, 90], 3: [0, 31, 60, 90]}[PARTS]
mine = slice(cut[node()], cut[node() + 1])
found = {}
for seed in range(3):
    draw = numpy.random.default_rng(seed)
    table = pandas.DataFrame({"n": draw.normal(size=90), "word": draw.choice(["red", 'blue, "x"', "two\\nlines"], 90), "flag": draw.random(90) < 0.5,
                              "count": pandas.array(draw.integers(0, 9, 90), "Int64"),
                              "day": pandas.to_datetime("2024-01-01") + pandas.to_timedelta(draw.integers(0, 900, 90), "D"),
                              "level": pandas.Categorical(draw.choice([3, 4], 90))})
    table.loc[table.index >= 60, "word"] = "last"  # a level that other nodes lack
    table.loc[draw.random(90) < 0.2, "count"] = None
    table.loc[draw.random(90) < 0.1, "word"] = None
    table.loc[table.index < 31, "day"] = table["day"].dt.normalize()
    table.loc[70, "day"] += pandas.Timedelta("5h")  # one node has a time of day
    number, weights = draw.normal(size=90) + (table["word"] == "last"), draw.uniform(0.5, 2.0, 90)
    answer = pandas.Series(numpy.where(number > 1, "yes", "no"), name="answer")
    answer[:20] = "maybe"
    path = os.path.join(sys.argv[1], "table.csv")
    for name, target in (("lasso", number.rename("t")), ("softmax", answer), ("kmeans", None)):
        how = {"workers": 4, "missing": "mean,level", **({"lambda_": 0.01} if name == "lasso" else {"clusters": 3} if name == "kmeans" else {})}
        part = None if target is None else target[mine]
        model = hawser.train(name, table[mine], part, weights=None if name == "kmeans" else weights[mine], partitioned=PARTS > 1, **how)
        found[f"{name} {seed}"] = numpy.frombuffer(model.to_bytes(), "u1")
        found[f"means {name} {seed}"] = model.tensor("missing.means")
        if PARTS == 1 and name != "kmeans":  # the text that the table is
            beside = {"weights": "w", "target": target.name}
            table.assign(w=weights, flag=table["flag"] * 1, **{target.name: target}).to_csv(path, index=False, na_rep="NA")
            text = hawser.train(name, path, categories="level", dates="day", **beside, **how)
            assert text.names == model.names and numpy.array_equal(text.coefficients, model.coefficients)
            assert numpy.array_equal(text.predict(table), model.predict(table)) and numpy.array_equal(model.predict(path), text.predict(path))
keep(**found)
"""


def test_tables_of_each_node_have_the_words_of_all(tmp_path):
    pytest.importorskip("pandas")
    run_here(tmp_path, TABLES.replace("PARTS", "1"))
    alone, = kept(tmp_path, 1)
    for nodes in (2, 3):
        run(tmp_path, TABLES.replace("PARTS", str(nodes)), BINARY, "run", "-n", str(nodes), "--")
        for found in kept(tmp_path, nodes):
            assert all(np.array_equal(found[key], alone[key]) for key in alone), [key for key in alone if not np.array_equal(found[key], alone[key])]


def test_tables_of_nodes_that_differ_are_refused(tmp_path):
    pytest.importorskip("pandas")
    out = run(tmp_path, """
import pandas
with hawser.Cluster(join_timeout=30) as cluster:
    words = pandas.DataFrame({"a": ["x", "y"] * 5, "b": numpy.arange(10.0)})
    other, target = [words, words.rename(columns={"b": "c"})][cluster.node], numpy.arange(10.0)
    half = [words, words[["b"]]][cluster.node]
    kind = [words, words.assign(b="z")][cluster.node]
    for call in (lambda: hawser.train("lasso", other, target, partitioned=True), lambda: hawser.train("lasso", half, target, partitioned=True),
                 lambda: hawser.train("lasso", kind, target, partitioned=True),
                 lambda: hawser.train("lasso", words, target, partitioned=True, missing=["drop", "zero"][cluster.node]),
                 lambda: hawser.train("lasso", words, target, partitioned=True, validation=(words, target))):
        try:
            call()
            print("trained")
        except ValueError as error:
            sys.stdout.write(f"refused{cluster.node}: {error}\\n")
    hawser.train("lasso", words, target, partitioned=True, workers=2)
""", BINARY, "run", "-n", "2", "--")
    lines = [line for line in out.splitlines() if "refused" in line]
    assert len(lines) == 10 and "trained" not in out, out
    for text in ("the list of columns is", "'c' (numbers)", "'b' (words)", "'missing': 'zero'", "validation: a table with words"):
        assert any(text in line for line in lines), (text, out)


def test_nodes_that_differ_are_refused_and_go_on(tmp_path):
    out = run(tmp_path, """
with hawser.Cluster(join_timeout=30) as cluster:
    assert cluster.nodes == len(cluster.view.members) == 2 and cluster.node == node() and len(cluster.token) == 32
    mine = 1.0 + cluster.node
    for call in (lambda: hawser.train("lasso", X * mine, y), lambda: hawser.train("lasso", X[cluster.node:], y[cluster.node:]),
                 lambda: hawser.train("lasso", X, y, l1_ratio=mine / 2), lambda: hawser.train(["lasso", "linear"][cluster.node], X, y),
                 lambda: hawser.train("lasso", X, y, partitioned=cluster.node == 1),
                 lambda: hawser.train("lasso", X, y, workers=2 + cluster.node),
                 lambda: hawser.train("lasso", X, y, init=[None, start][cluster.node])):
        start = hawser.train("lasso", X, y, workers=2)
        try:
            call()
        except (ValueError, hawser.BadProgram) as error:
            print(f"refused{cluster.node}:", error)
    start = hawser.train("lasso", X, y, workers=2)
try:
    hawser.train("lasso", X, y)
except hawser.BadArgument as error:
    print(f"refused{cluster.node}:", error)
keep(found=start.coefficients, alone=hawser.train("lasso", X, y, workers=2, alone=True).coefficients)
""")
    for node in (0, 1):
        lines = [line.split(": ", 1)[1] for line in out.splitlines() if f"refused{node}:" in line]
        for line, text in zip(lines, ("nodes 0 and 1 have other numbers", "node 1 has 199; pass the same data", "option l1-ratio = 1.0' there",
                                      "the algorithm is linear on node 1", "the kind of data", "workers", "digest of init",
                                      "has left its nodes"), strict=True):
            assert text in line
        assert "with partitioned=True" in lines[0] and "hawser_job" not in "".join(lines)
    first, second = kept(tmp_path, 2)
    compare(first, second)
    assert np.array_equal(first["found"], first["alone"])


def test_children_of_a_node_are_alone(tmp_path):
    """Processes of multiprocessing, of joblib (as in a grid search) and of subprocess."""
    pytest.importorskip("joblib")
    run(tmp_path, """
import multiprocessing, subprocess

def fit(_):
    return hawser.train("lasso", X, y, workers=1).coefficients

if __name__ == "__main__":
    first = hawser.train("lasso", X, y, workers=2)  # joins
    found = {"whole": first.coefficients}
    for method in ("fork", "spawn"):
        with multiprocessing.get_context(method).Pool(1) as pool:
            found[method] = pool.map(fit, [0])[0]
    import joblib
    found["joblib"], other = joblib.Parallel(n_jobs=2)(joblib.delayed(fit)(each) for each in (0, 1))
    assert (found["joblib"] == other).all()
    program = "import sys, hawser, numpy; print(hawser.Cluster().nodes)"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "1\\n"
    keep(**found)
""")
    first, second = kept(tmp_path, 2)
    compare(first, second)
    for method in ("fork", "spawn", "joblib"):
        assert np.allclose(first[method], first["whole"], atol=1e-3)


LONG = """
begun = []
def progress(now):
    if now["clocks"] > 0 and not begun:
        begun.append(now)
        print("begun", flush=True)
try:
    hawser.train("linear", X, y, epochs=1e9, solver="minibatch", workers=2, progress=progress)
except hawser.Interrupted as stopped:
    keep(found=stopped.model.coefficients, reason=stopped.model.training.stop_reason)
"""


def test_ctrl_c_ends_all_nodes_with_the_same_model(tmp_path):
    child = start(tmp_path, LONG)
    assert child.stdout.readline() == "begun\n"
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=60)
    first, second = kept(tmp_path, 2)
    compare(first, second)
    assert first["reason"] == "signal"


def test_an_interrupt_of_one_node_ends_all(tmp_path):
    program = LONG.replace('print("begun", flush=True)', "os.kill(os.getpid(), 2) if node() == 0 else None")
    run(tmp_path, program)
    compare(*kept(tmp_path, 2))


def test_ctrl_c_ends_the_wait_for_another_node(tmp_path):
    child = start(tmp_path, """
import time
try:
    hawser.train("lasso", X, y)
    if node() == 0:
        print("begun", flush=True)
        hawser.train("lasso", X, y)
    for _ in range(600):  # a signal that comes just before a sleep is seen after it
        time.sleep(0.1)
except KeyboardInterrupt as stopped:
    keep(found=node() == 1 or getattr(stopped, "model", None) is None)
""")
    assert child.stdout.readline() == "begun\n"
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=30)
    assert all(found["found"] for found in kept(tmp_path, 2))


def test_a_node_that_ends_is_named(tmp_path):
    out = run(tmp_path, """
hawser.train("lasso", X, y)
if node() == 0:
    for _ in range(2):
        try:
            hawser.train("lasso", X, y)
        except hawser.Error as error:
            print("refused:", error)
""")
    lines = [line for line in out.splitlines() if "refused:" in line]
    assert len(lines) == 2 and all("node 1" in line for line in lines)


def test_a_lost_node_leaves_the_finished_members_of_a_path(tmp_path):
    child = start(tmp_path, """
def watch(now):
    if node() == 0 and now.get("lambda", 1) < 1e-5:
        open(os.path.join(sys.argv[1], "last"), "w").close()

def leave():
    while not os.path.exists(os.path.join(sys.argv[1], "last")):
        time.sleep(0.02)
    os._exit(0)

import threading, time
if node() == 1:
    threading.Thread(target=leave, daemon=True).start()
how = {"workers": 2, "tol": 1e-14, "exchange_every": 1}
try:
    hawser.train("lasso", X, y, path=[0.4, 0.1, 1e-6], slow="1:60", progress=watch, failure_timeout=2, **how)
except hawser.PeerLost as lost:
    path, alone = lost.model.path, hawser.train("lasso", X, y, path=[0.4, 0.1], alone=True, workers=1)
    keep(values=path.values, close=numpy.allclose(path.coefficients, alone.path.coefficients, atol=1e-4), planned=path.planned, ended=path.ended,
         whole=alone.path.planned == 2 and alone.path.ended is None)
""")
    child.communicate(timeout=60)
    found = np.load(tmp_path / "0.npz")
    assert found["values"].tolist() == [0.4, 0.1] and found["close"] and found["planned"] == 3 and found["ended"] == "node-lost" and found["whole"]


def test_the_reason_of_a_refused_training_is_none_for_a_later_end(tmp_path):
    out = run(tmp_path, """
try:
    hawser.train("lasso", X * (1 + node()), y)
except hawser.BadArgument:
    pass
if node() == 0:
    try:
        hawser.train("lasso", X, y)
    except hawser.PeerLost as error:
        print("refused:", error)
""")
    line, = [line for line in out.splitlines() if "refused:" in line]
    assert "has left the cluster after 1 job" in line and "other numbers" not in line


@pytest.fixture
def port():
    """A port that no other process is given before a node listens on it."""
    with reserved_port("127.0.0.1", None) as held:
        yield held


def test_nodes_join_by_hand(tmp_path, port):
    program = f"""
place = [dict(listen=2, port_range={port}), dict(join="127.0.0.1:{port}")][node()]
with hawser.Cluster(key=b"0123456789abcdef", interface="127.0.0.1", join_timeout=60, **place) as cluster:
    keep(found=hawser.train("lasso", X, y, workers=2).coefficients, again=hawser.train("lasso", X, y, workers=2).coefficients,
         node=cluster.node, token=cluster.token)
"""
    children = [start(tmp_path, program, "env", f"BY_HAND={node}") for node in (0, 1)]
    for child in children:
        out, err = child.communicate(timeout=60)
        assert child.returncode == 0, out + err
    first, second = kept(tmp_path, 2)
    assert (first.pop("node"), second.pop("node")) == (0, 1)
    compare(first, second)
    assert np.array_equal(first["found"], first["again"])


def test_nodes_have_the_numbers_that_they_ask_for(tmp_path, port):
    program = f"""
place = dict(listen=3, port_range={port}) if node() == 0 else dict(join="127.0.0.1:{port}", number=node() % 5)
try:
    with hawser.Cluster(key=b"0123456789abcdef", interface="127.0.0.1", join_timeout=60, **place) as cluster:
        keep(node=cluster.node)
except hawser.PeerLost as error:
    print("refused:", error)
"""
    # Node 1 begins when node 2 has, so it would be numbered 2 if it arrived later; 7 asks for the number 2, and 3 for one too many.
    children = {node: start(tmp_path, program, "env", f"BY_HAND={node}") for node in (0, 3, 2, 7)}
    too_many = "".join(children[3].communicate(timeout=60))
    while children[2].poll() is None and children[7].poll() is None:
        time.sleep(0.05)
    twice = "".join("".join(children[node].communicate()) for node in (2, 7) if children[node].poll() is not None)
    assert "its 3 nodes already" in too_many and "node 2 is here already" in twice, (too_many, twice)
    children[1] = start(tmp_path, program, "env", "BY_HAND=1")
    for child in children.values():
        child.wait(60)
    assert [int(np.load(tmp_path / f"{node}.npz")["node"]) for node in (0, 1)] == [0, 1]
    assert sum((tmp_path / f"{node}.npz").exists() for node in (2, 7)) == 1


def test_mpirun_starts_nodes(tmp_path):
    mpirun = shutil.which("mpirun.openmpi") or shutil.which("mpirun")
    if mpirun is None or "(Open" not in subprocess.run([mpirun, "--version"], capture_output=True, text=True).stdout:
        pytest.skip("Open MPI's mpirun is not installed")
    program = f"""
import subprocess
found = hawser.train('lasso', X, y, workers=2).coefficients
path = os.path.join(sys.argv[1], f"{{node()}}.csv")
numpy.savetxt(path, X, delimiter=",")
command = [{BINARY!r}, "train", "kmeans", path, "--clusters", "2", "--json", "-q", "-o", path + ".model"]  # a child of a node: it is alone
child = subprocess.run(command, capture_output=True, text=True)
assert child.returncode == 0 and '"nodes":1,' in child.stdout, child.stdout + child.stderr
keep(found=found, nodes=hawser._cluster._own.nodes)
"""
    child = start(tmp_path, program, "env",
                  "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", mpirun, "--oversubscribe", "-n", "2")
    out, err = child.communicate(timeout=120)
    if "build it with libpmix-dev" in err:
        pytest.skip("this Hawser was built without PMIx")
    assert child.returncode == 0, out + err
    first, second = kept(tmp_path, 2)
    compare(first, second)
    assert first["nodes"] == 2
