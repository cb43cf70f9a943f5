"""``polysched bench``: one module for each benchmark."""
