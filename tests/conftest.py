"""What holds for all tests: a home of their own, and no deadline on a machine others use too."""

import gc
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib import import_module
from itertools import count
from pathlib import Path

import pytest
from hypothesis import settings

from polysched.runtime import call_cache, kernel, native_calls
from tests.golden import compare_with_golden

# The collector runs less often than by default, from here on: collection makes ten thousand tests
# that live until the end, and tests make few cycles.
gc.set_threshold(1_000_000, 20, 10)

settings.register_profile("polysched", deadline=None, print_blob=True)
settings.load_profile("polysched")

_NUMBERS = count()


@pytest.fixture(autouse=True)
def _own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give each test a home, and so caches and settings, of its own; few tests create it."""
    home: Path = tmp_path_factory.getbasetemp() / f"home-{next(_NUMBERS)}"
    for name in ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(home))
    for name in ("POLYSCHED_DEBUG", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Have every second process of pytest-xdist import the test files from the last to the first.

    All processes import all files. If they begin at different ends, each compiles half of the
    files, and reads what the others have compiled.
    """
    config = session.config
    worker = getattr(config, "workerinput", {}).get("workerid", "gw0")
    if int(worker.removeprefix("gw")) % 2 == 0 or config.args != config.getini("testpaths"):
        return
    for path in sorted(Path(__file__).parent.rglob("test_*.py"), reverse=True):
        name = ".".join(path.relative_to(config.rootpath).with_suffix("").parts)
        with suppress(Exception, pytest.skip.Exception):  # the collection reports errors
            import_module(name)


def pytest_collection_finish() -> None:
    """Free the cycles of the collection, once."""
    gc.collect()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Have the collector look at the test's own objects only.

    Late in a run a collection of all objects takes a second, and many tests collect.
    """
    gc.collect(1)  # the cycles of the test before
    gc.freeze()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that rewrites the golden files."""
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="rewrite tests/golden_files with the texts that the tests produce",
    )


@pytest.fixture(params=["Python", *(["extension"] if native_calls.CALL_TABLE else [])])
def call_table(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> object:
    """Run calls of new kernels and call caches by Python, and by the C extension if it is built."""
    table = None if request.param == "Python" else native_calls.CALL_TABLE
    for module in (kernel, call_cache):
        monkeypatch.setattr(module, "CALL_TABLE", table)
    return table


@pytest.fixture
def check_golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Return ``check_golden(name, text)``: the text equals tests/golden_files/NAME."""
    return partial(compare_with_golden, update=request.config.getoption("--update-golden"))
