"""Elementary functions on whole vectors, instead of library calls lane by lane."""
