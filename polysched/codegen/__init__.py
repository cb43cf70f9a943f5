"""Code generation: loop IR to LLVM IR to machine code, and what the assembly says of it."""
