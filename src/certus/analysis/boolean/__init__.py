"""Reachability of Boolean programs by binary decision diagrams (Wolff, RocketScience, 2015, section 4)."""
