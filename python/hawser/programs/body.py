"""How operators are added to a program: the body of a loop, a sequence, a parallel, a branch."""
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .._arguments import name_bytes
from .._errors import BadArgument, BadOption, BadProgram
from .._sync import sync_of
from .declared import Declared
from .operator import Cocoa, Operator
from .progress import Progress
from .unit import Unit

LEAST = 5e-324  # in place of a bound of 0, which for the library is none


class Body:
    """A sequence of operators: a program, the body of a loop, a sequence, a parallel, or the two ways of a branch."""

    _program: Declared
    _operator: Operator

    def _add(self, operator: Operator) -> "Body":
        name_bytes(f"the name of a {operator.kind}", operator.name)
        self._operator.children.append(operator)
        made = Body()
        made._program, made._operator = self._program, operator
        return made

    def unit(self, unit: Unit, name: str | None = None, *, one: bool | None = None, sync: str | None = None,
             states: Mapping[str, str] | None = None, **numbers: Any) -> None:
        """Adds a unit, called `name`, or as its function. `numbers` are values of parameters that are no states.

        `states` names the states of parameters that are called otherwise. `one` and `sync` are as in `hawser.unit`.
        """
        if not isinstance(unit, Unit):
            raise BadArgument(f"{unit!r:.60} is no unit; make it one with @hawser.unit")
        sync = sync if sync is not None else unit.sync
        if sync is not None:
            sync_of(sync)
        given = {**{key: value for key, value in unit.defaults.items() if key not in numbers}, **numbers}
        operator = Operator("unit", name or unit.name, unit=unit, one=unit.one if one is None else one, sync=sync,
                             states=dict(states or {}), numbers=given)
        if "subproblem" in unit.parameters:
            raise BadProgram(f"{unit.where()}: it has a parameter 'subproblem', so it is a local solver; add it with cocoa")
        self._program._check_unit(operator)
        self._add(operator)

    def cocoa(self, solver: Unit, name: str | None = None, *, coordinates: str, product: str, gamma: float | str = 1.0,
              states: Mapping[str, str] | None = None, **numbers: Any) -> None:
        """Adds a local solver of CoCoA (hawser_cocoa) as a unit. Once per clock it improves the coordinates of each block.

        `coordinates` is a local state of one float64 along data by row (column), `product` a replicated state v = sum of a_j x_j over the rows
        (columns) x_j. The function has a parameter `subproblem` (`hawser.Subproblem`) and no updates: it changes coordinates by
        `subproblem.step(j, by)`, which changes v, too. `gamma` 1 adds the blocks' steps, "average" averages them, 0 takes what `merge` of the
        run says. sigma' is safe for this and the loop's sync, unless the product has a `gain` or a `damping` of its own. The product is
        derived, and the coordinates are tied to it, without further calls.

        >>> import hawser, numpy
        >>> @hawser.unit(compile=False)
        ... def solve(rows, rows_target, subproblem, ridge):
        ...     for j, (row, target) in enumerate(zip(rows, rows_target)):  # ridge regression, in the dual
        ...         gap = target - subproblem.alpha[j] - row @ subproblem.v / ridge
        ...         subproblem.step(j, gap / (1 + subproblem.sigma * (row @ row) / ridge))
        >>> rows, target = numpy.array([[1.0, 0.0], [1.0, 1.0], [0.0, 2.0]]), numpy.array([1.0, 2.0, 2.0])
        >>> program = hawser.Program("ridge")
        >>> program.data("rows", rows, target)
        >>> program.local("a", along="rows")
        >>> program.replicated("v", "rows")
        >>> program.loop("rounds", clocks=60).cocoa(solve, coordinates="a", product="v", ridge=1.0)
        >>> program.run(workers=1)["v"].round(6)
        array([0.705882, 0.882353])
        """
        if not isinstance(solver, Unit):
            raise BadArgument(f"{solver!r:.60} is no unit; make it one with @hawser.unit")
        if "subproblem" not in solver.parameters or solver.updates or solver.reports or solver.one or solver.sync or solver.reduces:
            raise BadProgram(f"{solver.where()}: a local solver has a parameter 'subproblem', and no updates, reports, one, sync or reduces")
        if isinstance(gamma, str) and gamma != "average" or isinstance(gamma, (int, float)) and not gamma >= 0:
            raise BadOption(f"cocoa: gamma is {gamma!r}; it is a number from 0, or \"average\"")
        given = {**{key: value for key, value in solver.defaults.items() if key not in numbers}, **numbers}
        operator = Operator("unit", name or solver.name, unit=solver, states=dict(states or {}), numbers=given,
                            cocoa=Cocoa(coordinates, product, gamma))
        self._program._check_unit(operator)
        self._add(operator)

    def loop(self, name: str, *, clocks: int | None = None, seconds: float | None = None, metric: str | None = None,
             below: float | None = None, change: float | None = None, patience: int | None = None,
             test: Callable[[Progress], Any] | None = None, remembers: int = 0, sync: str | None = None) -> "Body":
        """Adds a loop, and returns its body. It ends at the first clock for which a condition holds.

        `clocks`: it has had so many iterations. `seconds`: it has run so long. `metric` with `below`: the metric is at most that; with
        `change`: it has changed by at most that part; with `patience`: it has not fallen for so many iterations. `test`: a function
        of a `hawser.Progress` returns true, a plain one or a `hawser.condition`; `remembers` is how many numbers `progress.memory` has.
        A test with memory may be called again for a clock after a change of sync, with the memory as it was. `sync` is "bsp", "ssp:N",
        "tap", "delay:N" or "dc:N"; without it, that of the run.
        """
        if sync is not None:
            sync_of(sync)
        if metric is not None:
            self._program.metric(metric)
        below, change = (LEAST if bound == 0 else bound for bound in (below, change))
        until = {"clocks": clocks, "seconds": seconds, "metric": metric, "below": below, "change": change, "patience": patience,
                 "remembers": remembers}
        for key, count in (("clocks", clocks), ("patience", patience), ("remembers", remembers)):
            _check_count(f"loop '{name}'", key, count)
        if metric is not None and below is None and change is None and patience is None:
            raise BadArgument(f"loop '{name}': metric='{metric}' ends no loop by itself; give below, change or patience")
        return self._add(Operator("loop", name, sync=sync, until=until, test=test_of(f"loop '{name}'", test)))

    def sequence(self) -> "Body":
        """Adds a sequence, and returns it: one child of a parallel or a branch."""
        return self._add(Operator("sequence"))

    def parallel(self) -> "Body":
        """Adds a parallel, and returns it: its children start together."""
        return self._add(Operator("parallel"))

    def branch(self, name: str, test: Callable[[Progress], Any], *, remembers: int = 0) -> "Body":
        """Adds a branch, and returns it. Its first child runs if the test returns true, else its second, if it has one.

        `test` and `remembers` are as in `loop`. The memory is zeros when the innermost loop around the branch begins.
        """
        _check_count(f"branch '{name}'", "remembers", remembers)
        return self._add(Operator("branch", name, test=test_of(f"branch '{name}'", test), until={"remembers": remembers}))


def _check_count(where: str, key: str, count: Any) -> None:
    if count is not None and not (isinstance(count, (int, np.integer)) and 0 <= count < 2**48):
        raise BadArgument(f"{where}: {key} is {count!r}; it is a whole number from 0")


def test_of(where: str, test: Any) -> Any:
    if test is not None and not callable(test):
        raise BadArgument(f"{where}: test is a {type(test).__name__}, and not a function of a hawser.Progress")
    return test


__all__ = ["Body"]
