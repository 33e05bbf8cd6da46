"""Range analysis by linear programming (seed 002)."""
