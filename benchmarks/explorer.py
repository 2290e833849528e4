"""Pages of skmde.plotting.explore in headless Chromium: size, first picture, frames a second.

    make test-browser                   # once: sets up .venv-browser
    .venv-browser/bin/python benchmarks/explorer.py --data mnist70k.npz --map map.npy

``--map`` is an embedding of MNIST; without it, the images' first two principal components are
drawn. The first picture is timed by the page, from the start of its loading. Frames are those that
the engine draws while the map is dragged in circles. Without a graphics card Chromium draws in
software, on the processor that everything else runs on.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import _common as common
import numpy as np

ARGUMENTS = ["--no-sandbox", "--ignore-gpu-blocklist"]
SOFTWARE = ["--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
DRAG = """
async (milliseconds) => {
  const canvas = document.getElementById("canvas");
  const fire = (type, target, clientX, clientY) =>
    target.dispatchEvent(new MouseEvent(type, { clientX, clientY, buttons: 1, bubbles: true }));
  let frames = 0;
  explorer.chart.on("drawing", () => { frames += 1; });
  fire("mousemove", window, 500, 300);
  await new Promise(requestAnimationFrame);
  fire("mousedown", canvas, 500, 300);
  const start = performance.now();
  let passed = 0;
  while ((passed = performance.now() - start) < milliseconds) {
    fire("mousemove", window, 500 + 90 * Math.sin(passed / 250), 210 + 90 * Math.cos(passed / 250));
    await new Promise(requestAnimationFrame);
  }
  fire("mouseup", window, 500, 300);
  return (1000 * frames) / passed;
}
"""
RENDERER = """
() => {
  const gl = document.createElement("canvas").getContext("webgl");
  const names = gl.getExtension("WEBGL_debug_renderer_info");
  return gl.getParameter(names ? names.UNMASKED_RENDERER_WEBGL : gl.RENDERER);
}
"""


def arguments() -> Any:
    p = common.parser(__doc__.splitlines()[0], name="explorer", peers=False)
    common.add_data_option(p)
    p.add_argument("--map", type=Path, metavar="NPY", help="embedding of MNIST, (70000, 2)")
    p.add_argument("--repeat", type=int, default=3, metavar="N", help="times each page is opened")
    p.add_argument("--chromium", default=shutil.which("chromium"), help="the browser")
    p.add_argument("--gpu", action="store_true", help="let Chromium use a graphics card")
    return p.parse_args()


def mnist_page(args: Any) -> Any:
    from skmde.plotting import explore

    X, digits, test = common.mnist(args.data)
    if args.map is not None:
        embedding = np.load(args.map)
    else:
        centered = X - X.mean(axis=0, dtype=np.float32)
        _, vectors = np.linalg.eigh(centered.T @ centered)
        embedding = centered @ vectors[:, -2:]
    began = time.perf_counter()
    page = explore(
        embedding,
        labels=digits,
        images=X.reshape(-1, 28, 28),
        color_by={"ink": X.mean(axis=1), "part": np.where(test, "test", "train")},
        title="MNIST",
    )
    return page, time.perf_counter() - began


def million_page(args: Any) -> Any:
    from skmde.plotting import explore

    rng = np.random.default_rng(0)
    classes = rng.integers(0, 30, size=1_000_000)
    embedding = 8 * rng.normal(size=(30, 2))[classes] + rng.normal(size=(1_000_000, 2))
    began = time.perf_counter()
    page = explore(embedding, labels=classes, title="A million points")
    return page, time.perf_counter() - began


def open_page(browser: Any, file: Path) -> tuple[float, float, str]:
    """Seconds to the first picture, frames a second, and what draws."""
    page = browser.new_page(viewport={"width": 1200, "height": 760})
    page.set_default_timeout(120_000)
    page.goto(file.as_uri())
    page.wait_for_selector("body[data-ready]")
    first = int(page.get_attribute("body", "data-ready")) / 1000
    frames = page.evaluate(DRAG, 3000)
    renderer = page.evaluate(RENDERER)
    page.close()
    return first, frames, renderer


def main() -> None:
    args = arguments()
    if args.chromium is None:
        sys.exit("Chromium was not found. Name it: --chromium /path/to/chromium")
    from playwright.sync_api import sync_playwright

    rows, renderer = {}, ""
    with common.scratch() as folder, sync_playwright() as playwright:
        flags = ARGUMENTS + ([] if args.gpu else SOFTWARE)
        browser = playwright.chromium.launch(executable_path=args.chromium, args=flags)
        version = browser.version
        for name, make in (("mnist", mnist_page), ("million", million_page)):
            page, made = make(args)
            file = folder / f"{name}.html"
            page.save(file)
            seen = [open_page(browser, file) for _ in range(args.repeat)]
            renderer = seen[0][2]
            rows[name] = {
                "megabytes": file.stat().st_size / 1e6,
                "made_seconds": made,
                "first_picture_seconds": [first for first, _, _ in seen],
                "frames_per_second": [frames for _, frames, _ in seen],
            }
        browser.close()
    common.show(
        [
            [
                name,
                row["megabytes"],
                row["made_seconds"],
                common.median(row["first_picture_seconds"]),
                common.median(row["frames_per_second"]),
            ]
            for name, row in rows.items()
        ],
        ["page", "MB", "made in s", "first picture s", "frames/s"],
    )
    print(f"drawn by {renderer}")
    common.save(
        args.output,
        {
            "browser": version,
            "renderer": renderer,
            "load_average": os.getloadavg()[0],
            "pages": rows,
        },
    )


if __name__ == "__main__":
    main()
