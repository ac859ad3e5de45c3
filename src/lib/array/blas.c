/* blas.c - matrix products by a BLAS, through the Fortran interface that each BLAS has. A BLAS stores matrices by
 * columns, so matrices by rows are multiplied as the transposed product, b^T a^T.
 *
 * Integers are passed by address, as 64 bits. A library with 32-bit integers reads the lower half, which comes first on
 * little-endian machines. Other machines use no BLAS.
 */
#include "blas.h"
#include "../floats.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef void gemm(const char *trans_a, const char *trans_b, const int64_t *m, const int64_t *n, const int64_t *k,
                  const void *alpha, const void *a, const int64_t *lda, const void *b, const int64_t *ldb,
                  const void *beta, void *c, const int64_t *ldc, size_t len_a, size_t len_b);

enum { KINDS = 4, NAME_CAP = 1024 };
static const wf_dtype dtypes[KINDS] = { WF_F32, WF_F64, WF_C64, WF_C128 };

typedef struct blas {
    char name[NAME_CAP]; /* the value of WEFT_BLAS when the library was opened */
    bool tried;
    gemm *multiply[KINDS]; /* NULL: the library has none */
    char why[NAME_CAP];    /* why the library that WEFT_BLAS names cannot be used; else empty */
} blas;
static blas the_blas;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool find_functions(blas *b, void *handle)
{
    static const char *const around[][2] = {
        { "", "gemm_" }, { "", "gemm_64_" }, { "scipy_", "gemm_" }, { "scipy_", "gemm_64_" }
    };
    for (size_t p = 0; p < sizeof around / sizeof *around; ++p) {
        int found = 0;
        for (int kind = 0; kind < KINDS; ++kind) {
            char name[32];
            snprintf(name, sizeof name, "%s%c%s", around[p][0], "sdcz"[kind], around[p][1]);
            void *symbol = dlsym(handle, name);
            memcpy(&b->multiply[kind], &symbol, sizeof symbol);
            found += symbol != NULL;
        }
        if (found == KINDS)
            return true;
    }
    memset(b->multiply, 0, sizeof b->multiply);
    return false;
}

/* Opens a library that is known to be faster than the kernel of product.c. A library named libblas counts only if it is
 * one of these: it may be the slow reference. */
static void open_usual(blas *b)
{
    static const char *const names[] = { "libopenblas.so.0", "libmkl_rt.so.2", "libblis.so.4", "libblas.so.3" };
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        void *handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        bool any = i < sizeof names / sizeof *names - 1;
        bool fast = handle && (any || dlsym(handle, "openblas_get_config") || dlsym(handle, "MKL_Get_Version") ||
                               dlsym(handle, "bli_info_get_version_str"));
        if (fast && find_functions(b, handle))
            return;
        if (handle)
            dlclose(handle);
    }
}

static void open_named(blas *b)
{
    void *handle = dlopen(b->name, RTLD_NOW | RTLD_LOCAL);
    const char *error = handle ? NULL : dlerror();
    if (!handle)
        snprintf(b->why, sizeof b->why, "%s", error ? error : "it cannot be opened");
    else if (!find_functions(b, handle)) {
        snprintf(b->why, sizeof b->why, "it has no sgemm_, dgemm_, cgemm_, zgemm_");
        dlclose(handle);
    }
}

/* Returns the value of the variable; "" if it is unset, or in a set-user-id program, whose caller must not choose the
 * libraries that it loads. */
static const char *environment(const char *name)
{
#if defined(__GLIBC__)
    const char *value = secure_getenv(name);
#else
    const char *value = getuid() == geteuid() && getgid() == getegid() ? getenv(name) : NULL;
#endif
    return value ? value : "";
}

/* Returns the function, or NULL and why there is none. A new value of WEFT_BLAS opens another library; earlier ones
 * stay open. */
static gemm *multiply_of(int kind, char *name, char *why)
{
    const char *wanted = environment("WEFT_BLAS");
    pthread_mutex_lock(&lock);
    blas *b = &the_blas;
    if (!b->tried || strncmp(b->name, wanted, sizeof b->name - 1) != 0) {
        *b = (blas){ .tried = true };
        snprintf(b->name, sizeof b->name, "%s", wanted);
        if (!*wanted)
            open_usual(b);
        else if (strcmp(wanted, "none") != 0)
            open_named(b);
    }
    gemm *found = b->multiply[kind];
    memcpy(name, b->name, NAME_CAP);
    memcpy(why, b->why, NAME_CAP);
    pthread_mutex_unlock(&lock);
    return found;
}

/* A matrix as the BLAS takes it. */
typedef struct operand {
    wf_array *array;
    const char *data;
    char trans; /* 'N': by rows, which are the columns of the transposed matrix */
    int64_t ld, stride[WF_MAX_RANK];
    wf_shape shape;
} operand;

static bool operand_of(const wf_array *array, operand *o)
{
    o->array = wf_retain(array);
    for (int copied = 0; o->array; ++copied) {
        void *data;
        if (wf_map(o->array, &data, o->stride) != WF_OK)
            break;
        o->data = data;
        o->shape = wf_array_shape(o->array);
        int last = o->shape.rank - 1;
        int64_t rows = o->shape.dim[last - 1], columns = o->shape.dim[last];
        bool by_rows = o->stride[last] == 1 && o->stride[last - 1] >= columns;
        bool by_columns = o->stride[last - 1] == 1 && o->stride[last] >= rows;
        o->trans = by_rows ? 'N' : 'T';
        o->ld = by_rows ? o->stride[last - 1] : o->stride[last];
        if ((by_rows || by_columns) && o->ld <= INT32_MAX)
            return true;
        wf_array *copy = copied ? NULL : wf_array_copy(o->array);
        wf_release(o->array);
        o->array = copy;
    }
    wf_release(o->array);
    o->array = NULL;
    return false;
}

/* Returns the address of matrix `i` of the batch; axes of extent 1 are broadcast. */
static const char *matrix_at(const operand *o, const wf_shape *out, int64_t i, size_t size)
{
    int64_t at = 0;
    for (int d = out->rank - 3, own = o->shape.rank - 3; d >= 0; --d, --own) {
        at += own >= 0 && o->shape.dim[own] > 1 ? i % out->dim[d] * o->stride[own] : 0;
        i /= out->dim[d];
    }
    return o->data + at * (int64_t)size;
}

static wf_array *by_blas(gemm *multiply, const operand *a, const operand *b, const wf_shape *out, wf_dtype dtype)
{
    static const double one[2] = { 1, 0 }, zero[2] = { 0, 0 };
    static const float short_one[2] = { 1, 0 }, short_zero[2] = { 0, 0 };
    bool wide = dtype == WF_F64 || dtype == WF_C128;
    wf_array *c = wfl_array_beside(a->array, dtype, out);
    void *data;
    if (!c || wf_map(c, &data, NULL) != WF_OK) {
        wf_release(c);
        return NULL;
    }
    int64_t m = out->dim[out->rank - 2], n = out->dim[out->rank - 1], k = a->shape.dim[a->shape.rank - 1], batch = 1;
    for (int d = 0; d < out->rank - 2; ++d)
        batch *= out->dim[d];
    size_t size = wf_dtype_size(dtype);
    fenv_t floats;
    wfl_floats_begin(&floats);
    for (int64_t i = 0; i < batch; ++i)
        multiply(&b->trans, &a->trans, &n, &m, &k, wide ? (const void *)one : short_one, matrix_at(b, out, i, size),
                 &b->ld, matrix_at(a, out, i, size), &a->ld, wide ? (const void *)zero : short_zero,
                 (char *)data + (size_t)(i * m * n) * size, &n, 1, 1);
    wfl_floats_end(&floats);
    return c;
}

/* True if a BLAS is faster than copying into blocks and one recorded loop. */
static bool worth_it(int64_t m, int64_t n, int64_t k, bool batch)
{
    /* MANY_WORK: for batches, which product.c computes in parallel */
    enum { LEAST = 16, WORK = 1 << 15, MANY_WORK = 1 << 18 };
    return m >= LEAST && n >= LEAST && k >= LEAST && m <= INT32_MAX && n <= INT32_MAX && k <= INT32_MAX &&
           (double)m * (double)n * (double)k >= (batch ? MANY_WORK : WORK);
}

bool wfl_blas_product(const wf_array *a, const wf_array *b, const wf_shape *out, wf_dtype dtype, wf_array **result)
{
    wf_shape shape = wf_array_shape(a);
    int kind = 0;
    while (kind < KINDS && dtypes[kind] != dtype)
        ++kind;
    if (kind == KINDS || wf_array_dtype(a) != dtype || wf_array_dtype(b) != dtype ||
        !worth_it(out->dim[out->rank - 2], out->dim[out->rank - 1], shape.dim[shape.rank - 1],
                  wfl_axes_count(out, WF_ALL_AXES) > out->dim[out->rank - 2] * out->dim[out->rank - 1]) ||
        wfl_on_gpu(a) || wfl_on_gpu(b) || wf_array_state(a) != WF_STATE_READY || wf_array_state(b) != WF_STATE_READY ||
        *(const char *)&(int){ 1 } != 1)
        return false;
    char name[NAME_CAP], why[NAME_CAP];
    gemm *multiply = multiply_of(kind, name, why);
    *result = NULL;
    if (*why)
        wfl_array_fail(wf_array_context(a), WF_ERR_UNSUPPORTED, "wf_array_matmul: WEFT_BLAS is %.200s: %.200s", name,
                       why);
    if (!multiply)
        return *why;
    wf_freeze_refuse(wf_array_context(a), "wf_array_matmul",
                     "a BLAS computes it, which is no launch; with WEFT_BLAS=none launches do");
    operand x, y = { .array = NULL };
    if (operand_of(a, &x) && operand_of(b, &y))
        *result = by_blas(multiply, &x, &y, out, dtype);
    wf_release(x.array);
    wf_release(y.array);
    return true;
}
