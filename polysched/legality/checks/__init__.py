"""The checks of a scheduled program: order, bounds, storage, shared bytes."""
