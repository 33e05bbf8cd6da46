"""Variants kept only for comparison with the papers. No default configuration uses them.

- `ranges.solver=milp` (Zaks et al. 2006, section 4): ranges by mixed-integer programs, in
  `mixed_integer_ranges`. Strategy iteration gives the same ranges in less time.
- `ranges.calls=unique` (Zaks et al. 2006, section 2): unique inlining, in `unique_inlining`. It joins
  variables of all callers, so it is less precise than joining parameters and results.
- `predicate.abstraction=cartesian` (Mertens 2014, section 2.2.1): Cartesian abstraction, which loses how
  predicates depend on each other in a large block. It is the first phase of Boolean abstraction.
- `clp.explication=proofs` (Flanagan 2004, as published) needs more refinements than the default `cores`;
  `exhaustive` is predicate abstraction without explication and needs more theory queries.

The last two differ from the default by one condition, so they stay in their engines. An engine marks such an
option with `REFERENCE`, and imports modules of this package only when the option asks for them.
`certus engines` lists these options only with `--reference`.
"""
