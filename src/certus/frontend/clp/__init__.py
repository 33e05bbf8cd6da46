"""Horn clauses in the syntax of constraint logic programs: `r(X) :- X > 0, s(X - 1).`

The text denotes the S-expressions of SMT-LIB (`syntax`), so both formats have the same terms."""
