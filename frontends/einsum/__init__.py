"""``einsum``: contractions written as numpy writes them, compiled from the library's plans."""
