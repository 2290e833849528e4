"""A browser, and a function that opens pages in it and records what they should not do."""

import pytest
from chromium import NOT_FOUND, chromium, watch
from playwright.sync_api import sync_playwright

WAIT = 60_000  # milliseconds; software rendering on a busy machine is slow
ARGUMENTS = [
    # WebGL in software; the page is put together without a graphics card as well
    "--enable-unsafe-swiftshader",
    # tests run in containers as well, and open their own pages only
    "--no-sandbox",
]


@pytest.fixture(scope="session")
def browser():
    path = chromium()
    if path is None:
        pytest.fail(NOT_FOUND)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser, tmp_path):
    """Opens what `explore` returns; at the end, no error and no request may have happened."""
    contexts, faults = [], []

    def open_(explorer, before="", **options):
        file = tmp_path / f"page{len(contexts)}.html"
        explorer.save(file)
        context = browser.new_context(
            **{"viewport": {"width": 1000, "height": 640}, "offline": True, **options}
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(WAIT)
        page.add_init_script(before)
        watch(page, faults, allowed=("data:", "blob:", f"file://{tmp_path}"))
        page.on(
            "dialog", lambda dialog: (faults.append(f"dialog: {dialog.message}"), dialog.dismiss())
        )
        page.goto(f"file://{file}")
        page.wait_for_selector("body[data-ready]")
        return page

    yield open_
    for context in contexts:
        context.close()
    assert faults == []
