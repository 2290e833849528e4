"""The data sets of ``maps.py``: real and synthetic ones, from 150 to 70,000 items.

Those with a file name need ``--data``; the others come with scikit-learn, are computed from a seed,
or are read from the source files of installed packages.
"""

from __future__ import annotations

import ast
import sysconfig
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

SAMPLES = 1000  # rows that the figures are about


@dataclass
class Items:
    """One data set.

    Attributes
    ----------
    X : array or sparse matrix
        What an estimator is fitted to.
    metric : str
        Its metric.
    labels : ndarray of shape (n,) or None
        Classes, for the accuracy of neighbours.
    is_shape : bool
        Whether lengths of paths through the data say more than distances.
    """

    X: Any
    metric: str = "euclidean"
    labels: np.ndarray | None = None
    is_shape: bool = False


def _sklearn(name: str) -> Callable[[Path], Items]:
    def load(folder: Path) -> Items:
        import sklearn.datasets
        from sklearn.preprocessing import scale

        X, y = getattr(sklearn.datasets, name)(return_X_y=True)
        return Items(X if name == "load_digits" else scale(X), labels=y)

    return load


def _mnist(folder: Path) -> Items:
    with np.load(folder / "mnist70k.npz") as file:
        return Items(file["X"].astype(np.float32), labels=file["y"].astype(int))


def _mnist_components(folder: Path) -> Items:
    from sklearn.decomposition import PCA

    items = _mnist(folder)
    items.X = PCA(50, random_state=0).fit_transform(items.X).astype(np.float32)
    return items


def _with_hole(X: np.ndarray, t: np.ndarray) -> Items:
    middle = np.abs(t - np.median(t)) < 0.12 * np.ptp(t)
    height = X[:, 1]
    inside = middle & (np.abs(height - np.median(height)) < 0.25 * np.ptp(height))
    return Items(X[~inside], is_shape=True)


def _swiss_roll(folder: Path) -> Items:
    from sklearn.datasets import make_swiss_roll

    return _with_hole(*make_swiss_roll(5000, noise=0.1, random_state=0))


def _s_curve(folder: Path) -> Items:
    from sklearn.datasets import make_s_curve

    return _with_hole(*make_s_curve(3000, noise=0.02, random_state=0))


def _counties(folder: Path) -> Items:
    from sklearn.preprocessing import quantile_transform

    with np.load(folder / "counties3220.npz") as file:
        X, share = file["X"], file["democratic_share"]
    kept = np.isfinite(X).all(axis=1)
    ranks = quantile_transform(X[kept], n_quantiles=1000, output_distribution="normal")
    return Items(ranks, labels=(share[kept] > 0.5).astype(int))


def _population_genetics(folder: Path) -> Items:
    with np.load(folder / "popgen1387.npz") as file:
        X, country = file["Y"] * file["eigenvalues"], file["country"]
    return Items(X, labels=np.unique(country, return_inverse=True)[1])


def _mixture(folder: Path) -> Items:
    """20 clusters in 5 families, in 50 dimensions, with 20 to 5,000 points each."""
    rng = np.random.default_rng(0)
    sizes = np.geomspace(20, 5000, 20).astype(int)
    families = 20.0 * rng.standard_normal((5, 50))
    parts = []
    for k, size in enumerate(sizes):
        center = families[k % 5] + 5.0 * rng.standard_normal(50)
        parts.append(center + rng.uniform(0.5, 2.0) * rng.standard_normal((size, 50)))
    return Items(np.concatenate(parts), labels=np.repeat(np.arange(20), sizes))


def limbs(n: int = 50_000, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A body with eight bent tubes of different width: points on their surfaces.

    Returns
    -------
    X : ndarray of shape (n, 3)
    part : ndarray of shape (n,)
        0 for the body, 1 to 8 for the tubes.
    """
    rng = np.random.default_rng(seed)
    radii, lengths = np.geomspace(0.04, 0.3, 8), np.linspace(3.0, 1.5, 8)
    areas = np.append(4 * np.pi, 2 * np.pi * radii * lengths)
    part = rng.choice(9, n, p=areas / areas.sum())
    normal = rng.standard_normal((n, 3))
    X = normal / np.linalg.norm(normal, axis=1, keepdims=True)  # the body has radius 1
    angles = np.pi * (1 + 5**0.5) * np.arange(8)
    heights = np.linspace(-0.85, 0.85, 8)
    for k in range(8):
        ring = np.sqrt(1 - heights[k] ** 2)
        out = np.array([ring * np.cos(angles[k]), ring * np.sin(angles[k]), heights[k]])
        side = np.cross(out, [0.3, -0.5, 0.8])
        side /= np.linalg.norm(side)
        own = np.flatnonzero(part == k + 1)
        t, angle = rng.random(len(own)) * lengths[k], 2 * np.pi * rng.random(len(own))
        bend = 0.6  # radians per unit of length, in the plane of out and side
        along = np.stack([np.sin(bend * t), 1 - np.cos(bend * t)], axis=1) / bend
        axis = 0.97 * out + along @ np.stack([out, side])
        across = np.cos(bend * t)[:, None] * side - np.sin(bend * t)[:, None] * out
        third = np.cross(out, side)
        circle = np.cos(angle)[:, None] * across + np.sin(angle)[:, None] * third
        X[own] = axis + radii[k] * circle
    return X, part


def _limbs(folder: Path) -> Items:
    X, part = limbs()
    return Items(X, labels=part, is_shape=True)


def docstrings(least: int = 300) -> tuple[list[str], list[str]]:
    """Docstrings of functions and classes of the installed scientific packages.

    Returns
    -------
    texts, modules : list of str
        Each text once; the module's name has two parts, as in ``scipy.stats``.
    """
    site = Path(sysconfig.get_paths()["purelib"])
    texts: dict[str, str] = {}
    for package in ("numpy", "scipy", "sklearn", "torch", "networkx", "matplotlib"):
        for path in sorted((site / package).rglob("*.py")):
            if "test" in str(path.relative_to(site)):
                continue
            try:
                tree = ast.parse(path.read_text(encoding="utf-8"))
            except (SyntaxError, UnicodeDecodeError):
                continue
            module = ".".join(path.relative_to(site).with_suffix("").parts[:2])
            for node in ast.walk(tree):
                if isinstance(node, ast.FunctionDef | ast.ClassDef):
                    text = ast.get_docstring(node)
                    if text and len(text) >= least:
                        texts.setdefault(text, module)
    return list(texts), list(texts.values())


def _texts(folder: Path) -> Items:
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts, modules = docstrings()
    X = TfidfVectorizer(min_df=3, max_df=0.3, sublinear_tf=True, dtype=np.float32)
    labels = np.unique(modules, return_inverse=True)[1]
    return Items(X.fit_transform(texts), metric="cosine", labels=labels)


def _network(folder: Path) -> Items:
    import scipy.sparse

    with np.load(folder / "debian_dependencies.npz") as file:
        (i, j), section = file["edges"].T, file["section"]
    n = len(section)
    one = scipy.sparse.csr_array((np.ones(len(i)), (i, j)), shape=(n, n))
    labels = np.unique(section, return_inverse=True)[1]
    return Items(scipy.sparse.csr_array(one + one.T), metric="precomputed", labels=labels)


DATA: dict[str, Callable[[Path], Items]] = {
    "iris": _sklearn("load_iris"),
    "wine": _sklearn("load_wine"),
    "breast cancer": _sklearn("load_breast_cancer"),
    "population genetics": _population_genetics,
    "digits": _sklearn("load_digits"),
    "s-curve": _s_curve,
    "counties": _counties,
    "swiss roll": _swiss_roll,
    "texts": _texts,
    "mixture": _mixture,
    "limbs": _limbs,
    "network": _network,
    "mnist": _mnist,
    "mnist pca": _mnist_components,
}
