"""The path of a model: its solutions for several values of a parameter."""
from ctypes import byref
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _native
from ._errors import check
from ._native import hawser_error, hawser_path

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Path:
    """The solutions of a model for several values of a parameter: lambdas that fall, or values of C that rise.

    >>> import hawser, numpy
    >>> draw = numpy.random.default_rng(2)
    >>> x, noise = draw.normal(size=(100, 3)), draw.normal(size=100)
    >>> path = hawser.train("lasso", x, x @ [1.0, 0.0, -2.0] + noise, path=[1, 0.1, 0.01], cv=5, cv_rule="min").path
    >>> path.name, path.values, path.chosen, path.least
    ('lambda', array([1.  , 0.1 , 0.01]), 1, 1)
    >>> path.coefficients.shape, path.coefficients_of(1).round(1)
    ((3, 3), array([ 0.9,  0. , -2.1]))
    """

    name: str  #: of the parameter: "lambda" or "C"
    values: Array  #: of the parameter, shape (members,)
    objective: Array  #: shape (members,)
    error: Array | None  #: on rows that the training did not see, shape (members,); None: not measured
    standard_error: Array | None  #: of the error over the folds, shape (members,)
    fold_errors: Array | None  #: of cv: the error on the rows that each fold holds out, shape (members, folds)
    fold_weights: Array | None  #: the weight of these rows in `error`, shape (folds,)
    error_name: str  #: "mean squared error"; "" if not measured
    intercept: Array  #: shape (members,), or (members, outputs) if a model predicts several numbers
    columns: int  #: of the training data
    outputs: int  #: numbers that the model predicts for a row
    chosen: int | None  #: the member that the model's own coefficients are from
    least: int | None  #: the member with the least error
    one_se: int | None  #: the first member within one standard error of the least error
    planned: int  #: members that the path would have, if the training was ended before all were finished; else len(path)
    ended: str | None  #: why it was: "signal", "node-lost" ...; None: it was not
    folds_ended: str | None  #: why it was before all folds of cv had measured the members, which then have no error; None: it was not
    _offsets: Array = field(repr=False)
    _index: Array = field(repr=False)
    _value: Array = field(repr=False)

    def __len__(self) -> int:
        return len(self.values)

    def coefficients_of(self, member: int) -> Array:
        """Returns the coefficients of one member: shape (columns,), or (outputs, columns) if there are several."""
        count = len(self)
        if not -count <= member < count:
            raise IndexError(f"the path has the members 0 to {count - 1}, and none of number {member}")
        first, end = self._offsets[member % count], self._offsets[member % count + 1]
        whole = np.zeros((self.outputs, self.columns))
        whole[:, self._index[first:end]] = self._value[:, first:end]
        return whole[0] if self.outputs == 1 else whole

    @property
    def coefficients(self) -> Array:
        """The coefficients of all members: shape (members, columns), or (members, outputs, columns)."""
        return np.stack([self.coefficients_of(member) for member in range(len(self))])


def _copied(found: Any, shape: tuple[int, ...]) -> Array:
    """Returns a copy of numbers that lie in the model."""
    return np.ctypeslib.as_array(found, shape).copy() if 0 not in shape else np.zeros(shape)


def path_of(algorithm: Any, model: Any) -> Path | None:
    """Returns the path of a model; None if it has none."""
    if not algorithm.path:
        return None
    found, error = hawser_path(), hawser_error()
    status = algorithm.path(_native.POINTER(_native.hawser_algorithm)(algorithm), model, byref(found), byref(error))
    if status == _native.HAWSER_BAD_OPTION:
        return None
    check(status, error)
    count, outputs = found.count, found.outputs
    offsets = _copied(found.offsets, (count + 1,))
    stored = int(offsets[-1])
    intercept = _copied(found.intercept, (count, outputs))
    members = {key: value if value < count else None
               for key, value in (("chosen", found.chosen), ("least", found.least), ("one_se", found.one_se))}
    return Path(
        name=(found.name or b"").decode(), values=_copied(found.parameter, (count,)), objective=_copied(found.objective, (count,)),
        error=_copied(found.error, (count,)) if found.error else None,
        standard_error=_copied(found.standard_error, (count,)) if found.standard_error else None,
        fold_errors=_copied(found.fold_errors, (count, found.folds)) if found.folds else None,
        fold_weights=_copied(found.fold_weights, (found.folds,)) if found.folds else None,
        error_name=(found.error_name or b"").decode(), intercept=intercept[:, 0] if outputs == 1 else intercept,
        columns=found.columns, outputs=outputs, **members, planned=found.planned,
        ended=found.ended.decode() if found.ended else None,
        folds_ended=found.folds_ended.decode() if found.folds_ended else None, _offsets=offsets,
        _index=_copied(found.index, (stored,)).astype(np.int64), _value=_copied(found.value, (outputs, stored)))


__all__ = ["Path", "path_of"]
