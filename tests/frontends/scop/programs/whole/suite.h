#ifndef SUITE_H
#define SUITE_H
#define SCALAR_VAL(x) x
#define SQRT_FUN(x) sqrt(x)
#define DATA_TYPE double
#ifndef SIZE
# define SIZE 40
#endif
#define ARRAY_1D(var, dim1, ddim1) var[dim1]
#define ARRAY_2D(var, dim1, dim2, ddim1, ddim2) var[dim1][dim2]
#define LOOP_BOUND(constant, parameter) parameter
#define MAX_SCORE(a, b) ((a) >= (b) ? (a) : (b))
#endif
