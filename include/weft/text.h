/* text.h - operators as text.
 * Reference: docs/reference/text.md */
#ifndef WF_TEXT_H
#define WF_TEXT_H
#include "weft/record.h"
#ifdef __cplusplus
extern "C" {
#endif

/* ---- operator text ----------------------------------------------------------------------------------------------
 * Statements `name = expression`, separated by ';' or new lines; docs/text.md describes the language.
 * Names of `args` are arrays, values or numbers. Assigning to an array's name writes it; other names are temporaries.
 * Typed locals, blocks and writes by index make an index space: of the arrays that the text assigns, else reads.
 * Errors: WF_ERR_SYNTAX, or the operation's own, with line, column and a caret under the place. */
/* Records one expression, in any recording, and returns its value. */
WF_API wf_val wf_expr_n(wf_graph *graph, const char *text, wf_args args);
/* Begins the recording that the text needs, empty. `options` may be NULL; a shape in it is used as it is.
 * Errors: NULL only without memory; a wrong text fails when it is recorded. */
WF_API wf_graph *wf_text_begin(wf_context *ctx, const char *text, wf_args args, const wf_space *options);
/* Records statements into an array graph or, at every point, into an index space. */
WF_API void wf_text_record_n(wf_graph *graph, const char *text, wf_args args);
/* Records statements and runs them, in several recordings where a later statement needs all elements of earlier ones.
 * Example: wf_text(ctx, "out = a - mean(a)", a, out); */
WF_API wf_status wf_text_n(wf_context *ctx, const char *text, wf_args args);
/* Records and runs, on `device` (0 = that of the arrays, else the context's default), and makes arrays:
 * out[i] becomes a new array there that holds the value assigned to want[i].
 * Owns: the caller releases the arrays.
 * Errors: all are NULL. */
WF_API wf_status wf_text_create(wf_context *ctx, const char *text, wf_args args, wf_device device,
                                const char *const *want, size_t n, wf_array **out);
/* Records as wf_text_create and prepares the recording (kernel.h); nothing runs.
 * out[i] becomes a new array with undefined contents, which launches write.
 * Owns: the caller releases the arrays and frees the kernel.
 * Errors: NULL, and all arrays are NULL. */
WF_API wf_kernel *wf_text_compile(wf_context *ctx, const char *text, wf_args args, wf_device device,
                                  const char *const *want, size_t n, wf_array **out);
/* As wf_text_compile, of one of the recordings in which wf_text_create runs the text, counted from 0. Nothing runs:
 * arrays of earlier recordings have undefined contents. `out` is filled with the last recording, else NULL.
 * Errors: NULL; past the last recording NULL without an error. */
WF_API wf_kernel *wf_text_compile_part(wf_context *ctx, const char *text, wf_args args, wf_device device,
                                       const char *const *want, size_t n, size_t part, wf_array **out);
/* As `i` of wf_text_target: the last statement. */
#define WF_LAST_TARGET ((size_t)-1)
/* Copies the name that statement `i` assigns to buf, cut to cap; false past the last one or on a syntax error.
 * Cost: parses the text. */
WF_API bool wf_text_target(wf_context *ctx, const char *text, size_t i, char *buf, size_t cap);
/* True if a statement assigns to that name, so that it may be a result; false also on a syntax error. */
WF_API bool wf_text_assigns(wf_context *ctx, const char *text, const char *name);
/* Sets *of and *step: neighbours along `axis` of `result` come from elements of the argument `array` that lie *step apart
 * along its axis *of. "out = a[2*y, 3*x]" has -1 and 3 for axis -1. Axes count from the end, from -1.
 * False, with both untouched, if the text does not show one such distance. Cost: parses the text. */
WF_API bool wf_text_step(wf_context *ctx, const char *text, wf_args args, const char *result, const char *array,
                         int axis, int *of, double *step);

#ifdef __cplusplus
}
#else
#if defined(__GNUC__)
#pragma GCC system_header /* operands elide braces on purpose */
#endif
#define wf_expr(g, text, args) wf_expr_n(g, text, args)
#define wf_text_record(g, text, ...) wf_text_record_n(g, text, WF_NAMED(__VA_ARGS__))
#define wf_text(ctx, text, ...) wf_text_n(ctx, text, WF_NAMED(__VA_ARGS__))
#endif
#endif
