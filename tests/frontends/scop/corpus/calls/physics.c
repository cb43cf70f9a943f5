#include "calls.h"

int main(void)
{
    enum { S = 21 };
    static body b[S];
    static particle p[S];
    static float x[6][S], g[S + 2];
    static double a[S * S], c[S * S], u[NY][NX], f[NY][NX], l[NY][NX][Q], m[NY][NX][Q];
    static double h[7][7][7], k[7][7][7];
    for (int i = 0; i < S; i++) {
        b[i] = (body){uniform(), uniform(), uniform(), uniform(), uniform(), uniform(), uniform()};
        p[i] = (particle){{uniform(), uniform(), uniform()}, {uniform(), -1, 1}, i % 3 != 0};
    }
    nbody_forces(b, S, 0.01), SHOW("nbody_forces", b);
    printf("%a %a\n", kinetic_energy(b, S), kinetic_energy(b, 0));
    FILL2(x, -1, 1);
    nbody_soa(x[0], x[1], x[2], x[3], x[4], x[5], S), SHOW("nbody_soa", x);
    move_particles(p, S, 0.3f, 1.0f), SHOW("move_particles", p);
    FILL(a, 0, 1); FILL(c, 0, 1); FILL2(u, 0, 1); FILL2(f, 0, 1);
    jacobi(a, c, S, S, 3), SHOW("jacobi", a);
    printf("%a\n", gauss_seidel(u, f, 0.01)), SHOW("gauss_seidel", u);
    for (int i = 0; i < NY; i++)
        FILL2(l[i], 0.5, 1);
    lbm_collide(l, 0.7), SHOW("lbm_collide", l);
    lbm_stream(l, m), SHOW("lbm_stream", m);
    field s = {S, 0.1, 0.01, a, c};
    wave_step(&s), SHOW("wave_step", a), SHOW("wave_step", c);
    s.v = a + 1;
    wave_step(&s), SHOW("wave_step of itself", a);
    s.n = 0;
    wave_step(&s);
    flip_vertical(a, S, S), SHOW("flip_vertical", a);
    for (int i = 0; i < 7; i++)
        FILL2(h[i], 0, 1);
    heat3d(7, h, k), SHOW("heat3d", k);
    printf("%a %d %d\n", simpson(a, 20, 0.1), mandelbrot(0.3, 0.5, 90), mandelbrot(1, 1, 90));
    printf("%d\n", mandelbrot(0.3, 0.5, 0));
    FILL(x[0], 0, S);
    deposit(x[0], x[1], g, S, S + 2), SHOW("deposit", g);
    return 0;
}
