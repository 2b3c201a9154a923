#!/usr/bin/env python3
"""tests/tidy must refuse: one small tree per rule, each with one fault, and one without a fault."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(os.environ.get("HAWSER_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
LONG = "int f(void)\n{\n" + "    g();\n" * 90 + "}\n"
WRONG = [  # file, content, message
    ("src/base/a.c", '#include "cli/cli.h"\n', "base includes cli, which lies above it"),
    ("src/transport/a.c", '#include "exchange/exchange.h"\n', "transport includes exchange, which lies above it"),
    ("src/store/a.c", '#include "exchange/exchange.h"\n', "what both need belongs below them"),
    ("src/algorithms/a.c", '#include "base/memory.h"\n', "public headers only"),
    ("src/base/a.c", '#include "memory.h"\n', "not a bare name"),
    ("src/attic/a.c", "int x(void);\n", "attic is no known module"),
    ("src/base/a.c", "void f(char *a)\n{\n    strcpy(a, a);\n}\n", "strcpy(): use"),
    ("examples/a.c", "int f(char *a)\n{\n    return atoi(a);\n}\n", "atoi(): use"),
    ("src/data/a.c", "void f(void)\n{\n    exit(1);\n}\n", "exit(): use"),
    ("src/data/a.c", 'void f(void)\n{\n    printf("x");\n}\n', "printf(): use"),
    ("src/data/a.c", "double f(char *a)\n{\n    return strtod(a, 0);\n}\n", "strtod(): use"),
    ("src/data/a.c", 'void f(void)\n{\n    fputs("x", stdout);\n}\n', "stdout in the library"),
    ("src/data/a.c", 'void f(void)\n{\n    fputs("x", stderr);\n}\n', "stderr in the library"),
    ("src/data/a.c", 'void f(void)\n{\n    write(STDERR_FILENO, "x", 1);\n}\n', "stderr in the library"),
    ("src/data/a.c", 'void f(void)\n{\n    write(2, "x", 1);\n}\n', "a standard descriptor in the library"),
    ("src/exchange/a.c", "void f(void)\n{\n    g(hw_seconds());\n}\n", "hw_seconds(): use"),
    ("src/cli/a.c", 'void f(void)\n{\n    system("x");\n}\n', "system(): use"),
    ("src/algorithms/a.c", "void f(void)\n{\n    poll(0, 0, -1);\n}\n", "poll(): use runtime"),
    ("src/history/a.c", "void f(void)\n{\n    pthread_cond_wait(a, b);\n}\n", "pthread_cond_wait(): use runtime"),
    ("src/data/a.c", "int f(int a)\n{\n    return __builtin_clz(a);\n}\n", "__builtin_clz is no C17"),
    ("src/data/a.c", "__attribute__((packed)) int a;\n", "__attribute__ is no C17"),
    ("src/data/a.c", "static int counter;\n", "mutable static"),
    ("src/data/a.c", LONG, "a function of 92 lines"),
    ("tests/a.c", "int a;\n" * 1001, "1001 lines, at most 1000"),
    ("tests/unit/a.c", 'int f(void)\n{\n    return getenv("HAWSER_TEST_' 'LONG") != NULL;\n}\n', "ask runs_long() of sanitized.h"),
    ("tests/a.py", 'LONG = "HAWSER_TEST_' 'LONG" in os.environ\n', "ask runs_long() of sanitized.h"),
    ("src/data/a.c", "/* TO" "DO */\n", "a note of work left"),
    ("include/hawser/a.h", "HAWSER_API int hawser_f(void);\n", "hawser_f is not documented"),
    ("include/hawser/hawser.h", "/** F. */\n" + "HAWSER_API int hawser_f(void);\n" * 71, "71 calls, at most 70"),
    ("include/hawser/hawser.h", "/** F. */\n" + "static inline int hawser_f(void)\n" * 71, "71 calls, at most 70"),
    ("include/hawser/hawser.h", "int a;\n" * 501, "501 lines, at most 500"),
    ("include/hawser/hawser.h", "/* " + "a" * 123 + " */\n", "129 columns, at most 125"),
    ("include/hawser/hawser.h", '#include "hawser/stored.h"\n', "includes stored.h, which only programs that need it include"),
    ("src/data/a.c", "\nint f(void);\n", "begin with a sentence"),
    ("README.md", "# A\n[a](docs/none.md)\n", "a link to a file that does not exist: docs/none.md"),
    ("docs/a.md", "# A title\n[a](#a-title) [b](a.md#b)\n", "a link to a heading that does not exist: a.md#b"),
]
RIGHT = [
    ("src/base/a.c", '#include "base/memory.h"\n\nstatic const char *const words[] = {"exit(1)"};\n'),
    ("src/exchange/a.c", '#include "base/a.h"\n#include "hawser/hawser.h"\n'),
    ("src/cli/a.c", 'void f(void)\n{\n    printf("x"); /* strcpy(a, b) */\n}\n'),
    ("src/cluster/a.c", "void f(void)\n{\n    poll(0, 0, -1);\n}\n"),
    ("src/linalg/a.c", "int f(int a)\n{\n    return __builtin_clz(a);\n}\n"),
    ("include/hawser/a.h", "/** Says x. */\nHAWSER_API int hawser_f(void);\nHAWSER_API int hawser_g(void);\n"),
    ("include/hawser/hawser.h", '#include "hawser/data.h"\n/** F. */\n' + "HAWSER_API int hawser_f(void);\n" * 70),
    ("tests/a.c", "void f(char *a)\n{\n    strcpy(a, a);\n}\n"),
    ("docs/a.md", "# A `title`, too\n[a](#a-title-too) [b](a.md) [c](https://example.org/none.md)\n"),
]


def judge(files, own=False):
    """Returns exit status and messages for a tree of these files, by its own tidy, which finds the tree by itself, or by ours."""
    with tempfile.TemporaryDirectory() as top:
        for name, content in files:
            path = pathlib.Path(top, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            opening = f"/* {path.name} */\n" if name.startswith("src/") and not content.startswith("\n") else ""
            path.write_text(opening + content)
        pathlib.Path(top, "tests").mkdir(exist_ok=True)
        call = [shutil.copy(SOURCE / "tests/tidy", pathlib.Path(top, "tests"))] if own else [SOURCE / "tests/tidy", top]
        done = subprocess.run([sys.executable, *call], capture_output=True, text=True)
        # The small trees have no .clang-format, so messages of the formatter are ignored.
        said = [line for line in done.stdout.splitlines() if "clang-format" not in line and not line.startswith("tidy:")]
        return done.returncode, said


failures = 0
for name, content, words in WRONG:
    code, said = judge([(name, content)])
    if code == 0 or not any(words in line and line.startswith(name + ":") for line in said):
        failures += 1
        print(f"{name} with {content[:40]!r}: wanted '{words}', got {said}")
code, said = judge([("src/data/a.c", LONG)], own=True)
if code == 0 or said != ["src/data/a.c:3: a function of 92 lines, at most 80"]:
    failures += 1
    print(f"of its own tree it says: {said}")
CIRCLE = [("src/data/a.h", '#include "data/b.h"\n'), ("src/data/b.c", '#include "data/a.h"\n')]
FOLDERS = [("src/data/x/a.h", '#include "data/y/b.h"\n'), ("src/data/y/b.c", '#include "data/x/c.h"\n')]
for files, words in [(CIRCLE, "does not name: data/a data/b"), (FOLDERS, "a circle of folders: data/x data/y")]:
    code, said = judge(files)
    if code == 0 or not any(words in line for line in said):
        failures += 1
        print(f"{files}: wanted '{words}', got {said}")
code, said = judge(CIRCLE + [("ARCHITECTURE.md", "| `data/a`, `data/b` | a reason |\n")])
if said:
    failures += 1
    print(f"the circle is named, yet: {said}")
code, said = judge([("ARCHITECTURE.md", "# A page\n| `data/a`, `data/b` | a reason |\n"), ("src/data/a.c", "int a;\n")])
if code == 0 or said != ["ARCHITECTURE.md:2: names a circle of files that is none: data/a data/b"]:
    failures += 1
    print(f"of a circle that is none it says: {said}")
CALLED = [("src/data/a.h", "int hw_f(int a);\n"), ("src/data/a.c", "int hw_f(int a)\n{\n    return a;\n}\n")]
code, said = judge(CALLED)
if code == 0 or said != ["src/data/a.h:2: no other file calls hw_f(): make it static"]:
    failures += 1
    print(f"of a function that no other file calls it says: {said}")
code, said = judge([*CALLED, ("src/cli/b.c", '#include "data/a.h"\n\nint g(void)\n{\n    return hw_f(1);\n}\n')])
if said:
    failures += 1
    print(f"the function is called, yet: {said}")
HEADER = [("src/data/a.h", "int f(void);\n"), ("src/data/b/a.c", '#include "data/a.h"\n'), ("src/cli/a.c", "int a;\n")]
code, said = judge(HEADER)
if code == 0 or said != ["src/data/a.h:1: belongs beside data/b/a.c, which it is named after"]:
    failures += 1
    print(f"of a header that lies elsewhere it says: {said}")
TYPE = "typedef struct thing {\n    int a;\n} thing;\n"
code, said = judge([("src/data/a.c", TYPE), ("src/store/b.c", TYPE)])
if code == 0 or said != ["src/store/b.c:1: type thing has the name of one in a.c; give it another name"]:
    failures += 1
    print(f"of two types of one name it says: {said}")
PATCH = [("tests/rows/a.patch", "--- a/src/data/a.h\n+++ b/src/data/a.h\n@@ -1,3 +1,3 @@\n /* a.h */\n-int a;\n+int b;\n int c;\n")]
REFUSED = ["tests/rows/a.patch:1: does not apply to src/data/a.h; CONTRIBUTING says how to write it anew"]
for content, words in [("int a;\nint c;\n", []), ("int c;\nint c;\n", REFUSED), ("int a;\nint d;\n", REFUSED)]:  # the last one applies with fuzz
    code, said = judge(PATCH + [("src/data/a.h", content)])
    if shutil.which("patch") and said != words:
        failures += 1
        print(f"of a patch that meets {content!r} it says: {said}")
code, said = judge(RIGHT)
if said:
    failures += 1
    print(f"nothing is wrong, yet: {said}")
sys.exit(1 if failures else 0)
