"""Loops from isl's AST generation: schedule trees and readers."""
