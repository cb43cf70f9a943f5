"""Reports on legality: explanations, pictures, loop properties, JSON and SARIF."""
