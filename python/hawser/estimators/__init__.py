"""Estimators with the habits of scikit-learn. They need scikit-learn; the rest of the package does not.

>>> import hawser, numpy
>>> x = numpy.random.default_rng(0).normal(size=(100, 3))
>>> hawser.Lasso(alpha=0.01).fit(x, x @ [1.0, 0.0, -2.0]).predict(x).shape
(100,)
"""
try:
    import sklearn
except ImportError as error:
    raise ImportError("the estimators of hawser need scikit-learn: pip install scikit-learn; hawser.train works without it",
                      name="sklearn") from error
if tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 6):
    raise ImportError(f"the estimators of hawser need scikit-learn 1.6 or later, and this is {sklearn.__version__}: pip install --upgrade "
                      "scikit-learn; hawser.train works without it", name="sklearn")

from ._base import ConvergenceWarning
from .kmeans import KMeans, MiniBatchKMeans
from .lda import LatentDirichletAllocation
from .linear import ElasticNet, Lasso
from .linear_cv import ElasticNetCV, LassoCV
from .logistic import LogisticRegression
from .logistic_cv import LogisticRegressionCV
from .multitask import MultiTaskElasticNet, MultiTaskElasticNetCV, MultiTaskLasso, MultiTaskLassoCV
from .poisson import PoissonRegressor
from .ridge import LinearRegression, Ridge
from .ridge_cv import RidgeCV
from .svm import LinearSVC, LinearSVR

__all__ = [
    "ConvergenceWarning", "ElasticNet", "ElasticNetCV", "KMeans", "Lasso", "LassoCV", "LatentDirichletAllocation", "LinearRegression", "LinearSVC", "LinearSVR", "LogisticRegression",
    "LogisticRegressionCV", "MiniBatchKMeans", "MultiTaskElasticNet", "MultiTaskElasticNetCV", "MultiTaskLasso", "MultiTaskLassoCV",
    "PoissonRegressor", "Ridge", "RidgeCV",
]
