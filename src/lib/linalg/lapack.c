/* lapack.c - decompositions by a LAPACK. A matrix by rows is to LAPACK the transposed matrix, whose decompositions give
 * those of the matrix itself: a^T = U S V^H is a = conj(V) S U^T. So only right-hand sides, least squares and q r need
 * transposed copies, which the caller makes.
 */
#include "lapack.h"
#include "../floats.h"
#include <math.h>
#include <string.h>

enum { GETRF, GETRS, POTRF, EIGH, GESDD, GELSD, GEQRF, ORGQR, ROUTINES, KINDS = 4 };

static const char *const usual[] = { "libopenblas.so.0", "libmkl_rt.so.2", "libflame.so.1", "liblapack.so.3", NULL };
static const char *const routines[] = {
    "sgetrf", "dgetrf", "cgetrf", "zgetrf", "sgetrs", "dgetrs", "cgetrs", "zgetrs", "spotrf", "dpotrf", "cpotrf",
    "zpotrf", "ssyevd", "dsyevd", "cheevd", "zheevd", "sgesdd", "dgesdd", "cgesdd", "zgesdd", "sgelsd", "dgelsd",
    "cgelsd", "zgelsd", "sgeqrf", "dgeqrf", "cgeqrf", "zgeqrf", "sorgqr", "dorgqr", "cungqr", "zungqr", NULL,
};
_Static_assert(sizeof routines / sizeof *routines == ROUTINES * KINDS + 1, "a routine for each dtype");
static wfl_fortran library = {
    .variable = "WEFT_LAPACK", .usual = usual, .routines = routines, .lock = PTHREAD_MUTEX_INITIALIZER
};

typedef const int64_t *in;
typedef void getrf(in m, in n, void *a, in lda, int64_t *pivots, int64_t *info);
typedef void getrs(const char *trans, in n, in k, const void *a, in lda, in pivots, void *b, in ldb, int64_t *info,
                   size_t length);
typedef void potrf(const char *triangle, in n, void *a, in lda, int64_t *info, size_t length);
/* The complex routines have an array of reals more, with or without its length. */
typedef void syevd(const char *job, const char *triangle, in n, void *a, in lda, void *w, void *work, in lwork,
                   int64_t *iwork, in liwork, int64_t *info, size_t length, size_t other);
typedef void heevd(const char *job, const char *triangle, in n, void *a, in lda, void *w, void *work, in lwork,
                   void *rwork, in lrwork, int64_t *iwork, in liwork, int64_t *info, size_t length, size_t other);
typedef void gesdd(const char *job, in m, in n, void *a, in lda, void *s, void *u, in ldu, void *vt, in ldvt,
                   void *work, in lwork, int64_t *iwork, int64_t *info, size_t length);
typedef void gesdd_complex(const char *job, in m, in n, void *a, in lda, void *s, void *u, in ldu, void *vt, in ldvt,
                           void *work, in lwork, void *rwork, int64_t *iwork, int64_t *info, size_t length);
typedef void gelsd(in m, in n, in k, void *a, in lda, void *b, in ldb, void *s, const void *rcond, int64_t *rank,
                   void *work, in lwork, int64_t *iwork, int64_t *info);
typedef void gelsd_complex(in m, in n, in k, void *a, in lda, void *b, in ldb, void *s, const void *rcond,
                           int64_t *rank, void *work, in lwork, void *rwork, int64_t *iwork, int64_t *info);

typedef void geqrf(in m, in n, void *a, in lda, void *tau, void *work, in lwork, int64_t *info);
typedef void orgqr(in m, in n, in k, void *a, in lda, const void *tau, void *work, in lwork, int64_t *info);

bool wfl_lapack_begin(wfl_lapack *l, wf_context *ctx, const char *function, wf_dtype dtype)
{
    static const wf_dtype dtypes[KINDS] = { WF_F32, WF_F64, WF_C64, WF_C128 };
    char why[WFL_FORTRAN_TEXT];
    bool named;
    *l = (wfl_lapack){ .ctx = ctx, .function = function, .size = wf_dtype_size(dtype) };
    while (dtypes[l->kind] != dtype)
        ++l->kind;
    if (wfl_fortran_find(&library, l->routine, why, &named))
        return true;
    wfl_array_fail(ctx, WF_ERR_UNSUPPORTED,
                   named ? "%s: WEFT_LAPACK names no LAPACK: %.400s"
                         : "%s: needs a LAPACK, such as of liblapack3 or OpenBLAS, and found none: %.400s",
                   function, why);
    return false;
}

void wfl_lapack_end(wfl_lapack *l)
{
    for (int i = 0; i < WFL_LAPACK_WORK; ++i)
        wf_release(l->memory[i]);
}

static bool is_complex(const wfl_lapack *l) { return l->kind >= 2; }
static size_t real_size(const wfl_lapack *l) { return l->kind % 2 ? sizeof(double) : sizeof(float); }

/* Copies the address of a routine to a pointer to a function. */
static void find(const wfl_lapack *l, int routine, void *pointer)
{
    memcpy(pointer, &l->routine[routine * KINDS + l->kind], sizeof l->routine[0]);
}

/* Allocates n things of `size` bytes, at least one. */
static bool allocate(wfl_lapack *l, int i, int64_t n, size_t size)
{
    l->memory[i] = wfl_array_scratch(l->ctx, n > 1 ? n : 1, size, &l->work[i]);
    return l->memory[i] != NULL;
}

/* Returns the length of a workspace that a query wrote as a number of the dtype, with what rounding may have taken. */
static int64_t queried(const wfl_lapack *l, const void *work)
{
    float narrow;
    double wide;
    memcpy(&narrow, work, sizeof narrow);
    memcpy(&wide, work, sizeof wide);
    return (int64_t)(l->kind % 2 ? wide : (double)narrow * 1.000001) + 1;
}

static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t least_of(int64_t a, int64_t b) { return a < b ? a : b; }

/* Returns what a routine says. Libraries with integers of 32 bits write the lower half. */
static int said(int64_t info) { return (int)(int32_t)info; }

int wfl_lapack_solve(wfl_lapack *l, int64_t n, int64_t k, void *a, void *b)
{
    if (!l->memory[1] && !allocate(l, 1, n, sizeof(int64_t)))
        return WFL_LAPACK_FAILED;
    getrf *factor;
    getrs *solve;
    find(l, GETRF, &factor);
    find(l, GETRS, &solve);
    int64_t info = 0, *pivots = l->work[1];
    fenv_t floats;
    wfl_floats_begin(&floats);
    factor(&n, &n, a, &n, pivots, &info);
    if (!said(info)) /* factors of a^T, so a is the transposed matrix */
        solve("T", &n, &k, a, &n, pivots, b, &n, &info, 1);
    wfl_floats_end(&floats);
    return said(info);
}

/* Multiplies sign by d / |d|, and adds the logarithm of |d|. */
static void multiply(const wfl_lapack *l, const char *d, double sign[2], double *log_of)
{
    double part[2] = { 0 }; /* real, imaginary */
    if (l->kind % 2)
        memcpy(part, d, l->size);
    else
        for (size_t i = 0; i < l->size / sizeof(float); ++i) {
            float narrow;
            memcpy(&narrow, d + i * sizeof narrow, sizeof narrow);
            part[i] = (double)narrow;
        }
    const double length = hypot(part[0], part[1]), x = sign[0], y = sign[1];
    *log_of += log(length);
    for (int i = 0; i < 2 && length > 0; ++i)
        part[i] /= length;
    sign[0] = x * part[0] - y * part[1];
    sign[1] = x * part[1] + y * part[0];
}

int wfl_lapack_slogdet(wfl_lapack *l, int64_t n, void *a, double sign[2], double *log_of)
{
    if (!l->memory[1] && !allocate(l, 1, n, sizeof(int64_t)))
        return WFL_LAPACK_FAILED;
    getrf *factor;
    find(l, GETRF, &factor);
    int64_t info = 0, *pivots = l->work[1];
    fenv_t floats;
    wfl_floats_begin(&floats);
    factor(&n, &n, a, &n, pivots, &info);
    const int32_t *half = l->work[1];
    const bool is_half = n > 1 && half[1] != 0; /* pivots of 32 bits: the second one is at least 2 */
    sign[0] = 1;
    sign[1] = *log_of = 0;
    for (int64_t i = 0; i < n && said(info) >= 0; ++i) {
        const int64_t pivot = is_half ? half[i] : pivots[i];
        multiply(l, (const char *)a + (size_t)(i * (n + 1)) * l->size, sign, log_of);
        if (pivot != i + 1 && n > 1) {
            sign[0] = -sign[0];
            sign[1] = -sign[1];
        }
    }
    if (said(info) > 0) {
        sign[0] = sign[1] = 0;
        *log_of = -INFINITY;
    }
    wfl_floats_end(&floats);
    return said(info) > 0 ? 0 : said(info);
}

int wfl_lapack_cholesky(wfl_lapack *l, int64_t n, void *a)
{
    potrf *factor;
    find(l, POTRF, &factor);
    int64_t info = 0;
    fenv_t floats;
    wfl_floats_begin(&floats);
    factor("U", &n, a, &n, &info, 1);
    wfl_floats_end(&floats);
    return said(info);
}

/* The workspace of the first call: what a query with lengths of -1 gives. Each routine is called through one function,
 * with the memory of `work` and these lengths. */
typedef struct memory {
    void *work, *rwork;
    int64_t *iwork, lwork, lrwork, liwork;
} memory;

/* Allocates memory for what the query wrote, at least `integers` and `reals`. */
static bool allocate_queried(wfl_lapack *l, const memory *q, int64_t integers, int64_t reals)
{
    l->lwork[0] = queried(l, q->work);
    l->lwork[1] = most(integers, (int32_t)*q->iwork);
    l->lwork[2] = is_complex(l) ? most(reals, queried(l, q->rwork)) : 1;
    if (l->lwork[0] > INT32_MAX) {
        wfl_array_fail(l->ctx, WF_ERR_UNSUPPORTED, "%s: LAPACK would need %lld elements to work in, more than 2^31",
                       l->function, (long long)l->lwork[0]);
        return false;
    }
    return allocate(l, 0, l->lwork[0], l->size) && allocate(l, 1, l->lwork[1], sizeof(int64_t)) &&
           allocate(l, 2, l->lwork[2], real_size(l));
}

static memory memory_of(const wfl_lapack *l)
{
    return (memory){ l->work[0], l->work[2], l->work[1], l->lwork[0], l->lwork[2], l->lwork[1] };
}

/* Memory of a query, whose results are numbers. */
typedef struct query {
    double work[2], rwork[2];
    int64_t iwork[2];
} query;

static memory query_of(query *q)
{
    *q = (query){ .iwork = { 0 } };
    return (memory){ q->work, q->rwork, q->iwork, -1, -1, -1 };
}

static int eigh(const wfl_lapack *l, int64_t n, const char *job, void *a, void *w, memory m)
{
    int64_t info = 0;
    fenv_t floats;
    wfl_floats_begin(&floats);
    if (is_complex(l)) {
        heevd *routine;
        find(l, EIGH, &routine);
        routine(job, "U", &n, a, &n, w, m.work, &m.lwork, m.rwork, &m.lrwork, m.iwork, &m.liwork, &info, 1, 1);
    } else {
        syevd *routine;
        find(l, EIGH, &routine);
        routine(job, "U", &n, a, &n, w, m.work, &m.lwork, m.iwork, &m.liwork, &info, 1, 1);
    }
    wfl_floats_end(&floats);
    return said(info);
}

int wfl_lapack_eigh(wfl_lapack *l, int64_t n, bool vectors, void *a, void *values)
{
    const char *job = vectors ? "V" : "N";
    if (!l->memory[0]) {
        query q;
        memory m = query_of(&q);
        eigh(l, n, job, a, values, m);
        if (!allocate_queried(l, &m, 1, 1))
            return WFL_LAPACK_FAILED;
    }
    return eigh(l, n, job, a, values, memory_of(l));
}

/* m and n of the matrix by columns, which is n x m by rows. */
static int svd(const wfl_lapack *l, int64_t m, int64_t n, void *a, void *s, void *u, void *vt, memory w)
{
    const char *job = u ? "S" : "N";
    int64_t info = 0, few = least_of(m, n);
    fenv_t floats;
    wfl_floats_begin(&floats);
    if (is_complex(l)) {
        gesdd_complex *routine;
        find(l, GESDD, &routine);
        routine(job, &m, &n, a, &m, s, u, &m, vt, &few, w.work, &w.lwork, w.rwork, w.iwork, &info, 1);
    } else {
        gesdd *routine;
        find(l, GESDD, &routine);
        routine(job, &m, &n, a, &m, s, u, &m, vt, &few, w.work, &w.lwork, w.iwork, &info, 1);
    }
    wfl_floats_end(&floats);
    return said(info);
}

int wfl_lapack_svd(wfl_lapack *l, int64_t m, int64_t n, void *a, void *s, void *u, void *vh)
{
    if (!l->memory[0]) {
        query q;
        memory w = query_of(&q);
        int64_t few = least_of(m, n), many = most(m, n);
        svd(l, n, m, a, s, vh, u, w);
        if (!allocate_queried(l, &w, 8 * few, u ? few * most(5 * few + 7, 2 * many + 2 * few + 1) : 7 * few))
            return WFL_LAPACK_FAILED;
    }
    return svd(l, n, m, a, s, vh, u, memory_of(l));
}

static int lstsq(const wfl_lapack *l, int64_t m, int64_t n, int64_t k, const void *least, void *at, void *b, void *s,
                 memory w)
{
    int64_t info = 0, rank = 0, ldb = most(m, n);
    fenv_t floats;
    wfl_floats_begin(&floats);
    if (is_complex(l)) {
        gelsd_complex *routine;
        find(l, GELSD, &routine);
        routine(&m, &n, &k, at, &m, b, &ldb, s, least, &rank, w.work, &w.lwork, w.rwork, w.iwork, &info);
    } else {
        gelsd *routine;
        find(l, GELSD, &routine);
        routine(&m, &n, &k, at, &m, b, &ldb, s, least, &rank, w.work, &w.lwork, w.iwork, &info);
    }
    wfl_floats_end(&floats);
    return said(info);
}

int wfl_lapack_lstsq(wfl_lapack *l, int64_t m, int64_t n, int64_t k, double least, void *at, void *b)
{
    enum { LEAF = 25 }; /* the size of LAPACK's smallest problems of divide and conquer */
    float narrow = (float)least;
    const void *limit = l->kind % 2 ? (const void *)&least : &narrow;
    int64_t few = least_of(m, n);
    if (!l->memory[0]) {
        query q;
        memory w = query_of(&q);
        int64_t levels = 1, side = most((LEAF + 1) * (LEAF + 1), n * (1 + k) + 2 * k);
        for (int64_t part = few / (LEAF + 1); part; part /= 2)
            ++levels;
        lstsq(l, m, n, k, limit, at, b, &(double[2]){ 0 }, w);
        if (!allocate_queried(l, &w, few * (3 * levels + 11),
                              10 * n + 2 * n * LEAF + 8 * n * levels + 3 * LEAF * k + side) ||
            !allocate(l, 3, few, real_size(l)))
            return WFL_LAPACK_FAILED;
    }
    return lstsq(l, m, n, k, limit, at, b, l->work[3], memory_of(l));
}

int wfl_lapack_qr(wfl_lapack *l, int64_t m, int64_t n, int64_t k, void *at, void *q, void *r)
{
    const int64_t few = least_of(m, n);
    geqrf *factor;
    orgqr *columns;
    find(l, GEQRF, &factor);
    find(l, ORGQR, &columns);
    int64_t info = 0;
    fenv_t floats;
    wfl_floats_begin(&floats);
    if (!l->memory[0]) {
        double of_factor[2] = { 0 }, of_columns[2] = { 0 };
        const int64_t ask = -1;
        factor(&m, &n, at, &m, of_factor, of_factor, &ask, &info);
        columns(&m, &k, &few, q, &m, of_columns, of_columns, &ask, &info);
        l->lwork[0] = most(most(queried(l, of_factor), queried(l, of_columns)), most(n, k));
        if (!allocate(l, 0, l->lwork[0], l->size) || !allocate(l, 3, few, l->size)) {
            wfl_floats_end(&floats);
            return WFL_LAPACK_FAILED;
        }
    }
    factor(&m, &n, at, &m, l->work[3], l->work[0], &l->lwork[0], &info);
    memset(r, 0, (size_t)(k * n) * l->size);
    for (int64_t j = 0; j < n && !said(info); ++j)
        for (int64_t i = 0; i <= j && i < few; ++i)
            memcpy((char *)r + (size_t)(i * n + j) * l->size, (char *)at + (size_t)(j * m + i) * l->size, l->size);
    if (!said(info)) {
        memcpy(q, at, (size_t)(few * m) * l->size);
        columns(&m, &k, &few, q, &m, l->work[3], l->work[0], &l->lwork[0], &info);
    }
    wfl_floats_end(&floats);
    return said(info);
}
