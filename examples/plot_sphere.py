"""
A constraint of your own: points on a sphere
============================================

Twelve points that repel each other by the reciprocal of their distance, on a sphere of any radius.
This is Thomson's problem of the electrons on a sphere; for twelve, the answer is the icosahedron.
The class :class:`Sphere` is all that the solver needs to know about the sphere.
"""

import argparse
from itertools import combinations
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import torch

import skmde
from skmde.plotting import EmbeddingDisplay


class Sphere(skmde.Constraint):
    """Every item at distance `radius` from the origin.

    Parameters
    ----------
    radius : float, default=1.0
        In the units of the embedding.
    """

    def __init__(self, radius=1.0):
        self.radius = radius

    def validate(self, n_items, n_components):
        if not self.radius > 0:
            raise ValueError(f"A sphere needs a radius above 0; got radius={self.radius!r}.")

    def project(self, Z):
        norms = torch.linalg.vector_norm(Z, dim=1, keepdim=True)
        # The origin is equally far from every point of the sphere: any of them is nearest.
        pole = torch.zeros_like(Z)
        pole[:, 0] = 1
        return self.radius * torch.where(norms > 0, Z / norms, pole)

    def project_tangent(self, X, Z):
        # Rows of X / radius are the unit normals; what is left of Z is orthogonal to them.
        normals = X / self.radius
        return Z - normals * (normals * Z).sum(dim=1, keepdim=True)


def spread(n_items, radius, seed=0):
    """Points on a sphere that repel each other by the reciprocal of their distance."""
    edges = np.array(list(combinations(range(n_items), 2)))
    problem = skmde.MDE(
        n_items,
        3,
        edges,
        skmde.InversePower(exponent=1.0),
        constraint=Sphere(radius),
        weights=-np.ones(len(edges)),
    )
    return problem.embed(random_state=seed).numpy()


def draw(points):
    """The points, and lines between those that are nearest."""
    pairs = np.array(list(combinations(range(len(points)), 2)))
    lengths = np.linalg.norm(points[pairs[:, 0]] - points[pairs[:, 1]], axis=1)
    figure = plt.figure(figsize=(6, 6), layout="constrained")
    ax = figure.add_subplot(projection="3d")
    nearest = pairs[lengths < 1.2 * lengths.min()]
    EmbeddingDisplay.from_embedding(points, edges=nearest, show_edges="all", marker_size=70, ax=ax)
    ax.set_axis_off()
    return figure


def main():
    parser = argparse.ArgumentParser(description="Spread points on a sphere.")
    parser.add_argument("--output", type=Path, help="picture to write, not show")
    parser.add_argument("--items", type=int, default=12, help="how many points")
    parser.add_argument("--radius", type=float, default=2.0, help="of the sphere")
    args = parser.parse_args()

    points = spread(args.items, args.radius)
    nearest = min(np.linalg.norm(a - b) for a, b in combinations(points, 2))
    print(f"{args.items} points on a sphere of radius {args.radius:g}")
    print(f"smallest distance between two: {nearest:.4f}")
    figure = draw(points)
    if args.output is None:
        plt.show()
        return
    figure.savefig(args.output, dpi=120)
    print(f"Picture: {args.output}")


if __name__ == "__main__":
    main()
