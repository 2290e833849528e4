"""What a solver minimises: sums of terms over pairs of items."""
