"""Products that run specialized code at once, for tests of its dispatch."""

import pytest

from polysched.library.matmul.dispatch import call


class _NoGenericCalls:
    """Generic kernels that compute nothing."""

    def run(self, *_: object) -> None:
        return None

    def make_missing(self) -> None:
        pass

    def is_served(self, *_: object) -> bool:
        return False


@pytest.fixture(autouse=True)
def specialized_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the specialized code of a product in its first call."""
    monkeypatch.setattr(call, "_GENERIC", _NoGenericCalls())
