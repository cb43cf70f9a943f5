"""Read the source of a Python function, and rewrite its control flow."""
