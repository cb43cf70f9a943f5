/* Forces between all pairs of bodies, softened. sizes: n=1000 */
#include <math.h>

void n_body(int n, const float x[restrict n], const float y[restrict n], const float z[restrict n],
            const float m[restrict n], float f[restrict n][3])
{
    for (int i = 0; i < n; i++) {
        float fx = 0, fy = 0, fz = 0;
        for (int j = 0; j < n; j++) {
            float dx = x[j] - x[i], dy = y[j] - y[i], dz = z[j] - z[i];
            float r2 = dx * dx + dy * dy + dz * dz + 0.01f;
            float s = m[j] / (r2 * sqrtf(r2));
            fx += s * dx;
            fy += s * dy;
            fz += s * dz;
        }
        f[i][0] = fx;
        f[i][1] = fy;
        f[i][2] = fz;
    }
}
