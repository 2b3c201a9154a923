"""Finds where a function binds the name of an array that it should change in place to another array, which changes nothing."""
import dis
import inspect
import types
from collections.abc import Callable, Iterator
from typing import Any

Place = tuple[int, int]  # line and column


def find_rebinding(function: Callable[..., Any], names: tuple[str, ...]) -> tuple[str, int] | None:
    """Returns the first of these parameters that the function binds anew, and the line. `w -= x` and `w[:] = x` change the array and are none."""
    code = inspect.unwrap(function).__code__
    wanted = {name for name in names if name in code.co_varnames[:code.co_argcount]}
    return min(_bindings(code, wanted), key=lambda found: found[1], default=None) if wanted else None


def _bindings(code: types.CodeType, names: set[str]) -> Iterator[tuple[str, int]]:
    before, line, comprehensions = "", code.co_firstlineno, list[tuple[str, Place, Place]]()
    for one in dis.get_instructions(code):
        if one.opname in ("EXTENDED_ARG", "NOP"):
            continue
        at = one.positions
        line = at.lineno if at is not None and at.lineno is not None else line
        begin = (line, at.col_offset or 0) if at is not None else (line, 0)
        if one.opname == "LOAD_FAST_AND_CLEAR" and at is not None:  # a comprehension with a variable of its own, of this name
            comprehensions.append((one.argval, begin, (at.end_lineno or line, at.end_col_offset or 2**31)))
        for place, name in enumerate(_stored(one)):
            in_place = place == 0 and before.endswith("=")
            inside = any(name == own and first <= begin <= last for own, first, last in comprehensions)
            if name in names and not in_place and not inside:
                yield name, line
        before = one.argrepr if one.opname == "BINARY_OP" else ""
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType) and names.intersection(inner.co_freevars):
            yield from _bindings(inner, names.intersection(inner.co_freevars))


def _stored(one: dis.Instruction) -> tuple[str, ...]:
    """Returns the names that an instruction binds."""
    if one.opname == "STORE_FAST_LOAD_FAST":
        return (one.argval[0],)
    if one.opname == "STORE_FAST_STORE_FAST":
        return tuple(one.argval)
    return (one.argval,) if one.opname in ("STORE_FAST", "STORE_DEREF") else ()


__all__ = ["find_rebinding"]
