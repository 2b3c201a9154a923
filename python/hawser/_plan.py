"""Plans: what a training would do, as text."""
import ctypes
from ctypes import byref
from typing import Any

from . import _errors
from ._errors import BadOption, Interrupted, check
from ._library import library as lib
from ._native import hawser_error
from ._train import Fit, prepare

free = ctypes.CDLL(None).free
free.argtypes = [ctypes.c_void_p]


class Planning(Fit):
    """A training that ends when its plan is made."""

    physical, dot = True, False
    text = ""

    def work(self, job: Any, data: Any) -> None:
        given, found, error = self._input(job, data), ctypes.c_char_p(), hawser_error()
        check(lib.hawser_train_plan(self.algorithm, job, byref(given), self.physical, self.dot, byref(found), byref(error)), error)
        self.text = (found.value or b"").decode(errors="replace")
        free(found)


def plan(algorithm: str, data: Any, target: Any = None, *, physical: bool = True, dot: bool = False, **options: Any) -> str:
    """Returns the plan that `hawser.train` would run with the same arguments, as `hawser plan` prints it.

    With `physical=False` it has units, states, their life times and sync, else blocks, placement, memory and the numbers that
    decided. With `dot=True` it is a graph for Graphviz. Over several nodes every node makes the call.

    >>> import hawser, numpy
    >>> x = numpy.random.default_rng(0).normal(size=(100, 3))
    >>> "loop 'iterations'" in hawser.plan("kmeans", x, clusters=2)
    True
    """
    if options.pop("progress", None):
        raise BadOption("progress: a plan trains nothing")
    planning = prepare(algorithm, data, target, kind=Planning, **options)
    assert isinstance(planning, Planning)
    planning.physical, planning.dot = bool(physical), bool(dot)
    pressed = planning.wait(None)
    planning.report_messages()
    for category, text in planning.reports:
        _errors.warn(text, category)
    if pressed:
        raise Interrupted("the plan was interrupted")
    if planning.raised is not None:
        raise planning.raised
    return planning.text


__all__ = ["plan"]
