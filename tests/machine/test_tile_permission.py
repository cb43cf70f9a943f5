"""The permission to use AMX tiles: asked only on processors with AMX."""

from __future__ import annotations

import pytest

from polysched.machine import detect
from polysched.machine.detect import detect_host, may_use_tiles, without_forbidden_tiles

FEATURES = {"avx2": True, "amx-tile": True, "amx-int8": True, "amx-fp16": False}


def test_a_processor_without_tiles_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detect, "may_use_tiles", lambda: pytest.fail("asked"))
    assert without_forbidden_tiles({"avx2": True, "amx-tile": False}) == {
        "avx2": True,
        "amx-tile": False,
    }


@pytest.mark.parametrize("allowed", [True, False])
def test_tiles_are_used_with_permission_only(
    allowed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(detect, "may_use_tiles", lambda: allowed)
    expected = FEATURES if allowed else {**dict.fromkeys(FEATURES, False), "avx2": True}
    assert without_forbidden_tiles(FEATURES) == expected


def test_the_answer_is_about_this_processor() -> None:
    if not detect_host().has("amx-tile"):
        pytest.skip("asked on processors with AMX only")
    assert may_use_tiles()
