"""The programs of examples/malt in Python, on one process and on three, and how many lines the page says that the parallel ones add."""
import pathlib
import subprocess
import sys

import pytest
import test_nodes

MALT = pathlib.Path(__file__).resolve().parents[2] / "examples" / "malt"
pytestmark = pytest.mark.skipif(not MALT.exists() or not test_nodes.BINARY, reason="the examples, or HAWSER_BINARY, are not here")


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, env=test_nodes.environment(), timeout=300)
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    return done.stdout


def both(name, *words):
    """Returns what the serial program prints, which is what the parallel one does alone, and what the parallel one prints on three processes."""
    serial, parallel = (run(sys.executable, MALT / name / f"{kind}.py", *words) for kind in ("serial", "parallel"))
    assert parallel == serial
    return serial, run(test_nodes.BINARY, "run", "-n", "3", "--", sys.executable, MALT / name / "parallel.py", *words)


def test_svm(tmp_path):
    for kind, rows, seed in (("train", 1000, 1), ("test", 500, 2)):
        run(sys.executable, MALT / "data.py", "svm", tmp_path / kind, rows, seed)
    for text in both("svm", tmp_path / "train", tmp_path / "test", 1e-3, 3):
        words = text.split()
        assert float(words[1].rstrip(",")) < 0.4 and float(words[2]) < 20, text
    for text in ("2 1:1\n", "1 0:1\n", "1 1:x\n", ""):
        (tmp_path / "bad").write_text(text)
        done = subprocess.run([sys.executable, MALT / "svm" / "serial.py", tmp_path / "bad", tmp_path / "test"], capture_output=True, text=True)
        assert done.returncode == 1 and done.stderr.count("\n") == 1 and "bad" in done.stderr, done.stderr


def test_the_page_counts_the_lines():
    page = (MALT / "README.md").read_text().splitlines()
    table = run(sys.executable, MALT / "count.py").splitlines()
    assert [line for line in page if line.startswith("|")] == table and len(table) >= 4
    assert all(float(line.split("|")[5].split()[0]) <= 16 for line in table[2:]), table
