"""Last-writer runs: verify loops by following where values come from."""
