"""Linear algebra whose results have the same bits for any number of threads."""
