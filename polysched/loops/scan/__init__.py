"""Loops of programs with literal sizes, from integer inequalities."""
