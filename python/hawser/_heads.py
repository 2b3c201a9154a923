"""What the models of an algorithm compute for each row of data."""
from ctypes import byref
from typing import Any

from ._library import library as lib


def head_of(algorithm: Any, name: str) -> Any:
    """Returns the head of that name ("link"), or None."""
    found = lib.hawser_algorithm_head(byref(algorithm), name.encode())
    return found.contents if found else None


def takes_several(algorithm: Any) -> bool:
    """Returns whether trainings take several targets."""
    prediction = head_of(algorithm, "prediction")
    return prediction is not None and bool(prediction.width)


__all__ = ["head_of", "takes_several"]
