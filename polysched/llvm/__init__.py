"""LLVM IR emission: translate the vector IR to LLVM IR text, operation by operation."""
