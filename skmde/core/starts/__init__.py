"""Where a solve starts: items apart and over fixed items, at a scale that suits the functions."""
