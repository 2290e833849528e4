"""Movement of `explore`'s page where all points are too many to draw in each frame, in Chromium.

Whether they are is measured by the page. Here a machine is made slow by reading pixels, by which
the page measures, slowly; and quick by a clock that hardly moves.
"""

import io

import numpy as np
import pytest
from PIL import Image
from test_explorer_in_browser import (
    GRID,
    KINDS,
    TEXTS,
    _picture,
    drag_around,
    place_of,
    point_at,
    shown_text,
    wait_for_selection,
)

from skmde.plotting import explore

SLOW = """
const read = WebGLRenderingContext.prototype.readPixels;
WebGLRenderingContext.prototype.readPixels = function (...values) {
  for (const end = Date.now() + 60; Date.now() < end;);
  return read.apply(this, values);
};
"""
QUICK = "performance.now = ((time) => () => (time += 0.01))(0);"
STOP = """() => {
  const now = performance.now();
  window.clock = performance.now;
  performance.now = () => now;
}"""
GO_ON = "() => { performance.now = clock; }"
COUNT_DRAWINGS = """
window.drawings = 0;
const drawArrays = WebGLRenderingContext.prototype.drawArrays;
WebGLRenderingContext.prototype.drawArrays = function (...values) {
  if (values[0] === this.POINTS && values[2] === 40) drawings += 1;
  return drawArrays.apply(this, values);
};
"""


def _opened(open_page, speed):
    page = open_page(explore(GRID, labels=KINDS, hover=TEXTS), before=speed + COUNT_DRAWINGS)
    page.wait_for_timeout(500)
    page.wait_for_function(f"explorer.chart.motion.isSlow === {str(speed == SLOW).lower()}")
    return page


def _drag(page, way, steps=8):
    """Drag the map without letting it go, and return how often all points were drawn meanwhile.

    The page's clock stands still, so that no pause on a busy machine counts as the end.
    """
    box = page.locator("#canvas").bounding_box()
    start = np.array([box["x"] + box["width"] / 2, box["y"] + box["height"] / 2])
    page.mouse.move(*start)
    page.mouse.down()
    page.wait_for_timeout(400)
    page.evaluate(STOP)
    before = page.evaluate("drawings")
    for step in range(steps):
        page.mouse.move(*(start + (step + 1) / steps * np.array(way)))
        page.evaluate("new Promise(requestAnimationFrame)")
    after = page.evaluate("window.drawingsOfDrag = drawings")
    page.evaluate(GO_ON)
    return after - before


def _wait_for_rest(page):
    page.wait_for_function("!document.getElementById('map').classList.contains('moving')")
    page.wait_for_timeout(300)


def test_all_points_are_drawn_again_when_the_map_rests(open_page):
    slow, quick = _opened(open_page, SLOW), _opened(open_page, QUICK)
    assert _drag(slow, (120, 60)) == 0
    assert _drag(quick, (120, 60)) >= 4
    for page in (slow, quick):
        page.mouse.up()
    _wait_for_rest(slow)
    assert slow.evaluate("drawings > drawingsOfDrag")
    np.testing.assert_allclose(place_of(slow, 17), place_of(quick, 17), atol=0.01)
    pictures = _picture(slow), _picture(quick)
    assert np.count_nonzero(pictures[0]) > 1000
    np.testing.assert_allclose(*pictures, atol=6)


@pytest.mark.parametrize("ratio", [1, 2])
def test_the_picture_that_moves_shows_what_is_drawn_then(open_page, ratio):
    options = {"device_scale_factor": ratio, "viewport": {"width": 1001, "height": 641}}
    explorer = explore(GRID, labels=np.repeat(0, 40))
    page = open_page(explorer, before=SLOW, **options)
    page.wait_for_function("explorer.chart.motion.isSlow")
    page.wait_for_timeout(500)
    # names and tools stand above the points; where the mouse is, an item could be pointed at
    page.add_style_tag(content="#labels, #tools { display: none !important; }")
    # the map stays in movement, which a rest would end
    page.evaluate(STOP)
    page.evaluate("explorer.chart.pan(90, -40)")
    page.evaluate("explorer.chart.zoom(1.25)")
    page.wait_for_selector("#map.moving")
    moving = _shot(page)
    page.evaluate(GO_ON)
    _wait_for_rest(page)
    resting = _shot(page)
    # points grow less than the map does, and pixels are interpolated
    assert np.abs(moving - resting).mean() < 2
    assert (np.abs(moving - resting).max(axis=2) > 90).mean() < 0.01
    assert (np.ptp(resting, axis=(0, 1)) > 60).any()


def _shot(page):
    with Image.open(io.BytesIO(page.locator("#map").screenshot())) as image:
        return np.asarray(image.convert("RGB"), dtype=int)


def test_a_long_way_is_drawn_before_half_of_the_map_is_blank(open_page):
    page = _opened(open_page, SLOW)
    assert _drag(page, (340, 0)) == 0
    page.mouse.up()
    _wait_for_rest(page)
    assert _drag(page, (340, 300), steps=4) >= 1
    before = page.evaluate("drawings")
    page.evaluate("explorer.chart.zoom(5)")
    page.wait_for_function(f"drawings > {before}")
    page.mouse.up()


def test_pointing_searching_and_selecting_are_as_before(open_page):
    page = _opened(open_page, SLOW)
    _drag(page, (60, 30))
    page.mouse.up()
    # at once, while the picture may still stand for the map
    point_at(page, 12)
    assert TEXTS[12] in shown_text(page)
    page.click("#lasso")
    drag_around(page, [12, 13, 22, 23])
    wait_for_selection(page, [12, 13, 22, 23])
    page.wait_for_timeout(300)
    selected = _picture(page)
    page.keyboard.press("Escape")
    wait_for_selection(page, [])
    page.wait_for_timeout(300)
    plain = _picture(page)
    assert np.count_nonzero(selected != plain) > 100
    page.fill("#search", "birch")
    wait_for_selection(page, range(10, 20))
    page.fill("#search", "")
    page.locator("#legend input[type=checkbox]").nth(1).uncheck()
    page.wait_for_timeout(300)
    assert np.count_nonzero(_picture(page) != plain) > 100


def test_an_item_is_highlighted_when_the_mouse_stays_there(open_page):
    page = _opened(open_page, SLOW)
    plain = _picture(page)
    before = page.evaluate("drawings")
    point_at(page, 17)
    shown_text(page)
    page.wait_for_function(f"drawings > {before}")
    page.wait_for_timeout(100)
    assert np.count_nonzero(_picture(page) != plain) > 10


def test_a_machine_that_is_quick_again_draws_each_frame(open_page):
    page = _opened(open_page, SLOW)
    assert page.evaluate("document.getElementById('picture').clientWidth") > 900
    page.evaluate("performance.now = ((time) => () => (time += 3))(1e6)")
    page.evaluate("WebGLRenderingContext.prototype.readPixels = () => {}")
    page.evaluate("explorer.chart.pan(5, 5)")
    page.wait_for_function("!explorer.chart.motion.isSlow")
    page.wait_for_function("document.getElementById('picture').clientWidth <= 700")
    assert _drag(page, (120, 60)) >= 4
    page.mouse.up()
