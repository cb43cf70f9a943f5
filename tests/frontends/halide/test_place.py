"""The user's line."""

from polysched.frontends.halide import Func, Var
from polysched.frontends.halide.place import user_location


def test_it_is_outside_of_the_package() -> None:
    func = Func("f")
    func[Var("x")] = 1.0
    for location in (func.definitions[0].location, user_location()):
        assert location is not None
        assert location.file == __file__
