"""The bindings are those of the headers, and ctypes lays structs out as C does."""
import ctypes
import importlib.util
import pathlib
import shutil
import subprocess
import sys

import pytest

from hawser import _native
from hawser._library import library as lib

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


def test_comments_and_spaces_are_not_in_the_digest(tmp_path):
    found = importlib.util.spec_from_file_location("native", TOOL)
    tool = importlib.util.module_from_spec(found)
    found.loader.exec_module(tool)
    assert tool.headers_digest() == _native.DIGEST == lib.hawser_headers_digest().decode()

    def digest(text):
        (tmp_path / "a.h").write_text(text)
        return tool.headers_digest(tmp_path)

    plain = digest("struct a { int b; };\n")
    assert digest("/** a struct\n ** of ints */\nstruct a {\n    int b; /**< the int */\n};\n") == plain
    assert len({plain, digest("struct a { long b; };"), digest("struct a { int c; };"), digest("struct a { int b, /* */ c; };")}) == 4


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
