/* test_foreign_values.c - every function that takes a recording and values refuses values of another recording, and
 * names the error of that recording instead of recording nothing. */
#include "on_devices.h"
#include "weft/traced.h"

enum { N = 4 };

typedef struct use { /* of x, a value of another recording, in g */
    const char *name;
    void (*record)(wf_graph *g, wf_val x);
    bool indexed;
    const char *message; /* NULL: "NAME: an operand" */
} use;

static wf_array *floats, *line; /* line: read and written by index */

static void traced(const wf_site *site) { wf_set(site->out[0], wf_add(site->in[0], 1)); }

static void in_out(wf_graph *g, wf_val x) { wf_out(g, floats, x); }
static void in_operand(wf_graph *g, wf_val x) { wf_out(g, floats, wf_add(wf_in(g, floats), x)); }
static void in_select(wf_graph *g, wf_val x) { wf_out(g, floats, wf_select(wf_gt(wf_in(g, floats), 0), 1, x)); }
static void in_write(wf_graph *g, wf_val x) { wf_write(g, line, x, 0); }
static void in_write_index(wf_graph *g, wf_val x) { wf_write(g, line, 1, x); }
static void in_write_if(wf_graph *g, wf_val x) { wf_write_if(g, x, line, 1, 0); }
static void in_accumulate(wf_graph *g, wf_val x) { wf_accumulate(g, WF_JOIN_ADD, line, x, 0); }
static void in_accumulate_if(wf_graph *g, wf_val x) { wf_accumulate_if(g, x, WF_JOIN_ADD, line, 1, 0); }
static void in_atomic(wf_graph *g, wf_val x) { wf_atomic(g, WF_JOIN_ADD, line, x, 0); }
static void in_atomic_if(wf_graph *g, wf_val x) { wf_atomic_if(g, x, WF_JOIN_ADD, line, 1, 0); }
static void in_cas(wf_graph *g, wf_val x) { wf_cas(g, line, 0, x, 0); }
static void in_read(wf_graph *g, wf_val x) { wf_out(g, floats, wf_read(g, line, x)); }
static void in_read_or(wf_graph *g, wf_val x) { wf_out(g, floats, wf_read_or(g, line, x, 0)); }
static void in_if(wf_graph *g, wf_val x)
{
    WF_IF (g, x) {
        wf_out(g, floats, 1);
    }
    WF_END(g);
}
static void in_while(wf_graph *g, wf_val x)
{
    WF_WHILE (g, x) {
        wf_out(g, floats, 1);
    }
    WF_END(g);
}
static void in_for(wf_graph *g, wf_val x)
{
    wf_val i;
    WF_FOR (g, i, 0, x, 1) {
        wf_out(g, floats, wf_cast(i, WF_F32));
    }
    WF_END(g);
}
static void in_switch(wf_graph *g, wf_val x)
{
    wf_var r = wf_local(g, WF_F32, 0);
    wf_switch(g, x, WF_FUNCTIONS({ traced, NULL }), WF_VALS(1), WF_VARS(r));
    wf_out(g, floats, r);
}
static void in_switch_operand(wf_graph *g, wf_val x)
{
    wf_var r = wf_local(g, WF_F32, 0);
    wf_switch(g, wf_cast(wf_in(g, floats), WF_I32), WF_FUNCTIONS({ traced, NULL }), WF_VALS(x), WF_VARS(r));
    wf_out(g, floats, r);
}
static void in_call(wf_graph *g, wf_val x)
{
    wf_var r = wf_local(g, WF_F32, 0);
    wf_call(g, ((wf_function){ traced, NULL }), WF_VALS(x), WF_VARS(r));
    wf_out(g, floats, r);
}
static void in_local(wf_graph *g, wf_val x) { wf_out(g, floats, wf_get(wf_local(g, WF_F32, x))); }
static void in_set(wf_graph *g, wf_val x)
{
    wf_var v = wf_local(g, WF_F32, 0);
    wf_set(v, x);
    wf_out(g, floats, v);
}
static void in_inc(wf_graph *g, wf_val x)
{
    wf_var v = wf_local(g, WF_F32, 0);
    wf_inc(v, x);
    wf_out(g, floats, v);
}
static void in_gather(wf_graph *g, wf_val x) { wf_out(g, floats, wf_gather(wf_in(g, floats), x)); }
static void in_gather_or(wf_graph *g, wf_val x)
{
    wf_out(g, floats, wf_gather_or(wf_in(g, floats), x, wf_iota(g, WF_SHAPE(N), 0)));
}
static void in_concat(wf_graph *g, wf_val x)
{
    wf_out(g, floats, wf_slice(wf_concat(0, wf_in(g, floats), x), 0, 0, N, 1));
}
static void in_meshgrid(wf_graph *g, wf_val x)
{
    wf_val p[2];
    wf_meshgrid(p, wf_in(g, floats), x);
    wf_out(g, floats, wf_slice(p[0], 1, 0, 1, 1));
}
static void in_compress(wf_graph *g, wf_val x) { wf_release(wf_compress(wf_in(g, floats), x)); }
static void in_reduce(wf_graph *g, wf_val x) { wf_out(g, floats, wf_sum(x, WF_AXES(0))); }
static void in_expr(wf_graph *g, wf_val x) { wf_out(g, floats, wf_expr(g, "1 + x", WF_ARGS(WF_ARG("x", x)))); }
static void in_texture(wf_graph *g, wf_val x)
{
    wf_val out;
    wf_texture_read(g, &(wf_texture){ .array = line, .filter = WF_FILTER_LINEAR, .pixels = true }, (wf_vals){ &x, 1 },
                    &out);
    wf_out(g, floats, out);
}
static void in_pcg(wf_graph *g, wf_val x)
{
    wf_pcg32 rng = wf_pcg32_seed(g, x, 1);
    wf_out(g, floats, wf_pcg32_f32(&rng));
}

static const use uses[] = {
    { "wf_out", in_out, false, NULL },
    { "wf_add", in_operand, false, NULL },
    { "wf_select", in_select, false, NULL },
    { "wf_write", in_write, true, NULL },
    { "wf_write", in_write_index, true, NULL },
    { "wf_write_if", in_write_if, true, NULL },
    { "wf_accumulate", in_accumulate, true, NULL },
    { "wf_accumulate_if", in_accumulate_if, true, NULL },
    { "wf_atomic", in_atomic, true, NULL },
    { "wf_atomic_if", in_atomic_if, true, NULL },
    { "wf_cas", in_cas, true, NULL },
    { "wf_read", in_read, true, NULL },
    { "wf_read_or", in_read_or, true, NULL },
    { "WF_IF", in_if, true, NULL },
    { "WF_WHILE", in_while, true, NULL },
    { "WF_FOR", in_for, true, NULL },
    { "wf_switch", in_switch, true, NULL },
    { "wf_switch", in_switch_operand, true, "an operand" },
    { "wf_call", in_call, true, "an operand" },
    { "wf_local", in_local, true, NULL },
    { "wf_set", in_set, true, NULL },
    { "wf_inc", in_inc, true, NULL },
    { "wf_gather", in_gather, false, NULL },
    { "wf_gather_or", in_gather_or, false, NULL },
    { "wf_concat", in_concat, false, NULL },
    { "wf_meshgrid", in_meshgrid, false, NULL },
    { "wf_compress", in_compress, false, NULL },
    { "wf_sum", in_reduce, false,
      "an operand" }, /* the reduction belongs to the other recording, so wf_out refuses the result */
    { "wf_expr", in_expr, false, "an operand" },
    { "wf_texture_read", in_texture, true, "an operand" },
    { "wf_pcg32_seed", in_pcg, true, "an operand" },
};

typedef enum origin { VALUE, POISON, ENDED } origin;

static void try_use(const use *u, origin how)
{
    wf_graph *of = u->indexed ? wf_begin(ctx, .shape = WF_SHAPE(N)) : wf_begin(ctx), *g = NULL;
    if (how != ENDED)
        g = u->indexed ? wf_begin(ctx, .shape = WF_SHAPE(N)) : wf_begin(ctx);
    if (how != VALUE)
        wf_fail(of, WF_ERR_BOUNDS, "spoilt at the start");
    bool integer = strstr("wf_switch WF_FOR wf_read wf_gather", u->name) || u->record == in_write_index;
    wf_val x = integer ? wf_cast(wf_in(of, floats), WF_I32) : wf_in(of, floats);
    if (how == ENDED) { /* the next recording has its address */
        wf_drop(of);
        of = NULL;
        g = u->indexed ? wf_begin(ctx, .shape = WF_SHAPE(N)) : wf_begin(ctx);
    }
    u->record(g, x);
    wf_status status = wf_run(g);
    char want[64];
    snprintf(want, sizeof want, "%s: an operand", u->name);
    const char *part = u->message ? u->message : want;
    if (status == WF_OK || !strstr(wf_last_message(ctx), part) ||
        (how == POISON && (status != WF_ERR_BOUNDS || !strstr(wf_last_message(ctx), "spoilt at the start"))))
        fail_msg("%s, %s: %s: %s", u->name,
                 how == VALUE    ? "value"
                 : how == POISON ? "poison"
                                 : "ended",
                 wf_status_name(status), wf_last_message(ctx));
    wf_clear_error(ctx);
    wf_drop(of);
}

static void test_refused(void **state)
{
    (void)state;
    floats = wf_full(ctx, WF_F32, WF_SHAPE(N), -1);
    line = wf_full(ctx, WF_F32, WF_SHAPE(N), -1);
    for (size_t i = 0; i < sizeof uses / sizeof *uses; ++i)
        for (origin how = VALUE; how <= ENDED; ++how)
            try_use(&uses[i], how);
    wf_array *both[] = { floats, line };
    for (int k = 0; k < 2; ++k) {
        float *got = contents(both[k]);
        for (int i = 0; i < N; ++i)
            assert_true(got[i] == -1); /* nothing ran */
        free(got);
        wf_release(both[k]);
    }
}

/* A recording reports its first error. */
static void test_first_error_stays(void **state)
{
    (void)state;
    wf_array *a = wf_full(ctx, WF_F32, WF_SHAPE(N), 1);
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(N), .reduce = WF_ALL_AXES);
    wf_section(g, WF_SECTION_INIT);
    wf_val poison = wf_in(g, a);
    wf_section(g, WF_SECTION_CALL);
    wf_out(g, a, poison);
    REFUSED(ctx, wf_run(g), WF_ERR_CONTRACT, "wf_in: not in sections WF_SECTION_INIT");
    wf_release(a);
}

static void test_scratch(void **state)
{
    (void)state;
    wf_graph *g = wf_begin(ctx, .shape = WF_SHAPE(N)), *h = wf_begin(ctx, .shape = WF_SHAPE(N));
    wf_array *scratch = wf_scratch(g, WF_F32, WF_SHAPE(N), true);
    wf_write(h, scratch, 1, wf_index(h, 0));
    REFUSED(ctx, wf_run(h), WF_ERR_ARG, "wf_write: the array is the scratch of another recording");
    wf_write(g, scratch, 1, wf_index(g, 0));
    OK(ctx, wf_run(g));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_first_error_stays),
        cmocka_unit_test(test_scratch),
    };
    return RUN_ON_CPU(tests);
}
