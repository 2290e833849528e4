"""The constraint sets without parameters: centred and standardized embeddings.

Everything is in units of the embedding. Tensors keep their dtype and device, results have the same
bits for any number of threads, and no argument is written to.
"""

from __future__ import annotations

import math

import torch

from skmde._linalg.reductions import column_means, gram
from skmde._linalg.standardize import affine_rows, centered, standardize
from skmde.constraints.base import Constraint, ratio

Tensor = torch.Tensor


class Centered(Constraint):
    """Embeddings with mean 0: no constraint but on the position of the whole.

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

    def project(self, Z: Tensor) -> Tensor:
        return centered(Z)

    def project_tangent(self, X: Tensor, Z: Tensor) -> Tensor:
        # Centred already where Z is a gradient of distances: the same tensor serves.
        return Z

    def violation(self, X: Tensor) -> float:
        size = float(gram(X, X).diagonal().sum()) / len(X)
        return ratio(float(column_means(X).norm()), math.sqrt(size))


class Standardized(Constraint):
    """Embeddings with mean 0 and uncorrelated columns of unit variance.

    Keeps the points spread out when every pair attracts, and bounded when every pair repels.
    It needs more items than components.

    Notes
    -----
    If a matrix to project has no extent in some direction, that direction is filled with fixed
    pseudo-random numbers; the result is standardized and as close as any. If an entry is not
    finite, the result is NaN throughout.

    `project_tangent` computes Z - X S with S the symmetric part of Z^T X / n. For a gradient of
    distances, Z^T X is symmetric and this is the monograph's formula; for any other Z it is still
    the projection.

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

    @staticmethod
    def natural_length(n_items: int, n_components: int) -> float:
        """Root mean square of all pairs' distances, the same in every standardized embedding.

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

    def violation(self, X: Tensor) -> float:
        moment = gram(X, X) / len(X)
        eye = torch.eye(X.shape[1], dtype=moment.dtype, device=moment.device)
        return float(torch.maximum((moment - eye).abs().max(), column_means(X).abs().max()))

    def validate(self, n_items: int, n_components: int) -> None:
        if n_items < n_components + 1:
            raise ValueError(
                "A standardized embedding needs n_components + 1 items at least, since its columns "
                f"are uncorrelated and have mean 0; got n_items={n_items} and "
                f"n_components={n_components}. Use at most {max(n_items - 1, 0)} components, or "
                "another constraint."
            )
