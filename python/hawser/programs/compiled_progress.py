"""The parameter of compiled tests, a `hawser.Progress`: its attributes and methods, as compiled code calls them."""
import ctypes
import operator
from typing import Any

import llvmlite.ir as ir
import numpy as np
from numba.core import errors, types
from numba.core.datamodel import models
from numba.extending import overload, overload_attribute, overload_method, register_model

from .._errors import BadOption
from .._sync import sync_of
from .compiled_context import COUNT, FLAG, NUMBER, POINTER, WORD, by_name, call_of, literal_of, number_of, pointer, view_of
from .condition import NO_MEMORY
from .unit import Known, address_of_name


class ProgressType(types.Type):  # type: ignore[misc]
    """The type of a test's parameter: the address of a cell whose first word is the address of the progress."""

    parameter = "progress"  # as errors show it

    def __init__(self, known: Known, remembers: int, loop: str) -> None:
        self.known, self.remembers, self.loop = known, remembers, loop
        super().__init__(name=f"hawser.Progress({known}, {remembers}, {loop})")


register_model(ProgressType)(type("ProgressModel", (models.PrimitiveModel,), {
    "__init__": lambda self, manager, kind: models.PrimitiveModel.__init__(self, manager, kind, ir.IntType(64))}))

_seconds = call_of("hawser_progress_seconds", NUMBER, POINTER)
_stopping = call_of("hawser_progress_stopping", FLAG, POINTER)
_memory = call_of("hawser_progress_memory", POINTER, POINTER)
_set = call_of("hawser_progress_set", None, POINTER, POINTER, NUMBER)
_set_gain = call_of("hawser_progress_gain", None, POINTER, POINTER, NUMBER)
_set_sync = call_of("hawser_progress_sync", None, POINTER, POINTER, COUNT)  # hawser_sync is one word of a call


_keep = call_of("hawser_progress_keep", None, POINTER, ctypes.c_uint32)
_return = call_of("hawser_progress_return", None, POINTER, ctypes.c_uint32)
_has = call_of("hawser_progress_has", FLAG, POINTER, ctypes.c_uint32)


def keep(progress: Any, point: Any = 0) -> Any:
    def give(progress: Any, point: Any = 0) -> Any:
        _keep(pointer(progress), np.uint32(point))
    return give


def return_to(progress: Any, point: Any = 0) -> Any:
    def give(progress: Any, point: Any = 0) -> Any:
        _return(pointer(progress), np.uint32(point))
    return give


def has(progress: Any, point: Any = 0) -> Any:
    def get(progress: Any, point: Any = 0) -> Any:
        return _has(pointer(progress), np.uint32(point)) != 0
    return get


def seconds_of(progress: Any) -> Any:
    def seconds(progress: Any) -> Any:
        return _seconds(pointer(progress))
    return seconds


def stopping_of(progress: Any) -> Any:
    def stopping(progress: Any) -> Any:
        return _stopping(pointer(progress)) != 0
    return stopping


def loop_of(progress: Any) -> Any:
    name = progress.loop

    def loop(progress: Any) -> Any:
        return name
    return loop


def memory_of(progress: Any) -> Any:
    count = progress.remembers
    if count == 0:
        raise errors.TypingError(NO_MEMORY)
    view = view_of(types.Array(types.float64, 1, "C"))

    def memory(progress: Any) -> Any:
        return view(_memory(pointer(progress)), (np.int64(count),), (WORD,))
    return memory


def set_metric(progress: Any, name: Any, value: Any) -> Any:
    address, _ = literal_of(progress, name, "metric")

    def give(progress: Any, name: Any, value: Any) -> Any:
        _set(pointer(progress), address, float(value))
    return give


def set_gain(progress: Any, state: Any, gain: Any) -> Any:
    address, _ = literal_of(progress, state, "state")

    def give(progress: Any, state: Any, gain: Any) -> Any:
        _set_gain(pointer(progress), address, float(gain))
    return give


def set_sync(progress: Any, loop: Any, sync: Any) -> Any:
    if not isinstance(loop, types.StringLiteral) or not isinstance(sync, types.StringLiteral):
        raise errors.TypingError("the loop and its sync must be written in the call, as in progress.set_sync(\"steps\", \"ssp:2\")")
    try:
        chosen = sync_of(sync.literal_value)
    except BadOption as error:
        raise errors.TypingError(str(error)) from error
    address, word = address_of_name(loop.literal_value), chosen.tightness | chosen.staleness << 32

    def give(progress: Any, loop: Any, sync: Any) -> Any:
        _set_sync(pointer(progress), address, word)
    return give


for name_, function_ in (
        ("clock", number_of("progress_clock", ctypes.c_uint64)), ("clocks", number_of("progress_clocks", ctypes.c_uint64)),
        ("seconds", seconds_of), ("stopping", stopping_of), ("loop", loop_of), ("memory", memory_of)):
    overload_attribute(ProgressType, name_)(function_)
for name_, method_ in (("metric", by_name("progress_metric", "metric")), ("set", set_metric), ("set_gain", set_gain), ("set_sync", set_sync),
                       ("keep", keep), ("return_to", return_to), ("has", has)):
    overload_method(ProgressType, name_, prefer_literal=True)(method_)


@overload(operator.getitem, prefer_literal=True)  # type: ignore[untyped-decorator]
def _item(context: Any, name: Any) -> Any:  # named as in by_name
    return by_name("progress_metric", "metric")(context, name) if isinstance(context, ProgressType) else None


__all__ = ["ProgressType"]
