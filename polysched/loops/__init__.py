"""Imperative loops: isl's AST generation, the loop IR, printers, the reference interpreter."""
