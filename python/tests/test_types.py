"""Type hints hold."""
import pathlib
import subprocess
import sys

import pytest

import hawser

pytest.importorskip("mypy")


def test_hints_are_strict():
    package = pathlib.Path(hawser.__file__).parent
    config = pathlib.Path(__file__).parents[1] / "mypy.ini"
    cache = pathlib.Path(sys.prefix) / "mypy"  # of the environment, which is made once: numpy's hints take longest
    done = subprocess.run([sys.executable, "-m", "mypy", "--config-file", config, "--cache-dir", cache, package],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
