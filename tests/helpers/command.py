"""The command under test, called without options from the environment, and the real data sets that there are."""
import os
import subprocess

HAWSER = os.environ["HAWSER_BINARY"]
CLEAN = {key: value for key, value in os.environ.items() if not key.startswith("HAWSER_")}
DATA = os.environ.get("HAWSER_TEST_DATA", os.path.join(os.environ["HAWSER_SOURCE"], "..", "shared", "data"))


SANITIZED = bool(os.environ.get("HAWSER_SANITIZE"))


def some(cases, of=3):
    """All of them; every third where sanitizers look at paths, since numbers are checked without these."""
    return list(cases)[::of if SANITIZED else 1]


def run(*words):
    """What it prints; it has to succeed."""
    out = subprocess.run((HAWSER,) + words, capture_output=True, text=True, env=CLEAN, timeout=300)
    assert out.returncode == 0, (words, out.stderr)
    return out.stdout


def real(name):
    """The text of a data set, or None."""
    path = os.path.join(DATA, name)
    if not os.path.exists(path):
        print("skipped: no", path)
        return None
    try:
        return subprocess.run(["zstd", "-dcq", path], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        print("skipped: no zstd")
        return None
