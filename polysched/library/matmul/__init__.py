"""Matrix products: deep-tiled, packed, on several threads; any sizes, each schedule proved."""
