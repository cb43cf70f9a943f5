"""LLVM values of expressions, masks and register transpositions."""
