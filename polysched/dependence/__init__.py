"""Dependences between statement instances, exact and memory-based."""
