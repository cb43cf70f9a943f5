from polysched.ir.core.tree import LoopKind
from polysched.loops.verify.races import Races
from tests.loops.programs import assign, load, loop

STORE = assign("y", (0,), load("x", 0))
INNER = loop("j", 0, 4, STORE, kind=LoopKind.PARALLEL)
OUTER = loop("i", 0, 4, INNER)
THREADS = loop("p", 0, 4, OUTER, kind=LoopKind.PARALLEL)


def test_strands_name_the_run_of_the_loop_and_its_iteration() -> None:
    races = Races()
    assert races.threads((OUTER,)).strand({"i": 1}) == ()
    around = races.threads((THREADS, OUTER, INNER))
    assert around.strand({"p": 3, "i": 1, "j": 2}) == (((0,), 3), ((1, 3, 1), 2))


def touched(*accesses: tuple[dict[str, int], bool]) -> list[bool]:
    races = Races()
    around = races.threads((THREADS, OUTER, INNER))
    return [
        races.touch("a", (0,), around.strand(variables), is_write=is_write)
        for variables, is_write in accesses
    ]


FIRST, SECOND = {"p": 0, "i": 0, "j": 0}, {"p": 0, "i": 0, "j": 1}
LATER, OTHER = {"p": 0, "i": 1, "j": 1}, {"p": 1, "i": 0, "j": 0}
WRITE, READ = True, False


def test_two_threads_and_a_write_are_a_race() -> None:
    assert touched((FIRST, WRITE), (SECOND, READ)) == [False, True]
    assert touched((FIRST, READ), (SECOND, WRITE)) == [False, True]
    assert touched((FIRST, WRITE), (SECOND, WRITE)) == [False, True]
    assert touched((FIRST, WRITE), (OTHER, READ)) == [False, True]
    assert touched((FIRST, READ), (FIRST, READ), (FIRST, READ), (SECOND, WRITE))[-1]


def test_reads_one_thread_and_later_runs_are_none() -> None:
    assert not any(touched((FIRST, READ), (SECOND, READ)))
    assert not any(touched((FIRST, WRITE), (FIRST, READ), (FIRST, WRITE)))
    assert not any(touched((FIRST, WRITE), (LATER, READ), (LATER, WRITE)))


def test_a_write_ends_the_reads_before_it() -> None:
    assert touched((FIRST, READ), (LATER, WRITE), (LATER, READ)) == [False] * 3


def test_a_new_buffer_has_no_past() -> None:
    races = Races()
    around = races.threads((THREADS,))
    races.touch("b", (0,), around.strand({"p": 0}), is_write=True)
    races.forget("b")
    assert not races.touch("b", (0,), around.strand({"p": 1}), is_write=True)
    assert not races.touch("b", (1,), around.strand({"p": 0}), is_write=True)
