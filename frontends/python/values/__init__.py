"""Values of a kernel, with the type rules of Python numbers and numpy scalars."""
