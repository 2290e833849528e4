"""The problem class: what it returns, refuses, keeps and leaves alone."""

import copy
import pickle
import random
import warnings

import numpy as np
import pytest
import torch
from core_problems import Sphere, push_and_pull_weights, random_graph

from skmde import MDE, Anchored, Barrier, Constraint, Penalty, Quadratic, push_and_pull
from skmde.core import problem as problem_module
from skmde.exceptions import ConvergenceWarning

EDGES = np.array([[3, 1], [0, 1], [2, 0], [3, 2], [1, 2]])


def small(distortion="quadratic", constraint=None, **arguments):
    return MDE(4, 2, EDGES, distortion, constraint, **arguments)


def larger(m=2, constraint=None, n=80, seed=0, **arguments):
    rng = np.random.default_rng(seed)
    edges = random_graph(rng, n, 400)
    rng.shuffle(edges)
    weights = push_and_pull_weights(rng, len(edges))
    return MDE(n, m, edges, ("log1p", "log"), constraint, weights=weights, **arguments)


def test_embed_returns_and_keeps_the_solution():
    problem = larger()
    assert problem.X is problem.value is problem.residual_norm is problem.result is None
    X = problem.embed(random_state=0)
    assert X is problem.X is problem.result.X
    assert X.shape == (80, 2) and X.dtype == torch.float32 and X.device.type == "cpu"
    assert problem.value == problem.result.value
    assert problem.residual_norm == problem.result.residual_norm
    assert problem.average_distortion() == pytest.approx(problem.value, rel=1e-5)
    torch.testing.assert_close(X.mean(dim=0), torch.zeros(2), atol=1e-5, rtol=0)


def test_distances_and_the_like_are_in_the_callers_order():
    rng = np.random.default_rng(1)
    w = np.array([2.0, -1.0, 0.5, -3.0, 1.0])
    X = rng.normal(size=(4, 2))
    problem = small(("linear", "quadratic"), weights=w)
    ends = np.sort(EDGES, axis=1)
    np.testing.assert_array_equal(problem.edges, ends)
    difference = X[ends[:, 0]] - X[ends[:, 1]]
    d = np.linalg.norm(difference, axis=1)
    f = w * np.where(w > 0, d, d**2)
    np.testing.assert_allclose(problem.differences(X), difference)
    np.testing.assert_allclose(problem.distances(X), d)
    np.testing.assert_allclose(problem.distortions(X), f)
    assert problem.average_distortion(X) == pytest.approx(f.mean())
    edges, distortions = problem.high_distortion_pairs(X)
    order = np.argsort(-f)
    np.testing.assert_array_equal(edges, ends[order])
    np.testing.assert_allclose(distortions, f[order])


def test_methods_default_to_the_embedding():
    problem = small("squared", deviations=[1, 1, 1, 2, 1])
    X = problem.embed(random_state=0)
    for name in ("differences", "distances", "distortions"):
        method = getattr(problem, name)
        assert torch.equal(method(), method(X))
    assert problem.average_distortion() == problem.average_distortion(X)
    torch.testing.assert_close(problem.high_distortion_pairs(), problem.high_distortion_pairs(X))


@pytest.mark.parametrize(
    "method",
    ["differences", "distances", "distortions", "average_distortion", "high_distortion_pairs"],
)
def test_methods_ask_for_an_embedding_where_there_is_none(method):
    with pytest.raises(ValueError, match=r"call embed\(\) first, or pass X"):
        getattr(small(), method)()


@pytest.mark.parametrize(
    ("arguments", "start", "dtype"),
    [
        ({}, None, torch.float32),
        ({}, np.zeros((4, 2), np.float32), torch.float32),
        ({}, np.zeros((4, 2), np.int64), torch.float32),
        ({}, torch.zeros(4, 2, dtype=torch.uint8), torch.float32),
        ({}, torch.zeros(4, 2, dtype=torch.float16), torch.float32),
        ({}, np.zeros((4, 2)), torch.float64),
        ({"weights": np.ones(5)}, None, torch.float64),
        ({"weights": [1.0] * 5}, None, torch.float64),
        ({"weights": torch.ones(5, dtype=torch.float64)}, None, torch.float64),
        ({"weights": np.ones(5, np.float32)}, None, torch.float32),
        ({"weights": np.ones(5, np.int64)}, None, torch.float32),
        ({"weights": np.ones(5)}, np.zeros((4, 2), np.float32), torch.float64),
        ({"distortion": "squared", "deviations": np.ones(5)}, None, torch.float64),
        ({"distortion": "squared", "deviations": torch.ones(5)}, None, torch.float32),
    ],
)
def test_precision_is_that_of_the_input(arguments, start, dtype):
    problem = small(**arguments)
    X = problem.embed(start, max_iter=2, random_state=0)
    assert X.dtype == dtype
    assert problem.distances().dtype == dtype


@pytest.mark.parametrize(("dtype", "native"), [(">f4", "f4"), (">f8", "f8"), ("g", "f8")])
def test_dtypes_that_torch_does_not_know(dtype, native):
    edges, rng = np.stack(np.triu_indices(9, 1), axis=1), np.random.default_rng(0)
    given = [rng.random(shape).astype(native) for shape in ((9, 2), 36)]
    found = []
    for kind in (dtype, native):
        X, deviations = (x.astype(kind) for x in given)
        for pairs in (edges.astype(">i4"), None):
            mde = MDE(9, 2, pairs, "absolute", deviations=deviations, weights=deviations)
            found.append(mde.embed(X, max_iter=5))
    assert torch.equal(found[0], found[2]) and torch.equal(found[1], found[3])
    assert found[0].dtype == found[2].dtype


def test_float64_is_worth_it():
    problem = small("squared", deviations=np.array([1, 1, 2**0.5, 1, 1]))
    problem.embed(random_state=0, tol=1e-12)
    assert problem.residual_norm <= 1e-12


@pytest.mark.parametrize("as_tensor", [False, True])
@pytest.mark.parametrize("constraint", [None, "standardized", Sphere()])
@pytest.mark.filterwarnings("error", "ignore:The solve ended at max_iter")
def test_inputs_are_not_written_to(constraint, as_tensor):
    rng = np.random.default_rng(2)
    arrays = {
        "edges": EDGES.copy(),
        "weights": rng.gamma(2.0, size=5).astype(np.float32),
        "deviations": rng.gamma(2.0, size=5).astype(np.float32),
        "X": rng.normal(size=(4, 2)).astype(np.float32),
    }
    copies = {name: array.copy() for name, array in arrays.items()}
    if as_tensor:
        given = {name: torch.from_numpy(array) for name, array in arrays.items()}
    else:
        given = arrays
        for array in arrays.values():
            array.flags.writeable = False
    problem = MDE(
        4,
        2,
        given["edges"],
        "squared",
        constraint,
        weights=given["weights"],
        deviations=given["deviations"],
    )
    problem.embed(given["X"], max_iter=5)
    problem.distortions(given["X"])
    problem.high_distortion_pairs()
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, copies[name], err_msg=name)


def test_the_problem_does_not_change_with_the_callers_arrays():
    weights = np.ones(5, np.float32)
    problem = small(weights=weights)
    X = np.arange(8.0).reshape(4, 2)
    before = problem.distortions(X)
    weights[:] = 7
    assert torch.equal(problem.distortions(X), before)


def test_start_is_projected_onto_the_constraint():
    start = np.arange(8.0).reshape(4, 2) + 5
    X = small().embed(start, max_iter=0)
    np.testing.assert_allclose(X, start - start.mean(axis=0))
    X = small(constraint=Sphere(3.0)).embed(start, max_iter=0)
    np.testing.assert_allclose(X.norm(dim=1), 3.0)


def test_start_may_be_the_embedding_itself():
    problem = larger()
    first = problem.embed(max_iter=5, random_state=0)
    kept = first.clone()
    problem.embed(problem.X, max_iter=5)
    assert torch.equal(first, kept)
    assert problem.result.history.value[0] == pytest.approx(
        float(problem.average_distortion(kept)), rel=1e-5
    )
    assert problem.value < problem.result.history.value[0]


@pytest.mark.parametrize(
    "pair",
    [("log1p", "log"), ["log1p", "log"], push_and_pull(), (lambda d: torch.log1p(d**1.5), "log")],
)
def test_pairs_of_penalties(pair):
    weights = np.array([1, -1, 1, -1, 1.0])
    X = np.random.default_rng(3).normal(size=(4, 2))
    want = small(("log1p", "log"), weights=weights).distortions(X)
    torch.testing.assert_close(small(pair, weights=weights).distortions(X), want)


def test_one_penalty_of_a_pair_may_be_missing_where_no_weight_needs_it():
    X = np.random.default_rng(3).normal(size=(4, 2))
    one = small("log1p").distortions(X)
    torch.testing.assert_close(small(("log1p", None)).distortions(X), one)
    other = small("log", weights=-np.ones(5)).distortions(X)
    torch.testing.assert_close(small((None, "log"), weights=-np.ones(5)).distortions(X), other)
    with pytest.raises(ValueError, match="repulsive penalty is None, but some weights are neg"):
        small(("log1p", None), weights=-np.ones(5))


def test_every_row_anchored_gives_the_anchors_in_no_iterations():
    values = np.random.default_rng(4).normal(size=(4, 2))
    problem = small(constraint=Anchored(np.arange(4), values), weights=np.ones(5))
    X = problem.embed(random_state=0)
    np.testing.assert_array_equal(X, values)
    assert problem.result.n_iter == 0 and problem.result.converged


def test_names_of_devices():
    for device in (None, "cpu", torch.device("cpu"), "auto"):
        problem = small(device=device)
        if device != "auto" or not torch.cuda.is_available():
            assert problem.device == torch.device("cpu")
        assert problem.to(device) is problem
    problem.embed(max_iter=1, random_state=0)
    assert problem.to("cpu").X.device.type == "cpu"


def test_moving_a_problem_moves_all_of_it(monkeypatch):
    problem = small(("log1p", "log"), weights=[1, -1, 1, -1, 1])
    problem.embed(max_iter=1, random_state=0)
    # The one other device that every machine has; its tensors hold no numbers.
    monkeypatch.setattr(problem_module, "resolve_device", torch.device)
    problem.to("meta")
    for tensor in (problem.X, problem.edges, problem._edges.weights, problem._edges.order):
        assert tensor.device.type == "meta"
    assert problem.device == torch.device("meta")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_items": 0}, "n_items must be a positive integer; got 0"),
        ({"n_items": 2.0}, r"n_items must be a positive integer; got 2\.0"),
        ({"n_items": True}, "got True"),
        ({"n_components": 0}, "n_components must be a positive integer; got 0"),
        ({"n_components": "2"}, "n_components must be a positive integer; got '2'"),
        ({"n_items": 3}, "name item 3, but there are 3 items"),
        ({"device": "no such device"}, r"'no such device' is not available; this machine has cpu"),
        ({"device": 1.5}, r"device 1\.5 is not available"),
        ({"n_jobs": 0}, "n_jobs is 0"),
        ({"constraint": "spherical"}, "'spherical' is not known"),
        ({"constraint": "standardized", "n_components": 4}, "Use at most 3 components"),
        ({"constraint": Anchored([4], [[0.0, 0.0]])}, "there are 4 items"),
        ({"distortion": "quadratik"}, "Did you mean 'quadratic'"),
        ({"distortion": "barrier"}, r"pass an instance, Barrier\(rho=\.\.\.\)"),
        ({"distortion": "quadratic", "deviations": np.ones(5)}, "unknown loss 'quadratic'"),
        *(
            ({name: np.ma.array(values, mask=values < 1)}, f"{name} is a masked array with")
            for name, values in (
                ("edges", np.array([[0, 1], [1, 2]])),
                ("weights", np.arange(5.0)),
                ("deviations", np.arange(5.0)),
                ("item_weights", np.arange(4.0)),
            )
        ),
    ],
)
def test_problems_that_make_no_sense_are_refused(arguments, message):
    arguments = {
        "n_items": 4,
        "n_components": 2,
        "edges": EDGES,
        "distortion": "quadratic",
        **arguments,
    }
    with pytest.raises(ValueError, match=message):
        MDE(**arguments)


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without a GPU")
def test_missing_gpu_is_named_with_what_is_there():
    with pytest.raises(ValueError, match=r"'cuda' is not available; this machine has cpu"):
        small(device="cuda")
    with pytest.raises(ValueError, match=r"'cuda:3' is not available"):
        small().to("cuda:3")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tol": -1e-3}, r"tol must be a number, at least 0; got -0\.001"),
        ({"tol": np.nan}, "tol must be a number, at least 0; got nan"),
        ({"tol": "small"}, "tol must be a number"),
        ({"max_iter": -1}, "max_iter must be an integer, at least 0; got -1"),
        ({"max_iter": 2.5}, r"max_iter must be an integer, at least 0; got 2\.5"),
        ({"memory_size": 0}, "memory_size must be an integer, at least 1; got 0"),
        ({"snapshot_every": 0}, "snapshot_every must be an integer, at least 1; got 0"),
        ({"X": np.zeros((4, 3))}, r"starting point X must have shape \(4, 2\); got \(4, 3\)"),
        ({"X": np.zeros(8)}, r"must have shape \(4, 2\); got \(8,\)"),
        (
            {"X": np.full((4, 2), np.nan)},
            "starting point X holds NaN or infinite entries; all must be finite",
        ),
        ({"X": np.full((4, 2), np.inf)}, "holds NaN or infinite entries"),
        ({"X": np.ma.array(np.ones((4, 2)), mask=np.eye(4, 2))}, "X is a masked array with 2"),
        ({"X": "quadratic"}, "must hold real numbers; got dtype <U9"),
        ({"X": np.ones((4, 2), complex)}, "must hold real numbers; got dtype complex128"),
        (
            {"X": torch.ones(4, 2, dtype=torch.complex64)},
            r"real numbers; got dtype torch\.complex64",
        ),
    ],
)
def test_solves_that_make_no_sense_are_refused(arguments, message):
    problem = small()
    with pytest.raises(ValueError, match=message):
        problem.embed(**arguments)
    assert problem.X is None and problem.result is None


def test_start_with_an_infinite_value_warns_and_is_returned():
    problem = small(Barrier(1.0))
    start = 0.1 * np.arange(8.0).reshape(4, 2)
    with pytest.warns(ConvergenceWarning, match="not finite at the starting point") as caught:
        X = problem.embed(start)
    assert caught[0].filename == __file__
    np.testing.assert_allclose(X, start - start.mean(axis=0))
    assert not problem.result.converged and problem.result.n_iter == 0


def test_a_solve_that_gets_nowhere_warns():
    class Wrong(Penalty):
        def value(self, d):
            return d**2

        def slope(self, d):
            return torch.full_like(d, -2.0)  # of the wrong sign: every step goes uphill

    problem = small(Wrong())
    with pytest.warns(ConvergenceWarning, match="no step along the search direction decreases"):
        problem.embed(random_state=0)
    assert problem.result.n_iter == 0


@pytest.mark.filterwarnings("error")
def test_a_start_that_cannot_be_improved_is_no_reason_to_warn():
    problem = larger()
    solution = problem.embed(random_state=0, tol=0.0, max_iter=3000)
    assert "no step" in problem.result.reason
    problem.embed(solution, tol=0.0, max_iter=3000)
    assert "no step" in problem.result.reason
    assert problem.residual_norm > 0.01 * problem.result.history.residual_norm[0]


def test_a_barrier_problem_stays_outside_its_radius():
    edges = np.array([(i, j) for i in range(12) for j in range(i + 1, 12)])
    problem = MDE(12, 2, edges, Barrier(0.5))
    angle = np.linspace(0, 2 * np.pi, 12, endpoint=False)
    closest = []
    problem.embed(
        2 * np.stack([np.cos(angle), np.sin(angle)], axis=1),
        callbacks=[lambda state: closest.append(float(problem.distances(state.X).min()))],
    )
    assert min(closest) > 0.5
    assert problem.result.converged


def test_repr_says_what_the_problem_is():
    text = repr(small(("log1p", "log"), "standardized", weights=[1, -1, 1, -1, 1]))
    assert text == "MDE(4 items, 2 components, 5 edges, Log1p(), Log(), Standardized())"


@pytest.mark.parametrize("solved", [False, True])
def test_problem_survives_pickling_and_copying(solved):
    problem = larger(constraint=Anchored([0, 3], [[0.0, 0.0], [1.0, 2.0]]))
    if solved:
        problem.embed(random_state=0, max_iter=20)
    for twin in (
        pickle.loads(pickle.dumps(problem)),
        copy.deepcopy(problem),
        copy.copy(problem),
    ):
        assert repr(twin) == repr(problem)
        if solved:
            assert torch.equal(twin.X, problem.X)
            assert twin.value == problem.value
            assert twin.result.history.value == problem.result.history.value
        kept = problem.X
        twin.embed(random_state=1, max_iter=10)
        assert problem.X is kept
        assert torch.equal(twin.X, larger_result(problem))


def larger_result(problem):
    return copy.copy(problem).embed(random_state=1, max_iter=10)


def test_same_seed_gives_the_same_bits_and_another_seed_another_embedding():
    runs = [larger().embed(random_state=seed, max_iter=30) for seed in (5, 5, 6)]
    assert torch.equal(runs[0], runs[1])
    assert not torch.allclose(runs[0], runs[2])
    generator = np.random.default_rng(5)
    assert torch.equal(larger().embed(random_state=generator, max_iter=30), runs[0])


@pytest.mark.parametrize("constraint", [None, "standardized"])
def test_global_random_states_are_not_touched(constraint):
    random.seed(1)
    np.random.seed(1)
    torch.manual_seed(1)
    states = random.getstate(), np.random.get_state(), torch.get_rng_state()
    larger(constraint=constraint).embed(random_state=0, max_iter=5)
    larger(constraint=constraint).embed(max_iter=5)
    assert random.getstate() == states[0]
    assert all(np.array_equal(a, b) for a, b in zip(np.random.get_state(), states[1], strict=True))
    assert torch.equal(torch.get_rng_state(), states[2])


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
@pytest.mark.parametrize("verbose", [0, 1])
def test_interrupt_leaves_the_problem_as_it_was(error, verbose, capsys):
    problem = larger()
    first = problem.embed(random_state=0, max_iter=10)
    before = first.clone(), problem.value, problem.residual_norm, problem.result

    def interrupt(state):
        if state.iteration == 4:
            raise error

    with pytest.raises(error):
        problem.embed(random_state=1, callbacks=[interrupt], verbose=verbose)
    assert problem.X is first
    assert torch.equal(problem.X, before[0])
    assert (problem.value, problem.residual_norm) == before[1:3]
    assert problem.result is before[3]
    again = problem.embed(random_state=1, max_iter=10)
    assert torch.equal(again, larger().embed(random_state=1, max_iter=10))


@pytest.mark.parametrize(
    "constraint", [None, "standardized", Anchored([0], [[0.0, 0.0]]), Sphere()]
)
def test_torchs_default_device_does_not_matter(constraint):
    def use():
        problem = larger(constraint=constraint)
        X = problem.embed(random_state=0, max_iter=5)
        return [
            X,
            problem.average_distortion(),
            *problem.high_distortion_pairs(),
            problem.differences(np.ones((80, 2))),
            problem.distances(),
            problem.distortions([[1.0, 2.0]] * 80),
        ]

    plain = use()
    with torch.device("meta"):  # whose tensors hold no numbers
        elsewhere = use()
    for a, b in zip(plain, elsewhere, strict=True):
        assert torch.equal(a, b) if isinstance(a, torch.Tensor) else a == b


def test_torchs_default_type_does_not_matter():
    plain = larger().embed(random_state=0, max_iter=5)
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        assert torch.equal(larger().embed(random_state=0, max_iter=5), plain)
    finally:
        torch.set_default_dtype(before)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode, torch.enable_grad])
def test_torchs_gradient_modes_do_not_matter(mode):
    def use():
        rng = np.random.default_rng(0)
        edges = random_graph(rng, 30, 100)
        problem = MDE(30, 2, edges, lambda d: torch.log1p(d**1.5), "standardized")
        return problem.embed(random_state=0, max_iter=5)

    plain = use()
    with mode():
        inside = use()
    assert torch.equal(plain, inside)
    assert not inside.requires_grad


def test_a_users_constraint_is_asked_whether_it_fits():
    class Never(Constraint):
        def validate(self, n_items, n_components):
            raise ValueError(f"no room for {n_items} items in {n_components} dimensions")

    with pytest.raises(ValueError, match="no room for 4 items in 2 dimensions"):
        small(constraint=Never())


def test_deviations_and_weights_together():
    rng = np.random.default_rng(6)
    w, delta = rng.gamma(2.0, size=(2, 5))
    X = rng.normal(size=(4, 2))
    problem = small("absolute", weights=w, deviations=delta)
    want = w * np.abs(problem.distances(X).numpy() - delta)
    np.testing.assert_allclose(problem.distortions(X), want)


def test_nothing_is_printed_and_nothing_warned():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        larger(constraint="standardized").embed(random_state=0, max_iter=2000)


def test_one_place_for_all_is_no_solution():
    problem = MDE(3, 2, [[0, 1], [1, 2], [0, 2]], "squared", deviations=[3.0, 4.0, 5.0])
    problem.embed(np.zeros((3, 2)))
    np.testing.assert_allclose(problem.distances(), [3.0, 4.0, 5.0], rtol=1e-4)


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6, 1e50])
def test_a_random_start_is_as_large_as_the_distances(size):
    deviations = size * np.array([3.0, 4.0, 5.0])
    problem = MDE(3, 2, [[0, 1], [1, 2], [0, 2]], "squared", deviations=deviations)
    problem.embed(random_state=0, tol=1e-9)
    np.testing.assert_allclose(problem.distances(), deviations, rtol=1e-5)


def test_a_function_without_a_gradient_is_refused():
    edges, deviations = [[0, 1], [1, 2], [0, 2]], [3.0, 4.0, 5.0]
    problem = MDE(3, 2, edges, lambda delta, d: (d.detach() - delta) ** 2, deviations=deviations)
    with pytest.raises(ValueError, match="carries no gradient"):
        problem.embed(random_state=0)
    problem = MDE(3, 2, edges, lambda delta, d: np.abs(d - delta), deviations=deviations)
    with pytest.raises(TypeError, match="uses numpy, which torch cannot differentiate"):
        problem.embed(random_state=0)


@pytest.mark.parametrize("wrong", [lambda Z: Z[:2], lambda Z: Z.numpy()])
def test_a_constraint_that_projects_to_something_else(wrong):
    class Wrong(Constraint):
        def project(self, Z):
            return wrong(Z)

        def project_tangent(self, X, Z):
            return Z

    problem = small("quadratic", constraint=Wrong())
    with pytest.raises(
        ValueError, match=r"project must return a tensor of shape.*check_constraint"
    ):
        problem.embed(np.eye(4, 2))


def test_a_memory_of_any_size():
    assert torch.isfinite(small().embed(random_state=0, memory_size=10**9)).all()


def test_one_callback_needs_no_list():
    problem = small()
    problem.embed(random_state=0, callbacks=lambda state: state.iteration == 2)
    assert problem.result.n_iter == 2
    problem.embed(random_state=0, callbacks=None, max_iter=1)


def test_items_that_run_away_for_want_of_a_minimum_are_reported():
    problem = MDE(
        3,
        2,
        [[0, 1], [1, 2]],
        push_and_pull("linear", "quadratic"),
        weights=np.array([1.0, -1.0]),
    )
    with pytest.warns(ConvergenceWarning, match=r"move apart without end.*Use less repulsion"):
        X = problem.embed(tol=0, max_iter=1000, random_state=0)
    assert bool(torch.isfinite(X).all())


def test_a_notebook_shows_what_is_known_of_a_problem_and_its_solution():
    edges = [[0, 1], [1, 2], [2, 3], [3, 0]]
    problem = MDE(4, 2, edges, Quadratic(), "standardized")
    before = problem._repr_html_()
    assert "4 in 2 dimensions" in before and "Quadratic()" in before and "<svg" not in before
    problem.embed(random_state=0)
    after, alone = problem._repr_html_(), problem.result._repr_html_()
    for text in (f"{problem.value:.4g}", problem.result.reason, "<svg"):
        assert text in after and text in alone
    assert len(repr(problem.result)) < 200
