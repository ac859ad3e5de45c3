/* test_messages_place.c - errors that the planner finds, or the builder from shapes, name the operation at fault: its
 * number in the dump or its label, the array, the section and the recording.
 *
 * ctest: devices
 */
#include "record/record.h"
#include "on_devices.h"

/* ---- at launches: x is f32 (3), y f32 (2, 5), big has too many points with any other; sums and cells are one array ---- */
typedef struct formals {
    wf_array *x, *y, *empty, *wide, *high, *sums, *cells, *row;
} formals;

static formals declare(wf_graph *g)
{
    return (formals){ .x = wf_formal(g, "x", WF_F32, 1),
                      .y = wf_formal(g, "y", WF_F32, 2),
                      .empty = wf_formal(g, "empty", WF_F32, 1),
                      .wide = wf_formal(g, "wide", WF_F32, 2),
                      .high = wf_formal(g, "high", WF_F32, 3),
                      .sums = wf_formal(g, "sums", WF_F32, 1),
                      .cells = wf_formal(g, "cells", WF_F32, 1),
                      .row = wf_formal(g, "row", WF_F32, 1) };
}

static void added(wf_graph *g, formals f)
{
    wf_val x = wf_in(g, f.x), y = wf_in(g, f.y);
    wf_out(g, f.y, wf_label(wf_add(x, y), "total"));
}

static void added_to_value(wf_graph *g, formals f)
{
    wf_val y = wf_in(g, f.y), v = wf_mul(y, wf_param(g, "gain", WF_F32, 2));
    wf_out(g, f.y, wf_fma(v, wf_in(g, f.x), 0.5));
}

static void labelled(wf_graph *g, formals f)
{
    wf_val roots = wf_label(wf_sqrt(wf_in(g, f.x)), "roots");
    wf_out(g, f.y, wf_sub(roots, wf_in(g, f.y)));
}

static void reshaped(wf_graph *g, formals f) { wf_out(g, f.x, wf_reshape(wf_in(g, f.y), WF_SHAPE(7))); }
static void assigned(wf_graph *g, formals f) { wf_out(g, f.x, wf_in(g, f.row)); }
static void by_index(wf_graph *g, formals f) { wf_write(g, f.x, wf_in(g, f.y), wf_cast(wf_in(g, f.x), WF_I64)); }

static void gathered(wf_graph *g, formals f)
{
    wf_out(g, f.x, wf_gather(wf_in(g, f.empty), wf_cast(wf_in(g, f.x), WF_I64)));
}

static void uncountable(wf_graph *g, formals f)
{
    wf_val wide = wf_in(g, f.wide), high = wf_in(g, f.high);
    wf_out(g, f.x, wf_reshape(wf_reduce(WF_JOIN_ADD, wf_neg(wf_add(wide, high)), WF_ALL_AXES), WF_SHAPE(1)));
}

static void in_a_block(wf_graph *g, formals f)
{
    WF_IF (g, wf_param(g, "on", WF_BOOL, 1)) {
        wf_out(g, f.row, 4);
        wf_out(g, f.y, wf_in(g, f.row));
    }
    WF_END(g);
}

static void point(wf_graph *g, formals f) { wf_write(g, f.y, wf_in(g, f.x), wf_index(g, 0), wf_index(g, 1)); }

static void twice(wf_graph *g, formals f)
{
    wf_write(g, f.cells, 1, wf_index(g, 1));
    wf_accumulate(g, WF_JOIN_ADD, f.sums, wf_const(g, WF_F32, 2), wf_index(g, 0));
}

static void in_post(wf_graph *g, formals f)
{
    wf_var s = wf_reduced(g, WF_F32, 0, WF_JOIN_ADD);
    wf_inc(s, wf_index(g, 1));
    wf_section(g, WF_SECTION_POST);
    wf_out(g, f.x, s);
}

static void in_join(wf_graph *g, formals f)
{
    wf_var s = wf_reduced(g, WF_F32, 0, WF_JOIN_CUSTOM);
    wf_inc(s, wf_cast(wf_index(g, 1), WF_F32));
    wf_section(g, WF_SECTION_JOIN);
    wf_set(s, wf_add(wf_abs(s), wf_sin(wf_other(s))));
    wf_section(g, WF_SECTION_POST);
    wf_out(g, f.y, s);
}

enum { ARRAYS, SPACE, ELEMENTS, REDUCED, BLOCKS };
static const struct {
    int kind;
    void (*record)(wf_graph *g, formals f);
    wf_status status;
    const char *says,
        *op; /* op: the line of the dump with the number of the message; NULL = the message has no number */
} cases[] = {
    { ARRAYS, added, WF_ERR_SHAPE,
      "wf_add: shapes (3) and (2, 5) do not broadcast [operation %# 'total': wf_add('x', 'y'), in planner]", "add" },
    { ARRAYS, added_to_value, WF_ERR_SHAPE, "wf_fma: shapes (2, 5) and (3) do not broadcast [operation %#: wf_fma(%",
      "fma" },
    { ARRAYS, labelled, WF_ERR_SHAPE, "[operation %#: wf_sub('roots', 'y'), in planner]", "sub" },
    { ARRAYS, reshaped, WF_ERR_SHAPE,
      "wf_reshape: not of a value of shape (2, 5) [operation %#: wf_reshape('y', 7), in planner]", "view" },
    { ARRAYS, assigned, WF_ERR_SHAPE,
      "wf_out: a value of shape (5) does not fit 'x' (f32 of shape (3)) [operation %#: wf_out('x', 'row'), in planner]",
      NULL },
    { ARRAYS, by_index, WF_ERR_SHAPE,
      "wf_write: shapes (2, 5) and (3) do not broadcast [operation %#: wf_write('x', 'y', %", NULL },
    { ARRAYS, gathered, WF_ERR_BOUNDS,
      "wf_gather: there is no element in a value of shape (0) [operation %#: wf_gather('empty', %", "view" },
    { ARRAYS, uncountable, WF_ERR_SHAPE,
      "wf_add: operands broadcast to (4294967296, 2147483648, 2147483648), which has too many points [operation %#: "
      "wf_add('wide', 'high'), in planner]",
      "add" },
    { ARRAYS, in_a_block, WF_ERR_UNSUPPORTED,
      "wf_out: a block of control flow writes 'row' (f32 of shape (5)) and reads it with another shape; use two blocks "
      "[operation %#: wf_out('row', 4, %",
      NULL },
    { SPACE, point, WF_ERR_SHAPE,
      "wf_in: 'x' (f32 of shape (3)) does not fit the space (2, 5) [operation %#: wf_in('x'), in planner]", "load" },
    { SPACE, twice, WF_ERR_CONTRACT,
      "wf_accumulate: 'sums' (f32 of shape (4)) is accumulated into and written in one index space; use two recordings "
      "[operation %#: wf_accumulate('sums', 2, %",
      NULL },
    { ELEMENTS, added, WF_ERR_SHAPE,
      "wf_in: 'y' (f32 of shape (2, 5)) does not broadcast with the operands before it, of shape (3) [operation %#: "
      "wf_in('y'), in planner]",
      "load" },
    { BLOCKS, added, WF_ERR_SHAPE, "wf_in: 'y' (f32 of shape (2, 5)) does not broadcast with", "load" },
    { REDUCED, in_post, WF_ERR_SHAPE,
      "wf_out: 'x' (f32 of shape (3)) does not fit the space (2, 1) it is written over [operation %# of WF_SECTION_POST: "
      "wf_out('x', %",
      NULL },
    { REDUCED, in_join, WF_ERR_UNSUPPORTED,
      "wf_sin: not in section WF_SECTION_JOIN, as sin, cos, tan, erfinv and gamma are not [operation %# of WF_SECTION_JOIN: wf_sin(%",
      "sin" },
};

/* Copies the text without the number of the operation after "%". Returns that number, or 0. */
static int cut_number(const char *text, char *out)
{
    const char *at = strstr(text, "[operation %");
    int number = 0, used = 0;
    if (!at || sscanf(at, "[operation %%%d%n", &number, &used) != 1) {
        strcpy(out, text);
        return 0;
    }
    sprintf(out, "%.*s[operation %%#%s", (int)(at - text), text, at + used);
    return number;
}

/* True if the dump has a line with this number and operation. */
static bool is_dumped(const wf_kernel *k, int number, const char *op)
{
    char *dump = malloc(1 << 16), line[64];
    assert_non_null(dump);
    OK(ctx, wf_kernel_dump(k, WF_NO_ARGS, WF_DUMP_TRACE, dump, 1 << 16, NULL));
    snprintf(line, sizeof line, "%%%d = %s ", number, op);
    bool found = strstr(dump, line) != NULL;
    free(dump);
    return found;
}

static void test_launches(void **state)
{
    (void)state;
    wf_array *x = wf_full(ctx, WF_F32, WF_SHAPE(3), 1), *y = wf_full(ctx, WF_F32, WF_SHAPE(2, 5), 1),
             *empty = wf_empty(ctx, WF_F32, WF_SHAPE(0)), *one = wf_full(ctx, WF_F32, WF_SHAPE(1, 1, 1), 1),
             *sums = wf_full(ctx, WF_F32, WF_SHAPE(4), 1), *row = wf_full(ctx, WF_F32, WF_SHAPE(5), 1);
    wf_array *first = wf_view_at(one, 0, 0),
             *wide = wf_view_broadcast(first, WF_SHAPE((int64_t)1 << 31, (int64_t)1 << 31)),
             *high = wf_view_broadcast(one, WF_SHAPE((int64_t)1 << 32, 1, 1));
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
        int kind = cases[c].kind;
        wf_graph *g =
            wf_begin(ctx, .name = "planner", .shape = kind == SPACE || kind == REDUCED ? WF_SHAPE(2, 5) : WF_SCALAR,
                     .elements = kind == ELEMENTS || kind == BLOCKS, .reduce = kind == REDUCED ? WF_AXES(1) : 0,
                     .block = kind == BLOCKS ? WF_SHAPE(1, 4) : WF_SCALAR);
        cases[c].record(g, declare(g));
        wf_kernel *k = wf_compile(g);
        if (!k)
            fail_msg("%zu: %s", c, wf_last_message(ctx));
        wf_launch(k, WF_ARGS(WF_ARG("x", x), WF_ARG("y", y), WF_ARG("empty", empty), WF_ARG("wide", wide),
                             WF_ARG("high", high), WF_ARG("sums", sums), WF_ARG("cells", sums), WF_ARG("row", row)));
        char text[1024];
        int number = cut_number(wf_last_message(ctx), text);
        if (wf_last_status(ctx) != cases[c].status || !strstr(text, cases[c].says) || !strstr(text, ", in planner]") ||
            !number)
            fail_msg("%zu: %s: %s", c, wf_status_name(wf_last_status(ctx)), wf_last_message(ctx));
        wf_clear_error(ctx);
        if (cases[c].op && !is_dumped(k, number, cases[c].op))
            fail_msg("%zu: operation %%%d is no %s", c, number, cases[c].op);
        wf_kernel_free(k);
    }
    wf_release(x), wf_release(y), wf_release(empty), wf_release(one), wf_release(sums), wf_release(wide);
    wf_release(high), wf_release(row), wf_release(first);
}

/* ---- while recording: operands have names, other operations numbers ---- */
static void test_recordings(void **state)
{
    (void)state;
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(3), 1), *b = wf_full(ctx, WF_F32, WF_SHAPE(4), 1);
    wf_graph *g = wf_begin(ctx, .name = "builder");
    wf_val root = wf_sqrt(wf_in(g, a));
    wf_mul(root, wf_in(g, b));
    REFUSED(ctx, wf_run(g), WF_ERR_SHAPE,
            "wf_mul: shapes (3) and (4) do not broadcast [wf_mul(%2, array 2), in builder begun at ");
    g = wf_begin(ctx, .name = "builder");
    wf_val value = wf_in(g, b);
    wf_write(g, a, value, wf_iota(g, WF_SHAPE(3), 0));
    REFUSED(ctx, wf_run(g), WF_ERR_SHAPE,
            "wf_write: shapes (3) and (4) do not broadcast [wf_write(array 2, array 1, %");
    g = wf_begin(ctx);
    wf_cast(wf_label(wf_complex(wf_in(g, a), 2), "wave"), WF_F32);
    REFUSED(
        ctx, wf_run(g), WF_ERR_DTYPE,
        "wf_cast: c64 to f32 would lose the imaginary part; say wf_real or wf_abs [wf_cast('wave'), in the recording");
    g = wf_begin(ctx);
    wf_bitcast(wf_in(g, a), WF_F64);
    REFUSED(ctx, wf_run(g), WF_ERR_DTYPE, "wf_bitcast: f32 to f64: the sizes differ [wf_bitcast(array 1), in");
    g = wf_begin(ctx);
    wf_var v = wf_local(g, WF_F32, wf_const(g, WF_F32, 0));
    WF_LOOP(g)
    {
        wf_out(g, a, v);
        WF_IF (g, wf_gt(v, 2)) {
            wf_break(g);
        }
        WF_END(g);
        wf_set(v, wf_add(v, wf_in(g, b)));
    }
    WF_END(g);
    REFUSED(
        ctx, wf_run(g), WF_ERR_SHAPE,
        "wf_out: what is assigned, or its lanes, grows to shape (4), beyond the array's, (3), in the block opened at ");
    wf_release(a), wf_release(b);
}

/* ---- wf_eval runs a part of a recording: numbers and arrays are those of the recording ---- */
static void test_evaluations(void **state)
{
    (void)state;
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(3), 1), *square = wf_full(ctx, WF_F32, WF_SHAPE(3, 3), 1),
             *x = wf_full(ctx, WF_F32, WF_SHAPE(3), 1);
    for (int named = 0; named < 2; ++named) {
        wf_graph *g = wf_begin(ctx, .name = "steps");
        for (int i = 0; i < 3; ++i) {
            wf_val sum = wf_in(g, x);
            wf_out(g, x, wf_add(sum, named ? wf_label(wf_in(g, a), "pixels") : wf_in(g, a)));
            OK(ctx, wf_eval(g));
        }
        const double before = g->first_id; /* numbers of earlier recordings */
        uint32_t first = (uint32_t)(wf_const(g, WF_F32, 12345).h.num - before), last = 0;
        WF_IF (g, wf_param(g, "on", WF_BOOL, 1)) {
            wf_out(g, a, 4);
            last = (uint32_t)(wf_const(g, WF_F32, 54321).h.num - before);
            wf_out(g, square, wf_in(g, a));
        }
        WF_END(g);
        wf_status status = named ? wf_run(g) : wf_eval(g);
        char text[1024];
        int number = cut_number(wf_last_message(ctx), text);
        assert_int_equal(status, WF_ERR_UNSUPPORTED);
        const char *says =
            named ? "writes 'pixels' (f32 of shape (3)) and reads it with another shape; use two blocks "
                    "[operation %#: wf_out('pixels', 4, %"
                  : "writes array 2 of the recording (in order of first use; f32 of shape (3)) and reads it "
                    "with another shape; use two blocks [operation %#: wf_out(array 2, 4, %";
        if (!strstr(text, says) || number <= (int)first || number >= (int)last)
            fail_msg("%u to %u: %s", first, last, wf_last_message(ctx));
        wf_clear_error(ctx);
        if (!named)
            wf_drop(g);
    }
    wf_release(a), wf_release(square), wf_release(x);
}

/* ---- debug mode: a temporary copy of an array has its name ---- */
static void test_copies(void **state)
{
    (void)state;
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(6), 1), *b = wf_full(ctx, WF_F32, WF_SHAPE(7), 1);
    for (int way = 0; way < 4; ++way) { /* in place: read from a copy */
        bool named = way & 1, arrays = way & 2;
        wf_graph *g = wf_begin(ctx, .shape = arrays ? WF_SCALAR : WF_SHAPE(6), .flags_on = WF_FLAG_DEBUG);
        wf_val x = wf_in(g, a), i = arrays ? wf_iota(g, WF_SHAPE(6), 0) : wf_index(g, 0);
        wf_array *to = named ? wf_formal(g, "levels", WF_F32, 1) : b;
        wf_write(g, to, wf_add(x, wf_read(g, to, wf_add(i, 2))), i);
        const char *says =
            named ? "index (7,) is outside 'levels' (f32 of shape (7)), at"
                  : "index (7,) is outside array 2 of the recording (in order of first use; f32 of shape (7))";
        wf_kernel *k = named ? wf_compile(g) : NULL;
        REFUSED(ctx, named ? wf_launch(k, WF_ARGS(WF_ARG("levels", b))) : wf_run(g), WF_ERR_BOUNDS, says);
        wf_kernel_free(k);
    }
    wf_release(a), wf_release(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_launches),
        cmocka_unit_test(test_recordings),
        cmocka_unit_test(test_evaluations),
        cmocka_unit_test(test_copies),
    };
    return RUN_ON_ALL(tests);
}
