import pytest

from polysched.lower import STAGES
from tests.cli.conftest import Polysched

PACKED = """
import polysched as ps

build = ps.KernelBuilder("scale")
x = build.input("x", ps.f32, (8, 8))
y = build.output("y", ps.f32, (8, 8))
with build.loops(i=8, j=8) as (i, j):
    y[i, j] = 2 * x[j, i]

schedule = ps.Schedule(build.kernel()).pack("x", "i")
"""


@pytest.mark.parametrize(
    ("stage", "expected"),
    [
        ("domain", "scale"),
        ("schedule", "vector"),
        ("properties", "parallel: yes"),
        ("loops", "vector"),
        ("c", " scale("),
        ("llvm", "define"),
        ("asm", "scale:"),
    ],
)
def test_each_stage(polysched: Polysched, scale: str, stage: str, expected: str) -> None:
    result = polysched("show", scale, "--stage", stage)
    assert (result.exit_code, result.stderr) == (0, "")
    assert expected in result.stdout


def test_dependences(polysched: Polysched, kernels: str) -> None:
    result = polysched("show", f"{kernels}:illegal", "--stage", "deps")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "kind  value  source      sink                order  distance  carried by",
        "flow  yes    S: A[i, j]  S: A[i - 1, j + 1]  kept   (1, -1)   i",
        "",
        "component 1: S (waits for itself)",
    ]


def test_dependences_of_the_scheduled_program(polysched: Polysched, kernels: str) -> None:
    result = polysched("show", f"{kernels}:illegal", "--stage", "deps", "--scheduled")
    assert result.stdout.splitlines()[1] == (
        "flow  yes    S: A[i, j]  S: A[i - 1, j + 1]  kept   (-1, 1)   j, backwards"
    )


def test_exact_dependences(polysched: Polysched, kernels: str) -> None:
    result = polysched("show", f"{kernels}:legal", "--stage", "deps", "--relations")
    assert "{ S[i, j] -> S[i' = 1 + i, j' = -1 + j] : " in result.stdout


def test_dependences_as_a_graph(polysched: Polysched, kernels: str) -> None:
    result = polysched("show", f"{kernels}:legal", "--stage", "deps", "--dot")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "digraph statements {",
        "  node [shape=box];",
        '  "S";',
        '  "S" -> "S" [label="flow A"];',
        "}",
    ]


@pytest.mark.parametrize(
    ("option", "what"),
    [
        ("--dot", "draws the statement graph"),
        ("--scheduled", "chooses which dependences are shown"),
        ("--relations", "shows the dependences exactly"),
    ],
)
def test_options_of_the_dependences_alone(
    polysched: Polysched, scale: str, option: str, what: str
) -> None:
    result = polysched("show", scale, "--stage", "loops", option)
    assert result.exit_code == 2
    assert f"{option} {what}: it needs --stage deps, not loops" in result.stderr


def test_the_graph_has_no_relations(polysched: Polysched, scale: str) -> None:
    result = polysched("show", scale, "--stage", "deps", "--dot", "--relations")
    assert result.exit_code == 2
    assert "--relations adds to the table, and --dot prints no table" in result.stderr


def test_the_graph_of_the_scheduled_program(polysched: Polysched, write_file) -> None:
    path = write_file("packed.py", PACKED)
    declared = polysched("show", path, "--stage", "deps", "--dot").stdout
    scheduled = polysched("show", path, "--stage", "deps", "--dot", "--scheduled").stdout
    assert "x_packed" not in declared
    assert "x_packed" in scheduled


def test_every_stage_is_in_the_help(polysched: Polysched) -> None:
    text = polysched("show", "--help").stdout
    assert all(f"\n  {stage} " in text for stage in STAGES)


def test_illegal_schedule_can_be_shown(polysched: Polysched, kernels: str) -> None:
    result = polysched("show", f"{kernels}:illegal", "--stage", "loops")
    assert result.exit_code == 0
    assert "for" in result.stdout


def test_other_machine(polysched: Polysched, scale: str) -> None:
    asm = ("show", scale, "--stage", "asm", "--machine")
    assert "%zmm" in polysched(*asm, "znver5").stdout
    haswell = polysched(*asm, "haswell-avx2").stdout
    assert "%ymm" in haswell
    assert "%zmm" not in haswell


def test_unknown_machine(polysched: Polysched, scale: str) -> None:
    result = polysched("show", scale, "--stage", "llvm", "--machine", "zen6")
    assert result.exit_code == 2
    assert result.stderr.startswith("error: unknown machine 'zen6'; did you mean")


def test_summary_counts_the_hot_loop(polysched: Polysched, scale: str) -> None:
    result = polysched("show", scale, "--stage", "asm", "--summary", "--machine", "znver5")
    assert result.exit_code == 0
    assert result.stdout.startswith("hot loop .L")
    assert "fma" in result.stdout
    assert len(result.stdout.splitlines()) == 1


def test_summary_without_a_loop(polysched: Polysched, write_file) -> None:
    path = write_file(
        "a.py",
        "import polysched as ps\n"
        "build = ps.KernelBuilder('one')\n"
        "x = build.input('x', ps.f32, (1,))\n"
        "y = build.output('y', ps.f32, (1,))\n"
        "with build.loops(i=1) as i:\n"
        "    y[i] = 2 * x[i]\n"
        "kernel = build.kernel()\n",
    )
    result = polysched("show", path, "--stage", "asm", "--summary")
    assert result.stdout.startswith("one has no loop; all of it: ")


def test_summary_needs_the_assembly(polysched: Polysched, scale: str) -> None:
    result = polysched("show", scale, "--stage", "c", "--summary")
    assert result.exit_code == 2
    assert "--summary counts instructions: it needs --stage asm, not c" in result.stderr


def test_unknown_stage(polysched: Polysched, scale: str) -> None:
    result = polysched("show", scale, "--stage", "loop")
    assert result.exit_code == 2
    assert "'loop' is not one of" in result.stderr


def test_code_is_highlighted_on_a_terminal_only(polysched: Polysched, scale: str) -> None:
    plain = polysched("show", scale, "--stage", "llvm")
    terminal = {"FORCE_COLOR": "1", "TERM": "xterm-256color", "COLUMNS": "40"}
    colored = polysched("show", scale, "--stage", "llvm", **terminal)
    assert "\x1b[" not in plain.stdout
    assert "\x1b[" in colored.stdout
    assert polysched("show", scale, "--stage", "llvm", NO_COLOR="1", **terminal).stdout == (
        plain.stdout
    )
    assert colored.stdout.count("\n") == plain.stdout.count("\n")


def test_the_loops_are_the_default(polysched: Polysched, scale: str) -> None:
    assert polysched("show", scale).stdout == polysched("show", scale, "--stage", "loops").stdout
