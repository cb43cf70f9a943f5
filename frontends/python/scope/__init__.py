"""The names that a function binds and uses: numbers, arrays, and functions that are inlined."""
