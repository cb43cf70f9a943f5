"""Arrays in memory: addresses, layouts of packed elements, streaming stores, stack slots."""
