"""What is declared in pyproject.toml fits the folders."""

import importlib
import tomllib
from pathlib import Path

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
