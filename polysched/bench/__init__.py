"""Racing polysched's schedules against their peers, beside the machine's measured peak."""
