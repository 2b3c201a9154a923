"""Threads of the BLAS under numpy and numba, which units of several workers share."""
import contextlib
import dis
import importlib
import os
import types
from collections.abc import Iterable

from .._errors import warn
from .code import Code

VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")
CALLS = {"dot", "matmul", "inner", "vdot", "tensordot", "einsum", "linalg"}
_said: list[str] = []  # units that a warning has named: one in a process


def calls_blas(code: types.CodeType) -> bool:
    """Returns whether code multiplies matrices by itself."""
    if CALLS.intersection(code.co_names) or any(one.opname == "BINARY_OP" and one.argrepr in ("@", "@=") for one in dis.get_instructions(code)):
        return True
    return any(calls_blas(each) for each in code.co_consts if isinstance(each, types.CodeType))


def one_thread(units: Iterable[Code]) -> contextlib.AbstractContextManager[object]:
    """Limits the BLAS to a thread of each worker while a run has several, since they would wait for each other's. threadpoolctl does; without it a
    warning says it, once."""
    found = [unit for unit in units if calls_blas(unit.function.__code__)]
    if not found or any(name in os.environ for name in VARIABLES):
        return contextlib.nullcontext()
    try:
        limits: contextlib.AbstractContextManager[object] = importlib.import_module("threadpoolctl").threadpool_limits(1, user_api="blas")
        return limits
    except ImportError:
        pass
    if not _said and (os.cpu_count() or 1) > 1:
        _said.append(found[0].name)
        warn(f"{found[0].where()} multiplies matrices on several workers, and the BLAS may start threads for each: that can take several times as long. "
             f"Set {VARIABLES[0]}=1 (or the variable of your BLAS) before Python starts, or install threadpoolctl, which limits it", RuntimeWarning)
    return contextlib.nullcontext()


__all__ = ["calls_blas", "one_thread"]
