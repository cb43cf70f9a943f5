"""The vector IR: explicit vectors, masks and memory accesses between the loops and LLVM."""
