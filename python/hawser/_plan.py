"""Plans: what a training or a program would do, as text and as data."""
import ctypes
import json
from collections.abc import Callable
from ctypes import byref
from dataclasses import dataclass
from typing import Any

from . import _errors, _native
from ._errors import BadOption, Interrupted, check
from ._library import library as lib
from ._memory import free
from ._native import hawser_error
from ._train import Fit, prepare


@dataclass(frozen=True)
class PlanMemory:
    """The memory that a plan needs on the node with the most blocks, in bytes."""

    needed: int  #: the estimate, which must not exceed `limit`
    limit: int  #: what --memory-limit, or the machine, leaves
    parts: dict[str, int]  #: what it is for: data, states, units, threads and more; their sum is `needed`
    mapped: int  #: pages of a mapped file, which come and go, and count for no limit
    shared: int  #: what is shared with other nodes of the host, and counts for no limit
    late: int  #: an upper bound of what updates that wait for a slow worker take besides, under ssp and tap; not in `needed`


class Plan:
    """A plan. `str(plan)` is its text, and `data` has all that it says (`hawser help plan-json`).

    >>> import hawser, numpy
    >>> x = numpy.random.default_rng(0).normal(size=(100, 3))
    >>> plan = hawser.plan("kmeans", x, clusters=2, workers=2)
    >>> plan.blocks, plan.memory.parts["data"], plan.syncs["iterations"], plan.units["finish"]["updates"]
    (2, 2400, 'bsp', ['best', 'sizes'])
    """

    def __init__(self, text: str, data: dict[str, Any]) -> None:
        self.text, self.data = text, data

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<hawser.Plan of '{self.data['program']}': {self.blocks} blocks, {len(self.nodes)} nodes, {self.memory.needed} bytes>"

    @property
    def blocks(self) -> int:
        """The parts into which the work is divided: one per worker."""
        return int(self.data["blocks"])

    @property
    def nodes(self) -> list[dict[str, Any]]:
        """The nodes: node, name, blocks (their numbers), stored_entries by data state."""
        return list(self.data["nodes"])

    @property
    def memory(self) -> PlanMemory:
        """The memory of the node with the most blocks."""
        found = self.data["memory"]
        return PlanMemory(found["needed_bytes"], found["limit_bytes"], dict(found["parts_bytes"]), found["mapped_bytes"],
                          found["shared_bytes"], found["late_bytes"])

    @property
    def states(self) -> dict[str, dict[str, Any]]:
        """The states by name: kind, rows, columns, type, block_bytes, shares, sent_per_clock_bsp and more."""
        return {state["name"]: state for state in self.data["states"]}

    @property
    def units(self) -> dict[str, dict[str, Any]]:
        """The units by name: reads, updates, only_block, first_stage, last_stage and more."""
        return {operator["name"]: operator for operator in self.data["operators"] if operator["kind"] == "unit"}

    @property
    def syncs(self) -> dict[str, str]:
        """The sync of each loop, as the option `sync` has it: "bsp", "ssp:2"."""
        return {operator["name"]: operator["sync"] for operator in self.data["operators"] if operator["kind"] == "loop"}

    @property
    def sent(self) -> dict[str, int]:
        """The most bytes that all nodes send in a clock for each state. Empty on one node."""
        figures = {name: [state[key]["bytes_out_of_all"] for key in ("sent_per_clock_bsp", "sent_per_clock_other") if key in state]
                   for name, state in self.states.items()}
        return {name: max(found) for name, found in figures.items() if found}

    @property
    def warnings(self) -> list[str]:
        """What the user must know, such as the guarantees that a sync gives up."""
        return [_errors.in_keywords(line) for line in self.data["warnings"]]


def read_plan(physical: bool, dot: bool, call: Callable[[int, Any, Any], int]) -> Plan:
    """Returns the plan that `call(format, text, error)` of the library stores."""

    def take(form: int) -> str:
        found, error = ctypes.c_char_p(), hawser_error()
        check(call(form, byref(found), byref(error)), error)
        text = (found.value or b"").decode(errors="replace")
        free(found)
        return text

    forms = {(False, False): _native.HAWSER_PLAN_LOGICAL, (True, False): _native.HAWSER_PLAN_PHYSICAL,
             (False, True): _native.HAWSER_PLAN_LOGICAL_DOT, (True, True): _native.HAWSER_PLAN_PHYSICAL_DOT}
    return Plan(take(forms[bool(physical), bool(dot)]), json.loads(take(_native.HAWSER_PLAN_JSON)))


class Planning(Fit):
    """A training that ends when its plan is made."""

    physical, dot = True, False
    plan: Plan

    def work(self, job: Any, data: Any) -> None:
        given = self._input(job, data)
        self.plan = read_plan(self.physical, self.dot, lambda form, text, error: lib.hawser_train_plan(
            self.algorithm, job, byref(given), form, text, error))


def plan(algorithm: str, data: Any, target: Any = None, *, physical: bool = True, dot: bool = False, **options: Any) -> Plan:
    """Returns the plan that `hawser.train` would run with the same arguments. `str(plan)` is what `hawser plan` prints.

    With `physical=False` the text has units, states, their life times and sync, else blocks, placement, memory and the numbers that
    decided. With `dot=True` it is a graph for Graphviz. Over several nodes every node makes the call.

    >>> import hawser, numpy
    >>> x = numpy.random.default_rng(0).normal(size=(100, 3))
    >>> "loop 'iterations'" in str(hawser.plan("kmeans", x, clusters=2))
    True
    """
    if options.pop("progress", None):
        raise BadOption("progress: a plan trains nothing")
    planning = prepare(algorithm, data, target, kind=Planning, **options)
    assert isinstance(planning, Planning)
    planning.physical, planning.dot = physical, dot
    pressed = planning.wait(None)
    planning.report_messages()
    for category, text in planning.reports:
        _errors.warn(text, category)
    if pressed:
        raise Interrupted("the plan was interrupted")
    if planning.raised is not None:
        raise planning.raised
    return planning.plan


__all__ = ["Plan", "PlanMemory", "plan", "read_plan"]
