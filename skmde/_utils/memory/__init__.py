"""Memory: how much of it there is, and data that stay on the disk."""
