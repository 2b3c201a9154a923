"""Dask collections as rows of nodes: where partitions lie, and which worker reads which of them."""
import itertools
import math
import time
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import dask
import dask.array
import distributed
import numpy as np
from dask.core import flatten

from .._columns import columns_of, texts_of
from .._errors import BadInput, PeerLost
from .._frames import Frame, Kinds

LOOK = 2.0  # seconds between two looks at partitions that are not computed yet
STUCK = 30.0  # seconds for which a partition may wait for a worker that may compute it


@dataclass(frozen=True)
class Share:
    """The partitions of one node: first <= i < last, in order."""

    worker: str
    first: int
    last: int


@dataclass
class Rows:
    """Collections with equal rows, in partitions of the same sizes, which workers hold."""

    parts: dict[str, list[Any]]  #: futures of the partitions, by what they are: "data", "target", "weights", ...
    sizes: list[int]  #: rows of each partition
    columns: int
    dtype: np.dtype[Any]
    names: list[str] | None
    target: tuple[int, ...]  #: the shape of a row's target: () if it is one number
    target_names: list[str] | None
    shares: list[Share]  #: by node

    @property
    def targets(self) -> int:
        return self.target[0] if self.target else 1

    @property
    def shape(self) -> tuple[int, int]:
        return sum(self.sizes), self.columns

    def of(self, share: Share) -> dict[str, list[Any]]:
        return {what: parts[share.first:share.last] for what, parts in self.parts.items()}


def is_dask(data: Any) -> bool:
    """Returns whether data are a Dask array, dataframe or series."""
    return isinstance(data, dask.array.Array) or is_frame(data)


def is_frame(data: Any) -> bool:
    return type(data).__module__.split(".")[0] in ("dask", "dask_expr") and hasattr(data, "to_dask_array")


def names_of(data: Any) -> list[str] | None:
    """Returns the names of a dataframe's columns, if all are texts."""
    names = list(data.columns) if is_frame(data) and hasattr(data, "dtypes") and data.ndim == 2 else []
    return names if names and all(isinstance(name, str) for name in names) else None


def array_of(data: Any, what: str, several: bool = False) -> Any:
    """Returns a collection as a Dask array of one chunk of columns. `several`: it may have columns, though it is not X."""
    if not is_dask(data):
        raise BadInput(f"{what}: a {type(data).__name__}, which would pass through the client; give a Dask array or dataframe, such as "
                       "dask.array.from_array(X, chunks=...), or train with hawser itself")
    if is_frame(data):
        data = _numbers_of(data, what)
    if data.ndim == 2 and what != "X" and data.shape[1] == 1 and not several:
        data = data[:, 0]
    wanted = 2 if what == "X" else 1
    if data.ndim != wanted and not (several and data.ndim == 2):
        raise BadInput(f"{what}: Expected {wanted}D array, got {data.ndim}D array instead: its shape is {data.shape}")
    if data.ndim == 2 and data.shape[1] == 0:
        raise BadInput(f"{what}: Found array with 0 feature(s) (shape={data.shape}) while a minimum of 1 is required.")
    return data.rechunk({1: -1}) if data.ndim == 2 and data.numblocks[1] > 1 else data


def _numbers_of(data: Any, what: str) -> Any:
    """Returns a dataframe or series of numbers and booleans, nullable or not, as a Dask array. Its partitions are converted where they are."""
    frame = data if data.ndim == 2 else data.to_frame()
    if what in ("y", "eval_set target") and data.ndim == 1 and _is_word(data.dtype):
        return _as_array(frame.map_partitions(_labels_of, what, meta=frame._meta.astype(object)))[:, 0]
    words = [str(name) for name, kind in frame.dtypes.items() if not _has_numbers(kind)]
    if words:
        raise BadInput(f"{what}: columns that are no numbers: {', '.join(words)}; encode or drop them")
    if what != "X" and data.ndim == 1 and isinstance(data.dtype, np.dtype):
        return data.to_dask_array()  # labels keep their type
    single = all(kind == np.float32 for kind in frame.dtypes)
    made = frame.map_partitions(_part_of, what, np.float32 if single else np.float64, meta=frame._meta.astype(np.float64)).to_dask_array()
    array = dask.array.Array(made.dask, made.name, made.chunks, dtype=np.float32 if single else np.float64)
    return array if data.ndim == 2 else array[:, 0]


def frame_of(data: Any, target: Any, names: Any, options: dict[str, Any]) -> Frame | None:
    """Returns how a dataframe is read as a table: if it or its target has more than numbers, or an option asks for it. Else None."""
    if not is_frame(data) or data.ndim != 2:
        return None
    series = target if target is not None and is_frame(target) else None
    kinds, labels = _kinds_of(data, "X"), () if series is None else _kinds_of(series, "target")
    if not options and all(_has_numbers(kind) for _, kind in (*kinds, *labels)) and not _has_words(target):
        return None
    return Frame(options, kinds, labels, None if names is None else tuple(texts_of(names, "names")))


def _has_words(target: Any) -> bool:
    return isinstance(target, dask.array.Array) and target.dtype.kind in "OU"


def _kinds_of(data: Any, what: str) -> Kinds:
    """Returns names and types of the columns of a dataframe, or of a series, whose name may be missing."""
    if data.ndim == 1:
        return ((what if data.name is None else texts_of([data.name], what)[0], data.dtype),)
    return tuple(zip(texts_of(data.columns, what), data.dtypes, strict=True))


def _objects_of(part: Any) -> Any:
    return part.astype(object)


def objects(data: Any) -> Any:
    """Returns a dataframe or series as a Dask array of its values as objects, which Frame gives their types again."""
    frame = data if data.ndim == 2 else data.to_frame()
    array = _as_array(frame.map_partitions(_objects_of, meta=frame._meta.astype(object)))
    return array if data.ndim == 2 else array[:, 0]


def _as_array(frame: Any) -> Any:
    """Returns a dataframe of objects as a Dask array."""
    made = frame.to_dask_array()
    return dask.array.Array(made.dask, made.name, made.chunks, dtype=object)


def _is_word(kind: Any) -> bool:
    """Returns whether a column may have words: texts, objects or categories."""
    return kind == object or type(kind).__name__ in ("CategoricalDtype", "StringDtype") or str(kind) in ("string[pyarrow]", "large_string[pyarrow]")


def _labels_of(part: Any, what: str) -> Any:
    """Returns labels as objects; refuses missing ones."""
    gaps = part.isna().to_numpy()
    if gaps.any():
        raise BadInput(f"{what}: row {int(gaps.argmax())} of a partition has no label; drop the row")
    return part.astype(object)


def _has_numbers(kind: Any) -> bool:
    return getattr(kind, "kind", "O") in "fiub"


def _part_of(part: Any, what: str, dtype: Any) -> Any:
    """Returns a partition's numbers as a frame of one type; refuses missing ones by column and row."""
    import pandas
    columns = columns_of(part, what)
    for column in columns:
        if column.missing is not None:
            row = int(np.argmax(column.missing))
            raise BadInput(f"{what}: row {row} of a partition (index {part.index[row]!r}), column '{column.name}' has a missing value; fill it, or drop the row")
    whole = np.column_stack([column.values for column in columns]).astype(dtype) if columns else np.empty((len(part), 0), dtype)
    return pandas.DataFrame(whole, part.index, part.columns)


def place(client: Any, given: dict[str, Any], called: dict[str, str] | None = None, several: bool = False,
          frame: Frame | None = None) -> Rows:
    """Persists collections, cut as the first one is, which is X, and chooses the workers that read them. `several`: the target may have columns.

    A collection that is persisted stays where it is. The partitions of others are computed in the order of the workers, so that a worker's rows follow each
    other. Where persisted ones do not, each worker gets a range of them, from other workers if need be.
    """
    called = called or {}
    tabled = () if frame is None else ("data", *(("target",) if frame.target else ()))
    arrays = {what: objects(data) if what in tabled else array_of(data, called.get(what, what), several and what == "target")
              for what, data in given.items()}
    X = arrays["data"]
    if frame is None and X.dtype.kind not in "fiub":
        raise BadInput(f"X: the type {X.dtype} has no numbers")
    homes = _homes(client, _futures(X)) if _is_persisted(X) else _planned(client, X.numblocks[0])
    held = _cut_alike(client, arrays, homes, called)
    sizes = [int(size) for size in held["data"].chunks[0]]
    kept = [at for at, size in enumerate(sizes) if size > 0]
    if not kept:
        raise BadInput(f"X: Found array with 0 sample(s) (shape={(0, X.shape[1])}) while a minimum of 1 is required.")
    parts = {what: [each for each, size in zip(_futures(array), array.chunks[0], strict=True) if size > 0] for what, array in held.items()}
    _wait(client, [future for futures in parts.values() for future in futures])
    sizes = [sizes[at] for at in kept]
    target = arrays["target"].shape[1:] if "target" in arrays else ()
    return Rows(parts, sizes, X.shape[1], X.dtype, names_of(given["data"]), target, names_of(given["target"]) if target and target[0] > 1 else None,
                shares_of(sizes, _homes(client, parts["data"])))


def _cut_alike(client: Any, arrays: dict[str, Any], homes: list[str], called: dict[str, str]) -> dict[str, Any]:
    """Returns the arrays persisted in partitions of the sizes of "data". Partitions without rows may be missing from some."""
    held = dict(arrays)
    if any(map(_is_unknown, arrays.values())):
        held = _persisted(client, held, homes)
        held = {what: _measured(client, array) if _is_unknown(array) else array for what, array in held.items()}
    whole = held["data"]
    wanted = tuple(int(size) for size in whole.chunks[0] if size > 0)
    for what, array in held.items():
        if array.shape[0] != whole.shape[0]:
            raise BadInput("Found input variables with inconsistent numbers of samples: "
                           f"{[whole.shape[0], array.shape[0]]} ({called.get(what, what)} has one number per row of X)")
        if wanted and tuple(size for size in array.chunks[0] if size > 0) != wanted:
            held[what] = array.rechunk({0: wanted})
    return _persisted(client, held, [home for home, size in zip(homes, whole.chunks[0], strict=True) if size > 0])


def shares_of(sizes: list[int], homes: list[str]) -> list[Share]:
    """Returns the partitions of each worker that holds some. They follow each other, since the rows of nodes do."""
    runs = [(worker, [at for at, _ in group]) for worker, group in itertools.groupby(enumerate(homes), key=lambda each: each[1])]
    workers = list(dict.fromkeys(homes))
    if len(runs) == len(workers):
        return [Share(worker, places[0], places[-1] + 1) for worker, places in runs]
    bounds = _cut(sizes, len(workers))
    ranges = list(itertools.pairwise(bounds))
    held = {(worker, k): sum(sizes[at] for at in range(first, last) if homes[at] == worker)
            for worker in workers for k, (first, last) in enumerate(ranges)}
    chosen: dict[int, str] = {}
    for worker, k in sorted(held, key=lambda pair: -held[pair]):  # the pair that leaves most rows where they are comes first
        if k not in chosen and worker not in chosen.values():
            chosen[k] = worker
    return [Share(chosen[k], first, last) for k, (first, last) in enumerate(ranges)]


def _cut(sizes: list[int], count: int) -> list[int]:
    """Cuts partitions into ranges of about the same rows, each of at least one partition."""
    ends = np.cumsum(sizes)
    bounds = [0]
    for k in range(1, count):
        at = int(np.searchsorted(ends, ends[-1] * k / count, side="left")) + 1
        bounds.append(min(max(at, bounds[-1] + 1), len(sizes) - (count - k)))
    return [*bounds, len(sizes)]


# ------------------------------------------------------------------------------------------------------- partitions ----


def _keys(array: Any) -> list[Hashable]:
    return list(flatten(array.__dask_keys__()))


def _is_persisted(array: Any) -> bool:
    return {future.key for future in distributed.futures_of(array)} >= set(_keys(array))


def _futures(array: Any) -> list[Any]:
    """Returns the futures of a persisted array's partitions, in order."""
    found = {future.key: future for future in distributed.futures_of(array)}
    return [found[key] for key in _keys(array)]


def _wait(client: Any, futures: list[Any]) -> None:
    """Waits until partitions are computed, and raises what one of them raised. Dask itself waits forever for a worker that is gone."""
    stuck_since = None
    while True:
        try:
            distributed.wait(futures, timeout=LOOK)
            break
        except TimeoutError:
            stuck = _stuck(client, [future.key for future in futures if future.status in ("pending", "lost")])
            stuck_since = None if stuck is None else stuck_since or time.monotonic()
        if stuck_since is not None and time.monotonic() - stuck_since > STUCK:
            raise PeerLost(f"the partition {stuck} has waited {STUCK:g} s for a worker, and no worker that is there may compute it; if the one "
                           "that held it is gone, persist the data again")
    for future in futures:
        if future.status != "finished":
            future.result()


def _stuck(client: Any, keys: list[Hashable]) -> str | None:
    """Returns one of these partitions that waits for a task that no worker may do."""
    try:
        found: str | None = client.run_on_scheduler(_find_stuck, keys)
    except (OSError, ValueError):  # a scheduler that runs no functions of clients
        found = str(keys[0]) if keys and not client.nthreads() else None
    return found


def _find_stuck(keys: list[Hashable], dask_scheduler: Any = None) -> str | None:
    if not dask_scheduler.unrunnable:
        return None
    for key in keys:
        left, seen = [dask_scheduler.tasks.get(key)], set()
        while left:
            task = left.pop()
            if task is None or task in seen or task.state == "memory":
                continue
            if task in dask_scheduler.unrunnable:
                return str(key)
            seen.add(task)
            left += task.dependencies
    return None


def _planned(client: Any, count: int) -> list[str]:
    """Returns a worker for each of so many partitions, in order and evenly."""
    workers = sorted(client.nthreads())
    if not workers:
        raise BadInput("the client has no workers")
    return [workers[at * min(len(workers), count) // count] for at in range(count)]


def _homes(client: Any, futures: list[Any]) -> list[str]:
    """Returns the worker of each partition. One of several is that of the partition before, if it can be."""
    _wait(client, futures)
    who = client.who_has(futures)
    homes: list[str] = []
    for future in futures:
        workers = sorted(who.get(future.key) or who.get(str(future.key)) or ())
        if not workers:
            raise BadInput(f"partition {future.key} was lost with its worker; persist the data again")
        homes.append(homes[-1] if homes and homes[-1] in workers else workers[0])
    return homes


def _is_unknown(array: Any) -> bool:
    return any(map(math.isnan, array.chunks[0]))


def _measured(client: Any, array: Any) -> Any:
    """Returns an array of the same partitions that knows their sizes. The given one is not changed."""
    _wait(client, _futures(array))
    sizes = tuple(client.gather(client.map(len_of, _futures(array), pure=False)))
    return dask.array.Array(array.dask, array.name, (sizes, *array.chunks[1:]), meta=array._meta)


def _persisted(client: Any, arrays: dict[str, Any], homes: list[str]) -> dict[str, Any]:
    """Persists arrays, in one call, since they may be made of the same tasks. Partitions are computed at their homes, if those workers can take them."""
    names = {array.name for array in arrays.values() if array.numblocks[0] == len(homes)}

    def workers(key: Any) -> list[str]:
        return [homes[key[1]]] if isinstance(key, tuple) and key[0] in names else []

    left = {what: array for what, array in arrays.items() if not _is_persisted(array)}
    if not left:
        return arrays
    with dask.annotate(workers=workers, allow_other_workers=True):
        made = client.persist(list(left.values()))
    return {**arrays, **dict(zip(left, made, strict=True))}


def len_of(part: Any) -> int:
    return int(part.shape[0])


__all__ = ["Rows", "Share", "array_of", "frame_of", "is_dask", "is_frame", "len_of", "names_of", "place", "shares_of"]
