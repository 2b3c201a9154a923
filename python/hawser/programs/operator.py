"""Operators of a program, as they were added: units, loops, sequences, parallels and branches."""
import dataclasses
import types
from collections.abc import Callable, Iterator
from typing import Any

from .code import digest_of
from .condition import Condition
from .unit import Unit


@dataclasses.dataclass(frozen=True)
class Cocoa:
    """The states of a local solver. It improves the coordinates, a local state. Their product with the data is a replicated state."""

    coordinates: str
    product: str
    gamma: float | str  # "average" is known when the job is open


@dataclasses.dataclass
class Operator:
    """An operator as it was added: a unit, a loop, a sequence, a parallel or a branch."""

    kind: str
    name: str = ""
    children: list["Operator"] = dataclasses.field(default_factory=list)
    unit: Unit | None = None
    one: bool = False
    sync: str | None = None
    states: dict[str, str] = dataclasses.field(default_factory=dict)
    numbers: dict[str, Any] = dataclasses.field(default_factory=dict)
    until: dict[str, Any] = dataclasses.field(default_factory=dict)
    test: Callable[..., Any] | None = None
    cocoa: Cocoa | None = None

    def order(self) -> str:
        return f"{self.kind} {self.name}({', '.join(child.order() for child in self.children)})"

    def walk(self) -> Iterator["Operator"]:
        yield self
        for child in self.children:
            yield from child.walk()

    def terms(self) -> str:
        """Returns what must be the same on every node, except what it contains."""
        function = self.test.function if isinstance(self.test, Condition) else self.test
        test = digest_of(function) if isinstance(function, types.FunctionType) else None
        unit = self.unit
        own = (unit.digest(), unit.updates, unit.reads, unit.reports, unit.reduces, unit.compile) if unit is not None else None
        return repr((self.kind, self.name, own, self.one, self.sync, self.states, self.numbers, self.until, test, self.cocoa))


__all__ = ["Cocoa", "Operator"]
