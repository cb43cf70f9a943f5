from dataclasses import replace

from polysched.bench.measure.race import Result
from polysched.cli.benchmarks.races import markdown_table

RESULTS = (
    Result("conv", "numpy", 0.4178, 103.51, 247.77, 15, 2.7e-5),
    Result("matmul", "OpenBLAS", 0.5, 120.0, 240.0, 3, 0.0),
    Result("conv", "best | packed", 0.9694, 239.0, 246.04, 7, 8.3e-5),
)


def test_results_are_sorted_within_their_kernel() -> None:
    assert markdown_table(RESULTS) == (
        "| kernel | contestant     | of peak | GFLOP/s | peak GFLOP/s | runs | max abs error |\n"
        "| ------ | -------------- | ------: | ------: | -----------: | ---: | ------------: |\n"
        "| conv   | best \\| packed |   0.969 |   239.0 |        246.0 |    7 |       8.3e-05 |\n"
        "| conv   | numpy          |   0.418 |   103.5 |        247.8 |   15 |       2.7e-05 |\n"
        "| matmul | OpenBLAS       |   0.500 |   120.0 |        240.0 |    3 |       0.0e+00 |\n"
    )


def test_who_is_held_back_is_marked() -> None:
    text = markdown_table([replace(RESULTS[0], held_back="its kernels are narrow")])
    assert "| numpy (held back) |" in text


def test_work_that_moves_bytes() -> None:
    heading = markdown_table([replace(RESULTS[0], unit="byte")]).splitlines()[0]
    assert "| of a copy |  GB/s | copy GB/s |" in heading


def test_no_results_are_no_table() -> None:
    assert markdown_table(()) == ""
