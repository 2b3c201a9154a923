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


def refuses(name, tmp_path, texts):
    for text in texts:
        (tmp_path / "bad").write_text(text)
        done = subprocess.run([sys.executable, MALT / name / "serial.py", tmp_path / "bad", tmp_path / "test"], capture_output=True, text=True)
        assert done.returncode == 1 and done.stderr.count("\n") == 1 and "bad" in done.stderr, (text, done.stderr)


def data(name, tmp_path, train, test):
    for kind, rows, seed in (("train", train, 1), ("test", test, 2)):
        run(sys.executable, MALT / "data.py", name, tmp_path / kind, rows, seed)
    return tmp_path / "train", tmp_path / "test"


def test_svm(tmp_path):
    for text in both("svm", *data("svm", tmp_path, 1000, 500), 1e-3, 3):
        words = text.split()
        assert float(words[1].rstrip(",")) < 0.4 and float(words[2]) < 20, text
    refuses("svm", tmp_path, ("2 1:1\n", "1 0:1\n"))


def test_factors(tmp_path):
    for text in both("factors", *data("factors", tmp_path, 4000, 1000), 10, 4):
        words = text.replace(",", "").split()
        assert float(words[4]) < 1.1 and float(words[8]) < 1.3, text  # of a constant: 1.8
    refuses("factors", tmp_path, ("1 x 2\n", "-1 1 1\n"))


def test_clicks(tmp_path):
    for text in both("clicks", *data("clicks", tmp_path, 3000, 1000), 3):
        words = text.replace(",", "").split()
        assert float(words[2]) < 0.68 and float(words[4]) > 0.58, text  # of a constant: 0.668 and 0.5
    refuses("clicks", tmp_path, ("\n", "1 -1\n"))


def test_the_page_counts_the_lines():
    page = (MALT / "README.md").read_text().splitlines()
    table = run(sys.executable, MALT / "count.py").splitlines()
    assert [line for line in page if line.startswith("|")] == table and len(table) == 8
