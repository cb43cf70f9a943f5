"""Whole programs in the style of benchmark suites: initialize, compute, print; macros for types.

A program is a kernel over the arrays A, B, C (n by n) and x, y, z (n). Its parameters are declared
in one of the ways that suites use.
"""

from __future__ import annotations

HEAD = """
#include <math.h>
#include <stdio.h>
#ifndef N
#define N 18
#endif
#define DATA_TYPE double
#define SQRT(v) sqrt(v)
#define FOR(i, low, high) for (i = low; i < high; i++)

static DATA_TYPE A[N][N], B[N][N], C[N][N], x[N], y[N], z[N];

static void init_arrays(int n)
{
    int i, j;
    for (i = 0; i < n; i++) {
        x[i] = (DATA_TYPE)(i % 7 + 1) / n;
        y[i] = (DATA_TYPE)(i * i % 5) / n;
        z[i] = (DATA_TYPE)(3 * i % 11 - 4) / n;
        for (j = 0; j < n; j++) {
            A[i][j] = i == j ? 2.0 * n : (DATA_TYPE)((i * j + 1) % n) / n;
            B[i][j] = (DATA_TYPE)((i * (j + 1) + 2) % n) / n;
            C[i][j] = (DATA_TYPE)((i + 2 * j) % n) / n;
        }
    }
}

static void print_array(const char *name, const DATA_TYPE *p, int count)
{
    unsigned long hash = 0;
    printf("%s", name);
    for (int i = 0; i < count; i++) {
        union { double d; unsigned long u; } bits = {p[i] == 0 ? 0 : p[i]};
        hash = hash * 31 + bits.u;
        if (i % 97 == 0)
            printf(" %a", p[i]);
    }
    printf(" %lx\\n", hash);
}
"""

SIGNATURES = {
    "macro": (
        "int n, DATA_TYPE A[N][N], DATA_TYPE B[N][N], DATA_TYPE C[N][N], DATA_TYPE x[N], "
        "DATA_TYPE y[N], DATA_TYPE z[N]",
        "N, A, B, C, x, y, z",
    ),
    "sized": (
        "int n, DATA_TYPE A[n][n], DATA_TYPE B[n][n], DATA_TYPE C[n][n], DATA_TYPE x[n], "
        "DATA_TYPE y[n], DATA_TYPE z[n]",
        "N, A, B, C, x, y, z",
    ),
    "pointers": (
        "int n, DATA_TYPE (*A)[N], DATA_TYPE (*B)[N], DATA_TYPE (*C)[N], DATA_TYPE *x, "
        "DATA_TYPE *y, DATA_TYPE *z",
        "N, A, B, C, x, y, z",
    ),
    "file": ("int n", "N"),
}

KERNELS = {
    "product": ("macro", "FOR(i, 0, n) FOR(j, 0, n) { C[i][j] *= 1.2; "
                "FOR(k, 0, n) C[i][j] += 1.5 * A[i][k] * B[k][j]; }"),
    "two_products": ("sized", "FOR(i, 0, n) FOR(j, 0, n) { C[i][j] = 0; "
                     "FOR(k, 0, n) C[i][j] += A[i][k] * B[k][j]; } FOR(i, 0, n) FOR(j, 0, n) { "
                     "A[i][j] *= 0.5; FOR(k, 0, n) A[i][j] += C[i][k] * B[k][j]; }"),
    "normal_equations": ("pointers", "FOR(i, 0, n) z[i] = 0; FOR(i, 0, n) { y[i] = 0; "
                         "FOR(j, 0, n) y[i] += A[i][j] * x[j]; "
                         "FOR(j, 0, n) z[j] += A[i][j] * y[i]; }"),
    "biconjugate": ("macro", "FOR(i, 0, n) y[i] = 0; FOR(i, 0, n) { z[i] = 0; FOR(j, 0, n) { "
                    "y[j] += x[i] * A[i][j]; z[i] += A[i][j] * x[j]; } }"),
    "two_vectors": ("sized", "FOR(i, 0, n) FOR(j, 0, n) x[i] += A[i][j] * y[j]; "
                    "FOR(i, 0, n) FOR(j, 0, n) z[i] += A[j][i] * y[j];"),
    "summed_products": ("file", "FOR(i, 0, n) { z[i] = 0; y[i] = 0; FOR(j, 0, n) { "
                        "z[i] += A[i][j] * x[j]; y[i] += B[i][j] * x[j]; } "
                        "y[i] = 1.5 * z[i] + 1.2 * y[i]; }"),
    "rank_two": ("macro", "FOR(i, 0, n) FOR(j, 0, n) A[i][j] += x[i] * y[j] + y[i] * z[j]; "
                 "FOR(i, 0, n) FOR(j, 0, n) z[i] += 0.5 * A[j][i] * x[j];"),
    "rank_update": ("sized", "FOR(i, 0, n) { for (j = 0; j <= i; j++) C[i][j] *= 0.7; FOR(k, 0, n) "
                    "for (j = 0; j <= i; j++) C[i][j] += A[i][k] * A[j][k]; }"),
    "rank_two_update": ("macro", "FOR(i, 0, n) { for (j = 0; j <= i; j++) C[i][j] *= 0.7; "
                        "FOR(k, 0, n) for (j = 0; j <= i; j++) "
                        "C[i][j] += A[j][k] * B[i][k] + B[j][k] * A[i][k]; }"),
    "triangular_product": ("macro", "FOR(i, 0, n) FOR(j, 0, n) { FOR(k, i + 1, n) "
                           "B[i][j] += A[k][i] * B[k][j]; B[i][j] = 1.5 * B[i][j]; }"),
    "symmetric_product": ("sized", "FOR(i, 0, n) FOR(j, 0, n) { t = 0; FOR(k, 0, i) { "
                          "C[k][j] += 1.5 * B[i][j] * A[i][k]; t += B[k][j] * A[i][k]; } "
                          "C[i][j] = 1.2 * C[i][j] + 1.5 * B[i][j] * A[i][i] + 1.5 * t; }"),
    "forward_solve": ("file", "FOR(i, 0, n) { x[i] = y[i]; FOR(j, 0, i) x[i] -= A[i][j] * x[j]; "
                      "x[i] = x[i] / A[i][i]; }"),
    "factor": ("macro", "FOR(i, 0, n) { FOR(j, 0, i) { FOR(k, 0, j) A[i][j] -= A[i][k] * A[j][k]; "
               "A[i][j] /= A[j][j]; } FOR(k, 0, i) A[i][i] -= A[i][k] * A[i][k]; "
               "A[i][i] = SQRT(A[i][i]); }"),
    "lower_upper": ("sized", "FOR(i, 0, n) { FOR(j, 0, i) { FOR(k, 0, j) "
                    "A[i][j] -= A[i][k] * A[k][j]; A[i][j] /= A[j][j]; } FOR(j, i, n) FOR(k, 0, i) "
                    "A[i][j] -= A[i][k] * A[k][j]; }"),
    "lower_upper_solve": ("macro", "FOR(i, 0, n) { t = x[i]; FOR(j, 0, i) t -= A[i][j] * y[j]; "
                          "y[i] = t; } for (i = n - 1; i >= 0; i--) { t = y[i]; "
                          "FOR(j, i + 1, n) t -= A[i][j] * z[j]; z[i] = t / A[i][i]; }"),
    "toeplitz": ("pointers", "y[0] = -x[0]; t = -x[0]; FOR(k, 1, n) { DATA_TYPE s = 0; "
                 "FOR(i, 0, k) "
                 "s += x[k - i - 1] * y[i]; t = -(x[k] + s) / (1.5 + t * t); "
                 "FOR(i, 0, k) z[i] = y[i] + t * y[k - i - 1]; "
                 "FOR(i, 0, k) y[i] = z[i]; y[k] = t; }"),
    "orthogonal": ("macro", "FOR(k, 0, n) { t = 0; FOR(i, 0, n) t += A[i][k] * A[i][k]; "
                   "C[k][k] = SQRT(t); FOR(i, 0, n) B[i][k] = A[i][k] / C[k][k]; "
                   "FOR(j, k + 1, n) { "
                   "C[k][j] = 0; FOR(i, 0, n) C[k][j] += B[i][k] * A[i][j]; "
                   "FOR(i, 0, n) A[i][j] -= B[i][k] * C[k][j]; } }"),
    "in_place_product": ("sized", "FOR(i, 0, n) { FOR(j, 0, n) { z[j] = 0; FOR(k, 0, n) "
                         "z[j] += A[i][k] * B[k][j]; } FOR(j, 0, n) A[i][j] = z[j]; }"),
    "three_points": ("file", "FOR(k, 0, 5) { FOR(i, 1, n - 1) y[i] = 0.3 * (x[i - 1] + x[i] + "
                     "x[i + 1]); FOR(i, 1, n - 1) x[i] = 0.3 * (y[i - 1] + y[i] + y[i + 1]); }"),
    "five_points": ("macro", "FOR(k, 0, 3) { FOR(i, 1, n - 1) FOR(j, 1, n - 1) B[i][j] = 0.2 * "
                    "(A[i][j] + A[i][j - 1] + A[i][1 + j] + A[1 + i][j] + A[i - 1][j]); "
                    "FOR(i, 1, n - 1) FOR(j, 1, n - 1) A[i][j] = B[i][j]; }"),
    "nine_points": ("sized", "FOR(k, 0, 3) for (i = 1; i <= n - 2; i++) "
                    "for (j = 1; j <= n - 2; j++) "
                    "A[i][j] = (A[i - 1][j - 1] + A[i - 1][j] + A[i - 1][j + 1] + A[i][j - 1] + "
                    "A[i][j] + A[i][j + 1] + A[i + 1][j - 1] + A[i + 1][j] + "
                    "A[i + 1][j + 1]) / 9;"),
    "fields": ("macro", "FOR(k, 0, 4) { FOR(j, 0, n) B[0][j] = x[k]; FOR(i, 1, n) FOR(j, 0, n) "
               "B[i][j] -= 0.5 * (C[i][j] - C[i - 1][j]); FOR(i, 0, n) FOR(j, 1, n) "
               "A[i][j] -= 0.5 * (C[i][j] - C[i][j - 1]); FOR(i, 0, n - 1) FOR(j, 0, n - 1) "
               "C[i][j] -= 0.7 * (A[i][j + 1] - A[i][j] + B[i + 1][j] - B[i][j]); }"),
    "alternating": ("pointers", "FOR(i, 1, n - 1) { B[i][0] = 1; C[i][0] = 0; FOR(j, 1, n - 1) { "
                    "C[i][j] = 0.2 / (0.9 * C[i][j - 1] + 3); B[i][j] = (A[j][i - 1] + 0.4 * "
                    "A[j][i] + B[i][j - 1]) / (0.9 * C[i][j - 1] + 3); } } FOR(i, 1, n - 1) "
                    "for (j = n - 2; j >= 1; j--) A[j][i] = C[i][j] * A[j + 1][i] + B[i][j];"),
    "covariance": ("sized", "FOR(j, 0, n) { x[j] = 0; FOR(i, 0, n) x[j] += A[i][j]; x[j] /= n; } "
                   "FOR(i, 0, n) FOR(j, 0, n) A[i][j] -= x[j]; FOR(i, 0, n) FOR(j, i, n) { "
                   "C[i][j] = 0; FOR(k, 0, n) C[i][j] += A[k][i] * A[k][j]; C[i][j] /= n - 1.0; "
                   "C[j][i] = C[i][j]; }"),
    "correlation": ("macro", "FOR(j, 0, n) { x[j] = 0; FOR(i, 0, n) x[j] += A[i][j]; x[j] /= n; "
                    "y[j] = 0; FOR(i, 0, n) y[j] += (A[i][j] - x[j]) * (A[i][j] - x[j]); "
                    "y[j] = SQRT(y[j] / n); y[j] = y[j] <= 0.1 ? 1.0 : y[j]; } "
                    "FOR(i, 0, n) FOR(j, 0, n) A[i][j] = (A[i][j] - x[j]) / (SQRT(n) * y[j]);"),
    "shortest_paths": ("file", "FOR(k, 0, n) FOR(i, 0, n) FOR(j, 0, n) A[i][j] = "
                       "A[i][j] < A[i][k] + A[k][j] ? A[i][j] : A[i][k] + A[k][j];"),
    "chain": ("sized", "for (i = n - 1; i >= 0; i--) FOR(j, i + 1, n) { "
              "C[i][j] = C[i][j] >= C[i][j - 1] ? C[i][j] : C[i][j - 1]; if (i + 1 < n) "
              "C[i][j] = C[i][j] >= C[i + 1][j] ? C[i][j] : C[i + 1][j]; FOR(k, i + 1, j) if "
              "(C[i][j] < C[i][k] + C[k + 1][j]) C[i][j] = C[i][k] + C[k + 1][j]; }"),
    "recursive_filter": ("macro", "FOR(i, 0, n) { t = 0; FOR(j, 0, n) { B[i][j] = 0.4 * A[i][j] + "
                         "0.3 * t; t = B[i][j]; } t = 0; for (j = n - 1; j >= 0; j--) { "
                         "C[i][j] = 0.2 * A[i][j] + 0.5 * t; t = C[i][j]; } } FOR(i, 0, n) "
                         "FOR(j, 0, n) A[i][j] = B[i][j] + C[i][j];"),
    "upwind": ("pointers", "FOR(k, 0, 4) { FOR(i, 1, n) z[i] = x[i] - (y[i] > 0 ? y[i] * (x[i] - "
               "x[i - 1]) : 0); FOR(i, 1, n) x[i] = z[i]; }"),
    "power_iteration": ("macro", "FOR(k, 0, 3) { t = 0; FOR(i, 0, n) { y[i] = 0; FOR(j, 0, n) y[i] "
                        "+= A[i][j] * x[j]; if (y[i] > t) t = y[i]; } "
                        "FOR(i, 0, n) x[i] = y[i] / t; }"),
}  # fmt: skip
"""The signature and the statements of each kernel."""


def program_text(names: list[str], *, has_regions: bool) -> str:
    """One C file with some programs; its main runs them in turn."""
    parts = [HEAD]
    calls = []
    for name in names:
        style, body = KERNELS[name]
        declared, passed = SIGNATURES[style]
        if has_regions:
            body = f"#pragma scop\n    {body}\n#pragma endscop\n"
        scalars = "int i, j, k; DATA_TYPE t = 0;"
        used = [one for one in ("i", "j", "k", "t") if _uses(body, one)]
        scalars = "int " + ", ".join(one for one in used if one != "t") + ";"
        scalars += " DATA_TYPE t = 0;" if "t" in used else ""
        parts.append(f"static void kernel_{name}({declared})\n{{\n    {scalars}\n    {body}\n}}\n")
        arrays = ("A", "B", "C", "x", "y", "z")
        printed = " ".join(
            f'print_array("{name} {one}", (DATA_TYPE *){one}, sizeof {one} / sizeof(DATA_TYPE));'
            for one in arrays
        )
        calls.append(f"    init_arrays(N);\n    kernel_{name}({passed});\n    {printed}\n")
    parts.append(f"int main(void)\n{{\n{''.join(calls)}    return 0;\n}}\n")
    return "\n".join(parts)


def _uses(body: str, name: str) -> bool:
    letters = "".join(c if c.isalnum() or c == "_" else " " for c in body)
    return name in letters.split()
