"""Schedule of a product for a config, by public primitives."""
