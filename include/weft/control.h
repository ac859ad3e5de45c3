/* control.h - variables and local arrays, conditions and loops, and calls of traced functions.
 * For index spaces, recordings of elements, and array graphs.
 * Reference: docs/reference/control.md */
#ifndef WF_CONTROL_H
#define WF_CONTROL_H
#include "weft/error.h"
#include "weft/macros.h"
#ifdef __cplusplus
extern "C" {
#endif

/* ---- variables --------------------------------------------------------------------------------------------------
 * Every use of a variable reads it. */
/* A variable, which holds its value in the block and section in which it is made.
 * In a section other than WF_SECTION_CALL, outside of blocks, wf_set gives it a value of that section.
 * Errors: WF_ERR_CONTRACT for any other use outside of its block or section. */
WF_API wf_var wf_local(wf_graph *graph, wf_dtype dtype, wf_val initial);
/* A snapshot of the variable. */
WF_API wf_val wf_get(wf_var var);
/* Assigns, and converts to the variable's dtype. */
WF_API void wf_set(wf_var var, wf_val value);
/* Adds to the variable. */
WF_API void wf_inc(wf_var var, wf_val value);

/* A local array: up to 256 elements that each point has to itself, all `initial` at first; accessed by index.
 * Owns: borrowed from the graph.
 * Errors: reads outside give 0, writes outside do nothing; a C number outside is WF_ERR_BOUNDS.
 * NULL: the graph is poisoned.
 * Cost: nothing for an index that is a number; else n operations for a read, 3 n for a write, without memory.
 * Example: wf_array *taps = wf_local_array(g, "taps", WF_F32, WF_SHAPE(9), 0); */
WF_API wf_array *wf_local_array(wf_graph *graph, const char *name, wf_dtype dtype, wf_shape shape, wf_val initial);

/* ---- control flow -----------------------------------------------------------------------------------------------
 * In C say WF_IF(g, c) {..} WF_ELSE(g) {..} WF_END(g), WF_WHILE(g, c), WF_LOOP(g), WF_FOR(g, i, lo, hi, step).
 * All branches are recorded: these functions always return true. A condition has any dtype and holds if not 0.
 * Values of a block are not visible after it, variables are. In array graphs each element decides for its own.
 * Owns: `here`, the source line, is borrowed until the recording ends.
 * Errors: wf_reduce and wf_keep are not allowed in a block. */
/* Begins a block that points enter where the condition holds. */
WF_API bool wf_if_(wf_graph *graph, const char *here, wf_val cond);
/* Begins the block of the other points. */
WF_API bool wf_else_(wf_graph *graph, const char *here);
/* Begins a loop until wf_break. */
WF_API bool wf_loop_(wf_graph *graph, const char *here);
/* Leaves the innermost loop where the condition does not hold. WF_ERR_CONTRACT without a loop. */
WF_API bool wf_while_(wf_graph *graph, const char *here, wf_val cond);
/* Begins a loop with *i = lo, lo + step, ... below hi (above it for a negative step); bounds are computed once.
 * Dtypes: hi's, else lo's, else step's integer dtype; i64 if all are numbers. `i` may be NULL.
 * Errors: WF_ERR_ARG: the step is the number 0. Counters of 32 and 64 bits wrap if the dtype ends less than a step beyond hi. */
WF_API bool wf_for_(wf_graph *graph, const char *here, wf_val *i, wf_val lo, wf_val hi, wf_val step);
/* Ends the innermost block; WF_ERR_CONTRACT if none is open. */
WF_API void wf_end_(wf_graph *graph, const char *here);
/* Leaves the innermost loop of the recording; WF_ERR_CONTRACT if there is none. */
WF_API void wf_break(wf_graph *graph);
/* Goes on with the next turn of the innermost loop; WF_ERR_CONTRACT if there is none. */
WF_API void wf_continue(wf_graph *graph);

/* ---- calls ------------------------------------------------------------------------------------------------------
 * A traced function is a hook that reads site->in and sets variables in site->out. A variable among the inputs is
 * passed by its value at the call. The function may do whatever its caller may. */
typedef struct wf_function {
    wf_hook *call;
    void *user;
} wf_function;
typedef struct wf_functions {
    const wf_function *at;
    size_t n;
} wf_functions;
typedef struct wf_vars {
    const wf_var *at;
    size_t n;
} wf_vars;
/* Records the function here.
 * Errors: WF_ERR_ARG: a NULL function, or a result that is no variable of this recording. WF_ERR_UNSUPPORTED: calls nested
 * deeper than 1000.
 * Example: wf_call(g, f, WF_VALS(x), WF_VARS(y)); */
WF_API void wf_call_(wf_graph *graph, const char *here, wf_function function, wf_vals in, wf_vars out);
/* Runs, at every point, the function that the index names; none: the variables keep their values.
 * Dtypes: the index is an integer or a bool.
 * Each function is called once, to record; its effects take place only in the lanes that chose it.
 * Cost: a comparison and a branch per vector for each different function, and the bodies that are chosen.
 * Example: wf_switch(g, index, WF_FUNCTIONS({ f, NULL }, { h, &k }), WF_VALS(x), WF_VARS(r)); */
WF_API void wf_switch_(wf_graph *graph, const char *here, wf_val index, wf_functions functions, wf_vals in,
                       wf_vars out);

#ifdef __cplusplus
}
#else
#if defined(__GNUC__)
#pragma GCC system_header /* operands elide braces on purpose */
#endif
#define WF_VARS(...) ((wf_vars){ (const wf_var[]){ __VA_ARGS__ }, WF__N(__VA_ARGS__) })
#define WF_NO_VARS ((wf_vars){ 0, 0 })
#define WF_FUNCTIONS(...)                                  \
    ((wf_functions){ (const wf_function[]){ __VA_ARGS__ }, \
                     sizeof((const wf_function[]){ __VA_ARGS__ }) / sizeof(wf_function) })

#define wf_local(g, dtype, v) wf_local(g, dtype, WF_V(v))
#define wf_local_array(g, name, dtype, shape, v) wf_local_array(g, name, dtype, shape, WF_V(v))
#define wf_set(x, v) wf_set(x, WF_V(v))
#define wf_inc(x, v) wf_inc(x, WF_V(v))

#define wf_call(g, function, in, out) wf_call_(g, WF_HERE, function, in, out)
#define wf_switch(g, index, functions, in, out) wf_switch_(g, WF_HERE, WF_V(index), functions, in, out)

/* Blocks. Each is an `if`: a C break, continue or return means what it says in C and leaves the block open, which
 * WF_END or wf_run reports with the line that opened it; a C `else` after one does not compile. */
#define WF_IF(g, cond)                     \
    if (!wf_if_(g, WF_HERE, WF_V(cond))) { \
    } else
#define WF_ELSE(g)               \
    if (!wf_else_(g, WF_HERE)) { \
    } else
#define WF_LOOP(g)               \
    if (!wf_loop_(g, WF_HERE)) { \
    } else
#define WF_WHILE(g, cond)                                              \
    if (!wf_loop_(g, WF_HERE) || !wf_while_(g, WF_HERE, WF_V(cond))) { \
    } else
#define WF_FOR(g, i, lo, hi, step)                                    \
    if (!wf_for_(g, WF_HERE, &(i), WF_V(lo), WF_V(hi), WF_V(step))) { \
    } else
#define WF_END(g) wf_end_(g, WF_HERE)
#endif
#endif
