"""scikit-learn's own checks of the anchored estimators, with no failure expected."""

import pytest
import sklearn
from sklearn.utils import estimator_checks, get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from skmde import AnchoredClassifier, AnchoredMDE

CONFIGURATIONS = [
    AnchoredMDE(),
    AnchoredMDE(attractive_penalty="log1p", repulsive_penalty="log", init="random"),
    AnchoredMDE(attractive_penalty="huber", n_neighbors=3, metric="manhattan", max_distance=100.0),
    AnchoredMDE(metric="precomputed"),
    AnchoredMDE(metric="affinity"),
    AnchoredMDE(loss="squared"),
    AnchoredMDE(loss="absolute", metric="precomputed"),
    AnchoredClassifier(),
    AnchoredClassifier(n_neighbors=3, metric="manhattan"),
    AnchoredClassifier(metric="precomputed"),
    AnchoredClassifier(metric="affinity"),
]

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


@parametrize_with_checks(CONFIGURATIONS)
def test_scikit_learn_compatible(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.filterwarnings("ignore:X has feature names")
@pytest.mark.parametrize("name", MORE_CHECKS)
@pytest.mark.parametrize("estimator", CONFIGURATIONS, ids=repr)
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


@pytest.mark.parametrize("estimator", CONFIGURATIONS, ids=repr)
def test_tags(estimator):
    tags = get_tags(estimator)
    square = estimator.metric in ("precomputed", "affinity", "graph")
    assert tags.input_tags.pairwise == square
    assert tags.input_tags.positive_only == square
    assert tags.input_tags.sparse
    assert not tags.non_deterministic
    assert tags.target_tags.required
