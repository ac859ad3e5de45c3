/* best_apply.c - calls a vector function of another library on whole arrays. */
#include "kernels.h"
#include "vec.h"

#if BENCH_VEC
#define APPLY(T, V, LOAD, STORE, LANES)                                                    \
    static void apply_##T(void *f, int arity, T *out, const T *x, const T *y, int64_t n)   \
    {                                                                                      \
        V (*one)(V) = 0, (*two)(V, V) = 0;                                                 \
        __builtin_memcpy(arity == 1 ? (void *)&one : (void *)&two, &f, sizeof f);          \
        for (int64_t i = 0; i + LANES <= n; i += LANES)                                    \
            STORE(out + i, arity == 1 ? one(LOAD(x + i)) : two(LOAD(x + i), LOAD(y + i))); \
    }
APPLY(float, vf, VEC(loadu_ps), VEC(storeu_ps), VF)
APPLY(double, vd, VEC(loadu_pd), VEC(storeu_pd), VF / 2)

int best_vector_bits(void) { return BENCH_VEC; }
void best_apply(void *f, bool wide, int arity, void *out, const void *x, const void *y, int64_t n)
{
    if (wide)
        apply_double(f, arity, out, x, y, n);
    else
        apply_float(f, arity, out, x, y, n);
}
#else
int best_vector_bits(void) { return 0; }
void best_apply(void *f, bool wide, int arity, void *out, const void *x, const void *y, int64_t n)
{
    (void)f, (void)wide, (void)arity, (void)out, (void)x, (void)y, (void)n; /* never called */
}
#endif
