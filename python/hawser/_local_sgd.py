"""Local SGD: replicas train a model on their own data, and mix its arrays every few steps."""
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

import numpy as np

from ._arguments import refuse_pickle, whole_number
from ._errors import BadArgument
from ._lent import memory_of
from ._replicas import TYPES, Replicas
from ._vector import Vector


class LocalSGD:
    """Mixes the arrays of a model with those of other replicas, along a graph, every few steps of a training.

    `dataflow` and `sync` are those of `Replicas.vector`, and `every` is the number of steps between two exchanges. `replicas` are open
    `hawser.Replicas`; without them LocalSGD opens its own with `options`, and closes them.

    A model is an array, a list or dict of arrays, what has `parameters()` as a module of torch (on the processor), or a linear model of scikit-learn with
    `coef_` and `intercept_`. Its arrays are changed in place. They have float64 or float32, and keep their number, sizes and types.

    >>> import hawser, numpy
    >>> with hawser.LocalSGD(dataflow="halton", every=10) as mixing:
    ...     weights, bias = numpy.zeros((3, 2)), numpy.zeros(2)
    ...     for _ in range(100):
    ...         bias += 0.5  # a step on the data of replica mixing.node
    ...         _ = mixing.step([weights, bias])
    ...     mixing.finish([weights, bias])
    >>> bias
    array([50., 50.])
    """

    def __init__(self, *, dataflow: Any = "halton", sync: str = "bsp", every: int = 1, replicas: Replicas | None = None, **options: Any) -> None:
        self.every = whole_number("every", every, 1)
        self.dataflow, self.sync = dataflow, sync
        if replicas is not None and options:
            raise BadArgument(f"{next(iter(options))}: an option of hawser.Replicas, and these are open already")
        if replicas is not None and not isinstance(replicas, Replicas):
            raise BadArgument(f"replicas is {replicas!r:.60}, and must be open hawser.Replicas")
        self._owns = replicas is None
        self.replicas = Replicas(**options) if replicas is None else replicas
        self.node, self.nodes = self.replicas.node, self.replicas.nodes  #: the number of this replica, and of all
        self._number = self.replicas._mixings = self.replicas._mixings + 1  # in the names of its vectors, beside those of others
        self.vectors: list[Vector] = []  #: one for each array, from the first exchange on
        self.steps = 0  #: calls of `step`

    def step(self, model: Any) -> bool:
        """Counts a step, and exchanges the model after each `every` of them. Returns whether it has. The first exchange is collective."""
        self.steps += 1
        if self.steps % self.every != 0:
            return False
        arrays, iteration = self._arrays(model), self.steps // self.every
        for vector, array in zip(self.vectors, arrays):  # all leave before the first is waited for
            vector.scatter(array, iteration=iteration)
        for vector, array in zip(self.vectors, arrays):
            vector.gather(array, iteration=iteration)
        return True

    def finish(self, model: Any) -> None:
        """Replaces the model by the mean of all replicas, with equal bits on each. Collective; afterwards a new round of steps may begin. Replicas
        may have made different numbers of steps."""
        arrays = self._arrays(model)
        for vector, array in zip(self.vectors, arrays):
            vector.finish(array)
        self._close_vectors()
        self.steps = 0

    def close(self) -> None:
        """Closes the replicas, if LocalSGD has opened them. Collective."""
        if self._owns:
            self.replicas.close()

    def _close_vectors(self) -> None:
        for vector in self.vectors:
            vector.close()
        self.vectors = []

    def _arrays(self, model: Any) -> list[Any]:
        """Returns the arrays of a model, and makes their vectors at first."""
        arrays = arrays_of(model)
        if not self.vectors:
            made = [memory_of(array, f"array {place} of the model") for place, array in enumerate(arrays)]
            for place, array in enumerate(made):  # before any is made
                if array.dtype not in TYPES:
                    raise BadArgument(f"array {place} of the model: models have float64 or float32, and not {array.dtype}")
                if array.size == 0:
                    raise BadArgument(f"array {place} of the model is empty")
            for place, array in enumerate(made):
                self.vectors.append(self.replicas.vector(f"hawser.model {self._number}.{place}", array.size, dtype=array.dtype, dataflow=self.dataflow,
                                                         sync=self.sync))
        if len(arrays) != len(self.vectors):
            raise BadArgument(f"the model has {len(arrays)} arrays, and had {len(self.vectors)} at the first exchange")
        return arrays

    def __enter__(self) -> "LocalSGD":
        return self

    def __exit__(self, *failed: Any) -> None:
        if self._owns:
            self.replicas.__exit__(*failed)
        elif failed[0] is not None:
            self._close_vectors()  # other replicas wait no more for them

    def __reduce__(self) -> NoReturn:
        refuse_pickle(self)

    def __repr__(self) -> str:
        return f"<hawser.LocalSGD over {self.dataflow!r}, every {self.every} steps, replica {self.node} of {self.nodes}>"


def arrays_of(model: Any) -> list[Any]:
    """Returns the arrays of a model, which share its memory."""
    if isinstance(model, np.ndarray) or (hasattr(model, "__dlpack__") and not hasattr(model, "parameters")):
        found = [model]
    elif isinstance(model, Mapping):
        found = list(model.values())
    elif callable(getattr(model, "parameters", None)):
        found = list(model.parameters())
    elif hasattr(model, "coef_") and hasattr(model, "intercept_"):
        found = [model.coef_, model.intercept_]
    elif isinstance(model, Iterable) and not isinstance(model, (str, bytes)):
        found = list(model)
    else:
        raise BadArgument(f"a {type(model).__name__} is no model: give arrays, or what has parameters(), or coef_ and intercept_")
    found = [array.detach() if hasattr(array, "detach") else array for array in found]
    if not found:
        raise BadArgument("the model has no arrays; one of scikit-learn has them after its first partial_fit")
    for place, array in enumerate(found):
        if not isinstance(array, np.ndarray) and not hasattr(array, "__dlpack__"):
            raise BadArgument(f"array {place} of the model is a {type(array).__name__}, which cannot be changed in place")
    return found


__all__ = ["LocalSGD"]
