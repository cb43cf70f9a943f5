"""What is declared in pyproject.toml fits the folders."""

import importlib
import importlib.metadata
import runpy
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def packages_under(folder: str, name: str) -> set[str]:
    return {
        ".".join((name, *path.parent.relative_to(ROOT / folder).parts))
        for path in (ROOT / folder).rglob("__init__.py")
    }


def test_every_package_is_listed_for_the_wheel() -> None:
    expected = packages_under("polysched", "polysched")
    expected |= packages_under("frontends", "polysched.frontends")
    assert sorted(PROJECT["tool"]["setuptools"]["packages"]) == sorted(expected)


def test_every_folder_with_modules_is_a_package() -> None:
    folders = {
        path.parent for top in ("polysched", "frontends") for path in (ROOT / top).rglob("*.py")
    }
    assert [folder for folder in folders if not (folder / "__init__.py").exists()] == []


def test_frontends_are_imported_under_the_project() -> None:
    module = importlib.import_module("polysched.frontends")
    assert module.__name__ == "polysched.frontends"
    assert Path(str(module.__file__)).parent.name == "frontends"


def test_the_license_is_part_of_the_package() -> None:
    assert PROJECT["project"]["license"] == "MIT"
    assert PROJECT["project"]["license-files"] == ["LICENSE"]
    text = (ROOT / "LICENSE").read_text()
    assert text.startswith("MIT License\n\nCopyright (c) 2026 the polysched authors\n")
    distribution = importlib.metadata.distribution("polysched")
    # Metadata of an installation that is older than this entry: `pip install -e .` renews them.
    assert distribution.metadata["License-Expression"] == "MIT"
    assert distribution.metadata.get_all("License-File") == ["LICENSE"]
    assert [file.name for file in distribution.files or () if file.name == "LICENSE"] == ["LICENSE"]


def test_the_extension_is_optional_and_has_its_sources_and_types(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def described(name: str, sources: list[str], **options: Any) -> SimpleNamespace:
        return SimpleNamespace(name=name, sources=sources, **options)

    # setuptools is needed for building only, so an environment may lack it.
    builder = SimpleNamespace(Extension=described, setup=lambda ext_modules: None)
    monkeypatch.setitem(sys.modules, "setuptools", builder)
    extension = runpy.run_path(str(ROOT / "setup.py"))["CALL_TABLE"]
    assert extension.optional
    assert extension.py_limited_api
    folder = ROOT / "polysched/runtime"
    assert {ROOT / path for path in extension.sources} == set(folder.glob("*.c"))
    assert {ROOT / path for path in extension.depends} == set(folder.glob("*.h"))
    module = ROOT / extension.sources[0]
    assert ".".join(module.relative_to(ROOT).with_suffix("").parts) == extension.name
    assert module.with_suffix(".pyi").exists()
    # The versions of both interfaces are the oldest ones that are supported.
    header = (folder / "planned_call.h").read_text()
    assert "#define Py_LIMITED_API 0x030B0000" in header
    assert PROJECT["project"]["requires-python"] == ">=3.11"
    assert "#define NPY_TARGET_VERSION NPY_2_0_API_VERSION" in header
    assert "numpy>=2.1,<3" in PROJECT["build-system"]["requires"]
    assert "numpy>=2.1,<3" in PROJECT["project"]["dependencies"]


def test_every_file_beside_the_modules_is_in_the_wheel_or_a_source_of_the_extension() -> None:
    data = PROJECT["tool"]["setuptools"]["package-data"]
    packed = {
        path
        for package, patterns in data.items()
        for pattern in patterns
        for path in (ROOT / package.replace(".", "/")).glob(pattern)
    }
    excluded = PROJECT["tool"]["setuptools"]["exclude-package-data"]["polysched.runtime"]
    sources = {path for pattern in excluded for path in (ROOT / "polysched/runtime").glob(pattern)}
    built = (".py", ".pyc", ".so")
    beside = {
        path
        for top in ("polysched", "frontends")
        for path in (ROOT / top).rglob("*")
        if path.is_file() and path.suffix not in built
    }
    assert beside == packed | sources
    assert {path.suffix for path in packed} == {".c", ".pyi", ".typed"}
    assert not packed & sources
