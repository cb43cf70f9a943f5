"""Read C source text: preprocessing, parsing to a pycparser tree, pragmas."""
