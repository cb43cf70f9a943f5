"""Bounds, subscripts and conditions: translate C integer expressions to affine expressions."""
