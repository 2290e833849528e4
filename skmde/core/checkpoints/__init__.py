"""Checkpoints: files with the state of a solve, from which a later one goes on."""
