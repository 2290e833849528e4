"""Two gloo ranks on this machine. ``tests/rank_cases.py`` is what each of them runs, once."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import rank_cases
from processes import ROOT, THREADS, run_python

CASES = list(rank_cases.cases())
NOT_COMPILED = "a function of torch"  # sums over other stretches of the pairs


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """What the two ranks found: arrays and facts of each."""
    folder = tmp_path_factory.mktemp("ranks")
    environment = {
        **os.environ,
        **dict.fromkeys(THREADS, "1"),
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(Path(rank_cases.__file__).parent)]),
    }
    processes = [
        subprocess.Popen(
            [sys.executable, rank_cases.__file__, str(rank), str(folder)],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in (0, 1)
    ]
    try:
        texts = [process.communicate(timeout=300)[0] for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert [process.returncode for process in processes] == [0, 0], texts
    arrays = [dict(np.load(folder / f"{rank}.npz")) for rank in (0, 1)]
    facts = [json.loads((folder / f"{rank}.json").read_text()) for rank in (0, 1)]
    return arrays, facts


def test_all_ranks_end_with_the_same_embedding(told):
    (first, second), _ = told
    for name in CASES:
        np.testing.assert_array_equal(first[name], second[name], err_msg=name)


def test_two_ranks_end_with_the_embedding_of_one_process(told):
    (first, _), _ = told
    for name in set(CASES) - {rank_cases.SEEDLESS}:
        alone = first[f"alone: {name}"]
        error = np.abs(first[name] - alone).max() / np.abs(alone).max()
        assert error <= (1e-5 if name == NOT_COMPILED else 0), name


def test_sums_by_shares_of_the_entries_are_the_same(told):
    (first, second), _ = told
    np.testing.assert_array_equal(first["by shares"], first["all pairs repel"])
    np.testing.assert_array_equal(second["by shares"], first["all pairs repel"])


@pytest.mark.parametrize(
    ("what", "named"),
    [
        ("data", "X"),
        ("parameters", "n_components"),
        ("function", "attractive_penalty"),
        ("weights", "weights"),
    ],
)
def test_ranks_that_hold_different_things_fail_with_one_message(told, what, named):
    _, (first, second) = told
    assert first[what] == second[what]
    assert first[what].startswith("ValueError: The 2 ranks of the torch.distributed group hold")
    assert f" parameters: {named}. " in first[what]


def test_ranks_have_no_common_checkpoint(told):
    _, (first, second) = told
    assert first["checkpoint"] == second["checkpoint"]
    assert "pass checkpoint=None" in first["checkpoint"]


def test_ranks_may_have_settings_of_their_own(told):
    _, facts = told
    assert [each["their own"] for each in facts] == [None, None]


def test_a_callback_of_one_rank_stops_all_and_may_work_alone(told):
    _, facts = told
    assert [each["n_iter"] for each in facts] == [4, 4]
    assert np.shape(facts[0]["alone"]) == (2, 2)


def test_a_failing_callback_ends_all_ranks(told):
    _, (first, second) = told
    assert second["failure"] == "OSError: no room"
    assert "A callback raised an error on rank 1" in first["failure"]


def test_a_rank_that_is_late_gives_the_others_an_error_within_the_timeout(told):
    _, (first, _) = told
    assert first["late"].startswith("RuntimeError: Rank 0 of 2 got no answer from another rank")
    assert first["late after"] < 2 * rank_cases.LITTLE_PATIENCE


def test_a_rank_that_ends_gives_the_others_an_error(told):
    _, (first, _) = told
    assert first["ended"].startswith("RuntimeError: Rank 0 of 2 got no answer from another rank")
    assert first["ended after"] < rank_cases.PATIENCE / 2


def test_importing_the_package_does_not_import_distributed():
    code = "import sys, skmde; assert not [m for m in sys.modules if m.startswith('torch')]"
    run_python(code)
