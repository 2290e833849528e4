"""Films: what each picture shows, the files, and wrong input."""

import sys
from types import SimpleNamespace

import matplotlib
import numpy as np
import pytest
from PIL import Image
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skmde
from skmde import PreserveNeighbors, QuadraticMDE
from skmde.plotting import animate

START = np.random.default_rng(0).normal(size=(30, 2))
END = 2.0 * START + 1.0
FILM = [START, (START + END) / 2, END]
pytestmark = pytest.mark.filterwarnings("ignore:The solve ended:UserWarning")
FAST = {"seconds": 0.5, "frames_per_second": 10}


def drawn_positions(film):
    """Rows of the points on the axes, sorted: they are drawn in random order."""
    found = np.concatenate([np.asarray(points.get_offsets()) for points in film._points])
    return found[np.lexsort(found.T)]


def ordered(X):
    return X[np.lexsort(X.T)]


def test_pictures_lead_from_the_first_to_the_last_snapshot_within_one_frame():
    film = animate([START, END], align=False, seconds=1.1, frames_per_second=10)
    assert film.n_pictures == 11
    limits = set()
    for picture, part in ((0, 0.0), (5, 0.5), (10, 1.0), (17, 1.0)):
        film.draw(picture)
        expected = (1 - part) * START + part * END
        np.testing.assert_allclose(drawn_positions(film), ordered(expected), atol=1e-12)
        limits.add((*film.ax_.get_xlim(), *film.ax_.get_ylim(), *film.ax_.get_position().bounds))
    ((left, right, low, high, *_),) = limits
    for X in (START, END):
        assert (X > [left, low]).all() and (X < [right, high]).all()
    assert film.ax_.get_aspect() == 1


def test_raw_snapshots_are_turned_onto_the_next_one():
    turn = np.array([[0.0, 1.0], [-1.0, 0.0]])
    film = animate([START, START @ turn + 5.0, START @ turn @ turn])
    np.testing.assert_allclose(film.frames[0], START @ turn @ turn, atol=1e-12)
    np.testing.assert_allclose(film.frames[1], START @ turn @ turn, atol=1e-12)
    kept = animate([START, START @ turn], align=False)
    np.testing.assert_array_equal(kept.frames[0], START)


def test_an_estimator_and_a_pipeline_say_the_iteration():
    X = np.random.default_rng(1).normal(size=(40, 4))
    estimator = PreserveNeighbors(snapshot_every=4, max_iter=20, random_state=0)
    pipeline = make_pipeline(StandardScaler(), estimator).fit(X)
    film = animate(pipeline, np.arange(40) % 3, title="$a_b", **FAST)
    np.testing.assert_array_equal(film.frames, estimator.snapshots_.astype(float))
    assert film.ax_.get_title() == f"$a_b, iteration {estimator.n_iter_}"
    film.draw(0)
    assert film.ax_.get_title() == "$a_b, iteration 0"
    film.draw(film.n_pictures - 1)
    np.testing.assert_allclose(drawn_positions(film), ordered(estimator.embedding_.astype(float)))


def test_a_problem_and_its_result_are_films():
    edges = np.array([(i, (i + 1) % 12) for i in range(12)])
    problem = skmde.MDE(12, 2, edges, "quadratic", "standardized")
    with pytest.raises(ValueError, match="not solved"):
        animate(problem)
    problem.embed(random_state=0, max_iter=6)
    with pytest.raises(ValueError, match="snapshot_every=5"):
        animate(problem)
    problem.embed(random_state=0, max_iter=6, snapshot_every=2)
    numbers = [number for number, _ in problem.result.history.snapshots]
    for source in (problem, problem.result, problem.result.history.snapshots):
        film = animate(source, **FAST)
        assert film.iterations.tolist() == numbers
        np.testing.assert_allclose(film.frames[-1], problem.result.history.snapshots[-1][1])


@pytest.mark.parametrize("n_components", [1, 3])
def test_one_and_three_components(n_components):
    frames = np.random.default_rng(0).normal(size=(3, 20, n_components))
    film = animate(frames, np.arange(20) % 2, **FAST)
    for picture in range(5):
        film.draw(picture)
        if n_components == 1:
            assert [text.get_text() for text in film.ax_.get_yticklabels()] == ["0", "1"]
    film.figure_.canvas.draw()
    assert len(film.figure_.axes) == 1


def test_a_gif_has_all_pictures_and_they_differ(tmp_path):
    film = animate(FILM, np.arange(30) % 3, color_name="class", theme="dark", **FAST)
    film.save(tmp_path / "film.GIF", dpi=40)
    with Image.open(tmp_path / "film.GIF") as image:
        assert image.n_frames >= 5  # equal pictures at the end may be joined
        first = np.asarray(image.convert("RGB")).astype(int)
        image.seek(image.n_frames - 1)
        last = np.asarray(image.convert("RGB")).astype(int)
    assert first[2, 2].max() < 60 and last[2, 2].max() < 60  # the dark page
    assert (np.abs(first - last).max(axis=2) > 60).mean() > 0.005


def test_an_html_page_has_all_pictures_and_no_markup_of_the_title(tmp_path):
    film = animate(FILM, title="<script>alert(1)</script>", **FAST)
    with matplotlib.rc_context({"animation.embed_limit": 0.001}):
        film.save(str(tmp_path / "film.html"), dpi=40)
    page = (tmp_path / "film.html").read_text(encoding="utf-8")
    assert page.count("data:image/png;base64") == 5 + 10
    assert "<script>alert" not in page
    assert "data:image/png;base64" in film._repr_html_()


def _without_ffmpeg(monkeypatch, package):
    from matplotlib.animation import writers

    monkeypatch.setattr(writers, "is_available", lambda name: False)
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", package)


def test_an_mp4_needs_ffmpeg(tmp_path, monkeypatch):
    def fail():
        raise RuntimeError("No ffmpeg exe could be found.")

    for package in (None, SimpleNamespace(get_ffmpeg_exe=fail)):
        _without_ffmpeg(monkeypatch, package)
        with pytest.raises(RuntimeError, match=r"pip install imageio-ffmpeg, .*apt install"):
            animate(FILM, **FAST).save(tmp_path / "film.mp4")


def test_the_ffmpeg_of_imageio_is_found_and_the_setting_stays(tmp_path, monkeypatch):
    program = tmp_path / "its own ffmpeg"
    program.write_text(f"#!/bin/sh\necho $0 $@ > '{tmp_path}/called'\nexec cat > /dev/null\n")
    program.chmod(0o755)
    _without_ffmpeg(monkeypatch, SimpleNamespace(get_ffmpeg_exe=lambda: str(program)))
    before = matplotlib.rcParams["animation.ffmpeg_path"]
    animate(FILM, **FAST).save(tmp_path / "film.mp4", dpi=40)
    called = (tmp_path / "called").read_text()
    assert called.startswith(str(program)) and "film.mp4" in called
    assert matplotlib.rcParams["animation.ffmpeg_path"] == before


def test_an_mp4_has_all_pictures_and_they_differ(tmp_path):
    imageio_ffmpeg = pytest.importorskip("imageio_ffmpeg")
    film = animate(FILM, np.arange(30) % 3, color_name="class", **FAST)
    film.save(tmp_path / "film.mp4", dpi=50)
    frames = imageio_ffmpeg.read_frames(str(tmp_path / "film.mp4"))
    about = next(frames)
    width, height = about["size"]
    assert about["fps"] == 10 and (width, height) == (320, 280)
    pictures = [np.frombuffer(frame, np.uint8).reshape(height, width, 3) for frame in frames]
    assert len(pictures) == 5 + 10
    assert (np.abs(pictures[0].astype(int) - pictures[-1]).max(axis=2) > 60).mean() > 0.005
    assert np.abs(pictures[4].astype(int) - pictures[-1]).mean() < 1  # the last picture stays


@pytest.mark.parametrize("name", ["film.avi", "film", "film.png"])
def test_other_suffixes_are_refused(name, tmp_path):
    with pytest.raises(ValueError, match=r"must end in \.gif, \.mp4 or \.html; got .*film"):
        animate(FILM, **FAST).save(tmp_path / name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("snapshots", "options", "message"),
    [
        ([START], {}, "at least two snapshots; got 1"),
        ([], {}, "at least two snapshots; got 0"),
        ([START, END[:5]], {}, r"snapshot 0 has \(30, 2\) and snapshot 1 has \(5, 2\)"),
        ([START, END[:, :1]], {}, r"snapshot 1 has \(30, 1\)"),
        (START, {}, "snapshot 0 has 1 dimensions"),
        ([START, np.where(END > 2, np.nan, END)], {}, r"snapshots\[1\] contains NaN"),
        ([np.ones((5, 4))] * 2, {}, "1 to 3 components"),
        (FILM, {"seconds": 0}, "seconds must be a positive number; got 0"),
        (FILM, {"seconds": float("nan")}, "seconds must be a positive number"),
        (FILM, {"frames_per_second": 2.5}, "frames_per_second must be a positive integer"),
        (FILM, {"labels": "map"}, 'labels must be "legend" or "none"'),
        (FILM, {"view": "near"}, "view must be"),
        (FILM, {"color_by": [1, 2]}, "color_by has 2"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_wrong_input_is_refused(snapshots, options, message):
    with pytest.raises(ValueError, match=message):
        animate(snapshots, **options)


def test_what_has_no_snapshots_says_how_to_get_them():
    X = np.random.default_rng(1).normal(size=(30, 4))
    for estimator in (PreserveNeighbors(max_iter=5, random_state=0), QuadraticMDE()):
        with pytest.raises(ValueError, match="not fitted"):
            animate(estimator)
        with pytest.raises(ValueError, match="snapshot_every=5"):
            animate(estimator.fit(X))
    with pytest.raises(TypeError, match="an estimator or arrays; got 'map'"):
        animate("map")
    with pytest.raises(TypeError, match=r"'colour'.*palette, max_classes"):
        animate(FILM, colour=1)
