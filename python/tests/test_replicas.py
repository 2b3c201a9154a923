"""Replicas and their vectors: numbers beside numpy's, memory in place, waits and Ctrl-C, and everything that is refused."""
import contextlib
import os
import pickle
import threading

import numpy as np
import pytest
import test_nodes

import hawser
from hawser._lent import memory_of, writable_memory_of

needs_command = pytest.mark.skipif(not test_nodes.BINARY, reason="HAWSER_BINARY is not set")


def run(tmp_path, program, nodes):
    return test_nodes.run(tmp_path, program, test_nodes.BINARY, "run", "-n", str(nodes), "--")


@pytest.fixture
def replicas():
    with hawser.Replicas() as opened:
        yield opened


# ------------------------------------------------------------------------------------------------------------ numbers ----

# Each case under bsp: what replica `node` has at first, and in which order it names rows, is drawn from (case, node, iteration).
ITERATIONS, COUNT, WIDTH = 4, 12, 3
CASES = [(dataflow, content, dtype, sparse, by) for dataflow in ("all", "halton", "tree", "ring") for content in ("values", "deltas")
         for dtype, sparse, by in (("f4", False, "average"), ("f8", False, "sum"), ("f8", True, "average"), ("f4", True, "sum"))]
CASES += [("all", "values", "f8", False, "replace"), ("tree", "values", "f4", True, "replace")]
DRAWN = f"""
CASES, ITERATIONS, COUNT, WIDTH = {CASES!r}, {ITERATIONS}, {COUNT}, {WIDTH}
def drawn(case, node, iteration, dtype):
    draw = numpy.random.default_rng([case, node, iteration])
    rows = numpy.flatnonzero(draw.random(COUNT // WIDTH) < 0.6)
    return draw.normal(size=COUNT).astype(dtype), rows
"""
BSP = DRAWN + """
found = {}
with hawser.Replicas() as replicas:
    ring = [(node, (node + 1) % replicas.nodes) for node in range(replicas.nodes)]
    for case, (dataflow, content, dtype, sparse, by) in enumerate(CASES):
        w = replicas.vector(f"w{case}", COUNT, dtype=dtype, content=content, dataflow=ring if dataflow == "ring" else dataflow, sync="bsp", sparse=sparse,
                            width=WIDTH if sparse else 1)
        array, history = drawn(case, replicas.node, 99, dtype)[0], []
        for t in range(ITERATIONS):
            update, rows = drawn(case, replicas.node, t, dtype)
            array = update if content == "deltas" else array + update
            if sparse:
                if content == "deltas":
                    array = numpy.where(numpy.isin(numpy.arange(COUNT) // WIDTH, rows), array, 0).astype(dtype)
                w.scatter(array.reshape(-1, WIDTH)[rows], iteration=t, keys=rows)
            else:
                w.scatter(array, iteration=t)
            w.gather(array, iteration=t, by=by)
            history.append(array.copy())
        w.finish(array)
        w.close()
        found[f"{case}"], found[f"end {case}"], found[f"sources {case}"] = numpy.array(history), array, numpy.array(w.sources)
keep(**found)
"""


def mixed(own, node, arrived, content, dtype, by):
    """What a gather makes of the own array and the dense arrays of in-neighbours, in the order of replicas."""
    terms = sorted([(node, own), *arrived], key=lambda term: term[0])
    if by == "replace":
        return max(arrived, key=lambda term: term[0])[1] if arrived else own
    total = np.zeros(COUNT, dtype)
    for place, (_, term) in enumerate(terms):
        total = term.copy() if place == 0 else total + term
    return total if by == "sum" else (total / np.dtype(dtype).type(len(terms))).astype(dtype)


def mixed_rows(own, node, arrived, content, dtype, by):
    """The same for rows that some in-neighbours have."""
    array = own.copy().reshape(-1, WIDTH)
    for row in range(COUNT // WIDTH):
        terms = {source: values.reshape(-1, WIDTH)[row] for source, values, rows in arrived if row in rows}
        if by == "replace":
            array[row] = terms[max(terms)] if terms else array[row]
            continue
        count = len(arrived) + 1 if content == "deltas" else len(terms) + 1
        total = None
        for _, term in sorted([*terms.items(), (node, own.reshape(-1, WIDTH)[row])], key=lambda term: term[0]):
            total = term.copy() if total is None else total + term
        array[row] = total if by == "sum" else total / np.dtype(dtype).type(count)
    return array.reshape(-1)


@needs_command
@pytest.mark.parametrize("nodes", [2, 5])
def test_bsp_has_the_bits_of_numpy(tmp_path, nodes):
    run(tmp_path, BSP, nodes)
    found = test_nodes.kept(tmp_path, nodes)
    names = {}
    exec("import numpy\n" + DRAWN, names)
    drawn = names["drawn"]
    for case, (dataflow, content, dtype, sparse, by) in enumerate(CASES):
        sources = [set(map(int, each[f"sources {case}"])) for each in found]
        if dataflow in ("all", "ring"):
            assert sources == [set(range(nodes)) - {node} if dataflow == "all" else {(node - 1) % nodes} for node in range(nodes)]
        arrays = [drawn(case, node, 99, dtype)[0] for node in range(nodes)]
        held = [set() for _ in range(nodes)]
        for t in range(ITERATIONS):
            updates = [drawn(case, node, t, dtype) for node in range(nodes)]
            arrays = [update if content == "deltas" else array + update for array, (update, _) in zip(arrays, updates)]
            if sparse and content == "deltas":
                arrays = [np.where(np.isin(np.arange(COUNT) // WIDTH, rows), array, 0).astype(dtype) for array, (_, rows) in zip(arrays, updates)]
            if sparse:
                after = [mixed_rows(arrays[node], node, [(one, arrays[one], updates[one][1]) for one in sources[node]], content, dtype, by)
                         for node in range(nodes)]
                for node in range(nodes):
                    held[node].update(*(updates[one][1] for one in {node, *sources[node]}))
            else:
                after = [mixed(arrays[node], node, [(one, arrays[one]) for one in sources[node]], content, dtype, by) for node in range(nodes)]
            arrays = after
            for node in range(nodes):
                np.testing.assert_array_equal(found[node][str(case)][t], arrays[node], f"{CASES[case]} node {node} iteration {t}")
        ends = [found[node][f"end {case}"] for node in range(nodes)]
        if content == "values" and not sparse:
            assert all(np.array_equal(end, ends[0]) for end in ends)
            np.testing.assert_allclose(ends[0], np.mean(np.array(arrays, "f8"), axis=0), rtol=1e-5 if dtype == "f4" else 1e-12, atol=1e-6)
        if content == "values" and sparse:
            for row in range(COUNT // WIDTH):
                owners = [node for node in range(nodes) if row in held[node]]
                for node in range(nodes):
                    expected = np.mean([arrays[one].reshape(-1, WIDTH)[row].astype("f8") for one in owners], axis=0) if owners else arrays[node].reshape(-1, WIDTH)[row]
                    np.testing.assert_allclose(ends[node].reshape(-1, WIDTH)[row], expected, rtol=1e-4 if dtype == "f4" else 1e-11, atol=1e-5)


TAP = """
found = {}
with hawser.Replicas() as replicas:
    for sync in ("tap", "ssp:1"):
        for dataflow, sparse in (("halton", False), ("halton", True), ("servers", False), ("servers:1", True)):
            w = replicas.vector("sum", 8, content="deltas", dataflow=dataflow, sync=sync, sparse=sparse)
            draw, total, own = numpy.random.default_rng(replicas.node), numpy.zeros(8), numpy.zeros(8)
            for t in range(60 + 20 * (replicas.node if sync == "tap" else 0)):
                delta, rows = draw.integers(-9, 10, 8).astype(float), numpy.arange(8)
                if sparse:
                    rows = numpy.flatnonzero(draw.random(8) < 0.5)
                    delta[~numpy.isin(numpy.arange(8), rows)] = 0
                own += delta
                w.scatter(delta[rows], iteration=t, keys=rows if sparse else None)
                if sync != "tap" or draw.random() < 0.5:
                    w.gather(delta, iteration=t, by="sum")
                total += delta
            w.finish(total)
            w.close()
            case = f"{sync} {sparse} {dataflow}"
            found |= {f"total {case}": total, f"own {case}": own, f"sources {case}": numpy.array(w.sources)}
    # Under tap nothing is torn or invented.
    torn, last = [], []
    def look(array, arrival):
        if not (arrival.values == arrival.replica * 1000 + arrival.iteration).all() or arrival.values.shape != (10, 100) or arrival.scatters != 1:
            torn.append(arrival)
        array[0, 0] += 1
    w, array = replicas.vector("values", 1000, dtype="f4"), numpy.zeros((10, 100), "f4")
    for t in range(200):
        w.scatter(numpy.full((10, 100), replicas.node * 1000 + t, "f4"), iteration=t)
        w.gather(array, iteration=t, by=look)
    w.barrier()
    w.gather(array, iteration=199, by=lambda array, arrival: last.append(arrival))  # those that the loop has not gathered
    assert all(each.iteration == 199 for each in last) and not torn and w.figures["sent"] > 0, (last, torn)
keep(**found)
"""


@needs_command
def test_deltas_count_once_and_values_are_whole(tmp_path):
    run(tmp_path, TAP, 3)
    found = test_nodes.kept(tmp_path, 3)
    for each in found:
        for key in [key[6:] for key in each if key.startswith("total")]:
            sources = [one for one in range(3) if found[one] is not each] if "servers" in key else each[f"sources {key}"]
            expected = each[f"own {key}"] + sum(found[one][f"own {key}"] for one in sources)
            np.testing.assert_array_equal(each[f"total {key}"], expected, key)


# Replica `node` makes 5 + 2 node iterations over servers; deltas are whole numbers, so that sums are exact.
SERVED = """
def delta(node, iteration, dtype="f8"):
    return numpy.random.default_rng([node, iteration]).integers(-9, 10, 6).astype(dtype)
def last(node):
    return 5 + 2 * node
"""
OVER_SERVERS = SERVED + """
found = {}
with hawser.Replicas() as replicas:
    for dataflow, sync, by, dtype in (("servers", "bsp", "sum", "f8"), ("servers:1", "bsp", "average", "f4"), ("servers:2", "ssp:1", "sum", "f4"),
                                      ("servers", "ssp:0", "sum", "f8")):
        w, total, history = replicas.vector("w", 6, dtype=dtype, content="deltas", dataflow=dataflow, sync=sync), numpy.zeros(6, dtype), []
        for t in range(last(replicas.node)):
            array = delta(replicas.node, t, dtype)
            w.scatter(array, iteration=t)
            w.gather(array, iteration=t, by=by)
            history.append(array)
            total += array
        assert w.figures["sent"] == last(replicas.node), w.figures
        gathered = total.copy()
        w.finish(total)
        w.close()
        case = f"{dataflow} {sync} {by}"
        found |= {f"history {case}": numpy.array(history), f"rest {case}": total - gathered}
    w = replicas.vector("w", 6, content="deltas", dataflow="servers", sync="ssp:1")
    w.scatter(numpy.ones(6), iteration=0)
    for call, text in ((lambda: w.gather(numpy.ones(6), iteration=0, by="average"), "or under bsp by"),
                       (lambda: w.gather(numpy.ones(6), iteration=0, by="replace"), "would lose deltas"),
                       (lambda: w.gather(numpy.ones(6), iteration=0, by=lambda array, arrival: None), "sum of all deltas alone"),
                       (lambda: w.scatter(numpy.ones(6), iteration=1), "iteration 0 is not gathered"),
                       (lambda: w.scatter(numpy.ones(5), iteration=1), "of shape (5,)"),
                       (lambda: w.gather(numpy.ones(6), iteration=1, by="sum"), "before its scatter")):
        try:
            call()
        except hawser.Error as error:
            assert text in str(error), error
        else:
            raise AssertionError(text)
    array = numpy.ones(6)
    w.gather(array, iteration=0, by="sum")
    w.finish(array)                                       # what was refused has sent nothing
    assert (array == replicas.nodes).all(), array
keep(**found)
"""


@needs_command
def test_servers_sum_by_iteration_and_loops_of_different_length(tmp_path):
    run(tmp_path, OVER_SERVERS, 3)
    found = test_nodes.kept(tmp_path, 3)
    names = {}
    exec("import numpy\n" + SERVED, names)
    delta, last = names["delta"], names["last"]
    for case in [key[8:] for key in found[0] if key.startswith("history")]:
        for node, each in enumerate(found):
            gathered, whole = each[f"history {case}"], sum(delta(one, t) for one in range(3) for t in range(last(one)))
            for t in range(last(node) if "bsp" in case else 0):
                terms = [delta(one, t) for one in range(3) if t < last(one)]
                expected = sum(terms) / (len(terms) if "average" in case else 1)
                np.testing.assert_allclose(gathered[t], expected, rtol=1e-6 if "average" in case else 0, err_msg=f"{case}, replica {node}, iteration {t}")
            least = sum(delta(one, t) for one in range(3) for t in range(last(node), last(one)))  # no gather has these
            if "bsp" in case:
                np.testing.assert_array_equal(each[f"rest {case}"], least, f"{case}, replica {node}")
            else:
                np.testing.assert_array_equal(gathered.sum(axis=0) + each[f"rest {case}"], whole, f"{case}, replica {node}")


@needs_command
def test_means_barriers_and_rows_of_a_file(tmp_path):
    pytest.importorskip("scipy")
    draw = np.random.default_rng(1)
    table = np.round(draw.normal(size=(10, 4)), 3)
    np.savetxt(tmp_path / "dense.csv", table, delimiter=",", header="y,a,b,c", comments="", fmt="%.3f")
    lines = [f"{row[0]:g} " + " ".join(f"{place}:{value:g}" for place, value in enumerate(row[1:], 1) if value > 0) for row in table]
    (tmp_path / "sparse.svm").write_text("\n".join(lines) + "\n")
    (tmp_path / "words.csv").write_text("colour,x\n" + "".join(f"{word},{place}\n" for place, word in enumerate(["red", "blue", "green", "red"])))
    out = run(tmp_path, """
with hawser.Replicas() as replicas:
    dense, y = replicas.rows(os.path.join(sys.argv[1], "dense.csv"), target="y")
    sparse, z = replicas.rows(os.path.join(sys.argv[1], "sparse.svm"), type="f32")
    none = replicas.rows(os.path.join(sys.argv[1], "dense.csv"), target="none")
    words = replicas.rows(os.path.join(sys.argv[1], "words.csv"), target="colour")
    assert none[1] is None and none[0].shape[1] == 4 and sparse.dtype == numpy.float32
    mean = replicas.mean(numpy.full((2, 2), replicas.node + 1.0))
    assert replicas.mean(replicas.node) == 1.0 and isinstance(replicas.mean(1), float) and (mean == 2.0).all() and mean.shape == (2, 2)
    assert replicas.mean(numpy.float32(2)) == 2 and replicas.mean(numpy.zeros(0)).size == 0 and numpy.isnan(replicas.mean(numpy.nan))
    assert replicas.mean(numpy.zeros(3, "f4")).dtype == numpy.float32
    for call in (lambda: replicas.mean(numpy.zeros([3, 3, 4][replicas.node])), lambda: replicas.vector("w", 3 + replicas.node),
                 lambda: hawser.Store(), lambda: hawser.Replicas(), lambda: hawser.train("lasso", X, y)):
        try:
            call()
        except hawser.BadArgument as error:
            sys.stdout.write(f"refused: {error}\\n")
    replicas.barrier()
keep(dense=dense, y=y, sparse=sparse.toarray(), z=z, words=words[0], colours=words[1])
""", 3)
    found = test_nodes.kept(tmp_path, 3)
    assert [len(each["y"]) for each in found] == [3, 3, 4]
    whole = {key: np.concatenate([each[key] for each in found]) for key in found[0]}
    np.testing.assert_array_equal(np.column_stack([whole["y"], whole["dense"]]), table)
    np.testing.assert_array_equal(whole["sparse"], np.where(table[:, 1:] > 0, table[:, 1:], 0).astype("f4"))
    assert list(whole["colours"]) == ["red", "blue", "green", "red"] and whole["words"].ravel().tolist() == [0, 1, 2, 3]
    refused = [line.split("refused: ", 1)[1] for line in out.splitlines() if "refused: " in line]
    assert len(refused) == 15
    for text in ("hawser.mean of shape (3,)", "`count` is 3", "one training, hawser.Store or hawser.Replicas at a time"):
        assert sum(text in line for line in refused) >= 3, (text, refused)


@needs_command
def test_rounded_deltas_are_whole_in_the_end(tmp_path):
    """Each replica ends with the sum of what all have scattered, and has sent fewer bytes for it."""
    out = run(tmp_path, """
with hawser.Replicas() as replicas:
    for rounding in ("bf16", "f16", "int8"):
        w, array = replicas.vector("w", 1000, dtype="f4", content="deltas", sync="bsp", rounding=rounding), numpy.zeros(1000, "f4")
        for t in range(4):
            w.scatter(numpy.arange(1000) * (3 + 2 * replicas.node) + t, iteration=t)
            w.gather(array, iteration=t, by="sum")
        sent, other = w.figures["sent_bytes"], numpy.arange(1000) * (5 - 2 * replicas.node) * 4 + 6
        off = abs(array - other).max()
        w.finish(array)
        assert (array == other).all() and 0 < off < 5000 / 64, (rounding, off)
        assert sent == 4 * (1004 if rounding == "int8" else 2000), (rounding, sent)
        w.close()
    print("whole")
""", 2)
    assert out.count("whole") == 2


@needs_command
def test_local_sgd_mixes_models(tmp_path):
    """Over `all` under bsp each exchange makes the mean, so that a model that each replica moves by a constant ends at the mean of their moves."""
    pytest.importorskip("sklearn")
    out = run(tmp_path, """
class Parameter:  # as torch's
    def __init__(self, array):
        self.array = array
    def detach(self):
        return self
    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)
    def __dlpack_device__(self):
        return self.array.__dlpack_device__()
class Module:
    def __init__(self, arrays):
        self.arrays = arrays
    def parameters(self):
        return (Parameter(array) for array in self.arrays)

with hawser.LocalSGD(dataflow="all", every=3) as mixing:
    for make in (list, lambda arrays: dict(enumerate(arrays)), Module):
        arrays = [numpy.zeros((4, 3), "f4"), numpy.zeros(5)]
        model = make(arrays)
        for t in range(1, 11):
            for array in arrays:
                array += mixing.node + 1
            assert mixing.step(model) == (t % 3 == 0)
            if t % 3 == 0:
                assert all((array == 2 * t).all() for array in arrays), arrays
        assert [vector.dtype for vector in mixing.vectors] == ["f4", "f8"] and len(mixing.vectors[0]) == 12
        mixing.finish(model)
        assert all((array == 20).all() for array in arrays), arrays
    one = numpy.full(3, mixing.node, "f4")
    mixing.step(one)
    with hawser.LocalSGD(sync="tap", replicas=mixing.replicas) as inner:  # along a graph
        assert inner.step(one) and inner.vectors[0].sources == mixing.replicas.vector("h", 1, dataflow="halton").sources
        try:
            inner.step([one, one])
        except hawser.BadArgument as error:
            sys.stdout.write(f"refused: {error}\\n")
        inner.finish(one)
    from sklearn.linear_model import SGDClassifier
    learner, labels = SGDClassifier(random_state=0), y > 0
    for t in range(20):
        learner.partial_fit(X[mixing.node::mixing.nodes], labels[mixing.node::mixing.nodes], classes=[False, True])
        mixing.step(learner)
    mixing.finish(learner)
    assert learner.score(X, labels) > 0.9
    keep(coef=learner.coef_, one=one)
""", 3)
    first, *others = test_nodes.kept(tmp_path, 3)
    assert all(np.array_equal(other[key], first[key]) for other in others for key in first) and 0 <= first["one"][0] <= 2
    assert out.count("refused: the model has 2 arrays, and had 1") == 3


@pytest.mark.parametrize("model, text", [
    (3, "a int is no model"), ("ab", "a str is no model"), ([], "has no arrays"), ([[1.0]], "array 0 of the model is a list"),
    ([np.zeros(2, "i8")], "float64 or float32, and not int64"), (None, "a NoneType is no model"),
])
def test_models_are_refused(replicas, model, text):
    with hawser.LocalSGD(replicas=replicas) as mixing, pytest.raises(hawser.BadArgument, match=text):
        mixing.step(model)


def test_two_models_of_the_same_replicas_are_mixed_beside_each_other(replicas):
    first, second = np.ones(2), np.ones(3, "f4")
    with pytest.raises(ZeroDivisionError), hawser.LocalSGD(replicas=replicas) as one, hawser.LocalSGD(replicas=replicas) as two:
        with pytest.raises(hawser.BadArgument, match="array 1 of the model: models have float64 or float32, and not int64"):
            one.step([first, np.zeros(2, "i8")])
        assert one.step(first) and two.step(second)
        left = one.vectors[0]
        raise ZeroDivisionError
    with pytest.raises(hawser.BadArgument, match="was closed"):  # so that other replicas do not wait for it
        left.scatter(first, iteration=9)


def test_arguments_of_local_sgd_are_refused(replicas):
    for given, text in (({"every": 0}, "every is 0"), ({"timeout": 3}, "timeout: an option of hawser.Replicas"), ({"replicas": None, "rate": "x"}, "rate"),
                        ({"replicas": 3}, "replicas is 3, and must be")):
        with pytest.raises(hawser.Error, match=text):
            hawser.LocalSGD(**{"replicas": replicas, **given})


# -------------------------------------------------------------------------------------------------------------- waits ----

@needs_command
def test_ctrl_c_ends_a_wait_and_the_call_can_be_made_again(tmp_path):
    os.mkfifo(tmp_path / "go")
    out = run(tmp_path, """
import signal, threading, time
path = os.path.join(sys.argv[1], "go")
with hawser.Replicas() as replicas:
    w, array = replicas.vector("w", 2, sync="bsp"), numpy.full(2, replicas.node + 1.0)
    beside, other = replicas.vector("beside", 1, sync="bsp"), numpy.zeros(1)
    if replicas.node == 0:
        w.scatter(array, iteration=0)
        beside.scatter(other, iteration=0)
        thread = threading.Thread(target=lambda: beside.gather(other, iteration=0, by="sum"))
        thread.start()  # waits meanwhile, and is not ended
        def press(main=threading.get_ident()):
            while not any(each.name == "hawser" for each in threading.enumerate()):  # the thread that waits for the main one
                time.sleep(0.001)
            signal.pthread_kill(main, signal.SIGINT)
        threading.Thread(target=press).start()
        try:
            w.gather(array, iteration=0)
            print("gathered")
        except KeyboardInterrupt:
            print("interrupted", array)
        open(path, "w").close()
        w.gather(array, iteration=0)
        thread.join()
        print("both", array, other)
    else:
        open(path).close()
        w.scatter(array, iteration=0)
        beside.scatter(other + 5, iteration=0)
        w.gather(array, iteration=0)
        beside.gather(other, iteration=0)
    w.finish(array)
    beside.finish(other)
""", 2)
    assert "interrupted [1. 1.]" in out and "both [1.5 1.5] [5.]" in out and "gathered" not in out, out


@needs_command
@pytest.mark.parametrize("sync", ["tap", "bsp"])
def test_a_killed_server_ends_the_others_by_its_name(tmp_path, sync):
    started = test_nodes.start(tmp_path, f"""
import os, signal
try:
    with hawser.Replicas() as replicas:
        w, array = replicas.vector("w", 3, content="deltas", dataflow="servers", sync={sync!r}), numpy.zeros(3)
        for t in range(1000000):
            w.scatter(numpy.ones(3), iteration=t)
            if t == 3 and replicas.node == 1:
                os.kill(os.getpid(), signal.SIGKILL)
            w.gather(array, iteration=t, by="sum")
except hawser.PeerLost as error:
    sys.stdout.write(f"{{replicas.node}} lost: {{error}}\\n")
""", test_nodes.BINARY, "run", "-n", "3", "--")
    out = "".join(started.communicate(timeout=120))
    for node in (0, 2):
        assert any(f"{node} lost: " in line and "node 1 (node-1) was lost" in line for line in out.splitlines()), out


@needs_command
def test_a_replica_that_fails_ends_the_others(tmp_path):
    out = run(tmp_path, """
for how in ("raises", "closes"):
    try:
        with hawser.Replicas() as replicas:
            w, array = replicas.vector("w", 2, sync="bsp"), numpy.zeros(2)
            if replicas.node == 1 and how == "raises":
                raise ValueError("mine")
            if replicas.node == 1:
                w.close()
            else:
                w.scatter(array, iteration=0)
                w.gather(array, iteration=0)
            replicas.barrier()
    except (ValueError, hawser.PeerLost) as error:
        sys.stdout.write(f"{how}{replicas.node} {type(error).__name__}: {error}\\n")
    if how == "raises":
        break
""", 2)
    assert "raises1 ValueError: mine" in out and "raises0 PeerLost: " in out and "node 1" in out, out


@needs_command
def test_a_function_cannot_call_its_vector(tmp_path):
    out = run(tmp_path, """
with hawser.Replicas() as replicas:
    w, other, array = replicas.vector("w", 2, sync="bsp"), replicas.vector("other", 2), numpy.zeros(2)
    def wrong(mine, arrival):
        other.scatter(mine, iteration=0)
        w.scatter(mine, iteration=1)
    w.scatter(array, iteration=0)
    try:
        w.gather(array, iteration=0, by=wrong)
    except hawser.BadArgument as error:
        sys.stdout.write(f"refused: {error}\\n")
""", 2)
    assert out.count("refused: vector 'w': a function of its gather calls it") == 2, out


def test_a_function_gets_arrivals_and_its_exception_is_raised(tmp_path):
    if not test_nodes.BINARY:
        pytest.skip("HAWSER_BINARY is not set")
    out = run(tmp_path, """
class Mine(BaseException):
    pass
def fail(array, arrival):
    raise Mine("in the function")
with hawser.Replicas() as replicas:
    w, array, seen = replicas.vector("w", 6, sync="bsp"), numpy.arange(12.0).reshape(2, 6)[:, ::2], []
    w.scatter(array, iteration=3)
    w.gather(array, iteration=3, by=lambda array, arrival: seen.append(arrival))
    assert [each.replica for each in seen] == list(w.sources) and all(each.values.shape == (2, 3) and each.iteration == 3 for each in seen)
    w.scatter(array, iteration=4)
    w.gather(array, iteration=4, by=lambda array, arrival: array + arrival.values)
    assert (array == 3 * numpy.arange(12.0).reshape(2, 6)[:, ::2]).all() and array.base is not None
    w.scatter(array, iteration=5)
    for call, text in ((lambda: w.gather(array, iteration=5, by=fail), "in the function"), (lambda: w.scatter(array, iteration=6), "a call on it that failed")):
        try:
            call()
            print("no error")
        except (Mine, hawser.BadArgument) as error:
            assert text in str(error), error
    sparse = replicas.vector("s", 4, sync="bsp", sparse=True, width=2)
    sparse.scatter([[1.0, 2.0]], keys=[1], iteration=0)
    sparse.gather(numpy.zeros(4), iteration=0, by=lambda array, arrival: print(f"sparse {arrival.keys} {arrival.values}\\n", end=""))
    sparse.finish(numpy.zeros(4))
    replicas.barrier()
""", 3)
    assert "no error" not in out and out.count("sparse [1] [[1. 2.]]") == 6, out


# ------------------------------------------------------------------------------------------------------------- memory ----

class Old:
    """An array of another library, of the DLPack before 1.0."""

    def __init__(self, array, device=1):
        self.array, self.device = array, device

    def __dlpack__(self, stream=None):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return self.device, 0


class New(Old):
    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)


def test_arrays_are_used_where_they_are(replicas):
    w = replicas.vector("w", 6, dtype="f4")
    array = np.arange(6, dtype="f4")
    for given in (array, array.reshape(2, 3), Old(array), New(array)):
        assert np.shares_memory(w._take(given, "x")[1], array) and np.shares_memory(memory_of(given, "x"), array)
        view = writable_memory_of(given, "x")
        assert view.flags.writeable
        view.flat[0] += 1
    assert array[0] == 4
    for t, given in enumerate((array, array[::-1], np.arange(6), array.astype("f8"), [1, 2, 3, 4, 5, 6], Old(array), np.asfortranarray(array.reshape(2, 3)))):
        w.scatter(given, iteration=t)
    for given in (array[::-1], np.asfortranarray(array.reshape(2, 3)), array):
        w.gather(given, iteration=6)
    w.finish(New(array))
    assert array.tolist() == [4, 1, 2, 3, 4, 5]


def test_vectors_follow_each_other(replicas):
    for _ in range(2):
        w = replicas.vector("w", 3)
        w.close()
        w.close()
        with pytest.raises(hawser.BadArgument, match="vector 'w' was closed"):
            w.scatter([1, 2, 3], iteration=0)
    w = replicas.vector("w", 3, content="deltas", sync="ssp:2")
    assert repr(w) == "<hawser.Vector 'w': 3 x float64, deltas from 0 replicas>" and len(w) == 3 and w.sources == w.receivers == ()
    assert w.figures["sent"] == 0 and "replica 0" in repr(replicas)
    for each in (w, replicas):
        with pytest.raises(hawser.BadArgument, match="belongs to its process"):
            pickle.dumps(each)


def test_closed_replicas_refuse_calls_and_are_reported():
    with hawser.Replicas() as replicas:
        w = replicas.vector("w", 1)
    replicas.close()
    for call in (lambda: w.scatter([1], iteration=0), lambda: replicas.vector("v", 1), replicas.barrier, lambda: replicas.mean(1)):
        with pytest.raises(hawser.BadArgument, match="was closed|were closed"):
            call()
    assert "closed" in repr(replicas)
    left = hawser.Replicas()
    with pytest.warns(ResourceWarning, match="were not closed"):
        left.__del__()


def test_threads_share_replicas(replicas):
    vectors = [replicas.vector(f"w{place}", 3) for place in range(3)]

    def loop(w):
        for t in range(50):
            w.scatter([t, t, t], iteration=t)
            w.gather(np.zeros(3), iteration=t)

    threads = [threading.Thread(target=loop, args=(w,)) for w in vectors[1:]]
    for each in threads:
        each.start()
    loop(vectors[0])
    for each in threads:
        each.join()
    assert all(w.figures["sent"] == 0 for w in vectors)


@pytest.mark.parametrize("call, text", [
    (lambda r, w: r.vector("", 3), "needs a name"),
    (lambda r, w: r.vector(3, 3), "name of a vector is 3"),
    (lambda r, w: r.vector("w", 3), "another open vector"),
    (lambda r, w: r.vector("v", 0), "count is 0"),
    (lambda r, w: r.vector("v", 2.5), "count is 2.5"),
    (lambda r, w: r.vector("v", 2, dtype="f2"), "float64 or float32, and not float16"),
    (lambda r, w: r.vector("v", 2, dtype="zz"), "'zz' is no type"),
    (lambda r, w: r.vector("v", 2, content="sums"), "must be values or deltas"),
    (lambda r, w: r.vector("v", 2, sync="ssp"), "expected tap, bsp, or ssp:S"),
    (lambda r, w: r.vector("v", 2, sync="bsp", waits=True), "`waits` is for tap"),
    (lambda r, w: r.vector("v", 2, dataflow="ring"), "expected all, halton, tree"),
    (lambda r, w: r.vector("v", 2, dataflow=[(0, 1, 2)]), "is a pair"),
    (lambda r, w: r.vector("v", 2, dataflow=["01"]), "is a pair"),
    (lambda r, w: r.vector("v", 2, dataflow=[(0, -1)]), "replica of an edge is -1"),
    (lambda r, w: r.vector("v", 2, dataflow=None), "dataflow is None, and must be"),
    (lambda r, w: r.vector("v", 2, dataflow={0: 1}), "dataflow is {0: 1}, and must be"),
    (lambda r, w: r.vector("v", 5, sparse=True, width=2), "no whole rows"),
    (lambda r, w: r.vector("v", 4, width=2), "for sparse vectors"),
    (lambda r, w: r.vector("v", 4, content="deltas", any_number=True), "`any_number` is for values"),
    (lambda r, w: w.scatter([1, 2], iteration=0), "and a scatter has 3 numbers"),
    (lambda r, w: w.scatter([1j, 2, 3], iteration=0), "values are complex128"),
    (lambda r, w: w.scatter(["a", "b", "c"], iteration=0), "values are <U1"),
    (lambda r, w: w.scatter([1, 2, np.nan], iteration=0), "number 2 of the scattered values is nan"),
    (lambda r, w: w.scatter([1, 2, 1e300], iteration=0), "is inf"),
    (lambda r, w: w.scatter([1, 2, 3], iteration=-1), "iteration is -1"),
    (lambda r, w: w.scatter([1, 2, 3], iteration=0, keys=[0]), "dense, and takes no keys"),
    (lambda r, w: w.scatter([1, 2, 3], iteration=0, to=0), "no edge to node 0"),
    (lambda r, w: w.scatter(np.ma.array([1.0, 2, 3], mask=[0, 1, 0]), iteration=0), "masked"),
    (lambda r, w: w.scatter(New(np.zeros(3, "f4"), device=2), iteration=0), "not in the memory of the processor"),
    (lambda r, w: w.gather(np.zeros(3, "f4"), iteration=0), "before its scatter"),
    (lambda r, w: w.gather(np.zeros(3), iteration=0), "this one is float64"),
    (lambda r, w: w.gather(np.zeros(4, "f4"), iteration=0), r"of shape \(4,\)"),
    (lambda r, w: w.gather([1, 2, 3], iteration=0), "is a list"),
    (lambda r, w: w.gather(np.broadcast_to(np.float32(1), 3), iteration=0), "read-only"),
    (lambda r, w: w.gather(np.zeros(3, "f4"), iteration=0, by="mean"), "no gather by 'mean'"),
    (lambda r, w: w.gather(np.zeros(3, "f4"), iteration=0, by=3), "by is 3"),
    (lambda r, w: w.finish(np.full(3, np.inf, "f4")), "array of a finish is inf"),
    (lambda r, w: r.vector("v", 3, content="deltas").gather(np.zeros(3), iteration=0, by="replace"), "would lose deltas"),
    (lambda r, w: r.vector("v", 3, sparse=True).scatter([1], iteration=0), "sparse: give keys"),
    (lambda r, w: r.vector("v", 3, sparse=True).scatter([1], keys=[0.5], iteration=0), "array of integers"),
    (lambda r, w: r.vector("v", 3, sparse=True).scatter([1], keys=[-1], iteration=0), "not negative"),
    (lambda r, w: r.vector("v", 3, sparse=True).scatter([1, 2], keys=[1, 1], iteration=0), "keys ascend"),
    (lambda r, w: r.vector("v", 3, sparse=True).scatter([1, 2], keys=[1], iteration=0), "a scatter has 1 numbers"),
    (lambda r, w: r.vector("v", 3, content="deltas", rounding="int4"), "no rounding 'int4'"),
    (lambda r, w: r.vector("v", 3, content="deltas", rounding=["bf16"]), "no rounding"),
    (lambda r, w: r.vector("v", 3, rounding="bf16"), "rounding to bf16 is for deltas"),
    (lambda r, w: r.vector("v", 3, content="deltas", dataflow="servers", rounding="f16"), "rounding to f16 is for edges"),
    (lambda r, w: r.vector("v", 3, dataflow="servers"), "values need edges"),
    (lambda r, w: r.vector("v", 3, content="deltas", dataflow="servers:2"), "K from 1 to 1"),
    (lambda r, w: r.vector("", 3), "needs a name"),
    (lambda r, w: r.vector("w" * 64, 3), "needs a name of 1 to 63 bytes"),
    (lambda r, w: r.vector("w", 3), "another open vector has this name"),
    (lambda r, w: r.vector(3, 3), "name"),
    (lambda r, w: r.mean("abc"), "has no mean"),
    (lambda r, w: r.mean([[1], [1, 2]]), "x is no array"),
    (lambda r, w: r.rows("none.csv", weights="w"), "weights: no option"),
    (lambda r, w: r.rows(np.zeros((2, 2))), "is no path"),
    (lambda r, w: r.rows("none.csv"), "cannot open"),
    (lambda r, w: hawser.Replicas(workers=2), "workers: no option"),
    (lambda r, w: hawser.Replicas(rank=2), "rank: no option"),
])
def test_mistakes_are_refused(replicas, call, text):
    w = replicas.vector("w", 3, dtype="f4")
    with pytest.raises(hawser.Error, match=text):
        call(replicas, w)


def test_a_forked_child_leaves_the_block_and_may_not_use_the_replicas():
    with hawser.Replicas() as replicas:
        child = os.fork()
        if child == 0:
            code = 1
            with contextlib.suppress(BaseException):
                with replicas:
                    pass
                try:
                    replicas.barrier()
                except hawser.BadArgument as error:
                    code = 0 if "which has forked this one" in str(error) else 2
            os._exit(code)
        assert os.waitpid(child, 0)[1] == 0
        assert replicas.mean(2.0) == 2.0
