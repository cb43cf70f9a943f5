"""Legality checker: order, vectors, storage and bounds; its verdicts, witnesses and repairs."""
