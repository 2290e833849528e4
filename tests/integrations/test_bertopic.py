"""BERTopic with PreserveNeighbors in place of UMAP, sentence embeddings given."""

import re

import numpy as np
import pytest
from bertopic import BERTopic
from bertopic.backend import BaseEmbedder
from hdbscan import HDBSCAN
from sklearn import datasets
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline

from skmde import PreserveDistances, PreserveNeighbors

SUBJECTS = ("wine", "breast_cancer", "diabetes", "digits")
N_DOCUMENTS = 60  # of each subject, and a tenth of that unseen


class NeverCalled(BaseEmbedder):
    """Embeddings are given, so BERTopic has no reason to ask for any."""

    def embed(self, documents, verbose=False):
        raise AssertionError("BERTopic asked for embeddings")


def own_words(subject):
    """Words of scikit-learn's description of a data set that no other description has."""
    words = {
        name: set(re.findall(r"[a-z]{4,}", getattr(datasets, f"load_{name}")().DESCR.lower()))
        for name in SUBJECTS
    }
    others = set().union(*(words[name] for name in SUBJECTS if name != subject))
    return sorted(words[subject] - others)


@pytest.fixture(scope="module")
def corpus():
    """Documents of ten words, their subjects and embeddings; the last tenth is unseen."""
    rng = np.random.default_rng(0)
    vocabularies = [own_words(subject) for subject in SUBJECTS]
    subjects = rng.permutation(np.repeat(np.arange(4), N_DOCUMENTS))
    documents = [" ".join(rng.choice(vocabularies[subject], 10)) for subject in subjects]
    embed = make_pipeline(TfidfVectorizer(), TruncatedSVD(32, random_state=0))
    embeddings = embed.fit_transform(documents).astype(np.float32)
    return documents, subjects, embeddings


@pytest.fixture(scope="module")
def n_seen(corpus):
    return len(corpus[0]) * 9 // 10


def topic_model(**params):
    settings = {"n_components": 5, "n_neighbors": 15, "metric": "cosine", "random_state": 0}
    return BERTopic(
        umap_model=PreserveNeighbors(**{**settings, **params}),
        hdbscan_model=HDBSCAN(min_cluster_size=10, prediction_data=True),
        embedding_model=NeverCalled(),
    )


@pytest.fixture(scope="module")
def fitted(corpus, n_seen):
    documents, _, embeddings = corpus
    model = topic_model()
    topics, _ = model.fit_transform(documents[:n_seen], embeddings[:n_seen])
    return model, np.array(topics)


def test_topics_are_the_subjects(fitted, corpus, n_seen):
    model, topics = fitted
    _, subjects, _ = corpus
    assert adjusted_rand_score(subjects[:n_seen], topics) > 0.8
    for topic in np.unique(topics[topics >= 0]):
        subject = np.bincount(subjects[:n_seen][topics == topic]).argmax()
        words = {word for word, _ in model.get_topic(topic)}
        assert words <= set(own_words(SUBJECTS[subject]))


def test_unseen_documents_get_the_topics_of_their_subjects(fitted, corpus, n_seen):
    model, topics = fitted
    documents, subjects, embeddings = corpus
    found, _ = model.transform(documents[n_seen:], embeddings[n_seen:])
    of_subject = [np.bincount(topics[subjects[:n_seen] == k] + 1).argmax() - 1 for k in range(4)]
    assert np.mean(np.array(of_subject)[subjects[n_seen:]] == found) > 0.8
    alone, _ = model.transform(documents[n_seen : n_seen + 1], embeddings[n_seen : n_seen + 1])
    assert alone[0] == found[0]


def test_topics_can_be_reduced_saved_and_loaded(corpus, n_seen, tmp_path):
    documents, _, embeddings = corpus
    model = topic_model().fit(documents[:n_seen], embeddings[:n_seen])
    before = len(model.get_topics())
    model.reduce_topics(documents[:n_seen], nr_topics=before - 1)
    assert len(model.get_topics()) == before - 1
    model.save(tmp_path / "topics", serialization="pickle")
    expected, _ = model.transform(documents[n_seen:], embeddings[n_seen:])
    loaded = BERTopic.load(tmp_path / "topics")
    np.testing.assert_array_equal(
        loaded.transform(documents[n_seen:], embeddings[n_seen:])[0], expected
    )


def test_given_classes_pull_their_documents_together(corpus, n_seen):
    documents, subjects, embeddings = corpus
    rng = np.random.default_rng(1)
    noisy = (embeddings + rng.normal(scale=0.15, size=embeddings.shape)).astype(np.float32)
    known = np.where(rng.random(len(subjects)) < 0.5, subjects, -1)
    agreement = []
    for weight in (0.0, 1.0):
        model = topic_model(target_weight=weight)
        topics, _ = model.fit_transform(documents[:n_seen], noisy[:n_seen], y=known[:n_seen])
        agreement.append(adjusted_rand_score(subjects[:n_seen], topics))
    assert agreement[1] > agreement[0]


def test_documents_are_drawn_where_they_were_placed(fitted, corpus, n_seen):
    model, _ = fitted
    documents, _, embeddings = corpus
    coordinates = PreserveNeighbors(metric="cosine", random_state=0).fit_transform(
        embeddings[:n_seen]
    )
    figure = model.visualize_documents(documents[:n_seen], reduced_embeddings=coordinates)
    drawn = np.concatenate([np.c_[trace.x, trace.y] for trace in figure.data])
    # BERTopic writes the label of a topic over one of its documents
    assert np.isin(coordinates[:, 0], drawn[:, 0]).sum() >= n_seen - len(model.get_topics())


def test_preserve_distances_serves_as_well(corpus, n_seen):
    documents, subjects, embeddings = corpus
    model = topic_model()
    model.umap_model = PreserveDistances(n_components=5, metric="cosine", random_state=0)
    topics, _ = model.fit_transform(documents[:n_seen], embeddings[:n_seen])
    assert adjusted_rand_score(subjects[:n_seen], topics) > 0.5
    found, _ = model.transform(documents[n_seen:], embeddings[n_seen:])
    assert len(found) == len(documents) - n_seen
