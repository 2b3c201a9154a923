#!/usr/bin/env python3
"""Prints the interpreter of a virtual environment with what the tests need, which is made once and then reused.

    tools/environment.py            for the package, from tests/requirements.txt
    tools/environment.py cluster    for hawser.dask and hawser.spark, from tests/requirements-cluster.txt

It is in $HAWSER_TEST_CACHE, else in $XDG_CACHE_HOME/hawser or ~/.cache/hawser, under a name that depends on the requirements and the version of
Python. If it cannot be made, the exit status is 77, which means skipped, or 1 if HAWSER_TEST_PYTHON is "required".
"""
import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys

TESTS = pathlib.Path(__file__).resolve().parents[1] / "tests"
FILES = {"": "requirements.txt", "cluster": "requirements-cluster.txt"}
OLDEST = (3, 11)


def give_up(why: str) -> None:
    print(f"the tests of the Python package are skipped: {why}", file=sys.stderr)
    sys.exit(1 if os.environ.get("HAWSER_TEST_PYTHON") == "required" else 77)


def run(*words: str | os.PathLike[str]) -> None:
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600)
    if done.returncode != 0:
        give_up(f"{' '.join(map(str, words))} failed:\n{done.stdout[-2000:]}")


def make(folder: pathlib.Path, requirements: pathlib.Path) -> None:
    """Makes the environment under another name first, so that half of one is never used."""
    half = folder.with_suffix(".new")
    shutil.rmtree(half, ignore_errors=True)
    run(sys.executable, "-m", "venv", half)
    run(half / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary=:all:",
        "-r", requirements)
    half.rename(folder)


def main() -> None:
    kind = sys.argv[1] if len(sys.argv) > 1 else ""
    if kind not in FILES:
        sys.exit(f"no environment '{kind}'; {__doc__}")
    requirements = TESTS / FILES[kind]
    if sys.version_info < OLDEST:
        give_up(f"they need Python {'.'.join(map(str, OLDEST))}, and this is {sys.version.split()[0]}")
    cache = os.environ.get("HAWSER_TEST_CACHE") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "hawser")
    name = hashlib.sha256(requirements.read_bytes() + sys.version.encode()).hexdigest()[:12]
    folder = pathlib.Path(cache) / f"python{kind and '-'}{kind}-{name}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(folder.with_suffix(".lock"), "w") as lock:  # suites may begin at the same time
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "bin" / "python").exists():
            try:
                make(folder, requirements)
            except (OSError, subprocess.TimeoutExpired) as error:
                give_up(str(error))
    print(folder / "bin" / "python")


if __name__ == "__main__":
    main()
