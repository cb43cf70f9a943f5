from polysched.legality.check import check
from polysched.legality.verdicts.verdict import Verdict, VerdictKind
from polysched.schedule.schedule import Schedule
from tests.support import kernels


def test_verdicts_as_text() -> None:
    legal = check(Schedule(kernels.prefix()))
    assert str(legal) == "legal; proved: 2 statements, 2 dependences, 5 accesses, 0 buffers"
    illegal = check(Schedule(kernels.prefix()).reverse("i"))
    assert str(illegal).startswith("illegal: reverse(loop='i') breaks a flow dependence on s")
    unknown = Verdict(VerdictKind.UNKNOWN, reason="no time left")
    assert str(unknown) == "unknown: no time left"
