"""Translate values and statements of C to statements of a kernel."""
