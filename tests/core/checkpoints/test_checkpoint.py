"""Checkpoints of problems that are solved by themselves: what is refused, kept and written."""

import errno
import json
import os
import zipfile

import numpy as np
import pytest
import torch

import skmde
from skmde import MDE, Anchored, Log1p
from skmde.core.checkpoints import archive, checkpoint as module
from skmde.core.checkpoints.checkpoint import Checkpoint
from skmde.core.solvers.base import Solver, solve

EDGES = np.array([[0, 1], [1, 2], [2, 3], [0, 3], [0, 2]])
DEVIATIONS = np.array([1.0, 1.0, 1.0, 1.0, 2.0**0.5])


def problem(deviations=DEVIATIONS, loss="absolute", edges=EDGES, n=4, **arguments):
    return MDE(n, 2, edges, loss, deviations=deviations, **arguments)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "solve.checkpoint"


@pytest.fixture
def each_iteration(monkeypatch):
    monkeypatch.setattr(module, "_SECONDS", 0.0)
    monkeypatch.setattr(module, "_MOST", np.inf)


@pytest.fixture
def finished(path):
    problem().embed(random_state=0, max_iter=30, checkpoint=path)
    return path


def test_a_finished_solve_is_not_made_again(finished):
    before, seen = finished.stat().st_mtime_ns, []
    first = problem().embed(random_state=0, max_iter=30)
    solved = problem()
    X = solved.embed(random_state=0, max_iter=30, checkpoint=str(finished), callbacks=seen.append)
    assert torch.equal(X, first)
    assert [state.iteration for state in seen] == [solved.result.n_iter]
    assert finished.stat().st_mtime_ns == before  # not written again
    assert os.listdir(finished.parent) == [finished.name]


OTHERS = [
    ({"deviations": 2 * DEVIATIONS}, {}, "deviations differ"),
    ({"weights": np.full(5, 2.0)}, {}, "weights differ"),
    ({"edges": EDGES[[0, 1, 2, 3, 3]]}, {}, "edges differ"),
    ({"edges": EDGES[:4], "deviations": DEVIATIONS[:4]}, {}, r"edges was .*\(5,\).*, is .*\(4,\)"),
    ({"loss": "squared"}, {}, r"distortion was AbsoluteLoss\(\) for 5 pairs, is SquaredLoss\(\)"),
    ({"constraint": Anchored([0], [[0.0, 0.0]])}, {}, r"constraint was Centered\(\), is Anchored"),
    ({"n": 5}, {}, "n_items was 4, is 5"),
    ({}, {"random_state": 1}, "coordinates of the starting point differ"),
    ({}, {"X": np.eye(4, 2)}, "coordinates of the starting point differ"),
    ({}, {"memory_size": 5}, "memory_size was 10, is 5"),
    ({}, {"snapshot_every": 1}, "snapshot_every was None, is 1"),
    ({}, {"max_iter": 29}, "max_iter was 30, is 29"),
    ({}, {"tol": 1e-4}, "tol was 1e-05, is 0.0001"),
]


def test_another_problem_is_refused_with_the_difference(finished):
    before = finished.read_bytes()
    for arguments, settings, message in OTHERS:
        with pytest.raises(ValueError, match=f"is the checkpoint of another fit: .*{message}"):
            problem(**arguments).embed(
                **{"random_state": 0, "max_iter": 30, "checkpoint": finished, **settings}
            )
        assert finished.read_bytes() == before
        assert os.listdir(finished.parent) == [finished.name]


def test_functions_that_have_one_name_are_told_by_what_they_do(path):
    def solved(factor):
        own = problem(loss=lambda delta, d: factor * (d - delta) ** 2)
        return own.embed(random_state=0, max_iter=20, checkpoint=path)

    X = solved(1.0)
    assert torch.equal(solved(1.0), X)
    with pytest.raises(ValueError, match="value and gradient at the starting point differ"):
        solved(1.5)


def test_repulsion_is_compared(path):
    def solved(**arguments):
        own = MDE(4, 2, EDGES, (Log1p(), "cauchy"), **{"repulsion": "all", **arguments})
        own.embed(random_state=0, max_iter=30, checkpoint=path)

    solved()
    for arguments, message in (
        ({"repulsion": "normalized"}, "repulsion was 'all', is 'normalized'"),
        ({"repulsive_weight": 0.5}, "repulsive_weight was 1.0, is 0.5"),
        ({"item_weights": np.arange(4.0)}, r"item_weights was None, is float64 of shape \(4,\)"),
        ({"repulsion": None}, "repulsion was 'all', is None"),
    ):
        with pytest.raises(ValueError, match=message):
            solved(**arguments)
    with pytest.raises(ValueError, match="length of the warm start, which max_iter sets up to 300"):
        own = MDE(4, 2, EDGES, (Log1p(), "cauchy"), repulsion="all")
        own.embed(random_state=0, max_iter=60, checkpoint=path)


def test_another_version_is_refused(finished, monkeypatch):
    before = skmde.__version__
    monkeypatch.setattr(skmde, "__version__", "999.0")
    with pytest.raises(ValueError, match=f"version was {before}, is 999.0"):
        problem().embed(random_state=0, max_iter=30, checkpoint=finished)


def test_a_header_that_lacks_something_is_refused(finished):
    header, arrays = archive.read(finished)
    for change in (lambda h: h.pop("solves"), lambda h: h["solves"].clear()):
        own = json.loads(json.dumps(header))
        change(own)
        archive.write(finished, own, arrays)
        with pytest.raises(ValueError, match="damaged checkpoint"):
            problem().embed(random_state=0, max_iter=30, checkpoint=finished)


def test_without_a_seed_that_of_the_file_is_used(path):
    first = problem().embed(max_iter=30, checkpoint=path)
    assert torch.equal(problem().embed(max_iter=30, checkpoint=path), first)
    path.unlink()
    assert not torch.equal(problem().embed(max_iter=30, checkpoint=path), first)


def test_seeds_of_several_fits_differ(tmp_path):
    seeds = set()
    for name in "abcd":
        with Checkpoint.opened(tmp_path / name) as checkpoint:
            seeds.add(checkpoint.seed())
            assert checkpoint.seed() in seeds
    assert len(seeds) == 4


@pytest.mark.parametrize("wrong", [1, True, "", b"", ["a"]])
def test_what_is_no_path_is_refused(wrong):
    with pytest.raises(ValueError, match="checkpoint must be the path of a file, or None"):
        problem().embed(checkpoint=wrong)


def test_wrong_places_are_refused(tmp_path, path):
    with pytest.raises(IsADirectoryError, match="is a folder"):
        problem().embed(checkpoint=tmp_path)
    with pytest.raises(FileNotFoundError, match="the folder of the checkpoint does not exist"):
        problem().embed(checkpoint=tmp_path / "none" / "a")
    path.write_text("notes")
    with pytest.raises(ValueError, match="not a checkpoint"):
        problem().embed(checkpoint=path)
    assert path.read_text() == "notes"


def test_two_solves_at_once_are_refused(path):
    def nested(state):
        problem().embed(random_state=0, checkpoint=path)

    with pytest.raises(BlockingIOError, match="another fit is writing this checkpoint"):
        problem().embed(random_state=0, checkpoint=path, callbacks=nested)


def test_a_link_is_one_file_with_its_target(tmp_path, finished):
    link = tmp_path / "link"
    link.symlink_to(finished)
    before = os.stat(finished).st_ino
    problem().embed(random_state=0, max_iter=40, checkpoint=link)
    assert link.is_symlink()
    assert os.stat(finished).st_ino != before  # written anew
    with Checkpoint.opened(finished), pytest.raises(BlockingIOError), Checkpoint.opened(link):
        pass


def test_without_iterations_nothing_is_written(path):
    problem().embed(random_state=0, max_iter=0, checkpoint=path)
    assert not path.exists()


def test_it_writes_every_few_seconds_only(path, monkeypatch):
    now, written = [0.0], []

    def write(*args):
        now[0] += 0.5
        written.append(now[0])

    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(module.archive, "write", write)

    def second(state):
        now[0] += 1.0

    solved = problem(loss="squared")
    solved.embed(random_state=0, tol=0.0, max_iter=40, checkpoint=path, callbacks=second)
    # after 5 s, then after 10 s, since a write takes 0.5 s of at most a twentieth of the time
    gaps = np.diff(written)
    assert 4.5 <= written[0] <= 6.5
    assert (gaps[:-1] >= 10).all() and (gaps[:-1] <= 11.5).all()
    assert len(written) >= 2


def test_a_full_disk_ends_the_solve_and_leaves_the_former_state(path, monkeypatch, each_iteration):
    write, count = archive.write, [0]

    def until_full(*args):
        count[0] += 1
        if count[0] > 3:
            monkeypatch.setattr(archive, "store", full)
        write(*args)

    def full(*args):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(archive, "write", until_full)
    with pytest.raises(OSError, match="no room for the checkpoint: it needs"):
        problem().embed(random_state=0, max_iter=30, checkpoint=path)
    assert count[0] == 4
    monkeypatch.undo()
    with zipfile.ZipFile(path) as file:
        assert json.loads(file.read("header.json"))["header"]["solves"][0]["iteration"] == 3
    X = problem().embed(random_state=0, max_iter=30, checkpoint=path)
    assert torch.equal(X, problem().embed(random_state=0, max_iter=30))


def test_the_error_of_a_solve_is_not_hidden_by_that_of_a_write(path, monkeypatch):
    def refuse(*args):
        raise OSError(errno.EIO, "no write")

    monkeypatch.setattr(archive, "write", refuse)
    # The free solve, which comes first, has ended then, and its state is still to be written.
    anchored = problem(constraint=Anchored([0, 1], [[0.0, 0.0], [1.0, 0.0]]))

    def fail(state):
        raise RuntimeError("of the callback")

    with pytest.raises(RuntimeError, match="of the callback"):
        anchored.embed(random_state=0, checkpoint=path, callbacks=fail)


def test_a_solver_without_states_is_refused(path):
    class Other(Solver):
        max_iter = 1

        def minimize(self, objective, constraint, X, callbacks=()):
            raise AssertionError

    own = problem()
    X = torch.ones(4, 2)
    with Checkpoint.opened(path) as checkpoint:
        with pytest.raises(ValueError, match="Other cannot be interrupted and resumed"):
            solve(Other(), own._objective(X.dtype), own.constraint, X, checkpoint=checkpoint)
