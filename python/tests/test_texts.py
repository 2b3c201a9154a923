"""Columns of texts in tables: the counts of their words are those of the same texts as documents."""
from typing import Any

import numpy as np
import pytest

import hawser

TEXTS = ["A good film", "a bad film", "bad, \"bad\"\nacting", "good acting", None, "NA caf\u00c9", "1 12 123"]
STARS = [5.0, 1.0, 2.0, 5.0, 3.0, 4.0, 2.0]
LINES = ["" if text is None else text for text in TEXTS]


def tables() -> list[Any]:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"id": range(7), "review": TEXTS, "stars": STARS})
    made = [frame, frame.astype({"review": "category"})]
    for name in ("polars", "pyarrow"):
        library = pytest.importorskip(name)
        made.append(library.DataFrame(frame) if name == "polars" else library.table(frame))
    return made


def test_words_of_a_column_are_those_of_documents() -> None:
    documents = hawser.Dataset(hawser.Documents(LINES), STARS)
    for table in tables():
        data = hawser.Dataset(table, "stars", text="review")
        assert data.names == documents.names == sorted(data.names, key=str.encode)
        models = [hawser.train("lasso", each, lambda_=0.01) for each in (data, documents)]
        assert np.array_equal(models[0].coefficients, models[1].coefficients)
        assert np.array_equal(data.target, STARS)


def test_a_model_finds_the_column_of_new_tables() -> None:
    frame = tables()[0]
    model = hawser.train("lasso", frame, "stars", text="review", min_length=1, lambda_=0.05, validation=(frame, "stars"))
    expected = model.predict(hawser.Documents(LINES))
    assert np.ptp(expected) > 1
    for table in (*tables(), frame[["review"]], frame[["review", "id"]]):
        assert np.array_equal(model.predict(table), expected)
    assert np.array_equal(model.predict(frame.rename(columns={"review": "other"}), text="other"), expected)
    assert model.evaluate(frame)["rows"] == 7
    with pytest.raises(hawser.BadOption, match="text: 'review' is no column of the table; its columns are id"):
        model.predict(frame[["id"]])
    with pytest.raises(hawser.BadOption, match="min_length: the words of the model have 1 characters or more"):
        model.predict(frame, min_length=2)
    with pytest.raises(hawser.BadOption, match="stop_words: the columns of new data are those of the model"):
        model.predict(frame, stop_words="english")


def test_files_of_tables_are_read_alike(tmp_path: Any) -> None:
    frame = tables()[0]
    frame.to_csv(tmp_path / "reviews.csv", index=False)
    options = {"text": "review", "min_documents": 2, "lambda_": 0.05}
    model = hawser.train("lasso", str(tmp_path / "reviews.csv"), "stars", **options)
    assert model.names == ["acting", "bad", "film", "good"]
    assert np.array_equal(model.predict(str(tmp_path / "reviews.csv")), hawser.train("lasso", frame, "stars", **options).predict(frame))


@pytest.mark.parametrize(("options", "message"), [
    ({"text": "nothing"}, "text: 'nothing' is no column of the table"),
    ({"text": "review", "columns": ["id"]}, "columns: with text the features are the words of that column alone"),
    ({"text": "review", "ignore": "review"}, "text: column 'review' is ignored"),
    ({"text": ["review", "id"]}, "text: give one column"),
    ({"max_words": 3}, "max_words: a table has words of texts only with text=COLUMN"),
    ({"text": "review", "min_documents": 8}, "no word is left"),
])
def test_wrong_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises((hawser.BadOption, hawser.BadInput), match=message):
        hawser.Dataset(tables()[0], "stars", **options).names


def test_errors_name_texts_and_what_is_wrong_with_them() -> None:
    for texts, message in ((["x y"], "^texts: no word is left"), (["ok", "a\ud800b"], "texts: item 1 cannot be written"), ([], "texts: the list is empty")):
        with pytest.raises((hawser.BadInput, hawser.BadArgument), match=message):
            hawser.train("lda", hawser.Documents(texts), topics=2)
    with pytest.raises(hawser.BadInput, match="^numbers beside them: has 2 numbers for the target of 3 rows"):
        hawser.train("lasso", hawser.Documents(["cat", "dog", "cat"]), [1, 2], lambda_=0.1)
