"""Checks of arguments that C takes: ctypes wraps a number that is too large, and a negative one, without a word."""
import ctypes
import operator
import os
from typing import Any, NoReturn

from ._errors import BadArgument

WORD = 2**64 - 1
INT = 2**32 - 1


def whole_number(what: str, value: Any, least: int = 0, most: int = WORD) -> int:
    """Returns a whole number that is within bounds."""
    try:
        found = operator.index(value)
    except TypeError:
        raise BadArgument(f"{what} is {value!r:.60}, and must be a whole number") from None
    if not least <= found <= most:
        raise BadArgument(f"{what} is {found}, and must be a whole number from {least} to {most}")
    return found


def name_bytes(what: str, name: Any) -> bytes:
    """Returns a name as the library has it. C would end it at a zero byte without a word."""
    if not isinstance(name, str):
        raise BadArgument(f"{what} is {name!r:.60}, and must be a text")
    if "\0" in name:
        raise BadArgument(f"{what} is {name!r:.60}, which has a zero byte")
    try:
        return name.encode()
    except UnicodeEncodeError:
        raise BadArgument(f"{what} is {name!r:.60}, which is no text that UTF-8 has") from None


def path_bytes(path: str | os.PathLike[str]) -> bytes:
    """Returns a path as the system has it."""
    found = os.fsencode(path)
    if b"\0" in found:
        raise BadArgument(f"the path {os.fsdecode(path)!r:.200} has a zero byte")
    return found


def give_key(struct: Any, key: Any) -> None:
    """Points a struct of the library to the bytes of a key, which the caller keeps."""
    if not isinstance(key, bytes):
        raise BadArgument(f"key is a {type(key).__name__}, and must be 16 to 64 bytes")
    struct.key, struct.key_length = ctypes.cast(ctypes.c_char_p(key), ctypes.c_void_p), len(key)


def refuse_pickle(given: Any) -> NoReturn:
    """Raises an error for what belongs to its process, and cannot be pickled or copied."""
    raise BadArgument(f"a hawser.{type(given).__name__} belongs to its process, and cannot be pickled or copied; make one in the other process")


__all__ = ["INT", "WORD", "give_key", "name_bytes", "path_bytes", "refuse_pickle", "whole_number"]
