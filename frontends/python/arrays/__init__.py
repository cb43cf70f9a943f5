"""Statements over whole arrays: stores, joins, masks and reductions."""
