"""Fuzzer: random kernels and schedules, judged by the checker and by independent judges."""
