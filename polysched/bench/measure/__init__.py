"""The measuring protocol: contestants in turn, beside the machine's peak and the peers' kernels."""
