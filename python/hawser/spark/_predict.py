"""Predictions on Spark frames: one more column, computed where the rows are."""
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .._errors import BadArgument, BadOption
from .._model import Model
from .._table import is_plain, levels_of
from ._driver import feature_columns, features_of, type_of
from ._rows import Array, Features, Rows

WHOLE = ("byte", "tinyint", "short", "smallint", "integer", "int", "long", "bigint")
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
    if method in ("predict", "predict_labels") and model.classes is not None and model.classes.dtype.kind in "OU":
        return "string"
    if method in ("predict_proba", "distances"):
        return "array<double>"
    several = len(model.classes) > 2 if method == "decision_function" and model.classes is not None else model.outputs > 1
    return "array<double>" if several else "double"


def _is_plain(model: Model) -> bool:
    """Returns whether a model has columns of numbers alone, without means for missing ones."""
    return is_plain(model._schema()) and model.facts.get("options.missing", "refuse") == "refuse"


def _predict_table(model: Model, frame: Any, features: Features, column: str, method: str, options: dict[str, Any]) -> Any:
    """Predicts on columns with words, dates or nulls."""
    import pandas
    from pyspark.sql.functions import pandas_udf, struct
    levels = levels_of(model._schema())

    def rows(batches: Any) -> Any:
        for batch in batches:
            batch.columns = list(features.names)
            found = getattr(model, method)(batch, **options) if len(batch) else []
            yield pandas.Series(found if np.ndim(found) == 1 else list(found), dtype=None if len(batch) else object)

    rows.__annotations__ = {"batches": Iterator[pandas.DataFrame], "return": Iterator[pandas.Series]}
    columns = feature_columns(frame, features)
    for place, name in enumerate(features.names):  # pandas would make floats of whole numbers beside nulls, and their texts are no levels then
        if levels(name) is not None and type_of(frame, name, "features").typeName() in WHOLE:
            columns[place] = columns[place].cast("string").alias(features.column(place))
    return frame.withColumn(column, pandas_udf(rows, _type_of(model, method, None))(struct(*columns)))


def predict(model: Model, frame: Any, features: str | Sequence[str], *, column: str = "prediction", method: str = "predict",
            missing: str | None = None, unseen: str | None = None, _labels: Array | None = None) -> Any:
    """Returns the frame with one more column, of predictions of the model.

    `features` are columns as in the training, in its order. `method` names a method of hawser.Model: "predict", "predict_labels",
    "predict_proba", "decision_function" or "distances". Columns with words, dates or nulls are read as those of the training, found by their names;
    `missing` and `unseen` are as in hawser.Model.predict. If a row has several numbers, the column has arrays.
    """
    if method not in METHODS:
        raise BadOption(f"method = {method!r}: it is one of {', '.join(METHODS)}")
    import pandas
    from pyspark.sql.functions import pandas_udf, struct
    options = {key: value for key, value in {"missing": missing, "unseen": unseen}.items() if value is not None}
    found = features_of(frame, features, _labels is None, bool(options) or not _is_plain(model))
    if options and found.kind != "table":
        raise BadOption(f"{next(iter(options))}: an option of columns, and the features are a column of vectors or arrays")
    if found.kind == "table" and not isinstance(features, str):
        return _predict_table(model, frame, found, column, method, options)
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
