"""Robustness: a map of Europe from genes, with clean and with corrupted data.

    python benchmarks/popgen.py --data popgen1387.npz --plot popgen.png

The monograph's chapter 11 (population genetics): 1387 people, their 15 nearest neighbours by
20 principal components of their genes (each times its eigenvalue), Huber attraction between
neighbours (weight 2 if mutual, else 1) and logarithmic repulsion between all other pairs. The
corrupted data is the same, randomly rotated, with 154 made-up rows added.

Each embedding's real people are aligned to (longitude, latitude) by translation, rotation or
reflection, and scaling (Procrustes). The correlation is that of the aligned coordinates with
the map's, both columns together.

The problem is not convex. The made-up rows hang together by a thread with the rest, so the first
coordinate of the quadratic start does no more than tell the two apart, and a solve from there may
leave the map folded. "skmde" therefore solves in space first, and starts the solve in the
plane from the first two principal components of that: the value it reaches is lower, for clean and
corrupted data alike. "skmde, default start" is the plain estimator.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import _common as common
import numpy as np
from sklearn.decomposition import PCA

N_CORRUPT = 154
N_NEIGHBORS = 15
SPACE_ITERATIONS = 60
FACTS = ("similar_pairs", "dissimilar_pairs", "iterations", "average_distortion")


def arguments() -> Any:
    p = common.parser(__doc__.splitlines()[0], name="popgen", peers=False)
    p.add_argument(
        "--data",
        type=Path,
        required=True,
        metavar="NPZ",
        help="file with Y (1387, 20), eigenvalues, country, longitude and latitude",
    )
    p.add_argument("--seed", type=int, default=0, help="draws the rotation and the made-up rows")
    p.add_argument("--max-iter", type=int, default=300, help="iterations of each embedding")
    p.add_argument("--plot", type=Path, metavar="PNG", help="also draw the four embeddings")
    return p.parse_args()


def corrupt(Y: np.ndarray, seed: int) -> np.ndarray:
    """Rotate the columns at random and add the made-up rows."""
    rng = np.random.default_rng(seed)
    q, r = np.linalg.qr(rng.standard_normal((Y.shape[1], Y.shape[1])))
    rotation = q * np.sign(np.diag(r))
    first = rng.choice([0.0, 1.0, 2.0], size=(N_CORRUPT, 10))
    last = rng.choice([1 / 12, 1 / 8], size=(N_CORRUPT, 10))
    return np.vstack([Y @ rotation, np.hstack([first, last])])


def align(X: np.ndarray, place: np.ndarray) -> tuple[np.ndarray, float]:
    """Procrustes: X moved so that its first rows lie on given coordinates; the correlation."""
    real = X[: len(place)]
    a, b = real - real.mean(axis=0), place - place.mean(axis=0)
    u, s, vt = np.linalg.svd(a.T @ b)
    size = np.linalg.norm(a)
    moved = (X - real.mean(axis=0)) @ (u @ vt) * (s.sum() / size**2) + place.mean(axis=0)
    return moved, float(s.sum() / (size * np.linalg.norm(b)))


def estimator(n_items: int, **params: Any) -> Any:
    """The monograph's problem: Huber attraction, and every other pair repels."""
    from skmde import PreserveNeighbors
    from skmde.penalties import Huber

    return PreserveNeighbors(
        n_neighbors=N_NEIGHBORS,
        attractive_penalty=Huber(0.5),
        repulsive_penalty="log",
        repulsive_fraction=float(n_items),  # more than there are, so that all are taken
        random_state=0,
        **params,
    )


def embed(Y: np.ndarray, max_iter: int, *, from_space: bool) -> tuple[np.ndarray, dict[str, Any]]:
    """An embedding of the rows of Y in the plane, and facts about it."""
    init: Any = "quadratic"
    if from_space:
        space = estimator(len(Y), n_components=3, max_iter=SPACE_ITERATIONS).fit_transform(Y)
        init = PCA(2).fit_transform(space)
    model = estimator(len(Y), init=init, max_iter=max_iter)
    X = model.fit_transform(Y)
    similar = int((np.asarray(model.weights_) > 0).sum())
    return X, {
        "similar_pairs": similar,
        "dissimilar_pairs": len(model.edges_) - similar,
        "iterations": int(model.n_iter_),
        "average_distortion": float(model.distortion_),
    }


def draw(path: Path, pictures: dict[str, np.ndarray], country: np.ndarray) -> None:
    """Four panels, coloured by country; made-up rows in black."""
    from matplotlib.figure import Figure

    _, code = np.unique(country, return_inverse=True)
    figure = Figure(figsize=(12, 10), layout="constrained")
    for ax, (title, X) in zip(figure.subplots(2, 2).flat, pictures.items(), strict=True):
        real, made_up = X[: len(code)], X[len(code) :]
        ax.scatter(*made_up.T, s=4, color="black")
        ax.scatter(*real.T, s=6, c=code, cmap="tab20")
        for name in np.unique(country):
            where = real[country == name].mean(axis=0)
            ax.annotate(name[:3], where, fontsize=7, ha="center")
        low, high = np.percentile(X, [0.5, 99.5], axis=0)
        margin = 0.15 * (high - low)
        ax.set(title=title, xlabel="longitude (aligned)", ylabel="latitude (aligned)")
        ax.set_xlim(low[0] - margin[0], high[0] + margin[0])
        ax.set_ylim(low[1] - margin[1], high[1] + margin[1])
    figure.savefig(path, dpi=110)
    print(f"picture: {path.name}")


def main() -> None:
    args = arguments()
    with np.load(args.data) as data:
        Y = data["Y"].astype(np.float64) * data["eigenvalues"]
        place = np.column_stack([data["longitude"], data["latitude"]])
        country = data["country"]
    sets = {"clean": Y, "corrupted": corrupt(Y, args.seed)}
    results: dict[str, Any] = {}
    pictures = {}
    for name, rows in sets.items():
        embeddings = {
            "skmde": embed(rows, args.max_iter, from_space=True),
            "skmde, default start": embed(rows, args.max_iter, from_space=False),
            "PCA": (PCA(2).fit_transform(rows), {}),
        }
        for method, (X, facts) in embeddings.items():
            moved, correlation = align(X, place)
            results.setdefault(method, {})[name] = {"correlation": correlation, **facts}
            if method in ("skmde", "PCA"):
                pictures[f"{method}, {name} data: correlation {correlation:.3f}"] = moved
    common.show(
        [
            (method, name, f"{r['correlation']:.4f}", *(r.get(fact) for fact in FACTS))
            for method, by_data in results.items()
            for name, r in by_data.items()
        ],
        ["embedding", "data", "correlation with the map", *(f.replace("_", " ") for f in FACTS)],
    )
    common.save(args.output, {"seed": args.seed, "embeddings": results})
    if args.plot:
        draw(args.plot, pictures, country)


if __name__ == "__main__":
    main()
