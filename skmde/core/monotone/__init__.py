"""Scaling to a monotone function of the original distances: ordinal, interval and ratio MDS."""
