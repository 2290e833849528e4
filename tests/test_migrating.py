"""The tables of doc/migrating.md: nothing of theirs is missing, what they name of ours is there."""

import importlib
import inspect
import re
import warnings

import numpy as np
import pytest
import sklearn.manifold
import sklearn.neighbors
from migration_tables import CLASSES, NONE, PAGE, ROWS, code
from sklearn.datasets import load_digits

import skmde
import skmde.constraints
import skmde.metrics
import skmde.preprocessing

# Read from the signatures of umap-learn 0.5.12 and PyMDE 0.3.0, which are not installed here.
UMAP_PARAMETERS = """
    n_neighbors n_components metric metric_kwds output_metric output_metric_kwds n_epochs
    learning_rate init min_dist spread low_memory n_jobs set_op_mix_ratio local_connectivity
    repulsion_strength negative_sample_rate transform_queue_size a b random_state angular_rp_forest
    target_n_neighbors target_metric target_metric_kwds target_weight transform_seed transform_mode
    force_approximation_algorithm verbose tqdm_kwds unique densmap dens_lambda dens_frac
    dens_var_shift output_dens disconnection_distance precomputed_knn
"""
UMAP_FITTED = " embedding_ graph_ graph_dists_ fit fit_transform transform update inverse_transform"
OTHERS = {
    "sklearn.manifold": " ".join(name for name in sklearn.manifold.__all__ if name.islower()),
    "UMAP": UMAP_PARAMETERS + UMAP_FITTED,
    "pymde.preserve_neighbors": "data embedding_dim attractive_penalty repulsive_penalty "
    "constraint n_neighbors repulsive_fraction max_distance knn_method init device verbose",
    "pymde.preserve_distances": "data embedding_dim loss constraint max_distances device verbose",
    "pymde.laplacian_embedding": "data embedding_dim n_neighbors max_distance init device verbose",
    "pymde.MDE": "n_items embedding_dim edges distortion_function constraint device X value "
    "residual_norm solve_stats p embed average_distortion differences distances distortions "
    "high_distortion_pairs to distortions_cdf plot play",
    "pymde": "Centered Standardized Standardized.natural_length Anchored constraints.Constraint "
    "Constraint.initialization Constraint.project_onto_constraint "
    "Constraint.project_onto_tangent_space penalties.Linear "
    "penalties.Quadratic penalties.Cubic penalties.Power penalties.Huber penalties.Logistic "
    "penalties.Sigmoid penalties.Hinge penalties.Log1p penalties.Log penalties.InvPower "
    "penalties.LogRatio penalties.PushAndPull losses.Quadratic losses.WeightedQuadratic "
    "losses.Huber losses.Cubic losses.Power losses.Absolute losses.Logistic losses.Fractional "
    "losses.SoftFractional pca quadratic.spectral Graph Graph.from_edges Graph.edges "
    "Graph.weights Graph.draw preprocess.distances preprocess.k_nearest_neighbors "
    "preprocess.graph.shortest_paths preprocess.sample_edges preprocess.dissimilar_edges "
    "preprocess.deduplicate_edges preprocess.scale all_edges align center rotate seed plot "
    "datasets util.hutchpp util.make_hvp",
}
OF_PYMDE = ("pymde.preserve_neighbors", "pymde.preserve_distances", "pymde.laplacian_embedding")
# The tables are of the class MDS that scikit-learn 1.8 brought, together with ClassicalMDS.
OLD = not hasattr(sklearn.manifold, "ClassicalMDS")
FORMER = {"n_iter"} if OLD else set()  # of TSNE, deprecated there
OF_SCIKIT_LEARN = (
    "TSNE",
    "Isomap",
    "MDS",
    "SpectralEmbedding",
    "LocallyLinearEmbedding",
    *(() if OLD else ("ClassicalMDS",)),
)


def rows_of(table):
    return {entry for row in ROWS if row.table == table for entry in row.theirs}


def our_classes(table):
    return [getattr(skmde, name) for name in CLASSES[table] if name != "skmde"]


def names_of(ours):
    """Parameters, documented attributes and methods of a class of ours."""
    documented = re.findall(r"^(\w[\w, ]*) : ", inspect.getdoc(ours), re.MULTILINE)
    names = {name.strip() for group in documented for name in group.split(",")}
    return names | set(inspect.signature(ours).parameters) | set(dir(ours))


OUR_FUNCTIONS = {
    name: getattr(module, name)
    for module in (skmde.preprocessing, skmde.metrics, skmde.constraints, skmde.plotting, skmde)
    for name in module.__all__
}
# what can be passed to anything that remarks mention
OUR_ARGUMENTS = {
    argument
    for ours in [*OUR_FUNCTIONS.values(), skmde.MDE.embed, skmde.PreserveDistances.fit]
    if callable(ours) and ours is not skmde.ConvergenceWarning
    for argument in inspect.signature(ours).parameters
}
# what remarks mention beside names of the two sides that the table compares
OF_OTHERS = {
    "Graph",
    "RadiusNeighborsTransformer",
    "alpha",
    "eps",
    "examples/plot_graphs.py",
    "n_workers",
    "norm_laplacian",
    "print_every",
    "retain_fraction",
    "scipy.sparse.coo_array",
    "sigma",
    "snapshots",
}


def is_ours(text, classes):
    """Whether `name`, `name=value`, `Class(...)` or `Class.method` is there."""
    first, *rest = re.split(r"[=(]", text, maxsplit=1)[0].split(".")
    if any(first in names_of(ours) for ours in classes):
        return not rest or text.startswith("result.history")
    value = OUR_FUNCTIONS.get(first)
    return value is not None and all(hasattr(value, name) for name in rest)


@pytest.mark.parametrize("name", OF_SCIKIT_LEARN)
def test_every_name_of_scikit_learn_has_a_row(name):
    theirs = getattr(sklearn.manifold, name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # MDS's default start is about to change
        fitted = theirs(n_components=2).fit(load_digits().data[:40])
    attributes = {key for key in vars(fitted) if key.endswith("_") and not key.startswith("_")}
    methods = ("fit", "fit_transform", "transform", "reconstruction_error")
    named = {
        *inspect.signature(theirs).parameters,
        *attributes,
        "feature_names_in_",
        *(method for method in methods if hasattr(theirs, method)),
    }
    assert named - FORMER <= rows_of(name) if OLD else named == rows_of(name)


@pytest.mark.parametrize("name", OTHERS)
def test_every_name_of_other_programs_has_a_row(name):
    assert rows_of(name) == set(OTHERS[name].split())


def test_there_are_no_other_tables():
    assert set(CLASSES) == {*OF_SCIKIT_LEARN, "ClassicalMDS", *OTHERS}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.table}-{'-'.join(row.theirs)}")
def test_names_of_ours_exist(row):
    classes = our_classes(row.table)
    for k, cell in enumerate(row.ours):
        own = classes[k : k + 1] if len(row.ours) > 1 else classes
        assert cell == NONE or code(cell)
        assert [text for text in code(cell) if not is_ours(text, own)] == []

    named = [text.split("(")[0] for cell in row.ours for text in code(cell)]
    classes = classes + [OUR_FUNCTIONS[name] for name in named if name in OUR_FUNCTIONS]
    known = rows_of(row.table) | OF_OTHERS | OUR_ARGUMENTS
    for text in code(row.remark):
        if not (text.startswith('"') or is_ours(text, classes)):
            assert re.split(r"[=(]", text, maxsplit=1)[0] in known


CONSTRUCTORS = {
    **{
        name: [
            key
            for key in inspect.signature(getattr(sklearn.manifold, name)).parameters
            if key not in FORMER
        ]
        for name in OF_SCIKIT_LEARN
    },
    "UMAP": UMAP_PARAMETERS.split(),
    **{name: OTHERS[name].split() for name in OF_PYMDE},
    "pymde.MDE": "n_items embedding_dim edges distortion_function constraint device".split(),
}


@pytest.mark.parametrize(
    ("table", "theirs"), [(table, name) for table, names in CONSTRUCTORS.items() for name in names]
)
def test_the_error_for_a_foreign_parameter_says_what_the_table_says(table, theirs):
    (row,) = (row for row in ROWS if row.table == table and theirs in row.theirs)
    for ours, cell in zip(our_classes(table), row.ours, strict=True):
        own = set(inspect.signature(ours).parameters)
        if theirs in own:
            assert cell == NONE or theirs in code(cell)
            continue
        with pytest.raises(TypeError, match=f"'{theirs}': ") as caught:
            ours(**{theirs: 1})
        advice = str(caught.value).partition(f"'{theirs}': ")[2]
        named = own.intersection(code(cell))
        if named:
            assert set(advice.removeprefix("use ").rstrip(".").split(", ")) == named
        else:
            assert advice.startswith("there is no such thing here")
            assert cell == NONE or "no such thing here, as" in advice


def test_the_error_for_a_foreign_argument_of_embed_says_what_the_table_says():
    (row,) = (row for row in ROWS if row.theirs == ["embed"])
    assert row.remark.startswith("`tol` for `eps`, `callbacks` for `print_every`")
    problem = skmde.MDE(3, 1, [[0, 1], [1, 2]], "quadratic", "standardized")
    for theirs, ours in (("eps", "tol"), ("print_every", "callbacks")):
        with pytest.raises(TypeError, match=rf"MDE.embed\(\) .*'{theirs}': use {ours}\."):
            problem.embed(**{theirs: 1})


def test_the_page_says_where_functions_are():
    (sentence,) = re.findall(r"^Where they are: (.*?)\n\n", PAGE.read_text("utf-8"), re.S | re.M)
    *parts, rest = sentence.split(";")
    assert code(rest) == ["skmde"]
    coordinates = {name: code(part)[-1] for part in parts for name in code(part)[:-1]}
    for row in ROWS:
        if row.table != "pymde":
            continue
        for name in (text.split("(")[0].split(".")[0] for text in code(row.ours[0])):
            value = getattr(importlib.import_module(coordinates.pop(name, "skmde")), name)
            assert value is OUR_FUNCTIONS[name]
    assert not coordinates


def test_the_first_parameter_is_as_the_page_says():
    assert UMAP_PARAMETERS.split()[0] == "n_neighbors"
    assert skmde.PreserveNeighbors(15).n_components == 15
    for name in OF_SCIKIT_LEARN:
        first = inspect.signature(getattr(sklearn.manifold, name)).parameters
        by_position = [key for key, value in first.items() if value.kind != value.KEYWORD_ONLY]
        assert by_position in ([], ["n_components"])


def test_turns_and_dissimilar_pairs_are_as_the_page_says():
    # pymde.rotate(X, torch.tensor(90.0)) gives [[0, -1]], and for angles about the axes of space
    # what the last line has
    np.testing.assert_allclose(skmde.metrics.rotate([[1.0, 0.0]], -90.0), [[0.0, -1.0]], atol=1e-15)
    np.testing.assert_allclose(
        skmde.metrics.rotate(np.eye(3), [10, 20, 30]),
        [[0.814, 0.470, -0.342], [-0.441, 0.883, 0.163], [0.379, 0.018, 0.925]],
        atol=1e-3,
    )
    n_items, edges, n_pairs = 5, [[0, 1], [2, 3]], 8  # in the order of theirs
    found = skmde.preprocessing.sample_dissimilar(n_items, n_pairs, edges)
    assert len(found) == 8 and not {(0, 1), (2, 3)} & set(map(tuple, found.tolist()))


def untied():
    noise = np.random.default_rng(0).normal(scale=0.01, size=(200, 64))
    return load_digits().data[:200] + noise


@pytest.mark.parametrize(
    ("weights", "theirs"),
    [
        ("isomap", lambda: sklearn.manifold.Isomap(n_neighbors=15)),
        pytest.param(
            "classical_mds",
            lambda: sklearn.manifold.ClassicalMDS(),
            marks=pytest.mark.skipif(OLD, reason="this scikit-learn has no ClassicalMDS"),
        ),
    ],
    ids=["isomap", "classical_mds"],
)
def test_lengths_of_columns_are_as_the_page_says(weights, theirs):
    ours = skmde.QuadraticMDE(weights=weights).fit(untied())
    scaled = ours.embedding_ * (-ours.eigenvalues_ / 200) ** 0.5
    np.testing.assert_allclose(abs(scaled), abs(theirs().fit_transform(untied())), atol=1e-3)


def test_locally_linear_embedding_is_as_the_page_says():
    theirs = sklearn.manifold.LocallyLinearEmbedding(n_neighbors=15, eigen_solver="dense")
    theirs.fit(untied())
    ours = skmde.QuadraticMDE(weights="lle").fit(untied())
    scaled = ours.embedding_ / 200**0.5
    np.testing.assert_allclose(abs(scaled), abs(theirs.embedding_), atol=1e-6)
    assert ours.eigenvalues_.sum() == pytest.approx(theirs.reconstruction_error_, rel=1e-6)


def test_counts_of_neighbours_are_as_the_page_says():
    theirs = sklearn.manifold.SpectralEmbedding(n_neighbors=11, random_state=0).fit(untied())
    ours = skmde.QuadraticMDE(weights="normalized_laplacian", n_neighbors=10).fit(untied())
    twice = 2 * theirs.affinity_matrix_.toarray()
    np.fill_diagonal(twice, 0)
    np.testing.assert_array_equal(ours.graph_.toarray(), twice)


def test_a_graph_within_a_radius_is_taken_as_the_page_says():
    search = sklearn.neighbors.RadiusNeighborsTransformer(radius=40.0)
    graph = search.fit_transform(untied())
    ours = skmde.QuadraticMDE(weights="isomap", metric="precomputed", n_neighbors=None).fit(graph)
    theirs = sklearn.manifold.Isomap(n_neighbors=None, radius=40.0).fit(untied())
    np.testing.assert_allclose(-ours.eigenvalues_, theirs.kernel_pca_.eigenvalues_, rtol=1e-6)


def test_tables_of_neighbours_may_hold_the_samples_themselves():
    search = sklearn.neighbors.NearestNeighbors(n_neighbors=11).fit(untied())
    distances, indices = search.kneighbors(untied())
    given = skmde.PreserveNeighbors(metric="precomputed", random_state=0).fit((indices, distances))
    found = skmde.PreserveNeighbors(n_neighbors=10, random_state=0).fit(untied())
    np.testing.assert_array_equal(given.graph_.toarray(), found.graph_.toarray())
