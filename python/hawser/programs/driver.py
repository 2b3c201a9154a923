"""What the driver of a run calls: the tests of loops and branches."""
import ctypes
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, overload

from .._dataset import Array
from .._errors import BadArgument, BadProgram
from .._library import library as lib
from .._native import hawser_until
from .._sync import sync_of
from .called import has_numba
from .code import Code
from .raised import Running
from .unit import Known
from .views import Views

if TYPE_CHECKING:
    from .operator import Operator
    from .program import Program


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


class Progress:
    """What a test of a loop or a branch sees of the run. It is of use during the test alone."""

    def __init__(self, pointer: Any, program: "Program", remembers: int = 0) -> None:
        self._pointer, self._program, self._remembers = pointer, program, remembers
        self._views = Views()

    def _use(self) -> Any:
        if self._pointer is None:
            raise BadArgument("a hawser.Progress is used after its test has returned")
        return self._pointer

    def metric(self, name: str) -> float:
        """Returns a metric, as combined over the blocks. "bytes" and "staleness" always exist."""
        if name not in self._program._metrics and name not in ("bytes", "staleness"):
            raise BadProgram(f"the test names metric '{name}', and the program has {list(self._program._metrics)}")
        return float(lib.hawser_progress_metric(self._use(), name.encode()))

    __getitem__ = metric

    def set(self, name: str, value: float) -> None:
        """Sets a metric, for all blocks and for the other conditions of the loop."""
        self.metric(name)
        lib.hawser_progress_set(self._use(), name.encode(), float(value))

    @property
    def clock(self) -> int:
        """The iteration of the loop."""
        return int(lib.hawser_progress_clock(self._use()))

    @property
    def clocks(self) -> int:
        """The clocks of all loops so far."""
        return int(lib.hawser_progress_clocks(self._use()))

    @property
    def seconds(self) -> float:
        """The time since the run began."""
        return float(lib.hawser_progress_seconds(self._use()))

    @property
    def loop(self) -> str:
        """The name of the loop or unit."""
        return (lib.hawser_progress_loop(self._use()) or b"").decode()

    @property
    def stopping(self) -> bool:
        """Whether a signal or a limit has asked for the end."""
        return bool(lib.hawser_progress_stopping(self._use()))

    @property
    def memory(self) -> Array:
        """The numbers that the test keeps from clock to clock: as many as `remembers` says, zeros at first."""
        address = lib.hawser_progress_memory(self._use())
        if not self._remembers or not address:
            raise BadProgram(NO_MEMORY)
        return self._views.array("progress.memory", address, "float64", (self._remembers,), writable=True)

    def _end(self, where: str) -> None:
        """Refuses a test that keeps its memory, which the run frees."""
        self._pointer = None
        if self._views.end() is not None:
            raise BadProgram(f"{where} keeps progress.memory after it has returned; keep a copy of it")

    def set_gain(self, state: str, gain: float) -> None:
        """Changes the gain of a replicated state, from the next clock that is announced."""
        self._program._known(state, "the test")
        lib.hawser_progress_gain(self._use(), state.encode(), float(gain))

    def set_sync(self, loop: str, sync: str) -> None:
        """Changes the sync of a loop, from the first clock that no block has begun."""
        lib.hawser_progress_sync(self._use(), loop.encode(), sync_of(sync))


def called_test(operator: "Operator", known: Known, program: "Program", running: Running) -> Any:
    """Returns the function that the library calls for a test. An exception in it ends the run."""
    kind: Any = dict((field[0], field[1]) for field in hawser_until._fields_)["test"]
    test, remembers, ends = operator.test, operator.until["remembers"], operator.kind == "loop"
    where = f"{operator.kind} '{operator.name}'"
    assert test is not None
    if isinstance(test, Condition) and test.compile is not False and has_numba():
        from .compile import compile_test
        running.tests.append((where, ends))
        return ctypes.cast(compile_test(test, known, remembers, operator.name, len(running.tests) - 1), kind)

    def call(pointer: Any, _user: Any) -> bool:
        if running.raised is not None:
            return ends
        progress = Progress(pointer, program, remembers)
        try:
            with running.calls:
                found = bool(test(progress))
            progress._end(known.where)
            return found
        except BaseException as error:
            running.end(error, f"in the test of {where}")
            return ends
        finally:
            progress._pointer = None
            progress._views.end()

    return kind(call)


__all__ = ["Condition", "Progress", "called_test", "condition"]
