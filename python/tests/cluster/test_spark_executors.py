"""hawser.spark where an executor is lost whole, with its JVM: Spark begins another in its place, and repeats the stage."""
import os
import pathlib
import re
import shutil
import signal
import sys
import threading
import time

import numpy as np
import pytest

pytest.importorskip("pyspark")
pytestmark = [pytest.mark.skipif(shutil.which("java") is None and not os.environ.get("JAVA_HOME"), reason="Java is not installed"),
              pytest.mark.skipif(not os.environ.get("HAWSER_TEST_LONG"), reason="a cluster of three executors takes long to start: script/test --long does it")]
os.environ["PYSPARK_PYTHON"] = sys.executable
from pyspark.sql import SparkSession  # noqa: E402

import hawser  # noqa: E402
import hawser.spark  # noqa: E402
from hawser.spark._driver import make_plan, run  # noqa: E402

DRAW = np.random.default_rng(0)
X = DRAW.normal(size=(600, 4))
Y = X @ [1.0, 0.0, -2.0, 0.5] + 0.1 * DRAW.normal(size=len(X))
HOW = {"lambda_": 0.002, "tol": 1e-9, "exchange_every": 1, "workers": 3}


@pytest.fixture(scope="module")
def frame(tmp_path_factory):
    """Three executors of one slot each, and rows in three partitions."""
    work = tmp_path_factory.mktemp("spark")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_WORKER_DIR", str(work / "executors"))
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        patch.setenv("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto "
                     "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote")
        builder = SparkSession.builder.master("local-cluster[3,1,1024]").config("spark.executor.memory", "500m")
        for key, value in {"spark.ui.enabled": "false", "spark.log.level": "OFF", "spark.sql.warehouse.dir": str(work),
                           "spark.sql.codegen.wholeStage": "false", "spark.ui.showConsoleProgress": "false",
                           "spark.python.daemon.module": "preloading", "spark.executorEnv.HAWSER_LIBRARY": os.environ["HAWSER_LIBRARY"],
                           "spark.executorEnv.PYTHONPATH": f"{os.environ['PYTHONPATH']}:{os.path.dirname(__file__)}"}.items():
            builder = builder.config(key, value)
        session = builder.getOrCreate()
        yield session.createDataFrame(session.sparkContext.parallelize([(x.tolist(), float(y)) for x, y in zip(X, Y)], 3), ["x", "y"])
        session.stop()


def is_below(process):
    """Whether this process has begun it."""
    while process > 1 and process != os.getpid():
        try:
            process = int(pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[1])
        except OSError:
            return False
    return process == os.getpid()


def executors():
    """The JVMs of this test's executors."""
    found = []
    for each in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if b"CoarseGrainedExecutorBackend" in each.joinpath("cmdline").read_bytes() and is_below(int(each.name)):
                found.append(int(each.name))
        except OSError:
            pass
    return found


def test_an_executor_that_is_lost_whole(frame, tmp_path):
    """The stage that Spark repeats goes on from the newest checkpoint, with the bits of one process."""
    folder, killed = tmp_path / "ck", []

    def newest():
        return max((int(found[1]) for each in folder.glob("*.json") if (found := re.match(r"checkpoint-(\d+)-", each.name))), default=0)

    def kill():
        until = time.monotonic() + 100
        while newest() < 5 and time.monotonic() < until:
            time.sleep(0.005)
        if newest() >= 5:
            killed.append(executors()[0])
            os.kill(killed[0], signal.SIGKILL)

    plan = make_plan(frame, "lasso", "x", {"target": "y"}, {"slow": "0:1000", "checkpoint": folder, "checkpoint_every": 0, **HOW}, trace=True)
    thread = threading.Thread(target=kill, daemon=True)
    thread.start()
    found = run(frame, plan, None)
    thread.join()
    alone = hawser.train("lasso", X, Y, **HOW)
    assert killed and np.array_equal(found.model.coefficients, alone.coefficients) and found.model.intercept == alone.intercept
    assert found.trace[0]["loop"] != "prepare" and not os.listdir(folder)  # with which a training begins
