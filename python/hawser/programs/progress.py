"""What a test of a loop or a branch sees of the run."""
from typing import Any

from .._errors import BadArgument, BadProgram
from .._library import library as lib
from .._numbers import Array
from .._sync import sync_of
from .condition import NO_MEMORY
from .declared import Declared
from .views import Views


# Metrics that every run has.
ALWAYS = ("bytes", "staleness", "wait_input", "wait_credit", "wait_reduction")


class Progress:
    """What a test of a loop or a branch sees of the run. It is of use during the test alone."""

    def __init__(self, pointer: Any, program: Declared, remembers: int = 0) -> None:
        self._pointer, self._program, self._remembers = pointer, program, remembers
        self._views = Views()

    def _use(self) -> Any:
        if self._pointer is None:
            raise BadArgument("a hawser.Progress is used after its test has returned")
        return self._pointer

    def metric(self, name: str) -> float:
        """Returns a metric, as combined over the blocks. "bytes", "staleness", and the mean seconds that workers have waited
        so far ("wait_input", "wait_credit", "wait_reduction"), always exist."""
        if name not in self._program._metrics and name not in ALWAYS:
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

    def keep(self, point: int = 0) -> None:
        """Keeps the states of `program.keep`, with the updates of all clocks so far: in a loop under bsp, or outside of loops that blocks run."""
        lib.hawser_progress_keep(self._use(), point)

    def return_to(self, point: int = 0) -> None:
        """Sets these states to what was kept, on all blocks at the same clock."""
        lib.hawser_progress_return(self._use(), point)

    def has(self, point: int = 0) -> bool:
        """Whether the run has kept a point of this number."""
        return bool(lib.hawser_progress_has(self._use(), point))

    def set_gain(self, state: str, gain: float) -> None:
        """Changes the gain of a replicated state, from the next clock that is announced."""
        self._program._known(state, "the test")
        lib.hawser_progress_gain(self._use(), state.encode(), float(gain))

    def set_sync(self, loop: str, sync: str) -> None:
        """Changes the sync of a loop, from the first clock that no block has begun."""
        lib.hawser_progress_sync(self._use(), loop.encode(), sync_of(sync))


__all__ = ["Progress"]
