"""Images of items: their sheets, and what is refused."""

import base64
import io
import sys

import numpy as np
import pytest
from explorer_pages import N, X, data_of, sheets_of
from PIL import Image

from skmde.plotting import explore


def _decode(page):
    return [Image.open(io.BytesIO(base64.b64decode(sheet))) for sheet in sheets_of(page)]


def _cut(page, item):
    about = data_of(page)["images"]
    sheet = _decode(page)[item // about["per_sheet"]]
    row, column = divmod(item % about["per_sheet"], about["columns"])
    left, top = column * about["width"], row * about["height"]
    return np.asarray(
        sheet.convert("RGB").crop((left, top, left + about["width"], top + about["height"]))
    )


@pytest.mark.parametrize(
    "to_images",
    [
        lambda levels: levels.astype(np.uint8) * 17,
        lambda levels: levels / 15,
        lambda levels: levels.astype(np.float32) * 1e30 - 1e30,
        lambda levels: levels[..., None],
        lambda levels: list(levels),
    ],
    ids=["uint8", "floats", "huge", "one channel", "list"],
)
def test_each_item_has_its_own_image(to_images):
    levels = np.random.default_rng(0).integers(0, 16, size=(N, 8, 5))
    levels[0, 0, :2] = 0, 15  # the whole range, whatever was drawn
    page = explore(X, images=to_images(levels))
    for item in (0, 1, N - 1):
        # to a half of one of 32 shades
        np.testing.assert_allclose(_cut(page, item)[..., 0], levels[item] * 17, atol=4.5)


def test_sheets_are_of_a_size_that_phones_decode():
    images = np.zeros((3000, 64, 48), dtype=np.uint8)
    images[2999] = 255
    page = explore(np.random.default_rng(0).normal(size=(3000, 2)), images=images)
    sheets = _decode(page)
    assert len(sheets) == 3
    assert max(max(sheet.size) for sheet in sheets) <= 2048
    assert _cut(page, 2999).min() == 255
    assert _cut(page, 2998).max() == 0


def test_colours_and_large_images():
    images = np.zeros((N, 300, 200, 3), dtype=np.uint8)
    images[4, ..., 0] = 255
    page = explore(X, images=images)
    about = data_of(page)["images"]
    assert (about["width"], about["height"]) == (64, 96)
    # the format mixes the colours of neighbouring pixels at edges
    assert np.all(np.abs(_cut(page, 4)[2:-2, 2:-2].astype(int) - [255, 0, 0]) < 12)


def test_pixels_without_a_number_are_black():
    images = np.ones((N, 4, 4)) * np.arange(N)[:, None, None]
    images[5, 0, 0] = np.nan
    cut = _cut(explore(X, images=images), 5)
    assert cut[0, 0, 0] == 0 and cut[1, 1, 0] > 100
    assert np.all(_cut(explore(X, images=np.full((N, 4, 4), np.nan)), 3) == 0)


@pytest.mark.parametrize(
    "images, message",
    [
        (np.zeros((N, 64)), r"each row is an image of shape \(8, 8\), give images.reshape"),
        (np.zeros((N, 63)), r"of shape \(height, width\), give images.reshape"),
        (np.zeros(N), r"images has shape \(12,\); expected"),
        (np.zeros((N, 8, 8, 2)), r"images has shape \(12, 8, 8, 2\); expected"),
        (np.zeros((N, 2, 8, 8, 3)), "expected"),
        (np.zeros((N - 1, 8, 8)), "images has 11 entries, but the embedding has 12 rows"),
        (np.zeros((N, 0, 8)), "no pixels"),
        ([np.zeros((8, 8)), np.zeros((8, 9))] * 6, r"different shapes, among them \(8, 8\) and"),
        (np.full((N, 2, 2), "a"), "expected numbers"),
    ],
    ids=["64 columns", "63 columns", "1-D", "two channels", "5-D", "length", "empty", "ragged",
         "texts"],
)  # fmt: skip
def test_images_of_a_wrong_shape_are_refused(images, message):
    with pytest.raises(ValueError, match=message):
        explore(X, images=images)


def test_without_pillow_images_name_the_extra_and_the_rest_works(monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ImportError, match=r"pip install 'skmde\[plot\]', or leave images out"):
        explore(X, images=np.zeros((N, 8, 8)))
    assert explore(X, labels=np.arange(N)).html
