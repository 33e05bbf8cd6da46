"""A deprecated name of the package with the BenchExec module: use `certus.bench.benchexec`."""
