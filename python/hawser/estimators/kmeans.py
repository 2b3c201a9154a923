"""Clusters around centres: KMeans, MiniBatchKMeans."""
import math
import os
import tempfile
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.metrics.pairwise import euclidean_distances

from .._model import Model
from ._base import Array, Estimator, is_same, refuse


class KMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, Estimator):  # type: ignore[misc]
    """Lloyd's k-means, as sklearn.cluster.KMeans, with bounds that leave distances out.

    `init` is "k-means++", "k-means||" (for many rows), "random", or an array of centres, shape (n_clusters, n_features).
    `n_init` "auto" is 10 starts for "random", else 1. `algorithm` and `copy_x` make no difference to the result; X is
    never changed. Draws differ from scikit-learn's, so clusters of the same `random_state` do, too.

    After fit: `cluster_centers_` (n_clusters, n_features), `labels_` (n_samples,), `inertia_`, `n_iter_`, `trace_`, `model_`.

    >>> import hawser
    >>> fitted = hawser.KMeans(n_clusters=2, random_state=0).fit([[0.0], [1.0], [10.0], [11.0]])
    >>> sorted(fitted.cluster_centers_.ravel().tolist()), fitted.inertia_
    ([0.5, 10.5], 1.0)
    """

    _algorithm = "kmeans"
    _words = {"--clusters": "n_clusters"}

    def __init__(self, n_clusters: int = 8, *, init: Any = "k-means++", n_init: int | str = "auto", max_iter: int = 300,
                 tol: float = 1e-4, verbose: int = 0, random_state: Any = None, copy_x: bool = True, algorithm: str = "lloyd",
                 workers: int | None = None, sync: str = "bsp", n_jobs: int | None = None) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state
        self.copy_x = copy_x
        self.algorithm = algorithm
        self.workers = workers
        self.sync = sync
        self.n_jobs = n_jobs

    _random_starts = 10  # of n_init "auto" with init "random"

    def _options(self, rows: int) -> dict[str, Any]:
        if self.algorithm not in ("lloyd", "elkan"):
            raise refuse("algorithm", self.algorithm, "'lloyd' or 'elkan', which have the same result")
        return {**self._start_options(), "max_iterations": self.max_iter}

    def _start_options(self) -> dict[str, Any]:
        methods = {"k-means++": "kmeans++", "k-means||": "parallel", "random": "random"}
        options = {"clusters": self.n_clusters, "tol": self.tol}
        if not isinstance(self.init, str):
            return options
        if self.init not in methods:
            raise refuse("init", self.init, " or ".join(map(repr, methods)) + ", or an array of centres")
        starts = (self._random_starts if self.init == "random" else 1) if self.n_init == "auto" else self.n_init
        return {**options, "starts": starts, "init_method": methods[self.init]}

    def _first_centres(self, columns: int) -> Array:
        if callable(self.init):
            raise refuse("init", self.init, "an array of centres; call the function and give what it returns")
        centres = np.ascontiguousarray(self.init, dtype=np.float64)
        if centres.shape != (self.n_clusters, columns):
            raise ValueError(f"The shape of the initial centers {centres.shape} does not match the number of clusters "
                             f"{self.n_clusters} and the number of features of the data {columns}.")
        return centres

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "KMeans":
        """Finds clusters. X has shape (n_samples, n_features), dense or sparse; y is ignored."""
        self._find(self._checked(X), sample_weight, {})
        return self

    def _find(self, X: Any, sample_weight: Any, others: dict[str, Any]) -> None:
        """Trains, with the options `others` about other samples."""
        options = {**self._options(X.shape[0]), **others}
        weights = self._weights(sample_weight, X)
        if X.shape[0] < self.n_clusters:
            raise ValueError(f"n_samples={X.shape[0]} should be >= n_clusters={self.n_clusters}.")
        if isinstance(self.init, str):
            self._train(self._algorithm, X, None, weights, **options)
        else:
            with tempfile.TemporaryDirectory(prefix="hawser-") as folder:
                path = os.path.join(folder, "centres.npy")
                np.save(path, self._first_centres(X.shape[1]))
                self._train(self._algorithm, X, None, weights, init=None, init_=f"centres={path}", **options)
        self._label_samples(X)

    def _label_samples(self, X: Any) -> None:
        self.labels_ = self._label(X)

    def _take_parameters(self, model: Model) -> None:
        assert model.training is not None
        self.cluster_centers_ = model.centres.astype(self._type, copy=False)
        self.inertia_ = float(model.training.metrics["inertia"])
        self._n_features_out = len(self.cluster_centers_)

    def _is_written(self) -> bool:
        """Returns whether cluster_centers_ are not those of the model."""
        model: Model | None = self.__dict__.get("model_")
        return model is None or not is_same(self.cluster_centers_, model.centres)

    def _label(self, X: Any) -> Array:
        found = self._distances(X).argmin(axis=1) if self._is_written() else self.model_.predict(X)
        return np.asarray(found).astype(np.int32)

    def _distances(self, X: Any) -> Array:
        if not self._is_written():
            return self.model_.distances(X)
        centres = np.asarray(self.cluster_centers_, np.float64)
        if issparse(X):
            return np.asarray(euclidean_distances(X.astype(np.float64), centres))
        middle = centres.mean(axis=0)  # squares of numbers far from zero would lose the digits of a distance
        return np.asarray(euclidean_distances(X - middle, centres - middle))

    def predict(self, X: Any) -> Array:
        """Returns the cluster of each sample, shape (n_samples,)."""
        return self._label(self._checked_new(X))

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:
        """Finds clusters, and returns that of each sample."""
        return self.fit(X, sample_weight=sample_weight).labels_

    def transform(self, X: Any) -> Array:
        """Returns the distance of each sample to each centre, shape (n_samples, n_clusters)."""
        X = self._checked_new(X)
        return self._distances(X).astype(np.result_type(X.dtype, np.asarray(self.cluster_centers_).dtype), copy=False)

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:
        """Finds clusters, and returns the distances to their centres."""
        return self.fit(X, sample_weight=sample_weight).transform(X)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Returns the negative inertia of the samples: the sum of squared distances to the nearest centres."""
        X = self._checked_new(X)
        squares = self._distances(X).min(axis=1) ** 2
        weights = self._weights(sample_weight, X)
        return -float(squares.sum() if weights is None else squares @ weights)


class MiniBatchKMeans(KMeans):
    """k-means on mini-batches, as sklearn.cluster.MiniBatchKMeans.

    Each step moves the centres by about `batch_size` samples, drawn without repeats in a pass, and `max_iter` limits the passes. The training
    ends sooner when the smoothed inertia has not fallen for `max_no_improvement` steps (None: never), or when the centres
    move less than `tol`, as in KMeans. Small clusters are not moved to random samples, so `reassignment_ratio` must be 0. First centres are drawn
    from all samples, so `init_size` must be None. `n_init` trains that often ("auto": 3 for "random", else 1). There is
    no partial_fit. All else is as in KMeans.

    After fit: as KMeans, `n_steps_` (batches), and `n_iter_` (passes). `labels_` only if `compute_labels`; `inertia_` is of all samples.

    >>> import hawser
    >>> fitted = hawser.MiniBatchKMeans(n_clusters=2, random_state=0, batch_size=4).fit([[0.0], [1.0], [10.0], [11.0]])
    >>> sorted(fitted.cluster_centers_.ravel().tolist()), fitted.inertia_
    ([0.5, 10.5], 1.0)
    """

    _random_starts = 3

    def __init__(self, n_clusters: int = 8, *, init: Any = "k-means++", max_iter: int = 100, batch_size: int = 1024,
                 verbose: int = 0, compute_labels: bool = True, random_state: Any = None, tol: float = 0.0,
                 max_no_improvement: int | None = 10, init_size: None = None, n_init: int | str = "auto",
                 reassignment_ratio: float = 0.0, workers: int | None = None, sync: str = "bsp", n_jobs: int | None = None) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.verbose = verbose
        self.compute_labels = compute_labels
        self.random_state = random_state
        self.tol = tol
        self.max_no_improvement = max_no_improvement
        self.init_size = init_size
        self.n_init = n_init
        self.reassignment_ratio = reassignment_ratio
        self.workers = workers
        self.sync = sync
        self.n_jobs = n_jobs

    def _options(self, rows: int) -> dict[str, Any]:
        for name, value, allowed in (("reassignment_ratio", self.reassignment_ratio, 0), ("init_size", self.init_size, None)):
            if value != allowed:
                raise refuse(name, value, repr(allowed))
        if self.batch_size < 1:
            raise refuse("batch_size", self.batch_size, "a number of samples from 1")
        patience = 0 if self.max_no_improvement is None else self.max_no_improvement
        return {**self._start_options(), "batch": min(self.batch_size, rows), "epochs": self.max_iter, "patience": patience}

    def _take_parameters(self, model: Model) -> None:
        super()._take_parameters(model)
        rows = int(model.facts["rows"])
        self.n_steps_ = self.n_iter_
        self.n_iter_ = max(1, math.ceil(self.n_steps_ * min(self.batch_size, rows) / rows))

    def _label_samples(self, X: Any) -> None:
        if self.compute_labels:
            super()._label_samples(X)
        elif hasattr(self, "labels_"):
            del self.labels_

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, eval_set: Any = None,
            early_stopping_rounds: int | None = None) -> "MiniBatchKMeans":
        """Finds clusters. X has shape (n_samples, n_features), dense or sparse; y is ignored.

        `eval_set` are other samples: `evals_result_` has their inertia after each pass over X, of the start that was kept. With
        `early_stopping_rounds` a start ends when that many passes have not lowered it, with the centres of the least one.
        """
        X = self._checked(X)
        self._find(X, sample_weight, self._validation(eval_set, early_stopping_rounds, None))
        return self

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:
        """Finds clusters, and returns that of each sample."""
        return self.fit(X, sample_weight=sample_weight).predict(X)


__all__ = ["KMeans", "MiniBatchKMeans"]
