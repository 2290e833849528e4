"""Placing unseen items, one small problem each (monograph, section 2.4.2)."""
