"""scikit-learn's own checks, with no failure expected, in several configurations."""

import inspect
import pickle
import warnings

import pytest
import sklearn
from sklearn.utils import estimator_checks, get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import has_fit_parameter

import skmde
from skmde import (
    AnchoredClassifier,
    AnchoredMDE,
    Box,
    Disc,
    PreserveDistances,
    PreserveNeighbors,
    QuadraticMDE,
)

# Other ways through the same code; `make test-slow` checks them.
RARE = [
    PreserveNeighbors(constraint=Box(0.0, 9.0)),
    PreserveNeighbors(weights="exponential", repulsion="far"),
    PreserveNeighbors(init="pca"),
    PreserveDistances(loss="squared", constraint="standardized"),
    PreserveDistances(n_neighbors=4, init="random"),
    PreserveDistances(monotone="interval", ties="secondary", n_init=2),
    QuadraticMDE(weights="normalized_laplacian", n_neighbors=4, metric="manhattan"),
    QuadraticMDE(weights="kernel_pca", kernel="rbf"),
    QuadraticMDE(weights="classical_mds", metric="precomputed"),
    QuadraticMDE(weights="isomap", metric="precomputed"),
    AnchoredMDE(attractive_penalty="log1p", repulsive_penalty="log", init="random"),
    AnchoredMDE(metric="precomputed"),
    AnchoredMDE(loss="absolute", metric="precomputed"),
    AnchoredClassifier(n_neighbors=3, metric="manhattan"),
    AnchoredClassifier(metric="precomputed"),
]
CONFIGURATIONS = [
    PreserveNeighbors(),
    PreserveNeighbors(constraint="standardized"),
    PreserveNeighbors(metric="precomputed"),
    PreserveNeighbors(metric="graph"),
    PreserveNeighbors(metric="affinity"),
    PreserveNeighbors(repulsive_penalty=None),
    PreserveNeighbors(
        n_components=1, n_neighbors=3, metric="manhattan", init="random", max_distance=100.0
    ),
    PreserveDistances(),
    PreserveDistances(loss="squared", constraint=Disc(5.0)),
    PreserveDistances(metric="precomputed"),
    PreserveDistances(metric="graph"),
    PreserveDistances(monotone=True),
    PreserveDistances(n_components=1, init="pca", metric="manhattan", max_pairs=50),
    QuadraticMDE(),
    QuadraticMDE(metric="precomputed"),
    QuadraticMDE(weights="pca"),
    QuadraticMDE(weights="kernel_pca", kernel="precomputed"),
    QuadraticMDE(weights="lle", n_neighbors=4),
    QuadraticMDE(weights="classical_mds"),
    QuadraticMDE(weights="isomap", n_components=1),
    QuadraticMDE(weights="precomputed"),
    AnchoredMDE(),
    AnchoredMDE(attractive_penalty="huber", n_neighbors=3, metric="manhattan", max_distance=100.0),
    AnchoredMDE(metric="affinity"),
    AnchoredMDE(loss="squared"),
    AnchoredClassifier(),
    AnchoredClassifier(metric="affinity"),
]
ANCHORED = [e for e in CONFIGURATIONS + RARE if isinstance(e, AnchoredMDE | AnchoredClassifier)]


@parametrize_with_checks(CONFIGURATIONS)
def test_scikit_learn_compatible(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(RARE)
def test_rare_settings_are_scikit_learn_compatible(estimator, check):
    check(estimator)


# A semidefinite program takes up to 15 seconds.
@pytest.mark.slow
@parametrize_with_checks([QuadraticMDE(weights="mvu", n_neighbors=2)])
def test_maximum_variance_unfolding_is_scikit_learn_compatible(estimator, check):
    check(estimator)


# check_estimator leaves them out where an instance's `fit` takes sample_weight among further
# keywords; two more ask that a sample of weight 2 is the same as two copies of it.
WEIGHT_CHECKS = [
    "check_sample_weights_pandas_series",
    "check_sample_weights_not_an_array",
    "check_sample_weights_list",
    "check_all_zero_sample_weights_error",
    "check_sample_weights_shape",
    "check_sample_weights_not_overwritten",
]


@pytest.mark.parametrize("name", WEIGHT_CHECKS)
def test_weights_of_samples_are_taken_as_scikit_learn_asks(name):
    check = getattr(estimator_checks, name, None)
    if check is None:
        pytest.skip(f"scikit-learn {sklearn.__version__} has no {name}")
    check("PreserveNeighbors", PreserveNeighbors())


def test_fit_names_its_weights_and_promises_no_copies():
    assert "sample_weight" in inspect.signature(PreserveNeighbors.fit).parameters
    assert not has_fit_parameter(PreserveNeighbors(), "sample_weight")
    fit = PreserveNeighbors(n_neighbors=3).fit
    assert pickle.loads(pickle.dumps(fit)).__self__.n_neighbors == 3
    assert fit.__doc__ == PreserveNeighbors.fit.__doc__


# check_estimator does not call these.
MORE_CHECKS = [
    "check_param_validation",
    "check_set_output_transform",
    "check_set_output_transform_pandas",
    "check_set_output_transform_polars",
    "check_global_output_transform_pandas",
    "check_global_set_output_transform_polars",
    "check_transformer_get_feature_names_out",
    "check_transformer_get_feature_names_out_pandas",
    "check_dataframe_column_names_consistency",
    "check_inplace_ensure_writeable",
]


# Scikit-learn wraps the output of a class in the same way for all of its settings.
OF_CLASS = {name for name in MORE_CHECKS if "output" in name}


def _pairs_of_more_checks():
    """Each estimator with each check; what says the same of a class again is slow."""
    for estimator in CONFIGURATIONS + RARE:
        rare = estimator in RARE
        for name in MORE_CHECKS:
            again = name in OF_CLASS and repr(estimator) != f"{type(estimator).__name__}()"
            marks = [pytest.mark.slow] if rare or again else []
            yield pytest.param(estimator, name, marks=marks)


def _name(value):
    return value if isinstance(value, str) else repr(value)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.filterwarnings("ignore:X has feature names")
@pytest.mark.parametrize(("estimator", "name"), list(_pairs_of_more_checks()), ids=_name)
def test_checks_that_check_estimator_leaves_out(estimator, name):
    if "polars" in name:
        pytest.importorskip("polars")
    if "output" in name or "names_out" in name:
        if not hasattr(estimator, "transform"):
            pytest.skip("no transformer")
    check = getattr(estimator_checks, name, None)
    if check is None:
        pytest.skip(f"scikit-learn {sklearn.__version__} has no {name}")
    check(type(estimator).__name__, estimator)


@pytest.mark.parametrize(
    ("estimator", "square", "positive"),
    [
        (PreserveNeighbors(), False, False),
        (PreserveNeighbors(metric="precomputed"), True, True),
        (PreserveNeighbors(metric="graph"), True, True),
        (PreserveNeighbors(metric="affinity"), True, False),
        (PreserveDistances(), False, False),
        (PreserveDistances(metric="manhattan", n_neighbors=3), False, False),
        (PreserveDistances(metric=max), False, False),
        (PreserveDistances(metric="precomputed"), True, True),
        (PreserveDistances(metric="graph"), True, True),
        (QuadraticMDE(), False, False),
        (QuadraticMDE(metric="precomputed"), True, True),
        (QuadraticMDE(weights="pca"), False, False),
        (QuadraticMDE(weights="kernel_pca", kernel="precomputed"), True, False),
        (QuadraticMDE(weights="precomputed"), True, False),
    ],
    ids=repr,
)
def test_tags(estimator, square, positive):
    tags = get_tags(estimator)
    assert tags.input_tags.pairwise == square
    assert tags.input_tags.positive_only == positive
    assert tags.input_tags.sparse
    assert tags.transformer_tags.preserves_dtype == ["float64", "float32"]
    assert not tags.non_deterministic
    assert not tags.target_tags.required


@pytest.mark.parametrize("estimator", ANCHORED, ids=repr)
def test_tags_of_anchored_estimators(estimator):
    tags = get_tags(estimator)
    square = estimator.metric in ("precomputed", "affinity", "graph")
    assert tags.input_tags.pairwise == square
    assert tags.input_tags.positive_only == square
    assert tags.input_tags.sparse
    assert not tags.non_deterministic
    assert tags.target_tags.required


def test_html_repr_names_the_parameters():
    html = PreserveNeighbors(n_neighbors=7)._repr_html_()
    assert "PreserveNeighbors" in html
    assert "n_neighbors" in html
    # there is no such page
    assert "scikit-learn.org/stable/modules/generated/skmde" not in html
    assert PreserveNeighbors()._get_doc_link() == ""


def test_pickle_of_another_version_warns(monkeypatch):
    estimator = PreserveNeighbors(n_neighbors=7)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert vars(pickle.loads(pickle.dumps(estimator))) == vars(estimator)
    with monkeypatch.context() as patch:
        patch.setattr(skmde, "__version__", "0.0.1")
        old = pickle.dumps(estimator)
    with pytest.warns(UserWarning, match=r"saved by skmde 0\.0\.1.*fit it again"):
        assert pickle.loads(old).n_neighbors == 7


def test_metadata_routing_is_understood():
    with sklearn.config_context(enable_metadata_routing=True):
        assert PreserveNeighbors().get_metadata_routing() is not None
