"""scikit-learn's own checks of QuadraticMDE, with no failure expected."""

import pytest
import sklearn
from sklearn.utils import estimator_checks, get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from skmde import QuadraticMDE

CONFIGURATIONS = [
    QuadraticMDE(),
    QuadraticMDE(metric="precomputed"),
    QuadraticMDE(weights="normalized_laplacian", n_neighbors=4, metric="manhattan"),
    QuadraticMDE(weights="pca"),
    QuadraticMDE(weights="kernel_pca", kernel="rbf"),
    QuadraticMDE(weights="kernel_pca", kernel="precomputed"),
    QuadraticMDE(weights="lle", n_neighbors=4),
    QuadraticMDE(weights="classical_mds"),
    QuadraticMDE(weights="classical_mds", metric="precomputed"),
    QuadraticMDE(weights="isomap", n_components=1),
    QuadraticMDE(weights="isomap", metric="precomputed"),
    QuadraticMDE(weights="precomputed"),
]


@parametrize_with_checks(CONFIGURATIONS)
def test_scikit_learn_compatible(estimator, check):
    check(estimator)


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


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.filterwarnings("ignore:X has feature names")
@pytest.mark.parametrize("name", MORE_CHECKS)
@pytest.mark.parametrize("estimator", CONFIGURATIONS, ids=repr)
def test_checks_that_check_estimator_leaves_out(estimator, name):
    if "polars" in name:
        pytest.importorskip("polars")
    check = getattr(estimator_checks, name, None)
    if check is None:
        pytest.skip(f"scikit-learn {sklearn.__version__} has no {name}")
    check(type(estimator).__name__, estimator)


@pytest.mark.parametrize(
    ("estimator", "square", "positive"),
    [
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
