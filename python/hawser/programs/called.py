"""The functions that the library calls for units: compiled ones, and plain ones."""
import ctypes
import traceback
from ctypes import POINTER, byref
from typing import Any

import numpy as np

from .. import _native
from .._errors import BadProgram
from .._library import library as lib
from .._memory import address_of
from .._native import hawser_beside, hawser_local_solver, hawser_matrix, hawser_rule, hawser_unit_function
from .._numbers import Array
from .code import Merge
from .context import Context
from .made import replace, strides_of
from .raised import Running, fail_merge
from .unit import TYPES, Argument, Known, Leave, Sparse, Subproblem, Unit, part_of_data
from .views import Views


class PlainUnit:
    """Calls a plain Python function as a unit."""

    def __init__(self, unit: Unit, name: str, arguments: tuple[Argument, ...], number: int, known: Known, table: Array,
                 running: Running) -> None:
        self.unit, self.name, self.arguments, self.number, self.known = unit, name, arguments, number, known
        self.table, self.running = table, running

    def __call__(self, context: Any, subproblem: Any = None) -> int:
        views = Views()
        own, solved = Context(context, self.known, views, self.table), Subproblem(subproblem, views)
        made: list[tuple[str, hawser_matrix]] = []
        try:
            given = [solved if argument.kind == "subproblem" else self._argument(argument, context, own, made) for argument in self.arguments]
            with self.running.calls:
                found = self.unit.function(*given)
            given.clear()
            self._check_kept(views)
            for name, part in made:
                replace(context, name, part)
            return self._report(context, found)
        except Leave as left:
            return left.status
        except BaseException as error:
            return self.running.fail(context, self.number, error)
        finally:
            given = []
            own._pointer = solved._pointer = None
            views.end()

    def _argument(self, argument: Argument, context: Any, own: Context, made: list[tuple[str, hawser_matrix]]) -> Any:
        kind, slot, name, views = argument.kind, argument.slot, argument.state.encode(), own._views
        if kind == "context":
            return own
        if kind == "number":
            number = self.table[slot:slot + 1].view(np.float64 if argument.dtype == "float64" else np.int64)[0].item()
            return bool(number) if argument.dtype == "bool" else number
        if argument.made:
            part = self.running.made[int(self.table[slot])].part(context)
            made.append((argument.state, part))
            return _data(argument, part, views)
        if argument.writable and kind in ("dense", "sparse"):  # from here on, the matrix has the memory to write
            self._give(lib.hawser_write_as, context, name, argument)
        if kind in ("dense", "sparse", "beside"):
            matrix = part_of_data(context, argument.state)
            if kind == "beside":
                return self._beside(argument, matrix, views)
            return _data(argument, matrix, views)
        if kind == "scratch":
            place, *extents = (int(each) for each in self.table[slot:slot + 1 + argument.ndim])
            return views.array(argument.parameter, address_of(lib.hawser_scratch(context)) + place, argument.dtype, tuple(extents), writable=True)
        address = self._give(lib.hawser_write_as if argument.writable else lib.hawser_read_as, context, name, argument)
        shape = [int(extent) for extent in self.table[slot:slot + argument.ndim]]
        if kind == "lines":
            shape[0] = lib.hawser_part_lines(context, name, None)
        if kind == "numbers":
            shape[0] = lib.hawser_part(context, name, None)
        return views.array(argument.parameter, address, argument.dtype, tuple(shape), writable=argument.writable)

    @staticmethod
    def _give(call: Any, context: Any, name: bytes, argument: Argument) -> int:
        """Returns the address that hawser_read_as or hawser_write_as stores."""
        values = ctypes.c_void_p()
        status = call(context, name, TYPES[argument.dtype], byref(values))
        if status != _native.HAWSER_OK:
            raise Leave(status)
        return values.value or 0

    def _beside(self, argument: Argument, matrix: hawser_matrix, views: Views) -> Array | tuple[Array, ...]:
        found = hawser_beside()
        dataset = ctypes.cast(int(self.table[argument.slot]), POINTER(_native.hawser_dataset))
        if lib.hawser_dataset_beside(dataset, matrix.first, matrix.rows, byref(found), None) != _native.HAWSER_OK:
            raise Leave(_native.HAWSER_BAD_PROGRAM)
        addresses = [found.outputs[k] for k in range(argument.targets)] if argument.targets > 1 else [getattr(found, argument.beside)]
        made = tuple(views.array(argument.parameter, address_of(address), "float64", (matrix.rows,)) for address in addresses)
        return made if argument.targets > 1 else made[0]

    def _report(self, context: Any, found: Any) -> int:
        """Reports what the function has returned."""
        reports = self.unit.reports
        values = () if found is None else tuple(found) if isinstance(found, tuple) else (found,)
        if len(values) != len(reports) or not all(isinstance(value, (int, float, np.number, np.bool_)) for value in values):
            raise BadProgram(self.unit.wrong_result("nothing" if found is None else repr(found)))
        for name, value in zip(reports, values):
            status = int(lib.hawser_report(context, name.encode(), float(value)))
            if status != _native.HAWSER_OK:
                return status
        return _native.HAWSER_OK

    def _check_kept(self, views: Views) -> None:
        """Refuses a unit that keeps a view: its memory has other numbers in the next clock, and none after the run."""
        kept = views.end()
        if kept is not None:
            raise BadProgram(f"unit '{self.name}' keeps {'its argument ' if kept in self.unit.parameters else ''}'{kept}' after it has returned; "
                             "keep a copy of it")


def _data(argument: Argument, matrix: hawser_matrix, views: Views) -> Array | Sparse:
    name, size = argument.parameter, np.dtype(argument.dtype).itemsize
    if argument.kind == "dense":
        strides = strides_of(matrix, size)
        return views.array(name, matrix.values or 0, argument.dtype, (matrix.rows, matrix.cols), strides, argument.writable)
    many = matrix.cols if argument.turned else matrix.rows
    indptr = views.array(name, address_of(matrix.offsets), "int64", (many + 1,))
    stored = int(indptr[-1])
    return Sparse(indptr, views.array(name, address_of(matrix.indices), "uint32", (stored,)),
                  views.array(name, matrix.values or 0, argument.dtype, (stored,), writable=argument.writable), (matrix.rows, matrix.cols))


def has_numba() -> bool:
    """Returns whether numba is installed. It is loaded here, and never by `import hawser`."""
    try:
        import numba  # noqa: F401
    except ImportError:
        return False
    return True


def function_of(unit: Unit, name: str, arguments: tuple[Argument, ...], number: int, known: Known, table: Array,
                running: Running) -> Any:
    """Returns the function that the library calls for a unit."""
    kind: Any = hawser_local_solver if any(argument.kind == "subproblem" for argument in arguments) else hawser_unit_function
    if unit.compile is not False and has_numba():
        from .compile import compile_unit
        return ctypes.cast(compile_unit(unit, arguments, number, known), kind)
    return kind(PlainUnit(unit, name, arguments, number, known, table, running))


def merge_function_of(merge: Merge, running: Running) -> Any:
    """Returns the function that the library calls to merge."""
    kind: Any = hawser_rule._fields_[2][1]
    if merge.compile is not False and has_numba():
        from .compile import compile_merge
        return ctypes.cast(compile_merge(merge), kind)

    def call(pointer: Any) -> None:
        merging, views = pointer.contents, Views()
        shape = (merging.count,)
        try:
            with running.calls:
                merge.function(views.array("state", address_of(merging.state), "float64", shape, writable=True),
                               views.array("sum", address_of(merging.sum), "float64", shape), merging.first, merging.blocks, merging.clock)
            kept = views.end()
            if kept is not None:
                raise BadProgram(f"{merge.where()} keeps '{kept}' after it has returned; keep a copy of it")
        except BaseException as error:
            if error.__traceback__ is not None:
                traceback.clear_frames(error.__traceback__)
            fail_merge(merging, error)
        finally:
            views.end()
    return kind(call)


__all__ = ["function_of", "has_numba", "merge_function_of"]
