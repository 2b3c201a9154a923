"""What a program declares: its states, its metrics, and its tree of operators."""
from .._arguments import name_bytes
from .._errors import BadOption, BadProgram
from .operator import Operator
from .state import State
from .unit import BESIDE, COMBINE, number_of


class Declared:
    """The part of a program that its operators, its run and its tests know."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._states: dict[str, State] = {}
        self._points = 1
        self._metrics: dict[str, str] = {}
        self._operator = Operator("root")

    def _known(self, name: str, where: str) -> State:
        if name not in self._states:
            raise BadProgram(f"{where}: program '{self.name}' has no state '{name}'; its states are {', '.join(self._states) or 'none'}")
        return self._states[name]

    def metric(self, name: str, by: str = "sum") -> None:
        """Says how the blocks' reports of a metric are combined: "sum", "max", "min", or "last" (block 0's).

        Metrics that units report are sums without this call.
        """
        name_bytes("the name of a metric", name)
        if by not in COMBINE:
            raise BadOption(f"metric '{name}': by is {by!r}; it is one of {', '.join(COMBINE)}")
        if by != "sum" or name not in self._metrics:
            self._metrics[name] = by

    def _check_unit(self, operator: Operator) -> None:
        """Checks that the program has the states that a unit names, and declares the unit's metrics."""
        unit, numbers = operator.unit, operator.numbers
        assert unit is not None
        where = unit.where()
        for parameter in (*unit.updates, *unit.reads):
            if self._known(operator.states.get(parameter, parameter), where).kind == "scratch":
                raise BadProgram(f"{where}: '{parameter}' is scratch memory, which is no state; make it a parameter alone")
        for given in (*operator.states, *numbers):
            if given not in unit.parameters and given not in (*unit.updates, *unit.reads):
                raise BadProgram(f"{where}: it has no parameter '{given}'; its parameters are {', '.join(unit.parameters) or 'none'}")
        for parameter in unit.parameters:
            name = operator.states.get(parameter, parameter)
            data, _, beside = name.rpartition("_")
            if name in self._states and parameter in numbers and parameter not in unit.defaults:
                raise BadProgram(f"{where}: parameter '{parameter}' is a state, and a number; give one of them another name")
            if name in self._states:
                continue
            if parameter in numbers:
                number_of(where, parameter, numbers[parameter])
            elif parameter != "context" and not (parameter == "subproblem" and operator.cocoa is not None) and not (beside in BESIDE and data in self._states and self._states[data].kind == "data"):
                raise BadProgram(f"{where}: parameter '{parameter}' is no state of program '{self.name}', and no number is given for "
                                 f"it; the states are {', '.join(self._states) or 'none'}")
        if operator.cocoa is not None:
            self._check_cocoa(operator, where)
        unit.check_in_place(*self._scratch_of(operator))
        for parameter in unit.updates:
            state = self._states[operator.states.get(parameter, parameter)]
            if state.kind == "data" and state.by == "all":
                raise BadProgram(f"{where}: it updates '{parameter}', which are data that all blocks share (by=\"all\")")
            if state.kind == "data" and parameter not in unit.parameters:
                raise BadProgram(f"{where}: it updates '{parameter}', which is data, so it has a parameter '{parameter}'")
        for metric in unit.reports:
            self.metric(metric)

    def _scratch_of(self, operator: Operator) -> list[str]:
        """Returns the parameters that are scratch memory."""
        assert operator.unit is not None
        states = ((parameter, self._states.get(operator.states.get(parameter, parameter))) for parameter in operator.unit.parameters)
        return [parameter for parameter, state in states if state is not None and state.kind == "scratch"]

    def _check_cocoa(self, operator: Operator, where: str) -> None:
        assert operator.unit is not None and operator.cocoa is not None
        own, product = (self._known(name, where) for name in (operator.cocoa.coordinates, operator.cocoa.product))
        if own.kind != "local" or own.along is None or own.shape or own.dtype != "float64":
            raise BadProgram(f"{where}: coordinates '{own.name}' are a local state of one float64 along data")
        if product.kind != "replicated" or product.dtype != "float64" or product.derived is not None:
            raise BadProgram(f"{where}: product '{product.name}' is a replicated state of float64, without derive")
        for parameter in (*operator.unit.parameters, *operator.unit.reads):
            if operator.states.get(parameter, parameter) in (own.name, product.name):
                raise BadProgram(f"{where}: '{parameter}' is seen as subproblem.alpha or subproblem.v, and is no parameter")

    def _units(self) -> list[Operator]:
        found = [operator for operator in self._operator.walk() if operator.kind == "unit"]
        rebuilt = [Operator("unit", state.derived.name, unit=state.derived) for state in self._states.values() if state.derived]
        return found + rebuilt


__all__ = ["Declared"]
