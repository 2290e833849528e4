"""
Searching penalties
===================

Penalties are parameters like others, so scikit-learn can search them. This example runs two
searches over the handwritten digits. All maps are in the plane.

- A **grid** of attractive penalties, repulsion and constraints is evaluated by the estimator's
  ``score``, which needs no labels: the share of the 15 nearest neighbours of *unseen* digits that
  are nearest in the map, too.
- **Random draws** of the weight of the repulsion and of the number of neighbours, in a pipeline,
  are evaluated by a classifier that sees only the map. The scaled data is cached (``memory=``).

The picture shows both searches, and the maps of the best and the worst point of the grid. Few
digits and few draws keep this page fast; ``--n-samples 1000 --n-draws 30`` makes the picture of the
guide.
"""

import argparse
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import loguniform, randint
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler

from skmde import Huber, Log1p, PreserveNeighbors, Quadratic
from skmde.plotting import EmbeddingDisplay

PENALTIES = {
    "Log1p(1)": Log1p(1.0),
    "Log1p(1.5)": Log1p(1.5),
    "Log1p(2)": Log1p(2.0),
    "Huber(0.5)": Huber(0.5),
    "Quadratic()": Quadratic(),
}
REPULSION = {
    "all pairs repel,\nweight 0.1": {"repulsion": "all", "repulsive_weight": 0.1},
    "all pairs,\nweight 1": {"repulsion": "all", "repulsive_weight": 1.0},
    "sampled pairs,\nas many as attract": {"repulsion": "sampled"},
    "standardized,\nsampled, half": {"repulsion": "sampled", "constraint": "standardized"},
}


def search_grid(X, n_jobs):
    """Scores of every penalty (rows) with every kind of repulsion (columns), and the search."""
    grid = [
        {
            "attractive_penalty": list(PENALTIES.values()),
            **{name: [value] for name, value in parameters.items()},
        }
        for parameters in REPULSION.values()
    ]
    search = GridSearchCV(PreserveNeighbors(random_state=0), grid, cv=3, n_jobs=n_jobs).fit(X)
    scores = search.cv_results_["mean_test_score"].reshape(len(REPULSION), len(PENALTIES))
    return scores.T, search


def search_at_random(X, y, n_draws, n_jobs):
    """A pipeline's weight of repulsion and number of neighbours, from scipy's distributions."""
    with tempfile.TemporaryDirectory() as folder:
        pipeline = Pipeline(
            [
                ("scale", MinMaxScaler()),
                ("embed", PreserveNeighbors(random_state=0)),
                ("classify", KNeighborsClassifier()),
            ],
            memory=folder,
        )
        draws = {
            "embed__repulsive_weight": loguniform(0.003, 3.0),
            "embed__n_neighbors": randint(3, 40),
        }
        search = RandomizedSearchCV(
            pipeline, draws, n_iter=n_draws, cv=3, n_jobs=n_jobs, random_state=0
        )
        return search.fit(X, y)


def draw(scores, draws, maps, y):
    figure = plt.figure(figsize=(10.5, 8), layout="constrained")
    (table, cloud), below = figure.subplots(2, 2)
    table.imshow(scores, cmap="viridis", aspect="auto")
    for (row, column), score in np.ndenumerate(scores):
        dark = score < (scores.min() + scores.max()) / 2
        table.text(
            column, row, f"{score:.3f}", ha="center", va="center", color="w" if dark else "k"
        )
    table.set_xticks(range(len(REPULSION)), REPULSION, fontsize=8)
    table.set_yticks(range(len(PENALTIES)), PENALTIES)
    table.set_title("share of neighbours kept, unseen digits")

    found = draws.cv_results_
    points = cloud.scatter(
        np.array(found["param_embed__repulsive_weight"], dtype=float),
        np.array(found["param_embed__n_neighbors"], dtype=float),
        c=found["mean_test_score"],
        s=90,
        cmap="viridis",
    )
    best = draws.best_params_
    cloud.scatter(
        best["embed__repulsive_weight"],
        best["embed__n_neighbors"],
        s=240,
        facecolors="none",
        edgecolors="crimson",
        linewidths=2,
    )
    cloud.set(xscale="log", xlabel="repulsive_weight", ylabel="n_neighbors")
    cloud.set_title(f"accuracy of 5 neighbours in the map; best {draws.best_score_:.3f}")
    figure.colorbar(points, ax=cloud)

    for ax, (title, embedding) in zip(below, maps, strict=True):
        ax.set_title(title)
        EmbeddingDisplay.from_embedding(embedding, y, labels="map", ax=ax)
    return figure


def print_parameters(found):
    """The parameters of the best point, by their short names."""
    texts = [f"{value:.3g}" if isinstance(value, float) else value for value in found.values()]
    for name, text in zip(found, texts, strict=True):
        print(f"  {name.rpartition('__')[2]} = {text}")


def main():
    parser = argparse.ArgumentParser(description="Search penalties and draw what was found.")
    parser.add_argument("--output", type=Path, help="picture to write, not show")
    parser.add_argument("--n-samples", type=int, default=400, help="digits to embed")
    parser.add_argument("--n-draws", type=int, default=12, help="draws of the random search")
    parser.add_argument("--n-jobs", type=int, default=2)
    args = parser.parse_args()
    X, y = (part[: args.n_samples] for part in load_digits(return_X_y=True))

    scores, search = search_grid(X, args.n_jobs)
    print(f"{scores.size} points of a grid, best score {search.best_score_:.3f}:")
    print_parameters(search.best_params_)
    draws = search_at_random(X, y, args.n_draws, args.n_jobs)
    print(f"{args.n_draws} random draws, best accuracy {draws.best_score_:.3f}:")
    print_parameters(draws.best_params_)

    names, kinds = list(PENALTIES), [kind.replace("\n", " ") for kind in REPULSION]
    maps = []
    for what, index in (("best", scores.argmax()), ("worst", scores.argmin())):
        row, column = np.unravel_index(index, scores.shape)
        estimator = PreserveNeighbors(
            attractive_penalty=PENALTIES[names[row]],
            **list(REPULSION.values())[column],
            random_state=0,
        )
        title = f"{what} of the grid: {names[row]}, {kinds[column]}"
        maps.append((title, estimator.fit_transform(X)))
    figure = draw(scores, draws, maps, y)
    if args.output is None:
        plt.show()
        return
    figure.savefig(args.output, dpi=90)
    print(f"Picture: {args.output}")


if __name__ == "__main__":
    main()
