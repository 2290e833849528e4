"""Draw the pictures that pages show from examples/parameters: ``python doc/draw_pictures.py``."""

import runpy
import sys
from pathlib import Path

import matplotlib

EXAMPLES = Path(__file__).parents[1] / "examples" / "parameters"
IMAGES = Path(__file__).parent / "images"


def main():
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    chosen = sys.argv[1:]
    sys.path.insert(0, str(EXAMPLES))
    for script in sorted(EXAMPLES.glob("plot_*.py")):
        name = script.stem.removeprefix("plot_")
        if chosen and name not in chosen:
            continue
        runpy.run_path(str(script), run_name="__main__")
        for number in plt.get_fignums():
            path = IMAGES / f"parameters_{name}_{number}.png"
            plt.figure(number).savefig(path, dpi=85)
            print(path)
        plt.close("all")


if __name__ == "__main__":
    main()
