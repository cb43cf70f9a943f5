"""Rewrites of the syntax tree that leave only statements and loops that can be translated."""
