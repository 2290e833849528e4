"""The ways to search for neighbours, one file each."""
