"""Element types and expressions: trees, affine conversion, linear forms."""
