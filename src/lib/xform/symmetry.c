/* symmetry.c - averages over the rotations of a point group, which are made from a few generators. */
#include "xform_internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROTATIONS = 1024 };

typedef struct rotation {
    double m[9]; /* for positions (z, y, x) */
} rotation;

/* Returns the rotation about an axis (x, y, z) by 2 pi / n. */
static rotation turn(double x, double y, double z, int n)
{
    double angle = 6.283185307179586477 / n, length = sqrt(x * x + y * y + z * z), c = cos(angle), s = sin(angle);
    if (n == 2 || n == 4) /* without roundings */
        c = n == 2 ? -1 : 0, s = n == 2 ? 0 : 1;
    double u[3] = { z / length, y / length, x / length };
    double cross[9] = { 0, u[2], -u[1], -u[2], 0, u[0], u[1], -u[0], 0 }; /* of (z, y, x): the other hand */
    rotation r;
    for (int i = 0; i < 9; ++i)
        r.m[i] = (i % 4 ? 0 : c) + (1 - c) * u[i / 3] * u[i % 3] + s * cross[i];
    return r;
}

static rotation product(const rotation *a, const rotation *b)
{
    rotation r;
    for (int i = 0; i < 9; ++i)
        r.m[i] = a->m[i / 3 * 3] * b->m[i % 3] + a->m[i / 3 * 3 + 1] * b->m[3 + i % 3] +
                 a->m[i / 3 * 3 + 2] * b->m[6 + i % 3];
    return r;
}

static bool contains(const rotation *all, int n, const rotation *r)
{
    for (int i = 0; i < n; ++i) {
        double most = 0;
        for (int k = 0; k < 9; ++k)
            most = fmax(most, fabs(all[i].m[k] - r->m[k]));
        if (most < 1e-6)
            return true;
    }
    return false;
}

/* Writes all products of the generators; returns their number. all[0] is the identity. */
static int close_group(const rotation *generator, int generators, rotation *all)
{
    int n = 1;
    memset(all, 0, sizeof *all);
    all[0].m[0] = all[0].m[4] = all[0].m[8] = 1;
    for (int i = 0; i < n; ++i)
        for (int k = 0; k < generators; ++k) {
            rotation r = product(&all[i], &generator[k]);
            for (int e = 0; e < 9; ++e) /* entries of groups that permute axes are whole */
                r.m[e] = fabs(r.m[e] - round(r.m[e])) < 1e-12 ? round(r.m[e]) : r.m[e];
            if (n < MOST_ROTATIONS && !contains(all, n, &r))
                all[n++] = r;
        }
    return n;
}

/* Writes the rotations of a group with this name; returns their number, 0: there is no such group. */
static int rotations_of(const char *name, rotation *all)
{
    static const double golden = 1.6180339887498949;
    rotation generator[3];
    char *end = "";
    long n = name[0] ? strtol(name + 1, &end, 10) : 0;
    bool numbered = name[0] && name[1] >= '1' && name[1] <= '9' && !*end;
    if ((name[0] == 'C' || name[0] == 'D') && numbered && n <= MOST_ROTATIONS / 2) {
        generator[0] = turn(0, 0, 1, (int)n);
        generator[1] = turn(1, 0, 0, 2);
        return close_group(generator, name[0] == 'C' ? 1 : 2, all);
    }
    if (!name[0] || name[1] || !strchr("TOI", name[0]))
        return 0;
    generator[0] = turn(0, 0, 1, name[0] == 'O' ? 4 : 2);
    generator[1] = turn(1, 1, 1, 3);
    generator[2] = turn(0, 1, golden, 5);
    return close_group(generator, name[0] == 'I' ? 3 : 2, all);
}

typedef struct job {
    const wf_array *x, *rotations;
    wf_interp how;
    int axes, batch;
    double center[3];
} job;

static void record_average(wf_graph *g, wf_array *y, const job *j)
{
    static const char *const names[] = { "c0", "c1", "c2" };
    wf_val index[WF_MAX_RANK], from[3], center[3], k, n = wf_dim(g, j->rotations, 0);
    wf_dtype t = wfl_interpolated_dtype(wf_array_dtype(j->x));
    for (int d = 0; d < j->batch; ++d)
        index[d] = wf_index(g, d);
    for (int d = 0; d < j->axes; ++d) {
        center[d] = wf_param(g, names[d], WF_F64, j->center[d]);
        from[d] = wf_sub(wf_cast(wf_index(g, j->batch + d), WF_F64), center[d]);
    }
    wf_var sum = wf_local(g, t, wf_const(g, t, 0));
    WF_FOR (g, k, wf_const_i64(g, WF_I64, 0), n, 1) {
        for (int d = 0; d < j->axes; ++d) {
            wf_val p = center[d];
            for (int e = 0; e < j->axes; ++e) {
                wf_val m = wf_read(g, j->rotations, k, wf_const_i64(g, WF_I64, d), wf_const_i64(g, WF_I64, e));
                p = wf_add(p, wf_mul(m, from[e]));
            }
            index[j->batch + d] = p;
        }
        wf_inc(sum, wf_interpolate(g, j->x, &j->how, (wf_vals){ index, (size_t)(j->batch + j->axes) }));
    }
    WF_END(g);
    wf_dtype part = wf_dtype_part(t);
    wf_out(g, y, wf_mul(wf_get(sum), wf_div(wf_const(g, part, 1), wf_cast(n, part))));
}

wf_array *wfl_group_rotations(const wf_array *x, const char *symmetry, int axes, const char *function)
{
    rotation *all = malloc(MOST_ROTATIONS * sizeof *all);
    wf_context *ctx = wf_array_context(x);
    int n = all && symmetry ? rotations_of(symmetry, all) : 0;
    wf_array *array = NULL;
    if (!all)
        wf_error(ctx, WF_ERR_MEMORY, NULL);
    else if (!n || (axes == 2 && symmetry[0] != 'C'))
        wfl_array_fail(ctx, WF_ERR_ARG, "%s: there is no group \"%.20s\" in %d dimensions", function,
                       symmetry ? symmetry : "", axes);
    else {
        double *packed = (double *)all; /* the last 2 of 3 axes in place, as reads are ahead of writes */
        for (int i = 0; i < n && axes == 2; ++i) {
            double m[4] = { all[i].m[4], all[i].m[5], all[i].m[7], all[i].m[8] };
            memcpy(packed + 4 * i, m, sizeof m);
        }
        array = wfl_array_beside(x, WF_F64, &WF_SHAPE(n, axes, axes));
        if (array && wf_upload(array, packed, (size_t)(n * axes * axes) * sizeof *packed) != WF_OK) {
            wf_release(array);
            array = NULL;
        }
    }
    free(all);
    if (!array)
        wfl_end_group(x);
    return array;
}

wf_array *wf_symmetrize(const wf_array *x, const char *symmetry, int axes, const double *center, const wf_interp *how)
{
    static const char function[] = "wf_symmetrize";
    wf_context *ctx = wf_array_context(x);
    wf_shape shape = wf_array_shape(x);
    if (!x || !wfl_array_known(x, function) || !wfl_interp_known(ctx, how, function))
        return NULL;
    if (axes < 2 || axes > 3 || axes > shape.rank) {
        wfl_array_fail(ctx, WF_ERR_ARG, "%s: `axes` is %d; 2 or 3 of x's %d axes are possible", function, axes,
                       (int)shape.rank);
        return NULL;
    }
    if (!wfl_last_axes_whole(x, axes, function))
        return NULL;
    wf_array *rotations = wfl_group_rotations(x, symmetry, axes, function);
    wf_array *source = rotations ? wfl_coefficients(x, how, axes) : NULL;
    wf_array *y = source ? wfl_result_beside(x, wfl_transformed_dtype(wf_array_dtype(x)), &shape) : NULL;
    if (y) {
        job j = { .x = source, .rotations = rotations, .how = *how, .axes = axes, .batch = shape.rank - axes };
        for (int d = 0; d < axes; ++d)
            j.center[d] = center ? center[d] : (double)(shape.dim[j.batch + d] / 2);
        j.how.axes = axes;
        wf_graph *g = wfl_begin(ctx, function, .shape = shape);
        record_average(g, y, &j);
        y = wfl_array_run(g, y);
    }
    wf_release(source);
    wf_release(rotations);
    return y;
}
