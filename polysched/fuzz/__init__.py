"""The fuzzer: random kernels and schedules, judged by the checker and by judges that do without."""
