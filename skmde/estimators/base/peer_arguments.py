"""Equivalents of the arguments of other libraries' estimators, named by error messages."""

from __future__ import annotations

from skmde._utils.renamed_arguments import suggest_renamed

# Arguments of t-SNE, UMAP, scikit-learn's manifold learners and PyMDE, and their equivalents.
_OURS = {
    "a": ("attractive_penalty", "repulsive_penalty"),
    "affinity": ("weights", "metric"),
    "angular_rp_forest": ("neighbors_algorithm",),
    "b": ("attractive_penalty", "repulsive_penalty"),
    "disconnection_distance": ("max_distance", "max_path_length"),
    "dissimilarity": ("metric",),
    "distances": ("metric",),
    "early_exaggeration": ("repulsive_weight",),
    "eigen_tol": ("tol",),
    "embedding_dim": ("n_components",),
    "eps": ("tol",),
    "force_approximation_algorithm": ("neighbors_algorithm",),
    "knn_method": ("neighbors_algorithm",),
    "max_distance": ("max_path_length",),
    "max_distances": ("max_pairs",),
    "metric_kwds": ("metric_params",),
    "metric_mds": ("monotone",),
    "min_dist": ("repulsive_weight", "attractive_penalty", "repulsive_penalty"),
    "min_grad_norm": ("tol",),
    "n_epochs": ("max_iter",),
    "n_iter": ("max_iter",),
    "n_iter_without_progress": ("tol",),
    "negative_sample_rate": ("repulsion", "repulsive_fraction"),
    "neighbors_metric": ("metric",),
    "p": ("metric", "metric_params"),
    "perplexity": ("n_neighbors",),
    "precomputed_knn": ("metric",),
    "radius": ("max_distance", "metric"),
    "repulsion_strength": ("repulsive_weight",),
    "seed": ("random_state",),
    "similarity_metric": ("metric",),
    "snapshot_every": ("callbacks",),
    "spread": ("repulsive_weight", "attractive_penalty", "repulsive_penalty"),
    "target_metric": ("target_weight",),
    "target_n_neighbors": ("n_neighbors",),
}
_NEEDLESS = {
    "angle": "sums over all pairs have a fixed accuracy",
    "constraint": "the problem has a fixed constraint",
    "data": "data are given to fit",
    "dens_frac": "densities are not preserved",
    "dens_lambda": "densities are not preserved",
    "dens_var_shift": "densities are not preserved",
    "densmap": "densities are not preserved",
    "device": "the problem is solved on the CPU",
    "eigen_solver": "no eigenvalue problem is solved",
    "hessian_tol": "there is one method of locally linear embedding, the standard one",
    "init": "the optimum is computed without a starting point",
    "learning_rate": "step sizes are found by a line search",
    "local_connectivity": "every sample has its nearest neighbours",
    "low_memory": "memory does not grow with the square of the number of samples",
    "max_distance": "distances are not limited; use PreserveNeighbors(attractive_penalty="
    "'quadratic', repulsive_penalty=None), which has max_distance",
    "method": "there is one method, which scales to many samples",
    "metric_mds": "distances are preserved, not their order",
    "modified_tol": "there is one method of locally linear embedding, the standard one",
    "n_init": "one starting point is used; fit with several values of random_state and keep the "
    "result with the smallest distortion_",
    "normalized_stress": "stress_ is normalised",
    "output_dens": "densities are not preserved",
    "output_metric": "the embedding is Euclidean",
    "output_metric_kwds": "the embedding is Euclidean",
    "path_method": "the algorithm for shortest paths is chosen automatically",
    "reg": "local Gram matrices of locally linear embedding get 0.001 of their trace",
    "set_op_mix_ratio": "a pair counts twice if each is a neighbour of the other",
    "target_metric_kwds": "y determines whether targets are classes or numbers",
    "tqdm_kwds": "verbose=1 shows a progress bar",
    "transform_mode": "the graph is the attribute graph_",
    "transform_queue_size": "transform uses the same neighbour search as fit",
    "transform_seed": "transform uses no random numbers",
    "unique": "equal samples need no special treatment",
}

suggest_peer_arguments = suggest_renamed(_OURS, _NEEDLESS)
# For estimators whose `solver` is that of an eigenvalue problem.
suggest_spectral_arguments = suggest_renamed(_OURS | {"eigen_solver": ("solver",)}, _NEEDLESS)
