"""Declaration of a product: its sums, its operands, its epilogue."""
