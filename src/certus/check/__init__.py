"""Check evidence on the program as the front end built it; no answer is published without this.

`check` is a second implementation: it imports neither engines, analyses nor passes, and derives every proof
obligation by its own translation into formulas and its own unrolling. A mistake in the search can lose an
answer, but not publish a wrong one.

A published HOLDS rests on these checks:

- the proof's obligations, derived from the program and the claims of the proof alone (`proofs.clauses`,
  `proofs.unrolled`), are each discharged by at least one solver (two with `--solvers 2`), and no solver
  refutes one (`proofs.discharge`); for Horn clauses, the model satisfies every clause (`proofs.horn`);
- a partition of memory that the proof uses respects every operation of the program (`proofs.partition`);
- no random run of the interpreter reaches an error or falsifies a claim of the proof (`proofs.random_runs`);
- no native run of a C program contradicts the model, if the program can be compiled (`challenge.native`);
- if the evidence is a single execution: it ends without an error and depends on no input (`replay.replay`).

A published VIOLATED rests on these checks:

- the interpreter runs the program on the inputs of the trace and arrives at the error that the trace names,
  without undefined behaviour and without a value that is not modelled (`replay.replay`);
- the compiled C program reaches the error on the same inputs wherever the run depends on these inputs only
  (`replay.compiled`); for Horn clauses, each step of the derivation is computed again (`proofs.horn`).

Trusted, because nothing here checks it: the front end's translation of the source text (native runs only
sample it); `core` (terms, evaluation, programs, loops); the encodings of machine integers and memory in
`encoding`; this package and the interpreter; for proofs, the solvers and their translations in `solvers` (the
solver that discharges an obligation must be right about it); for native runs, `system` and the compilers.
`proofs.check.vacuous` and `replay.relevance` only explain an answer.
"""
