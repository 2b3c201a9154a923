"""Labels that are whole numbers of 64 bits, which a double does not hold: they become the words of a target, in ascending order, as those of files do."""
from __future__ import annotations

import re
from typing import Any

import numpy as np

from ._errors import BadInput


class Labels:
    """A target of numbers from 0 on, the words that they stand for, and the target that was given."""

    def __init__(self, numbers: Any, words: list[str], given: Any) -> None:
        self.numbers, self.words, self.given = numbers, words, given


def is_label(word: str) -> bool:
    """Returns whether a word of a target is a number."""
    return re.fullmatch(r"-?[0-9]+(\.[0-9]+)?(e[-+][0-9]+)?", word) is not None


def _value(word: str) -> int | float:
    return int(word) if re.fullmatch("-?[0-9]+", word) else float(word)


def _array_of(target: Any) -> Any:
    """Returns a target as an array, without a change of Python's whole numbers."""
    if isinstance(target, (list, tuple)) and target and all(isinstance(value, (int, np.integer)) and not isinstance(value, bool) for value in target):
        return np.array([int(value) for value in target], dtype=object)
    return target.to_numpy() if hasattr(target, "to_numpy") else target


def exact_labels(target: Any) -> Any:
    """Returns Labels if the target has whole numbers and one of them is 2^53 or larger; else the target."""
    values = _array_of(target)
    whole = isinstance(values, np.ndarray) and (values.dtype.kind in "iu" or values.dtype == object and all(type(value) is int for value in values.flat))
    if not whole or values.ndim == 0 or values.size != len(values) or not values.size:
        return target
    outside = [value for value in (values.min(), values.max()) if not -(2**63) <= int(value) < 2**64]
    if outside:
        raise BadInput(f"target: the label {outside[0]} is a whole number below -2^63 or above 2^64 - 1, which are not told apart")
    if int(values.max()) < 2**53 and int(values.min()) > -(2**53):
        return target
    distinct, numbers = np.unique(values.ravel(), return_inverse=True)
    return Labels(numbers.ravel().astype(np.float64), [str(value) for value in distinct.tolist()], target)


def known_labels(target: Any, words: list[str] | None) -> Any:
    """Returns the places of the target's numbers among the words, if one of the words is a whole number from 2^53 on; else the target."""
    if words is None or target is None or not all(map(is_label, words)) or all(abs(_value(word)) < 2**53 for word in words):
        return target
    values = np.ravel(np.asarray(_array_of(target)))
    if values.dtype.kind not in "iuf" and not all(type(value) is int for value in values):
        return target
    large = next((value for value in values.tolist() if values.dtype.kind == "f" and abs(value) >= 2**53), None)
    if large is not None:
        raise BadInput(f"target: the label {large!r} is a float, to which several whole numbers are rounded; give whole numbers")
    places = {_value(word): float(place) for place, word in enumerate(words)}
    unknown = next((value for value in values.tolist() if value not in places), None)
    if unknown is not None:
        raise BadInput(f"target: {unknown!r} is none of the labels of the training data")
    return np.array([places[value] for value in values.tolist()])


__all__ = ["Labels", "exact_labels", "is_label", "known_labels"]
