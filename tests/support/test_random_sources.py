import pytest

from polysched.errors import FrontendError
from tests.support.random_sources import Findings, run


def test_seeds_are_tried_in_batches(capsys: pytest.CaptureFixture[str]) -> None:
    tried: list[range] = []

    def try_seeds(seeds: range) -> Findings:
        tried.append(seeds)
        found = Findings()
        found.counts["functions"] += len(seeds)
        found.wrong += [f"{seeds.start}: wrong"]
        return found

    with pytest.raises(SystemExit) as ended:
        run(try_seeds, 0.0, 40, batch=5)
    assert ended.value.code == 1
    assert tried == [range(40, 45)]
    told = capsys.readouterr().out
    assert told.startswith("40: wrong\n-----")
    assert told.endswith("seeds 40 to 44: {'functions': 5}, 1 wrong\n")
    with pytest.raises(SystemExit) as ended:
        run(lambda _: Findings(), 0.05, 0)
    assert ended.value.code == 0


def test_a_refusal_at_no_place_is_wrong() -> None:
    found = Findings()
    found.refuse("f1", FrontendError("too wide"), "text")
    assert found.counts["refused"] == 1
    assert found.refused["too wide"] == 1
    assert found.wrong == ["f1: refused at no place: too wide\ntext"]
