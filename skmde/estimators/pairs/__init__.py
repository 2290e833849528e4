"""The pairs of a problem, from neighbours or original distances."""
