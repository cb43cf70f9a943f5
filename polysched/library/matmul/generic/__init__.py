"""Products of any size by size-generic kernels: sizes and strides are parameters of the code."""
