"""polysched: a polyhedral loop-nest optimizer with proved schedules and a JIT."""
