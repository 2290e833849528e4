"""The constraint sets without parameters: centred and standardized embeddings.

All lengths are in units of the embedding. Results have the dtype and device of the arguments and
the same bits for any number of threads. No argument is modified.
"""

from __future__ import annotations

import math

import torch

from skmde._linalg.reductions import column_means, gram
from skmde._linalg.standardize import affine_rows, centered, standardize
from skmde.constraints.base import Constraint, relative_difference

Tensor = torch.Tensor


class Centered(Constraint):
    """Embeddings with mean 0. Only the position of the whole embedding is constrained.

    See Also
    --------
    Standardized : Embeddings with mean 0 and uncorrelated columns of unit variance.
    Anchored : Embeddings in which some items have given coordinates.

    References
    ----------
    Agrawal, Ali and Boyd, *Minimum-Distortion Embedding*, section 2.4.1 (centered constraint).

    Examples
    --------
    >>> import torch
    >>> from skmde import Centered
    >>> Centered().project(torch.tensor([[0.0, 1.0], [2.0, 5.0]]))
    tensor([[-1., -2.],
            [ 1.,  2.]])
    """

    # A gradient of distances has columns that sum to 0, so steps along it keep the mean.
    needs_projection = False
    is_free = True
    fixes_position = False
    acts_on_rows = False

    def project(self, Z: Tensor) -> Tensor:
        return centered(Z)

    def project_tangent(self, X: Tensor, Z: Tensor) -> Tensor:
        # If Z is a gradient of a function of distances, it is centred already.
        return Z

    def violation(self, X: Tensor) -> float:
        size = float(gram(X, X).diagonal().sum()) / len(X)
        return relative_difference(float(column_means(X).norm()), math.sqrt(size))


class Standardized(Constraint):
    """Embeddings with mean 0 and uncorrelated columns of unit variance.

    The constraint keeps the items spread out if all pairs attract, and the embedding bounded if
    all pairs repel. It requires more items than components.

    See Also
    --------
    Centered : Embeddings with mean 0. Only the position of the whole embedding is constrained.
    QuadraticMDE : Quadratic minimum-distortion embedding (spectral embedding), solved globally.

    Notes
    -----
    If a matrix to project has variance 0 in some direction, that direction is filled with fixed
    pseudo-random numbers. The result is still a closest standardized matrix. If an entry is not
    finite, all entries of the result are NaN.

    `project_tangent` computes Z - X S, where S is the symmetric part of Z^T X / n. If Z is the
    gradient of a function of distances, Z^T X is symmetric and this is the monograph's formula.
    For any other Z it is still the projection.

    References
    ----------
    Agrawal, Ali and Boyd, *Minimum-Distortion Embedding*, section 2.4.3 (standardization
    constraint).

    Examples
    --------
    >>> import torch
    >>> from skmde import Standardized
    >>> Z = torch.tensor([[4.0, 0.0], [-4.0, 0.0], [0.0, 0.5], [0.0, -0.5]])
    >>> X = Standardized().project(Z)
    >>> X
    tensor([[ 1.4142,  0.0000],
            [-1.4142,  0.0000],
            [ 0.0000,  1.4142],
            [ 0.0000, -1.4142]])
    >>> Standardized.natural_length(n_items=4, n_components=2)
    2.309...
    """

    fixes_unit = True
    fixes_position = False
    acts_on_rows = False

    @staticmethod
    def natural_length(n_items: int, n_components: int) -> float:
        """Root mean square of the distances of all pairs, equal in all standardized embeddings.

        Parameters
        ----------
        n_items, n_components : int
            Shape of the embedding.

        Returns
        -------
        float
            sqrt(2 n m / (n - 1)), in units of the embedding (monograph, section 2.4.3).

        Raises
        ------
        ValueError
            If there are fewer than 2 items.
        """
        if n_items < 2:
            raise ValueError(f"The natural length needs at least 2 items; got {n_items}.")
        return math.sqrt(2 * n_items * n_components / (n_items - 1))

    def project(self, Z: Tensor) -> Tensor:
        self.validate(*Z.shape)
        return standardize(Z)

    def project_tangent(self, X: Tensor, Z: Tensor) -> Tensor:
        products = gram(Z, X)
        symmetric = (products + products.T) / (2 * len(X))
        return affine_rows(X, -symmetric, -column_means(Z), Z)

    def dual(self, X: Tensor, gradient: Tensor) -> Tensor:
        # The gradient is (2/n) X times the multiplier (monograph, section 5.3.1).
        products = gram(gradient, X)
        return (products + products.T) / 4

    def violation(self, X: Tensor) -> float:
        moment = gram(X, X) / len(X)
        eye = torch.eye(X.shape[1], dtype=moment.dtype, device=moment.device)
        return float(torch.maximum((moment - eye).abs().max(), column_means(X).abs().max()))

    def validate(self, n_items: int, n_components: int) -> None:
        if n_items < n_components + 1:
            raise ValueError(
                "A standardized embedding needs at least n_components + 1 items, since its columns "
                f"are uncorrelated and have mean 0; got n_items={n_items} and "
                f"n_components={n_components}. Use at most {max(n_items - 1, 0)} components, or "
                "another constraint."
            )
