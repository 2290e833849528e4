"""Problems that linear algebra solves: eigenproblems, classical scaling, quadratic placement."""
