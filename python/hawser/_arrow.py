"""Tables by Arrow's C stream interface (https://arrow.apache.org/docs/format/CStreamInterface.html), without a package of Arrow's."""
import ctypes
from ctypes import CFUNCTYPE, POINTER, Structure, byref, c_char_p, c_int, c_int64, c_void_p
from typing import Any

import numpy as np
import numpy.typing as npt

from ._errors import BadArgument

Array = npt.NDArray[Any]
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
    return np.unpackbits(data, bitorder="little")[first:first + count]


def _column(array: Any, kind: str, name: str, offset: int, length: int) -> Array:
    """Returns a copy of a column's numbers."""
    first = array.offset + offset
    if array.null_count != 0 and array.buffers[0] and not _bits(array.buffers[0], first, length).all():
        raise BadArgument(f"column '{name}' has missing values; fill them or leave the rows out")
    if length == 0:
        return np.empty(0)
    if kind == "b":
        return _bits(array.buffers[1], first, length)
    dtype = np.dtype(FORMATS[kind])
    return np.frombuffer(ctypes.string_at(array.buffers[1] + first * dtype.itemsize, length * dtype.itemsize), dtype)


def _columns(schema: ArrowSchema) -> list[tuple[str, str]]:
    """Returns name and format of each column; refuses what has no numbers."""
    if schema.format != b"+s":
        raise BadArgument("the Arrow stream is no table: it must have columns")
    found = []
    for k in range(schema.n_children):
        child = schema.children[k].contents
        name, kind = (child.name or b"").decode(), (child.format or b"").decode()
        if (kind not in FORMATS and kind != "b") or child.dictionary:
            raise BadArgument(f"column '{name}' has no numbers: its type in Arrow's notation is '{kind}'")
        found.append((name, kind))
    return found


def read_stream(table: Any) -> tuple[Array, list[str]]:
    """Returns the numbers of a table with `__arrow_c_stream__`, in Fortran order, and the names of its columns."""
    capsule = table.__arrow_c_stream__()
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = c_void_p, [ctypes.py_object, c_char_p]
    stream = ArrowStream.from_address(pointer(capsule, b"arrow_array_stream"))
    schema, parts = ArrowSchema(), []
    try:
        _check(stream, stream.get_schema(byref(stream), byref(schema)))
        columns = _columns(schema)
        while True:
            batch = ArrowArray()
            _check(stream, stream.get_next(byref(stream), byref(batch)))
            if not batch.release:
                break
            try:
                parts.append([_column(batch.children[k].contents, kind, name, batch.offset, batch.length)
                              for k, (name, kind) in enumerate(columns)])
            finally:
                _release(batch)
    finally:
        _release(schema)
        _release(stream)
    rows = sum(len(part[0]) for part in parts if part)
    narrow = len(columns) > 0 and all(kind == "f" for _, kind in columns)
    whole = np.empty((rows, len(columns)), np.float32 if narrow else np.float64, order="F")
    for k in range(len(columns)):
        whole[:, k] = np.concatenate([part[k] for part in parts]) if parts else 0
    return whole, [name for name, _ in columns]


def _check(stream: ArrowStream, code: int) -> None:
    if code != 0:
        text = stream.get_last_error(byref(stream))
        raise BadArgument(f"the Arrow stream failed: {text.decode() if text else f'error {code}'}")


__all__ = ["read_stream"]
