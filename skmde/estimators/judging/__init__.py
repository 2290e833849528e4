"""What fitted estimators say of their embeddings: distortions, and what depends on them."""
