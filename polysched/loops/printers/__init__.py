"""Printers of loop programs: pseudocode and C."""
