"""Properties of loop programs: usage, instances, coverage, lifetimes, size limits."""
