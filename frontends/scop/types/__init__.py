"""C's types: conversions, literals, math functions, layouts of structs."""
