"""Hawser: distributed machine learning with managed consistency.

>>> import hawser, numpy
>>> x = numpy.random.default_rng(0).normal(size=(50, 4))
>>> model = hawser.train("lasso", x, x[:, 0], lambda_=0.01)
>>> model.predict(x).shape
(50,)
"""
from typing import TYPE_CHECKING, Any

from ._changes import PolicyChange
from ._cluster import Cluster, Member, View
from ._dataset import Dataset
from ._documents import Documents
from ._errors import (
    BadArgument, BadInput, BadOption, BadProgram, ConvergenceWarning, Diverged, Error, FileError, InternalError, Interrupted,
    NoMemory, NotFinite, PeerLost, Timeout,
)
from ._function import ServerFunction, StoreFilter, server_function, store_filter
from ._local_sgd import LocalSGD
from ._model import Model, Training
from ._native import VERSION as __version__
from ._path import Path
from ._plan import Plan, PlanMemory, plan
from ._plot import plot
from ._replicas import Replicas
from ._store import Store, Table
from ._task import Task
from ._train import algorithms, train
from ._vector import Arrival, Vector
from .programs.body import Body
from .programs.condition import Condition, condition
from .programs.context import Context
from .programs.program import Program
from .programs.progress import Progress
from .programs.run import Run
from .programs.unit import Sparse, Subproblem, Unit, unit

if TYPE_CHECKING:
    from .estimators import (
        ElasticNet, ElasticNetCV, KMeans, Lasso, LassoCV, LatentDirichletAllocation, LinearRegression, LinearSVC, LinearSVR, LogisticRegression, LogisticRegressionCV,
        MiniBatchKMeans, MultiTaskElasticNet, MultiTaskElasticNetCV, MultiTaskLasso, MultiTaskLassoCV, PoissonRegressor, Ridge, RidgeCV,
    )

ESTIMATORS = ("ElasticNet", "ElasticNetCV", "KMeans", "Lasso", "LassoCV", "LatentDirichletAllocation", "LinearRegression", "LinearSVC", "LinearSVR", "LogisticRegression",
              "LogisticRegressionCV", "MiniBatchKMeans", "MultiTaskElasticNet", "MultiTaskElasticNetCV", "MultiTaskLasso", "MultiTaskLassoCV",
              "PoissonRegressor", "Ridge", "RidgeCV")


def __getattr__(name: str) -> Any:
    """Gives the estimators, which are loaded when one is used, since they need scikit-learn."""
    if name in ESTIMATORS:
        from . import estimators
        return getattr(estimators, name)
    raise AttributeError(f"module 'hawser' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *ESTIMATORS})


__all__ = [
    "Arrival", "BadArgument", "BadInput", "BadOption", "BadProgram", "Body", "Cluster", "Condition", "Context", "ConvergenceWarning", "Dataset", "Diverged",
    "Documents", "Error", "FileError", "InternalError", "Interrupted", "LocalSGD", "Member", "Model", "NoMemory", "NotFinite", "Path", "PeerLost", "Plan", "PlanMemory", "PolicyChange", "Program",
    "Progress", "Replicas", "Run", "ServerFunction", "Sparse", "Store", "StoreFilter", "Subproblem", "Table", "Task", "Timeout", "Training", "Unit", "Vector", "View",
    "__version__", "algorithms", "condition", "plan", "plot", "server_function", "store_filter", "train", "unit",
    "ElasticNet", "ElasticNetCV", "KMeans", "Lasso", "LassoCV", "LatentDirichletAllocation", "LinearRegression", "LinearSVC", "LinearSVR", "LogisticRegression",
    "LogisticRegressionCV", "MiniBatchKMeans", "MultiTaskElasticNet", "MultiTaskElasticNetCV", "MultiTaskLasso", "MultiTaskLassoCV",
    "PoissonRegressor", "Ridge", "RidgeCV",
]
