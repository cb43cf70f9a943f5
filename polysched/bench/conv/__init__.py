"""Benchmark of one convolution."""
