"""Plans of memory: what a fit needs, before it begins."""
