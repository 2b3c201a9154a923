"""The driver's side: checks of a frame and of options before anything starts, and the barrier stage."""
import contextlib
import functools
import pickle
import re
import secrets
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from .. import _errors
from .._sides import check_collections
from .._errors import BadArgument, BadInput, BadOption, Error, PeerLost
from .._frames import Frame, check_no_validation, take_table_options
from .._heads import takes_several
from .._model import Model
from .._node import PLACING, Outcome, Task, checked_options, other_pair
from .._progress import Callback, bar_of
from .._train import check_validation, find_algorithm
from . import _node
from ._node import Classes, Plan
from ._other import collect, describe, from_arrays
from ._progress import listening
from ._rows import Features, Names

NUMBERS = ("byte", "tinyint", "short", "smallint", "integer", "int", "long", "bigint", "float", "double", "boolean")
MORE = ("string", "date", "timestamp", "timestamp_ntz")  # what columns of a table may have besides
# Options of hawser.train and of joining that have no meaning here.
REFUSED = {option: f"no option over Spark: {why}" for option, why in {
    "partitioned": "each task has rows of its own already",
    "groups": "the frame has none", "names": "the columns have theirs",
    "fresh": "a stage that Spark repeats would begin anew each time; choose another folder",
    **dict.fromkeys(PLACING, "the tasks of a barrier stage are the nodes"),
}.items()}
SLOTS_SECONDS = 30.0  # for executors that have not registered yet


# -------------------------------------------------------------------------------------------------- the frame ----


def is_frame(data: Any) -> bool:
    return hasattr(data, "mapInArrow") and hasattr(data, "schema")


def check_frame(frame: Any) -> None:
    if not is_frame(frame):
        raise BadArgument(f"give a DataFrame of Spark, and not a {type(frame).__name__}")


def type_of(frame: Any, column: Any, what: str) -> Any:
    """Returns the type of a column of the frame."""
    if not isinstance(column, str):
        raise BadArgument(f"{what}: give the name of a column, and not a {type(column).__name__}")
    for each in frame.schema.fields:
        if each.name == column:
            return each.dataType
    raise BadArgument(f"{what}: the frame has no column '{column}'; its columns are {', '.join(frame.columns)}")


def is_number(kind: Any) -> bool:
    return kind.typeName() in NUMBERS or kind.typeName().startswith("decimal")


def column_of(frame: Any, name: str) -> Any:
    """Returns a column, whose name may have dots."""
    return frame["`" + name.replace("`", "``") + "`"]


def _is_word(kind: Any) -> bool:
    return kind.typeName() in MORE or kind.typeName().startswith(("varchar", "char"))


def features_of(frame: Any, features: str | Sequence[str], tables: bool = False, options: bool = False) -> Features:
    """Returns what the features are: a vector or array column, or columns of numbers. With `tables` they may have words and dates, too; with `options`
    they are read as a table in any case."""
    if not isinstance(features, str):
        names = tuple(features)
        kinds = [type_of(frame, name, "features") for name in names]
        for name, kind in zip(names, kinds):
            if not is_number(kind) and not (tables and _is_word(kind)):
                hint = "; a vector or an array is given by its name alone, not in a list" if kind.typeName() in ("array", "vectorudt") else ""
                raise BadArgument(f"features: column '{name}' has the type {kind.simpleString()}, which is no number{hint}")
        if not names or len(set(names)) < len(names):
            raise BadArgument("features: give at least one column, and each one once")
        if options or not all(map(is_number, kinds)):
            return Features("table", names)
        return Features("columns", names, all(kind.typeName() == "float" for kind in kinds))
    kind = type_of(frame, features, "features")
    if type(kind).__name__ == "VectorUDT":
        return Features("vector", (features,))
    if kind.typeName() == "array" and is_number(kind.elementType):
        return Features("array", (features,), kind.elementType.typeName() == "float")
    if is_number(kind):
        return features_of(frame, [features])
    raise BadArgument(f"features: column '{features}' has the type {kind.simpleString()}; give a vector of pyspark.ml, an array of "
                      "numbers, or a list of columns of numbers")


def feature_columns(frame: Any, features: Features) -> list[Any]:
    """Returns the columns of the features under the names that Rows expects."""
    from pyspark.sql.functions import unwrap_udt
    number = "float" if features.single else "double"
    columns = [column_of(frame, name) for name in features.names]
    if features.kind == "vector":
        columns = [unwrap_udt(columns[0])]
    elif features.kind == "array":
        columns = [columns[0].cast(f"array<{number}>")]
    elif features.kind == "table":
        decimals = [type_of(frame, name, "features").typeName().startswith("decimal") for name in features.names]
        columns = [column.cast("double") if decimal else column for column, decimal in zip(columns, decimals)]
    else:
        columns = [column.cast(number) for column in columns]
    return [column.alias(features.column(place)) for place, column in enumerate(columns)]


def _targets(frame: Any, name: Names) -> Any | None:
    """Returns several targets as a column of lists, or None if there is one, which is a column of numbers."""
    from pyspark.ml.functions import vector_to_array
    from pyspark.sql.functions import array
    if not isinstance(name, str):
        for each in name:
            if not is_number(kind := type_of(frame, each, "target")):
                raise BadArgument(f"target: column '{each}' has the type {kind.simpleString()}, which is no number")
        return array(*[column_of(frame, each).cast("double") for each in name])
    kind = type_of(frame, name, "target")
    if type(kind).__name__ == "VectorUDT":
        return vector_to_array(column_of(frame, name))
    is_list = kind.typeName() == "array" and is_number(kind.elementType)
    return column_of(frame, name).cast("array<double>") if is_list else None


def columns_beside(frame: Any, beside: dict[str, Any], labels: bool, several: bool = False) -> list[Any]:
    """Returns the columns of target, weights and offset. `labels`: the target may have words; `several`: lists of numbers, or several columns."""
    columns = []
    for what, name in beside.items():
        if what == "target" and several and (lists := _targets(frame, name)) is not None:
            columns.append(lists.alias(what))
            continue
        kind = type_of(frame, name, what)
        is_label = labels and what == "target"
        if not is_number(kind) and not (is_label and kind.typeName() == "string"):
            raise BadArgument(f"{what}: column '{name}' has the type {kind.simpleString()}, which is no number")
        keep = is_label and not kind.typeName().startswith("decimal")
        column = column_of(frame, name)
        columns.append((column if keep else column.cast("double")).alias(what))
    return columns


# -------------------------------------------------------------------------------------------------- the stage ----


def _slots(frame: Any) -> int:
    """Returns how many tasks the cluster can run at once."""
    context = frame.sparkSession.sparkContext._jsc.sc()
    return int(context.maxNumConcurrentTasks(context.resourceProfileManager().defaultResourceProfile()))


def _check_slots(mapped: Any, wait: float) -> bool:
    """Refuses more tasks than the cluster can run at once, for which Spark would wait ten minutes. Returns whether there is any task.

    Over Spark Connect the driver cannot know either number.
    """
    try:
        tasks = mapped._jdf.queryExecution().toRdd().getNumPartitions()
        slots = _slots(mapped)
        master = mapped.sparkSession.sparkContext.master
    except Exception as error:
        if hasattr(mapped, "_jdf"):
            raise_failure(error)
        return True
    until = time.monotonic() + (0 if re.match(r"local(\[|$)", master) else wait)
    while slots < tasks and time.monotonic() < until:
        time.sleep(0.2)
        slots = _slots(mapped)
    if slots < tasks:
        raise BadArgument(f"the frame has {tasks} partitions, each of which becomes a node, and the cluster runs {slots} tasks at once; "
                          f"give nodes={max(slots, 1)}, or more executors")
    return bool(tasks > 0)


def raise_failure(error: Exception) -> None:
    """Raises what a task has raised, or what Spark says."""
    text = str(error)
    attempts = re.search(r"failed the maximum allowable number of times: (\d+)", text)
    again = f"; Spark has begun it {attempts[1]} times" if attempts and attempts[1] != "1" else ""
    own = re.search(r"^hawser\._errors\.(\w+): (.+)$", text, re.MULTILINE)
    kind = getattr(_errors, own[1], None) if own else None
    if own and isinstance(kind, type) and issubclass(kind, Error):
        raise kind(own[2] + again) from error
    if "SPARK-24820" in text:
        raise BadArgument("Spark runs no barrier stage on a frame that union(), coalesce() or limit() has made: give nodes=, which "
                          "repartitions it with the rows in the same order") from error
    missing = re.search(r"ModuleNotFoundError: No module named '([\w.]+)'", text)
    if missing:
        raise Error(f"the executors' Python has no module {missing[1]}: install it, or the wheel with its extra 'spark', there, or name their Python "
                    "(PYSPARK_PYTHON, spark.pyspark.python)") from error
    wrong = re.search(r"^ImportError: (.*hawser.*)$", text, re.MULTILINE)
    if wrong:
        raise Error(f"the executors' Python cannot load hawser: {wrong[1]}") from error
    place = re.search(r"barrier task \w+\(\d+, (\d+)\)", text)
    ended = re.search(r"Python worker exited unexpectedly[^.\n]*|ExecutorLostFailure[^\n]*|Lost executor[^\n]*|Connection reset", text)
    if ended:
        raise PeerLost(f"Spark ended the training: the task of {f'partition {place[1]}' if place else 'a partition'} was lost: "
                       f"{ended[0].strip()[:200]}{again}") from error
    # The last line of a traceback of Python, a sentence of Spark, or what there is.
    patterns = (r"^((?!org\.|java\.|py4j\.)[\w.]+(?:Error|Exception): .+)$", r"Most recent failure reason: (.+)", r"^: (?:[\w.$]+: )?(.+)$", r"(.+)")
    why = next((found for found in (re.search(pattern, text, re.MULTILINE) for pattern in patterns) if found), None)
    raise Error(f"Spark ended the training: {why[1].strip()[:300] if why else type(error).__name__}{again}") from error


def _repartition(frame: Any, columns: list[Any], nodes: int) -> Any:
    """Returns columns in this many partitions, with the rows in the same order. Spark allows no coalesce() in a barrier stage."""
    from pyspark.sql.functions import monotonically_increasing_id
    if isinstance(nodes, bool) or not isinstance(nodes, int) or nodes < 1:
        raise BadArgument(f"nodes = {nodes!r}: give a number from 1, or None for one per partition")
    numbered = frame.select(*columns, monotonically_increasing_id().alias("row"))
    return numbered.repartitionByRange(nodes, "row").sortWithinPartitions("row").drop("row")


@contextlib.contextmanager
def _shared(frame: Any, plan: Plan) -> Iterator[Plan]:
    """Gives the plan with other data as a broadcast, which only the task that reads it has in memory. Spark Connect has none."""
    if plan.other is None or not hasattr(frame, "_jdf"):
        yield plan
        return
    broadcast = frame.sparkSession.sparkContext.broadcast(plan.other.parts)
    try:
        yield replace(plan, other=replace(plan.other, parts=broadcast))
    finally:
        broadcast.destroy()


@contextlib.contextmanager
def _heard(frame: Any, plan: Plan, progress: Callback | None) -> Iterator[Plan]:
    """Gives the plan with the address at which the driver takes the progress."""
    if progress is None:
        yield plan
        return
    if not hasattr(frame, "_jdf"):
        raise BadOption("progress: no option over Spark Connect: no task can reach the client")
    conf = frame.sparkSession.sparkContext.getConf()
    host = conf.get("spark.driver.host")
    bind = conf.get("spark.driver.bindAddress", host)
    with listening(progress, plan.task.key, host.strip("[]"), bind.strip("[]"), plan.task.joining.get("port_range")) as address:
        yield replace(plan, listener=address)


def _collect(mapped: Any) -> list[Any]:
    """Returns the rows of the tasks behind a shuffle: Spark repeats a barrier stage that has failed if another stage reads its results, and else ends the job."""
    if not hasattr(mapped, "_jdf"):
        return list(mapped.repartition(1).collect())
    from pyspark import RDD
    rows = mapped.rdd  # the same plan as in `_check_slots`: stages that ran for it do not run again
    return list(RDD(rows._jrdd.coalesce(1, True), rows.ctx, rows._jrdd_deserializer).collect())


def run(frame: Any, plan: Plan, nodes: int | None, progress: Callback | None = None) -> Outcome:
    """Runs a training in a barrier stage. Returns its outcome, or raises what ended it."""
    with _shared(frame, plan) as shared, _heard(frame, shared, progress) as whole:
        return _run(frame, whole, nodes)


def _run(frame: Any, plan: Plan, nodes: int | None) -> Outcome:
    labels = plan.classes is not None or plan.task.frame is not None
    columns = feature_columns(frame, plan.features) + columns_beside(frame, plan.beside, labels, plan.several)
    chosen = frame.select(*columns) if nodes is None else _repartition(frame, columns, nodes)
    mapped = chosen.mapInArrow(functools.partial(_node.run, plan), _node.RESULT, barrier=True)
    rows = []
    if _check_slots(mapped, SLOTS_SECONDS):
        try:
            rows = _collect(mapped)
        except Exception as error:
            raise_failure(error)
    if not rows:
        raise BadInput("the frame has no rows")
    outcomes = [pickle.loads(row["outcome"]) for row in sorted(rows, key=lambda row: row["place"])]
    outcome: Outcome = next((each for each in outcomes if each.error is not None), outcomes[0])
    return outcome.conclude()


def make_plan(frame: Any, algorithm: str, features: str | Sequence[str], beside: dict[str, Any], options: dict[str, Any],
              classes: Classes | None = None, cv: Any = None, tables: bool = False, **more: Any) -> Plan:
    """Returns a training whose options have been checked. `tables`: the features may have words and dates, and options of tables are read."""
    check_frame(frame)
    table = take_table_options(options) if tables else {}
    own, joining = checked_options(algorithm, options, REFUSED, "a frame")
    kind = find_algorithm(algorithm).contents
    given = {what: name if isinstance(name, str) or what != "target" else _target_names(name, takes_several(kind))
             for what, name in beside.items() if name is not None}
    check_collections(kind, given, options, ())
    if "target" not in given and not kind.no_target:
        raise BadArgument(f"{algorithm}: target is missing; give the name of its column")
    target = given.get("target", "")
    labels = tables and isinstance(target, str) and bool(target) and _is_word(type_of(frame, target, "target")) and not takes_several(kind)
    found = features_of(frame, features, tables, bool(table) or labels)
    if table and found.kind != "table":
        raise BadOption(f"{next(iter(table))}: an option of columns, and the features are a column of vectors or arrays; give a list of columns")
    task = Task(name=secrets.token_hex(8), algorithm=algorithm, options=own, joining=joining, variables={}, key=secrets.token_bytes(32), columns=0,
                single=found.single, names=list(found.names) if found.kind in ("columns", "table") else None, frame=Frame(table) if found.kind == "table" else None,
                target_names=None if isinstance(target, str) or len(target) == 1 else list(target), **more)
    return Plan(task, found, given, classes, cv, several=takes_several(kind))


def with_other(plan: Plan, given: Any, called: str, beside_it: Sequence[str] = ("target",)) -> Plan:
    """Returns the plan with other data, on which errors are measured: a frame with the columns of the training, of which `beside_it` are
    read beside the features, or a pair of arrays."""
    classifies = plan.classes is not None
    if not is_frame(given):
        return replace(plan, other=from_arrays(other_pair(given, called), called, classifies))
    features = features_of(given, plan.features.names[0] if plan.features.kind != "columns" else plan.features.names)
    beside = {what: name for what, name in plan.beside.items() if what in beside_it}
    columns = feature_columns(given, features) + columns_beside(given, beside, classifies, plan.several)
    try:
        parts = collect(given, columns, features, beside, called)
    except Error:
        raise
    except Exception as error:
        raise_failure(error)
    return replace(plan, other=describe(parts, called, classifies))


def _target_names(names: Any, several: bool) -> tuple[str, ...]:
    """Returns the columns of several targets."""
    if not isinstance(names, (list, tuple)):
        raise BadArgument(f"target: give the name of a column, and not a {type(names).__name__}")
    if not several:
        raise BadArgument("target: give the name of one column; 'multitask' takes several targets")
    if not names or len(set(names)) < len(names):
        raise BadArgument("target: give at least one column, and each one once")
    return tuple(names)


def train(frame: Any, algorithm: str, *, features: str | Sequence[str], target: str | Sequence[str] | None = None, weight: str | None = None,
          offset: str | None = None, validation: Any = None, nodes: int | None = None, init: Model | None = None,
          progress: bool | Callback | None = None, **options: Any) -> Model:
    """Trains a model on a Spark frame, whose partitions become nodes, and returns it to the driver.

    `features` is the name of a column of vectors (of pyspark.ml) or arrays, or a list of columns. Columns with words, dates or
    nulls are read by the rules of CSV, as a table is by `hawser.train`, and their words and means are those of all partitions; `categories`, `dates`,
    `missing`, `ignore` and `columns` are options then. `target`, `weight` and
    `offset` are names of columns. For "multitask" the target may be a list of columns, which name the targets, or a column of arrays or vectors. If any
    vector is sparse, the data are sparse. `options` are those of hawser.train.

    `validation` is a frame with the same columns, or a pair (data, target) of arrays. Its rows pass through the driver to node 0. `progress` is as
    in hawser.train, and is called a few times a second, in a thread of its own; node 0 connects to the driver for that.

    The training runs in barrier execution mode: all tasks run at once, each reads its partition, and they join each other. No
    rows pass through the driver. `nodes` makes this many partitions first, with the rows in the same order, which moves rows between executors. `workers` is the number of all nodes
    together; by default each node has as many as a task has processors (spark.task.cpus). The order of rows is that of partitions, and
    the bits are those of one process with these rows and workers.

    If a task is lost, Spark repeats the stage, up to spark.stage.maxConsecutiveAttempts times. With `checkpoint`, a folder that all executors see, it goes
    on from the newest checkpoint.
    """
    plan = make_plan(frame, algorithm, features, {"target": target, "weights": weight, "offset": offset}, options, tables=True, init=init)
    if plan.task.frame is not None:
        check_no_validation(validation)
    if validation is not None:
        check_validation(algorithm)
        plan = with_other(plan, validation, "validation", ("target", "weights", "offset"))
    with bar_of(progress, algorithm) as callback:
        model = run(frame, plan, nodes, callback).model
    assert model is not None
    return model


__all__ = [
    "check_frame", "column_of", "columns_beside", "feature_columns", "features_of", "is_number", "make_plan", "run", "train", "type_of", "with_other",
]
