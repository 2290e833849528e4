"""Open every page of the documentation in Chromium, on a desk and on a phone, light and dark.

    python tests/browser/look_at_pages.py doc/_build/html --output doc/_build/screenshots

`make test-site` runs it. A page may not be wider than the screen, ask for anything that is not on
this machine, report an error in the console, or have a picture or a formula that cannot be shown.
It has a title and a description of its own, one main heading, nothing of the machine that built it,
and passes the rules of WCAG 2.2 AA that axe-core can check, contrast among them, light and dark.
Pictures of all pages are written; they are to be looked at.
"""

import argparse
import sys
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from chromium import NOT_FOUND, chromium, watch
from playwright.sync_api import Error, sync_playwright

WIDTHS = {1280: 900, 390: 844}  # pixels, and the height of the same screen
SCHEMES = ("light", "dark")
TALLEST = 6000  # pixels of a page that a picture shows
WAIT = 60_000  # milliseconds

# What is wider than the screen, or cut off at its edge, unless something around it scrolls.
TOO_WIDE = """() => {
  const width = document.documentElement.clientWidth;
  const scrolls = element => {
    for (let e = element.parentElement; e && e !== document.body; e = e.parentElement)
      if (["auto", "scroll"].includes(getComputedStyle(e).overflowX)) return true;
    return false;
  };
  const name = e => e.tagName.toLowerCase() + [...e.classList].map(c => "." + c).join("");
  const shown = "article.bd-article *, .prev-next-area *, .bd-footer *";
  const wide = [...document.querySelectorAll(shown)].filter(
    e => e.checkVisibility() && e.getBoundingClientRect().right > width + 1 && !scrolls(e)
      && !e.closest("mjx-container, svg"));
  const page = document.documentElement.scrollWidth > width ? ["the page"] : [];
  const cut = [...document.querySelectorAll(".prev-next-area a")].filter(
    e => e.scrollWidth > e.clientWidth + 1);
  return [...page, ...[...wide, ...cut].slice(0, 5).map(
    e => name(e) + ": " + e.innerText.slice(0, 40))];
}"""
NOT_SHOWN = """() => [
  ...[...document.images].filter(i => i.complete && i.naturalWidth === 0).map(
    i => "image " + i.src),
  ...[...document.querySelectorAll("mjx-merror")].map(e => "formula " + e.innerText),
  ...[...document.querySelectorAll(".math:not(:has(mjx-container))")].map(
    e => "formula " + e.innerText.slice(0, 60)),
]"""
# Pictures far down are loaded when they come into view, formulas when MathJax is ready.
SHOW_ALL = """async () => {
  document.querySelectorAll("img[loading=lazy]").forEach(i => { i.loading = "eager"; });
  if (window.MathJax?.startup?.promise) await window.MathJax.startup.promise;
  document.querySelectorAll("iframe[loading=lazy]").forEach(i => { i.loading = "eager"; });
  await Promise.all([...document.images].filter(i => !i.complete).map(
    i => new Promise(done => { i.onload = i.onerror = done; })));
}"""

# What a page says of itself, and what a reader would stumble over.
CONTENT = r"""() => {
  const faults = [], count = selector => document.querySelectorAll(selector).length;
  if (count("main h1") !== 1) faults.push(`${count("main h1")} main headings`);
  const description = document.querySelector("meta[name=description]");
  if (!description?.content.trim()) faults.push("no description");
  const machine = document.body.innerText.match(
    /(^|[\s"'(=])(\/(tmp|work|root|home)\/|[A-Z]:\\Users)\S*/m);
  if (machine) faults.push("path of a machine: " + machine[0].trim());
  document.querySelectorAll(".sphx-glr-script-out").forEach(e => {
    const warning = e.innerText.match(/^(.*Warning: |findfont: ).*$/m);
    if (warning) faults.push("warning in an output: " + warning[0].slice(0, 80));
    const object = e.innerText.match(/^(.* at 0x[0-9a-f]{6,}|Text\(|\[?<(Axes|matplotlib)).*/m);
    if (object) faults.push("object in an output: " + object[0].slice(0, 80));
  });
  if (document.body.innerText.includes("Alias for field number"))
    faults.push("fields of a named tuple");
  document.querySelectorAll("article ol.upperalpha").forEach(e => {
    if (e.children.length === 1) faults.push("initial read as a list: " + e.innerText.slice(0, 40));
  });
  document.querySelectorAll("article td > ul > li:empty, article td li > p:empty").forEach(
    e => faults.push("minus read as a list: " + e.closest("tr").innerText.trim().split(/\s/)[0]));
  document.querySelectorAll("a[href*=ORGANIZATION]").forEach(
    e => faults.push("link to a placeholder: " + e.href));
  return faults;
}"""
# Colours change at once, so that no rule sees one that fades.
STILL = "*, *::before, *::after { transition: none !important; }"
# What axe-core looks for; a page differs in the dark by its colours alone.
AXE = {
    "light": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"],
    "dark": ["color-contrast"],
}


def inaccessible(page, scheme):
    """What axe-core finds: rule, number of elements, and the first one."""
    # Sphinx writes the parameters of a signature as a list of descriptions without terms.
    skipped = {"exclude": [["dt.sig dl"], ["iframe"]]}
    rules = Axe().run(page, skipped, {"preload": False, "runOnly": AXE[scheme]})
    found = [(rule["id"], rule["nodes"]) for rule in rules.response["violations"]]
    return [
        f"{scheme}, {rule}: {len(nodes)} times, first {nodes[0]['html'][:120]}"
        for rule, nodes in found
    ]


def look(page, file, picture):
    """The faults of a page; its pictures are written beside the path `picture`."""
    page.set_viewport_size({"width": 1280, "height": 900})
    page.emulate_media(color_scheme="light")
    page.goto(file.as_uri(), wait_until="load")
    page.add_style_tag(content=STILL)
    page.evaluate(SHOW_ALL)
    faults = page.evaluate(NOT_SHOWN) + page.evaluate(CONTENT)
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        faults += inaccessible(page, scheme)
    for width, height in WIDTHS.items():
        page.set_viewport_size({"width": width, "height": height})
        faults += [f"at {width} pixels, too wide: {what}" for what in page.evaluate(TOO_WIDE)]
        if picture is None:
            continue
        length = page.evaluate("document.documentElement.scrollHeight")
        clip = {"x": 0, "y": 0, "width": width, "height": min(length, TALLEST)}
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme)
            path = picture.with_name(f"{picture.name}-{width}-{scheme}.jpg")
            page.screenshot(path=path, full_page=True, clip=clip, type="jpeg", quality=70)
    return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where the pages are")
    parser.add_argument("--output", type=Path, help="folder for pictures; without it, none")
    parser.add_argument("--only", default="**/*.html", help="pattern of the pages to open")
    args = parser.parse_args()

    files = [file for file in sorted(args.folder.resolve().glob(args.only)) if file.is_file()]
    files = [file for file in files if "_static" not in file.parts and "_modules" not in file.parts]
    if not files:
        sys.exit(f"There are no pages in {args.folder}: run `make doc` first.")
    browser_path = chromium()
    if browser_path is None:
        sys.exit(NOT_FOUND)
    if args.output is not None:
        args.output.mkdir(parents=True, exist_ok=True)
    n_faulty = 0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=browser_path, args=["--no-sandbox", "--enable-unsafe-swiftshader"]
        )
        context = browser.new_context(offline=True)
        for file in files:
            name = file.relative_to(args.folder.resolve()).with_suffix("").as_posix()
            page, faults = context.new_page(), []
            page.set_default_timeout(WAIT)
            watch(page, faults, allowed=("file:", "data:", "blob:", "about:"))
            picture = None if args.output is None else args.output / name.replace("/", "_")
            try:
                faults += look(page, file, picture)
            except Error as error:
                faults.append(f"cannot be opened: {error.message.splitlines()[0]}")
            page.close()
            n_faulty += bool(faults)
            for fault in dict.fromkeys(faults):
                print(f"{name}: {fault}", flush=True)
        browser.close()
    print(f"{len(files)} pages opened, {n_faulty} with faults")
    sys.exit(n_faulty > 0)


if __name__ == "__main__":
    main()
