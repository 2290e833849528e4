"""Placement of unseen items: one small problem for each item (monograph, section 2.4.2)."""
