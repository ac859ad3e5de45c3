/* operator.h - operators as hooks, for functions that take an operator, and C code that cannot be traced.
 * Reference: docs/reference/operator.md */
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
    /* Hook after a reduction; NULL: reduced[i] is converted to out[i], and others are dropped.
     * May call wf_out itself, for arrays that `user` knows. */
    wf_hook *post;
    void *user;
    const wf_reduced_spec *reduced;
    int32_t n_reduced;
    /* A contract: inputs are only read; outputs are set on every path and not read before. Else WF_ERR_CONTRACT.
     * Without it an input that is set is written, and an output begins with the contents of the array. */
    bool vectorize;
} wf_op;
/* Records one operator and runs it: over an index space, over elements of operands that broadcast, or reducing.
 * At most 32 inputs, outputs and reduced values. Hooks are called once each, during this call.
 * Example: wf_apply(ctx, WF_ARRAYS(a), WF_ARRAYS(b), WF_OPERATOR(.call = f)); */
WF_API wf_status wf_apply_with(wf_context *ctx, wf_arrays in, wf_arrays out, const wf_op *op, const wf_space *space);

/* ---- host operators ---------------------------------------------------------------------------------------------
 * Code that cannot be traced, called with runs of elements, by several threads at once. */
typedef struct wf_chunk { /* filled by the library; later versions may append members */
    int64_t n;            /* elements of each array, contiguous and aligned for their dtype */
    int32_t n_in, n_out;
    const void *const *in;
    void *const *out; /* at first the contents of the arrays; on return every element is written back */
    int64_t first;    /* linear index, in C order of the outputs' shape, of the first element */
    int32_t thread;   /* number below wf_get_threads that no other call has meanwhile: an index for private memory */
} wf_chunk;
/* Calls fn(chunk, user) until every element of the outputs (else of the inputs' common shape) was in one chunk.
 * Shapes: outputs have one shape, to which inputs broadcast; at most 32 arrays of any dtypes and strides.
 * Aliasing: an output may be an input; inputs that overlap it otherwise are read as they were before.
 * Errors: WF_ERR_ARG and WF_ERR_SHAPE: fn was not called. On failure arrays of GPUs stay as they were.
 * Waits: synchronous.
 * Cost: contiguous arrays are not copied; arrays of GPUs are downloaded, and outputs uploaded. */
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
