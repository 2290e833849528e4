"""Multidimensional scaling: the problems of PreserveDistances, and how they are solved."""
