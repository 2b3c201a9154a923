"""Trainings over the workers of a Dask cluster, which become nodes.

>>> import dask.array, distributed, hawser.dask
>>> client = distributed.Client(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0")
>>> X = dask.array.random.default_rng(0).normal(size=(1000, 5), chunks=(250, 5))
>>> y = X[:, 0] - 2 * X[:, 3]
>>> model = hawser.dask.train(client, "lasso", X, y, lambda_=0.01)  # on the workers that hold X
>>> model.coefficients.round(1)
array([ 1.,  0.,  0., -2.,  0.])
>>> lasso = hawser.dask.Lasso(alpha=0.01).fit(X, y)
>>> lasso.predict(X)  # computed where and when it is needed
dask.array<_apply, shape=(1000,), dtype=float64, chunksize=(250,), chunktype=numpy.ndarray>
>>> client.shutdown()
"""
from typing import TYPE_CHECKING, Any

from ._driver import train

if TYPE_CHECKING:
    from ._estimators import (
        ElasticNet, ElasticNetCV, KMeans, Lasso, LassoCV, LinearRegression, LinearSVC, LinearSVR, LogisticRegression, LogisticRegressionCV, MiniBatchKMeans,
        MultiTaskElasticNet, MultiTaskElasticNetCV, MultiTaskLasso, MultiTaskLassoCV, PoissonRegressor, Ridge,
    )

ESTIMATORS = ("ElasticNet", "ElasticNetCV", "KMeans", "Lasso", "LassoCV", "LinearRegression", "LinearSVC", "LinearSVR", "LogisticRegression",
              "LogisticRegressionCV", "MiniBatchKMeans", "MultiTaskElasticNet", "MultiTaskElasticNetCV", "MultiTaskLasso", "MultiTaskLassoCV",
              "PoissonRegressor", "Ridge")


def __getattr__(name: str) -> Any:
    """Gives the estimators, which are loaded when one is used, since they need scikit-learn."""
    if name in ESTIMATORS:
        from . import _estimators
        return getattr(_estimators, name)
    raise AttributeError(f"module 'hawser.dask' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *ESTIMATORS})


__all__ = [
    "ElasticNet", "ElasticNetCV", "KMeans", "Lasso", "LassoCV", "LinearRegression", "LinearSVC", "LinearSVR", "LogisticRegression",
    "LogisticRegressionCV", "MiniBatchKMeans", "MultiTaskElasticNet", "MultiTaskElasticNetCV", "MultiTaskLasso", "MultiTaskLassoCV", "PoissonRegressor",
    "Ridge", "train",
]
