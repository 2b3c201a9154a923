"""Tables by Arrow's C stream interface (https://arrow.apache.org/docs/format/CStreamInterface.html), without a package of Arrow's."""
import ctypes
import itertools
from ctypes import CFUNCTYPE, POINTER, Structure, byref, c_char_p, c_int, c_int64, c_void_p
from decimal import Context, Decimal
from typing import Any

import numpy as np
import numpy.typing as npt

from ._errors import BadArgument

Array = npt.NDArray[Any]
# The values of a column in one batch. First an array of numbers or dates, or a list of texts, in which None is a missing one. Then a mask of the
# missing numbers or dates; None: none is missing.
Piece = tuple[Any, Array | None]
# Formats of columns of numbers. Booleans ("b") are bits.
FORMATS = {"c": "i1", "C": "u1", "s": "i2", "S": "u2", "i": "i4", "I": "u4", "l": "i8", "L": "u8", "e": "f2", "f": "f4", "g": "f8"}


class ArrowSchema(Structure):
    pass


class ArrowArray(Structure):
    pass


class ArrowStream(Structure):
    pass


ArrowSchema._fields_ = [
    ("format", c_char_p), ("name", c_char_p), ("metadata", c_char_p), ("flags", c_int64), ("n_children", c_int64),
    ("children", POINTER(POINTER(ArrowSchema))), ("dictionary", POINTER(ArrowSchema)),
    ("release", CFUNCTYPE(None, POINTER(ArrowSchema))), ("private_data", c_void_p)]
ArrowArray._fields_ = [
    ("length", c_int64), ("null_count", c_int64), ("offset", c_int64), ("n_buffers", c_int64), ("n_children", c_int64),
    ("buffers", POINTER(c_void_p)), ("children", POINTER(POINTER(ArrowArray))), ("dictionary", POINTER(ArrowArray)),
    ("release", CFUNCTYPE(None, POINTER(ArrowArray))), ("private_data", c_void_p)]
ArrowStream._fields_ = [
    ("get_schema", CFUNCTYPE(c_int, POINTER(ArrowStream), POINTER(ArrowSchema))),
    ("get_next", CFUNCTYPE(c_int, POINTER(ArrowStream), POINTER(ArrowArray))),
    ("get_last_error", CFUNCTYPE(c_char_p, POINTER(ArrowStream))),
    ("release", CFUNCTYPE(None, POINTER(ArrowStream))), ("private_data", c_void_p)]


def _release(thing: Any) -> None:
    if thing.release:
        thing.release(byref(thing))


def _bits(address: int, first: int, count: int) -> Array:
    """Returns `count` bits from number `first` on, least significant first."""
    data = np.frombuffer(ctypes.string_at(address, (first + count + 7) // 8), np.uint8)
    return np.unpackbits(data, bitorder="little")[first:first + count].astype(bool)


def _numbers(address: int, kind: str, first: int, count: int) -> Array:
    dtype = np.dtype(kind)
    return np.frombuffer(ctypes.string_at(address + first * dtype.itemsize, count * dtype.itemsize), dtype)


def _texts(array: Any, kind: str, first: int, count: int, called: str) -> list[str]:
    """Returns texts of variable length: offsets, then their bytes."""
    offsets = _numbers(array.buffers[1], "i8" if kind == "U" else "i4", first, count + 1).tolist()
    text = ctypes.string_at(array.buffers[2], offsets[-1]) if offsets[-1] else b""
    return [_decoded(text[begin:end], called) for begin, end in itertools.pairwise(offsets)]


def _views(array: Any, first: int, count: int, called: str) -> list[str]:
    """Returns texts of 16 bytes each: a length, then up to 12 bytes, or a prefix, a buffer and a place in it."""
    found = []
    for at in range(first, first + count):
        head = ctypes.string_at(array.buffers[1] + 16 * at, 16)
        length, _, buffer, place = np.frombuffer(head, "<i4").tolist()
        found.append(_decoded(head[4:4 + length] if length <= 12 else ctypes.string_at(array.buffers[2 + buffer] + place, length), called))
    return found


def _decoded(text: bytes, called: str) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError:
        raise BadArgument(f"{called} has {text!r:.60}, which is not UTF-8") from None


def _decimals(address: int, kind: str, first: int, count: int) -> list[str]:
    """Returns decimals as texts. The format is d:DIGITS,SCALE, with the bits behind that if they are not 128."""
    sizes = [int(each) for each in kind[2:].split(",")]
    width = (sizes[2] if len(sizes) > 2 else 128) // 8
    data = ctypes.string_at(address + first * width, count * width)
    return [str(Decimal(int.from_bytes(data[width * at:width * (at + 1)], "little", signed=True)).scaleb(-sizes[1], Context(prec=99)))
            for at in range(count)]


def _moments(address: int, kind: str, first: int, count: int) -> Array:
    """Returns dates (tdD, tdm) and timestamps (tss, tsm, tsu, tsn; those with a zone are in UTC)."""
    if kind == "tdD":
        return _numbers(address, "i4", first, count).astype("datetime64[D]")
    unit = "ms" if kind == "tdm" else {"s": "s", "m": "ms", "u": "us", "n": "ns"}[kind[2]]
    return _numbers(address, "i8", first, count).view(f"datetime64[{unit}]")


def _piece(array: Any, schema: Any, called: str, offset: int, length: int) -> Piece:
    """Returns a copy of a column's values in one batch, and which are missing."""
    kind, first = (schema.format or b"").decode(), array.offset + offset
    gaps = None
    if kind == "n":
        return [None] * length, None
    if array.null_count != 0 and array.buffers[0]:
        valid = _bits(array.buffers[0], first, length)
        gaps = None if valid.all() else ~valid
    if length == 0:
        return np.empty(0), None
    if schema.dictionary:
        words, _ = _piece(array.dictionary.contents, schema.dictionary.contents, called, 0, array.dictionary.contents.length)
        codes = _numbers(array.buffers[1], FORMATS[kind], first, length).astype(np.int64)
        return _with_gaps([words[code] if code < len(words) else None for code in codes.tolist()], gaps), None
    if kind in ("u", "U"):
        return _with_gaps(_texts(array, kind, first, length, called), gaps), None
    if kind == "vu":
        return _with_gaps(_views(array, first, length, called), gaps), None
    if kind.startswith("d:"):
        return _with_gaps(_decimals(array.buffers[1], kind, first, length), gaps), None
    if kind.startswith(("tdD", "tdm", "ts")):
        return _moments(array.buffers[1], kind, first, length), gaps
    return _bits(array.buffers[1], first, length) if kind == "b" else _numbers(array.buffers[1], FORMATS[kind], first, length), gaps


def _with_gaps(values: list[Any], gaps: Array | None) -> list[Any]:
    return values if gaps is None else [None if gap else value for value, gap in zip(values, gaps.tolist(), strict=True)]


def _is_readable(schema: Any) -> bool:
    kind = (schema.format or b"").decode()
    if schema.dictionary:
        return kind in FORMATS and _is_readable(schema.dictionary.contents)
    return kind in FORMATS or kind in ("b", "n", "u", "U", "vu") or kind.startswith(("d:", "tdD", "tdm", "ts"))


def _names(schema: ArrowSchema, what: str) -> list[str]:
    """Returns the names of the columns; refuses what has no numbers, words or dates."""
    if schema.format != b"+s":
        raise BadArgument(f"{what}: the Arrow stream is no table: it must have columns")
    names = []
    for k in range(schema.n_children):
        child = schema.children[k].contents
        names.append((child.name or b"").decode())
        if not _is_readable(child):
            raise BadArgument(f"{what}: column '{names[-1]}' has no numbers, words or dates: its type in Arrow's notation is "
                              f"'{(child.format or b'').decode()}'")
    return names


def read_stream(table: Any, what: str) -> list[tuple[str, bool, list[Piece]]]:
    """Returns of each column of a table with `__arrow_c_stream__` its name, whether it is a dictionary, and a piece for each batch."""
    capsule = table.__arrow_c_stream__()
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = c_void_p, [ctypes.py_object, c_char_p]
    stream = ArrowStream.from_address(pointer(capsule, b"arrow_array_stream"))
    schema = ArrowSchema()
    try:
        _check(stream, stream.get_schema(byref(stream), byref(schema)))
        names = _names(schema, what)
        columns = [schema.children[k].contents for k in range(schema.n_children)]
        found: list[tuple[str, bool, list[Piece]]] = [(name, bool(child.dictionary), []) for name, child in zip(names, columns, strict=True)]
        while True:
            batch = ArrowArray()
            _check(stream, stream.get_next(byref(stream), byref(batch)))
            if not batch.release:
                return found
            try:
                for k, (name, _, pieces) in enumerate(found):
                    pieces.append(_piece(batch.children[k].contents, columns[k], f"{what}: column '{name}'", batch.offset, batch.length))
            finally:
                _release(batch)
    finally:
        _release(schema)
        _release(stream)


def _check(stream: ArrowStream, code: int) -> None:
    if code != 0:
        text = stream.get_last_error(byref(stream))
        raise BadArgument(f"the Arrow stream failed: {text.decode() if text else f'error {code}'}")


__all__ = ["read_stream"]
