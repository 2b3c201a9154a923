"""Pictures: what is drawn has the numbers of the model."""
import numpy as np
import pytest

import hawser


@pytest.fixture(scope="module")
def model():
    draw = np.random.default_rng(0)
    X = draw.normal(size=(120, 4))
    return hawser.train("lasso", X, X[:, 0] - X[:, 2] + draw.normal(size=120), cv=4, path=[1, 0.3, 0.1, 0.03], names=list("abcd"))


def test_a_path_is_drawn_with_its_errors_and_choices(model):
    pytest.importorskip("matplotlib")
    errors, coefficients = hawser.plot(model).axes
    line, = errors.containers[0].lines[:1]
    assert np.array_equal(line.get_xdata(), model.path.values) and np.array_equal(line.get_ydata(), model.path.error)
    places = [text.get_text() for text in errors.get_legend().get_texts()]
    assert places == [f"least error: {model.path.values[model.path.least]:.4g}", f"one standard error: {model.path.values[model.path.one_se]:.4g}"]
    drawn = {line.get_label(): line.get_ydata() for line in coefficients.lines}
    for place, name in enumerate("abcd"):
        assert np.array_equal(drawn[name], model.path.coefficients[:, place])
    assert len(hawser.plot(model.path).axes) == 2 and len(hawser.plot(model.training).axes) == 1


def test_reports_are_drawn_over_time_with_the_error_on_other_data():
    pytest.importorskip("matplotlib")
    draw, reports = np.random.default_rng(1), []
    X = draw.normal(size=(150, 5))
    y = np.digitize(X[:, 0] + draw.normal(size=150), [-1, 1]).astype(float)
    hawser.train("softmax", X[:60], y[:60], validation=(X[60:], y[60:]), early_stopping=3, lambda_=1e-5, progress=reports.append)
    axes = {each.get_ylabel(): each for each in hawser.plot(reports).axes}
    line = next(line for line in axes["log_loss"].lines if line.get_label() == "validation_log_loss")
    assert list(line.get_ydata()) == [each["validation_log_loss"] for each in reports] and "objective" in axes and "lambda" not in axes


def test_what_cannot_be_drawn_is_refused(model):
    pytest.importorskip("matplotlib")
    for x in (3, "x", [], [{"a": 1.0}], hawser.Model.from_bytes(hawser.train("lasso", np.eye(3), np.arange(3.0), lambda_=0.1).to_bytes())):
        with pytest.raises(hawser.BadArgument, match="plot: "):
            hawser.plot(x)
    with pytest.raises(hawser.BadArgument, match="axes: there are 1, and 2 pictures"):
        hawser.plot(model, [None])
