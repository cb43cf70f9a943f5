from polysched.ir.core.kernel import Kernel
from polysched.runtime.signature import signature_of, tuple_text


def test_temporaries_are_no_arguments(saxpy) -> None:
    signature = signature_of(saxpy.kernel)
    assert signature.array_names == ("x", "y", "out")
    assert signature.required_names == ("x", "y")
    assert signature.parameters == ("n",)


def test_text(rows: Kernel) -> None:
    text = "rows(x: f32[N, H + 2], out: f64[N, 2 * H], total: i32[N], N, H)"
    assert str(signature_of(rows)) == text


def test_tuples_are_written_as_python_does() -> None:
    assert tuple_text([]) == "()"
    assert tuple_text(["a"]) == "(a,)"
    assert tuple_text(["a", "b"]) == "(a, b)"
