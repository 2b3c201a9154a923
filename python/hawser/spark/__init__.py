"""Trainings and predictions on Spark frames: the tasks of a barrier stage become nodes.

`train` and `predict` need pyspark, pandas and pyarrow, and scipy for sparse vectors; the estimators need scikit-learn on the driver.
"""
from typing import TYPE_CHECKING, Any

from ._driver import train
from ._predict import predict

if TYPE_CHECKING:
    from ._estimators import (
        ElasticNet, ElasticNetCV, Fitted, KMeans, Lasso, LassoCV, LinearRegression, LinearSVC, LinearSVR, LogisticRegression, LogisticRegressionCV,
        MiniBatchKMeans, MultiTaskElasticNet, MultiTaskElasticNetCV, MultiTaskLasso, MultiTaskLassoCV, PoissonRegressor, Ridge,
    )

ESTIMATORS = ("ElasticNet", "ElasticNetCV", "Fitted", "KMeans", "Lasso", "LassoCV", "LinearRegression", "LinearSVC", "LinearSVR", "LogisticRegression",
              "LogisticRegressionCV", "MiniBatchKMeans", "MultiTaskElasticNet", "MultiTaskElasticNetCV", "MultiTaskLasso", "MultiTaskLassoCV",
              "PoissonRegressor", "Ridge")


def __getattr__(name: str) -> Any:
    """Gives the estimators, which are loaded when one is used: executors do not need them."""
    if name in ESTIMATORS:
        from . import _estimators
        return getattr(_estimators, name)
    raise AttributeError(f"module 'hawser.spark' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *ESTIMATORS})


__all__ = [
    "ElasticNet", "ElasticNetCV", "Fitted", "KMeans", "Lasso", "LassoCV", "LinearRegression", "LinearSVC", "LinearSVR", "LogisticRegression",
    "LogisticRegressionCV", "MiniBatchKMeans", "MultiTaskElasticNet", "MultiTaskElasticNetCV", "MultiTaskLasso", "MultiTaskLassoCV", "PoissonRegressor",
    "Ridge", "predict", "train",
]
