"""The one legality checker: order, vectors, storage, bounds; its verdicts and witnesses."""
