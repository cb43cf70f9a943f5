"""The passes: each is a pure function from program to program."""
