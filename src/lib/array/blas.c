/* blas.c - matrix products by a BLAS. A BLAS stores matrices by columns, so matrices by rows are multiplied as the
 * transposed product, b^T a^T.
 */
#include "blas.h"
#include "../floats.h"
#include "fortran.h"
#include <dlfcn.h>
#include <string.h>

typedef void gemm(const char *trans_a, const char *trans_b, const int64_t *m, const int64_t *n, const int64_t *k,
                  const void *alpha, const void *a, const int64_t *lda, const void *b, const int64_t *ldb,
                  const void *beta, void *c, const int64_t *ldc, size_t len_a, size_t len_b);

enum { KINDS = 4 };
static const wf_dtype dtypes[KINDS] = { WF_F32, WF_F64, WF_C64, WF_C128 };

/* True for a library that is known to be faster than the kernel of product.c. A library named libblas counts only if it
 * is one of these: it may be the slow reference. */
static bool is_fast(void *handle, const char *name)
{
    return strncmp(name, "libblas", 7) != 0 || dlsym(handle, "openblas_get_config") ||
           dlsym(handle, "MKL_Get_Version") || dlsym(handle, "bli_info_get_version_str");
}

static const char *const usual[] = { "libopenblas.so.0", "libmkl_rt.so.2", "libblis.so.4", "libblas.so.3", NULL };
static const char *const routines[] = { "sgemm", "dgemm", "cgemm", "zgemm", NULL };
static wfl_fortran library = {
    .variable = "WEFT_BLAS", .usual = usual, .usable = is_fast, .routines = routines, .lock = PTHREAD_MUTEX_INITIALIZER
};

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
        wfl_on_gpu(a) || wfl_on_gpu(b) || wf_array_state(a) != WF_STATE_READY || wf_array_state(b) != WF_STATE_READY)
        return false;
    char why[WFL_FORTRAN_TEXT];
    void *functions[WFL_FORTRAN_MOST];
    bool named, found = wfl_fortran_find(&library, functions, why, &named);
    *result = NULL;
    if (!found && named)
        wfl_array_fail(wf_array_context(a), WF_ERR_UNSUPPORTED, "wf_array_matmul: WEFT_BLAS names no BLAS: %.400s",
                       why);
    if (!found)
        return named;
    gemm *multiply;
    memcpy(&multiply, &functions[kind], sizeof multiply);
    wf_freeze_refuse(wf_array_context(a), "wf_array_matmul",
                     "a BLAS computes it, which is no launch; with WEFT_BLAS=none launches do");
    operand x, y = { .array = NULL };
    if (operand_of(a, &x) && operand_of(b, &y))
        *result = by_blas(multiply, &x, &y, out, dtype);
    wf_release(x.array);
    wf_release(y.array);
    return true;
}
