"""Random C functions with calls that stay in C: what is rewritten around them against gcc.

A function of `c_functions` gets calls of ``probe`` between its statements, and snippets that leave
counters and pointers to each other. So it has no translation as a whole, and its loops are found.
The rewritten file must leave the same bytes and pass the same values to ``probe``.
"""

from __future__ import annotations

import ctypes
import tempfile
from dataclasses import replace
from pathlib import Path

import polysched as ps
from polysched.frontends.scop import NO_PROMISES
from polysched.frontends.scop.regions import Replacement, replacements_of
from polysched.frontends.scop.rewriting import edited
from polysched.llvm.export.c_interface import ExportedProgram
from polysched.loops.ir.nodes import LoopProgram
from polysched.lower import proved
from polysched.machine.load import load_machine
from polysched.runtime.export import write_object
from tests.campaign import c_calls, c_functions
from tests.campaign.c_statements import grown_function
from tests.campaign.c_text import Argument, Function, S, affine_text
from tests.campaign.drawing import Dice
from tests.campaign.kernels import At, Outcome, guarded

GROUP = 10
_DECLARED = "void probe(long k);\n"
_PROBE = """static unsigned long passed;
void probe(long k) { passed = passed * 31 + (unsigned long)k; }
unsigned long probed(void) { return passed; }
"""
_SNIPPETS = (
    # a pointer that ends at another, and is used afterwards
    "{{ {type} *w = {name}, *e = {name} + ({size}); probe(1); "
    "while (w < e) {{ *w = *w + 1; w++; }} probe(w - {name}); }}",
    # a loop that goes on where the one before has ended
    "{{ int t = 0; probe(2); "
    "for (; t + 4 <= {size}; t += 4) {{ {name}[t] += 1; {name}[t + 3] = 2; }} "
    "probe(t); for (; t < {size}; t++) {name}[t] = 5; probe(t); }}",
    # a number that is counted down, and a pointer that walks with it
    "{{ int left = {size}; {type} *v = {name}; probe(3); while (left-- > 0) *v++ = 1; "
    "probe(v - {name}); }}",
    # bounds that are elements, and a sum that is passed on
    "{{ int ends[3] = {{0, ({size}) / 2, {size}}}; for (int b = 0; b < 2; b++) {{ int sum = 0; "
    "probe(b); for (int k = ends[b]; k < ends[b + 1]; k++) sum += {name}[k] > 0; probe(sum); }} }}",
    # blocks of a walk, of a loop that stays in C
    "{{ {type} *w = {name}; int n_left = {size}; while (n_left >= 3) {{ probe(n_left); "
    "for (int k = 0; k < n_left - 2; k++) w[k] = w[k + 1]; w += 2; n_left -= 3; }} "
    "probe(w - {name}); }}",
    # a loop down, whose variable is read
    "{{ int d; for (d = ({size}) - 1; d > 0; d--) {name}[d] = {name}[d - 1]; probe(d); }}",
    # loops to the end of a string
    '{{ const char *s = "x+y*", *p; int c; long h = {size}; probe(4); '
    "while ((c = *s++)) h = h * 31 + c; probe(h); s -= 3; while (*s) {{ h += *s == 'y'; s++; }} "
    "probe(h); for (c = 0; s[c]; c++) h--; for (p = s - 4; *p != 0; ++p) h ^= *p; probe(h + c); }}",
    # unsigned numbers that may wrap around
    "{{ unsigned u = {size}; probe(5); for (unsigned t = 0; t < u; t++) "
    "if (t < u - 2) {name}[t] += 1; else {name}[t] = 3; probe(u); }}",
    "{{ unsigned u = ({size}) % 5; probe(6); for (unsigned t = 0; t + 1 < u + 1; t++) "
    "for (unsigned k = u - 1; k > t; k--) {name}[t] += 1; probe(u); }}",
    # pointers that are set after their declaration, and sums of pointers
    "{{ {type} *q, *r; int k; probe(7); q = {name}; for (k = 0; k < ({size}) - 1; k++) {{ "
    "r = q + k; (r + 1)[0] = r[0]; }} q = {name}; for (k = 0; k < {size}; k++) *q++ += 2; "
    "probe(q - {name}); }}",
    # pointers that may be null
    "{{ {type} *none = 0; long sum = 0; probe(8); for (int k = 0; k < {size}; k++) {{ "
    "if ({name} != 0 && k > 1) sum += none ? none[k] > 0 : {name}[k] > 0; "
    "if (!none) {name}[k] = k; }} probe(sum); }}",
    # an array of a variable size that memset fills, and quotients of sizes
    "{{ int q = {size}, parts = q % 3 + 1; probe(9); {{ {type} own[q + 1]; "
    "for (int k = 0; k < q; k++) {name}[k] += 1; memset(own, 0, sizeof(own)); "
    "for (int k = 0; k < q; k++) own[k] += {name}[k]; "
    "for (int k = 0; k < q; k++) {name}[k] = own[k + 1]; }} "
    "for (int r = 0; r < parts; r++) {{ probe(r); for (int k = 0; k < q / parts; k++) "
    "{name}[r * (q / parts) + k] += r; }} }}",
    # variables that conditions on data set first
    "{{ int k, hold; long sum = 0; probe(10); for (k = 0; k < {size}; k++) {{ "
    "if (k == 0) hold = 7; if ({name}[k] > 0) hold = 2 * k; sum += hold; }} probe(sum); }}",
)
"""Statements with an array, the type of its elements and its size."""


def judge_seed(seed: int, at: At) -> Outcome:
    """Judge a group of functions."""
    outcome = Outcome()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        functions = [
            _with_probes(f"f{number}", seed * GROUP + number)
            for number in range(GROUP)
            if _is_read(grown_function(f"f{number}", seed * GROUP + number), folder)
        ]
        if functions:
            _judge(functions, seed, folder, outcome, at)
    return outcome


def _is_read(function: Function, folder: Path) -> bool:
    """Whether the frontend reads a function: others may be undefined, as ``i != n; i += 2`` is."""
    try:
        c_functions.program_of(function, folder)
    except ps.PolyschedError:
        return False
    return True


def _with_probes(name: str, seed: int) -> Function:
    function = grown_function(name, seed)
    dice = Dice(("c parts", seed))
    body: list[S] = []
    for statement in function.body:
        if dice.chance(0.6):
            body.append(S((f"probe({dice.between(0, 9)})",)))
        body.append(statement)
    rows = [one for one in function.arguments if _is_row(one)]
    if rows:
        for _ in range(dice.between(0, 2)):
            row = dice.pick(rows)
            size = affine_text(row.extents[0])
            text = dice.pick(_SNIPPETS).format(name=row.name, type=row.type, size=size)
            body.insert(dice.between(0, len(body) - 1), S((text,)))
    return replace(function, body=tuple(body))


def _is_row(one: Argument) -> bool:
    return one.role == "inout" and len(one.extents) == 1 and one.type != "rec"


def _judge(functions: list[Function], seed: int, folder: Path, outcome: Outcome, at: At) -> None:
    text = c_functions.HEAD + _DECLARED + "".join(one.text() for one in functions)
    (folder / "probe.c").write_text(_PROBE)
    source = folder / f"parts{seed}.c"
    source.write_text(text)
    at("gcc")
    references = [_library(source, folder, level) for level in ("-O1", "-O0")]
    at("rewrite")
    replaced, refused = guarded(
        "rewriting", lambda: replacements_of(source, None, NO_PROMISES), ps.PolyschedError
    )
    outcome.counts["functions"] += len(functions)
    outcome.counts["functions refused as a whole"] += len(refused)
    outcome.counts["regions"] += len(replaced)
    if not replaced:
        return
    programs = []
    for one in list(replaced):
        program = _proved(one)
        if program is None:
            outcome.counts["regions without a proof"] += 1
            replaced.remove(one)
        else:
            programs.append(program)
    if not programs:
        return
    rewritten = folder / f"parts{seed}.opt.c"
    rewritten.write_text(edited(text, [edit for one in replaced for edit in one.edits]))
    write_object([ExportedProgram(one) for one in programs], load_machine(), folder / "kernels.o")
    library = _library(rewritten, folder, "-O1", str(folder / "kernels.o"))
    for function in functions:
        before = outcome.counts["gcc differs from itself"]
        starts = [_passed(one) for one in (library, references[0])]
        fault = c_calls.differs(*(function, function.name, library, references, seed, outcome, at))
        is_settled = outcome.counts["gcc differs from itself"] == before
        ends = [_passed(one) for one in (library, references[0])]
        if fault is None and is_settled and starts[0] == starts[1] and ends[0] != ends[1]:
            fault = "other values are passed to 'probe'"
        if fault is not None:
            outcome.findings.append(
                ("a rewritten function differs", f"seed {seed}\n{function.text()}\n{fault}")
            )
            return  # the values passed on by later functions differ, too


def _proved(one: Replacement) -> LoopProgram | None:
    """Return the loops of a region; None if its accesses may lie outside the arrays."""
    schedule = ps.Schedule(one.program.kernel)
    if not guarded("checking C", schedule.check).is_legal:
        return None
    return replace(proved(schedule, load_machine(), guard=False), name=one.symbol)


def _library(source: Path, folder: Path, level: str, *objects: str) -> ctypes.CDLL:
    library = folder / f"{source.stem}{level}.so"
    files = [str(source), str(folder / "probe.c"), *objects]
    c_functions.tool(*c_functions.GCC, level, "-o", str(library), *files, "-lm")
    loaded = ctypes.CDLL(str(library))
    loaded.probed.restype = ctypes.c_ulong
    return loaded


def _passed(library: ctypes.CDLL) -> int:
    passed: int = library.probed()
    return passed
