"""The progress of a training: a function of the user, tqdm's bar, or a line on standard error."""
import contextlib
import importlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

from ._errors import BadArgument

Callback = Callable[[dict[str, Any]], Any]


def text_of(progress: dict[str, Any]) -> str:
    """Returns the metrics of a progress in one line."""
    return ", ".join(f"{key} {value:.6g}" for key, value in progress.items() if isinstance(value, float) and key != "seconds")


@contextlib.contextmanager
def bar_of(progress: bool | Callback | None, title: str) -> Iterator[Callback | None]:
    """Gives the function that shows the progress, or None."""
    if progress is None or progress is False:
        yield None
    elif progress is not True:
        if not callable(progress):
            raise BadArgument(f"progress is {progress!r:.60}; give True or a function")
        yield progress
    else:
        try:
            tqdm = importlib.import_module("tqdm.auto").tqdm
        except ImportError:
            with _line(title) as show:
                yield show
            return
        with tqdm(desc=title, unit=" clocks") as bar:
            def advance(now: dict[str, Any]) -> None:
                bar.set_postfix_str(text_of(now), refresh=False)
                bar.update(now["clocks"] - bar.n)
            yield advance


@contextlib.contextmanager
def _line(title: str) -> Iterator[Callback]:
    def show(now: dict[str, Any]) -> None:
        sys.stderr.write(f"\r{title}: clock {now['clocks']}, {text_of(now)}\x1b[K")
        sys.stderr.flush()
    yield show
    sys.stderr.write("\n")
