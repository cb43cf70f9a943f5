"""Arrays in memory: addresses, packed layouts, streaming stores and stack slots."""
