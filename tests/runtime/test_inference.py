import pytest

from polysched.errors import CallError
from polysched.ir.core.kernel import Kernel
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.functions import maximum
from polysched.runtime.inference import infer_parameters
from polysched.runtime.signature import Signature, signature_of


def _signature(*shapes, parameters=("N", "M")) -> Signature:
    build = KernelBuilder("k")
    values = {name: build.parameter(name, minimum=None) for name in parameters}
    for position, shape in enumerate(shapes):
        build.input(f"a{position}", "f32", tuple(e(**values) if callable(e) else e for e in shape))
    out = build.output("out", "f32", (1,))
    with build.loops(i=1) as i:
        out[i] = 0.0
    return signature_of(build.kernel())


def test_plain_and_linear_extents(rows: Kernel) -> None:
    bindings = infer_parameters(signature_of(rows), {}, {"x": (5, 82)})
    assert bindings.values == {"N": 5, "H": 80}
    assert (
        bindings.text() == "N = 5 (from dimension 'd0' of 'x'), H = 80 (from dimension 'd1' of 'x')"
    )


def test_what_is_given_is_not_inferred(rows: Kernel) -> None:
    bindings = infer_parameters(signature_of(rows), {"H": 3}, {"x": (5, 82)})
    assert bindings.values == {"N": 5, "H": 3}
    assert "H = 3 (given)" in bindings.text()


def test_an_extent_of_two_parameters_helps_once_one_is_known() -> None:
    signature = _signature((lambda N, M: N + 2 * M,), (lambda N, M: N,))
    assert infer_parameters(signature, {}, {"a0": (11,), "a1": (5,)}).values == {"N": 5, "M": 3}


def test_a_parameter_that_cancels_is_not_inferred() -> None:
    signature = _signature((lambda N, M: N + M - N,), (lambda N, M: N,))
    assert infer_parameters(signature, {}, {"a0": (4,), "a1": (5,)}).values == {"N": 5, "M": 4}


@pytest.mark.parametrize(
    "extent",
    [lambda N, M: N // 2, lambda N, M: maximum(N, 4), lambda N, M: N + N // 2, lambda N, M: 7],
)
def test_what_the_shapes_do_not_tell_is_asked_for(extent) -> None:
    signature = _signature((extent,), (lambda N, M: M,))
    with pytest.raises(CallError, match=r"kernel 'k': the shapes .* do not determine 'N'; pass N="):
        infer_parameters(signature, {}, {"a0": (4,), "a1": (3,)})


def test_two_unknown_parameters_in_one_extent() -> None:
    signature = _signature((lambda N, M: N + M,))
    with pytest.raises(CallError, match=r"determine 'N' and 'M'; pass N=\.\.\., M=\.\.\."):
        infer_parameters(signature, {}, {"a0": (4,)})


def test_an_extent_that_no_integer_gives() -> None:
    signature = _signature((lambda N, M: 2 * N + M,))
    with pytest.raises(
        CallError,
        match=r"dimension 'd0' of array 'a0' has 8 elements; expected \(2 \* N\) \+ M, "
        r"which no integer 'N' gives with M = 3",
    ):
        infer_parameters(signature, {"M": 3}, {"a0": (8,)})


def test_values_must_fit_64_bits() -> None:
    signature = _signature((lambda N, M: N,))
    with pytest.raises(CallError, match=r"parameter 'M' is 9223372036854775808; expected a 64-bit"):
        infer_parameters(signature, {"M": 2**63}, {"a0": (8,)})


def test_values_come_in_the_order_of_declaration() -> None:
    signature = _signature((lambda N, M: M,))
    assert tuple(infer_parameters(signature, {"N": 1}, {"a0": (2,)}).values) == ("N", "M")
