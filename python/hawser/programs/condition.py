"""Functions that are tests of loops and branches, as numba compiles them."""
from collections.abc import Callable
from typing import Any, overload

from .._errors import BadProgram
from .code import Code

NO_MEMORY = "the test has no memory; give remembers= to the loop or branch"


class Condition(Code):
    """A function that is a test of loops and branches. `hawser.condition` makes it. Called as a function, it is the function."""

    noun, result = "condition", "true or false"

    def __init__(self, function: Callable[..., Any], compile: bool | None = None, boundscheck: bool = True) -> None:
        super().__init__(function, compile, boundscheck)
        if len(self.parameters) != 1:
            raise BadProgram(f"{self.where()}: a condition has one parameter, the hawser.Progress")


@overload
def condition(function: Callable[..., Any], /) -> Condition: ...


@overload
def condition(*, compile: bool | None = None, boundscheck: bool = True) -> Callable[[Callable[..., Any]], Condition]: ...


def condition(function: Callable[..., Any] | None = None, /, *, compile: bool | None = None, boundscheck: bool = True) -> Any:
    """Makes a function a compiled test of loops and branches. It gets a `hawser.Progress`, and returns true or false.

    numba compiles it, as it does units, so that node 0 calls it without the interpreter's lock. Names of metrics, states and loops are
    written out in the call, and what it keeps from clock to clock is in `progress.memory`. Without numba, and with `compile=False`, it is
    the plain function.

    >>> import hawser, numpy
    >>> @hawser.condition
    ... def enough(progress):
    ...     progress.memory[0] += progress.metric("seen")
    ...     return progress.memory[0] >= 30
    >>> @hawser.unit(updates="w", reports="seen", one=True)
    ... def add(w):
    ...     w[0] += 1
    ...     return 10
    >>> program = hawser.Program("until enough")
    >>> program.replicated("w", 1)
    >>> program.loop("loop", test=enough, remembers=1).unit(add)
    >>> program.run(workers=1).clocks
    3
    """
    def make(function: Callable[..., Any]) -> Condition:
        return Condition(function, compile, boundscheck)
    return make if function is None else make(function)


__all__ = ["Condition", "NO_MEMORY", "condition"]
