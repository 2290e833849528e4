"""The compiled loops over pairs of items, and the torch functions that define them."""
