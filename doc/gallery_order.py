"""The order of the gallery's pages within a section."""

# The easiest come first; pages that are not named here follow in the order of their files, in which
# scripts that are only shown, without `plot_`, have their place by number.
FIRST = {
    "examples": ["plot_digits.py", "plot_displays.py", "plot_explore.py", "plot_judging.py"],
    "parameters": ["plot_steps.py"],
}


class EasiestFirst:
    """Sort key of sphinx-gallery: made for a folder, called with the names of its files.

    >>> order = EasiestFirst("../examples")
    >>> sorted(["plot_counts.py", "plot_judging.py", "plot_digits.py"], key=order)
    ['plot_digits.py', 'plot_judging.py', 'plot_counts.py']
    >>> sorted(["12_topics.py", "plot_13_large.py", "plot_01_table.py"], key=EasiestFirst("tasks"))
    ['plot_01_table.py', '12_topics.py', 'plot_13_large.py']
    """

    def __init__(self, src_dir):
        folder = str(src_dir).replace("\\", "/").rstrip("/").rpartition("/")[2]
        self.first = FIRST.get(folder, [])

    def __call__(self, filename):
        place = self.first.index(filename) if filename in self.first else len(self.first)
        return place, filename.removeprefix("plot_")

    def __repr__(self):
        return "EasiestFirst"  # part of what decides whether a build starts anew
