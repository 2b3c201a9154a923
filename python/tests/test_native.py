"""The bindings are those of the headers, and ctypes lays structs out as C does."""
import ctypes
import pathlib
import shutil
import subprocess
import sys

import pytest

from hawser import _native

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = ROOT / "python" / "tools" / "native.py"

pytest.importorskip("pycparser")
if shutil.which("gcc") is None or not (ROOT / "include").is_dir():
    pytest.skip("the headers or gcc are missing", allow_module_level=True)


def run_tool(argument: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, TOOL, argument], capture_output=True, text=True)


def test_the_file_is_what_the_tool_writes():
    done = run_tool("--check")
    assert done.returncode == 0, done.stderr


def test_structs_have_the_layout_of_c(tmp_path):
    source, program = tmp_path / "layout.c", tmp_path / "layout"
    source.write_text(run_tool("--layout").stdout)
    subprocess.run(["gcc", "-std=c17", f"-I{ROOT / 'include'}", source, "-o", program], check=True)
    lines = subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(lines) > 300
    for line in lines:
        name, number = line.split()
        owner, _, field = name.partition(".")
        found = getattr(_native, owner)
        if field:
            found = getattr(found, field).offset
        elif not isinstance(found, int):
            found = ctypes.sizeof(found)
        assert found == int(number), line
