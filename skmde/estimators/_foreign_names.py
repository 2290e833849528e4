"""Arguments that other programs have: an error that names ours."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable
from typing import ParamSpec

P = ParamSpec("P")

# What t-SNE, UMAP, scikit-learn's manifold learners and PyMDE call it, and what does it here.
_OURS = {
    "a": ("attractive_penalty", "repulsive_penalty"),
    "affinity": ("metric",),
    "angular_rp_forest": ("neighbors_algorithm",),
    "b": ("attractive_penalty", "repulsive_penalty"),
    "disconnection_distance": ("max_distance", "max_path_length"),
    "dissimilarity": ("metric",),
    "distances": ("metric",),
    "early_exaggeration": ("repulsive_fraction",),
    "eigen_solver": ("solver",),
    "eigen_tol": ("tol",),
    "embedding_dim": ("n_components",),
    "eps": ("tol",),
    "force_approximation_algorithm": ("neighbors_algorithm",),
    "metric_kwds": ("metric_params",),
    "min_dist": ("attractive_penalty", "repulsive_penalty", "repulsive_fraction"),
    "min_grad_norm": ("tol",),
    "n_epochs": ("max_iter",),
    "n_iter": ("max_iter",),
    "n_iter_without_progress": ("tol",),
    "negative_sample_rate": ("repulsive_fraction",),
    "neighbors_metric": ("metric",),
    "p": ("metric", "metric_params"),
    "perplexity": ("n_neighbors",),
    "precomputed_knn": ("metric",),
    "radius": ("max_distance", "metric"),
    "repulsion_strength": ("repulsive_fraction",),
    "seed": ("random_state",),
    "similarity_metric": ("metric",),
    "snapshot_every": ("callbacks",),
    "spread": ("attractive_penalty", "repulsive_penalty", "repulsive_fraction"),
    "target_metric": ("target_weight",),
    "target_n_neighbors": ("n_neighbors",),
}
_NEEDLESS = {
    "angle": "forces are not approximated",
    "dens_frac": "densities are not kept",
    "dens_lambda": "densities are not kept",
    "dens_var_shift": "densities are not kept",
    "densmap": "densities are not kept",
    "learning_rate": "steps are found by a line search",
    "local_connectivity": "every sample has its nearest neighbours",
    "low_memory": "memory does not grow with the square of the samples",
    "method": "there is one method, which scales to many samples",
    "metric_mds": "distances are kept, not their order",
    "n_init": "one start is made; try several random_state and keep the least distortion_",
    "normalized_stress": "stress_ is normalised",
    "output_dens": "densities are not kept",
    "output_metric": "the embedding is Euclidean",
    "output_metric_kwds": "the embedding is Euclidean",
    "path_method": "the search for shortest paths chooses itself",
    "set_op_mix_ratio": "a pair counts twice if each is a neighbour of the other",
    "target_metric_kwds": "y tells whether targets are classes or numbers",
    "tqdm_kwds": "verbose=1 shows a progress bar",
    "transform_mode": "the graph is graph_",
    "transform_queue_size": "transform searches neighbours as fit does",
    "transform_seed": "transform draws nothing at random",
    "unique": "equal samples are no special case",
}


def names_ours(init: Callable[P, None]) -> Callable[P, None]:
    """A constructor that answers an argument of another program with the name of ours.

    The class's signature stays what it is.
    """
    own = [name for name in inspect.signature(init).parameters if name != "self"]

    @functools.wraps(init)
    def checked(*args: P.args, **kwargs: P.kwargs) -> None:
        for name in kwargs:
            if name not in own:
                raise TypeError(
                    f"{type(args[0]).__name__}.__init__() got an unexpected keyword argument "
                    f"{name!r}: {_advice(name, own)}."
                )
        init(*args, **kwargs)

    return checked


def _advice(name, own):
    ours = [other for other in _OURS.get(name, ()) if other in own]
    if not ours and name not in _NEEDLESS:
        ours = difflib.get_close_matches(name, own, n=1, cutoff=0.75)
    if ours:
        return f"use {', '.join(ours)}"
    if name in _NEEDLESS:
        return f"there is no such thing here, as {_NEEDLESS[name]}"
    return f"there is no such thing here; the parameters are {', '.join(own)}"
