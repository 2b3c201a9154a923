"""Measures of predictions: what `hawser evaluate` prints."""
import ctypes
from ctypes import byref
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _native
from ._errors import BadInput, BadOption, check
from ._heads import head_of
from ._native import hawser_error, hawser_evaluation_input, hawser_measure

Array = npt.NDArray[Any]
MOST = _native.HAWSER_MEASURES

_c_free = ctypes.CDLL(None).free
_c_free.argtypes, _c_free.restype = [ctypes.c_void_p], None


def check_threshold(algorithm: Any, threshold: Any) -> float:
    """Returns the probability above which the higher label is predicted."""
    if threshold is None:
        return 0.5
    if head_of(algorithm, "label") is None:
        raise BadOption(f"threshold: a model of {algorithm.name.decode()} predicts numbers, not labels")
    if isinstance(threshold, (bool, str)) or not np.isscalar(threshold) or not 0 <= threshold <= 1:  # type: ignore[operator]
        raise BadOption(f"threshold = {threshold!r:.60}: it is a probability, from 0 to 1")
    return float(threshold)  # type: ignore[arg-type]


def take_targets(algorithm: Any, rows: Any, outputs: int, names: list[str] | None) -> list[Array]:
    """Returns the targets of the data. Raises an error if they are not those of the model."""
    found = np.empty((len(rows), 0)) if rows.target is None else rows.target.reshape(len(rows), -1)
    count = found.shape[1]
    if count == 0 and algorithm.no_target:
        return []
    if count == 0:
        raise BadInput("the data have no target to compare with; give target=")
    if count != outputs:
        raise BadInput(f"the data have {count} target{'s' if count > 1 else ''}, the model {outputs}; name them with target=")
    own = rows.target_names
    for place, name in enumerate(names or ()):
        for other, given in enumerate(own or ()):
            if place != other and name == given:
                raise BadInput(f"the target '{name}' is number {other + 1} of these data and number {place + 1} of the model; name the targets in the model's "
                               "order")
    return [np.ascontiguousarray(found[:, k]) for k in range(count)]


def checked_weights(weights: Array | None) -> Array | None:
    if weights is not None and (weights < 0).any():
        row = int(np.argmax(weights < 0))
        raise BadInput(f"weights: the weight of row {row + 1} is negative: {weights[row]:g}; weights are 0 or more, so remove the row or correct it")
    return weights


def evaluate(algorithm: Any, model: Any, scores: Array, targets: list[Array], weights: Array | None, words: Any, threshold: float,
             names: list[str] | None) -> dict[str, Any]:
    """Compares scores, shape (rows, width), with targets. `words` are the library's for labels, or NULL."""
    rows, width = scores.shape
    scored = np.empty((rows, width, 2))
    scored[:, :, 0] = scores
    for k in range(width):
        scored[:, k, 1] = targets[k if len(targets) > 1 else 0] if targets else np.nan
    if weights is not None and (weights > 0).any():  # a row without weight may have such numbers that no measure can be computed
        scored[~(weights > 0)] = scored[np.argmax(weights > 0)]
    given = hawser_evaluation_input(model=model, rows=rows, outputs=width, threshold=threshold, words=words)
    given.scored = ctypes.cast(scored.ctypes.data, ctypes.POINTER(ctypes.c_double))
    if weights is not None:
        given.weights = ctypes.cast(weights.ctypes.data, ctypes.POINTER(ctypes.c_double))
    measures, error = (hawser_measure * MOST)(), hawser_error()
    try:
        check(algorithm.evaluate(byref(given), measures, byref(error)), error)
        return _result(rows, measures, words, names)
    finally:
        for measure in measures:
            if measure.values:
                _c_free(ctypes.cast(measure.values, ctypes.c_void_p))


def _result(rows: int, measures: Any, words: Any, names: list[str] | None) -> dict[str, Any]:
    found: dict[str, Any] = {"rows": rows}
    notes = []
    for measure in measures:
        if not measure.name:
            break
        name = measure.name.decode()
        found[name] = _lines(measure, words, names) if measure.values else _number(measure.value)
        if measure.why:
            notes.append(f"{name} is unknown: {measure.why.decode()}")
    return {**found, "notes": notes}


def _number(value: float) -> float | None:
    return None if np.isnan(value) else value


def _lines(measure: Any, words: Any, names: list[str] | None) -> list[Any]:
    """Returns a table as dictionaries, and a matrix as lists. Labels and outputs that have words are these."""
    values = np.ctypeslib.as_array(measure.values, (measure.lines, measure.width)).tolist()
    if not measure.columns:
        return [[_number(value) for value in line] for line in values]
    columns = [measure.columns[k].decode() for k in range(measure.width)]
    known = {"label": (lambda k: words[k].decode()) if words else None, "output": (lambda k: names[k]) if names else None}

    def shown(column: str, value: float) -> Any:
        word = known.get(column)
        return _number(value) if word is None else word(int(value))

    return [{column: shown(column, value) for column, value in zip(columns, line, strict=True)} for line in values]


__all__ = ["check_threshold", "checked_weights", "evaluate", "take_targets"]
