"""What a user of `explore`'s page sees and does, in Chromium."""

import base64
import io
import re

import numpy as np
import pytest
from chromium import watch
from PIL import Image

from skmde.plotting import explore

# A grid of 40 items, four columns of ten, far enough apart to point at.
GRID = np.array([(2.5 * x, y) for x in range(4) for y in range(10)])
KINDS = np.repeat(["ash", "birch", "cedar", "éléphant"], 10)
TEXTS = [f"tree number {k}, {kind}" for k, kind in enumerate(KINDS)]
SIZES = 0.125 + 0.25 * np.arange(40)


@pytest.fixture
def trees(open_page):
    return open_page(
        explore(GRID, labels=KINDS, hover=TEXTS, color_by={"size": SIZES}, title="Trees")
    )


def place_of(page, item):
    """Where an item is, in pixels of the page."""
    box = page.locator("#canvas").bounding_box()
    x, y = page.evaluate(
        f"explorer.chart.project(explorer.chart.x[{item}], explorer.chart.y[{item}])"
    )
    return box["x"] + x, box["y"] + y


def point_at(page, item):
    x, y = place_of(page, item)
    page.mouse.move(x - 3, y)
    page.mouse.move(x, y)


def drag_around(page, items, margin=12):
    places = np.array([place_of(page, item) for item in items])
    (left, top), (right, bottom) = places.min(axis=0) - margin, places.max(axis=0) + margin
    corners = [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)]
    page.mouse.move(*corners[0])
    page.mouse.down()
    for corner in corners[1:]:
        page.mouse.move(*corner, steps=5)
        page.wait_for_timeout(30)
    page.mouse.up()


def wait_for_selection(page, items):
    page.wait_for_function(
        "wanted => JSON.stringify(explorer.selection.items) === JSON.stringify(wanted)",
        arg=list(items),
    )


def shown_text(page):
    page.wait_for_selector("#tooltip:visible")
    return page.locator("#tooltip").inner_text()


@pytest.mark.parametrize("item", [0, 17, 39])
def test_pointing_at_an_item_shows_its_texts(trees, item):
    point_at(trees, item)
    text = shown_text(trees)
    assert f"item {item}\n" in text
    assert TEXTS[item] in text and KINDS[item] in text and f"{SIZES[item]:g}" in text
    trees.mouse.move(*np.add(place_of(trees, item), 25))
    trees.wait_for_selector("#tooltip", state="hidden")


def test_pointing_at_an_item_shows_its_image(open_page):
    images = np.zeros((40, 6, 6), dtype=np.uint8)
    images[:, 0, 0] = 6 * np.arange(40)
    page = open_page(explore(GRID, images=images))
    point_at(page, 33)
    shown_text(page)
    page.wait_for_function(
        "const c = document.querySelector('#tooltip canvas');"
        "Math.abs(c.getContext('2d').getImageData(0, 0, 1, 1).data[0] - 198) < 6"
    )


def test_images_are_on_the_map_where_few_items_are_in_view(open_page):
    places = np.array([(x, y) for x in range(20) for y in range(20)], dtype=float)
    images = np.zeros((400, 6, 6), dtype=np.uint8)
    images[:, 0, 0] = np.arange(400) // 20 * 12
    page = open_page(explore(places, labels=np.arange(400) % 2, images=images))
    page.wait_for_timeout(500)
    assert page.locator("#thumbnails canvas").count() == 0  # 400 items are too many

    corner = [0, 1, 2, 20, 21, 22, 40, 41, 42]
    page.evaluate(f"explorer.chart.fit(explorer.chart.boxOf({corner}))")
    page.wait_for_selector("#thumbnails canvas:visible")
    page.wait_for_function(
        "[...document.querySelectorAll('#thumbnails canvas')].every(c => Math.abs("
        "c.getContext('2d').getImageData(0, 0, 1, 1).data[0] - "
        "Math.floor(c.dataset.item / 20) * 12) < 6)"
    )
    shown = [
        (int(one.get_attribute("data-item")), one.bounding_box())
        for one in page.locator("#thumbnails canvas:visible").all()
    ]
    assert len(shown) >= len(corner)
    for item, box in shown:  # above the point
        x, y = place_of(page, item)
        assert abs(box["x"] + box["width"] / 2 - x) < 3 and 0 < y - box["y"] - box["height"] < 12

    page.locator("#legend input[type=checkbox]").first.uncheck()
    page.wait_for_function(
        "[...document.querySelectorAll('#thumbnails canvas')].every(c => c.dataset.item % 2)"
    )
    assert page.locator("#thumbnails canvas").count() > 0
    page.click("#fit")
    page.wait_for_function("document.querySelectorAll('#thumbnails canvas').length === 0")


def test_images_that_would_cover_others_wait(open_page):
    page = open_page(explore(GRID, images=np.zeros((40, 8, 8), dtype=np.uint8)))
    page.wait_for_selector("#thumbnails canvas:visible")
    boxes = [one.bounding_box() for one in page.locator("#thumbnails canvas:visible").all()]
    assert 4 <= len(boxes)
    for k, one in enumerate(boxes):
        for other in boxes[:k]:
            apart = abs(one["x"] - other["x"]), abs(one["y"] - other["y"])
            assert apart[0] > one["width"] or apart[1] > one["height"]


@pytest.mark.parametrize("way", ["button", "shift"])
def test_a_lasso_returns_the_items_inside(trees, way):
    inside = [12, 13, 14, 22, 23, 24]
    if way == "button":
        trees.click("#lasso")
    else:
        trees.keyboard.down("Shift")
    drag_around(trees, inside)
    wait_for_selection(trees, inside)
    assert trees.locator("#selected-count").inner_text() == "6 selected (15%)"
    assert trees.locator("#selected-items li").count() == 6
    with trees.expect_download() as waiting:
        trees.click("#download")
    assert waiting.value.suggested_filename == "selection.csv"
    saved = np.loadtxt(waiting.value.path(), skiprows=1, dtype=int)
    assert saved.tolist() == inside


def test_a_lasso_that_ends_at_an_item_where_it_began_is_no_click(trees):
    trees.click("#lasso")
    drag_around(trees, [12, 13, 14, 22, 23, 24], margin=1)
    wait_for_selection(trees, [12, 13, 14, 22, 23, 24])
    trees.wait_for_timeout(400)
    wait_for_selection(trees, [12, 13, 14, 22, 23, 24])


def test_a_lasso_leaves_out_what_is_hidden(trees):
    trees.locator("#legend input[type=checkbox]").nth(1).uncheck()
    trees.click("#lasso")
    drag_around(trees, [12, 13, 14, 22, 23, 24])
    wait_for_selection(trees, [22, 23, 24])


@pytest.mark.parametrize(
    "query, found",
    [
        ("birch", range(10, 20)),
        ("BIR", range(10, 20)),
        ("number 7", [7]),
        ("tree cedar 23", [23]),
        ("elephant", range(30, 40)),
        ("#5", [5]),
        ("(birch)", range(10, 20)),
        ("irch", []),
        ("birch cedar", []),
        ("#40", []),
    ],
)
def test_search_finds(trees, query, found):
    trees.keyboard.press("/")
    trees.keyboard.type(query)
    trees.wait_for_selector("#found:visible")
    trees.wait_for_function(
        "count => document.getElementById('found').textContent.startsWith(count)",
        arg=f"{len(found)} found" if len(found) else "Nothing found",
    )
    wait_for_selection(trees, found)
    trees.keyboard.press("Escape")
    wait_for_selection(trees, [])
    assert trees.locator("#search").input_value() == ""
    assert trees.locator("#found").is_hidden()


def test_enter_zooms_to_what_search_found(trees):
    trees.fill("#search", "number 7")
    trees.keyboard.press("Enter")
    trees.wait_for_function("explorer.chart.inView().length === 1")
    assert trees.evaluate("explorer.chart.inView()") == [7]
    trees.click("#fit")
    trees.wait_for_function("explorer.chart.inView().length === 40")


def test_the_legend_filters_classes(trees):
    boxes = trees.locator("#legend input[type=checkbox]")
    assert boxes.count() == 4
    assert trees.locator("#legend li").nth(3).inner_text().split("\n")[0] == "éléphant"
    boxes.nth(2).uncheck()
    assert trees.locator("#shown span").inner_text() == "30 of 40 shown."
    trees.wait_for_function("!explorer.chart.inView().some((k) => k >= 20 && k < 30)")
    trees.locator("#legend li").nth(0).hover()
    trees.locator("#legend li .only").nth(0).click()
    trees.wait_for_function("explorer.chart.inView().length === 10")
    trees.click("#show-all")
    trees.wait_for_function("explorer.chart.inView().length === 40")
    assert boxes.nth(2).is_checked()
    assert trees.locator("#shown").is_hidden()


def test_the_legend_of_numbers_filters_a_range(trees):
    trees.select_option("#coloring", label="size")
    low = trees.locator("#legend input[type=range]").first
    assert trees.locator(".ends").inner_text().split() == ["0.125", "9.875"]
    low.focus()
    low.press("End")
    trees.wait_for_function("explorer.chart.inView().length === 1")
    assert trees.evaluate("explorer.chart.inView()") == [39]
    # a filter of one colouring holds while another one is shown
    trees.select_option("#coloring", label="label")
    trees.wait_for_selector("#legend input[type=checkbox]")
    assert trees.locator("#shown span").inner_text() == "1 of 40 shown."


def test_colourings_change_faster_than_they_are_drawn_and_keep_the_selection(trees):
    trees.fill("#search", "birch")
    wait_for_selection(trees, range(10, 20))
    trees.evaluate(
        """() => {
          const choice = document.getElementById("coloring");
          for (const index of [1, 0, 1, 0, 1]) {
            choice.selectedIndex = index;
            choice.dispatchEvent(new Event("change"));
          }
        }"""
    )
    trees.wait_for_selector("#legend .bar")
    trees.wait_for_timeout(500)
    assert trees.locator("#legend .bar").count() == 1
    wait_for_selection(trees, range(10, 20))
    selected = trees.evaluate("explorer.chart.plot.get('selectedPoints')")
    assert sorted(selected) == list(range(10, 20))


def test_class_names_are_on_the_map_near_their_items(trees):
    names = trees.locator("#labels span")
    assert sorted(names.all_inner_texts()) == sorted(set(KINDS))
    for k in range(4):
        box = names.nth(k).bounding_box()
        middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        members = np.flatnonzero(names.nth(k).inner_text() == KINDS)
        places = [place_of(trees, item) for item in members]
        assert np.linalg.norm(np.subtract(places, middle), axis=1).min() < 30


def test_all_is_done_by_keyboard(trees):
    trees.focus("#canvas")
    before = place_of(trees, 0)
    trees.keyboard.press("ArrowLeft")
    trees.wait_for_timeout(100)
    assert place_of(trees, 0)[0] > before[0] + 30
    trees.keyboard.press("+")
    trees.wait_for_timeout(100)
    trees.keyboard.press("0")
    trees.wait_for_function("explorer.chart.inView().length === 40")
    trees.wait_for_timeout(400)

    trees.keyboard.press("Shift+ArrowUp")
    first = int(re.search(r"item (\d+)", shown_text(trees))[1])
    trees.keyboard.press("Shift+ArrowUp")
    assert f"item {first + 1}\n" in shown_text(trees)
    trees.keyboard.press("Shift+ArrowRight")
    assert f"item {first + 11}\n" in shown_text(trees)
    assert f"item {first + 11}," in trees.locator("#status").inner_text()
    trees.keyboard.press("Enter")
    wait_for_selection(trees, [first + 11])
    trees.keyboard.press("Shift+ArrowDown")
    trees.keyboard.press("Shift+Enter")
    wait_for_selection(trees, [first + 10, first + 11])
    trees.keyboard.press("v")
    wait_for_selection(trees, range(40))
    trees.keyboard.press("Escape")
    wait_for_selection(trees, [])

    trees.keyboard.press("c")
    trees.wait_for_selector("#legend .bar")
    trees.keyboard.press("?")
    assert trees.locator("#help").is_visible()
    trees.keyboard.press("Escape")
    assert trees.locator("#help").is_hidden()


def test_light_and_dark_follow_the_system_and_the_switch(open_page):
    page = open_page(explore(GRID, labels=KINDS), color_scheme="dark")

    def wait_for(theme, ground):
        page.wait_for_function(f"document.documentElement.dataset.theme === '{theme}'")
        page.wait_for_function(f"getComputedStyle(document.body).backgroundColor === '{ground}'")

    light, dark = ("light", "rgb(255, 255, 255)"), ("dark", "rgb(20, 23, 28)")
    wait_for(*dark)
    page.emulate_media(color_scheme="light")
    wait_for(*light)
    page.click("#theme")
    wait_for(*dark)
    page.emulate_media(color_scheme="dark")
    page.keyboard.press("t")
    wait_for(*light)


def test_fingers_pan_zoom_select_and_draw_a_lasso(open_page):
    page = open_page(
        explore(GRID, labels=KINDS, hover=TEXTS),
        viewport={"width": 390, "height": 780},
        has_touch=True,
        is_mobile=True,
    )
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    touch = page.context.new_cdp_session(page)

    def fingers(kind, *places):
        points = [{"x": x, "y": y, "id": k} for k, (x, y) in enumerate(places)]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
        page.wait_for_timeout(40)

    page.touchscreen.tap(*place_of(page, 17))
    wait_for_selection(page, [17])
    assert TEXTS[17] in shown_text(page)

    x, y = place_of(page, 17)
    fingers("touchStart", (200, 200))
    fingers("touchMove", (220, 210))
    fingers("touchMove", (240, 220))
    fingers("touchEnd")
    page.wait_for_timeout(100)
    np.testing.assert_allclose(place_of(page, 17), (x + 40, y + 20), atol=2)

    width = place_of(page, 30)[0] - place_of(page, 0)[0]
    fingers("touchStart", (150, 200), (250, 200))
    fingers("touchMove", (100, 200), (300, 200))
    fingers("touchEnd")
    page.wait_for_timeout(100)
    assert place_of(page, 30)[0] - place_of(page, 0)[0] == pytest.approx(2 * width, rel=0.02)

    page.click("#fit")
    page.wait_for_function("explorer.chart.inView().length === 40")
    page.wait_for_timeout(500)
    page.click("#lasso")
    (left, top), (right, bottom) = place_of(page, 19), place_of(page, 20)
    left, top, right, bottom = left - 9, top - 9, right + 9, bottom + 9
    fingers("touchStart", (left, top))
    for corner in [(right, top), (right, bottom), (left, bottom), (left, top + 1)]:
        fingers("touchMove", corner)
    fingers("touchEnd")
    wait_for_selection(page, range(10, 30))


# Graphics chips of some phones read textures of floats, but cannot draw into them.
WITHOUT_FLOATS = """
const missing = ["EXT_float_blend", "WEBGL_color_buffer_float"];
const context = WebGLRenderingContext.prototype;
const { getExtension, bindTexture, texImage2D, framebufferTexture2D } = context;
const targets = new WeakSet();
let bound = null;
Object.assign(context, {
  getExtension(name) {
    return missing.includes(name) ? null : getExtension.call(this, name);
  },
  bindTexture(kind, texture) {
    bound = texture;
    bindTexture.call(this, kind, texture);
  },
  texImage2D(...all) {
    if (all.length === 9 && all[7] === this.FLOAT && !all[8]) targets.add(bound);
    else targets.delete(bound);
    texImage2D.apply(this, all);
  },
  framebufferTexture2D(...all) {
    if (!targets.has(all[3])) framebufferTexture2D.apply(this, all);
  },
});
"""


HOSTILE = [
    "<script>window.ran = 1</script>",
    "</script><script>window.ran = 1</script>",
    "<img src=x onerror='window.ran = 1'>",
    "<svg onload='window.ran = 1'>",
    "\" onmouseover='window.ran = 1' x=\"",
    "漢字 \u2028 \u2029 🦊",
    "w" * 10_000,
    "",
]


def test_texts_of_the_data_run_nothing_and_are_shown_as_they_are(open_page):
    embedding = np.column_stack([np.arange(8), np.arange(8) % 3]).astype(float)
    page = open_page(
        explore(
            embedding, labels=HOSTILE, hover=HOSTILE, color_by={HOSTILE[0]: HOSTILE},
            title=HOSTILE[1],
        )
    )  # fmt: skip
    assert page.locator("h1").inner_text() == HOSTILE[1]
    assert page.locator("#coloring option").nth(1).inner_text() == HOSTILE[0]
    for item, text in enumerate(HOSTILE):
        point_at(page, item)
        page.wait_for_function(
            f"document.querySelector('#tooltip .item')?.textContent === 'item {item}'"
        )
        shown = page.locator("#tooltip dd").first.text_content()
        assert shown == (text or "(empty)")
        box = page.locator("#tooltip").bounding_box()
        assert box["height"] < 640 and box["width"] < 321
    page.keyboard.press("v")
    wait_for_selection(page, range(8))
    page.select_option("#coloring", index=1)
    page.wait_for_timeout(300)
    assert page.evaluate("window.ran") is None


def test_the_policy_stops_scripts_in_markup_and_requests(browser, tmp_path):
    file = tmp_path / "page.html"
    explore(GRID).save(file)
    page = browser.new_page()
    page.goto(f"file://{file}")
    markup = "<img src='https://example.org/x.png' onerror='window.ran = 1'>"
    stopped = page.evaluate(
        """async (markup) => {
          const stopped = [];
          addEventListener("securitypolicyviolation", (e) => stopped.push(e.effectiveDirective));
          document.body.insertAdjacentHTML("beforeend", markup);
          await new Promise((resolve) => setTimeout(resolve, 300));
          return stopped.sort();
        }""",
        markup,
    )
    assert stopped == ["img-src", "script-src-attr"]
    assert page.evaluate("window.ran") is None
    page.close()


@pytest.mark.parametrize("n", [1, 2, 30])
def test_points_that_coincide_are_shown(open_page, n):
    page = open_page(explore(np.full((n, 2), 3.0), labels=np.arange(n)))
    assert page.evaluate("explorer.chart.inView().length") == n
    point_at(page, 0)
    assert "item" in shown_text(page)


@pytest.mark.parametrize("n_components", [1, 3, 4])
def test_other_numbers_of_components(open_page, n_components):
    embedding = np.random.default_rng(0).normal(size=(50, n_components))
    page = open_page(explore(embedding))
    assert page.locator("#axes").is_visible() == (n_components > 2)
    if n_components > 2:
        page.select_option("#across", index=2)
        page.wait_for_function("explorer.chart.x === explorer.page.components[2]")
        page.wait_for_function("explorer.chart.inView().length === 50")
    point_at(page, 7)
    assert "item" in shown_text(page)


def test_three_hundred_classes(open_page):
    labels = np.array([f"class {k % 300}" for k in range(900)])
    page = open_page(explore(np.random.default_rng(0).normal(size=(900, 2)), labels=labels))
    assert page.locator("#legend li").count() == 300
    page.get_by_placeholder("Find a class").fill("class 29")
    assert page.locator("#legend li:visible").count() == 11
    assert page.locator("#labels span").count() <= 150


def test_edges_are_drawn(open_page):
    edges = [(k, k + 1) for k in range(39)]
    page = open_page(explore(GRID, edges=edges))
    plain = open_page(explore(GRID))
    assert page.locator("#canvas").screenshot() != plain.locator("#canvas").screenshot()


def test_a_phone_that_cannot_draw_floats_shows_the_same(open_page):
    explorer = explore(GRID, labels=KINDS)
    plain, poor = (_picture(open_page(explorer, before=before)) for before in ("", WITHOUT_FLOATS))
    assert np.count_nonzero(plain) > 1000
    np.testing.assert_allclose(poor, plain, atol=6)


def _picture(page):
    address = page.evaluate("document.getElementById('canvas').toDataURL()")
    with Image.open(io.BytesIO(base64.b64decode(address.split(",")[1]))) as picture:
        return np.asarray(picture, dtype=int)


def test_far_islands_do_not_shrink_the_rest(open_page):
    embedding = np.random.default_rng(0).normal(size=(1000, 2))
    embedding[:3] += 500
    page = open_page(explore(embedding))
    assert page.locator("#outside span").inner_text() == "3 items lie outside."
    assert page.evaluate("explorer.chart.inView().length") > 980
    page.click("#show-outside")
    page.wait_for_function("explorer.chart.inView().length === 1000")
    assert page.locator("#outside").is_hidden()


def test_a_notebook_shows_it_in_a_frame(browser, tmp_path):
    explorer = explore(GRID, labels=KINDS, hover=TEXTS, images=np.zeros((40, 4, 4)))
    file = tmp_path / "notebook.html"
    file.write_text(f"<!doctype html><body>{explorer._repr_html_()}</body>", encoding="utf-8")
    page = browser.new_page()
    page.goto(f"file://{file}")
    frame = page.frame_locator("iframe")
    frame.locator("body[data-ready]").wait_for(timeout=60_000)
    frame.locator("#search").fill("number 7")
    frame.locator("#selected-count").wait_for()
    assert frame.locator("#selected-count").inner_text().startswith("1 selected")
    page.close()


def test_a_frame_without_a_size_waits_for_one(browser, tmp_path):
    file = tmp_path / "notebook.html"
    file.write_text(
        f"<!doctype html><body>{explore(GRID, labels=KINDS)._repr_html_()}"
        "<style>iframe { width: 0 !important; height: 0 !important; border: 0 }</style>",
        encoding="utf-8",
    )
    page, faults = browser.new_page(), []
    watch(page, faults, allowed=("file:", "about:"))
    page.goto(f"file://{file}")
    page.wait_for_timeout(1500)  # frames without a size
    page.evaluate("document.querySelector('style').remove()")
    frame = page.frame_locator("iframe")
    frame.locator("body[data-ready]").wait_for(timeout=60_000)
    assert frame.locator("#picture, canvas").first.evaluate("picture => picture.width") > 0
    assert faults == []
    page.close()


def test_a_widget_learns_what_is_selected(browser):
    widget = explore(GRID, labels=KINDS, hover=TEXTS, height=500).widget()
    assert widget.selection == []
    page = browser.new_page()
    page.set_default_timeout(60_000)
    page.goto("about:blank")
    # the model of a notebook's front end, which hands on what the widget's script sets
    page.evaluate(
        """async ([script, state]) => {
          const url = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
          const widget = (await import(url)).default;
          window.sent = [];
          const model = {
            get: (name) => state[name],
            set: (name, value) => { state[name] = value; },
            save_changes: () => sent.push(structuredClone(state.selection)),
          };
          widget.render({ model, el: document.body });
        }""",
        [widget._esm, {"html": widget.html, "height": widget.height, "selection": []}],
    )
    frame = page.frame_locator("iframe")
    frame.locator("body[data-ready]").wait_for()
    frame.locator("#search").fill("birch")
    page.wait_for_function("sent.length === 1")
    frame.locator("#clear").click()
    page.wait_for_function("sent.length === 2")
    assert page.evaluate("sent") == [list(range(10, 20)), []]
    page.evaluate("postMessage({ about: 'skmde selection', items: [1] }, '*')")
    page.wait_for_timeout(200)
    assert page.evaluate("sent.length") == 2
    page.close()
