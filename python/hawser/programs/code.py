"""Functions of the user's that the library calls: their place, their digest, and how they are compiled."""
import functools
import hashlib
import inspect
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from .._errors import BadArgument, BadProgram
from .rebound import find_rebinding


class Code:
    """A function that is a unit, a condition or a merge function. Called as a function, it is the function."""

    noun = "function"
    result = "nothing"  # what it returns
    updates: tuple[str, ...] = ()
    reports: tuple[str, ...] = ()

    def __init__(self, function: Callable[..., Any], compile: bool | None = None, boundscheck: bool = True) -> None:
        if not isinstance(function, types.FunctionType):
            raise BadArgument(f"a {self.noun} is a function, and this is a {type(function).__name__}")
        self.function, self.name, self.compile, self.boundscheck = function, function.__name__, compile, boundscheck
        self.parameters: list[str] = []
        self.defaults: dict[str, Any] = {}
        for parameter in inspect.signature(function).parameters.values():
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.KEYWORD_ONLY):
                raise BadArgument(f"{self.where()}: a {self.noun} has plain parameters, and '{parameter}' is none")
            self.parameters.append(parameter.name)
            if parameter.default is not parameter.empty:
                self.defaults[parameter.name] = parameter.default
        functools.update_wrapper(self, function)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        return self.function(*arguments, **keywords)

    def __repr__(self) -> str:
        return f"<hawser.{self.noun} {self.name}({', '.join(self.parameters)})>"

    def where(self) -> str:
        """Returns the function's name and place, for errors."""
        code = self.function.__code__
        return f"{self.noun} '{self.name}' ({code.co_filename}:{code.co_firstlineno})"

    def wrong_result(self, found: str) -> str:
        return f"{self.where()}: it returns {found}, and a {self.noun} returns {self.result}"

    def check_in_place(self, *names: str) -> None:
        """Refuses a function that binds an array of these names anew, which changes nothing, where it must change it in place."""
        found = find_rebinding(self.function, names)
        if found is not None:
            name, line = found
            raise BadProgram(f"{self.where()}: line {line} binds '{name}' to something else, which changes no number of the array that was given; "
                             f"write {name}[:] = ... or {name} += ..., or use another name")

    def digest(self) -> str:
        """Returns a digest of the code and of the values that it takes from outside, which other nodes must have, too."""
        return digest_of(self.function)


class Merge(Code):
    """A merge function of a replicated state."""

    noun = "merge function"

    def __init__(self, function: Callable[..., Any], compile: bool | None = None) -> None:
        super().__init__(function, compile)
        if len(self.parameters) != 5:
            raise BadProgram(f"{self.where()}: a merge function has the parameters state, sum, first, blocks and clock")
        self.check_in_place(self.parameters[0])


def digest_of(function: Callable[..., Any]) -> str:
    """Returns a digest of a function's code and of the values that it takes from outside."""
    made = hashlib.sha256()
    _digest_function(function, made, set())
    return made.hexdigest()


def _digest_function(function: Any, made: Any, seen: set[int]) -> None:
    if id(function) in seen:
        return
    seen.add(id(function))
    made.update(f"{function.__qualname__}{function.__defaults__}".encode())
    _digest_code(function.__code__, made)
    inside = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
    values = {name: cell.cell_contents for name, cell in inside.items()}
    values |= {name: function.__globals__[name] for name in _names_in(function.__code__) if name in function.__globals__}
    for name in sorted(values):
        made.update(name.encode())
        _digest_value(values[name], made, seen)


def _names_in(code: types.CodeType) -> set[str]:
    """Returns the names that code and the functions inside of it use."""
    inner = (value for value in code.co_consts if isinstance(value, types.CodeType))
    return set(code.co_names).union(*(_names_in(value) for value in inner))


def _digest_code(code: types.CodeType, made: Any) -> None:
    made.update(code.co_code + repr((code.co_names, code.co_varnames, code.co_freevars)).encode())
    for value in code.co_consts:
        if isinstance(value, types.CodeType):
            _digest_code(value, made)
        else:
            made.update(repr(value).encode())


def _digest_value(value: Any, made: Any, seen: set[int]) -> None:
    function = getattr(value, "py_func", None) or (value.function if isinstance(value, Code) else value)
    if isinstance(function, types.FunctionType):
        _digest_function(function, made, seen)
    elif isinstance(value, np.ndarray):
        made.update(f"{value.dtype}{value.shape}".encode() + value.tobytes())
    elif isinstance(value, (int, float, complex, str, bytes, bool, tuple, frozenset, list, dict, np.generic, type(None))):
        made.update(repr(value).encode())
    else:  # a module or class: its name, since the text of an object may have its address
        made.update(f"{type(value).__qualname__} {getattr(value, '__name__', '')}".encode())


__all__ = ["Code", "Merge", "digest_of"]
