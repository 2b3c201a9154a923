"""Topics in Python: predictions, perplexity, the estimator, and what pyLDAvis gets."""
import inspect
import pickle

import numpy as np
import pytest

import hawser

scipy_sparse = pytest.importorskip("scipy.sparse")

TOPICS, WORDS = 3, 24


@pytest.fixture(scope="module")
def counts():
    draw = np.random.default_rng(2)
    words = draw.dirichlet([0.1] * WORDS, TOPICS)
    X = np.stack([draw.multinomial(draw.integers(1, 40), draw.dirichlet([0.3] * TOPICS) @ words) for _ in range(80)])
    X[5] = 0
    return scipy_sparse.csr_matrix(X)


@pytest.fixture(scope="module")
def model(counts):
    return hawser.train("lda", counts, topics=TOPICS, iterations=60, workers=1)


def words_of(model):
    """The counts by topic, from the tensors."""
    found = np.zeros((WORDS, TOPICS))
    for word in range(WORDS):
        places = slice(model.tensor("word_offsets")[word], model.tensor("word_offsets")[word + 1])
        found[word, model.tensor("word_topics")[places]] = model.tensor("word_counts")[places]
    return found.T


def test_a_training_that_has_made_its_passes_warns_of_nothing(counts):
    with pytest.warns() as caught:
        hawser._errors.warn("one", RuntimeWarning)
        hawser.train("lda", counts, topics=2, iterations=5)
    assert len(caught) == 1


def test_predictions_of_all_kinds_of_data(counts, model, tmp_path):
    found = model.predict_proba(counts)
    assert found.shape == (80, TOPICS) and np.allclose(found.sum(axis=1), 1, atol=1e-12)
    alpha = model.tensor("alpha")
    assert np.allclose(found[5], alpha / alpha.sum(), rtol=1e-15)
    assert (model.predict(counts) == found.argmax(axis=1)).all()
    assert model.classes is None
    path = tmp_path / "d.svm"
    path.write_text("".join("0" + "".join(f" {j + 1}:{n}" for j, n in enumerate(row) if n) + "\n" for row in counts.toarray()))
    for data in (counts.toarray(), counts.tocsc(), counts.astype(np.float32), hawser.Dataset(counts), str(path)):
        assert (model.predict_proba(data) == found).all()
    for call in (model.decision_function, model.predict_labels, model.distances):
        with pytest.raises(hawser.BadOption):
            call(counts)


def test_perplexity_is_that_of_a_sampler_written_here(counts, model):
    """Document completion with draws of its own; mean log probabilities scatter by about 0.01."""
    measures, draw = model.evaluate(counts), np.random.default_rng(3)
    words = words_of(model) + float(model.facts["beta"])
    phi, alpha = words / words.sum(axis=1, keepdims=True), model.tensor("alpha")
    log_probability = tokens = 0.0
    for row in counts.toarray():
        document = draw.permutation(np.repeat(np.arange(WORDS), row))
        first, second = document[:len(document) - len(document) // 2], document[len(document) - len(document) // 2:]
        topics, kept = draw.integers(TOPICS, size=len(first)), np.zeros(TOPICS)
        n = np.bincount(topics, minlength=TOPICS)
        for sweep in range(50):
            for place, word in enumerate(first):
                n[topics[place]] -= 1
                p = np.cumsum((n + alpha) * phi[:, word])
                topics[place] = np.searchsorted(p, draw.random() * p[-1])
                n[topics[place]] += 1
            kept += n if sweep >= 25 else 0
        theta = (kept / 25 + alpha) / (len(first) + alpha.sum())
        log_probability += np.log(theta @ phi[:, second]).sum()
        tokens += len(second)
    assert measures["tokens"] == tokens and measures["rows"] == 80 and measures["documents"] == (counts.sum(axis=1) > 1).sum()
    assert abs(np.log(measures["perplexity"]) + log_probability / tokens) < 0.06
    with pytest.raises(hawser.BadOption, match="no weights"):
        model.evaluate(counts, weights=np.ones(80))


def test_validation_measures_perplexity(counts):
    reports = []
    found = hawser.train("lda", counts[:60], topics=TOPICS, iterations=40, workers=1, validation=hawser.Dataset(counts[60:]), progress=reports.append)
    assert found.training.metrics["perplexity"] == found.evaluate(counts[60:])["perplexity"]


def test_pyldavis_gets_its_arguments(counts, model):
    for data in (counts, counts.toarray(), counts.astype(np.float32)):
        found = model.ldavis(data)
        assert (found["doc_lengths"] == np.asarray(counts.sum(axis=1)).ravel()).all()
        assert (found["term_frequency"] == np.asarray(counts.sum(axis=0)).ravel()).all()
        assert (found["doc_topic_dists"] == model.predict_proba(counts)).all() and found["vocab"] == [str(j) for j in range(WORDS)]
        words = words_of(model) + float(model.facts["beta"])
        assert np.allclose(found["topic_term_dists"], words / words.sum(axis=1, keepdims=True), rtol=1e-14)
    texts = hawser.Documents(["the cat sat", "a dog barked and a cat", "stocks fell"])
    of_text = hawser.train("lda", texts, topics=2, iterations=5)
    found = of_text.ldavis(hawser.Documents(["cat cat zebra", ""]))
    assert dict(zip(found["vocab"], found["term_frequency"], strict=True))["cat"] == 2 and found["doc_lengths"].tolist() == [2, 0]
    with pytest.raises(hawser.BadOption, match="no topics"):
        hawser.train("lasso", counts.toarray().astype(float), np.arange(80.0)).ldavis(counts)
    prepared = pytest.importorskip("pyLDAvis").prepare(**model.ldavis(counts))
    assert len(prepared.topic_coordinates) == TOPICS


def test_a_fraction_in_a_file_is_refused_by_its_line(counts, model, tmp_path):
    path, good = tmp_path / "half.svm", tmp_path / "good.svm"
    path.write_text("0 1:2\n0 2:1.5\n")
    good.write_text("0 1:2 24:1\n0 2:1\n")
    for call in (lambda: hawser.train("lda", str(path), topics=2), lambda: hawser.train("lda", hawser.Dataset(str(path)), topics=2), lambda: model.predict(str(path)),
                 lambda: model.evaluate(str(path)), lambda: hawser.train("lda", str(good), topics=2, validation=str(path))):
        with pytest.raises(hawser.BadInput, match="half.svm:2:5: 1.5 is no count"):
            call()
    with pytest.raises(hawser.BadInput, match="row 1, column 1: 0.5 is no count"):
        hawser.train("lda", scipy_sparse.csr_array([[0.5]]), topics=2)


# ---- the estimator ----

def test_estimator(counts, model):
    pytest.importorskip("sklearn")
    fitted = hawser.LatentDirichletAllocation(TOPICS, max_iter=60, workers=1).fit(counts)
    assert fitted.model_.to_bytes() == model.to_bytes() or (fitted.model_.predict_proba(counts) == model.predict_proba(counts)).all()
    assert np.allclose(fitted.components_, words_of(model) + fitted.topic_word_prior_) and fitted.components_.shape == (TOPICS, WORDS)
    assert (fitted.doc_topic_prior_ == model.tensor("alpha")).all() and fitted.n_iter_ == 60
    assert (fitted.transform(counts) == model.predict_proba(counts)).all() and (fitted.transform(counts.toarray()) == fitted.transform(counts)).all()
    assert (fitted.fit_transform(counts) == fitted.transform(counts)).all()
    measures = model.evaluate(counts)
    assert fitted.perplexity(counts) == measures["perplexity"]
    assert fitted.score(counts) == pytest.approx(-np.log(measures["perplexity"]) * measures["tokens"])
    assert fitted.get_feature_names_out().tolist() == [f"latentdirichletallocation{k}" for k in range(TOPICS)]
    assert (pickle.loads(pickle.dumps(fitted)).transform(counts) == fitted.transform(counts)).all()


def test_estimator_finds_the_topics_of_scikit_learn():
    """Words of three groups that never meet: both put each group into a topic of its own."""
    decomposition = pytest.importorskip("sklearn.decomposition")
    draw = np.random.default_rng(1)
    X = np.zeros((90, 12), int)
    for row in range(90):
        X[row, 4 * (row % 3):4 * (row % 3) + 4] = draw.integers(1, 9, 4)
    for estimator in (hawser.LatentDirichletAllocation(3, max_iter=100, random_state=1), decomposition.LatentDirichletAllocation(3, max_iter=30, random_state=1)):
        words = estimator.fit(scipy_sparse.csr_matrix(X)).components_
        groups = words.reshape(3, 3, 4).sum(axis=2)
        assert (groups.max(axis=1) / groups.sum(axis=1) > 0.9).all() and len(set(groups.argmax(axis=1))) == 3
        assert len({tuple(row) for row in estimator.transform(X).round(0).tolist()}) == 3


def test_each_keyword_of_the_estimator_has_an_effect_and_refuses_nonsense(counts):
    pytest.importorskip("sklearn")

    def outcome(**keywords):
        with np.errstate(all="ignore"):
            return hawser.LatentDirichletAllocation(**{"n_components": 3, "max_iter": 60, "workers": 1, **keywords}).fit(counts)

    base = outcome()
    for keyword, value in {"n_components": 4, "doc_topic_prior": 0.5, "topic_word_prior": 0.3, "max_iter": 50, "optimize_every": 3, "random_state": 5, "workers": 2}.items():
        assert not np.array_equal(outcome(**{keyword: value}).components_, base.components_), keyword
    assert outcome(doc_topic_prior=0.5).doc_topic_prior_.tolist() == [0.5] * 3 and outcome(topic_word_prior=0.3).topic_word_prior_ == 0.3
    assert outcome(doc_topic_prior=0.5, optimize_every=10).doc_topic_prior_.tolist() != [0.5] * 3
    assert outcome(optimize_every=0).doc_topic_prior_.tolist() == [0.1] * 3
    for keyword in inspect.signature(hawser.LatentDirichletAllocation).parameters:
        with pytest.raises((ValueError, TypeError), match=keyword):
            outcome(**{keyword: "nonsense"})
    for keyword, value in (("n_components", 1), ("doc_topic_prior", 0.0), ("topic_word_prior", -1), ("max_iter", 0), ("max_iter", None), ("optimize_every", -1)):
        with pytest.raises(ValueError, match=keyword):
            outcome(**{keyword: value})
    for wrong in (counts * 0.3, -counts):
        with pytest.raises(ValueError, match="is no count|Negative"):
            base.transform(wrong)
    draw = np.random.default_rng(8)
    for form in ("csr_matrix", "csc_matrix", "csr_array", "toarray"):
        whole, row, column = counts.toarray().astype(float), int(draw.integers(80)), int(draw.integers(WORDS))
        whole[row, column] = 2.25
        wrong = whole if form == "toarray" else getattr(scipy_sparse, form)(whole)
        with pytest.raises(ValueError, match=rf"2.25 in row {row}, column {column} \(from 0\) is no count"):
            base.transform(wrong)
    for change in (lambda e: e.components_ * 2, lambda e: e.components_[::-1], lambda e: e.components_[:, :5]):
        written = pickle.loads(pickle.dumps(base))
        assert np.array_equal(written.transform(counts), base.transform(counts))
        written.components_ = change(written)
        for call in (written.transform, written.perplexity, written.score):
            with pytest.raises(ValueError, match="components_: it was written after the fit"):
                call(counts)
    with pytest.raises(ValueError, match="features"):
        base.transform(counts[:, :5])
