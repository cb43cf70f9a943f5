"""Interpreters of the loop IR."""
