"""Compiled code that all tests of a run share, in both processes of pytest-xdist."""

import os

import pytest


@pytest.fixture(autouse=True)
def shared_code(
    _own_home: None, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keep compiled code in a folder of this run, so that no two processes compile the same."""
    base = tmp_path_factory.getbasetemp()
    run = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    monkeypatch.setenv("POLYSCHED_CACHE", str(run / "library-code"))
