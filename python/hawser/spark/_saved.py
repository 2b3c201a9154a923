"""Fitted estimators and estimators as files of Spark, in a form that runs no code when it is read."""
import base64
import dataclasses
import io
import json
from typing import Any

import numpy as np
import sklearn.model_selection
from pyspark.ml.util import DefaultParamsReader, DefaultParamsWriter, MLReader, MLWriter

from .. import estimators
from .._changes import PolicyChange
from .._errors import BadArgument, BadInput
from .._model import Model, Training

FORMAT = 1
CHUNK = 2**19  # characters of a row: a task's result may not be large
RECORDS: dict[str, Any] = {"Training": Training, "PolicyChange": PolicyChange}


def encode(what: str, value: Any) -> Any:
    """Returns a value as JSON has it. `what` is for errors."""
    if value is None or isinstance(value, (bool, int, float, str)) and not isinstance(value, np.generic):
        return value
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "biufU":
        made = io.BytesIO()
        np.save(made, value, allow_pickle=False)
        return {"array": _text(made.getvalue()), "number": isinstance(value, np.generic)}
    if isinstance(value, np.dtype):
        return {"dtype": value.str}
    if isinstance(value, np.ndarray) and value.dtype == object:
        return {"objects": encode(what, value.tolist())}
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return {type(value).__name__: [encode(what, each) for each in value]}
    if isinstance(value, dict):
        return {"dict": [[encode(what, key), encode(what, each)] for key, each in value.items()]}
    if isinstance(value, Model):
        return {"model": _text(value.to_bytes()), "training": encode(what, value.training)}
    name, record = type(value).__name__, RECORDS.get(type(value).__name__)
    if record is not None and isinstance(value, record):
        return {"record": name, "fields": {field.name: encode(what, getattr(value, field.name)) for field in dataclasses.fields(record)}}
    if getattr(sklearn.model_selection, name, None) is type(value):
        return {"splitter": name, "fields": {key: encode(what, each) for key, each in vars(value).items()}}
    raise BadArgument(f"{what} is a {name}, which cannot be saved; it may be numbers, words, arrays, lists, dictionaries and splitters of scikit-learn")


def decode(given: Any) -> Any:
    """Returns the value that `encode` was given."""
    if not isinstance(given, dict):
        return given
    if "array" in given:
        array = np.load(io.BytesIO(base64.b64decode(given["array"])), allow_pickle=False)
        return array[()] if given["number"] else array
    if "dtype" in given:
        return np.dtype(given["dtype"])
    if "objects" in given:
        return np.array(decode(given["objects"]), dtype=object)
    if "list" in given or "tuple" in given:
        found = [decode(each) for each in given["list" if "list" in given else "tuple"]]
        return found if "list" in given else tuple(found)
    if "dict" in given:
        return {decode(key): decode(each) for key, each in given["dict"]}
    if "model" in given:
        model = Model.from_bytes(base64.b64decode(given["model"]))
        model.training = decode(given["training"])
        return model
    fields = {key: decode(each) for key, each in given["fields"].items()}
    if "record" in given:
        return RECORDS[given["record"]](**fields)
    kind = getattr(sklearn.model_selection, given["splitter"])
    made = kind.__new__(kind)
    vars(made).update(fields)
    return made


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


class Writer(MLWriter):  # type: ignore[misc]
    """Writes an object of hawser.spark: pyspark's metadata, and what the object keeps in rows of text."""

    def __init__(self, instance: Any) -> None:
        super().__init__()
        self.instance = instance

    def saveImpl(self, path: str) -> None:
        own = self.instance
        kept = {"format": FORMAT, "kind": type(own.estimator).__name__, "estimator": encode_all(vars(own.estimator)), "own": encode_all(own._saved())}
        text = json.dumps(kept)
        DefaultParamsWriter.saveMetadata(own, path, self.sc, extraMetadata={"class": f"hawser.spark.{type(own).__name__}"})
        rows = [(number, text[first:first + CHUNK]) for number, first in enumerate(range(0, len(text), CHUNK))]
        self.sparkSession.createDataFrame(rows, "number int, text string").write.parquet(f"{path}/data")


class Reader(MLReader):  # type: ignore[misc]
    """Reads what Writer has written."""

    def __init__(self, kind: Any) -> None:
        super().__init__()
        self.kind = kind

    def load(self, path: str) -> Any:
        about = DefaultParamsReader.loadMetadata(path, self.sc)
        if about["class"] != f"hawser.spark.{self.kind.__name__}":
            raise BadInput(f"{path} has a {about['class']}, and not a hawser.spark.{self.kind.__name__}")
        rows = self.sparkSession.read.parquet(f"{path}/data").toLocalIterator()
        kept = json.loads("".join(row.text for row in sorted(rows, key=lambda row: row.number)))
        if kept["format"] != FORMAT:
            raise BadInput(f"{path} has format {kept['format']}, which a newer version of hawser has written; this one reads {FORMAT}")
        own_kind = kept["kind"]
        if own_kind not in estimators.__all__:
            raise BadInput(f"{path} has a hawser.{own_kind}, which this version does not have")
        estimator = getattr(estimators, own_kind)()
        vars(estimator).update({key: decode(each) for key, each in kept["estimator"].items()})
        made = self.kind._loaded(estimator, {key: decode(each) for key, each in kept["own"].items()})
        made._resetUid(about["uid"])
        return made


def encode_all(values: dict[str, Any]) -> dict[str, Any]:
    return {key: encode(key, value) for key, value in values.items()}


__all__ = ["Reader", "Writer", "decode", "encode"]
