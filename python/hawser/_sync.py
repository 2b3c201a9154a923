"""Syncs of loops and units, as the command spells them."""
from . import _native
from ._errors import BadOption
from ._native import hawser_sync

SYNCS = {"bsp": _native.HAWSER_BSP, "ssp": _native.HAWSER_SSP, "tap": _native.HAWSER_TAP, "delay": _native.HAWSER_DELAY,
         "dc": _native.HAWSER_CENTRIC}


def sync_of(text: str) -> hawser_sync:
    """Returns a sync as the command spells it: "bsp", "ssp:2", "tap", "delay:1", "dc:0"."""
    word, colon, number = text.partition(":")
    if word not in SYNCS or bool(colon) != (word in ("ssp", "delay", "dc")) or (colon and not number.isdecimal()):
        raise BadOption(f"sync: '{text}' is none; it is \"bsp\", \"ssp:N\", \"tap\", \"delay:N\" or \"dc:N\"")
    staleness = int(number or 0)
    if staleness >= 2**32:
        raise BadOption(f"sync: {staleness} clocks are too many")
    kind = SYNCS["bsp"] if word in ("ssp", "delay") and staleness == 0 else SYNCS[word]
    return hawser_sync(kind, staleness)


def text_of_sync(sync: hawser_sync) -> str:
    """Returns a sync as the command spells it."""
    word = next(word for word, kind in SYNCS.items() if kind == sync.tightness)
    return f"{word}:{sync.staleness}" if word in ("ssp", "delay", "dc") else word


__all__ = ["sync_of", "text_of_sync"]
