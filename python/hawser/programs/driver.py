"""What the driver of a run calls: the tests of loops and branches."""
import ctypes
from typing import Any

from .._native import hawser_until
from .called import has_numba
from .condition import Condition
from .declared import Declared
from .operator import Operator
from .progress import Progress
from .raised import Running
from .unit import Known


def called_test(operator: Operator, known: Known, program: Declared, running: Running) -> Any:
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


__all__ = ["called_test"]
