"""Wrong versions of the C frontend."""

from tests.mutants.mutant import Mutant

TESTS = "tests/frontends"
AGAINST_GCC = (f"{TESTS}/scop/test_differential.py", f"{TESTS}/scop/test_random_programs.py")
LOOPS = (f"{TESTS}/scop/affine/test_loops.py",)
SUBSCRIPTS = (f"{TESTS}/scop/affine/test_linearized.py",)
WHOLE = (f"{TESTS}/scop/test_whole_programs.py",)
MESSAGES = (f"{TESTS}/scop/test_errors.py",)

MUTANTS = (
    Mutant(
        "c-bound-off-by-one",
        "i <= n ends where i < n does",
        "polysched.frontends.scop.affine.loops",
        "_Ends._bound",
        "plus(other, Constant(1 if up else -1))",
        "other",
        LOOPS,
    ),
    Mutant(
        "c-mirrored-relation",
        "n > i means i > n",
        "polysched.frontends.scop.affine.loops",
        "_MIRRORED",
        '{"<": ">", ">": "<", "<=": ">=", ">=": "<=", "!=": "!="}',
        '{"<": "<", ">": ">", "<=": ">=", ">=": "<=", "!=": "!="}',
        LOOPS,
    ),
    Mutant(
        "c-step-sign",
        "i -= 2 counts up",
        "polysched.frontends.scop.affine.loops",
        "_step",
        'number if number is None or operator == "+=" else -number',
        "number",
        LOOPS,
    ),
    Mutant(
        "c-bound-rounded-down",
        "2 * i < n ends at n // 2",
        "polysched.frontends.scop.affine.loops",
        "_Ends._solved",
        "plus(other, Constant(divisor - 1)) if rounds_up else other",
        "other",
        LOOPS,
    ),
    Mutant(
        "c-guard-forgotten",
        "of a loop's conditions those that do not bound it are forgotten",
        "polysched.frontends.scop.affine.loops",
        "loop_header",
        "Header(first, end, step, guard)",
        "Header(first, end, step, None)",
        LOOPS,
    ),
    Mutant(
        "c-step-after-the-body",
        "in the body of for (i = n; i-- > 0;) the variable is what it was before the test",
        "polysched.frontends.scop.affine.stepping",
        "with_step_apart",
        "by - before",
        "0",
        LOOPS,
    ),
    Mutant(
        "c-step-before-the-test-wraps",
        "--i of an unsigned 0 is -1",
        "polysched.frontends.scop.affine.stepping",
        "with_step_apart",
        "before and not _fits(scope, with_offset(first, before), dtype)",
        "False and not _fits(scope, with_offset(first, before), dtype)",
        MESSAGES,
    ),
    Mutant(
        "c-wider-of-two-ends",
        "of two bounds of a loop the farther one counts",
        "polysched.frontends.scop.affine.loops",
        "loop_header",
        "minimum(end, other) if step > 0 else maximum(end, other)",
        "maximum(end, other) if step > 0 else minimum(end, other)",
        LOOPS,
    ),
    Mutant(
        "c-wrap-unchecked",
        "a loop may count an unsigned variable below 0",
        "polysched.frontends.scop.affine.loops",
        "_require_no_wrap",
        "scope.proves((last >= least) | (start.first <= end))",
        "True",
        MESSAGES,
    ),
    Mutant(
        "c-narrowing-unchecked",
        "what is converted to a narrower type is taken to fit it",
        "polysched.frontends.scop.affine.integer_types",
        "in_type",
        """
            (
                is_wider
                or (
                    scope.proves(integer.value >= least)
                    and (dtype.bits == 64 or scope.proves(integer.value <= greatest))
                )
            )
        """,
        """
            (
                True
                or (
                    scope.proves(integer.value >= least)
                    and (dtype.bits == 64 or scope.proves(integer.value <= greatest))
                )
            )
        """,
        MESSAGES,
    ),
    Mutant(
        "c-literal-not-converted",
        "a literal is not converted to the type of a constant",
        "polysched.frontends.scop.affine.integer_types",
        "in_type",
        "(integer.number - least) % (1 << dtype.bits) + least",
        "integer.number",
        (f"{TESTS}/scop/statements/test_translate.py",),
    ),
    Mutant(
        "c-unsigned-may-wrap",
        "affine arithmetic of unsigned integers is taken to be exact",
        "polysched.frontends.scop.affine.integer_types",
        "in_range",
        """
            if integer.dtype.is_signed:
                return integer
        """,
        """
            if True:
                return integer
        """,
        MESSAGES,
    ),
    Mutant(
        "c-quotient-rounded-down",
        "an affine division rounds down, not toward 0",
        "polysched.frontends.scop.affine.integers",
        "quotient",
        "select(value >= 0, value // divisor, below)",
        "value // divisor",
        (f"{TESTS}/scop/affine/test_integers.py",),
    ),
    Mutant(
        "c-remainder-never-negative",
        "an affine remainder of a negative number is positive",
        "polysched.frontends.scop.affine.integers",
        "remainder",
        "below if scope.proves(value <= 0) else select(value >= 0, value % divisor, below)",
        "value % divisor",
        (f"{TESTS}/scop/affine/test_integers.py",),
    ),
    Mutant(
        "c-branches-exchanged",
        "an affine selection takes the other branch",
        "polysched.frontends.scop.affine.integers",
        "selected",
        "select(holds, if_true, if_false)",
        "select(holds, if_false, if_true)",
        AGAINST_GCC,
    ),
    Mutant(
        "c-else-of-its-own-condition",
        "else runs under the condition of its if",
        "polysched.frontends.scop.statements.sides",
        "Branches.declare_if",
        "(node.iffalse, ~holds)",
        "(node.iffalse, holds)",
        AGAINST_GCC,
    ),
    Mutant(
        "c-compound-operands-exchanged",
        "x -= e is x = e - x",
        "polysched.frontends.scop.statements.stores",
        "stored",
        """
            if store.operator:
                result = values.combined(store.node, store.operator, own, result)
        """,
        """
            if store.operator:
                result = values.combined(store.node, store.operator, result, own)
        """,
        AGAINST_GCC,
    ),
    Mutant(
        "c-branch-over-data-always",
        "an assignment in a branch over data happens always",
        "polysched.frontends.scop.statements.stores",
        "stored",
        "selected(guard, result, zero(dtype) if store.guard is None else own)",
        "result",
        AGAINST_GCC,
    ),
    Mutant(
        "c-guarded-as-declared",
        "elements that data select are taken to exist",
        "polysched.frontends.scop.statements.extents",
        "_shape",
        "return InferredShape((maximum(outer, bound) if led else outer, *inner), guarded=True)",
        "return InferredShape((maximum(outer, bound) if led else outer, *inner))",
        ("tests/frontends/scop/statements/test_guarded_arrays.py",),
    ),
    Mutant(
        "c-condition-read-late",
        "a condition is read after its branch has changed it",
        "polysched.frontends.scop.statements.sides",
        "Branches._branch_over_data",
        "not is_only and is_changed",
        "False",
        AGAINST_GCC,
    ),
    Mutant(
        "c-decrement-adds",
        "x-- is x += 1",
        "polysched.frontends.scop.statements.translate",
        "_CHANGES",
        '{"p++": "+=", "++": "+=", "p--": "-=", "--": "-="}',
        '{"p++": "+=", "++": "+=", "p--": "+=", "--": "-="}',
        (f"{TESTS}/scop/statements/test_translate.py",),
    ),
    Mutant(
        "c-chain-of-another-order",
        "a = b = c stores c in a, not the converted value of b",
        "polysched.frontends.scop.statements.translate",
        "Statements._assignment",
        "value = value.lvalue",
        "value = value.rvalue",
        (f"{TESTS}/scop/statements/test_translate.py",),
    ),
    Mutant(
        "c-integers-not-promoted",
        "arithmetic of chars and shorts is done in their types",
        "polysched.frontends.scop.types.c_types",
        "common_type",
        "left, right = promoted(left), promoted(right)",
        "",
        (f"{TESTS}/scop/types/test_c_types.py",),
    ),
    Mutant(
        "c-unsigned-loses",
        "of int and unsigned int the common type is int",
        "polysched.frontends.scop.types.c_types",
        "common_type",
        "right if left.is_signed else left",
        "left if left.is_signed else right",
        (f"{TESTS}/scop/types/test_c_types.py",),
    ),
    Mutant(
        "c-selection-not-converted",
        "a decided selection has the type of the branch that is taken",
        "polysched.frontends.scop.statements.values",
        "Values._ternary",
        "converted(value, common_type(c_type_of(value), self._type_of(other)))",
        "value",
        (f"{TESTS}/scop/statements/test_cases.py",),
    ),
    Mutant(
        "c-shift-toward-zero",
        "a shift to the right rounds toward 0",
        "polysched.frontends.scop.statements.values",
        "Values.shifted",
        "left // factor",
        "operation(Operator.QUOTIENT, left, factor)",
        (f"{TESTS}/scop/statements/test_values.py",),
    ),
    Mutant(
        "c-alias-unchecked",
        "nothing checks at a call whether arrays overlap",
        "polysched.frontends.scop.program",
        "CProgram.apart",
        "self.promises.no_alias",
        "True",
        (f"{TESTS}/scop/test_program.py",),
    ),
    Mutant(
        "c-guarded-reads-always",
        "a selection that guards a read is no case distinction",
        "polysched.frontends.scop.statements.cases",
        "next_case",
        """
            if holds is not None:
                return Case(node, holds)
        """,
        "",
        (f"{TESTS}/scop/statements/test_cases.py",),
    ),
    Mutant(
        "c-output-that-is-read",
        "an array is an output though its old values are read",
        "polysched.frontends.scop.declare.roles",
        "with_outputs",
        "violation is None",
        "True",
        (f"{TESTS}/scop/declare/test_roles.py",),
    ),
    Mutant(
        "c-row-not-borrowed",
        "A[n * m - 1] is taken for row n",
        "polysched.frontends.scop.affine.linearized",
        "split_subscript",
        "_plus(parts[position - 1], {(): 1}, -1)",
        "_plus(parts[position - 1], {(): 1}, 0)",
        SUBSCRIPTS,
    ),
    Mutant(
        "c-comment-ends-early",
        "a comment ends with its line though a backslash stands there",
        "polysched.frontends.scop.source.text",
        "_COMMENT_OR_TEXT",
        r"//(?:\\[ \t]*\n|[^\n])*|",
        r"//[^\n]*|",
        (f"{TESTS}/scop/source/test_text.py",),
        in_text=True,
    ),
    Mutant(
        "c-line-of-the-parser",
        "a place is one line further down",
        "polysched.frontends.scop.source.source_map",
        "SourceMap.span",
        "line + 1",
        "line + 2",
        (f"{TESTS}/scop/source/test_source_map.py",),
    ),
    Mutant(
        "c-marker-miscounted",
        "a line behind a marker is the next one",
        "polysched.frontends.scop.source.text",
        "_own_lines",
        "int(marker[1]) - 1",
        "int(marker[1])",
        (f"{TESTS}/scop/source/test_text.py",),
    ),
    Mutant(
        "c-functions-of-the-file",
        "a function that a C file defines is taken for the known one of its name",
        "polysched.frontends.scop.affine.scope",
        "Scope.require_known",
        "node.name in self._functions",
        "node.name in self._functions and not node.name",
        (f"{TESTS}/scop/test_names_of_the_file.py",),
    ),
    Mutant(
        "c-condition-read-late-where-arrays-overlap",
        "the program as written reads a condition after a store through another pointer",
        "polysched.frontends.scop.translation",
        "_Translator.__init__",
        "Statements(\n"
        "    self.scope, self.build, self.usage, names, may_overlap=settings.may_overlap\n)",
        "Statements(self.scope, self.build, self.usage, names)",
        WHOLE,
    ),
    Mutant(
        "c-overlap-in-one-direction",
        "arrays are apart if the first one begins before the second one",
        "polysched.llvm.export.fallback",
        "emit_is_valid",
        'builder.icmp_unsigned("<=", ends[first], starts[second])',
        'builder.icmp_unsigned("<=", starts[first], starts[second])',
        WHOLE,
    ),
    Mutant(
        "c-as-written-is-apart",
        "the program as written takes its arrays for apart",
        "polysched.llvm.emit.module",
        "add_function_as_written",
        "_emit_function(module, vectorize(program, machine), machine, is_apart=False)",
        "_emit_function(module, vectorize(program, machine), machine)",
        WHOLE,
    ),
    Mutant(
        "c-walk-past-its-loop",
        "a pointer is used after the loop that moves it, which may have no iteration",
        "polysched.frontends.scop.rewrites.walks",
        "_Walk.read",
        "not offset.inside <= set(loops)",
        "False",
        WHOLE,
    ),
    Mutant(
        "c-data-decides-extents",
        "an access that only some data leads to counts for the extent of its array",
        "polysched.frontends.scop.affine.scope",
        "Scope.depending_on_data",
        "self._depth += 1",
        "self._depth += 0",
        MESSAGES,
    ),
)
