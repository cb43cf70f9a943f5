#include "calls.h"

int main(void)
{
    enum { S = 13 };
    static float x[S * S], w[S * S], y[S * S], bias[S];
    static layer l;
    static int label[S];
    static int8_t q[S * S];
    FILL(x, -1, 1); FILL(w, -1, 1); FILL(bias, -1, 1); FILL2(l.weight, -1, 1); FILL(l.bias, -1, 1);
    dense_relu(x, w, bias, y, 5, 7, 11), SHOW("dense_relu", y);
    dense_relu(x, w, x, x, 5, 7, 11), SHOW("dense_relu in place", x);
    layer_forward(&l, x, y), SHOW("layer_forward", y);
    matrix a = {7, 5, x}, b = {5, 7, y};
    matrix_transpose(&a, &b), SHOW("matrix_transpose", y);
    matrix_transpose(&a, &a), SHOW("matrix_transpose in place", x);
    conv2d(x, w, y, S, S, 3, 2), SHOW("conv2d", y);
    maxpool2(x, y, S, S), SHOW("maxpool2", y);
    kmeans_assign(x, w, label, S, 5, 7), SHOW("kmeans_assign", label);
    printf("%a\n", quantize_int8(x, q, S * S)), SHOW("quantize_int8", q);
    layernorm(x, w, bias, 12, S), SHOW("layernorm", x);
    return 0;
}
