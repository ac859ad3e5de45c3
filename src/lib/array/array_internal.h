/* array_internal.h - what the array functions share. They stand on the public headers only. */
#ifndef WEFT_ARRAY_INTERNAL_H
#define WEFT_ARRAY_INTERNAL_H
#include "weft/functions.h"

#if defined(__GNUC__)
#define ARRAY_PRINTF(text, args) __attribute__((format(printf, text, args)))
#else
#define ARRAY_PRINTF(text, args)
#endif

/* A recording of the library's, named after the public function (NULL: unknown): messages name no line of its source. */
#define wfl_begin(ctx, ...) \
    wf_begin_with(ctx, &(wf_space){ .name = WF__FIRST(__VA_ARGS__), WF__REST(__VA_ARGS__, .size = sizeof(wf_space)) })
/* Sets the context's error and returns `status`. */
wf_status wfl_array_fail(wf_context *ctx, wf_status status, const char *format, ...) ARRAY_PRINTF(3, 4);

/* The status of what has failed: the context's, or, when not even that could be kept, WF_ERR_MEMORY. */
wf_status wfl_array_error(const wf_context *ctx);

/* Not a formal or scratch, for what looks at shapes before it records; else, with WF_ERR_ARG, false. True for NULL. */
bool wfl_array_known(const wf_array *array, const char *function);

static inline bool wfl_is_complex_dtype(wf_dtype t) { return t >= WF_C32; }
static inline bool wfl_is_float_dtype(wf_dtype t) { return t >= WF_F16 && t <= WF_F64; }
/* What means are of, and the dtype of the parts of complex numbers (of others: itself). */
wf_dtype wfl_mean_dtype(wf_dtype t);
wf_dtype wfl_part_dtype(wf_dtype t);

bool wfl_same_shape(const wf_shape *a, const wf_shape *b);
int64_t wfl_axes_count(const wf_shape *shape, wf_axes axes); /* elements along these axes */
/* Takes WF_DROP_AXES and what is beyond the rank out of *axes and sets *drop; false, with an error: a bad mask. */
bool wfl_axes_of(wf_context *ctx, const wf_shape *shape, wf_axes *axes, bool *drop, const char *function);
bool wfl_axis_of(wf_context *ctx, const wf_shape *shape, int *axis, const char *function); /* negative from the end */
/* Consumes `array` and returns it without these axes of extent 1. */
wf_array *wfl_without_axes(wf_array *array, wf_axes axes);
static inline bool wfl_on_gpu(const wf_array *array) { return wf_array_device(array) >= WF_GPU(0); }
/* order.c: false, with an error, for complex numbers, formals and scratch; false for NULL. */
bool wfl_array_ordered(const wf_array *array, const char *function);
/* A new array of the same context on the same device, where results belong; or one of zeros. NULL: error. */
wf_array *wfl_array_beside(const wf_array *array, wf_dtype dtype, const wf_shape *shape);
wf_array *wfl_array_zeros_beside(const wf_array *array, wf_dtype dtype, const wf_shape *shape);
/* On one device, for what does not begin with a recording of both; else, with WF_ERR_DEVICE, false. */
bool wfl_array_together(const wf_array *a, const wf_array *b, const char *function);
/* No sequence with this is frozen, unless the array is on a GPU, where it is done by launches. */
void wfl_array_by_host(const wf_array *array, const char *function);
/* Scratch memory of the processor, of n * size bytes in *data, which the array owns; so it counts and fails like all
 * memory of the context. NULL, with an error: there is not so much. */
wf_array *wfl_array_scratch(wf_context *ctx, int64_t n, size_t size, void **data);
/* Consumes the graph; returns `out`, which it keeps, or releases it and returns NULL. */
wf_array *wfl_array_run(wf_graph *graph, wf_array *out);
#endif
