"""Processes that are killed while they solve: the file is whole, and the end is the same."""

import json
import os

import pytest
from processes import run_python

needs_posix = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and signals")

# The parent never computes with more than one thread. Each child is killed at a random moment:
# while it reads, solves, writes, renames or unlocks.
KILLED = """
import json, os, random, signal, time
import numpy as np
import skmde.core.checkpoints.checkpoint as module
from skmde import MDE
from skmde.core.checkpoints import archive
from skmde.core.checkpoints.lock import locked
from pathlib import Path

rng, n = np.random.default_rng(0), 200
edges = rng.integers(0, n, (1000, 2))
edges = edges[edges[:, 0] != edges[:, 1]]
lengths = rng.uniform(0.5, 1.5, len(edges))
path = Path("solve.checkpoint")

def solved(**options):
    problem = MDE(n, 2, edges, "absolute", deviations=lengths, n_jobs=1)
    return problem.embed(random_state=0, tol=0.0, max_iter=400, **options).numpy().tobytes()

def child(**options):
    number = os.fork()
    if number == 0:
        solved(**options)
        os._exit(3)  # it was not killed in time
    return number

def exit_after_8(state):
    if state.iteration == 8:
        os._exit(0)

def wait_before_the_end(state):
    if state.iteration == 390:
        signal.pause()  # on a machine that became faster, the child would end before the signal

expected = solved()
iterations, moment = [0], random.Random(0)
seconds, module._SECONDS, module._MOST = module._SECONDS, 0.0, float("inf")
begin = time.perf_counter()
os.waitpid(child(checkpoint="other.checkpoint", callbacks=exit_after_8), 0)
longest = 1.5 * (time.perf_counter() - begin)
for name in os.listdir("."):
    os.remove(name)
for _ in range(20):
    number = child(checkpoint=path, callbacks=wait_before_the_end)
    time.sleep(moment.uniform(0.0, longest))
    os.kill(number, signal.SIGKILL)
    _, status = os.waitpid(number, 0)
    assert os.WIFSIGNALED(status), status
    with locked(path):  # a process that was killed holds no lock
        if path.exists():
            header, arrays = archive.read(path)
            iterations.append(header["solves"][0]["iteration"])
module._SECONDS, module._MOST = seconds, 0.05
print(json.dumps({
    "same": solved(checkpoint=path) == expected,
    "again": solved(checkpoint=path) == expected,
    "iterations": iterations,
    "left": sorted(os.listdir(".")),
}))
"""


@needs_posix
def test_a_solve_that_was_killed_20_times_ends_with_the_same_bits(tmp_path):
    said = json.loads(run_python(KILLED, folder=tmp_path, threads=1).stdout)
    assert said["same"] and said["again"]
    assert said["iterations"] == sorted(said["iterations"])
    assert 0 < said["iterations"][-1] < 400
    assert len(set(said["iterations"])) > 2  # there was something to interrupt
    assert said["left"] == ["solve.checkpoint"]
