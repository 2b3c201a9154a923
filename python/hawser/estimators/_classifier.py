"""What classifiers share: labels of any kind, weights of classes, margins."""
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from .._model import Model
from ._base import Array, LinearEstimator


class LinearClassifier(ClassifierMixin, LinearEstimator):  # type: ignore[misc]
    """A linear classifier. The library gets the places of labels in `classes_`, so labels may be numbers or words."""

    class_weight: Any

    def _fit_classes(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Array, Array | None]:
        """Returns X, the place of each label, and the weights of samples, those of classes included."""
        X, y = self._checked(X, y)
        check_classification_targets(y)
        weights = self._weights(sample_weight, X)
        counted = y if weights is None else y[weights > 0]
        self.classes_ = np.unique(counted)
        if len(self.classes_) < 2:
            raise ValueError("This solver needs samples of at least 2 classes in the data, but the data contains only one "
                             f"class: {self.classes_[0]!r}")
        places = np.searchsorted(self.classes_, y)
        if weights is not None:  # a label without a weight above 0 is no class; its rows count nothing
            places = np.minimum(places, len(self.classes_) - 1)
        if self.class_weight is not None:
            by_class = self._class_weights(y, weights)
            weights = by_class if weights is None else weights * by_class
        return X, places.astype(np.float64), weights

    def _class_weights(self, y: Array, weights: Array | None) -> Array:
        kept = slice(None) if weights is None else weights > 0
        found = np.zeros(len(y))
        if isinstance(self.class_weight, str) and self.class_weight == "balanced" and weights is not None:
            # As in scikit-learn, a class counts by the weights of its samples.
            sums = np.array([weights[y == label].sum() for label in self.classes_])
            factors = weights.sum() / (len(self.classes_) * sums)
            places = np.minimum(np.searchsorted(self.classes_, y), len(self.classes_) - 1)
            found = factors[places]
        else:
            found[kept] = compute_sample_weight(self.class_weight, y[kept])
        return found

    def _start(self, columns: int) -> Model | None:
        model = super()._start(columns)
        if model is not None and model.classes is not None and len(model.classes) != len(self.classes_):
            raise ValueError(f"warm_start: the estimator was fitted with {len(model.classes)} classes, and y has {len(self.classes_)}")
        if model is not None and model.classes is not None:
            model = Model.from_bytes(model.to_bytes())
            model._name_classes(np.arange(len(self.classes_)))  # as the library gets them
        return model

    def _take(self, model: Model, trace: list[dict[str, Any]] | None) -> None:
        """Stores what the training left. The model gets the labels, if they are numbers that it can hold."""
        if self.classes_.dtype.kind in "iuf" and (np.abs(self.classes_.astype(np.float64)) < 2**53).all():
            model._name_classes(self.classes_)
        super()._take(model, trace)

    def _places_of(self, labels: Array) -> Array:
        unknown = labels[~np.isin(labels, self.classes_)]
        if len(unknown):
            raise ValueError(f"eval_set: the label {unknown[:1].tolist()[0]!r} is not one of the training's")
        return np.searchsorted(self.classes_, labels).astype(np.float64)

    def _parameters_of(self, model: Model) -> tuple[Any, Any]:
        return np.atleast_2d(model.coefficients), np.atleast_1d(np.asarray(model.intercept, np.float64))

    def decision_function(self, X: Any) -> Array:
        """Returns margins: shape (n_samples,) for two classes, above 0 for classes_[1]; else (n_samples, n_classes)."""
        margins = self._margins(self._checked_new(X))
        return margins[:, 0] if margins.ndim == 2 and margins.shape[1] == 1 else margins

    def sparsify(self) -> Any:
        """Makes coef_ a sparse matrix (CSR). Predictions take it from then on; `fit` makes it an array again."""
        check_is_fitted(self)
        self.coef_ = csr_matrix(self.coef_)
        return self

    def densify(self) -> Any:
        """Makes coef_ an array again."""
        check_is_fitted(self)
        if issparse(self.coef_):
            self.coef_ = self.coef_.toarray()
        return self

    def predict(self, X: Any) -> Array:
        """Returns the label of each sample, shape (n_samples,)."""
        margins = self.decision_function(X)
        places = (margins > 0).astype(int) if margins.ndim == 1 else margins.argmax(axis=1)
        labels: Array = self.classes_[places]
        return labels


__all__ = ["LinearClassifier"]
