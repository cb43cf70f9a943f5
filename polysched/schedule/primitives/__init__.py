"""The scheduling primitives, one file each: a record and the function that applies it."""
