"""Spark's daemon for the tests: it has imported what is not ours before it forks, since each worker would take a second for that."""
import pandas  # noqa: F401
import pyarrow  # noqa: F401
import scipy.sparse  # noqa: F401
import sklearn.model_selection  # noqa: F401
from pyspark.daemon import manager

if __name__ == "__main__":
    manager()
