"""Pictures of models, trainings and paths, on matplotlib."""
import importlib
import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ._errors import BadArgument
from ._model import Model, Training
from ._path import Path

LINES = 30  # coefficients that are drawn: the largest
COUNTS = {"seconds", "lambda", "lambda_max", "fits_left", "iterations", "products", "evaluations", "rounding"}  # reported beside the metrics


def plot(x: Any, axes: Any = None) -> Any:
    """Draws a model, a path, a training or what its clocks have reported, and returns the matplotlib figure. Needs matplotlib.

    A `hawser.Path`, or a model with one, has the coefficients by lambda (or C), and above them the error with bars of one standard error and both choices,
    if it was measured. A `hawser.Training`, or a model without a path, has the metrics at the end. Reports of clocks have each metric over time, such as
    `validation_loss` beside `loss`: a list of the dictionaries that `progress` gets, the `trace_` of an estimator, or the `trace` of a `hawser.Run`.
    `axes` are axes to draw on in place of a new figure: as many as there are pictures.

    >>> import hawser, numpy
    >>> draw = numpy.random.default_rng(2)
    >>> x, noise = draw.normal(size=(100, 3)), draw.normal(size=100)
    >>> model = hawser.train("lasso", x, x @ [1.0, 0.0, -2.0] + noise, cv=5)
    >>> figure = hawser.plot(model)                        # doctest: +SKIP
    >>> figure.savefig("path.png")                         # doctest: +SKIP
    """
    drawings = _drawings(x)
    if axes is None:
        try:
            Figure = importlib.import_module("matplotlib.figure").Figure
        except ImportError as error:
            raise ImportError("hawser.plot draws with matplotlib, which is not installed: pip install matplotlib", name="matplotlib") from error
        figure = Figure(figsize=(7, 1 + 2.6 * len(drawings)), layout="constrained")
        places = list(np.atleast_1d(figure.subplots(len(drawings))))
    else:
        places = list(np.ravel(axes))
        if len(places) != len(drawings):
            raise BadArgument(f"axes: there are {len(places)}, and {len(drawings)} pictures")
        figure = places[0].figure
    for place, (draw, given) in zip(places, drawings, strict=True):
        draw(place, *given)
    return figure


def _drawings(x: Any) -> list[tuple[Any, tuple[Any, ...]]]:
    """Returns what is drawn, from top to bottom."""
    if isinstance(x, Model):
        path = getattr(x, "path", None)  # which few models have
        if path is None and x.training is None:
            raise BadArgument("plot: this model has neither a path nor the training that it is from (a file does not keep that); train with path= or cv=, or "
                              "give the reports of progress")
        return _drawings(x.training) if path is None else _of_path(path, x.names)
    if isinstance(x, Path):
        return _of_path(x, None)
    if isinstance(x, Training):
        metrics = {name: value for name, value in x.metrics.items() if math.isfinite(value)}
        if not metrics:
            raise BadArgument("plot: this training has no finite metrics")
        return [(_draw_metrics, (metrics,))]
    reports = getattr(x, "trace", x)
    if isinstance(reports, Iterable) and not isinstance(reports, (str, bytes, Mapping)):
        listed = list(reports)
        if listed and all(isinstance(each, Mapping) and "clocks" in each for each in listed):
            return [(_draw_trace, (names, listed)) for names in _groups(listed)]
    raise BadArgument(f"plot: give a hawser.Model, Path or Training, or the reports of clocks (dictionaries with 'clocks'), and not a {type(x).__name__}")


def _of_path(path: Path, names: Any) -> list[tuple[Any, tuple[Any, ...]]]:
    return ([] if path.error is None else [(_draw_error, (path,))]) + [(_draw_coefficients, (path, names))]


def _draw_error(axes: Any, path: Path) -> None:
    bars = path.standard_error
    assert path.error is not None
    axes.errorbar(path.values, path.error, None if bars is None else np.where(np.isfinite(bars), bars, 0), fmt="o-", markersize=3, linewidth=1, capsize=2)
    for member, word, style in ((path.least, "least error", "--"), (path.one_se, "one standard error", ":")):
        if member is not None:
            axes.axvline(path.values[member], linestyle=style, color="black", linewidth=1, label=f"{word}: {path.values[member]:.4g}")
    _finish(axes, path, path.error_name or "error")
    axes.legend(fontsize="small")


def _draw_coefficients(axes: Any, path: Path, names: Any) -> None:
    values = path.coefficients.reshape(len(path), -1)
    largest = np.argsort(-np.abs(values).max(axis=0), kind="stable")[:LINES]
    for number, place in enumerate(largest):
        output, column = divmod(int(place), path.columns)
        name = str(column) if names is None else str(names[column])
        label = name if path.outputs == 1 else f"{name}, output {output}"
        axes.plot(path.values, values[:, place], ".-", markersize=3, linewidth=1, label=label if number < 10 else None)
    axes.axhline(0, color="black", linewidth=0.5)
    if path.chosen is not None:
        axes.axvline(path.values[path.chosen], color="grey", linewidth=1)
    _finish(axes, path, "coefficient" if values.shape[1] <= LINES else f"coefficient ({LINES} largest)")
    axes.legend(fontsize="x-small", ncols=2)


def _finish(axes: Any, path: Path, what: str) -> None:
    if (path.values > 0).all():
        axes.set_xscale("log")
    if path.name == "lambda":
        axes.invert_xaxis()  # weaker penalties to the right, as for C
    axes.set(xlabel=path.name, ylabel=what)


def _draw_metrics(axes: Any, metrics: dict[str, float]) -> None:
    axes.barh(list(metrics), list(metrics.values()))
    axes.invert_yaxis()
    axes.set_xscale("symlog", linthresh=1e-6)
    for place, value in enumerate(metrics.values()):
        axes.annotate(f" {value:.6g}", (max(value, 0), place), va="center", fontsize="small")
    axes.set(xlabel="at the end of the training")


def _groups(reports: list[Mapping[str, Any]]) -> list[list[str]]:
    """Returns the metrics by picture: a metric and its form on other data are together."""
    known = [name for name in dict.fromkeys(name for each in reports for name, value in each.items() if isinstance(value, float)) if name not in COUNTS]
    if not known:
        raise BadArgument("plot: the reports have no metrics")
    groups: dict[str, list[str]] = {}
    for name in known:
        groups.setdefault(name.removeprefix("validation_"), []).append(name)
    return list(groups.values())


def _draw_trace(axes: Any, names: list[str], reports: list[Mapping[str, Any]]) -> None:
    positive = True
    for name in names:
        points = [(each["clocks"], each[name]) for each in reports if name in each and math.isfinite(each[name])]
        positive = positive and all(value > 0 for _, value in points)
        axes.plot([clock for clock, _ in points], [value for _, value in points], ".-", markersize=3, linewidth=1, label=name)
        if name.startswith("validation_") and points and "accuracy" not in name and "auc" not in name:
            best = min(points, key=lambda point: point[1])
            axes.plot(*best, "ko", markersize=5, fillstyle="none", label=f"least: {best[1]:.4g}")
    if positive:
        axes.set_yscale("log")
    axes.set(xlabel="clock", ylabel=names[0].removeprefix("validation_"))
    axes.legend(fontsize="small")


__all__ = ["plot"]
