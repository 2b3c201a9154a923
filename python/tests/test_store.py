"""The store: values, asyncio, threads, interrupts, nodes, stand-alone servers, and what is refused."""
import asyncio
import contextlib
import gc
import os
import signal
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import pytest
import test_nodes

import hawser
from hawser.programs.called import has_numba

BINARY = test_nodes.BINARY
needs_command = pytest.mark.skipif(not BINARY, reason="HAWSER_BINARY is not set")


OTHER = type("Queue", (), {})()  # of another store


def start(program, *launcher):
    return subprocess.Popen([*launcher, sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env=test_nodes.environment())


def run(program, *launcher):
    return test_nodes.ended(start(program, *launcher))[0]


@pytest.fixture
def store():
    with hawser.Store() as opened:
        yield opened


@pytest.fixture
def waiting():
    """A store of two workers, and a pull that waits for their first clocks."""
    with hawser.Store(workers=2) as opened:
        table = opened.table("w", 3)
        yield table, table.pull(least=1)
        end_clocks(table)


def end_clocks(table):
    for worker in (0, 1):
        table.end_clock(0, worker=worker)


# ------------------------------------------------------------------------------------------------------------ values ----


@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8"])
@pytest.mark.parametrize("sparse", [False, True])
def test_values_are_those_of_numpy(store, sparse, dtype, width):
    draw = np.random.default_rng(width)
    shape = (1000,) if width == 1 else (1000, width)
    table = store.table("w", None if sparse else range(50, 1050), dtype=dtype, width=width)
    expected = np.zeros(shape, dtype)
    for step in range(30):
        count = int(draw.integers(1, 300))
        rows = np.sort(draw.choice(1000, count, replace=False))
        values = draw.integers(-5, 5, (count, *shape[1:])).astype(dtype)
        keys = (rows + 50).astype([np.uint64, np.int64, np.int32, np.uint16][step % 4])
        task = table.push(values, keys if step % 2 else list(keys))
        expected[rows] += values
        assert np.array_equal(table.pull(keys, after=[task]).wait(), expected[rows])
    assert np.array_equal(table.pull(range(50, 1050)).wait(), expected)
    values = np.ones((10, *shape[1:]), dtype)
    out = np.empty_like(values)
    expected[20:30] += 1
    assert table.push_pull(values, range(70, 80), out=out).wait() is out
    assert np.array_equal(out, expected[20:30])
    assert sparse or np.array_equal(table.pull().wait(), expected)


def test_other_arrays_are_copied_and_contiguous_ones_are_not(store):
    table = store.table("w", 100, width=2, dtype="f4")
    lists = [np.arange(200.0).reshape(100, 2), np.arange(400, dtype="f4").reshape(100, 4)[:, ::2], np.arange(200, dtype=">i2").reshape(2, 100).T]
    expected = np.zeros((100, 2), "f4")
    for values in (*lists, 2.5):
        expected += np.asarray(values, "f4")
        task = table.push(values)
        if isinstance(values, np.ndarray):
            values[:] = 7  # the task has a copy
        task.wait()
    assert np.array_equal(table.pull().wait(), expected)
    request, kept = table._request(np.arange(3), 0, 0, ())
    values = np.zeros((3, 2), "f4")
    assert np.shares_memory(table._give(request, values), values)
    keys = np.arange(3, dtype=np.uint64)
    assert np.shares_memory(table._request(keys, 0, 0, ())[1][0], keys)


def test_functions_of_the_servers(store):
    update = np.array([1.0, -2.0])
    assigned = store.table("assigned", 2, function="assign")
    table = store.table("adagrad", 2, function="adagrad", parameters=[0.1, 1e-8])
    for scale in (1, 3):
        assigned.push(scale * update)
        table.push(scale * update)
    assert np.array_equal(assigned.pull().wait(), 3 * update)
    assert np.allclose(table.pull().wait(), -0.1 * np.sign(update) * (1 + 3 / np.sqrt(10)))


@pytest.mark.parametrize("call, text", [
    (lambda table: table.push(np.ones(4)), r"values of shape \(4,\) for 3 keys; it must be \(3,\)"),
    (lambda table: table.push(np.ones(3) * 1j), "float64, and the values are complex128"),
    (lambda table: table.push(["a", "b", "c"]), "the values are <U1"),
    (lambda table: table.push(np.ones(2), [0.5, 1]), "an array of integers"),
    (lambda table: table.push(np.ones(2), [[0, 1]]), "2 dimensions"),
    (lambda table: table.push(np.ones(2), [-1, 1]), "not negative"),
    (lambda table: table.push(np.ones(2), [1, -1]), "not negative"),
    (lambda table: table.push(np.ones(2), [1, 1]), "ascending, each once"),
    (lambda table: table.push(np.ones(2), [1, 3]), "key"),
    (lambda table: table.pull(range(2, 4)), "2"),
    (lambda table: table.pull(range(0, 3, 2)), "step 1"),
    (lambda table: table.pull(out=np.ones(3, "f4")), "contiguous, writable array of float64"),
    (lambda table: table.pull(out=np.ones(6)[::2]), "contiguous"),
    (lambda table: table.pull(out=np.ones((3, 1))), r"shape \(3,\)"),
    (lambda table: table.pull(out=np.broadcast_to(np.ones(1), 3)), "writable"),
    (lambda table: table.pull(worker=1), "no worker 1"),
    (lambda table: table.pull(after=[hawser.Task(table.store._queue, "push", ())]), "no task 0 yet"),
    (lambda table: table.store.table("w", 4), "another range of keys|exists"),
    (lambda table: table.store.table("x", 0), "number of keys is 0"),
    (lambda table: table.store.table("x", range(3, 9, 2)), "no range of keys"),
    (lambda table: table.store.table("x", 1.5), "number of keys is 1.5"),
    (lambda table: table.store.table("x", range(2**64, 2**64 + 3)), "no range of keys"),
    (lambda table: table.store.table("x", 3, width=2**32 + 1), "width is 4294967297, and must be a whole number from 1 to"),
    (lambda table: table.store.table("x", 3, data_centric=True, delay=-1), "delay is -1"),
    (lambda table: table.store.table("x", 3, staleness=-1), "staleness is -1"),
    (lambda table: table.store.table("x", 3, function="adagrad", parameters=["a", 1]), "a parameter is 'a', and must be a number"),
    (lambda table: table.store.table("x", 3, dtype="zz"), "'zz' is no type of numbers"),
    (lambda table: table.store.table(3, 3), "name of a table is 3"),
    (lambda table: table.store.find(None), "name of a table is None"),
    (lambda table: table.push(np.ma.array([1.0, 2, 3], mask=[0, 1, 0])), "values has masked values"),
    (lambda table: table.pull(np.ma.array([1, 2], mask=[0, 1])), "keys has masked values"),
    (lambda table: table.store.table("i", None, dtype="i8").push(np.array([2**63], np.uint64), [1]), "have 9223372036854775808, which is larger"),
    (lambda table: table.pull(least=-1), "least is -1, and must be a whole number from 0"),
    (lambda table: table.push(1.0, iteration=2**64), "iteration is 18446744073709551616"),
    (lambda table: table.push(1.0, worker=2**32), "worker is 4294967296"),
    (lambda table: table.end_clock(-1), "clock is -1"),
    (lambda table: table.inc(1.0, worker=-1), "worker is -1"),
    (lambda table: table.pull(range(2**64, 2**64 + 3)), "no ascending range"),
    (lambda table: table.store.table("s", None).pull(range(2**40)), "too many for a list"),
    (lambda table: table.push(1.0, after=[hawser.Task(OTHER, "push", ())]), "no task of this store"),
    (lambda table: table.push(1.0, after=[5]), "after has 5, which is no task"),
    (lambda table: (table.clock(), table.end_clock(0)), "by table.clock, so table.end_clock cannot"),
    (lambda table: hawser.Store(workers=-1), "workers is -1"),
    (lambda table: hawser.Store(cache_bytes="1GB"), "cache_bytes is '1GB'"),
    (lambda table: hawser.Store(functions=[3]), "3 is no ServerFunction; make it one with @hawser.server_function"),
    (lambda table: hawser.Store("127.0.0.1:1", key="0" * 16), "key is a str"),
    (lambda table: hawser.Cluster(number=-1), "number is -1"),
    (lambda table: table.store.table("x", dtype="f2"), "float64, float32 or int64, and not float16"),
    (lambda table: table.store.table("x", rounding="f8"), "no rounding 'f8'"),
    (lambda table: table.store.table("x", function="ad"), "no function 'ad'"),
    (lambda table: table.store.table("x", parameters=[1]), "takes 0 parameters"),
    (lambda table: table.store.find("nothing"), "no table 'nothing'"),
    (lambda table: hawser.Store(key=b"0" * 16), "servers at `at`"),
    (lambda table: hawser.Store(nodes=3), "neither an argument"),
])
def test_mistakes_are_refused(store, call, text):
    table = store.table("w", 3)
    with pytest.raises((hawser.BadArgument, hawser.BadOption), match=text):
        call(table)
    assert np.array_equal(table.pull().wait(), np.zeros(3))


def test_a_task_after_a_failed_one_fails_and_an_empty_list_does_nothing(store):
    table = store.table("w", 2)
    table.push([1e308, 1]).wait()
    failed = table.push([1e308, 1])
    with pytest.raises(hawser.NotFinite):
        failed.wait()
    with pytest.raises(hawser.NotFinite, match=f"task {failed.number}, which it waits for, failed"):
        table.pull([1], after=failed).wait()
    for keys in ([], range(0), np.empty(0, np.uint64)):
        table.push([], keys).wait()
        assert table.pull(keys).wait().shape == table.push_pull([], keys).wait().shape == table.get(keys).shape == (0,)
        table.inc([], keys)
    assert np.array_equal(table.pull().wait(), [1e308, 2])


def test_a_barrier_waits_for_all_tasks_and_raises_what_failed(store):
    table = store.table("w", 3)
    table.push([1, 2, 3])
    store.barrier()
    assert np.array_equal(table.pull().wait(), [1, 2, 3])
    table.push([1.7e308, 0, 0]).wait()
    table.push([1.7e308, 0, 0])
    with pytest.raises(hawser.NotFinite, match="table 'w': key 0"):
        store.barrier()
    store.barrier()


def test_parameters_are_refused_by_name(store):
    with pytest.raises(hawser.BadArgument, match=r"rate 0.1, epsilon 0\): epsilon must be"):
        store.table("a", 2, function="adagrad", parameters=0.1)
    soft = store.table("p", 3, function="proximal", parameters=[0.1, 0.5])
    assert np.allclose(soft.push_pull([-5.0, 4.0, 0.25]).wait(), [0.45, -0.35, 0])
    program = hawser.Program("p")
    with pytest.raises(hawser.BadProgram, match="1 parameters for function 'add', which takes 0"):
        program.stored("x", 3, function="add", parameters=[1])


def test_a_failed_push_is_an_error_of_its_own_task(store):
    table = store.table("w", 2)
    table.push([1e308, 1]).wait()
    failed, good = table.push([1e308, 1]), table.push([0, 1])
    for _ in range(2):
        with pytest.raises(hawser.NotFinite, match="table 'w': key 0"):
            failed.wait()
    with pytest.raises(hawser.NotFinite, match="not finite"):
        table.push([np.nan, 1])
    assert good.wait() is None and "failed" in repr(failed) and "done" in repr(good)
    assert np.array_equal(table.pull().wait(), [1e308, 3])
    store.wait_all()


def test_a_failure_that_no_one_has_seen_is_reported():
    with pytest.warns(RuntimeWarning, match="no one has waited for it .2 tasks.*: .*key 1"), hawser.Store() as store:
        table = store.table("w", 2)
        for _ in range(3):
            table.push([0, 1e308])
    with hawser.Store() as store:
        table = store.table("w", 2)
        table.push([0, 1e308])
        table.push([0, 1e308])
        with pytest.raises(hawser.NotFinite):
            store.wait_all()
        store.wait_all()


def test_ssp_tables(store):
    table = store.table("w", 4, staleness=1)
    for clock in range(5):
        table.inc([1.0, 2.0], [1, 3])
        assert np.array_equal(table.get(), np.array([0, 1, 0, 2]) * (clock + 1.0))
        table.clock()
    store.wait_all()
    assert np.array_equal(table.pull().wait(), [0, 5, 0, 10])
    held = store.table("held", 4, filter="significant", level=10)
    held.push(np.ones(4))
    assert not held.pull().wait().any()
    held.flush().wait()
    assert held.pull().wait().all() and store.figures["rows_held"] == 4


def test_tables_are_saved_and_loaded(tmp_path):
    with hawser.Store() as store:
        store.table("w", 5).push(np.arange(5.0)).wait()
        store.save(tmp_path / "tables")
    with hawser.Store() as store:
        table = store.table("w", 5)
        store.load(tmp_path / "tables")
        assert np.array_equal(store.find("w").pull().wait(), np.arange(5.0)) and len(table) == 5
        with pytest.raises(hawser.FileError):
            store.load(tmp_path / "none")


# ------------------------------------------------------------------------------------------------------------- waits ----


def test_arrays_live_as_long_as_the_task(waiting):
    table, task = waiting
    out, values = np.zeros(3), np.ones(3)
    alive = [weakref.ref(out), weakref.ref(values)]
    table.push(values, after=[table.pull(out=out, least=1)])
    del out, values
    gc.collect()
    assert all(each() is not None for each in alive)
    end_clocks(table)
    table.store.wait_all()
    gc.collect()
    assert not any(each() is not None for each in alive)
    assert np.array_equal(task.wait(), np.zeros(3)) and task.oldest == 1


def test_records_of_other_kinds_are_skipped(waiting):
    table, task = waiting
    queue = table.store._queue
    queue._record.kind, queue._record.task, queue._record.user = 99, task.number, next(iter(queue.tasks))
    assert not task.ended
    end_clocks(table)
    assert np.array_equal(task.wait(), np.zeros(3))


def test_a_wait_that_timed_out_can_be_made_again(waiting):
    table, task = waiting
    with pytest.raises(hawser.Timeout, match="the pull of 'w' has not ended for 0.01 s"):
        task.wait(0.01)
    with pytest.raises(hawser.Timeout):
        table.store.wait_all(timeout=0)
    with pytest.raises(hawser.BadArgument, match="has not ended"):
        task.oldest
    assert not task.ended and "in progress" in repr(task)
    end_clocks(table)
    assert np.array_equal(task.wait(), np.zeros(3))


def test_threads_and_loops_wait_at_once():
    """Whichever thread takes the records out, each wait ends, and with its own values."""
    with hawser.Store(workers=9) as store:
        table = store.table("w", 9)
        found = []

        def by_thread(worker):
            for clock in range(50):
                task = table.push([1.0], [worker])
                table.end_clock(clock, worker=worker)
                task.wait(60)
                found.append(table.pull(least=clock + 1).wait(60).min() > clock)

        async def by_coroutine(worker):
            for clock in range(50):
                task = table.push([1.0], [worker])
                table.end_clock(clock, worker=worker)
                await task
                found.append((await asyncio.wait_for(table.pull(least=clock + 1), 60)).min() > clock)

        async def coroutines(*workers):
            await asyncio.gather(*map(by_coroutine, workers))

        threads = [threading.Thread(target=by_thread, args=[worker]) for worker in (0, 1, 2)]
        threads += [threading.Thread(target=lambda some: asyncio.run(coroutines(*some)), args=[some]) for some in ((3, 4), (5, 6))]
        for thread in threads:
            thread.start()
        asyncio.run(coroutines(7, 8))
        for thread in threads:
            thread.join()
        assert len(found) == 450 and all(found)
        assert not store._queue.tasks and not store._queue._loops


def test_an_asyncio_program_trains_as_numpy_does():
    draw = np.random.default_rng(4)
    X = draw.normal(size=(300, 5))
    y = X @ [1.0, -2.0, 0.0, 0.5, 3.0]

    async def worker(table, number, steps):
        rows, target = X[number::3], y[number::3]
        for step in range(steps):
            w = await table.pull(least=step, worker=number)
            table.push(-0.001 * rows.T @ (rows @ w - target), worker=number, iteration=step)
            table.end_clock(step, worker=number)

    async def main():
        with hawser.Store(workers=3) as store:
            table = store.table("w", 5, summed=True)
            await asyncio.gather(*(worker(table, number, 100) for number in range(3)))
            return await table.pull(least=100)

    expected = np.zeros(5)
    for _ in range(100):
        expected -= 0.001 * sum(X[k::3].T @ (X[k::3] @ expected - y[k::3]) for k in range(3))
    found = asyncio.run(main())
    assert np.allclose(found, expected, rtol=1e-12) and np.abs(found - [1, -2, 0, 0.5, 3]).max() < 1e-6


def test_a_cancelled_await_leaves_its_task(waiting):
    table, task = waiting

    async def main():
        loop = asyncio.get_running_loop()
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(task, 0.01)
        assert not table.store._queue._loops and not loop.remove_reader(table.store._queue._descriptor)
        other = asyncio.ensure_future(task)
        await asyncio.sleep(0)
        end_clocks(table)
        return await asyncio.gather(task, other)

    assert all(np.array_equal(found, np.zeros(3)) for found in asyncio.run(main()))


def test_an_event_loop_may_be_closed_early(waiting):
    table, task = waiting
    loop = asyncio.new_event_loop()
    pending = loop.create_task(asyncio.wait_for(task, 60))
    loop.run_until_complete(asyncio.sleep(0.01))
    loop.close()
    pending._log_destroy_pending = False  # asyncio would report it

    async def leave():
        asyncio.ensure_future(task)
        await asyncio.sleep(0)

    asyncio.run(leave())
    end_clocks(table)
    assert np.array_equal(task.wait(), np.zeros(3))

    async def again():
        return await table.pull()

    assert np.array_equal(asyncio.run(again()), np.zeros(3))
    del pending


def test_a_failure_is_raised_by_its_await(store):
    table = store.table("w", 2)

    async def main():
        await table.push([0, 1e308])
        return await asyncio.gather(table.push([0, 1e308]), table.push([1, 0]), return_exceptions=True)

    failed, good = asyncio.run(main())
    assert isinstance(failed, hawser.NotFinite) and "key 1" in str(failed) and good is None


def test_a_closed_store_ends_its_waits():
    store = hawser.Store(workers=2)
    table = store.table("w", 3)
    raised = []

    def wait(task):
        try:
            task.wait(60)
        except hawser.Error as error:
            raised.append(error)

    async def wait_in_loop(task, begun):
        begun.set()
        with pytest.raises(hawser.Error) as error:
            await task
        raised.append(error.value)

    begun = threading.Event()
    threads = [threading.Thread(target=wait, args=[table.pull(least=1)]) for _ in range(2)]
    threads.append(threading.Thread(target=lambda: asyncio.run(wait_in_loop(table.pull(least=1), begun))))
    for thread in threads:
        thread.start()
    begun.wait()
    with pytest.raises(ZeroDivisionError), store:  # leaves without a wait
        raise ZeroDivisionError
    for thread in threads:
        thread.join(60)
    assert len(raised) == 3 and all("closed" in str(error) for error in raised)
    store.close()
    for call in (table.pull, store.wait_all, lambda: store.table("x"), table.clock):
        with pytest.raises(hawser.BadArgument, match="the store was closed"):
            call()
    assert "closed" in repr(store)


def test_closing_waits_no_longer_than_the_timeout():
    with pytest.warns(RuntimeWarning, match="closed before"), hawser.Store(workers=2, timeout=0.05) as store:
        task = store.table("w", 3).pull(least=1)
    with pytest.raises(hawser.PeerLost, match="closed before the task had ended"):
        task.wait()


def test_resources_are_flat():
    def figures():
        gc.collect()
        return len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task")), threading.active_count()

    def use(tasks):
        async def main(table):
            for _ in range(tasks):
                await table.push(np.ones(10))
            await asyncio.gather(*(table.pull() for _ in range(tasks)))

        with hawser.Store() as store:
            table = store.table("w", 10)
            asyncio.run(main(table))
            for _ in range(tasks):
                table.pull().wait()
            assert not store._queue.tasks and not store._queue.failed

    use(1)
    before = figures()
    with hawser.Store() as store:
        table = store.table("w", 10)
        table.pull().wait()
        opened = figures()
        for _ in range(1000):
            table.push(np.ones(10))
        store.wait_all()
        assert figures() == opened
    for _ in range(100):
        use(3)
    assert all(now <= then for now, then in zip(figures(), before))  # what an earlier test has left may end meanwhile


def test_a_forked_child_may_not_use_the_store(waiting):
    table, task = waiting
    child = os.fork()
    if child == 0:
        code = 1
        with contextlib.suppress(BaseException):
            async def main():
                await task
            for use in (table.pull, task.wait, lambda: task.ended, lambda: asyncio.run(main()), table.store.close):
                try:
                    use()
                    os._exit(3)
                except hawser.BadArgument as error:
                    code = 0 if "which has forked this one" in str(error) else 2
            refused, code = code, 4
            with table.store:
                pass  # a child that was forked within the block leaves it
            with hawser.Store() as own:
                own.table("w", 3).push(np.ones(3)).wait()
            code = refused
        os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    end_clocks(table)
    assert np.array_equal(task.wait(), np.zeros(3))


INTERRUPTED = """
import asyncio, hawser, threading
with hawser.Store(workers=2) as store:
    table = store.table("w", 3, staleness=0)
    task = table.pull(least=1)
    async def main():
        return await task
    if "WAIT" == "get":
        table.clock(worker=0)
    print("begun", flush=True)
    try:
        {"wait": task.wait, "get": lambda: table.get(worker=0), "await": lambda: asyncio.run(main()), "all": store.wait_all}["WAIT"]()
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    for worker in (0, 1):
        table.clock(worker=worker) if "WAIT" != "get" or worker else None
    print(task.wait(), table.get(worker=0))
"""


@pytest.mark.parametrize("wait", ["wait", "get", "await", "all"])
def test_ctrl_c_ends_a_wait_and_the_store_goes_on(wait):
    child = start(INTERRUPTED.replace("WAIT", wait))
    assert child.stdout.readline() == "begun\n"
    time.sleep(0.05)  # either in the wait or before it
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert out == "interrupted\n[0. 0. 0.] [0. 0. 0.]\n", err


# ------------------------------------------------------------------------------------------------- server functions ----


def test_functions_compiled_by_numba():
    pytest.importorskip("numba")

    @hawser.server_function(parameters=2, memory=1)
    def bounded(value, update, parameters, memory):
        memory[0] += 1
        if memory[0] > 8:
            raise ValueError("too many")
        return min(max(value + update, parameters[0]), parameters[1])

    for dtype in ("f8", "f4"):
        with hawser.Store(functions=[bounded], threads=2) as store:
            table = store.table("w", 500, dtype=dtype, width=2, function=bounded, parameters=[-3, 5])
            expected = np.zeros((500, 2), dtype)
            draw = np.random.default_rng(0)
            for _ in range(8):
                update = draw.normal(size=(500, 2)).astype(dtype)
                table.push(update)
                expected = np.clip(expected.astype("f8") + update, -3, 5).astype(dtype)
            assert np.array_equal(table.pull().wait(), expected)
            with pytest.raises(hawser.NotFinite, match="table 'w'"):
                table.push(np.ones((500, 2))).wait()
            assert np.array_equal(table.pull().wait(), expected)
            with pytest.raises(hawser.BadArgument, match="not for values of type i64"):
                store.table("x", dtype="i8", function="bounded")
    with pytest.raises(hawser.BadArgument, match="function 'bounded': the functions of stand-alone servers are their own"):
        hawser.Store("127.0.0.1:9", functions=[bounded])
    with pytest.raises(hawser.BadArgument, match="parameters is 9, and must be a whole number from 0 to 8"):
        hawser.server_function(parameters=9)(lambda value, update, parameters: value)


def test_functions_that_cannot_be_compiled_are_refused():
    pytest.importorskip("numba")
    for make, function, text in (
            (hawser.server_function(), lambda value, update: value, "it has the parameters value, update, parameters"),
            (hawser.server_function(memory=1), lambda value, update, parameters: value, "parameters and memory"),
            (hawser.server_function(), lambda value, update, parameters: object(), "numba cannot compile it"),
            (hawser.server_function(), lambda value, update, parameters: None, "returns nothing, and must return the new number"),
            (hawser.server_function(parameters=1), lambda value, update, parameters: parameters.fill(0), "numba cannot compile it"),
            (hawser.server_function(), len, "is a function, and this is a builtin"),
            (hawser.store_filter(), lambda key, update: True, "key, update and level"),
            (hawser.store_filter(), lambda key, update, level: "no", "must return true or false"),
            (hawser.store_filter(dtype="i8"), lambda key, update, level: True, "float64 or float32")):
        with pytest.raises(hawser.BadArgument, match=text):
            make(function)


def test_functions_are_compared_with_all_that_they_use():
    pytest.importorskip("numba")

    def of(factor, inner):
        return hawser.server_function(name="f")(lambda value, update, parameters: value + factor * sum([inner * each for each in (update,)]))

    assert of(1.0, 2.0).digest == of(1.0, 2.0).digest != of(2.0, 2.0).digest


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_filters_compiled_by_numba(dtype):
    pytest.importorskip("numba")

    @hawser.store_filter(dtype=dtype)
    def large_or_odd(key, update, level):
        if key == 50 and update[0] == 7:
            raise ValueError
        return np.abs(update).max() > level or key % 2 == 1

    with hawser.Store(filters=[large_or_odd]) as store:
        table = store.table("w", 101, dtype=dtype, width=3, filter=large_or_odd, level=2.5)
        draw, there, held = np.random.default_rng(0), np.zeros((101, 3), dtype), np.zeros((101, 3), dtype)
        for _ in range(10):
            rows = np.sort(draw.choice(101, 60, replace=False))
            update = draw.integers(-1, 2, (60, 3)).astype(dtype)
            table.push(update, rows).wait()
            held[rows] += update
            sent = [row for row in rows if abs(held[row]).max() > 2.5 or row % 2 == 1]
            there[sent] += held[sent]
            held[sent] = 0
            assert np.array_equal(table.pull().wait(), there)
        assert store.figures["rows_held"] > 100
        table.flush().wait()
        assert np.array_equal(table.pull().wait(), there + held)
        with pytest.warns(RuntimeWarning, match="store filter 'large_or_odd' raised an exception; the row was sent"):
            table.push([[7.0, 0, 0]], [50]).wait()
        assert table.pull([50]).wait()[0, 0] == (there + held)[50, 0] + 7
        with pytest.raises(hawser.BadArgument, match="filter 'large_or_odd' is for float"):
            store.table("x", 3, dtype="f4" if dtype == "f8" else "f8", filter="large_or_odd")
    with pytest.raises(hawser.BadArgument, match="two are called 'large_or_odd'"):
        hawser.Store(filters=[large_or_odd, large_or_odd])
    with pytest.raises(hawser.BadArgument, match="there is a filter 'kkt' already"):
        hawser.Store(filters=[hawser.store_filter(name="kkt")(lambda key, update, level: True)])


# ------------------------------------------------------------------------------------------------------------- nodes ----


@needs_command
def test_two_nodes_share_tables(tmp_path):
    out = run(f"""
import hawser, numpy
with hawser.Store() as store:
    table = store.table("w", 200000, staleness=0)
    for clock in range(3):
        table.inc(numpy.arange(200000.0))
        table.clock()
        assert numpy.array_equal(table.get(), 2.0 * (clock + 1) * numpy.arange(200000)), table.get()
    try:
        hawser.train("linear", numpy.eye(3), [1, 2, 3])
    except hawser.BadArgument as error:
        print("refused:", error)
    store.save({str(tmp_path / "file")!r})
with hawser.Store() as store:
    table = store.table("w", 200000)
    store.load({str(tmp_path / "file")!r})
    assert numpy.array_equal(table.pull().wait(), 6.0 * numpy.arange(200000))
hawser.train("lasso", numpy.eye(3), [1, 2, 3], lambda_=0.1, workers=2)
""", BINARY, "run", "-n", "2", "--")
    assert out.count("refused: the nodes have one training, hawser.Store or hawser.Replicas at a time") == 2


@needs_command
def test_nodes_with_other_functions_are_refused():
    out = run("""
import ctypes, os, hawser
class Compiled:
    address = ctypes.cast(ctypes.CDLL(None).abs, ctypes.c_void_p).value  # it is never called
try:
    hawser.Store(functions=[hawser.ServerFunction("f", 0, 0, os.environ["HAWSER_NODE"], Compiled)])
except hawser.BadArgument as error:
    print(error)
""", BINARY, "run", "-n", "2", "--")
    assert out.count("the functions and filters of the store are others on node 1 than on node 0") == 2


@needs_command
def test_a_node_that_raises_ends_the_waits_of_others():
    child = start("""
import hawser, time
with hawser.Cluster() as cluster:
    try:
        with hawser.Store() as store:
            table = store.table("w", 4)
            if cluster.node == 1:
                raise ZeroDivisionError
            table.pull(least=1).wait(60)
    except (hawser.PeerLost, ZeroDivisionError) as error:
        print(type(error).__name__, flush=True)
""", BINARY, "run", "-n", "2", "--")
    out, err = child.communicate(timeout=60)
    assert out.count("PeerLost") == out.count("ZeroDivisionError") == 1, out + err


@needs_command
def test_a_thread_that_holds_the_gil_loses_no_node():
    """Node 1 holds the interpreter's lock for 10 s, three times the failure timeout, while node 0 uses its half of the table."""
    out = run("""
import asyncio, ctypes, threading, time, hawser, numpy
with hawser.Cluster(failure_timeout=3) as cluster, hawser.Store() as store:
    table = store.table("w", 400000)
    async def main():
        table.end_clock(0)
        await table.pull(least=1)  # both have begun
        if cluster.node == 1:
            waits = [asyncio.ensure_future(table.pull(least=2)) for _ in range(10)]
            await asyncio.sleep(0)
            holder = threading.Thread(target=ctypes.PyDLL(None).sleep, args=[10])
            holder.start()
            holder.join()
            table.end_clock(1)
            return await asyncio.gather(*waits)
        rounds, until = 0, time.monotonic() + 9
        while time.monotonic() < until:
            await table.push_pull(numpy.ones(400000))
            rounds += 1
            await asyncio.sleep(0.05)
        table.end_clock(1)
        return [(await table.pull(least=2), rounds)]
    found = asyncio.run(main())
    values = [each[0] if isinstance(each, tuple) else each for each in found]
    print(len(values), [float(each.min()) == float(each.max()) for each in values], found[0][1] > 5 if cluster.node == 0 else True)
""", BINARY, "run", "-n", "2", "--")
    assert "1 [True] True" in out and f"10 {[True] * 10} True" in out


# ----------------------------------------------------------------------------------------------- stand-alone servers ----


@pytest.fixture
def servers(tmp_path):
    """Runs `hawser serve`; gives its address, key file and process."""
    if not BINARY:
        pytest.skip("HAWSER_BINARY is not set")
    key, address = tmp_path / "key", tmp_path / "address"
    subprocess.run([BINARY, "key", key], check=True)
    with open(tmp_path / "log", "w", encoding="utf-8") as out:
        child = subprocess.Popen([BINARY, "serve", "--key-file", key, "--address-file", address, "--interface", "127.0.0.1"], stderr=out,
                                 stdout=out, env=test_nodes.environment())
    try:
        until = time.monotonic() + 60
        while not address.exists() or not address.read_text().strip():
            assert child.poll() is None and time.monotonic() < until, (tmp_path / "log").read_text()
            time.sleep(0.01)
        yield address.read_text().strip(), key, child
    finally:
        child.kill()
        child.wait()


def test_programs_share_stand_alone_servers(servers):
    at, key, _ = servers
    with hawser.Store(at, key_file=key) as one, hawser.Store(at, key=bytes.fromhex(key.read_text())) as other:
        table = one.table("w", range(10, 20), width=2, dtype="f4", function="max")
        found = other.find("w")
        assert repr(found) == repr(table) == "<hawser.Table 'w': keys 10 to 19, 2 x float32>" and at in repr(one)

        async def main():
            await table.push(np.ones((10, 2), "f4"))
            await found.push(np.full((1, 2), 2, "f4"), [15])
            return await asyncio.gather(table.pull(), found.pull())

        for values in asyncio.run(main()):
            assert values.sum() == 22 and values[5, 0] == 2
    for options, text in (({}, "key_file"), ({"key": b"x" * 32}, "key"), ({"key": b"short"}, "from 16 to 64"),
                          ({"key": b"x" * 32, "key_file": key}, "leave one of them out")):
        with pytest.raises(hawser.Error, match=text):
            hawser.Store(at, join_timeout=5, **options)


SERVER = """
import sys, hawser
key, save, first, *more = sys.argv[1:]
FUNCTION
with hawser.Store(functions=[grow] if FUNCTIONS else [], interface="127.0.0.1") as store:
    w = store.table("w", 5, function=grow if FUNCTIONS else "add", parameters=[3] if FUNCTIONS else [])
    w.push([1.0, 2, 3, 4, 5]).wait()
    store.serve(key_file=key, save=save, load=first if first != "-" else None, ready=lambda at: print(at, flush=True))
    print("ended", w.pull().wait().tolist())
"""
GROW = """
@hawser.server_function(parameters=1)
def grow(value, update, parameters):
    return value + parameters[0] * update
"""


def start_server(*words, compiled=False, launcher=()):
    program = SERVER.replace("FUNCTIONS", str(compiled)).replace("FUNCTION", GROW if compiled else "")
    child = subprocess.Popen([*launcher, sys.executable, "-c", program, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             env=test_nodes.environment())
    return child, child.stdout.readline().strip()


def make_key(path):
    path.write_text(os.urandom(32).hex() + "\n")
    path.chmod(0o600)
    return path


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_a_server_in_python_has_clients_in_other_processes(tmp_path, ending):
    compiled = ending == signal.SIGINT and has_numba()
    key, saved, times = make_key(tmp_path / "key"), tmp_path / "tables", 3 if compiled else 1
    child, at = start_server(key, saved, "-", compiled=compiled)
    with hawser.Store(at, key_file=key) as client:
        w, other = client.find("w"), client.table("other", dtype="i8")

        async def main():
            await asyncio.gather(w.push(np.full(5, 10.0)), other.push(np.array([7]), [2**40]))
            return await asyncio.gather(w.pull(), other.pull([2**40]))

        found, counted = asyncio.run(main())
        wanted = times * (np.arange(1, 6) + 10.0)
        assert found.tolist() == wanted.tolist() and counted.tolist() == [7]
    child.send_signal(ending)
    out, err = child.communicate(timeout=60)
    assert (child.returncode, out, err) == (0, f"ended {wanted.tolist()}\n", "")
    again, at = start_server(key, saved, saved, compiled=compiled)  # its own push is replaced by the file
    with hawser.Store(at, key_file=key) as client:
        assert client.find("w").pull().wait().tolist() == wanted.tolist() and client.find("other").pull([2**40]).wait().tolist() == [7]
    again.send_signal(ending)
    assert again.communicate(timeout=60)[0] == f"ended {wanted.tolist()}\n"


def test_a_thread_serves_and_what_is_refused(tmp_path):
    key, ready = make_key(tmp_path / "key"), threading.Event()
    with hawser.Store(interface="127.0.0.1") as store:
        with pytest.raises(ZeroDivisionError):
            store.serve(key_file=key, ready=lambda at: 1 / 0)
    with hawser.Store(interface="127.0.0.1") as store:
        store.table("w", 3).push(np.ones(3)).wait()
        with pytest.raises(hawser.FileError):
            store.serve(key_file=key, save=tmp_path / "no" / "folder", ready=lambda at: store.end_serving())
        assert store.find("w").pull().wait().tolist() == [1, 1, 1]
    with hawser.Store(interface="127.0.0.1") as store:
        with pytest.raises(hawser.BadOption, match="key_file") as refused:
            store.serve()
        assert "--" not in str(refused.value)
        with pytest.raises(hawser.BadArgument, match="is the file of the key"):
            store.serve(key_file=key, save=key)
        address = []
        thread = threading.Thread(target=store.serve, kwargs={"key_file": key, "ready": lambda at: (address.append(at), ready.set())})
        thread.start()
        assert ready.wait(60)
        with pytest.raises(hawser.BadArgument, match="serves clients"):
            store.table("w", 3)
        with hawser.Store(address[0], key_file=key) as client:
            client.table("w", 3).push(np.ones(3)).wait()
            with pytest.raises(hawser.BadArgument, match="no tables of its own"):
                client.serve(key_file=key)
        store.end_serving()
        thread.join(60)
        assert not thread.is_alive() and store.find("w").pull().wait().tolist() == [1, 1, 1]
        with pytest.raises(hawser.BadArgument, match="serves once"):
            store.serve(key_file=key)


@pytest.mark.parametrize("waits", ["await", "wait", "call"])
def test_a_killed_server_ends_a_wait(servers, waits):
    at, key, child = servers
    store = hawser.Store(at, key_file=key, workers=2)
    table = store.table("w", 3, staleness=0)
    table.clock(worker=0)
    task = table.pull(least=1)
    threading.Timer(0.2, child.kill).start()

    async def main():
        return await task

    with pytest.raises(hawser.PeerLost, match="server 0 of the store"):
        {"await": lambda: asyncio.run(main()), "wait": lambda: task.wait(60), "call": table.get}[waits]()
    with pytest.raises(hawser.PeerLost):
        task.wait(60)
    with pytest.raises(hawser.PeerLost):
        table.pull()
    store.close()
