"""Compares shapes where numba does not: `w += x` with arrays, which reads past the end of a shorter x."""
from typing import Any

import numba
import numba.core.ir as ir
from numba.core import types
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.ir_utils import build_definitions
from numba.core.untyped_passes import IRProcessing
from numba.extending import overload


def _fits(array: Any, values: Any) -> None:
    """Raises ValueError if `values` cannot be broadcast to the shape of `array`."""


@overload(_fits)  # type: ignore[untyped-decorator]
def _fits_of(array: Any, values: Any) -> Any:
    def ignore(array: Any, values: Any) -> None:
        pass
    if not isinstance(array, types.Array) or not isinstance(values, types.Array):
        return ignore
    ahead, common = array.ndim - values.ndim, values.ndim

    def compare(array: Any, values: Any) -> None:
        if ahead < 0:
            raise ValueError("an array of more dimensions is added to, or taken in place by, one of fewer")
        for axis in range(common):
            if values.shape[axis] != 1 and values.shape[axis] != array.shape[ahead + axis]:
                raise ValueError("an array is changed in place by one of another shape")
    return compare


_check = numba.njit(lambda array, values: _fits(array, values))


@register_pass(mutates_CFG=False, analysis_only=False)
class _Shapes(FunctionPass):  # type: ignore[misc]
    """Puts a comparison of shapes before each change in place."""

    _name = "hawser_shapes"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        changed = False
        for block in state.func_ir.blocks.values():
            body = []
            for statement in block.body:
                value = getattr(statement, "value", None)
                if isinstance(value, ir.Expr) and value.op == "inplace_binop":
                    at = statement.loc
                    called, nothing = (block.scope.redefine(f"$hawser_{name}", at) for name in ("check", "checked"))
                    body.append(ir.Assign(ir.Global("hawser_check", _check, at), called, at))
                    body.append(ir.Assign(ir.Expr.call(called, (value.lhs, value.rhs), (), at), nothing, at))
                    changed = True
                body.append(statement)
            block.body = body
        state.func_ir._definitions = build_definitions(state.func_ir.blocks)
        return changed


class Compiler(CompilerBase):  # type: ignore[misc]
    """numba's compiler for units."""

    def define_pipelines(self) -> Any:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(_Shapes, IRProcessing)
        passes.finalize()
        return [passes]
