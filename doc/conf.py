"""Sphinx configuration; `make doc` builds the pages into doc/_build/html.

Nothing on the pages is loaded from a network: MathJax comes from a package, and the theme brings
its own scripts and icons.
"""

import html
import inspect
import os
import re
import sys
import textwrap
from pathlib import Path

from docutils import nodes

import skmde
from skmde import losses, penalties

sys.path.insert(0, str(Path(__file__).parent))  # for gallery_order and function_pictures

project = "skmde"
author = "skmde developers"
copyright = "2026, skmde developers"
version = release = skmde.__version__

extensions = [
    "matplotlib.sphinxext.plot_directive",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
    "sphinx-mathjax-offline",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
# The folders of the gallery have an index of their own, which the gallery writes.
exclude_patterns = ["_build", "_templates", "gallery/**/GALLERY_HEADER.rst"]
templates_path = ["_templates"]
default_role = "literal"
smartquotes = False  # values in docstrings are to be copied
mathjax_path = "mathjax/tex-chtml.js"

autosummary_generate = True
# Public names belong to the package; where they are defined is nobody's business.
autosummary_imported_members = True
# Where file names have no case, the page of mde would be that of MDE.
autosummary_filename_map = {"skmde.mde": "skmde.mde_function"}
# Classes whose pages have a picture.
FUNCTIONS = {*penalties.PENALTIES.values(), *losses.LOSSES.values(), penalties.Barrier}
autosummary_context = {"drawn": sorted(function.__name__ for function in FUNCTIONS)}
autodoc_default_options = {"members": True, "inherited-members": True}
# Types are in the docstrings, in words. A signature has a line for each parameter.
autodoc_typehints = "none"
python_maximum_signature_line_length = 80
python_trailing_comma_in_multi_line_signatures = False
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False

plot_formats = [("png", 110)]
plot_html_show_formats = plot_html_show_source_link = plot_include_source = False

# `make gallery-full` names a folder with the data sets that are too large to be shipped.
FULL = bool(os.environ.get("SKMDE_DATA"))
sphinx_gallery_conf = {
    "examples_dirs": ["../examples"],
    "gallery_dirs": ["gallery"],
    "nested_sections": True,
    "within_subsection_order": "gallery_order.EasiestFirst",
    "subsection_order": [f"../examples/{name}" for name in ("tasks", "parameters", "monograph")],
    "filename_pattern": r"[\\/]plot_",
    "ignore_pattern": r"[\\/]_|__init__\.py",
    "doc_module": ("skmde",),
    "backreferences_dir": "generated/examples",
    "reference_url": {"skmde": None},
    "image_scrapers": ("matplotlib",),
    "matplotlib_animations": False,
    "remove_config_comments": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,  # its table is drawn by scripts from a network
    "min_reported_time": 0 if FULL else float("inf"),  # says more about the machine than the script
    "abort_on_example_error": False,
    "copyfile_regex": r"GALLERY_HEADER\.rst",
}

html_theme = "pydata_sphinx_theme"
html_title = "skmde"
html_static_path = ["_static"]
html_css_files = ["skmde.css"]
html_js_files = [("skmde.js", {"defer": "defer"})]
html_favicon = "_static/logo.svg"
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {
        "text": "skmde",
        "image_light": "_static/logo.svg",
        "image_dark": "_static/logo.svg",
    },
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 8,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": True,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_context = {"default_mode": "auto"}
html_sidebars = {"index": [], "install": [], "choose": []}

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


# scikit-learn's own: metadata routing, and methods whose text points into its manual.
NOT_SHOWN = re.compile(r"get_metadata_routing|set_\w+_request")
SKLEARN_REFERENCE = re.compile(
    r"((Refer to the|See) :ref:`|\.\. version(added|changed)::).*?(\n\n|$)", re.DOTALL
)


def skip_member(app, what, name, obj, skip, options):
    """Leave out what scikit-learn, tuples and exceptions bring and no user calls."""
    # fields of named tuples are in the docstring, as attributes
    if NOT_SHOWN.fullmatch(name) or type(obj).__name__ == "_tuplegetter":
        return True
    if not name.startswith("_") and inspect.isroutine(obj) and not inspect.isfunction(obj):
        # methods of built-in classes; class methods of ours are bound to Python functions
        return True if not hasattr(obj, "__func__") else None
    return None


def drop_references_into_sklearn(app, what, name, obj, options, lines):
    """Inherited docstrings refer to scikit-learn's manual and to its versions."""
    if (getattr(obj, "__module__", None) or "").startswith("sklearn."):
        lines[:] = SKLEARN_REFERENCE.sub("", "\n".join(lines)).split("\n")


DESCRIPTION = "Minimum-distortion embedding behind scikit-learn's interface."
LENGTH = 200  # characters of a description; programs that search show no more


def describe_page(app, pagename, templatename, context, doctree):
    """Say in the head of a page what it is about, in the words of its first paragraph."""
    text = DESCRIPTION
    for paragraph in () if doctree is None else doctree.findall(nodes.paragraph):
        if paragraph.parent.tagname in ("section", "desc_content"):
            text = paragraph.astext()
            break
    text = textwrap.shorten(" ".join(text.split()), LENGTH, placeholder=" ...")
    title = re.sub("<[^>]*>", "", context.get("title") or project)
    facts = {"og:title": html.unescape(title), "og:site_name": project, "og:type": "article"}
    facts |= {"og:description": text}
    tags = [f'<meta property="{name}" content="{html.escape(v)}">' for name, v in facts.items()]
    tags += [f'<meta name="description" content="{html.escape(text)}">']
    context["metatags"] = "\n".join([context.get("metatags") or "", *tags])


def setup(app):
    app.connect("html-page-context", describe_page)
    app.connect("autodoc-skip-member", skip_member)
    app.connect("autodoc-process-docstring", drop_references_into_sklearn, priority=100)
