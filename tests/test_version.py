import importlib.metadata

import pytest

from polysched.version import own_version


def test_of_the_installed_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "version", {"polysched": "1.2.3"}.__getitem__)
    assert own_version() == "1.2.3"


def test_of_a_source_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", missing)
    assert own_version() is None
