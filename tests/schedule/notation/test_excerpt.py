from polysched.schedule.notation.excerpt import excerpt


def test_the_caret_is_below_the_column() -> None:
    assert excerpt("split(i, 4)", 7) == "  split(i, 4)\n        ^"


def test_tabs_stay_so_that_the_caret_stays_below() -> None:
    assert excerpt("\tsplit(\ti)", 9) == "  \tsplit(\ti)\n  \t      \t^"


def test_a_long_line_is_cut_around_the_column() -> None:
    line = "".join(chr(ord("a") + i // 10 % 26) for i in range(500))
    shown, caret = excerpt(line, 301).splitlines()
    assert len(shown) == 102
    assert shown[len(caret) - 1] == line[300]


def test_what_cannot_be_printed() -> None:
    assert excerpt("a\x1b[2J\0b", 1) == "  a?[2J?b\n  ^"


def test_a_column_behind_the_end() -> None:
    assert excerpt("ab(", 4) == "  ab(\n     ^"
