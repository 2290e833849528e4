"""
Topics with BERTopic
====================

BERTopic embeds documents, reduces their dimension, clusters them, and describes each cluster by
its words. The step in the middle is UMAP by default; any estimator with ``fit`` and ``transform``
can take its place. This page needs ``pip install bertopic`` and is not run with the other pages;
the project's tests run it.

.. image:: /images/topics.png
   :alt: Documents by topic, with the words of each topic on the map
   :width: 70%
"""

# sphinx_gallery_thumbnail_path = 'images/topics.png'

import argparse
import importlib
import inspect
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from bertopic import BERTopic
from hdbscan import HDBSCAN
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.metrics import adjusted_mutual_info_score
from sklearn.pipeline import make_pipeline

from skmde import PreserveNeighbors
from skmde.plotting import EmbeddingDisplay

parser = argparse.ArgumentParser(description="Find the topics of scipy's documentation.")
parser.add_argument("--output", type=Path, help="picture to write, not show")
output = parser.parse_args().output

# %%
# The documents
# -------------
# So that the page needs no network, the documents are the descriptions of scipy's functions, and
# the vectors are those of tf-idf. With texts of your own, use sentence embeddings:
# ``SentenceTransformer("all-MiniLM-L6-v2").encode(documents)``.

modules = ["stats", "signal", "linalg", "optimize", "special", "ndimage"]
documents, subjects = [], []
for name in modules:
    module = importlib.import_module(f"scipy.{name}")
    for function in sorted(module.__all__):
        text = inspect.getdoc(getattr(module, function)) or ""
        description = text.split("Examples\n")[0]
        if len(description) > 400 and description not in documents:
            documents.append(description)
            subjects.append(name)
words = TfidfVectorizer(stop_words="english", token_pattern=r"[A-Za-z]{4,}", max_df=0.3, min_df=3)
embed = make_pipeline(words, TruncatedSVD(50, random_state=0))
vectors = embed.fit_transform(documents).astype(np.float32)
print(len(documents), "documents of", len(modules), "modules")

# %%
# The topics
# ----------
# Five components and the metric "cosine" are what BERTopic itself gives to UMAP. HDBSCAN needs
# ``prediction_data=True`` to give topics to new documents.

model = BERTopic(
    umap_model=PreserveNeighbors(n_components=5, metric="cosine", random_state=0),
    hdbscan_model=HDBSCAN(min_cluster_size=25, prediction_data=True),
    vectorizer_model=CountVectorizer(
        stop_words="english", token_pattern=r"[A-Za-z]{4,}", max_df=0.5
    ),
    embedding_model=embed,
)
topics, _ = model.fit_transform(documents, vectors)
topics = np.array(topics)
print(model.get_topic_info()[["Topic", "Count", "Name"]].to_string(index=False))

# %%
# Topic -1 holds the documents without a topic. The modules were not given to the model, so the
# agreement of topics and modules is a test: 0 for unrelated ones, 1 for the same.

agreement = adjusted_mutual_info_score(subjects, topics)
print(f"agreement of topics and modules: {agreement:.2f}")

# %%
# New documents
# -------------

new = ["The Fourier transform of a filter and its frequency response."]
found, _ = model.transform(new, embed.transform(new).astype(np.float32))
print(new[0], "->", model.get_topic_info(found[0])["Name"].item())

# %%
# With BERTopic 0.17 the script finds 16 topics in 1034 documents. In short, it prints
#
# .. code-block:: text
#
#     1034 documents of 6 modules
#      Topic  Count                                     Name
#         -1    195       -1_root_kappa_elliptic_correlation
#          0    210         0_filter_window_frequency_signal
#          1    103                1_matrix_batch_core_lwork
#          2     70            2_dlmf_struve_integrals_huber
#          3     47  3_statistic_null_hypothesis_alternative
#     agreement of topics and modules: 0.49
#     The Fourier transform of a filter and its frequency response. -> 0_filter_...
#
# A module has several topics, and about a fifth of the documents have none, so the agreement is
# not higher.

# %%
# The picture
# -----------
# Topics are found in five dimensions. For the picture, embed the vectors in two. BERTopic's own
# ``model.visualize_documents(documents, reduced_embeddings=coordinates)`` draws the same
# coordinates.
#
# A tight island is a set of descriptions that are nearly the same: the ring at the top left holds
# the spheroidal wave functions, and the dot at the bottom right the morphology of images. The
# distance of an island from the rest says nothing.

coordinates = PreserveNeighbors(metric="cosine", random_state=0).fit_transform(vectors)
names = {topic: ", ".join(word for word, _ in model.get_topic(topic)[:2]) for topic in set(topics)}
labels = [None if topic < 0 else names[topic] for topic in topics]
figure, ax = plt.subplots(figsize=(9, 7), layout="constrained")
EmbeddingDisplay.from_embedding(coordinates, labels, labels="map", ax=ax)
ax.set_title(f"{len(documents)} functions of scipy, and the topics of their descriptions")
if output is None:
    plt.show()
else:
    figure.savefig(output, dpi=70)

# %%
# What can go wrong
# -----------------
# - *Many documents without a topic.* Lower ``min_cluster_size``, or call
#   ``model.reduce_outliers(documents, topics)``.
# - *One topic of nearly everything.* Raise ``min_cluster_size``, or pass
#   ``HDBSCAN(cluster_selection_method="leaf")``.
# - *Topics that change with each run.* Give an integer as ``random_state``.
# - *Topics found in the picture.* Cluster in five or more dimensions; a map in the plane breaks
#   neighbourhoods.
# - *Known classes.* ``target_weight`` of :class:`~skmde.PreserveNeighbors` uses the y that is
#   passed to ``model.fit_transform``; -1 means unknown. See :doc:`plot_08_few_labels`.
