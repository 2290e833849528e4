"""Scales of a problem: the unit of its tolerance, the units of its variables, and the precision."""
