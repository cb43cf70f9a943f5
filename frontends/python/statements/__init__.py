"""Translate Python statements to statements of a kernel."""
