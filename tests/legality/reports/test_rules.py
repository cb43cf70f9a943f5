from polysched.legality.reports.sarif import HELP
from polysched.legality.verdicts.verdict import Cause


def test_there_is_help_for_every_cause() -> None:
    assert set(HELP) == set(Cause)
    assert all(text.endswith(".") for text in HELP.values())
