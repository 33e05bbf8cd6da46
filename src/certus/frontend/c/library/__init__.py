"""What functions of the C library do: a table of meanings, and models in C."""
