/* text.h - operators as text. */
#ifndef WF_TEXT_H
#define WF_TEXT_H
#include "weft/record.h"
#ifdef __cplusplus
extern "C" {
#endif

/* ---- operator text ------------------------------------------------------------------------------------------
 * Statements `name = expression`, separated by ';' or new lines, of which the last may be an expression alone, that of
 * `out`; '#' starts a comment. docs/text.md is the reference.
 * Names of `args` are arrays, values or numbers; assigning to the name of an array writes it, to that of a wf_var sets
 * it; other names are temporaries. Text with typed locals (`f32 s = 0`), blocks (if, while, for) or writes by index
 * (`out[y, x] = s`) is done at every point of an index space, the shape of the arrays that it assigns or, when it makes
 * them, of those that it reads; an array argument named "" says the shape. Errors are WF_ERR_SYNTAX (or the
 * operation's own) with the line, and a caret under the place. */
/* One expression as a value, inside any recording. */
WF_API wf_val wf_expr_n(wf_graph *graph, const char *text, wf_args args);
/* The recording that the text needs, empty: an array graph, or an index space of its shape. `options` may be NULL; a
 * shape in it is used as it is. NULL only without memory; a text that is wrong fails when it is recorded. */
WF_API wf_graph *wf_text_begin(wf_context *ctx, const char *text, wf_args args, const wf_space *options);
/* Statements, recorded into an array graph or, at every point, into an index space. */
WF_API void wf_text_record_n(wf_graph *graph, const char *text, wf_args args);
/* Records and runs. */
WF_API wf_status wf_text_n(wf_context *ctx, const char *text, wf_args args);
/* Records and runs, on `device` (0: that of the arrays, else the context's default); out[i] becomes a new array there
 * that holds the value assigned to want[i]; an argument of that name stays as it was. All NULL on error. */
WF_API wf_status wf_text_create(wf_context *ctx, const char *text, wf_args args, wf_device device,
                                const char *const *want, size_t n, wf_array **out);
/* The name assigned by statement `i`, copied to buf (cut to cap); false past the last one or on a syntax error. Parses
 * the text, so that the last name is best asked for as that of WF_LAST_TARGET. */
#define WF_LAST_TARGET ((size_t)-1)
WF_API bool wf_text_target(wf_context *ctx, const char *text, size_t i, char *buf, size_t cap);
/* Does a statement assign to that name, so that it may be a result? False on a syntax error, too. */
WF_API bool wf_text_assigns(wf_context *ctx, const char *text, const char *name);

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
