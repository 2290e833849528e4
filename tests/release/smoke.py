"""Uses an installed skmde as a new user would, without pytest and without the checkout.

    python -I tests/release/smoke.py

`make release-check` runs it from another folder, in an environment that has the wheel alone.
"""

import importlib.metadata
import importlib.resources
import pickle
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.utils.estimator_checks import check_estimator

import skmde


def the_wheel_has_all_files() -> None:
    place = Path(skmde.__file__).resolve()
    assert "site-packages" in place.parts, f"skmde was imported from {place}"
    files = importlib.resources.files("skmde")
    assert files.joinpath("py.typed").is_file()
    assert files.joinpath("plotting/explorer/bundle/explorer.js").is_file()
    names = [path.name for path in importlib.metadata.files("skmde") or ()]
    assert [names.count(name) for name in ("LICENSE", "LICENSES.txt")] == [1, 1]
    for name in skmde.__all__:
        getattr(skmde, name)


def digits_are_embedded() -> None:
    X = load_digits().data[:320]
    embedder = skmde.PreserveNeighbors(random_state=0)
    embedding = embedder.fit_transform(X[:300])
    assert embedding.shape == (300, 2)
    assert skmde.metrics.neighborhood_recall(X[:300], embedding) > 0.4
    again = skmde.PreserveNeighbors(random_state=0).fit_transform(X[:300])
    np.testing.assert_array_equal(again, embedding)

    unseen = embedder.transform(X[300:])
    np.testing.assert_array_equal(embedder.transform(X[300:301]), unseen[:1])
    copy = pickle.loads(pickle.dumps(embedder))
    np.testing.assert_array_equal(copy.transform(X[300:]), unseen)


def a_page_is_written() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        skmde.plotting.explore(np.eye(3)[:, :2]).save(path)
        assert path.stat().st_size > 10_000


def scikit_learn_checks_pass() -> None:
    with warnings.catch_warnings():
        # Some checks pass data of which nobody would make a map.
        warnings.simplefilter("ignore")
        check_estimator(skmde.QuadraticMDE())


def main() -> None:
    print(f"skmde {skmde.__version__}, Python {sys.version.split()[0]}")
    for step in (
        the_wheel_has_all_files,
        digits_are_embedded,
        a_page_is_written,
        scikit_learn_checks_pass,
    ):
        start = time.perf_counter()
        step()
        seconds = time.perf_counter() - start
        print(f"  {step.__name__.replace('_', ' ')} ({seconds:.1f} s)", flush=True)


if __name__ == "__main__":
    main()
