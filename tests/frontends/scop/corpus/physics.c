#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define NX 20
#define NY 16
#define Q 9
#define IDX(i, j) ((j) * nx + (i))

typedef struct {
    double x, y, z;
    double vx, vy, vz;
    double mass;
} body;

typedef struct {
    float pos[3];
    float vel[3];
    int alive;
} particle;

typedef struct {
    int n;
    double dx, dt;
    double *u, *v;
} field;

static const int ex[Q] = {0, 1, 0, -1, 0, 1, -1, -1, 1};
static const int ey[Q] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
static const double wt[Q] = {4.0 / 9,  1.0 / 9,  1.0 / 9,  1.0 / 9, 1.0 / 9,
                             1.0 / 36, 1.0 / 36, 1.0 / 36, 1.0 / 36};

void nbody_forces(body *b, int n, double dt)
{
    for (int i = 0; i < n; i++) {
        for (int j = i + 1; j < n; j++) {
            double dx = b[i].x - b[j].x;
            double dy = b[i].y - b[j].y;
            double dz = b[i].z - b[j].z;
            double d2 = dx * dx + dy * dy + dz * dz + 1e-9;
            double mag = dt / (d2 * sqrt(d2));
            b[i].vx -= dx * b[j].mass * mag;
            b[i].vy -= dy * b[j].mass * mag;
            b[i].vz -= dz * b[j].mass * mag;
            b[j].vx += dx * b[i].mass * mag;
            b[j].vy += dy * b[i].mass * mag;
            b[j].vz += dz * b[i].mass * mag;
        }
    }
    for (int i = 0; i < n; i++) {
        b[i].x += dt * b[i].vx;
        b[i].y += dt * b[i].vy;
        b[i].z += dt * b[i].vz;
    }
}

double kinetic_energy(const body *bodies, int n)
{
    double e = 0.0;
    for (int i = 0; i < n; i++) {
        const body *b = &bodies[i];
        e += 0.5 * b->mass * (b->vx * b->vx + b->vy * b->vy + b->vz * b->vz);
    }
    return e;
}

void nbody_soa(const float *x, const float *y, const float *z, float *ax, float *ay, float *az, int n)
{
    for (int i = 0; i < n; i++) {
        float sx = 0, sy = 0, sz = 0;
        for (int j = 0; j < n; j++) {
            float dx = x[j] - x[i], dy = y[j] - y[i], dz = z[j] - z[i];
            float inv = 1.0f / sqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
            float inv3 = inv * inv * inv;
            sx += dx * inv3;
            sy += dy * inv3;
            sz += dz * inv3;
        }
        ax[i] = sx;
        ay[i] = sy;
        az[i] = sz;
    }
}

void move_particles(particle *p, int count, float dt, float bound)
{
    for (int i = 0; i < count; i++) {
        if (!p[i].alive)
            continue;
        for (int k = 0; k < 3; k++) {
            p[i].pos[k] += p[i].vel[k] * dt;
            if (p[i].pos[k] < 0 || p[i].pos[k] > bound)
                p[i].vel[k] = -p[i].vel[k];
        }
    }
}

void jacobi(double *a, double *b, int nx, int ny, int steps)
{
    for (int t = 0; t < steps; t++) {
        for (int j = 1; j < ny - 1; j++)
            for (int i = 1; i < nx - 1; i++)
                b[IDX(i, j)] = 0.25 * (a[IDX(i - 1, j)] + a[IDX(i + 1, j)] + a[IDX(i, j - 1)] + a[IDX(i, j + 1)]);
        for (int j = 1; j < ny - 1; j++)
            for (int i = 1; i < nx - 1; i++)
                a[IDX(i, j)] = b[IDX(i, j)];
    }
}

double gauss_seidel(double u[NY][NX], const double f[NY][NX], double h2)
{
    double change = 0.0;
    for (int j = 1; j < NY - 1; j++)
        for (int i = 1; i < NX - 1; i++) {
            double old = u[j][i];
            u[j][i] = 0.25 * (u[j][i - 1] + u[j][i + 1] + u[j - 1][i] + u[j + 1][i] - h2 * f[j][i]);
            double d = fabs(u[j][i] - old);
            if (d > change)
                change = d;
        }
    return change;
}

void lbm_collide(double f[NY][NX][Q], double omega)
{
    for (int y = 0; y < NY; y++)
        for (int x = 0; x < NX; x++) {
            double rho = 0, ux = 0, uy = 0;
            for (int q = 0; q < Q; q++) {
                rho += f[y][x][q];
                ux += ex[q] * f[y][x][q];
                uy += ey[q] * f[y][x][q];
            }
            ux /= rho;
            uy /= rho;
            for (int q = 0; q < Q; q++) {
                double cu = 3.0 * (ex[q] * ux + ey[q] * uy);
                double feq = wt[q] * rho * (1 + cu + 0.5 * cu * cu - 1.5 * (ux * ux + uy * uy));
                f[y][x][q] += omega * (feq - f[y][x][q]);
            }
        }
}

void lbm_stream(double f[NY][NX][Q], double g[NY][NX][Q])
{
    for (int y = 0; y < NY; y++)
        for (int x = 0; x < NX; x++)
            for (int q = 0; q < Q; q++) {
                int xs = (x - ex[q] + NX) % NX;
                int ys = (y - ey[q] + NY) % NY;
                g[y][x][q] = f[ys][xs][q];
            }
}

void wave_step(field *s)
{
    double c = s->dt / s->dx;
    for (int i = 1; i < s->n - 1; i++)
        s->v[i] += c * c * (s->u[i - 1] - 2 * s->u[i] + s->u[i + 1]);
    for (int i = 1; i < s->n - 1; i++)
        s->u[i] += s->v[i];
}

static void swap_rows(double *a, double *b, int n)
{
    for (int i = 0; i < n; i++) {
        double t = a[i];
        a[i] = b[i];
        b[i] = t;
    }
}

void flip_vertical(double *grid, int rows, int cols)
{
    for (int r = 0; r < rows / 2; r++)
        swap_rows(grid + r * cols, grid + (rows - 1 - r) * cols, cols);
}

void heat3d(int n, double (*a)[n][n], double (*b)[n][n])
{
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++)
            for (int k = 1; k < n - 1; k++)
                b[i][j][k] = a[i][j][k] + 0.1 * (a[i + 1][j][k] + a[i - 1][j][k] + a[i][j + 1][k] +
                                                 a[i][j - 1][k] + a[i][j][k + 1] + a[i][j][k - 1] -
                                                 6 * a[i][j][k]);
}

double simpson(const double *f, int n, double h)
{
    double s = f[0] + f[n];
    for (int i = 1; i < n; i++)
        s += (i % 2 ? 4.0 : 2.0) * f[i];
    return s * h / 3;
}

int mandelbrot(double cx, double cy, int limit)
{
    double x = 0, y = 0;
    int i;
    for (i = 0; i < limit; i++) {
        double t = x * x - y * y + cx;
        y = 2 * x * y + cy;
        x = t;
        if (x * x + y * y > 4.0)
            break;
    }
    return i;
}

void deposit(const float *restrict x, const float *restrict w, float *restrict grid, int n, int cells)
{
    memset(grid, 0, sizeof(float) * cells);
    for (int i = 0; i < n; i++) {
        int c = (int)x[i];
        float f = x[i] - c;
        grid[c] += w[i] * (1 - f);
        grid[c + 1] += w[i] * f;
    }
}
