import pytest

from polysched.errors import ExportError
from polysched.ir.core.kernel import Kernel
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import boolean, f32, f64, i32, u8
from polysched.runtime.c_interface import Linkage, header_text, prototype, require_c_names
from polysched.runtime.signature import signature_of
from tests.support import indirect, kernels, packed_kernels, strided

LINKAGE = Linkage("Compiled for a machine.", "One thread.", "Link it.")


def mixed() -> Kernel:
    build = KernelBuilder("mixed")
    n, m = build.parameter("n", minimum=1), build.parameter("m", minimum=2, maximum=n_limit())
    build.assume(n >= m)
    x, bits = build.input("x", f32, (n, m + 2)), build.input("bits", boolean, (n,))
    y, state = build.output("y", f64, ()), build.inout("state", u8, (2 * n,))
    with build.loops(i=n) as i:
        state[i] = state[i] + 1
    with build.statement("last"):
        y[()] = 1.0
    assert {x.array.name, bits.array.name} == {"x", "bits"}
    return build.kernel()


def n_limit() -> int:
    return 100


def named(kernel: str = "k", array: str = "y", parameter: str = "n") -> Kernel:
    build = KernelBuilder(kernel)
    n = build.parameter(parameter)
    y = build.output(array, i32, (n,))
    with build.loops(i_=n) as i:
        y[i] = 1
    return build.kernel()


def test_prototype() -> None:
    assert prototype(signature_of(mixed())) == (
        "const float *x, const bool *bits, double *y, uint8_t *state, int64_t n, int64_t m"
    )


def test_header() -> None:
    text = header_text(signature_of(mixed()), LINKAGE)
    for line in (
        "#ifndef POLYSCHED_MIXED_H",
        "#include <stdbool.h>",
        "#include <stdint.h>",
        " * Made by polysched. Compiled for a machine.",
        " *   x: input, float[n, m + 2]",
        " *   bits: input, bool[n]",
        " *   y: output, double (one element)",
        " *   state: inout, uint8_t[2 * n]",
        " *   n >= m",
        " *   m <= 100",
        " *   m >= 2",
        " * One thread.",
        " * Link it.",
        'extern "C" {',
        f"int mixed({prototype(signature_of(mixed()))});",
        "int mixed_supported(void);",
    ):
        assert line in text.splitlines()
    assert "Returns 0 on success, 1 if it cannot allocate" in text
    assert "multiple of\n * its element's size" in text
    assert "n >= 1" not in text  # follows from the others


def test_only_what_is_needed_is_included() -> None:
    assert "stdbool" not in header_text(signature_of(kernels.scale()), LINKAGE)


def test_strides_are_arguments_and_explained() -> None:
    text = header_text(signature_of(strided.product()), LINKAGE)
    assert " *   b: input, float[terms, n] strides (1, ldb)\n" in text
    assert " *   lda >= terms\n" in text
    assert "int64_t terms, int64_t lda, int64_t ldb, int64_t ldc);" in text
    words = " ".join(text.replace("\n *", " ").split())
    assert "Strides count elements: an element lies at the sum of its indices times" in words
    assert "strides" not in header_text(signature_of(kernels.scale()), LINKAGE)


def test_values_that_are_subscripts() -> None:
    text = header_text(signature_of(indirect.gather()), LINKAGE)
    assert " *   0 <= value < m for every value in idx\n" in text


def test_no_comment_can_be_ended_from_within() -> None:
    text = header_text(signature_of(kernels.scale()), Linkage("A */ B /* C\n D", "", ""))
    assert "A x/ B /x C D" in text
    assert text.count("/*") == text.count("*/")


def test_no_line_is_too_long() -> None:
    text = header_text(signature_of(kernels.matmul()), Linkage("word " * 100, "word " * 90, ""))
    assert max(map(len, text.splitlines())) <= 100


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (named(kernel="größe"), "kernel 'größe' has a name that C cannot write; expected the let"),
        (named(array="größe"), "array 'größe' has a name that C cannot write"),
        (named(parameter="größe"), "parameter 'größe' has a name that C cannot write"),
        (named(kernel="double"), "kernel 'double' has the name of a keyword"),
        (named(array="restrict"), "array 'restrict' has the name of a keyword"),
        (named(array="template"), "array 'template' has the name of a keyword"),
        (named(parameter="int64_t"), "parameter 'int64_t' has the name of a keyword or a standard"),
        (named(parameter="INT64_MAX"), "parameter 'INT64_MAX' has the name of a keyword or a stan"),
        (named(kernel="main"), "kernel 'main' has the name of a function of the C library or the"),
        (named(kernel="select"), "kernel 'select' has the name of a function of the C library"),
        (named(kernel="malloc"), "kernel 'malloc' has the name of a function of the C library"),
    ],
)
def test_names_that_are_taken(kernel: Kernel, message: str) -> None:
    with pytest.raises(ExportError, match=f"^{message}"):
        require_c_names(signature_of(kernel))


def test_names_that_are_free() -> None:
    require_c_names(signature_of(named(kernel="scale", array="select", parameter="main")))
    require_c_names(signature_of(kernels.matmul()))


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("padded", "and every row begins at a byte"),
        ("contiguous", "and the next row begins at the bit behind it"),
    ],
)
def test_headers_say_how_packed_integers_lie(rows: str, said: str) -> None:
    signature = signature_of(packed_kernels.halves("i5", rows))
    assert prototype(signature) == "const uint8_t *w, uint8_t *v, int64_t n, int64_t m"
    text = " ".join(header_text(signature, LINKAGE).replace("\n *", " ").split())
    assert "w: input, i5[m, n] packed in bytes; element k of a row takes the 5 bits from" in text
    assert f"bit 5 k on, its lowest bit first, {said}" in text
