"""Products of rows that are rounded to 8 bits and prepared quantized weights."""
