"""Range analysis by linear programming (Zaks et al. 2006)."""
