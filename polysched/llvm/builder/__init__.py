"""Builder of LLVM instructions: quicker than llvmlite's, intrinsics, functions, C library calls."""
