"""Changes of policies during a run: syncs and work of loops, shares of workers, gains, quotas and encodings of states."""
from dataclasses import dataclass, field
from typing import Any

from ._native import HAWSER_AS_BF16, HAWSER_AS_F16, HAWSER_AS_INT8, HAWSER_EXACT, hawser_figures
from ._sync import text_of_sync


_FORMS = {HAWSER_EXACT: "exact", HAWSER_AS_BF16: "bf16", HAWSER_AS_F16: "f16", HAWSER_AS_INT8: "int8"}


@dataclass(frozen=True)
class PolicyChange:
    """A change of a setting, which a test of the run, a safeguard of the training or its adaptation (`auto`) asked for."""

    loop: str
    clock: int  #: the iteration of the loop from which on all blocks obey the new policy
    state: str | None  #: the state that has another gain, quota or encoding; None: the loop has another sync or work
    old: str | float  #: a sync as in "ssp:2", an encoding as in "int8", or a number
    new: str | float
    by: str  #: what asked for it: "stop test of loop 'rounds'"
    run: int  #: the run of the job, from 1
    fit: dict[str, float] = field(default_factory=dict)  #: the fit that began with it, or was in progress: its lambda, its fold
    what: str = "sync"  #: "sync", "work", "share", "gain", "quota" or "encoding"
    worker: int | None = None  #: of a share
    reason: str = ""  #: of an adaptation: why

    def __str__(self) -> str:
        what = self.what if self.worker is None else f"share of worker {self.worker}"
        what = what if self.state is None else f"{what} of state '{self.state}'"
        old, new = (value if isinstance(value, str) else f"{value:g}" for value in (self.old, self.new))
        fit = "".join(f", {name} {value:g}" for name, value in self.fit.items())
        return f"loop {self.loop}, from clock {self.clock}: {what}: {old} -> {new}, by the {self.by}{fit}" + (f" ({self.reason})" if self.reason else "")


def changes_of(figures: hawser_figures) -> tuple[PolicyChange, ...]:
    """Returns the changes that the figures of a run list, which are those of node 0."""
    return tuple(_change(figures.changes[place]) for place in range(figures.change_count))


def _values(change: Any) -> tuple[str, str | float, str | float]:
    """Returns what has changed, and its old and new value."""
    if change.work[1] > 0:
        return "work", change.work[0], change.work[1]
    if change.share[1] > 0:
        return "share", change.share[0], change.share[1]
    if change.quota[1] > 0:
        return "quota", change.quota[0], change.quota[1]
    if change.form[0] != change.form[1]:
        return "encoding", _FORMS[change.form[0]], _FORMS[change.form[1]]
    if change.state:
        return "gain", change.gain[0], change.gain[1]
    old, new = (text_of_sync(sync) for sync in change.sync)
    return "sync", old, new


def _change(change: Any) -> PolicyChange:
    what, old, new = _values(change)
    fit = {number.metric.decode(): number.value for number in change.fit if number.metric}
    return PolicyChange(change.loop.decode(errors="replace"), change.clock, change.state.decode(errors="replace") or None, old, new,
                        change.by.decode(errors="replace"), change.run, fit, what, change.block if what == "share" else None,
                        change.reason.decode(errors="replace"))


__all__ = ["PolicyChange", "changes_of"]
