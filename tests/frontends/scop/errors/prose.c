This is no C at all; it is a letter.
