"""Metrics: their names, their parameters, and what each requires of the data."""
