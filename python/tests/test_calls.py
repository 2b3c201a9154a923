"""docs/python-calls.md names each call of the program API, and only names that exist in Python."""
import pathlib
import re

import pytest

import hawser

TOP = pathlib.Path(__file__).resolve().parents[2]
PAGE = TOP / "docs" / "python-calls.md"


@pytest.mark.skipif(not PAGE.exists(), reason="the docs are not here")
def test_each_call_of_c_is_listed_once():
    declared = []
    for name in ("hawser", "advanced", "job_data", "stored", "cocoa", "kept_points", "moving", "batches", "record", "vector"):
        code = re.sub(r"/\*.*?\*/", "", (TOP / "include" / "hawser" / f"{name}.h").read_text(), flags=re.DOTALL)
        declared += re.findall(r"HAWSER_API\s[^;{]*?\b(hawser_\w+)\(", code)
    rows = re.findall(r"^\| (`.*?) \| (.*) \|$", PAGE.read_text(), re.M)
    listed = [call for left, _ in rows for call in re.findall(r"`(hawser_\w+)`", left)]
    assert sorted(listed) == sorted(declared)
    for _, text in rows:
        for kind, name in re.findall(r"`(program|context|progress|run|subproblem|replicas|vector)\.(\w+)", text):
            owner = {"program": hawser.Program, "context": hawser.Context, "progress": hawser.Progress, "run": hawser.Run,
                     "subproblem": hawser.Subproblem, "replicas": hawser.Replicas, "vector": hawser.Vector}[kind]
            assert hasattr(owner, name) or name in owner.__annotations__, f"{kind}.{name}"
