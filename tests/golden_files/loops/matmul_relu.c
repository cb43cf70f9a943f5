/* Compile with -ffp-contract=off (the default under -std=c99), link with -lm. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#ifdef __cplusplus
#define restrict __restrict__
#endif
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

static inline int64_t floor_divide_i64(int64_t a, int64_t b)
{
    if (b == 0) {
        return 0;
    }
    if (b == -1) {
        return (int64_t)(0 - (uint64_t)a);
    }
    return (int64_t)(a / b - (a % b != 0 && (a < 0) != (b < 0)));
}

static inline float maximum_f32(float a, float b)
{
    if (a != a || b != b) {
        return a + b;
    }
    if (a == b) {
        return signbit(a) ? b : a;
    }
    return a < b ? b : a;
}

/* gcc makes vectors of loops that it does not unroll before. */
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 8
#define POLYSCHED_VECTOR _Pragma("GCC unroll 1")
#define POLYSCHED_UNROLLED _Pragma("GCC unroll 64")
#else
#define POLYSCHED_VECTOR
#define POLYSCHED_UNROLLED
#endif

#ifdef __cplusplus
extern "C"
#endif
int matmul_relu(const float *restrict a, const float *restrict b, float *restrict c, int64_t n)
{
    for (int64_t io = 0; io < floor_divide_i64(n + 1, 2); ++io) {
        {
            float tile[16];
            POLYSCHED_UNROLLED for (int64_t ii = 0; ii < 2; ++ii) { /* unrolled */
                if (2*io + ii < n) {
                    POLYSCHED_VECTOR for (int64_t j = 0; j < 8; ++j) { /* vector */
                        tile[ii*8 + j] = 0.0f;
                    }
                }
            }
            for (int64_t k = 0; k < n; ++k) {
                POLYSCHED_UNROLLED for (int64_t ii = 0; ii < 2; ++ii) { /* unrolled */
                    if (2*io + ii < n) {
                        POLYSCHED_VECTOR for (int64_t j = 0; j < 8; ++j) { /* vector */
                            tile[ii*8 + j] = tile[ii*8 + j] + a[(2*io + ii)*n + k]*b[k*8 + j];
                        }
                    }
                }
            }
            POLYSCHED_UNROLLED for (int64_t ii = 0; ii < 2; ++ii) { /* unrolled */
                if (2*io + ii < n) {
                    POLYSCHED_VECTOR for (int64_t j = 0; j < 8; ++j) { /* vector */
                        c[(2*io + ii)*8 + j] = maximum_f32(0.0f, tile[ii*8 + j]);
                    }
                }
            }
        }
    }
    return 0;
}
