"""A folder of a test's own, which is the working directory while it exists."""
import contextlib
import os
import tempfile


@contextlib.contextmanager
def folder():
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as path:
        os.chdir(path)
        try:
            yield path
        finally:
            os.chdir(before)
