"""What the tests of repairs share."""

from polysched.legality.check import check
from polysched.legality.repairs.repair import Case
from polysched.schedule.schedule import Schedule


def case_of(schedule: Schedule) -> Case:
    """The case that an illegal schedule is."""
    violation = check(schedule).violation
    assert violation is not None
    assert violation.offending_step is not None
    return Case(schedule, violation, violation.offending_step.index)
