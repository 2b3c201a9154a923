"""Predictions on Spark frames: one more column, computed where the rows are."""
from collections.abc import Iterator, Sequence
from typing import Any

from .._errors import BadArgument, BadOption
from .._model import Model
from ._driver import feature_columns, features_of
from ._rows import Array, Features, Rows

METHODS = ("predict", "predict_labels", "predict_proba", "decision_function", "distances")


def _batch(features: Features, rows: Any) -> Any:
    """Returns rows as pandas has them as the Arrow batch that Rows takes."""
    import pyarrow
    number = pyarrow.from_numpy_dtype(features.dtype)
    if features.kind == "columns":
        arrays = [pyarrow.array(rows[name], number, from_pandas=False) for name in rows.columns]
    elif features.kind == "array":
        arrays = [pyarrow.array(rows, pyarrow.list_(number))]
    else:
        parts = [("type", pyarrow.int8()), ("size", pyarrow.int32()), ("indices", pyarrow.list_(pyarrow.int32())),
                 ("values", pyarrow.list_(number))]
        fields = [pyarrow.array(rows[name], kind, from_pandas=True) for name, kind in parts]
        missing = pyarrow.array(rows["type"].isna().to_numpy())
        arrays = [pyarrow.StructArray.from_arrays(fields, [name for name, _ in parts], mask=missing)]
    return pyarrow.RecordBatch.from_arrays(arrays, [features.column(place) for place in range(len(arrays))])


def compute(model: Model, method: str, labels: Array | None, matrix: Any) -> Any:
    """Returns predictions of rows: an array, or lists where a row has several."""
    if labels is None or method != "predict":
        found = getattr(model, method)(matrix)
        return found if found.ndim == 1 else list(found)
    margins = model.decision_function(matrix)
    return labels[(margins > 0).astype(int) if margins.ndim == 1 else margins.argmax(axis=1)]


def _type_of(model: Model, method: str, labels: Array | None) -> str:
    """Returns Spark's type of a prediction."""
    if labels is not None and method == "predict":
        return {"b": "boolean", "i": "long", "f": "double"}.get(labels.dtype.kind, "string")
    if method in ("predict_proba", "distances"):
        return "array<double>"
    several = len(model.classes) > 2 if method == "decision_function" and model.classes is not None else model.outputs > 1
    return "array<double>" if several else "double"


def predict(model: Model, frame: Any, features: str | Sequence[str], *, column: str = "prediction", method: str = "predict",
            _labels: Array | None = None) -> Any:
    """Returns the frame with one more column, of predictions of the model.

    `features` are columns as in the training, in its order. `method` names a method of hawser.Model: "predict", "predict_labels",
    "predict_proba", "decision_function" or "distances". If a row has several numbers, the column has arrays.
    """
    if method not in METHODS:
        raise BadOption(f"method = {method!r}: it is one of {', '.join(METHODS)}")
    import pandas
    from pyspark.sql.functions import pandas_udf, struct
    found = features_of(frame, features)
    if found.kind == "columns" and len(found.names) != model.columns:
        raise BadArgument(f"features: {len(found.names)} columns, and the model was trained with {model.columns}")

    def rows(batches: Any) -> Any:
        for batch in batches:
            read = Rows(found, {})
            read.add(_batch(found, batch))
            yield pandas.Series(compute(model, method, _labels, read.matrix(read.sparse)) if read.count else [],
                                dtype=None if read.count else object)

    # Spark reads these: it passes the columns of a struct as a frame.
    given: Any = pandas.Series if found.kind == "array" else pandas.DataFrame
    rows.__annotations__ = {"batches": Iterator[given], "return": Iterator[pandas.Series]}
    columns = feature_columns(frame, found)
    function = pandas_udf(rows, _type_of(model, method, _labels))
    return frame.withColumn(column, function(struct(*columns) if found.kind == "columns" else columns[0]))


__all__ = ["predict"]
