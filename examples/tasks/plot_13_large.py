"""
Large data
==========

This page is a plan for data of a hundred thousand rows and more: what a fit will need, what to
install, and what to do if it is too much. :doc:`/large` has the details, and the figures behind
the advice. The example itself is small.

=============================================  =====================================================
the problem                                    what to do
=============================================  =====================================================
not known whether it fits in memory            ``plan``, below
the neighbour search is slow                   ``pip install "skmde[faiss]"``; it is used by itself
rows do not fit in memory                      ``np.load("rows.npy", mmap_mode="r")``
millions of rows, many nearly the same         summaries with weights, below
the machine may stop                           ``checkpoint="map.checkpoint"``, below
pairs do not fit in memory                     :class:`~skmde.StreamedMDE`, below
several machines, or several GPUs              :doc:`/distributed`
a GPU                                          ``device="cuda"``
=============================================  =====================================================
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import MiniBatchKMeans

from skmde import PreserveNeighbors, StreamedMDE
from skmde.metrics import knn_accuracy
from skmde.plotting import EmbeddingDisplay

# %%
# Before the fit
# --------------
# ``plan`` needs a shape, no data. It says how much memory each stage takes, and whether it fits.
# ``memory_limit`` is a limit of your own; without it the limit is what the machine has left. A
# fit that needs more raises an error before it begins.

plan = PreserveNeighbors(memory_limit="8GB").plan((1_000_000, 50))
print(plan)
print("fits:", plan.fits)
print("fits in 2 GB:", PreserveNeighbors(memory_limit="2GB").plan((1_000_000, 50)).fits)

# %%
# Many rows, few summaries
# ------------------------
# Of millions of rows many say nearly the same. Embed the means of a few thousand groups, with their
# sizes as weights, and let ``transform`` place all rows. The data here are groups of unequal size;
# the smallest has one row in a hundred.

n_samples, n_groups = 4000, 300
rng = np.random.default_rng(0)
shares = np.array([0.4, 0.3, 0.2, 0.09, 0.01])
kinds = rng.choice(len(shares), n_samples, p=shares)
X = 4 * np.eye(len(shares), 10)[kinds] + rng.normal(size=(n_samples, 10))

groups = MiniBatchKMeans(n_groups, init="random", n_init=1, random_state=0).fit(X)
sizes = np.bincount(groups.labels_, minlength=n_groups)
summaries = groups.cluster_centers_[sizes > 0]
summary_map = PreserveNeighbors(random_state=0).fit(summaries, sample_weight=sizes[sizes > 0])
placed = summary_map.transform(X)
accuracy = knn_accuracy(placed, kinds, random_state=0)
print(f"{len(summaries)} summaries place {len(X)} rows; kinds told apart: {accuracy:.3f}")

# %%
# The summaries on the left, all rows on the right. Compare the two: a group that appears only
# among the rows has no summary.

figure, axes = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained", sharex=True, sharey=True)
nearest_kind = [np.bincount(kinds[groups.labels_ == k]).argmax() for k in np.flatnonzero(sizes)]
EmbeddingDisplay.from_estimator(summary_map, nearest_kind, labels="none", ax=axes[0])
axes[0].set_title(f"{len(summaries)} summaries")
EmbeddingDisplay.from_embedding(placed, kinds, color_name="kind", ax=axes[1])
_ = axes[1].set_title(f"{len(X)} rows, placed")

# %%
# If the machine may stop
# -----------------------
# With ``checkpoint`` the state of the solver is written to a file every few seconds. The same
# call resumes the fit, with the same result to the last bit. Here a callback raises an error at
# iteration 50, in place of a power cut. See :doc:`/persistence`.


def unplug(state):
    if state.iteration == 50:
        raise SystemError("power cut")


with tempfile.TemporaryDirectory() as folder:
    path = str(Path(folder) / "map.checkpoint")
    interrupted = PreserveNeighbors(random_state=0, checkpoint=path, callbacks=[unplug])
    try:
        interrupted.fit(summaries)
    except SystemError as error:
        print("interrupted:", error)
    resumed = PreserveNeighbors(random_state=0, checkpoint=path).fit(summaries)
whole = PreserveNeighbors(random_state=0).fit(summaries)
print("the same map:", np.array_equal(resumed.embedding_, whole.embedding_))

# %%
# Pairs that do not fit in memory
# -------------------------------
# :class:`~skmde.StreamedMDE` reads batches of pairs: from an array on the disk, from an iterable,
# or from a function that draws them. This function draws pairs of rows and gives their distances;
# no more than one batch is ever in memory.

few = X[:500]


def some_distances(k, generator):
    """The batch of round k: pairs, no weights, original distances."""
    first = generator.integers(len(few), size=5000)
    second = (first + generator.integers(1, len(few), size=5000)) % len(few)
    lengths = np.linalg.norm(few[first] - few[second], axis=1)
    return np.stack([first, second], axis=1), None, lengths


streamed = StreamedMDE(len(few), 2, some_distances, "squared")
streamed.embed(n_rounds=60, random_state=0)
print(f"average loss at the end: {streamed.value:.3f}")

# %%
# Several machines
# ----------------
# A group of ``torch.distributed`` shares one fit. Each process runs the same script (not run here,
# since it needs a second machine):
#
# .. code-block:: python
#
#     # embed.py
#     import numpy as np
#     import torch.distributed as dist
#     from skmde import PreserveNeighbors
#
#     dist.init_process_group("gloo")
#     embedding = PreserveNeighbors(random_state=0).fit_transform(np.load("rows.npy"))
#     if dist.get_rank() == 0:
#         np.save("embedding.npy", embedding)
#     dist.destroy_process_group()
#
# .. code-block:: sh
#
#     torchrun --nnodes 2 --nproc-per-node 1 --node-rank 0 --master-addr 192.0.2.1 embed.py
#
# It saves time and no memory. On one machine one process is best: it uses all cores.
#
# What can go wrong
# -----------------
# - *Rare kinds vanish* in a random sample. Groups by k-means keep them better; see the figures of
#   :doc:`/large`.
# - *Sizes that differ by thousands*, as those of the cells of a grid do: take their square roots as
#   weights.
# - *The first fit of a process is slow*, since numba compiles. The compiled code is cached for
#   the next one.
# - *A temporary folder that is too small*: rows of a mapped file that have to be converted are
#   written to the folder ``TMPDIR``.
# - *Two fits with one checkpoint* are refused. Give each its own path.
# - *A picture of a million points* is an image of their density by default: see :doc:`/plotting`.

plt.show()
