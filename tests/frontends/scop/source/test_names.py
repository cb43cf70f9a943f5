from __future__ import annotations

from polysched.frontends.scop.source.names import Names


def test_a_taken_name_gets_a_number() -> None:
    names = Names(frozenset({"t"}))
    assert [names.fresh("t"), names.fresh("t"), names.fresh("u")] == ["t_2", "t_3", "u"]
    assert names.free("u", ("u_2",)) == "u_3"
    assert names.free("u") == "u_2"
