"""
Text by tf-idf and by embeddings
================================

A map of texts shows which subjects a collection has, which texts belong to none, and which are
nearly the same. :class:`~skmde.PreserveNeighbors` needs vectors of the texts. There are two usual
ways to get them: word counts (tf-idf), which are sparse and need no model, and embeddings, which
are dense and come from a language model. This page does both, up to the map.
"""

# %%
# The texts
# ---------
#
# The texts are descriptions of functions and methods: those of Python's standard library, NumPy
# and SciPy. They are on every machine that runs skmde, and each has a label, the module it is
# from.

import importlib
import inspect

import matplotlib.pyplot as plt
import numpy as np

MODULES = {
    "asyncio": ["asyncio"],
    "email, http": ["email.message", "http.client", "http.cookiejar", "urllib.request"],
    "files": ["pathlib", "shutil", "tarfile", "zipfile", "os"],
    "logging": ["logging", "logging.handlers"],
    "numpy.linalg, scipy.linalg": ["numpy.linalg", "scipy.linalg"],
    "scipy.ndimage": ["scipy.ndimage"],
    "scipy.signal": ["scipy.signal"],
    "scipy.special": ["scipy.special"],
    "random, numpy.random": ["random", "numpy.random"],
    "unittest": ["unittest.case", "unittest.mock"],
}


def docstrings(modules, at_least=20):
    """The docstrings of public functions, classes and methods, with their names."""
    found = {}
    for module in map(importlib.import_module, modules):
        for name, item in inspect.getmembers(module, callable):
            parts = inspect.getmembers(item, callable) if inspect.isclass(item) else []
            named = [(name, item), *((f"{name}.{part}", value) for part, value in parts)]
            for full_name, value in named:
                text = inspect.getdoc(value) or ""
                public = not full_name.startswith("_") and "._" not in full_name
                if public and len(text.split()) >= at_least:
                    found.setdefault(text, full_name)
    return found


texts, names, subjects = [], [], []
for subject, modules in MODULES.items():
    for text, name in docstrings(modules).items():
        if text not in texts:
            texts.append(text)
            names.append(name)
            subjects.append(subject)
subjects = np.array(subjects)
print(len(texts), "texts, for example", repr(texts[0][:70]))

# %%
# Word counts: tf-idf
# -------------------
#
# ``TfidfVectorizer`` makes a sparse row of weights of words: large for words that are frequent in
# this text and rare in the others. ``max_df=0.2`` leaves out words that are in more than a fifth
# of the texts ("Parameters", "Returns"), and ``min_df=3`` those that are in fewer than three.
#
# The metric is the cosine: it compares the directions of two rows, so that a long text and a short
# one on the same subject are near. The map takes the sparse matrix as it is.

from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

from skmde import PreserveNeighbors

tfidf = TfidfVectorizer(stop_words="english", min_df=3, max_df=0.2, sublinear_tf=True)
words = tfidf.fit_transform(texts)
print(f"tf-idf: {words.shape[1]} words, {words.nnz / words.shape[0]:.0f} of them in a text")

by_words = PreserveNeighbors(metric="cosine", random_state=0).fit(words)

# %%
# Embeddings
# ----------
#
# An embedding is a dense vector that a language model computes from a text. It also brings
# together texts that use different words for the same thing. With the package
# sentence-transformers (which downloads a model, so it is not run here) it is two lines:
#
# .. code-block:: python
#
#    from sentence_transformers import SentenceTransformer
#
#    vectors = SentenceTransformer("all-MiniLM-L6-v2").encode(texts)  # (n_texts, 384)
#
# What follows is the same for vectors of any model. As a stand-in that needs no download, here is
# latent semantic analysis: the 100 leading singular vectors of the tf-idf matrix.
#
# ``Normalizer`` gives each vector unit length. The Euclidean distances of such vectors have the
# same order as cosines, so the default metric will do. For vectors of any length,
# ``PreserveNeighbors(metric="cosine")`` finds the same neighbours without this step.

from sklearn.decomposition import TruncatedSVD
from sklearn.preprocessing import Normalizer

to_vectors = make_pipeline(tfidf, TruncatedSVD(100, random_state=0), Normalizer())
vectors = to_vectors.fit_transform(texts)
print("vectors:", vectors.shape)

by_vectors = PreserveNeighbors(random_state=0).fit(vectors)

# %%
# The maps
# --------
#
# ``labels="map"`` writes the name of each module where its texts are densest.

from skmde.plotting import EmbeddingDisplay

figure, axes = plt.subplots(1, 2, figsize=(10.5, 5.6), layout="constrained")
for ax, fitted, title in zip(axes, (by_words, by_vectors), ("tf-idf", "100 vectors"), strict=True):
    ax.set_title(title)
    EmbeddingDisplay.from_estimator(fitted, subjects, labels="map", ax=ax)

# %%
# How to read them
# ----------------
#
# Texts that lie together use the same words, or, in the second map, words that occur together.
# Here the modules come apart, although no map has seen their names. To see what a group is about,
# ask for the words that are frequent in it. Here are those of the neighbourhood of one text in the
# map:

from sklearn.neighbors import NearestNeighbors

terms = tfidf.get_feature_names_out()
middle = names.index("butter")  # a filter of scipy.signal
search = NearestNeighbors(n_neighbors=15).fit(by_vectors.embedding_)
group = search.kneighbors(by_vectors.embedding_[[middle]], return_distance=False).ravel()
weights = np.asarray(words[group].mean(axis=0)).ravel()
print("texts:", ", ".join(names[k] for k in group))
print("words:", ", ".join(terms[np.argsort(-weights)[:8]]))

# %%
# Clusters with words as names
# ----------------------------
#
# Cluster the map, and name each cluster by the words that weigh most in its texts.
# ``repulsive_weight=0.1`` makes tight groups. ``cluster_selection_method="leaf"`` prefers many small
# clusters to a few large ones. Texts in no cluster get None, and are grey.

from sklearn.cluster import HDBSCAN

tight = PreserveNeighbors(repulsive_weight=0.1, random_state=0).fit(vectors)
leaves = HDBSCAN(min_cluster_size=25, cluster_selection_method="leaf", copy=True)
clusters = leaves.fit_predict(tight.embedding_)
topics = {}
for k in range(clusters.max() + 1):
    weights = np.asarray(words[clusters == k].mean(axis=0)).ravel()
    topics[k] = ", ".join(terms[np.argsort(-weights)[:2]])
print(f"{len(topics)} clusters; {np.mean(clusters < 0):.0%} of the texts in none")

figure, ax = plt.subplots(figsize=(8, 6.5), layout="constrained")
named = [topics.get(k) for k in clusters]
EmbeddingDisplay.from_estimator(tight, named, labels="map", ax=ax)
_ = ax.set_title("clusters, and their words")

# %%
# :ref:`The page on clusters <sphx_glr_gallery_tasks_plot_03_clusters.py>` says what such clusters
# do not prove.
#
# How pure the neighbourhoods are, and how many neighbours the maps keep:

from skmde.metrics import knn_accuracy, neighborhood_recall

for title, fitted, data in (("tf-idf", by_words, words), ("vectors", by_vectors, vectors)):
    recall = neighborhood_recall(data, fitted.embedding_, 15, metric="cosine")
    accuracy = knn_accuracy(fitted.embedding_, subjects)
    print(f"{title:8} same module {accuracy:.2f}, neighbours kept {recall:.2f}")

# %%
# New texts
# ---------
#
# ``transform`` places new texts among the old. It finds a place for every text, so look also at
# how many words of a text the collection has: of the recipe, it has few.

questions = [
    "Design a low-pass digital filter with a given cutoff frequency and order.",
    "Send a request to a server over HTTPS and read the headers of the response.",
    "Replace an object by a mock during a test, and assert that it was called.",
    "Whisk the eggs with sugar, fold in the butter, and bake until golden.",
]
new = tfidf.transform(questions)
places = by_words.transform(new)
search.fit(by_words.embedding_)
for question, row, place in zip(questions, new, places, strict=True):
    nearest = search.kneighbors([place], 1, return_distance=False)[0, 0]
    print(f"{question[:42]}... known words: {row.nnz}, near {names[nearest]} ({subjects[nearest]})")

# %%
# What can go wrong
# -----------------
#
# - **Empty rows.** A text without any known word is a row of zeros. It is equally far from all
#   others, so its place means nothing. ``(words.getnnz(axis=1) == 0).sum()`` counts such texts.
# - **Templates.** Texts with the same header or signature are near each other for that, not for
#   their subject. Remove such lines, or lower ``max_df``.
# - **Near duplicates.** Many copies of one text fill each other's lists of neighbours and become
#   an island. Keep one of each.
# - **Long texts.** Language models read a limited number of tokens of a text. Embed its parts, and
#   map the parts or their mean.
# - **The same word in two senses.** Counts do not see the difference: "butter" is a filter in
#   scipy.signal, and the recipe lands there.
#
# :doc:`/maps` says what the map minimises, and :ref:`the page on clusters
# <sphx_glr_gallery_tasks_plot_03_clusters.py>` what a group of points means.
plt.show()
