"""Random kernels and schedules, as plain data."""
