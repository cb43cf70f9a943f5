from polysched.ir.core.kernel import Role
from polysched.loops.analysis.usage import accessed_arrays, lasting_temporaries
from polysched.loops.ir.nodes import Allocate, Block, If
from tests.loops.programs import array, assign, i, load, loop, n, program

BODY = loop(
    "i",
    0,
    n,
    Allocate("buffer", If(load("mask", i) < 1, assign("buffer", (0,), load("x", i)))),
    Block((assign("kept", (i,), load("buffer", 0)),)),
)


def test_accesses_of_targets_values_and_conditions() -> None:
    assert accessed_arrays(BODY) == {"mask", "buffer", "x", "kept"}


def test_lasting_temporaries_are_accessed_and_no_buffers() -> None:
    temporaries = [array(name, (n,), Role.TEMPORARY) for name in ("buffer", "kept", "unused")]
    made = program([array("x", (n,), Role.INPUT), *temporaries], BODY)
    assert [found.name for found in lasting_temporaries(made)] == ["kept"]
