"""The parameter `subproblem` of compiled solvers, a `hawser.Subproblem`: its attributes and its method, as compiled code calls them."""
import ctypes
from typing import Any

import llvmlite.ir as ir
import numpy as np
from numba.core import types
from numba.core.datamodel import models
from numba.extending import overload_attribute, overload_method, register_model

from .._native import hawser_subproblem
from .compiled_context import COUNT, NUMBER, POINTER, WORD, address_in, call_of, load, load_number, view_of


class SubproblemType(types.Type):  # type: ignore[misc]
    """The type of a solver's parameter: the address of a hawser_subproblem."""

    def __init__(self) -> None:
        super().__init__(name="hawser.Subproblem")


register_model(SubproblemType)(type("SubproblemModel", (models.PrimitiveModel,), {
    "__init__": lambda self, manager, kind: models.PrimitiveModel.__init__(self, manager, kind, ir.IntType(64))}))

_step = call_of("hawser_subproblem_step", None, POINTER, COUNT, NUMBER)
_AT = {name: getattr(hawser_subproblem, name).offset for name in ("coordinates", "first", "size", "alpha", "v", "sigma")}


def _array(place: str, count: str) -> Any:
    view, at, many = view_of(types.Array(types.float64, 1, "C", readonly=True)), _AT[place], _AT[count]

    def attribute(subproblem: Any) -> Any:
        def get(subproblem: Any) -> Any:
            address = address_in(subproblem)
            return view(load(address + at), (load(address + many),), (np.int64(WORD),))
        return get
    return attribute


def _sigma(subproblem: Any) -> Any:
    at = _AT["sigma"]

    def get(subproblem: Any) -> Any:
        return load_number(address_in(subproblem) + at)
    return get


def _first(subproblem: Any) -> Any:
    at = _AT["first"]

    def get(subproblem: Any) -> Any:
        return load(address_in(subproblem) + at)
    return get


def _move(subproblem: Any, j: Any, by: Any) -> Any:
    many = _AT["coordinates"]

    def step(subproblem: Any, j: Any, by: Any) -> Any:
        if j < 0 or j >= load(address_in(subproblem) + many):
            raise IndexError("step: the block has no such coordinate")
        _step(address_in(subproblem), j, float(by))
    return step


for name_, attribute_ in (("alpha", _array("alpha", "coordinates")), ("v", _array("v", "size")), ("sigma", _sigma), ("first", _first)):
    overload_attribute(SubproblemType, name_)(attribute_)
overload_method(SubproblemType, "step")(_move)

assert ctypes.sizeof(hawser_subproblem) % WORD == 0

__all__ = ["SubproblemType"]
