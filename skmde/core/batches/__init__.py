"""Where the batches of pairs of a stochastic solve come from."""
