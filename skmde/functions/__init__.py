"""Distortion functions: penalties p(d) and losses l(delta, d) of an embedding distance d."""
