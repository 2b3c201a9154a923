#!/usr/bin/env python3
"""Writes hawser/_native.py: the structs, enumerations and functions of include/hawser/*.h for ctypes.

    tools/native.py            writes python/hawser/_native.py
    tools/native.py --check    fails if that file differs from the headers
    tools/native.py --layout   prints a C program that prints the size of each struct and the offset of each field

It needs gcc and pycparser. The package itself needs neither.
"""
import argparse
import hashlib
import keyword
import pathlib
import re
import subprocess
import sys
import tempfile

from pycparser import c_ast, c_parser

ROOT = pathlib.Path(__file__).resolve().parents[2]
OUTPUT = ROOT / "python" / "hawser" / "_native.py"
HEADERS = ("advanced", "algorithm", "batches", "cocoa", "job_data", "kept_points", "moving", "store", "stored", "vector")

# What the headers need of the C library, so that the parser sees nothing else.
STUBS = {
    "stdbool.h": "#define bool _Bool\n",
    "stddef.h": "typedef unsigned long size_t;\n#define NULL ((void *)0)\n",
    "stdint.h": "".join(f"typedef int {sign}int{bits}_t;\n" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    "stdio.h": "#include <stddef.h>\ntypedef struct FILE FILE;\n",
}
SCALARS = {
    "_Bool": "c_bool", "char": "c_char", "signed char": "c_byte", "unsigned char": "c_ubyte", "int": "c_int",
    "unsigned": "c_uint", "unsigned int": "c_uint", "long": "c_long", "unsigned long": "c_ulong",
    "long long": "c_longlong", "double": "c_double", "float": "c_float", "size_t": "c_size_t",
} | {f"{sign}int{bits}_t": f"c_{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
BYTES = {"c_char_p": "bytes | None", "c_bool": "bool", "c_char": "bytes", "c_double": "float", "c_float": "float"}


def preprocess() -> str:
    """Returns the headers without comments and macros."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in STUBS.items():
            (pathlib.Path(folder) / name).write_text(f"#pragma once\n{text}")
        lines = "".join(f"#include <hawser/{name}.h>\n" for name in HEADERS)
        command = ["gcc", "-E", "-P", "-std=c17", "-nostdinc", "-U__GNUC__", f"-I{folder}", f"-I{ROOT / 'include'}", "-"]
        text = subprocess.run(command, input=lines, capture_output=True, text=True, check=True).stdout
    return "".join(line for line in text.splitlines(True) if not line.startswith("#pragma"))


class Binding:
    """What the headers declare, as lines of Python in the order of the declarations."""

    def __init__(self) -> None:
        self.constants: dict[str, int] = {}
        self.enums: set[str] = set()
        self.structs: dict[str, list[tuple[str, str]] | None] = {}  # None: opaque
        self.callbacks: dict[str, str] = {}
        self.functions: dict[str, tuple[str, list[str]]] = {}
        for node in c_parser.CParser().parse(preprocess()).ext:
            if isinstance(node, c_ast.Typedef):
                self.add_typedef(node)
            elif isinstance(node, c_ast.Decl):
                self.add_declaration(node)
        used = self.uses()
        self.structs = {name: fields for name, fields in self.structs.items() if fields is not None or name in used}

    # ------------------------------------------------------------------------------------------------- types ----

    def evaluate(self, node: c_ast.Node) -> int:
        """Returns the value of a constant expression: the size of an array, the value of an enumerator."""
        if isinstance(node, c_ast.Constant):
            return int(node.value.rstrip("uUlL"), 0)
        if isinstance(node, c_ast.UnaryOp) and node.op == "-":
            return -self.evaluate(node.expr)
        if isinstance(node, c_ast.BinaryOp) and node.op in ("<<", "+", "*", "|"):
            left, right = self.evaluate(node.left), self.evaluate(node.right)
            return {"<<": left << right, "+": left + right, "*": left * right, "|": left | right}[node.op]
        if isinstance(node, c_ast.ID):
            return self.constants[node.name]
        raise NotImplementedError(type(node).__name__)

    def function_type(self, node: c_ast.FuncDecl) -> tuple[str, list[str]] | None:
        """Returns result and arguments of a function; None if it takes a list of arguments of any length."""
        parameters = node.args.params if node.args is not None else []
        if any(isinstance(parameter, c_ast.EllipsisParam) for parameter in parameters):
            return None
        arguments = [self.argument(parameter.type) for parameter in parameters]
        return self.type(node.type), [argument for argument in arguments if argument != "None"]

    def argument(self, node: c_ast.Node) -> str:
        """Returns the type of an argument: an array is passed as a pointer."""
        if isinstance(node, c_ast.ArrayDecl):
            return f"POINTER({self.type(node.type)})"
        return self.type(node)

    def pointer(self, node: c_ast.Node) -> str:
        if isinstance(node, c_ast.FuncDecl):
            shape = self.function_type(node)
            return f"CFUNCTYPE({', '.join([shape[0], *shape[1]])})" if shape else "c_void_p"
        target = self.type(node)
        if target in self.callbacks:
            return target
        return {"None": "c_void_p", "c_char": "c_char_p"}.get(target, f"POINTER({target})")

    def type(self, node: c_ast.Node) -> str:
        if isinstance(node, c_ast.PtrDecl):
            return self.pointer(node.type)
        if isinstance(node, c_ast.ArrayDecl):
            return f"{self.type(node.type)} * {self.evaluate(node.dim)}"
        if isinstance(node, c_ast.TypeDecl):
            return self.type(node.type)
        if isinstance(node, c_ast.Enum):
            return "c_int"
        if isinstance(node, c_ast.Struct):
            if node.decls is not None:
                raise NotImplementedError(f"a struct in a struct: {node.coord}")
            self.structs.setdefault(node.name, None)
            return str(node.name)
        name = " ".join(node.names)
        if name == "void":
            return "None"
        if name == "FILE":
            return "None"  # a pointer to it is c_void_p
        return "c_int" if name in self.enums else SCALARS.get(name, name)

    # ------------------------------------------------------------------------------------------ declarations ----

    def add_enum(self, node: c_ast.Enum) -> None:
        value = 0
        for enumerator in node.values.enumerators if node.values is not None else ():
            value = self.evaluate(enumerator.value) if enumerator.value is not None else value
            self.constants[enumerator.name] = value
            value += 1

    def add_struct(self, node: c_ast.Struct) -> None:
        if node.decls is None:
            self.structs.setdefault(node.name, None)
            return
        if any(field.bitsize is not None for field in node.decls):
            raise NotImplementedError(f"bit fields: {node.name}")
        fields = [(field.name, self.type(field.type)) for field in node.decls]
        self.structs.pop(node.name, None)  # its place is after the types that it has
        self.structs[node.name] = fields

    def add_typedef(self, node: c_ast.Typedef) -> None:
        if isinstance(node.type, c_ast.FuncDecl):
            shape = self.function_type(node.type)
            if shape is not None:
                self.callbacks[node.name] = f"CFUNCTYPE({', '.join([shape[0], *shape[1]])})"
            return
        inner = node.type.type
        if isinstance(inner, c_ast.Enum):
            self.add_enum(inner)
            self.enums.add(node.name)
        elif isinstance(inner, c_ast.Struct):
            self.add_struct(inner)

    def add_declaration(self, node: c_ast.Decl) -> None:
        if isinstance(node.type, c_ast.FuncDecl):
            shape = self.function_type(node.type)
            if shape is not None:
                self.functions[node.name] = shape
        elif isinstance(node.type, c_ast.Struct):
            self.add_struct(node.type)
        elif isinstance(node.type, c_ast.Enum):
            self.add_enum(node.type)

    def uses(self) -> str:
        return repr([self.functions, self.callbacks, list(self.structs.values())])

    # ---------------------------------------------------------------------------------------------- printing ----

    def python(self) -> str:
        out = ['"""Structs, enumerations and functions of include/hawser/*.h. Written by python/tools/native.py: do not edit."""',
               "# ruff: noqa",
               "from ctypes import *  # noqa: F403",
               "from ctypes import CDLL, POINTER, CFUNCTYPE, Structure",
               "from typing import Any", "", f"VERSION = {version()!r}", f"DIGEST = {headers_digest()!r}", ""]
        out += [f"{name} = {value}" for name, value in self.constants.items()]
        out += ["", "", "# The classes come before the fields, since structs have pointers to each other."]
        for name, fields in self.structs.items():
            out += ["", "", f"class {name}(Structure):"]
            shown = [f"    {field}: {self.annotation(kind)}" for field, kind in fields or () if not keyword.iskeyword(field)]
            out += shown or ["    pass"]
        out += ["", ""]
        out += [f"{name} = {kind}" for name, kind in self.callbacks.items()]
        for name, fields in self.structs.items():
            if fields is not None:
                out += [f"{name}._fields_ = ["] + [f'    ("{field}", {kind}),' for field, kind in fields] + ["]"]
        out += ["", "FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {"]
        for name, (result, arguments) in self.functions.items():
            out.append(f'    "{name}": ({result}, [{", ".join(arguments)}]),')
        out += ["}", "", "", "def bind(library: CDLL) -> None:",
                '    """Gives each function of the library its types."""',
                "    for name, (result, arguments) in FUNCTIONS.items():",
                "        function = getattr(library, name)",
                "        function.restype, function.argtypes = result, arguments"]
        return "\n".join(out) + "\n"

    def annotation(self, kind: str) -> str:
        if kind in BYTES:
            return BYTES[kind]
        if kind.startswith("c_char *") and kind.count("*") == 1:
            return "bytes"
        if kind in self.structs and self.structs[kind] is not None:
            return kind
        if kind.startswith("c_") and "*" not in kind and kind != "c_void_p":
            return "int"
        return "Any"

    def layout(self) -> str:
        lines = ["/* The size of each struct and the offset of each field, for python/tests/test_native.py. */",
                 "#include <stddef.h>", "#include <stdio.h>"]
        lines += [f"#include <hawser/{name}.h>" for name in HEADERS]
        lines += ["int main(void)", "{"]
        for name, fields in self.structs.items():
            if fields is None:
                continue
            spelled = f"struct {name}"
            lines.append(f'    printf("{name} %zu\\n", sizeof({spelled}));')
            lines += [f'    printf("{name}.{field} %zu\\n", offsetof({spelled}, {field}));' for field, _ in fields]
        lines += [f'    printf("{name} %d\\n", (int){name});' for name in self.constants]
        return "\n".join([*lines, "    return 0;", "}"]) + "\n"


def version() -> str:
    text = (ROOT / "include" / "hawser" / "version.h").read_text()
    return text.split("#define HAWSER_VERSION ", 1)[1].split('"')[1]


def headers_digest(folder: pathlib.Path = ROOT / "include" / "hawser") -> str:
    """Returns what hawser_headers_digest returns in a library of these headers: cmake/headers_digest.cmake computes the same."""
    text = "".join(path.read_text() for path in sorted(folder.glob("*.h")))
    text = re.sub(r"/[*][^*]*[*]+([^/*][^*]*[*]+)*/", "", text)
    return hashlib.sha256(re.sub(r"[ \t\r\n]+", "", text).encode()).hexdigest()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--layout", action="store_true")
    given = parser.parse_args()
    binding = Binding()
    if given.layout:
        print(binding.layout(), end="")
    elif given.check:
        if OUTPUT.read_text() != binding.python():
            print(f"{OUTPUT} differs from the headers; run python/tools/native.py", file=sys.stderr)
            return 1
    else:
        OUTPUT.write_text(binding.python())
    return 0


if __name__ == "__main__":
    sys.exit(main())
