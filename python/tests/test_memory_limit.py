"""memory_limit counts before arrays, tables and sparse matrices are copied: a refusal takes little memory."""
import os
import subprocess
import sys

import pytest

# Each case makes its data, of which a training needs a copy of 400 MB, or of so many columns that it is long.
CASES = {
    "int": ("svm", "X = numpy.zeros((100, 500000), numpy.int8); X[::2] = 1", "float64"),
    "bool": ("softmax", "X = numpy.zeros((100, 500000), bool); X[::2] = True", "float64"),
    "strides": ("lasso", "X = numpy.zeros((100, 1000000))[:, ::2]", "strides"),
    "turned": ("lasso", "X = numpy.zeros((100, 500000)); X[::2] = 1", "by columns"),
    "half": ("svm", "X = numpy.zeros((100, 500000), numpy.float16)", "float16"),
    "frame": ("lasso", "import pandas; X = pandas.DataFrame({f'c{k}': numpy.zeros(500000, numpy.int8) for k in range(100)}); y = numpy.arange(500000) % 2", "table|float64"),
    "frame_of_kinds": ("lasso", "import pandas; X = pandas.DataFrame({f'c{k}': numpy.zeros(500000, [numpy.int8, bool][k % 2]) for k in range(100)}); "
                       "y = numpy.arange(500000) % 2", "table"),
    "coo": ("svm", "import scipy.sparse; n = 5000000; X = scipy.sparse.coo_array((numpy.ones(n), (numpy.arange(n, dtype=numpy.int32) % 100, "
            "numpy.arange(n, dtype=numpy.int32))), shape=(100, n))", "coo"),
    "csr_turned": ("lasso", "import scipy.sparse; n = 5000000; X = scipy.sparse.csr_array((numpy.ones(n), numpy.arange(n, dtype=numpy.int32), "
                   "numpy.arange(0, n + 1, n // 100, dtype=numpy.int32)), shape=(100, n))", "by columns"),
    "estimator": ("made.fit", "made = hawser.Lasso(); X = numpy.zeros((100, 500000), numpy.int8); X[::2] = 1", "int8"),
    "target": ("lasso", "X = numpy.ones((8000000, 1)); X[::2] = 2; y = numpy.zeros(8000000, numpy.int8)", "target"),
}

CHILD = """
import hawser, numpy
y = numpy.arange(100) % 2
{make}
def peak():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")  # the peak begins anew
before = peak()
try:
    {call}
except hawser.NoMemory as error:
    print(peak() - before, error)
"""


@pytest.mark.parametrize("case", CASES)
def test_a_copy_beyond_the_limit_is_not_made(case: str) -> None:
    if case.startswith("frame"):
        pytest.importorskip("pandas")
    if case == "estimator":
        pytest.importorskip("sklearn")
    if case in ("coo", "csr_turned"):
        pytest.importorskip("scipy")
    algorithm, make, word = CASES[case]
    limit = {} if algorithm == "made.fit" else {"memory_limit": "50M"}
    call = "made.fit(X, y)" if not limit else f"hawser.train({algorithm!r}, X, y, **{limit})"
    done = subprocess.run([sys.executable, "-c", CHILD.format(make=make, call=call)], capture_output=True, text=True, timeout=120,
                          env={**os.environ, **({} if limit else {"HAWSER_MEMORY_LIMIT": "50M"})})
    assert done.returncode == 0, done.stderr
    grown, text = done.stdout.split(" ", 1)
    assert int(grown) < 60 << 10, (grown, text)
    assert "memory_limit is 50.0 MiB" in text and any(each in text for each in word.split("|")), text


def test_copies_add_up_and_views_are_free() -> None:
    import numpy
    import hawser
    from hawser._allowance import allow
    X = numpy.random.default_rng(1).normal(size=(1000, 200))
    whole = X.astype(numpy.int64)
    with allow(2_000_000):
        hawser.Dataset(X, X[:, 0])  # one target's 8,000 bytes, whose stride is a row
        hawser.Dataset(numpy.asfortranarray(X), X[:, 0].copy())
        hawser.Dataset(whole)
        with pytest.raises(hawser.NoMemory, match="besides 1.5 MiB of other copies"):
            hawser.Dataset(whole)
    hawser.Dataset(whole)
    frame = pytest.importorskip("pandas").DataFrame(X)
    with allow(1000):
        hawser.Dataset(frame)
