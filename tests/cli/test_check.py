import json
from pathlib import Path

import pytest
from click.testing import Result

from polysched.errors import CodeTooLargeError
from tests.cli.conftest import Polysched, WriteFile


def verdict(result: Result) -> object:
    return json.loads(result.stdout)["verdict"]


def test_legal(polysched: Polysched, kernels: str) -> None:
    result = polysched("check", f"{kernels}:legal")
    assert result.exit_code == 0
    assert result.stdout.startswith(f"legal: {kernels}:legal; proved: 1 statement, ")
    assert result.stderr == ""


def test_what_compile_refuses_gets_a_warning(
    polysched: Polysched, kernels: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(*_: object) -> str:
        raise CodeTooLargeError("the code has 10 million instructions")

    monkeypatch.setattr("polysched.cli.check.emit_exported_module", refuses)
    warning = "warning: 'polysched compile' refuses it: the code has 10 million instructions"
    result = polysched("check", f"{kernels}:legal")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[1:] == [warning]
    record = json.loads(polysched("check", f"{kernels}:legal", "--json").stdout)
    assert record["warnings"] == [warning]
    assert "warning" not in polysched("check", f"{kernels}:illegal").stdout


def test_a_name_that_no_function_of_c_can_have_gets_a_warning(
    polysched: Polysched, write_file: WriteFile
) -> None:
    text = "import polysched as ps\nb = ps.KernelBuilder('main')\ny = b.output('y', ps.f32, (9,))\n"
    path = write_file("named.py", f"{text}with b.loops(i=9) as i:\n    y[i] = 1\nk = b.kernel()\n")
    result = polysched("check", path)
    assert result.exit_code == 0
    assert "warning: 'polysched compile' refuses it: kernel 'main' has the name" in result.stdout
    c = write_file("named.c", "void f(int n, float *y) { for (int i = 0; i < n; i++) y[i] = 1; }")
    assert "warning" not in polysched("check", c).stdout


def test_what_only_exported_code_lacks_gets_a_warning(
    polysched: Polysched, write_file: WriteFile
) -> None:
    text = """import polysched as ps
b = ps.KernelBuilder("omp_get_max_threads")
y = b.output("y", ps.f32, (9,))
with b.loops(i=9) as i:
    y[i] = 1
named = ps.Schedule(b.kernel()).parallel("i")
b = ps.KernelBuilder("product")
x, w = b.input("x", ps.bf16, (16, 32)), b.input("w", ps.bf16, (16, 64, 2))
y = b.inout("y", ps.f32, (16, 64))
with b.loops(i=16, j=64, k=16, l=2) as (i, j, k, l), b.statement("S", order="any"):
    y[i, j] += ps.cast(x[i, 2 * k + l], "f32") * ps.cast(w[k, j, l], "f32")
tiled = ps.Schedule(b.kernel()).vectorize("j", 16).reorder("j", "i", "jv", "k", "l")
tiled = tiled.tensorize("i", "tdpbf16ps")
"""
    path = write_file("exported.py", text)
    for target, options, reason in (
        ("named", (), "the OpenMP runtime"),
        ("tiled", ("--machine", "sapphirerapids"), "exported code uses no AMX"),
    ):
        checked = polysched("check", f"{path}:{target}", *options)
        assert checked.exit_code == 0
        assert "warning: 'polysched compile' refuses it: " in checked.stdout
        assert reason in checked.stdout
        refused = polysched("compile", f"{path}:{target}", *options, "-o", f"{path}.o")
        assert refused.exit_code == 2
        assert reason in refused.stderr


def test_illegal_shows_the_witness(polysched: Polysched, kernels: str) -> None:
    result = polysched("check", f"{kernels}:illegal")
    assert result.exit_code == 1
    assert result.stdout.startswith("illegal: reorder(order=('j', 'i')) breaks a flow dependence")
    assert result.stdout.count("illegal:") == 1
    assert "S[1,1] writes A[1,1]" in result.stdout
    assert f"({kernels}:" in result.stdout.splitlines()[0]


def test_illegal_shows_what_would_mend_it(polysched: Polysched, kernels: str) -> None:
    lines = polysched("check", f"{kernels}:illegal").stdout.splitlines()
    assert lines[-1] == "try: skew(loop='j', by='i') before reorder(order=('j', 'i'))"
    assert "try:" not in polysched("check", f"{kernels}:legal").stdout


PICTURE = """\
    instances of S             order of the schedule
    i\\j  0  1  2  3  4  ...    i\\j   0    1    2    3    4  ...
      1  .  A  .  .  .           1  1    9A  17   25   33
      2  B  .  .  .  .           2  2B  10   18   26   34
"""


def test_illegal_shows_a_picture(polysched: Polysched, kernels: str) -> None:
    illegal = polysched("check", f"{kernels}:illegal")
    assert PICTURE in illegal.stdout
    assert "    A = S[1,1], B = S[2,0]\ntry: " in illegal.stdout
    assert "instances" not in polysched("check", f"{kernels}:legal").stdout


def test_the_witness_is_coloured_in_the_picture(polysched: Polysched, kernels: str) -> None:
    terminal = {"FORCE_COLOR": "1", "TERM": "xterm"}
    colored = polysched("check", f"{kernels}:illegal", **terminal)
    assert "\x1b[1;32mA\x1b[0m" in colored.stdout
    assert "\x1b[1;31mB\x1b[0m" in colored.stdout
    plain = polysched("check", f"{kernels}:illegal", NO_COLOR="1", **terminal)
    assert "32m" not in plain.stdout
    assert "31m" not in plain.stdout


def test_json_holds_the_picture_and_the_steps(polysched: Polysched, kernels: str) -> None:
    record = json.loads(polysched("check", f"{kernels}:illegal", "--json").stdout)
    assert [f"    {line}" for line in record["picture"]][:4] == PICTURE.splitlines()
    assert record["target"] == f"{kernels}:illegal"
    assert [step["text"] for step in record["steps"]] == ["reorder(order=('j', 'i'))"]
    assert record["checked"]["dependences"] == 1


def test_json_holds_the_repairs(polysched: Polysched, kernels: str) -> None:
    illegal = json.loads(polysched("check", f"{kernels}:illegal", "--json").stdout)
    assert [repair["steps"] for repair in illegal["repairs"]] == [
        ["skew(loop='j', by='i')", "reorder(order=('j', 'i'))"]
    ]
    legal = json.loads(polysched("check", f"{kernels}:legal", "--json").stdout)
    assert legal["repairs"] == []


def test_unknown(polysched: Polysched, kernels: str) -> None:
    result = polysched("check", f"{kernels}:legal", "--quota", "1")
    assert result.exit_code == 3
    assert result.stdout.startswith("unknown: isl needs more than the 1 operations")


@pytest.mark.parametrize(
    ("name", "quota", "expected", "code"),
    [("legal", "0", "legal", 0), ("illegal", "0", "illegal", 1), ("legal", "1", "unknown", 3)],
)
def test_json(
    polysched: Polysched, kernels: str, name: str, quota: str, expected: str, code: int
) -> None:
    result = polysched("check", f"{kernels}:{name}", "--json", "--quota", quota)
    assert (verdict(result), result.exit_code) == (expected, code)


def test_bad_input_leaves_the_output_empty(polysched: Polysched, kernels: str) -> None:
    result = polysched("check", f"{kernels}:none", "--json")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"error: {kernels} has no 'none'")


def test_colours_only_on_a_terminal(polysched: Polysched, kernels: str) -> None:
    colored = polysched("check", f"{kernels}:legal", FORCE_COLOR="1", TERM="xterm")
    assert "\x1b[1;32mlegal: " in colored.stdout
    plain = polysched("check", f"{kernels}:legal", FORCE_COLOR="1", TERM="xterm", NO_COLOR="1")
    assert "32m" not in plain.stdout


def test_long_lines_are_not_wrapped(polysched: Polysched, kernels: str) -> None:
    result = polysched("check", f"{kernels}:illegal", COLUMNS="40")
    assert result.stdout == polysched("check", f"{kernels}:illegal").stdout


CONDITIONAL = """
import polysched as ps

build = ps.KernelBuilder("shifted")
n, k = build.parameter("n", minimum=1), build.parameter("k", minimum=0)
a = build.inout("a", ps.i32, (n + k,))
with build.loops(i=n) as i:
    a[i + k] = a[i] + 1
schedule = ps.Schedule(build.kernel()).reverse("i")
"""


def test_the_condition_on_the_parameters(polysched: Polysched, tmp_path: Path) -> None:
    file = tmp_path / "conditional.py"
    file.write_text(CONDITIONAL, encoding="utf-8")
    result = polysched("check", str(file))
    assert result.exit_code == 1
    assert "legal if and only if k == 0 or n <= k\n" in result.stdout
    record = json.loads(polysched("check", str(file), "--json").stdout)
    assert record["condition"] == "k == 0 or n <= k"


def test_several_targets(polysched: Polysched, kernels: str) -> None:
    result = polysched("check", f"{kernels}:legal", f"{kernels}:illegal")
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[0].startswith(f"legal: {kernels}:legal; ")
    assert lines[1] == f"{kernels}:illegal:"
    assert lines[2].startswith("illegal: ")


def test_several_targets_as_json(polysched: Polysched, kernels: str) -> None:
    result = polysched("check", f"{kernels}:legal", f"{kernels}:illegal", "--json")
    verdicts = [record["verdict"] for record in json.loads(result.stdout)]
    assert (verdicts, result.exit_code) == (["legal", "illegal"], 1)


def test_the_exit_code_of_several_targets(polysched: Polysched, kernels: str) -> None:
    both = (f"{kernels}:legal", f"{kernels}:wavefront")
    assert polysched("check", *both).exit_code == 0
    assert polysched("check", *both, "--quota", "1").exit_code == 3


def test_a_bad_target_among_several(polysched: Polysched, kernels: str) -> None:
    result = polysched("check", f"{kernels}:legal", f"{kernels}:none")
    assert (result.exit_code, result.stdout) == (2, "")


def sarif_results(text: str) -> list[dict[str, object]]:
    (run,) = json.loads(text)["runs"]
    return list(run["results"])


def test_sarif_into_a_file(polysched: Polysched, kernels: str, tmp_path: Path) -> None:
    file = tmp_path / "log.sarif"
    targets = (f"{kernels}:legal", f"{kernels}:illegal")
    result = polysched("check", *targets, "--sarif", str(file))
    assert result.exit_code == 1
    assert result.stdout == polysched("check", *targets).stdout
    (only,) = sarif_results(file.read_text(encoding="utf-8"))
    assert only["ruleId"] == "loop"
    assert only["level"] == "error"


def test_sarif_on_the_output(polysched: Polysched, kernels: str) -> None:
    legal = polysched("check", f"{kernels}:legal", "--sarif", "-")
    assert (legal.exit_code, sarif_results(legal.stdout)) == (0, [])
    unknown = polysched("check", f"{kernels}:legal", "--sarif", "-", "--quota", "1")
    assert unknown.exit_code == 3
    assert [one["level"] for one in sarif_results(unknown.stdout)] == ["warning"]


def test_sarif_beside_json(polysched: Polysched, kernels: str, tmp_path: Path) -> None:
    file = tmp_path / "log.sarif"
    result = polysched("check", f"{kernels}:illegal", "--json", "--sarif", str(file))
    (only,) = sarif_results(file.read_text(encoding="utf-8"))
    assert only["properties"] == {"polysched": json.loads(result.stdout)}
    both = polysched("check", f"{kernels}:illegal", "--json", "--sarif", "-")
    assert both.exit_code == 2
    assert "--json and --sarif - both print to the standard output; use one" in both.stderr


def test_sarif_that_cannot_be_written(polysched: Polysched, kernels: str, tmp_path: Path) -> None:
    result = polysched("check", f"{kernels}:legal", "--sarif", str(tmp_path / "none" / "log"))
    assert (result.exit_code, result.stdout) == (2, "")
    assert "No such file or directory" in result.stderr
    folder = polysched("check", f"{kernels}:legal", "--sarif", str(tmp_path))
    assert folder.exit_code == 2
    assert "is a directory" in folder.stderr


def test_what_does_not_fit_a_machine(polysched: Polysched, scale: str) -> None:
    result = polysched("check", f"{scale}:fast", "--machine", "haswell-avx2")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[1:] == [
        "haswell-avx2: loop 'iv': 16 lanes of f32 are 512 bits, 2 vectors of 256"
    ]


def test_json_with_a_machine(polysched: Polysched, scale: str, kernels: str) -> None:
    options = ("--json", "--machine", "haswell-avx2")
    record = json.loads(polysched("check", f"{scale}:fast", *options).stdout)
    assert record["machine"] == {
        "name": "haswell-avx2",
        "registers_needed": 0,
        "advice": ["loop 'iv': 16 lanes of f32 are 512 bits, 2 vectors of 256"],
    }
    record = json.loads(polysched("check", f"{kernels}:illegal", *options).stdout)
    assert record["machine"] == {"name": "haswell-avx2", "registers_needed": None, "advice": []}


@pytest.mark.parametrize("seconds", ["nan", "-1"])
def test_seconds_that_are_none(polysched: Polysched, kernels: str, seconds: str) -> None:
    result = polysched("check", f"{kernels}:legal", "--seconds", seconds)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "seconds" in result.stderr


PARTS = """
int log_line(const char *text);
void f(int n, float *x, float s)
{
    log_line("begin");
    for (int i = 0; i < n; i++) x[i] = s;
    log_line("end");
}
void g(void) { log_line("g"); }
"""


def test_loops_that_compile_schedules(polysched: Polysched, tmp_path: Path) -> None:
    path = tmp_path / "f.c"
    path.write_text(PARTS)
    result = polysched("check", f"{path}:f")
    assert result.exit_code == 0
    assert f"legal: {path}:f, from line 6" in result.output
    assert "the C compiler compiles the rest of 'f'" in result.output
    record = json.loads(polysched("check", f"{path}:f", "--json").output)
    assert record["verdict"] == "legal"
    assert any("inferred: x[n]" in note for note in record["notes"])


def test_a_function_without_such_loops(polysched: Polysched, tmp_path: Path) -> None:
    path = tmp_path / "f.c"
    path.write_text(PARTS)
    result = polysched("check", f"{path}:g")
    assert result.exit_code == 2
    assert "log_line" in result.stderr
