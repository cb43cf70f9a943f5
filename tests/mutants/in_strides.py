"""Wrong versions of what is proved and checked of arrays with strides."""

from tests.mutants.mutant import Mutant

STRIDES = "polysched/ir/core/strides.py"
VIEWS = "polysched/library/matmul/views.py"
PROVED = ("tests/ir/core/test_strides.py",)
CALLED = ("tests/runtime/test_strided.py",)
CODE = ("tests/codegen/test_strided.py",)
MULTIPLIED = ("tests/library/matmul/test_views.py",)

MUTANTS = (
    Mutant(
        "strides-short-by-one",
        "the last element of a row may be the first of the next",
        STRIDES,
        "proof.holds(inwards, Constant(1))",
        "proof.holds(inwards, Constant(0))",
        PROVED,
    ),
    Mutant(
        "strides-without-the-inner-ones",
        "a stride need not be longer than what is inside of it",
        STRIDES,
        "        form = linear_form(stride * last + reach, {})",
        "        form = linear_form(stride * last, {})",
        PROVED,
    ),
    Mutant(
        "strides-proved-for-two-rows-only",
        "strides of dimensions with two indices are not looked at",
        STRIDES,
        "self.array.shape[dimension] >= 2, self.space",
        "self.array.shape[dimension] >= 3, self.space",
        PROVED,
    ),
    Mutant(
        "strides-unchecked-at-calls",
        "numpy's strides need not be the declared ones",
        "polysched/runtime/strided.py",
        "        extent == 1 or one == other\n",
        "        extent >= 1 or one == other\n",
        CALLED,
    ),
    Mutant(
        "strides-trusted-for-ever",
        "what is not affine of strides is proved nowhere and not checked at calls",
        "polysched/runtime/strided.py",
        "    if not are_apart(shape, strides):\n",
        "    if not shape:\n",
        CALLED,
    ),
    Mutant(
        "strides-trusted-always",
        "what could be proved of strides is left to the calls",
        STRIDES,
        "            return trusted or self.context",
        "            return True or self.context",
        PROVED,
    ),
    Mutant(
        "overlap-of-spans-without-gaps",
        "an array with gaps is taken to end where it would without them",
        STRIDES,
        "    return 1 + sum((extent - 1) * stride for",
        "    return 1 + sum(0 * stride + extent - 1 for",
        CALLED,
    ),
    Mutant(
        "strides-forgotten-by-code",
        "machine code takes every argument to be contiguous",
        "polysched/codegen/placement.py",
        "            if array.strides is None\n",
        "            if array.strides is not True\n",
        CODE,
    ),
    Mutant(
        "lanes-along-the-last-dimension",
        "accumulators are stored along the last dimension, whatever the lanes are",
        "polysched/codegen/registers.py",
        "        place[array.lane_dimension] += index",
        "        place[-1] += index",
        CODE,
    ),
    Mutant(
        "stacks-joined-over-gaps",
        "matrices of a stack with rows between them are taken for one tall matrix",
        VIEWS,
        "            elif step != stride * taken:\n                return None\n",
        "",
        MULTIPLIED,
    ),
    Mutant(
        "views-that-share-elements",
        "elements of a view that lie in one place are read as if they were apart",
        STRIDES,
        "            if stride < reach:\n",
        "            if stride < 0:\n",
        MULTIPLIED,
    ),
)
