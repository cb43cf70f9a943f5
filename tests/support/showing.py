"""A schedule's loops before and after its steps, for golden texts."""

from polysched.loops.printers.pseudo import print_loops
from polysched.lower import lower
from polysched.schedule.schedule import Schedule


def before_and_after(schedule: Schedule) -> str:
    """The kernel's own loops, the steps, and the loops that they make."""
    before = print_loops(lower(Schedule(schedule.kernel)))
    return f"{before}\n=> {schedule.trace()}\n\n{print_loops(lower(schedule))}"
