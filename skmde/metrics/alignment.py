"""Rigid motions of an embedding, and alignment of one embedding with another.

Rotations, reflections and (without anchors) shifts do not change the distortions of an MDE problem.
Two embeddings are therefore aligned before they are compared. This is the orthogonal Procrustes
problem: if both are centred and target^T X = U S V^T, then Q = V U^T minimises the distance between
X Q and the target. See section 2.4.5 of the monograph, "Comparing embeddings"; its X is our target,
its X tilde our X.

Lengths are in units of the embedding, angles in degrees.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import issparse

from skmde._utils.sklearn_compat import check_array
from skmde._utils.validation import as_host_array, check_convertible, check_not_masked


def as_array(values, name):
    """Convert a dense array-like to an array. Tensors are copied to the host."""
    if issparse(values):
        raise ValueError(
            f"{name} is a sparse matrix of shape {values.shape}, but must be dense: pass "
            f"{name}.toarray()."
        )
    check_not_masked(values, name, "leave these items out")
    array = np.asarray(as_host_array(values))
    if array.dtype == object and array.ndim == 0:  # numpy does not look into iterators and sets
        raise ValueError(
            f"{name} is a {type(values).__name__}; pass a list, an array or a series of values."
        )
    return array


def as_matrix(values, name):
    """`as_array` for numbers in rows and columns, whose errors name a column of a data frame."""
    check_convertible(values, name)
    return as_array(values, name)


def codes_of(labels, name):
    """The distinct labels in ascending order, and the position of each item's label among them.

    Missing labels are not allowed; see `known_codes`.
    """
    try:
        return np.unique(labels.reshape(-1), return_inverse=True)
    except TypeError as error:  # None, or labels of several types, have no order
        kinds = ", ".join(sorted({type(label).__name__ for label in labels.flat}))
        raise ValueError(
            f"{name} mixes labels of several types, {kinds}, which have no order; use one type, "
            "such as text, and leave out items without a label."
        ) from error


def known_codes(labels, name):
    """As `codes_of`, but missing labels have the code -1."""
    labels = labels.reshape(-1)
    there = ~missing_entries(labels)
    names, known = codes_of(labels[there], name)
    codes = np.full(len(labels), -1)
    codes[there] = known
    return names, codes


def has_fractions(numbers):
    """Whether floats are numbers rather than classes: not all of them are whole.

    Floats beyond 2^53 are whole whatever they stand for, so these count as numbers: whether data
    are numbers does not depend on their unit.
    """
    return bool((numbers != np.round(numbers)).any() or (np.abs(numbers) >= 2.0**53).any())


def missing_entries(values):
    """A mask of the entries of a vector that are None, NaN, NaT or pandas.NA."""
    if values.dtype.kind == "f":
        return np.isnan(values)
    if values.dtype.kind in "mM":
        return np.isnat(values)
    if values.dtype.kind == "O":
        return np.array([_is_missing(value) for value in values], dtype=bool)
    return np.zeros(len(values), dtype=bool)


def _is_missing(value):
    try:
        return value is None or bool(value != value)  # NaN is not equal to itself
    except TypeError:  # whether pandas.NA is equal to itself is not known
        return True


def as_embedding(X, name="X"):
    """Validate an embedding: a finite two-dimensional array of floats."""
    return check_array(as_matrix(X, name), dtype=[np.float64, np.float32], input_name=name)


def center(X):
    """Shift an embedding so that its mean is 0.

    Parameters
    ----------
    X : array-like of shape (n_items, n_components)
        The embedding.

    Returns
    -------
    ndarray of shape (n_items, n_components)
        X minus the mean of its rows.

    See Also
    --------
    rotate : Rotate an embedding with 2 or 3 components about the origin.
    align : Align an embedding with another embedding of the same items.

    Examples
    --------
    >>> from skmde.metrics import center
    >>> center([[1.0, 5.0], [3.0, 9.0]])
    array([[-1., -2.],
           [ 1.,  2.]])
    """
    X = as_embedding(X)
    return (X - X.mean(axis=0, dtype=np.float64)).astype(X.dtype)


def rotate(X, degrees):
    """Rotate an embedding with 2 or 3 components about the origin.

    Parameters
    ----------
    X : array-like of shape (n_items, 2) or (n_items, 3)
        The embedding.
    degrees : float, or array-like of shape (3,)
        With 2 components, the anticlockwise angle. With 3 components, the angles of the rotations
        about the first, second and third axis, which are applied in this order.

    Returns
    -------
    ndarray of the shape of X
        The rotated embedding.

    See Also
    --------
    center : Shift an embedding so that its mean is 0.
    align : Align an embedding with another embedding of the same items.

    Examples
    --------
    >>> import numpy as np
    >>> from skmde.metrics import rotate
    >>> np.round(rotate([[1.0, 0.0]], 90.0), 6)
    array([[0., 1.]])
    """
    X = as_embedding(X)
    n_components = X.shape[1]
    if n_components not in (2, 3):
        raise ValueError(f"rotate needs an embedding with 2 or 3 components; X has {n_components}.")
    angles = np.radians(np.asarray(degrees, dtype=np.float64))
    expected = () if n_components == 2 else (3,)
    if angles.shape != expected or not np.isfinite(angles).all():
        wanted = "one finite angle" if n_components == 2 else "three finite angles, one per axis"
        raise ValueError(
            f"An embedding with {n_components} components needs {wanted}; got degrees={degrees!r}."
        )
    if n_components == 2:
        return (X @ _plane_rotation(angles)).astype(X.dtype)
    turned = X.astype(np.float64)
    for axis, angle in enumerate(angles):
        # A positive angle rotates from y to z, from z to x and from x to y.
        plane = [(axis + 1) % 3, (axis + 2) % 3]
        turned[:, plane] = turned[:, plane] @ _plane_rotation(angle)
    return turned.astype(X.dtype)


def align(X, target, *, center=True, scaling=False):
    """Align an embedding with another embedding of the same items.

    Parameters
    ----------
    X : array-like of shape (n_items, n_components)
        The embedding to move.
    target : array-like of shape (n_items, n_components)
        The embedding to align with. Row i is the same item in both.
    center : bool, default=True
        Whether X may be shifted. Use False for embeddings whose origin has a meaning.
    scaling : bool, default=False
        Whether X may be scaled. Use True if the two have different units, such as an embedding
        and a geographical map.

    Returns
    -------
    ndarray of shape (n_items, n_components)
        X after the rotation, reflection, shift and scaling that minimise its mean squared
        distance to the target.

    See Also
    --------
    procrustes_distance : The remaining mean squared distance.

    References
    ----------
    Agrawal, Ali and Boyd, *Minimum-Distortion Embedding*, section 2.4.5 (comparing
    embeddings).

    Examples
    --------
    >>> import numpy as np
    >>> from skmde.metrics import align
    >>> target = np.array([[0.0, 0.0], [4.0, 0.0], [4.0, 3.0]])
    >>> turned = target @ [[0.0, 1.0], [-1.0, 0.0]] + 7.0
    >>> np.allclose(align(turned, target), target)
    True
    """
    X, target = _matched(X, target)
    dtype = X.dtype
    X, target = X.astype(np.float64), target.astype(np.float64)
    origin = np.zeros(X.shape[1])
    if center:
        origin = target.mean(axis=0)
        X, target = X - X.mean(axis=0), target - origin
    U, sizes, Vt = np.linalg.svd(target.T @ X)
    turned = X @ (U @ Vt).T
    if scaling:
        square = np.sum(X**2)
        turned *= np.sum(sizes) / square if square > 0 else 1.0
    return (turned + origin).astype(dtype)


def procrustes_distance(X, target, *, center=True, scaling=False):
    """Mean squared distance between two embeddings after alignment.

    Parameters
    ----------
    X : array-like of shape (n_items, n_components)
        The embedding to move.
    target : array-like of shape (n_items, n_components)
        The embedding to align with. Row i is the same item in both.
    center : bool, default=True
        Whether X may be shifted.
    scaling : bool, default=False
        Whether X may be scaled.

    Returns
    -------
    float
        Smallest mean over items of the squared distance, in squared units of the target. Without
        scaling, it is symmetric in X and target.

    See Also
    --------
    align : The aligned embedding.

    References
    ----------
    Agrawal, Ali and Boyd, *Minimum-Distortion Embedding*, section 2.4.5 (comparing
    embeddings).

    Examples
    --------
    >>> from skmde.metrics import procrustes_distance
    >>> procrustes_distance([[0.0, 0.0], [4.0, 0.0]], [[0.0, 0.0], [0.0, 2.0]])
    1.0
    """
    X, target = _matched(X, target)
    target = target.astype(np.float64)
    aligned = align(X.astype(np.float64), target, center=center, scaling=scaling)
    return float(np.mean(np.sum((aligned - target) ** 2, axis=1)))


def _plane_rotation(angle):
    cosine, sine = np.cos(angle), np.sin(angle)
    return np.array([[cosine, sine], [-sine, cosine]])


def _matched(X, target):
    X, target = as_embedding(X), as_embedding(target, "target")
    if X.shape != target.shape:
        raise ValueError(
            f"X has shape {X.shape} and target {target.shape}; they must have the same items in "
            "the same order and the same number of components."
        )
    return X, target
