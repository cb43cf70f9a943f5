"""Elementary functions as operations on whole vectors, in place of calls lane by lane."""
