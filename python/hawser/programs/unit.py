"""Units of programs: functions of arrays."""
import ctypes
import dataclasses
import functools
from collections.abc import Callable, Iterable
from ctypes import POINTER, byref
from typing import Any, NamedTuple, overload

import numpy as np

from .. import _native
from .._arguments import whole_number
from .._errors import BadArgument
from .._library import library as lib
from .._memory import address_of
from .._native import hawser_matrix
from .._numbers import Array
from .code import Code
from .views import Views

TYPES = {"float64": _native.HAWSER_F64, "float32": _native.HAWSER_F32, "int64": _native.HAWSER_I64, "int32": _native.HAWSER_I32}
MATRIX = 4  # HAWSER_MATRIX of hawser.h: hawser_read_as stores a matrix
COMBINE = {"sum": _native.HAWSER_SUM, "max": _native.HAWSER_MAX, "min": _native.HAWSER_MIN, "last": _native.HAWSER_LAST}
BESIDE = ("target", "weights", "offset", "groups")
FIRST_UNIT = 1  # the place of the first unit in the table that the user pointer of a program points to; the seed is before it


def part_of_data(context: Any, name: str) -> hawser_matrix:
    """Returns a block's part of data, as the library has it."""
    matrix = POINTER(hawser_matrix)()
    status = lib.hawser_read_as(context, name.encode(), MATRIX, byref(matrix))
    if status != _native.HAWSER_OK:
        raise Leave(status)
    return matrix.contents


class Leave(Exception):
    """Leaves a unit with the status of a call. No error: the unit runs again, or the run ends."""

    def __init__(self, status: int = 0) -> None:
        super().__init__()
        self.status = status


class Sparse(NamedTuple):
    """A block's part of sparse data, in place. `indptr` need not begin at 0: the entries of row i are those from indptr[i] to indptr[i + 1]."""

    indptr: Array  #: int64, one more than there are rows (columns, of data by column)
    indices: Array  #: uint32
    values: Array  #: float64 or float32
    shape: tuple[int, int]

    def __iadd__(self, other: Any) -> Any:  # type: ignore[misc]
        """Refuses a change in place, which would make another tuple."""
        raise TypeError("sparse data are a tuple of arrays; change their values[:]")

    def __imul__(self, other: Any) -> Any:  # type: ignore[misc]
        return self.__iadd__(other)


@dataclasses.dataclass(frozen=True)
class KnownState:
    """What code knows of a state that its unit declares."""

    name: str
    kind: str  # "data", "replicated", "partitioned", "local", "stored", "moving" or "entries"
    dtype: str
    by_line: bool = False  # first() counts lines, else numbers
    width: int = 1  # numbers of a line of a stored or moving state; 0: its lines have different lengths
    by: str = ""  # of data: "row", "column" or "all"
    writable: bool = False  # of a moving state
    slot: int = 0  # of a moving state: the place in the unit's table of the address of its lines' begins


def no_batches(name: str) -> str:
    return f"batches are of rows, and '{name}' is no data by row"


def no_parts(known: KnownState) -> str:
    return f"next_part: state '{known.name}' is {known.kind}, and parts are of moving states"


NO_BATCH = "batch: the size is a whole number from 1, and the number one from 0"


@dataclasses.dataclass(frozen=True)
class Known:
    """The states and metrics that a unit or a test may name."""

    states: tuple[KnownState, ...] = ()
    metrics: tuple[str, ...] = ()
    where: str = ""  # "unit 'step'"

    def find(self, what: str, name: str) -> Any:
        if what == "metric":
            return name if name in self.metrics else None
        return next((state for state in self.states if state.name == name), None)


def wrong_name(known: Known, what: str, name: str) -> str:
    if what == "metric":
        return f"{known.where} names metric '{name}', which the program does not have; its metrics are {list(known.metrics)}"
    if not known.where.startswith("unit"):
        return f"{known.where} names state '{name}', which the program does not have"
    return (f"{known.where} names state '{name}', which it does not declare; make it a parameter, or give reads= or updates= "
            "to hawser.unit")


@dataclasses.dataclass(frozen=True)
class Argument:
    """How a parameter of a unit is made when the unit is called."""

    parameter: str
    kind: str  # "context", "number", "dense", "sparse", "beside", "whole" (a state), "lines", "numbers" or "part" (what the block has of it), "scratch"
    state: str = ""
    dtype: str = "float64"
    ndim: int = 1
    writable: bool = False
    layout: str = "C"
    turned: bool = False  # dense data that are stored by columns, sparse data by column
    beside: str = ""
    targets: int = 1  # of "target": 2 and more are a tuple of arrays
    slot: int = 0  # the place of its number or its shape in the unit's table
    made: bool = False  # data that the unit makes (hawser.programs.made)


class Subproblem:
    """What a local solver sees of its block, as parameter `subproblem`. Compiled and plain solvers have the same attributes (hawser_subproblem).

    The solver makes grad f(v) . A d + sigma / (2 tau) |A d|^2 + sum of g_j(alpha_j + d_j) smaller, by steps d_j of its own coordinates.
    """

    def __init__(self, pointer: Any, views: Views) -> None:
        self._pointer, self._views = pointer, views

    def _use(self) -> Any:
        if self._pointer is None:
            raise BadArgument("a hawser.Subproblem is used after its solver has returned")
        return self._pointer

    @property
    def alpha(self) -> Array:
        """The block's own coordinates, with the steps so far."""
        shown = self._use().contents
        return self._views.array("subproblem.alpha", address_of(shown.alpha), "float64", (shown.coordinates,))

    @property
    def v(self) -> Array:
        """v + sigma A d: v as this block knows it, with its own steps times sigma."""
        shown = self._use().contents
        return self._views.array("subproblem.v", address_of(shown.v), "float64", (shown.size,))

    @property
    def sigma(self) -> float:
        """sigma', the gain of v."""
        return float(self._use().contents.sigma)

    @property
    def first(self) -> int:
        """Which coordinate of the whole is the first of this block."""
        return int(self._use().contents.first)

    def step(self, j: int, by: float) -> None:
        """Moves the block's coordinate j, from 0."""
        if not 0 <= j < self._use().contents.coordinates:
            raise IndexError(f"step: coordinate {j} of a block that has {self._use().contents.coordinates}")
        lib.hawser_subproblem_step(self._use(), int(j), float(by))


@functools.cache
def _name_buffer(name: str) -> Any:
    return ctypes.create_string_buffer(name.encode())


def address_of_name(name: str) -> int:
    """Returns the address of a text that lives as long as the process."""
    return ctypes.addressof(_name_buffer(name))


def names_of(given: str | Iterable[str] | None) -> tuple[str, ...]:
    """Returns names that are given as a list, or as one text with spaces or commas."""
    if given is None:
        return ()
    return tuple(given.replace(",", " ").split()) if isinstance(given, str) else tuple(given)


class Unit(Code):
    """A function that is a unit of programs. `hawser.unit` makes it. Called as a function, it is the function."""

    noun = "unit"

    def __init__(self, function: Callable[..., Any], *, updates: tuple[str, ...] = (), reads: tuple[str, ...] = (),
                 reports: tuple[str, ...] = (), one: bool = False, sync: str | None = None, reduces: int = 0, compile: bool | None = None,
                 boundscheck: bool = True) -> None:
        super().__init__(function, compile, boundscheck)
        self.updates, self.reads, self.reports = updates, reads, reports
        self.one, self.sync, self.reduces = one, sync, reduces
        self.check_in_place(*updates)

    def wrong_result(self, found: str) -> str:
        wanted = f"reports {', '.join(self.reports)}" if self.reports else "reports no metric (reports=)"
        return f"{self.where()}: it {wanted}, but returns {found}; it returns one number for each metric"


@overload
def unit(function: Callable[..., Any], /) -> Unit: ...


@overload
def unit(*, updates: str | Iterable[str] | None = None, reads: str | Iterable[str] | None = None,
         reports: str | Iterable[str] | None = None, one: bool = False, sync: str | None = None, reduces: int = 0,
         compile: bool | None = None, boundscheck: bool = True) -> Callable[[Callable[..., Any]], Unit]: ...


def unit(function: Callable[..., Any] | None = None, /, *, updates: str | Iterable[str] | None = None,
         reads: str | Iterable[str] | None = None, reports: str | Iterable[str] | None = None, one: bool = False,
         sync: str | None = None, reduces: int = 0, compile: bool | None = None, boundscheck: bool = True) -> Any:
    """Makes a function a unit of a `hawser.Program`. Its parameters are the states of these names, as arrays in place.

    A parameter that is in `updates` (a name, or several) may be written: the unit changes its own copy of a replicated state, and the
    block's part of a partitioned, local or stored one. Every other state is read-only. The parameters of data are the block's rows:
    an array of shape (rows, columns), or `hawser.Sparse`. `NAME_target`, `NAME_weights`, `NAME_offset` and `NAME_groups` are what
    belongs to these rows of data NAME. Other parameters are numbers, given when the unit is added to the program, or by a
    default. A parameter `context` is a `hawser.Context`. `reads` and `updates` name further states, which the unit uses by that.

    `reports` names the metrics for which the function returns numbers. With `one` the unit runs on one block. `sync` is a sync of its
    own, `reduces` the most numbers that it gives to `context.allreduce`.

    numba compiles the function if it is installed (pip install numba), and index errors are noticed unless
    `boundscheck` is False, which saves about a quarter of the time of loops over numbers. With `compile=False`, and without numba, the function is plain Python: units then hold the
    interpreter's lock and run one at a time.

    >>> import hawser, numpy
    >>> @hawser.unit(updates="total", compile=False)
    ... def add(rows, total):
    ...     total += rows.sum(axis=0)
    >>> program = hawser.Program("sums")
    >>> program.data("rows", numpy.arange(6.0).reshape(3, 2))
    >>> program.replicated("total", 2)
    >>> program.unit(add)
    >>> program.run(workers=1)["total"]
    array([6., 9.])
    """
    def make(function: Callable[..., Any]) -> Unit:
        whole_number("reduces", reduces, most=2**48)
        return Unit(function, updates=names_of(updates), reads=names_of(reads), reports=names_of(reports), one=one, sync=sync, reduces=reduces,
                    compile=compile, boundscheck=boundscheck)
    return make if function is None else make(function)


def number_of(where: str, parameter: str, value: Any) -> tuple[str, int]:
    """Returns the type of a number that is given to a unit, and its bits."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return "bool", int(value)
    if isinstance(value, int) and -2**63 <= value < 2**63:
        return "int64", value
    if isinstance(value, float):
        return "float64", int(np.float64(value).view(np.int64))
    raise BadArgument(f"{where}: parameter '{parameter}' is {value!r:.60}; give an int of 64 bits, a float or a bool, or make it a state")


__all__ = ["Argument", "Known", "KnownState", "Leave", "Sparse", "Subproblem", "Unit", "unit"]
