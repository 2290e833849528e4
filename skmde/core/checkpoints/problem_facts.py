"""What tells one MDE problem from another: pairs, functions, constraint and repulsion, by name."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from skmde.constraints import Constraint
from skmde.core.all_pairs_repulsion import AllPairsRepulsion
from skmde.core.checkpoints.facts import Facts, described, digest
from skmde.core.objectives.all_pairs import AllPairs
from skmde.core.objectives.edge_term import Edges


def problem_facts(
    n_items: int,
    edges: Edges,
    constraint: Constraint,
    repulsion: AllPairsRepulsion | None,
) -> Facts:
    """Facts of an :class:`~skmde.MDE` problem.

    Functions of the user are told by their names alone, and constraints without parameters by that
    of their class. What these do shows in the value and the gradient at the starting point.
    """
    is_all = isinstance(edges, AllPairs)
    weights = edges.given_weights if isinstance(edges, AllPairs) else edges.weights
    facts = {
        "n_items": str(n_items),
        "device": repr(str(edges.device)),
        "edges": "all pairs" if is_all else _or_none(edges.i, edges.j),
        "weights": _or_none(weights),
        "deviations": _or_none(edges.deviations),
        "distortion": ", ".join(
            f"{described(run.function)} for {run.stop - run.start} pairs" for run in edges.segments
        ),
        "constraint": described(constraint),
    }
    if repulsion is None:
        return {**facts, "repulsion": "None"}
    names = {"kind": "repulsion", "penalty": "repulsive penalty", "weight": "repulsive_weight"}
    for name in (field.name for field in fields(repulsion)):
        facts[names.get(name, name)] = described(getattr(repulsion, name))
    return facts


def _or_none(*arrays: Any) -> str:
    return "None" if any(array is None for array in arrays) else digest(*arrays)
