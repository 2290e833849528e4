"""What a solve prints: a bar or lines if asked for, else nothing at all."""

import builtins
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import skmde
from skmde import MDE

EDGES = np.array([[0, 1], [1, 2], [2, 3], [0, 3]])


def problem():
    return MDE(4, 2, EDGES, "squared", deviations=np.array([1.0, 2.0, 1.0, 3.0]))


@pytest.fixture
def without_tqdm(monkeypatch):
    original = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name.split(".")[0] == "tqdm":
            raise ImportError(name)
        return original(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)


def test_nothing_is_printed_by_default(capfd):
    problem().embed(random_state=0)
    problem().embed(random_state=0, verbose=0)
    assert capfd.readouterr() == ("", "")


def test_bar_shows_value_and_residual_on_stderr(capsys):
    pytest.importorskip("tqdm")
    solved = problem()
    solved.embed(random_state=0, max_iter=20, tol=0.0, verbose=1)
    out, err = capsys.readouterr()
    assert out == ""
    assert "embedding" in err
    assert "20/20" in err or f"{solved.result.n_iter}/20" in err
    assert f"distortion={solved.value:.6g}" in err
    assert f"residual={solved.residual_norm:.2e}" in err


def test_lines_are_printed_where_tqdm_is_missing(capsys, without_tqdm):
    solved = problem()
    solved.embed(random_state=0, max_iter=20, tol=0.0, snapshot_every=1, verbose=1)
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert len(lines) == solved.result.n_iter // 2
    value = solved.result.history.value[4]
    residual = solved.result.history.residual_norm[4]
    assert lines[1] == f"iteration 4 of 20: distortion {value:.6g}, residual {residual:.2e}"


def test_progress_does_not_stop_the_solve_and_users_callbacks_still_do(capsys):
    solved = problem()
    solved.embed(random_state=0, tol=0.0, verbose=1, callbacks=[lambda s: s.iteration == 3])
    assert solved.result.n_iter == 3


def in_terminal(verbose):
    """What a process whose output is a terminal writes there in a solve."""
    pty = pytest.importorskip("pty")
    termios = pytest.importorskip("termios")
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 100))  # or there would be no room for a bar
    code = (
        "import numpy as np; from skmde import PreserveNeighbors; "
        "X = np.random.default_rng(0).standard_normal((80, 4)); "
        f"PreserveNeighbors(max_iter=20, tol=0, random_state=0, verbose={verbose}).fit(X)"
    )
    root = str(Path(skmde.__file__).parent.parent)
    subprocess.run(
        [sys.executable, "-W", "ignore:The solve ended at max_iter", "-c", code],
        check=True,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "PYTHONPATH": root},
    )
    os.close(theirs)
    written = b""
    try:
        while chunk := os.read(ours, 4096):
            written += chunk
    except OSError:  # what Linux says at the end
        pass
    os.close(ours)
    return written.decode()


def test_a_bar_stays_on_one_line_of_a_terminal():
    pytest.importorskip("tqdm")
    written = in_terminal(verbose=1)
    lines = written.split("\n")
    stages = [line.split(":")[0] for line in lines if line.strip().endswith(" s")]
    assert stages == ["neighbors", "edges", "init", "solve"]
    assert len(lines) == 6 and lines[-1] == ""  # the bar has the line before "solve"
    frames = lines[3].split("\r")
    assert any("0/20" in frame for frame in frames)
    assert any("20/20" in frame and "residual=" in frame for frame in frames[-3:])


def test_nothing_is_written_to_a_terminal_by_default():
    assert in_terminal(verbose=0) == ""


def test_no_bar_where_there_is_no_stderr(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    problem().embed(random_state=0, verbose=1)
    skmde.PreserveDistances(n_neighbors=3, verbose=1).fit(np.arange(20.0).reshape(10, 2))
