"""What compiled units may not do, where numba does not notice it itself."""
import re
from typing import Any

import numpy as np
from numba.core import errors, types

from .._errors import BadProgram
from .code import Code
from .condition import Condition


def numba_reason(error: Exception) -> str:
    """Returns the part of numba's text that says what is wrong, and where."""
    text = str(error)
    reasons = re.findall(r"raised a specific error:\s+(?:\w+: )?(.*)", text)
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("Failed in")]
    return f"{(reasons or lines or [type(error).__name__])[0]}{_place(text)}"


def _place(text: str) -> str:
    where = re.search(r'File "([^"]*)", line (\d+):', text)
    return f" (line {where.group(2)})" if where else ""


def reason_of(error: Exception, unit: Code) -> str:
    """Returns what is wrong with a unit for numba, and where."""
    text = str(error)
    if "Cannot modify readonly array" in text or not isinstance(error, errors.NumbaError):
        named = f"; its updates are {', '.join(unit.updates)}" if unit.updates else "; it has no updates="
        what = "" if isinstance(error, errors.NumbaError) else f"{type(error).__name__}: {error}; "
        return f"{what}does it change a state that it only reads?{named}{_place(text)}"
    return numba_reason(error)


# What gives or takes an array that may be written although the one that it comes from is read-only: numba checks all others.
ESCAPES = {np.fill_diagonal: "numpy.fill_diagonal", np.nditer: "numpy.nditer", np.ascontiguousarray: "numpy.ascontiguousarray",
           np.asfortranarray: "numpy.asfortranarray"}


def _is_readonly(kind: Any) -> bool:
    return isinstance(kind, types.Array) and not kind.mutable


def check_writes(unit: Code, compiled: Any) -> None:
    """Refuses what could change a state that is only read, and what numba does not refuse itself."""
    found, notes = "", compiled.type_annotation
    for block in notes.blocks.values():
        for one in block.find_exprs(op="getattr"):
            if one.attr == "flat" and _is_readonly(notes.typemap[one.value.name]):
                found = "flat"
    for expression, signature in notes.calltypes.items():
        if signature is None or getattr(expression, "op", "") != "call" or not any(map(_is_readonly, signature.args)):
            continue
        called = notes.typemap[expression.func.name]
        function = getattr(called, "typing_key", None)
        if isinstance(called, types.Dispatcher):
            check_writes(unit, called.dispatcher.overloads[tuple(signature.args)])
        elif function is np.dot and len(signature.args) == 3 and _is_readonly(signature.args[2]):
            found = "the output of numpy.dot"
        elif _name_of(function) in ESCAPES.values() and _is_readonly(signature.args[0]):
            found = _name_of(function)
    if found:
        raise BadProgram(f"{unit.where()}: {found} of an array that the unit only reads could change it, which numba does not notice; use a "
                         "loop, or a copy()")


def check_object_mode(unit: Code, compiled: Any) -> None:
    """Refuses arrays in `numba.objmode`, where Python could keep views of memory that the run frees."""
    notes = compiled.type_annotation
    for expression, signature in notes.calltypes.items():
        if signature is None or getattr(expression, "op", "") != "call":
            continue
        called = notes.typemap[expression.func.name]
        given = [notes.typemap[each.name] for each in expression.args]  # the signature has them as objects
        if isinstance(called, types.ObjModeDispatcher) and any(isinstance(kind, (types.Array, types.BaseTuple)) for kind in given):
            raise BadProgram(f"{unit.where()}: numba.objmode has an array (line {expression.loc.line}), which it could keep; give it numbers, or "
                             "make the unit plain (compile=False)")
        if isinstance(called, types.Dispatcher) and not isinstance(called, types.ObjModeDispatcher):
            check_object_mode(unit, called.dispatcher.overloads[tuple(signature.args)])


def check_shapes(unit: Code, compiled: Any, inside: bool = False) -> None:
    """Refuses where numba compares no shapes: outputs of ufuncs, and changes in place `inside` functions that the unit calls (shapes.py has its own)."""
    notes, found = compiled.type_annotation, ""
    for expression, signature in notes.calltypes.items():
        operation = getattr(expression, "op", "")
        if signature is None or operation not in ("call", "inplace_binop"):
            continue
        if operation == "inplace_binop":
            if inside and all(isinstance(kind, types.Array) for kind in signature.args):
                found = f"a change in place (line {expression.loc.line} of {expression.loc.filename})"
            continue
        called = notes.typemap[expression.func.name]
        function = getattr(called, "typing_key", None)
        if isinstance(called, types.Dispatcher):
            check_shapes(unit, called.dispatcher.overloads[tuple(signature.args)], inside=True)
        elif isinstance(function, np.ufunc) and len(signature.args) > function.nin:
            found = f"the output of numpy.{function.__name__} (line {expression.loc.line})"
    if found:
        raise BadProgram(f"{unit.where()}: {found} is an array, and numba does not compare its shape; write output[:] = ... instead")


def _name_of(function: Any) -> str:
    return next((name for each, name in ESCAPES.items() if function is each), "")


def check_result(unit: Code, result: Any) -> None:
    """Refuses a unit that does not return a number for each metric that it reports, and a condition that returns no number."""
    if isinstance(unit, Condition):
        if not isinstance(result, (types.Number, types.Boolean)):
            raise BadProgram(unit.wrong_result("nothing" if result == types.none else f"{result}"))
        return
    count = 0 if result == types.none else len(result) if isinstance(result, types.BaseTuple) else 1
    numbers = [result] if count == 1 and not isinstance(result, types.BaseTuple) else list(result) if count else []
    if count != len(unit.reports) or not all(isinstance(kind, (types.Number, types.Boolean)) for kind in numbers):
        raise BadProgram(unit.wrong_result(f"{result}" if count else "nothing"))


__all__ = ["check_object_mode", "check_result", "check_shapes", "check_writes", "numba_reason", "reason_of"]
