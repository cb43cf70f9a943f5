"""Call compiled functions: signatures, schedules that are kept, arguments and results."""
