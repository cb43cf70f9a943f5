"""Planning of a product: the config that the cost model of the machine chooses."""
