"""``matmul`` of numpy arrays: from the arguments of a call to a compiled kernel."""
