"""Fast builder of LLVM instructions, intrinsics, functions and C library calls."""
