"""The browser of these tests, and what no page may do in it."""

import os
import shutil

NAMES = ("chromium", "chromium-browser", "google-chrome")
NOT_FOUND = "Chromium was not found. Install it, or name it: CHROMIUM=/path/to/chromium."


def chromium():
    """The path of the browser, or None."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


def watch(page, faults, allowed):
    """Collect errors of a page, and requests of addresses that do not begin as allowed."""
    page.on("pageerror", lambda error: faults.append(f"error: {error}"))
    page.on(
        "console",
        lambda message: message.type == "error" and faults.append(f"console: {message.text}"),
    )
    page.on(
        "request",
        lambda request: request.url.startswith(allowed) or faults.append(f"request: {request.url}"),
    )
