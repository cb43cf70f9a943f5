"""The loop IR."""
