/* array_internal.h - what the array functions share. They stand on the public headers only. */
#ifndef WEFT_ARRAY_INTERNAL_H
#define WEFT_ARRAY_INTERNAL_H
#include "weft/functions.h"

#if defined(__GNUC__)
#define ARRAY_PRINTF(text, args) __attribute__((format(printf, text, args)))
#else
#define ARRAY_PRINTF(text, args)
#endif

/* Begins a recording of the library's own. Messages name the public function (NULL: none) and no line of this source.
 */
#define wfl_begin(ctx, ...) \
    wf_begin_with(ctx, &(wf_space){ .name = WF__FIRST(__VA_ARGS__), WF__REST(__VA_ARGS__, .size = sizeof(wf_space)) })
/* Sets the context's error and returns `status`. */
wf_status wfl_array_fail(wf_context *ctx, wf_status status, const char *format, ...) ARRAY_PRINTF(3, 4);

/* Returns the status of a failure: the context's, or WF_ERR_MEMORY if the context has kept none. */
wf_status wfl_array_error(const wf_context *ctx);

/* False, with WF_ERR_ARG, for a formal or scratch; functions that look at shapes before they record call this. True for
 * NULL. */
bool wfl_array_known(const wf_array *array, const char *function);
/* False, with WF_ERR_ARG, for a distributed array: functions that need all elements on each rank call this. True for NULL. */
bool wfl_array_whole(const wf_array *array, const char *function);
/* False, with WF_ERR_UNSUPPORTED, if ranks divide one of the last `n` axes of an array, along which each rank needs all
 * elements. */
bool wfl_last_axes_whole(const wf_array *array, int n, const char *function);
/* True unless a list with entries is NULL; false after poisoning. */
bool wfl_is_list(wf_graph *graph, wf_vals list, const char *function);
/* False, with WF_ERR_ARG, for a number that is no border mode. */
bool wfl_border_known(wf_context *ctx, wf_border border, const char *function);

static inline bool wfl_is_complex_dtype(wf_dtype t) { return wf_dtype_kind(t) == WF_KIND_COMPLEX; }
static inline bool wfl_is_float_dtype(wf_dtype t) { return wf_dtype_kind(t) == WF_KIND_FLOAT; }
/* Returns the dtype of means: f64 for integers and bools, else t. */
wf_dtype wfl_mean_dtype(wf_dtype t);
/* Returns the dtype in which elements of dtype t are computed with: f32 for f16 and bf16, c64 for c32, else t. */
wf_dtype wfl_work_dtype(wf_dtype t);

bool wfl_same_shape(const wf_shape *a, const wf_shape *b);
/* Sets *batch to what the axes before the last `keep` ones of two shapes, which may be *batch, broadcast to. False: they
 * do not. */
bool wfl_batch_broadcast(const wf_shape *a, int keep_a, const wf_shape *b, int keep_b, wf_shape *batch);
/* False, with WF_ERR_SHAPE, for arrays of two shapes, which messages call `a` and `b`. */
bool wfl_have_one_shape(const wf_array *a, const wf_array *b, const char *function);
int64_t wfl_axes_count(const wf_shape *shape, wf_axes axes); /* number of elements along these axes */
/* Removes WF_DROP_AXES and axes beyond the rank from *axes, and sets *drop. False, with an error, for a bad mask. */
bool wfl_axes_of(wf_context *ctx, const wf_shape *shape, wf_axes *axes, bool *drop, const char *function);
/* makes *axis count from the front; false, with an error: out of range */
bool wfl_axis_of(wf_context *ctx, const wf_shape *shape, int *axis, const char *function);
/* Collective: consumes a distributed array and returns an ordinary one with its elements. */
wf_array *wfl_collected(wf_array *array);
static inline bool wfl_on_gpu(const wf_array *array) { return wf_array_device(array) >= WF_GPU(0); }
/* keys.c: true if the elements have an order. False, with an error, for complex numbers, formals and scratch; false
 * for NULL. */
bool wfl_array_ordered(const wf_array *array, const char *function);
/* Ends the group of ranks of a distributed array if the context's error is WF_ERR_MEMORY: this rank cannot go on, and the
 * others would wait for it. Other errors are the same on all ranks; other arrays have no group. */
void wfl_end_group(const wf_array *array);
/* Returns a new array on the device of `array`, which is not distributed; the second one holds zeros. NULL: error. */
wf_array *wfl_array_beside(const wf_array *array, wf_dtype dtype, const wf_shape *shape);
wf_array *wfl_array_zeros_beside(const wf_array *array, wf_dtype dtype, const wf_shape *shape);
/* True if both arrays are on one device; else false, with WF_ERR_DEVICE. Functions that do not begin with a recording
 * of both call this. */
bool wfl_array_together(const wf_array *a, const wf_array *b, const char *function);
/* Refuses to be part of a frozen sequence, unless the array is on a GPU, where the function consists of launches. */
void wfl_array_by_host(const wf_array *array, const char *function);
/* Returns an array that owns n * size bytes of the processor's memory, and their address in *data; so this memory
 * counts and fails like all memory of the context. NULL, with an error: there is not so much. */
wf_array *wfl_array_scratch(wf_context *ctx, int64_t n, size_t size, void **data);
/* region.c: returns a view of the region of extents `shape` at `offset`, which lies inside of an ordinary array. */
wf_array *wfl_array_part(const wf_array *array, const wf_shape *shape, const int64_t *offset);
/* ---- rule.c ---- */
struct wf_array_rule;
/* Calls a rule whose input is x and whose output is y, for functions on a tape. The rule has these n numbers, too, which
 * its hooks get from their inputs by wfl_noted_numbers. */
wf_status wfl_run_noted(const struct wf_array_rule *rule, wf_array *y, const wf_array *x, const double *number, int n);
wf_status wfl_noted_numbers(wf_arrays in, double *number, int n);
/* ---- drop.c ---- */
/* Consumes `array` and returns it without these axes, which have extent 1: distributed if ranks divide others and not these, else
 * an ordinary array. */
wf_array *wfl_without_axes(wf_array *array, wf_axes axes);
/* ---- run.c ---- */
/* All ranks of the array learn whether one has failed. `status`: this rank's, whose message is the context's error. function:
 * NULL = messages name none. */
wf_status wfl_ranks_agree(wf_context *ctx, const char *function, const wf_array *of, wf_status status);
/* True if an exchange of messages between the array's ranks is done; else false, with an error. A rank without memory for its
 * messages has not taken part, and the others wait for it, so it ends the group. */
bool wfl_ranks_done(const wf_array *of, const char *function, wf_status status);
/* Returns a new array for what each point computes from x: on the device of x, or distributed if x is, over the grid of x if
 * it has as many axes. Collective for a distributed x. NULL: error. Results of reductions are made by wf_empty_like, which
 * gives each rank all elements if ranks divide an axis that is left with one index. */
wf_array *wfl_result_beside(const wf_array *x, wf_dtype dtype, const wf_shape *shape);
/* Runs and consumes the graph, which writes `out`. The ranks of a distributed array fail together, so that a function can
 * begin its next launch on all of them; a rank without memory for the recording ends the group. */
wf_status wfl_run_into(wf_graph *graph, const wf_array *out);
/* Returns `out`. The ranks of a distributed x call it together: if one of them gives NULL, all release what they give, and
 * return NULL with an error. */
wf_array *wfl_agreed(const wf_array *x, const char *function, wf_array *out);
/* Keeps a value that is computed from `of`, runs and consumes the graph, and returns what is kept. The ranks of a distributed
 * `of` fail together; NULL: error. */
wf_array *wfl_kept(wf_graph *graph, const wf_array *of, wf_val value);
/* Runs and consumes the graph. Returns `out`; on an error releases `out` and returns NULL. */
wf_array *wfl_array_run(wf_graph *graph, wf_array *out);
#endif
