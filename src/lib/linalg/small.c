/* small.c - linear algebra on small matrices of values. Everything is written out but the sweeps of Jacobi's method, so
 * matrices live in registers. Rows are exchanged by selections, since each point has pivots of its own.
 */
#include "weft/linalg.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST = WF_MAT_MOST, MOST_ROWS = 16 };

static const wf_val zero = { { 0, NULL } }, one = { { 1, NULL } };

/* True if the sizes are possible and no matrix is NULL; else the graph is poisoned, and so are n results. */
static bool possible(wf_graph *g, const char *function, int n, int columns, const void *a, const void *b, wf_val *out,
                     int results)
{
    char text[160];
    if (n >= 1 && n <= MOST && columns >= 1 && columns <= MOST && a && b && out)
        return true;
    if (!a || !b || !out)
        snprintf(text, sizeof text, "%s: a matrix is NULL", function);
    else
        snprintf(text, sizeof text, "%s: a matrix of %d rows and %d columns; 1 to %d are possible", function, n,
                 columns, MOST);
    wf_fail(g, WF_ERR_ARG, text);
    for (int i = 0; i < results && out && n >= 1 && n <= MOST && columns >= 1 && columns <= MOST; ++i)
        out[i] = (wf_val){ { 0, g } };
    return false;
}

/* Returns v, or NaN where it is 0. */
static wf_val not_zero(wf_val v) { return wf_select(wf_eq(v, 0), NAN, v); }

static void exchange_if(wf_val condition, wf_val *a, wf_val *b)
{
    wf_val x = wf_select(condition, *b, *a), y = wf_select(condition, *a, *b);
    *a = x;
    *b = y;
}

/* ---- elimination ---- */
/* Brings the largest of the elements from row k on of column k to row k; width: of rows. Returns the sign of that. */
static wf_val pivot(wf_val m[MOST][2 * MOST], int n, int k, int width)
{
    wf_val sign = one;
    for (int i = k + 1; i < n; ++i) {
        wf_val larger = wf_gt(wf_abs(m[i][k]), wf_abs(m[k][k]));
        for (int j = k; j < width; ++j)
            exchange_if(larger, &m[k][j], &m[i][j]);
        sign = wf_select(larger, wf_neg(sign), sign);
    }
    return sign;
}

/* Subtracts row k times what makes column k 0 from the rows after it; `over` is 1 / the pivot. */
static void eliminate(wf_val m[MOST][2 * MOST], int n, int k, int width, wf_val over)
{
    for (int i = k + 1; i < n; ++i) {
        wf_val f = wf_mul(m[i][k], over);
        for (int j = k + 1; j < width; ++j)
            m[i][j] = wf_sub(m[i][j], wf_mul(f, m[k][j]));
    }
}

void wf_mat_solve(wf_graph *graph, int n, const wf_val *a, int columns, const wf_val *b, wf_val *x)
{
    if (!possible(graph, "wf_mat_solve", n, columns, a, b, x, n * columns))
        return;
    wf_val m[MOST][2 * MOST], over[MOST];
    int width = n + columns;
    for (int i = 0; i < n; ++i) {
        memcpy(m[i], a + i * n, (size_t)n * sizeof *a);
        memcpy(m[i] + n, b + i * columns, (size_t)columns * sizeof *b);
    }
    for (int k = 0; k < n; ++k) {
        pivot(m, n, k, width);
        over[k] = wf_div(1, not_zero(m[k][k]));
        eliminate(m, n, k, width, over[k]);
    }
    for (int c = 0; c < columns; ++c)
        for (int i = n - 1; i >= 0; --i) {
            wf_val sum = m[i][n + c];
            for (int j = i + 1; j < n; ++j)
                sum = wf_sub(sum, wf_mul(m[i][j], m[j][n + c]));
            m[i][n + c] = wf_mul(sum, over[i]);
            x[i * columns + c] = m[i][n + c];
        }
}

void wf_mat_inverse(wf_graph *graph, int n, const wf_val *a, wf_val *out)
{
    if (!possible(graph, "wf_mat_inverse", n, n, a, a, out, n * n))
        return;
    wf_val identity[MOST * MOST];
    for (int i = 0; i < n * n; ++i)
        identity[i] = i % (n + 1) ? zero : one;
    wf_mat_solve(graph, n, a, n, identity, out);
}

wf_val wf_mat_determinant(wf_graph *graph, int n, const wf_val *a)
{
    wf_val m[MOST][2 * MOST], product = { { 0, graph } };
    if (!possible(graph, "wf_mat_determinant", n, n, a, a, &product, 1))
        return (wf_val){ { 0, graph } };
    for (int i = 0; i < n; ++i)
        memcpy(m[i], a + i * n, (size_t)n * sizeof *a);
    for (int k = 0; k < n; ++k) {
        wf_val sign = pivot(m, n, k, n), p = m[k][k];
        /* of a column of zeros nothing is subtracted */
        if (k < n - 1)
            eliminate(m, n, k, n, wf_select(wf_eq(p, 0), 0, wf_div(1, p)));
        p = wf_mul(p, sign);
        product = k ? wf_mul(product, p) : p;
    }
    return product;
}

/* ---- Cholesky's decomposition ---- */
void wf_mat_cholesky(wf_graph *graph, int n, const wf_val *a, wf_val *l)
{
    if (!possible(graph, "wf_mat_cholesky", n, n, a, a, l, n * n))
        return;
    wf_val m[MOST][MOST];
    for (int j = 0; j < n; ++j) {
        wf_val d = a[j * n + j];
        for (int k = 0; k < j; ++k)
            d = wf_sub(d, wf_mul(m[j][k], m[j][k]));
        m[j][j] = wf_sqrt(wf_select(wf_gt(d, 0), d, NAN));
        wf_val over = wf_div(1, m[j][j]);
        for (int i = j + 1; i < n; ++i) {
            wf_val sum = a[i * n + j];
            for (int k = 0; k < j; ++k)
                sum = wf_sub(sum, wf_mul(m[i][k], m[j][k]));
            m[i][j] = wf_mul(sum, over);
        }
    }
    for (int i = 0; i < n * n; ++i)
        l[i] = i % n > i / n ? zero : m[i / n][i % n];
}

void wf_mat_cholesky_solve(wf_graph *graph, int n, const wf_val *l, int columns, const wf_val *b, wf_val *x)
{
    if (!possible(graph, "wf_mat_cholesky_solve", n, columns, l, b, x, n * columns))
        return;
    wf_val over[MOST], y[MOST], result[MOST * MOST];
    for (int i = 0; i < n; ++i)
        over[i] = wf_div(1, not_zero(l[i * n + i]));
    for (int c = 0; c < columns; ++c) {
        for (int i = 0; i < n; ++i) {
            y[i] = b[i * columns + c];
            for (int k = 0; k < i; ++k)
                y[i] = wf_sub(y[i], wf_mul(l[i * n + k], y[k]));
            y[i] = wf_mul(y[i], over[i]);
        }
        for (int i = n - 1; i >= 0; --i) {
            for (int k = i + 1; k < n; ++k)
                y[i] = wf_sub(y[i], wf_mul(l[k * n + i], y[k]));
            y[i] = wf_mul(y[i], over[i]);
            result[i * columns + c] = y[i];
        }
    }
    memcpy(x, result, (size_t)(n * columns) * sizeof *x);
}

/* ---- eigenvalues ---- */
typedef struct eigen {
    wf_graph *g;
    int n;
    wf_dtype dtype;
    wf_var a[MOST][MOST], v[MOST][MOST]; /* the lower triangle; eigenvectors as columns */
    bool vectors;
} eigen;

static wf_var *element(eigen *e, int i, int j) { return i > j ? &e->a[i][j] : &e->a[j][i]; }

/* Turns the pair (x, y) by the rotation with cosine c and sine s. */
static void turn(wf_var *x, wf_var *y, wf_val c, wf_val s)
{
    wf_val p = wf_get(*x), q = wf_get(*y);
    wf_set(*x, wf_sub(wf_mul(c, p), wf_mul(s, q)));
    wf_set(*y, wf_add(wf_mul(s, p), wf_mul(c, q)));
}

/* Makes the element at (p, q) 0 by a rotation of both axes. */
static void rotate(eigen *e, int p, int q)
{
    wf_val off = wf_get(*element(e, p, q)), app = wf_get(e->a[p][p]), aqq = wf_get(e->a[q][q]);
    wf_val tau = wf_div(wf_sub(aqq, app), wf_mul(off, 2));
    wf_val t = wf_div(1, wf_add(wf_abs(tau), wf_sqrt(wf_add(wf_mul(tau, tau), 1))));
    t = wf_select(wf_lt(tau, 0), wf_neg(t), t);
    t = wf_select(wf_eq(off, 0), 0, t);
    wf_val c = wf_div(1, wf_sqrt(wf_add(wf_mul(t, t), 1))), s = wf_mul(t, c), change = wf_mul(t, off);
    wf_set(e->a[p][p], wf_sub(app, change));
    wf_set(e->a[q][q], wf_add(aqq, change));
    wf_set(*element(e, p, q), 0);
    for (int r = 0; r < e->n; ++r) {
        if (r != p && r != q)
            turn(element(e, r, p), element(e, r, q), c, s);
        if (e->vectors)
            turn(&e->v[r][p], &e->v[r][q], c, s);
    }
}

/* Returns true where an element beside the diagonal is not negligible. */
static wf_val unfinished(eigen *e)
{
    double tiny = e->dtype == WF_F64 ? 1e-17 : 1e-9;
    wf_val off = wf_const(e->g, e->dtype, 0), all = off;
    for (int i = 0; i < e->n; ++i)
        for (int j = 0; j <= i; ++j) {
            wf_val x = wf_abs(wf_get(e->a[i][j]));
            if (j < i)
                off = wf_max(off, x);
            all = wf_max(all, x);
        }
    return wf_gt(off, wf_mul(all, tiny));
}

static wf_val as_value(eigen *e, wf_val v)
{
    double number;
    return wf_val_number(v, &number, NULL) ? wf_const(e->g, e->dtype, number) : wf_cast(v, e->dtype);
}

void wf_mat_eigh(wf_graph *graph, int n, const wf_val *a, wf_val *values, wf_val *vectors)
{
    enum { SWEEPS = 16 }; /* convergence is quadratic; matrices of 6 rows need 5 or 6 */
    if (!possible(graph, "wf_mat_eigh", n, n, a, a, values, n) ||
        (vectors && !possible(graph, "wf_mat_eigh", n, n, a, a, vectors, n * n)))
        return;
    eigen e = { .g = graph, .n = n, .dtype = WF_F32, .vectors = vectors != NULL };
    wf_val d[MOST], v[MOST][MOST];
    for (int i = 0; i < n * n; ++i)
        e.dtype = wf_val_dtype(a[i]) == WF_F64 ? WF_F64 : e.dtype;
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
            if (j <= i)
                e.a[i][j] = wf_local(graph, e.dtype, as_value(&e, a[i * n + j]));
            if (vectors)
                e.v[i][j] = wf_local(graph, e.dtype, i == j ? one : zero);
        }
    wf_var sweep = wf_local(graph, WF_I32, 0);
    WF_WHILE (graph, wf_and(wf_lt(wf_get(sweep), SWEEPS), unfinished(&e))) {
        for (int p = 0; p < n; ++p)
            for (int q = p + 1; q < n; ++q)
                rotate(&e, p, q);
        wf_inc(sweep, 1);
    }
    WF_END(graph);
    for (int i = 0; i < n; ++i) {
        d[i] = wf_get(e.a[i][i]);
        for (int j = 0; j < n && vectors; ++j)
            v[i][j] = wf_get(e.v[i][j]);
    }
    for (int last = n - 1; last > 0; --last)
        for (int i = 0; i < last; ++i) {
            wf_val wrong = wf_gt(d[i], d[i + 1]);
            exchange_if(wrong, &d[i], &d[i + 1]);
            for (int r = 0; r < n && vectors; ++r)
                exchange_if(wrong, &v[r][i], &v[r][i + 1]);
        }
    memcpy(values, d, (size_t)n * sizeof *d);
    for (int i = 0; i < n * n && vectors; ++i)
        vectors[i] = v[i / n][i % n];
}

/* ---- least squares ---- */
void wf_mat_lstsq(wf_graph *graph, int m, int n, const wf_val *a, const wf_val *b, wf_val *x)
{
    if (!possible(graph, "wf_mat_lstsq", n, 1, a, b, x, n))
        return;
    if (m < n || m > MOST_ROWS) {
        char text[160];
        snprintf(text, sizeof text, "wf_mat_lstsq: %d rows for %d unknowns; %d to %d are possible", m, n, n, MOST_ROWS);
        wf_fail(graph, WF_ERR_ARG, text);
        for (int i = 0; i < n; ++i)
            x[i] = (wf_val){ { 0, graph } };
        return;
    }
    wf_val q[MOST_ROWS][MOST + 1], diagonal[MOST], out[MOST]; /* the last column is b */
    for (int i = 0; i < m; ++i) {
        memcpy(q[i], a + i * n, (size_t)n * sizeof *a);
        q[i][n] = b[i];
    }
    for (int k = 0; k < n; ++k) {
        wf_val square = wf_mul(q[k][k], q[k][k]), v[MOST_ROWS];
        for (int i = k + 1; i < m; ++i)
            square = wf_add(square, wf_mul(q[i][k], q[i][k]));
        wf_val norm = wf_sqrt(square), first = wf_abs(q[k][k]);
        diagonal[k] = wf_select(wf_lt(q[k][k], 0), norm, wf_neg(norm));
        v[k] = wf_sub(q[k][k], diagonal[k]);
        for (int i = k + 1; i < m; ++i)
            v[i] = q[i][k];
        /* 2 / v.v */
        wf_val scale = wf_div(1, not_zero(wf_mul(norm, wf_add(norm, first))));
        for (int j = k + 1; j <= n; ++j) {
            wf_val dot = wf_mul(v[k], q[k][j]);
            for (int i = k + 1; i < m; ++i)
                dot = wf_add(dot, wf_mul(v[i], q[i][j]));
            dot = wf_mul(dot, scale);
            for (int i = k; i < m; ++i)
                q[i][j] = wf_sub(q[i][j], wf_mul(dot, v[i]));
        }
    }
    for (int i = n - 1; i >= 0; --i) {
        wf_val sum = q[i][n];
        for (int j = i + 1; j < n; ++j)
            sum = wf_sub(sum, wf_mul(q[i][j], out[j]));
        out[i] = wf_div(sum, not_zero(diagonal[i]));
    }
    memcpy(x, out, (size_t)n * sizeof *x);
}
