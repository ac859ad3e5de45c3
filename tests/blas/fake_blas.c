/* fake_blas.c - a BLAS of plain loops that counts its calls, as a library for test_lib_blas.c to name. */
#include <complex.h>

int fake_blas_calls;

#define GEMM(name, type)                                                                                               \
    void name(const char *ta, const char *tb, const int *m, const int *n, const int *k, const type *alpha,             \
              const type *a, const int *lda, const type *b, const int *ldb, const type *beta, type *c,                 \
              const int *ldc);                                                                                         \
    void name(const char *ta, const char *tb, const int *m, const int *n, const int *k, const type *alpha,             \
              const type *a, const int *lda, const type *b, const int *ldb, const type *beta, type *c, const int *ldc) \
    {                                                                                                                  \
        ++fake_blas_calls;                                                                                             \
        for (long j = 0; j < *n; ++j)                                                                                  \
            for (long i = 0; i < *m; ++i) {                                                                            \
                type sum = 0;                                                                                          \
                for (long l = 0; l < *k; ++l)                                                                          \
                    sum += (*ta == 'N' ? a[i + l * *lda] : a[l + i * *lda]) *                                          \
                           (*tb == 'N' ? b[l + j * *ldb] : b[j + l * *ldb]);                                           \
                c[i + j * *ldc] = *alpha * sum + (*beta == 0 ? 0 : *beta * c[i + j * *ldc]);                           \
            }                                                                                                          \
    }

GEMM(sgemm_, float)
GEMM(dgemm_, double)
GEMM(cgemm_, float complex)
GEMM(zgemm_, double complex)
