from polysched.frontends.python.source.fresh_names import fresh_name


def test_names_that_are_taken_get_a_number() -> None:
    assert fresh_name("each", {"other"}) == "each"
    assert fresh_name("each", {"each", "each_2"}) == "each_3"
