"""LLVM IR to a `Program`: the lowering of the C front end."""
