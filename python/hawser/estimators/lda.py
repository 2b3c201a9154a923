"""Topics of documents: LatentDirichletAllocation."""
import zlib
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from .._errors import BadInput
from .._model import Model
from .._topics import words_in_topics
from ._base import Array, Estimator, is_array, refuse, saved


class LatentDirichletAllocation(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):  # type: ignore[misc]
    """Topics of documents, with the parameters of sklearn.decomposition.LatentDirichletAllocation, by collapsed Gibbs sampling.

    X has counts of words, shape (n_samples, n_features), best as CSR; fractions are refused. `max_iter` is passes over all words. If no prior is given,
    alpha of each topic (from 0.1) and beta (from 0.01) are fitted to the documents after every 10 passes; priors that are given stay as they are.
    `optimize_every` says otherwise: a number of passes, or 0 for never.

    After fit: `components_` (n_components, n_features), the count of each word in each topic plus beta; `doc_topic_prior_` (n_components,), `topic_word_prior_`,
    `n_iter_`, `trace_`, `model_`.

    >>> import hawser, numpy, scipy.sparse
    >>> X = scipy.sparse.csr_array(numpy.repeat([[9, 9, 0, 0], [0, 0, 9, 9]], 20, axis=0))
    >>> fitted = hawser.LatentDirichletAllocation(n_components=2, max_iter=50).fit(X)
    >>> fitted.components_.shape, fitted.transform(X).argmax(axis=1)[[0, 39]].tolist() in ([0, 1], [1, 0])
    ((2, 4), True)
    """

    _algorithm = "lda"
    _words = {"--topics": "n_components"}

    def __init__(self, n_components: int = 10, *, doc_topic_prior: float | None = None, topic_word_prior: float | None = None, max_iter: int = 500,
                 optimize_every: int | None = None, random_state: Any = None, workers: int | None = None, sync: str = "bsp",
                 n_jobs: int | None = None) -> None:
        self.n_components = n_components
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.max_iter = max_iter
        self.optimize_every = optimize_every
        self.random_state = random_state
        self.workers = workers
        self.sync = sync
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags

    def _options(self) -> dict[str, Any]:
        self._check_kinds()
        for name in ("doc_topic_prior", "topic_word_prior"):
            value = getattr(self, name)
            if value is not None and (np.ndim(value) > 0 or not 0 < value <= 1e9):
                raise refuse(name, value, "a number above 0, or None")
        if self.max_iter is None:
            raise refuse("max_iter", None, "a number of passes")
        every = self.optimize_every
        if every is None and (self.doc_topic_prior is not None or self.topic_word_prior is not None):
            every = 0
        given = {"alpha": None if self.doc_topic_prior is None else repr(float(self.doc_topic_prior)), "beta": self.topic_word_prior, "optimize_every": every}
        return {"topics": self.n_components, "iterations": self.max_iter, **{key: value for key, value in given.items() if value is not None}}

    def _counts(self, X: Any) -> Any:
        """Returns X as CSR. Raises an error if it is no matrix of counts."""
        numbers = X.data if issparse(X) else X if is_array(X) else np.empty(0)
        wrong = (numbers < 0) | (numbers != np.floor(numbers)) | (numbers > 2**31 - 1)
        if wrong.any():
            raise BadInput(f"X: {self._first(X, numbers, int(np.argmax(wrong)))} is no count; topics need whole numbers from 0 to 2147483647, such as how often a "
                           "document has a word")
        return csr_array(X) if is_array(X) else X

    def _first(self, X: Any, numbers: Any, place: int) -> str:
        """Returns a value with its row and column, by its place among the numbers."""
        if issparse(X):
            line, other = int(np.searchsorted(X.indptr, place, side="right")) - 1, int(X.indices[place])
            row, column = (line, other) if X.format == "csr" else (other, line)
        else:
            row, column = divmod(place, X.shape[1])
        names = getattr(self, "feature_names_in_", None)
        called = "" if names is None or len(names) <= column else f" '{names[column]}'"
        return f"{numbers.flat[place]!s} in row {row}, column {column}{called} (from 0)"

    def _rows(self, X: Any) -> Any:
        """Returns documents of the fitted estimator. Raises an error if it does not have the topics of the fit any more, by which they are sampled."""
        rows = self._counts(self._checked_new(X))
        if self._print != _print(self.components_):
            raise ValueError("components_: it was written after the fit, but documents are sampled by the counts of words that `model_` has; fit again, or keep the "
                             "changed array under another name")
        return rows

    @saved
    def fit(self, X: Any, y: Any = None, *, checkpoint: Any = None) -> "LatentDirichletAllocation":
        """Finds topics. X has shape (n_samples, n_features), dense or sparse; y is ignored. `checkpoint` is as in Lasso."""
        options = self._options()
        self._train(self._algorithm, self._counts(self._checked(X)), None, None, init=None, **options)
        return self

    def _take_parameters(self, model: Model) -> None:
        counts, self.doc_topic_prior_, self.topic_word_prior_ = words_in_topics(model)
        self.components_ = counts + self.topic_word_prior_
        self._n_features_out = len(counts)
        self._print = _print(self.components_)

    def transform(self, X: Any) -> Array:
        """Returns the probability of each topic in each document, shape (n_samples, n_components)."""
        rows = self._rows(X)  # refuses an estimator that is not fitted
        return self.model_.predict_proba(rows)

    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Finds topics, and returns those of the documents, as `transform` draws them."""
        return self.fit(X).transform(X)

    def perplexity(self, X: Any) -> float:
        """Returns the perplexity of documents: of one half of each document, given the topics of the other."""
        found = self._evaluate(X)["perplexity"]
        return float("nan") if found is None else float(found)

    def score(self, X: Any, y: Any = None) -> float:
        """Returns the log probability of one half of each document, given the topics of the other: -log(perplexity) times its words."""
        found = self._evaluate(X)
        return 0.0 if found["perplexity"] is None else -float(np.log(found["perplexity"])) * float(found["tokens"])

    def _evaluate(self, X: Any) -> dict[str, Any]:
        rows = self._rows(X)
        return self.model_.evaluate(rows)


def _print(components: Any) -> int:
    """Returns a number that changes if an array does."""
    return zlib.crc32(np.ascontiguousarray(components).data) ^ hash(np.shape(components)) if np.size(components) else 0


__all__ = ["LatentDirichletAllocation"]
