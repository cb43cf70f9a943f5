"""Running compiled kernels: checks of the call, JIT, cache."""
