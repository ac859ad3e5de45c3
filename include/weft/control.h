/* control.h - variables and local arrays, conditions and loops, and calls of traced
 * functions, among which an index may choose. What is to be had in an index space, over elements, and in array graphs.
 */
#ifndef WF_CONTROL_H
#define WF_CONTROL_H
#include "weft/error.h"
#include "weft/macros.h"
#ifdef __cplusplus
extern "C" {
#endif

/* ---- variables ---------------------------------------------------------------------------------------------
 * Reading is implicit; wf_get takes a snapshot. */
WF_API wf_var wf_local(wf_graph *graph, wf_dtype dtype, wf_val initial);
WF_API wf_val wf_get(wf_var var);
WF_API void wf_set(wf_var var, wf_val value); /* converts to the variable's dtype */
WF_API void wf_inc(wf_var var, wf_val value);

/* A local array: up to 256 elements that each point (in array graphs: each element of the values) has to itself, all
 * `initial` at first. Borrowed from the graph; read and written by index like any array, and seen at once: wf_read,
 * wf_read_or, wf_read_border, wf_write, wf_write_if, wf_accumulate, wf_accumulate_if (which joins in the array's dtype,
 * without a mode), wf_dim. Any dtype; as a variable it belongs to the block and section that it is made in. Reading
 * outside gives 0, writing outside does nothing; a C number that is outside poisons, and debug mode reports any index.
 * `name` is what messages call it, or NULL.
 * Nothing is in memory. With an index that is a number, or becomes one where a loop is written out, an access costs
 * nothing; another one is looked up among n elements: n operations for a read, 3 n for a write. Loops that are not
 * written out keep what they change of it in registers: 32 elements are fast, 256 are not.
 *     wf_array *w = wf_local_array(g, "w", WF_F32, WF_SHAPE(9), 0);
 *     wf_write(g, w, wf_read(g, w, wf_sub(i, 1)), i);
 * NULL poisons. */
WF_API wf_array *wf_local_array(wf_graph *graph, const char *name, wf_dtype dtype, wf_shape shape, wf_val initial);

/* ---- control flow ------------------------------------------------------------------------------------------
 * In C say WF_IF(g, c) {..} WF_ELSE(g) {..} WF_END(g), WF_WHILE(g, c), WF_LOOP(g) and WF_FOR(g, i, lo, hi, step). Each
 * point goes its own way; a condition that is the same for all points is a real branch. Conditions may have any dtype:
 * what is not 0 holds, as in C. All branches are recorded: these functions return true, always. Values of a block are
 * not seen after it, variables are. `here` names the source line for messages and is borrowed until the recording ends.
 * In array graphs a condition is a whole array, of which each element decides for its own; variables broadcast against
 * it: one that a block sets where lanes of shape [h, w] are on has that shape after it, whatever it began with. Effects
 * (wf_out, wf_write, ...) take place once, where lanes are on. In a block memory is as in an index space: what its
 * effects write, its reads see only of the same element or point, wf_accumulate not at all; what comes after the block
 * sees all. A loop, what feeds it and what follows are one kernel as far as they have one shape. Not in a block:
 * wf_reduce, wf_keep. */
WF_API bool wf_if_(wf_graph *graph, const char *here, wf_val cond);
WF_API bool wf_else_(wf_graph *graph, const char *here);
WF_API bool wf_loop_(wf_graph *graph, const char *here);               /* until wf_break */
WF_API bool wf_while_(wf_graph *graph, const char *here, wf_val cond); /* leaves the innermost loop where false */
/* *i: lo, lo + step, ... as long as it is below hi (above it for a negative step); of hi's, else lo's, else step's
 * integer dtype, i64 if all are numbers, to which the bounds are converted. They are computed once. Counters of 8
 * and 16 bits count as i32 and never wrap; wider ones do, as in C, where the end of the dtype is less than a step
 * beyond hi (INT32_MAX - 1 in steps of 5: say an i64 bound). */
WF_API bool wf_for_(wf_graph *graph, const char *here, wf_val *i, wf_val lo, wf_val hi, wf_val step);
WF_API void wf_end_(wf_graph *graph, const char *here);
WF_API void wf_break(wf_graph *graph); /* out of the innermost loop of the recording */
WF_API void wf_continue(wf_graph *graph);

/* ---- calls --------------------------------------------------------------------------------------------------
 * A traced function is a hook that records: it reads site->in, values and numbers, and sets variables in site->out. A
 * variable is handed over as in C, by what it holds at the call, and may be a result, too. The function may do whatever
 * its caller may, effects and other calls included, and a wf_break leaves the caller's loop. */
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
/* Records the function here: wf_call(g, f, WF_VALS(x), WF_VARS(y)). */
WF_API void wf_call_(wf_graph *graph, const char *here, wf_function function, wf_vals in, wf_vars out);
/* Every point runs the function of the table that its index (an integer or bool) names; where it names none, nothing
 * happens and the variables stay: wf_switch(g, index, WF_FUNCTIONS({ f, NULL }, { h, &k }), WF_VALS(x, y),
 * WF_VARS(r)). Each function is called once, during this call, to record; what it does, lanes that did not ask for
 * it do not do. With WF_FLAG_CALL_OPT those that record the same (or are the same, with the same `user`) become one,
 * and if one is left, or one alone can be reached because of the index's dtype or a constant in it, there is no choice
 * any more. An index that is the same for all points is a real branch. Costs a comparison and a branch per vector
 * for each different function, and the bodies that some lane of the vector asks for. Where control flow is to be
 * had. */
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
