"""Simplification of declared kernels: dead writes removed, temporaries forwarded to readers."""
