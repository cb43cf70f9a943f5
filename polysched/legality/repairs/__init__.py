"""Repairs of illegal schedules: small edits, each proved."""
