"""Attention: the kernel with an online softmax, its schedule, and calls of numpy arrays."""
