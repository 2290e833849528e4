"""Arguments of other programs get a TypeError that names ours."""

import inspect

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.manifold import MDS, TSNE, Isomap, LocallyLinearEmbedding, SpectralEmbedding

from skmde import (
    AnchoredClassifier,
    AnchoredMDE,
    PreserveDistances,
    PreserveNeighbors,
    QuadraticMDE,
)
from skmde.estimators.base import peer_arguments

CLASSES = [PreserveNeighbors, PreserveDistances, QuadraticMDE, AnchoredMDE, AnchoredClassifier]


@pytest.mark.parametrize(
    ("cls", "foreign", "ours"),
    [
        (PreserveNeighbors, "perplexity", "use n_neighbors"),
        (
            PreserveNeighbors,
            "min_dist",
            "use repulsive_weight, attractive_penalty, repulsive_penalty",
        ),
        (PreserveNeighbors, "n_iter", "use max_iter"),
        (PreserveNeighbors, "embedding_dim", "use n_components"),
        (PreserveNeighbors, "n_neighbours", "use n_neighbors"),
        (PreserveNeighbors, "learning_rate", "step sizes are found by a line search"),
        (PreserveNeighbors, "bogus", "the parameters are n_components, n_neighbors"),
        (PreserveDistances, "dissimilarity", "use metric"),
        (PreserveDistances, "min_dist", "the parameters are n_components, loss"),
        (PreserveNeighbors, "n_init", "smallest distortion_"),
        (PreserveDistances, "metric_mds", "use monotone"),
        (AnchoredMDE, "anchor_weights", "use anchor_weight"),
        (QuadraticMDE, "constraint", "the problem has a fixed constraint"),
        (AnchoredClassifier, "n_components", "the parameters are n_neighbors, metric"),
    ],
)
def test_the_error_names_ours(cls, foreign, ours):
    with pytest.raises(TypeError, match=f"{cls.__name__}.*'{foreign}': .*{ours}"):
        cls(**{foreign: 1})


@pytest.mark.parametrize("cls", CLASSES)
def test_signature_and_clone_are_as_without(cls):
    names = list(inspect.signature(cls).parameters)
    assert names == list(inspect.signature(cls.__init__).parameters)[1:]
    assert set(names) == set(cls().get_params())
    assert clone(cls(random_state=3)).random_state == 3


@pytest.mark.parametrize("peer", [TSNE, Isomap, MDS, SpectralEmbedding, LocallyLinearEmbedding])
def test_each_argument_of_scikit_learns_is_ours_or_answered(peer):
    known = {**peer_arguments._OURS, **peer_arguments._NEEDLESS}
    ours = set(inspect.signature(PreserveNeighbors).parameters)
    ours |= set(inspect.signature(PreserveDistances).parameters)
    ours |= set(inspect.signature(QuadraticMDE).parameters)
    for name in inspect.signature(peer).parameters:
        assert name in known or name in ours, name


UMAPS = """n_neighbors n_components metric metric_kwds output_metric output_metric_kwds n_epochs
learning_rate init min_dist spread low_memory n_jobs set_op_mix_ratio local_connectivity
repulsion_strength negative_sample_rate transform_queue_size a b random_state angular_rp_forest
target_n_neighbors target_metric target_metric_kwds target_weight transform_seed transform_mode
force_approximation_algorithm verbose tqdm_kwds unique densmap dens_lambda dens_frac dens_var_shift
output_dens disconnection_distance precomputed_knn""".split()


@pytest.mark.parametrize("name", UMAPS)
def test_each_argument_of_umap_is_ours_or_answered(name):
    if name in inspect.signature(PreserveNeighbors).parameters:
        return
    with pytest.raises(TypeError, match=f"{name!r}: (use|there is no such thing here, as)"):
        PreserveNeighbors(**{name: 1})


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (PreserveNeighbors(init="spectral"), "'spectral' is 'quadratic' here"),
        (PreserveDistances(init="classical_mds"), "'classical_mds' is 'classical' here"),
    ],
)
def test_a_start_by_the_name_of_another_library_is_told_ours(estimator, message):
    X = np.random.default_rng(0).standard_normal((20, 3))
    with pytest.raises(ValueError, match=rf"must be a str among \{{.*\}} \({message}\), an array"):
        estimator.fit(X)
