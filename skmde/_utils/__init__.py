"""Utilities for all layers that do not depend on embeddings: threads, devices, input checks."""
