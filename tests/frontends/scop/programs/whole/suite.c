/* Kernels in the style of benchmark suites: a region in a function of its own, arrays declared by
   macros, no restrict, and accesses such as y[0] that do not say n >= 1. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "suite.h"

#define N SIZE
#define _N LOOP_BOUND(N, n)

typedef int base;

static void init_array(int n, DATA_TYPE ARRAY_2D(A, N, N, n, n), DATA_TYPE ARRAY_1D(x, N, n))
{
  for (int i = 0; i < n; i++) {
    x[i] = (DATA_TYPE) (i % 7) / 7 + 0.25;
    for (int j = 0; j < n; j++)
      A[i][j] = i == j ? 4.0 * n : (DATA_TYPE) ((i * j + 1) % n) / n;
  }
}

static void print_array(const char *name, int n, DATA_TYPE ARRAY_2D(A, N, N, n, n))
{
  int i, j;
  fprintf(stdout, "begin dump: %s", name);
  for (i = 0; i < n; i++)
    for (j = 0; j < n; j++) {
      if ((i * n + j) % 20 == 0) fprintf(stdout, "\n");
      fprintf(stdout, "%a ", A[i][j]);
    }
  fprintf(stdout, "\n");
}

static void kernel_gemm(int n, DATA_TYPE alpha, DATA_TYPE beta, DATA_TYPE ARRAY_2D(C, N, N, n, n),
                        DATA_TYPE ARRAY_2D(A, N, N, n, n), DATA_TYPE ARRAY_2D(B, N, N, n, n))
{
  int i, j, k;

#pragma scop
  for (i = 0; i < _N; i++) {
    for (j = 0; j < _N; j++)
      C[i][j] *= beta;
    for (k = 0; k < _N; k++) {
      for (j = 0; j < _N; j++)
        C[i][j] += alpha * A[i][k] * B[k][j];
    }
  }
#pragma endscop

}

static void kernel_durbin(int n, DATA_TYPE ARRAY_1D(r, N, n), DATA_TYPE ARRAY_1D(y, N, n))
{
  DATA_TYPE z[N];
  DATA_TYPE alpha;
  DATA_TYPE beta;
  DATA_TYPE sum;
  int i, k;
#pragma scop
  y[0] = -r[0];
  beta = SCALAR_VAL(1.0);
  alpha = -r[0];
  for (k = 1; k < _N; k++) {
    beta = (1 - alpha * alpha) * beta;
    sum = SCALAR_VAL(0.0);
    for (i = 0; i < k; i++) {
      sum += r[k - i - 1] * y[i];
    }
    alpha = -(r[k] + sum) / beta;
    for (i = 0; i < k; i++) {
      z[i] = y[i] + alpha * y[k - i - 1];
    }
    for (i = 0; i < k; i++) {
      y[i] = z[i];
    }
    y[k] = alpha;
  }
#pragma endscop
}

static void kernel_cholesky(int n, DATA_TYPE ARRAY_2D(A, N, N, n, n))
{
  int i, j, k;
#pragma scop
  for (i = 0; i < _N; i++) {
    for (j = 0; j < i; j++) {
      for (k = 0; k < j; k++)
        A[i][j] -= A[i][k] * A[j][k];
      A[i][j] /= A[j][j];
    }
    for (k = 0; k < i; k++)
      A[i][i] -= A[i][k] * A[i][k];
    A[i][i] = SQRT_FUN(A[i][i]);
  }
#pragma endscop
}

static void kernel_correlation(int n, DATA_TYPE float_n, DATA_TYPE ARRAY_2D(data, N, N, n, n),
                               DATA_TYPE ARRAY_2D(corr, N, N, n, n),
                               DATA_TYPE ARRAY_1D(mean, N, n), DATA_TYPE ARRAY_1D(stddev, N, n))
{
  int i, j, k;
  DATA_TYPE eps = SCALAR_VAL(0.1);
#pragma scop
  for (j = 0; j < _N; j++) {
    mean[j] = SCALAR_VAL(0.0);
    for (i = 0; i < _N; i++)
      mean[j] += data[i][j];
    mean[j] /= float_n;
  }
  for (j = 0; j < _N; j++) {
    stddev[j] = SCALAR_VAL(0.0);
    for (i = 0; i < _N; i++)
      stddev[j] += (data[i][j] - mean[j]) * (data[i][j] - mean[j]);
    stddev[j] /= float_n;
    stddev[j] = SQRT_FUN(stddev[j]);
    /* near-zero standard deviations */
    stddev[j] = stddev[j] <= eps ? SCALAR_VAL(1.0) : stddev[j];
  }
  for (i = 0; i < _N; i++)
    for (j = 0; j < _N; j++) {
      data[i][j] -= mean[j];
      data[i][j] /= SQRT_FUN(float_n) * stddev[j];
    }
  for (i = 0; i < _N - 1; i++) {
    corr[i][i] = SCALAR_VAL(1.0);
    for (j = i + 1; j < _N; j++) {
      corr[i][j] = SCALAR_VAL(0.0);
      for (k = 0; k < _N; k++)
        corr[i][j] += (data[k][i] * data[k][j]);
      corr[j][i] = corr[i][j];
    }
  }
  corr[_N - 1][_N - 1] = SCALAR_VAL(1.0);
#pragma endscop
}

static void kernel_seidel(int tsteps, int n, DATA_TYPE ARRAY_2D(A, N, N, n, n))
{
  int t, i, j;
#pragma scop
  for (t = 0; t <= tsteps - 1; t++)
    for (i = 1; i <= _N - 2; i++)
      for (j = 1; j <= _N - 2; j++)
        A[i][j] = (A[i-1][j-1] + A[i-1][j] + A[i-1][j+1]
                   + A[i][j-1] + A[i][j] + A[i][j+1]
                   + A[i+1][j-1] + A[i+1][j] + A[i+1][j+1]) / SCALAR_VAL(9.0);
#pragma endscop
}

static void kernel_nussinov(int n, base ARRAY_1D(seq, N, n), int ARRAY_2D(table, N, N, n, n))
{
  int i, j, k;
#pragma scop
  for (i = _N - 1; i >= 0; i--) {
    for (j = i + 1; j < _N; j++) {
      if (j - 1 >= 0)
        table[i][j] = MAX_SCORE(table[i][j], table[i][j-1]);
      if (i + 1 < _N)
        table[i][j] = MAX_SCORE(table[i][j], table[i+1][j]);
      if (j - 1 >= 0 && i + 1 < _N) {
        if (i < j - 1)
          table[i][j] = MAX_SCORE(table[i][j], table[i+1][j-1] + (seq[i] + seq[j] == 3 ? 1 : 0));
        else
          table[i][j] = MAX_SCORE(table[i][j], table[i+1][j-1]);
      }
      for (k = i + 1; k < j; k++) {
        table[i][j] = MAX_SCORE(table[i][j], table[i][k] + table[k+1][j]);
      }
    }
  }
#pragma endscop
}

DATA_TYPE global[N][N];
static DATA_TYPE trace;

/* Two regions, code between them, and variables of the file. */
static DATA_TYPE two_regions(int n, DATA_TYPE *x)
{
  int i, j, calls = 0;
#pragma scop
  for (i = 0; i < _N; i++)
    for (j = 0; j < _N; j++)
      global[i][j] = x[i] * x[j];
#pragma endscop
  calls++;
  for (i = 0; i < 3; i++)
    x[i] += calls;
#pragma scop
  trace = 0;
  for (i = 0; i < _N; i++)
    trace += global[i][i] + x[i];
#pragma endscop
  return trace;
}

int main(int argc, char **argv)
{
  int n = N;
  DATA_TYPE (*A)[N] = malloc(sizeof(DATA_TYPE[N][N])), (*B)[N] = malloc(sizeof(DATA_TYPE[N][N]));
  DATA_TYPE (*C)[N] = malloc(sizeof(DATA_TYPE[N][N]));
  int (*table)[N] = calloc(N * N, sizeof(int));
  DATA_TYPE x[N], y[N];
  base seq[N];
  init_array(n, A, x);
  init_array(n, B, y);
  init_array(n, C, x);
  kernel_gemm(n, 1.5, 1.2, C, A, B);
  kernel_gemm(n, 1.5, 1e-3, C, C, C);
  kernel_gemm(n - 3, 1.5, 1.2, A, C, B);
  print_array("C", n, C);
  init_array(n, A, x);
  kernel_durbin(n, x, y);
  kernel_durbin(1, x + 3, y + 2);
  kernel_cholesky(n, A);
  print_array("A", n, A);
  kernel_correlation(n, n, B, C, x, y);
  kernel_correlation(n, n, B, B, y, x);
  kernel_seidel(3, n, B);
  print_array("B", n, B);
  for (int i = 0; i < n; i++) seq[i] = (i + 1) % 4;
  kernel_nussinov(n, seq, table);
  fprintf(stdout, "%d %a %a\n", table[0][n - 1], two_regions(n, y), two_regions(n, &global[1][0]));
  print_array("global", n, global);
  if (argc > 42 && !strcmp(argv[0], "")) print_array("x", n, A);
  return 0;
}
