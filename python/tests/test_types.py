"""Type hints hold."""
import pathlib
import subprocess
import sys

import pytest

import hawser

pytest.importorskip("mypy")


def test_hints_are_strict(tmp_path):
    package = pathlib.Path(hawser.__file__).parent
    config = pathlib.Path(__file__).parents[1] / "mypy.ini"
    done = subprocess.run([sys.executable, "-m", "mypy", "--config-file", config, "--cache-dir", tmp_path, package],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
