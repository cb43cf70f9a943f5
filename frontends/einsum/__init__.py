"""``einsum``: tensor contractions in numpy's notation, compiled to the library's kernels."""
