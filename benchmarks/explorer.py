"""Pages of skmde.plotting.explore in headless Chromium: size, first picture, frames a second.

    make test-browser                   # once: sets up .venv-browser
    .venv-browser/bin/python benchmarks/explorer.py --data mnist70k.npz --map map.npy

``--map`` is an embedding of MNIST; without it, the images' first two principal components are
drawn. ``--before`` is a revision of git whose page is measured as well, with the same data, in the
same run. The first picture is timed by the page, from the start of its loading. Frames are those
of the engine while the map is dragged: in circles at the first view, three seconds long, twice;
and zoomed in, steadily to one side, across seven tenths of the map's width a second. The longest
frame is that of the second drag in circles, and that of the way to one side.

Without a graphics card, points are drawn in software, on the processor that everything else runs
on. By default Chromium then puts the page together in software, too; with ``--compose gl`` it does
so by way of OpenGL in software, as with the flags that are often given to headless browsers.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import _common as common
import numpy as np

FLAGS = {
    "software": ["--enable-unsafe-swiftshader"],
    "gl": ["--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"],
    "gpu": ["--ignore-gpu-blocklist"],
}
DRAG = """
async ([milliseconds, speed]) => {
  const canvas = document.getElementById("canvas");
  const fire = (type, target, clientX, clientY) =>
    target.dispatchEvent(new MouseEvent(type, { clientX, clientY, buttons: 1, bubbles: true }));
  const place = (t) => speed
    ? [820 - speed * t, 300]
    : [500 + 90 * Math.sin(t / 250), 210 + 90 * Math.cos(t / 250)];
  let frames = 0;
  explorer.chart.on("drawing", () => { frames += 1; });
  fire("mousemove", window, ...place(0));
  await new Promise(requestAnimationFrame);
  fire("mousedown", canvas, ...place(0));
  const start = performance.now();
  let [passed, longest] = [0, 0];
  while (passed < milliseconds) {
    fire("mousemove", window, ...place(passed));
    await new Promise(requestAnimationFrame);
    const now = performance.now() - start;
    longest = Math.max(longest, now - passed);
    passed = now;
  }
  fire("mouseup", window, ...place(passed));
  return [(1000 * frames) / passed, longest];
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
    p.add_argument("--compose", choices=list(FLAGS), nargs="+", default=["software"])
    p.add_argument("--before", metavar="REVISION", help="measure the page of this revision, too")
    p.add_argument("--beside", default="", help="what else the machine does, for the record")
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


def of_revision(page: Any, revision: str) -> str:
    """The page with the script, style and skeleton of another revision."""
    from skmde.plotting.explorer import page as module

    def asset(name: str) -> str:
        path = f"skmde/plotting/explorer/bundle/{name}"
        command = ["git", "-C", str(common.ROOT), "show", f"{revision}:{path}"]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    scripts = dict(re.findall(r'<script id="([^"]+)"[^>]*>(.*?)</script>', page.html, re.DOTALL))
    sheets = [text for name, text in scripts.items() if name.startswith("sheet-")]
    today, module._asset = module._asset, asset
    try:
        return module.render("Before", json.loads(scripts["data"]), sheets)
    finally:
        module._asset = today


def open_page(browser: Any, file: Path) -> dict[str, Any]:
    """Seconds to the first picture, frames a second, longest frames, and what draws."""
    page = browser.new_page(viewport={"width": 1200, "height": 760})
    page.set_default_timeout(120_000)
    page.goto(file.as_uri())
    page.wait_for_selector("body[data-ready]")
    first = int(page.get_attribute("body", "data-ready")) / 1000
    page.wait_for_timeout(2000)
    circles = []
    for _ in range(2):
        circles.append(page.evaluate(DRAG, [3000, 0]))
        page.wait_for_timeout(1000)
    page.evaluate("explorer.chart.zoom(4)")
    page.wait_for_timeout(2000)
    far = page.evaluate(DRAG, [1200, 0.63])
    found = {
        "first_picture_seconds": first,
        "frames_per_second_first": circles[0][0],
        "frames_per_second": circles[1][0],
        "longest_frame_ms": circles[1][1],
        "far_frames_per_second": far[0],
        "far_longest_frame_ms": far[1],
        "moves_a_picture": page.evaluate("explorer.chart.motion?.isSlow ?? false"),
        "renderer": page.evaluate(RENDERER),
    }
    page.close()
    return found


def main() -> None:
    args = arguments()
    if args.chromium is None:
        sys.exit("Chromium was not found. Name it: --chromium /path/to/chromium")
    from playwright.sync_api import sync_playwright

    rows: list[dict[str, Any]] = []
    with common.scratch() as folder, sync_playwright() as playwright:
        files = {}
        for name, make in (("mnist", mnist_page), ("million", million_page)):
            page, made = make(args)
            files[name, "now"] = folder / f"{name}.html", made
            page.save(files[name, "now"][0])
            if args.before:
                files[name, "before"] = folder / f"{name}-before.html", made
                text = of_revision(page, args.before)
                files[name, "before"][0].write_text(text, encoding="utf-8")
        for compose in args.compose:
            flags = ["--no-sandbox", *FLAGS[compose]]
            browser = playwright.chromium.launch(executable_path=args.chromium, args=flags)
            for (name, when), (file, made) in sorted(files.items()):
                seen = [open_page(browser, file) for _ in range(args.repeat)]
                rows.append(
                    {
                        "page": name,
                        "when": when,
                        "compose": compose,
                        "megabytes": file.stat().st_size / 1e6,
                        "made_seconds": made,
                        **{key: [one[key] for one in seen] for key in seen[0]},
                        "renderer": seen[0]["renderer"],
                        "load_average": os.getloadavg()[0],
                    }
                )
            version = browser.version
            browser.close()
    titles = ["page", "when", "composed", "MB", "made s"]
    measures = {
        "first_picture_seconds": "first picture s",
        "frames_per_second_first": "first frames/s",
        "frames_per_second": "frames/s",
        "longest_frame_ms": "longest ms",
        "far_frames_per_second": "far frames/s",
        "far_longest_frame_ms": "longest ms",
    }
    common.show(
        [
            [row["page"], row["when"], row["compose"], row["megabytes"], row["made_seconds"]]
            + [common.median(row[key]) for key in measures]
            for row in rows
        ],
        titles + list(measures.values()),
    )
    print(f"drawn by {rows[0]['renderer']}")
    record = {"browser": version, "before": args.before, "beside": args.beside, "pages": rows}
    common.save(args.output, record)


if __name__ == "__main__":
    main()
