"""Wrong versions of what is proved and checked of arrays with strides."""

from tests.mutants.mutant import Mutant

STRIDES = "polysched.ir.core.strides"
VIEWS = "polysched.library.matmul.dispatch.views"
PROVED = ("tests/ir/core/test_strides.py",)
CALLED = ("tests/runtime/test_strided.py",)
CODE = ("tests/llvm/emit/test_strided.py",)
MULTIPLIED = ("tests/library/matmul/dispatch/test_views.py",)

MUTANTS = (
    Mutant(
        "strides-short-by-one",
        "the last element of a row may be the first of the next",
        STRIDES,
        "require_apart",
        "Constant(1)",
        "Constant(0)",
        PROVED,
    ),
    Mutant(
        "strides-without-the-inner-ones",
        "a stride need not be longer than what is inside of it",
        STRIDES,
        "_Proof.around",
        "stride * last + reach",
        "stride * last",
        PROVED,
    ),
    Mutant(
        "strides-proved-for-two-rows-only",
        "strides of dimensions with two indices are not looked at",
        STRIDES,
        "_Proof.is_apart",
        "self.array.shape[dimension] >= 2",
        "self.array.shape[dimension] >= 3",
        PROVED,
    ),
    Mutant(
        "strides-unchecked-at-calls",
        "numpy's strides need not be the declared ones",
        "polysched.runtime.strided",
        "check_strides",
        "extent == 1",
        "extent >= 1",
        CALLED,
    ),
    Mutant(
        "strides-trusted-for-ever",
        "what is not affine of strides is proved nowhere and not checked at calls",
        "polysched.runtime.strided",
        "require_apart",
        "are_apart(shape, strides)",
        "shape",
        CALLED,
    ),
    Mutant(
        "strides-trusted-always",
        "what could be proved of strides is left to the calls",
        STRIDES,
        "_Proof.is_apart",
        "trusted or self.context.intersect(several).is_empty()",
        "True or self.context.intersect(several).is_empty()",
        PROVED,
    ),
    Mutant(
        "overlap-of-spans-without-gaps",
        "an array with gaps is taken to end where it would without them",
        STRIDES,
        "elements_spanned",
        "(extent - 1) * stride",
        "0 * stride + extent - 1",
        CALLED,
    ),
    Mutant(
        "strides-forgotten-by-code",
        "machine code takes every argument to be contiguous",
        "polysched.llvm.emit.placement",
        "Placement.argument",
        "layout.strides is None",
        "True",
        CODE,
    ),
    Mutant(
        "lanes-along-the-last-dimension",
        "accumulators are stored along the last dimension, whatever the lanes are",
        "polysched.vector.passes.promote",
        "_transfer",
        "subscripts[array.lane_dimension]",
        "subscripts[-1]",
        CODE,
    ),
    Mutant(
        "stacks-joined-over-gaps",
        "matrices of a stack with rows between them are taken for one tall matrix",
        VIEWS,
        "joined",
        """
            if step != stride * taken:
                return None
        """,
        "",
        MULTIPLIED,
    ),
    Mutant(
        "views-that-share-elements",
        "elements of a view that lie in one place are read as if they were apart",
        STRIDES,
        "are_apart",
        "stride < reach",
        "stride < 0",
        MULTIPLIED,
    ),
)
