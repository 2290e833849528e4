"""Problems that linear algebra solves: eigenvectors, classical scaling, placement."""
