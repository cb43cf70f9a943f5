"""LLVM IR emission: one operation of the vector IR after the other becomes LLVM IR text."""
