"""Sphinx configuration; `make doc` builds the pages into doc/_build/html."""

import skmde

project = "skmde"
author = "skmde developers"
copyright = "2026, skmde developers"
version = release = skmde.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
]
exclude_patterns = ["_build"]
templates_path = ["_templates"]
default_role = "literal"

autosummary_generate = True
# Public names belong to the package; where they are defined is nobody's business.
autosummary_imported_members = True
# Where file names have no case, the page of mde would be that of MDE.
autosummary_filename_map = {"skmde.mde": "skmde.mde_function"}
autodoc_default_options = {
    "members": True,
    "inherited-members": False,
    # scikit-learn writes these methods and their text, which points into its own manual.
    "exclude-members": "set_fit_request, set_score_request",
}
numpydoc_show_class_members = False

html_theme = "alabaster"
html_title = f"skmde {release}"
html_theme_options = {
    "description": "Minimum-distortion embedding behind scikit-learn's interface",
    "page_width": "1100px",
}
