"""Wrong versions of the C that a program is printed as."""

from tests.mutants.mutant import Mutant

C = "polysched/loops/printers/c.py"
EXPRESSIONS = "polysched/loops/printers/c_expressions.py"
HELPERS = "polysched/loops/printers/c_helpers.py"
C_TESTS = ("tests/loops/printers/test_c.py",)
EXPRESSION_TESTS = ("tests/loops/printers/test_c_expressions.py",)
HELPER_TESTS = ("tests/loops/printers/test_c_helpers.py",)

MUTANTS = (
    Mutant(
        "c-loop-too-long",
        "<= for <: a loop in C runs once more",
        C,
        "{name} < {upper}; {step}",
        "{name} <= {upper}; {step}",
        C_TESTS,
    ),
    Mutant(
        "c-step-forgotten",
        "a loop in C goes on one by one, whatever its step",
        C,
        'step = f"++{name}" if loop.step == 1 else f"{name} += {loop.step}"',
        'step = f"++{name}"',
        C_TESTS,
    ),
    Mutant(
        "c-lanes-one-by-one",
        "lanes that read their neighbors' element run one after the other",
        C,
        "load.subscripts != target.subscripts for load in own",
        "load.subscripts == target.subscripts for load in own",
        C_TESTS,
    ),
    Mutant(
        "c-lanes-of-one-element",
        "lanes that all update one element run one after the other",
        C,
        "    return bool(own) and not any(strides)",
        "    return False",
        C_TESTS,
    ),
    Mutant(
        "c-copied-lanes-unmasked",
        "lanes under a mask are written back without it",
        C,
        '*_indented(self.under_mask(masked, f"{element} = {lane};")),',
        '*_indented([f"{element} = {lane};"]),',
        C_TESTS,
    ),
    Mutant(
        "c-workspace-wraps",
        "the size of a workspace beyond 64 bits wraps around",
        HELPERS,
        "    return a <= INT64_MAX / b ? a * b : INT64_MAX;",
        "    return a * b;",
        C_TESTS,
    ),
    Mutant(
        "c-floor-toward-zero",
        "floor division of negative numbers is C's division",
        HELPERS,
        "(a / b - (a % b != 0 && (a < 0) != (b < 0)));",
        "(a / b);",
        HELPER_TESTS,
    ),
    Mutant(
        "c-modulo-by-minus-one",
        "the smallest integer modulo -1 traps",
        HELPERS,
        '"if (b == 0 || b == -1) {",',
        '"if (b == 0) {",',
        HELPER_TESTS,
    ),
    Mutant(
        "c-wide-arithmetic-narrowed",
        "64-bit integers are added in 32 bits",
        HELPERS,
        '    return "uint64_t" if dtype.bits == 64 else "uint32_t"',
        '    return "uint32_t"',
        HELPER_TESTS,
    ),
    Mutant(
        "c-narrow-unsigned-unwrapped",
        "sums of 8- and 16-bit unsigned integers are left to C, which computes them in int",
        HELPERS,
        "dtype.kind is NumberKind.UNSIGNED and dtype.bits >= 32",
        "dtype.kind is NumberKind.UNSIGNED and dtype.bits >= 8",
        (*HELPER_TESTS, *EXPRESSION_TESTS),
    ),
    Mutant(
        "c-conversion-rounds-down",
        "a negative float becomes the integer below it",
        HELPERS,
        "whole = trunc{suffix}(a)",
        "whole = floor{suffix}(a)",
        HELPER_TESTS,
    ),
    Mutant(
        "c-minimum-of-zeros",
        "of two zeros the first one is the smaller",
        HELPERS,
        'f"    return signbit(a) ? {left} : {right};",',
        '"    return a;",',
        HELPER_TESTS,
    ),
    Mutant(
        "c-subtraction-reassociated",
        "a - (b - c) is printed as a - b - c",
        EXPRESSIONS,
        "second = self._within(right, tighter)",
        "second = self._within(right, precedence)",
        EXPRESSION_TESTS,
    ),
    Mutant(
        "c-column-major",
        "the extent of the wrong dimension: rows are as long as columns",
        EXPRESSIONS,
        "in zip(subscripts[1:], shape[1:], strict=True):",
        "in zip(subscripts[1:], shape[:-1], strict=True):",
        (*EXPRESSION_TESTS, *C_TESTS),
    ),
    Mutant(
        "c-unsigned-literal",
        "a literal of 32 unsigned bits is an int in C",
        EXPRESSIONS,
        'f"{number}u" if dtype.bits == 32 and not dtype.is_signed else str(number)',
        "str(number)",
        EXPRESSION_TESTS,
    ),
)
