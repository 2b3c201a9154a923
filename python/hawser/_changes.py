"""Changes of policies during a run: syncs of loops, gains of states."""
from dataclasses import dataclass, field
from typing import Any

from ._native import hawser_figures
from ._sync import text_of_sync


@dataclass(frozen=True)
class PolicyChange:
    """A change of a sync or of a gain, which a test of the run or a safeguard of the training asked for."""

    loop: str
    clock: int  #: the iteration of the loop from which on all blocks obey the new policy
    state: str | None  #: the state that has another gain; None: the loop has another sync
    old: str | float  #: a sync as in "ssp:2", or a gain
    new: str | float
    by: str  #: what asked for it: "stop test of loop 'rounds'"
    run: int  #: the run of the job, from 1
    fit: dict[str, float] = field(default_factory=dict)  #: the fit that began with it, or was in progress: its lambda, its fold

    def __str__(self) -> str:
        what = f"gain of state '{self.state}'" if self.state is not None else "sync"
        old, new = (value if isinstance(value, str) else f"{value:g}" for value in (self.old, self.new))
        fit = "".join(f", {name} {value:g}" for name, value in self.fit.items())
        return f"loop {self.loop}, from clock {self.clock}: {what}: {old} -> {new}, by the {self.by}{fit}"


def changes_of(figures: hawser_figures) -> tuple[PolicyChange, ...]:
    """Returns the changes that the figures of a run list, which are those of node 0."""
    return tuple(_change(figures.changes[place]) for place in range(figures.change_count))


def _change(change: Any) -> PolicyChange:
    state = change.state.decode(errors="replace") or None
    old, new = (text_of_sync(sync) for sync in change.sync) if state is None else change.gain
    fit = {number.metric.decode(): number.value for number in change.fit if number.metric}
    return PolicyChange(change.loop.decode(errors="replace"), change.clock, state, old, new, change.by.decode(errors="replace"), change.run, fit)


__all__ = ["PolicyChange", "changes_of"]
