/* operator.h - operators as hooks, for functions that take an operator, and C code that cannot be traced. */
#ifndef WF_OPERATOR_H
#define WF_OPERATOR_H
#include "weft/record.h"
#ifdef __cplusplus
extern "C" {
#endif

/* ---- operators as hooks: a thin layer over recording, for functions that take an operator ---------------------- */
struct wf_site { /* filled by the library, read by the hook */
    wf_graph *graph;
    void *user;
    const wf_val *index; /* [rank], with an index space; in init, deinit and post only those of kept axes are valid */
    const wf_var *in, *out, *reduced; /* in: of call; out: of call or, in a reduction, of post */
    const wf_var *other;              /* in join: the partial results to merge into `reduced` */
    int32_t rank, n_in, n_out, n_reduced;
};
typedef struct wf_reduced_spec {
    wf_dtype dtype;
    wf_join join;
    double initial;
} wf_reduced_spec;
typedef struct wf_op {
    size_t size;
    wf_hook *init, *deinit; /* once a block, before and after */
    wf_hook *call;
    wf_hook *join; /* for WF_JOIN_CUSTOM; NULL: call, with the other partial results in place of as many inputs */
    wf_hook *post; /* NULL: reduced[i] is converted to out[i]; of those beyond the outputs nothing is left. With
                      outputs or without: it may say wf_out itself, of arrays that `user` knows */
    void *user;
    const wf_reduced_spec *reduced;
    int32_t n_reduced;
    /* A contract: inputs are only read; outputs are set on every path and not read before. What breaks it is
     * WF_ERR_CONTRACT and nothing runs. Without it an input that is set is written, and an output begins with what the
     * array holds. Loads and stores are as wide either way. */
    bool vectorize;
} wf_op;
/* Records one operator and runs it: over an index space (`space` has a shape), over the elements of the operands, which
 * broadcast to the outputs, or reducing (`space` has reduce; `out` are then the results). Hooks are called once each,
 * during this call, to record. Up to 32 inputs, outputs and reduced values. In C: wf_apply(ctx, WF_ARRAYS(a),
 * WF_ARRAYS(b), WF_OPERATOR(.call = f), .shape = ...). */
WF_API wf_status wf_apply_with(wf_context *ctx, wf_arrays in, wf_arrays out, const wf_op *op, const wf_space *space);

/* ---- host operators -----------------------------------------------------------------------------------------
 * Code that cannot be traced, called with runs of elements, from several threads at once. */
typedef struct wf_chunk { /* filled by the library; later versions may append members */
    int64_t n;            /* elements of each array, contiguous and aligned for their dtype */
    int32_t n_in, n_out;
    const void *const *in;
    void *const *out; /* hold what the arrays hold; every element left is written back */
    int64_t first;    /* linear index, in C order of the outputs' shape, of the first element */
    int32_t thread;   /* below wf_get_threads, and nobody else's at the moment: an index for private memory */
} wf_chunk;
/* Calls fn(chunk, user) until every element of the outputs (without outputs: of the inputs' common shape) was in one
 * chunk. Outputs have one shape, to which inputs broadcast; any dtypes and strides; up to 32 arrays. An output may be
 * an input too; inputs that overlap it otherwise are read as they were before. Synchronous. Contiguous arrays are not
 * copied. The number of elements in a chunk depends on the number of threads. Arrays of GPUs take part as copies on the
 * processor, all of them downloaded before and outputs uploaded after it; on failure these stay as they were. */
WF_API wf_status wf_host_apply(wf_context *ctx, wf_arrays in, wf_arrays out,
                               void (*fn)(const wf_chunk *chunk, void *user), void *user);

#ifdef __cplusplus
}
#else
#if defined(__GNUC__)
#pragma GCC system_header /* operands elide braces on purpose */
#endif
#define wf_apply(ctx, in, out, ...)                     \
    wf_apply_with(ctx, in, out, WF__FIRST(__VA_ARGS__), \
                  &(wf_space){ WF__REST(__VA_ARGS__, .size = sizeof(wf_space), .here = WF_HERE) })
#define WF_OPERATOR(...) (&(wf_op){ .size = sizeof(wf_op), __VA_ARGS__ })
#endif
#endif
