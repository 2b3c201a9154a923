"""Vectors: an array that a loop sends to other replicas, and mixes with what has arrived from them."""
import contextlib
import ctypes
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from ctypes import POINTER, byref
from typing import Any, NamedTuple, NoReturn, Protocol

import numpy as np

from . import _native
from ._arguments import INT, refuse_pickle, whole_number
from ._errors import BadArgument, check
from ._lent import Array, memory_of, writable_memory_of
from ._library import library as lib
from ._native import hawser_error, hawser_gather_function, hawser_scatter, hawser_vector_facts

COUNTERS = ("sent", "sent_bytes", "overwritten", "added", "memory")


class Calls(Protocol):
    """What a vector needs of its `hawser.Replicas`."""

    def _call(self, call: Callable[[hawser_error], int], waits: bool, tries: bool) -> None: ...

    def _collective(self, call: Callable[[hawser_error], int]) -> None: ...

    def _close_vector(self, vector: "Vector") -> None: ...


class Arrival(NamedTuple):
    """What has arrived from one replica."""

    replica: int  #: the number of the sender
    iteration: int  #: of its newest scatter
    values: Array  #: a copy: of the array's shape, or (rows, width) of a sparse vector
    keys: Array | None  #: of a sparse vector: the numbers of the rows
    scatters: int  #: number of scatters in it: more than 1 for a sum of deltas, and for sparse values


By = str | Callable[[Array, Arrival], Any]
HOW = {"average": _native.HAWSER_GATHER_AVERAGE, "sum": _native.HAWSER_GATHER_SUM, "replace": _native.HAWSER_GATHER_REPLACE}


def _address(array: Array) -> int:
    return int(array.__array_interface__["data"][0])


class Vector:
    """An array of numbers that replicas send each other. Made by `Replicas.vector`.

    Arrays are those of numpy, or on the processor with `__dlpack__`, of any shape with the vector's number of entries. Contiguous arrays of its
    type are read and changed where they are; others are copied, and changed through a copy.

    >>> import hawser, numpy
    >>> with hawser.Replicas() as replicas:
    ...     w = replicas.vector("w", 3, sync="bsp")
    ...     array = numpy.array([1.0, 2.0, 3.0])
    ...     w.scatter(array, iteration=0)
    ...     w.gather(array, iteration=0)  # the mean of all replicas; here there is one
    ...     w.finish(array)
    ...     array
    array([1., 2., 3.])
    """

    def __init__(self, replicas: Calls, handle: Any, name: str, count: int, dtype: np.dtype[Any], deltas: bool, width: int,
                 scatter_waits: bool, gather_waits: bool, tries: bool) -> None:
        self.replicas, self.name = replicas, name
        self.count = count  #: of numbers
        self.dtype = dtype  #: of the numbers
        self.width = width  #: numbers of a row of a sparse vector; 0: it is dense
        self.content = "deltas" if deltas else "values"
        self._handle, self._scatter_waits, self._gather_waits, self._tries = handle, scatter_waits, gather_waits, tries
        self._lock = threading.Lock()  # of a call; the library's own would keep Ctrl-C waiting
        self._within: int | None = None  # the thread that is in a function of a gather
        found = self._describe()
        self.sources = tuple(found.sources[:found.source_count])  #: the numbers of the in-neighbours
        self.receivers = tuple(found.receivers[:found.receiver_count])  #: the numbers of the out-neighbours

    # -------------------------------------------------------------------------------------------------- calls ----

    def scatter(self, values: Any, *, iteration: int, keys: Any = None, to: int | Iterable[int] | None = None) -> None:
        """Sends numbers to the out-neighbours, or to those in `to`. Iterations ascend; under bsp and ssp they count by one.

        A sparse vector has `keys`, ascending numbers of rows, and `values` of shape (keys, width). Waits only under bsp and ssp, for space, and
        under tap with `waits=True`.
        """
        given = hawser_scatter(iteration=whole_number("iteration", iteration))
        kept = [self._give(given, values, keys)]
        if to is not None:
            receivers = [whole_number("to", one, most=INT) for one in ([to] if isinstance(to, int) else to)]
            given.to, given.to_count = (ctypes.c_uint32 * max(1, len(receivers)))(*receivers), len(receivers)
        self._call(lambda error: int(lib.hawser_vector_scatter(self._handle, byref(given), byref(error))), self._scatter_waits)
        del kept

    def gather(self, array: Any, *, iteration: int, by: By = "average") -> None:
        """Mixes what is new from the in-neighbours into `array`, after the own scatter of this iteration, and waits for it as the sync says.

        `by` is "average", "sum", "replace" (the last in-neighbour that has something new), or a function, which is called as
        `function(array, arrival)` for each `hawser.Arrival`, in the order of replicas. It changes the array, or returns another one in its place. It
        must not call the vector. If it raises, the vector can only be closed.
        """
        iteration = whole_number("iteration", iteration)
        target, memory = self._take(array, "the array of a gather")
        raised: list[BaseException] = []
        how, function = self._how(by, target, memory, raised)

        def call(error: hawser_error) -> int:
            return int(lib.hawser_vector_gather(self._handle, iteration, how, function, _address(memory), byref(error)))

        try:
            self._call(call, self._gather_waits)
        except Exception:
            if raised:
                raise raised[0] from None
            raise
        if memory is not target:
            target[...] = memory.reshape(target.shape)

    def barrier(self) -> None:
        """Waits until all replicas have called it. What they scattered before can be gathered after it, by one gather. Collective."""
        self._collective(lambda error: int(lib.hawser_vector_barrier(self._handle, byref(error))))

    def finish(self, array: Any) -> None:
        """Ends the loop of the vector: waits until all replicas have called it. Collective. Afterwards nothing is in flight.

        Deltas that were not gathered are added to `array`. An array of values becomes the mean of all replicas, with equal bits on all of them. A
        replica that waits here stalls no other, so their loops may have different lengths. The vector can then only be closed.
        """
        target, memory = self._take(array, "the array of a finish")
        self._collective(lambda error: int(lib.hawser_vector_finish(self._handle, _address(memory), byref(error))))
        if memory is not target:
            target[...] = memory.reshape(target.shape)

    def close(self) -> None:
        """Frees the vector, which another one of its name can then follow. Does not wait. If it was not finished, waits of other replicas for
        this one end with PeerLost."""
        with self._turn():
            self.replicas._close_vector(self)

    @property
    def figures(self) -> dict[str, int]:
        """Counters of this replica, as in hawser_vector_facts: sent, sent_bytes, overwritten, added, memory."""
        with self._turn():
            found = self._describe()
        return {name: int(getattr(found, name)) for name in COUNTERS}

    # ------------------------------------------------------------------------------------------------ arrays ----

    def _give(self, given: hawser_scatter, values: Any, keys: Any) -> tuple[Array, Array | None]:
        """Points a scatter to numbers and keys, which are returned in the form that is read."""
        count, rows = self.count, None
        if (keys is not None) != (self.width > 0):
            raise BadArgument(f"vector '{self.name}' is {'sparse: give keys=, the numbers of the rows' if self.width else 'dense, and takes no keys'}")
        if keys is not None:
            rows = memory_of(keys, f"vector '{self.name}': keys")
            if rows.ndim != 1 or (rows.dtype.kind not in "iu" and rows.size > 0) or (rows.dtype.kind == "i" and (rows < 0).any()):
                raise BadArgument(f"vector '{self.name}': keys are an array of integers of one dimension, not negative; these have {rows.ndim} "
                                  f"dimensions of {rows.dtype}")
            rows = np.ascontiguousarray(rows, np.uint64)
            given.keys, given.key_count = ctypes.cast(_address(rows), POINTER(ctypes.c_uint64)), rows.size
            count = rows.size * self.width
        array = memory_of(values, f"vector '{self.name}': values")
        if array.dtype != self.dtype or not array.flags.c_contiguous or not array.flags.aligned:
            if not np.can_cast(array.dtype, self.dtype, "same_kind"):
                raise BadArgument(f"vector '{self.name}' has {self.dtype}, and the values are {array.dtype}")
            with np.errstate(over="ignore"):  # the library refuses the infinities
                array = np.ascontiguousarray(array, self.dtype)
        if array.size != count:
            raise BadArgument(f"vector '{self.name}': values of shape {array.shape}, and a scatter has {count} numbers")
        given.values = _address(array)
        return array, rows

    def _take(self, array: Any, what: str) -> tuple[Array, Array]:
        """Returns an array that is changed, and the contiguous memory that the library changes: the array itself, or a copy."""
        target = writable_memory_of(array, f"vector '{self.name}': {what}")
        if not isinstance(array, np.ndarray) and not hasattr(array, "__dlpack__"):
            raise BadArgument(f"vector '{self.name}': {what} is a {type(array).__name__}, which cannot be changed in place; give an array")
        if target.dtype != self.dtype or target.size != self.count or not target.flags.writeable:
            kind = "" if target.flags.writeable else "read-only "
            raise BadArgument(f"vector '{self.name}': {what} must be writable, with {self.count} numbers of {self.dtype}; this one is {kind}"
                              f"{target.dtype} of shape {target.shape}")
        if target.flags.c_contiguous and target.flags.aligned:
            return target, target
        return target, np.array(target, order="C")

    def _how(self, by: By, target: Array, memory: Array, raised: list[BaseException]) -> tuple[int, Any]:
        """Returns how the library gathers, and its function or None."""
        if isinstance(by, str):
            if by not in HOW:
                raise BadArgument(f"vector '{self.name}': there is no gather by '{by}'; it is one of average, sum and replace, or a function")
            if by == "replace" and self.content == "deltas":
                raise BadArgument(f"vector '{self.name}': a gather by 'replace' would lose deltas, each of which counts; it is for values")
            return HOW[by], None
        if not callable(by):
            raise BadArgument(f"vector '{self.name}': by is {by!r:.60}, and must be average, sum, replace or a function")
        mine = memory.reshape(target.shape)

        def apply(_: Any, __: Any, arrival: Any) -> int:
            self._within = threading.get_ident()
            try:
                found = by(mine, self._arrival(arrival.contents, mine.shape))
                if found is not None:
                    mine[...] = found
            except BaseException as error:
                raised.append(error)
            finally:
                self._within = None
            return _native.HAWSER_INTERNAL if raised else _native.HAWSER_OK

        made = hawser_gather_function()
        made.apply = type(made.apply)(apply)
        return _native.HAWSER_GATHER_FUNCTION, byref(made)

    def _arrival(self, found: Any, shape: tuple[int, ...]) -> Arrival:
        """Copies what has arrived, since the library frees it after the function."""
        count = found.count if not self.width else found.key_count * self.width
        kind = ctypes.c_float if self.dtype.itemsize == 4 else ctypes.c_double
        values = np.empty(0, self.dtype) if count == 0 else np.ctypeslib.as_array(ctypes.cast(found.values, POINTER(kind)), (count,)).copy()
        if not self.width:
            return Arrival(found.replica, found.iteration, values.reshape(shape), None, found.scatters)
        keys = np.empty(0, np.uint64) if found.key_count == 0 else np.ctypeslib.as_array(found.keys, (found.key_count,)).copy()
        return Arrival(found.replica, found.iteration, values.reshape(-1, self.width), keys, found.scatters)

    # ------------------------------------------------------------------------------------------------- inside ----

    @contextlib.contextmanager
    def _turn(self) -> Iterator[None]:
        """Calls follow each other. One of a function of a gather would wait for itself."""
        if self._within == threading.get_ident():
            raise BadArgument(f"vector '{self.name}': a function of its gather calls it; the function has the array and the arrival, and calls no vector")
        with self._lock:
            yield

    def _call(self, call: Callable[[hawser_error], int], waits: bool) -> None:
        with self._turn():
            self._check_open()
            self.replicas._call(call, waits, self._tries)

    def _collective(self, call: Callable[[hawser_error], int]) -> None:
        with self._turn():
            self._check_open()
            self.replicas._collective(call)

    def _check_open(self) -> None:
        if self._handle is None:
            raise BadArgument(f"vector '{self.name}' was closed")

    def _describe(self) -> hawser_vector_facts:
        self._check_open()
        found, error = hawser_vector_facts(), hawser_error()
        check(lib.hawser_vector_describe(self._handle, byref(found), byref(error)), error)
        return found

    def __len__(self) -> int:
        return self.count

    def __reduce__(self) -> NoReturn:
        refuse_pickle(self)

    def __repr__(self) -> str:
        rows = f" in rows of {self.width}" if self.width else ""
        return f"<hawser.Vector '{self.name}': {self.count} x {self.dtype}{rows}, {self.content} from {len(self.sources)} replicas>"


def edges_of(name: str, dataflow: Any) -> bytes:
    """Returns a list of edges (from, to) as the library's text."""
    lines = []
    if not isinstance(dataflow, (Iterable, np.ndarray)) or isinstance(dataflow, (bytes, Mapping)):
        raise BadArgument(f"vector '{name}': dataflow is {dataflow!r:.60}, and must be a name, a path, or a list of pairs (from, to)")
    for edge in dataflow:
        if isinstance(edge, str) or not isinstance(edge, (Sequence, np.ndarray)) or len(edge) != 2:
            raise BadArgument(f"vector '{name}': the dataflow has {edge!r:.60}, and an edge is a pair (from, to) of numbers of replicas")
        lines.append(" ".join(str(whole_number(f"vector '{name}': a replica of an edge", one, most=INT)) for one in edge))
    return "\n".join([*lines, ""]).encode()


__all__ = ["Arrival", "By", "Vector", "edges_of"]
