"""The historical spectral methods, one file each."""
