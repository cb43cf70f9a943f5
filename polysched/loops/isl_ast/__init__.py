"""Loops from isl's AST generation: schedule trees, separation of full tiles, and readers."""
