"""Clusters around centres: KMeans, MiniBatchKMeans."""
import math
import os
import tempfile
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.cluster import kmeans_plusplus
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils import check_random_state

from .. import _errors
from .._model import Model
from ._base import Array, Estimator, check_written, is_array, is_same, refuse, saved

METHODS = {"k-means++": "kmeans++", "k-means||": "parallel", "random": "random"}  # the library's name of each


def draw_centres(X: Any, count: int, init: str, weights: Array | None, draw: np.random.RandomState) -> Array:
    """Draws rows of X as first centres: far from each other, or, if init is "random", by their weights alone."""
    shares = np.ones(X.shape[0]) if weights is None else weights
    if (shares > 0).sum() < count:
        raise ValueError(f"n_clusters = {count}: only {(shares > 0).sum()} samples have a weight")
    if init == "random":
        places = draw.choice(X.shape[0], size=count, replace=False, p=shares / shares.sum())
    else:
        near = X if issparse(X) else X - X.mean(axis=0, dtype=np.float64)  # squares of numbers far from zero would lose the digits of a distance
        places = kmeans_plusplus(near, count, sample_weight=shares, random_state=draw)[1]
    rows = X[places]
    return np.asarray(rows.toarray() if issparse(rows) else rows, np.float64)


class KMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, Estimator):  # type: ignore[misc]
    """Lloyd's k-means, as sklearn.cluster.KMeans, with bounds that leave distances out.

    `init` is "k-means++", "k-means||" (for many rows), "random", an array of centres, shape (n_clusters, n_features), or a function that returns one:
    init(X, n_clusters, random_state=RandomState). It is called for each start. `n_init` "auto" is 10 starts for "random" and functions, else 1. `algorithm` and `copy_x` make no difference to the result; X is
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
        options = {"clusters": self.n_clusters, "tol": self.tol}
        if not isinstance(self.init, str):
            return options
        self._check_method(METHODS)
        return {**options, "starts": self._starts(), "init_method": METHODS[self.init]}

    def _check_method(self, methods: Any) -> None:
        if isinstance(self.init, str) and self.init not in methods:
            raise refuse("init", self.init, " or ".join(map(repr, methods)) + ", an array of centres, or a function")

    def _starts(self) -> int:
        """Returns how many trainings there are, of which the best one is kept. Centres that are given as an array make one."""
        if not isinstance(self.init, str) and not callable(self.init):
            return 1
        if self.n_init == "auto":
            return 1 if isinstance(self.init, str) and self.init != "random" else self._random_starts
        if not isinstance(self.n_init, (int, np.integer)) or self.n_init < 1:
            raise refuse("n_init", self.n_init, "'auto' or a number of starts from 1")
        return int(self.n_init)

    def _draw(self) -> np.random.RandomState:
        """Returns what first centres are drawn with here. None is seed 1, as in the library."""
        found: np.random.RandomState = check_random_state(1 if self.random_state is None else self.random_state)
        return found

    def _given_centres(self, X: Any, draw: np.random.RandomState) -> Array:
        """Returns the centres that `init` is or makes."""
        centres = self.init(X, self.n_clusters, random_state=draw) if callable(self.init) else self.init
        centres = np.ascontiguousarray(centres.toarray() if issparse(centres) else centres, dtype=np.float64)
        for place, wanted, what in ((0, self.n_clusters, "number of clusters"), (1, X.shape[1], "number of features of the data")):
            if centres.ndim != 2 or centres.shape[place] != wanted:
                raise ValueError(f"init: The shape of the initial centers {centres.shape} does not match the {what} {wanted}")
        if not np.isfinite(centres).all():
            raise ValueError(f"init: the centres have the value {centres[~np.isfinite(centres)][0]}")
        return centres

    def _draws_here(self) -> bool:
        """Returns whether first centres are made here, and not by the library."""
        return not isinstance(self.init, str)

    def _first_centres(self, X: Any, weights: Array | None, draw: np.random.RandomState) -> Array:
        return self._given_centres(X, draw)

    @saved
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, checkpoint: Any = None) -> "KMeans":
        """Finds clusters. X has shape (n_samples, n_features), dense or sparse; y is ignored. `checkpoint` is as in Lasso."""
        self._find(self._checked(X), sample_weight, {})
        return self

    def _find(self, X: Any, sample_weight: Any, others: dict[str, Any]) -> None:
        """Trains, with the options `others` about other samples."""
        options = {**self._options(X.shape[0]), **others}
        weights = self._weights(sample_weight, X)
        if X.shape[0] < self.n_clusters:
            raise ValueError(f"n_samples={X.shape[0]} should be >= n_clusters={self.n_clusters}.")
        if not self._draws_here():
            self._train(self._algorithm, X, None, weights, **options)
        else:
            self._train_from_here(X, weights, options)
        self._label_samples(X)

    def _train_from_here(self, X: Any, weights: Array | None, options: dict[str, Any]) -> None:
        """Trains from centres that are made here, as often as n_init says, and keeps the fit of least inertia, after Ctrl-C that of the starts so far. An
        error leaves what was fitted before."""
        for name, given in (("init", callable(self.init)), ("init_size", getattr(self, "init_size", None) is not None)):
            if given and not is_array(X):
                raise refuse(name, getattr(self, name), "a name or an array of centres" if name == "init" else "None where X is no array of this process")
        before = dict(self.__dict__)
        draw, best = self._draw(), None
        options = {key: value for key, value in options.items() if key not in ("starts", "init_method")}
        try:
            with tempfile.TemporaryDirectory(prefix="hawser-") as folder:
                path = os.path.join(folder, "centres.npy")
                for _ in range(self._starts()):
                    np.save(path, self._first_centres(X, weights, draw))
                    self._train(self._algorithm, X, None, weights, init=None, init_=f"centres={path}", **options)
                    if best is None or self.inertia_ < best["inertia_"]:
                        best = dict(self.__dict__)
        except KeyboardInterrupt:
            if best is not None and not self.inertia_ < best["inertia_"]:
                self.__dict__.update({**best, "interrupted_": True})
            raise
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        self.__dict__.update(best or {})

    def _terms(self, options: dict[str, Any]) -> dict[str, Any]:
        """The file of first centres has another name in each fit, so its numbers count."""
        terms = super()._terms(options)
        if "init_" in terms:
            terms["init_"] = np.load(terms["init_"].partition("=")[2])
        return terms

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
        check_written("cluster_centers_", centres, X.shape[1])
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
    from all samples, or from `init_size` of them, drawn anew for each start. `n_init` trains that often ("auto": 3 for "random" and functions, else 1).
    `partial_fit` makes one step with the samples that it gets. All else is as in KMeans.

    After fit: as KMeans, `n_steps_` (batches), `n_iter_` (passes), and `counts_` (n_clusters,), the weight that each centre has received, by the clusters at the
    end. `labels_` only if `compute_labels`; `inertia_` is of all samples.

    >>> import hawser
    >>> fitted = hawser.MiniBatchKMeans(n_clusters=2, random_state=0, batch_size=4).fit([[0.0], [1.0], [10.0], [11.0]])
    >>> sorted(fitted.cluster_centers_.ravel().tolist()), fitted.inertia_
    ([0.5, 10.5], 1.0)
    """

    _random_starts = 3

    def __init__(self, n_clusters: int = 8, *, init: Any = "k-means++", max_iter: int = 100, batch_size: int = 1024,
                 verbose: int = 0, compute_labels: bool = True, random_state: Any = None, tol: float = 0.0,
                 max_no_improvement: int | None = 10, init_size: int | None = None, n_init: int | str = "auto",
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
        self._check_ratio()
        if self.batch_size < 1:
            raise refuse("batch_size", self.batch_size, "a number of samples from 1")
        patience = 0 if self.max_no_improvement is None else self.max_no_improvement
        return {**self._start_options(), "batch": min(self.batch_size, rows), "epochs": self.max_iter, "patience": patience}

    def _check_ratio(self) -> None:
        if self.reassignment_ratio != 0:
            raise refuse("reassignment_ratio", self.reassignment_ratio, "0: small clusters are not moved to random samples")

    def _draws_here(self) -> bool:
        return self.init_size is not None or super()._draws_here()

    def _first_centres(self, X: Any, weights: Array | None, draw: np.random.RandomState) -> Array:
        """Returns first centres, from `init_size` samples that have a weight if it is given."""
        self._check_method(METHODS)
        size = self._checked_size()
        if size is not None:
            places = np.arange(X.shape[0]) if weights is None else np.flatnonzero(weights > 0)
            if size < len(places):
                places = draw.choice(places, size=size, replace=False)
                X, weights = (X.tocsr() if issparse(X) else X)[places], None if weights is None else weights[places]
        return draw_centres(X, self.n_clusters, self.init, weights, draw) if isinstance(self.init, str) else self._given_centres(X, draw)

    def _checked_size(self) -> int | None:
        if self.init_size is None:
            return None
        if not isinstance(self.init_size, (int, np.integer)) or self.init_size < 1:
            raise refuse("init_size", self.init_size, "None or a number of samples from 1")
        if self.init_size < self.n_clusters:
            _errors.warn(f"init_size={self.init_size} should be larger than n_clusters={self.n_clusters}; {3 * self.n_clusters} samples are taken", RuntimeWarning)
            return 3 * int(self.n_clusters)
        return int(self.init_size)

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

    @saved
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, eval_set: Any = None,
            early_stopping_rounds: int | None = None, checkpoint: Any = None) -> "MiniBatchKMeans":
        """Finds clusters. X has shape (n_samples, n_features), dense or sparse; y is ignored.

        `eval_set` are other samples: `evals_result_` has their inertia after each pass over X, of the start that was kept. With
        `early_stopping_rounds` a start ends when that many passes have not lowered it, with the centres of the least one. `checkpoint` is as in Lasso.
        """
        X = self._checked(X)
        self._find(X, sample_weight, self._validation(eval_set, early_stopping_rounds, None))
        self._forget("counts_")
        if is_array(X):
            weights = self._weights(sample_weight, X)
            passes = self.n_steps_ * min(self.batch_size, X.shape[0]) / X.shape[0]
            labels = self.labels_ if self.compute_labels else self._label(X)
            self.counts_ = passes * np.bincount(labels, weights, minlength=self.n_clusters)
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "MiniBatchKMeans":
        """Moves each centre to the mean of the samples that it has received so far, and of those of X that are nearest to it; y is ignored.

        The first call takes the centres of `init`, which are drawn from X, and later ones go on from `cluster_centers_`, those of `fit`, too. Afterwards
        `labels_` (if `compute_labels`) and `inertia_` are those of X, `counts_` is the weight that each centre has received, `n_steps_` counts the calls, and there is no
        `model_`.
        """
        self._check_ratio()
        first = "cluster_centers_" not in self.__dict__
        X = self._checked(X) if first else self._checked_new(X, fitted=False)
        if not is_array(X):
            raise ValueError("partial_fit: it takes arrays of this process; fit takes data of a cluster")
        weights = self._weights(sample_weight, X)
        if first and X.shape[0] < self.n_clusters:
            raise ValueError(f"n_samples={X.shape[0]} should be >= n_clusters={self.n_clusters}.")
        if first:
            self.cluster_centers_ = self._first_centres(X, weights, self._draw()).astype(self._type)
        counts = self.__dict__.get("counts_", np.zeros(len(self.cluster_centers_)))
        if len(counts) != len(self.cluster_centers_):
            raise ValueError(f"counts_ has {len(counts)} numbers, and cluster_centers_ has {len(self.cluster_centers_)} centres; delete counts_ to begin anew")
        try:
            self.cluster_centers_, self.counts_ = self._moved(X, weights, counts)
        except BaseException:
            if first:
                del self.cluster_centers_  # nothing has been fitted
            raise
        self._n_features_out, self.n_features_in_ = self.cluster_centers_.shape
        self.n_steps_ = (0 if first else self.__dict__.get("n_steps_", 0)) + 1
        self._forget("model_", "labels_", "trace_", "n_iter_", "evals_result_", "best_score_", "best_iteration_")
        distances = self._distances(X)
        squares = distances.min(axis=1) ** 2
        self.inertia_ = float(squares.sum() if weights is None else squares @ weights)
        if self.compute_labels:
            self.labels_ = distances.argmin(axis=1).astype(np.int32)
        return self

    def _moved(self, X: Any, weights: Array | None, counts: Array) -> tuple[Array, Array]:
        """Returns the centres after a step with samples, and the weights that they have received."""
        centres = np.asarray(self.cluster_centers_, np.float64)
        labels, shares = self._label(X), np.ones(X.shape[0]) if weights is None else weights
        received = np.bincount(labels, shares, minlength=len(centres))
        sums = csr_array((shares, (labels, np.arange(len(labels)))), (len(centres), len(labels)))
        middle = 0.0 if issparse(X) else centres.mean(axis=0)  # near the samples, so that sums keep their digits
        found = sums @ (X.astype(np.float64) - middle if not issparse(X) else X.astype(np.float64))
        moves = (found.toarray() if issparse(found) else found) - received[:, None] * (centres - middle)
        total = counts + received
        used = received > 0
        whole = centres.copy()
        whole[used] += moves[used] / total[used, None]
        kind = np.asarray(self.cluster_centers_).dtype
        return whole.astype(kind if kind == np.float32 else np.float64), total

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:
        """Finds clusters, and returns that of each sample."""
        return self.fit(X, sample_weight=sample_weight).predict(X)


__all__ = ["KMeans", "MiniBatchKMeans"]
